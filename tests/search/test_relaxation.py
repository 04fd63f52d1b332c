"""The linear relaxation of a box: never above the exact relaxed loss, nor below the first choice, and of use."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from rerank.problem import Problem, problem_of
from rerank.search import solve
from rerank.search.boxes import relaxation
from rerank.search.boxes.pairs import reach
from rerank.statistics import parse
from tests.cases.search import Floats, noisy_problem

SEEDS = st.integers(0, 10**6)
BEFORE = 3  # pairs of other levels before those that are evaluated
TOLERANCE = 1e-14


class Box(NamedTuple):
    D: Floats
    c: Floats
    h: Floats
    W: Floats
    M: Floats
    R: Floats

    def must_lose(self, need: float = 1e-9) -> float:
        n = self.M.size
        margins, axes = np.empty((5, n + 2)), np.empty((5, self.h.size))
        margins[0, :n], margins[1, :n], axes[1] = self.M, self.R, self.h
        D = np.hstack([np.full((self.h.size + 1, BEFORE), np.nan), np.vstack([self.D, self.W])])
        return relaxation.must_lose(D, BEFORE, n, TOLERANCE, need, margins, axes)

    @property
    def undecided(self) -> Any:
        return np.flatnonzero((self.M + self.R >= 0) & (self.M - self.R <= 0))


def box(seed: int, k: int, n: int, size: float) -> Box:
    """Pairs that mostly lose at the centre, some parallel to an axis and some nearly won or nearly lost."""
    rng = np.random.default_rng(seed)
    D = rng.uniform(-1, 1, size=(k, n))
    D[:, ::5] *= rng.random(size=(k, D[:, ::5].shape[1])) < 0.4
    c = rng.uniform(-1, 1, size=k)
    D -= np.outer(c, (c @ D + 0.3 * size) / (c @ c)) * rng.choice([0.0, 1.0], size=n)
    h = size * rng.choice([0.0, 0.5, 1.0], size=k)
    M, R = np.empty(n), np.empty(n)
    reach(D, 0, c, h, 1e-3, TOLERANCE, M, R)
    return Box(D, c, h, rng.integers(1, 4, size=n).astype(float), M, R)


def exact_loss(b: Box, move: Floats) -> Fraction:
    """Relaxed loss ``sum_p W_p max(0, -y_p) / (R_p - M_p)`` at ``c + move``, without rounding."""
    total = Fraction(0)
    for p in b.undecided:
        y = sum(
            ((Fraction(x) + Fraction(m)) * Fraction(z) for x, m, z in zip(b.c, move, b.D[:, p], strict=True)),
            start=-Fraction(1e-3),
        )
        width = Fraction(b.R[p]) - Fraction(b.M[p])
        if y < 0:
            total += Fraction(b.W[p]) * -y / width
    return total


def lightest_move(b: Box) -> Floats:
    """Where in the box the relaxed loss is least, up to the tolerance of the solver."""
    u, k = b.undecided, b.h.size
    width = (b.R - b.M)[u]
    A = np.hstack([-b.D[:, u].T, -np.diag(width)])
    ends = [(-x, x) for x in b.h] + [(0, None)] * u.size
    found = linprog(np.concatenate([np.zeros(k), b.W[u]]), A, b.M[u], bounds=ends)
    return np.clip(found.x[:k], -b.h, b.h)


def first_choice(b: Box) -> float:
    """Bound by the pairs that lose at the centre, by a loop."""
    gain, total = 0.0, np.zeros(b.h.size)
    for p in b.undecided:
        if b.M[p] < 0:
            t = b.W[p] / (b.R[p] - b.M[p])
            gain -= t * b.M[p]
            total += t * b.D[:, p]
    return gain - float(b.h @ np.abs(total))


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(1, 7), st.integers(1, 60), st.sampled_from([1.0, 0.1, 1e-6]))
def test_the_bound_lies_between_the_first_choice_and_the_relaxed_loss(
    seed: int, k: int, n: int, size: float
) -> None:
    b = box(seed, k, n, size)
    least = b.must_lose(need=1e9), b.must_lose(need=1e-9)
    assert least[0] == 0.0
    if b.undecided.size:
        assert Fraction(least[1]) <= exact_loss(b, lightest_move(b))
        for move in b.h * np.random.default_rng(seed).uniform(-1, 1, size=(5, k)):
            assert Fraction(least[1]) <= exact_loss(b, move)
    assert least[1] >= first_choice(b) - 1e-6


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(1, 6))
def test_no_weights_of_the_box_lose_less(seed: int, k: int) -> None:
    b = box(seed, k, 30, 0.2)
    rng = np.random.default_rng(seed)
    for move in b.h * np.vstack([np.zeros(k), rng.choice([-1.0, 0.3, 1.0], size=(40, k)), lightest_move(b)]):
        lost = (b.c + move) @ b.D[:, b.undecided] < 1e-3
        assert b.must_lose() <= b.W[b.undecided][lost].sum()


def test_pairs_as_good_as_won_do_not_blow_the_bound_up() -> None:
    b = box(0, 3, 40, 0.1)
    M, R = b.M.copy(), b.R.copy()
    M[::3] = R[::3] * (1 - 1e-15)
    assert 0.0 <= b._replace(M=M).must_lose() <= b.W.sum()


def test_two_choices_are_better_than_one() -> None:
    gains = []
    for seed in range(20):
        b = box(seed, 4, 200, 0.1)
        best, first = b.must_lose(need=float(exact_loss(b, lightest_move(b)))), first_choice(b)
        gains.append(best > first + 1e-9)
    assert sum(gains) >= 10


def problems() -> list[Problem]:
    rng = np.random.default_rng(3)
    X, gains = rng.normal(size=(48, 4)), (np.arange(48) % 4 == 0).astype(float)
    lattice = rng.integers(0, 4, size=(30, 3)).astype(float)
    correlated = X @ rng.normal(size=(4, 4)) + 3 * X[:, :1]
    return [
        noisy_problem(60, 4, "auc", 0.3, 0),
        noisy_problem(40, 1, "auc", 0.3, 0),
        noisy_problem(30, 5, "auc", 0.3, 1, signs=[1, 1, 0, 0, -1]),
        noisy_problem(40, 4, "auc", 0.2, 2, C=0.01),
        noisy_problem(40, 4, "auc", 0.2, 2, max_features=2),
        problem_of(lattice, (np.arange(30) % 3 == 0).astype(float), parse("auc")),
        problem_of(correlated, gains, parse("auc")),
        # Lists of different sizes: what a pair costs differs, and losses are no whole numbers.
        problem_of(X, gains, parse("auc"), np.repeat([0, 1, 2], [12, 16, 20])),
        problem_of(X, rng.integers(0, 3, size=48).astype(float), parse("auc")),
    ]


@pytest.mark.parametrize("which", range(9))
def test_the_answer_is_that_of_the_plain_bound(which: int) -> None:
    problem = problems()[which]
    plain = solve(
        problem, time_limit=None, proof=True, n_jobs=1
    )  # a proof is searched for with the plain bound
    found = solve(problem, time_limit=None, n_jobs=1)
    assert found.closed and found.value == pytest.approx(plain.value, abs=1e-12)
    assert found.bound == pytest.approx(plain.bound, abs=1e-9)


@pytest.mark.parametrize("share", [0.1, 0.35])
def test_fewer_boxes(share: float) -> None:
    problem = noisy_problem(60, 5, "auc", share, 0)
    plain = solve(problem, time_limit=None, proof=True, n_jobs=1)
    assert 1.5 * solve(problem, time_limit=None, n_jobs=1).boxes < plain.boxes


@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_a_search_that_was_stopped_hold(seed: int) -> None:
    problem = noisy_problem(60, 5, "auc", 0.3, seed)
    best = solve(problem, time_limit=None, proof=True, n_jobs=1).value
    for limit in (0.001, 0.02, 0.08):
        assert solve(problem, time_limit=limit, n_jobs=1).bound >= best - 1e-12
