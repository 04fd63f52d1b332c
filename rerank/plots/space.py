"""The space of the weights of two or three features: its flat parts, the values there, and the boxes of a proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.plots.drawn import WeightBoxes
from rerank.plots.style import BLUE, GREY, ORANGE, Look, axes_of, hide_frame, inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

if TYPE_CHECKING:
    from rerank.problem import Problem

Floats = NDArray[np.float64]

CLOSE = 1e-9  # by how much a weight may miss the side of a cube


@dataclass(frozen=True, eq=False)
class Face:
    """One or two weights that vary, and one that does not: a side of the cube, or the weight 1 of a given score."""

    columns: list[int]  # of the weights that vary
    lower: Floats  # their ends (k,)
    upper: Floats
    fixed: int | None = None  # column of the weight that does not vary; None if all do
    side: float = 1.0  # that weight

    def holds(self, weights: Floats) -> NDArray[np.bool_]:
        """Which weights (m, all columns) lie on it."""
        free = weights[:, self.columns]
        inside = np.all((self.lower - CLOSE <= free) & (free <= self.upper + CLOSE), axis=1)
        return inside if self.fixed is None else inside & (np.abs(weights[:, self.fixed] - self.side) <= CLOSE)


def faces_of_boxes(lower: Floats, upper: Floats) -> list[Face]:
    """The faces that boxes (m, k) lie on: sides of a cube, where each box has a weight of 1 or -1; else all as one."""
    flat = (lower == upper) & (np.abs(lower) == 1)
    if lower.shape[1] == 1 or not flat.any(axis=1).all():
        return _drawable([_face(lower.min(axis=0), upper.max(axis=0), None)])
    found = []
    for j in range(lower.shape[1]):
        for side in (1.0, -1.0):
            on = flat[:, j] & (lower[:, j] == side)
            if on.any():
                found.append(_face(lower[on].min(axis=0), upper[on].max(axis=0), j, side))
    return _drawable(found)


def faces_of_problem(problem: Problem, features: NDArray[np.intp]) -> list[Face]:
    """The faces of the weights of some features, numbered in their order; the first is the score of an anchored one."""
    if problem.limits is not None:
        low, high = (ends[features] for ends in problem.limits)
        return _drawable([_face(low, high, 0)])
    signs = problem.signs[features]
    low, high = np.where(signs > 0, 0.0, -1.0), np.where(signs < 0, 0.0, 1.0)
    sides = [(j, side) for j in range(features.size) for side in (1.0, -1.0) if side * signs[j] >= 0]
    return _drawable([_face(low, high, j, side) for j, side in sides])


def _face(low: Floats, high: Floats, fixed: int | None, side: float = 1.0) -> Face:
    """The face of all columns that vary but the one that is fixed."""
    columns = [j for j in range(low.size) if j != fixed and high[j] > low[j]]
    return Face(columns, low[columns], high[columns], fixed, side)


def _drawable(faces: list[Face]) -> list[Face]:
    count = len(faces[0].columns)
    if not 1 <= count <= 2:
        raise InputError(
            f"{count} weights can vary at a time, and a picture shows one or two: two or three weights of which the "
            "largest is 1, or one or two corrections of a given score."
        )
    return faces


def chosen(faces: list[Face], best: Floats | None, every: bool) -> list[Face]:
    """All faces, or the first that the best weights lie on."""
    if every or best is None or len(faces) == 1:
        return faces
    on = [face for face in faces if face.holds(best[None])[0]]
    if not on:
        raise InputError(
            "The best weights lie on no face: the largest of them has to be 1 or -1; divide them by their largest "
            "size, or draw every face."
        )
    return on[:1]


def panels(
    faces: list[Face], names: Sequence[str] | None, unit: str, ax: Axes | None
) -> tuple[Axes, list[tuple[Face, Axes]]]:
    """Axes for each face, with labels; several faces share the place of ``ax``, one column for each fixed weight."""
    count = 1 + max(max(face.columns) if face.fixed is None else max(*face.columns, face.fixed) for face in faces)
    named = [f"weight of feature {j}" for j in range(count)] if names is None else list(names)
    if len(named) < count:
        raise InputError(f"There are {len(named)} names for {count} weights; give one of each.")
    fixed, sides = list(dict.fromkeys(face.fixed for face in faces)), list(dict.fromkeys(face.side for face in faces))
    size = (3.0 * len(fixed) + 1.0, 2.7 * len(sides)) if len(faces) > 1 else (6.4, 5.2)
    ax = axes_of(ax, size if len(faces[0].columns) == 2 else (size[0], 0.7 * size[1]))
    own = [ax] if len(faces) == 1 else _divided(ax, faces, fixed, sides)
    points = min(10.0, max(4.5, 3.2 * inches(ax)[0] / len(fixed)))  # letters that fit beside a panel
    for face, axes in zip(faces, own):
        low, high = face.lower, face.upper
        if face.side == sides[-1]:  # the panels above have the same axis
            axes.set_xlabel(named[face.columns[0]], fontsize=points, parse_math=False)
        axes.set_ylabel([unit, *(named[j] for j in face.columns[1:])][-1], fontsize=points, parse_math=False)
        axes.set_xlim(low[0], high[0])
        if len(face.columns) == 2:
            axes.set_ylim(low[1], high[1])
        if face.fixed is not None:
            axes.set_title(f"{named[face.fixed]} = {face.side:g}", fontsize=points, parse_math=False)
        if len(faces) > 1:
            axes.locator_params(nbins=3)
            axes.tick_params(labelsize=0.9 * points)
        hide_frame(axes)
    return ax, list(zip(faces, own))


def _divided(ax: Axes, faces: list[Face], fixed: list[int | None], sides: list[float]) -> list[Axes]:
    """Axes for each face within the place of ``ax``, which shows nothing itself."""
    ax.axis("off")
    place, shape = ax.get_subplotspec(), (len(sides), len(fixed))
    grid: Any
    if place is not None:
        grid = place.subgridspec(*shape)
    else:
        box = ax.get_position()
        ends = dict(left=box.x0, right=box.x1, bottom=box.y0, top=box.y1)
        grid = ax.figure.add_gridspec(*shape, **ends, wspace=0.5, hspace=0.6)
    return [ax.figure.add_subplot(grid[sides.index(face.side), fixed.index(face.fixed)]) for face in faces]


def ring(ax: Axes, x: float, y: float) -> None:
    """The best weights, seen on dark and on pale ground."""
    width = ax.get_position().width * inches(ax)[0]
    size = 13 if width > 1.5 else 8
    style: Look = dict(ms=size, mfc="none", clip_on=False)
    ax.plot(x, y, "o", mec="white", mew=size / 3.25, zorder=3, **style)
    ax.plot(x, y, "o", mec=ORANGE, mew=size / 6.5, zorder=4, **style)


def shades(values: Floats) -> dict[str, float]:
    """Ends of a scale of greys on whose darkest shade marks are seen."""
    least, most = float(values.min()), float(values.max())
    return dict(vmin=least, vmax=most + 0.35 * ((most - least) or 1.0))


def scaled(ax: Axes, parts: list[tuple[Face, Any]], drawn: Any, values: Floats, unit: str) -> Any:
    """The axes with a scale of greys beside the panels, or with the values as heights where nothing is shaded."""
    least, most = float(values.min()), float(values.max())
    if drawn is None:
        room = 0.05 * ((most - least) or 1.0)
        for _, own in parts:
            own.set_ylim(least - room, most + room)
        return ax
    bar = ax.figure.colorbar(drawn, ax=[own for _, own in parts], label=unit)
    bar.ax.set_ylim(least, most if most > least else None)
    return ax


def draw_boxes(ax: Axes, face: Face, lower: Floats, upper: Floats, bounds: Floats, **look: Any) -> Any:
    """The boxes on a face: rectangles of that look, which are returned, or steps at the bounds of intervals."""
    from matplotlib.collections import LineCollection, PolyCollection

    on = face.holds(lower) & face.holds(upper)
    bounds, lows, highs = bounds[on], lower[on][:, face.columns].T, upper[on][:, face.columns].T
    if len(face.columns) == 2:
        corners = ((lows[0], lows[1]), (highs[0], lows[1]), (highs[0], highs[1]), (lows[0], highs[1]))
        rectangles = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)
        return ax.add_collection(PolyCollection(list(rectangles), array=bounds if "cmap" in look else None, **look))
    (left,), (right,) = lows, highs
    steps = np.stack([np.column_stack([left, right]), np.column_stack([bounds, bounds])], axis=2)
    ax.add_collection(LineCollection(list(steps), colors="black", linewidths=1.5, label="bounds of the boxes"))
    # Where intervals meet, a thin line joins their bounds.
    order = np.argsort(left, kind="stable")
    ends = np.append(left[order], right.max()), np.append(bounds[order], bounds[order[-1]])
    ax.step(*ends, where="post", color=GREY, lw=0.5, zorder=1)
    return None


def as_points(best: ArrayLike, k: int) -> Floats:
    """The best weights as an array (k,)."""
    point = np.asarray(best, dtype=np.float64)
    if point.shape != (k,):
        raise InputError(f"The best weights have shape {point.shape}; give {k}, one for each column.")
    return point


def weight_space(
    lower: ArrayLike,
    upper: ArrayLike,
    bounds: ArrayLike,
    best: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    unit: str = "bound",
    every: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Boxes of weights, the darker the larger their bound, and the best weights as a ring.

    Free weights have a largest size of 1, so those of three features are the six faces of a cube: squares, with the
    other two weights on the axes. Those of two features are four intervals, drawn as lines with the bound as height.
    Corrections of a given score are one rectangle or one interval, with the column of the score or without it.

    Parameters
    ----------
    lower, upper : arrays (m, k)
        Ends of each box, as of :func:`rerank.certificate.leaf_boxes`.
    bounds : array (m,)
        What no weights of the box exceed.
    best : array (k,)
        The weights that the bounds are compared with.
    names : sequence of str, optional
        Of the weights.
    unit : str
        Of the bounds.
    every : bool
        Draw every face, in panels within the place of ``ax``; otherwise the first face on which the best weights lie.

    Raises
    ------
    InputError
        For shapes that do not fit each other, and more weights than a picture shows.
    """
    ends, values = np.array([lower, upper], dtype=np.float64), np.asarray(bounds, dtype=np.float64)
    if ends.ndim != 3 or not values.size or ends.shape[1] != values.size or values.ndim != 1:
        raise InputError(
            f"The ends of the boxes have shape {ends.shape[1:]}, the bounds {values.shape}; give as many bounds as "
            "boxes, and at least one."
        )
    point = as_points(best, ends.shape[2])
    ax, parts = panels(chosen(faces_of_boxes(*ends), point, every), names, unit, ax)
    # Boxes on top of each other are the sides of a line: the larger bound is the one to see.
    ends, values = ends[:, np.argsort(values, kind="stable")], np.sort(values)
    drawn = None
    for face, own in parts:
        drawn = draw_boxes(own, face, ends[0], ends[1], values, cmap="Greys", edgecolor="black", linewidth=0.3)
        if drawn is not None:
            drawn.set_clim(*shades(values).values())
        if face.holds(point[None])[0]:
            at = point[face.columns]
            if len(face.columns) == 1:
                own.axvline(at[0], color=ORANGE, lw=2.0, ls="--")
            else:
                ring(own, *at)
    return scaled(ax, parts, drawn, values, unit)


