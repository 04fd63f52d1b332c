"""``rerank rank``, ``rerank score`` and ``rerank report``: what a model makes of a table."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rerank.cli.common import FAILED, AsJson, answer, entries, say, tell, warnings_as_lines, working, write_page
from rerank.cli.inputs import (
    Columns,
    Data,
    Model,
    RawIds,
    cells_beside,
    lists_for_model,
    ranker,
    read_for,
    refuse_idle,
    row_names,
    scores_shown,
    tell_apostrophes,
    there,
    with_columns,
    with_ideal,
)
from rerank.cli.pictures import check_one_list, check_picture, list_drawn, write_picture
from rerank.errors import InputError, InputWarning, RerankError

if TYPE_CHECKING:
    from rerank.io import Table
    from rerank.reranker.files.model_file import ModelDocument
    from rerank.reranker.files.verify import Report
    from rerank.reranker.ranked import StateRanker

DIGESTS = ("data_sha256", "result.certificate.data_sha256")
"""The checks that a digest of other data fails, the digest's own first."""


@with_columns("qid", "id", "delimiter")
def rank(
    model: Model,
    data: Data,
    columns: Any = None,
    output: Annotated[Path | None, typer.Option(help="Write the whole list to a .csv, or to a .run (TREC).")] = None,
    show: Columns = None,
    top: Annotated[int, typer.Option(min=0, help="Rows of each list to print; 0 for all.")] = 10,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw what was found by rows looked at; without labels what lifts the first rows: a .png, .svg or "
            ".pdf."
        ),
    ] = None,
    raw_ids: RawIds = False,
    as_json: AsJson = False,
) -> None:
    """Rank the rows of a table, best first."""
    from rerank.io.paths import check_outputs
    from rerank.ranks.lists import rows_by_list

    if output is not None and output.suffix not in (".run", ".trec", ".csv"):
        raise InputError(f"{output} names no format; write to a .csv or a .run file.")
    if output is None or output.suffix != ".csv":
        refuse_idle({"--raw-ids": raw_ids or None}, "it is about a list in CSV; add --output FILE.csv, or leave it out")
    if output is not None and output.suffix != ".csv":
        refuse_idle({"--columns": show}, "a run holds no columns; write a .csv file, or leave it out")
    check_picture(plot)
    check_outputs([model, *with_ideal(data)], {"--output": output, "--plot": plot})
    doc, table = _to_rank(model, data, columns, plot)
    est = ranker(doc, model)
    with warnings_as_lines(InputWarning):
        places = est.rank(table.X, said := lists_for_model(table))
        as_run = output is not None and output.suffix != ".csv"  # its scores have to order the lines
        scores = est.list_scores(table.X, said) if as_run else scores_shown(est, table)
    names = row_names(table)

    def beside(rows: list[int], default: bool) -> dict[str, list[str]]:
        return cells_beside(data, table, rows, show, columns["delimiter"], default)

    lists = [(str(name), rows[places[rows].argsort()]) for name, rows in rows_by_list(table.qid, len(table))]
    if output is not None:
        _write(output, table, names, scores, places, raw_ids, lambda rows: beside(rows, False))
        say(f"{len(table)} rows in {len(lists)} list(s) written to {output}.")
    columns_shown = ("list", "place", "id", "score")
    first = [(name, row) for name, rows in lists for row in (rows if top <= 0 else rows[:top]).tolist()]
    shown: list[dict[str, Any]] = [
        dict(zip(columns_shown, (None if table.qid is None else name, int(places[row]), str(names[row]), scores[row])))
        for name, row in first
    ]
    if as_json:
        cells = beside([row for _, row in first], False)
        for k, entry in enumerate(shown if cells else ()):
            entry["columns"] = {name: values[k] for name, values in cells.items()}
        answer({"rows": shown, "n_rows": len(table), "n_lists": len(lists)})
    elif output is None:
        _print(table, shown, beside([row for _, row in first], True))
        _tell_expected(est)
    if plot is not None:
        write_picture(plot, lambda: list_drawn(est, table, top or len(table)))


def _tell_expected(est: StateRanker) -> None:
    """What held-out rows of the fit say of the list, where there were any."""
    from rerank.reranker.describe import describe

    if est.result_.evidence is not None and est.result_.evidence.expected is not None:
        tell(describe(est.state_).answer)


def _to_rank(model: Path, data: Path, columns: dict[str, Any], plot: Path | None) -> tuple[ModelDocument, Table]:
    """Model and table; with labels only for a picture, where the table has them."""
    try:
        doc, table = read_for(model, data, **columns, take_label=plot is not None)
    except InputError as error:
        if plot is None:
            raise
        doc, table = read_for(model, data, **columns)  # it was about the labels, which rows to come may lack
        say(f"The picture is drawn without labels: {error}")
    check_one_list(plot, table)
    return doc, table


def _print(table: Table, shown: list[dict[str, Any]], beside: Mapping[str, list[str]]) -> None:
    """The first rows of each list, in columns."""
    from rerank.cli.page import short_cell, short_name
    from rerank.io.page import Cells, as_text

    names = [*([] if table.qid is None else ["list"]), "place", "id", "score"]
    cells = [[f"{row[name]:.6g}" if name == "score" else row[name] for name in names] for row in shown]
    for values in beside.values():
        cells = [[*line, short_cell(cell)] for line, cell in zip(cells, values)]
    numbered = "row" if table.ids is not None else "row from 0"
    sides = [*("left" if name in ("list", "id") else "right" for name in names), *("left" for _ in beside)]
    head = [*(numbered if name == "id" else name for name in names), *map(short_name, beside)]
    tell(as_text([Cells([head, *cells], sides)]))
    if len(shown) < len(table):
        tell(f"{len(shown)} of {len(table)} rows; --top 0 prints all.")


