"""Where rounding could decide: margins on the grid of the data, values and bounds near the wrong side."""

from contextlib import nullcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import strategies as st

from rerank.certificate import certify, verify_proof
from rerank.errors import InputError
from rerank.problem import Problem, RankedList, problem_of
from rerank.search import line_search, solve
from rerank.search.tables import spacing
from rerank.statistics import parse
from tests.cases.examples import examples
from tests.cases.search import by_rows, timed
from tests.oracles.anchored import best
from tests.oracles.comparisons import check_search
from tests.oracles.oracle import objective_at, optimum


def levels(seed: int, n: int, d: int, top: int, statistic: str, epsilon: float | str, **options: object) -> Problem:
    """Whole numbers from 0 to ``top``, both of them in every column."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, top + 1, (n, d)).astype(float)
    X[2], X[3] = 0, top
    y = (rng.random(n) < 0.4).astype(float)
    y[:2] = 1, 0
    return problem_of(X, y, parse(statistic), epsilon=epsilon, **options)


def small(rows: list[list[float]], y: list[int], statistic: str, epsilon: float | str) -> Problem:
    return problem_of(np.array(rows, dtype=float), np.array(y, dtype=float), parse(statistic), epsilon=epsilon)


CASES = {
    "three rows": lambda: small([[0, 0, 0], [1, 0, 0], [5, 5, 5]], [0, 1, 0], "auc", 0.2),
    "four rows": lambda: small([[0, 0], [2, 0], [4, 7], [10, 10]], [1, 0, 1, 0], "dcg", 0.2),
    **{f"15 x 2, 0 to 5, {s}": lambda s=s: levels(s, 15, 2, 5, "dcg@5", 0.2) for s in range(11)},
    **{f"15 x 2, 0 to 10, {s}": lambda s=s: levels(s, 15, 2, 10, "dcg@5", 0.1) for s in range(12)},
    **{f"ratings, {s}": lambda s=s: levels(s, 40, 3, 10, "dcg@5", 0.1) for s in range(4)},
    **{f"five levels, {s}": lambda s=s: levels(s, 40, 3, 4, "dcg@5", 0.25) for s in range(4)},
}


@pytest.mark.parametrize("name", CASES)
def test_margins_on_the_grid_are_proved_in_few_boxes(name: str) -> None:
    problem = CASES[name]()
    found = solve(problem, time_limit=20.0, n_jobs=1, proof=True)
    assert found.closed and found.boxes < 20_000 and not found.gave_up
    assert float(certify(problem, found.weights).value) == pytest.approx(found.value, abs=1e-12)
    assert found.proof is not None and (verdict := verify_proof(problem, found.proof)).ok, verdict.message


def test_the_best_weights_are_a_point_where_a_pair_differs_by_the_margin() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, (14, 2)).astype(float), rng.random(14) < 0.4
    problem = problem_of(X, y.astype(float), parse("dcg@5"), epsilon=0.05, C=0.01, signs=[1, 1])
    found = solve(problem, time_limit=20.0)
    assert found.closed and found.weights.tolist() == [1.0, 0.25]
    assert found.value > 1.36 and found.value == pytest.approx(float(best(problem).value), abs=1e-12)
    w, value = line_search(problem, time_limit=0.2)
    assert value == found.value and w.tolist() == [1.0, 0.25]


def random_levels(seed: int) -> Problem | None:
    """Few rows on a grid: anchored, signed, priced, of few features, graded, or in several lists."""
    rng = np.random.default_rng([20261125, seed])
    n, d, top = int(rng.integers(5, 9)), int(rng.integers(1, 4)), int(rng.choice([4, 5, 6, 10]))
    X = rng.integers(0, top + 1, (n, d)).astype(float)
    gains = rng.choice([0.0, 1, 3], n) if rng.random() < 0.3 else (rng.random(n) < 0.4).astype(float)
    statistic = parse(str(rng.choice(["auc", "dcg@3", "mrr", "precision@2", "dcg", "ndcg@3", "pauc@3", "ap"])))
    gains = (gains > 0).astype(float) if statistic.weighs_hits else gains
    on_grid = Fraction(int(rng.integers(1, top)), top)
    epsilon = on_grid if seed % 2 else str(rng.choice([".05", ".1", ".25", ".001", "1/7"]))
    given: dict[str, object] = {
        "epsilon": epsilon,
        "C": float(rng.choice([0, 0, 0.01, 0.125])),
        "max_features": int(rng.integers(1, d + 1)) if rng.random() < 0.3 else None,
    }
    if d > 1 and rng.random() < 0.3:
        low, high = rng.choice([0.25, 0.5, 0.75, 1.0], d), rng.choice([0.0, 0.125, 0.5, 1.0], d)
        given |= {"limits": (np.r_[1, -low[1:]], np.r_[1, high[1:]])}
        given |= {"low": np.zeros(d), "high": np.full(d, float(top))}
    elif rng.random() < 0.3:
        given["signs"] = rng.choice([-1, 0, 0, 1], d)
    try:
        return problem_of(X, gains, statistic, rng.integers(0, 2, n) if rng.random() < 0.25 else None, **given)
    except InputError:  # a constant column, or no gain
        return None


@pytest.mark.parametrize("rows", [False, True], ids=["by pairs", "by rows"])
@pytest.mark.parametrize("part", range(6))
def test_searches_agree_with_an_enumeration_in_rationals(part: int, rows: bool) -> None:
    asked = [problem for seed in range(8 * part, 8 * part + 8) if (problem := random_levels(seed)) is not None]
    assert len(asked) > 3
    with by_rows() if rows else nullcontext():
        assert [verdict for verdict in (check_search(one, proof=not rows) for one in asked) if verdict.failures] == []


def test_the_spacing_divides_what_boxes_evaluate_exactly() -> None:
    limits = ([1.0, -0.25], [1.0, 1.0])
    X = np.array([[0.0, 0], [3, 1], [6, 4], [1, 2]])
    problem = problem_of(
        X, np.array([0.0, 1, 0, 1]), parse("auc"), epsilon=0.1, limits=limits, low=[0.0, 0], high=[6.0, 4]
    )
    # The box of the second coordinate has the ends -1/4 and 1, so its centre 3/8 is no multiple of its half-width 5/8.
    assert spacing(problem) == pytest.approx(1 / 300, rel=1e-15)
    unit, centre, half = Fraction(1, 300), Fraction(3, 8), Fraction(5, 8)
    for v in (centre, centre - half, centre + half):
        for i, k in ((1, 0), (1, 2), (3, 0), (3, 2)):
            D = [Fraction(X[i, 0] - X[k, 0]) / 6, Fraction(X[i, 1] - X[k, 1]) / 4]
            assert ((D[0] + v * D[1] - Fraction(1, 10)) / (half * unit)).denominator == 1
    assert spacing(problem_of([[0.1], [0.7], [0.4]], [0, 1, 1], parse("auc"), epsilon=0.1)) == 0
    assert spacing(problem_of([[0.0], [1e300], [4e299]], [0, 1, 1], parse("auc"), epsilon=0.1)) == 0


def only_rationals(share: str = "1") -> Problem:
    """The best weights are (-1398102, 3495253) alone: larger whole numbers than are tried, and no doubles once they are
    divided by the largest. At a smaller share of the margin there are others.
    """
    top, a, b = 2**22, 3495253, 3495252
    margin = Fraction(b - top // 2, 2 * top) * Fraction(share)
    return small([[0, 0], [top - a, b], [a, top // 2], [top, top]], [0, 1, 1, 0], "mrr", margin)


@pytest.mark.parametrize(("by_sum", "seed"), [(False, 0), (False, 5), (True, 5), (True, 9)])
def test_whole_numbers_that_alone_reach_the_bound_are_found(by_sum: bool, seed: int) -> None:
    """At a margin of 1/10 of the columns' range, 10, or 16 by sum, times the largest weight, or the sum of all."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 11, (24, 3))
    X[0], X[1], y = 0, 10, rng.random(24) < 0.4
    problem = problem_of(X.astype(float), y.astype(float), parse("mrr"), epsilon=0.1, by_sum=by_sum)
    found = solve(problem, time_limit=20.0)
    assert found.closed and float(certify(problem, found.weights).value) == pytest.approx(found.value)
    W = np.array([w for w in product(range(13) if by_sum else range(-6, 7), repeat=3) if any(w)])
    least = 16 * W.sum(axis=1) if by_sum else 10 * np.abs(W).max(axis=1)
    lost = (10 * ((W @ X[y].T)[:, :, None] - (W @ X[~y].T)[:, None, :]) < least[:, None, None]).sum(axis=2)
    values = (1.0 / (np.sort(lost, axis=1) + np.arange(1, y.sum() + 1))).sum(axis=1)
    assert found.value >= values.max() - 1e-9


