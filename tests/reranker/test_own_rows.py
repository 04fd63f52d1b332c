"""Rows and columns of a user's own: the optimum inside them, by enumeration, in memory and through files of solvers."""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunction

from formulations import auc
from formulations.compile import compile_model
from rerank import Reranker, load, verify
from rerank.certificate import certify
from rerank.errors import CertificateError, InputError, SolverError
from rerank.io import Table
from rerank.reranker.files.export import BoundClaim, imported
from rerank.reranker.solve.own import OwnProgram
from rerank.solvers import gateway, highs
from tests.cases.refuses import refuses
from tests.cases.stopped import interrupt
from tests.cli.commands import answer, run
from tests.oracles.oracle import objective_at
from tests.oracles.programs import problem_value, resolved_value, vertices
from tests.reranker.test_foreign_solutions import DIALECTS, text_of

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
    options = {"solver": "none", "first_stage": None, "margin": EPSILON, "time_limit": 30, **options}
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
    assert (
        certify(est.state_.problem, w, as_given=True).value
        == result.certificate.value
        == objective_at(est.state_.problem, tuple(map(Fraction, w)))
    )
    assert result.bound >= result.value and result.changed


TRIED = [(case, seed) for number, case in enumerate(CASES) for seed in (number, number + 4)]
"""A part of what ``python -m tests.reranker.test_own_rows`` tries."""


@pytest.mark.parametrize(("case", "seed"), TRIED)
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
    for case, seed in TRIED:
        est = fitted(seed, STATS[seed % 4])
        free = max(map(value_of(est.state_.problem), vertices(est.state_.problem.scaled, EPSILON)))
        worse += enumerated(est, case) < free - 1e-6
    assert worse > 5


@pytest.mark.parametrize("seed", range(3))
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


@pytest.mark.parametrize(("seed", "least"), [(0, 2), (1, 1), (2, 1), (2, 2), (3, 2), (4, 1)])
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
    assert result.value == pytest.approx(best, abs=1e-6)
    assert _first(problem, np.asarray(result.weights), group, top) >= least
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
            for k in range(len(scores))
            if k != i
        )
        for i in group
    ]
    return sum(rank >= len(scores) - top for rank in ranks)


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "solver"),
    [
        *((case, SOLVERS[number % 4]) for number, case in enumerate(CASES)),
        *(("size", solver) for solver in SOLVERS[:3]),
    ],
)
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


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_read_with_rows_and_columns_of_ones_own(tmp_path, dialect):
    est = fitted(0)
    best, model = enumerated(est, "size"), est.build_model()
    size(model)
    program = compile_model(model)
    x = highs.solve(program).x
    path = tmp_path / "own.sol"
    path.write_text(text_of(dialect, program, x, -float(program.cost @ x)))
    check(est.load_solution(path, model=model), "size", best)


def test_a_point_outside_the_rows_is_refused_with_the_name_of_the_row(tmp_path):
    """By less than a solver's tolerance, with no room to move; and by more."""
    est = fitted(0)
    model = est.build_model()
    model.mine = pyo.ConstraintList()
    for row in (model.w[0] == 0.5, model.w[1] <= 0.25, model.w[1] >= 0.25 + 1e-6):
        model.mine.add(row)
    program = compile_model(model)
    begun = est.build_model()
    base = compile_model(begun)
    x = base.vector(auc.assignment(begun, np.array([0.5, 0.2500005])).values)
    assert program.columns == base.columns
    path = tmp_path / "own.sol"
    path.write_text(text_of("gurobi", program, x, -float(program.cost @ x)))
    weights = est.result_.weights
    refuses(r"violate 'mine\[[23]\]' of your program by 5e-07", est.load_solution, path, model=model)
    x[1] = 0.3
    path.write_text(text_of("gurobi", program, x, -float(program.cost @ x)))
    refuses("violates the problem's program by 0.05", est.load_solution, path, model=model)
    assert est.result_.weights is weights


def test_weights_alone_and_a_bound_on_a_solvers_word_with_rows_of_ones_own(tmp_path):
    est = fitted(0)
    best, model = enumerated(est, "far"), est.build_model()
    far(model)
    program = compile_model(model)
    x = highs.solve(program).x
    (tmp_path / "w.sol").write_text("".join(f"w{j} {float(x[j])!r}\n" for j in (0, 1)))
    check(est.load_solution(tmp_path / "w.sol", model=model), "far", best)
    (tmp_path / "own.sol").write_text(text_of("gurobi", program, x, -float(program.cost @ x)))
    asked = {"model": model, "bound": -float(program.cost @ x), "by": "Gurobi 13"}
    result = est.load_solution(tmp_path / "own.sol", **asked).result_
    assert (result.bound_source, result.bound_solver, result.status) == ("rows", "Gurobi 13", "optimal_by_solver")
    assert result.bound == pytest.approx(best, abs=1e-7)


