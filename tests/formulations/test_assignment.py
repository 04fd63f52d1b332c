"""From weights to a full point of a program, and from a program with its weights fixed back to the value."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations import pairwise, resolved_rank, subrank
from formulations.compile import compile_model
from formulations.errors import FormulationError
from tests.cases.programs import PROGRAMS, coefficients, draw
from tests.oracles import programs as oracle

SIXTEENTHS = st.integers(-16, 16).map(lambda k: k / 16)

pytestmark = pytest.mark.filterwarnings("ignore:ResolvedRank forbids")


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.lists(SIXTEENTHS, min_size=2, max_size=2))
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


@pytest.mark.parametrize("seed", range(20))
def test_the_optimal_weights_make_an_optimal_start(seed):
    case = draw(seed)
    for name in case.names:
        best, w = case.best(name)
        if w is None:
            continue
        model = case.build(name)
        program = compile_model(model)
        x = program.vector(PROGRAMS[name][0].assignment(model, w).values)
        assert program.violation(x) <= 1e-8 and program.objective(x) == pytest.approx(best, abs=1e-8)


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


def test_weights_of_the_wrong_shape_are_refused():
    model = subrank.build([[0.0], [1.0]], [0, 1], [1.0, 2.0])
    for wrong in ([1.0, 0.0], [np.nan]):
        with pytest.raises(FormulationError, match="one finite weight for each of 1"):
            subrank.assignment(model, wrong)