def _write(path: Path, table: Any, names: Any, scores: Any, places: Any, raw: bool, beside: Any) -> None:
    from rerank.io import write_run
    from rerank.io.atomic import writing

    if path.suffix in (".run", ".trec"):
        write_run(path, table.qid, names, scores, ranks=places)
        return
    import csv

    from rerank.io.csv_table import spreadsheet_cell

    order = sorted(range(len(names)), key=lambda row: ("" if table.qid is None else table.qid[row], places[row]))
    columns: dict[str, list[str]] = beside(order)
    more = list(zip(*columns.values())) or [()] * len(order)
    with writing(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        heads = ["place", "id", "score", *(spreadsheet_cell(name, raw) for name in columns)]
        writer.writerow([*([] if table.qid is None else ["qid"]), *heads])
        for row, cells in zip(order, more):
            own = [] if table.qid is None else [spreadsheet_cell(str(table.qid[row]), raw)]
            cell = spreadsheet_cell(str(names[row]), raw)
            shown = (spreadsheet_cell(cell, raw) for cell in cells)
            writer.writerow([*own, int(places[row]), cell, repr(float(scores[row])), *shown])
    tell_apostrophes([*names, *(() if table.qid is None else table.qid), *chain(*columns.values())], raw)


@with_columns("label", "qid", "weight", "pos_label", "delimiter")
def score(
    model: Model,
    data: Data,
    columns: Any = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw relevant rows found by rows looked at: a .png, .svg or .pdf.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate a ranking of labelled rows, and the first stage's."""
    from rerank.io.paths import check_outputs
    from rerank.ranks import count_empty, evaluate

    check_picture(plot)
    check_outputs([model, *with_ideal(data)], {"--plot": plot})
    doc, table = read_for(model, data, **columns, need_label=True)
    check_one_list(plot, table)
    est = ranker(doc, model)
    assert table.y is not None
    if plot is not None:
        write_picture(plot, lambda: list_drawn(est, table, 0))
    stat, weights = est.state_.task.quoted, entries(table, "sample_weight", "ideal_gains")
    value = est.score(table.X, table.y, lists_for_model(table), **weights)
    scores, first, tied = est.first_stage_scores(table.X), None, ""
    if scores is not None:
        given = {"gain": est.gain, **weights}
        first, even = (evaluate(stat, table.y, scores, table.qid, ties=ties, **given) for ties in (None, "average"))
        if even - first > 1e-6 * max(1.0, abs(even)):
            tied = f", its rows of equal score as lost, and {even:.4g} on average over their orders"
    empty = count_empty(stat, table.y, table.qid, gain=est.gain, sample_weight=table.sample_weight)
    name = stat.name
    if as_json:
        answer({"statistic": name, "value": value, "first_stage": first, "n_rows": len(table), "n_empty_lists": empty})
        return
    tell(f"{name}  {value:.4g}  on these {len(table):,} rows")
    if first is not None:
        tell(f"{name} of the first stage alone  {first:.4g}{tied}")
    _tell_expected(est)
    if empty:
        say(f"{empty} list{'s' * (empty > 1)} without anything to order {'are' if empty > 1 else 'is'} not counted.")


@with_columns("label", "qid", "id", "weight", "pos_label", "delimiter")
def report(
    model: Model,
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the page.")] = Path("report.html"),
    columns: Any = None,
    show: Columns = None,
    as_json: AsJson = False,
) -> None:
    """Write one HTML page on a model and a table.

    On one screen what the list finds, a picture of both lists, held-out evidence and the proof; then the list with the
    columns that moved each row; folded what was tried and checked. The page needs no network and runs no code. If the
    rows are those of the fit, the model's numbers are recomputed from them. Ends with 5 if the file contradicts itself
    or these rows.
    """
    from rerank.cli.page import ranked, sections
    from rerank.io.paths import check_outputs

    if output.suffix not in (".html", ".htm"):
        raise InputError(f"{output} is no name of a page; let it end in .html.")
    check_outputs([model, *with_ideal(data)], {"--output": output})
    doc, table = read_for(model, data, **columns, take_label=True)
    table = there(table)
    est = ranker(doc, model)
    with working(f"Ranking {len(table)} rows, and checking the model's numbers ..."):
        checked, recomputed = _checked(doc, table, str(model))
        found = ranked(est, table, recomputed)
        beside = cells_beside(data, table, found.first_rows, show, columns["delimiter"])
        title, parts = sections(found, beside, data.name, doc, checked)
    write_page(output, title, parts, as_json)
    if not checked.holds:
        failed = ", ".join(check.name for check in checked.checks if not check.holds)
        say(f"{checked.outcome} What does not hold: {failed}.")
        raise typer.Exit(FAILED)


def _checked(doc: ModelDocument, table: Table, where: str) -> tuple[Report, bool]:
    """The verification, and whether the table is the fit's, wrong digests aside; for another one the file's alone."""
    from rerank.reranker.files.verify import verify

    with suppress(RerankError):
        found = verify(doc, table, where=where) if table.y is not None else None
        digest = [] if found is None else [check.holds for check in found.checks if check.name in DIGESTS[:1]]
        failed = set() if found is None else {check.name for check in found.checks if not check.holds}
        if found is not None and digest and (digest == [True] or failed <= set(DIGESTS)):
            return found, True
    return verify(doc, where=where, without_data=True), False