def test_weights_never_leave_the_box_of_their_program(tmp_path):
    """The box allows no weight of size 1: the weights are kept as they are, and not scaled out of it."""
    box = [0.1, -0.2], [0.5, 0.2]
    for seed in range(4):
        est = fitted(seed, STATS[seed])
        problem = est.state_.problem
        est.export_mps(tmp_path / "box.mps", box=tuple(map(np.array, box)))
        gateway.solve_file(tmp_path / "box.mps", "cbc", solution=tmp_path / "box.sol")
        corners = [((1, 0), 0.1), ((1, 0), 0.5), ((0, 1), -0.2), ((0, 1), 0.2)]
        found = vertices(problem.scaled, EPSILON, box=box, more=corners)
        best = max(map(value_of(problem), found))
        for result in (
            fitted(seed, STATS[seed]).load_solution(tmp_path / "box.sol", box=box).result_,
            fitted(seed, STATS[seed]).fit_model(est.build_model(box=box)).result_,
            imported(tmp_path / "box.mps", tmp_path / "box.sol").result,
        ):
            w = np.asarray(result.weights)
            assert (w >= box[0]).all() and (w <= box[1]).all() and result.value == pytest.approx(best, abs=1e-7)
        # The program beside the solution says that there was a box.
        refuses("holds other numbers|columns|rows", fitted(seed, STATS[seed]).load_solution, tmp_path / "box.sol")


def test_weights_with_a_scale_are_worth_what_they_are_and_what_they_would_be():
    """At a margin that is wide beside the weights: both values are reported, and the certificate is of the first."""
    est = fitted(1)
    model = est.build_model()
    model.mine = pyo.Constraint(expr=model.w[0] + 0 * model.w[1] <= 0.06)
    model.other = pyo.Constraint(expr=model.w[1] <= 0.06)
    model.low = pyo.Constraint([0, 1], rule=lambda m, j: m.w[j] >= -0.06)
    result, problem = est.fit_model(model).result_, est.state_.problem
    w = np.asarray(result.weights)
    scaled = certify(problem, w / np.abs(w).max()).value
    assert certify(problem, w, as_given=True).value == result.certificate.value < scaled
    with pytest.raises(CertificateError, match="The largest weight is"):
        certify(problem, w)
    assert any(f"divided by it they would be worth {float(scaled):.9g}" in note for note in result.notes)
    # The margin grows with weights above 1.
    assert certify(problem, 2 * w / np.abs(w).max()).value == scaled


def test_weights_are_scaled_where_every_row_still_holds():
    for seed in range(4):
        est = fitted(seed, STATS[seed])
        model = est.build_model()
        order(model)
        w = np.asarray(est.fit_model(model).result_.weights)
        assert np.abs(w).max() in (0.0, 1.0)


def test_an_objective_of_ones_own_is_reported_in_its_own_sense(tmp_path):
    est = fitted(2)
    model = est.build_model()
    far(model)
    model.statistic.deactivate()
    model.least = pyo.Objective(expr=model.w[1] + 30)
    result = est.fit_model(model).result_
    assert any(note.startswith("Your objective 'least' is 29, minimised, which HiGHS") for note in result.notes)
    assert result.weights[1] == -1 and pyo.value(model.least) == 29 and result.program_value is None
    assert result.bound >= result.value == certify(est.state_.problem, result.weights, as_given=True).value_down
    assert result.bound_source != "rows" and "The weights keep the rows of your program" in result.message
    est.export_mps(tmp_path / "own.mps", model=model)
    outcome = gateway.solve_file(tmp_path / "own.mps", "cbc", solution=tmp_path / "own.sol")
    assert (outcome.objective, outcome.minimises) == (29, True)
    state = imported(tmp_path / "own.mps", tmp_path / "own.sol")
    assert state.weights[1] == -1 and any("'least' is 29, minimised" in note for note in state.result.notes)


