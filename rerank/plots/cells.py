"""The value of all weights of two or three features: cells of one value each, and the boxes of a proof over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.plots.faces import (
    Face,
    as_points,
    bounds_along,
    chosen,
    corners,
    faces_of_problem,
    panels,
    ring,
    scale_beside,
    shades,
)
from rerank.plots.style import BLUE

if TYPE_CHECKING:
    from rerank.problem import Problem

Floats = NDArray[np.float64]


class Boxes(Protocol):
    """Boxes of weights with their bounds, as :func:`rerank.certificate.leaf_boxes` returns them."""

    @property
    def lower(self) -> Floats: ...  # noqa: D102
    @property
    def upper(self) -> Floats: ...  # noqa: D102
    @property
    def bounds(self) -> Floats: ...  # noqa: D102


def cells(
    problem: Problem,
    best: ArrayLike | None = None,
    *,
    features: Sequence[int] | None = None,
    boxes: Boxes | None = None,
    names: Sequence[str] | None = None,
    unit: str = "value",
    every: bool = False,
    points: int = 240,
    ax: Any = None,
) -> Any:
    """The value of weights, the darker the larger, computed point by point: it changes where two rows change places.

    Free weights have a largest size of 1, so those of three features are the six faces of a cube: squares, with the
    other two weights on the axes. Those of two features are four intervals, drawn as lines with the value as height.
    Corrections of a given score are one rectangle or one interval. Cells narrower than the points are not all seen.

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
    names : sequence of str, optional
        Of the weights of ``features``.
    unit : str
        Of the value.
    every : bool
        Draw every face, in panels within the place of ``ax``; otherwise the first face on which the best weights lie.
        Without ``best`` every face is drawn.
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
    point = as_points(best, problem.n_features)
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
            look = dict(origin="lower", extent=extent, aspect="auto", interpolation="nearest", **shades(levels))
            drawn = own.imshow(values, cmap="Greys", **look)
        if boxes is not None:
            _outlines(own, face, boxes)
        if marked:
            ring(own, at[0], at[1])
    if drawn is None:
        tops = levels if boxes is None else np.append(levels, boxes.bounds)
        room = 0.05 * (np.ptp(tops) or 1.0)
        for _, own in parts:
            own.set_ylim(tops.min() - room, tops.max() + room)
        if boxes is not None:
            parts[0][1].legend(frameon=False, fontsize="small")
    else:
        scale_beside(ax, [own for _, own in parts], drawn, unit, (levels.min(), levels.max()))
    return ax


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
    from rerank.problem import values_at

    return values_at(problem, weights)


def _outlines(ax: Any, face: Face, boxes: Boxes) -> None:
    """The boxes on a face: outlines of rectangles, or steps at the bounds of intervals."""
    lower, upper, bounds = (np.asarray(part, dtype=np.float64) for part in (boxes.lower, boxes.upper, boxes.bounds))
    on = face.holds(lower) & face.holds(upper)
    lows, highs = lower[on][:, face.columns], upper[on][:, face.columns]
    if len(face.columns) == 1:
        bounds_along(ax, lows[:, 0], highs[:, 0], bounds[on])
        return
    from matplotlib.collections import PolyCollection

    ax.add_collection(PolyCollection(list(corners(lows, highs)), facecolor="none", edgecolor=BLUE, linewidth=0.4))
