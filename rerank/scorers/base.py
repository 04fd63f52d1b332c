"""What all first stages share: rows, labels, lists and weights, linear scores, warm starts and regularisation paths."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from rerank.errors import InputError
from rerank.errors.compiling import watch
from rerank.errors.stops import current, unbroken
from rerank.io.arrays import check_weights, held
from rerank.io.options import real, whole
from rerank.ranks.lists import number_lists
from rerank.ranks.present import present

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class RankingData:
    """Rows of one or many lists."""

    X: Any  # float array or CSR matrix (n, d) as given: never made dense, float32 stays float32
    y: Floats  # (n,)
    group: Ints  # list of each row (n,), 0 to n_groups - 1 in order of first appearance
    weight: Floats  # of each row (n,), 1 where none was given
    there: NDArray[np.bool_] | None = None  # which of the rows that were given these are; None for all

    def as_given(self, values: Floats) -> Floats:
        """Values of the rows (n,) as values of all rows that were given, 0 for those left out."""
        if self.there is None:
            return values
        found = np.zeros(self.there.size)
        found[self.there] = values
        return found

    @property
    def n_groups(self) -> int:
        """Number of lists."""
        return int(self.group.max()) + 1 if self.group.size else 0

    @cached_property
    def order(self) -> Ints:
        """Rows sorted by list, in the given order within each."""
        return np.argsort(self.group, kind="stable").astype(np.int64)

    @cached_property
    def start(self) -> Ints:
        """Where each list begins in ``order``; one entry more than there are lists."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.group, minlength=self.n_groups))]).astype(np.int64)

    @cached_property
    def relevant(self) -> NDArray[np.bool_]:
        """Rows above the smallest label of a row that has weight."""
        return self.y > self.y[self.weight > 0].min()

    def sides(self) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
        """Relevant rows, and others, of the lists that hold both, sorted by list; rows of weight 0 are left out. For
        either kind the positions of the rows in the data, and the list of each: 0 to the number of such lists - 1.
        """
        counts = self.weight > 0
        kinds = counts & self.relevant, counts & ~self.relevant
        held = [np.bincount(self.group[rows], minlength=self.n_groups) > 0 for rows in kinds]
        both = held[0] & held[1]
        if not both.any():
            raise InputError(
                "No list holds both a relevant and another row with a weight > 0; there is no pair to learn from, so "
                "check qid, y and sample_weight."
            )
        number, rows = np.cumsum(both) - 1, self.order[both[self.group[self.order]]]
        relevant, others = (rows[kind[rows]] for kind in kinds)
        return (relevant, number[self.group[relevant]]), (others, number[self.group[others]])


def groups_of(qid: Any, n: int) -> Ints:
    """Number the lists in order of first appearance; one list without ``qid``."""
    if qid is None:
        return np.zeros(n, np.int64)
    given = np.asarray(qid)
    if given.shape != (n,):
        raise InputError(f"qid has shape {given.shape}; it must name the list of each of the {n} rows.")
    return number_lists(given)[1].astype(np.int64, copy=False)


def weights_of(sample_weight: Any, n: int) -> Floats:
    """Weights of the rows, 1 where none are given."""
    return np.ones(n) if sample_weight is None else check_weights(sample_weight, n)


LARGEST = 2.0**400  # largest entry of X, so that sums of squares and of their products stay finite


@dataclass(frozen=True, eq=False)
class ScorerSolution:
    """What a solver found for one ``alpha``."""

    coef: Floats
    objective: float
    n_iter: int
    converged: bool
    # At least (objective - optimum) / |optimum| (RankSVM's: / objective); NaN where the method proves nothing.
    gap: float = float("nan")
    state: Any = None  # what the next solve can start from
    advice: str = field(kw_only=True)  # what to raise if not converged


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

    def _prepare(self, data: RankingData) -> Any:
        """What all solutions of a fit or a path need of the rows."""
        return data

    @abstractmethod
    def _solve(self, problem: Any, alpha: float, start: ScorerSolution | None) -> ScorerSolution:
        """Minimise the objective of what :meth:`_prepare` made, from the solution ``start`` of a near ``alpha``."""

    def _check_parameters(self) -> None:
        """Raise :class:`InputError` for parameters out of range."""
        real("alpha", self.alpha, 0, positive=True)
        real("tol", self.tol, 0, positive=True)
        if self.max_iter is not None:
            whole("max_iter", self.max_iter)

    def fit(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
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
        problem = self._protected(self._prepare, data)
        self._keep(self._protected(self._solve, problem, float(self.alpha), start))
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
        problem = self._protected(self._prepare, data)
        solutions: dict[int, ScorerSolution] = {}
        last: ScorerSolution | None = None
        for i in np.argsort(-given, kind="stable").tolist():
            last = solutions[i] = self._protected(self._solve, problem, float(given[i]), last)
            self._keep(last)
        every = [solutions[i] for i in range(given.size)]
        parts = zip(*((s.coef, s.objective, s.gap, s.n_iter) for s in every))
        return Path(given, *map(np.array, parts))

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
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", y_numeric=True)
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

    @staticmethod
    def _protected(work: Callable[..., Answer], *arguments: Any) -> Answer:
        """Work in a thread, where Ctrl-C breaks no compiled code; time limits do not count compiling."""
        watch()
        try:
            return unbroken(lambda: work(*arguments))
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            raise InputError(
                f"The columns of X are too large, too small or too far apart in size to be fitted ({error}); scale "
                "them, or leave out the extreme ones."
            ) from error

    def _keep(self, found: ScorerSolution) -> None:
        # The state for the next solve may be as large as the rows: it is kept only if it is used.
        self._last = found if self.warm_start else None
        self.coef_ = found.coef
        self.n_iter_ = max(int(found.n_iter), 1)
        self.objective_ = found.objective
        self.gap_ = found.gap
        for text, category in self._remarks(found):
            warnings.warn(text, category, stacklevel=3)

    def _remarks(self, found: ScorerSolution) -> list[tuple[str, type[Warning]]]:
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
