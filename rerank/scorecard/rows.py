"""The rows of a fit: what is there, which lists and kinds of people, and how many rows each stands for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.arrays import check_qid, check_weights
from rerank.io.frames import Frame, column, entries, is_frame, names_of, place_of, some_rows, without
from rerank.ranks.lists import number_lists, weights_of_lists
from rerank.ranks.present import present
from rerank.scorecard.data import in_units
from rerank.scorecard.kernels import Limits, cut_below
from rerank.scorecard.questions import written
from rerank.scorecard.statement import People


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with a label, each in a list.

    Attributes
    ----------
    X : table (n, d)
        Without columns of lists and of kinds of people.
    relevant : bool (n,)
    weight : float64 (n,) or None
    lists : int64 (n,) or None
    list_weight : float64 (lists,) or None
    people : People or None
    """

    X: Any
    relevant: NDArray[np.bool_]
    weight: NDArray[np.float64] | None = None
    lists: NDArray[np.int64] | None = None
    list_weight: NDArray[np.float64] | None = None
    people: People | None = None

    @classmethod
    def of(cls, X: Any, relevant: NDArray[np.bool_], qid: Any, weight: Any, query_weight: Any, people: Any) -> Rows:
        """The rows that have a weight; lists and people by name of a column or one by one."""
        n = X.shape[0]
        taken = [name for name in (qid, people) if isinstance(name, str)]
        qid, people = (entries(column(X, place_of(X, one))) if isinstance(one, str) else one for one in (qid, people))
        qid = None if qid is None else check_qid(qid, n)
        there = present(n, weight, query_weight, qid)
        X = X if is_frame(X) or not taken else Frame(dict(zip(names_of(X), X.T)))
        X, relevant = there.of(without(X, *taken), "X"), there.of(relevant)
        weight = None if weight is None else there.of(check_weights(weight, n))
        lists = list_weight = kinds = None
        if qid is not None:
            names, lists = number_lists(there.of(qid))
            lists = lists.astype(np.int64)
            if query_weight is not None:
                list_weight = weights_of_lists(there.of(query_weight), names, lists)
        if people is not None:
            own = there.of(np.asarray(entries(people), dtype=object))
            if own.shape != relevant.shape:
                raise InputError(f"people has {len(own)} entries for {relevant.size} rows; give one for each row.")
            texts = [written(one) for one in own.tolist()]
            known = tuple(sorted(set(texts)))
            kinds = People(known, np.array([known.index(one) for one in texts], np.int64))
        if not relevant.any() or relevant.all():
            raise InputError("y holds 1 class only among the rows with a weight; a card needs rows of both.")
        return cls(X, relevant, weight, lists, list_weight, kinds)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.relevant.size)

    @property
    def units(self) -> tuple[NDArray[np.int64], int]:
        """How many units each row counts, and units to a row."""
        return (np.ones(self.n, np.int64), 1) if self.weight is None else in_units(self.weight)

    @property
    def counts(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How many relevant and how many other rows each row stands for."""
        weight = np.ones(self.n) if self.weight is None else self.weight
        return weight * self.relevant, weight * ~self.relevant

    def some(self, which: NDArray[np.intp]) -> Rows:
        """Some of the rows, in the order given, which may repeat."""

        def of(values: Any) -> Any:
            return None if values is None else values[which]

        lists, list_weight = of(self.lists), self.list_weight
        if lists is not None:
            known, lists = np.unique(lists, return_inverse=True)
            lists = lists.astype(np.int64)
            list_weight = None if list_weight is None else list_weight[known]
        people = None if self.people is None else replace(self.people, codes=self.people.codes[which])
        return Rows(some_rows(self.X, which), self.relevant[which], of(self.weight), lists, list_weight, people)


def cut_of(totals: NDArray[np.int64], rows: Rows, limits: Limits) -> int:
    """The least total that is flagged, by totals of a card that keeps the limits."""
    levels, block = np.unique(-totals, return_inverse=True)
    kinds = 1 if rows.people is None else len(rows.people.names)
    codes = np.zeros(rows.n, np.int64) if rows.people is None else rows.people.codes
    counts, _ = rows.units
    by_block = np.zeros((levels.size, 2 * kinds))
    np.add.at(by_block, (block, 2 * codes + ~rows.relevant), counts)
    return int(-levels[cut_below(by_block, levels.size, limits)])
