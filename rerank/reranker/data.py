"""Checked training data: the gain of each row, its list, and the list's weight."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import validate_data

from rerank.errors import InputError, LeakWarning
from rerank.io.arrays import check_qid, check_weights, held
from rerank.io.frames import without
from rerank.io.labels import TwoLabels, read_labels
from rerank.ranks.evaluator import Evaluator
from rerank.ranks.lists import OneList, number_lists, rows_by_list, split
from rerank.ranks.row_gains import Gain, IdealGains, gain_of, missed_gains, weighted_gains
from rerank.reranker.columns import Rows, columns_of, lists_of
from rerank.reranker.leaks import leaks
from rerank.statistics import RankStatistic

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Weights = Mapping[Any, float] | ArrayLike | None


@dataclass(frozen=True, eq=False)
class Data:
    """Checked training data: features, gains, lists and weights of lists.

    Attributes
    ----------
    rows : Rows
        The table as it was given.
    X : float64 array (n, d)
        Columns that can be reranked.
    y : float64 array (n,)
        Grades; 0 is irrelevant.
    gains : float64 array (n,)
        Gain of each row: that of its label, times the weight of the row.
    qid : intp array (n,) or None
        Number of each row's list.
    list_weight : float64 array (n,) or None
        Weight of each row's list, the same on all its rows.
    missed : tuple of float64 arrays
        Gains of the relevant items that are not among the rows, by the list's number; empty if none was given.
    ideal_gains : mapping of list number to grades, or None
        The grades of these items.
    labels : TwoLabels or None
        How two labels were mapped to 0 and 1; None if labels are grades.
    notes : tuple of str
        Sentences on columns that tell the label.
    """

    rows: Rows
    X: Floats
    y: Floats
    gains: Floats
    qid: Indices | None
    list_weight: Floats | None
    missed: tuple[Floats, ...] = ()
    ideal_gains: IdealGains = None
    labels: TwoLabels | None = None
    notes: tuple[str, ...] = ()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns of ``X``."""
        columns = self.rows.columns
        return tuple(columns.names[j] for j in columns.chosen)

    @property
    def longest_list(self) -> int:
        """Number of rows of the longest list."""
        return self.y.size if self.qid is None else int(np.bincount(self.qid).max())

    def evaluate(self, statistic: RankStatistic, scores: Floats) -> float:
        """Mean of the statistic over the lists, equal scores against the gain."""
        return self.evaluator(statistic).mean(scores, "pessimistic")

    def evaluator(self, statistic: RankStatistic) -> Evaluator:
        """What values of the lists by a statistic are computed with; kept."""
        if statistic not in self._evaluators:
            gain_of(statistic, "linear", self.gains)  # refuses gains that the statistic cannot count
            self._evaluators[statistic] = Evaluator(statistic, self._lists)
        return self._evaluators[statistic]

    @cached_property
    def _evaluators(self) -> dict[RankStatistic, Evaluator]:
        return {}

    @cached_property
    def _lists(self) -> list[OneList]:
        return split(
            self.gains, self.qid, gain="linear", query_weight=self.list_weight,
            ideal_gains={number: gains.tolist() for number, gains in enumerate(self.missed)},
        )  # fmt: skip

    def best(self, statistic: RankStatistic) -> float:
        """The same of the best order of each list."""
        return self.evaluate(statistic, self.gains)

    def missed_by(self, number: int) -> Floats:
        """Gains of the relevant items that are not among the rows of a list."""
        return self.missed[number] if self.missed else np.empty(0)


