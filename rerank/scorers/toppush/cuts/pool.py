"""The vertices of the thresholds that the Newton method has found and kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse, vstack

from rerank.scorers.data import Floats
from rerank.scorers.toppush.gram import dense, inner
from rerank.scorers.toppush.problem import TopPushProblem


class Pool:
    """Vertices of the thresholds, a row each.

    Attributes
    ----------
    vertices : CSR matrix (k, n)
        Coefficients over the negatives.
    rows : float64 array or CSR matrix (k, d)
        ``vertices @ negatives``.
    lists : int64 (k,)
        List of each.
    """

    def __init__(self, problem: TopPushProblem) -> None:
        self.problem = problem
        self.vertices = csr_matrix((0, problem.negatives.shape[0]))
        self.rows: Any = self.vertices @ problem.negatives
        self.lists = np.zeros(0, np.int64)
        self._names: list[bytes] = []
        self._known: set[bytes] = set()
        self._gram = np.zeros((0, 0))
        self._scatter = np.zeros(0)
        self._across = np.zeros((0, problem.positives.shape[0]))

    @property
    def size(self) -> int:
        """Number of vertices."""
        return len(self._names)

    def add(self, vertices: Any) -> int:
        """Add the rows of ``vertices`` that are new; how many there are."""
        names = [_name(vertices, i) for i in range(vertices.shape[0])]
        new = [i for i, name in enumerate(names) if name not in self._known]
        if not new:
            return 0
        added = vertices[new]
        alone = added.nnz == len(new) and (added.data == 1).all()
        rows = self.problem.negatives[added.indices] if alone else added @ self.problem.negatives
        self.vertices = vstack([self.vertices, added], format="csr")
        self.rows = (
            vstack([self.rows, rows], format="csr") if issparse(rows) else np.concatenate([self.rows, rows])
        )
        self.lists = np.concatenate(
            [self.lists, self.problem.negative_list[added.indices[added.indptr[:-1]]]]
        )
        self._names += [names[i] for i in new]
        self._known |= set(self._names[-len(new) :])
        return len(new)

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Drop the others."""
        kept = np.flatnonzero(which)
        self.vertices, self.rows, self.lists = self.vertices[kept], self.rows[kept], self.lists[kept]
        self._names = [self._names[i] for i in kept]
        self._known = set(self._names)
        known = kept[kept < self._gram.shape[0]]
        self._gram = self._gram[np.ix_(known, known)]
        self._across = self._across[kept[kept < self._across.shape[0]]]

    def gram(self) -> Floats:
        """Inner products of the rows (k, k), each computed once."""
        k = self._gram.shape[0]
        if k < self.size:
            new = self._inner(k)
            self._gram = np.block([[self._gram, new[:k]], [new.T]])
        return self._gram

    def _inner(self, k: int) -> Floats:
        """Inner products of all rows and those from k on."""
        X = self.rows
        if not issparse(X):
            return np.asarray(X @ X[k:].T)
        if self._scatter.size != X.shape[1]:
            self._scatter = np.zeros(X.shape[1])
        found = np.empty((X.shape[0], X.shape[0] - k))
        inner(X.indptr, X.indices, X.data, k, self._scatter, found)
        return found

    def across(self) -> Floats:
        """Inner products of the rows and the positives (k, m), each computed once."""
        k = self._across.shape[0]
        if k < self.size:
            self._across = np.vstack([self._across, dense(self.rows[k:] @ self.problem.positives.T)])
        return self._across

    def spread(self, q: Floats) -> Floats:
        """Multipliers of the negatives (n,) from those of the vertices (k,)."""
        return np.asarray(self.vertices.T @ q)


def _name(vertices: Any, i: int) -> bytes:
    a, b = vertices.indptr[i], vertices.indptr[i + 1]
    order = np.argsort(vertices.indices[a:b])
    name = vertices.indices[a:b][order].astype(np.int64).tobytes()
    return bytes(name + vertices.data[a:b][order].tobytes())
