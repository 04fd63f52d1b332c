"""``rerank export``, ``solve``, ``import``, ``verify``, ``doctor`` and ``convert``: programs, models and tables."""

from __future__ import annotations

import math
import shlex
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rerank.cli import common, inputs
from rerank.cli.card import read_for_check
from rerank.cli.common import AsJson, Details, answer, entries, say, tell, working
from rerank.cli.inputs import Data, Model, RawIds, refuse_idle, with_columns, with_ideal
from rerank.cli.pictures import check_picture, write_picture
from rerank.errors import InputError
from rerank.errors.telling import stderr
from rerank.reranker.options import named_values

if TYPE_CHECKING:
    from rerank.io import Table


Program = Annotated[Path, typer.Argument(help="Program file (.mps) written by rerank export.")]


@with_columns("label", "qid", "weight", "pos_label", "delimiter")
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
    doc, table = inputs.read_for(model, data, **columns, need_label=True)
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
    if ours := sorted(raw.keys() & COMMON):
        raise InputError(f"--option {ours[0]} is an option of this command; write --{ours[0].replace('_', '-')}.")
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
        raise typer.Exit(common.NO_SOLUTION)
    raise typer.Exit(common.PROVED if outcome.holds == "optimal" else common.FEASIBLE)


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
    from rerank.reranker.files.document import write_state
    from rerank.reranker.files.export import BoundClaim, imported

    check_outputs([program, program.with_suffix(".json"), solution], {"--model": model})
    state = imported(program, solution, dialect, BoundClaim(bound, by, prove))
    write_state(state, model)
    if as_json:
        answer({"model": str(model), **state.result.to_dict(), "coef": state.named_weights()})
    else:
        from rerank.io.page import as_text
        from rerank.reranker.describe import describe

        tell(as_text(describe(state).parts(details)))
        say(f"Written to {model}.")
    raise typer.Exit(common.exit_code(state.result))


