"""The boxes of a proof: over the weights of two or three features, and their bounds by the share of all weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InputError
from rerank.plots.faces import (
    as_points,
    bounds_along,
    chosen,
    corners,
    faces_of_boxes,
    panels,
    ring,
    scale_beside,
    shades,
)
from rerank.plots.style import BLUE, ORANGE, axes_of, hide_frame


def weight_space(
    lower: ArrayLike,
    upper: ArrayLike,
    bounds: ArrayLike,
    best: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    unit: str = "bound",
    every: bool = False,
    ax: Any = None,
) -> Any:
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
    assert point is not None
    ax, parts = panels(chosen(faces_of_boxes(*ends), point, every), names, unit, ax)
    # Boxes on top of each other are the sides of a line: the larger bound is the one to see.
    ends, values = ends[:, np.argsort(values, kind="stable")], np.sort(values)
    drawn = None
    for face, own in parts:
        on = face.holds(ends[0]) & face.holds(ends[1])
        lows, highs = ends[:, on][..., face.columns]
        if len(face.columns) == 1:
            bounds_along(own, lows[:, 0], highs[:, 0], values[on])
            room = 0.05 * (np.ptp(values) or 1.0)
            own.set_ylim(values.min() - room, values.max() + room)
        else:
            from matplotlib.collections import PolyCollection

            drawn = PolyCollection(list(corners(lows, highs)), cmap="Greys", edgecolor="black", linewidth=0.3)
            drawn.set_array(values[on])
            drawn.set_clim(*shades(values).values())
            own.add_collection(drawn)
        if face.holds(point[None])[0]:
            at = point[face.columns]
            if len(face.columns) == 1:
                own.axvline(at[0], color=ORANGE, lw=2.0, ls="--")
            else:
                ring(own, *at)
    if drawn is not None:
        scale_beside(ax, [own for _, own in parts], drawn, unit, (values.min(), values.max()))
    return ax


def box_bounds(
    shares: ArrayLike, bounds: ArrayLike, value: float, claim: float, *, unit: str = "bound", ax: Any = None
) -> Any:
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
    steps = dict(where="pre", color="black", lw=1.5, label="bounds of the boxes")
    ax.step(np.append(reached[0], reached), -np.append(levels[0], levels), **steps)
    ax.axhline(claim, color=ORANGE, ls="--", lw=1.2, label="no weights exceed this")
    ax.axhline(value, color=BLUE, lw=1.2, zorder=1, label="the best weights")
    ax.set(xscale="log", xlim=(min(reached[0], 0.1), 1), xlabel="share of the weights", ylabel=unit)
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
    ax.xaxis.set_minor_formatter("")
    ax.xaxis.get_major_locator().set_params(numticks=5)
    ax.legend(frameon=False, fontsize="small", loc="best")
    hide_frame(ax)
    return ax
