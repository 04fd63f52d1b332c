"""What a fitted ranking says of rows: scores, places, labels, what each column adds, pictures, and its statistic."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError, InputWarning, NotSupportedError
from rerank.io.arrays import check_qid, held
from rerank.io.frames import by_name, frame_like, is_frame, is_sparse, names_of, some_rows, without
from rerank.io.labels import labels_of
from rerank.io.options import whole
from rerank.io.page import Part, ShownMixin
from rerank.problem.lists import Floats, Indices
from rerank.problem.scaling import per_unit
from rerank.ranks import evaluate
from rerank.ranks.lists import ONE_LIST, lists_missing, number_lists, places_by_list
from rerank.ranks.row_gains import IdealGains, gain_of
from rerank.reranker.columns import TableRows, lists_of
from rerank.reranker.data import Arguments, Weights, gains_and_weights, numbered
from rerank.reranker.describe import describe
from rerank.reranker.result import Result
from rerank.reranker.state import FittedState, free_name


class StateRanker(ShownMixin):
    """Ranks rows by a fitted state; scikit-learn, which takes a second to import, is not needed for that."""

    gain: Any
    reranks_: bool
    state_: FittedState
    result_: Result

    def _parts(self) -> list[Part] | None:
        return describe(self).on_page() if hasattr(self, "result_") else None

    def decision_function(self, X: Any, qid: ArrayLike | str | None = None) -> Floats:
        """Score of each row, larger is better; with a radius over whole lists in the unit of the first stage's score.

        After a fit on one list, a row is in the head if its first-stage score reaches ``threshold_``, whatever the
        other rows are; :meth:`rank` and :meth:`score` use the same rule. After a fit on several lists, the head is the
        K best rows of each list, which needs ``qid``. Without ``qid`` the threshold is used, which is approximate.
        """
        rows, lists = self._listed(X, qid)
        return self.state_.single_scores(rows) if lists is None else self.state_.list_scores(rows, lists)

    def predict(self, X: Any) -> NDArray[Any]:
        """Label of each row: one of ``classes_``, by cuts on the score.

        A row is relevant from the score on that as many training rows reach as were relevant, out-of-fold where the
        first stage's scores are. With grades there is such a cut for each of them.

        Raises
        ------
        NotSupportedError
            After a fit on several lists, whose scores are compared within a list only; and for labels that are no whole
            numbers.
        """
        rows = self._rows(X)  # says so before the fit
        return self.state_.labels_of(rows)

    def list_scores(self, X: Any, qid: ArrayLike | str | None = None) -> Floats:
        """Scores that order each list as :meth:`rank` does, ties included; comparable within a list only.

        The lists as in :meth:`rank`.
        """
        return self.state_.list_scores(*self._in_lists(X, qid))

    def first_stage_scores(self, X: Any) -> Floats | None:
        """Scores of the first stage alone; None if there is none."""
        return self.state_.first(self._rows(X))

    def rank(self, X: Any, qid: ArrayLike | str | None = None) -> Indices:
        """Place of each row in its list, 1 on top, by the scores of :meth:`list_scores`.

        Equal scores keep the order of the rows.

        Parameters
        ----------
        X : table (m, d)
        qid : array-like (m,), str or int, optional
            List of each row, or the column of X that holds it; one number, such as 0, says that all rows are one list.
            Without it that column of the fit is taken where X has it, else all rows are one list.

        Warns
        -----
        InputWarning
            Without ``qid``, where the fit had several lists, and X has not the column of the fit that held them.
        """
        rows, lists = self._in_lists(X, qid)
        return places_by_list(self.state_.list_scores(rows, lists), lists)

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | str | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: Weights = None,
        ideal_gains: IdealGains = None,
    ) -> float:
        """The statistic ``stat`` of the ranking, equal scores as ``stat.ties`` says: one half for AUC, else a loss.

        Lists without a gain are skipped. Weights and ``ideal_gains`` as in ``fit``: a row or a list of weight 0 is not
        there. Lists as in :meth:`rank`, but that they may not be missing.

        Raises
        ------
        InputError
            Without ``qid``, where the fit had several lists, and X has not the column of the fit that held them.
        """
        X = held(X)
        qid = self._column_of_lists(X, qid)
        if qid is None and self.n_lists_ > 1:
            raise InputError(lists_missing(self.n_lists_))
        rows = self._rows(X, qid)
        given = Arguments(rows.given, y, lists_of(X, qid), sample_weight, query_weight).present()
        rows = rows if given.there.mask is None else TableRows(given.X, rows.columns)
        with given.counted():
            statistic = self.state_.task.quoted
            grades = labels_of(given.y, rows.n, self.state_.labels, statistic.by_order)
            names: tuple[Any, ...] = (0,)
            lists, weights = None, given.query_weight
            if qid is not None:
                names, lists = number_lists(check_qid(given.qid, rows.n))
                _, weights = gains_and_weights(grades, gain_of(statistic, self.gain), None, weights, (names, lists))
            more = {"sample_weight": given.sample_weight, "query_weight": weights}
            more["ideal_gains"] = numbered(ideal_gains, names)
            scores = self.state_.list_scores(rows, lists)
            return evaluate(statistic, grades, scores, lists, gain=self.gain, **more)

    def _fitted(self) -> FittedState:
        return self.state_

    def _refuse_others(self, table: Any) -> None:
        """Refuse a table with other columns than the fit's."""

    def _rows(self, X: Any, qid: Any = None, level: int = 3) -> TableRows:
        """The rows as the fit saw its own; ``level`` is the caller's, for warnings."""
        columns, X = self._fitted().columns, held(X)
        rows = columns.rows(without(X, qid) if isinstance(qid, str) and qid not in columns.inputs else X)
        if is_frame(rows.given) and self.state_.named:  # a fit on an array takes columns by place
            rows = TableRows(by_name(rows.given, columns.inputs, columns.frame), columns)
        self._refuse_others(rows.given)
        for note in self.state_.unseen(rows):
            warnings.warn(note, InputWarning, stacklevel=level)
        return rows

    def _listed(self, X: Any, qid: ArrayLike | str | int | None, level: int = 4) -> tuple[TableRows, Indices | None]:
        """The rows, and the number of each one's list."""
        X = held(X)
        rows = self._rows(X, qid, level)
        return rows, None if qid is None else number_lists(check_qid(lists_of(X, qid), rows.n))[1]

    @property
    def n_lists_(self) -> int:
        """Lists of the fit; rows to come are one list by themselves only where it had one."""
        return self.result_.n_lists

    def _column_of_lists(self, X: Any, qid: Any) -> Any:
        """``qid``; without it, after a fit on several lists, the name of their column where X has it."""
        name = self._fitted().columns.lists
        known = qid is None and name and self.n_lists_ > 1 and is_frame(X) and name in names_of(X)
        return name if known else qid

    def _in_lists(self, X: Any, qid: ArrayLike | str | int | None, level: int = 4) -> tuple[TableRows, Indices | None]:
        """As :meth:`_listed`, with a warning where the fit had several lists, and those of the rows are not known."""
        X = held(X)
        rows, lists = self._listed(X, self._column_of_lists(X, qid), level + 1)
        if lists is None and self.n_lists_ > 1:
            warnings.warn(lists_missing(self.n_lists_, score=False), InputWarning, stacklevel=level - 1)
        return rows, lists

    def _one_list(self, X: Any, qid: ArrayLike | str | None) -> TableRows:
        """The rows of a picture."""
        rows, lists = self._in_lists(X, qid, level=5)
        if lists is not None and lists.max() > 0:
            raise InputError(f"A picture is of one list, and X holds {lists.max() + 1:,}; give the rows of one.")
        return rows

    @overload
    def top(
        self, X: Any, n: int, qid: ArrayLike | str | None = None, *, return_rows: Literal[False] = False
    ) -> NDArray[Any]: ...
    @overload
    def top(self, X: Any, n: int, qid: ArrayLike | str | None = None, *, return_rows: bool) -> Any: ...
    def top(self, X: Any, n: int, qid: ArrayLike | str | None = None, *, return_rows: bool = False) -> Any:
        """Rows at places 1 to ``n``, best first: labels of the index of a pandas frame, else numbers from 0.

        Parameters
        ----------
        X : table (m, d)
        n : int
            Places, at least 1; a list with fewer rows gives all of them.
        qid : array-like (m,), str or int, optional
            List of each row, as in :meth:`rank`: the first ``n`` of each list, one list after the other.
        return_rows : bool
            Give the rows themselves, as a table of the kind of X with all of its columns.

        Raises
        ------
        InputError
            For an ``n`` that is no number of places, and an index that has a label twice.
        """
        X = held(X)
        rows = self._top(X, n, qid)
        if return_rows:
            return some_rows(X if is_frame(X) or is_sparse(X) else np.asarray(X), rows)
        if not hasattr(X, "iloc"):
            return rows
        if not X.index.is_unique:
            raise InputError(
                "The index of X has a label twice, so that labels name no rows; call X.reset_index(drop=True) first."
            )
        return np.asarray(X.index.take(rows))

    def _top(self, X: Any, n: int, qid: ArrayLike | str | int | None = None) -> Indices:
        """Numbers of these rows."""
        wanted, (table, lists) = whole("n", n), self._in_lists(X, qid, level=5)
        places = places_by_list(self.state_.list_scores(table, lists), lists)
        rows = np.flatnonzero(places <= wanted)
        return rows[np.lexsort((places[rows],) if lists is None else (places[rows], lists[rows]))]

    def contributions(self, X: Any) -> Any:
        """What each column adds to the score of a row. The score is linear, so that these are exact and add up to it.

        The columns are those with a weight. Before them stands the first stage's score, where the model corrects one
        that is not linear in the columns, and after them the constant, the same for all rows. The two are
        called "first stage" and "constant", with underscores behind where a column of the fit is called so. With a
        shortlist the sum is the score inside the head, which :meth:`decision_function` lifts above the others; rows
        below ``threshold_`` are ordered by the first stage alone.

        Parameters
        ----------
        X : table (n, d)

        Returns
        -------
        table (n, k)
            A data frame like X, with names; or an array, if X is one.

        Raises
        ------
        InputError
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
            added[free_name("first stage", state.columns.names)] = first
        table = rows.reranked(used)
        for place, j in enumerate(used):
            added[state.columns.names[j]] = table[:, place] * coef[j]
        added[free_name("constant", state.columns.names)] = np.full(rows.n, _constant(state))
        return added

    def plot(self, X: Any, y: ArrayLike, ax: Any = None, qid: ArrayLike | str | None = None) -> Any:
        """Relevant rows found by row looked at, of one list: the fit, another first stage, and the ideal.

        Returns the axes (:func:`rerank.plots.cumulative_gain`). Lists as in :meth:`rank`.

        Raises
        ------
        InputError
            Also for rows of several lists.
        """
        from rerank.plots import cumulative_gain

        rows = self._one_list(X, qid)
        grades = labels_of(y, rows.n, self.state_.labels)
        first = self.state_.first(rows)
        scores = self.state_.list_scores(rows, None, first)
        same = first is not None and np.array_equal(scores, first)
        curves = {"fitted, as the first stage" if same else "fitted": scores}
        if first is not None and not same:
            curves["first stage"] = first
        axes = cumulative_gain(grades > 0, curves, top=getattr(self.state_.task.quoted, "at", None), ax=ax)
        expected = None if self.result_.evidence is None else self.result_.evidence.expected
        if expected is not None:  # the number that leads; those of the curves may be of rows that the fit has seen
            axes.set_title(f"held-out rows of the fit: {self.result_.statistic_name} {expected:.4g}", fontsize=10)
        return axes

    def plot_contributions(
        self,
        X: Any,
        n: int = 10,
        names: Sequence[str] | None = None,
        ax: Any = None,
        qid: ArrayLike | str | None = None,
    ) -> Any:
        """What puts the first ``n`` rows of one list there: what each column adds to the score, less its mean.

        Returns the axes (:func:`rerank.plots.contributions`).

        Parameters
        ----------
        X : table (m, d)
        n : int
        names : sequence of str, optional
            Of all rows of X; without it the index labels of a pandas frame, else their numbers.
        ax : matplotlib axes, optional
        qid : array-like (m,), str or int, optional
            As in :meth:`rank`.

        Raises
        ------
        InputError
            Also for rows of several lists.
        """
        from rerank.plots import contributions

        X = held(X)
        self._one_list(X, qid)
        added, first = self._added(X), self._top(X, n, ONE_LIST)
        *columns, _ = added  # the constant is the same for all rows
        if not columns:
            raise InputError("No column has a weight, so none adds to a score; there is nothing to draw.")
        values = np.column_stack([added[name] - added[name].mean() for name in columns])[first]
        names = X.index if names is None and hasattr(X, "iloc") else names
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
        names = [state.columns.names[j] for j in state.features]
        return corrections(names, state.weights[1:], state.task.radius, ax=ax)

    def plot_weights(self, every: bool = False, ax: Any = None) -> Any:
        """Value of all weights of two or three features, or of one or two corrections, right after the fit.

        Returns the axes (:func:`rerank.plots.cells`). With ``proof=True`` the boxes of the proof stand over them.
        Of more features those are drawn that have a weight, the others being 0.

        Parameters
        ----------
        every : bool
            Draw every face of the cube of free weights, not only the one on which the fit lies.
        ax : matplotlib axes, optional

        Raises
        ------
        InputError
            For more weights than a picture shows, and for a model that was read from a file.
        """
        from rerank.reranker.weight_space import weights_drawn

        return weights_drawn(self.state_, self.result_.proof, every, ax)


def _constant(state: FittedState) -> float:
    """What the score of the head is where all columns, and a first stage that is a column of its own, are 0."""
    stage = state.first_stage
    if state.reranks and not state.anchored:
        if state.task.normalise:  # the score is the weighted mean of the columns as they are
            return 0.0
        return -float(state.weights @ per_unit(state.low, state.low, state.high))
    return 0.0 if stage is None or state.prior_weight else stage.intercept


def ranked(state: FittedState) -> StateRanker:
    """What a fitted state says of rows whose columns are known to be those of the fit."""
    made = StateRanker()
    made.state_, made.result_ = state, state.result
    made.gain, made.reranks_ = state.task.gain, state.reranks
    return made
