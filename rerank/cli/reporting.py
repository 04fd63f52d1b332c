"""``rerank report``: one page for people who get the list and decide by it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rerank.cli.common import (
    AsJson,
    Data,
    Delimiter,
    Id,
    Label,
    Model,
    Positive,
    Qid,
    Weight,
    answer,
    read_for,
    say,
    with_ideal,
    working,
)
from rerank.cli.page import Section, page, picture, rows, text
from rerank.errors import InputError, RerankError

if TYPE_CHECKING:
    from rerank.io import Table
    from rerank.reranker.estimator import Reranker
    from rerank.reranker.files.model_file import ModelDocument
    from rerank.reranker.files.verify import Report

SHOWN = 20
"""Rows of the list, where the statistic has no number of places."""
MOST_ROWS = 200
DRAWS = 1000


def report(
    model: Model,
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the page.")] = Path("report.html"),
    label: Label = None,
    qid: Qid = None,
    id: Id = None,
    weight: Weight = None,
    positive_label: Positive = None,
    delimiter: Delimiter = None,
    as_json: AsJson = False,
) -> None:
    """Write one HTML page on a model and a table.

    The list, what changed, evidence, proof, certificate. The page needs no network and runs no code. With labels it
    says how the list does on these rows; if they are those of the fit, the model's numbers are recomputed from them.
    """
    from rerank.io.atomic import writing
    from rerank.io.paths import check_outputs
    from rerank.reranker.estimator import restored
    from rerank.reranker.files.document import state_of

    if output.suffix not in (".html", ".htm"):
        raise InputError(f"{output} is no name of a page; let it end in .html.")
    check_outputs([model, *with_ideal(data)], {"--output": output})
    doc, table = read_for(
        model, data, label=label, qid=qid, id=id, weight=weight, positive=positive_label, delimiter=delimiter,
        take_label=True,
    )  # fmt: skip
    est = restored(state_of(doc, where=str(model)))
    with working(f"Ranking {len(table)} rows, and checking the model's numbers ..."):
        ranked, checked = _ranked(est, table), _checked(doc, table, str(model))
        sections = [
            _question(ranked), _list(ranked), _change(ranked), _evidence(ranked, checked is not None), _proof(est),
            _certificate(doc, checked),
        ]  # fmt: skip
    title = f"The list of {data.name} by {est.result_.statistic_name}"
    with writing(output) as file:
        file.write(page(title, sections))
    if as_json:
        answer({"page": str(output), "sections": [one.title for one in sections]})
    else:
        say(f"Written to {output}.")


def _checked(doc: ModelDocument, table: Table, where: str) -> Report | None:
    """The report of the verification; None for a table that is not the one of the fit."""
    from rerank.reranker.files.verify import verify

    if table.y is None:
        return None
    try:
        found = verify(doc, table, where)
    except RerankError:
        return None
    same = [check.holds for check in found.checks if check.name == "digest of the data"]
    return found if same == [True] else None


@dataclass(frozen=True, eq=False)
class _Ranked:
    """A table ranked by a model: scores and places, those of the first stage (or None), places that count (or None)."""

    est: Reranker
    table: Table
    scores: Any
    places: Any
    first: Any
    before: Any
    depth: int | None


def _ranked(est: Reranker, table: Table) -> _Ranked:
    from rerank.ranks.lists import places_by_list
    from rerank.statistics import parse

    scores, first = est.list_scores(table.X, table.qid), est.first_stage_scores(table.X)
    before = None if first is None else places_by_list(first, table.qid)
    depth = getattr(parse(est.stat), "at", None)
    return _Ranked(est, table, scores, places_by_list(scores, table.qid), first, before, depth)


def _question(ranked: _Ranked) -> Section:
    table, depth = ranked.table, ranked.depth
    n_lists = 1 if table.qid is None else len(set(table.qid.tolist()))
    lists = "" if n_lists == 1 else f" in {n_lists} lists"
    first = "" if depth is None else f" The first {depth} places{' of each list' if lists else ''} count."
    asked = f"Which of {len(table)} rows{lists} should be looked at first?{first}"
    return Section("The question", [text(asked, f"A list is judged by {ranked.est.result_.statistic_name}.")])


def _list(ranked: _Ranked) -> Section:
    from rerank.ranks.lists import rows_by_list

    table, places, before, depth = ranked.table, ranked.places, ranked.before, ranked.depth
    n_shown = min(SHOWN if depth is None else depth + 5, MOST_ROWS)
    order: list[int] = []
    for _, rows_of_list in rows_by_list(table.qid, len(table)):
        order += rows_of_list[places[rows_of_list].argsort()][:n_shown].tolist()
    order = order[:MOST_ROWS]
    head = ["place", "row", "score"] + (["place before"] if before is not None else [])
    head += ["relevant"] if table.y is not None else []
    if table.qid is not None:
        head.insert(0, "list")
    body = []
    for row in order:
        own: list[Any] = [] if table.qid is None else [table.qid[row]]
        name = row if table.ids is None else table.ids[row]
        own += [int(places[row]), name, f"{ranked.scores[row]:.4g}"]
        own += [int(before[row])] if before is not None else []
        if table.y is not None:
            own.append("" if table.y[row] <= 0 else "yes" if table.y[row] == 1 else f"grade {table.y[row]:g}")
        body.append(own)
    start = 1 if table.qid is not None else 0
    numbers = [start, start + 2] + ([start + 3] if before is not None else [])
    below = "" if depth is None or table.qid is not None else " The line is where the list is cut."
    which = "best" if table.qid is None else f"best {n_shown} of each list, in the order of their names:"
    shown = text(f"The {which} {len(body)} of {len(table)} rows.{below}", small=True)
    return Section("The list", [rows(head, body, numbers, depth if table.qid is None else None), shown])


def _change(ranked: _Ranked) -> Section:
    est, places, before, depth = ranked.est, ranked.places, ranked.before, ranked.depth
    if not est.reranks_:
        return Section("What changed, and why", [text(est.result_.message)])
    parts = []
    if before is not None and depth is not None:
        count, both = int((places <= depth).sum()), int(((places <= depth) & (before <= depth)).sum())
        parts.append(text(f"The first stage had {both} of these first {count} rows in its own first {depth} places."))
    words = [note for note in est.result_.notes if note.startswith("Corrections")]
    parts.append(text(*words) if words else text("The score is the sum of the columns by these weights."))
    weights = [(name, f"{weight:+.4g}") for name, weight in est.state_.named_weights().items()]
    parts.append(rows(["column", "weight of one unit, in all"], weights, [1]))
    return Section("What changed, and why", parts)


def _evidence(ranked: _Ranked, own: bool) -> Section:
    est, table = ranked.est, ranked.table
    title, name = "How good it is on these rows", est.result_.statistic_name
    if table.y is None or not (table.y > 0).any():
        lacking = "no labels" if table.y is None else "no relevant row"
        return Section(title, [text(f"The table has {lacking}, so the list cannot be judged by it.")])
    from rerank.cli.bootstrap import lead_of

    found = lead_of(est, table, ranked.scores, ranked.first, DRAWS)
    if not isfinite(found.value):
        return Section(title, [text(f"No {name} is defined on these rows: they hold nothing to order.")])
    lines = [f"{name} of this list is {found.value:.4g}."]
    if found.first is not None:
        lines.append(f"The first stage's list has {found.first:.4g}.")
    if own:
        if est.result_.folds:
            lines.append("The numbers of the fit below differ, because they use out-of-fold scores of the first stage.")
        lines.append(
            "These are the rows that the model was fitted on, which says little about rows to come: fit with --cv, or "
            "make a report on rows that the fit has not seen."
        )
    elif found.first is not None and isfinite(found.low):
        lines.append(
            f"The lead is {found.value - found.first:+.4g}; its 95 % interval goes from {found.low:+.4g} to "
            f"{found.high:+.4g} (the {'rows' if table.qid is None else 'lists'} drawn anew {DRAWS} times). "
            "That is evidence only if the fit has not seen these rows."
        )
    parts = [text(*lines)]
    if table.qid is None and find_spec("matplotlib") is not None:
        import matplotlib

        from rerank.plots import cumulative_gain

        matplotlib.use("Agg")
        curves = {"fitted": ranked.scores} | ({} if ranked.first is None else {"first stage": ranked.first})
        parts.append(picture(cumulative_gain(table.y > 0, curves, top=ranked.depth)))
    return Section(title, parts)


def _proof(est: Reranker) -> Section:
    from rerank.reranker.shown import html_of

    return Section("What was proved about the fit", [html_of(est.result_)])


def _certificate(doc: ModelDocument, checked: Report | None) -> Section:
    parts = []
    if checked is None:
        parts.append(text("The numbers of the fit were not recomputed here: that takes the labelled rows of the fit."))
    else:
        failed = [check.name for check in checked.checks if not check.holds]
        told = f" These do not hold: {', '.join(failed)}." if failed else ""
        parts.append(text(f"{len(checked.checks)} claims were recomputed from these rows. {checked.outcome}{told}"))
        for why, names in checked.reasons().items():
            parts.append(text(f"{why[0].upper()}{why[1:]}: {', '.join(names)}.", small=True))
    if doc.data_sha256:
        parts.append(text(f"Digest of the fitted problem: {doc.data_sha256}.", small=True))
    versions = ", ".join(f"{name} {version}" for name, version in doc.versions.items())
    parts.append(text(f"Made with {versions}.", small=True))
    return Section("Certificate and versions", parts)