def test_rows_on_what_a_program_counts_take_no_bound_that_does_not_hold():
    """A pair that must not be counted: weights may win it, so that the program's optimum bounds nothing."""
    est = fitted(3)
    problem, model = est.state_.problem, est.build_model()
    best = max(map(value_of(problem), vertices(problem.scaled, EPSILON)))
    model.mine = pyo.Constraint(expr=sum(model.z.values()) <= 2)
    result = est.fit_model(model).result_
    assert result.bound_source == "ideal" and result.bound >= best - 1e-9
    assert any("may count less than weights earn" in note for note in result.notes)
    # At least so many is no such row.
    model = est.build_model()
    model.mine = pyo.Constraint(expr=sum(model.z.values()) >= 2)
    result = est.fit_model(model).result_
    assert result.value == pytest.approx(best, abs=1e-6) and result.bound == pytest.approx(best, abs=1e-6)


SHARES = 0.25  # most by which the shares of pairs that two groups of relevant rows win may differ


def even_shares(est, model):
    """Rows that ask it of what a program counts, and the shares of a ranking by weights."""
    problem = est.state_.problem
    item = problem.lists[0]
    relevant, others = (item.rows[(item.gains > 0) == side] for side in (True, False))
    pairs = [[(i, k) for i in relevant[part] for k in others] for part in (slice(0, 2), slice(2, None))]
    a, b = (sum(model.z[ik] for ik in own if ik in model.z) / len(own) for own in pairs)
    model.least, model.most = (pyo.Constraint(expr=side <= SHARES) for side in (b - a, a - b))

    def leads(w):
        scores = problem.scaled @ w
        return [np.array([scores[i] - scores[k] for i, k in own]) for own in pairs]

    return leads


def apart(leads):
    a, b = (np.mean(own > 1e-9) for own in leads)
    return abs(a - b)


@pytest.mark.parametrize(("stat", "seed"), [(stat, seed) for stat in ("auc", "dcg@3") for seed in range(3)])
def test_a_row_on_pairs_won_holds_for_the_ranking_where_a_program_has_two_sides(stat, seed, tmp_path):
    est = fitted(seed, stat)
    problem, model = est.state_.problem, est.build_model(two_sided=True)
    leads = even_shares(est, model)

    def admitted(w):
        every = np.concatenate(leads(w))
        return not ((every > 1e-9) & (every < EPSILON - 1e-9)).any() and apart(leads(w)) <= SHARES + 1e-9

    best = max(value_of(problem)(w) for w in vertices(problem.scaled, EPSILON) if admitted(w))
    est.export_mps(tmp_path / "own.mps", model=model)
    result = est.fit_model(model).result_
    gateway.solve_file(tmp_path / "own.mps", "highs", solution=tmp_path / "own.sol")
    for found in (result, imported(tmp_path / "own.mps", tmp_path / "own.sol").result):
        assert found.value == pytest.approx(best, abs=1e-7) and apart(leads(found.weights)) <= SHARES
        assert any("kept exactly" in note and "keeps them, too" in note for note in found.notes)
    assert (result.bound_source, result.bound) == ("rows", pytest.approx(best, abs=1e-6))


def test_no_row_is_called_kept_that_the_ranking_breaks():
    said = set()
    for seed in range(4):
        est = fitted(seed)
        model = est.build_model()
        leads = even_shares(est, model)
        (note,) = (note for note in est.fit_model(model).result_.notes if "of your own" in note)
        broken = apart(leads(est.result_.weights)) > SHARES
        assert broken == ("does not keep" in note and "two_sided=True" in note), (seed, note)
        assert broken != ("kept exactly" in note)
        said.add(broken)
    assert said == {True, False}


LAST = {"x0": 0.1 / 3, "x1": -0.1}  # in the table's units, of which few doubles are scaled ones


def few_changes(model):
    """At most one weight differs from last year's: a fixed switch closes two rows to an equality."""
    model.change = pyo.Var(list(LAST), domain=pyo.Binary)
    model.up = pyo.Constraint(list(LAST), rule=lambda m, c: m.weight[c] - LAST[c] <= m.change[c])
    model.down = pyo.Constraint(list(LAST), rule=lambda m, c: m.weight[c] - LAST[c] >= -m.change[c])
    model.few = pyo.Constraint(expr=sum(model.change.values()) <= 1)


def one_move(model):
    """The same by sizes of changes and gdp: all of the budget of one weight is spent or none."""
    model.size = pyo.Var(list(LAST), bounds=(0, 2))
    model.up = pyo.Constraint(list(LAST), rule=lambda m, c: m.size[c] >= m.weight[c] - LAST[c])
    model.down = pyo.Constraint(list(LAST), rule=lambda m, c: m.size[c] >= LAST[c] - m.weight[c])
    first, second = model.size.values()
    model.which = Disjunction(expr=[[first <= 0], [second <= 0]])
    pyo.TransformationFactory("gdp.bigm").apply_to(model)


