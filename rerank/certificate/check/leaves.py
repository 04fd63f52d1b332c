"""Bounds of all leaves of a support's trees, many at a time.

A pair that is decided in a box is decided in all boxes inside it.  So the checker goes down the tree with the pairs
that are still open, until the leaves below a node are few enough to be treated as one matrix.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np
from numpy.typing import NDArray

from rerank.certificate.check.exact import ExactProblem
from rerank.certificate.check.orders import ALWAYS, NEVER, Order, holds_more
from rerank.certificate.check.pairs import Filter, SlotPairs
from rerank.certificate.check.prices import LeafPrices
from rerank.certificate.check.tree import Boxes, Branch, Mask, Sides, UnprovenError, halved, is_leaf
from rerank.certificate.check.vertices import Plane, RationalBox, largest_value
from rerank.problem.lists import Counts, Floats, Indices
from rerank.problem.proof import LINE, LISTED

BATCH = 2**19  # leaves times undecided pairs that make one matrix
FEW = 16  # leaves for which deciding pairs in their common box first does not pay

Seen = Callable[[Indices, Boxes, Floats], None]
"""Told the features of a support, leaves that passed and their bounds in doubles."""


@dataclass(frozen=True, eq=False)
class _Demand:
    """At least ``wanted`` of some rows have no more than ``room`` other rows at their score or above."""

    upper: Indices  # each of the rows with each other row, row by row
    lower: Indices
    count: int
    wanted: int
    room: int
    D: Floats  # differences, correctly rounded


class QuotaCheck:
    """The quotas of a problem, list by list: boxes in which too few rows can still be among the first places.

    A row of a group stands among the first ``N`` with ``q - 1`` better ones of it only if at most ``N - q`` other rows
    have its score or more.  Rows whose difference is at most 0 in the whole box are such others.
    """

    def __init__(self, exact: ExactProblem) -> None:
        self.exact = exact
        self.demands: list[_Demand] = []
        for quota in exact.problem.quotas:
            for item in exact.problem.lists:
                member, places = np.isin(item.rows, quota.rows), min(quota.first, item.rows.size)
                if quota.least is not None:
                    self._add(item.rows[member], item.rows[~member], quota.least, places)
                if quota.most is not None:  # the other rows take the rest of the places
                    self._add(item.rows[~member], item.rows[member], places - quota.most, places)

    def _add(self, rows: Indices, others: Indices, wanted: int, places: int) -> None:
        if wanted > 0:
            upper, lower = np.repeat(rows, others.size), np.tile(others, rows.size)
            D = self.exact.rounded(upper, lower, margin=False)
            self.demands.append(_Demand(upper, lower, rows.size, wanted, places - wanted, D))

    def open(self, box: RationalBox, centre: Floats, half: Floats) -> tuple[list[Plane], list[Order]]:
        """The planes on whose sides it depends in a box whether the quotas are met, and how."""
        planes: dict[Plane, int] = {}
        asked = []
        for demand in self.demands:
            numbers = np.full(demand.upper.size, NEVER)
            reach, error = _reach(demand.D[:, box.features], centre, half)
            for p in np.flatnonzero(reach >= -error):
                row = self.exact.difference(int(demand.upper[p]), int(demand.lower[p]), box.features, margin=False)
                a, b = box.plane(row, Fraction(0))
                if sum(v for v in a if v < 0) > b:
                    numbers[p] = ALWAYS
                elif sum(v for v in a if v > 0) > b:
                    numbers[p] = planes.setdefault((a, b), len(planes))
            asked.append(Order(numbers.reshape(demand.count, -1), demand.wanted, demand.room))
        return list(planes), asked

    def refuted(self, features: Indices, centre: Floats, half: Floats) -> bool:
        """Whether no weights in a box of a support meet the quotas."""
        return any(self._fails(demand, features, centre, half) for demand in self.demands)

    def _fails(self, demand: _Demand, features: Indices, centre: Floats, half: Floats) -> bool:
        reach, error = _reach(demand.D[:, features], centre, half)
        behind = reach < -error
        box = [[Fraction(x) for x in side.tolist()] for side in (centre, half)]
        for p in np.flatnonzero(np.abs(reach) <= error):
            row = self.exact.difference(int(demand.upper[p]), int(demand.lower[p]), features, margin=False)
            behind[p] = sum(c * v + h * abs(v) for c, h, v in zip(box[0], box[1], row)) <= 0
        above = behind.reshape(demand.count, -1).sum(axis=1)
        return bool(np.count_nonzero(above <= demand.room) < demand.wanted)


def _reach(D: Floats, centre: Floats, half: Floats) -> tuple[Floats, Floats]:
    """Upper ends of differences in a box, and what rounding may change them by."""
    sizes = np.abs(D) @ (np.abs(centre) + half)
    return D @ centre + np.abs(D) @ half, 2.0**-52 * (2 * centre.size + 4) * sizes + 1e-290


class LeafCheck:
    """Checks the trees of one support after the other; counts leaves that passed, and those that took rationals."""

    def __init__(
        self,
        exact: ExactProblem,
        codes: NDArray[np.uint16],
        ends_of: Counts,
        bound: Fraction,
        seen: Seen | None,
        multipliers: NDArray[np.int64],
    ) -> None:
        self.seen = seen
        self.exact, self.pairs, self.quotas = exact, SlotPairs(exact), QuotaCheck(exact)
        self.codes, self.ends_of, self.bound = codes, ends_of, bound
        self.prices = LeafPrices(exact, self.pairs, codes, multipliers)
        self.leaves = self.exact_leaves = 0

    def support(self, features: Indices, lines: NDArray[np.int64], faces: Boxes) -> None:
        """Check the trees of all faces of a support; UnprovenError for the first leaf that could hold more."""
        self.features, self.lines = features, lines
        self.filter = Filter.on(self.pairs, features)
        self.price = self.exact.price * (features.size - self.exact.problem.anchored)
        self.limit = self.bound + self.price - self.exact.constant
        scaled = floor(self.limit * Fraction(2) ** self.pairs.shift)
        self.most = max(min(scaled, 2**63 - 1), -1)
        self.opposed: dict[int, Mask] = {}
        everything = np.arange(self.pairs.slot.size)
        todo = [Branch(faces, everything, np.zeros(self.pairs.unit_of.size, np.int64))]
        while todo:
            branch = todo.pop()
            count = int((self.ends_of[branch.boxes.nodes] - branch.boxes.nodes + 2).sum()) // 2
            if count == 1 or count * branch.open.size <= BATCH:
                self._batch(branch)
            elif branch.boxes.nodes.size > 1:
                todo += [
                    Branch(branch.boxes[i : i + 1], branch.open, branch.lost) for i in range(branch.boxes.nodes.size)
                ]
            else:
                todo += self._descend(self._narrowed(branch))

    def side(self, branch: Branch, side: int) -> tuple[Mask, bool]:
        """Pairs lost on a side of a line, and whether the side holds no weights: one of these is won in the hull."""
        if side not in self.opposed:
            g = abs(side)
            if not 1 <= g <= len(self.lines):
                raise UnprovenError(f"A code splits by line {g}, the support has {len(self.lines)} lines.")
            row = self.exact.rounded(self.lines[g - 1 : g, 0], self.lines[g - 1 : g, 1])[0, self.features]
            self.opposed[side] = self.filter.opposed(row if side > 0 else -row, float(self.exact.epsilon))
        opposed = self.opposed[side]
        if branch.hull is None:
            return opposed, False
        gone = opposed.copy()
        gone[branch.open] = False
        others = np.flatnonzero(gone)
        return opposed, bool((self.filter.ends(*branch.hull, others)[0] >= self.filter.high[others]).any())

    def _narrowed(self, branch: Branch) -> Branch:
        """Decide pairs in the branch's only box."""
        box, ids = branch.boxes, branch.open
        centre, half = box.centres[0], box.halves[0]
        least, most = self.filter.ends(centre, half, ids)
        lost = most < self.filter.low[ids]
        # Four times the error on top, so that the same test passes again in every smaller box.
        won = least >= self.filter.high[ids] + 4 * self.filter.slack[ids]
        counts = branch.lost + self.pairs.lost(ids[lost])
        # An item whose place earns nothing already has no more to lose.
        earning = (counts < self.pairs.earning)[self.pairs.slot[ids]]
        return Branch(box, ids[~lost & ~won & earning], counts, (centre, half))

    def _descend(self, branch: Branch) -> list[Branch]:
        """The two children of the branch's only box, which is split."""
        code = int(self.codes[branch.boxes.nodes[0]])
        if code <= LINE:
            parts = halved(branch.boxes, np.array([code]), self.ends_of)
            return [Branch(part, branch.open, branch.lost, branch.hull) for part in parts]
        out = []
        first = int(branch.boxes.nodes[0]) + 1
        for node, side in ((first, code - LINE), (int(self.ends_of[first]) + 1, LINE - code)):
            opposed, empty = self.side(branch, side)
            if empty:
                self.leaves += (int(self.ends_of[node]) - node + 2) // 2
                continue
            box = Boxes(np.array([node]), branch.boxes.centres, branch.boxes.halves, branch.boxes.sides)
            gone = opposed[branch.open]
            counts = branch.lost + self.pairs.lost(branch.open[gone])
            out.append(Branch(box, branch.open[~gone], counts, branch.hull))
        return out

    def _batch(self, branch: Branch) -> None:
        """Check all leaves below a branch."""
        nodes = branch.boxes.nodes
        if nodes.size == 1 and int(self.ends_of[nodes[0]]) - int(nodes[0]) > 2 * FEW:
            branch = self._narrowed(branch)
        sides = Sides(branch, self.side)
        boxes = self._below(branch.boxes, sides)
        ids = branch.open
        reach = self.filter.reach(boxes.centres, boxes.halves, ids)
        gone = reach < self.filter.low[ids][:, None]
        if len(sides.masks) > 1:
            gone |= np.array(sides.masks)[boxes.sides].T
        totals = self.pairs.totals(gone, ids, branch.lost)
        over = totals > self.most
        if len(sides.masks) > 1:
            over &= ~np.array(sides.empty)[boxes.sides]
        for i in np.flatnonzero(over & self.prices.priced[boxes.nodes]):
            open_ = ids[~gone[:, i]]
            more = self.prices.lost(int(boxes.nodes[i]), boxes.centres[i], boxes.halves[i], self.filter, open_)
            totals[i] -= min(more * floor(self.prices.step * Fraction(2) ** self.pairs.shift), int(totals[i]))
            over[i] = totals[i] > self.most
        for i in np.flatnonzero(over):
            left, lost = ~gone[:, i], branch.lost + self.pairs.lost(ids[gone[:, i]])
            self._exactly(boxes, int(i), lost, ids[left], ~(reach[left, i] >= self.filter.high[ids[left]]))
        self.leaves += boxes.nodes.size
        if self.seen is not None:
            rest = float(self.exact.constant - self.price)
            self.seen(self.features, boxes, np.minimum(np.ldexp(totals, -self.pairs.shift) + rest, float(self.bound)))

    def _below(self, boxes: Boxes, sides: Sides) -> Boxes:
        """Leaves below some nodes, level by level."""
        done = []
        while boxes.nodes.size:
            codes = self.codes[boxes.nodes].astype(np.int64)
            leaf = is_leaf(codes)
            done.append(boxes[leaf])
            by_line, halving = ~leaf & (codes > LINE), ~leaf & (codes <= LINE)
            parts: list[Boxes] = []
            if halving.any():
                parts += halved(boxes[halving], codes[halving], self.ends_of)
            if by_line.any():
                parts += self._sided(boxes[by_line], codes[by_line] - LINE, sides)
            boxes = Boxes.join(parts) if parts else boxes[:0]
        return Boxes.join(done)

    def _sided(self, boxes: Boxes, line: NDArray[np.int64], sides: Sides) -> list[Boxes]:
        first = boxes.nodes + 1
        out = []
        for nodes, sign in ((first, 1), (self.ends_of[first] + 1, -1)):
            chosen = [sides.add(base, sign * g) for base, g in zip(boxes.sides.tolist(), line.tolist())]
            out.append(Boxes(nodes, boxes.centres, boxes.halves, np.array(chosen, dtype=np.intp)))
        return out

    def _exactly(self, boxes: Boxes, i: int, lost: NDArray[np.int64], open_: Indices, unsure: Mask) -> None:
        """Decide a leaf in rationals: pairs that doubles left open, then the sum, then the vertices."""
        if self.quotas.refuted(self.features, boxes.centres[i], boxes.halves[i]):
            self.exact_leaves += 1
            return
        box = RationalBox(self.exact, self.pairs, self.features, boxes.centres[i], boxes.halves[i])
        if not box.holds_weights():
            self.exact_leaves += 1
            return
        surely = np.array([box.out_of_reach(int(p)) for p in open_[unsure]], dtype=bool)
        below = open_[unsure][surely]
        lost = lost + self.pairs.lost(below)
        best = box.value(lost)
        if best > self.limit and self.codes[boxes.nodes[i]] == LISTED:
            left = np.setdiff1d(open_, below)
            planes, asked = self.quotas.open(box, boxes.centres[i], boxes.halves[i])
            if planes and not holds_more(box, lost, left, (planes, asked), self.limit):
                best = self.limit
            elif not planes:
                best = largest_value(box, lost, left)
        if best > self.limit:
            reached = best + self.exact.constant - self.price
            raise UnprovenError(
                f"The box of code {int(boxes.nodes[i])}, on features {self.features.tolist()}, "
                f"may hold weights worth {float(reached)!r}, "
                f"above the bound of {float(self.bound)!r}."
            )
        self.exact_leaves += 1
