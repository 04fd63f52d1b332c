"""A statistic by the value of one option: what is fitted, and what is held out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InputError
from rerank.plots.leads import WIDTH
from rerank.plots.style import BLUE, ORANGE, axes_of, hide_frame


def by_option(
    values: Sequence[Any],
    fitted: ArrayLike,
    held_out: ArrayLike | None = None,
    *,
    errors: ArrayLike | None = None,
    first_stage: tuple[float | None, float | None] = (None, None),
    name: str = "radius",
    unit: str = "",
    ax: Any = None,
) -> Any:
    """The statistic of training rows (solid) and of held-out rows (dashed) for some values of an option.

    The values stand at equal distances, in the order given.

    Parameters
    ----------
    values : sequence of numbers or text
        Such as radii, or numbers of candidates; "free" or "all" for None.
    fitted : array (values,)
        The statistic of the rows of each fit.
    held_out : array (values,), optional
        The statistic of rows that the fits have not seen.
    errors : array (values,), optional
        Standard errors of `held_out`; 1.96 of them are drawn to each side, where they are finite.
    first_stage : pair of float or None
        The first stage alone, on training rows (dotted) and on held-out rows (dash-dotted).
    name : str
        Under the axis.
    unit : str
        Beside the axis.

    Raises
    ------
    InputError
        If there are no values, or not as many of each.
    """
    given = {"fitted values": fitted, "held-out values": held_out, "errors": errors}
    drawn = {what: np.asarray(one, dtype=np.float64) for what, one in given.items() if one is not None}
    for what, own in drawn.items():
        if not 0 < len(values) == own.size:
            raise InputError(f"There are {len(values)} values of {name} and {own.size} {what}; give one of each.")
    if errors is not None and held_out is None:
        raise InputError("There are errors and no held-out values, to which they belong; give both.")
    ax = axes_of(ax, (5.6, 3.6))
    places = np.arange(len(values))
    looks = ((BLUE, "-", ":", "o", BLUE, "training rows"), (ORANGE, "--", "-.", "s", "white", "held-out rows"))
    for heights, alone, (colour, dash, thin, mark, face, label) in zip((fitted, held_out), first_stage, looks):
        if heights is not None:
            ax.plot(places, heights, color=colour, ls=dash, lw=1.8, marker=mark, mfc=face, ms=6, label=label, zorder=3)
        if alone is not None:
            ax.axhline(alone, color=colour, ls=thin, lw=1.2, label=f"first stage, {label}")
    if errors is not None:
        half = np.where(np.isfinite(drawn["errors"]), WIDTH * drawn["errors"], np.nan)
        ax.errorbar(places, drawn["held-out values"], half, fmt="none", ecolor=ORANGE, capsize=3, zorder=2)
    ax.set_xticks(places, [one if isinstance(one, str) else f"{one:g}" for one in values])
    ax.set(xlabel=name, ylabel=unit)
    above = dict(loc="lower left", bbox_to_anchor=(-0.03, 1.0), ncols=2, columnspacing=1.0, handlelength=1.9)
    ax.legend(frameon=False, fontsize=8, **above)
    hide_frame(ax)
    return ax
