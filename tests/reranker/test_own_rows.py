"""Rows and columns of a user's own: the optimum inside them, by enumeration, in memory and through files of solvers."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from itertools import product

import numpy as np
import pyomo.environ as pyo
import pytest

from formulations import mps
from formulations.compile import compile_model
from rerank import Reranker, load
from rerank.certificate import certify
from rerank.errors import CertificateError, InputError, SolverError
from rerank.io import Table
from rerank.reranker.files.document import document
from rerank.reranker.files.export import imported
from rerank.reranker.files.verify import verify
from rerank.solvers import gateway
from tests.oracles.oracle import objective_at
from tests.oracles.programs import problem_value, resolved_value, vertices

EPSILON = 0.05
STATS = ("auc", "dcg@3", "mrr", "precision@2")
SOLVERS = ("highs", "cbc", "glpk", "scip")


def table(seed, n=8, d=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [3.0, *[1.0] * (d - 1)]
    y = np.zeros(n, int)
    y[rng.permutation(n)[: n // 2 - 1]] = 1
    return X, y


def fitted(seed, stat="auc", d=2, **options):
    options = {"solver": "none", "first_stage": None, "epsilon": EPSILON, "time_limit": 30, **options}
    return Reranker(stat, **options).fit(*table(seed, d=d))


def value_of(problem):
    return lambda w: problem_value(problem.scaled, problem.units, w, EPSILON) + problem.constant


# Each case: what is added to a model, the planes of its rows, and whether weights keep it.


def order(model):
    model.mine = pyo.Constraint(expr=model.w[0] >= model.w[1])


def far(model):
    model.mine = pyo.Constraint(expr=model.w[0] >= model.w[1] + 0.25)


def budget(model):
    model.mine = pyo.Constraint(expr=(-0.1, model.w[0] + model.w[1], 0.3))


def size(model):
    """The sum of sizes, by columns of the user's own."""
    model.part = pyo.Var([0, 1])
    model.up = pyo.Constraint([0, 1], rule=lambda m, j: m.part[j] >= m.w[j])
    model.down = pyo.Constraint([0, 1], rule=lambda m, j: m.part[j] >= -m.w[j])
    model.mine = pyo.Constraint(expr=model.part[0] + model.part[1] <= 0.6)


def units(model):
    model.mine = pyo.Constraint(expr=model.weight["x0"] >= 2 * model.weight["x1"])


def narrow(model):
    model.w[0].setlb(0.1)
    model.w[0].setub(0.5)


def line(model):
    model.mine = pyo.Constraint(expr=model.w[0] + 2 * model.w[1] == 0.5)


SIGNS = [(a, b) for a in (-1, 1) for b in (-1, 1)]
CASES = {
    "order": (order, lambda u: [((1, -1), 0.0)], lambda w, u: w[0] >= w[1]),
    "far": (far, lambda u: [((1, -1), 0.25)], lambda w, u: w[0] >= w[1] + 0.25),
    "budget": (budget, lambda u: [((1, 1), 0.3), ((1, 1), -0.1)], lambda w, u: -0.1 <= w.sum() <= 0.3),
    "size": (size, lambda u: [(s, 0.6) for s in SIGNS], lambda w, u: np.abs(w).sum() <= 0.6),
    "units": (units, lambda u: [((u[0], -2 * u[1]), 0.0)], lambda w, u: u[0] * w[0] >= 2 * u[1] * w[1]),
    "narrow": (narrow, lambda u: [((1, 0), 0.1), ((1, 0), 0.5)], lambda w, u: 0.1 <= w[0] <= 0.5),
    "line": (line, lambda u: [((1, 2), 0.5)], lambda w, u: w[0] + 2 * w[1] == 0.5),
}


def allowed(case, w, u, slack):
    """Whether weights keep the rows of a case, moved by at most ``slack``."""
    if case == "line":  # an equality of doubles
        return abs(w[0] + 2 * w[1] - 0.5) <= 1e-6
    if not slack:
        return bool(CASES[case][2](*(np.array([*map(Fraction, side)], object) for side in (w, u))))
    near = [w + slack * np.array(step) for step in product((-1, 0, 1), repeat=2)]
    return any(CASES[case][2](v, u) for v in near)


def enumerated(est, case):
    """The largest value over the vertices of pairs, bounds and rows that keep the rows."""
    problem, u = est.state_.problem, est.state_.weight_units
    points = vertices(problem.scaled, EPSILON, more=CASES[case][1](u))
    return max(value_of(problem)(w) for w in points if allowed(case, w, u, 1e-9))


def check(est, case, best):
    """The weights keep the rows exactly, are worth the optimum, and nothing is claimed that does not hold."""
    result = est.result_
    w = np.asarray(result.weights)
    assert allowed(case, w, est.state_.weight_units, 0.0), (w, result.notes)
    assert result.value == pytest.approx(best, abs=1e-7)
    assert certify(est.state_.problem, w, as_given=True).value == result.certificate.value == objective_at(
        est.state_.problem, tuple(map(Fraction, w))
    )
    assert result.bound >= result.value and result.changed


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(8))
def test_the_optimum_inside_the_rows_is_that_of_enumeration(case, seed):
    est = fitted(seed, STATS[seed % 4])
    best = enumerated(est, case)
    model = est.build_model()
    CASES[case][0](model)
    check(est.fit_model(model), case, best)
    result = est.result_
    assert result.program_value == pytest.approx(best, abs=1e-6) and result.status.startswith("optimal")
    free = value_of(est.state_.problem)
    without = max(map(free, vertices(est.state_.problem.scaled, EPSILON)))
    assert best <= without + 1e-9
    # The bound is of these rows, and its words say so.
    if best < est.state_.problem.ideal - 1e-6:
        assert (result.bound_source, result.bound) == ("rows", pytest.approx(best, abs=1e-6))
        assert "program with your rows" in result.message and "on the word of HiGHS" in result.message


