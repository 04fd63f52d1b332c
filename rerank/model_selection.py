"""Choosing how hard to fit: cross-validation over a grid of rerankers, the first stage alone among them.

An exact fit follows its training list closely, and thousands of weights tie there, so a margin or thinning that looks
worse in training is often better on rows to come, and sometimes nothing beats the first stage.  :class:`RerankerCV`
lets held-out rows decide, and keeps the first stage unless they speak clearly for reranking.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import check_is_fitted, validate_data

from rerank.errors import InputError
from rerank.folds import Split, splits_of
from rerank.reranker import Reranker
from rerank.validation import check_labels, check_matrix, check_qid, check_weights

Floats = NDArray[np.float64]

GRID: Mapping[str, list[Any]] = {"epsilon": ["auto", 0.05, 0.15], "thinning": [None, 0.8]}


class RerankerCV(BaseEstimator):
    """A :class:`Reranker` whose options are chosen by cross-validation, with the first stage as a safeguard.

    Parameters
    ----------
    reranker : Reranker, optional
        Everything that the grid does not vary; ``Reranker()`` without it.
    grid : mapping of str to sequence, or sequence of such mappings, optional
        Values of the reranker's parameters. Without it, margins of .05 and .15 beside the automatic one, each with and
        without thinning to .8.
    cv : int, splitter or iterable, default 5
        Folds, of whole lists where ``fit`` is given ``qid``, else of rows with the relevant ones spread evenly; or
        what scikit-learn takes for ``cv``.
    n_repeats : int, default 1
        Times that an integer ``cv`` is dealt anew.
    safeguard : float, default 1.0
        Reranking is kept only where its mean lead over the first stage exceeds this many standard errors of the
        leads. Folds share training rows, so the standard error is on the small side. 0 asks for a lead alone,
        ``-inf`` for nothing.
    random_state : int, RandomState or None
        Of the folds; None is 0, so that two fits agree.
    verbose : int, default 0
        1 writes a line to standard error for each fold.

    Attributes
    ----------
    best_estimator_ : Reranker
        Fitted on all rows with the best options; it ranks as the first stage does where that was kept.
    best_params_ : dict
    best_score_ : float
        Mean held-out statistic of what was kept.
    first_stage_kept_ : bool
    cv_results_ : dict of arrays
        ``params``, ``scores`` (options, folds), ``mean_score``, ``first_stage`` (folds,), ``mean_lead`` and
        ``lead_error`` (options,), the last two NaN without a first stage.
    result_, coef_, features_, threshold_, first_stage_
        Of ``best_estimator_``.

    Notes
    -----
    Held-out rows of a single list are scored one by one, against the training threshold, so that the head keeps its
    share of the rows; held-out lists are ranked as lists. Interrupted, it chooses by the folds that are complete.
    """

    def __init__(
        self,
        reranker: Reranker | None = None,
        *,
        grid: Any = None,
        cv: Any = 5,
        n_repeats: int = 1,
        safeguard: float = 1.0,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.reranker = reranker
        self.grid = grid
        self.cv = cv
        self.n_repeats = n_repeats
        self.safeguard = safeguard
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: ArrayLike, y: ArrayLike, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> RerankerCV:
        """Choose by held-out rows, then fit on all; parameters as in :meth:`Reranker.fit`.

        Raises
        ------
        InputError
            For a grid or data that cannot be used, or too few relevant rows or lists for the folds.
        """
        base = Reranker() if self.reranker is None else self.reranker
        candidates = self._candidates(base)
        if math.isnan(self.safeguard):
            raise InputError("safeguard is NaN; it must be a number of standard errors.")
        table = check_matrix(X)
        validate_data(self, X, y, reset=True, skip_check_array=True)
        labels = check_labels(y, table.shape[0])
        lists = None if qid is None else check_qid(qid, table.shape[0])
        weights = None if sample_weight is None else check_weights(sample_weight, table.shape[0])
        splits = splits_of(table, labels, lists, self.cv, self.n_repeats, self.random_state)
        found = self._held_out(base, candidates, splits, (table, labels, lists, weights))
        self._choose(candidates, *found)
        best = clone(base).set_params(**self.best_params_).fit(X, y, qid=qid, sample_weight=sample_weight)
        if self.first_stage_kept_:
            keep_first_stage(best)
        self._show(best)
        return self

    def _candidates(self, base: Reranker) -> list[dict[str, Any]]:
        try:
            candidates = list(ParameterGrid(GRID if self.grid is None else self.grid))
        except (TypeError, ValueError) as error:
            raise InputError(f"grid cannot be read ({error}); give a mapping from names to lists.") from None
        known = base.get_params(deep=False)
        for name in {name for candidate in candidates for name in candidate} - known.keys():
            raise InputError(f"grid varies {name!r}; a Reranker has {', '.join(sorted(known))}.")
        for name in ("stat", "gain", "first_stage"):
            if any(name in candidate for candidate in candidates):
                raise InputError(f"grid varies {name!r}, which is what the choice is judged by; fix it.")
        return candidates

    def _held_out(
        self, base: Reranker, candidates: list[dict[str, Any]], splits: list[Split], data: tuple[Any, ...]
    ) -> tuple[Floats, Floats]:
        """Statistic on the held-out rows: of the candidates (folds, options), of the first stage (folds,)."""
        scores: list[list[float]] = []
        alone: list[float] = []
        try:
            for number, split in enumerate(splits):
                first, own = split.run(base, candidates, *data)
                alone.append(first)
                scores.append(own)
                if self.verbose:
                    print(
                        f"fold {number + 1} of {len(splits)}: best {max(own):.4f}, first stage {first:.4f}",
                        file=sys.stderr,
                        flush=True,
                    )
        except KeyboardInterrupt:
            if not scores:
                raise
        return np.array(scores), np.array(alone)

    def _choose(self, candidates: list[dict[str, Any]], scores: Floats, alone: Floats) -> None:
        means = scores.mean(axis=0)
        leads = scores - alone[:, None]
        folds = len(alone)
        error = leads.std(axis=0, ddof=1) / math.sqrt(folds) if folds > 1 else np.full(means.size, math.inf)
        best = int(np.argmax(means))
        lead = float(leads[:, best].mean())
        bar = self.safeguard * error[best] if self.safeguard else 0.0
        self.first_stage_kept_ = bool(lead <= bar) and self.safeguard > -math.inf
        self.best_params_ = candidates[best]
        self.best_score_ = float(alone.mean() if self.first_stage_kept_ else means[best])
        self.cv_results_ = {
            "params": np.array(candidates, dtype=object),
            "scores": scores.T,
            "mean_score": means,
            "first_stage": alone,
            "mean_lead": leads.mean(axis=0),
            "lead_error": error,
        }

    def _show(self, best: Reranker) -> None:
        self.best_estimator_ = best
        for name in ("result_", "coef_", "features_", "threshold_", "first_stage_"):
            setattr(self, name, getattr(best, name))

    def _best(self) -> Reranker:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def decision_function(self, X: ArrayLike) -> Floats:
        """Score of each row by itself, larger is better."""
        return self._best().decision_function(X)

    def predict(self, X: ArrayLike) -> Floats:
        """The same as :meth:`decision_function`."""
        return self.decision_function(X)

    def rank(self, X: ArrayLike, qid: ArrayLike | None = None) -> NDArray[np.intp]:
        """Place of each row in its list, 1 on top."""
        return self._best().rank(X, qid)

    def score(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike | None = None) -> float:
        """The statistic of the ranking, equal scores against the relevant rows."""
        return self._best().score(X, y, qid)

    def save(self, path: Any) -> None:
        """Write ``best_estimator_``; :func:`rerank.load` reads it as a :class:`Reranker`."""
        self._best().save(path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.sparse = False
        return tags


def keep_first_stage(fitted: Reranker) -> None:
    """Let a fitted reranker rank as its first stage does, and say so."""
    result, alone = fitted.result_, fitted.result_.first_stage_statistic
    if alone is None:
        return
    message = (
        "Held-out rows do not speak clearly for reranking, so the first stage is kept. " + result.message
    )
    kept = replace(result, status="first_stage_kept", statistic=alone, message=message)
    fitted._publish(fitted._stage, fitted.threshold_, False, kept)
