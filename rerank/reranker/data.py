"""Checked training data: the gain of each row, its list, and the list's weight."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError, LeakWarning
from rerank.errors.telling import of_kind
from rerank.io.arrays import check_qid, check_weights, held
from rerank.io.columns import index_note
from rerank.io.frames import as_table, without
from rerank.io.labels import TwoLabels, read_labels
from rerank.io.leaks import leaks
from rerank.io.meant import MEANT, meant
from rerank.io.table import Table
from rerank.problem.lists import Floats, Indices
from rerank.problem.scaling import deviations
from rerank.ranks.evaluator import Evaluator, Ties
from rerank.ranks.lists import OneList, number_lists, split, weights_of_lists
from rerank.ranks.present import Present, present
from rerank.ranks.row_gains import Gain, IdealGains, gain_of, missed_gains, weighted_gains
from rerank.reranker.columns import Columns, TableRows, columns_of, lists_of, names_in
from rerank.reranker.members import reranked
from rerank.reranker.options import RerankerOptions
from rerank.statistics import RankStatistic

Weights = Mapping[Any, float] | ArrayLike | None

BY_ROW = ("X", "y", "gains", "qid", "list_weight", "sample_weight", "groups", "fold", "kinds")
"""Arrays of :class:`Data` with an entry for each row."""


@dataclass(frozen=True, eq=False)
class Data:
    """Checked training data: features, gains, lists and weights of lists."""

    rows: TableRows  # the table as it was given
    X: Floats  # (n, d), columns that can be reranked
    y: Floats  # (n,), grades, where 0 is irrelevant, or utilities
    gains: Floats  # (n,), that of each label, times the weight of the row
    qid: Indices | None  # (n,), number of each row's list
    list_weight: Floats | None  # (n,), the same on all rows of a list
    sample_weight: Floats | None = None  # (n,), for the first stage
    missed: tuple[Floats, ...] = ()  # by list, gains of the relevant items that are not among the rows
    ideal_gains: IdealGains = None  # the grades of these items by number of the list
    labels: TwoLabels | None = None  # how two labels were mapped to 0 and 1; None for grades
    notes: tuple[str, ...] = ()  # sentences on a saved index, and on columns that may mean more than they seem to
    groups: Indices | None = None  # (n,), number of the group, such as a person
    fold: Indices | None = None  # (n,), for out-of-fold scores, where a splitter says it
    held_out: Mapping[Any, Floats] = field(default_factory=dict)  # by first stage, (n,), where ``fold`` has it already
    kinds: NDArray[Any] | None = None  # (n,), what kind a row is of, for quotas

    @cached_property
    def units(self) -> Indices | None:
        """What folds keep whole: the number of each row's list or group, or of both together; None for rows alone."""
        return self.qid if self.groups is None else units_of(self.qid, self.groups)

    @property
    def row_gains(self) -> Floats:
        """Gain of each label, without the weight of the row."""
        weight = self.sample_weight
        return self.gains if weight is None else np.divide(self.gains, weight, np.zeros(weight.size), where=weight > 0)

    @cached_property
    def spread(self) -> Floats:
        """Standard deviation of each column of ``X``; all problems of correcting a score on these rows share it."""
        return deviations(self.X)

    @property
    def unit(self) -> str:
        """What folds keep whole, in a word or two."""
        if self.units is None:
            return "row"
        return "list" if self.groups is None else "group" if self.qid is None else "joined list"

    def some(self, rows: Indices) -> Self:
        """Some of the rows; their lists keep their numbers."""
        kept = {name: side[rows] for name, side in vars(self).items() if name in BY_ROW and side is not None}
        return replace(self, rows=self.rows.some(rows), held_out={}, **kept)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns of ``X``."""
        columns = self.rows.columns
        return tuple(columns.names[j] for j in columns.chosen)

    def reranking(self, features: Any) -> Self:
        """The same rows with other columns to rerank: those that ``features`` names or makes of them."""
        own = self.rows.columns
        rows = columns_of(self.rows.given, self.y, features, own.inputs, self.sample_weight)
        made = replace(rows.columns, frame=own.frame, lists=own.lists, aside=own.aside, index=own.index)
        rows = replace(rows, columns=made.called(own.inputs), there=self.rows.there)
        return self._of(rows)

    def seeing(self, columns: Columns) -> Self:
        """The same rows with the columns to rerank of other ones of the table."""
        return self._of(replace(self.rows, columns=columns, _made={}))

    def _of(self, rows: TableRows) -> Self:
        found = replace(self, rows=rows, X=rows.reranked(rows.columns.chosen))
        found.__dict__["_evaluators"] = self._evaluators  # of the same lists
        return found

    @property
    def longest_list(self) -> int:
        """Number of rows of the longest list."""
        return self.y.size if self.qid is None else int(np.bincount(self.qid).max())

    def evaluate(self, statistic: RankStatistic, scores: Floats, ties: Ties | None = None) -> float:
        """Mean of the statistic over the lists, equal scores by default as ``statistic.ties`` says."""
        return self.evaluator(statistic).mean(scores, ties)

    def evaluator(self, statistic: RankStatistic) -> Evaluator:
        """What values of the lists by a statistic are computed with; kept."""
        if statistic not in self._evaluators:
            if not statistic.by_order:
                gain_of(statistic, "linear", self.gains)  # refuses gains that the statistic cannot count
            self._evaluators[statistic] = Evaluator(statistic, self._lists)
        return self._evaluators[statistic]

    @cached_property
    def _evaluators(self) -> dict[RankStatistic, Evaluator]:
        return {}

    @cached_property
    def _lists(self) -> list[OneList]:
        missed = {number: gains.tolist() for number, gains in enumerate(self.missed)}
        return split(self.gains, self.qid, gain="linear", query_weight=self.list_weight, ideal_gains=missed)


def units_of(qid: ArrayLike | None, groups: ArrayLike) -> Indices:
    """Numbers of the groups; with lists, of the smallest sets of rows that hold whole lists and whole groups."""
    people = number_lists(groups)[1]
    if qid is None:
        return people
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    lists = number_lists(qid)[1]
    n_lists = int(lists.max()) + 1
    size = n_lists + int(people.max()) + 1
    shared = coo_array((np.ones(lists.size), (lists, n_lists + people)), (size, size))
    return connected_components(shared, directed=False)[1].astype(np.intp)[lists]


@dataclass(frozen=True, eq=False)
class Arguments:
    """The arguments of :meth:`rerank.Reranker.fit`: a table, and an entry for each of its rows."""

    X: Any
    y: Any
    qid: Any = None
    sample_weight: Any = None
    query_weight: Weights = None
    ideal_gains: IdealGains = None
    groups: Any = None
    people: Any = None
    names: tuple[str, ...] = ()  # of the columns, where X has none
    notes: tuple[str, ...] = ()  # of the reader of a file
    there: Present = field(default_factory=Present)  # which rows of the user's table these are; see `present`

    @classmethod
    def of_file(cls, table: Table) -> Self:
        """Those of a table that was read from a file, whose columns have names."""
        weights, notes = (table.sample_weight, None, table.ideal_gains), tuple(of_kind(table.notes, MEANT))
        return cls(table.X, table.y, table.qid, *weights, table.groups, table.people, table.feature_names, notes)

    def present(self) -> Self:
        """Those of the rows with a weight; the lists are one id a row."""
        table = as_table(self.X)
        there = present(table.shape[0], self.sample_weight, self.query_weight, self.qid)
        qid, weights = there.of(self.qid, "qid"), self.query_weight
        if there.mask is not None and isinstance(weights, Mapping):
            gone = set(np.asarray(self.qid).tolist()) - set(qid.tolist())
            weights = {name: weight for name, weight in weights.items() if name not in gone}
        return replace(
            self,
            X=there.of(table),
            y=there.of(self.y, "y"),
            qid=qid,
            groups=there.of(self.groups, "groups"),
            people=there.of(self.people, "people"),
            sample_weight=there.of(self.sample_weight),
            query_weight=there.of(weights, "query_weight"),
            there=there,
        )

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Say of rows that a message names that those of weight 0 are not counted."""
        try:
            yield
        except InputError as error:
            if self.there.mask is None or "row " not in str(error):
                raise
            raise type(error)(f"{error} (Rows are counted from 0 without those of weight 0.)") from error


