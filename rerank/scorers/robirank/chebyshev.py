"""RoBiRank's sums over competitors as smooth functions of one score, interpolated.

``S(s) = sum_j a_j log2(1 + 2^(f_j - s))``, its derivative and ``T(s) = sum_i q_i / (1 + 2^(f_i - s))`` depend on a
pair by ``f_j - s`` alone, and the kernel ``log2(1 + 2^t)`` is analytic in the strip ``|Im t| < pi / ln 2``.  With
``r`` Chebyshev nodes ``s_p`` on the range of the scores and the polynomials ``l_p`` of Lagrange,

    log2(1 + 2^(f - s)) ~ sum_{p, q} l_p(s) log2(1 + 2^(s_q - s_p)) l_q(f)

errs by about ``rho^-r``, ``rho = z + sqrt(1 + z^2)``, ``z = pi / (ln 2 h)`` for scores of half-range ``h``
[Trefethen2013, th. 8.2].  A list of ``n`` rows, ``k`` of them relevant, then costs ``O((n + k) r + r^2)``, not ``n k``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

LN2 = math.log(2.0)
STRIP = math.pi / LN2
ERROR = 1e-11  # of one pair, before the sum over a list multiplies it
LANES = 128  # rows that are computed together, so that their polynomials stay in the first-level cache


@njit(cache=True, nogil=True)
def nodes_for(low: float, high: float, rows: float) -> int:
    """Nodes that keep the error of ``S`` below ``ERROR`` times the least weight (``S >= a_i`` at row i).

    ``rows`` bounds the sum of the weights over the least of them.
    """
    h = max(0.5 * (high - low), 0.5)
    z = STRIP / h
    rho = z + math.sqrt(1.0 + z * z)
    return int(math.ceil(math.log(rows * (2.0 + h) / ERROR) / math.log(rho))) + 1


@njit(cache=True, nogil=True)
def interpolated(f: Any, k: int, a: Any, c: Any, low: float, high: float, r: int, g: Any) -> float:
    """``L`` of one list and its gradient, added to ``g``."""
    n = f.size
    h = max(0.5 * (high - low), 0.5)
    x = np.empty(n)
    for j in range(n):
        x[j] = (f[j] - 0.5 * (low + high)) / h
    to = series_of_nodes(r)
    value = np.empty((r, r))
    slope = np.empty((r, r))
    kernel_at_nodes(h, r, value, slope)
    A = np.empty(k)
    D = np.empty(k)
    m = transposed_times(to, chebyshev_moments(x, a, n, r))
    evaluate_series(x, matrix_times(to, matrix_times(value, m)), k, A)
    evaluate_series(x, matrix_times(to, matrix_times(slope, m)), k, D)
    q = np.empty(k)
    total = 0.0
    for i in range(k):
        at = max(A[i], a[i])
        total += c[i] * math.log2(at)
        q[i] = c[i] / (LN2 * at)
    m = transposed_times(to, chebyshev_moments(x, q, k, r))
    evaluate_series(x, matrix_times(to, transposed_times(slope, m)), n, x)
    for j in range(n):
        g[j] += a[j] * x[j]
    for i in range(k):
        g[i] -= q[i] * D[i]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def matrix_times(M: Any, v: Any) -> Any:
    """``M v``; a product of NumPy would bring BLAS and its checks into the compilation."""
    found = np.empty(v.size)
    for p in range(v.size):
        s = 0.0
        for q in range(v.size):
            s += M[p, q] * v[q]
        found[p] = s
    return found


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def transposed_times(M: Any, v: Any) -> Any:
    """``M' v``."""
    found = np.zeros(v.size)
    for p in range(v.size):
        for q in range(v.size):
            found[q] += M[p, q] * v[p]
    return found


@njit(cache=True, nogil=True)
def series_of_nodes(r: int) -> Any:
    """``to[l, p]`` of ``l_p(x) = sum_l to[l, p] T_l(x)``: ``(2 - [l = 0]) / r T_l(x_p)`` at ``x_p``."""
    to = np.empty((r, r))
    for p in range(r):
        angle = math.pi * (p + 0.5) / r
        x = math.cos(angle)
        before = 1.0
        now = x
        to[0, p] = 1.0 / r
        for l in range(1, r):
            to[l, p] = 2.0 / r * now
            before, now = now, 2.0 * x * now - before
    return to


@njit(cache=True, nogil=True)
def kernel_at_nodes(h: float, r: int, value: Any, slope: Any) -> None:
    """``value[p, q] = log2(1 + 2^t)`` and ``slope[p, q] = 1 / (1 + 2^-t)``, ``t = s_q - s_p``."""
    s = np.empty(r)
    for p in range(r):
        s[p] = h * math.cos(math.pi * (p + 0.5) / r)
    for p in range(r):
        for q in range(p, r):
            t = s[p] - s[q]  # >= 0: the nodes fall
            e = 2.0**-t
            small = math.log1p(e) / LN2
            value[p, q] = small
            value[q, p] = small + t
            slope[p, q] = e / (1.0 + e)
            slope[q, p] = 1.0 / (1.0 + e)


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def chebyshev_moments(x: Any, a: Any, n: int, r: int) -> Any:
    """``M_l = sum_{j < n} a_j T_l(x_j)``."""
    M = np.zeros(r)
    before = np.empty(LANES)
    now = np.empty(LANES)
    for b in range(0, n, LANES):
        w = min(LANES, n - b)
        xs = x[b : b + w]
        # The weight goes through the recurrence, which is linear.
        for j in range(w):
            before[j] = a[b + j] * xs[j]  # T_{-1} = T_1
            now[j] = a[b + j]
        for l in range(r):
            s = 0.0
            for j in range(w):
                t = now[j]
                s += t
                now[j] = 2.0 * xs[j] * t - before[j]
                before[j] = t
            M[l] += s
    return M


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def evaluate_series(x: Any, coefficients: Any, n: int, out: Any) -> None:
    """``out_j = sum_l coefficients_l T_l(x_j)``, ``j < n``, by Clenshaw's recurrence [Clenshaw1955]."""
    one = np.empty(LANES)
    two = np.empty(LANES)
    for b in range(0, n, LANES):
        w = min(LANES, n - b)
        xs = x[b : b + w]
        for j in range(w):
            one[j] = 0.0
            two[j] = 0.0
        for l in range(coefficients.size - 1, 0, -1):
            d = coefficients[l]
            for j in range(w):
                t = one[j]
                one[j] = d + 2.0 * xs[j] * t - two[j]
                two[j] = t
        for j in range(w):
            out[b + j] = coefficients[0] + xs[j] * one[j] - two[j]
