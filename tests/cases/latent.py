"""Small logs, and RoBiRank's latent objective pair by pair."""

import numpy as np
import scipy.sparse as sp

from rerank.latent.engines.interface import Factors


def random_log(n_users=12, n_items=15, density=0.3, seed=0):
    """Every user and item may be empty."""
    rng = np.random.default_rng(seed)
    return sp.csr_matrix((rng.random((n_users, n_items)) < density).astype(np.float32))


def clustered_log(n_users=120, n_items=80, groups=4, per_user=12, seed=0):
    """Users of a group choose from the group's items, nine times of ten: something to learn."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n_users), per_user)
    own = rng.random(rows.size) < 0.9
    size = n_items // groups
    cols = np.where(
        own, (rows % groups) * size + rng.integers(size, size=rows.size), rng.integers(n_items, size=rows.size)
    )
    X = sp.csr_matrix((np.ones(rows.size, np.float32), (rows, cols)), shape=(n_users, n_items))
    X.data[:] = 1
    return X


def random_factors(n_users, n_items, d=3, scale=0.7, seed=0):
    rng = np.random.default_rng(seed)
    U = (scale * rng.standard_normal((n_users, d))).astype(np.float32)
    V = (scale * rng.standard_normal((n_items, d))).astype(np.float32)
    return Factors(U, V, np.zeros(n_users, np.float32), np.zeros(n_items, np.float32))


def sigma(t):
    return np.log2(1 + 2.0**-t)


def sums_over_others(log, U, V):
    """A of every record, in the order of the CSR matrix, by a loop over all pairs."""
    A = []
    for x in range(log.shape[0]):
        for y in log.indices[log.indptr[x] : log.indptr[x + 1]]:
            others = [sigma(float(U[x] @ V[y] - U[x] @ V[z])) for z in range(log.shape[1]) if z != y]
            A.append(1 + sum(others))
    return np.array(A)


def linearised(log, U, V, xi, alpha):
    """The objective of the (U, V)-step, for ``xi`` in the order of the CSR matrix."""
    n_users, n = log.shape
    total, r = 0.0, 0
    for x in range(n_users):
        for y in log.indices[log.indptr[x] : log.indptr[x + 1]]:
            total += xi[r] / np.log(2) * sum(sigma(U[x] @ V[y] - U[x] @ V[z]) for z in range(n) if z != y)
            spread = np.mean([V[z] @ V[z] for z in range(n) if z != y])
            total += alpha / 2 * (U[x] @ U[x] + V[y] @ V[y] / 2 + spread)
            r += 1
    return total


def gradient(function, x, step=1e-5):
    """Central differences."""
    found = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        kept = x[i]
        x[i] = kept + step
        high = function()
        x[i] = kept - step
        found[i] = (high - function()) / (2 * step)
        x[i] = kept
    return found
