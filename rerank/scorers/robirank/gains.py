"""The lists of RoBiRank's objective: gains divided by the ideal DCG, rows with a gain first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expi

from rerank.errors import InputError
from rerank.scorers.data import Floats, Ints, RankingData

TABLE = 1 << 16  # places of the discount that are summed one by one


@dataclass(frozen=True, eq=False)
class GainLists:
    """Rows that count, list by list, in each list those with a gain first.

    Attributes
    ----------
    rows : int64 (m,)
        Where each is in the data.
    start : int64 (n_lists + 1,)
    relevant : int64 (n_lists,)
        Rows with a gain at the head of each list.
    weight : float64 (m,)
    gain : float64 (m,)
        ``c_x a_i v_i``, 0 for rows without a gain.
    """

    rows: Ints
    start: Ints
    relevant: Ints
    weight: Floats
    gain: Floats


def gain_lists(data: RankingData, gains: str) -> GainLists:
    """Drop rows without weight and lists without a gain, and normalise each list by its ideal DCG.

    Raises
    ------
    InputError
        For negative grades, or if no list has rows of different grades.
    """
    lowest = float(data.y[data.weight > 0].min())
    if lowest < 0:
        raise InputError(
            f"y holds {lowest:g}; the gains of RoBiRank need grades >= 0, so give y - y.min() or 0/1 labels."
        )
    rows = np.flatnonzero(data.weight > 0)
    group, y, weight = data.group[rows], data.y[rows], data.weight[rows]
    _require_pairs(group, y)
    v = _gains_of(y, gains)
    order = np.lexsort((-v, group))
    rows, group, v, weight = rows[order], group[order], v[order], weight[order]
    start = np.flatnonzero(np.diff(group, prepend=-1))
    above = np.cumsum(weight) - weight
    above -= np.repeat(above[start], np.diff(start, append=group.size))
    places = discount_sum(above + weight) - discount_sum(above)
    ideal = np.add.reduceat(v * places, start)
    sizes = np.diff(start, append=group.size)
    kept = np.repeat(ideal > 0, sizes)
    gain = weight * v / np.repeat(np.where(ideal > 0, ideal, 1.0), sizes)
    counts = np.add.reduceat((v > 0).astype(np.int64), start)
    return GainLists(
        rows[kept],
        np.concatenate([[0], np.cumsum(sizes[ideal > 0])]).astype(np.int64),
        counts[ideal > 0],
        weight[kept],
        gain[kept],
    )


def _gains_of(y: Floats, gains: str) -> Floats:
    """``2^y - 1`` (``"exponential"``), divided by ``2^max(y)`` so that no grade overflows, or ``y`` (``"linear"``)."""
    if gains == "linear":
        return y
    top = float(y.max())
    found: Floats = np.exp2(y - top) * -np.expm1(-y * np.log(2.0))
    return found


def discount_sum(places: Floats) -> Floats:
    """``sum_{p <= P} 1 / log2(p + 1)``, linear between whole numbers ``P``: the DCG of ``P`` rows of gain 1 at the top.

    Beyond a table the sum continues as its integral, ``ln 2 (li(P + 1) - li(K + 1))``, and half the change of the last
    term (Euler and Maclaurin), which is within 1e-6 there.
    """
    last = int(min(np.ceil(places.max(initial=1.0)) + 1, TABLE))
    table = np.concatenate([[0.0], np.cumsum(1.0 / np.log2(np.arange(1, last + 1) + 1.0))])
    found: Floats = np.interp(places, np.arange(last + 1), table)
    far = places > last
    if far.any():
        found[far] += np.log(2.0) * (expi(np.log(places[far] + 1)) - expi(np.log(last + 1.0)))
        found[far] += 0.5 * (1 / np.log2(places[far] + 1) - 1 / np.log2(last + 1.0))
    return found


def _require_pairs(group: NDArray[Any], y: Floats) -> None:
    """Raise :class:`InputError` unless some list has two grades."""
    order = np.lexsort((y, group))
    g, s = group[order], y[order]
    if not ((g[1:] == g[:-1]) & (s[1:] > s[:-1])).any():
        raise InputError(
            "No list holds rows of different grades with a weight > 0; there is no pair to learn from, so check qid, "
            "y and sample_weight."
        )
