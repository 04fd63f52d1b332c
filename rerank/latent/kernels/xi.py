r"""The xi-step, ``xi = 1 / A`` with ``A_xy = 1 + sum_{y' != y} s(f_xy - f_xy')`` [YunRamanVishwanathan2014, sec. 4.1].

It runs on the current block, just before the block's records are visited.  With ``Z``, the first ``m`` items of the
block,

    A_xy ~ 1 + (n - 1) / |Z \ y| sum_{y' in Z \ y} s(f_xy - f_xy').

The items of a block are a random sample of all items, and ``Z`` is a sample of the block.  With one block and ``m = n``
the value is exact.  Otherwise it has a standard error, reported relative to A as ``xi_error``, and 1/A is too large by
about the square of that error.  The scores are a matrix product.  The sums ``S(f) = sum_j log2(1 + 2^(f_j - f))`` are
computed in one of two ways:

products
    ``sum_j log2(1 + E_j / e)`` is the logarithm of a product, so a pair costs one multiplication and one addition.
Chebyshev
    The sum is a smooth function of one score, so a polynomial through ``r`` nodes serves all ``n_x`` records of a user:
    an item costs ``r`` operations instead of ``n_x``, see :mod:`rerank.scorers.robirank.chebyshev`.  If the scores
    spread over more than ``_WIDEST``, the polynomial needs too many nodes, and the product is used.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rerank.latent.kernels.primitives import FAST, LANES, RANGE, log_of_product, powers
from rerank.scorers.robirank.chebyshev import (
    LN2,
    STRIP,
    chebyshev_moments,
    evaluate_series,
    kernel_at_nodes,
    matrix_times,
    series_of_nodes,
    transposed_times,
)

_METHODS = {"exact": 0, "chebyshev": 1, "auto": 2, "sampled": 2}
_CHUNK_BYTES = 2**22  # of scores held at a time
_ERROR = 1e-3  # of a polynomial; A is at least 1
_WIDEST = 100.0  # largest spread of scores for which a polynomial is tried
_EVERY = 16  # the error is estimated for one user in so many

Floats = NDArray[np.float32]


def _sample_size(xi: str, xi_samples: int, block: int) -> int:
    """``m``: how many items of a block of ``block`` items the sum is over."""
    if xi == "sampled":
        return min(xi_samples, block)
    # With "auto" a sample is drawn where it saves at least half of the work.
    return xi_samples if xi == "auto" and block > 2 * xi_samples else block


def renew(
    U: Floats,
    V: Floats,
    users: NDArray[np.int64],
    records: tuple[Any, ...],
    parts: tuple[int, int],
    others: int,
    xi_option: tuple[str, int],
    cursor: NDArray[np.int64],
    xi: Floats,
) -> NDArray[np.float64]:
    """Write ``xi`` of all records of a shard in the block ``V`` (B, d).

    Parameters
    ----------
    U : float32 (n_users, d)
    users : int64
        Rows of ``U`` that have records in the block, ascending.
    records : tuple
        indptr, items, sub-block of each item, position of each item, first position of the block.
    parts : tuple of int
        First sub-block of the block, and the one behind its last.
    others : int
        ``n - 1``.
    xi_option : tuple of str and int
        The options ``xi`` and ``xi_samples``.
    cursor : int64 (n sub-blocks,)
        Where the records of each sub-block begin in ``xi``; overwritten.

    Returns
    -------
    float64 (5,)
        Sums of log2 A, of squared relative errors of A, of records, of records whose error was estimated, of users.
    """
    indptr, items, part_of, place, first = records
    m = _sample_size(*xi_option, V.shape[0])
    report = np.zeros(5)
    chunk = max(1, _CHUNK_BYTES // (4 * m))
    for low in range(0, users.size, chunk):
        some = users[low : low + chunk]
        # Steps that are too long overflow here first. That is reported as divergence, so no warning is needed.
        with np.errstate(over="ignore", invalid="ignore"):
            scores = U[some] @ V[:m].T
            extent = (
                scores.min(axis=1),
                scores.max(axis=1),
            )  # NumPy vectorises these, a compiled loop does not
        _refresh(
            scores, *extent, some, U, V, indptr, items, part_of, place, *parts, first, float(others),
            _METHODS[xi_option[0]], cursor, xi, report,
        )  # fmt: skip
    return report


@njit(cache=True, nogil=True)
def _nodes(low: float, high: float, n: int) -> int:
    """How many nodes keep the error of ``1 + S`` over ``n`` items below ``_ERROR`` [Trefethen2013, th. 8.2]."""
    h = max(0.5 * (high - low), 0.5)
    z = STRIP / h
    return int(math.ceil(math.log((2.0 + h) * n / _ERROR) / math.log(z + math.sqrt(1.0 + z * z)))) + 1


@njit(cache=True, nogil=True)
def _polynomial_sums(row: Any, low: float, high: float, r: int, f: Any, sums: Any) -> None:
    """``sums_i = S(f_i)`` for scores ``row`` and ``f`` in ``low .. high``."""
    h = max(0.5 * (high - low), 0.5)
    middle = 0.5 * (low + high)
    x = np.empty(row.size)
    for j in range(row.size):
        x[j] = (row[j] - middle) / h
    at = np.empty(f.size)
    for i in range(f.size):
        at[i] = (f[i] - middle) / h
    to = series_of_nodes(r)
    value = np.empty((r, r))
    slope = np.empty((r, r))
    kernel_at_nodes(h, r, value, slope)
    moments = transposed_times(to, chebyshev_moments(x, np.ones(x.size), x.size, r))
    evaluate_series(at, matrix_times(to, matrix_times(value, moments)), f.size, sums)


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
    if method > 0 and high - low < _WIDEST:
        r = _nodes(low, high, n)
        # Costs in units of about 0.1 ns: a record's product n; a polynomial 3 n r, and 70 for each of r^2 logarithms.
        if method == 1 or f.size * n > 3 * n * r + 70 * r * r:
            _polynomial_sums(row, low, high, r, f, sums)
            return
    powers(row, high)
    for i in range(f.size):
        e = np.float32(2.0) ** max(f[i] - high, -RANGE)
        sums[i] = log_of_product(row, e, scratch, bits, exponent)


@njit(cache=True, nogil=True, fastmath=FAST)
def _refresh(
    S: Any, low: Any, high: Any, users: Any, U: Any, V: Any, indptr: Any, items: Any, part_of: Any, place: Any,
    first_part: int, last_part: int, first: int, others: float, method: int,
    cursor: Any, xi: Any, report: Any,
) -> None:  # fmt: skip
    """``xi`` of the records of ``users`` in the sub-blocks ``first_part .. last_part``.

    ``S`` (len(users), m) holds the scores of the first ``m`` items of the block ``V``, which begins at position
    ``first``; ``low`` and ``high`` (len(users),) are the smallest and largest score of each user.  If ``c`` of these
    items are not y, ``A = 1 + others / c sum s(f_y - f_y')`` and ``xi = 1 / A``.  ``report`` (5,) is as in
    :func:`renew`.
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
        _estimate_error(S[i], f[:c], others, at, report)
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
def _estimate_error(row: Any, f: Any, others: float, at: Any, report: Any) -> None:
    """Add the squared relative standard error of A, for draws without replacement, of the first record of some users.

    It is 0 if the sum is over all items. If fewer than two items are drawn it is unknown, and nothing is counted.
    """
    m = row.size
    report[4] += 1.0
    if f.size == 0 or report[4] % _EVERY != 1.0:
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