def broken_line(model):
    """A column that no weight depends on follows the weight by a broken line, and bounds another by it."""
    model.at, model.cost = pyo.Var(bounds=(-1, 1)), pyo.Var(bounds=(0, 1))
    model.here = pyo.Constraint(expr=model.at == model.w[0])
    line = {"pw_pts": [-1, 0.1, 1], "f_rule": [0.7, 0.1, 1 / 3], "pw_constr_type": "EQ", "pw_repn": "BIGM_BIN"}
    model.line = pyo.Piecewise(model.cost, model.at, **line)
    model.few = pyo.Constraint(expr=model.cost + model.w[1] <= 0.4)


@pytest.mark.parametrize("add", [few_changes, one_move, broken_line])
def test_rows_that_a_switch_closes_to_an_equality_are_kept_as_one(add):
    for seed in range(3):
        est = fitted(seed, STATS[seed])
        problem, unit = est.state_.problem, est.state_.weight_units
        model = est.build_model()
        add(model)
        w = np.asarray(est.fit_model(model).result_.weights)
        if add is broken_line:
            assert np.interp(w[0], [-1, 0.1, 1], [0.7, 0.1, 1 / 3]) + w[1] <= 0.4 + 1e-6
            continue
        assert sum(abs(unit * w - list(LAST.values())) > 1e-6) <= 1
        planes = [(np.eye(2)[j], value / unit[j]) for j, value in enumerate(LAST.values())]
        points = vertices(problem.scaled, EPSILON, more=planes)
        near = [v for v in points if any(abs(v @ a - side) < 1e-9 for a, side in planes)]
        assert est.result_.value == pytest.approx(max(map(value_of(problem), near)), abs=1e-7)
        assert est.result_.bound_source == "rows"


def test_the_solvers_weights_are_in_the_model_where_a_row_is_not_kept():
    est = fitted(0)
    model = est.build_model()
    model.mine = pyo.Constraint(expr=model.w[0] <= 0.3)
    model.other = pyo.Constraint(expr=model.w[0] >= 0.3 + 5e-7)  # within a solver's tolerance, and no weights at all
    before = est.result_
    refuses("the variables of your model have the values of the solver", est.fit_model, model)
    assert pyo.value(model.w[0]) == pytest.approx(0.3) and est.result_ is before


def test_a_weight_that_is_fixed_has_the_bound_that_its_bounds_have():
    def changed(how):
        est = fitted(2, "dcg@3")
        model = est.build_model()
        how(model.w[0])
        return est.fit_model(model).result_

    def bounded(weight):
        weight.setlb(0.25)
        weight.setub(0.25)

    fixed, other = changed(lambda weight: weight.fix(0.25)), changed(bounded)
    assert (fixed.value, fixed.bound_source, fixed.status) == (other.value, "rows", "optimal_by_solver")
    assert fixed.bound == pytest.approx(other.bound, abs=1e-7)


@pytest.mark.filterwarnings("ignore:ResolvedRank forbids")
@pytest.mark.parametrize("choices", [{}, {"two_sided": True}])
@pytest.mark.parametrize("way", ["fit_model", "model", "file", "import"])
def test_a_program_that_asks_more_than_the_problem_bounds_no_value(choices, way, tmp_path):
    X, y = np.random.default_rng(3).normal(size=(8, 2)), np.array([1, 0, 0, 1, 0, 0, 1, 0])
    options = {"first_stage": None, "margin": 0.3}
    est = Reranker("dcg@3", formulation="mixed" if choices else "resolved_rank", solver="none", **options).fit(X, y)
    best = Reranker("dcg@3", solver="search", **options).fit(X, y).result_
    model, solution = est.build_model(**choices), tmp_path / "p.sol"
    files = est.export_mps(tmp_path / "p.mps", **choices)
    solved = gateway.solve_file(files[0], "highs", solution=solution)
    word = {"bound": -solved.bound, "by": solved.who}
    result = {
        "fit_model": lambda: est.fit_model(model),
        "model": lambda: est.load_solution(solution, model=model, **word),
        "file": lambda: est.load_solution(solution, **word, **choices),
        "import": lambda: SimpleNamespace(result_=imported(files[0], solution, support=BoundClaim(**word)).result),
    }[way]().result_
    assert result.program_bound < best.value <= result.bound and result.value <= result.bound
    assert any("asks more than the problem" in note for note in result.notes)


