"""Optima of the programs against enumeration, each other, options and hands; points from weights and back."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import strategies as st

from formulations import auc, mixed, pairwise, resolved_rank, subrank
from formulations.compile import compile_model
from formulations.data import Unit, units_from_labels
from formulations.errors import FormulationWarning
from rerank.reranker.solve.program import FEASIBILITY_TOLERANCE, SAFETY
from tests.cases.examples import examples
from tests.cases.programs import PROGRAMS, STATISTICS, Case, coefficients, draw, on_grid
from tests.oracles import programs as oracle

pytestmark = pytest.mark.filterwarnings("ignore:ResolvedRank forbids")
CLOSE = 1e-6


def two_sided(seed):
    case = draw(700 + seed)
    return replace(case, options=case.options | {"two_sided": True})


KINDS = {
    "two sides": two_sided,
    "any": draw,
    "whole numbers": on_grid,
    "three features": lambda seed: draw(500 + seed, d=3, n=4, plain=True),
}
MANY = {"two sides": 12, "any": 32, "whole numbers": 24, "three features": 3}


@pytest.mark.parametrize(("kind", "seed"), [(kind, seed) for kind in KINDS for seed in range(MANY[kind])])
def test_every_program_attains_the_enumerated_optimum(kind, seed):
    case = KINDS[kind](seed)
    for name in case.names:
        assert case.optimum(name) == pytest.approx(case.best(name)[0], abs=CLOSE), name


@pytest.mark.parametrize("seed", range(100, 110))
def test_equivalent_options_have_one_optimum(seed):
    case = draw(seed, plain=True)
    for name in case.names:
        reference = case.optimum(name)
        for linking in ("ordered", "paper"):
            for cuts, extra in ((True, True), (False, False), (True, False)):
                found = case.optimum(name, linking=linking, cuts=cuts, extra_cuts=extra)
                assert found == pytest.approx(reference, abs=CLOSE), (name, linking, cuts, extra)


@pytest.mark.parametrize("seed", range(200, 206))
def test_the_surface_of_the_square_is_enough(seed):
    """The programs let w run over the box; the problem asks for max|w_j| = 1 or w = 0."""
    case = draw(seed, d=2, plain=True)
    for name in case.names:
        value = oracle.on_surface(lambda w, name=name: case.value(name, w))
        best, _ = oracle.best_over_vertices(value, case.X, case.epsilon)
        assert case.optimum(name) == pytest.approx(best, abs=CLOSE), name


def test_no_program_exceeds_the_problem_and_they_attain_it_where_rows_are_kept_apart():
    """Mixed is the problem.  Equality is asked of some instances, and a strict inequality is seen in others."""
    seen = set()
    for seed in range(300, 330):
        case = draw(seed, d=2, plain=True)
        problem = case.optimum("mixed")
        subrank, resolved = case.optimum("subrank"), case.optimum("resolved_rank")
        assert subrank <= problem + CLOSE and resolved <= problem + CLOSE
        points = optimal_points(case, problem)
        apart = any(apart for apart, _ in points)
        if apart:
            assert subrank == pytest.approx(problem, abs=CLOSE)
            assert resolved == pytest.approx(problem, abs=CLOSE) or all(in_gap for _, in_gap in points)
        seen.add((apart, subrank < problem - CLOSE))
    assert seen >= {(True, False), (False, True)}


def optimal_points(case, problem):
    """Of optimal vertices: whether relevant rows are the margin apart, and whether a difference is in the gap."""
    found = []

    def look(w):
        value = case.value("mixed", w)
        if value > problem - CLOSE:
            difference = oracle.differences(case.X, w)
            relevant = {(i, k) for u in case.units for i in u.positive for k in u.positive if i != k}
            apart = all(abs(difference[pair]) >= case.epsilon for pair in relevant)
            found.append((apart, case.value("resolved_rank", w) is None))
        return value

    oracle.best_over_vertices(oracle.on_surface(look), case.X, case.epsilon)
    return found


@pytest.mark.parametrize("seed", range(400, 410))
def test_the_literal_big_m_never_exceeds_the_pairwise_one(seed):
    case = draw(seed, plain=True)
    for name in case.names:
        assert case.optimum(name, big_m="unit") <= case.optimum(name) + CLOSE, name


def test_the_literal_big_m_can_change_the_optimum():
    # With the margin 1/2, beating the near row on one side takes |w| >= 1/2; the far row on the other side is then
    # 50 above, a loss that the literal row does not allow.  Beating the far row alone takes |w| >= 1/200.
    X, y = np.array([[0.0], [-1.0], [1.0], [-100.0], [100.0]]), np.array([1, 0, 0, 0, 0])
    optimum = {}
    for big_m in ("pair", "unit"):
        model = subrank.build(X, y, np.arange(1.0, 6.0), epsilon=0.5, big_m=big_m)
        optimum[big_m] = oracle.solve(compile_model(model))[0]
    assert optimum == {"pair": pytest.approx(3.0), "unit": pytest.approx(2.0)}


def relaxed(case, name, **changes):
    program = compile_model(case.build(name, **changes))
    return oracle.solve(replace(program, integer=np.zeros_like(program.integer)))[0]


@pytest.mark.parametrize("name", ["subrank", "resolved_rank"])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_the_cut_brings_the_root_bound_to_the_ideal(name, statistic):
    rng = np.random.default_rng(1)
    a = coefficients(statistic, 12)
    (unit,) = units_from_labels(np.zeros((12, 3)), np.arange(12) < 4, a)
    case = Case(rng.random((12, 3)), (unit,), statistic)
    ideal = a[-4:].sum()
    assert relaxed(case, name) <= ideal + CLOSE < relaxed(case, name, cuts=False, linking="paper")


@pytest.mark.parametrize("seed", range(600, 606))
def test_ordered_links_are_never_weaker(seed):
    case = draw(seed, n=7, plain=True)
    for name in ("subrank", "resolved_rank", "mixed"):
        paper = relaxed(case, name, linking="paper", cuts=False)
        assert relaxed(case, name, linking="ordered", cuts=False) <= paper + CLOSE, name


@pytest.mark.parametrize("seed", range(20))
def test_pairwise_attains_the_enumerated_optimum(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 7)), int(rng.integers(1, 3))
    X = rng.integers(0, 17, (n, d)) / 16
    epsilon, C = float(rng.choice([1e-4, 1 / 8])), float(rng.choice([0.0, 0.2]))
    table = rng.integers(0, 3, (n, n)) * (rng.random((n, n)) < 0.5) * (1 - np.eye(n))
    table[0, 1] = 1.5
    pairs = np.argwhere(table > 0)
    weights = table[tuple(pairs.T)]
    best, _ = oracle.best_over_vertices(
        lambda w: oracle.pairwise_value(X, pairs.tolist(), weights, w, epsilon), X, epsilon, C=C
    )
    for preferences in (table, (pairs, weights)):
        for extra in (False, True):
            model = pairwise.build(X, preferences, epsilon=epsilon, C=C, extra_cuts=extra)
            assert oracle.solve(compile_model(model))[0] == pytest.approx(best, abs=CLOSE)


RANKED = [subrank, resolved_rank, mixed]
ALL = [*RANKED, auc]


# Two positive rows that agree on feature 0, two negative rows that do, and no duplicate among the four.
FOUR = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
FOUR_Y = [1, 1, 0, 0]


def optimum(builder, X, y, a, **options):
    return oracle.solve(compile_model(builder.build(np.asarray(X, dtype=float), y, a, **options)))[0]


UPWARDS, TOP = [1.0, 2.0, 3.0, 4.0], np.array([[1.0], [0.5], [0.0]])
BY_HAND = {
    # It beats two rows in one direction and one in the other.
    "one positive": ([[0.5], [0.1], [0.2], [0.9]], [1, 0, 0, 0], UPWARDS, {}, 3.0),
    "separable": ([[1.0], [0.8], [0.3], [0.1]], [1, 1, 0, 0], UPWARDS, {}, 7.0),
    "every difference below the margin": ([[0.0], [0.1], [0.2]], [0, 0, 1], UPWARDS[:3], {"epsilon": 0.5}, 1.0),
    "positives alone": ([[0.0], [0.5], [1.0]], [1, 1, 1], UPWARDS[:3], {}, 6.0),
    "a sign against the order": (TOP, [1, 0, 0], UPWARDS[:3], {"signs": [-1]}, 1.0),
    "a box against the order": (TOP, [1, 0, 0], UPWARDS[:3], {"box": ([-1.0], [0.0])}, 1.0),
    "a box on its side": (TOP, [1, 0, 0], UPWARDS[:3], {"box": ([0.25], [0.5])}, 3.0),
    # Upwards gains 3, 1, 0 stand 3 0 1 from the top, downwards 1 0 3.
    "grades": ([[1.0], [0.0], [0.5]], [3.0, 1.0, 0.0], UPWARDS[:3], {}, 2 * 3 + (3 + 1)),
}


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize("builder", ALL)
def test_optima_by_hand(builder, name):
    X, y, a, options, value = BY_HAND[name]
    assert optimum(builder, X, y, a, **options) == pytest.approx(value)


@pytest.mark.parametrize("options", [{}, {"linking": "paper"}, {"big_m": "unit"}, {"extra_cuts": True}])
def test_all_rows_equal(options):
    """Nobody is above anybody: Subrank gives both positives rank 0, the others let one stand above the other."""
    X, y, a = np.full((4, 2), 0.3), [1, 0, 1, 0], [1.0, 2.0, 4.0, 8.0]
    assert optimum(subrank, X, y, a, **options) == pytest.approx(2.0)
    for builder in (resolved_rank, mixed):
        assert optimum(builder, X, y, a, **options) == pytest.approx(3.0), builder


def test_nothing_to_choose_leaves_a_program_of_weights_alone():
    for builder in (subrank, mixed, auc):
        program = compile_model(builder.build(np.full((3, 2), 1.0), [1, 0, 0], [1.0, 2.0, 3.0]))
        assert program.columns == ("w0", "w1") and not program.rows
        assert program.objective([0.5, -0.5]) == 1.0


@pytest.mark.parametrize("builder", ALL)
def test_a_price_above_every_gain_makes_all_weights_zero(builder):
    X, y, a = np.array([[1.0], [0.5], [0.0]]), [1, 0, 0], [0.0, 1.0, 2.0]
    program = compile_model(builder.build(X, y, a, C=3.0))
    value, x = oracle.solve(program)
    assert value == pytest.approx(0.0) and x[program.weights] == pytest.approx([0.0])
    assert optimum(builder, X, y, a, C=1.5) == pytest.approx(0.5)


def test_the_papers_equality_would_cut_this_optimum_off():
    """With (27) as an equality two positives cannot tie, so w = 0 is lost; it is optimal here."""
    X, y, a = np.array([[1.0], [0.0], [0.5]]), [1, 1, 0], coefficients("wta", 3)
    assert optimum(subrank, X, y, a, C=2.0) == pytest.approx(0.0)
    model = subrank.build(X, y, a, C=2.0)
    model.equality = pyo.Constraint(expr=model.z[0, 1] + model.z[1, 0] == 1)
    assert oracle.solve(compile_model(model))[0] == pytest.approx(-1.0)


@pytest.mark.parametrize(("options", "values"), [({"C": 0.1}, (6.8, 6.9, 6.9)), ({"max_features": 1}, (6.0, 7.0, 7.0))])
def test_a_price_or_a_limit_separates_subrank_from_the_others(options, values):
    """Feature 0 alone ties rows inside both classes; breaking the tie takes a second feature."""
    found = [optimum(builder, FOUR, FOUR_Y, UPWARDS, **options) for builder in (subrank, resolved_rank, mixed)]
    assert found == pytest.approx(values)


def test_duplicates_cost_subrank_and_a_shift_below_the_margin_costs_resolved_rank():
    X, y, a = np.array([[1.0], [1.0], [0.0], [0.0]]), [1, 1, 0, 0], [1.0, 2.0, 3.0, 4.0]
    shifted = X + [[0.0], [1e-6], [0.0], [2e-6]]
    assert optimum(subrank, X, y, a, epsilon=1e-3) == pytest.approx(6.0)
    assert optimum(resolved_rank, X, y, a, epsilon=1e-3) == pytest.approx(7.0)
    # The shift opens differences that no w can bring to 1e-3 and only w = 0 closes.
    assert optimum(resolved_rank, shifted, y, a, epsilon=1e-3) == pytest.approx(3.0)
    assert optimum(mixed, shifted, y, a, epsilon=1e-3) == pytest.approx(7.0)


def test_skipped_levels_are_asked_in_full():
    """The lowest level that pays asks for all wins below it, not for one."""
    X, y = np.array([[0.4], [0.2], [0.6], [0.8], [1.0]]), [1, 0, 0, 0, 0]
    for linking in ("ordered", "paper"):
        # Row 0 beats 1 row or 3; only the top two places pay, for which it takes 3.
        a = [0.0, 0.0, 0.0, 1.0, 2.0]
        assert optimum(subrank, X, y, a, linking=linking) == pytest.approx(1.0)
        assert optimum(subrank, X, y, [0.0, 0.0, 0.0, 0.0, 2.0], linking=linking) == pytest.approx(0.0)


@pytest.mark.parametrize("builder", ALL)
def test_lists_add_up_by_their_factors(builder):
    """Two lists that want opposite directions: the heavier one decides."""
    X = np.array([[1.0], [0.0], [0.0], [1.0]])
    first = Unit(np.array([0]), np.array([1]), np.array([1.0, 2.0]), 3.0)
    second = Unit(np.array([2]), np.array([3]), np.array([1.0, 2.0]), 1.0)
    assert optimum(builder, X, None, None, units=[first, second]) == pytest.approx(3 * 2 + 1)


def test_auc_counts_pairs():
    X, y = np.array([[1.0], [0.5], [0.0], [0.2]]), [1, 0, 0, 1]
    program = compile_model(auc.build(X, y))
    value, _ = oracle.solve(program)
    # 3 of 4 pairs are correct; the ranks of the positives add 1 + 2 to them, counted from 1.
    assert value == pytest.approx(6.0) and program.constant == pytest.approx(3.0)


def test_a_margin_that_solvers_cannot_keep_is_warned_of_and_the_one_advised_is_not():
    """The rule of the estimator, from the tolerance of solvers and the largest big-M."""
    X, y = np.array([[0.0, 2.0], [1.0, 0.5], [3.0, 1.0], [0.5, 0.5]]), [0, 1, 1, 0]
    for builder in (mixed, subrank, auc):
        with pytest.warns(FormulationWarning, match="use at least") as caught:
            model = builder.build(X, y, lambda m: np.arange(1.0, m + 1), epsilon=1e-9)
        # M is the largest difference and the margin.
        least = float(re.search(r"at least (\S+)\.$", str(caught[0].message)).group(1))
        assert least == pytest.approx(SAFETY * FEASIBILITY_TOLERANCE * model.rerank_info.divisor, rel=1e-2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            builder.build(X, y, lambda m: np.arange(1.0, m + 1), epsilon=1.001 * least)
        with pytest.warns(FormulationWarning) as caught:
            builder.build(X, y, lambda m: np.arange(1.0, m + 1), epsilon=0.9999 * least)
        given, advised = map(float, re.search(r"margin (\S+) .* least (\S+)\.$", str(caught[0].message)).groups())
        assert given < advised


SIXTEENTHS = st.integers(-16, 16).map(lambda k: k / 16)


@examples(60, st.integers(0, 10_000), st.lists(SIXTEENTHS, min_size=2, max_size=2))
def test_an_assignment_is_feasible_and_worth_what_the_definition_says(seed, weights):
    case = draw(seed)
    w = np.array(weights[: case.X.shape[1]])
    for name in case.names:
        model = case.build(name)
        program = compile_model(model)
        given_ = PROGRAMS[name][0].assignment(model, w)
        assert (given_.values is None) != (given_.violated is None)
        if given_.values is None:
            assert not allowed(case, name, w), given_.violated
            continue
        assert set(given_.values) == set(program.columns)
        x = program.vector(given_.values)
        assert program.violation(x) <= 1e-9
        assert program.objective(x) == pytest.approx(case.value(name, w), abs=1e-9)


def allowed(case, name, w):
    """Whether weights satisfy a program, from the definitions."""
    options, difference = case.options, oracle.differences(case.X, w)
    if case.value(name, w) is None or np.count_nonzero(w) > options.get("max_features", len(w)):
        return False
    lower, upper = options.get("box", (-np.ones(len(w)), np.ones(len(w))))
    inside = ((w >= lower) & (w <= upper) & (w * options.get("signs", np.zeros(len(w))) >= 0)).all()
    if options["big_m"] == "unit":
        listed = np.array([difference[pair] for pair in case.listed(name)] or [0.0])
        inside &= listed.min() >= case.epsilon - 1 and (name != "resolved_rank" or listed.max() <= 1)
    return bool(inside)


@pytest.mark.parametrize("seed", range(20))
def test_fixed_weights_earn_what_the_definition_says(seed):
    """Fix and compare: the program may still choose wins, ranks and levels, and must choose the best."""
    case = draw(seed)
    rng = np.random.default_rng(seed)
    for name in case.names:
        program = compile_model(case.build(name))
        for w in (np.zeros(case.X.shape[1]), *rng.integers(-16, 17, (3, case.X.shape[1])) / 16):
            lower, upper = program.lower.copy(), program.upper.copy()
            if (w < lower[program.weights]).any() or (w > upper[program.weights]).any():
                continue
            lower[program.weights] = upper[program.weights] = w
            found, _ = oracle.solve(program.with_bounds(lower, upper))
            assert found == pytest.approx(case.value(name, w) if allowed(case, name, w) else -np.inf, abs=1e-6)


def test_the_violated_family_is_named():
    X, y, a = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1e-3]]), [1, 0, 1], coefficients("auc", 3)
    gap = resolved_rank.build(X, y, a, epsilon=0.1)
    # Row 2 lies 1e-3 above row 1 with these weights: neither tied nor ahead by the margin.
    assert resolved_rank.assignment(gap, [1.0, 1.0]).violated.startswith("win_when_above[2,1]: w.(x_2 - x_1) = 0.001")
    letter = subrank.build(X, y, a, epsilon=0.1, big_m="unit")
    assert subrank.assignment(letter, [1.0, 0.0]).violated.startswith("above_by_margin[0,1]")
    limited = subrank.build(X, y, a, max_features=1)
    assert subrank.assignment(limited, [1.0, 0.5]).violated == "support_limit: 2 non-zero weights, at most 1 allowed"
    signed = subrank.build(X, y, a, signs=[1, 0])
    assert subrank.assignment(signed, [-0.5, 0.5]).violated == "bounds of w[0]: -0.5 lies outside [0, 1]"


def test_a_difference_just_below_the_margin_counts_within_the_tolerance():
    X, y = np.array([[1.0], [0.0]]), [1, 0]
    model = subrank.build(X, y, [1.0, 2.0], epsilon=0.1)
    program = compile_model(model)
    for w, tolerance, value in ((0.1 - 1e-10, 1e-9, 2.0), (0.1 - 1e-10, 0.0, 1.0), (0.1 - 1e-8, 1e-9, 1.0)):
        assert program.objective(program.vector(subrank.assignment(model, [w], tolerance).values)) == value


def test_a_start_for_preferences():
    X = np.array([[0.0], [0.5], [1.0]])
    model = pairwise.build(X, ([[0, 1], [2, 1]], [3.0, 1.0]))
    program = compile_model(model)
    up, down = (program.vector(pairwise.assignment(model, [w]).values) for w in (1.0, -1.0))
    assert (program.objective(up), program.objective(down)) == (1.0, 3.0)
