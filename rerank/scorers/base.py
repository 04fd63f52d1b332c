"""The contract that all first stages keep: linear scores, lists, weights, warm starts and regularisation paths."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from rerank.errors import InputError
from rerank.errors.compiling import watch
from rerank.errors.stops import current, unbroken
from rerank.io.arrays import held
from rerank.io.options import real, whole
from rerank.ranks.present import present
from rerank.scorers.data import Floats, Ints, RankingData, groups_of, weights_of

LARGEST = 2.0**400
"""Largest entry of X, so that sums of squares and of their products stay finite."""


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found for one ``alpha``.

    ``gap`` bounds ``(objective - optimum) / |optimum|`` from above (RankSVM's: ``/ objective``) and is NaN where the
    method proves nothing; ``state`` is what the next solve can start from; ``advice`` says what to raise if not
    converged.
    """

    coef: Floats
    objective: float
    n_iter: int
    converged: bool
    gap: float = float("nan")
    state: Any = None
    advice: str = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class Path:
    """Solutions along a sequence of ``alphas`` (n,): ``coefs`` (n, d), ``objectives``, ``gaps``, ``n_iters`` (n,)."""

    alphas: Floats
    coefs: Floats
    objectives: Floats
    gaps: Floats
    n_iters: Ints


class LinearRanker(BaseEstimator):
    """Base of the first stages: ``score = X @ coef_``, larger is better.

    A subclass names its parameters in ``__init__`` (among them ``alpha``, ``tol``, ``max_iter`` and
    ``warm_start``) and implements :meth:`_solve`.  ``takes_grades`` says whether grades and real utilities mean
    something to it; the others take the rows above the smallest label as relevant.

    Methods with iterations of their own end after the one in which :func:`rerank.errors.stops.current` says stop, as if
    that were their last.
    """

    takes_grades: ClassVar[bool] = False
    alpha: float
    tol: float
    max_iter: Any  # int, or None where the default depends on other parameters
    warm_start: bool
    coef_: Floats
    n_iter_: int
    objective_: float
    gap_: float
    n_features_in_: int

    @abstractmethod
    def _solve(self, data: RankingData, alpha: float, start: Solution | None) -> Solution:
        """Minimise the objective for one ``alpha``, from the solution ``start`` of a near one where there is any."""

    def _check_parameters(self) -> None:
        """Raise :class:`InputError` for parameters out of range."""
        real("alpha", self.alpha, 0, positive=True)
        real("tol", self.tol, 0, positive=True)
        if self.max_iter is not None:
            whole("max_iter", self.max_iter)

    def fit(
        self, X: Any, y: ArrayLike, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn weights.

        Parameters
        ----------
        X : array or sparse matrix (n, d)
            Never made dense.
        y : array (n,)
            0/1, or grades or real utilities for estimators that take them; the others take ``y > min(y)``.
        qid : array (n,), optional
            List of each row, in any order; one list without it.
        sample_weight : array (n,), optional
            Weight of each row, >= 0; a row of weight 0 is not there.

        Raises
        ------
        InputError
            For parameters out of range, weights or qid of another length, or no pair to learn from.
        """
        data = self._data(X, y, qid, sample_weight)
        start = getattr(self, "_last", None) if self.warm_start else None
        if start is not None and start.coef.size != data.X.shape[1]:
            start = None
        try:
            self._keep(self._solved(data, float(self.alpha), start))
        finally:
            self._release()
        return self

    def path(
        self,
        X: Any,
        y: ArrayLike,
        alphas: Iterable[float],
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Path:
        """Solve for every ``alpha``, the largest first, each from the one before; the estimator keeps the last.

        Returns
        -------
        Path
            In the order in which the ``alphas`` were given.
        """
        given = np.array(list(alphas), dtype=np.float64)
        if given.size == 0 or not np.isfinite(given).all() or (given <= 0).any():
            raise InputError(f"alphas is {given.tolist()}; give at least one number > 0.")
        data = self._data(X, y, qid, sample_weight)
        found: dict[int, Solution] = {}
        last: Solution | None = None
        try:
            for i in np.argsort(-given, kind="stable"):
                last = found[int(i)] = self._solved(data, float(given[i]), last)
                self._keep(last)
        finally:
            self._release()
        every = [found[i] for i in range(given.size)]
        return Path(
            given,
            np.array([s.coef for s in every]),
            np.array([s.objective for s in every]),
            np.array([s.gap for s in every]),
            np.array([s.n_iter for s in every]),
        )

    def decision_function(self, X: Any) -> Floats:
        """Score of each row of ``X`` (n, d), larger is better."""
        check_is_fitted(self, "coef_")
        X = validate_data(self, held(X), accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        with np.errstate(over="ignore", invalid="ignore"):  # who takes the scores refuses what is not finite
            scores = np.asarray(X @ self.coef_.astype(X.dtype, copy=False), dtype=np.float64).ravel()
            beyond = np.flatnonzero(~np.isfinite(scores))  # of float32, or of any number
            if beyond.size:
                scores[beyond] = X[beyond].astype(np.float64) @ self.coef_
        return scores

    def predict(self, X: Any) -> Floats:
        """The same as :meth:`decision_function`, for tools that call ``predict``."""
        return self.decision_function(X)

    def _data(self, X: Any, y: Any, qid: Any, sample_weight: Any) -> RankingData:
        """Check parameters and data; rows of weight 0 are not there."""
        self._check_parameters()
        among = "" if sample_weight is None else " in the rows with a weight above 0"
        X, y = held(X), held(y)
        there = present(_num_samples(X), sample_weight)
        if sample_weight is not None:
            X, y, sample_weight = there.of(X, "X"), there.of(y, "y"), there.of(sample_weight)
            qid = there.of(qid, "qid")
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", y_numeric=True
        )
        y = np.asarray(y, dtype=np.float64)
        if y.min() == y.max():
            raise InputError(
                f"y holds 1 class only ({y.min():g}){among}; a ranker needs rows with at least two different labels."
            )
        values = X.data if issparse(X) else X
        if not -LARGEST <= float(values.min(initial=0.0)) <= float(values.max(initial=0.0)) <= LARGEST:
            raise InputError(
                f"X holds a number beyond {LARGEST:g}, and sums of squares would overflow; divide its column by a "
                "constant."
            )
        return RankingData(X, y, groups_of(qid, y.size), weights_of(sample_weight, y.size), there.mask)

    def _solved(self, data: RankingData, alpha: float, start: Solution | None) -> Solution:
        """:meth:`_solve` in a thread in which Ctrl-C cannot break compiled code or the compiler.

        Time limits do not count the time in which its kernels are compiled.
        """
        watch()
        return unbroken(lambda: self._solve(data, alpha, start))

    def _release(self) -> None:
        """Free what was prepared from the rows for one fit or path."""

    def _keep(self, found: Solution) -> None:
        # The state for the next solve may be as large as the rows: it is kept only if it is used.
        self._last = found if self.warm_start else None
        self.coef_ = found.coef
        self.n_iter_ = max(int(found.n_iter), 1)
        self.objective_ = found.objective
        self.gap_ = found.gap
        for text, category in self._remarks(found):
            warnings.warn(text, category, stacklevel=3)

    def _remarks(self, found: Solution) -> list[tuple[str, type[Warning]]]:
        """Warnings about a solution.  They are given in the thread of the caller, so that they name its line."""
        if found.converged:
            return []
        advice = "The time was over; raise time_limit." if current().now else found.advice
        name = type(self).__name__
        text = f"{name} stopped after {found.n_iter} iterations before tol={self.tol} was reached. {advice}"
        return [(text, ConvergenceWarning)]

    def __sklearn_tags__(self) -> Any:
        """Sparse input is accepted, and ``y`` is required."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
