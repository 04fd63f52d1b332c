"""The data of every first stage: rows, their labels, lists and weights, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.arrays import check_weights
from rerank.ranks.lists import number_lists

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RankingData:
    """Rows of one or many lists.

    Attributes
    ----------
    X : float array or CSR matrix (n, d)
        As given: never made dense, float32 stays float32.
    y : float64 (n,)
    group : int64 (n,)
        List of each row, 0 to ``n_groups - 1`` in order of first appearance.
    weight : float64 (n,)
        Weight of each row, 1 where none was given.
    there : bool array, optional
        Which of the rows that were given these are; all of them without it.
    """

    X: Any
    y: Floats
    group: Ints
    weight: Floats
    there: NDArray[np.bool_] | None = None

    def as_given(self, values: Floats) -> Floats:
        """Values of the rows (n,) as values of all rows that were given, 0 for those left out."""
        if self.there is None:
            return values
        found = np.zeros(self.there.size)
        found[self.there] = values
        return found

    @property
    def n_groups(self) -> int:
        """Number of lists."""
        return int(self.group.max()) + 1 if self.group.size else 0

    @cached_property
    def order(self) -> Ints:
        """Rows sorted by list, in the given order within each."""
        return np.argsort(self.group, kind="stable").astype(np.int64)

    @cached_property
    def start(self) -> Ints:
        """Where each list begins in ``order``; one entry more than there are lists."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.group, minlength=self.n_groups))]).astype(
            np.int64
        )

    @cached_property
    def relevant(self) -> NDArray[np.bool_]:
        """Rows above the smallest label of a row that has weight."""
        return self.y > self.y[self.weight > 0].min()

    def sides(self) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
        """Relevant rows, and others, of the lists that hold both, sorted by list; rows of weight 0 are left out.

        Returns
        -------
        two pairs of int64 arrays
            Positions of the rows in the data, and the list of each: 0 to the number of such lists - 1.

        Raises
        ------
        InputError
            If no list holds both.
        """
        counts = self.weight > 0
        kinds = counts & self.relevant, counts & ~self.relevant
        held = [np.bincount(self.group[rows], minlength=self.n_groups) > 0 for rows in kinds]
        both = held[0] & held[1]
        if not both.any():
            raise InputError(
                "No list holds both a relevant and another row with a weight > 0; there is no pair to learn from, so "
                "check qid, y and sample_weight."
            )
        number, rows = np.cumsum(both) - 1, self.order[both[self.group[self.order]]]
        relevant, others = (rows[kind[rows]] for kind in kinds)
        return (relevant, number[self.group[relevant]]), (others, number[self.group[others]])


def groups_of(qid: Any, n: int) -> Ints:
    """Number the lists in order of first appearance; one list without ``qid``.

    Raises
    ------
    InputError
        If ``qid`` has another length than the rows.
    """
    if qid is None:
        return np.zeros(n, np.int64)
    given = np.asarray(qid)
    if given.shape != (n,):
        raise InputError(f"qid has shape {given.shape}; it must name the list of each of the {n} rows.")
    return number_lists(given)[1].astype(np.int64, copy=False)


def weights_of(sample_weight: Any, n: int) -> Floats:
    """Weights of the rows, 1 where none are given.

    Raises
    ------
    InputError
        If they are not ``n`` finite numbers >= 0 of which one is positive.
    """
    return np.ones(n) if sample_weight is None else check_weights(sample_weight, n)
