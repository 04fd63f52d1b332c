"""Orders of a list: what they changed, what they found, which measure prefers which, and rows in the plane."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InputError
from rerank.plots.style import BLUE, GREY, ORANGE, PURPLE, Look, axes_of, hide_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = ((BLUE, "-"), (ORANGE, "--"), (PURPLE, "-."))
SHOWN = 4  # rows on the axis, in multiples of the cut


def two_lists(
    before: Sequence[Hashable],
    after: Sequence[Hashable],
    relevant: Sequence[Hashable],
    *,
    top: int,
    titles: tuple[str, str] = ("first stage", "exact order"),
    names: Mapping[Hashable, str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Two orders of the same rows side by side, best first; filled marks are relevant, a line ends the top places.

    Parameters
    ----------
    before, after : sequences
        The same rows in two orders.
    relevant : sequence
        The relevant rows.
    top : int
        Number of places above the line.
    titles : pair of str
    names : mapping of row to text, optional
        Written beside the rows of ``after`` that are above the line.
    """
    if len(set(before)) != len(before) or set(before) != set(after) or len(before) != len(after):
        raise InputError("The two lists hold different rows; give two orders of the same ones, each row once.")
    ax = axes_of(ax, (6.4, 0.2 * len(before) + 1.4))
    wanted, place = set(relevant), {row: k for k, row in enumerate(after, start=1)}
    for left, row in enumerate(before, start=1):
        right = place[row]
        ax.plot([0, 1], [left, right], **_move(right - left, row in wanted))
        face = "black" if row in wanted else "white"
        ax.plot([0, 1], [left, right], "o", ms=6, mfc=face, mec="black" if row in wanted else GREY, zorder=3)
    for x, order, side in ((0, before, "right"), (1, after, "left")):
        found = sum(row in wanted for row in order[:top])
        ax.text(x, -0.6, f"{titles[x]}\n{found} found in {top}", ha="center", va="bottom")
        for k in range(1, len(order) + 1):
            ax.text(x + (0.05 if x else -0.05), k, str(k), ha=side, va="center", fontsize=8)
    for k, row in enumerate(after[:top] if names else (), start=1):
        ax.text(1.15, k, names[row], va="center", fontsize=8)  # type: ignore[index]
    ax.plot([-0.16, 1.9 if names else 1.16], [top + 0.5] * 2, color="black", lw=0.8)
    ax.set(xlim=(-0.25, 2.0 if names else 1.25), ylim=(len(before) + 0.7, -0.7))
    ax.axis("off")
    return ax


def _move(fall: int, relevant: bool) -> dict[str, Any]:
    """Style of a row's line: solid if it moves up, dashed if it moves down, thick only for relevant rows."""
    if not relevant:
        return dict(color=GREY, lw=0.6, alpha=0.5)
    if fall > 0:
        return dict(color=ORANGE, lw=1.8, ls=(0, (4, 2)))
    return dict(color=BLUE if fall else "black", lw=1.8)


