"""``rerank card report``: the card, how good it is on rows, what its totals mean there, its cuts, what has moved."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rerank.cli.page import Section, picture, text
from rerank.errors import InputError
from rerank.io.page import Beside, Cells, Part

if TYPE_CHECKING:
    from rerank.io import Table
    from rerank.scorecard import Card
    from rerank.scorecard.rows import Rows

MOST_LINES = 100  # totals in the table; the picture has all
MOST_RISK, STEPS = 0.99, 200  # of a decision curve: the largest risk from which one acts, and places of the curve


def card_sections(
    card: Card, X: Any, table: Table, stat: str, fitted: str | None, other: tuple[str, Any] | None = None
) -> tuple[list[Section], dict[str, float]]:
    """The sections of the page, and the numbers of the card on the labelled rows of a table (X by names); ``other`` is
    the name of a second table, and its columns.
    """
    from rerank.scorecard.rows import Rows

    assert table.y is not None
    if table.y.max() > 1:
        raise InputError(
            f"The labels are grades up to {table.y.max():g}, and a card is for two labels; pass 0 and 1, or name the "
            "label to find with --pos-label."
        )
    rows = Rows.of(X, table.y > 0, table.qid, table.sample_weight, None, None)
    here = card.with_totals(card.total(rows.X), *rows.counts)
    known = card if card.totals else here
    first = card.parts()[0]
    good, numbers = _how_good(known, here, rows, stat, fitted)
    moved, index = _what_moved(card, here, rows, other)
    return [
        ("The card", [first, *card.remarks()]),
        ("How good it is on these rows", [*good, *_both_classes(here)]),
        ("What each total means", [*_meanings(card, here), *_risks(known, here)]),
        ("Where to cut", [text("Rows of at least this total are flagged; shares of these rows."), here.cut_cells()]),
        ("What each question tells, and what has moved", [*_information(card, rows), *moved]),
        ("The card on paper", [picture(known.plot)]),
    ], numbers | index


def _how_good(
    known: Card, here: Card, rows: Rows, stat: str, fitted: str | None
) -> tuple[list[Part], dict[str, float]]:
    """The statistic, Gini and KS on the rows, and what the file says of the fit."""
    from rerank.scorecard.figures import gini, separation
    from rerank.scorecard.result import amount, exact, four, later

    value, totals = later(stat, known, rows), known.total(rows.X)
    least = float(exact(stat, rows, totals, "pessimistic"))
    relevant, other = sum(total.relevant for total in here.totals), sum(total.other for total in here.totals)
    (ks, at), both = separation(here.totals), gini(here.totals)
    counts = [[(total.total, total.relevant, total.other) for total in card.totals] for card in (known, here)]
    own = known is not here and counts[0] == counts[1]
    told = [
        f"{amount(stat, value)} on {relevant + other:g} rows, {relevant:g} of them relevant"
        + (", as many of each total as in the fit." if own else "."),
        f"Gini {four(both)} (twice the AUC of all rows, less 1); KS {four(ks)}, at totals from {at} up.",
        "Rows of equal totals count in expectation over their orders"
        + (f"; with tied rows against the relevant ones it is {four(least)}." if least < value else "."),
    ]
    good: list[Part] = [text(*told)]
    if fitted is not None and own:
        good = [text(fitted), *good]
    elif fitted is not None:
        seen = "The number on these rows is evidence only if the fit has not seen them."
        good += [text(fitted), text(seen, small=True)]
    return good, {"value": value, "gini": both, "ks": ks}


def _both_classes(here: Card) -> list[Part]:
    from rerank.plots import roc_curve, totals_by_class

    left, right = (partial(draw, here.totals, here.cut) for draw in (totals_by_class, roc_curve))
    return [Beside([picture(left)], [picture(right)])]


def _risks(known: Card, here: Card) -> list[Part]:
    """Pictures of the risks of the card beside what these rows have: by total, calibrated, and as grounds to act."""
    from rerank.plots import calibration, card_risks, decision_curve
    from rerank.scorecard.card import wilson
    from rerank.scorecard.figures import net_benefit

    risk = known.risk([total.total for total in here.totals])
    p, q = np.array([(total.relevant, total.other) for total in here.totals]).T
    at = np.linspace(0.0, min(MOST_RISK, 1.3 * float(risk.max())), STEPS)
    worth, every = net_benefit(risk, p, q, at), net_benefit(np.ones(risk.size), p, q, at)
    levels, which = np.unique(risk, return_inverse=True)
    rows, hits = np.bincount(which, p + q), np.bincount(which, p)
    ends = np.array([wilson(*pair) for pair in zip(hits.tolist(), rows.tolist())])
    explained = (
        "Net benefit: relevant rows per row that are found by acting on all rows of at least a risk, less the others "
        "acted on, each weighed by the odds of that risk. A card is of use where it is above both acting on all and on "
        "none."
    )
    return [
        picture(lambda: card_risks(here.totals, here.cut)),
        text(known.said_of_risks(), small=True),
        Beside(
            [picture(lambda: calibration(levels, hits / rows, ends, rows))],
            [picture(lambda: decision_curve(at, worth, every))],
        ),
        text(explained, small=True),
    ]


def _information(card: Card, rows: Rows) -> list[Part]:
    """The information value of each question and of the total."""
    from rerank.scorecard.card import percent
    from rerank.scorecard.figures import information

    cells = [["question", "points", "answered by yes", "information value"]]
    p, q = rows.counts
    for question, points, yes in zip(card.questions, card.points, card.answers(rows.X)):
        sides = [[side[yes].sum(), side[~yes].sum()] for side in (p, q)]
        share = percent(float((p + q)[yes].sum() / (p + q).sum()))
        cells.append([str(question), f"{points:+d}", share, f"{information(*sides):.3f}"])
    level = np.unique(card.total(rows.X), return_inverse=True)[1]
    cells.append(["total", "", "", f"{information(*(np.bincount(level, side) for side in (p, q))):.3f}"])
    return [Cells(cells, ("left", "right", "right", "right"), named=True)]


def _what_moved(
    card: Card, here: Card, rows: Rows, other: tuple[str, Any] | None
) -> tuple[list[Part], dict[str, float]]:
    """How far the totals of these rows are from those of the fit, and those of a second table from these."""
    from rerank.scorecard.figures import LARGE, SMALL, by_total, moved, stability

    parts, found = list[Part](), dict[str, float]()
    if card.totals:
        found["psi"] = stability(*by_total(card, card.total(rows.X), rows.weight))
        told = f"population stability index (PSI) {found['psi']:.3f}"
        parts.append(text(f"From the rows of the fit to these the totals have {moved(found['psi'])}: {told}."))
    if other is not None:
        name, X = other
        ones = np.ones(X.shape[0])
        index = found["psi_against"] = stability(*by_total(here, card.total(X), ones))
        lines = [["question", "share of yes here", f"in {name}", "PSI"]]
        for question, yes, theirs in zip(card.questions, card.answers(rows.X), card.answers(X)):
            counts = [[side @ own, side @ ~own] for side, own in ((rows.weight, yes), (ones, theirs))]
            shares = [f"{100 * own[0] / sum(own):.1f} %" for own in counts]
            lines.append([str(question), *shares, f"{stability(*counts):.3f}"])
        parts.append(text(f"From these rows to those of {name} the totals have {moved(index)}: PSI {index:.3f}."))
        parts.append(Cells(lines, ("left", "right", "right", "right"), named=True))
    if parts:
        parts.append(
            text(f"By custom a PSI below {SMALL:g} is no change, and one above {LARGE:g} a large one.", small=True)
        )
    return parts, found


def _meanings(card: Card, here: Card) -> list[Part]:
    """Rows here at each total, and beside them the risk that the card tells."""
    from rerank.scorecard.card import percent, wilson

    known = bool(card.totals)
    lines = [["total", "rows", "relevant", "share", "95 % interval", *(["risk, by the card"] if known else [])]]
    risks = card.risk([total.total for total in here.totals]).tolist() if known else [None] * len(here.totals)
    outside = 0
    for total, risk in zip(here.totals, risks):
        rows = total.relevant + total.other
        low, high = wilson(total.relevant, rows)
        outside += risk is not None and not low <= risk <= high
        cells = [str(total.total), f"{rows:g}", f"{total.relevant:g}", percent(total.relevant / rows)]
        lines.append([*cells, f"{percent(low)} to {percent(high)}", *([] if risk is None else [percent(risk)])])
    parts: list[Part] = [Cells(lines[: MOST_LINES + 1], ("right",) * len(lines[0]), named=True)]
    if len(lines) > MOST_LINES + 1:
        parts.append(text(f"The largest {MOST_LINES} of {len(lines) - 1} totals are shown.", small=True))
    told = "The card was written by hand: its risks are those of these rows."
    if known:
        told = (
            f"At {outside} of {len(here.totals)} totals the card's risk is outside the interval of these rows; "
            "about 1 of 20 is to be expected of a card that tells the risks of such rows."
        )
    return [*parts, text(told)]
