"""Sums over competitors, ``S(f) = sum_j log2(1 + 2^(f_j - f))``, by products and by polynomials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from rerank.latent.kernels.products import LANES, RANGE, log_of_product, powers
from rerank.latent.kernels.rows import FAST
from rerank.scorers.robirank.chebyshev import (
    LN2,
    STRIP,
    _evaluate,
    _kernel,
    _moments,
    _nodal,
    _times,
    _transposed_times,
)

ERROR = 1e-3  # of a polynomial; A is at least 1
WIDEST = 100.0  # range of scores that a polynomial is tried on
EVERY = 16  # users whose error is looked at


@njit(cache=True, nogil=True)
def nodes(low: float, high: float, n: int) -> int:
    """Nodes that keep the error of ``1 + S`` over ``n`` items below ``ERROR`` [Trefethen2013, th. 8.2]."""
    h = max(0.5 * (high - low), 0.5)
    z = STRIP / h
    return int(math.ceil(math.log((2.0 + h) * n / ERROR) / math.log(z + math.sqrt(1.0 + z * z)))) + 1


@njit(cache=True, nogil=True)
def polynomial_sums(row: Any, low: float, high: float, r: int, f: Any, sums: Any) -> None:
    """``sums_i = S(f_i)`` for scores ``row`` and ``f`` in ``low .. high``."""
    h = max(0.5 * (high - low), 0.5)
    middle = 0.5 * (low + high)
    x = np.empty(row.size)
    for j in range(row.size):
        x[j] = (row[j] - middle) / h
    at = np.empty(f.size)
    for i in range(f.size):
        at[i] = (f[i] - middle) / h
    to = _nodal(r)
    value = np.empty((r, r))
    slope = np.empty((r, r))
    _kernel(h, r, value, slope)
    moments = _transposed_times(to, _moments(x, np.ones(x.size), x.size, r))
    _evaluate(at, _times(to, _times(value, moments)), f.size, sums)


@njit(cache=True, nogil=True, fastmath=FAST)
def user_sums(
    row: Any, low: Any, high: Any, f: Any, method: int, scratch: Any, bits: Any, exponent: Any, sums: Any
) -> None:
    """``sums_i = S(f_i)`` for the scores ``row`` of a user, ``low`` to ``high``; changes ``row``.

    ``method`` is 0 for products, 1 for polynomials, 2 for the cheaper of the two.
    """
    n = row.size
    for i in range(f.size):
        low = min(low, f[i])
        high = max(high, f[i])
    if method > 0 and high - low < WIDEST:
        r = nodes(low, high, n)
        # Steps of about a tenth of a nanosecond: a record's product takes n, a polynomial 3 n r and the table of r^2
        # logarithms 70 each.
        if method == 1 or f.size * n > 3 * n * r + 70 * r * r:
            polynomial_sums(row, low, high, r, f, sums)
            return
    powers(row, high)
    for i in range(f.size):
        e = np.float32(2.0) ** max(f[i] - high, -RANGE)
        sums[i] = log_of_product(row, e, scratch, bits, exponent)


@njit(cache=True, nogil=True, fastmath=FAST)
def refresh(
    S: Any, low: Any, high: Any, users: Any, U: Any, V: Any, indptr: Any, items: Any, part_of: Any, place: Any,
    first_part: int, last_part: int, first: int, others: float, method: int,
    cursor: Any, xi: Any, report: Any,
) -> None:  # fmt: skip
    """``xi`` of the records of ``users`` in the sub-blocks ``first_part .. last_part``.

    ``S`` (len(users), m) are scores of the first ``m`` items of the block ``V``, which begins at position ``first``;
    ``low`` and ``high`` (len(users),) are the least and largest.
    With ``c`` of these other than y, ``A = 1 + others / c sum s(f_y - f_y')`` and ``xi = 1 / A``.  Record by
    record ``report`` sums up log2 A, the squared relative error of A, the number and that of those looked at for
    the error.
    """
    m = S.shape[1]
    scratch = np.empty(LANES, dtype=np.float32)
    bits = scratch.view(np.int32)
    exponent = np.empty(LANES, dtype=np.int32)
    f = np.empty(V.shape[0], dtype=np.float32)
    at = np.empty(V.shape[0], dtype=np.int64)
    sums = np.empty(V.shape[0])
    for i in range(users.size):
        x = users[i]
        c = 0
        for r in range(indptr[x], indptr[x + 1]):
            y = items[r]
            if first_part <= part_of[y] < last_part:
                at[c] = place[y] - first
                s = np.float32(0.0)
                for k in range(U.shape[1]):
                    s += U[x, k] * V[at[c], k]
                f[c] = s
                sums[c] = part_of[y]
                c += 1
        _spread(S[i], f[:c], others, at, report)
        parts = sums[:c].astype(np.int64)
        user_sums(S[i], low[i], high[i], f[:c], method, scratch, bits, exponent, sums[:c])
        for q in range(c):
            own = 1 if at[q] < m else 0
            A = 1.0 + others * max(sums[q] - own, 0.0) / max(m - own, 1)
            k = parts[q]
            xi[cursor[k]] = 1.0 / A
            cursor[k] += 1
            report[0] += math.log2(A)
            report[2] += 1.0


@njit(cache=True, nogil=True)
def _spread(row: Any, f: Any, others: float, at: Any, report: Any) -> None:
    """Squared relative standard error of A, drawing without replacement, for the first record of some users.

    It is 0 where the sum is over all items, and not known, so that nobody has looked, where fewer than two are drawn.
    """
    m = row.size
    report[4] += 1.0
    if f.size == 0 or report[4] % EVERY != 1.0:
        return
    if m > others:
        report[3] += 1.0
        return
    n = m - (1 if at[0] < m else 0)
    if n < 2:
        return
    total = 0.0
    squares = 0.0
    for j in range(m):
        t = row[j] - f[0]
        s = max(t, 0.0) + math.log1p(2.0 ** -abs(t)) / LN2
        if j != at[0]:
            total += s
            squares += s * s
    mean = total / n
    variance = max(squares / n - mean * mean, 0.0) / (n - 1)
    error = others * math.sqrt(variance * max(1.0 - n / others, 0.0)) / (1.0 + others * mean)
    report[1] += error * error
    report[3] += 1.0
