"""What cross-validation says of each option: lead over the null, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InputError
from rerank.plots.style import BLUE, GREY, axes_of, hide_frame

WIDTH = 1.96
"""Standard errors to each side."""


def leads(
    names: Sequence[str],
    means: ArrayLike,
    errors: ArrayLike,
    chosen: int | None = None,
    *,
    unit: str = "lead over the first stage",
    null: str = "first stage",
    ax: Any = None,
) -> Any:
    """One line for each option: its mean lead, and 1.96 standard errors to each side; filled where it was chosen.

    Parameters
    ----------
    names : sequence of str
    means, errors : arrays (options,)
        An error that is not finite is not drawn.
    chosen : int or None
        Number of the option; None if the null was kept, whose line is 0.
    unit : str
        Under the axis.
    null : str
        What the options had to lead.
    """
    centre, error = np.asarray(means, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if not len(names) == centre.size == error.size:
        raise InputError(
            f"There are {len(names)} names, {centre.size} leads and {error.size} errors; give one of each."
        )
    ax = axes_of(ax, (5.6, 0.45 * len(names) + 1.3))
    ax.plot([0, 0], [-0.6, len(names) - 0.5], color="black", lw=0.8)
    ax.text(0, len(names) - 0.4, f"{null}, kept" if chosen is None else null, ha="center", va="bottom", fontsize=9)
    for place, (mean, half) in enumerate(zip(centre, WIDTH * error)):
        color = BLUE if place == chosen else GREY
        if np.isfinite(half):
            ax.plot([mean - half, mean + half], [place, place], color=color, lw=2, solid_capstyle="butt")
        ax.plot(mean, place, "o", ms=7, mec=color, mfc=color if place == chosen else "white", zorder=3)
    ax.set(yticks=range(len(names)), ylim=(-0.6, len(names) - 0.1))
    ax.set_xlabel(unit, parse_math=False)  # a name is no formula, whatever signs it has
    labels = [f"{name}, chosen" if place == chosen else name for place, name in enumerate(names)]
    ax.set_yticklabels(labels, parse_math=False)
    hide_frame(ax)
    return ax
