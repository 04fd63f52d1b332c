r"""What a box must lose on top of the pairs that are lost in all of it, from a linear relaxation, compiled.

The margin ``y_p = w.D_p - epsilon`` of an undecided pair is at least ``M_p - R_p`` in the box, and at least 0 if
the pair is won.  So for every ``0 <= t_p <= W_p / (R_p - M_p)`` its loss is at least ``-t_p y_p``, whatever the
weights, and the sum over the pairs at least

    sum_p t_p (-M_p) - h.|sum_p t_p D_p|.

Two choices of ``t`` are tried: the largest for the pairs that lose at the centre and 0 for the others, which is
best if the second term is left out, then the same at a point to which the sum of the first choice points.  Both
sums are linear in ``t``, so that the best mixture of the two costs nothing to speak of.

Rounding: ``M`` is raised by the tolerance, which covers the error of ``w.D`` (:mod:`rerank.search.tables`).  All
other terms add up to ``size = sum_p W_p R_p / (R_p - M_p)`` at most, which is at least half of the weights; adding
``n`` of them is off by no more than ``n`` units of it, and ``ROUNDING`` allows for five times that.
"""

from typing import Any

import numpy as np

from rerank.problem.proof import GRAINS, MOST_MOVED, SHARES
from rerank.search.compiled import inner

STEP = 0.9  # of the way to the point where the sum of the first choice would vanish, were the pairs spread evenly
HOPE = 0.3  # of the weight lost at the centre: a gap beyond is hardly ever closed, and half the weight never
ROUNDING = 1e-15
CENTRE = np.int64(sum(GRAINS << 4 * j for j in range(MOST_MOVED)))  # the centre of a box, and no share
PAD = 2.0**-50  # by which boxes overlap whose ends are no short binary fractions


# numpy's error model: a check for division by zero would keep the loop out of the vector unit.
@inner(error_model="numpy", fastmath={"reassoc", "nsz"})
def _prices(M: Any, R: Any, W: Any, tolerance: float, most: Any, t: Any) -> Any:
    """Largest ``t`` of each pair, the choice at the centre and its first term, and what rounding is relative to. ``R >=
    tolerance > 0``; the quarter of it keeps ``t`` in range where a pair is as good as won.
    """
    gain, size = 0.0, 0.0
    for p in range(M.size):
        m, r = M[p], R[p]
        x = W[p] / max(r - m, 0.25 * r)
        x = x if (m + r >= 0.0) & (m - r <= 0.0) else 0.0
        y = x if m < 0.0 else 0.0
        most[p] = x
        t[p] = y
        gain -= y * (m + tolerance)
        size += x * r
    return gain, size


@inner(fastmath={"reassoc", "nsz"})
def _reprice(margin: Any, M: Any, tolerance: float, most: Any, t: Any) -> float:
    """The choice at the point of these margins, and its first term."""
    gain = 0.0
    for p in range(M.size):
        y = most[p] if margin[p] < 0.0 else 0.0
        t[p] = y
        gain -= y * (M[p] + tolerance)
    return gain


@inner(fastmath={"reassoc", "nsz"})
def _sums(D: Any, a: int, t: Any, out: Any) -> None:
    """``out = sum_p t_p D_p``, two columns at a time."""
    k, n = out.size, t.size
    for j in range(0, k - 1, 2):
        x, y = D[j, a : a + n], D[j + 1, a : a + n]
        left, right = 0.0, 0.0
        for p in range(n):
            left += x[p] * t[p]
            right += y[p] * t[p]
        out[j] = left
        out[j + 1] = right
    if k % 2 == 1:
        x = D[k - 1, a : a + n]
        left = 0.0
        for p in range(n):
            left += x[p] * t[p]
        out[k - 1] = left


@inner(fastmath={"reassoc", "nsz"})
def _shift(D: Any, a: int, move: Any, margin: Any) -> None:
    """``margin += move.D``, two columns at a time."""
    k, n = move.size, margin.size
    for j in range(0, k - 1, 2):
        x, y, u = D[j, a : a + n], D[j + 1, a : a + n], move[j]
        v = move[j + 1]
        for p in range(n):
            margin[p] += u * x[p] + v * y[p]
    if k % 2 == 1:
        x, u = D[k - 1, a : a + n], move[k - 1]
        for p in range(n):
            margin[p] += u * x[p]


