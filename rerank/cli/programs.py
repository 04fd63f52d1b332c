"""``rerank export``, ``rerank solve`` and ``rerank import``: programs to files, and solutions back to models."""

import math
import shlex
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from rerank.cli.common import (
    FEASIBLE,
    NO_SOLUTION,
    PROVED,
    AsJson,
    Details,
    answer,
    entries,
    exit_code,
    say,
    tell,
    working,
)
from rerank.cli.inputs import Data, Model, read_for, with_columns, with_ideal
from rerank.errors import InputError
from rerank.errors.telling import stderr
from rerank.reranker.options import named_values

Program = Annotated[Path, typer.Argument(help="Program file (.mps) written by rerank export.")]


@with_columns("label", "qid", "weight", "positive", "delimiter")
def export(
    model: Model,
    data: Data,
    output: Annotated[Path, typer.Argument(help="Program file to write (.mps); its sidecar ends in .json.")],
    columns: Any = None,
    formulation: Annotated[str | None, typer.Option(help="Another program than the model's.")] = None,
    linking: Annotated[str, typer.Option(help="ordered, or paper for the literal form.")] = "ordered",
    big_m: Annotated[str, typer.Option(help="pair, or unit for the literal form (another problem).")] = "pair",
    cuts: Annotated[bool, typer.Option("--cuts/--no-cuts", help="Valid rows that pay; the paper has none.")] = True,
    extra_cuts: Annotated[bool, typer.Option("--extra-cuts", help="Further valid rows, the paper's (28) too.")] = False,
    literal: Annotated[bool, typer.Option("--literal", help="As printed: paper, unit, no cuts.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the program of a model and its data as an .mps file."""
    from rerank.io.paths import check_outputs
    from rerank.reranker.files.export import export as write_program
    from rerank.reranker.files.verify import refitted
    from rerank.reranker.solve.program import chosen_formulation

    if output.suffix != ".mps":
        raise InputError(f"{output} must end in .mps; its sidecar gets the same name and ends in .json.")
    check_outputs([model, *with_ideal(data)], {"the program": output, "its sidecar": output.with_suffix(".json")})
    doc, table = read_for(model, data, **columns, need_label=True)
    state = refitted(doc, table, str(model))
    name = chosen_formulation(formulation or state.task.formulation, state.task.statistic)
    with working(f"Stating the {name} program ..."):
        choices: dict[str, Any] = {"big_m": "unit" if literal else big_m}
        if name not in ("auc", "pairwise", "pos_top"):
            choices |= {"linking": "paper" if literal else linking, "cuts": cuts and not literal}
        if extra_cuts:
            choices["extra_cuts"] = True
        program, sidecar, size = write_program(state, name, output, choices)
    if as_json:
        answer({"program": program, "sidecar": sidecar, "formulation": name, "size": size})
    else:
        tell(f"{program}\n{sidecar}")
        tell(
            f"{name}: {size['rows']} rows, {size['columns']} columns, {size['integer_columns']} of them integer, "
            f"{size['nonzeros']} non-zeros"
        )


def solve(
    program: Program,
    solver: Annotated[str, typer.Option(help="highs, cbc, scip, glpk, gurobi, ...")] = "highs",
    time_limit: Annotated[float | None, typer.Option(help="Seconds.")] = None,
    start: Annotated[
        Path | None, typer.Option(help="Solution file to start from; a claim that denies it is refused.")
    ] = None,
    solution: Annotated[Path | None, typer.Option(help="Solution file to write; PROGRAM.sol by default.")] = None,
    log: Annotated[Path | None, typer.Option(help="Where to write the solver's own log.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of the solver; 1 by default.")] = None,
    gap: Annotated[float | None, typer.Option(help="Relative gap at which it may stop; 0 by default.")] = None,
    node_limit: Annotated[int | None, typer.Option(help="Nodes at which it stops.")] = None,
    cutoff: Annotated[
        float | None, typer.Option(help="Look for better objectives only, in the unit of the answer.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the solver.")] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE: an option of the solver itself, by its own name; repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Solve a program file with an installed solver. Its solution is written, too.

    Objective and bound are the statistic, less the penalty for features, for a program of rerank export, and the file's
    own objective, in its own sense, for any other. An option that the solver has not is named in the answer.
    """
    began = time.monotonic()
    from formulations import mps
    from rerank.io.paths import check_outputs
    from rerank.solvers import gateway
    from rerank.solvers.outcome import COMMON, Options

    target = solution or program.with_suffix(".sol")
    check_outputs([program, program.with_suffix(".json")], {"the solution": target, "--log": log})
    if time_limit is not None and time_limit > 0:
        # On a busy machine the imports above take seconds.
        time_limit = max(0.1, time_limit - (time.monotonic() - began))
    statistic = _statistic_constant(program)
    constant = statistic or 0.0
    given = dict(threads=threads, gap=gap, node_limit=node_limit, seed=seed, log=log, start=start)
    given["cutoff"] = None if cutoff is None else cutoff - constant
    raw = named_values("--option", option)
    if common := sorted(raw.keys() & COMMON):
        raise InputError(f"--option {common[0]} is an option of this command; write --{common[0].replace('_', '-')}.")
    options = Options(verbose=1).chosen({**given, **raw})
    what, live = f"{solver} solves {program.name} ...", gateway.known(solver) == "highs" and stderr().isatty()
    if live:
        say(what)
    # HiGHS has a live line of its own, with value, bound and nodes.
    with nullcontext() if live else working(what):
        outcome = gateway.solve_file(
            program, solver, time_limit=time_limit, options=options, start=start, solution=target
        )
    objective = None if outcome.objective is None else outcome.objective + constant
    limit = outcome.bound + constant
    body = entries(outcome, "solver", "version") | {"stop": str(outcome.stop), "holds": str(outcome.holds)}
    body |= {"objective": objective, "bound": limit, "seconds": outcome.seconds}
    body |= {"solution": None if outcome.x is None else str(target), "log": log and str(log)}
    body["message"] = outcome.message
    if as_json:
        answer(body)
    else:
        bound = "no bound" if not math.isfinite(limit) else f"bound {limit:.9g} on its word"
        held = "no solution" if objective is None else f"objective {objective:.9g}, {bound}"
        tell(f"{outcome.solver} {outcome.version}: {outcome.stop}, {outcome.holds}; {held} in {outcome.seconds:.2f} s")
        if body["solution"]:
            words = ["rerank", "import", str(program), str(target), "--model", "NEW.json"]
            if statistic is not None and math.isfinite(outcome.bound):
                # As the solver has it for the file, whose objective has no constant.
                words += ["--bound", repr(mps.read_sidecar(program)["offset"] - outcome.bound), "--by", outcome.who]
            say(f"Solution written to {target}{'.' if statistic is None else f'; {shlex.join(words)} reads it.'}")
        if outcome.message:
            say(outcome.message)
    if outcome.x is None:
        raise typer.Exit(NO_SOLUTION)
    raise typer.Exit(PROVED if outcome.holds == "optimal" else FEASIBLE)


def _statistic_constant(program: Path) -> float | None:
    """What turns the objective of an exported program into the statistic; None for any other file."""
    from formulations import mps

    data = mps.read_sidecar(program).get("data") if mps.sidecar_path(program).exists() else None
    if not isinstance(data, dict) or "model" not in data:
        return None
    try:
        return float.fromhex(data["constant"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def take(
    program: Program,
    solution: Annotated[Path, typer.Argument(help="Solution file of any of the solvers, or weights alone.")],
    model: Annotated[Path, typer.Option(help="Where to write the model (JSON).")],
    dialect: Annotated[
        str | None,
        typer.Option(
            help="highs, cbc, scip, glpk, gurobi, cplex, xpress, copt, lp_solve or plain, name and value in "
            "each line; recognised by default."
        ),
    ] = None,
    bound: Annotated[
        float | None, typer.Option(help="The solver's bound, as it prints it for the program file; on its word.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="Whose word the bound is: solver and version.")] = None,
    prove: Annotated[
        float | None, typer.Option(help="Seconds for a search that starts from these weights and bounds the value.")
    ] = None,
    details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Read a solver's solution back into a model. Its value is recomputed exactly, a bound of the solver is not."""
    from rerank.io.paths import check_outputs
    from rerank.reranker.files.document import save
    from rerank.reranker.files.export import Support, imported

    check_outputs([program, program.with_suffix(".json"), solution], {"--model": model})
    state = imported(program, solution, dialect, Support(bound, by, prove))
    save(state, model)
    if as_json:
        answer({"model": str(model), **state.result.to_dict(), "coef": state.named_weights()})
    else:
        from rerank.io.page import as_text
        from rerank.reranker.describe import describe

        tell(as_text(describe(state).parts(details)))
        say(f"Written to {model}.")
    raise typer.Exit(exit_code(state.result))
