"""Honest claims of solvers that an exact check cannot confirm at once: thin optima and extreme weights."""

import re
from dataclasses import replace

import numpy as np
import pytest

from rerank import Reranker, describe
from rerank.io.page import as_text
from rerank.problem import Problem, RankedList
from rerank.ranks.rationals import is_closed
from rerank.reranker.clock import Clock
from rerank.reranker.solve.optimise import solve
from rerank.reranker.solve.verified import polished, summed, verified
from rerank.reranker.task import task_of
from tests.cases.instances import draw

TOLERANCE = "only within the solver's tolerance"


def solved(problem, **options):
    asked = Reranker("dcg", formulation="mixed", **options)
    task = replace(task_of(asked, problem.n_features), C=problem.C, signs=problem.signs)
    return solve(problem, task, Clock(60.0))


def test_weights_of_21_orders_of_magnitude_in_one_list():
    """The best weights win a pair by exactly the margin: whole numbers do; HiGHS claims twice what its doubles have."""
    X = np.array([[4, 2, 0], [3, 0, 2], [3, 0, 0], [0, 3, 4], [1, 1, 3], [4, 2, 0], [3, 4, 4], [0, 4, 3], [1, 3, 1]])
    weights = np.array([1, 1e3, 1e-8, 1e-1, 1e11, 1, 1e8, 1e-10, 1])
    y = np.array([0, 1, 1, 1, 1, 0, 1, 1, 0])
    for presolve in (True, False):
        options = {"C": 0.016, "margin": 0.125, "gain": "linear", "presolve": presolve, "time_limit": 60}
        result = Reranker("mrr", first_stage=None, **options).fit(X, y, sample_weight=weights).result_
        assert 5.0025e10 <= result.value <= result.bound <= 1.000501e11
        assert result.status == ("optimal" if presolve else "feasible")
        assert any(TOLERANCE in note for note in result.notes) != presolve


@pytest.mark.parametrize("presolve", [True, False])
def test_a_margin_that_is_a_difference_of_rows(presolve):
    """HiGHS wins by exactly the margin here; that is a remark and no error."""
    problem = draw(187095245).problem
    result = solved(problem, presolve=presolve)
    assert result.value <= result.bound and result.value == verified(problem, result.weights).value


def test_pairs_that_are_nearly_won_are_not_in_the_way_of_a_polish():
    """A solver claims row 1 above row 0 and not row 2, which has 86 % of the margin; no weights win both."""
    X = np.array([[0.0, 0.2], [0.2, 0.3], [0.3, 0.0]])
    item = RankedList(np.arange(3), np.array([0.0, 1.0, 1.0]), np.array([1.0, 2.0, 3.0]))
    problem = Problem.build(X, [item], epsilon=0.245 * (1 + 1e-8), low=np.zeros(2), high=np.ones(2))
    claim = verified(problem, np.array([1.0, 1.0])).value
    at_the_margin = np.array([1.0, 0.45])
    assert verified(problem, at_the_margin).value < claim
    assert polished(problem, at_the_margin, claim).value == claim


def test_closeness_is_relative_to_what_was_summed_up():
    """Of terms of 1e12 that cancel, 1e-4 is left; without large terms the same gap is open."""
    assert not is_closed(1e-4, 1e-12) and not is_closed(1e-4, 1e-12, 1e3)
    assert is_closed(1e-4, 1e-12, 1e12) and not is_closed(10.0, 1e-12, 1e12)
    problem = draw(187095245).problem
    heavy = replace(problem, lists=tuple(replace(q, gains=q.gains * 1e12) for q in problem.lists))
    assert summed(heavy) >= heavy.ideal - heavy.C * heavy.n_features > 1e11
    assert summed(problem) < 1e4


# -- what a program says beside a proof --------------------------------------------------------------------------------

GRID = {
    "formulation": "mixed",
    "first_stage": None,
    "C": 0.01,
    "positive": True,
    "margin": 0.05 + 1e-9,
    "time_limit": 20,
}


def on_a_grid(seed):
    """Rows whose differences miss the margin by less than a solver's tolerance."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 6, (14, 2)).astype(float), rng.integers(0, 2, 14)


@pytest.mark.parametrize("seed", [11, 19, 22])
def test_a_note_never_confirms_another_number(seed):
    result = Reranker("dcg@5", solver="highs", **GRID).fit(*on_a_grid(seed)).result_
    assert result.status == "optimal" and result.program_value is None  # a figure above a proved bound is left out
    (note,) = result.notes
    claim = float(re.search(r"HiGHS on the mixed program claims ([0-9.]+) for weights", note)[1])
    assert "confirms" not in note and claim > result.value + 0.01
    assert f"no allowed weights are worth more than {result.bound:.9g}" in note


def test_a_note_confirms_the_value_it_names():
    result = Reranker("dcg@5", solver="highs", **GRID).fit(*on_a_grid(0)).result_
    (note,) = [one for one in result.notes if "HiGHS" in one]
    assert f"confirms {result.value:.4g} as its optimum" in note
    assert result.program_value == pytest.approx(result.value, abs=1e-6)
    assert "in the unit of the value, what highs reports for the mixed program" in as_text(describe(result).parts(True))


def test_a_proof_without_a_second_opinion_reads_as_a_proof():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    options = {"first_stage": None, "solver": "highs", "time_limit": 6, "formulation": "auc"}
    result = Reranker("auc", **options).fit(X, (X[:, 0] > 0.5).astype(int)).result_
    assert result.status == "optimal"
    (note,) = [one for one in result.notes if one.startswith("The proof stands by itself")]
    assert "too large" not in note and "left out" not in note
