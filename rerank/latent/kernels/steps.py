r"""Stochastic steps of RoBiRank [YunRamanVishwanathan2014, eq. 15 and 16] over the records of a sub-block.

With ``s(t) = log2(1 + 2^-t)``, scores ``f_xy = U_x . V_y``, ``n`` items and ``N`` records in Omega, the (U, V)-step
lowers

    sum_{(x, y) in Omega} xi_xy / ln 2 sum_{y' != y} s(f_xy - f_xy')
        + alpha/2 sum_{(x, y) in Omega} (|U_x|^2 + |V_y|^2 / 2 + mean_{y' != y} |V_y'|^2).

Every record weighs down the rows it touches, so a user with ``n_x`` records has the penalty ``alpha/2 n_x |U_x|^2``.
An item has one for its own records, and one for all: the halves spare items that many chose, see decision 0077.
A visit takes up to ``size`` records of one user, ``c`` say, draws ``m`` items y' of the sub-block for them all, and
steps with the gradient of

    sum_i w xi_i / m sum_j o_j s(f_i - f_j) + alpha/2 (c |U_x|^2 + (3/2 - b) sum_i |V_i|^2 + b c/m sum_j o_j |V_j|^2),

``w = (n - 1) / ln 2 * b`` and ``b = B / (B - 1)`` for a sub-block of ``B`` items: where y' = y the pair cancels, and
weighs down y once more; ``o_j`` makes up for how y' is drawn, see :mod:`rerank.latent.kernels.competitors`.  Over an
epoch, steps that are too small to disturb one another sum up to the gradient above in expectation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from rerank.latent.kernels.competitors import draw_others, odds_of
from rerank.latent.kernels.rows import FAST, dot, exp2, floats

LN2 = math.log(2.0)
LIMIT = np.float32(60.0)  # of a score: 2^60 squared is still a float32
TINY = np.float32(1e-12)
ONE = np.float32(1.0)
ZERO = np.float32(0.0)


@njit(cache=True, nogil=True, fastmath=FAST)
def robirank(
    who: Any, where: Any, xi: Any, starts: Any, U: Any, GU: Any, V: Any, GV: Any,
    n: int, rate: Any, alpha: Any, adaptive: bool, size: int, m: int, popular: float, seed: Any,
) -> int:  # fmt: skip
    """Visit the records ``who, where, xi`` (k,) user by user, in the order of ``starts``.

    ``U`` (n_users, d) and ``V`` (B, d), float32, and the squares ``GU``, ``GV`` of AdaGrad are changed in place;
    ``n`` is the number of all items.

    Returns
    -------
    int
        Pairs (y, y') used, or -1 as soon as the vector of a user who is to be visited is too long or not finite.  What
        the visits left behind is not looked at again.
    """
    state = np.empty(1, dtype=np.uint64)
    state[0] = seed
    d = U.shape[1]
    u, g = floats(d), floats(d)
    mine, e, a = np.empty(size, dtype=np.int64), floats(size), floats(size)
    other, E, O, b = np.empty(m, dtype=np.int64), floats(m), floats(m), floats(m)
    length = floats(max(m, size))
    B = V.shape[0]
    again = np.float32(B / (B - 1))
    weight = np.float32((n - 1) / LN2 / m) * again
    own = alpha * (np.float32(1.5) - again)
    odds = odds_of(where, B, popular)
    pairs = 0
    for s in range(starts.size):
        low = starts[s]
        x = who[low]
        for k in range(d):
            u[k] = U[x, k]
        square = dot(u, u) / np.float32(d)
        if not square < np.float32(1e30):
            return -1
        draw_others(where, B, popular, other, state)
        _powers(u, V, other, E)
        c = 0
        while c < size and low + c < who.size and who[low + c] == x:
            mine[c] = where[low + c]
            c += 1
        _powers(u, V, mine[:c], e)
        for j in range(m):
            O[j] = odds[other[j]] * E[j]
            b[j] = ZERO
        for i in range(c):
            a[i] = _forces(weight * xi[low + i], e[i], E, O, b)
        for k in range(d):
            g[k] = alpha * np.float32(c) * u[k]
        _pull(a, V, mine[:c], g)
        _pull(b, V, other, g)
        for i in range(c):
            e[i] = own
        _move(u, square, a, e, mine[:c], V, GV, rate, adaptive, length)
        for j in range(m):
            O[j] = alpha * again * np.float32(c) / np.float32(m) * odds[other[j]]
        _move(u, square, b, O, other, V, GV, rate, adaptive, length)
        r = step_length(rate, adaptive, dot(g, g) / np.float32(d), GU, x)
        for k in range(d):
            U[x, k] -= r * g[k]
        pairs += c * m
    return pairs


@njit(cache=True, nogil=True, fastmath=FAST)
def _powers(u: Any, V: Any, items: Any, E: Any) -> None:
    """``E_j = 2^f_j`` of the scores of some items, cut at ``LIMIT``."""
    for j in range(items.size):
        y = items[j]
        f = ZERO
        for k in range(u.size):
            f += u[k] * V[y, k]
        E[j] = min(max(f, -LIMIT), LIMIT)
    exp2(E, items.size)


@njit(cache=True, nogil=True, fastmath=FAST)
def _forces(weight: Any, e: Any, E: Any, O: Any, b: Any) -> Any:
    """Derivative by ``f_i``; those by ``f_j`` are added to ``b``.  ``-s'(f_i - f_j) = E_j / (E_j + e_i)``."""
    total = ZERO
    for j in range(E.size):
        g = weight * (O[j] / (E[j] + e))
        b[j] += g
        total += g
    return -total


@njit(cache=True, nogil=True, fastmath=FAST)
def _pull(b: Any, V: Any, items: Any, g: Any) -> None:
    """``g += sum_j b_j V_j``."""
    for j in range(items.size):
        y = items[j]
        for k in range(g.size):
            g[k] += b[j] * V[y, k]


@njit(cache=True, nogil=True, fastmath=FAST)
def _move(
    u: Any, square: Any, b: Any, alpha: Any, items: Any, V: Any, GV: Any, rate: Any, adaptive: bool, r: Any
) -> None:
    """Rows of items go down their gradients ``b_j u + alpha_j V_j``; ``r`` is for step lengths."""
    for j in range(items.size):
        r[j] = step_length(rate, adaptive, b[j] * b[j] * square, GV, items[j])
    for j in range(items.size):
        y = items[j]
        keep = max(ONE - r[j] * alpha[j], ZERO)
        move = r[j] * b[j]
        for k in range(u.size):
            V[y, k] = keep * V[y, k] - move * u[k]


@njit(cache=True, nogil=True, fastmath=FAST)
def step_length(rate: Any, adaptive: bool, square: Any, G: Any, i: int) -> Any:
    """Step length of row i, whose gradient has the mean square ``square``.

    With AdaGrad [DuchiHazanSinger2011] taken by rows, ``G`` sums the squares, so that the root mean square of a
    step is ``rate`` at most; without it every step has length ``rate``.
    """
    if not adaptive:
        return rate
    G[i] += square
    return rate / np.sqrt(G[i] + TINY)
