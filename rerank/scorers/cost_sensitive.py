"""Cost-sensitive classifiers as rankers: the baselines of the reranking paper [RudinWang2018, sec. 5]."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from rerank.errors import InputError
from rerank.scorers.base import LinearRanker, Solution
from rerank.scorers.data import Floats, RankingData


class _CostSensitive(LinearRanker):
    """A classifier of scikit-learn: rows are weighted, lists are ignored, the intercept is dropped."""

    _penalises_intercept: ClassVar[bool] = False
    positive_cost: float | str
    tol: float
    max_iter: int

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        positive_cost: float | str = 1.0,
        tol: float = 1e-6,
        max_iter: int = 1000,
        warm_start: bool = False,
    ) -> None:
        self.alpha = alpha
        self.positive_cost = positive_cost
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    @abstractmethod
    def _classifier(self, alpha: float, start: Solution | None) -> Any:
        """The classifier to fit."""

    @staticmethod
    @abstractmethod
    def _loss(margins: Floats) -> Floats:
        """Loss of each row's margin ``z_i (w.x_i + b)``, ``z`` in -1, 1."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        cost = self.positive_cost
        known = cost == "balanced" if isinstance(cost, str) else np.isfinite(cost) and cost > 0
        if not known:
            raise InputError(f"positive_cost is {cost!r}; it must be a number > 0 or 'balanced'.")

    def _solve(self, data: RankingData, alpha: float, start: Solution | None) -> Solution:
        relevant, cost = self._costs(data)
        classifier = self._classifier(alpha, start)
        with warnings.catch_warnings():
            # The base class warns with advice of its own.
            warnings.simplefilter("ignore", ConvergenceWarning)
            classifier.fit(data.X, relevant, sample_weight=cost)
        w = np.asarray(classifier.coef_, dtype=np.float64).ravel()
        b = np.asarray(classifier.intercept_, dtype=np.float64)
        margins = np.where(relevant, 1.0, -1.0) * classifier.decision_function(data.X)
        size = float(w @ w) + (float(b @ b) if self._penalises_intercept else 0.0)
        objective = 0.5 * alpha * size + float(cost @ self._loss(margins))
        used = int(np.max(classifier.n_iter_))
        return Solution(w, objective, used, used < self.max_iter, state=b)

    def _costs(self, data: RankingData) -> tuple[Any, Floats]:
        """Which rows are relevant, and each row's weight times the cost of its class."""
        relevant = data.relevant
        above, below = float(data.weight[relevant].sum()), float(data.weight[~relevant].sum())
        if above == 0:
            raise InputError(
                "The rows with a weight > 0 hold 1 class only; there is no pair to learn from, so check y and "
                "sample_weight."
            )
        cost = below / above if self.positive_cost == "balanced" else float(self.positive_cost)
        return relevant, data.weight * np.where(relevant, cost, 1.0)


class CostSensitiveLogistic(_CostSensitive):
    """Logistic regression in which a relevant row costs more; scikit-learn's ``LogisticRegression`` (L-BFGS).

    Minimises ``alpha/2 |w|^2 + sum_i a_i c_i log(1 + exp(-z_i (w.x_i + b)))`` with row weights ``a``, ``z_i = 1`` and
    ``c_i = positive_cost`` for relevant rows, ``z_i = -1`` and ``c_i = 1`` for the others.  The intercept ``b``
    does not change the order and is not kept.

    Parameters
    ----------
    alpha : float, default 1.0
        ``1/C`` of scikit-learn.
    positive_cost : float or "balanced", default 1.0
        "balanced" gives both classes the same weight in all.
    tol, max_iter : float, default 1e-6, and int, default 1000
        As in scikit-learn.
    warm_start : bool, default False

    Attributes
    ----------
    coef_ : float64 (d,)
    objective_ : float
    n_iter_ : int
    """

    def _classifier(self, alpha: float, start: Solution | None) -> Any:
        found = LogisticRegression(C=1.0 / alpha, tol=self.tol, max_iter=self.max_iter, warm_start=True)
        if start is not None:
            # What LogisticRegression reads of an earlier fit.
            found.classes_ = np.array([False, True])
            found.coef_ = start.coef[None, :].copy()
            found.intercept_ = start.state.copy()
        return found

    @staticmethod
    def _loss(margins: Floats) -> Floats:
        found: Floats = np.logaddexp(0.0, -margins)
        return found


class CostSensitiveSVM(_CostSensitive):
    """Linear support vector machine in which a relevant row costs more; ``LinearSVC`` in the primal (liblinear).

    Minimises ``alpha/2 (|w|^2 + b^2) + sum_i a_i c_i max(0, 1 - z_i (w.x_i + b))^2``, symbols as for
    :class:`CostSensitiveLogistic`; liblinear penalises the intercept too.  It makes a float64 copy of ``X`` and has
    no warm start.

    Parameters
    ----------
    alpha : float, default 1.0
        ``1/C`` of scikit-learn.
    positive_cost : float or "balanced", default 1.0
        "balanced" gives both classes the same weight in all.
    tol, max_iter : float, default 1e-6, and int, default 1000
        As in scikit-learn.
    warm_start : bool, default False
        Accepted as by every ranker; without effect.

    Attributes
    ----------
    coef_ : float64 (d,)
    objective_ : float
    n_iter_ : int
    """

    _penalises_intercept: ClassVar[bool] = True

    def _classifier(self, alpha: float, start: Solution | None) -> Any:
        return LinearSVC(C=1.0 / alpha, dual=False, tol=self.tol, max_iter=self.max_iter)

    @staticmethod
    def _loss(margins: Floats) -> Floats:
        found: Floats = np.maximum(0.0, 1.0 - margins) ** 2
        return found
