"""Solutions that are not of the program: refused in a sentence for each dialect, and weights that leave a box."""

from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest

from formulations import mixed, mps
from formulations.compile import compile_model
from rerank import Reranker, describe, load
from rerank.certificate import certify
from rerank.errors import InputError
from rerank.reranker.files.export import imported
from rerank.solvers import gateway, highs
from tests.cases.refuses import refuses
from tests.cli.commands import run

OPTIONS = {"first_stage": None, "margin": 1e-3, "time_limit": 20}


def fitted(seed=0, n=12, stat="dcg@3", **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X @ [1.0, -0.6, 0.3] + rng.normal(size=n) > 0.3).astype(int)
    return Reranker(stat, **{**OPTIONS, **options}).fit(X, y)


def text_of(dialect, program, x, objective, status=True):
    """A solution file as the solver writes it."""
    pairs = list(zip(program.columns, x.tolist()))
    line = {
        "scip": lambda j, name, v: f"{name} {v!r} (obj:0)\n" if v else "",
        "cbc": lambda j, name, v: f"{j} {name} {v!r} 0\n",
        "xpress": lambda j, name, v: f"  C {name} {v!r}\n",
        "cplex": lambda j, name, v: f'<variable name="{name}" index="{j}" value="{v!r}"/>\n',
        "glpk": lambda j, name, v: f"j {j + 1} {v!r}\n",
    }.get(dialect, lambda j, name, v: f"{name} {v!r}\n")
    body = "".join(line(j, name, v) for j, (name, v) in enumerate(pairs))
    head = {
        "scip": f"solution status: {'optimal solution found' if status else 'time limit reached'}\n"
        f"objective value: {objective!r}\n",
        "cbc": f"{'Optimal' if status else 'Stopped on time'} - objective value {objective!r}\n",
        "gurobi": f"# Objective value = {objective!r}\n",
        "copt": f"# Objective value {objective!r}\n",
        "plain": "",
        "lp_solve": f"\nValue of objective function: {objective!r}\n\nActual values of the variables:\n",
        "xpress": "NAME p\n",
        "cplex": f'<CPLEXSolution version="1.2">\n<header objectiveValue="{objective!r}" primalFeasible="1" '
        f'solutionStatusString="{"integer optimal solution" if status else "time limit exceeded"}"/>\n<variables>\n',
        "highs": f"Model status\n{'Optimal' if status else 'Time limit'}\n\n# Primal solution values\nFeasible\n"
        f"Objective {objective!r}\n# Columns {len(pairs)}\n",
        "glpk": f"s mip {len(program.rows)} {len(pairs)} {'o' if status else 'f'} {objective!r}\n",
    }[dialect]
    ends = {"highs": f"# Rows {len(program.rows)}\n", "xpress": "ENDATA\n", "cplex": "</variables>\n</CPLEXSolution>\n"}
    return head + body + ends.get(dialect, "")


DIALECTS = ["highs", "glpk", "scip", "cbc", "gurobi", "cplex", "copt", "lp_solve"]
SILENT = ["xpress", "plain"]  # the objective is not in the file


@pytest.fixture(scope="module")
def solved():
    est = fitted()
    program = compile_model(est.build_model())
    return est, program, highs.solve(program).x


@pytest.mark.parametrize("dialect", DIALECTS + SILENT)
def test_a_solution_of_the_program_is_read_and_another_objective_or_point_refused(tmp_path, solved, dialect):
    est, program, x = solved
    path, wrong = tmp_path / "p.sol", x.copy()
    wrong[program.weights[0]] -= 0.5
    path.write_text(text_of(dialect, program, x, -float(program.cost @ x)))
    assert fitted().load_solution(path).result_.value == pytest.approx(est.result_.value, abs=1e-9)
    refused = [(x, 0.25, "states the objective"), (wrong, 0.0, "violates the problem's program by")]
    for point, more, sentence in refused[dialect in SILENT :]:
        path.write_text(text_of(dialect, program, point, -float(program.cost @ point) + more))
        refuses(f"{sentence} .* it is of another program", fitted().load_solution, path)


@pytest.mark.parametrize("dialect", ["highs", "glpk", "scip", "cbc", "cplex"])
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
    refuses("calls .* optimal, and weights worth .* are known", fitted().load_solution, path)
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
    refuses("rows.*give the model", fitted().load_solution, path)


