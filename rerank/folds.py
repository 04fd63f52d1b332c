"""Rows held out in turn, and what rerankers fitted on the others make of them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GroupKFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state

from rerank.errors import InputError
from rerank.ranks import evaluate
from rerank.reranker import Reranker
from rerank.statistics import parse

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn from and rows to judge by."""

    train: Indices
    test: Indices

    def run(
        self,
        base: Reranker,
        candidates: Sequence[dict[str, Any]],
        X: Floats,
        y: Floats,
        lists: NDArray[Any] | None,
        weights: Floats | None,
    ) -> tuple[float, list[float]]:
        """Held-out statistic of the first stage alone (NaN where there is none) and of each candidate.

        The first stage is fitted once and shared, since no candidate changes it.
        """
        take = self.train
        own_lists = None if lists is None else lists[take]
        own_weights = None if weights is None else weights[take]

        def fitted(**options: Any) -> Reranker:
            return (
                clone(base)
                .set_params(**options)
                .fit(X[take], y[take], qid=own_lists, sample_weight=own_weights)
            )

        cut = fitted(solver="none")
        shared = {} if cut.first_stage_ is None else {"first_stage": FrozenEstimator(cut.first_stage_)}
        held_lists = None if lists is None else lists[self.test]

        def judged(scores: Floats) -> float:
            return evaluate(parse(base.stat), y[self.test], scores, held_lists, gain=base.gain)

        held = X[self.test]
        alone = math.nan if cut._stage is None else judged(cut._stage.scores(held))
        own = []
        for candidate in candidates:
            est = fitted(**candidate, **shared)
            own.append(
                judged(est.decision_function(held) if lists is None else est.list_scores(held, held_lists))
            )
        return alone, own


def splits_of(
    X: Floats, y: Floats, lists: NDArray[Any] | None, cv: Any, n_repeats: int, random_state: Any
) -> list[Split]:
    """Folds of lists, or of rows with the relevant ones spread evenly.

    Raises
    ------
    InputError
        Where ``cv`` or ``n_repeats`` is no number of folds, or there are fewer lists or relevant rows than folds.
    """
    if not isinstance(n_repeats, numbers.Integral) or n_repeats < 1:
        raise InputError(f"n_repeats is {n_repeats!r}; it must be a whole number, at least 1.")
    relevant = y > y.min()
    if not isinstance(cv, numbers.Integral):
        pairs = check_cv(cv).split(X, relevant, lists)
        return [Split(train, test) for train, test in pairs if relevant[test].any()]
    folds = int(cv)
    if folds < 2:
        raise InputError(f"cv is {cv!r}; it must be at least 2 folds, or a splitter of scikit-learn.")
    there = int(relevant.sum()) if lists is None else len(set(lists[relevant].tolist()))
    what = "relevant rows" if lists is None else "lists with a relevant row"
    if there < folds:
        raise InputError(f"cv is {folds}, but there are {there} {what}; lower cv or give more data.")
    rng = check_random_state(0 if random_state is None else random_state)
    made: list[Split] = []
    for _ in range(n_repeats):
        seed = int(rng.randint(2**31 - 1))
        if lists is None:
            pairs = StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, relevant)
        else:
            _, groups = np.unique(lists.astype(str) if lists.dtype == object else lists, return_inverse=True)
            pairs = GroupKFold(folds, shuffle=True, random_state=seed).split(X, relevant, groups)
        # A fold of lists may hold no relevant row: there is nothing to judge by then.
        made += [Split(train, test) for train, test in pairs if relevant[test].any()]
    return made