def box_bounds(
    shares: ArrayLike, bounds: ArrayLike, value: float, claim: float, *, unit: str = "bound", ax: Axes | None = None
) -> Axes:
    """How much of the weights is near the best value: the share of them in boxes with at least so large a bound.

    Parameters
    ----------
    shares : array (m,)
        Of all weights, for each box; they are divided by their sum.
    bounds : array (m,)
        What no weights of the box exceed.
    value : float
        Of the best weights: a solid line.
    claim : float
        What no weights at all exceed: a dashed line.
    unit : str
        Of value and bounds.

    Raises
    ------
    InputError
        If there are not as many shares as bounds, or none above 0.
    """
    sizes, values = np.asarray(shares, dtype=np.float64), np.asarray(bounds, dtype=np.float64)
    if sizes.shape != values.shape or sizes.ndim != 1 or not sizes.sum() > 0:
        raise InputError(
            f"There are {sizes.size} shares and {values.size} bounds; give one of each for every box, not all shares 0."
        )
    levels, box = np.unique(-values, return_inverse=True)
    reached = np.bincount(box, weights=sizes / sizes.sum()).cumsum()
    ax = axes_of(ax, (5.6, 3.6))
    steps: Look = dict(where="pre", color="black", lw=1.5, label="bounds of the boxes")
    ax.step(np.append(reached[0], reached), -np.append(levels[0], levels), **steps)
    ax.axhline(claim, color=ORANGE, ls="--", lw=1.2, label="no weights exceed this")
    ax.axhline(value, color=BLUE, lw=1.2, zorder=1, label="the best weights")
    ax.set(xscale="log", xlim=(min(reached[0], 0.1), 1), xlabel="share of the weights", ylabel=unit)
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
    ax.xaxis.set_minor_formatter("")
    ax.locator_params(axis="x", numticks=5)
    ax.legend(frameon=False, fontsize="small", loc="best")
    return hide_frame(ax)


