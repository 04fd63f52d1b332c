"""The rows of a fit: what is there, which lists and kinds of people, and how many rows each stands for."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.arrays import check_qid, check_weights
from rerank.io.frames import Frame, column, entries, is_frame, names_of, place_of, some_rows, without
from rerank.io.levels import level_of, name_of
from rerank.io.options import real, spelled
from rerank.ranks.lists import lists_given, number_lists, weights_of_lists
from rerank.ranks.present import present
from rerank.scorecard.data import in_units
from rerank.scorecard.kernels import Limits, cut_below


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with a label, each in a list."""

    X: Any  # table (n, d) without columns of lists and of kinds of people
    relevant: NDArray[np.bool_]
    weight: NDArray[np.float64]
    lists: NDArray[np.int64]
    list_weight: NDArray[np.float64]  # (lists,)
    kinds: tuple[str, ...]  # of people; none where nobody named them
    people: NDArray[np.int64]  # the number of each row's kind
    by_list: bool  # whether lists were named; if not, all rows are one list

    @classmethod
    def of(cls, X: Any, relevant: NDArray[np.bool_], qid: Any, weight: Any, query_weight: Any, people: Any) -> "Rows":
        """The rows that have a weight; lists and people by name of a column or one by one."""
        n = X.shape[0]
        taken = [name for name in (qid, people) if isinstance(name, str)]
        qid, people = (entries(column(X, place_of(X, of))) if isinstance(of, str) else of for of in (qid, people))
        qid = None if qid is None else check_qid(lists_given(qid, n), n)
        there = present(n, weight, query_weight, qid)
        X = X if is_frame(X) or not taken else Frame(dict(zip(names_of(X), X.T)))
        X, relevant = there.of(without(X, *taken), "X"), there.of(relevant)
        weight = np.ones(relevant.size) if weight is None else there.of(check_weights(weight, n))
        lists, list_weight = np.zeros(relevant.size, np.int64), np.ones(1)
        kinds, codes = tuple[str, ...](), np.zeros(relevant.size, np.int64)
        if qid is not None:
            names, numbers = number_lists(there.of(qid))
            lists, list_weight = numbers.astype(np.int64), np.ones(len(names))
            if query_weight is not None:
                list_weight = weights_of_lists(there.of(query_weight), names, lists)
        if people is not None:
            own = there.of(np.asarray(entries(people), dtype=object))
            if own.shape != relevant.shape:
                raise InputError(f"people has {len(own)} entries for {relevant.size} rows; give one for each row.")
            texts = [name_of(group) for group in own.tolist()]
            kinds = tuple(sorted(set(texts)))
            codes = np.array([kinds.index(text) for text in texts], np.int64)
        if not relevant.any() or relevant.all():
            raise InputError("y holds 1 class only among the rows with a weight; a card needs rows of both.")
        return cls(X, relevant, weight, lists, list_weight, kinds, codes, qid is not None)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.relevant.size)

    @property
    def units(self) -> tuple[NDArray[np.int64], int]:
        """How many units each row counts, and units to a row."""
        return in_units(self.weight)

    @property
    def counts(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How many relevant and how many other rows each row stands for."""
        return self.weight * self.relevant, self.weight * ~self.relevant

    def some(self, which: NDArray[np.intp]) -> "Rows":
        """Some of the rows, in the order given, which may repeat."""
        known, lists = np.unique(self.lists[which], return_inverse=True)
        return replace(
            self,
            X=some_rows(self.X, which),
            relevant=self.relevant[which],
            weight=self.weight[which],
            lists=lists.astype(np.int64),
            list_weight=self.list_weight[known],
            people=self.people[which],
        )


def class_weighted(given: Any, relevant: NDArray[np.bool_], labels: Any, weight: Any) -> Any:
    """Weights of rows (n,) times those of their classes; ``labels`` are that of the other rows, and of the relevant."""
    if given is None:
        return weight
    own = np.ones(relevant.size) if weight is None else check_weights(weight, relevant.size)
    if isinstance(given, str) and given == "balanced":
        both = np.array([own[~relevant].sum(), own[relevant].sum()])
        if not both.all():
            return weight
        each = both.sum() / 2 / both
    elif isinstance(given, Mapping) and {_named(label) for label in given} <= {_named(label) for label in labels}:
        by_name = {_named(label): real("A class_weight", own, 0.0) for label, own in given.items()}
        each = np.array([by_name.get(_named(label), 1.0) for label in labels])
    else:
        named = " and ".join(map(_named, labels))
        raise InputError(f"class_weight is {spelled(given)}; give numbers for the labels {named}, 'balanced' or None.")
    return own * each[relevant.astype(np.intp)]


def _named(label: Any) -> str:
    return name_of(level_of(label))


def cut_of(totals: NDArray[np.int64], rows: Rows, limits: Limits) -> int:
    """The least total that is flagged, by totals of a card that keeps the limits."""
    levels, block = np.unique(-totals, return_inverse=True)
    counts, _ = rows.units
    by_block = np.zeros((levels.size, 2 * (int(rows.people.max()) + 1)))
    np.add.at(by_block, (block, 2 * rows.people + ~rows.relevant), counts)
    return int(-levels[cut_below(by_block, levels.size, limits)])
