"""Proofs made by plain bisection, and their check in plain rationals: slow twins of the search and of the checker."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from rerank.problem import Problem, Proof, digest
from rerank.problem.proof import COORDINATE, LEAF, LINE, LISTED

Row = list[Fraction]
Box = list[tuple[Fraction, Fraction]]


def up(x: Fraction) -> float:
    """The smallest double that is not below."""
    near = float(x)
    return math.nextafter(near, math.inf) if near < x else near


def below(x: Fraction) -> float:
    """The largest double that is truly below."""
    near = float(x)
    return near if near < x else math.nextafter(near, -math.inf)


def supports(problem: Problem) -> list[tuple[int, ...]]:
    """Sets of features, in the order of a proof; the given score of an anchored problem is in all of them."""
    given = (0,) if problem.limits is not None else ()
    d = problem.n_features - len(given)
    largest = min(problem.max_features or d, d)
    sizes = range(1, largest + 1) if problem.C > 0 else [largest]
    return [given + s for size in sizes for s in combinations(range(len(given), problem.n_features), size)]


def size_of(problem: Problem, j: int) -> Fraction:
    """The weight whose coordinate is 1."""
    if problem.limits is None:
        return Fraction(-1 if problem.signs[j] < 0 else 1)
    return max(-Fraction(problem.limits[0][j]), Fraction(problem.limits[1][j])) or Fraction(1)


def faces(problem: Problem, support: tuple[int, ...]) -> Iterator[Box]:
    """Boxes of the trees of a support."""
    if problem.limits is not None:
        low, high = ([Fraction(side[j]) / size_of(problem, j) for j in support] for side in problem.limits)
        grid = 2**20
        yield [(Fraction(math.floor(a * grid), grid), Fraction(math.ceil(b * grid), grid)) for a, b in zip(low, high)]
        return
    signed = [problem.signs[j] != 0 for j in support]
    for f in range(len(support)):
        for side in (1,) if signed[f] else (1, -1):
            box = [(Fraction(0 if s else -1), Fraction(1)) for s in signed]
            box[f] = (Fraction(side), Fraction(side))
            yield box


@dataclass(frozen=True)
class Slow:
    """Bounds of boxes by the definition, pair by pair in rationals."""

    problem: Problem

    def difference(self, i: int, k: int, support: tuple[int, ...]) -> Row:
        p = self.problem
        X, low, high = p.X, p.low, p.high
        return [
            size_of(p, j) * (Fraction(X[i, j]) - Fraction(X[k, j])) / (Fraction(high[j]) - Fraction(low[j]))
            for j in support
        ]

    def bound(self, support: tuple[int, ...], box: Box, sides: tuple[Row, ...] = ()) -> Fraction:
        """Largest value minus price that the box cannot be shown to miss."""
        p = self.problem
        total = mass = Fraction(0)
        for q in p.lists:
            gains = [Fraction(g) for g in q.gains]
            raw = previous = Fraction(0)
            for level in sorted({g for g in gains if g > 0}):
                lost = sorted(
                    sum(
                        self.lost(self.difference(int(i), int(k), support), box, sides)
                        for k, h in zip(q.rows, gains)
                        if h < level
                    )
                    for i, g in zip(q.rows, gains)
                    if g >= level
                )
                places = [x if q.alone else j + x for j, x in enumerate(lost)]
                hits = [1] * len(lost) if q.hits is None else [int(h) for h in q.hits]
                raw += (level - previous) * sum(
                    h * Fraction(q.coefficients[-1 - place]) for h, place in zip(hits, places)
                )
                previous = level
            total += Fraction(q.weight) * (raw + Fraction(q.constant)) / Fraction(q.scale)
            mass += Fraction(q.weight)
        return total / mass - Fraction(p.C) * (len(support) - (p.limits is not None))

    def begin(self) -> Fraction:
        """Value of weights that change nothing."""
        return self.bound((0,), [(Fraction(1), Fraction(1))]) if self.problem.anchored else self.bound((), [])

    def lost(self, row: Row, box: Box, sides: tuple[Row, ...]) -> bool:
        epsilon = Fraction(self.problem.epsilon)
        if sum(max(d * low, d * high) for d, (low, high) in zip(row, box)) < epsilon:
            return True
        for line in sides:
            ratio = max(map(abs, row)) / (max(map(abs, line)) or 1)
            if sum(abs(d + ratio * g) for d, g in zip(row, line)) < epsilon:
                return True
        return False

    def largest(self, proof: Proof) -> Fraction:
        """Largest interval bound of a leaf, or the value of no weights."""
        codes = iter(proof.codes.tolist())

        def visit(support: tuple[int, ...], lines: list[Row], box: Box, sides: tuple[Row, ...]) -> Fraction:
            code = next(codes)
            if code < COORDINATE:
                return self.bound(support, box, sides)
            if code > LINE:
                line = lines[code - LINE - 1]
                children = [(box, (*sides, line)), (box, (*sides, [-v for v in line]))]
            else:
                children = [(half, sides) for half in halves(box, code - COORDINATE)]
            return max([visit(support, lines, b, s) for b, s in children])

        return max(
            self.begin(),
            *[
                visit(s, [self.difference(int(i), int(k), s) for i, k in lines], box, ())
                for s, lines in zip(supports(self.problem), proof.lines)
                for box in faces(self.problem, s)
            ],
        )


def halves(box: Box, j: int) -> list[Box]:
    """Upper and lower half by coordinate j."""
    low, high = box[j]
    middle = (low + high) / 2
    return [box[:j] + [part] + box[j + 1 :] for part in ((middle, high), (low, middle))]


def listed(problem: Problem, bound: float) -> Proof:
    """A proof of one leaf a face, whose vertices the checker is to list."""
    faces_ = sum(1 for s in supports(problem) for _ in faces(problem, s))
    return proof_with(problem, bound, [LISTED] * faces_)


def bisected(problem: Problem, bound: float, depth: int) -> Proof:
    """Halve the widest coordinate until the bound shows, at most `depth` times; then list the vertices."""
    slow = Slow(problem)
    codes: list[int] = []

    def visit(support: tuple[int, ...], box: Box, left: int) -> None:
        if slow.bound(support, box) <= Fraction(bound):
            codes.append(LEAF)
            return
        widths = [high - low for low, high in box]
        if left == 0 or max(widths) == 0:
            codes.append(LISTED)
            return
        j = widths.index(max(widths))
        codes.append(COORDINATE + j)
        for half in halves(box, j):
            visit(support, half, left - 1)

    for support in supports(problem):
        for box in faces(problem, support):
            visit(support, box, depth)
    return proof_with(problem, bound, codes)


def random_tree(
    problem: Problem, bound: float, rng: np.random.Generator, lines: int = 0, kinds: tuple[int, ...] = (LEAF,)
) -> Proof:
    """Any tree: splits by coordinates and by lines of random pairs of rows, leaves of the given kinds."""
    rows = np.unique(np.concatenate([q.rows for q in problem.lists]))
    guides = [rng.choice(rows, size=(lines, 2)) for _ in supports(problem)]
    codes: list[int] = []

    def visit(box: Box, left: int) -> None:
        wide = [j for j, (low, high) in enumerate(box) if high > low]
        if left == 0 or rng.random() < 0.3:
            codes.append(int(rng.choice(kinds)))
        elif lines and (not wide or rng.random() < 0.4):
            codes.append(LINE + int(rng.integers(1, lines + 1)))
            visit(box, left - 1)
            visit(box, left - 1)
        elif not wide:
            codes.append(LEAF)
        else:
            j = int(rng.choice(wide))
            codes.append(COORDINATE + j)
            for half in halves(box, j):
                visit(half, left - 1)

    for support in supports(problem):
        for box in faces(problem, support):
            visit(box, 5)
    return proof_with(problem, bound, codes, guides)


def proof_with(problem: Problem, bound: float, codes: list[int], lines: list[np.ndarray] | None = None) -> Proof:
    """A proof around codes, for weights that change nothing."""
    family = supports(problem)
    return Proof(
        value=float(Slow(problem).begin()),
        bound=bound,
        weights=problem.unchanged,
        flip=np.where(problem.signs < 0, -1, 1).astype(np.int8),
        supports=tuple(np.array(s, dtype=np.intp) for s in family),
        left_out=None,
        codes=np.array(codes, dtype=np.uint16),
        lines=tuple(np.asarray(g, dtype=np.int64) for g in lines or [np.empty((0, 2))] * len(family)),
        fingerprint=digest(problem),
    )