def test_rows_together_with_a_penalty_and_a_limit_of_features():
    for options in ({"C": 0.03}, {"max_features": 1}, {"positive": True}):
        est = fitted(4, **options)
        problem, u = est.state_.problem, est.state_.weight_units
        limit, sign = options.get("max_features", 2), options.get("positive", False)
        best = max(
            value_of(problem)(w) - problem.C * np.count_nonzero(w)
            for w in vertices(problem.scaled, EPSILON, more=CASES["budget"][1](u))
            if allowed("budget", w, u, 1e-9) and np.count_nonzero(w) <= limit and not (sign and (w < 0).any())
        )
        model = est.build_model()
        budget(model)
        check(est.fit_model(model), "budget", best)


def test_rows_beside_constraints_of_the_fit():
    """A constraint by name and a row in the program: both are kept, and the optimum is that inside both."""
    for seed in range(3):
        est = fitted(seed, STATS[seed], constraints=("x0 >= 2 * x1",))
        problem, u = est.state_.problem, est.state_.weight_units
        planes = CASES["units"][1](u) + CASES["budget"][1](u)
        best = max(
            value_of(problem)(w)
            for w in vertices(problem.scaled, EPSILON, more=planes)
            if allowed("units", w, u, 1e-9) and allowed("budget", w, u, 1e-9)
        )
        model = est.build_model()
        budget(model)
        check(est.fit_model(model), "budget", best)
        assert allowed("units", np.asarray(est.result_.weights), u, 0.0)


def test_weights_of_sum_one_keep_their_sum_and_rows():
    """Against a fine grid of the segment, whose values change at finitely many points."""
    for seed in range(2):
        est = fitted(seed, STATS[seed], normalise="sum", margin=0.01)
        problem, u = est.state_.problem, est.state_.weight_units
        model = est.build_model()
        model.mine = pyo.Constraint(expr=(0.25, model.weight["x0"], 0.75))
        result = est.fit_model(model).result_
        assert est.coef_.sum() == pytest.approx(1, abs=1e-12) and 0.25 <= est.coef_[0] <= 0.75
        grid = [np.array([t / u[0], (1 - t) / u[1]]) for t in np.linspace(0.25, 0.75, 1001)]
        best = max(float(certify(problem, w / w.max()).value) for w in grid)
        assert result.value >= best - 1e-9 and result.bound >= result.value
        assert result.value == pytest.approx(result.bound, abs=1e-6)


def test_corrections_of_a_score_keep_rows_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X @ [1.0, 0.5, -0.5] + rng.normal(size=40) > 0.8).astype(int)
    est = Reranker("dcg@5", radius=0.4, margin=0.05, cross_fit=False, time_limit=20).fit(X, y)
    model = est.build_model()
    model.mine = pyo.Constraint(expr=model.w[1] + model.w[2] == 0.1)
    result = est.fit_model(model).result_
    assert result.weights[0] == 1 and abs(result.weights[1] + result.weights[2] - 0.1) < 1e-9
    problem = est.state_.problem
    low, high = (np.maximum, np.minimum)
    for t in np.linspace(problem.limits[0][1], problem.limits[1][1], 60):
        for third in (0.0, problem.limits[1][3], problem.limits[0][3]):
            w = np.array([1, t, 0.1 - t, third])
            if (w == low(high(w, problem.limits[1]), problem.limits[0])).all():
                assert float(certify(problem, w).value) <= result.bound + 1e-9


@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_the_commands_solve_and_import_a_program_with_rows(tmp_path, solver):
    est = fitted(0)
    best, model = enumerated(est, "size"), est.build_model()
    size(model)
    program, where = est.export_mps(tmp_path / "own.mps", model=model)[0], tmp_path / "m.json"
    assert answer(run("solve", program, "--solver", solver, "--json"))["objective"] == pytest.approx(best, abs=1e-6)
    given = ("import", program, tmp_path / "own.sol", "--model", where)
    assert "The weights keep the rows of your program" in run(*given, code=0 if best == 1 else 3).stdout
    assert load(where).result_.value == pytest.approx(best, abs=1e-7)
    done = run(*given, "--bound", compile_model(model).constant - best, "--by", "CBC 2.10")
    assert "Optimal on the word of CBC 2.10" in done.stdout


