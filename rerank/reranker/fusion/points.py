"""Weights that cost no search, what many weights are worth, and the null hypotheses: fusions that learn nothing.

RRF is the null that leads are told over: it uses ranks alone, so no scale and no outlier of a score can spoil it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError, unknown
from rerank.ranks.evaluator import Evaluator
from rerank.ranks.lists import OneList
from rerank.reranker.blend import POOL, logistic
from rerank.reranker.fusion.model import rounded
from rerank.reranker.fusion.normalise import Floats

AHEAD = 64  # irrelevant rows of a list, the best by equal weights, that others are compared with to leave them out
Lists = NDArray[np.intp]


class Values:
    """Statistic of each list by many weights, equal scores as lost, where only places that count are sorted."""

    def __init__(self, evaluator: Evaluator) -> None:
        lists, statistic = evaluator.lists, evaluator.statistic
        self.evaluator, self.n_rows = evaluator, sum(one.rows.size for one in lists)
        sizes = np.array([one.rows.size for one in lists])
        self._there = np.arange(sizes.max()) < sizes[:, None]
        self._rows = np.zeros(self._there.shape, dtype=np.int32)
        self._gains = np.zeros(self._there.shape)
        for number, one in enumerate(lists):
            order = np.argsort(one.gains, kind="stable")  # of equal scores the least gain is first
            self._rows[number, : order.size] = one.rows[order]
            self._gains[number, : order.size] = one.gains[order]
        self._offset, self._scale = np.array(evaluator.shown).T
        depth = None if statistic.weighs_hits or statistic.by_share else statistic.depth
        self._earned: Floats | None = None
        if depth is not None and statistic.length is None:
            top = statistic.coefficients(max(depth, int(sizes.max())))[::-1][:depth]
            if all(np.array_equal(statistic.coefficients(n)[::-1][:depth], top[:n]) for n in np.unique(sizes).tolist()):
                self._earned = top

    @property
    def places(self) -> int | None:
        """Places that count, in lists of every length; None where others do, too."""
        return None if self._earned is None else self._earned.size

    def of(self, X: Floats, weights: Floats, lists: Lists | None = None) -> Floats:
        """Values (weights, lists), NaN where one has none, by scores ``X`` and weights (weights, runs)."""
        lists = np.arange(len(self._rows)) if lists is None else lists
        there = self._there[lists]
        width = int(there.sum(axis=1).max(initial=1))
        there, rows, gains = there[:, :width], self._rows[lists, :width], self._gains[lists, :width]
        found = np.full((len(weights), lists.size), np.nan)
        has = self._scale[lists] > 0
        for own, one in zip(found, weights):
            scores = rounded(np.where(there, (X @ one)[rows], 0.0))
            if self._earned is None:
                given = np.zeros(self.n_rows)
                given[rows[there]] = scores[there]
                own[:] = np.array(self.evaluator.values(given, "pessimistic"), dtype=np.float64)[lists]
            else:
                raw = _of_first(np.where(there, scores, -np.inf), gains, self._earned) - self._offset[lists]
                own[has] = raw[has] / self._scale[lists][has]
        return found

    def of_places(self, number: int, gains: Floats, places: NDArray[np.intp]) -> Floats:
        """Values (orders,) of a list whose rows of these gains have these places (orders, rows), 1 on top."""
        offset, scale = self.evaluator.shown[number]
        if self._earned is not None:
            paid = np.append(self._earned, 0.0)[np.minimum(places, self._earned.size + 1) - 1]
            return np.asarray((paid @ gains - offset) / scale)
        one, found = self.evaluator.lists[number], np.empty(len(places))
        size, statistic = one.rows.size, self.evaluator.statistic
        for order, own in enumerate(places):
            by_place = np.zeros(size)
            by_place[own - 1] = gains
            ordered = OneList(one.name, np.arange(size), by_place, one.weight, one.missed)
            found[order] = Evaluator(statistic, [ordered]).values(-np.arange(size), "pessimistic")[0]
        return found


def _of_first(scores: Floats, gains: Floats, earned: Floats) -> Floats:
    """Sum of gain times what its place earns in each list (lists, documents)."""
    n, depth = scores.shape[1], earned.size
    least = -np.inf if n <= depth else np.partition(scores, n - depth, axis=1)[:, n - depth, None]
    number, column = np.nonzero((scores >= least) & (scores > -np.inf))
    order = np.lexsort((-scores[number, column], number))  # stable
    first = np.searchsorted(number, np.arange(len(scores)))
    place = np.arange(number.size) - first[number]
    counted = place < depth
    order, number = order[counted], number[counted]
    paid = gains[number, column[order]] * earned[place[counted]]
    return np.asarray(np.bincount(number, paid, minlength=len(scores)), dtype=np.float64)


def telling(X: Floats, values: Values) -> NDArray[np.intp]:
    """Rows that some weights of at least 0 may bring among the first places: no others change a value.

    Rows stand in the order of their mean. One is left out if as many irrelevant rows before it as there are places have
    no smaller score in any run: by any such weights they are before it, equal scores or not. The first of these stay,
    as what is before one of them is before that row, too. It holds for any normaliser of ``X`` that gives a missing
    document the least value.
    """
    if values.places is None:
        return np.arange(len(X))
    kept, key, across = np.ones(len(X), dtype=bool), X.mean(axis=1), np.ascontiguousarray(X.T)
    for one in values.evaluator.lists:
        order = np.lexsort((one.rows, -key[one.rows]))
        rows, place = one.rows[order], np.arange(order.size)
        ahead = np.flatnonzero(one.gains[order] == 0)[:AHEAD]
        if ahead.size <= values.places:
            continue
        behind = place[:, None] > ahead
        for column in across:
            own = column[rows]
            behind &= own[ahead] >= own[:, None]
        kept[rows[behind.sum(axis=1) >= values.places]] = False
    return np.flatnonzero(kept)


def point(kind: str, values: Values, X: Floats, lists: Lists, given: Floats) -> Floats:
    """Weights of a kind from some lists, of size 1 in sum: "given" learns nothing, "logistic alone" is not negative,
    "logistic" its average with equal weights, which count as ``POOL`` lists, and "single" the best run.
    """
    m = X.shape[1]
    if kind == "given":
        return given
    if kind == "single":
        return np.eye(m)[int(np.argmax(np.nanmean(values.of(X, np.eye(m), lists), axis=1)))]
    some = [values.evaluator.lists[number] for number in lists]
    rows, gains = (np.concatenate([getattr(one, side) for one in some]) for side in ("rows", "gains"))
    found = logistic(X[rows], np.asarray(gains > 0, dtype=np.float64), kind != "logistic of any sign")
    return found if kind != "logistic" else (POOL / m + lists.size * found) / (POOL + lists.size)


PRIORS = ("auto", "equal", "logistic", "rrf")  # words for the weights that a fit corrects


class Null(NamedTuple):
    """A fusion that learns nothing from the judgements."""

    name: str
    normaliser: str
    values: Floats  # (lists,), statistic of each judged query, NaN for one with nothing to order

    @property
    def mean(self) -> float:
        """Mean statistic of the judged queries."""
        return float(np.nanmean(self.values))


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
