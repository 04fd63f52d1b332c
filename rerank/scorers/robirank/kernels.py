"""RoBiRank's objective and gradient in the scores of lists, compiled.

For one list of scores ``f`` (logarithms of base 2 throughout)

    L = sum_i c_i log2 A_i,   A_i = sum_j a_j log2(1 + 2^(f_j - f_i)),   c_i = gain of row i,

    dL/df_j = a_j sum_i q_i / (1 + 2^(f_i - f_j)) - q_j sum_k a_k / (1 + 2^(f_j - f_k)),   q_i = c_i / (ln 2 A_i).

One of three methods is chosen for each list and each evaluation: products of factors ``1 + 2^(f_j - f_i)`` with one
logarithm for as many as fit float64 (equal weights), pair by pair (any weights, any range of scores), or interpolation
(:mod:`rerank.scorers.robirank.chebyshev`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from rerank.scorers.robirank.chebyshev import interpolated, nodes_for

LN2 = math.log(2.0)
BITS = 1000.0  # a product of factors may grow to 2^1000; float64 ends at 2^1024
# Measured costs in units of one pair of the product form; rough values are enough to choose a method.
PAIR = 12.0  # a pair with a logarithm of its own
NODE = 7.5  # a pair of nodes
TERM = 0.27  # a row and a node
FEWEST = 11  # nodes that any list needs


@njit(cache=True, nogil=True)
def objective(f: Any, start: Any, relevant: Any, a: Any, c: Any, method: int, g: Any) -> float:
    """Sum of ``L`` over the lists; ``g`` (n,) receives the gradient.

    ``method`` is 0 to choose, 1 for products, 2 for pairs, 3 for interpolation; products fall back on pairs where they
    do not apply.
    """
    longest = 0
    for x in range(relevant.size):
        longest = max(longest, start[x + 1] - start[x])
    E = np.empty(longest)
    T = np.empty(longest)
    total = 0.0
    for x in range(relevant.size):
        lo = start[x]
        n = start[x + 1] - lo
        k = relevant[x]
        fs, weights, gains, slope = f[lo : lo + n], a[lo : lo + n], c[lo : lo + k], g[lo : lo + n]
        low, high = np.inf, -np.inf
        least, most = np.inf, 0.0
        for j in range(n):
            low, high = min(low, fs[j]), max(high, fs[j])
            least, most = min(least, weights[j]), max(most, weights[j])
        slope[:] = 0.0
        even = least == most and high - low < 0.5 * BITS
        each = 1.0 if even else PAIR
        how = method
        if method == 0:
            how = 1
            if each * n * k > NODE * FEWEST**2:
                r = nodes_for(low, high, n * (most / least))
                how = 3 if r * (NODE * r + TERM * (n + k)) < each * n * k else 1
        if how == 3:
            r = nodes_for(low, high, n * (most / least))
            total += interpolated(fs, k, weights, gains, low, high, r, slope)
        elif how == 1 and even:
            total += _products(fs, k, least, gains, low, high, E, T, slope)
        else:
            total += _pairs(fs, k, weights, gains, T, slope)
    return total


@njit(cache=True, nogil=True)
def _products(f: Any, k: int, a: float, c: Any, low: float, high: float, E: Any, T: Any, g: Any) -> float:
    n = f.size
    for j in range(n):
        E[j] = 2.0 ** (f[j] - high)
    block = n
    several = n * (1.0 + high - low) > BITS
    total = 0.0
    for i in range(k):
        if several:
            # No factor exceeds 1 + 2^(high - f_i).
            block = max(1, int(BITS / (1.0 + high - f[i])))
        r = 1.0 / E[i]
        A = 0.0
        s = 0.0
        b = 0
        while b < n:
            e = min(n, b + block)
            p, t = _block(E, b, e, r, T)
            A += math.log2(p)
            s += t
            b = e
        total += c[i] * math.log2(a * A)
        q = c[i] / (LN2 * A)
        _add(q, T, g)
        g[i] -= q * s
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _block(E: Any, b: int, e: int, r: float, T: Any) -> Any:
    """Product of ``1 + r E_j`` and sum of ``T_j = r E_j / (1 + r E_j)``, ``b <= j < e``."""
    p = 1.0
    s = 0.0
    for j in range(b, e):
        y = E[j] * r
        d = 1.0 + y
        p *= d
        t = y / d
        T[j] = t
        s += t
    return p, s


@njit(cache=True, nogil=True)
def _add(q: float, T: Any, g: Any) -> None:
    for j in range(g.size):
        g[j] += q * T[j]


@njit(cache=True, nogil=True)
def _pairs(f: Any, k: int, a: Any, c: Any, T: Any, g: Any) -> float:
    n = f.size
    total = 0.0
    for i in range(k):
        A = 0.0
        s = 0.0
        for j in range(n):
            d = f[j] - f[i]
            # The larger of the two scores is factored out, so nothing overflows.
            e = 2.0 ** -abs(d)
            A += a[j] * (max(d, 0.0) + math.log1p(e) / LN2)
            t = a[j] * ((1.0 if d >= 0.0 else e) / (1.0 + e))
            T[j] = t
            s += t
        total += c[i] * math.log2(A)
        q = c[i] / (LN2 * A)
        _add(q, T, g)
        g[i] -= q * s
    return total