def test_an_option_that_the_fit_sets_is_refused_with_its_name_there():
    est = fitted()
    owns = {"signs": "positive", "corrections": "radius", "epsilon": "margin", "C": "C", "max_features": "max_features"}
    for name, own in owns.items():
        refuses(rf"{name} belongs to the fitted problem .* Reranker\({own}=\.\.\.\)", est.build_model, **{name: 0.01})
    assert set(owns.values()) < est.get_params().keys()
    refuses("'linkin' is no option of a program; did you mean 'linking'", est.build_model, linkin="paper")


# -- weights alone, a bound on the solver's word, a search from the weights --------------------------------------------


def unsolved(seed=0, **options):
    """A problem whose weights and bound are nobody's yet, and whose ideal list is out of reach."""
    return fitted(seed, **{"stat": "dcg", "solver": "none", **options})


@pytest.fixture(scope="module")
def hard():
    """The same, solved by the search and by HiGHS."""
    est = unsolved(solver="highs")
    assert est.result_.proved and est.result_.bound_source == "search"
    program = compile_model(est.build_model())
    return est, program, highs.solve(program).x


@pytest.mark.parametrize("size", [1.0, 7.0])
def test_weights_alone_are_enough(tmp_path, hard, size):
    est, program, x = hard
    w = x[program.weights]
    (tmp_path / "w.txt").write_text("".join(f"w{j} {size * v!r}\n" for j, v in enumerate(w.tolist())))
    result = unsolved().load_solution(tmp_path / "w.txt").result_
    assert result.value == pytest.approx(est.result_.value, abs=1e-9) and result.program_value is None
    assert "The weights were read from w.txt, which holds nothing else." in result.notes
    est.export_mps(tmp_path / "p.mps")
    assert imported(tmp_path / "p.mps", tmp_path / "w.txt").result.value == result.value
    # As a start, which has to be a point of the program, they are completed.
    if size == 1.0:
        outcome = gateway.solve_file(tmp_path / "p.mps", start=tmp_path / "w.txt")
        assert outcome.start_accepted is not False and outcome.objective == pytest.approx(program.objective(x))
    else:
        with pytest.raises(InputError, match="No point of the program 'mixed' .* has w0 = "):
            gateway.solve_file(tmp_path / "p.mps", start=tmp_path / "w.txt")


def test_corrections_alone_keep_within_their_limits(tmp_path):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 2))
    y = (X @ [1.0, 0.3] + rng.normal(size=30) > 0).astype(int)
    est = Reranker("dcg", radius=0.5, cross_fit=False, solver="none", time_limit=20).fit(X, y)
    (tmp_path / "w.txt").write_text("w0 1\nw1 0.1\nw2 -0.5\n")
    result = est.load_solution(tmp_path / "w.txt").result_
    assert result.weights[0] == 1 and np.abs(result.weights[1:]).max() <= 0.5
    assert result.value >= float(certify(est.state_.known_problem(), [1, 0.1, -0.5]).value_down)
    (tmp_path / "w.txt").write_text("w0 1\nw1 0.1\nw2 -0.6\n")
    refuses("gives w2 = -0.6, and the model allows -0.5 to 0.5", est.load_solution, tmp_path / "w.txt")


def written(folder, program, x, name="p.sol"):
    path = folder / name
    path.write_text(text_of("gurobi", program, x, -float(program.cost @ x)))
    return path


def test_a_bound_is_taken_on_the_word_of_its_solver_and_says_so_everywhere(tmp_path, hard):
    est, program, x = hard
    path, printed = written(tmp_path, program, x), -float(program.cost @ x)
    assert est.result_.bound_source == "search" and est.result_.proved
    found = unsolved().load_solution(path, bound=printed, by="Gurobi 13.0")
    result = found.result_
    assert (result.bound_source, result.bound_solver, result.status) == ("solver", "Gurobi 13.0", "optimal_by_solver")
    assert result.value == pytest.approx(est.result_.value) and result.bound == pytest.approx(result.value)
    assert result.message.startswith("Optimal on the word of Gurobi 13.0: ")
    assert "; on the word of Gurobi 13.0 no such weights have more" in describe(result).answer
    found.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json").result_
    assert (again.message, again.bound_solver) == (result.message, "Gurobi 13.0")
    # A larger bound leaves a gap, and nothing is advised that an import has not.
    wide = unsolved().load_solution(path, bound=printed - 0.02, by="Gurobi 13.0").result_
    assert wide.gap == pytest.approx(0.02) and "on the word of Gurobi 13.0" in wide.message
    assert wide.program_bound == wide.bound
    for message in (wide.message, unsolved().load_solution(path).result_.message):
        assert "time_limit" not in message and "n_candidates" not in message and "rerank import --prove" in message
    # A bound that was proved is not given up for a word.
    kept = unsolved(solver="highs").load_solution(path, bound=printed, by="Gurobi 13.0").result_
    assert kept.bound_source == "search" and any("that of Gurobi 13.0 is not smaller" in note for note in kept.notes)
    with pytest.raises(InputError, match="these weights are worth .* in which they are worth -") as caught:
        unsolved().load_solution(path, bound=-printed, by="Gurobi 13.0")
    assert float(str(caught.value).split()[-1].rstrip(".")) == pytest.approx(printed)
    for wrong in ({"bound": np.inf, "by": "Gurobi"}, {"prove": -1.0}):
        refuses("bound|prove", unsolved().load_solution, path, **wrong)


