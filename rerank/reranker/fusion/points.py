"""Weights of runs that cost no search, as first stages: equal ones, your own, those of a regression, the best run."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from rerank.errors import InputError, unknown
from rerank.ranks import list_values
from rerank.reranker.blend import POOL, logistic, of_size_one
from rerank.reranker.fusion.normalise import Floats

PRIORS = ("auto", "equal", "logistic", "rrf")  # words for the weights that a fit corrects


class RunWeights(BaseEstimator):
    """The sum of some columns, normalised scores of runs, by weights of size 1 in sum.

    By ``kind``: "given" weights, which learn nothing; "logistic alone", or "of any sign", those of the logistic
    regression of relevance; "logistic", their average with equal ones, which count as ``POOL`` lists; and "single", the
    best run. No share is below its floor.
    """

    takes_grades = True

    def __init__(self, kind: str, columns: Any, given: Any, floors: Any, stat: Any, gain: Any = "linear") -> None:
        self.kind, self.columns, self.given, self.floors = kind, columns, given, floors
        self.stat, self.gain = stat, gain

    def fit(self, X: Floats, y: Floats, qid: Any = None) -> Self:
        """Learn the weights ``coef_`` from rows of judged queries."""
        self.coef_, self.intercept_ = np.zeros(X.shape[1]), 0.0
        self.coef_[self.columns] = raised(self._learned(X[:, self.columns], y, qid), self.floors)
        return self

    def _learned(self, X: Floats, y: Floats, qid: Any) -> Floats:
        m = X.shape[1]
        if self.kind == "given":
            return of_size_one(np.asarray(self.given))
        if self.kind == "single":
            values = [np.nanmean(list_values(self.stat, y, own, qid, gain=self.gain)) for own in X.T]
            return np.eye(m)[int(np.argmax(values))]
        signed = self.kind == "logistic of any sign"
        found, lists = logistic(X, np.asarray(y > 0, dtype=np.float64), not signed), np.unique(qid).size
        return found if self.kind != "logistic" else (POOL / m + lists * found) / (POOL + lists)

    def decision_function(self, X: Floats) -> Floats:
        """The fused scores."""
        return np.asarray(X @ self.coef_)


def raised(weights: Floats, floors: Floats) -> Floats:
    """The weights with no share below its floor; the others keep their ratios."""
    found, low = weights.copy(), np.zeros(weights.size, dtype=bool)
    while (under := ~low & (found < floors)).any():
        low |= under
        left, others = 1.0 - floors[low].sum(), found[~low]
        found[low] = floors[low]
        found[~low] = left * (others / others.sum() if others.sum() > 0 else 1.0 / max(1, others.size))
    return found


class Null(NamedTuple):
    """A fusion that learns nothing from the judgements."""

    name: str
    mean: float  # mean statistic of the judged queries


def prior_weights(prior: object, names: Sequence[str]) -> Floats:
    """Weights of a prior in the order of the names, which sum to 1 in size."""
    if isinstance(prior, str) and prior in PRIORS:
        return np.full(len(names), 1.0 / len(names))
    if not isinstance(prior, Mapping):
        words = ", ".join(map(repr, PRIORS))
        raise InputError(f"prior is {prior!r}; it must be {words}, or a mapping from each run to its weight.")
    for name in prior:
        if name not in names:
            raise unknown("run in prior", name, names)
    try:
        weights = np.array([float(prior.get(name, 0.0)) for name in names])
    except (TypeError, ValueError):
        raise InputError("prior holds a weight that is no number; give one number for each run.") from None
    size = float(np.abs(weights).sum())
    if not (math.isfinite(size) and size > 0):
        raise InputError("prior holds no weight other than 0, or one that is not finite; give numbers.")
    return weights / size
