r"""The xi-step, ``xi = 1 / A`` with ``A_xy = 1 + sum_{y' != y} s(f_xy - f_xy')`` [YunRamanVishwanathan2014, sec. 4.1].

It runs on the current block, just before the block's records are visited.  With ``Z``, the first ``m`` items of the
block,

    A_xy ~ 1 + (n - 1) / |Z \ y| sum_{y' in Z \ y} s(f_xy - f_xy').

The items of a block are a random sample of all items, and ``Z`` is a sample of the block.  With one block and ``m = n``
the value is exact.  Otherwise it has a standard error, reported relative to A as ``xi_error``, and 1/A is too large by
about the square of that error.  The scores are a matrix product.  The sums ``sum_j log2(1 + E_j / e)`` are logarithms
of products, so a pair costs one multiplication and one addition.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors.kernels import kept
from rerank.latent.kernels.primitives import FAST, LANES, RANGE, log_of_product, powers

_LN2 = math.log(2.0)
_CHUNK_BYTES = 2**22  # of scores held at a time
_EVERY = 16  # the error is estimated for one user in so many

Floats = NDArray[np.float32]


def renew(
    U: Floats,
    V: Floats,
    users: NDArray[np.int64],
    records: tuple[Any, ...],
    others: int,
    samples: int | None,
    cursor: NDArray[np.int64],
    xi: Floats,
) -> NDArray[np.float64]:
    """Write ``xi`` of all records of a shard in the block ``V`` (B, d); ``others`` is ``n - 1``.

    ``users`` are the rows of ``U`` (n_users, d) that have records in the block, ascending.  ``records`` are indptr,
    items, sub-block of each item, position of each item, first position of the block, its first sub-block, and the one
    behind its last.  ``samples`` is ``m`` where that saves at least half of the work; else, and with None,
    the sums are over the whole block.  ``cursor`` (n sub-blocks,) says where the records of each begin in ``xi``, and
    is overwritten.

    Returns the sums (5,) of log2 A, of squared relative errors of A, of records, of records whose error was estimated,
    and of users.
    """
    m = V.shape[0]
    if samples is not None and m > 2 * samples:
        m = samples
    report = np.zeros(5)
    chunk = max(1, _CHUNK_BYTES // (4 * m))
    for low in range(0, users.size, chunk):
        some = users[low : low + chunk]
        # Steps that are too long overflow here first. That is reported as divergence, so no warning is needed.
        with np.errstate(over="ignore", invalid="ignore"):
            scores = U[some] @ V[:m].T
            best = scores.max(axis=1)  # NumPy vectorises this, a compiled loop does not
        _refresh(scores, best, some, U, V, records, float(others), cursor, xi, report)
    return report


@kept(fastmath=FAST)
def user_sums(row: Any, best: Any, f: Any, scratch: Any, bits: Any, exponent: Any, sums: Any) -> None:
    """``sums_i = sum_j log2(1 + 2^(row_j - f_i))`` for the scores ``row`` of a user, none above ``best``. Changes
    ``row``.
    """
    for i in range(f.size):
        best = max(best, f[i])
    powers(row, best)
    for i in range(f.size):
        e = np.float32(2.0) ** max(f[i] - best, -RANGE)
        sums[i] = log_of_product(row, e, scratch, bits, exponent)


@kept(fastmath=FAST)
def _refresh(
    S: Any, best: Any, users: Any, U: Any, V: Any, records: Any, others: float, cursor: Any, xi: Any, report: Any
) -> None:
    """``xi`` of the records of ``users``; ``records`` and ``report`` (5,) are as in :func:`renew`. ``S`` (len(users),
    m) holds the scores of the first ``m`` items of the block ``V``; ``best`` (len(users),) is the largest score of each
    user. If ``c`` of these items are not y, ``A = 1 + others / c sum s(f_y - f_y')`` and ``xi = 1 / A``.
    """
    indptr, items, part_of, place, first, low, high = records
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
            if low <= part_of[y] < high:
                at[c] = place[y] - first
                s = np.float32(0.0)
                for k in range(U.shape[1]):
                    s += U[x, k] * V[at[c], k]
                f[c] = s
                sums[c] = part_of[y]
                c += 1
        _estimate_error(S[i], f[:c], others, at, report)
        part = sums[:c].astype(np.int64)
        user_sums(S[i], best[i], f[:c], scratch, bits, exponent, sums[:c])
        for q in range(c):
            own = 1 if at[q] < m else 0
            A = 1.0 + others * max(sums[q] - own, 0.0) / max(m - own, 1)
            k = part[q]
            xi[cursor[k]] = 1.0 / A
            cursor[k] += 1
            report[0] += math.log2(A)
            report[2] += 1.0


@kept()
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
    total = squares = 0.0
    for j in range(m):
        t = row[j] - f[0]
        s = max(t, 0.0) + math.log1p(2.0 ** -abs(t)) / _LN2
        if j != at[0]:
            total += s
            squares += s * s
    mean = total / n
    variance = max(squares / n - mean * mean, 0.0) / (n - 1)
    error = others * math.sqrt(variance * max(1.0 - n / others, 0.0)) / (1.0 + others * mean)
    report[1] += error * error
    report[3] += 1.0
