r"""The xi-step, ``xi = 1 / A`` with ``A_xy = 1 + sum_{y' != y} s(f_xy - f_xy')`` [YunRamanVishwanathan2014, sec. 4.1].

It is made for the block in hand, just before the block's records are visited.  With ``Z``, the first ``m`` items of
the block,

    A_xy ~ 1 + (n - 1) / |Z \ y| sum_{y' in Z \ y} s(f_xy - f_xy').

The items of a block are a random sample of all, and ``Z`` is one of the block.  With one block and ``m = n`` the
value is exact.  Otherwise it has a standard error, which is reported relative to A as ``xi_error``, and 1/A is too
large by about the square of that.  Scores come from a product of matrices and the sum from one of

products
    ``sum_j log2(1 + E_j / e)`` is the logarithm of a product, so it costs a multiplication and an addition a pair.
Chebyshev
    The sum is a smooth function of one score, so a polynomial through ``r`` nodes does for all records of a user:
    ``r`` steps for an item and not ``n_x``, see :mod:`rerank.scorers.robirank.chebyshev`.  Scores that lie more than
    ``WIDEST`` apart would need too many nodes and go the other way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.latent.engines.interface import Floats, Settings
from rerank.latent.kernels.xi_kernels import refresh

METHODS = {"exact": 0, "chebyshev": 1, "auto": 2, "sampled": 2}
CHUNK_BYTES = 2**22  # of scores held at a time
WORTH = 2  # a sample is drawn where it saves half of the block


def sample_size(settings: Settings, block: int) -> int:
    """``m``: items of a block that the sum is taken over."""
    if settings.xi == "sampled":
        return min(settings.xi_samples, block)
    if settings.xi == "auto" and block > WORTH * settings.xi_samples:
        return settings.xi_samples
    return block


def renew(
    U: Floats,
    V: Floats,
    users: NDArray[np.int64],
    records: tuple[Any, ...],
    parts: tuple[int, int],
    others: int,
    settings: Settings,
    cursor: NDArray[np.int64],
    xi: Floats,
) -> NDArray[np.float64]:
    """Write ``xi`` of all records of a shard in the block ``V`` (B, d).

    Parameters
    ----------
    U : float32 (n_users, d)
    users : int64, rows of ``U`` that have records in the block, ascending
    records : indptr, items, sub-block of each item, position of each item
    parts : first and last sub-block of the block
    others : int
        ``n - 1``.
    cursor : int64 (n sub-blocks,)
        Where the records of each sub-block begin in ``xi``; used up.

    Returns
    -------
    float64 (5,)
        Sums of log2 A, of squared relative errors, of records, of records looked at for the error, of users.
    """
    indptr, items, part_of, place, first = records
    m = sample_size(settings, V.shape[0])
    report = np.zeros(5)
    chunk = max(1, CHUNK_BYTES // (4 * m))
    for low in range(0, users.size, chunk):
        some = users[low : low + chunk]
        # Steps that are too long end here first; they are reported, not warned of.
        with np.errstate(over="ignore", invalid="ignore"):
            scores = U[some] @ V[:m].T
            extent = scores.min(axis=1), scores.max(axis=1)  # in a loop they would not fill the vector unit
        refresh(
            scores, *extent, some, U, V, indptr, items, part_of, place, *parts, first, float(others),
            METHODS[settings.xi], cursor, xi, report,
        )  # fmt: skip
    return report
