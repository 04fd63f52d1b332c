"""Fit, scores and first places of a list that no memory holds, as methods of the estimator."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rerank.errors import InputError
from rerank.errors.stops import enough_memory
from rerank.io.labels import labels_of
from rerank.io.options import whole
from rerank.problem.passes import Part, Run, answers, first_places
from rerank.ranks import evaluate
from rerank.ranks.lists import places_by_list
from rerank.ranks.row_gains import Gain
from rerank.reranker.clock import Clock
from rerank.reranker.parts.cuts import alone, labelled_scores
from rerank.reranker.parts.given import given_parts
from rerank.reranker.state import FittedState
from rerank.statistics import parse

Floats = NDArray[np.float64]


class PartsMixin:
    """Lists in parts, for a class with a fitted state."""

    stat: Any
    gain: Gain
    time_limit: float | None
    state_: FittedState
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def fit_parts(
        self, parts: Any, y: str | None = None, *, columns: Sequence[str] | None = None, run: Run | None = None
    ) -> Self:
        """Fit corrections of a given score on one list that no memory holds, read part by part.

        One pass finds deviations and the first rows by the given score, a second one the rows that some corrections
        within ``radius`` bring near the places that count. These rows are solved in memory. A third pass over all rows
        confirms the value of the weights, and a fourth one finds the cuts of :meth:`predict`; it holds as many scores
        as there are relevant rows. ``time_limit`` is for what happens between the passes.

        The model is that of :meth:`fit` on the same rows and columns as one table, with ``n_candidates=None``, bit by
        bit, however the list is cut: weights, value, bound, statistics, certificate, cuts, every field of ``result_``
        and of the file that :meth:`save` writes, but the seconds. Outside of that are a search or a program that the
        clock or Ctrl-C ends (also a program that confirms a proof in the few seconds it has), a first stage whose score
        of a row depends on the rows beside it, and columns of numbers beyond 1e150, which are refused here.

        Parameters
        ----------
        parts : path, sequence of paths, Ray Dataset, or sequence of callables
            Parquet files, read by row groups; what :func:`rerank.io.row_groups.row_groups` or
            :func:`rerank.search.on_ray.blocks` made; or functions without arguments that each return a table (n, d)
            and labels (n,). A part is read four times, the first one five times, and holds the same rows each time.
        y : str, optional
            Column of the labels: 0/1 or grades from 0 upwards, 0 irrelevant. Functions return theirs.
        columns : sequence of str, optional
            Columns of the table, all of numbers: by default each that holds numbers, but ``y``. Functions need it.
        run : callable, optional
            Calls a list of (function, arguments) and returns the results in order, such as
            :func:`rerank.search.on_ray.run_on_ray`, which is the default for a Dataset; else ``n_jobs`` threads.

        Returns
        -------
        self

        Raises
        ------
        InputError
            Without a radius; for a statistic of all places; for a first stage that would have to be fitted; with
            ``n_candidates``, ``list_length``, ``pos_label``, or ``features`` that make columns; for parts
            that cannot be read; and where more than two million rows are left. The estimator stays as it was, after
            Ctrl-C in a pass too.
        CertificateError
            If a claim fails the exact recomputation, or the last pass finds another value.
        """
        from rerank.reranker.parts.fit import fit_parts

        with enough_memory():
            clock = Clock(self.time_limit)
            given = given_parts(parts, y, columns, run)
            state = fit_parts(given, self.get_params(deep=False), clock)  # type: ignore[attr-defined]
        self.n_features_in_ = len(given.names)
        self.feature_names_in_ = np.array(given.names, dtype=object)
        return self._adopt(state)

    def scores_of_parts(self, parts: Any) -> Iterator[Floats]:
        """Scores of the rows of each part, as :meth:`decision_function` gives them; one part is held at a time.

        Parameters
        ----------
        parts : path, sequence of paths, Ray Dataset, or sequence of callables
            As in :meth:`fit_parts`, of any list with the columns of the fit. No labels are read.

        Returns
        -------
        iterator of float64 arrays (n,)

        Raises
        ------
        InputError
            For a model that reranks a shortlist, and for parts that cannot be read.
        """
        state = _alone(self)
        given = given_parts(parts, None, state.columns.inputs, labelled=False)
        return (state.in_one_unit(_scores(part, state)) for part in given.parts)

    def top_of_parts(self, parts: Any, n: int, *, run: Run | None = None) -> tuple[NDArray[np.intp], Floats]:
        """The first rows of a list, best first, by one pass that holds ``n`` rows of each part.

        They are the rows of places 1 to ``n`` of :meth:`rank` on one list: equal scores keep the order of the rows.

        Parameters
        ----------
        parts, run
            As in :meth:`fit_parts`, of any list with the columns of the fit. No labels are read.
        n : int
            Places, at least 1.

        Returns
        -------
        rows : intp (n,)
            Their numbers in the whole list; all rows if there are fewer.
        scores : float64 (n,)

        Raises
        ------
        InputError
            As :meth:`scores_of_parts`.
        """
        state, places = _alone(self), whole("n", n)
        given = given_parts(parts, None, state.columns.inputs, run, labelled=False)
        with enough_memory(), given.running(state.settings.n_jobs) as call:
            rows, scores = first_places(given.parts, call, places, _scores, state)
        return rows, state.in_one_unit(scores)

    def ranks_of_parts(self, parts: Any, *, run: Run | None = None) -> Iterator[NDArray[np.intp]]:
        """Place of each row in the whole list, 1 on top, part by part: those of :meth:`rank` on one list.

        A place depends on the scores of all rows, so these are held: 32 bytes a row at most. For the first places of a
        list that is too long even for that, take :meth:`top_of_parts`.

        Parameters
        ----------
        parts, run
            As in :meth:`top_of_parts`.

        Returns
        -------
        iterator of intp arrays (n,)

        Raises
        ------
        InputError
            As :meth:`scores_of_parts`.
        """
        state = _alone(self)
        given = given_parts(parts, None, state.columns.inputs, run, labelled=False)
        with enough_memory(), given.running(state.settings.n_jobs) as call:
            scores = [own for some in answers(given.parts, call, _scores, state) for own in some]
            ends = np.cumsum([own.size for own in scores])[:-1]
            places = places_by_list(np.concatenate(scores))
        return iter(np.split(places, ends))

    def score_of_parts(self, parts: Any, y: str | None = None, *, run: Run | None = None) -> float:
        """The statistic ``stat`` of the ranking of a list: that of :meth:`score` on one list, bit by bit.

        Scores and labels of all rows are held, but no column.

        Parameters
        ----------
        parts, y, run
            As in :meth:`fit_parts`, of any list with the columns of the fit.

        Raises
        ------
        InputError
            As :meth:`scores_of_parts`, and for labels that :meth:`score` refuses.
        """
        state = _alone(self)
        given = given_parts(parts, y, state.columns.inputs, run)
        with enough_memory(), given.running(state.settings.n_jobs) as call:
            found = [(np.empty(0), np.empty(0))]
            found += [own for some in answers(given.parts, call, labelled_scores, state) for own in some]
            scores, labels = (np.concatenate(own) for own in zip(*found, strict=True))
            grades = labels_of(labels, labels.size, state.labels)
            return evaluate(parse(self.stat), grades, scores, gain=self.gain)

    def _adopt(self, state: FittedState) -> Self:
        raise NotImplementedError


def _alone(est: Any) -> FittedState:
    """The state, if it scores rows one by one."""
    check_is_fitted(est, "result_")
    state: FittedState = est.state_
    if state.reranks and math.isfinite(state.threshold):
        raise InputError(
            f"The model reranks the {state.n_candidates} rows of a shortlist, whose scores stand above those of the "
            "other rows of a table in memory; fit it by fit_parts, or with n_candidates=None."
        )
    return alone(state)


def _scores(part: Part, state: FittedState) -> Floats:
    return labelled_scores(part, state)[0]
