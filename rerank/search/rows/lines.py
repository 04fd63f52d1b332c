"""Lines and single points of long lists, without pairs, and the climbs that follow them.

Along ``w + tau u`` the score of a row is a straight line in ``tau``, and rows change places where two of these cross.
Only crossings near the places that count are looked at (:mod:`rerank.search.rows.sweep`); they give the best point of
the line.  Where each of many thousand pairs is a step, the value is so nearly smooth that its values at a few angles,
by sorting, show where it is large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.problem.lists import Floats, Indices
from rerank.search.compiled import writable
from rerank.search.domain import Domain
from rerank.search.lines.ascent import WIDTHS, Ascent
from rerank.search.lines.search import PATIENCE, ROUNDS, Climb, LineSearch, Point
from rerank.search.quotas import middles
from rerank.search.tables import Lists, RowTables, Tables
from rerank.search.workspace import LineScratch, line_scratch

NEAREST, FARTHEST = -2.5, -0.5  # powers of ten between which the reach of lines is then drawn
POLISH = 2  # rounds of lines after a smooth climb from a shaken point
SHAKE = 0.1, 0.3  # deviations of the scores by which a point is shaken, at least and at most
ELSEWHERE = 0.3  # share of climbs by lines alone from random points
MOVED, FEWEST_MOVED = 0.2, 2  # share of the weights that are changed before a climb by lines alone, and at least
FEW_ROUNDS = 2  # of a quick climb where very many places count: more of them gain some 1e-4 of AUC
AFRESH = 0.1  # share of restarts at random points
ANGLES, FINER = 12, 10  # values on a line, and then around the best of them
GLANCED = 4  # values that a glance at a line takes
ITSELF, A_VALUE, A_CROSSING = 1e4, 5e3, 4.0
"""Evaluations of a row that a line costs whatever its rows, a value on one by sorting, and a crossing that is met."""
SAMPLED = 1000  # relevant rows of a list, and irrelevant ones, of which about so many show where on a line to look


@dataclass(eq=False)
class RowLines(LineSearch):
    """Line searches on rows; see :class:`rerank.search.lines.search.LineSearch`. Quick ones, where very many places
    count, go by a part of the rows, with few rounds.
    """

    quick: bool = False
    _last: tuple[Floats, Floats, float] | None = field(default=None, init=False)

    @property
    def cost(self) -> float:
        """Evaluations of a row that a line costs, or one step of a smooth climb."""
        return ITSELF + 10.0 * self.tables.rows.shape[0]

    def begun(self, w: Floats, rounds: int = ROUNDS, patience: int = PATIENCE, width: float = np.inf) -> Climb:
        """A climb from ``w``; where there is a smooth climb it begins with the widest width up to ``width``."""
        rounds = min(rounds, FEW_ROUNDS) if self.quick and self.tables.rough else rounds
        widths = [x for x in WIDTHS[::-1] if x <= width] if self.tables.smooth else []
        return Climb(self.domain.kept(w), rounds, patience, widths=widths)

    def smooth(self, climb: Climb) -> None:
        """Follow a smooth climb with its next width."""
        if climb.at is None:
            climb.at, climb.value = climb.w, self.judged(self.value(climb.w), climb.w)
        before = self._ascent.work
        climb.at = self._ascent.reached(climb.at, climb.widths.pop())
        self.work += self._ascent.work - before
        value = self.judged(self.value(climb.at), climb.at)
        if value > climb.value:
            climb.value, climb.w = value, climb.at

    def reach(self, climb: Climb) -> float:
        """How far to look along the next line of a climb."""
        if not self.tables.smooth or climb.kind:
            return np.inf
        return float(10.0 ** self.state.rng.uniform(NEAREST, FARTHEST))

    def restart(self, w: Floats) -> Climb:
        """The next climb of a series: mostly from the best points, shaken, with widths of the size of the change, or by
        lines alone, whichever has taken less work for each time that it found better points.
        """
        state = self.state
        if not self.tables.smooth:
            return super().restart(w)
        afresh = state.random_start and (not state.elite or state.rng.random() < AFRESH)
        state.random_start = True
        if afresh:
            return self.begun(self.domain.random_point(state.rng), POLISH)
        points = [x for _, x in state.elite] or [w]
        point = points[min(int(state.rng.exponential()), len(points) - 1)]
        size = float(np.exp(state.rng.uniform(*np.log(SHAKE))))
        smooth, plain = (work / (1 + gains) for work, gains in zip(state.spent, state.gains, strict=True))
        if plain < smooth:
            if state.rng.random() < ELSEWHERE:
                return Climb(self.domain.random_point(state.rng), kind=1)
            some = state.rng.random(point.size) < max(MOVED, FEWEST_MOVED / point.size)
            change = size * float(np.abs(point).max()) * state.rng.standard_normal(point.size) * some
            return Climb(self.domain.normal(point + np.where(self._anchored, 0.0, change)), kind=1)
        return self.begun(self._ascent.shaken(point, size, state.rng), POLISH, width=size)

    @cached_property
    def _anchored(self) -> NDArray[np.bool_]:
        """Which coordinates keep their value."""
        return np.isin(np.arange(self.domain.n_features), self.domain.anchor)

    @cached_property
    def _ascent(self) -> Ascent:
        return Ascent(self.tables, self.domain)

    def line(self, w: Floats, u: Floats, features: Indices | None = None, reach: float = np.inf) -> Point:
        """Best point on ``w + tau u`` and its value; ``features`` is not read. With a ``reach`` only ``tau`` up to it
        in size is looked at, in units in which the scores of ``w`` and of ``u`` have the same size. Where very many
        places count the point is a good one, found by some values on the line.
        """
        self.lines += 1
        self.work += ITSELF
        before, given = self._at(w)[1], self._given(w, u, reach)
        if given is None:
            return self.judged(before, w), w
        out = self._sought(w, *given) if self.tables.rough else self._swept(w, *given)
        # The value at the point as it is rounded, which is what counts.
        found = (before, w) if out is w else (self.value(v := self.domain.normal(out)), v)
        return self.counted(found, w, given[0], *given[3:])

    glances = True

    def glance(self, w: Floats, u: Floats, features: Indices | None = None) -> float:
        """The largest of a few values on the line."""
        given = self._given(w, u, np.inf)
        if given is None:
            return self._turned(w, w, self._at(w)[0], self._at(w)[0], self._part)(0.0)
        value = self._turned(w, *given[:3], self._part)
        return max(map(value, middles(*given[3:], GLANCED)))

    def _given(self, w: Floats, u: Floats, reach: float) -> tuple[Floats, Floats, Floats, float, float] | None:
        """``u`` in the size of ``w``, the scores of both, and how far to go; None if no row moves in its list."""
        A, B = self._at(w)[0], self._scores(u)
        square = float(B @ B)
        if square <= 1e-30 * self._square:
            return None
        size = float(np.sqrt((A @ A) / square)) or 1.0
        u, B = u * size, B * size
        low, high = self.domain.interval(w, u)
        low, high = max(low, -reach), min(high, reach)
        return (u, A, B, low, high) if low <= high else None

    def _swept(self, w: Floats, u: Floats, A: Floats, B: Floats, low: float, high: float) -> Floats:
        """The best point of a line; ``w`` itself if none is better."""
        from rerank.search.rows.sweep import best_of_line

        pieces = [((A, B, w, u), max(low, -1.0), min(high, 1.0))]
        pieces += [((B, A, u, w), max(0.0, 1.0 / high), min(1.0, 1.0 / max(low, 1.0)))] if high > 1.0 else []
        pieces += [((-B, A, -u, w), max(0.0, -1.0 / low), min(1.0, -1.0 / min(high, -1.0)))] if low < -1.0 else []
        t, norming, before = self.tables, self.domain.norming(w).size, self._at(w)[1]
        best, out = -np.inf, w
        for line, first, last in pieces:
            point, along = line[2:]
            if first > last:
                continue
            while True:
                lists, scratch = self._memory
                found = best_of_line(line, norming, first, last, t.epsilon, t.slack, lists, scratch)
                value, left, right, work = found
                if work >= 0:
                    break
                self._memory = lists, scratch.larger()
            self.work += A_CROSSING * work + 0.1 * t.rows.size
            if value > best:
                stays = left <= 0.0 <= right and point is w and value <= before + t.slack
                best, out = value, w if stays else point + 0.5 * (left + right) * along
        return out

    def _sought(self, w: Floats, u: Floats, A: Floats, B: Floats, low: float, high: float) -> Floats:
        """A good point of a line; ``w`` if none is better."""
        coarse, fine = self._turned(w, u, A, B, self._part), self._turned(w, u, A, B)
        angle = sought(coarse, coarse if self.quick else fine, low, high)[1]
        # In anchored problems the first weight stays 1, so points are w + tau u and not on the circle.
        return w if fine(angle) <= self._at(w)[1] else w + np.tan(angle) * u

    def _turned(self, w: Floats, u: Floats, A: Floats, B: Floats, part: Part | None = None) -> Callable[[float], float]:
        """The value at an angle from ``w`` to ``u``, or about the value by a part of the rows."""
        if part is not None:
            A, B = A[part.rows], B[part.rows]

        def value(angle: float) -> float:
            c, s = np.cos(angle), np.sin(angle)
            self.work += A_VALUE + A.size * np.log2(2 + A.size)
            return self._value(c * A + s * B, c * w + s * u, part=part)

        return value

    @cached_property
    def _part(self) -> Part | None:
        return part_of(self.tables) if self.tables.rough else None

    @cached_property
    def _square(self) -> float:
        """Squares of all features together, as rounding of scores along a line is judged by it."""
        return float(np.einsum("ij,ij->", self.tables.rows, self.tables.rows))

    def _at(self, w: Floats) -> tuple[Floats, float]:
        """Scores at ``w`` and its value, which are kept, as many lines run through one point; -inf beyond a row."""
        if self._last is None or not np.array_equal(self._last[0], w):
            scores = self._scores(w)
            self._last = w, scores, self._value(scores, w) if self.domain.keeps(w) else -np.inf
        return self._last[1:]

    def _scores(self, w: Floats) -> Floats:
        from rerank.search.rows.smooth import scores_of

        return np.asarray(scores_of(self.tables.rows, w))

    @cached_property
    def _memory(self) -> tuple[Lists, LineScratch]:
        lists = writable(self.tables.lists)
        return lists, line_scratch(lists, self.tables.n_features)

    def value(self, w: Floats, sign: float = 1.0) -> float:
        """Value of a point in the tables' unit; pairs within rounding of the margin are lost, or won for sign -1."""
        return self._value(self._scores(w), w, sign)

    def _value(self, scores: Floats, w: Floats, sign: float = 1.0, part: Part | None = None) -> float:
        from rerank.search.rows.sweep import value_of

        t, norm = self.tables, self.domain.norm(w)
        margin = t.epsilon * norm + sign * t.tolerance * max(norm, 1.0)
        if part is not None:
            return part.value(scores, margin)
        if t.rough:
            return sorted_value(t, scores, margin)
        return float(value_of(scores, margin, *self._memory))


