"""Weights of two features in a plane, covered by the boxes of a proof."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InputError
from rerank.plots.style import ORANGE, axes_of, hide_frame


def weight_space(
    lower: ArrayLike,
    upper: ArrayLike,
    bounds: ArrayLike,
    best: ArrayLike,
    *,
    names: tuple[str, str] = ("weight of feature 0", "weight of feature 1"),
    unit: str = "bound",
    ax: Any = None,
) -> Any:
    """Boxes of weights, the darker the larger their bound, and the best weights as a ring.

    Parameters
    ----------
    lower, upper : arrays (m, 2)
        Ends of each box, as of :func:`rerank.certificate.leaf_boxes`.
    bounds : array (m,)
        What no weights of the box exceed.
    best : array (2,)
        The weights that the bounds are compared with.
    names : pair of str
        Under and beside the axes.
    unit : str
        Beside the scale of greys.
    """
    ends, values, point = np.array([lower, upper]), np.asarray(bounds, dtype=np.float64), np.asarray(best)
    if ends.ndim != 3 or ends.shape[1:] != (values.size, 2) or not values.size or point.shape != (2,):
        raise InputError(
            f"The ends of the boxes have shape {ends.shape[1:]}, the bounds {values.shape} and the best weights "
            f"{point.shape}; give two weights for each box, at least one box, and two best weights."
        )
    ax = axes_of(ax, (6.4, 5.2))
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    # Boxes on top of each other are the sides of a line: the larger bound is the one to see.
    order = np.argsort(values, kind="stable")
    patches = [Rectangle(low, *(high - low)) for low, high in zip(ends[0][order], ends[1][order])]
    drawn = PatchCollection(patches, cmap="Greys", edgecolor="black", linewidth=0.3)
    drawn.set_array(values[order])
    # Marks must be seen on the darkest box.
    drawn.set_clim(values.min(), values.max() + 0.35 * (float(np.ptp(values)) or 1.0))
    ax.add_collection(drawn)
    ax.plot(*point, "o", ms=13, mfc="none", mec="white", mew=4.0, zorder=3)
    ax.plot(*point, "o", ms=13, mfc="none", mec=ORANGE, mew=2.0, zorder=4)
    bar = ax.figure.colorbar(drawn, ax=ax, label=unit)
    bar.ax.set_ylim(values.min(), values.max() if np.ptp(values) else None)
    (left, bottom), (right, top) = ends[0].min(axis=0), ends[1].max(axis=0)
    ax.set(xlim=(left, right), ylim=(bottom, top), xlabel=names[0], ylabel=names[1])
    hide_frame(ax)
    return ax
