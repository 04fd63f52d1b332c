"""The pairs of a data set, and what they say at given scores, without ever listing them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.scorers.data import Floats, RankingData
from rerank.scorers.pair_counts import LEAF, counts, margins, plan
from rerank.scorers.ranksvm_record import record, sums

COARSE = 64
KEPT = 0.95


def list_weights(data: RankingData) -> Floats:
    """Weight of all pairs of each list (n_groups,): ``N_q = sum_{y_i < y_j} weight_i weight_j``."""
    order = np.lexsort((data.y, data.group))
    y, group, weight = data.y[order], data.group[order], data.weight[order]
    new = np.ones(y.size, bool)
    new[1:] = (y[1:] != y[:-1]) | (group[1:] != group[:-1])
    runs = np.flatnonzero(new)
    mass = np.add.reduceat(weight, runs)
    before = np.cumsum(mass) - mass
    head = np.searchsorted(group[runs], np.arange(data.n_groups))
    lower = before - before[head][group[runs]]
    return np.asarray(np.bincount(group[runs], mass * lower, data.n_groups), np.float64)


class Pairs:
    """Layout of the rows by list and utility, and the share of each list in the loss.

    ``average="queries"`` gives every list with a pair the same share, ``"pairs"`` every pair.  The coefficient of a
    pair is ``share[list] * weight_i * weight_j``; all coefficients sum to 1.

    Raises
    ------
    InputError
        If no list holds two rows of positive weight and different utility.
    """

    def __init__(self, data: RankingData, average: str) -> None:
        per_list = list_weights(data)
        some = per_list > 0
        if not some.any():
            raise InputError(
                "No list holds two rows of positive weight with different y; a pair to learn from is needed, check qid."
            )
        share = np.zeros(per_list.size)
        share[some] = 1 / (per_list[some] * some.sum()) if average == "queries" else 1 / per_list.sum()
        self.group, self.weight, self.start = data.group, data.weight, data.start
        self.share = share[data.group]
        self.order = np.lexsort((data.y, data.group))
        y, m = data.y[self.order], data.y.size
        new = np.ones(m, bool)
        new[1:] = y[1:] != y[:-1]
        new[self.start[:-1]] = True
        runs, run = np.flatnonzero(new), np.cumsum(new) - 1
        self.first, self.after = runs[run].astype(np.uint32), np.append(runs[1:], m)[run].astype(np.uint32)
        self.place = np.empty(m, np.uint32)
        self.place[self.order] = np.arange(m, dtype=np.uint32)
        self.exact = plan(self.first, self.after, self.start, m + 1)[0]
        self.parts = COARSE

    @cached_property
    def _coarse(self) -> tuple[Any, int, int]:
        """Nodes of a record, the size of the record, and the number of rows for which a table is kept."""
        nodes, size = plan(self.first, self.after, self.start, self.parts)
        leaf = (nodes[0] == nodes[1]) & (nodes[2] - nodes[0] <= LEAF) & (self.first[nodes[2] - 1] > nodes[0])
        return nodes, size, self.first.size if leaf.any() else 0

    def at(self, p: Floats) -> ActivePairs:
        """The pairs that are active at scores ``p`` (m,)."""
        m = p.size
        rows = np.empty(m, np.int64)
        z, above, below = (np.empty(m, np.uint32) for _ in range(3))
        margins(np.argsort(p), self.group, self.start, self.place, p, rows, z, above, below)
        return ActivePairs(self, p, rows, (z, above, below), *self._counts(p, rows, (z, above, below)))

    def _counts(self, p: Floats, rows: NDArray[np.int64], found: tuple[Any, Any, Any]) -> list[Floats]:
        v, added = np.empty((2, 2, p.size)), np.empty((2, 3, p.size))
        v[0, 0] = self.weight[rows]
        v[0, 1] = v[0, 0] * p[rows]
        added[0] = 0
        last = self.order[counts(self.exact, self.first, *_buffers(found), v, added)]
        result = np.empty((3, p.size))
        result[:, last] = added[0]
        return list(result)

    def recorded(self, active: ActivePairs) -> Record:
        """A record of active pairs with at least :data:`KEPT` of their weight.

        Nodes of ``1 / parts`` of a list are not cut: pairs of near utility are left out of the Hessian, which costs
        no accuracy, since it only steers a step, and saves half of the levels.
        """
        whole = float(active.weight @ (active.up + active.down))
        while True:
            nodes, size, tables = self._coarse
            arrays = np.empty(size, np.uint8), np.empty(size, np.uint32), np.zeros((tables, LEAF), np.int8)
            last = record(nodes, self.first, *_buffers(active.found), *arrays)
            made = Record(self, active.weight, active.rows, self.order[last], (nodes, self.first, *arrays))
            if float(active.weight @ made.degree) >= KEPT * whole or self.parts > self.first.size:
                return made
            self.parts *= 8
            del self._coarse


def _buffers(found: tuple[Any, Any, Any]) -> list[Any]:
    """Two rows for each array, the first filled with it."""
    two = [np.empty((2, a.size), a.dtype) for a in found]
    for buffer, a in zip(two, found):
        buffer[0] = a
    return two


@dataclass(frozen=True, eq=False)
class ActivePairs:
    """Weighted counts at scores ``p``: of partners ``up`` and ``down``, and ``both``, the sum of their ``p``.

    ``weight`` below is that of a row times the share of its list, so that ``sum_i weight_i up_i`` is the loss at
    margin 1 everywhere.
    """

    pairs: Pairs
    p: Floats
    rows: NDArray[np.int64]
    found: tuple[Any, Any, Any]
    up: Floats
    down: Floats
    both: Floats

    @cached_property
    def weight(self) -> Floats:
        """Weight of a row times the share of its list."""
        return self.pairs.weight * self.pairs.share

    def hinge(self) -> tuple[float, Floats]:
        """``sum c_ij h_ij`` with ``h_ij = (1 + p_i - p_j)_+`` and its subgradient in ``p`` [TreeRSVM, eq. 3, 4]."""
        slope = self.weight * (self.up - self.down)
        return float(self.weight @ self.up + self.p @ slope), slope

    def squared(self) -> tuple[float, Floats]:
        """``sum c_ij h_ij ** 2`` and its gradient in ``p``.

        With ``s_i = sum_j c_ij h_ij - sum_j c_ji h_ji``: ``sum c h (p_i - p_j) = p.s``, and ``h = 1 + p_i - p_j``.
        """
        linear, _ = self.hinge()
        s = self.weight * (self.up - self.down + self.p * (self.up + self.down) - self.both)
        return linear + float(self.p @ s), 2 * s


@dataclass(frozen=True, eq=False)
class Record:
    """Active pairs written down for many products."""

    pairs: Pairs
    weight: Floats
    rows: NDArray[np.int64]
    last: NDArray[np.int64]
    arrays: tuple[Any, ...]

    def partners(self, v: Floats) -> Floats:
        """``sum weight_j v_j`` over the partners of each row."""
        x, total = np.empty((2, v.size)), np.empty((2, v.size))
        x[0] = (self.pairs.weight * v)[self.rows]
        total[0] = 0
        sums(*self.arrays, x, total)
        out = np.empty(v.size)
        out[self.last] = total[0]
        return out

    @cached_property
    def degree(self) -> Floats:
        """Weight of the partners of each row."""
        return self.partners(np.ones(self.rows.size))

    def hessian(self, u: Floats) -> Floats:
        """``sum_j 2 c_ij (u_i - u_j)`` over the partners of each row."""
        return 2 * self.weight * (self.degree * u - self.partners(u))
