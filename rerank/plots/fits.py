"""What a fit changed and why it was chosen: leads of options, a statistic by an option, corrections, contributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InputError
from rerank.plots.style import BLUE, GREEN, GREY, ORANGE, PURPLE, Look, axes_of, hide_frame, inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 1.96  # standard errors to each side
MOST = 20  # columns that are drawn, the largest corrections first
# Colour and hatch of the columns that add most; all others are one part.
LOOKS = ((BLUE, ""), (ORANGE, "///"), (GREEN, "..."), (PURPLE, "xxx"), ("#E6C84B", "\\\\\\"))


def leads(
    names: Sequence[str],
    means: ArrayLike,
    errors: ArrayLike,
    chosen: int | None = None,
    *,
    unit: str = "lead over the first stage",
    null: str = "first stage",
    ax: Axes | None = None,
) -> Axes:
    """One line for each option, the first on top: its mean lead, and 1.96 standard errors to each side; filled where it
    was chosen.

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
    ax.plot([0, 0], [-0.5, len(names) - 0.4], color="black", lw=0.8)
    ax.text(0, -0.6, f"{null}, kept" if chosen is None else null, ha="center", va="bottom", fontsize=9)
    for place, (mean, half) in enumerate(zip(centre, WIDTH * error)):
        color = BLUE if place == chosen else GREY
        if np.isfinite(half):
            ax.plot([mean - half, mean + half], [place, place], color=color, lw=2, solid_capstyle="butt")
        ax.plot(mean, place, "o", ms=7, mec=color, mfc=color if place == chosen else "white", zorder=3)
    ax.set(yticks=range(len(names)), ylim=(len(names) - 0.4, -0.9))
    ax.set_xlabel(unit, parse_math=False)  # a name is no formula, whatever signs it has
    labels = [f"{name}, chosen" if place == chosen else name for place, name in enumerate(names)]
    ax.set_yticklabels(labels, parse_math=False)
    return hide_frame(ax)


def by_option(
    values: Sequence[Any],
    fitted: ArrayLike,
    held_out: ArrayLike | None = None,
    *,
    errors: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    first_stage: tuple[float | None, float | None] = (None, None),
    name: str = "radius",
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
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
    bounds : array (values,), optional
        What no fit exceeds; a line leads from each fitted value to its bound, where it is finite.
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
    given = {"fitted values": fitted, "held-out values": held_out, "errors": errors, "bounds": bounds}
    drawn = {what: np.asarray(values, dtype=np.float64) for what, values in given.items() if values is not None}
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
    if bounds is not None:
        gaps = np.where(np.isfinite(drawn["bounds"]), drawn["bounds"] - drawn["fitted values"], np.nan)
        ends = [np.zeros(places.size), np.maximum(gaps, 0.0)]
        ax.errorbar(places, fitted, ends, fmt="none", ecolor=GREY, capsize=5, capthick=2, zorder=2, label="bound")
    ax.set_xticks(places, [value if isinstance(value, str) else f"{value:g}" for value in values])
    ax.set(xlabel=name, ylabel=unit)
    above = dict(loc="lower left", bbox_to_anchor=(-0.03, 1.0), ncols=2, columnspacing=1.0, handlelength=1.9)
    ax.legend(frameon=False, fontsize=8, **above)
    return hide_frame(ax)


def by_alpha(
    ends: ArrayLike,
    values: ArrayLike,
    best: tuple[float, float],
    *,
    runs: tuple[str, str],
    fitted: float | None = None,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """The statistic of two runs by the weight of the second, in steps: a ring on the best ones, dots at .5.

    Parameters
    ----------
    ends : array (steps + 1,)
        Weights between which the statistic is constant, increasing.
    values : array (steps,)
    best : pair of float
        Ends of the best steps.
    runs : pair of str
        Under the axis.
    fitted : float, optional
        A weight that is marked by a dashed line.
    unit : str
        Beside the axis.

    Raises
    ------
    InputError
        If there is not one end more than values.
    """
    edges, heights = np.asarray(ends, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if edges.ndim != 1 or not heights.size or edges.size != heights.size + 1:
        raise InputError(f"There are {edges.size} ends and {heights.size} values; give one end more than values.")
    ax = axes_of(ax, (5.6, 3.6))
    ax.axvspan(*best, color=ORANGE, alpha=0.3, lw=0)
    ax.axvline(0.5, color=GREY, ls=":", lw=1.2, label="0.5")
    top = float(heights.max())
    ax.plot(best, [top, top], color=ORANGE, lw=4, solid_capstyle="butt", zorder=3)
    # The interval may be too narrow to be seen.
    ring: Look = dict(marker="o", ls="", ms=7, mfc="white", mec=ORANGE, zorder=4)
    ax.plot(sum(best) / 2, top, label=f"best, {top:.4g}", **ring)
    if fitted is not None:
        ax.axvline(fitted, color="black", ls="--", lw=1.2, label=f"fitted, {fitted:.3g}")
    ax.stairs(heights, edges, baseline=None, color=BLUE, lw=1.4, zorder=2)
    ax.set(xlim=(edges[0], edges[-1]), ylabel=unit)
    ax.set_xlabel(f"alpha: weight of {runs[1]}, beside {runs[0]}", parse_math=False)
    ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(-0.03, 1.0), ncols=3)
    return hide_frame(ax)


def corrections(
    names: Sequence[str], values: ArrayLike, radius: float | None = None, *, ax: Axes | None = None
) -> Axes:
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
    return hide_frame(ax)


def contributions(
    rows: Sequence[str],
    names: Sequence[str],
    values: ArrayLike,
    *,
    unit: str = "added to the score",
    ax: Axes | None = None,
) -> Axes:
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
        style: Look = dict(color=colour, hatch=hatch, edgecolor="black", linewidth=0.5, height=0.65)
        ax.barh(places, sizes, left=starts, label=name.replace("$", r"\$"), **style)
        ends = {side: ends[side] + np.where(side * sizes > 0, sizes, 0.0) for side in ends}
    ax.plot(added.sum(axis=1), places, "D", ms=6, mfc="white", mec="black", label="sum", zorder=3)
    ax.axvline(0, color="black", lw=0.8)
    ax.set(yticks=places, ylim=(len(rows) - 0.4, -0.6), xlabel=unit)
    ax.set_yticklabels(list(rows), parse_math=False)
    columns = 3 if inches(ax)[0] > 6 else 2
    ax.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(-0.1, 1), ncols=columns)
    return hide_frame(ax)
