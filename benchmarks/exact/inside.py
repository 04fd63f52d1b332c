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
from rerank.search import compile_kernels, line_search
from rerank.search.boxes.relaxation import Scratch, must_lose
from rerank.search.circuits.packing import Circuits
from rerank.search.domain import Domain
from rerank.search.tables import tables

Floats = NDArray[np.float64]

POINTS, DEPTHS = 10, 44
PROGRAMS, PROGRAMS_INSIDE = 700, 300
TARGETS = {50: 0.944, 100: 0.938}


def report() -> int:
    """Print, for each bound, the splits before it reaches the target, and the milliseconds of CPU it takes in a box."""
    compile_kernels()
    print("rows   target  pairs to lose  bound                   splits to the target  CPU ms a box")
    for n, target in TARGETS.items():
        boxes = Boxes(n)
        t = boxes.t
        need = int(np.ceil(t.total - t.from_value(target)))
        rng = np.random.default_rng(0)
        points = [boxes.best + rng.normal(size=10) * rng.choice([0.1, 0.2, 0.4]) for _ in range(POINTS)]
        for name, bound in boxes.bounds().items():
            began, seen, splits = time.process_time(), 0, []
            for point in points:
                depths = boxes.splits(point / np.abs(point).max(), bound, need)
                splits.append(depths[-1])
                seen += len(depths)
            cpu = 1e3 * (time.process_time() - began) / seen
            print(f"{n:4}  {target:7}  {need:13}  {name:22}  {np.mean(splits):20.1f}  {cpu:12.2f}", flush=True)
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

    def __init__(self, n: int) -> None:
        problem = noisy_problem(n, 10, "auc", 0.35, 0)
        self.domain = Domain.of(problem)
        self.t = tables(problem, scale=self.domain.scale)
        self.best, _ = line_search(problem, time_limit=2.0)
        self.pool = Circuits(self.t, self.domain)
        self.pool.loss(PROGRAMS)

    def splits(self, point: Floats, bound: Callable[[Box], float], need: int) -> list[int]:
        """The depths at which a bound was asked for, every other one; the last is that which reached the target."""
        face, depths = int(np.abs(point).argmax()), []
        c, h = np.zeros(10), np.ones(10)
        c[face], h[face] = np.sign(point[face]), 0.0
        for depth in range(DEPTHS):
            D = self.t.pairs
            box = Box(c, h, c @ D - self.t.epsilon, h @ np.abs(D) + self.t.tolerance)
            if depth % 2 == 0:
                depths.append(depth)
                if np.ceil(box.lost.sum() + bound(box) - 1e-6) >= need:
                    break
            j = int((h * np.abs(D[:, box.open]).sum(axis=1)).argmax())
            h[j] /= 2.0
            c[j] += h[j] if point[j] > c[j] else -h[j]
        return depths

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
