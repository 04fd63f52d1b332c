r"""Stochastic steps of RoBiRank [YunRamanVishwanathan2014, eq. 15 and 16] over the records of a sub-block.

With ``s(t) = log2(1 + 2^-t)``, scores ``f_xy = U_x . V_y``, ``n`` items and ``N`` records in Omega, the (U, V)-step
lowers

    sum_{(x, y) in Omega} xi_xy / ln 2 sum_{y' != y} s(f_xy - f_xy')
        + alpha/2 sum_{(x, y) in Omega} (|U_x|^2 + |V_y|^2 + mean_{y' != y} |V_y'|^2).

Every record weighs down the rows it touches, so a user with ``n_x`` records has the penalty ``alpha/2 n_x |U_x|^2``.
A visit takes up to ``size`` records of one user, ``c`` say, draws ``m`` items y' of the sub-block for them all, and
steps with the gradient of

    sum_i w xi_i / m sum_j o_j s(f_i - f_j) + alpha/2 (c |U_x|^2 + (2 - b) sum_i |V_i|^2 + b c/m sum_j o_j |V_j|^2),

``w = (n - 1) / ln 2 * b`` and ``b = B / (B - 1)`` for a sub-block of ``B`` items: where y' = y the pair cancels, and
weighs down y once more.  A share ``p`` of the items y' is drawn by popularity, as the items of random records of
the sub-block, since items that many chose outrank most others and bring most of the sum; with ``n_j`` records each,
``o_j = 1 / (1 - p + p n_j B / sum n)``, one over ``B`` times the chance of a draw, makes up for it.  Over an epoch,
steps that are too small to disturb one another sum up to the gradient above in expectation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from rerank.latent.rows import FAST, add, dot, draw, shrink_and_add

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
        Pairs (y, y') used, or -1 as soon as a vector is not finite.
    """
    state = np.empty(1, dtype=np.uint64)
    state[0] = seed
    d = U.shape[1]
    e = np.empty(size, dtype=np.float32)
    a = np.empty(size, dtype=np.float32)
    g = np.empty(d, dtype=np.float32)
    E = np.empty(m, dtype=np.float32)
    b = np.empty(m, dtype=np.float32)
    other = np.empty(m, dtype=np.int64)
    B = V.shape[0]
    others = np.float32(B / (B - 1))
    weight = np.float32((n - 1) / LN2) * others
    own = alpha * (np.float32(2.0) - others)
    odds = _odds(where, B, popular)
    pairs = 0
    for s in range(starts.size):
        low = starts[s]
        x = who[low]
        u = U[x]
        square = dot(u, u)
        if not square < np.float32(1e30):
            return -1
        _draw_others(where, B, popular, other, state)
        _powers_of(u, V, other, E, b)
        c = _records(who, where, xi, low, size, u, V, e)
        for i in range(c):
            a[i] = _forces(weight * xi[low + i] / np.float32(m), e[i], E, odds, other, b)
        _user(u, c, alpha, where, low, a, other, b, V, g)
        for i in range(c):
            y = where[low + i]
            r = step_length(rate, adaptive, a[i] * a[i] * square / np.float32(d), GV, y)
            shrink_and_add(max(ONE - r * own, ZERO), -r * a[i], u, V[y])
        share = alpha * others * np.float32(c) / np.float32(m)
        for j in range(m):
            y = other[j]
            r = step_length(rate, adaptive, b[j] * b[j] * square / np.float32(d), GV, y)
            shrink_and_add(max(ONE - r * share * odds[y], ZERO), -r * b[j], u, V[y])
        add(-step_length(rate, adaptive, dot(g, g) / np.float32(d), GU, x), g, u)
        pairs += c * m
    return pairs


@njit(cache=True, nogil=True)
def _odds(where: Any, B: int, popular: float) -> Any:
    """``o``: by how much less than evenly an item is drawn."""
    odds = np.zeros(B, dtype=np.float32)
    for r in range(where.size):
        odds[where[r]] += ONE
    even = B / where.size
    for y in range(B):
        odds[y] = 1.0 / (1.0 - popular + popular * odds[y] * even)
    return odds


@njit(cache=True, nogil=True)
def _draw_others(where: Any, B: int, popular: float, other: Any, state: Any) -> None:
    """Every draw is by popularity with probability ``popular``."""
    for j in range(other.size):
        if draw(state, 1 << 20) < popular * (1 << 20):
            other[j] = where[draw(state, where.size)]
        else:
            other[j] = draw(state, B)


@njit(cache=True, nogil=True, fastmath=FAST)
def _powers_of(u: Any, V: Any, other: Any, E: Any, b: Any) -> None:
    """``E_j = 2^f_j``; the forces ``b`` on the items y' start at zero."""
    for j in range(other.size):
        E[j] = dot(u, V[other[j]])
        b[j] = ZERO
    _powers(E, other.size)


@njit(cache=True, nogil=True, fastmath=FAST)
def _records(who: Any, where: Any, xi: Any, low: int, size: int, u: Any, V: Any, e: Any) -> int:
    """``e_i = 2^f_i`` of the records of this visit, and their number."""
    c = 0
    while c < size and low + c < who.size and who[low + c] == who[low]:
        e[c] = dot(u, V[where[low + c]])
        c += 1
    _powers(e, c)
    return c


@njit(cache=True, nogil=True, fastmath=FAST)
def _powers(f: Any, n: int) -> None:
    for i in range(n):
        f[i] = np.float32(2.0) ** min(max(f[i], -LIMIT), LIMIT)


@njit(cache=True, nogil=True, fastmath=FAST)
def _forces(weight: Any, e: Any, E: Any, odds: Any, other: Any, b: Any) -> Any:
    """Derivative by ``f_i``; those by ``f_j`` are added to ``b``.  ``-s'(f_i - f_j) = E_j / (E_j + e_i)``."""
    total = ZERO
    for j in range(E.size):
        g = weight * odds[other[j]] * E[j] / (E[j] + e)
        b[j] += g
        total += g
    return -total


@njit(cache=True, nogil=True, fastmath=FAST)
def _user(
    u: Any, c: int, alpha: Any, where: Any, low: int, a: Any, other: Any, b: Any, V: Any, g: Any
) -> None:
    """Gradient by ``U_x``, before anything moves."""
    for k in range(g.size):
        g[k] = alpha * np.float32(c) * u[k]
    for i in range(c):
        add(a[i], V[where[low + i]], g)
    for j in range(other.size):
        add(b[j], V[other[j]], g)


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