def data_of(
    X: Any, y: ArrayLike, qid: Any, sample_weight: ArrayLike | None, query_weight: Weights, ideal_gains: IdealGains,
    options: Mapping[str, Any], estimator: Any, names: tuple[str, ...] = (),
) -> tuple[Data, Floats | None]:  # fmt: skip
    """Training data as a user gives them, checked; and the weights of the rows.

    Parameters
    ----------
    X, y, qid, sample_weight, query_weight, ideal_gains
        As in :meth:`rerank.Reranker.fit`.
    options : mapping
        Parameters of the reranker.
    estimator : object
        Gets scikit-learn's record of names and number of the columns.
    names : tuple of str
        Names of the columns, where X has none.
    """
    X, y = held(X), held(y)
    ids, stage = lists_of(X, qid), options["first_stage"]
    used = {stage} if isinstance(stage, str) else {*map(str, getattr(stage, "feature_names_in_", ()))}
    if np.ndim(y) == 2:
        message = "A column-vector y was passed when a 1d array was expected; pass y.ravel()."
        warnings.warn(message, DataConversionWarning, stacklevel=4)
    rows = columns_of(without(X, qid) if isinstance(qid, str) else X, y, options["features"], used)
    validate_data(estimator, rows.given, y, reset=True, skip_check_array=True)
    frame = hasattr(estimator, "feature_names_in_")
    columns = replace(rows.columns, frame=frame, lists=qid if isinstance(qid, str) else "")
    if names and not frame:
        columns = replace(columns, inputs=names, names=names)
    if qid is not None and options["list_length"] is not None:
        raise InputError(
            f"list_length is {options['list_length']}, and with qid every list has its own length; leave it out."
        )
    gain = gain_of(options["stat"], options["gain"], sample_weight)
    data, weights = checked(
        replace(rows, columns=columns), y, ids, sample_weight, query_weight, gain, options["pos_label"], ideal_gains
    )
    every = stage is not None or columns.transformer is not None  # a first stage learns from every column
    which = range(len(columns.inputs)) if every else columns.chosen
    notes = leaks(data.rows.given, columns.inputs, which, data.y)
    for note in notes:
        warnings.warn(note, LeakWarning, stacklevel=4)
    return replace(data, notes=tuple(notes)), weights


def checked(
    rows: Rows, y: ArrayLike, qid: ArrayLike | None, sample_weight: ArrayLike | None, query_weight: Weights,
    gain: Gain, pos_label: Any = None, ideal_gains: IdealGains = None,
) -> tuple[Data, Floats | None]:  # fmt: skip
    """Training data, checked for consistent numbers of rows, lists and weights; and the weights of the rows.

    Raises
    ------
    InputError
        Naming what is not consistent.
    """
    n = rows.n
    grades, labels = read_labels(y, n, pos_label)
    names: tuple[Any, ...] = (0,)
    lists = None
    if qid is not None:
        names, lists = number_lists(check_qid(qid, n))
    weights = None if sample_weight is None else check_weights(sample_weight, n)
    gains, by_list = gains_and_weights(grades, gain, weights, query_weight, names, lists)
    missed = tuple(missed_gains(ideal_gains, names, gain)) if ideal_gains else ()
    by_number = numbered(ideal_gains, names)
    table = rows.reranked(rows.columns.chosen)
    return Data(rows, table, grades, gains, lists, by_list, missed, by_number, labels), weights


def numbered(ideal_gains: IdealGains, names: tuple[Any, ...]) -> IdealGains:
    """The grades by the numbers of the lists that ``names`` has; see :func:`rerank.ranks.lists.missed_gains`."""
    if not ideal_gains:
        return None
    found = {number: ideal_gains[name] for number, name in enumerate(names) if name in ideal_gains}
    return found or ideal_gains  # none of the lists: refused where it is used


def gains_and_weights(
    y: Floats, gain: Gain, sample_weight: Floats | None, query_weight: Weights,
    names: tuple[Any, ...], qid: Indices | None,
) -> tuple[Floats, Floats | None]:  # fmt: skip
    """Gain of each row and weight of its list.

    ``query_weight`` is a mapping from list id to weight (1 for a list that it does not hold), or one number for each
    row, the same for all rows of a list.
    """
    gains = weighted_gains(y, gain, sample_weight)
    if not np.any(gains > 0):
        raise InputError(
            "No row has both a positive gain and a positive weight: there is nothing to find; mark relevant rows in y."
        )
    if query_weight is None:
        return gains, None
    if qid is None:
        raise InputError(
            "query_weight weighs lists, and there is no qid; give qid, or use sample_weight for rows."
        )
    if isinstance(query_weight, Mapping):
        unknown = [name for name in query_weight if name not in set(names)]
        if unknown:
            raise InputError(
                f"query_weight names the list {unknown[0]!r}, which is not in qid; remove it or correct its id."
            )
        by_list = np.array([float(query_weight.get(name, 1.0)) for name in names])
        weights = by_list[qid]
    else:
        weights = np.asarray(query_weight, dtype=np.float64)
    if weights.shape != y.shape:
        raise InputError(
            f"query_weight has shape {weights.shape} for {y.size} rows; give one weight a row or a mapping."
        )
    for number, rows in rows_by_list(qid, y.size):
        own = weights[rows]
        if not np.isfinite(own).all() or own[0] < 0 or np.any(own != own[0]):
            raise InputError(
                f"The weight of list {names[number]!r} must be one finite number >= 0; found "
                f"{np.unique(own)[:3].tolist()}."
            )
    if not np.any(weights > 0):
        raise InputError(
            "query_weight is 0 for every list, so nothing counts; give some list a positive weight."
        )
    return gains, weights
