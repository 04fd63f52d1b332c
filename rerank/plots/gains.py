"""How many relevant rows a list has found after so many rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InputError
from rerank.plots.style import BLUE, GREY, ORANGE, PURPLE, axes_of, hide_frame

STYLES = ((BLUE, "-"), (ORANGE, "--"), (PURPLE, "-."))
SHOWN = 4
"""Rows on the axis, in multiples of the cut."""


def cumulative_gain(
    relevant: ArrayLike, scores: Mapping[str, ArrayLike], *, top: int | None = None, ax: Any = None
) -> Any:
    """One line for each score: relevant rows among the first 1, 2, ... rows; dotted for the ideal list.

    Rows of equal score count as they are counted in a statistic: relevant ones last.

    Parameters
    ----------
    relevant : array (n,) of bool
    scores : mapping from name to array (n,)
        At most three.
    top : int, optional
        Where the list is cut: a vertical line, with the number found beside it. The axis ends at four times that.

    Raises
    ------
    InputError
        For scores of another length, or none, or more than three.
    """
    found = np.asarray(relevant, dtype=bool)
    if not 0 < len(scores) <= len(STYLES):
        raise InputError(f"There are {len(scores)} scores; give one to {len(STYLES)}.")
    ends = found.size if top is None else min(found.size, SHOWN * top)
    ax = axes_of(ax, (5.6, 3.6))
    ideal = np.minimum(np.arange(ends + 1), found.sum())
    ax.plot(ideal, color=GREY, ls=":", lw=1.5, label="ideal")
    for (name, given), (color, line) in zip(scores.items(), STYLES):
        values = np.asarray(given, dtype=np.float64)
        if values.shape != found.shape:
            raise InputError(f"The score {name!r} has shape {values.shape}; expected {found.shape}, one for each row.")
        counts = np.concatenate([[0], np.cumsum(found[np.lexsort((found, -values))])])
        label = name if top is None else f"{name}: {counts[min(top, found.size)]} of the first {top}"
        ax.plot(counts[: ends + 1], color=color, ls=line, lw=2, drawstyle="steps-post", label=label)
    if top is not None:
        ax.axvline(top, color="black", lw=0.8)
    ax.set(xlabel="rows looked at", ylabel="relevant rows found", xlim=(0, ends), ylim=(0, None))
    ax.legend(frameon=False, loc="lower right", fontsize="small")
    hide_frame(ax)
    return ax