# -- what is refused, and what is said ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seed, options, what",
    [
        (9, {}, "rows and columns"),
        (0, {"margin": 0.06}, "margin"),
        (0, {"C": 0.1}, "penalty C"),
        (0, {"max_features": 1}, "max_features"),
        (0, {"positive": True}, "signs of the weights"),
        (0, {"stat": "dcg@3"}, "labels or statistic"),
        (0, {"stat": "mrr", "C": 1.0}, "penalty C and the labels or statistic"),
    ],
)
def test_a_model_of_another_problem_is_refused_by_name(tmp_path, seed, options, what):
    est, model = fitted(0, "precision@2"), fitted(seed, **{"stat": "precision@2", **options}).build_model()
    said = f"'mixed' is of another problem: the {what} differ"
    refuses(said, est.fit_model, model)
    refuses(said, est.export_mps, tmp_path / "p.mps", model=model)
    refuses(said, est.load_solution, tmp_path / "p.sol", model=model)
    assert not list(tmp_path.iterdir())


def test_what_is_no_model_of_this_fit_is_refused():
    est = fitted(0)
    model = est.build_model()
    model.w[0].setub(2)
    refuses("allows 'w0' more than its problem, from -1 to 1", est.fit_model, model)
    model = est.build_model()
    next(iter(model.z.values())).domain = pyo.UnitInterval
    refuses("allows 'z.*' more than its problem, a whole number from 0 to 1", est.fit_model, model)
    model = est.build_model()
    model.mine = pyo.Constraint(expr=model.w[0] ** 2 <= 0.5)
    refuses("no linear program", est.fit_model, model)


def test_a_fit_with_rows_is_saved_read_and_verified(tmp_path):
    X, y = table(1)
    est = fitted(1, "dcg@3")
    for add in (far, order, narrow):
        model = est.build_model()
        add(model)
        est.fit_model(model)
        est.save(tmp_path / "m.json")
        again = load(tmp_path / "m.json")
        assert again.result_.message == est.result_.message and again.result_.changed
        assert np.array_equal(again.rank(X), est.rank(X))
        report = verify(est, Table(X, y, None, None, est.state_.columns.names))
        assert report.holds, report


def test_a_second_model_and_a_plain_solution_take_no_bound_of_the_first(tmp_path):
    est = fitted(0, solver="search")
    proved = est.result_.bound
    model = est.build_model()
    far(model)
    first = est.fit_model(model).result_
    assert first.bound < proved
    plain = est.fit_model(est.build_model()).result_
    assert plain.value == pytest.approx(proved, abs=1e-9) and plain.bound >= plain.value
    assert np.abs(plain.weights).max() == 1 and plain.bound_source in ("solver", "ideal")


def test_what_a_search_would_have_done_is_said():
    est = fitted(0, solver="search", proof=True, node_limit=1000)
    model = est.build_model()
    far(model)
    result = est.fit_model(model).result_
    said = " ".join(result.notes)
    assert "solver='search' knows no rows of a program, so HiGHS solved it." in said
    assert "it proved nothing here, recorded no proof and used no checkpoint" in said and result.proof is None


def test_two_statistics_at_once():
    """A second program as a block with the same weights, and the sum of both objectives."""
    one, two = fitted(0, "auc"), fitted(0, "dcg@3")
    value, other = value_of(one.state_.problem), value_of(two.state_.problem)
    points = vertices(one.state_.problem.scaled, EPSILON)
    best = max(value(w) + other(w) for w in points)
    model = one.build_model()
    model.other = two.build_model()
    model.same = pyo.Constraint([0, 1], rule=lambda m, j: m.w[j] == m.other.w[j])
    model.both = pyo.Objective(expr=model.statistic.expr + model.other.statistic.expr, sense=pyo.maximize)
    model.statistic.deactivate()
    model.other.statistic.deactivate()
    w = np.asarray(one.fit_model(model).result_.weights)
    assert value(w) + other(w) == pytest.approx(best, abs=1e-6)


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


def test_ctrl_c_while_a_solvers_weights_are_checked_keeps_them_and_says_so(monkeypatch):
    est, real = fitted(0), OwnProgram.inside
    model = est.build_model()
    order(model)
    whole = est.fit_model(model).result_
    monkeypatch.setattr(OwnProgram, "inside", lambda *given: (interrupt(), real(*given))[1])
    cut = est.fit_model(model).result_
    assert (cut.value, cut.bound) == (whole.value, whole.bound)
    assert "Stopped by Ctrl-C." in cut.notes and "Stopped by Ctrl-C." not in whole.notes
