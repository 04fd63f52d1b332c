"""Cases whose answer can be written down by hand, for every program."""

import re
import warnings

import numpy as np
import pyomo.environ as pyo
import pytest

from formulations import auc, mixed, resolved_rank, subrank
from formulations.compile import compile_model
from formulations.data import Unit
from formulations.errors import FormulationError, FormulationWarning
from rerank.reranker.solve.margin import FEASIBILITY_TOLERANCE, SAFETY
from tests.cases.programs import coefficients
from tests.oracles import programs as oracle

RANKED = [subrank, resolved_rank, mixed]
ALL = [*RANKED, auc]

# Two positive rows that agree on feature 0, two negative rows that do, and no duplicate among the four.
FOUR = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
FOUR_Y = [1, 1, 0, 0]

pytestmark = pytest.mark.filterwarnings("ignore:ResolvedRank forbids")


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


def test_auc_counts_pairs_and_refuses_other_coefficients():
    X, y = np.array([[1.0], [0.5], [0.0], [0.2]]), [1, 0, 0, 1]
    program = compile_model(auc.build(X, y))
    value, _ = oracle.solve(program)
    # 3 of 4 pairs are correct; the ranks of the positives add 1 + 2 to them, counted from 1.
    assert value == pytest.approx(6.0) and program.constant == pytest.approx(3.0)
    with pytest.raises(FormulationError, match="equal steps"):
        auc.build(X, y, coefficients("dcg", 4))


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
