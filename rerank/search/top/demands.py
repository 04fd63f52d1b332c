"""Whether so many positives can lose so few pairs, for one binary list: the rows, the conflicts known, the answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rerank.errors.stops import current
from rerank.problem import Problem
from rerank.problem.lists import BinaryList, Floats, Indices
from rerank.problem.proof import Circuits
from rerank.search.domain import Domain

if TYPE_CHECKING:
    from rerank.search.top.removal import Conflicts

Ints = NDArray[np.int64]
Pair = tuple[int, int]
Demand = tuple[int, int]  # ``(j, l)``: some ``j`` positives lose at most ``l`` pairs each
MOST_CONFLICTS, MOST_MEMBERS = 20_000, 1e6
PROGRAMS, NODES = 200, 5_000  # linear programs and nodes between two looks at the clock,
NUMBERS_A_SECOND = 1e9
NUMBERS = 2e6  # or numbers in their tables, each of which a program reads some forty times,
CONFLICTS = 1e6  # or conflicts at which the nodes look
MOST_LOOKS = 1e8  # at conflicts and at numbers of programs, for all questions; some seconds
MOST_CHECKED = 1e7  # the same where a proof is checked later, by slower code
UNIT = 2.0**60  # the multipliers of a circuit add up to no more; doubles lose less than the rounding allowed for


@dataclass(eq=False)
class Demands:
    """The rows of a binary list of a problem, and the sets of rows that no weights order."""

    problem: Problem
    unit: BinaryList
    domain: Domain
    tolerance: float  # the rounding of a difference of scores
    proof: bool = False  # whether the answers have to be checked later
    conflicts: Conflicts = field(init=False)  # their rows are numbers into ``kept``
    kept: Indices = field(init=False)  # a row of the problem for each group of equal rows of a class,
    positive: NDArray[np.bool_] = field(init=False)  # the class,
    copies: Ints = field(init=False)  # and how many rows it stands for
    looks: int = field(default=0, init=False)  # so far

    def __post_init__(self) -> None:
        unit = self.unit
        numbers = np.concatenate([unit.positive, unit.negative])
        table = np.column_stack([np.arange(numbers.size) < unit.positive.size, self.problem.X[numbers]])
        _, first, copies = np.unique(table, axis=0, return_index=True, return_counts=True)
        self.kept, self.copies, self.positive = numbers[first], copies.astype(np.int64), first < unit.positive.size
        self.rows = np.ascontiguousarray(self.problem.scaled[self.kept] * self.domain.scale)
        self.positives, self.negatives = unit.positive.size, unit.negative.size
        self.conflicts = self._room(int(MOST_MEMBERS / (self.rows.shape[1] + 2)), 1)

    def recorded(self, least: Ints) -> Circuits:
        """The conflicts known as circuits, for a proof of the least losses."""
        sizes, pairs, multipliers = [], [], []
        for c in range(int(self.conflicts.count[0])):
            some = self.conflicts.members[c, : self.conflicts.size[c]]
            shares = self.conflicts.shares[c, : some.size]
            own, many = paired(self.kept[some].tolist(), self.positive[some].tolist(), shares.tolist())
            sizes.append(len(own))
            pairs += own
            multipliers += many
        numbers = (np.array(part, np.int64) for part in (sizes, pairs, multipliers, least))
        return Circuits(*numbers)

    def _room(self, most: int, blocks: int) -> Conflicts:
        from rerank.search.top.removal import Conflicts

        n, m = min(most, MOST_CONFLICTS), self.rows.shape[1] + 1 + blocks
        return Conflicts(np.zeros((n, m), np.int64), np.zeros((n, m)), np.zeros(n, np.int64), np.zeros(1, np.int64))

    @property
    def left(self) -> float:
        """Looks that are left."""
        return (MOST_CHECKED if self.proof else MOST_LOOKS) - self.looks

    def decided(self, asked: Sequence[Demand], until: float, most: float = np.inf) -> tuple[bool | None, Floats]:
        """Whether some weights meet all demands (None where it stays open), and such weights. It stops at a time
        ``until`` of ``time.perf_counter``, and after ``most`` looks.
        """
        from rerank.search.top.removal import OUTCOMES, PAUSED, beginning, removal
        from rerank.search.top.simplex import Blocks, basis_of

        stop, blocks = current(), len(asked)
        conflicts = self.conflicts if blocks == 1 else self._for(blocks)
        rows, positive, copies = (np.concatenate([x] * blocks) for x in (self.rows, self.positive, self.copies))
        block, epsilon = np.repeat(np.arange(blocks), self.copies.size), float(self.problem.epsilon)
        ends = self.domain.lower, self.domain.upper
        given = Blocks(rows, positive, block, copies, *ends, epsilon, epsilon - 2.0 * self.tolerance)
        spare = [x for j, lost in asked for x in (lost, self.positives - j)]
        state, basis = beginning(positive, spare), basis_of(len(rows), rows.shape[1], blocks)
        programs = int(np.clip(NUMBERS / rows.size, 1, PROGRAMS))
        each = rows.size + 3 * (rows.shape[1] + blocks) ** 2  # numbers a step of the simplex method reads
        while True:
            steps = int(np.clip((until - time.perf_counter()) * NUMBERS_A_SECOND / each, 1, 1e9))
            nodes = int(np.clip(min(most, CONFLICTS) / (1.0 + conflicts.count[0]), 1, NODES))
            answer = removal(given, conflicts, state, basis, programs, nodes, steps)
            late = stop.now or time.perf_counter() > until
            if answer != PAUSED or late or state.at[2] > min(most, self.left):
                break
        self.looks += int(state.at[2])
        if blocks > 1:
            self._learn(conflicts, int(self.conflicts.count[0]) * blocks)
        return OUTCOMES.get(answer), -basis.price[: rows.shape[1]]

    def _for(self, blocks: int) -> Conflicts:
        """The conflicts known, in each of the blocks, and room for more."""
        old, known = self.conflicts, int(self.conflicts.count[0])
        new = self._room(blocks * known + MOST_CONFLICTS // 4, blocks)
        for b in range(blocks):
            part = slice(b * known, (b + 1) * known)
            if part.stop > new.size.size:
                break
            new.members[part, : old.members.shape[1]] = old.members[:known] + b * self.copies.size
            new.size[part] = old.size[:known]
            new.count[0] = part.stop
        return new

    def _learn(self, found: Conflicts, after: int) -> None:
        """Keep new conflicts whose rows stand in a single block."""
        old, n = self.conflicts, self.copies.size
        for c in range(after, int(found.count[0])):
            size, at = int(found.size[c]), int(old.count[0])
            blocks = found.members[c, :size] // n
            if blocks.min() == blocks.max() and at < old.size.size:
                old.members[at, :size] = found.members[c, :size] % n
                old.shares[at, :size] = found.shares[c, :size]
                old.size[at] = size
                old.count[0] = at + 1


def paired(rows: Sequence[int], positive: Sequence[bool], shares: Sequence[float]) -> tuple[list[Pair], list[int]]:
    """Pairs with multipliers for the shares of some rows; positives and negatives have equally large shares in all."""
    parts = list(zip(rows, positive, [int(share * UNIT) for share in shares], strict=True))
    ahead, behind = ([[row, part] for row, where, part in parts if where is side] for side in (True, False))
    off = sum(s for _, s in ahead) - sum(s for _, s in behind)
    fewer = behind if off > 0 else ahead
    max(fewer, key=lambda part: part[1])[1] += abs(off)
    pairs, multipliers = [], []
    while ahead and behind:
        (i, a), (k, b) = ahead[-1], behind[-1]
        if min(a, b) > 0:
            pairs.append((i, k))
            multipliers.append(min(a, b))
        ahead[-1][1] -= min(a, b)
        behind[-1][1] -= min(a, b)
        for side in (ahead, behind):
            if not side[-1][1]:
                side.pop()
    return pairs, multipliers
