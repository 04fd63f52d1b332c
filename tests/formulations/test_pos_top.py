"""The Pos@Top program against enumeration, the search, and its own points and sizes."""

import numpy as np
import pytest

from formulations import pos_top
from formulations.compile import compile_model
from formulations.data import Unit
from rerank.problem import problem_of
from rerank.search import solve
from rerank.statistics import PosAtTop
from tests.cases.examples import SEEDS, examples
from tests.cases.programs import draw
from tests.oracles import programs as oracle

CLOSE = 1e-6


def counted(X, units, w, epsilon):
    """What rows earn that are the margin above every negative of their unit, by the definition."""
    won = oracle.differences(X, w) >= epsilon - oracle.TOLERANCE
    return sum(
        unit.factor * unit.coefficients[-1] * sum(all(won[i, k] for k in unit.negative) for i in unit.positive)
        for unit in units
    )


def paid(case):
    """The units of a case with the top place paid alone."""
    return [
        Unit(u.positive, u.negative, (np.arange(u.coefficients.size) == u.coefficients.size - 1) * 1.0, u.factor)
        for u in case.units
    ]


@pytest.mark.parametrize("seed", range(40))
def test_it_attains_the_enumerated_optimum(seed):
    case = draw(seed)
    units, options = paid(case), {key: value for key, value in case.options.items() if key != "big_m"}
    chosen = {key: options[key] for key in ("C", "max_features", "signs", "box") if key in options}
    best, w = oracle.best_over_vertices(
        lambda w: counted(case.X, units, w, case.epsilon), case.X, case.epsilon, **chosen
    )
    model = pos_top.build(case.X, units=units, **options)
    program = compile_model(model)
    assert oracle.solve(program)[0] == pytest.approx(best, abs=CLOSE)
    point = pos_top.assignment(model, w)
    assert point.values is not None, point.violated
    x = program.vector(point.values)
    assert program.violation(x) < 1e-7 and program.objective(x) == pytest.approx(best, abs=CLOSE)
    assert program.matrix.nnz <= pos_top.most_nonzeros(case.X, units=units, **options)


@examples(30, SEEDS)
def test_it_agrees_with_the_search(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 40)), int(rng.integers(2, 4))
    X, y = rng.integers(0, 9, (n, d)) / 8, (rng.random(n) < 0.4).astype(float)
    y[:2], X[0], X[1] = (1, 0), 0.0, 1.0
    qid = rng.integers(0, 2, n) if seed % 3 == 0 else None
    options = {"epsilon": float(rng.choice([1e-3, 0.125, 0.0625])), "C": float(rng.choice([0, 0.05]))}
    if seed % 4 == 0:
        options["limits"] = [1, *[-0.25] * (d - 1)], [1, *[0.25] * (d - 1)]
    problem = problem_of(X, y, PosAtTop(), qid, low=np.zeros(d), high=np.ones(d), **options)
    limits = options.pop("limits", None)
    model = pos_top.build(problem.scaled, units=problem.units, constant=problem.constant, corrections=limits, **options)
    found = solve(problem, n_jobs=1)
    # No double may hold weights at which pairs differ by just the margin; the bound is that of the optimum then.
    assert found.closed or "differ by just the margin" in found.note
    assert oracle.solve(compile_model(model))[0] == pytest.approx(found.bound, abs=CLOSE)
    assert compile_model(model).objective(
        compile_model(model).vector(pos_top.assignment(model, found.weights).values)
    ) == pytest.approx(found.value, abs=1e-9)


def test_it_has_one_binary_a_relevant_row_and_no_pair():
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 3)), np.arange(60) < 20
    program = compile_model(pos_top.build(X, y))
    assert program.integer.sum() == 20 and len(program.columns) == 3 + 1 + 20
    assert len(program.rows) <= 60 and not any(name.startswith("z") for name in program.columns)


def test_what_the_box_decides_has_no_variable():
    X, y = np.array([[0.9], [0.1], [0.5], [0.2]]), [1, 1, 0, 0]
    program = compile_model(pos_top.build(X, y, box=([0.5], [1.0]), epsilon=0.01))
    # The first row is above all others by .2 at least, the second below the third; the fourth is never the best.
    assert (program.integer.sum(), program.constant) == (0, 1.0)
    assert [name for name in program.rows if name.startswith("H")] == ["H0_2"]
    alone = compile_model(pos_top.build(X, [1, 1, 1, 1]))
    assert (alone.constant, len(alone.rows)) == (4.0, 0)
