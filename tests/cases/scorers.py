"""Data sets and helpers that the tests of first stages share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Floats = NDArray[np.float64]


def bipartite(n: int = 120, d: int = 5, share: float = 0.3, seed: int = 0) -> tuple[Floats, Floats]:
    """Normal features and noisy 0/1 labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    s = X @ rng.standard_normal(d) + rng.standard_normal(n)
    return X, (s > np.quantile(s, 1 - share)).astype(np.float64)


def utilities(
    n: int = 150, d: int = 5, lists: int = 1, levels: int | None = None, seed: int = 0
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Normal features, real utilities (or so many grades) and list names in mixed order."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + rng.standard_normal(n)
    if levels is not None:
        y = np.digitize(y, np.quantile(y, np.linspace(0, 1, levels + 1)[1:-1])).astype(np.float64)
    return X, y, rng.integers(0, lists, n) * 7


def sparse(n: int, d: int, per_row: int, seed: int = 0) -> Any:
    """A random CSR matrix with rows of norm 1."""
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, d, n * per_row)
    values = rng.random(n * per_row) + 0.1
    X = csr_matrix((values, columns, np.arange(0, n * per_row + 1, per_row)), shape=(n, d))
    X.sum_duplicates()
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return csr_matrix(X.multiply(1 / norms[:, None]))
