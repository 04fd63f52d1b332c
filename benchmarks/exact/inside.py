"""How far into a box each bound has to go: pairs lost at least, for boxes that shrink towards points near good weights.

For a problem of AUC, boxes are halved around a point until a bound reaches a target, as in a pass of the search.  The
bounds are the pairs that are lost in all of the box; these and the relaxation of the kernel; and these and a packing of
circuits: of the root's shares, as they are or packed anew where pairs are decided, and of circuits found in the box.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.exact.data import noisy_problem
from rerank.problem import Problem
from rerank.search import compile_kernels, line_search
from rerank.search.boxes.relaxation import Scratch, must_lose
from rerank.search.circuits.packing import Circuits
from rerank.search.domain import Domain
from rerank.search.tables import tables

Floats = NDArray[np.float64]

ROWS, TARGET = 50, 0.944
POINTS = 8
DEPTHS = range(12, 45, 3)  # splits after which a bound is asked for
PROGRAMS, PROGRAMS_INSIDE = 700, 300


def report() -> int:
    """Print, for each bound, the splits before it reaches the target, and the milliseconds of CPU it takes in a box."""
    compile_kernels()
    boxes = Boxes(noisy_problem(ROWS, 10, "auc", 0.35, 0))
    t = boxes.t
    need = int(np.ceil(t.total - t.from_value(TARGET)))
    print(f"{ROWS} x 10, AUC: a bound of {TARGET}, {need} lost pairs; the root's circuits show {boxes.lost:.1f}.")
    print("bound                splits to the target  CPU ms a box")
    rng = np.random.default_rng(0)
    points = [boxes.best + rng.normal(size=10) * rng.choice([0.1, 0.2, 0.4]) for _ in range(POINTS)]
    for name, bound in boxes.bounds().items():
        began, seen, splits = time.process_time(), 0, []
        for point in points:
            last = boxes.splits(point / np.abs(point).max(), bound, need)
            splits.append(last)
            seen += 1 + DEPTHS.index(last)
        cpu = 1e3 * (time.process_time() - began) / seen
        print(f"{name:19}  {np.mean(splits):20.1f}  {cpu:12.2f}", flush=True)
    return 0


@dataclass(frozen=True)
class Box:
    """A box, which of the pairs it loses and wins, and the ends of the margins."""

    centre: Floats
    half: Floats
    M: Floats
    R: Floats

    @property
    def open(self) -> NDArray[np.bool_]:
        return (self.M + self.R >= 0) & (self.M - self.R <= 0)

    @property
    def lost(self) -> NDArray[np.bool_]:
        return self.M + self.R < 0


class Boxes:
    """Boxes of a problem with ten features, and the pool of circuits of its root."""

    def __init__(self, problem: Problem) -> None:
        self.domain = Domain.of(problem)
        self.t = tables(problem, scale=self.domain.scale)
        self.best, _ = line_search(problem, time_limit=2.0)
        self.pool = Circuits(self.t, self.domain)
        self.lost = self.pool.loss(PROGRAMS)

    def splits(self, point: Floats, bound: Callable[[Box], float], need: int) -> int:
        """Splits after which a bound reaches the target."""
        face = int(np.abs(point).argmax())
        c, h, D = np.zeros(10), np.ones(10), self.t.pairs
        c[face], h[face] = np.sign(point[face]), 0.0
        for depth in range(DEPTHS[-1]):
            box = Box(c, h, c @ D - self.t.epsilon, h @ np.abs(D) + self.t.tolerance)
            if depth in DEPTHS and np.ceil(box.lost.sum() + bound(box) - 1e-6) >= need:
                return depth
            j = int((h * np.abs(D[:, box.open]).sum(axis=1)).argmax())
            h[j] /= 2.0
            c[j] += h[j] if point[j] > c[j] else -h[j]
        return DEPTHS[-1]

    def bounds(self) -> dict[str, Callable[[Box], float]]:
        """What is lost on top of the pairs that are lost in all of the box."""
        return {
            "relaxation": self._relaxed,
            "the root's packing": lambda box: sum(self.pool.shares[s] for s in self._whole(box)),
            "packed anew": self._packed,
            "circuits of the box": self._found,
        }

    def _relaxed(self, box: Box) -> float:
        u, k = box.open, box.half.size
        m = int(u.sum())
        scratch = Scratch(*(np.zeros(size) for size in (m, m, m, k, k)))
        D = np.ascontiguousarray(self.t.pairs[:, u])
        return float(must_lose(D, 0, box.half, box.M[u], box.R[u], np.ones(m), self.t.tolerance, 1e-6, scratch))

    def _whole(self, box: Box) -> list[int]:
        return [s for s, pairs in enumerate(self.pool.pool) if not box.lost[pairs].any()]

    def _packed(self, box: Box) -> float:
        left = Circuits(self.t, self.domain)
        left.pool = [pairs[box.open[pairs]] for pairs in (self.pool.pool[s] for s in self._whole(box))]
        if any(not pairs.size for pairs in left.pool):
            return np.inf  # a circuit whose pairs are all won: no allowed weights are in the box
        return float(left._packed()[0].sum()) if left.pool else 0.0

    def _found(self, box: Box) -> float:
        u = box.open
        part: Any = replace(
            self.t, pairs=np.ascontiguousarray(self.t.pairs[:, u]), loss=self.t.loss[u],
            upper=self.t.upper[u], lower=self.t.lower[u],
        )  # fmt: skip
        inside = replace(self.domain, lower=box.centre - box.half, upper=box.centre + box.half)
        return Circuits(part, inside).loss(PROGRAMS_INSIDE) if u.any() else 0.0
