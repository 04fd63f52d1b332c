"""First stages that papers compare with: the p-norm push and cost-sensitive classifiers, as rankers of this package."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from rerank.io.options import one_of, real
from rerank.scorers.base import Floats, Ints, LinearRanker, RankingData, ScorerSolution
from rerank.scorers.linalg import Loss, minimise


def boosted(X: Any, y: Any) -> Callable[[Any], Any]:
    """LightGBM's classifier as it comes: what scores rows."""
    from lightgbm import LGBMClassifier

    found = LGBMClassifier(n_jobs=1, random_state=0, verbose=-1).fit(X, y)
    return lambda rows: found.predict(rows, raw_score=True)


class PNormPush(LinearRanker):
    r"""Linear scores that minimise the p-norm push [Rudin2009, eq. 3] with the exponential loss.

    For lists x (of ``Q``), relevant rows i, others k and row weights ``a`` that are divided by their sum over the
    relevant rows, or over the others, of their list::

        alpha/2 |w|^2 + 1/p log R(w),    R(w) = 1/Q sum_x sum_k a_k (sum_i a_i exp(w.x_k - w.x_i))^p.

    The loss factorises, ``(sum_i a_i exp(-w.x_i))^p exp(p w.x_k)``, so a value costs O(n) in time and memory.  The
    logarithm keeps every number in range and the minimisers for some ``alpha`` each.  ``p=1`` is RankBoost's
    exponential loss of pairs [FreundIyerSchapireSinger2003, eq. 1].
    """

    def __init__(
        self, p: float = 4.0, alpha: float = 1e-3, *, tol: float = 1e-6, max_iter: int = 1000, warm_start: bool = False
    ) -> None:
        self.p = p
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    def _check_parameters(self) -> None:
        super()._check_parameters()
        real("p", self.p, 1)

    def _solve(self, data: RankingData, alpha: float, start: ScorerSolution | None) -> ScorerSolution:
        loss, at = push_loss(data, float(self.p)), None if start is None else start.coef
        return minimise(data.X, loss, alpha, at, tol=self.tol, max_iter=self.max_iter)


@dataclass(frozen=True, eq=False)
class _Side:
    """Relevant rows, or the others, of the lists that have both.

    Attributes
    ----------
    rows : int64 (m,)
        Where each is in the data, list by list.
    home : int64 (m,)
        Its list.
    start : int64 (n_lists,)
    share : float64 (m,)
        Logarithm of the row's share of the weight of its side of the list.
    """

    rows: Ints
    home: Ints
    start: Ints
    share: Floats

    def log_sums(self, exponents: Floats) -> tuple[Floats, Floats]:
        """``log sum exp`` of each list (n_lists,), and each row's part of its list's sum (m,)."""
        top = np.maximum.reduceat(exponents, self.start)
        parts = np.exp(exponents - top[self.home])
        sums = np.add.reduceat(parts, self.start)
        return top + np.log(sums), parts / sums[self.home]


def push_loss(data: RankingData, p: float) -> Loss:
    """``1/p log R`` as a function of the scores (n,)."""
    relevant, others = (_side(data, rows, home) for rows, home in data.sides())

    def loss(scores: Floats) -> tuple[float, Floats]:
        u, up = relevant.log_sums(relevant.share - scores[relevant.rows])
        v, down = others.log_sums(others.share + p * scores[others.rows])
        lists = p * u + v
        top = float(lists.max())
        parts = np.exp(lists - top)
        total = float(parts.sum())
        parts /= total
        slope = np.zeros(data.y.size)
        slope[relevant.rows] = -parts[relevant.home] * up
        slope[others.rows] = parts[others.home] * down
        return (top + float(np.log(total / parts.size))) / p, slope

    return loss


def _side(data: RankingData, rows: Ints, home: Ints) -> _Side:
    start = np.flatnonzero(np.diff(home, prepend=-1)).astype(np.int64)
    sums = np.add.reduceat(data.weight[rows], start)
    return _Side(rows, home, start, np.log(data.weight[rows] / sums[home]))


class CostSensitive(LinearRanker):
    """A classifier of scikit-learn in which a relevant row costs more [LiJinZhou2014, sec. 5.1]; lists are ignored.

    ``LogisticRegression`` minimises ``alpha/2 |w|^2 + sum_i a_i c_i log(1 + exp(-z_i (w.x_i + b)))`` with row weights
    ``a``, ``z_i = 1`` and ``c_i = positive_cost`` for relevant rows, ``z_i = -1`` and ``c_i = 1`` for the others;
    ``LinearSVC`` ``alpha/2 (|w|^2 + b^2) + sum_i a_i c_i max(0, 1 - z_i (w.x_i + b))^2``.  The intercept does not
    change the order and is not kept.
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        loss: str = "logistic",
        positive_cost: float = 1.0,
        tol: float = 1e-6,
        max_iter: int = 1000,
        warm_start: bool = False,
    ) -> None:
        self.alpha = alpha
        self.loss = loss
        self.positive_cost = positive_cost
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    def _check_parameters(self) -> None:
        super()._check_parameters()
        one_of("loss", self.loss, ("logistic", "squared_hinge"))
        real("positive_cost", self.positive_cost, 0, positive=True)

    def _solve(self, data: RankingData, alpha: float, start: ScorerSolution | None) -> ScorerSolution:
        cost = data.weight * np.where(data.relevant, float(self.positive_cost), 1.0)
        logistic = self.loss == "logistic"
        options: dict[str, Any] = {"C": 1.0 / alpha, "tol": self.tol, "max_iter": self.max_iter}
        found = LogisticRegression(**options) if logistic else LinearSVC(dual=False, **options)
        with warnings.catch_warnings():
            # The base class warns with advice of its own.
            warnings.simplefilter("ignore", ConvergenceWarning)
            found.fit(data.X, data.relevant, sample_weight=cost)
        w, b = found.coef_[0].astype(np.float64), float(np.ravel(found.intercept_)[0])
        margins = np.where(data.relevant, 1.0, -1.0) * found.decision_function(data.X)
        losses = np.logaddexp(0.0, -margins) if logistic else np.maximum(0.0, 1.0 - margins) ** 2
        size = float(w @ w) + (0.0 if logistic else b * b)
        used = int(np.max(found.n_iter_))
        return ScorerSolution(w, alpha / 2 * size + float(cost @ losses), used, used < self.max_iter, advice="")