def test_the_rows_matter_in_most_of_these_cases():
    """The test of the test: without rows the optimum is another in many."""
    worse = 0
    for seed, case in product(range(8), CASES):
        est = fitted(seed, STATS[seed % 4])
        free = max(map(value_of(est.state_.problem), vertices(est.state_.problem.scaled, EPSILON)))
        worse += enumerated(est, case) < free - 1e-6
    assert worse > 20


@pytest.mark.parametrize("seed", range(6))
def test_whole_weights_are_those_of_all_of_them(seed):
    d = 3
    est = fitted(seed, STATS[seed % 4], d=d)
    problem = est.state_.problem
    grid = [w for w in product(range(-5, 6), repeat=d) if sum(w) <= 2]
    best = max(objective_at(problem, tuple(Fraction(k, 5) for k in w)) for w in grid)
    model = est.build_model()
    model.k = pyo.Var(range(d), domain=pyo.Integers, bounds=(-5, 5))
    model.five = pyo.Constraint(range(d), rule=lambda m, j: 5 * m.w[j] == m.k[j])
    model.few = pyo.Constraint(expr=sum(model.k.values()) <= 2)
    result = est.fit_model(model).result_
    assert result.value == pytest.approx(float(best), abs=1e-9)
    k = 5 * np.asarray(result.weights)
    assert np.abs(k - np.rint(k)).max() < 1e-12 and sum(np.rint(k)) <= 2
    # The model holds the values of the solution, and the answer says what an equality of doubles is missed by.
    assert [pyo.value(model.k[j]) for j in range(d)] == np.rint(k).tolist()
    assert any("is missed by" in note for note in result.notes) == bool((k != np.rint(k)).any() or _missed(result))
    # The domain of the weights themselves.
    whole = est.build_model()
    for w in whole.w.values():
        w.domain = pyo.Integers
    best = max(objective_at(problem, tuple(map(Fraction, w))) for w in product((-1, 0, 1), repeat=d))
    assert est.fit_model(whole).result_.value == pytest.approx(float(best), abs=1e-9)


def _missed(result):
    return any(Fraction(w) * 5 != round(5 * w) for w in result.weights)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("least", [1, 2])
def test_a_quota_by_ranks_is_that_of_enumeration(seed, least):
    """At least so many of a group among the first three, by the ranks of all rows."""
    group, top = [0, 1, 2, 3], 3
    est = fitted(seed, STATS[seed % 4], formulation="resolved_rank")
    problem = est.state_.problem
    n = len(problem.X)

    def value(w):
        found = resolved_value(problem.scaled, problem.units, w, EPSILON)
        return None if found is None or _first(problem, w, group, top) < least else found + problem.constant

    values = [value(w) for w in vertices(problem.scaled, EPSILON)]
    best = max([v for v in values if v is not None], default=None)
    model = est.build_model(linking="paper")
    model.u = pyo.Var(group, domain=pyo.Binary)
    model.reach = pyo.Constraint(group, rule=lambda m, i: (n - top) * m.u[i] <= m.r[i])
    model.quota = pyo.Constraint(expr=sum(model.u.values()) >= least)
    if best is None:
        with pytest.raises(SolverError, match="no weights keep your rows together"):
            est.fit_model(model)
        return
    result = est.fit_model(model).result_
    assert result.value == pytest.approx(best, abs=1e-6) and _first(problem, np.asarray(result.weights), group, top) >= least
    assert result.status.startswith("optimal")
    if result.bound_source == "rows":
        assert result.bound == pytest.approx(best, abs=1e-6)


def _first(problem, w, group, top):
    """How many of a group have a rank among the first, ties as the program resolves them."""
    scores = problem.scaled @ w
    gains = np.zeros(len(scores))
    gains[problem.lists[0].rows] = problem.lists[0].gains
    ranks = [
        sum(
            scores[i] - scores[k] > 1e-9 or (abs(scores[i] - scores[k]) <= 1e-9 and (gains[k], -k) > (gains[i], -i))
            for k in range(len(scores)) if k != i
        ) for i in group
    ]  # fmt: skip
    return sum(rank >= len(scores) - top for rank in ranks)


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("case", CASES)
def test_files_of_every_solver_come_back_inside_the_rows(tmp_path, case, solver):
    seed = list(CASES).index(case)
    est, path = fitted(seed, STATS[seed % 4]), tmp_path / "own.mps"
    best = enumerated(est, case)
    model = est.build_model()
    CASES[case][0](model)
    est.export_mps(path, model=model)
    gateway.solve_file(path, solver, solution=tmp_path / "own.sol")
    check(fitted(seed, STATS[seed % 4]).load_solution(tmp_path / "own.sol", model=model), case, best)
    state = imported(path, tmp_path / "own.sol")
    assert state.result.value == pytest.approx(best, abs=1e-7) and state.result.changed
    assert allowed(case, np.asarray(state.weights), est.state_.weight_units, 0.0)


if __name__ == "__main__":
    wrong = 0
    for number in range(int(sys.argv[1])):
        for name in CASES:
            one = fitted(1000 + number, STATS[number % 4])
            wanted = enumerated(one, name)
            made = one.build_model()
            CASES[name][0](made)
            try:
                check(one.fit_model(made), name, wanted)
            except (AssertionError, InputError, CertificateError) as error:
                wrong += 1
                print(number, name, wanted, repr(error)[:300])
    print(int(sys.argv[1]) * len(CASES), "instances,", wrong, "wrong")
