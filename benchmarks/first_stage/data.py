"""Tables of the benchmarks of first stages: relevant or not, standardised or with rows of norm 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack, vstack

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
    X = csr_matrix((parts["data"].astype(np.float64), parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))
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


# Rows of `urls` made at once; tokens drawn for each that is kept, as half of them are refused.
CHUNK, DRAWN = 50_000, 2


def urls(n: int, d: int = 3_200_000, tokens: int = 100, real: int = 16, seed: int = 0) -> tuple[csr_matrix, Floats]:
    """Rows like those of the url data: about ``tokens`` flags and ``real`` numbers each, norm 1, a third malicious.

    Flags are drawn by a law of Zipf and Mandelbrot over ``d`` features, so that most features are seen once or twice
    and the number of features grows with the rows. Each feature leans to one class (a normal log-odds), and a draw
    is refused with that probability; the numbers, in [0, 1], differ by a little between the classes. One positive in
    a hundred is benign (listed by mistake), one negative in a thousand malicious (not listed yet).
    """
    rng = np.random.default_rng(seed)
    lean = 1.5 * np.random.default_rng(99).standard_normal(d).astype(np.float32)
    parts, labels = [], []
    for first in range(0, n, CHUNK):
        m = min(CHUNK, n - first)
        y = rng.random(m) < 1 / 3
        malicious = y ^ (rng.random(m) < np.where(y, 0.01, 0.001))
        flags = _zipf(rng.random((m, DRAWN * tokens)), d - real)
        side = np.where(malicious, 1, -1)[:, None].astype(np.float32)
        kept = rng.random(flags.shape, np.float32) < 1 / (1 + np.exp(-side * lean[flags]))
        numbers = np.clip(rng.normal(0.4 + 0.05 * malicious[:, None], 0.2, (m, real)), 0.01, 1)
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        words = csr_matrix((np.ones(indptr[-1]), flags[kept], indptr), shape=(m, d - real))
        words.sum_duplicates()
        words.data[:] = 1.0
        X = hstack([csr_matrix(numbers), words], format="csr")
        X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1)).A1, np.diff(X.indptr))
        parts.append(X)
        labels.append(y)
    return vstack(parts, format="csr"), np.concatenate(labels).astype(np.float64)


def _zipf(u: Floats, d: int, exponent: float = 1.2, shift: float = 20.0) -> NDArray[np.int32]:
    """Features by uniform numbers u: that of rank r has a chance of about ``(r + shift) ** -exponent``."""
    tail = (1 + d / shift) ** (1 - exponent)
    rank = shift * ((1 - u * (1 - tail)) ** (1 / (1 - exponent)) - 1)
    return np.minimum(rank, d - 1).astype(np.int32)