def cells(
    problem: Problem,
    best: ArrayLike | None = None,
    *,
    features: Sequence[int] | None = None,
    boxes: WeightBoxes | None = None,
    names: Sequence[str] | None = None,
    unit: str = "value",
    every: bool = False,
    points: int = 240,
    ax: Axes | None = None,
) -> Axes:
    """The value of weights, the darker the larger, computed point by point: it changes where two rows change places.

    The faces are those of :func:`weight_space`; over intervals the value is the height. Cells narrower than the points
    are not all seen.

    Parameters
    ----------
    problem : Problem
        Margin and penalty count, as in the value of a fit.
    best : array (d,), optional
        Weights to mark, by a ring.
    features : sequence of int, optional
        The features to draw, the score of corrections first; all by default. The other weights are 0.
    boxes : LeafBoxes, optional
        Boxes of a proof on these features: their outlines, or over intervals their bounds.
    names, unit, every
        As in :func:`weight_space`, names of the weights of ``features``; without ``best`` every face is drawn.
    points : int
        Points along each axis; along a single one 10 times as many.

    Raises
    ------
    InputError
        For more weights than a picture shows, and best weights that are not among those drawn.
    """
    columns = np.arange(problem.n_features) if features is None else np.asarray(features, dtype=np.intp)
    if problem.anchored and columns[:1].tolist() != [0]:
        raise InputError("The features to draw have to begin with 0, the score that is corrected.")
    point = None if best is None else as_points(best, problem.n_features)
    if point is not None and np.delete(point, columns).any():
        raise InputError("The best weights use features that are not drawn; name these too, or leave the weights out.")
    mark = None if point is None else point[columns]
    ax, parts = panels(chosen(faces_of_problem(problem, columns), mark, every), names, unit, ax)
    found = [_grid(problem, columns, face, points) for face, _ in parts]
    levels = np.concatenate([values.ravel() for _, values in found])
    drawn = None
    for (face, own), (middles, values) in zip(parts, found):
        marked = mark is not None and bool(face.holds(mark[None])[0])
        at = [] if mark is None or not marked else [*mark[face.columns]]
        if len(face.columns) == 1:
            own.plot(middles[0], values, color=BLUE, lw=1.2, drawstyle="steps-mid", label="value")
            at += [] if point is None or not marked else _values(problem, point[None]).tolist()
        else:
            ends = (*middles[0][[0, -1]], *middles[1][[0, -1]])
            half = [(b - a) / 2 / (points - 1) for a, b in (ends[:2], ends[2:])]
            extent = (ends[0] - half[0], ends[1] + half[0], ends[2] - half[1], ends[3] + half[1])
            look: Look = dict(origin="lower", extent=extent, aspect="auto", interpolation="nearest", **shades(levels))
            drawn = own.imshow(values, cmap="Greys", **look)
        if boxes is not None:
            outline = dict(facecolor="none", edgecolor=BLUE, linewidth=0.4)
            draw_boxes(own, face, boxes.lower, boxes.upper, boxes.bounds, **outline)
        if marked:
            ring(own, at[0], at[1])
    if drawn is None and boxes is not None:
        levels = np.append(levels, boxes.bounds)
        parts[0][1].legend(frameon=False, fontsize="small")
    return scaled(ax, parts, drawn, levels, unit)


def _grid(problem: Problem, columns: NDArray[np.intp], face: Face, points: int) -> tuple[list[Floats], Floats]:
    """Middles of equal parts along each axis of a face, and the values there; the last axis comes first in them."""
    count = points if len(face.columns) == 2 else 10 * points
    shares = (np.arange(count) + 0.5) / count
    middles = [low + (high - low) * shares for low, high in zip(face.lower, face.upper)]
    mesh = np.meshgrid(*middles)
    weights = np.zeros((mesh[0].size, problem.n_features))
    if face.fixed is not None:
        weights[:, columns[face.fixed]] = face.side
    for j, along in zip(face.columns, mesh):
        weights[:, columns[j]] = along.ravel()
    return middles, _values(problem, weights).reshape(mesh[0].shape)


def _values(problem: Problem, weights: Floats) -> Floats:
    from rerank.problem.values import values_at

    return values_at(problem, weights)
