"""What a card does on rows: totals of both classes, ROC curve, calibration, and the worth of acting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.plots.drawn import RiskOfTotal
from rerank.plots.style import BLUE, GREY, ORANGE, Look, axes_of, hide_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (4.4, 3.6)
AREAS = 220.0  # square points of the largest mark of a calibration


def _counts(totals: Sequence[RiskOfTotal]) -> tuple[Any, Any, Any]:
    """Totals, relevant rows and other rows."""
    p, q = np.array([(total.relevant, total.other) for total in totals], np.float64).T
    return np.array([total.total for total in totals]), p, q


def _shares(axis: Any) -> None:
    axis.set_major_formatter(lambda share, _: f"{100 * abs(share):.0f} %")


def totals_by_class(totals: Sequence[RiskOfTotal], cut: int | None = None, *, ax: Axes | None = None) -> Axes:
    """Shares of the relevant rows at each total upwards, of the others downwards, and the cut as a line.

    Parameters
    ----------
    totals : sequence of Total
    cut : int, optional
        Rows of at least this total are flagged.
    """
    ax = hide_frame(axes_of(ax, SIZE))
    places, p, q = _counts(totals)
    width = 0.8 * float(np.diff(np.sort(places)).min()) if places.size > 1 else 0.8
    ax.bar(places, p / max(p.sum(), 1e-300), width, color=ORANGE, label="relevant rows")
    ax.bar(places, -q / max(q.sum(), 1e-300), width, color="white", edgecolor=BLUE, hatch="///", label="other rows")
    ax.axhline(0, color="black", lw=0.8)
    if cut is not None:
        ax.axvline(cut - 0.5, color=GREY, ls="--", lw=1.2, label=f"flagged from {cut}")
    low, high = ax.get_ylim()
    ax.set(xlabel="total", ylabel="share of the class", ylim=(1.05 * low, high + 0.35 * (high - low)))
    _shares(ax.yaxis)
    ax.locator_params(axis="x", integer=True)
    ax.legend(frameon=False, fontsize=8, loc="upper left")
    return ax


def roc_curve(totals: Sequence[RiskOfTotal], cut: int | None = None, *, ax: Axes | None = None) -> Axes:
    """Sensitivity against one less specificity, a corner for each total; the cut is the filled one.

    Parameters
    ----------
    totals : sequence of Total
    cut : int, optional
    """
    ax = hide_frame(axes_of(ax, SIZE))
    places, p, q = _counts(totals)
    x, y = (np.append(0.0, np.cumsum(side) / max(side.sum(), 1e-300)) for side in (q, p))
    ax.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=":", label="a random order")
    ax.plot(x, y, "-o", color=BLUE, lw=1.4, ms=4 if places.size <= 25 else 0, mfc="white", label="the card")
    if cut is not None and (places >= cut).any():
        at = int((places >= cut).sum())
        ax.plot([x[at]], [y[at]], "o", color=ORANGE, ms=7, label=f"flagged from {cut}")
    ax.set(xlabel="other rows flagged", ylabel="relevant rows flagged", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    for axis in (ax.xaxis, ax.yaxis):
        _shares(axis)
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    return ax


def calibration(risk: ArrayLike, share: ArrayLike, ends: ArrayLike, rows: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Shares of relevant rows against the risks that a card tells; areas are numbers of rows.

    Parameters
    ----------
    risk, share : float array (m,)
    ends : float array (m, 2)
        Ends of an interval of each share.
    rows : float array (m,)
    """
    ax = hide_frame(axes_of(ax, SIZE))
    told, found, between, many = (np.asarray(values, np.float64) for values in (risk, share, ends, rows))
    ax.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=":", label="risk = share")
    for x, own in zip(told, between):
        ax.plot([x, x], own, color=BLUE, lw=1.0, alpha=0.7, clip_on=False)
    look: Look = dict(color="white", edgecolor=BLUE, clip_on=False, zorder=3, label="rows of one risk")
    ax.scatter(told, found, AREAS * many / many.max(), **look)
    high = min(1.0, 1.1 * max(told.max(), between.max()))
    ax.set(xlabel="risk, by the card", ylabel="share here, 95 % interval", xlim=(0, high), ylim=(0, high))
    for axis in (ax.xaxis, ax.yaxis):
        _shares(axis)
    ax.legend(frameon=False, fontsize=8, loc="upper left", markerscale=0.5)
    return ax


def decision_curve(thresholds: Any, card: Any, everyone: Any, *, ax: Axes | None = None) -> Axes:
    """Net benefit of acting on rows of at least a risk, of acting on all, and on none.

    Parameters
    ----------
    thresholds : float array (m,)
        Risks.
    card, everyone : float array (m,)
        Net benefits, in relevant rows per row.
    """
    ax = hide_frame(axes_of(ax, SIZE))
    ax.axhline(0, color="black", lw=0.8, label="act on none")
    ax.plot(thresholds, everyone, color=GREY, ls="--", lw=1.2, label="act on all")
    ax.step(thresholds, card, color=BLUE, lw=1.6, label="by the card", where="pre")
    top = max(float(np.max(card)), float(np.max(everyone)), 1e-9)
    ax.set(xlabel="risk from which one acts", ylabel="net benefit", xlim=(0, float(np.max(thresholds))))
    ax.set_ylim(-0.35 * top, 1.15 * top)
    _shares(ax.xaxis)
    ax.legend(frameon=False, fontsize=8, loc="upper right")
    return ax
