"""``rerank convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rerank.cli.common import AsJson, Features, Id, Label, Positive, Qid, Weight, answer, read_data, say
from rerank.errors import InputError

RUNS = (".run", ".trec")
SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".letor")


def convert(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="One table, or several TREC runs, and last the file to write.", show_default=False
        ),
    ],
    qrels: Annotated[
        Path | None,
        typer.Option(help="TREC judgements: grades of the documents in the runs.", show_default=False),
    ] = None,
    judged: Annotated[bool, typer.Option(help="Add relevant documents that no run has.")] = False,
    label: Label = None,
    qid: Qid = None,
    id: Id = None,
    weight: Weight = None,
    positive_label: Positive = None,
    features: Features = None,
    as_json: AsJson = False,
) -> None:
    """Convert CSV and svmlight tables into each other or into TREC judgements, and TREC runs into a table of
    their scores.
    """
    from rerank.io import fuse, read_qrels, read_run, write_csv, write_qrels, write_svmlight

    *sources, target = files
    if not sources:
        raise InputError("rerank convert takes at least one file to read and, last, the file to write.")
    suffix = target.suffix.lower()
    if suffix not in (".csv", ".qrels", *SVMLIGHT):
        raise InputError(f"{target} names no format that can be written; use .csv, .svm or .qrels.")
    if target.exists() and any(target.samefile(source) for source in sources if source.exists()):
        raise InputError(f"{target} is both read and written; write to another file.")
    runs = [source for source in sources if source.suffix.lower() in RUNS]
    if runs and len(runs) < len(sources):
        raise InputError(
            f"{next(s for s in sources if s not in runs)} is no TREC run; give runs only, or one table."
        )
    if runs:
        names = [run.stem for run in runs]
        if len(set(names)) < len(names):
            raise InputError("Two runs have the same file name; their names become columns, so rename one.")
        table = fuse(
            {run.stem: read_run(run) for run in runs},
            None if qrels is None else read_qrels(qrels),
            judged=judged,
        )
        for note in table.notes:
            say(note)
    elif len(sources) > 1:
        raise InputError(f"{len(sources)} tables were given; convert one at a time.")
    else:
        table = read_data(
            sources[0], label=label, qid=qid, id=id, weight=weight, positive=positive_label, features=features
        )
    if suffix == ".csv":
        write_csv(target, table, label=label or "target")
    elif suffix == ".qrels":
        if table.y is None:
            raise InputError(
                f"{sources[0]} was read without labels; name the column that holds them with --label."
            )
        ids = table.ids if table.ids is not None else [str(row) for row in range(len(table))]
        write_qrels(target, table.qid, ids, table.y)
    else:
        write_svmlight(target, table)
    if as_json:
        answer({"written": str(target), "n_rows": len(table), "n_features": int(table.X.shape[1])})
    else:
        typer.echo(f"{len(table)} rows, {table.X.shape[1]} features -> {target}")
