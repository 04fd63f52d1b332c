"""Exact line search in weight space: a good start for any number of features, any time.

Every line is solved to its optimum (:mod:`rerank.search.line_kernel`); lines follow the coordinates, random
directions and the differences between the best points met so far.  Lines through one point share nothing, so
the search can stop after any of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rerank.search.tables import Tables

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
KEEP = 6  # elite points whose differences serve as directions


@dataclass(eq=False)
class LineSearch:
    """Line searches on one problem with features flipped so that a signed weight is one that must be >= 0.

    Parameters
    ----------
    tables : Tables
    signed : bool array (d,)
        Weights that must not be negative.
    random_state : int
    deadline : float
        Value of ``time.perf_counter()`` after which no line is begun.
    """

    tables: Tables
    signed: NDArray[np.bool_]
    random_state: int = 0
    deadline: float = np.inf
    until: float = np.inf
    elite: list[tuple[float, Floats]] = field(default_factory=list)
    lines: int = 0

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.random_state)

    @property
    def late(self) -> bool:
        """Whether it is time to stop."""
        return time.perf_counter() > min(self.deadline, self.until)

    def line(self, w: Floats, u: Floats, features: Indices | None = None) -> tuple[float, Floats]:
        """Best value on ``w + tau u`` and its point, brought back to the cube's surface; on ``features`` if given."""
        from rerank.search.line_kernel import sweep

        t = self.tables
        cols = slice(None) if features is None else features
        low, high = self._range(w[cols], u[cols], self.signed[cols])
        pairs = t.pairs if features is None else np.ascontiguousarray(t.pairs[features])
        value, tau = sweep(
            pairs,
            t.slot,
            t.span,
            t.weight,
            w[cols],
            u[cols],
            low,
            high,
            t.epsilon,
            t.linear,
            t.total,
            t.unit_start,
            t.unit_slots,
            t.unit_of,
            t.coef_start,
            t.coef,
            t.room_start,
        )
        self.lines += 1
        if not np.isfinite(value):
            return -np.inf, w
        out = w + tau * u
        return value, out / max(np.abs(out).max(), 1e-300)

    @staticmethod
    def _range(w: Floats, u: Floats, signed: NDArray[np.bool_]) -> tuple[float, float]:
        rise = signed & (u > 0)
        fall = signed & (u < 0)
        low = float((-w[rise] / u[rise]).max()) if rise.any() else -np.inf
        high = float((-w[fall] / u[fall]).min()) if fall.any() else np.inf
        return low, high

    def climb(
        self, w: Floats, features: Indices | None = None, rounds: int = 50, patience: int = 2
    ) -> tuple[float, Floats]:
        """Follow coordinates, then random and elite directions, until ``patience`` rounds bring nothing."""
        d = w.size
        free = np.arange(d) if features is None else features
        best, idle = -np.inf, 0
        for turn in range(rounds):
            before = best
            for u in self._directions(d, free, w, turn):
                value, point = self.line(w, u, features)
                if value >= best:
                    best, w = value, point
                if self.late:
                    return self._remember(best, w)
            idle = 0 if best > before + 1e-12 * abs(before) or turn == 0 else idle + 1
            if idle >= patience:
                break
        return self._remember(best, w)

    def _directions(self, d: int, free: Indices, w: Floats, turn: int) -> list[Floats]:
        if turn % 2 == 0 or free.size == 1:
            axes = np.zeros((free.size, d))
            axes[np.arange(free.size), self.rng.permutation(free)] = 1.0
            return list(axes)
        some = np.zeros((free.size, d))
        some[:, free] = self.rng.standard_normal((free.size, free.size))
        toward = [e - w for _, e in self.elite if not np.array_equal(e, w)]
        usable = [u for u in toward if np.any(u[free]) and not np.any(np.delete(u, free))]
        return list(some) + usable

    def _remember(self, value: float, w: Floats) -> tuple[float, Floats]:
        self.elite.append((value, w))
        self.elite.sort(key=lambda item: -item[0])
        del self.elite[KEEP:]
        return value, w

    def random_point(self, free: Indices, d: int) -> Floats:
        """A random point of the cube's surface whose weights are on the ``free`` features."""
        w = np.zeros(d)
        w[free] = self.rng.standard_normal(free.size)
        w[self.signed] = np.abs(w[self.signed])
        return w / np.abs(w).max()

    def restarts(
        self,
        w: Floats,
        until: float,
        on_better: Callable[[float, Floats], None],
        features: Indices | None = None,
    ) -> None:
        """Climb from ``w``, then from random points and shaken elite points, until the clock says ``until``."""
        free = np.arange(w.size) if features is None else features
        start, best, self.until = w, -np.inf, until
        while True:
            value, point = self.climb(start, features)
            if value > best:
                best = value
                on_better(value, point)
            if self.late:
                self.until = np.inf
                return
            start = self.random_point(free, w.size)
            if self.elite and self.rng.random() < 0.5:
                shaken = self.elite[self.rng.integers(len(self.elite))][1] + 0.3 * start
                shaken[self.signed] = np.maximum(shaken[self.signed], 0.0)
                top = np.abs(shaken).max()
                start = shaken / top if top > 0 else start

    def forward(self, limit: int, price: Callable[[int], float]) -> list[tuple[float, Floats]]:
        """Greedy supports of growing size, each improved by exchanges: best weights for every size up to ``limit``.

        ``price`` is what a support of a given size costs, in the tables' unit; it only serves to stop early.
        """
        d = self.signed.size
        w = np.zeros(d)
        found: list[tuple[float, Floats]] = []
        chosen: list[int] = []
        while len(chosen) < min(limit, d) and not self.late:
            step = max(
                ((*self._add(w, j, chosen), j) for j in range(d) if j not in chosen), key=lambda item: item[0]
            )
            chosen.append(step[2])
            value, w = self.climb(step[1], np.array(sorted(chosen)), rounds=8, patience=1)
            value, w, chosen = self._exchange(value, w, chosen)
            if found and value - price(len(chosen)) < found[-1][0] - price(len(chosen) - 1) and limit == d:
                break
            found.append((value, w))
        return found

    def _add(self, w: Floats, j: int, chosen: list[int]) -> tuple[float, Floats]:
        if self.late:
            return -np.inf, w
        u = np.zeros(w.size)
        u[j] = 1.0
        return self.line(w if chosen else u, u if chosen else u * 0.5, np.array(sorted([*chosen, j])))

    def _exchange(self, value: float, w: Floats, chosen: list[int]) -> tuple[float, Floats, list[int]]:
        """Replace one feature by another as long as that helps."""
        improved = len(chosen) > 1
        while improved and not self.late:
            improved = False
            for out in list(chosen):
                rest = [j for j in chosen if j != out]
                base = w.copy()
                base[out] = 0.0
                top = np.abs(base).max()
                if top == 0:
                    continue
                trials = [(*self._add(base / top, j, rest), j) for j in range(w.size) if j not in chosen]
                if not trials or self.late:
                    break
                best = max(trials, key=lambda item: item[0])
                if best[0] > value - abs(value) * 0.01:
                    swapped = [*rest, best[2]]
                    v, x = self.climb(best[1], np.array(sorted(swapped)), rounds=6, patience=1)
                    if v > value + 1e-12 * abs(value):
                        value, w, chosen, improved = v, x, swapped, True
                        break
        return value, w, chosen
