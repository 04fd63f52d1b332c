"""What a validator asks of a card on rows: Gini, KS, information value, and how far a population has moved.

A share of 0 has no logarithm, so half a row is added to each share of :func:`information` and :func:`stability`.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.scorecard.files import Total

HALF = 0.5  # rows that are added where a share may be 0
SMALL, LARGE = 0.1, 0.25  # of the stability index: below no change, above a large one [Siddiqi2006]


def gini(totals: Sequence[Total]) -> float:
    """Twice the area below the ROC curve, straight through ties, less 1."""
    area = above = 0.0
    for total in totals:
        area += total.other * (above + total.relevant / 2)
        above += total.relevant
    other = sum(total.other for total in totals)
    return 2 * area / (above * other) - 1 if above and other else math.nan


def separation(totals: Sequence[Total]) -> tuple[float, int]:
    """The largest difference of the shares of both classes from a total up (Kolmogorov and Smirnov), and the total."""
    p, q = np.array([(total.relevant, total.other) for total in totals], np.float64).T
    if not (p.any() and q.any()):
        return math.nan, totals[0].total
    apart = np.cumsum(p) / p.sum() - np.cumsum(q) / q.sum()
    best = int(apart.argmax())
    return float(apart[best]), totals[best].total


def _moved(own: ArrayLike, other: ArrayLike) -> float:
    """The sum over cells of the difference of two shares times the logarithm of their quotient."""
    counts = [np.asarray(side, np.float64) + HALF for side in (own, other)]
    left, right = (side / side.sum() for side in counts)
    return float(((left - right) * np.log(left / right)).sum())


def information(relevant: ArrayLike, other: ArrayLike) -> float:
    """Information value: how far the shares of both classes in some cells are apart [Siddiqi2006]."""
    return _moved(relevant, other)


def stability(before: ArrayLike, now: ArrayLike) -> float:
    """Population stability index: how far the shares of rows in some cells are apart."""
    return _moved(before, now)


def moved(index: float) -> str:
    """A stability index in words."""
    return "hardly moved" if index < SMALL else "moved somewhat" if index < LARGE else "moved far"


def by_total(card: Any, totals: NDArray[np.int64], weight: NDArray[np.float64]) -> tuple[list[float], list[float]]:
    """Rows of the fit at each total, and so many of others with these totals; what the fit had not counts as the next
    smaller one, or the smallest.
    """
    known = np.array([total.total for total in card.totals[::-1]])
    place = np.maximum(np.searchsorted(known, totals, "right") - 1, 0)
    before = [total.relevant + total.other for total in card.totals[::-1]]
    return before, np.bincount(place, weight, known.size).tolist()


def net_benefit(risk: ArrayLike, relevant: ArrayLike, other: ArrayLike, thresholds: ArrayLike) -> NDArray[np.float64]:
    """What it is worth to act on rows of at least a risk, in relevant rows per row [VickersElkin2006]: those
    found, less the others times the odds of the threshold.
    """
    p, q = np.asarray(relevant, np.float64), np.asarray(other, np.float64)
    at = np.asarray(thresholds, np.float64)
    acts = np.asarray(risk)[None, :] >= at[:, None]
    found: NDArray[np.float64] = (acts @ p - acts @ q * at / (1 - at)) / (p.sum() + q.sum())
    return found
