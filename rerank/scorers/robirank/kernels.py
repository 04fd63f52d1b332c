"""RoBiRank's objective and gradient in the scores of lists, compiled.

For one list of scores ``f`` (logarithms of base 2 throughout)

    L = sum_i c_i log2 A_i,   A_i = sum_j a_j log2(1 + 2^(f_j - f_i)),   c_i = gain of row i,

    dL/df_j = a_j sum_i q_i / (1 + 2^(f_i - f_j)) - q_j sum_k a_k / (1 + 2^(f_j - f_k)),   q_i = c_i / (ln 2 A_i).

One of three methods is chosen for each list and each evaluation: products of factors ``1 + 2^(f_j - f_i)`` with one
logarithm for as many as fit float64 (equal weights), pair by pair (any weights, any range of scores), or interpolation:
``S(s) = sum_j a_j log2(1 + 2^(f_j - s))``, its derivative and ``T(s) = sum_i q_i / (1 + 2^(f_i - s))`` depend on a
pair by ``f_j - s`` alone, and the kernel ``log2(1 + 2^t)`` is analytic in the strip ``|Im t| < pi / ln 2``.  With
``r`` Chebyshev nodes ``s_p`` on the range of the scores and the polynomials ``l_p`` of Lagrange,

    log2(1 + 2^(f - s)) ~ sum_{p, q} l_p(s) log2(1 + 2^(s_q - s_p)) l_q(f)

errs by about ``rho^-r``, ``rho = z + sqrt(1 + z^2)``, ``z = pi / (ln 2 h)`` for scores of half-range ``h``
[Trefethen2013, th. 8.2].  A list of ``n`` rows, ``k`` of them relevant, then costs ``O((n + k) r + r^2)``, not ``n k``.
"""

import math
from typing import Any

import numpy as np

from rerank.errors.kernels import kept

LN2 = math.log(2.0)
STRIP = math.pi / LN2
ERROR = 1e-11  # of one pair, before the sum over a list multiplies it
LANES = 128  # rows that are computed together, so that their polynomials stay in the first-level cache
BITS = 1000.0  # a product of factors may grow to 2^1000; float64 ends at 2^1024
# Measured costs in units of one pair of the product form; rough values are enough to choose a method.
PAIR = 12.0  # a pair with a logarithm of its own
NODE = 7.5  # a pair of nodes
TERM = 0.27  # a row and a node
FEWEST = 11  # nodes that any list needs


@kept()
def objective(f: Any, start: Any, relevant: Any, a: Any, c: Any, method: int, g: Any) -> float:
    """Sum of ``L`` over the lists; ``g`` (n,) receives the gradient. ``method`` is 0 to choose, 1 for products, 2 for
    pairs, 3 for interpolation; products fall back on pairs where they do not apply.
    """
    longest = 0
    for x in range(relevant.size):
        longest = max(longest, start[x + 1] - start[x])
    E, T, total = np.empty(longest), np.empty(longest), 0.0
    for x in range(relevant.size):
        lo, n, k = start[x], start[x + 1] - start[x], relevant[x]
        fs, weights, gains, slope = f[lo : lo + n], a[lo : lo + n], c[lo : lo + k], g[lo : lo + n]
        low, high, least, most = np.inf, -np.inf, np.inf, 0.0
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


@kept()
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
        A = s = 0.0
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


@kept(fastmath={"reassoc", "nsz"})
def _block(E: Any, b: int, e: int, r: float, T: Any) -> Any:
    """Product of ``1 + r E_j`` and sum of ``T_j = r E_j / (1 + r E_j)``, ``b <= j < e``."""
    p, s = 1.0, 0.0
    for j in range(b, e):
        y = E[j] * r
        d = 1.0 + y
        p *= d
        t = y / d
        T[j] = t
        s += t
    return p, s


@kept()
def _add(q: float, T: Any, g: Any) -> None:
    for j in range(g.size):
        g[j] += q * T[j]


@kept()
def _pairs(f: Any, k: int, a: Any, c: Any, T: Any, g: Any) -> float:
    n = f.size
    total = 0.0
    for i in range(k):
        A = s = 0.0
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