@inner()
def _mixed(h: Any, gain: float, first: Any, other: float, second: Any, share: float) -> float:
    """Bound by ``1 - share`` of the first choice and ``share`` of the second."""
    value = gain + share * (other - gain)
    for j in range(h.size):
        value -= h[j] * abs(first[j] + share * (second[j] - first[j]))
    return value


@inner()
def _best_share(h: Any, gain: float, first: Any, other: float, second: Any) -> float:
    """Share of the best mixture: concave and piecewise linear in the share, so best at an end or where a sum is 0."""
    best, most = 0.0, _mixed(h, gain, first, other, second, 0.0)
    for j in range(h.size + 1):
        share = 1.0
        if j < h.size:
            share = first[j] / (first[j] - second[j]) if first[j] * second[j] < 0.0 else 0.0
        bound = _mixed(h, gain, first, other, second, share)
        if bound > most:
            best, most = share, bound
    return best


@inner(error_model="numpy")
def must_lose(D: Any, a: int, n: int, tolerance: float, need: float, coarse: bool, margins: Any, axes: Any) -> Any:
    """Weight of the undecided among the pairs ``a .. a + n`` that is lost at least; the first term of the sum that
    shows it, whose second term stands in ``axes[3]``; point and share in one number.

    They are rounded to that number if ``coarse`` (:func:`rerank.problem.proof.unpacked`). ``need`` is above 0, and less
    is of no use: 0 where it is seen early that it cannot be reached. The margins and the axes are those of a
    :class:`rerank.search.workspace.PairSpace`; the weights stand behind the columns of ``D``.
    """
    h, first, second = axes[1], axes[3], axes[4]
    k = h.size
    M, most, t, margin = margins[0, :n], margins[2, :n], margins[3, :n], margins[4, :n]
    gain, size = _prices(M, margins[1, :n], D[k, a : a + n], tolerance, most, t)
    off = ROUNDING * (n + 64) * size
    if gain - off < need:
        return 0.0, 0.0, CENTRE
    _sums(D, a, t, first)
    bound = gain
    for j in range(k):
        bound -= h[j] * abs(first[j])
    if bound - off >= need:
        return bound - off, gain - off, CENTRE
    # A sum falls by size / (k h_j)^2 a unit of w_j or so: |D_pj| h_j is the k-th part of R_p.
    word = CENTRE
    for j in range(k):
        to = STEP * k * k * h[j] * first[j] / size
        to = max(-1.0, min(1.0, to))
        if coarse:
            step = np.rint(GRAINS * to) if j < MOST_MOVED else 0.0
            to = step / GRAINS
            if j < MOST_MOVED:
                word += np.int64(step) << np.int64(4 * j)
        second[j] = h[j] * to
    for p in range(n):
        margin[p] = M[p]
    _shift(D, a, second, margin)
    other = _reprice(margin, M, tolerance, most, t)
    _sums(D, a, t, second)
    share = _best_share(h, gain, first, other, second)
    if coarse:
        share = np.rint(SHARES * share) / SHARES
        word += np.int64(np.rint(SHARES * share)) << np.int64(4 * MOST_MOVED)
    bound = _mixed(h, gain, first, other, second, share)
    for j in range(k):
        first[j] += share * (second[j] - first[j])
    return max(bound - off, 0.0), gain + share * (other - gain) - off, word


@inner()
def shrink(c: Any, h: Any, spare: float, total: Any, smallest: float) -> float:
    """Cut from a box what loses enough: all but ``total.(w - c) >= spare``; returns the share of its volume that stays.

    Ends are rounded outward, and so are those of its parts (:data:`PAD`). No coordinate falls below the ``smallest``
    half-width.
    """
    reach, kept = 0.0, 1.0
    for j in range(h.size):
        reach += h[j] * abs(total[j])
    for j in range(h.size):
        own = h[j] * abs(total[j])
        if own > 0.0 and spare - reach + own > -own:
            away = (spare - reach + own) / own
            half = 0.5 * h[j] * (1.0 - away) + PAD
            if smallest <= half < h[j]:
                move = 0.5 * h[j] * (1.0 + away)
                c[j] += move if total[j] > 0.0 else -move
                kept *= half / h[j]
                h[j] = half
    return kept