def lines_on(tables: Tables | RowTables, domain: Domain, deadline: float = np.inf) -> LineSearch:
    """Line searches on tables of pairs or of rows."""
    return (RowLines if tables.by_rows else LineSearch)(tables, domain, deadline=deadline)


def sought(
    coarse: Callable[[float], float], value: Callable[[float], float], low: float, high: float
) -> tuple[float, float]:
    """A large value of an angle, and that angle: the best of some angles by ``coarse``, and Brent's method around it.
    ``low`` and ``high`` are tangents of the first and the last angle, infinite for the half circle.
    """
    from scipy.optimize import minimize_scalar

    angles = middles(low, high, ANGLES)
    i = int(np.argmax([coarse(angle) for angle in angles]))
    bounds = (
        float(angles[i - 1]) if i > 0 else float(np.arctan(low)),
        float(angles[i + 1]) if i < ANGLES - 1 else float(np.arctan(high)),
    )
    options = {"maxiter": FINER}
    found: Any = minimize_scalar(lambda angle: -value(angle), bounds=bounds, method="bounded", options=options)
    return max((-float(found.fun), float(found.x)), (value(angles[i]), float(angles[i])))


def earned(
    ahead: Floats, behind: Floats, margin: float, coef: Floats, hits: Floats, step: int, steps: tuple[int, int]
) -> float:
    """What positives with these scores earn beside these negatives, a pair within ``margin`` being lost. Each positive
    stands for ``steps[0]`` of them, and each negative for ``steps[1]``; a positive takes ``step`` places.
    """
    ahead, behind = -np.sort(-ahead), np.sort(behind)
    lost = behind.size - np.searchsorted(behind, ahead - margin, side="right")
    # The lost pairs ascend, so the j-th positive stands at place j + lost where each takes one.
    nth = steps[0] * np.arange(ahead.size)
    at = step * nth + steps[1] * lost
    at = at[: np.searchsorted(at, coef.size)]
    gained = coef[at]
    return steps[0] * float(gained @ hits[nth[: at.size]] if hits.size else gained.sum())