def data_of(arguments: Arguments, options: RerankerOptions, estimator: Any) -> Data:
    """A user's training data, checked; the ``estimator`` gets scikit-learn's record of names of the columns."""
    from sklearn.exceptions import DataConversionWarning
    from sklearn.utils.validation import validate_data

    X, y, stage = held(arguments.X), held(arguments.y), options.first_stage
    given = {"qid": arguments.qid, "groups": arguments.groups, "people": arguments.people}
    named = tuple(dict.fromkeys(side for side in given.values() if isinstance(side, str)))
    sides = {name: lists_of(X, side, name) for name, side in given.items()}
    used = names_in(stage)
    if np.ndim(y) == 2:
        message = "A column-vector y was passed when a 1d array was expected; pass y.ravel()."
        warnings.warn(message, DataConversionWarning, stacklevel=4)
    gain = gain_of(options.stat, options.gain, arguments.sample_weight)
    weighed = replace(arguments, X=without(X, *named), y=y, **sides).present()
    with weighed.counted():
        weight = weighed.sample_weight
        weight = None if weight is None else check_weights(weight, weighed.X.shape[0])
        rows = columns_of(weighed.X, weighed.y, reranked(stage, options.features), used, weight)
        validate_data(estimator, rows.given, weighed.y, reset=True, skip_check_array=True)
        frame = hasattr(estimator, "feature_names_in_")
        lists = arguments.qid if isinstance(arguments.qid, str) else ""
        columns = replace(rows.columns, frame=frame, lists=lists, aside=named)
        if arguments.names and not frame:
            columns = columns.called(arguments.names)
        if arguments.qid is not None and options.list_length is not None:
            raise InputError(
                f"list_length is {options.list_length}, and with qid every list has its own length; leave it out."
            )
        data = checked(replace(rows, columns=columns, there=weighed.there), weighed, gain, options.pos_label)
    every = stage is not None or columns.transformer is not None  # a first stage learns from every column
    which = range(len(columns.inputs)) if every else columns.chosen
    notes = leaks(data.rows.given, columns.inputs, which, data.y)
    for note in notes:
        warnings.warn(note, LeakWarning, stacklevel=4)
    index, others = columns.index, map(str, arguments.notes or meant(data.rows.given))
    return replace(data, notes=(*([index_note(index)] if index else []), *others, *notes))


