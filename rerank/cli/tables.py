"""``rerank convert``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rerank.cli.common import AsJson, answer, say, tell
from rerank.cli.inputs import flags_of, named_run, read_data, refuse_idle, row_names, runs_of, with_columns, with_ideal
from rerank.errors import InputError

if TYPE_CHECKING:
    from rerank.io import Table

RUNS = (".run", ".trec", ".res")
SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".letor")


@with_columns("label", "qid", "id", "weight", "positive", "features", "delimiter")
def convert(
    files: Annotated[
        list[str],
        typer.Argument(help="One table, or several TREC runs as FILE or NAME=FILE, and last the file to write."),
    ],
    qrels: Annotated[Path | None, typer.Option(help="TREC judgements: grades of the documents in the runs.")] = None,
    judged: Annotated[bool, typer.Option(help="Count relevant documents that no run has in the ideal list.")] = True,
    columns: Any = None,
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
    runs = runs_of(named_runs)
    sources = list(runs.values()) or [Path(text) for text in given]
    read = [path for source in sources for path in with_ideal(source)]
    check_outputs([*read, qrels], dict(zip(("the table", "its ideal grades"), with_ideal(target))))
    if not runs:
        refuse_idle({"--qrels": qrels}, "it judges the documents of runs; give runs, or leave it out")
    if qrels is None:
        refuse_idle({"--no-judged": None if judged else True}, "it is about --qrels; add them, or leave it out")
    if runs:
        named = {name: value for name, value in columns.items() if name != "label"}
        refuse_idle(flags_of(named), "it is about a table, and runs were given; leave it out")
        scores = {name: read_run(path) for name, path in runs.items()}  # the features of one table
        table = fuse(scores, None if qrels is None else read_qrels(qrels), judged=judged)
        for note in table.notes:
            say(note)
    elif len(sources) > 1:
        raise InputError(f"{len(sources)} tables were given; convert one at a time.")
    else:
        table = read_data(sources[0], **columns)
    _write(target, table, columns["label"])
    if as_json:
        answer({"written": str(target), "n_rows": len(table), "n_features": int(table.X.shape[1])})
    else:
        tell(f"{len(table)} rows, {table.X.shape[1]} features -> {target}")


def _is_run(text: str, judged: bool) -> bool:
    """Whether a file is a TREC run: by NAME=FILE, suffix or lines; judgements (``judged``) are for runs alone."""
    from rerank.io.reader import is_table, suffix_of
    from rerank.io.trec import reads_as

    if named_run(text) is not None or suffix_of(text) in RUNS:
        return True
    return not is_table(text) and (judged or reads_as(text) == "a run")


def _write(target: Path, table: Table, label: str | None) -> None:
    """Write a table in the format of the suffix."""
    from rerank.io import write_csv, write_qrels, write_svmlight

    if target.suffix.lower() == ".csv":
        write_csv(target, table, label=label or "target")
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
        write_qrels(target, table.qid, row_names(table), table.y)