def test_the_bound_of_a_program_that_asks_more_bounds_no_value(tmp_path):
    est = unsolved(formulation="subrank")
    program = compile_model(est.build_model())
    x = highs.solve(program).x
    result = est.load_solution(written(tmp_path, program, x), bound=-float(program.cost @ x), by="SCIP 10").result_
    assert result.bound_source == "ideal" and result.program_bound == pytest.approx(result.program_value)
    assert any("SCIP 10 bounds the subrank program" in note for note in result.notes)


def test_a_search_proves_weights_that_were_read_or_finds_better_ones(tmp_path, hard):
    est, program, x = hard
    result = unsolved().load_solution(written(tmp_path, program, x), prove=20).result_
    assert (result.status, result.bound_source, result.solver) == ("optimal", "search", "file")
    assert result.value == pytest.approx(est.result_.value) and result.nodes >= 0
    x = program.vector(mixed.assignment(est.build_model(), np.array([0.0, 1.0, -1.0])).values)
    worse = unsolved().load_solution(written(tmp_path, program, x)).result_
    better = unsolved().load_solution(written(tmp_path, program, x), prove=20).result_
    assert worse.value < better.value == pytest.approx(est.result_.value) and better.proved
    assert worse.history == () and better.history[-1][1:] == (better.value, better.bound)
    assert any("worth more" in note or "more than those of the file" in note for note in better.notes)
    stuck = unsolved().load_solution(written(tmp_path, program, x), prove=0).result_
    assert stuck.value >= worse.value and stuck.bound >= better.bound


def test_a_box_of_its_own_is_no_problem_to_prove(tmp_path):
    est = unsolved(3)
    box = [0.1, -0.2, 1.0], [0.5, 0.2, 1.0]
    est.export_mps(tmp_path / "p.mps", box=box)
    outcome = gateway.solve_file(tmp_path / "p.mps", solution=tmp_path / "p.sol")
    asked = {"bound": mps.read(tmp_path / "p.mps").constant - outcome.objective, "by": "HiGHS"}
    result = unsolved(3).load_solution(tmp_path / "p.sol", box=box, **asked).result_
    assert result.bound == pytest.approx(outcome.objective)
    assert "of the program with your rows" in " ".join(result.notes)
    assert (result.bound_source, result.bound_solver) == ("rows", "HiGHS")
    assert "prove" not in unsolved(3).load_solution(tmp_path / "p.sol", box=box).result_.message


def test_the_command_takes_bound_and_seconds(tmp_path, hard):
    est, program, x = hard
    unsolved().export_mps(tmp_path / "p.mps")
    words = ("import", tmp_path / "p.mps", written(tmp_path, program, x), "--model", tmp_path / "m.json")
    done = run(*words, "--bound", -float(program.cost @ x), "--by", "CPLEX 22.2")
    assert "Optimal on the word of CPLEX 22.2" in done.stdout
    assert "Proved optimal (by the search)" in run(*words, "--prove", 20).stdout


def test_where_the_first_stage_is_ideal_it_stays_and_the_import_is_verified(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a = np.arange(20.0)
    Path("t.csv").write_text("\n".join(["y,a,b", *(f"{int(one > 14)},{one},{np.sin(one)}" for one in a)]) + "\n")
    how = ("--stat", "precision@3", "--radius", 0.1, "--solver", "none", "--free", "--model", "m.json")
    run("fit", "t.csv", "--label", "y", *how)
    run("export", "m.json", "t.csv", "p.mps", "--label", "y")
    run("solve", "p.mps", "--solver", "highs", "--solution", "p.sol")
    run("import", "p.mps", "p.sol", "--model", "new.json")
    assert load("new.json").result_.value == load("m.json").result_.value
    run("verify", "new.json", "t.csv", "--label", "y")
