"""Tables of the benchmarks of first stages: relevant or not, standardised or with rows of norm 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Floats = NDArray[np.float64]


def bipartite(where: Path, name: str) -> tuple[Any, Floats]:
    """Features and 0/1 labels: dense tables standardised, sparse ones as CSR with rows of norm 1.

    ``nslkdd`` is standardised too, since its columns reach from flags to bytes; counts of words are damped.
    """
    with np.load(where / name / f"{name}.npz", allow_pickle=False) as stored:
        parts = {key: stored[key] for key in stored.files}
    y = (parts["y"] > 0).astype(np.float64)
    if "indptr" not in parts:
        return standardised(parts["X"].astype(np.float64)), y
    X = csr_matrix(
        (parts["data"].astype(np.float64), parts["indices"], parts["indptr"]), shape=tuple(parts["shape"])
    )
    if name == "nslkdd":
        return standardised(X.toarray()), y
    if name.startswith("news20"):
        X.data = np.log1p(X.data)
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return csr_matrix(X.multiply(1 / np.where(norms > 0, norms, 1.0)[:, None])), y


def standardised(X: Floats) -> Floats:
    """Columns of mean 0 and deviation 1; constant ones become 0."""
    spread = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), dtype=np.float64)


def urls(n: int, d: int = 300_000, per_row: int = 100, seed: int = 0) -> tuple[csr_matrix, Floats]:
    """Rows like those of the url data: sparse flags of very different frequency, a third of the rows relevant."""
    rng = np.random.default_rng(seed)
    columns = (d * rng.random(n * per_row) ** 4).astype(np.int32)
    X = csr_matrix((np.ones(n * per_row), columns, np.arange(0, n * per_row + 1, per_row)), shape=(n, d))
    X.sum_duplicates()
    X.data[:] = 1 / np.sqrt(per_row)
    score = X @ np.random.default_rng(99).standard_normal(d)
    score += 0.3 * score.std() * rng.standard_normal(n)
    return X, (score > np.quantile(score, 2 / 3)).astype(np.float64)
