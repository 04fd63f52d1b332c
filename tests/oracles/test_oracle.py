"""The oracles themselves: slow twins, hand-made answers, and nothing found at random is ever better."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from rerank.problem import Problem, RankedList
from tests.cases.adversarial import adversarial
from tests.cases.instances import KINDS, draw
from tests.oracles.oracle import by_elimination, objective_at, optimum, scaled, statistic_at
from tests.oracles.sweep import sweep

# Theorem 4.2 of Rudin & Wang (2018) fails on these four points once features cost something.
CORNERS = [[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]]


def corners(**options: object) -> Problem:
    ranks = RankedList(np.arange(4), np.array([1.0, 1.0, 0.0, 0.0]), np.arange(1.0, 5.0))
    return Problem.build(CORNERS, [ranks], epsilon=1e-3, **options)


@pytest.mark.parametrize(
    ("options", "value", "subrank", "resolved"),
    [
        ({}, 7, 7, 7),
        # One feature: Subrank cannot split equal positives.
        ({"C": 0.125}, Fraction(55, 8), Fraction(54, 8), Fraction(55, 8)),
        ({"max_features": 1}, 7, 6, 7),  # the same through a limit
        ({"signs": [-1, 0]}, 4, 4, 4),  # only the second feature: one positive in place 2, the other last
        ({"C": 4.0}, 3, 2, 3),  # w = 0: the positives hold the last places, or none in Subrank's eyes
    ],
)
def test_four_points_by_hand(options: dict, value: Fraction, subrank: Fraction, resolved: Fraction) -> None:
    found = [optimum(corners(**options), rule).value for rule in ("value", "subrank", "resolved")]
    assert found == [value, subrank, resolved]


def test_the_value_counts_a_difference_of_exactly_the_margin_as_won() -> None:
    problem = adversarial()["a difference of exactly the margin"]
    assert statistic_at(problem, (Fraction(1),)) > statistic_at(
        problem, (Fraction(1),), epsilon=Fraction(0.25) + Fraction(1, 10**30)
    )
    assert optimum(problem).weights == (1,)


def test_fast_and_slow_enumeration_agree() -> None:
    for seed in range(80):
        problem = draw(seed, n_max=6).problem
        found = optimum(problem)
        assert found.value == by_elimination(problem).value, draw(seed, n_max=6)
        assert found.value == objective_at(problem, found.weights)


@pytest.mark.parametrize("name", sorted(adversarial()))
def test_fast_and_slow_enumeration_agree_where_rounding_decides(name: str) -> None:
    problem = adversarial()[name]
    found = optimum(problem)
    assert found.value == by_elimination(problem).value == objective_at(problem, found.weights)


def test_no_random_or_lattice_point_beats_the_oracle() -> None:
    rng = np.random.default_rng(5)
    for seed in range(40):
        problem = draw(seed).problem
        best, d = optimum(problem).value, problem.n_features
        lattice = [w for w in product((-1.0, -0.5, 0.0, 0.5, 1.0), repeat=d) if max(map(abs, w)) == 1]
        for w in [*lattice[:: max(1, len(lattice) // 20)], *rng.uniform(-1, 1, size=(20, d))]:
            allowed = _allowed(problem, np.asarray(w))
            assert allowed is None or objective_at(problem, allowed) <= best


def _allowed(problem: Problem, w: np.ndarray) -> np.ndarray | None:
    """The nearest direction that keeps signs and support limit, with largest entry 1."""
    kept = np.where(problem.signs * w < 0, -w, w)
    if problem.max_features is not None:
        kept[np.argsort(-np.abs(kept))[problem.max_features :]] = 0.0
    top = int(np.argmax(np.abs(kept)))
    if kept[top] == 0:
        return None
    kept = kept / abs(kept[top])
    return kept


def test_restricted_optima_are_ordered_and_keep_their_restriction() -> None:
    strict = {"apart": 0, "subrank": 0, "resolved": 0}
    for seed in range(100):
        problem = draw(seed).problem
        value = optimum(problem).value
        subrank, resolved, apart = (optimum(problem, rule) for rule in ("subrank", "resolved", "apart"))
        assert subrank.value <= value and resolved.value <= value
        assert objective_at(problem, resolved.weights) == resolved.value
        margin = problem.epsilon.exact
        assert all(d == 0 or d >= margin for d in _differences(problem, resolved.weights, relevant=False))
        if apart is not None:
            assert apart.value <= subrank.value and objective_at(problem, apart.weights) == apart.value
            assert all(d >= margin for d in _differences(problem, apart.weights, relevant=True))
        strict["apart"] += apart is None or apart.value < value
        strict["subrank"] += subrank.value < value
        strict["resolved"] += resolved.value < value
    assert min(strict.values()) > 10  # the restrictions bite often enough to mean something


def _differences(problem: Problem, w: tuple[Fraction, ...], relevant: bool) -> list[Fraction]:
    points = scaled(problem)
    score = [sum((a * b for a, b in zip(w, row, strict=True)), Fraction(0)) for row in points]
    return [
        abs(score[i] - score[k])
        for item in problem.lists
        for i, g in zip(item.rows, item.gains, strict=True)
        for k, h in zip(item.rows, item.gains, strict=True)
        if i < k and (not relevant or (g > 0 and h > 0))
    ]


def test_subrank_rule_against_a_direct_count() -> None:
    rng = np.random.default_rng(7)
    for seed in range(40):
        problem = draw(seed).problem
        found = optimum(problem, "subrank")
        assert _subrank_at(problem, found.weights) == found.value
        for w in rng.uniform(-1, 1, size=(10, problem.n_features)):
            if (allowed := _allowed(problem, w)) is not None:
                assert _subrank_at(problem, tuple(Fraction(float(v)) for v in allowed)) <= found.value


def _subrank_at(problem: Problem, w: tuple[Fraction, ...]) -> Fraction:
    """The Subrank objective by its definition: ``a`` at one plus the number of items beaten by the margin."""
    score = [sum((a * b for a, b in zip(w, row, strict=True)), Fraction(0)) for row in scaled(problem)]
    total = Fraction(0)
    mass = sum(Fraction(float(item.weight)) for item in problem.lists)
    for item in problem.lists:
        beaten = {i: sum(score[i] - score[k] >= problem.epsilon.exact for k in item.rows if k != i) for i in item.rows}
        raw = Fraction(float(item.constant))
        for i, gain in zip(item.rows, item.gains, strict=True):
            raw += Fraction(float(gain)) * Fraction(float(item.coefficients[beaten[i]]))
        total += Fraction(float(item.weight)) * raw / (mass * Fraction(float(item.scale)))
    return total - Fraction(problem.C) * sum(v != 0 for v in w)


def test_sweep_and_enumeration_agree_in_two_dimensions() -> None:
    problems = [p for p in (draw(seed, d_max=2).problem for seed in range(300)) if p.n_features == 2]
    problems += [p for p in adversarial().values() if p.n_features == 2]
    for problem in problems:
        swept = sweep(problem)
        assert swept.value == optimum(problem).value == objective_at(problem, swept.weights)


def test_instances_repeat_and_cover_what_they_promise() -> None:
    drawn = [draw(seed) for seed in range(400)]
    again = draw(17)
    assert np.array_equal(again.problem.X, drawn[17].problem.X) and str(again) == str(drawn[17])
    problems = [instance.problem for instance in drawn]
    assert {instance.kind for instance in drawn} == set(KINDS)
    assert sum(instance.graded for instance in drawn) > 100
    traits = {
        "several lists": lambda p: len(p.lists) > 1,
        "penalty": lambda p: p.C > 0,
        "support limit": lambda p: p.max_features is not None,
        "signs": lambda p: p.signs.any(),
        "normalised": lambda p: any(q.scale != 1 for q in p.lists),
        "weights of lists": lambda p: any(q.weight != 1 for q in p.lists),
        "a tail or an offset": lambda p: any(q.constant != 0 for q in p.lists),
        "smallest margin": lambda p: p.epsilon == 1e-4,
        "margin of .1": lambda p: p.epsilon == 0.1,
        "three features": lambda p: p.n_features == 3,
    }
    for name, has in traits.items():
        assert 30 < sum(bool(has(p)) for p in problems) < 390, name
