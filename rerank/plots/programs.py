"""Pictures of programs, and of the progress of solvers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rerank.plots.drawn import NamedMatrix, SolverReport
from rerank.plots.style import BLUE, GREEN, GREY, ORANGE, PURPLE, Look, axes_of, hide_frame, inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Moment = tuple[float, float, float]  # seconds, value and bound


def bound_over_time(
    traces: Mapping[str, Sequence[SolverReport | Moment]],
    *,
    best: float | None = None,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Best value (solid) and bound (dashed) of solvers over time; one colour and mark for each solver.

    Parameters
    ----------
    traces : mapping of name to sequence of Progress or of (seconds, value, bound)
        As given to ``Options.progress``, or the history of a result.
    best : float, optional
        The optimum, if it is known.
    unit : str
        Label of the values.
    """
    ax = axes_of(ax, (6.4, 3.8))
    styles = [(BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (PURPLE, "D")]
    for (name, trace), (colour, mark) in zip(traces.items(), styles * (len(traces) // len(styles) + 1)):
        moments = [now if isinstance(now, tuple) else (now.seconds, now.incumbent, now.bound) for now in trace]
        seconds, found, bounds = zip(*moments) if moments else ((), (), ())
        for values, dash, label in ((bounds, (0, (3, 1.5)), None), (found, "-", name)):
            known = [(t, v) for t, v in zip(seconds, values) if math.isfinite(v)]
            if not known:
                known = [(math.nan, math.nan)]
            style = dict(color=colour, ls=dash, lw=1.6, marker=mark, ms=7, markevery=[-1])
            ax.step(*zip(*known), where="post", label=label, **style)
    if best is not None:
        ax.axhline(best, color="black", lw=0.8)
        ax.text(1.0, best, " optimum", transform=ax.get_yaxis_transform(), va="center", fontsize=9)
    ax.set(xlabel="seconds", ylabel=unit)
    below = -0.6 / inches(ax)[1]  # clear of the label of the axis, however small the picture is
    place: Look = dict(loc="upper center", bbox_to_anchor=(0.5, below), ncols=max(len(traces), 1))
    ax.legend(title="solid: found    dashed: bound", frameon=False, **place)
    return hide_frame(ax)


def structure(program: NamedMatrix, *, ax: Axes | None = None) -> Axes:
    """The matrix of a program: a mark for each entry, rows and columns grouped by the prefix of their names."""
    ax = axes_of(ax, (6.4, 5.2))
    columns, rows = (_families(names) for names in (program.columns, program.rows))
    matrix = program.matrix.tocoo()
    for sign, mark, colour, label in ((1, "s", BLUE, "positive"), (-1, "o", ORANGE, "negative")):
        at = np.flatnonzero(np.sign(matrix.data) == sign)
        face = colour if sign > 0 else "none"
        style: Look = dict(ms=2.2, mfc=face, mec=colour, mew=0.5, label=label)
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
    """Start and end of each prefix when names are grouped by prefix, and the place of each name."""
    prefixes = [name.rstrip("0123456789_") for name in names]
    order = list(dict.fromkeys(prefixes))
    sizes = [prefixes.count(prefix) for prefix in order]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    place = np.empty(len(names), dtype=int)
    place[sorted(range(len(names)), key=lambda k: order.index(prefixes[k]))] = np.arange(len(names))
    return [(name, int(a), int(b)) for name, a, b in zip(order, starts[:-1], starts[1:])], place