def checked(rows: TableRows, arguments: Arguments, gain: Gain, pos_label: Any = None) -> Data:
    """Training data, checked for consistent numbers of rows, lists and weights."""
    n = rows.n
    grades, labels = read_labels(arguments.y, n, pos_label, utilities=gain == "order")
    names: tuple[Any, ...] = (0,)
    lists = None
    if arguments.qid is not None:
        names, lists = number_lists(check_qid(arguments.qid, n))
    weights = None if arguments.sample_weight is None else check_weights(arguments.sample_weight, n)
    numbers = None if lists is None else (names, lists)
    gains, by_list = gains_and_weights(grades, gain, weights, arguments.query_weight, numbers)
    groups, people, ideal = arguments.groups, arguments.people, arguments.ideal_gains
    return Data(
        rows=rows,
        X=rows.reranked(rows.columns.chosen),
        y=grades,
        gains=gains,
        qid=lists,
        list_weight=by_list,
        sample_weight=weights,
        missed=tuple(missed_gains(ideal, names, gain)) if ideal else (),
        ideal_gains=numbered(ideal, names),
        labels=labels,
        groups=None if groups is None else number_lists(check_qid(groups, n, "groups"))[1],
        kinds=None if people is None else np.array(list(map(written, check_qid(people, n, "people").tolist()))),
    )


def written(kind: Any) -> str:
    """A kind as a quota names it: 1 for 1.0."""
    return str(int(kind)) if isinstance(kind, float) and kind.is_integer() else str(kind)


def numbered(ideal_gains: IdealGains, names: tuple[Any, ...]) -> IdealGains:
    """The grades by the numbers of the lists that ``names`` has; see :func:`rerank.ranks.lists.missed_gains`."""
    if not ideal_gains:
        return None
    found = {number: ideal_gains[name] for number, name in enumerate(names) if name in ideal_gains}
    return found or ideal_gains  # none of the lists: refused where it is used


def gains_and_weights(
    y: Floats, gain: Gain, sample_weight: Floats | None, query_weight: Weights, lists: tuple[Any, Indices] | None
) -> tuple[Floats, Floats | None]:
    """Gain of each row and weight of its list; ``query_weight`` is by list id (1 for others), or by row."""
    gains = weighted_gains(y, gain, sample_weight)
    if not np.any(gains > 0):
        raise InputError(
            "No row has both a positive gain and a positive weight: there is nothing to find; mark relevant rows in y."
        )
    if query_weight is None:
        return gains, None
    if lists is None:
        raise InputError("query_weight weighs lists, and there is no qid; give qid, or use sample_weight for rows.")
    names, qid = lists
    unknown = [name for name in query_weight if name not in set(names)] if isinstance(query_weight, Mapping) else []
    if unknown:
        raise InputError(
            f"query_weight names the list {unknown[0]!r}, which is not in qid; remove it or correct its id."
        )
    return gains, weights_of_lists(query_weight, names, qid)[qid]