@with_columns("label", "qid", "weight", "people", "pos_label")
def verify(
    model: Model,
    data: Annotated[
        Path | None, typer.Argument(help="Table the model was fitted on: .csv, .tsv or .svm, also .gz, or .parquet.")
    ] = None,
    columns: Any = None,
    proof: Annotated[Path | None, typer.Option(help="Proof written by fit --proof: checks the bound too.")] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the boxes of the proof over two or three weights, or else their bounds: a .png, .svg or .pdf."
        ),
    ] = None,
    without_data: Annotated[
        bool,
        typer.Option("--without-data", help="Do without the table, or with a model that states no digest of its data."),
    ] = False,
    details: Annotated[
        bool, typer.Option("--details", help="Print every entry that was compared or taken as given, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Recompute what a model or a card states, in exact arithmetic.

    Only the files are used.

    Ends with 0 where everything stated holds, 3 where a claim stays open, 5 where one does not hold.
    """
    from rerank.io.page import as_text
    from rerank.io.paths import check_outputs
    from rerank.reranker.files import model_file
    from rerank.reranker.files.model_file import usable
    from rerank.reranker.files.verify import refitted
    from rerank.reranker.files.verify import verify as check
    from rerank.scorecard.files import is_card

    check_picture(plot)
    if proof is None or data is None:
        lacking = "the table and --proof FILE" if data is None else "--proof FILE"
        refuse_idle({"--plot": plot}, f"it draws the boxes of a proof; give {lacking}, or leave it out")
    check_outputs([model, proof, *([] if data is None else with_ideal(data))], {"--plot": plot})
    record = None
    if proof is not None:
        from rerank.certificate import load_proof

        record = load_proof(proof)
    doc: Any
    if data is None:
        refuse_idle(inputs.flags_of(columns), "it is about a column of the table; give the table, or leave it out")
    if card := is_card(model):
        refuse_idle({"--proof": proof}, "a card is proved anew from the rows of its fit; leave it out")
        doc, table = model, None if data is None else read_for_check(model, data, columns)
    elif data is None:
        doc, table = model_file.read(model), None
    else:
        with usable(str(model)):
            doc, table = inputs.read_for(model, data, **columns, need_label=True)
    with working(f"Checking {(proof or model).name} ...") if proof or card else nullcontext():
        report = check(doc, table, record, without_data=without_data, where=str(model))
    if as_json:
        each = {"checks": list(map(vars, report.checks)), "open": list(report.remarks)}
        each["not_looked_at"] = list(map(vars, report.not_looked_at))
        answer(entries(report, "holds", "complete", "verdict") | each)
    else:
        tell(as_text(report.parts(details)))
    if plot is not None and table is not None and record is not None:
        from rerank.reranker.weight_space import proof_drawn

        with working("Drawing ..."):  # the boxes are made anew, since the checks keep none
            write_picture(plot, lambda: proof_drawn(refitted(doc, table, str(model)), record))
    raise typer.Exit(common.PROVED if report.complete else common.FEASIBLE if report.holds else common.FAILED)


def doctor(as_json: AsJson = False) -> None:
    """List the solvers and libraries that this installation finds."""
    import platform

    from rerank.io.page import Cells, as_text
    from rerank.reranker.files.document import OPTIONAL, versions
    from rerank.solvers import gateway

    with working("Asking the solvers for their versions ..."):
        solvers = gateway.available()
    python = {"python": platform.python_version(), "platform": platform.platform()}
    found = python | versions() | versions(OPTIONAL)
    if as_json:
        answer({"versions": found, "solvers": solvers})
        return
    fields = ("name", "version", "licence", "how")
    cells = [[str(solver[field]) for field in fields] for solver in solvers if solver["found"]]
    tell("  ".join(f"{name} {version}" for name, version in found.items()))
    tell(as_text([Cells([("solver", "version", "licence", "reached by"), *cells], ("left",) * 4)]))
    for solver in solvers:
        if not solver["found"]:
            tell(f"{solver['name']} was not found: {solver['install']}")


RUNS = (".run", ".trec", ".res")
SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".letor")


@with_columns("label", "qid", "id", "weight", "pos_label", "features", "delimiter")
def convert(
    files: Annotated[
        list[str],
        typer.Argument(help="One table, or several TREC runs as FILE or NAME=FILE, and last the file to write."),
    ],
    qrels: Annotated[Path | None, typer.Option(help="TREC judgements: grades of the documents in the runs.")] = None,
    judged: Annotated[bool, typer.Option(help="Count relevant documents that no run has in the ideal list.")] = True,
    columns: Any = None,
    raw_ids: RawIds = False,
    as_json: AsJson = False,
) -> None:
    """Convert tables, judgements and TREC runs.

    CSV and svmlight tables into each other or into TREC judgements, and TREC runs into a table of their scores.
    """
    from rerank.io import fuse, read_qrels, read_run
    from rerank.io.paths import check_outputs

    *given, last = files
    target = Path(last)
    if not given:
        raise InputError("rerank convert takes at least one file to read and, last, the file to write.")
    suffix = target.suffix.lower()
    if suffix not in (".csv", ".qrels", *SVMLIGHT):
        raise InputError(f"{target} names no format that can be written; use .csv, .svm or .qrels.")
    named_runs = [text for text in given if _is_run(text, qrels is not None)]
    if named_runs and len(named_runs) < len(given):
        other = next(text for text in given if text not in named_runs)
        raise InputError(f"{other} is no TREC run; give runs only (NAME=FILE says that one is), or one table.")
    runs = inputs.runs_of(named_runs)
    sources = list(runs.values()) or [Path(text) for text in given]
    read = [path for source in sources for path in with_ideal(source)]
    check_outputs([*read, qrels], dict(zip(("the table", "its ideal grades"), with_ideal(target))))
    if not runs:
        refuse_idle({"--qrels": qrels}, "it judges the documents of runs; give runs, or leave it out")
    if qrels is None:
        refuse_idle({"--no-judged": None if judged else True}, "it is about --qrels; add them, or leave it out")
    if runs:
        named = {name: value for name, value in columns.items() if name != "label"}
        refuse_idle(inputs.flags_of(named), "it is about a table, and runs were given; leave it out")
        scores = {name: read_run(path) for name, path in runs.items()}  # the features of one table
        table = fuse(scores, None if qrels is None else read_qrels(qrels), judged=judged)
        for note in table.notes:
            say(note)
    elif len(sources) > 1:
        raise InputError(f"{len(sources)} tables were given; convert one at a time.")
    else:
        table = inputs.read_data(sources[0], **columns)
    if suffix != ".csv":
        refuse_idle({"--raw-ids": raw_ids or None}, "it is about a table in CSV; leave it out")
    _write(target, table, columns["label"], raw_ids)
    if as_json:
        answer({"written": str(target), "n_rows": len(table), "n_features": int(table.X.shape[1])})
    else:
        tell(f"{len(table)} rows, {table.X.shape[1]} features -> {target}")


def _is_run(text: str, judged: bool) -> bool:
    """Whether a file is a TREC run: by NAME=FILE, suffix or lines; judgements (``judged``) are for runs alone."""
    from rerank.io.reader import is_table, suffix_of
    from rerank.io.trec import reads_as

    if inputs.named_run(text) is not None or suffix_of(text) in RUNS:
        return True
    return not is_table(text) and (judged or reads_as(text) == "a run")


def _write(target: Path, table: Table, label: str | None, raw_ids: bool) -> None:
    """Write a table in the format of the suffix."""
    from rerank.io import write_csv, write_qrels, write_svmlight

    if target.suffix.lower() == ".csv":
        write_csv(target, table, label=label or "target", raw_ids=raw_ids)
        inputs.tell_apostrophes([entry for ids in (table.ids, table.qid) if ids is not None for entry in ids], raw_ids)
    elif target.suffix.lower() != ".qrels":
        write_svmlight(target, table)
    elif table.y is None:
        raise InputError("The table was read without labels; name the column that holds them with --label.")
    elif table.ideal_gains:
        raise InputError(
            f"{target} would lack the relevant documents that are no rows; use the judgements the runs came with, "
            "or convert with --no-judged."
        )
    else:
        write_qrels(target, table.qid, inputs.row_names(table), table.y)
