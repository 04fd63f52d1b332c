"""Cross-validation over a grid of rerankers, with the first stage alone among them.

An exact fit can over-fit its training list.  A margin or thinning that has a smaller value in training may be better
on new rows, and sometimes the first stage is best.  :class:`RerankerCV` chooses by held-out rows, and keeps the first
stage unless reranking has a clear lead there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from rerank.errors import InputError
from rerank.io.arrays import check_matrix, check_qid
from rerank.ranks.row_gains import IdealGains, gain_of
from rerank.reranker.clock import Clock
from rerank.reranker.data import Weights, checked
from rerank.reranker.estimator import Reranker, restored
from rerank.reranker.ranking import GradedTags
from rerank.reranker.selection.folds import splits_of
from rerank.reranker.selection.grid import Choice, candidates_of, check_safeguard, choose, first_stage_kept
from rerank.reranker.selection.held_out import held_out, judged_by, refuse_fixed_length
from rerank.reranker.settings import check

Floats = NDArray[np.float64]


class RerankerCV(GradedTags, BaseEstimator):
    """A :class:`Reranker` whose options are chosen by cross-validation, with the first stage as a safeguard.

    Parameters
    ----------
    reranker : Reranker, optional
        Holds the parameters that the grid does not vary; ``Reranker()`` if omitted. Its checkpoint is for the last fit,
        on all rows.
    grid : mapping of str to sequence, or sequence of such mappings, optional
        Values of the reranker's parameters. By default the automatic margin and margins of .05 and .15, each with and
        without thinning to .8 (without it only for AUC, which thinning does not change).
    cv : int, splitter, iterable or None
        Number of folds; None is 5. The folds are whole lists if ``fit`` gets ``qid``, else rows, with the relevant ones
        spread evenly. Or a splitter of scikit-learn, or pairs of training and test rows; both have to keep lists
        whole. A splitter gets ``qid`` as its groups, and whether a row is relevant as its ``y``.
    n_repeats : int, default 1
        Number of times that the folds are drawn.
    safeguard : float, default 1.0
        Reranking is kept only if its mean lead over the first stage exceeds this many standard errors of the leads.
        Folds share training rows, so the standard error is rather too small. With 0 any lead is enough, with ``-inf``
        reranking is always kept, and with ``inf`` the first stage.
    time_limit : float or None
        Seconds for everything, shared among the fits; each fit also keeps to the reranker's own limit. First stages of
        others run to their end.
    random_state : int, RandomState or None
        Seed of the folds; None is 0, so that two fits give the same result.
    verbose : int, default 0
        1 writes a line to standard error for each fold.

    Attributes
    ----------
    best_estimator_ : Reranker
        Fitted on all rows with the best options; it ranks as the first stage does if that was kept.
    best_params_ : dict
    best_score_ : float
        Mean held-out statistic of what was kept, in the unit of :meth:`score` with the weights of ``fit``.
    first_stage_kept_ : bool
    cv_results_ : dict of arrays
        ``params``, ``scores`` (options, folds), ``mean_score``, ``first_stage`` (folds,), ``mean_lead`` and
        ``lead_error`` (options,), the last two NaN without a first stage.
    result_, coef_, features_, threshold_, first_stage_
        Of ``best_estimator_``.

    Notes
    -----
    Held-out rows of a single list are scored with the training threshold, so that the head keeps its share of the rows.
    Held-out lists are ranked as lists. After an interrupt the choice uses the folds that are complete.
    """

    def __init__(
        self,
        reranker: Reranker | None = None,
        *,
        grid: Any = None,
        cv: Any = 5,
        n_repeats: int = 1,
        safeguard: float = 1.0,
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.reranker = reranker
        self.grid = grid
        self.cv = cv
        self.n_repeats = n_repeats
        self.safeguard = safeguard
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: Weights = None,
        ideal_gains: IdealGains = None,
    ) -> RerankerCV:
        """Choose by held-out rows, then fit on all.

        Parameters
        ----------
        X, y, qid, sample_weight, query_weight, ideal_gains
            As in :meth:`Reranker.fit`. Weights count in the fits and on held-out rows.

        Raises
        ------
        InputError
            For parameters or data that cannot be used, too few relevant rows or lists for the folds, or a fold on whose
            rows no model can be fitted or evaluated.
        """
        clock = Clock(self.time_limit)
        base = Reranker() if self.reranker is None else self.reranker
        if not isinstance(base, Reranker):
            raise InputError(f"reranker is {base!r}; it must be None or a Reranker.")
        safeguard = check_safeguard(self.safeguard)
        candidates = candidates_of(self.grid, base)
        table = check_matrix(X)
        validate_data(clone(base), X, y, reset=True, skip_check_array=True)
        data, weights = checked(
            table,
            y,
            qid,
            sample_weight,
            query_weight,
            gain_of(base.stat, base.gain, sample_weight),
            pos_label=base.pos_label,
            ideal_gains=ideal_gains,
        )
        for options in candidates:
            check(base.get_params(deep=False) | options, table.shape[1])
        refuse_fixed_length(base, data)
        ids = None if qid is None else check_qid(qid, data.y.size)
        splits = splits_of(data.X, judged_by(data), ids, self.cv, self.n_repeats, self.random_state)
        scores, alone = held_out(base, candidates, splits, data, weights, clock, self.verbose)
        choice = choose(scores, alone, safeguard)
        best = clone(base).set_params(**candidates[choice.best])
        best.set_params(time_limit=clock.least(best.time_limit, 1))
        best.fit(
            X, y, qid=qid, sample_weight=sample_weight, query_weight=query_weight, ideal_gains=ideal_gains
        )
        if choice.first_stage_kept:
            best = restored(first_stage_kept(best.state_))
        # Nothing is set before the last fit has succeeded, so that all attributes belong to one fit.
        self._publish(best, candidates, choice, scores, alone)
        return self

    def _publish(
        self, best: Reranker, candidates: list[dict[str, Any]], choice: Choice, scores: Floats, alone: Floats
    ) -> None:
        self.best_estimator_ = best
        self.best_params_ = candidates[choice.best]
        self.best_score_ = choice.score
        self.first_stage_kept_ = choice.first_stage_kept
        self.cv_results_ = {
            "params": np.array(candidates, dtype=object),
            "scores": scores.T,
            "mean_score": choice.means,
            "first_stage": alone,
            "mean_lead": choice.leads,
            "lead_error": choice.errors,
        }
        for name in ("result_", "coef_", "features_", "threshold_", "first_stage_", "n_features_in_"):
            setattr(self, name, getattr(best, name))
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

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

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: Weights = None,
        ideal_gains: IdealGains = None,
    ) -> float:
        """The statistic of the ranking, equal scores against the relevant rows; as :meth:`Reranker.score`."""
        return self._best().score(X, y, qid, sample_weight, query_weight, ideal_gains)

    def save(self, path: Any) -> None:
        """Write ``best_estimator_``; :func:`rerank.load` reads it as a :class:`Reranker`."""
        self._best().save(path)
