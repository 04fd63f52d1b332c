"""Rows with two features, and the direction in which their score grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.plots.style import GREY, ORANGE, axes_of, hide_frame


def plane(
    X: ArrayLike, relevant: ArrayLike, w: ArrayLike, texts: Sequence[str], *, title: str = "", ax: Any = None
) -> Any:
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
    hide_frame(ax)
    return ax
