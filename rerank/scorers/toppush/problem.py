"""The problem of TopPush, its value, and the bound that a dual point proves; no method is known here.

With lists g, positives i of share ``c_i = weight_i / sum of weights of the positives`` and thresholds ``t_g``
(:mod:`rerank.scorers.toppush.threshold`)::

    P(w) = alpha / 2 |w|^2 + sum_i c_i l(t_g(i)(X- w) - w.x_i)

For ``a_i`` in the domain of ``l*`` and ``beta >= 0`` with ``sum_{j in g} beta_j = A_g = sum_{i in g} c_i a_i`` and
``beta_j <= A_g cap_j``::

    P(w) >= D(a, beta) = -|nu|^2 / (2 alpha) - sum_i c_i l*(a_i),    nu = sum_i c_i a_i x_i - sum_j beta_j x_j

Li, Jin and Zhou, "Top rank optimization in linear time", NIPS 2014, equations (6) to (9), where a list is the whole
table, ``cap_j = 1`` and their dual variables are ``m c_i a_i`` and ``m beta_j``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from rerank.scorers.data import Floats, Ints, RankingData
from rerank.scorers.toppush.gram import Gram
from rerank.scorers.toppush.losses import Loss
from rerank.scorers.toppush.threshold import Threshold, threshold_of

# Sums and caps of multipliers may be off by this share: rounding of sums of many terms.
ROUNDING = 1e-11
# A bound above the value by more than this share is an error, not rounding.
BEYOND = 1e-9


@dataclass(frozen=True, eq=False)
class TopPushProblem:
    """Positives and negatives of the lists that hold both, sorted by list.

    Attributes
    ----------
    positives, negatives : float64 array or CSR matrix (m, d), (n, d)
    positive_rows, negative_rows : int64 (m,), (n,)
        Their rows in the data.
    list_of, negative_list : int64 (m,), (n,)
        List of each positive and of each negative, 0 to G - 1.
    share : float64 (m,)
        ``c_i``; they sum to 1.
    weight : float64 (m,)
        Weights of the positives.
    threshold : Threshold
    loss : Loss
    n_rows, n_features : int
        Of the data.
    columns : int64 array, optional
        Which features the columns of the rows are; all of them without it.
    centre : float64 (d,)
        What was subtracted from every row: only differences inside a list count.
    """

    positives: Any
    negatives: Any
    positive_rows: Ints
    negative_rows: Ints
    list_of: Ints
    negative_list: Ints
    weight: Floats
    threshold: Threshold
    loss: Loss
    n_rows: int
    n_features: int
    columns: Ints | None
    centre: Floats

    @cached_property
    def share(self) -> Floats:
        """Share of each positive in the mean loss."""
        return np.asarray(self.weight / self.weight.sum())

    @property
    def n_lists(self) -> int:
        """Number of lists that hold both kinds."""
        return int(self.list_of[-1]) + 1

    @cached_property
    def loss_at_zero(self) -> float:
        """``P(0) = l(0)``."""
        return float(self.loss.value(np.zeros(1))[0])

    @cached_property
    def gram(self) -> Gram:
        """``X' diag(D) X`` of the positives."""
        return Gram(self.positives)

    def full(self, v: Floats) -> Floats:
        """A vector over the columns as one over all features."""
        if self.columns is None:
            return v
        found = np.zeros(self.n_features)
        found[self.columns] = v
        return found

    def per_list(self, values: Floats) -> Floats:
        """Sum over the positives of each list (G,)."""
        return np.bincount(self.list_of, values, self.n_lists).astype(np.float64, copy=False)

    def primal(self, w: Floats, alpha: float) -> float:
        """``P(w)``, from the rows."""
        return self.value(w, self.positives @ w, np.asarray(self.negatives @ w), alpha)

    def value(self, w: Floats, up: Floats, down: Floats, alpha: float) -> float:
        """``P(w)`` from the scores ``up`` (m,) of the positives and ``down`` (n,) of the negatives."""
        z = self.threshold.values(down)[self.list_of] - up
        return float(alpha / 2 * (w @ w) + self.share @ self.loss.value(z))

    def residual(self, a: Floats, beta: Floats) -> Floats:
        """``nu`` (d,)."""
        return weighted_sum(self.positives, self.share * a) - weighted_sum(self.negatives, beta)

    def feasible(self, a: Floats, beta: Floats) -> Floats:
        """Multipliers near ``beta`` that make (a, beta) a dual point, if there are any near it.

        They are scaled to the sum of their list and moved between their caps.
        """
        mass = self.per_list(self.share * a)
        got = np.bincount(self.negative_list, beta, self.n_lists)
        most = mass[self.negative_list] * self.threshold.caps()
        beta = np.clip(beta * (mass / np.where(got > 0, got, 1))[self.negative_list], 0, most)
        slack = most - beta
        missing = mass - np.bincount(self.negative_list, beta, self.n_lists)
        spare = np.bincount(self.negative_list, slack, self.n_lists)
        # Never more than the slack: if that is not enough, the point was not near.
        part = np.where(missing > ROUNDING * mass, np.minimum(missing / np.where(spare > 0, spare, 1), 1), 0)
        return np.asarray(beta + part[self.negative_list] * slack)

    def dual(self, a: Floats, beta: Floats, alpha: float) -> float:
        """``D(a, beta)``; minus infinity if the point is not feasible."""
        mass = self.per_list(self.share * a)
        got = np.bincount(self.negative_list, beta, self.n_lists)
        most = mass[self.negative_list] * self.threshold.caps()
        off = np.abs(got - mass) > ROUNDING * mass
        if off.any() or (beta < 0).any() or (beta > most * (1 + ROUNDING)).any():
            return -np.inf
        nu = self.residual(a, beta)
        return float(-(nu @ nu) / (2 * alpha) - self.share @ self.loss.conjugate(a))


