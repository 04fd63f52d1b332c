"""Exact search: lines for a start, boxes for the bound, until they meet or the time is up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.problem import Problem
from rerank.search.boxes import BoxSearch
from rerank.search.corners import Exact
from rerank.search.forward import forward
from rerank.search.frame import frame
from rerank.search.lines import LineSearch, states
from rerank.search.result import Progress, SearchResult
from rerank.search.rounds import Rounds
from rerank.search.supports import supports
from rerank.search.tables import Tables, tables
from rerank.search.tasks import Bundle
from rerank.search.warm import ready

Floats = NDArray[np.float64]
OWN_AXES = 1e7  # visits of pairs on the features' own axes before a frame is tried
MANY = 12  # features beyond which boxes prove nothing in practice
LINES = 1  # jobs of a round that follow lines,
LINES_OF_MANY = 13  # and beyond MANY features


def solve(
    problem: Problem,
    time_limit: float | None = 60.0,
    start: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    proof: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> SearchResult:
    """Maximise ``V(w) - C |w|_0`` over weights in scaled space, with a bound.

    Parameters
    ----------
    problem : Problem
    time_limit : float or None
        Seconds for everything but compiling the kernels, which happens once on a machine.
    start : array (d,), optional
        Weights in scaled space to begin with, such as the first stage's.
    n_jobs : int or None
        Workers, as joblib counts them; threads here, whatever the surrounding ``joblib.parallel_config`` says
        elsewhere.
    random_state : int
        Seed of the line search.
    proof : bool
        Keep the record of splits.
    progress : callable, optional
        Called with a :class:`Progress` after each round.

    Returns
    -------
    SearchResult
        Ctrl-C ends the search early and keeps what it found.
    """
    ready()
    return Solver(problem, time_limit, n_jobs, random_state, proof, progress).solve(start)


def line_search(
    problem: Problem, start: ArrayLike | None = None, time_limit: float = 1.0, random_state: int = 0
) -> tuple[Floats, float]:
    """Good weights by exact line searches alone, for any number of features; nothing is proved.

    Parameters
    ----------
    problem : Problem
    start : array (d,), optional
        Weights in scaled space to begin with; the result is never worse.
    time_limit : float
        Seconds.
    random_state : int
        Seed; the same seed and start give the same lines in the same order.

    Returns
    -------
    weights : float64 (d,)
    value : float
        ``V(w) - C |w|_0``, every pair judged exactly.
    """
    ready()
    run = Solver(problem, time_limit, 1, random_state, False, None)
    run.begin(start)
    if not run.limited:
        run.lines.restarts(run.search.best)
        if run.lines.state.found is not None:
            run.offer(run.lines.state.found)
    best = run.search
    w = np.zeros(problem.n_features) if best.weights is None else best.weights * run.flip + 0.0
    return w, run.tables.to_value(best.value)


class Solver:
    """One run of :func:`solve`, in the order in which it happens."""

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
        prices = self.price * np.array([c.size for c in columns], dtype=np.float64)
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
        series = 0 if self.limited else LINES if problem.n_features <= MANY else LINES_OF_MANY
        self.rounds = Rounds(
            self.search, n_jobs, self.lines, states(series, random_state), lambda w: self.offer(w)
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
        """Settle the boxes that were too small to split, exactly; True where none is left that could beat the value."""
        s = self.search
        left: list[Bundle] = []
        for bundle in s.stubborn:
            for c, h, bound, name, force in zip(
                bundle.centres, bundle.halves, bundle.bounds, bundle.names, bundle.forces, strict=True
            ):
                price = float(s.prices[bundle.support])
                if bound - price <= s.value + s.slack:
                    continue
                settled = (
                    None
                    if time.perf_counter() > self.deadline or s.frame(bundle.support) is not None
                    else self.exact.settle(s.columns[bundle.support], c, h)
                )
                if settled is not None:
                    bound = min(bound, settled[0])
                    self.small.add(int(name))
                    for w in settled[1] if bound - price > s.value + s.slack else []:
                        self.offer(w)
                if bound - price > s.value + s.slack:
                    left.append(
                        Bundle(
                            bundle.support, c[None], h[None], np.array([bound]), np.array([name]), force[None]
                        )
                    )
        s.stubborn = [b for b in left if b.bound - s.prices[b.support] > s.value + s.slack]
        return not s.stubborn

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
        """Ends of a box around everything still open and the best point, in the problem's own signs."""
        s = self.search
        d = self.problem.n_features
        low = high = np.zeros(d) if s.weights is None else s.weights
        for _, _, bundle in s.heap:
            low, high = _around(low, high, bundle, s.columns[bundle.support])
        for bundle in s.stubborn:
            low, high = _around(low, high, bundle, s.columns[bundle.support])
        if self.left_out is not None or s.waiting or any(f is not None for f in s.frames.values()):
            low, high = np.where(self.signed, 0.0, -1.0), np.ones(d)
        return np.where(self.flip < 0, -high, low) + 0.0, np.where(self.flip < 0, -low, high) + 0.0

    def _proof(self, value: float, bound: float, w: Floats) -> object | None:
        if not self.search.record:
            return None
        from rerank.search.record import proof_of

        return proof_of(self.problem, self.search, self.flip, self.small, self.left_out, value, bound, w)


def _around(low: Floats, high: Floats, bundle: Bundle, features: NDArray[np.intp]) -> tuple[Floats, Floats]:
    below, above = np.zeros(low.size), np.zeros(low.size)
    below[features] = (bundle.centres - bundle.halves).min(axis=0)
    above[features] = (bundle.centres + bundle.halves).max(axis=0)
    return np.minimum(low, below), np.maximum(high, above)


def _flipped(t: Tables, flip: Floats) -> Tables:
    return replace(t, pairs=np.ascontiguousarray(t.pairs * flip[:, None]))
