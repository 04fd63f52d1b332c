"""Pictures of lists, programs, bounds and ties; matplotlib is imported when the first one is drawn.

Whatever a colour says, a shape, a fill or a dash says too. Each function draws on the axes it is given, or on new
ones, and returns them.

>>> from rerank import plots
>>> axes = plots.two_lists([3, 1, 0, 2], [1, 3, 2, 0], relevant=[1, 2], top=2)     # doctest: +SKIP
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InputError

if TYPE_CHECKING:
    from formulations.compile import Program
    from rerank.solvers.outcome import Progress

# From M. Okabe and K. Ito, Color Universal Design (2008): told apart with every kind of colour vision.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#AA4499", "#8C8C8C"


def two_lists(
    before: Sequence[Hashable],
    after: Sequence[Hashable],
    relevant: Sequence[Hashable],
    *,
    top: int,
    titles: tuple[str, str] = ("first stage", "exact order"),
    names: Mapping[Hashable, str] | None = None,
    ax: Any = None,
) -> Any:
    """Two orders of the same rows side by side, best first; filled marks are relevant, the rule is where one stops.

    Parameters
    ----------
    before, after : sequences
        The same rows in either order.
    relevant : sequence
        Those of them that one wants on top.
    top : int
        Places above the rule.
    titles : pair of str
    names : mapping of row to text, optional
        Written beside the rows of ``after`` that stand above the rule.
    """
    if len(set(before)) != len(before) or set(before) != set(after) or len(before) != len(after):
        raise InputError(
            "The two lists hold different rows; give two orders of the same ones, each row once."
        )
    ax = _axes(ax, (6.4, 0.2 * len(before) + 1.4))
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
    """Line of a row: up is solid, down dashed, and only relevant rows are heavy."""
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
    ax: Any = None,
) -> Any:
    """Two values of each of several lists on a line: hollow before, filled after; dashed where it fell."""
    old, new = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if not old.shape == new.shape == (len(names),):
        raise InputError(
            f"There are {old.size} values before, {new.size} after and {len(names)} names; give as many of each."
        )
    ax = _axes(ax, (6.4, 0.34 * old.size + 1.2))
    places = np.arange(old.size)
    for k, (a, b) in enumerate(zip(old, new)):
        ax.plot(
            [a, b],
            [k, k],
            color=BLUE if b >= a else ORANGE,
            lw=2.2,
            ls="-" if b >= a else (0, (2, 1)),
            zorder=1,
        )
    ax.plot(old, places, "o", mfc="white", mec="black", ms=8, label=labels[0])
    ax.plot(new, places, "o", mfc="black", mec="black", ms=6, label=labels[1])
    ax.set(yticks=places, yticklabels=list(names), xlabel=unit, ylim=(old.size - 0.4, -0.6))
    ax.grid(axis="x", alpha=0.3)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.14 + 0.4 / old.size), ncols=2, frameon=False)
    _open(ax)
    return ax


def bound_over_time(
    traces: Mapping[str, Sequence[Progress]], *, best: float | None = None, unit: str = "", ax: Any = None
) -> Any:
    """What solvers held (solid) and what they had not excluded (dashed), second by second; one colour and mark each.

    Parameters
    ----------
    traces : mapping of name to sequence of Progress
        As given to ``Options.progress``.
    best : float, optional
        The optimum, where it is known.
    unit : str
        Label of the values.
    """
    ax = _axes(ax, (6.4, 3.8))
    styles = [(BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (PURPLE, "D")]
    for (name, trace), (colour, mark) in zip(traces.items(), styles * (len(traces) // len(styles) + 1)):
        seconds = [line.seconds for line in trace]
        for values, dash, label in (
            ([line.bound for line in trace], (0, (3, 1.5)), None),
            ([line.incumbent for line in trace], "-", name),
        ):
            known = [(t, v) for t, v in zip(seconds, values) if math.isfinite(v)]
            if not known:
                known = [(math.nan, math.nan)]
            style = dict(color=colour, ls=dash, lw=1.6, marker=mark, ms=7, markevery=[-1])
            ax.step(*zip(*known), where="post", label=label, **style)
    if best is not None:
        ax.axhline(best, color="black", lw=0.8)
        ax.text(1.0, best, " optimum", transform=ax.get_yaxis_transform(), va="center", fontsize=9)
    ax.set(xlabel="seconds", ylabel=unit)
    place = dict(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=max(len(traces), 1))
    ax.legend(title="solid: found    dashed: bound", frameon=False, **place)
    _open(ax)
    return ax


def structure(program: Program, *, ax: Any = None) -> Any:
    """The matrix of a program: a mark for each entry, families of rows and columns named by their prefix."""
    ax = _axes(ax, (6.4, 5.2))
    columns, rows = (_families(names) for names in (program.columns, program.rows))
    matrix = program.matrix.tocoo()
    for sign, mark, colour, label in ((1, "s", BLUE, "positive"), (-1, "o", ORANGE, "negative")):
        at = np.flatnonzero(np.sign(matrix.data) == sign)
        face = colour if sign > 0 else "none"
        style = dict(ms=2.2, mfc=face, mec=colour, mew=0.5, label=label)
        ax.plot(columns[1][matrix.col[at]], rows[1][matrix.row[at]], mark, **style)
    for (groups, _), axis, rule in ((columns, ax.xaxis, ax.axvline), (rows, ax.yaxis, ax.axhline)):
        axis.set_ticks([(start + end - 1) / 2 for _, start, end in groups], [name for name, _, _ in groups])
        axis.set_tick_params(length=0)
        for _, start, _ in groups[1:]:
            rule(start - 0.5, color=GREY, lw=0.6)
    ax.set(xlim=(-1.5, matrix.shape[1] + 0.5), ylim=(matrix.shape[0] + 0.5, -1.5))
    size = f"{matrix.shape[0]} rows, {matrix.shape[1]} columns, {matrix.nnz} entries"
    ax.set_title(f"{program.name}: {size}", fontsize=10)
    ax.legend(loc="upper right", fontsize=8, markerscale=3)
    return ax


def _families(names: Sequence[str]) -> tuple[list[tuple[str, int, int]], Any]:
    """Prefixes with where each begins and ends once equal ones stand together, and the place of each name."""
    prefixes = [name.rstrip("0123456789_") for name in names]
    order = list(dict.fromkeys(prefixes))
    sizes = [prefixes.count(prefix) for prefix in order]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    place = np.empty(len(names), dtype=int)
    place[sorted(range(len(names)), key=lambda k: order.index(prefixes[k]))] = np.arange(len(names))
    return [(name, int(a), int(b)) for name, a, b in zip(order, starts[:-1], starts[1:])], place


def plane(
    X: ArrayLike, relevant: ArrayLike, w: ArrayLike, texts: Sequence[str], *, title: str = "", ax: Any = None
) -> Any:
    """Rows of two features, the direction of increasing score, and a line through all rows of one score.

    Parameters
    ----------
    X : array (n, 2)
    relevant : bool array (n,)
        Filled marks.
    w : array (2,)
        Weights.
    texts : n strings
        Written beside the rows.
    title : str
    """
    data, weights = np.asarray(X, dtype=np.float64), np.asarray(w, dtype=np.float64)
    ax = _axes(ax, (3.6, 3.6))
    low, high = data.min() - 0.45, data.max() + 0.45
    along = np.array([-weights[1], weights[0]]) / np.linalg.norm(weights)
    scores = data @ weights
    for row in np.unique(scores, return_index=True)[1]:
        tied = np.count_nonzero(scores == scores[row]) > 1
        ends = data[row] + np.outer([-4.0, 4.0], along) * (high - low)
        style = dict(color=ORANGE, lw=2.0) if tied else dict(color=GREY, lw=0.8, ls=(0, (4, 3)))
        ax.plot(*ends.T, zorder=1, **style)
    for point, is_relevant, text in zip(data, np.asarray(relevant, dtype=bool), texts):
        ax.plot(*point, "o", ms=11, mfc="black" if is_relevant else "white", mec="black", zorder=3)
        ax.annotate(
            text, point, (9, 9), textcoords="offset points", fontsize=9, zorder=4,
            bbox=dict(facecolor="white", edgecolor="none", alpha=0.85, pad=1.0),
        )  # fmt: skip
    tip = np.array([0.88, 0.03]) + 0.09 * weights / np.linalg.norm(weights)
    style = dict(arrowstyle="-|>", color="black", shrinkA=0, shrinkB=0)
    ax.annotate(
        "",
        tip,
        (0.88, 0.03),
        xycoords="axes fraction",
        textcoords="axes fraction",
        arrowprops=style,
        zorder=5,
    )
    box = dict(facecolor="white", edgecolor="none", pad=1.0)
    ax.text(
        0.86, 0.04, "score", transform=ax.transAxes, ha="right", va="center", fontsize=9, bbox=box, zorder=4
    )
    for axis, values in ((ax.xaxis, data[:, 0]), (ax.yaxis, data[:, 1])):
        if np.unique(values).size <= 6:
            axis.set_ticks(np.unique(values))
    ax.set(xlim=(low, high + 0.25), ylim=(low, high), aspect="equal", xlabel="feature 0", ylabel="feature 1")
    ax.set_title(title, fontsize=10)
    _open(ax)
    return ax


def preferences(
    rows: Sequence[tuple[str, float, float, bool]], titles: tuple[str, str], *, ax: Any = None
) -> Any:
    """Which of two solutions each measure prefers: an arrow to its side, and both values.

    A rule parts measures where more is better from those where less is.

    Parameters
    ----------
    rows : sequence of (name, first value, second value, larger is better)
    titles : pair of str
        The two solutions.
    """
    ax = _axes(ax, (6.4, 0.32 * len(rows) + 1.0))
    for k, (name, first, second, larger) in enumerate(rows):
        if first == second:
            side = 0
        else:
            side = -1 if (first > second) == larger else 1
        ax.text(0, k, name, ha="center", va="center")
        for where, value in ((-1, first), (1, second)):
            text = f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
            look = dict(weight="bold", color="black") if where == side else dict(color="#666666")
            ax.text(1.75 * where, k, text, ha="center", va="center", **look)
        if side:
            line = dict(color=BLUE, ls="-") if side < 0 else dict(color=ORANGE, ls=(0, (3, 1)))
            ax.annotate(
                "", (1.35 * side, k), (0.75 * side, k), arrowprops=dict(arrowstyle="-|>", lw=2, **line)
            )
        if k and larger != rows[k - 1][3]:
            ax.axhline(k - 0.5, color=GREY, lw=0.6)
    for x, title in zip((-1.75, 1.75), titles):
        ax.text(x, -1, title, ha="center", va="center", weight="bold")
    ax.set(xlim=(-2.4, 2.4), ylim=(len(rows) - 0.4, -1.5))
    ax.axis("off")
    return ax


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        advice = "pip install 'exact-rerank[plots]'"
        raise InputError(f"Pictures need matplotlib, which is not installed; {advice}.") from error
    return plt.subplots(figsize=size, layout="constrained")[1]


def _open(ax: Any) -> None:
    ax.spines[["top", "right"]].set_visible(False)
