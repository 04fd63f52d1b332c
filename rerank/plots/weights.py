"""What a fit changed, the correction of each column, and what the columns add to the scores of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InputError
from rerank.plots.style import BLUE, GREEN, GREY, ORANGE, PURPLE, axes_of, hide_frame

MOST = 20
"""Columns that are drawn, the largest corrections first."""

LOOKS = ((BLUE, ""), (ORANGE, "///"), (GREEN, "..."), (PURPLE, "xxx"), ("#E6C84B", "\\\\\\"))
"""Colour and hatch of the columns that add most; all others are one part."""


def corrections(names: Sequence[str], values: ArrayLike, radius: float | None = None, *, ax: Any = None) -> Any:
    """One bar for each column: by how many deviations of the score one deviation of the column moves it.

    Parameters
    ----------
    names : sequence of str
    values : array (columns,)
    radius : float, optional
        Largest correction that was allowed; drawn as two lines, and bars that reach it are filled.

    Raises
    ------
    InputError
        If there are not as many names as values, or none.
    """
    sizes = np.asarray(values, dtype=np.float64)
    if sizes.ndim != 1 or not 0 < len(names) == sizes.size:
        raise InputError(f"There are {len(names)} names and {sizes.size} values; give one of each for every column.")
    order = np.argsort(-np.abs(sizes), kind="stable")[:MOST][::-1]
    ax = axes_of(ax, (5.2, 0.34 * order.size + 1.1))
    for place, j in enumerate(order):
        full = radius is not None and abs(sizes[j]) >= radius * (1 - 1e-9)
        color = BLUE if full or radius is None else "white"
        ax.barh(place, sizes[j], height=0.6, color=color, edgecolor=BLUE)
    if radius is not None:
        for side in (-radius, radius):
            ax.axvline(side, color=GREY, ls="--", lw=1)
    ax.axvline(0, color="black", lw=0.8)
    ax.set(yticks=range(order.size), xlabel="correction, deviations of the score")
    ax.set_yticklabels([names[j] for j in order], parse_math=False)  # dollar signs in names are no formulas
    ax.locator_params(axis="x", nbins=5)
    hide_frame(ax)
    return ax


def contributions(
    rows: Sequence[str], names: Sequence[str], values: ArrayLike, *, unit: str = "added to the score", ax: Any = None
) -> Any:
    """One bar for each row, best first: what each column adds to its score; a diamond marks the sum.

    What lowers the score stands to the left of 0. The five columns that add or take most have parts of their own.

    Parameters
    ----------
    rows : sequence of str
        Beside the bars.
    names : sequence of str
        Of the columns.
    values : array (rows, columns)
        As of :meth:`rerank.Reranker.contributions`, perhaps less their means.
    unit : str
        Under the axis.

    Raises
    ------
    InputError
        If names and values do not fit each other, or there is no row.
    """
    added = np.asarray(values, dtype=np.float64)
    if added.shape != (len(rows), len(names)) or not added.size:
        raise InputError(
            f"The values have shape {added.shape}, and there are {len(rows)} rows and {len(names)} names; give one "
            "value for each row and name."
        )
    order = np.argsort(-np.abs(added).sum(axis=0), kind="stable")
    parts = [(names[j], added[:, j], look) for j, look in zip(order, LOOKS)]
    if order.size > len(LOOKS):
        parts.append((f"{order.size - len(LOOKS)} more", added[:, order[len(LOOKS) :]].sum(axis=1), ("white", "")))
    ax = axes_of(ax, (6.4, 0.34 * len(rows) + 1.6))
    places, ends = np.arange(len(rows)), {1: np.zeros(len(rows)), -1: np.zeros(len(rows))}
    for name, sizes, (colour, hatch) in parts:
        starts = np.where(sizes < 0, ends[-1], ends[1])
        look = dict(color=colour, hatch=hatch, edgecolor="black", linewidth=0.5, height=0.65)
        ax.barh(places, sizes, left=starts, label=name.replace("$", r"\$"), **look)
        ends = {side: ends[side] + np.where(side * sizes > 0, sizes, 0.0) for side in ends}
    ax.plot(added.sum(axis=1), places, "D", ms=6, mfc="white", mec="black", label="sum", zorder=3)
    ax.axvline(0, color="black", lw=0.8)
    ax.set(yticks=places, ylim=(len(rows) - 0.4, -0.6), xlabel=unit)
    ax.set_yticklabels(list(rows), parse_math=False)
    columns = 3 if ax.figure.get_figwidth() > 6 else 2
    ax.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(-0.1, 1), ncols=columns)
    hide_frame(ax)
    return ax
