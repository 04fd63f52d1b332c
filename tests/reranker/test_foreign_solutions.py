"""Solutions that are not of the program: refused in a sentence for each dialect, and weights that leave a box."""

import numpy as np
import pyomo.environ as pyo
import pytest

from formulations import mixed, mps
from formulations.compile import compile_model
from rerank import Reranker
from rerank.errors import InputError
from rerank.reranker.files.export import imported
from rerank.reranker.solve.verified import outside
from rerank.solvers import gateway, highs

OPTIONS = {"first_stage": None, "epsilon": 1e-3, "time_limit": 20}


def fitted(seed=0, n=12, stat="dcg@3", **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X @ [1.0, -0.6, 0.3] + rng.normal(size=n) > 0.3).astype(int)
    return Reranker(stat, **{**OPTIONS, **options}).fit(X, y)


def text_of(dialect, program, x, objective, status=True):
    """A solution file as the solver writes it."""
    pairs = list(zip(program.columns, x.tolist()))
    body = {
        "scip": "".join(f"{name} {v!r} (obj:0)\n" for name, v in pairs if v),
        "cbc": "".join(f"{j} {name} {v!r} 0\n" for j, (name, v) in enumerate(pairs)),
        "gurobi": "".join(f"{name} {v!r}\n" for name, v in pairs),
        "highs": "".join(f"{name} {v!r}\n" for name, v in pairs),
        "glpk": "".join(f"j {j} {v!r}\n" for j, (_, v) in enumerate(pairs, 1)),
    }[dialect]
    head = {
        "scip": f"solution status: {'optimal solution found' if status else 'time limit reached'}\n"
        f"objective value: {objective!r}\n",
        "cbc": f"{'Optimal' if status else 'Stopped on time'} - objective value {objective!r}\n",
        "gurobi": f"# Objective value = {objective!r}\n",
        "highs": f"Model status\n{'Optimal' if status else 'Time limit'}\n\n# Primal solution values\nFeasible\n"
        f"Objective {objective!r}\n# Columns {len(pairs)}\n",
        "glpk": f"s mip {len(program.rows)} {len(pairs)} {'o' if status else 'f'} {objective!r}\n",
    }[dialect]
    tail = {"highs": f"# Rows {len(program.rows)}\n"}.get(dialect, "")
    return head + body + tail


DIALECTS = ["highs", "glpk", "scip", "cbc", "gurobi"]


@pytest.fixture(scope="module")
def solved():
    est = fitted()
    program = compile_model(est.build_model())
    return est, program, highs.solve(program).x


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_solution_of_the_program_is_read_and_another_objective_or_point_refused(tmp_path, solved, dialect):
    est, program, x = solved
    path, wrong = tmp_path / "p.sol", x.copy()
    wrong[program.weights[0]] -= 0.5
    path.write_text(text_of(dialect, program, x, -float(program.cost @ x)))
    assert fitted().load_solution(path).result_.value == pytest.approx(est.result_.value, abs=1e-9)
    for point, more, sentence in ((x, 0.25, "states the objective"), (wrong, 0.0, "violates the problem's program by")):
        path.write_text(text_of(dialect, program, point, -float(program.cost @ point) + more))
        with pytest.raises(InputError, match=f"{sentence} .* it is of another program"):
            fitted().load_solution(path)


@pytest.mark.parametrize("dialect", ["highs", "glpk", "scip", "cbc"])
def test_the_optimum_of_a_narrower_program_is_refused(tmp_path, solved, dialect):
    """With rows of one's own: a point of our program whose objective is called optimal and is not."""
    est, own, _ = solved
    model = est.build_model()
    model.mine = pyo.ConstraintList()
    for row in (model.w[0] <= -0.2, model.w[1] >= 0.5, model.w[2] <= -0.3):
        model.mine.add(row)
    program = compile_model(model)
    x = highs.solve(program).x
    path = tmp_path / "p.sol"
    path.write_text(text_of(dialect, own, x, -float(own.cost @ x)))
    with pytest.raises(InputError, match="calls .* optimal, and weights worth .* are known"):
        fitted().load_solution(path)
    # A point that nobody calls optimal is read, and said to be worse.
    x = own.vector(mixed.assignment(est.build_model(), np.array([0.0, 1.0, -1.0])).values)
    path.write_text(text_of(dialect, own, x, -float(own.cost @ x), status=False))
    notes = fitted().load_solution(path).result_.notes
    assert any("The weights that the model had are worth more" in note for note in notes)


@pytest.mark.parametrize("dialect", ["scip", "cbc", "gurobi"])
def test_files_that_do_not_count_rows_are_not_read_in_silence(tmp_path, solved, dialect):
    """Rows of one's own that do not scale, where the optimum stays the same: nothing in the file can tell."""
    est, own, _ = solved
    model = est.build_model()
    model.mine = pyo.Constraint(expr=model.w[0] - model.w[1] + model.w[2] <= 0.5)
    program = compile_model(model)
    x = highs.solve(program).x
    assert own.objective(x) == pytest.approx(compile_model(est.build_model()).objective(solved[2]))
    path = tmp_path / "p.sol"
    path.write_text(text_of(dialect, own, x, -float(own.cost @ x)))
    notes = fitted().load_solution(path).result_.notes
    assert any("does not say which rows its program had" in note for note in notes)
    # With its program beside it the file is refused.
    mps.write(program, tmp_path / "p.mps")
    with pytest.raises(InputError, match="rows.*give the model"):
        fitted().load_solution(path)


@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_weights_stay_in_the_box_of_their_program(tmp_path, solver):
    est = fitted(3)
    box = [0.1, -0.2, 1.0], [0.5, 0.2, 1.0]
    est.export_mps(tmp_path / "p.mps", box=box)
    outcome = gateway.solve_file(tmp_path / "p.mps", solver, solution=tmp_path / "p.sol")
    for result in (
        fitted(3).load_solution(tmp_path / "p.sol", box=box).result_,
        imported(tmp_path / "p.mps", tmp_path / "p.sol").result,
    ):
        assert outside(np.asarray(result.weights), tuple(map(np.array, box))) is None
        assert result.value == pytest.approx(result.program_value, abs=1e-6) and outcome.x is not None


@pytest.mark.parametrize("name, own", [("signs", "positive"), ("C", "C"), ("max_features", "max_features"),
                                       ("epsilon", "epsilon"), ("corrections", "radius")])  # fmt: skip
def test_an_option_that_the_fit_sets_is_refused_with_its_name_there(name, own):
    est = fitted()
    refused = rf"{name} belongs to the fitted problem .* Reranker\({own}=\.\.\.\)"
    for call in (est.build_model, lambda **given: est.export_mps("never.mps", **given)):
        with pytest.raises(InputError, match=refused):
            call(**{name: 0.01})
    assert own in est.get_params()
    with pytest.raises(InputError, match="'linkin' is no option of a program; did you mean 'linking'"):
        est.build_model(linkin="paper")
