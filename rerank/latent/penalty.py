"""The penalty where none is given, from the log alone: 5 over the mean number of records of a user, up to a share of
the penalty at which the last factor would vanish.

Near zero vectors every ``A`` is n, the number of items, and the loss is linear in ``f_xy``.  With ``n_x`` records of
user x, ``m_y`` of item y and N of all, a factor grows from there if ``alpha < sigma / (2 ln 2)`` for a singular value
sigma of the matrix with the entries

    ([x has y] - n_x / n) / sqrt(n_x (m_y / 2 + (N - m_y) / (n - 1))),

and shrinks to 0 otherwise.  So a penalty above the largest value leaves nothing, and one above the d-th fewer than d
factors.
"""

import math

import numpy as np
from threadpoolctl import threadpool_limits

from rerank.latent.engines.interface import CHOICE, Settings, seed_of
from rerank.latent.log import Log

# Records of a user, times the penalty; and the penalty up to which this is taken as it is.
RECORDS, PLAIN = 5.0, 0.15
# Of the penalty at which the last factor vanishes: near that itself, vectors take more epochs to grow.
SHARE = 2 / 3
# Rounds of the iteration for singular values, vectors more than asked for, and the records that it reads at most.
ROUNDS, MORE, READ = 4, 8, 2_000_000


def penalty_of(log: Log, settings: Settings) -> float:
    """Penalty of a log with at least one record, the same on every engine and any number of threads. For WARP, of which
    the above is not true, it is at most 0.15.
    """
    users = np.flatnonzero(np.diff(log.indptr))
    mean = log.n_records / users.size
    if RECORDS / mean <= PLAIN or settings.loss != "robirank":
        return min(RECORDS / mean, PLAIN)
    rng = np.random.default_rng(seed_of(settings.seed, CHOICE))
    drawn = np.sort(rng.permutation(users)[: max(1, int(READ / mean))])
    return max(PLAIN, min(RECORDS / mean, SHARE * vanishing(log.of(drawn), settings.n_factors, rng)))


def vanishing(log: Log, n_factors: int, rng: np.random.Generator) -> float:
    """The penalty at which the last of ``n_factors`` would vanish, 0 if the log has fewer; not above it but for
    rounding. All users have records.
    """
    X, n = log.matrix().astype(np.float64), log.n_items
    own, shared = np.diff(log.indptr)[:, None], np.bincount(log.items, minlength=n)[:, None]
    by_user, by_item = 1 / np.sqrt(own), 1 / np.sqrt(shared / 2 + (log.n_records - shared) / (n - 1))
    if n_factors > min(X.shape):
        return 0.0
    Q = rng.standard_normal((n, min(n_factors + MORE, *X.shape)))
    with threadpool_limits(1, "blas"):  # the last bits are those of one thread
        for last in range(ROUNDS, -1, -1):
            V = by_item * np.linalg.qr(Q)[0]
            Y = by_user * (X @ V - own * (V.sum(axis=0) / n))
            if last:
                W = by_user * np.linalg.qr(Y)[0]
                Q = by_item * (X.T @ W - (own * W).sum(axis=0) / n)
        values = np.linalg.svd(Y, compute_uv=False)
    return float(values[n_factors - 1]) / (2 * math.log(2))
