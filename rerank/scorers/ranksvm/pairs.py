"""The pairs of a data set, and sums over them at given scores, without a list of the pairs."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.scorers.base import Floats, RankingData
from rerank.scorers.ranksvm.kernels import counts, make_nodes, margins, record, sums

# A record does not cut nodes of 1 / COARSE of a list unless less than KEPT of the weight of the pairs would remain.
COARSE, KEPT = 64, 0.95


def by_utility(data: RankingData) -> NDArray[np.intp]:
    """The rows list by list, in each by utility."""
    if data.n_groups == 1:
        return np.argsort(data.y, kind="stable")
    return np.lexsort((data.y, data.group))


def list_weights(data: RankingData, order: NDArray[np.intp]) -> Floats:
    """Weight ``N_q = sum_{y_i < y_j} weight_i weight_j`` of each list (n_groups,); ``order`` as above."""
    y, group, weight = data.y[order], data.group[order], data.weight[order]
    new = np.ones(y.size, bool)
    new[1:] = (y[1:] != y[:-1]) | (group[1:] != group[:-1])
    runs = np.flatnonzero(new)
    mass = np.add.reduceat(weight, runs)
    before = np.cumsum(mass) - mass
    head = np.searchsorted(group[runs], np.arange(data.n_groups))
    lower = before - before[head][group[runs]]
    return np.asarray(np.bincount(group[runs], mass * lower, data.n_groups), np.float64)


class UtilityPairs:
    """Layout of the rows by list and utility, and the share of each list in the loss.

    ``average="queries"`` gives every list with a pair the same share, ``"pairs"`` every pair.  The coefficient of a
    pair is ``share[list] * weight_i * weight_j``; all coefficients sum to 1.  ``coefficient`` (m,) is the weight of a
    row times the share of its list, so that ``sum_i coefficient_i up_i`` is the loss at margin 1 everywhere.

    Raises
    ------
    InputError
        If no list holds two rows of positive weight and different utility.
    """

    def __init__(self, data: RankingData, average: str) -> None:
        self.order = by_utility(data)
        per_list = list_weights(data, self.order)
        some = per_list > 0
        if not some.any():
            raise InputError(
                "No list holds two rows of positive weight with different y; a pair to learn from is needed, check qid."
            )
        share = np.zeros(per_list.size)
        share[some] = 1 / (per_list[some] * some.sum()) if average == "queries" else 1 / per_list.sum()
        self.group, self.weight, self.start = data.group, data.weight, data.start
        self.coefficient = self.weight * share[data.group]
        y, m = data.y[self.order], data.y.size
        new = np.ones(m, bool)
        new[1:] = y[1:] != y[:-1]
        new[self.start[:-1]] = True
        runs, run = np.flatnonzero(new), np.cumsum(new) - 1
        self.first, self.after = runs[run].astype(np.uint32), np.append(runs[1:], m)[run].astype(np.uint32)
        self.place = np.empty(m, np.uint32)
        self.place[self.order] = np.arange(m, dtype=np.uint32)
        self.exact = make_nodes(self.first, self.after, self.start, m + 1)[0]
        self.parts = COARSE

    @cached_property
    def _coarse(self) -> tuple[Any, int]:
        """Nodes of a record, and its size."""
        nodes, size = make_nodes(self.first, self.after, self.start, self.parts)
        return nodes, int(size)

    def at(self, p: Floats) -> "ActivePairs":
        """The pairs that are active at scores ``p`` (m,)."""
        reach = margins(np.argsort(p), self.group, self.start, self.place, p)
        active = ActivePairs(self, p, reach, np.empty((3, p.size)))
        counts(self.exact, self.first, self.order, reach, self.weight, p, active.sums)
        return active

    def recorded(self, active: "ActivePairs") -> "Record":
        """A record of active pairs with at least :data:`KEPT` of their weight.

        Nodes of ``1 / parts`` of a list are not cut: pairs of near utility are left out of the Hessian.  That saves
        half of the levels and costs no accuracy, because the Hessian only determines the direction of a step.
        """
        whole = float(self.coefficient @ (active.sums[0] + active.sums[1]))
        while True:
            nodes, size = self._coarse
            arrays = record(nodes, size, self.first, self.order, active.reach)
            made = Record(self, nodes, active.reach[0], arrays)
            if float(self.coefficient @ made.degree) >= KEPT * whole or self.parts > self.first.size:
                return made
            self.parts *= 8
            del self._coarse


@dataclass(frozen=True, eq=False)
class ActivePairs:
    """For each row at scores ``p``, in ``sums`` (3, m): weight of partners above, below, and their weighted ``p``."""

    pairs: UtilityPairs
    p: Floats
    reach: Any  # by :func:`rerank.scorers.ranksvm.kernels.margins`
    sums: Floats

    @cached_property
    def hinge(self) -> tuple[float, Floats]:
        """``sum c_ij h_ij`` with ``h_ij = (1 + p_i - p_j)_+`` and its subgradient in ``p`` [TreeRSVM, eq. 3, 4]."""
        c, (up, down, _) = self.pairs.coefficient, self.sums
        slope = c * (up - down)
        return float(c @ up + self.p @ slope), slope

    @cached_property
    def squared(self) -> tuple[float, Floats]:
        """``sum c_ij h_ij ** 2`` and its gradient in ``p``. With ``s_i = sum_j c_ij h_ij - sum_j c_ji h_ji``:
        ``sum c h (p_i - p_j) = p.s``, and ``h = 1 + p_i - p_j``.
        """
        linear, _ = self.hinge
        up, down, both = self.sums
        s = up - down + self.p * (up + down) - both
        s *= self.pairs.coefficient
        return linear + float(self.p @ s), 2 * s


@dataclass(frozen=True, eq=False)
class Record:
    """Active pairs stored for many products."""

    pairs: UtilityPairs
    nodes: Any
    rows: NDArray[np.int64]
    arrays: Any

    def partners(self, v: Floats) -> Floats:
        """``sum weight_j v_j`` over the partners of each row."""
        found: Floats = sums(self.nodes, self.pairs.first, self.arrays, self.rows, self.pairs.weight, v)
        return found

    @cached_property
    def degree(self) -> Floats:
        """Weight of the partners of each row."""
        return self.partners(np.ones(self.rows.size))

    def hessian(self, u: Floats) -> Floats:
        """``sum_j 2 c_ij (u_i - u_j)`` over the partners of each row."""
        found = self.degree * u
        found -= self.partners(u)
        found *= 2 * self.pairs.coefficient
        return found