@kept()
def nodes_for(low: float, high: float, rows: float) -> int:
    """Nodes that keep the error of ``S`` below ``ERROR`` times the least weight (``S >= a_i`` at row i). ``rows``
    bounds the sum of the weights over the least of them.
    """
    h = max(0.5 * (high - low), 0.5)
    z = STRIP / h
    rho = z + math.sqrt(1.0 + z * z)
    return int(math.ceil(math.log(rows * (2.0 + h) / ERROR) / math.log(rho))) + 1


@kept()
def interpolated(f: Any, k: int, a: Any, c: Any, low: float, high: float, r: int, g: Any) -> float:
    """``L`` of one list and its gradient, added to ``g``."""
    n = f.size
    h = max(0.5 * (high - low), 0.5)
    x = np.empty(n)
    for j in range(n):
        x[j] = (f[j] - 0.5 * (low + high)) / h
    to = series_of_nodes(r)
    value, slope = np.empty((r, r)), np.empty((r, r))
    kernel_at_nodes(h, r, value, slope)
    A, D, q = np.empty(k), np.empty(k), np.empty(k)
    m = matrix_times(to.T, chebyshev_moments(x, a, n, r))
    evaluate_series(x, matrix_times(to, matrix_times(value, m)), k, A)
    evaluate_series(x, matrix_times(to, matrix_times(slope, m)), k, D)
    total = 0.0
    for i in range(k):
        at = max(A[i], a[i])
        total += c[i] * math.log2(at)
        q[i] = c[i] / (LN2 * at)
    m = matrix_times(to.T, chebyshev_moments(x, q, k, r))
    evaluate_series(x, matrix_times(to, matrix_times(slope.T, m)), n, x)
    for j in range(n):
        g[j] += a[j] * x[j]
    for i in range(k):
        g[i] -= q[i] * D[i]
    return total


@kept(fastmath={"reassoc", "nsz", "contract"})
def matrix_times(M: Any, v: Any) -> Any:
    """``M v``; a product of NumPy would bring BLAS and its checks into the compilation."""
    found = np.empty(v.size)
    for p in range(v.size):
        s = 0.0
        for q in range(v.size):
            s += M[p, q] * v[q]
        found[p] = s
    return found


@kept()
def series_of_nodes(r: int) -> Any:
    """``to[l, p]`` of ``l_p(x) = sum_l to[l, p] T_l(x)``: ``(2 - [l = 0]) / r T_l(x_p)`` at ``x_p``."""
    to = np.empty((r, r))
    for p in range(r):
        angle = math.pi * (p + 0.5) / r
        x = math.cos(angle)
        before, now = 1.0, x
        to[0, p] = 1.0 / r
        for l in range(1, r):
            to[l, p] = 2.0 / r * now
            before, now = now, 2.0 * x * now - before
    return to


@kept()
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


@kept(fastmath={"reassoc", "nsz", "contract"})
def chebyshev_moments(x: Any, a: Any, n: int, r: int) -> Any:
    """``M_l = sum_{j < n} a_j T_l(x_j)``."""
    M, before, now = np.zeros(r), np.empty(LANES), np.empty(LANES)
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


@kept(fastmath={"reassoc", "nsz", "contract"})
def evaluate_series(x: Any, coefficients: Any, n: int, out: Any) -> None:
    """``out_j = sum_l coefficients_l T_l(x_j)``, ``j < n``, by Clenshaw's recurrence [Clenshaw1955]."""
    one, two = np.empty(LANES), np.empty(LANES)
    for b in range(0, n, LANES):
        w = min(LANES, n - b)
        xs = x[b : b + w]
        for j in range(w):
            one[j] = two[j] = 0.0
        for l in range(coefficients.size - 1, 0, -1):
            d = coefficients[l]
            for j in range(w):
                t = one[j]
                one[j] = d + 2.0 * xs[j] * t - two[j]
                two[j] = t
        for j in range(w):
            out[b + j] = coefficients[0] + xs[j] * one[j] - two[j]