def test_a_search_that_more_time_would_not_close_says_so_and_its_advice_works() -> None:
    found = solve(only_rationals(), time_limit=20.0)
    assert found.gave_up and not found.closed and found.seconds < 5
    most = float(best(only_rationals()).value)
    assert found.bound == pytest.approx(most, abs=1e-9) and found.bound > found.value
    assert "slightly smaller margin" in found.note
    assert solve(only_rationals("0.999"), time_limit=20.0).closed
    assert not solve(CASES["three rows"](), time_limit=20.0).gave_up


@pytest.mark.parametrize("rows", [False, True], ids=["by pairs", "by rows"])
def test_the_exact_phase_looks_at_the_clock(rows: bool) -> None:
    # The double of .2 is a little more than a step of the grid, which no multiple of a common denominator shows.
    X = [[0.0, 0], [2, 0], [4, 7], [10, 10], [3, 5]]
    problem = problem_of(X, [1.0, 0, 1, 0, 0], parse("dcg"), epsilon=Fraction(0.2))
    with by_rows() if rows else nullcontext():
        solve(problem, time_limit=0.1)  # kernels are loaded
        found, seconds = timed(problem, 0.5)
    assert seconds < 1.5 and not (found.gave_up and found.seconds > 0.5)


def check(problem: Problem) -> None:
    """The bound is above the exact optimum, the value not above its weights' exact value by more than rounding."""
    most = optimum(problem)
    assert most is not None
    found = solve(problem, time_limit=3.0, n_jobs=1)
    assert Fraction(found.bound) >= most.value
    size = (
        abs(problem.ideal)
        + abs(problem.constant)
        + sum(abs(q.constant / q.scale) + q.coefficients.sum() * q.gains.max() / q.scale for q in problem.lists)
    )
    assert Fraction(found.value) <= objective_at(problem, found.weights) + Fraction(1e-15 * size)


