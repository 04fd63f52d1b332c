"""Cards of points: the risk of each total, and the card as it is on paper."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rerank.errors import InputError
from rerank.plots.drawn import RiskOfTotal
from rerank.plots.style import BLUE, GREY, ORANGE, Look, axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE = 52  # signs of a question on one line of a card
LINE, MORE = 0.28, 0.62  # inches of a line of a card, and what each further line of a question takes of that
LEFT = 0.11  # where the cells of risks begin, as a share of the card's width
SIGN = 0.0095  # width of a sign in a cell, as a share of the card's width
MOST_LINES = 25  # intervals that are drawn as lines; where there are more, they are one band
MOST_CELLS = 12  # totals on the line of risks; where there are more, or they are long, neighbours share a cell


def card_risks(totals: Sequence[RiskOfTotal], cut: int | None = None, *, ax: Axes | None = None) -> Axes:
    """The risk of each total with its interval, rows with the total as light bars, and the cut as a line.

    Parameters
    ----------
    totals : sequence of Total
        As a card has them.
    cut : int, optional
        Rows of at least this total are flagged.

    Raises
    ------
    InputError
        If there is no total.
    """
    if not totals:
        raise InputError("The card has no totals, since it was not fitted; call its with_totals on labelled rows.")
    ax = axes_of(ax, (6.0, 3.8))
    places = np.array([total.total for total in totals])
    rows = np.array([total.relevant + total.other for total in totals])
    risk, low, high = np.array([(total.risk, total.low, total.high) for total in totals]).T
    width = 0.8 * float(np.diff(np.sort(places)).min()) if places.size > 1 else 0.8
    behind = ax.twinx()
    behind.bar(places, rows, width=width, color="#E4E4E4", edgecolor=GREY, linewidth=0.5)
    behind.set(ylabel="rows, as bars", ylim=(0, 1.25 * rows.max()))
    behind.spines["top"].set_visible(False)
    ax.set_zorder(behind.get_zorder() + 1)
    ax.patch.set_visible(False)
    if places.size > MOST_LINES:
        ax.fill_between(places, low, high, color=BLUE, alpha=0.25, linewidth=0)
        ax.plot(places, risk, color=BLUE, lw=1.6)
    else:
        for place, bottom, top in zip(places, low, high):
            ax.plot([place, place], [bottom, top], color=BLUE, lw=1.6, solid_capstyle="butt")
        ax.plot(places, risk, "-o", color=BLUE, lw=1, ms=5, mfc="white", zorder=3)
    if cut is not None:
        edge = cut - 0.5
        ax.axvline(edge, color=ORANGE, ls="--", lw=1.4)
        look: Look = dict(xycoords=("data", "axes fraction"), textcoords="offset points", va="bottom")
        ax.annotate(f"flagged from {cut}", (edge, 1.0), (4, 2), color=ORANGE, fontsize=9, **look)
    ax.set(xlabel="total", ylabel="risk, 95 % interval", ylim=(0, 1.02))
    ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    ax.locator_params(axis="x", integer=True)
    behind.locator_params(axis="y", integer=True)
    room, shown = 0.7 * width + 0.1, [*places, *(() if cut is None else (cut - 1, cut))]
    ax.set_xlim(min(shown) - room, max(shown) + room)
    ax.spines["top"].set_visible(False)
    return ax


def card_picture(
    questions: Sequence[str],
    points: Sequence[int],
    totals: Sequence[RiskOfTotal] = (),
    cut: int | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """A card as on paper: a line for each question with its points and a box to fill in, then the risk of each total.

    Parameters
    ----------
    questions : sequence of str
    points : sequence of int
    totals : sequence of Total, optional
        Where there are more than 12, neighbours share a cell, whose risk is that of its rows.
    cut : int, optional
        Cells of totals that are flagged are filled.

    Raises
    ------
    InputError
        If there are not as many points as questions, or none.
    """
    if not 0 < len(questions) == len(points):
        raise InputError(f"There are {len(questions)} questions and {len(points)} points; give one of each.")
    shown = ("".join(sign if sign.isprintable() else " " for sign in question) for question in questions)
    lines = [textwrap.wrap(text, WIDE, max_lines=3, break_on_hyphens=False) or [""] for text in shown]
    below = 0.0 if not totals else 3.4 if cut is None else 4.0
    sizes = [1.4 + MORE * (len(wrapped) - 1) for wrapped in lines]
    height = 1.2 + sum(sizes) + 1.5 + below
    ax = axes_of(ax, (6.0, LINE * height + 0.2))
    ax.set(xlim=(0, 1), ylim=(height, 0))
    ax.axis("off")
    look: Look = dict(va="center", fontsize=10, parse_math=False)
    ax.text(0.0, 0.6, "question", weight="bold", **look)
    ax.text(0.82, 0.6, "points", weight="bold", ha="right", **look)
    ax.plot([0, 1], [1.2, 1.2], color="black", lw=1.2)
    y = 1.2
    for question, own, size in zip(lines, points, sizes):
        middle = y + size / 2
        ax.text(0.0, middle, "\n".join(question), linespacing=1.1, **look)
        ax.text(0.82, middle, f"{own:+d}", ha="right", **look)
        _box(ax, 0.86, middle - 0.42, 0.14, 0.84)
        y += size
        ax.plot([0, 1], [y, y], color=GREY, lw=0.5)
    ax.text(0.82, y + 0.8, "total", weight="bold", ha="right", **look)
    _box(ax, 0.86, y + 0.3, 0.14, 1.0, lw=1.4)
    if totals:
        _risk_line(ax, y + 2.2, _cells(totals, cut), cut)
    return ax


def _box(ax: Axes, x: float, y: float, width: float, height: float, lw: float = 0.8, fill: str = "none") -> None:
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((x, y), width, height, facecolor=fill, edgecolor="black", linewidth=lw, clip_on=False))


def _cells(totals: Sequence[RiskOfTotal], cut: int | None) -> list[tuple[str, int, float]]:
    """What stands in each cell, from the smallest totals up: totals, the least of them, and the risk of their rows."""
    rising = sorted(totals, key=lambda total: total.total)
    rows = np.array([total.relevant + total.other for total in rising])
    parts = [[k] for k in range(len(rising))]

    def numbers_of(part: list[int]) -> str:
        low, high = rising[part[0]].total, rising[part[-1]].total
        return str(low) if low == high else f"{low} to {high}"

    def risk(part: list[int]) -> float:
        return float(np.average([rising[k].risk for k in part], weights=rows[part]))

    def apart(own: list[int], after: list[int]) -> float:
        flagged = cut is not None and rising[own[0]].total < cut <= rising[after[0]].total
        return np.inf if flagged else risk(after) - risk(own)

    def crowded() -> bool:
        longest = max(len(numbers_of(part)) + 1 for part in parts)
        return len(parts) > MOST_CELLS or longest * SIGN * len(parts) > 1 - LEFT

    while len(parts) > 2 and crowded():
        at = int(np.argmin([apart(own, after) for own, after in pairwise(parts)]))  # those whose risks are nearest
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return [(numbers_of(part), rising[part[0]].total, risk(part)) for part in parts]


def _risk_line(ax: Axes, y: float, cells: list[tuple[str, int, float]], cut: int | None) -> None:
    """Two rows of cells: totals, and their risks below."""
    width = (1.0 - LEFT) / len(cells)
    small = 10 if len(cells) <= 7 else 8
    for row, name in enumerate(("total", "risk")):
        ax.text(0.0, y + 1.2 * row + 0.6, name, weight="bold", va="center", fontsize=10)
    for k, (told, low, risk) in enumerate(cells):
        flagged = cut is not None and low >= cut
        for row, text in enumerate((told, f"{100 * risk:.0f} %" if 0.1 <= risk <= 0.9 else f"{100 * risk:.1f} %")):
            _box(ax, LEFT + k * width, y + 1.2 * row, width, 1.2, fill="#F3D9C4" if flagged else "none")
            ax.text(LEFT + (k + 0.5) * width, y + 1.2 * row + 0.6, text, ha="center", va="center", fontsize=small)
    if cut is not None:
        ax.text(1.0, y + 2.9, f"filled cells: flagged, from {cut} on", ha="right", va="center", fontsize=8)