def problem_of(data: RankingData, loss: Loss, threshold: str, k: float | None) -> TopPushProblem:
    """Split the rows by :meth:`RankingData.sides`; errors as there.

    Products are taken in float64 on a copy of the rows, since float32 cannot resolve a gap of 1e-6.
    """
    (up, list_of), (down, negative_list) = data.sides()
    start = np.concatenate([[0], np.cumsum(np.bincount(negative_list))]).astype(np.int64)
    X, columns = _used(data.X)
    positives, negatives = _rows(X, up), _rows(X, down)
    centre = np.zeros(X.shape[1])
    if not issparse(X):
        # Large common parts of the columns would cost digits in every product.
        centre = positives.mean(axis=0)
        positives -= centre
        negatives -= centre
    return TopPushProblem(
        positives=positives,
        negatives=negatives,
        positive_rows=up,
        negative_rows=down,
        list_of=list_of,
        negative_list=negative_list,
        weight=data.weight[up],
        threshold=threshold_of(threshold, k, start, data.weight[down]),
        loss=loss,
        n_rows=data.y.size,
        n_features=data.X.shape[1],
        columns=columns,
        centre=centre,
    )


def _used(X: Any) -> tuple[Any, Ints | None]:
    """Drop the empty columns of a sparse X, if most are: vectors over all columns cost more than short rows."""
    d = X.shape[1]
    if not issparse(X) or X.nnz > 10 * d:
        return X, None
    some = np.bincount(X.indices, minlength=d) > 0
    columns = np.flatnonzero(some)
    if 2 * columns.size > d or not columns.size:
        return X, None
    place = (np.cumsum(some) - 1).astype(X.indices.dtype)
    return csr_matrix((X.data, place[X.indices], X.indptr), shape=(X.shape[0], columns.size)), columns


def _rows(X: Any, rows: Ints) -> Any:
    part = X[rows].astype(np.float64, copy=False)
    if not issparse(part):
        return np.ascontiguousarray(part)
    part = part.tocsr()
    part.sum_duplicates()
    return part


def weighted_sum(X: Any, values: Floats) -> Floats:
    """``X' values`` (d,); if most values are 0, their rows are not read."""
    some = np.flatnonzero(values)
    if 4 * some.size < values.size:
        X, values = X[some], values[some]
    return np.asarray(X.T @ values)


def relative_gap(primal: float, dual: float) -> float:
    """``(primal - dual) / dual``, at least ``(primal - optimum) / optimum``; infinite where nothing is proved.

    Rounding may lift a bound above the value it bounds.  The gap is then at least that excess, and a bound far above
    the value proves nothing.
    """
    if not dual > 0 or dual > primal * (1 + BEYOND):
        return float("inf")
    return max(abs(primal - dual) / dual, 4 * float(np.finfo(np.float64).eps))