@examples(60, st.integers(0, 10**6), st.sampled_from([1e-16, 1e-14, 1e-13, 1e-12, 1e-10]))
def test_places_worth_nearly_the_same(seed: int, step: float) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    a = np.sort(1 + step * rng.integers(0, 8, size=n))
    gains = rng.permutation([1.0] * int(rng.integers(1, 4)) + [0.0] * 9)[:n]
    if gains.any():
        X = rng.normal(size=(n, 2))
        check(Problem.build(X, [RankedList(np.arange(n), gains, a)], epsilon=float(rng.choice([1e-4, 0.1]))))


@pytest.mark.parametrize("negatives", [1, 2])
@pytest.mark.parametrize("n", [20, 60])
def test_auc_whose_offset_dwarfs_its_value(n: int, negatives: int) -> None:
    rng = np.random.default_rng(n)
    y = np.ones(n)
    y[:negatives] = 0
    check(problem_of(rng.normal(size=(n, 1)), y, parse("auc")))


@examples(40, st.integers(0, 10**6))
def test_lists_whose_weights_and_scales_span_many_orders(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 2))
    lists = [
        RankedList(
            rows,
            np.array([0.0, *rng.permutation([0.0, 1.0, 1e-6, 3e5])[:2], 1.0]),
            np.sort(rng.random(4)),
            weight=float(10.0 ** rng.integers(-9, 9)),
            constant=float(rng.normal() * 10.0 ** rng.integers(-9, 6)),
            scale=float(10.0 ** rng.integers(-6, 6)),
        )
        for rows in np.split(rng.permutation(12), 3)
    ]
    check(Problem.build(X, lists, epsilon=0.01))


@examples(40, st.integers(0, 10**6), st.sampled_from([2.0**-40, 1e-12, 1e-9]))
def test_pairs_that_differ_from_the_margin_by_a_hair(seed: int, hair: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(7, 2)) / 4 + hair * rng.integers(-2, 3, size=(7, 2))
    X[:2] = [0, 0], [1, 1]
    gains = np.array([0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
    check(problem_of(X, gains, parse("dcg"), epsilon=0.25, low=[0, 0], high=[1, 1]))


@examples(25, st.integers(0, 10**6), st.floats(1e-12, 1e12))
def test_prices_of_any_size(seed: int, factor: float) -> None:
    rng = np.random.default_rng(seed)
    gains = rng.permutation([1.0, 1.0, 2.0, 0.0, 0.0, 0.0])
    check(problem_of(rng.normal(size=(6, 2)), gains * factor, parse("mrr"), C=0.1 * factor))