def sorted_value(t: RowTables, scores: Floats, margin: float) -> float:
    """The value of lists for the scores of their rows, by sorting; a pair within ``margin`` is lost. The same as
    :func:`rerank.search.rows.sweep.value_of` but for rounding of the sum, and sooner where most places count.
    """
    total, (begin, levels, first_unit, _) = 0.0, t.lists
    for q in range(begin.size - 1):
        mine, level = scores[begin[q] : begin[q + 1]], levels[begin[q] : begin[q + 1]]
        for u in range(first_unit[q], first_unit[q + 1]):
            positives = int(np.searchsorted(-level, -(u - first_unit[q])))  # of this threshold; levels descend
            total += earned(mine[:positives], mine[positives:], margin, *_paid(t, u), (1, 1))
    return total


@dataclass(frozen=True, eq=False)
class Part:
    """Every so many of the relevant and of the irrelevant rows of a list with two grades, which stand for all."""

    rows: Indices
    positives: int
    steps: tuple[int, int]
    coef: Floats
    hits: Floats
    step: int

    def value(self, scores: Floats, margin: float) -> float:
        """About the value of the list for the scores of these rows."""
        ahead, behind = scores[: self.positives], scores[self.positives :]
        return earned(ahead, behind, margin, self.coef, self.hits, self.step, self.steps)


def part_of(t: RowTables) -> Part | None:
    """Some rows of a single long list with two grades; None for other lists."""
    positives, n = int(t.n_positive[0]), t.rows.shape[0]
    steps = -(-positives // SAMPLED), -(-(n - positives) // SAMPLED)
    if t.n_positive.size > 1 or max(steps) < 2:
        return None
    rng = np.random.default_rng(0)
    some = [rng.permutation(positives)[:: steps[0]], positives + rng.permutation(n - positives)[:: steps[1]]]
    return Part(np.concatenate([np.sort(times) for times in some]), some[0].size, steps, *_paid(t, 0))


def _paid(t: RowTables, u: int) -> tuple[Floats, Floats, int]:
    """What the places of a list earn, what its hits multiply that with, and how many places a hit takes."""
    paid = t.lists.paid
    first, hits = paid.coef_start[u], paid.hits[paid.hit_start[u] : paid.hit_start[u + 1]]
    return paid.coef[first : first + paid.places[u]], hits, int(paid.step[u])
