"""What one run of the search begins with and ends with: tables, first points, bounds in the problem's unit, result."""

import time
from collections.abc import Callable
from functools import cache
from itertools import product
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors.stops import current
from rerank.problem import Problem
from rerank.problem.lists import Floats
from rerank.problem.proof import Circuits
from rerank.search.boxes.open import OpenBoxes
from rerank.search.boxes.vertices import Exact, RowExact
from rerank.search.domain import Domain
from rerank.search.lines import logistic
from rerank.search.lines.forward import forward
from rerank.search.lines.leads import Leads
from rerank.search.lines.search import ROUNDS, LineSearch, LineShare, states
from rerank.search.quotas import ExactQuotas, lifted
from rerank.search.result import Progress, SearchResult, given_point, proof_of
from rerank.search.rows.choice import FEW_LISTS, lines_by_rows, rough, rows_alone
from rerank.search.rows.lines import RowLines
from rerank.search.sizes import affordable_pairs, check_rows, pairs_if_affordable
from rerank.search.supports.screening import screens_of
from rerank.search.supports.subsets import MOST, moving, supports
from rerank.search.tables import RowTables, Tables, row_tables, tables
from rerank.search.targets import MANY
from rerank.search.top.levels import levels_of

# Jobs of a round that follow lines, and the share of work that each begins with, up to so many features.
BY_PAIRS: dict[float, tuple[int, float]] = {MANY: (1, 1 / 15), np.inf: (2, 2.0)}
BY_ROWS: dict[float, tuple[int, float]] = {5: (1, 1 / 15), 8: (1, 1 / 3), MANY: (1, 1.0), np.inf: (2, 4.0)}
ROW_LINE = 14  # times as much as of a pair a row costs a line
FEW_AXES, FEW_UNITS, FEW_PAIRS = 3, 8, 100_000  # up to which points of whole numbers are tried
POINT_ROUNDS = 3  # of a climb on one list of many columns that no boxes follow: more gain .1 % for twice the time
CLIMB_SHARE = 0.75  # of the time for the first climb where lines come first
FORWARD_SHARE = 0.25  # of the time for adding features one at a time
LEVELS_SHARE = 0.2  # of the time for the levels at the top
LOGISTIC_SHARE, LEADS_SHARE = 0.05, 0.4  # of the time for logistic regression, for weights by which relevant rows lead
MOST_ENTRIES = 5_000_000  # of a table that these copy
HALVINGS, SUPPORTS = 20, 12  # on the way to a point that meets the quotas, and sets of features on which one is sought


