"""One run of the exact search: lines for a start, boxes for the bound, until they meet or the time is up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.problem import Problem
from rerank.search.boxes.fathom import settle_small
from rerank.search.boxes.frame import frame
from rerank.search.boxes.search import BoxSearch, open_ends
from rerank.search.boxes.vertices import Exact
from rerank.search.lines.forward import forward
from rerank.search.lines.search import LineSearch, states
from rerank.search.result import Progress, SearchResult
from rerank.search.rounds import Rounds
from rerank.search.supports.supports import supports
from rerank.search.tables import Tables, tables

Floats = NDArray[np.float64]
OWN_AXES = 1e7  # visits of pairs on the features' own axes before a frame is tried
MANY = 12  # features beyond which boxes prove nothing in practice
LINES = (1, 1 / 15)  # jobs of a round that follow lines and the work of each, in parts of that of all boxes;
LINES_OF_MANY = (2, 2.0)  # beyond MANY features: two climbs that get far, not many that do not


class Run:
    """One run of :func:`rerank.search.solve`, in the order in which it happens."""

    def __init__(
        self,
        problem: Problem,
        time_limit: float | None,
        n_jobs: int | None,
        random_state: int,
        proof: bool,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.problem = problem
        self.began = time.perf_counter()
        self.limit = np.inf if time_limit is None else float(time_limit)
        self.deadline = self.began + self.limit
        self.flip = np.where(problem.signs < 0, -1.0, 1.0)
        plain = tables(problem)
        self.tables: Tables = plain if not (problem.signs < 0).any() else _flipped(plain, self.flip)
        self.exact = Exact(problem, self.tables, self.flip)
        self.signed = problem.signs != 0
        self.unit = self.tables.grain if self.tables.integral else 1.0
        self.price = problem.C / self.unit
        self.lines = LineSearch(self.tables, self.signed, random_state, self.deadline)
        self.report = progress
        self.small: set[int] = set()  # names of the boxes settled exactly
        columns, self.left_out = supports(problem.n_features, problem.max_features, problem.C > 0)
        prices = np.asarray(self.price * columns.sizes, dtype=np.float64)
        zero = self._inner(np.zeros(problem.n_features))
        self.search = BoxSearch(
            self.tables,
            columns,
            prices,
            self.signed,
            zero,
            np.zeros(problem.n_features),
            proof,
        )
        series, share = LINES if problem.n_features <= MANY else LINES_OF_MANY
        self.rounds = Rounds(
            self.search,
            n_jobs,
            self.lines,
            states(0 if self.limited else series, random_state),
            lambda w: self.offer(w),
            share,
        )

    def solve(self, start: ArrayLike | None) -> SearchResult:
        """Begin, run until settled or out of time, report."""
        interrupted = False
        start_value = self.search.value
        try:
            self.begin(start)
            start_value = self.search.value
            closed = self._run()
        except KeyboardInterrupt:
            closed, interrupted = False, True
        return self._result(closed and self.left_out is None, start_value, interrupted)

    # ---- start

    def _inner(self, w: Floats) -> float:
        """Value minus price in the tables' unit, every pair judged exactly."""
        return self.exact.value(w) - self.price * float(np.count_nonzero(w))

    def offer(self, w: Floats) -> None:
        """Take weights (flipped space) if they are better than the best so far and within the support limit."""
        top = np.abs(w).max()
        if top > 0:
            w = w / top
        if self.problem.max_features is not None and np.count_nonzero(w) > self.problem.max_features:
            return
        self.search.offer(self._inner(w), w)

    def begin(self, start: ArrayLike | None) -> None:
        """First incumbents: the start that was given, then line searches."""
        d = self.problem.n_features
        pairs = self.tables.pairs.shape[1]
        if start is not None:
            w = np.asarray(start, dtype=np.float64)
            if w.shape != (d,) or not np.isfinite(w).all():
                raise InputError(
                    f"The start holds {w.size} weights; it must hold {d} finite numbers, one a feature."
                )
            w = w * self.flip
            self.offer(np.where(self.signed, np.maximum(w, 0.0), w))
        if self.limited:
            sizes = d if self.problem.max_features is None else self.problem.max_features
            for _, w in forward(self.lines, sizes, lambda n: self.price * n):
                self.offer(w)
            return
        # A line costs about 1e-7 s a pair; the boxes find good points too, so large problems start with few lines.
        rounds = int(np.clip(4e5 / max(pairs * d, 1), 1, 20))
        self.offer(self.lines.climb(self.search.best, rounds=rounds)[1])

    # ---- boxes and lines side by side

    def _run(self) -> bool:
        s = self.search
        # The features' own axes come first; most problems need no more.
        closed = self.rounds.run(self.deadline, self._progress, work=OWN_AXES)
        if not closed and self._worth_a_frame():
            s = self._again(framed=True)
        if closed or self.rounds.run(self.deadline, self._progress):
            if self._settle_small():
                return True
            if s.framed:  # exact answers in small boxes are given for boxes of weights only
                self._again(framed=False)
                return self.rounds.run(self.deadline, self._progress) and self._settle_small()
        return False

    def _worth_a_frame(self) -> bool:
        """Whether boxes in a frame may do better: one support, features correlated, no proof asked for.

        A proof is about boxes of weights, so its search keeps to the features' own axes.
        """
        s = self.search
        if len(s.columns) > 1 or s.record or self.signed.any():
            return False
        return frame(s.covariance, self.tables.epsilon) is not None

    def _again(self, framed: bool) -> BoxSearch:
        """Begin again from the root with the best point found, in a frame or on the features' own axes."""
        self.search = self.rounds.search = replace(
            self.search, framed=framed, frames={}, heap=[], stubborn=[], splits=[], _count=0, _task=0
        )
        return self.search

    @property
    def limited(self) -> bool:
        """Whether supports are searched one by one."""
        return self.problem.max_features is not None or self.problem.C > 0

    def _settle_small(self) -> bool:
        names, settled = settle_small(self.search, self.exact, self.deadline, self.offer)
        self.small |= names
        return settled

    def _progress(self, s: BoxSearch) -> None:
        if self.report is not None:
            t = self.tables
            self.report(
                Progress(
                    time.perf_counter() - self.began,
                    t.to_value(s.value),
                    self._bound(s.open_bound()),
                    s.boxes,
                    len(s.heap) + s.waiting,
                )
            )

    # ---- result

    def _bound(self, inner: float) -> float:
        """The problem's unit, rounded up, with the sizes of support that were left out."""
        t = self.tables
        bound = t.to_value(inner)
        # Rounding of the conversion, relative to what was added up, not to what is left of it.
        size = abs(t.constant) + abs(self.unit) * t.ideal + abs(self.problem.constant)
        bound = min(bound + 1e-15 * size, self.problem.ideal)
        if self.left_out is not None:
            bound = max(bound, self.problem.ideal - self.problem.C * self.left_out)
        return bound

    def _result(self, closed: bool, start_value: float, interrupted: bool) -> SearchResult:
        s, t = self.search, self.tables
        value = t.to_value(s.value)
        bound = self._bound((s.value if closed else s.open_bound()) + s.slack)
        bound = max(bound, value)
        w = (np.zeros(self.problem.n_features) if s.weights is None else s.weights * self.flip) + 0.0
        return SearchResult(
            value,
            bound,
            w,
            closed,
            s.boxes,
            time.perf_counter() - self.began,
            t.to_value(start_value),
            self.problem.ideal,
            interrupted,
            self._proof(value, bound, w),
            None if closed else self._box(),
        )

    def _box(self) -> tuple[Floats, Floats]:
        """Ends of a box around everything open and the best point, in the problem's own signs."""
        ends = None if self.left_out is not None else open_ends(self.search)
        low, high = (np.where(self.signed, 0.0, -1.0), np.ones(self.signed.size)) if ends is None else ends
        return np.where(self.flip < 0, -high, low) + 0.0, np.where(self.flip < 0, -low, high) + 0.0

    def _proof(self, value: float, bound: float, w: Floats) -> object | None:
        if not self.search.record:
            return None
        from rerank.search.record import proof_of

        return proof_of(self.problem, self.search, self.flip, self.small, self.left_out, value, bound, w)


def _flipped(t: Tables, flip: Floats) -> Tables:
    return replace(t, pairs=np.ascontiguousarray(t.pairs * flip[:, None]))
