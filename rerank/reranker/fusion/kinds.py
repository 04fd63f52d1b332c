"""Weights for kinds of queries, such as codes and questions: averaged with the common ones, kept where they lead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rerank.reranker.fusion.choice import BAR, Folds, best_of, lead_of
from rerank.reranker.fusion.normalise import Floats
from rerank.reranker.fusion.points import POOL, Lists, Values, of_size_one, point
from rerank.reranker.selection.options import Lead


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of queries, and what its own weights are worth on held-out queries of the kind.

    Attributes
    ----------
    name : str
    queries : int
        Judged queries of the kind.
    weights : float64 array (runs,)
        The average of the common weights, which count as ``POOL`` queries, and those of logistic regression on the
        queries of the kind.
    lead : Lead
        Held-out statistic by such weights and by the common ones, and the paired lead.
    taken : bool
        Whether they lead the common ones by the rule of the choice.
    """

    name: str
    queries: int
    weights: Floats
    lead: Lead
    taken: bool


def weights_by_kind(
    kinds: Sequence[str | None],
    values: Values,
    X: Floats,
    common: Floats,
    folds: Folds,
    by_fold: Sequence[Floats],
    positive: bool,
    safeguard: float = 1.0,
) -> list[Kind]:
    """Each kind, in the order of names.

    Parameters
    ----------
    kinds : sequence of str or None
        Of each list; None for one without a kind.
    X : float64 array (rows, runs)
    common : float64 array (runs,)
        Weights of all queries.
    folds : sequence of pairs of intp arrays
        Training and held-out lists.
    by_fold : sequence of float64 arrays (runs,)
        Weights that the same way of fitting has from the training lists of each fold.
    safeguard : float
        ``inf`` keeps the common weights.
    """
    found, bar = [], math.inf if safeguard == math.inf else BAR
    for name in sorted({kind for kind in kinds if kind is not None}):
        own = np.flatnonzero([kind == name for kind in kinds])
        sums = np.zeros((2, len(kinds)))
        count = np.zeros(len(kinds))
        for weights, (train, test) in zip(by_fold, folds):
            here = np.intersect1d(test, own)
            both = np.stack([of_size_one(weights), _pooled(weights, values, X, np.intersect1d(train, own), positive)])
            sums[:, here] += values.of(X, both, here)
            count[here] += 1
        held = np.divide(sums, count, out=np.full_like(sums, np.nan), where=count > 0)
        weights = _pooled(common, values, X, own, positive)
        tried = not np.isnan(held).all()
        taken = tried and best_of(list(held), [0], bar) == 1
        found.append(Kind(name, own.size, weights, lead_of(held[1], held[0]), taken))
    return found


def _pooled(common: Floats, values: Values, X: Floats, lists: Lists, positive: bool) -> Floats:
    """The common weights, averaged with those of logistic regression on some lists."""
    common = of_size_one(common)
    if not any((values.evaluator.lists[number].gains > 0).any() for number in lists):
        return common
    own = point("logistic alone" if positive else "logistic of any sign", values, X, lists, common)
    return of_size_one(POOL * common + lists.size * own)
