"""The problem of TopPush: its losses and thresholds, its value, and the bound that a dual point proves.

With lists g, positives i of share ``c_i = weight_i / sum of weights of the positives`` and thresholds ``t_g``::

    P(w) = alpha / 2 |w|^2 + sum_i c_i l(t_g(i)(X- w) - w.x_i)

A threshold is the largest score of the negatives, or the mean of the k largest.  Both are support functions,
``t_g(s) = max { p.s : p in P_g }`` with ``P_g = { p : 0 <= p_j <= cap_j, sum_j p_j = 1 }`` over the negatives j of g.

For ``a_i`` in the domain of ``l*`` and ``beta >= 0`` with ``sum_{j in g} beta_j = A_g = sum_{i in g} c_i a_i`` and
``beta_j <= A_g cap_j``::

    P(w) >= D(a, beta) = -|nu|^2 / (2 alpha) - sum_i c_i l*(a_i),    nu = sum_i c_i a_i x_i - sum_j beta_j x_j

Li, Jin and Zhou, "Top rank optimization in linear time", NIPS 2014, equations (6) to (9), where a list is the whole
table, ``cap_j = 1`` and their dual variables are ``m c_i a_i`` and ``m beta_j``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from scipy.special import expit, xlog1py, xlogy

from rerank.errors import InputError
from rerank.errors.kernels import kept
from rerank.io.options import one_of, real
from rerank.scorers.base import Floats, Ints, RankingData
from rerank.scorers.toppush.gram import Gram

DEFAULT_K = {"topk": 10.0, "quantile": 0.05}
# Sums and caps of multipliers may be off by this share: rounding of sums of many terms.
ROUNDING = 1e-11
# A bound above the value by more than this share is an error, not rounding.
BEYOND = 1e-9


@dataclass(frozen=True)
class Loss:
    """A convex and non-decreasing ``l``, its first two derivatives (0 at a kink), and ``l*(a) = max_z a z - l(z)``."""

    value: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    curvature: Callable[[Any], Any]
    conjugate: Callable[[Any], Any]
    hinge: tuple[Any, Any] | None = None  # ``l'(z) = max(z + h, 0) r``, the kink of such a loss is smoothed

    def near(self, a: Any, stiffness: Any) -> "Loss":
        """The loss with its kink smoothed around the multipliers ``a``; itself where it has none."""
        return squared_hinge(a, stiffness) if self.hinge is not None else self


def squared_hinge(centre: Any = 0.0, stiffness: Any = 0.0) -> Loss:
    """``max_a a z - l*(a) - stiffness / 2 (a - centre)^2`` of ``l(z) = max(0, 1 + z)^2``; ``l`` itself by default."""
    begin, rise = 1 + stiffness * centre, 1 / (0.5 + stiffness)

    def slope(z: Any) -> Any:
        return np.maximum(z + begin, 0) * rise

    def value(z: Any) -> Any:
        a = slope(z)
        return a * z - a * a / 4 + a - stiffness / 2 * (a - centre) ** 2

    def curvature(z: Any) -> Any:
        return np.where(z + begin > 0, rise, 0.0)

    return Loss(value, slope, curvature, lambda a: a * a / 4 - a, hinge=(begin, rise))


def _exp(z: Any) -> Any:
    """Infinite where it overflows, so that a line search shortens the step."""
    with np.errstate(over="ignore"):
        return np.exp(z)


LOSSES = {
    "squared_hinge": squared_hinge(),
    "logistic": Loss(
        lambda z: np.logaddexp(0, z), expit, lambda z: expit(z) * expit(-z), lambda a: xlogy(a, a) + xlog1py(1 - a, -a)
    ),
    "exponential": Loss(_exp, _exp, _exp, lambda a: xlogy(a, a) - a),
}


@dataclass(frozen=True, eq=False)
class Threshold:
    """The mean of the ``k_g`` largest scores, a row of weight v counted v times: ``cap_j = v_j / k_g``; or the largest.
    ``start`` (G + 1,) is where the negatives of each list begin, ``weight`` (n,) is positive, and ``k`` (G,) at most
    the total weight of the list, or None for the largest score.
    """

    start: Ints
    weight: Floats
    k: Floats | None = None

    def values(self, scores: Floats) -> Floats:
        """Threshold of each list (G,)."""
        if self.k is None:
            return np.asarray(np.maximum.reduceat(scores, self.start[:-1]))
        return np.asarray(_top_means(self.start, self.weight, self.k, scores))

    @cached_property
    def caps(self) -> Floats:
        """Largest coefficient of each negative in a point of ``P_g``."""
        return np.ones(self.weight.size) if self.k is None else self.weight / np.repeat(self.k, np.diff(self.start))


@kept()
def _top_means(start: Any, weight: Any, k: Any, scores: Any) -> Any:
    """For each list g the mean of its ``k_g`` largest scores (G,)."""
    found = np.empty(k.size)
    for g in range(k.size):
        own, mass = scores[start[g] : start[g + 1]], weight[start[g] : start[g + 1]]
        rows = np.arange(own.size)
        # So many rows are enough, whatever they weigh.
        enough = np.ceil(k[g] / mass.min())
        if enough < own.size:
            place = own.size - int(enough)
            rows = np.flatnonzero(own >= np.partition(own, place)[place])
        total, left = 0.0, k[g]
        for i in rows[np.argsort(-own[rows])]:
            part = min(mass[i], left)
            total += part * own[i]
            left -= part
            if left <= 0.0:
                break
        found[g] = total / (k[g] - left)
    return found


def threshold_of(name: str, k: float | None, start: Ints, weight: Floats) -> Threshold:
    """Build the threshold called ``max``, ``topk`` or ``quantile`` over negatives of these weights."""
    if name == "max":
        return Threshold(start, weight)
    total = np.add.reduceat(weight, start[:-1])
    wanted = DEFAULT_K[name] if k is None else float(k)
    counts = np.full(total.size, wanted)
    if name == "quantile":
        # Rounded up to whole rows, the lightest of the list being one, so that the unit of the weights does not
        # matter. The slack keeps tau * n from being lifted to the next integer by rounding: 0.07 * 100 > 7.
        row = np.minimum.reduceat(weight, start[:-1])
        counts = np.ceil(wanted * (total / row) * (1 - 1e-12)) * row
    return Threshold(start, weight, np.minimum(counts, total))


def check_threshold(name: str, k: float | None) -> None:
    """Raise :class:`InputError` unless ``name`` is known and ``k`` suits it."""
    one_of("threshold", name, ("max", *DEFAULT_K))
    if k is None:
        return
    if name == "max":
        raise InputError(f"k is {k!r} but threshold='max' has none; leave k out or choose topk or quantile.")
    if name == "topk":
        real("k", k, 1)
    elif not 0 < k <= 1:
        raise InputError(f"k is {k!r}; threshold='quantile' needs a share of the negatives in (0, 1].")


@dataclass(frozen=True, eq=False)
class TopPushProblem:
    """Positives and negatives of the lists that hold both, sorted by list."""

    positives: Any  # float64 array or CSR matrix (m, d)
    negatives: Any  # (n, d)
    positive_rows: Ints  # (m,), their rows in the data
    negative_rows: Ints  # (n,)
    list_of: Ints  # list of each positive (m,), 0 to G - 1
    negative_list: Ints  # (n,)
    weight: Floats  # of the positives (m,)
    threshold: Threshold
    loss: Loss
    data: RankingData
    columns: Ints | None  # which features the columns of the rows are; all of them without it
    centre: Floats  # (d,), what was subtracted from every row: only differences inside a list count

    @cached_property
    def share(self) -> Floats:
        """Share of each positive in the mean loss."""
        return np.asarray(self.weight / self.weight.sum())

    @cached_property
    def n_lists(self) -> int:
        """Number of lists that hold both kinds."""
        return int(self.list_of[-1]) + 1

    @cached_property
    def first(self) -> Ints:
        """Where the positives of each list begin (G + 1,)."""
        return np.searchsorted(self.list_of, np.arange(self.n_lists + 1))

    @property
    def loss_at_zero(self) -> float:
        """``P(0) = l(0)``."""
        return float(self.loss.value(0.0))

    @cached_property
    def gram(self) -> Gram:
        """``X' diag(D) X`` of the positives."""
        return Gram(self.positives)

    def full(self, v: Floats) -> Floats:
        """A vector over the columns as one over all features."""
        if self.columns is None:
            return v
        found = np.zeros(self.data.X.shape[1])
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

    def scaled(self, beta: Floats, mass: Floats) -> Floats:
        """Multipliers (n,) scaled to the sums ``mass`` (G,) of their lists."""
        got = np.bincount(self.negative_list, beta, self.n_lists)
        return np.asarray(beta * (mass / np.where(got > 0, got, 1))[self.negative_list])

    def feasible(self, a: Floats, beta: Floats) -> Floats:
        """Multipliers near ``beta``, between their caps, that make (a, beta) a dual point, if there are any near it."""
        mass = self.per_list(self.share * a)
        most = mass[self.negative_list] * self.threshold.caps
        beta = np.clip(self.scaled(beta, mass), 0, most)
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
        most = mass[self.negative_list] * self.threshold.caps
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
    limit = threshold_of(threshold, k, start, data.weight[down])
    return TopPushProblem(
        positives, negatives, up, down, list_of, negative_list, data.weight[up], limit, loss, data, columns, centre
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
    """``(primal - dual) / dual``, at least ``(primal - optimum) / optimum``; infinite where nothing is proved. Rounding
    may lift a bound above the value it bounds. The gap is then at least that excess, and a bound far above the value
    proves nothing.
    """
    if not dual > 0 or dual > primal * (1 + BEYOND):
        return float("inf")
    return max(abs(primal - dual) / dual, 4 * float(np.finfo(np.float64).eps))