class SearchRun:
    """One run of :func:`rerank.search.solve`: everything but the loop.

    Points are coordinates (:class:`rerank.search.domain.Domain`). With ``points`` no boxes are to come. InputError if
    the search would not fit into memory, OutOfTimeError if the time is over before it can begin.
    """

    def __init__(
        self, problem: Problem, random_state: int = 0, proof: bool = False, workers: int = 1, points: bool = False
    ) -> None:
        d = problem.n_features
        self.problem, self.random_state, self.points = problem, random_state, points
        self.began = time.perf_counter()
        self.domain = Domain.of(problem)
        self.tables: Tables | RowTables
        self.exact: Exact | RowExact
        self.lines: LineSearch
        pairs = None
        if not rows_alone(problem, points, proof):
            pairs = (affordable_pairs if proof or problem.by_sum else pairs_if_affordable)(problem, workers)
        row_lines = pairs is None or (not problem.by_sum and rough(problem) if self.limited else lines_by_rows(problem))
        if row_lines:
            check_rows(problem, sum(unit.coefficients.size for unit in problem.units), workers)
            self.tables = row_tables(problem, self.domain.scale)
            self.lines = RowLines(self.tables, self.domain, random_state, quick=points)
        if pairs is not None:
            self.tables = tables(problem, pairs, self.domain.scale)
        self.quotas = ExactQuotas(problem, self.domain, self.tables.quotas)
        # Quotas decide which cells of boxes count; a proof lists vertices, which have no sides.
        listed = self.quotas if self.tables.quotas.any else None
        if isinstance(self.tables, RowTables):
            self.exact = RowExact(problem, self.lines, self.domain, listed)
        else:
            self.exact = Exact(problem, self.tables, self.domain, listed)
        if not row_lines:
            self.lines = LineSearch(self.tables, self.domain, random_state, exact=self.exact.value)
        self.unit = self.tables.grain if self.tables.integral else 1.0
        self.price = problem.C / self.unit
        self.top_bound = np.inf  # in the tables' unit, by the levels at the top,
        self.circuits = Circuits.none()  # and what shows it, for a proof
        anchored = self.domain.anchored
        # A proof covers every support.
        self.among = np.arange(int(anchored), d) if proof else moving(problem)
        columns, self.left_out = supports(self.among.size, problem.max_features, problem.C > 0, anchored, self.among)
        prices = np.asarray(self.price * columns.sizes, dtype=np.float64)
        begin = self.domain.begin if self.quotas.meets(self.domain.begin) else None
        nothing = -1.0 - self.tables.ideal - self.price * d  # less than any weights are worth
        value = nothing if begin is None else self._inner(begin)
        screens = cache(lambda: screens_of(problem, self.tables, self.domain, columns[-1].size, workers))
        self.boxes = OpenBoxes(self.tables, columns, prices, self.domain, value, begin, proof, screens)
        self.start_value, self.begun = self.boxes.value, False
        parts = BY_ROWS if isinstance(self.lines, RowLines) else BY_PAIRS
        series, share = parts[next(most for most in parts if d <= most)]
        self.share = LineShare(share)
        self.lines_first = isinstance(self.lines, RowLines) and (len(problem.lists) > FEW_LISTS or d > MANY)
        self.states = states(0 if self.limited else series, random_state)

    @property
    def limited(self) -> bool:
        """Whether supports are searched one by one."""
        return self.problem.max_features is not None or self.problem.C > 0

    # ---- points

    def _inner(self, w: Floats) -> float:
        """Value minus penalty in the tables' unit, every pair decided exactly."""
        return self.exact.value(w) - self.price * self.domain.used(w)

    def offer(self, w: Floats) -> None:
        """Keep weights if they are better than the best so far and within the support limit."""
        w = self.domain.normal(w)
        if self.problem.max_features is not None and self.domain.used(w) > self.problem.max_features:
            return
        met = w if self.quotas.meets(w) else self._toward_best(w)
        if met is not None:
            self.boxes.offer(self._inner(met), met)

    def offer_scaled(self, v: Floats) -> None:
        """Keep coordinates of any size, such as small whole numbers, where dividing by the largest loses value."""
        self.offer(v)
        if self.domain.anchored or self.domain.norm(v) <= 1.0 or not self.domain.keeps(v):
            return
        few = self.problem.max_features is None or self.domain.used(v) <= self.problem.max_features
        if few and not (v[self.domain.signed] < 0).any() and self.quotas.meets(v):
            self.boxes.offer(self._inner(v), v)

    def _toward_best(self, w: Floats) -> Floats | None:
        """The nearest point on the way to the best one that meets the quotas; None if that uses more features."""
        best = None if self.boxes.weights is None else self.boxes.best
        if best is None or (self.limited and (best[w == 0] != 0).any()):
            return None
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            met = self.tables.quotas.lead(self.domain.normal(w + middle * (best - w))) > 0
            low, high = (low, middle) if met else (middle, high)
        found = self.domain.normal(w + high * (best - w))
        return found if high < 1.0 and self.quotas.meets(found) else None

    def _lift(self) -> None:
        """Look for a point that meets the quotas."""
        rng, most = np.random.default_rng([33, self.random_state]), self.problem.max_features
        for _ in range(1 if most is None else SUPPORTS):
            some = self.among if most is None else np.sort(rng.permutation(self.among)[:most])
            found = lifted(self.tables.quotas, self.domain, rng, lambda: current().now, some)
            if found is not None:
                self.offer(found)
                return

    def begin(self, start: ArrayLike | None, after: Callable[[], None] | None = None, levels: bool = True) -> None:
        """First points: the start that was given, line searches, levels, unless an earlier process has done them.

        ``after`` is called between lines where there are many.
        """
        if start is not None:
            self.offer(given_point(self.domain, start))
        if self.begun or not (self.domain.lower < self.domain.upper).any():  # no weight can move
            self.begun = True
            return
        if self.boxes.weights is None:
            self._lift()
        few = self.problem.n_features <= FEW_AXES and len(self.problem.units) <= FEW_UNITS
        if few and self.tables.spacing > 0 and self.tables.size <= FEW_PAIRS:
            # Where rows lie on a grid the best weights are often the only ones: lines look past a single point.
            for v in map(np.array, product((0.0, 1.0, -1.0), repeat=self.problem.n_features)):
                if self.domain.admits(v):
                    self.offer(v)
        if self.limited:
            sizes = self.among.size if self.problem.max_features is None else self.problem.max_features
            self.lines.deadline = time.perf_counter() + (1.0 if self.points else FORWARD_SHARE) * current().left
            each = not self.points or self.price > 0
            for _, w in forward(self.lines, sizes, lambda n: self.price * n, self.among, each):
                self.offer(w)
            self.lines.deadline = np.inf
        else:
            self._climb(after)
        self.start_value = self.boxes.value
        if levels:
            self._levels()
        self.begun = True

    def _climb(self, after: Callable[[], None] | None) -> None:
        """The first climb, from the best point known."""
        d, lines, stop = self.problem.n_features, self.lines, current()
        self._begin_above()
        state, rounds = lines.state, ROUNDS
        if self.lines_first:
            # Boxes bring next to nothing before they are tiny, so a whole climb comes first.
            lines.deadline = time.perf_counter() + (1.0 if self.points else CLIMB_SHARE) * stop.left
            rounds = POINT_ROUNDS if self.points and d > MANY and len(self.problem.lists) == 1 else rounds
        else:
            # A line costs about 1e-7 s a pair, and ROW_LINE times that a row; boxes find good points too, so large
            # problems start with few lines.
            each = ROW_LINE if isinstance(lines, RowLines) else 1
            rounds = int(np.clip(4e5 / max(self.tables.size * d * each, 1), 1, 20))
        state.climb = state.climb or lines.begun(self.boxes.best, rounds)
        self.offer(lines.finish(state.climb, after=after)[1])
        if lines.late and self.states:
            self.states[0].climb = state.climb  # it goes on beside the boxes
        lines.deadline, state.climb = np.inf, None

    def _begin_above(self) -> None:
        """Points of logistic regression and, where relevant rows count that lead all others, of climbs for these, each
        if it takes little of the time.
        """
        lines, stop = self.lines, current()
        if not (isinstance(lines, RowLines) and lines.tables.smooth) or self.domain.anchored:
            return
        if lines.tables.rows.size > MOST_ENTRIES:
            return
        starts = [self.boxes.best] if self.boxes.weights is not None and self.boxes.best.any() else []
        if logistic.seconds(lines.tables) < LOGISTIC_SHARE * stop.left:
            starts.append(self.domain.normal(logistic.weights(lines.tables)))
            self.offer(starts[-1])
        if not Leads.serves(lines.tables, self.domain):
            return
        leads, end = Leads(lines.tables, self.domain), time.perf_counter() + LEADS_SHARE * stop.left
        for start in starts:
            if time.perf_counter() + leads.seconds > end:
                return
            best, at = -np.inf, start
            for w in leads.points(start):
                if (value := lines.value(w)) > best:
                    best, at = value, w
                if time.perf_counter() > end:
                    break
            self.offer(at)

    def _levels(self) -> None:
        """Bound the value by what can be reached at the top, and keep the points met on the way."""
        boxes = self.boxes
        levels = levels_of(self.problem, self.domain, self.tables, boxes.record)
        if levels is not None:
            levels.rise(self._offered, LEVELS_SHARE * current().left)
            self.top_bound = levels.bound()
            boxes.cap = min(boxes.cap, self.top_bound)
            if boxes.record:
                self.circuits = levels.recorded()

    def _offered(self, w: Floats) -> float:
        self.offer(w)
        return self.boxes.value + self.boxes.slack

    # ---- what is reported

    def value(self) -> float:
        """The best value; minus infinity where no point was found."""
        return -np.inf if self.boxes.weights is None else self.tables.to_value(self.boxes.value)

    def weights(self) -> Floats:
        """The best weights."""
        found = self.boxes.weights
        return self.domain.weights(self.domain.begin if found is None else found)

    def progress(self, report: Callable[[Progress], None]) -> Callable[[OpenBoxes], None]:
        """What to call after a round, so that ``report`` is called with a :class:`Progress`."""
        stop = current()

        def after(boxes: OpenBoxes) -> None:
            ends, seconds = (self.value(), self._bound(boxes.open_bound())), time.perf_counter() - self.began
            now = Progress(seconds, *ends, boxes.boxes, len(boxes.heap) + len(boxes.unexplored))
            stop.ask(lambda: report(now))

        return after

    def result(self, closed: bool, interrupted: bool, note: str = "", gave_up: bool = False) -> SearchResult:
        """What the search found; ``closed`` says whether every box is fathomed."""
        boxes, t, value = self.boxes, self.tables, self.value()
        gave_up = gave_up or (closed and self.left_out is not None)
        closed = closed and self.left_out is None
        bound = max(self._bound((boxes.value if closed else boxes.open_bound()) + boxes.slack), value)
        if closed and boxes.weights is None:
            bound = -np.inf
        w = self.weights()
        proof = None
        if boxes.record and boxes.weights is not None:
            shown = self.circuits.sizes.size and self.top_bound <= boxes.open_bound() + boxes.slack
            circuits = self.circuits if shown else None
            proof = proof_of(self.problem, boxes, self.left_out, (value, bound, w), circuits)
        seconds, start = time.perf_counter() - self.began, min(t.to_value(self.start_value), value)
        box, exact = None if closed else self._box(), gave_up and not note and self._is_exact()
        found = value, bound, w, closed, boxes.boxes, seconds, start, self.problem.ideal, interrupted, proof, box
        return SearchResult(*found, note or (self._why_open() if gave_up else ""), gave_up, exact)

    def _is_exact(self) -> bool:
        """Whether every vertex of the boxes that are left was looked at."""
        left = {name for batch in self.boxes.unresolved for name in batch.names.tolist()}
        return self.left_out is None and left <= self.boxes.listed

    def _why_open(self) -> str:
        """Why a search that gave up is open, in a sentence."""
        if self.left_out is not None:
            limit = next(size for size in range(self.left_out - 1, 0, -1) if comb(self.among.size, size) <= MOST)
            return (
                f"There are too many sets of {self.left_out} features or more to search, and more time does not change "
                f"that; set max_features to {limit}."
            )
        if self._is_exact():
            return (
                "The bound is exact, but none of the weights that were tried reach it, doubles and whole numbers among "
                "them, where pairs differ by just the margin; a slightly smaller margin lets some reach it."
            )
        return (
            "The search gave up with the gap open, and more time would not change that: too many pairs differ by just "
            "the margin in boxes too small to split; change the margin slightly."
        )

    def _bound(self, inner: float) -> float:
        """The problem's unit, rounded up, with the sizes of support that were left out."""
        t = self.tables
        bound = t.to_value(inner)
        # Rounding of the conversion, relative to the terms of the sum and not to the sum.
        size = abs(t.constant) + abs(self.unit) * t.ideal + abs(self.problem.constant)
        bound = min(bound + 1e-15 * size, self.problem.ideal)
        if self.left_out is not None:
            bound = max(bound, self.problem.ideal - self.problem.C * self.left_out)
        return bound

    def _box(self) -> tuple[Floats, Floats]:
        """Ends of a box of weights around everything open and the best point."""
        boxes, domain = self.boxes, self.domain
        low, high = domain.lower, domain.upper
        whitened = any(basis is not None for basis in boxes.axes.bases.values())
        if self.left_out is None and not (boxes.unexplored or boxes.passed_over or whitened):
            low = high = boxes.best if boxes.weights is not None and boxes.weights.any() else domain.unchanged
            for batch in [batch for _, _, batch in boxes.heap] + boxes.unresolved:
                features = boxes.columns[batch.support]
                below, above = np.zeros(low.size), np.zeros(low.size)
                below[features] = (batch.centres - batch.halves).min(axis=0)
                above[features] = (batch.centres + batch.halves).max(axis=0)
                low, high = np.minimum(low, below), np.maximum(high, above)
            low, high = np.maximum(low, domain.lower), np.minimum(high, domain.upper)  # boxes are padded
        ends = domain.weights(low), domain.weights(high)
        return np.minimum(*ends), np.maximum(*ends)
