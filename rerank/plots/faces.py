"""Flat parts of the space of weights, the panels in which they are drawn, and what stands on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.plots.style import GREY, ORANGE, axes_of, hide_frame

if TYPE_CHECKING:
    from rerank.problem import Problem

Floats = NDArray[np.float64]

CLOSE = 1e-9
"""By how much a weight may miss the side of a cube."""


@dataclass(frozen=True, eq=False)
class Face:
    """One or two weights that vary, and one that does not: a side of the cube, or the weight 1 of a given score.

    Attributes
    ----------
    columns : list of int
        Of the weights that vary.
    lower, upper : float64 (k,)
        Their ends.
    fixed : int or None
        Column of the weight that does not vary; None if all do.
    side : float
        That weight.
    """

    columns: list[int]
    lower: Floats
    upper: Floats
    fixed: int | None = None
    side: float = 1.0

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
    """All faces, or the first that the best weights lie on.

    Raises
    ------
    InputError
        If they lie on none.
    """
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
    faces: list[Face], names: Sequence[str] | None, unit: str, ax: Any
) -> tuple[Any, list[tuple[Face, Any]]]:
    """Axes for each face, with labels; several faces share the place of ``ax``, one column for each fixed weight."""
    count = 1 + max(max(face.columns) if face.fixed is None else max(*face.columns, face.fixed) for face in faces)
    named = [f"weight of feature {j}" for j in range(count)] if names is None else list(names)
    if len(named) < count:
        raise InputError(f"There are {len(named)} names for {count} weights; give one of each.")
    fixed, sides = list(dict.fromkeys(face.fixed for face in faces)), list(dict.fromkeys(face.side for face in faces))
    size = (3.0 * len(fixed) + 1.0, 2.7 * len(sides)) if len(faces) > 1 else (6.4, 5.2)
    ax = axes_of(ax, size if len(faces[0].columns) == 2 else (size[0], 0.7 * size[1]))
    own = [ax] if len(faces) == 1 else _divided(ax, faces, fixed, sides)
    points = min(10.0, max(4.5, 3.2 * ax.figure.get_figwidth() / len(fixed)))  # letters that fit beside a panel
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


def _divided(ax: Any, faces: list[Face], fixed: list[int | None], sides: list[float]) -> list[Any]:
    """Axes for each face within the place of ``ax``, which shows nothing itself."""
    ax.axis("off")
    place, shape = ax.get_subplotspec(), (len(sides), len(fixed))
    if place is not None:
        grid = place.subgridspec(*shape)
    else:
        box = ax.get_position()
        ends = dict(left=box.x0, right=box.x1, bottom=box.y0, top=box.y1)
        grid = ax.figure.add_gridspec(*shape, **ends, wspace=0.5, hspace=0.6)
    return [ax.figure.add_subplot(grid[sides.index(face.side), fixed.index(face.fixed)]) for face in faces]


def ring(ax: Any, x: float, y: float) -> None:
    """The best weights, seen on dark and on pale ground."""
    width = ax.get_position().width * ax.figure.get_figwidth()
    size = 13 if width > 1.5 else 8
    style = dict(ms=size, mfc="none", clip_on=False)
    ax.plot(x, y, "o", mec="white", mew=size / 3.25, zorder=3, **style)
    ax.plot(x, y, "o", mec=ORANGE, mew=size / 6.5, zorder=4, **style)


def shades(values: Floats) -> dict[str, float]:
    """Ends of a scale of greys on whose darkest shade marks are seen."""
    least, most = float(values.min()), float(values.max())
    return dict(vmin=least, vmax=most + 0.35 * ((most - least) or 1.0))


def scale_beside(ax: Any, own: list[Any], drawn: Any, unit: str, ends: tuple[float, float]) -> None:
    """The scale of greys beside the panels, from the least to the largest value."""
    bar = ax.figure.colorbar(drawn, ax=own, label=unit)
    bar.ax.set_ylim(ends[0], ends[1] if ends[1] > ends[0] else None)


def corners(lower: Floats, upper: Floats) -> Floats:
    """Corners (m, 4, 2) of rectangles."""
    (left, low), (right, high) = lower.T, upper.T
    four = ((left, low), (right, low), (right, high), (left, high))
    return np.stack([np.stack(ends, axis=1) for ends in four], axis=1)


def bounds_along(ax: Any, lower: Floats, upper: Floats, bounds: Floats) -> None:
    """The bounds of intervals of one weight, as steps."""
    from matplotlib.collections import LineCollection

    heights = np.column_stack([bounds, bounds])
    steps = np.stack([np.column_stack([lower, upper]), heights], axis=2)
    ax.add_collection(LineCollection(list(steps), colors="black", linewidths=1.5, label="bounds of the boxes"))
    # Where intervals meet, a thin line joins their bounds.
    order = np.argsort(lower, kind="stable")
    ax.step(np.append(lower[order], upper.max()), np.append(bounds[order], bounds[order[-1]]), where="post", color=GREY,
            lw=0.5, zorder=1)  # fmt: skip


def as_points(best: ArrayLike | None, k: int) -> Floats | None:
    """The best weights as an array (k,)."""
    if best is None:
        return None
    point = np.asarray(best, dtype=np.float64)
    if point.shape != (k,):
        raise InputError(f"The best weights have shape {point.shape}; give {k}, one for each column.")
    return point
