"""The sections of ``rerank card report``: the card, how good it is on rows, what its totals mean there, its cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rerank.cli.page import Section, picture, text
from rerank.errors import InputError
from rerank.io.page import Cells, Part

if TYPE_CHECKING:
    from rerank.io import Table
    from rerank.scorecard import Card

MOST_LINES = 100  # totals in the table; the picture has all


def sections(card: Card, X: Any, table: Table, stat: str, fitted: str | None) -> tuple[list[Section], float]:
    """The sections of the page, and the value of the card on the labelled rows of a table (X by names)."""
    from rerank.plots import card_risks
    from rerank.scorecard.result import exact, four
    from rerank.scorecard.rows import Rows
    from rerank.scorecard.statement import measure

    assert table.y is not None
    if table.y.max() > 1:
        raise InputError(
            f"The labels are grades up to {table.y.max():g}, and a card is for two labels; pass 0 and 1, or name the "
            "label to find with --positive-label."
        )
    rows = Rows.of(X, table.y > 0, table.qid, table.sample_weight, None, None)
    totals = card.total(rows.X)
    here = card.with_totals(totals, *rows.counts)
    value, least = (float(exact(stat, rows, totals, ties)) for ties in ("average", "pessimistic"))
    statistic, rate = measure(stat)
    name = stat if rate is not None else "AUC" if statistic.name == "auc" else statistic.name
    relevant = sum(one.relevant for one in here.totals)
    every = sum(one.relevant + one.other for one in here.totals)
    told = [
        f"{name} {four(value)} on {every:g} rows, {relevant:g} of them relevant.",
        "Rows of equal totals count in expectation over their orders"
        + (f"; with tied rows against the relevant ones it is {four(least)}." if least < value else "."),
    ]
    good: list[Part] = [text(*told)]
    if fitted is not None:
        seen = "The number on these rows is evidence only if the fit has not seen them."
        good += [text(fitted), text(seen, small=True)]
    first, *rest = card.parts()
    remarks = [part for part in rest[-1:] if not isinstance(part, Cells)]
    return [
        ("The card", [first, *remarks]),
        ("How good it is on these rows", good),
        ("What each total means", [*_meanings(card, here), picture(lambda: card_risks(here.totals, here.cut))]),
        ("Where to cut", [text("Rows of at least this total are flagged; shares of these rows."), here.cut_cells()]),
        ("The card on paper", [picture((card if card.totals else here).plot)]),
    ], value


def _meanings(card: Card, here: Card) -> list[Part]:
    """Rows here at each total, and beside them the risk that the card tells."""
    from rerank.scorecard.card import percent

    known = bool(card.totals)
    lines, outside = [["total", "rows", "relevant", "share", "95 % interval of the risk here"]], 0
    for one in here.totals:
        rows, ends = one.relevant + one.other, f"{percent(one.low)} to {percent(one.high)}"
        lines.append([str(one.total), f"{rows:g}", f"{one.relevant:g}", percent(one.relevant / rows), ends])
    risks = card.risk([one.total for one in here.totals]).tolist() if known else []
    if known:
        outside = sum(not one.low <= risk <= one.high for one, risk in zip(here.totals, risks))
        lines = [[*line, own] for line, own in zip(lines, ["risk, by the card", *map(percent, risks)])]
    parts: list[Part] = [Cells(lines[: MOST_LINES + 1], ("right",) * len(lines[0]), named=True)]
    if len(lines) > MOST_LINES + 1:
        parts.append(text(f"The largest {MOST_LINES} of {len(lines) - 1} totals are shown.", small=True))
    shared = "Neighbouring totals whose shares do not rise with the total share one interval, of all their rows."
    told = "The card was written by hand: its risks are those of these rows."
    if known:
        told = (
            f"At {outside} of {len(here.totals)} totals the card's risk is outside the interval of these rows; "
            "about 1 of 20 is to be expected of a card that tells the risks of such rows."
        )
    return [*parts, text(shared, small=True), text(told)]
