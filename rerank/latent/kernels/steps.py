"""Stochastic steps of RoBiRank [YunRamanVishwanathan2014, eq. 15 and 16] over the records of a sub-block.

With ``s(t) = log2(1 + 2^-t)``, scores ``f_xy = U_x . V_y``, ``n`` items and ``N`` records in Omega, the (U, V)-step
lowers

    sum_{(x, y) in Omega} xi_xy / ln 2 sum_{y' != y} s(f_xy - f_xy')
        + alpha/2 sum_{(x, y) in Omega} (|U_x|^2 + |V_y|^2 / 2 + mean_{y' != y} |V_y'|^2).

Every record adds a penalty on the rows it uses, so a user with ``n_x`` records has the penalty ``alpha/2 n_x |U_x|^2``.
An item has a penalty for its own records and one for all records. The factor 1/2 lowers the penalty of items that many
users chose (docs/decisions/0030).

A visit takes up to ``size`` records of one user, say ``c``. It draws ``m`` items y' of the sub-block, which all these
records share, and steps along the gradient of

    sum_i w xi_i / m sum_j o_j s(f_i - f_j) + alpha/2 (c |U_x|^2 + (3/2 - b) sum_i |V_i|^2 + b c/m sum_j o_j |V_j|^2),

``w = (n - 1) / ln 2 * b`` and ``b = B / (B - 1)`` for a sub-block of ``B`` items. A draw y' = y adds nothing to the
loss, but its penalty falls on y; ``b`` and ``3/2 - b`` correct for both.

A share ``p`` of the items y' is drawn by popularity, as the items of random records of the sub-block; the others are
drawn uniformly from its ``B`` items. If item j has ``n_j`` records there, its draws have the importance weight
``o_j = 1 / (1 - p + p n_j B / sum n)``, which is 1 / (B times the chance of a draw). So the mean of ``o_j h_j`` over
draws has the uniform mean of ``h`` as its expectation.

Over an epoch, steps that are too small to affect one another add up to the gradient of the objective in expectation.

The steps of :func:`warp` are those of Weston et al. [YunRamanVishwanathan2014, eq. 17], with WARP's sampling: for a
record (x, y), items y' are drawn from the others of the sub-block until one comes within a margin,
``f_xy' > f_xy - 1``.  After ``N`` draws the rank of y is estimated as ``(n - 1) / N``, and the step follows the
gradient of

    Phi(floor((n - 1) / N)) (1 - f_xy + f_xy') + alpha/2 (|U_x|^2 + |V_y|^2 + |V_y'|^2),

``Phi(k) = 1 + 1/2 + ... + 1/k``.

After ``m`` draws without such an item the record is skipped [WestonBengioUsunier2011, alg. 1].  The margin of 1 is not
in eq. 17, whose indicator has no gradient.  The rank is estimated from few draws, so these steps are a heuristic: they
are the gradient of no objective.
"""

import math
from typing import Any

import numpy as np

from rerank.errors.kernels import kept
from rerank.latent.kernels.primitives import (
    FAST,
    ONE,
    ZERO,
    below,
    dot,
    draw,
    exp2,
    floats,
    random_bits,
    shrink_and_add,
    step_length,
)

_LN2 = math.log(2.0)
_LIMIT = np.float32(60.0)  # of a score: 2^60 squared fits into a float32
_LOW_HALF = np.uint64(0xFFFFFFFF)


@kept(fastmath=FAST)
def robirank(records: Any, U: Any, GU: Any, V: Any, GV: Any, n: int, rates: Any, drawn: Any) -> int:
    """Visit the records ``who, where, xi`` (k,) user by user, in the order of ``starts``.

    These four are ``records``; ``rates`` are ``rate, alpha, adaptive``, and ``drawn`` ``size, m, popular, seed``.
    ``U`` (n_users, d) and ``V`` (B, d), float32, and the squares ``GU``, ``GV`` of AdaGrad are changed in place;
    ``n`` is the number of all items.  Returns the pairs (y, y') used, or -1 as soon as the vector of the next user is
    too long or not finite; vectors are not checked after their last visit.
    """
    who, where, xi, starts = records
    rate, alpha, adaptive = rates
    size, m, popular, seed = drawn
    state = np.empty(1, dtype=np.uint64)
    state[0] = seed
    d = U.shape[1]
    u, g = floats(d), floats(d)
    mine, e, a = np.empty(size, dtype=np.int64), floats(size), floats(size)
    other, E, O, b = np.empty(m, dtype=np.int64), floats(m), floats(m), floats(m)
    length = floats(max(m, size))
    B = V.shape[0]
    correction = np.float32(B / (B - 1))  # b of the module
    weight = np.float32((n - 1) / _LN2 / m) * correction
    own = alpha * (np.float32(1.5) - correction)
    weights = importance_weights(where, B, popular)
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
            O[j] = weights[other[j]] * E[j]
            b[j] = ZERO
        for i in range(c):
            a[i] = _pair_gradients(weight * xi[low + i], e[i], E, O, b)
        for k in range(d):
            g[k] = alpha * np.float32(c) * u[k]
        _add_rows(a, V, mine[:c], g)
        _add_rows(b, V, other, g)
        for i in range(c):
            e[i] = own
        _step_rows(u, square, a, e, mine[:c], V, GV, rate, adaptive, length)
        for j in range(m):
            O[j] = alpha * correction * np.float32(c) / np.float32(m) * weights[other[j]]
        _step_rows(u, square, b, O, other, V, GV, rate, adaptive, length)
        r = step_length(rate, adaptive, dot(g, g) / np.float32(d), GU, x)
        for k in range(d):
            U[x, k] -= r * g[k]
        pairs += c * m
    return pairs


