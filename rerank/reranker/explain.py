"""What a fitted model says of rows: the first ones of a list, what each column adds to a score, and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError, NotSupportedError
from rerank.io.arrays import held
from rerank.io.frames import frame_like, is_frame
from rerank.io.labels import labels_of
from rerank.io.options import whole
from rerank.problem.scaling import per_unit
from rerank.reranker.ranking import RankingMixin, numbered_lists
from rerank.reranker.result import Result
from rerank.reranker.state import FittedState
from rerank.statistics import parse

Floats = NDArray[np.float64]


class ExplainMixin(RankingMixin):
    """First rows, contributions and a picture, for a class that ranks by a fitted state."""

    result_: Result
    coef_: Floats
    prior_weight_: float
    features_: NDArray[Any]
    threshold_: float
    first_stage_: Any
    classes_: NDArray[Any] | None
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def top(self, X: Any, n: int, qid: ArrayLike | str | None = None) -> NDArray[np.intp]:
        """Numbers of the rows at places 1 to ``n``, best first; ``X.iloc[est.top(X, n)]`` are the rows.

        Parameters
        ----------
        n : int
            Places, at least 1; a list with fewer rows gives all of them.
        qid : array-like (m,) or str, optional
            List of each row: the first ``n`` of each list, one list after the other.
        """
        X = held(X)
        wanted, places = whole("n", n), self.rank(X, qid)
        rows = np.flatnonzero(places <= wanted)
        lists = numbered_lists(X, qid, places.size)
        return rows[np.lexsort((places[rows],) if lists is None else (places[rows], lists[rows]))]

    def contributions(self, X: Any) -> Any:
        """What each column adds to the score of a row. The score is linear, so that these are exact and add up to it.

        The columns are those with a weight. Before them stands the first stage's score, where the model corrects one
        that is not linear in the columns, and after them the constant, the same for all rows. With a shortlist the
        score is that of the head: rows below ``threshold_`` are ordered by the first stage alone. The two are called
        "first stage" and "constant", with underscores behind where a column of the fit is called so.

        Returns
        -------
        table (n, k)
            A data frame like X, with names; or an array, if X is one.
        """
        X = held(X)
        added = self._added(X)
        return frame_like(X, added) if is_frame(X) else np.column_stack(list(added.values()))

    def _added(self, X: Any) -> dict[str, Floats]:
        """What each column adds to the score of a row, by name."""
        rows = self._rows(X)
        state, coef = self.state_, self.state_.coef
        used = np.flatnonzero(coef)
        added: dict[str, Floats] = {}
        if state.prior_weight:
            first = state.first(rows)
            assert first is not None
            added[_free("first stage", state.feature_names)] = first
        table = rows.reranked(used)
        for place, j in enumerate(used):
            added[state.feature_names[j]] = table[:, place] * coef[j]
        added[_free("constant", state.feature_names)] = np.full(rows.n, _constant(state))
        return added

    def plot(self, X: Any, y: ArrayLike, ax: Any = None) -> Any:
        """Relevant rows found by row looked at, of one list: the fit, its first stage and the ideal.

        Returns the axes (:func:`rerank.plots.cumulative_gain`).
        """
        from rerank.plots import cumulative_gain

        rows = self._rows(X)
        grades = labels_of(y, rows.n, self.state_.labels)
        first = self.state_.first(rows)
        curves = {"fitted": self.state_.list_scores(rows, None, first)}
        if first is not None:
            curves["first stage"] = first
        return cumulative_gain(grades > 0, curves, top=getattr(parse(self.stat), "at", None), ax=ax)

    def plot_contributions(self, X: Any, n: int = 10, names: Sequence[str] | None = None, ax: Any = None) -> Any:
        """What puts the first ``n`` rows of one list there: what each column adds to the score, less its mean.

        Returns the axes (:func:`rerank.plots.contributions`).

        Parameters
        ----------
        names : sequence of str, optional
            Of all rows of X; their numbers without it.
        """
        from rerank.plots import contributions

        X = held(X)
        added, first = self._added(X), self.top(X, n)
        *columns, _ = added  # the constant is the same for all rows
        if not columns:
            raise InputError("No column has a weight, so none adds to a score; there is nothing to draw.")
        values = np.column_stack([added[name] - added[name].mean() for name in columns])[first]
        rows = [str(row if names is None else names[row]) for row in first.tolist()]
        return contributions(rows, columns, values, unit="added to the score, less the mean of the list", ax=ax)

    def plot_corrections(self, ax: Any = None) -> Any:
        """Correction of each column by a fit with a radius; returns the axes (:func:`rerank.plots.corrections`).

        Raises
        ------
        NotSupportedError
            For a free fit, and where the first stage is kept: nothing is corrected there.
        """
        from rerank.plots import corrections

        state = self.state_
        if not (state.anchored and state.reranks):
            raise NotSupportedError("The model corrects no score: it is a free fit, or the first stage is kept.")
        names = [state.feature_names[j] for j in state.features]
        return corrections(names, state.weights[1:], state.settings.radius, ax=ax)

    def plot_weights(self, every: bool = False, ax: Any = None) -> Any:
        """Value of all weights of two or three features, or of one or two corrections, right after the fit.

        Returns the axes (:func:`rerank.plots.cells`). With ``proof=True`` the boxes of the proof stand over them.
        Of more features those are drawn that have a weight, the others being 0.

        Parameters
        ----------
        every : bool
            Draw every face of the cube of free weights, not only the one on which the fit lies.

        Raises
        ------
        InputError
            For more weights than a picture shows, and for a model that was read from a file.
        """
        from rerank.reranker.weight_space import weights_drawn

        return weights_drawn(self.state_, self.result_.proof, every, ax)


def _free(name: str, taken: Sequence[str]) -> str:
    """The name, with underscores behind until it is not taken."""
    return name if name not in taken else _free(name + "_", taken)


def _constant(state: FittedState) -> float:
    """What the score of the head is where all columns, and a first stage that is a column of its own, are 0."""
    stage = state.first_stage
    if state.reranks and not state.anchored:
        return -float(state.weights @ per_unit(state.low, state.low, state.high))
    return 0.0 if stage is None or state.prior_weight else stage.intercept
