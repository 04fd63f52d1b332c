"""Curves of a list as SVG for a page: no package of pictures is needed."""

import math
import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.plots.style import BLUE, GREY, ORANGE
from rerank.ranks.lists import rows_by_list

Floats = NDArray[np.float64]

SHOWN = 4  # places on the axis, in multiples of the depth
MOST_STEPS = 240  # places up to which each has its step; of more, as many are drawn
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, LINE = 440, 290, 50, 14, 40, 40, 19  # a picture; a line of the legend
# Colour, dashes and width of each kind of curve.
STYLES = {"list": (BLUE, "", 2), "first stage": (ORANGE, "8 4", 2), "random": (GREY, "2 4", 2), "ideal": (GREY, "", 1)}


class Curve(NamedTuple):
    """A name, a kind out of :data:`STYLES`, and the values at places 0, 1, ..., as float64 array (ends + 1,)."""

    name: str
    kind: str
    values: Floats


def found_by_place(
    relevant: ArrayLike, scores: ArrayLike, qid: ArrayLike | None, ends: int, average: bool = False
) -> Floats:
    """Relevant rows among the first 0, 1, ..., ``ends`` of a list, float64 (ends + 1,), mean over lists.

    Larger scores are better. Of equal ones relevant rows are last, or with ``average`` count by the mean over their
    orders, so that equal scores of all rows give a random order. A shorter list has all that it holds.
    """
    found, values = np.asarray(relevant, dtype=bool), np.asarray(scores, dtype=np.float64)
    total, lists = np.zeros(ends + 1), 0
    for _, rows in rows_by_list(qid, found.size):
        order = rows[np.lexsort((found[rows], -values[rows]))]
        counts, known = np.concatenate([[0], np.cumsum(found[order])]), np.arange(rows.size + 1)
        if average:
            known = np.flatnonzero(np.concatenate([[True], np.diff(values[order]) != 0, [True]]))
        total, lists = total + np.interp(np.arange(ends + 1), known, counts[known]), lists + 1
    return total / max(lists, 1)


def shared_by_place(before: ArrayLike, after: ArrayLike, qid: ArrayLike | None, ends: int) -> Floats:
    """Rows among the first 0, ..., ``ends`` places of both orders (n,), 1 on top, of a list; the mean over lists."""
    later, lists = np.maximum(before, after), [rows for _, rows in rows_by_list(qid, np.size(after))]
    return np.bincount(later, minlength=ends + 1).cumsum()[: ends + 1] / len(lists)


def curves_svg(curves: Sequence[Curve], *, at: int | None, x: str, y: str, digits: int = 1) -> str:
    """Curves over the places 0, 1, ... of a list, as an element of a page, with the numbers in the legend.

    At the place ``at`` a line is drawn, and the legend has the values there, with so many decimals; ``x`` and ``y`` say
    what the axes are.
    """
    ends = len(curves[0].values) - 1
    most = max(float(curve.values.max()) for curve in curves) or 1.0
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    across, up = (right - LEFT) / max(ends, 1), (bottom - TOP) / (1.05 * most)

    def text(left: float, high: float, said: str, anchor: str = "middle") -> str:
        return f'<text x="{left:.1f}" y="{high:.1f}" text-anchor="{anchor}">{escape(said)}</text>'

    def line(points: str, color: str, dashes: str = "", width: float = 1) -> str:
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        return f'<path d="M{points}" fill="none" stroke="{color}" stroke-width="{width:g}"{dashed}/>'

    drawn = [line(f"{LEFT} {TOP}V{bottom}H{right}", "#222"), text(0, 14, y, "start")]
    drawn.append(text((LEFT + right) / 2, HEIGHT - 6, x))
    for place in _ticks(ends):
        drawn.append(text(LEFT + across * place, bottom + 16, f"{place:,g}"))
    for value in _ticks(most):
        high = bottom - up * value
        drawn.append(text(LEFT - 6, high + 4, f"{value:,g}", "end"))
        drawn.append(line(f"{LEFT} {high:.1f}H{right}", "#ddd"))
    if at is not None:
        drawn.append(line(f"{LEFT + across * at:.1f} {TOP}V{bottom}", "#222"))
        drawn.append(text(LEFT + across * at, TOP - 4, f"place {at:,}", "end" if 2 * at > ends else "start"))
    said = []
    for number, (name, kind, values) in enumerate(curves):
        style = STYLES[kind]
        points = [f"{LEFT + across * place:.1f} {bottom - up * values[place]:.1f}" for place in _places(ends, at)]
        drawn.append(line("L".join(points), *style))
        said.append(name if at is None else f"{name}: {counted(values[at], digits)} by place {at:,}")
        high = HEIGHT + LINE * (number + 0.6)
        drawn += [line(f"{LEFT} {high:.1f}h32", *style), text(LEFT + 40, high + 4, said[-1], "start")]
    size = HEIGHT + LINE * len(curves) + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {size}" width="{WIDTH}" height="{size}" '
        f'role="img" aria-label="{escape(f"{y}: " + "; ".join(said))}" font-size="13" fill="#222" '
        f'style="max-width:100%;height:auto">{"".join(drawn)}</svg>'
    )


def counted(number: float, digits: int = 1) -> str:
    """A number of rows, with decimals where it is a mean."""
    return re.sub(r"\.?0+$", "", f"{number:,.{digits}f}") if number % 1 else f"{number:,.0f}"


def _places(ends: int, at: int | None) -> list[int]:
    """Places at which a curve is drawn, the first, the last and the marked one among them."""
    step = max(1, math.ceil(ends / MOST_STEPS))
    return sorted({*range(0, ends + 1, step), ends, *([] if at is None else [min(at, ends)])})


def _ticks(most: float) -> Iterator[float]:
    """Multiples of 1, 2 or 5 times a power of ten from 0 to ``most``, at most six of them."""
    step = 10.0 ** math.floor(math.log10(most)) if most > 0 else 1.0
    step = next(step * part for part in (0.2, 0.5, 1, 2) if most / (step * part) <= 5)
    return (step * number for number in range(math.floor(most / step + 1e-9) + 1))
