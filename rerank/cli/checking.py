"""``rerank verify`` and ``rerank doctor``."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from rerank.cli.common import FAILED, FEASIBLE, PROVED, AsJson, answer, entries, tell, working
from rerank.cli.inputs import Model, flags_of, read_for, refuse_idle, with_columns, with_ideal
from rerank.cli.pictures import check_picture, write_picture


@with_columns("label", "qid", "weight", "people", "positive")
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
        bool, typer.Option("--details", help="Print every entry that is taken as given, too, with its reason.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Recompute a model's numbers in exact rational arithmetic. Only the files are used.

    Ends with 0 where everything stated holds, 3 where a claim stays open, 5 where one does not hold.
    """
    from rerank.io.page import as_text
    from rerank.io.paths import check_outputs
    from rerank.reranker.files import model_file
    from rerank.reranker.files.model_file import usable
    from rerank.reranker.files.verify import refitted
    from rerank.reranker.files.verify import verify as check

    check_picture(plot)
    if proof is None or data is None:
        lacking = "the table and --proof FILE" if data is None else "--proof FILE"
        refuse_idle({"--plot": plot}, f"it draws the boxes of a proof; give {lacking}, or leave it out")
    check_outputs([model, proof, *([] if data is None else with_ideal(data))], {"--plot": plot})
    record = None
    if proof is not None:
        from rerank.certificate import load_proof

        record = load_proof(proof)
    if data is None:
        refuse_idle(flags_of(columns), "it is about a column of the table; give the table, or leave it out")
        doc, table = model_file.read(model), None
    else:
        with usable(str(model)):
            doc, table = read_for(model, data, **columns, need_label=True)
    with nullcontext() if proof is None else working(f"Checking {proof.name} ..."):
        report = check(doc, table, str(model), record, without_data=without_data)
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
    raise typer.Exit(PROVED if report.complete else FEASIBLE if report.holds else FAILED)


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
    cells = [[str(one[field]) for field in fields] for one in solvers if one["found"]]
    tell("  ".join(f"{name} {version}" for name, version in found.items()))
    tell(as_text([Cells([("solver", "version", "licence", "reached by"), *cells], ("left",) * 4)]))
    for one in solvers:
        if not one["found"]:
            tell(f"{one['name']} was not found: {one['install']}")