@kept()
def importance_weights(where: Any, B: int, popular: float) -> Any:
    """``o_j`` of the module, float32 (B,), for records whose items are ``where``."""
    weights = np.zeros(B, dtype=np.float32)
    for r in range(where.size):
        weights[where[r]] += np.float32(1.0)
    even = B / where.size
    for y in range(B):
        weights[y] = 1.0 / (1.0 - popular + popular * weights[y] * even)
    return weights


@kept()
def draw_others(where: Any, B: int, popular: float, other: Any, state: Any) -> None:
    """Fill ``other`` with items: the low half of 64 random bits decides how one is drawn, the high half which one."""
    share = np.uint64(popular * 2.0**32)
    for j in range(other.size):
        z = random_bits(state)
        by_record = where[below(z, where.size)]  # read in any case: a branch would be slower
        evenly = below(z, B)
        other[j] = by_record if z & _LOW_HALF < share else evenly


@kept(fastmath=FAST)
def _powers(u: Any, V: Any, items: Any, E: Any) -> None:
    """``E_j = 2^f_j`` for the scores of some items, clipped to -_LIMIT .. _LIMIT."""
    for j in range(items.size):
        y = items[j]
        f = ZERO
        for k in range(u.size):
            f += u[k] * V[y, k]
        E[j] = min(max(f, -_LIMIT), _LIMIT)
    exp2(E, items.size)


@kept(fastmath=FAST)
def _pair_gradients(weight: Any, e: Any, E: Any, O: Any, b: Any) -> Any:
    """The derivative by ``f_i``; those by ``f_j`` are added to ``b``. ``-s'(f_i - f_j) = E_j / (E_j + e_i)``."""
    total = ZERO
    for j in range(E.size):
        g = weight * (O[j] / (E[j] + e))
        b[j] += g
        total += g
    return -total


@kept(fastmath=FAST)
def _add_rows(b: Any, V: Any, items: Any, g: Any) -> None:
    """``g += sum_j b_j V_j``."""
    for j in range(items.size):
        y = items[j]
        for k in range(g.size):
            g[k] += b[j] * V[y, k]


@kept(fastmath=FAST)
def _step_rows(
    u: Any, square: Any, b: Any, alpha: Any, items: Any, V: Any, GV: Any, rate: Any, adaptive: bool, r: Any
) -> None:
    """Step rows of items along their gradients ``b_j u + alpha_j V_j``; ``r`` (len(items),) is a workspace."""
    for j in range(items.size):
        r[j] = step_length(rate, adaptive, b[j] * b[j] * square, GV, items[j])
    for j in range(items.size):
        y = items[j]
        keep = max(ONE - r[j] * alpha[j], ZERO)
        move = r[j] * b[j]
        for k in range(u.size):
            V[y, k] = keep * V[y, k] - move * u[k]


@kept()
def harmonic(k: int) -> float:
    """Harmonic number; for k >= 32 the asymptotic series [Euler], whose error is below 1e-9."""
    if k < 32:
        total = 0.0
        for i in range(1, k + 1):
            total += 1.0 / i
        return total
    return math.log(k) + 0.5772156649015329 + 1.0 / (2.0 * k) - 1.0 / (12.0 * k * k)


@kept(fastmath=FAST)
def warp(records: Any, U: Any, GU: Any, V: Any, GV: Any, n: int, rates: Any, drawn: Any) -> int:
    """Visit the records as :func:`~rerank.latent.kernels.steps.robirank` does; ``xi`` and ``popular`` are not used."""
    who, where, _, starts = records
    rate, alpha, adaptive = rates
    size, m, _, seed = drawn
    state = np.empty(1, dtype=np.uint64)
    state[0] = seed
    d = U.shape[1]
    g = np.empty(d, dtype=np.float32)
    pairs = 0
    for s in range(starts.size):
        low = starts[s]
        x = who[low]
        u = U[x]
        i = low
        while i < min(low + size, who.size) and who[i] == x:
            y = where[i]
            i += 1
            square = dot(u, u)
            if not square < np.float32(1e30):
                return -1
            z, tries = _violator(u, V, y, m, state)
            pairs += tries
            if z < 0:
                continue
            force = np.float32(harmonic(max((n - 1) // tries, 1)))
            for k in range(d):
                g[k] = alpha * u[k] + force * (V[z, k] - V[y, k])
            r = step_length(rate, adaptive, force * force * square / np.float32(d), GV, y)
            shrink_and_add(max(ONE - r * alpha, ZERO), r * force, u, V[y])
            r = step_length(rate, adaptive, force * force * square / np.float32(d), GV, z)
            shrink_and_add(max(ONE - r * alpha, ZERO), -r * force, u, V[z])
            r = step_length(rate, adaptive, dot(g, g) / np.float32(d), GU, x)
            shrink_and_add(ONE, -r, g, u)
    return pairs


@kept(fastmath=FAST)
def _violator(u: Any, V: Any, y: int, m: int, state: Any) -> Any:
    """An item within the margin, and the number of draws; item -1 if ``m`` draws found none."""
    mine = dot(u, V[y]) - ONE
    for tries in range(1, m + 1):
        z = draw(state, V.shape[0] - 1)
        z += z >= y  # never y itself
        if dot(u, V[z]) > mine:
            return z, tries
    return -1, m
