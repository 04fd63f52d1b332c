"""Good weights where a relevant row counts if it leads every irrelevant one of its list (Pos@Top).

Such a value hangs on the best irrelevant row, which a smooth stand-in blurs with those behind it.  Here a relevant row
costs nothing while it leads by 1, more the less it leads, and the same from where it trails by 1 on: a ramp.  A step of
the concave-convex procedure [Yuille, Rangarajan 2003; Collobert, Sinz, Weston, Bottou 2006] leaves out the rows that
trail by more and lowers the others' squared hinge, a convex problem, by Newton steps, with a soft maximum as threshold.
Then the weights grow, so that a lead of 1 is a smaller one, and the next step follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rerank.errors.stops import current
from rerank.problem.lists import Floats, Indices
from rerank.search.domain import Domain
from rerank.search.lines.logistic import sizes
from rerank.search.tables import RowTables

WAYS = ((2.0, 0.6, (0.3, 0.1)), (4.0, 0.7, (0.3,)))
"""Ways to go from a start: the deviations of leads that are 1 at first, what they are multiplied by from step to step,
and the softness of the threshold."""

STEPS, PATIENCE = 25, 6  # of a way at most, and those without a better point that end it
NEWTON, ENOUGH = 6, 1e-2  # Newton steps at each softness at most, and the share of the loss they have to promise
RIDGE = 1e-5  # strength of the regulariser, for columns of deviation 1
FEWEST = 5  # relevant rows that a step begins with at least, or a tenth of them: those that trail least
HALVINGS, NOTHING = 12, 1e-9  # of a Newton step, and the share of the threshold below which a row is no part of it
A_TERM, USUAL = 1e-9, 30  # seconds for a product of two entries, and Newton steps before which a way brings little

Part = tuple[Floats, Indices, Floats]  # relevant rows, the list of each, and what each counts


@dataclass(eq=False)
class Leads:
    """Climbs on one problem, whose weights are free."""

    tables: RowTables
    domain: Domain

    @staticmethod
    def serves(tables: RowTables, domain: Domain) -> bool:
        """Whether climbs are for this problem: in each list a relevant row counts above all others, and alone."""
        paid, free = tables.lists.paid, not (domain.anchored or domain.signed.any() or domain.rows)
        return bool(free and not tables.quotas.any and (paid.places == 1).all() and (paid.step == 0).all())

    def __post_init__(self) -> None:
        t = self.tables
        begin, level, first_unit, paid = t.lists
        home, relevant = np.repeat(np.arange(begin.size - 1), np.diff(begin)), level > 0
        both = np.diff(begin) > (first := np.bincount(home[relevant], minlength=begin.size - 1))
        both &= first > 0
        self.size = sizes(t)
        rows, number = t.rows / self.size, np.cumsum(both) - 1
        above, below = relevant & both[home], ~relevant & both[home]
        self.ahead, self.behind = rows[above], rows[below]
        self.own, self.other = number[home[above]], number[home[below]]
        self.begin = np.flatnonzero(np.diff(self.other, prepend=-1))
        earned = paid.coef[paid.coef_start[first_unit[:-1]].clip(max=paid.coef.size - 1)][home[above]]
        self.share = earned / earned.sum() if earned.size else earned

    @property
    def seconds(self) -> float:
        """About what one way costs before it brings anything."""
        d = self.size.size
        return A_TERM * USUAL * (self.ahead.shape[0] * d * d + 4.0 * self.behind.shape[0] * d + d**3)

    def points(self, start: Floats) -> Iterator[Floats]:
        """Points on the way from a ``start``, each from the one before."""
        if not (self.ahead.size and self.behind.size):
            return
        first = np.where(np.isinf(self.size), 0.0, start * self.size)
        for width, factor, softness in WAYS:
            best, idle, w = -1.0, 0, first
            for step in range(STEPS):
                leads = self._leads(w)
                scale = width * float(leads.std()) if step == 0 else factor
                if not scale > 0 or current().now:
                    return
                w, leads = w / scale, leads / scale
                w = self._lowered(w, self._kept(leads), softness)
                yield self.domain.normal(w / self.size)
                reached = float(self.share[self._leads(w) > 0].sum())
                best, idle = max(best, reached), 0 if reached > best else idle + 1
                if idle >= PATIENCE:
                    break

    def _leads(self, w: Floats) -> Floats:
        """By how much each relevant row leads the best other one of its list."""
        return np.asarray(self.ahead @ w - np.maximum.reduceat(self.behind @ w, self.begin)[self.own])

    def _kept(self, leads: Floats) -> Indices:
        """The relevant rows that a step counts."""
        kept = np.flatnonzero(leads > -1.0)
        few = min(max(FEWEST, leads.size // 10), leads.size)
        return kept if kept.size >= FEWEST else np.argsort(-leads, kind="stable")[:few]

    def _lowered(self, w: Floats, kept: Indices, softness: tuple[float, ...]) -> Floats:
        """Weights of a lower loss of the rows ``kept``."""
        part = self.ahead[kept], self.own[kept], self.share[kept]
        for soft in softness:
            scores = part[0] @ w, self.behind @ w
            for _ in range(NEWTON):
                step = None if current().now else self._newton(w, *scores, part, soft)
                if step is None:
                    break
                move, promised, loss = step
                moves = part[0] @ move, self.behind @ move
                for halving in range(HALVINGS):
                    tau = 0.5**halving
                    new = w + tau * move, scores[0] + tau * moves[0], scores[1] + tau * moves[1]
                    if self._loss(*new, part, soft)[0] <= loss - 1e-4 * tau * promised:
                        break
                w, scores = new[0], new[1:]
        return w

    def _loss(self, w: Floats, up: Floats, down: Floats, part: Part, soft: float) -> tuple[float, Floats, Floats]:
        """The loss, by how much each row falls short of a lead of 1, and each other row's part of the threshold."""
        top = np.maximum.reduceat(down, self.begin)
        parts = np.exp((down - top[self.other]) / soft)
        sums = np.add.reduceat(parts, self.begin)
        short = np.maximum(1.0 + (top + soft * np.log(sums))[part[1]] - up, 0.0)
        return float(0.5 * RIDGE * (w @ w) + part[2] @ short**2), short, parts / sums[self.other]

    def _newton(
        self, w: Floats, up: Floats, down: Floats, part: Part, soft: float
    ) -> tuple[Floats, float, float] | None:
        """A Newton step, what it promises, and the loss; None where it promises next to nothing."""
        from scipy.linalg import cho_factor, cho_solve

        loss, short, parts = self._loss(w, up, down, part, soft)
        used, near = np.flatnonzero(short > 0), np.flatnonzero(parts > NOTHING)
        pull = 2.0 * part[2] * short
        mass = np.bincount(part[1], pull, self.begin.size)
        begin = np.flatnonzero(np.diff(self.other[near], prepend=-1))  # a part of the threshold is near in each list
        centre = np.add.reduceat(parts[near, None] * self.behind[near], begin)
        ahead = part[0][used] - centre[part[1][used]]
        behind = self.behind[near] - centre[self.other[near]]
        slope = RIDGE * w - ahead.T @ pull[used]
        weight = mass[self.other[near]] * parts[near] / soft
        bend = (ahead.T * (2.0 * part[2][used])) @ ahead + (behind.T * weight) @ behind
        bend[np.diag_indices(w.size)] += RIDGE
        move = -cho_solve(cho_factor(bend), slope)
        promised = -float(slope @ move)
        return (move, promised, loss) if promised > ENOUGH * loss else None