def before_after(
    before: ArrayLike,
    after: ArrayLike,
    names: Sequence[str],
    *,
    labels: tuple[str, str] = ("first stage", "exact order"),
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Two values for each of several lists: hollow marks before, filled marks after, a dashed line where it fell."""
    old, new = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if not old.shape == new.shape == (len(names),):
        raise InputError(
            f"There are {old.size} values before, {new.size} after and {len(names)} names; give as many of each."
        )
    ax = axes_of(ax, (6.4, 0.34 * old.size + 1.2))
    places = np.arange(old.size)
    for k, (a, b) in enumerate(zip(old, new)):
        ax.plot([a, b], [k, k], color=BLUE if b >= a else ORANGE, lw=2.2, ls="-" if b >= a else (0, (2, 1)), zorder=1)
    ax.plot(old, places, "o", mfc="white", mec="black", ms=8, label=labels[0])
    ax.plot(new, places, "o", mfc="black", mec="black", ms=6, label=labels[1])
    ax.set(yticks=places, yticklabels=list(names), xlabel=unit, ylim=(old.size - 0.4, -0.6))
    ax.grid(axis="x", alpha=0.3)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.14 + 0.4 / old.size), ncols=2, frameon=False)
    return hide_frame(ax)


def preferences(
    rows: Sequence[tuple[str, float, float, bool]], titles: tuple[str, str], *, ax: Axes | None = None
) -> Axes:
    """Which of two solutions each measure prefers: an arrow to its side, and both values.

    A line separates the measures that are better when larger from those that are better when smaller.

    Parameters
    ----------
    rows : sequence of (name, first value, second value, larger is better)
    titles : pair of str
        The two solutions.
    """
    ax = axes_of(ax, (6.4, 0.32 * len(rows) + 1.0))
    for k, (name, first, second, larger) in enumerate(rows):
        side = 0 if first == second else -1 if (first > second) == larger else 1
        ax.text(0, k, name, ha="center", va="center")
        for where, value in ((-1, first), (1, second)):
            text = f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
            look: Look = dict(weight="bold", color="black") if where == side else dict(color="#666666")
            ax.text(1.75 * where, k, text, ha="center", va="center", **look)
        if side:
            line = dict(color=BLUE, ls="-") if side < 0 else dict(color=ORANGE, ls=(0, (3, 1)))
            ax.annotate("", (1.35 * side, k), (0.75 * side, k), arrowprops=dict(arrowstyle="-|>", lw=2, **line))
        if k and larger != rows[k - 1][3]:
            ax.axhline(k - 0.5, color=GREY, lw=0.6)
    for x, title in zip((-1.75, 1.75), titles):
        ax.text(x, -1, title, ha="center", va="center", weight="bold")
    ax.set(xlim=(-2.4, 2.4), ylim=(len(rows) - 0.4, -1.5))
    ax.axis("off")
    return ax


def cumulative_gain(
    relevant: ArrayLike, scores: Mapping[str, ArrayLike], *, top: int | None = None, ax: Axes | None = None
) -> Axes:
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
    # Below the axes, where no curve is.
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, -0.18), fontsize="small", borderaxespad=0)
    return hide_frame(ax)


def plane(
    X: ArrayLike, relevant: ArrayLike, w: ArrayLike, texts: Sequence[str], *, title: str = "", ax: Axes | None = None
) -> Axes:
    """Rows with two features, the direction of increasing score, and a line through all rows with one score.

    Parameters
    ----------
    X : array (n, 2)
    relevant : bool array (n,)
        These rows get filled marks.
    w : array (2,)
        Weights.
    texts : n strings
        Written beside the rows.
    title : str
    """
    data, weights = np.asarray(X, dtype=np.float64), np.asarray(w, dtype=np.float64)
    ax = axes_of(ax, (3.6, 3.6))
    low, high = data.min() - 0.45, data.max() + 0.45
    along = np.array([-weights[1], weights[0]]) / np.linalg.norm(weights)
    scores = data @ weights
    for row in np.unique(scores, return_index=True)[1]:
        tied = np.count_nonzero(scores == scores[row]) > 1
        ends = data[row] + np.outer([-4.0, 4.0], along) * (high - low)
        line: Look = dict(color=ORANGE, lw=2.0) if tied else dict(color=GREY, lw=0.8, ls=(0, (4, 3)))
        ax.plot(*ends.T, zorder=1, **line)
    for point, is_relevant, text in zip(data, np.asarray(relevant, dtype=bool), texts):
        ax.plot(*point, "o", ms=11, mfc="black" if is_relevant else "white", mec="black", zorder=3)
        ground = dict(facecolor="white", edgecolor="none", alpha=0.85, pad=1.0)
        ax.annotate(text, (point[0], point[1]), (9, 9), textcoords="offset points", fontsize=9, zorder=4, bbox=ground)
    tip = np.array([0.88, 0.03]) + 0.09 * weights / np.linalg.norm(weights)
    style = dict(arrowstyle="-|>", color="black", shrinkA=0, shrinkB=0)
    ax.annotate(
        "",
        (tip[0], tip[1]),
        (0.88, 0.03),
        xycoords="axes fraction",
        textcoords="axes fraction",
        arrowprops=style,
        zorder=5,
    )
    box = dict(facecolor="white", edgecolor="none", pad=1.0)
    ax.text(0.86, 0.04, "score", transform=ax.transAxes, ha="right", va="center", fontsize=9, bbox=box, zorder=4)
    for axis, values in ((ax.xaxis, data[:, 0]), (ax.yaxis, data[:, 1])):
        if np.unique(values).size <= 6:
            axis.set_ticks(np.unique(values))
    ax.set(xlim=(low, high + 0.25), ylim=(low, high), aspect="equal", xlabel="feature 0", ylabel="feature 1")
    ax.set_title(title, fontsize=10)
    return hide_frame(ax)
