"""What a fit changed: the correction of each column, and how far it might have gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InputError
from rerank.plots.style import BLUE, GREY, axes_of, hide_frame

MOST = 20
"""Columns that are drawn, the largest corrections first."""


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
