"""Cross-validation over a grid of rerankers, with the first stage alone as the null hypothesis.

An exact fit can over-fit its training list. How far a fit may move from its first stage is for held-out rows to say:
:class:`RerankerCV` tries corrections of growing size, and keeps the first stage where none of them leads.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from rerank.errors import InputError
from rerank.errors.stops import enough_memory
from rerank.io.arrays import check_qid
from rerank.ranks.row_gains import IdealGains
from rerank.reranker.clock import Clock
from rerank.reranker.columns import lists_of
from rerank.reranker.data import Weights, data_of
from rerank.reranker.estimator import Reranker, restored
from rerank.reranker.explain import ExplainMixin
from rerank.reranker.files.result_json import own_message
from rerank.reranker.fit import LATE
from rerank.reranker.selection.folds import splits_of
from rerank.reranker.selection.grid import Choice, candidates_of, check_rule, choose, first_stage_kept, radii
from rerank.reranker.selection.held_out import held_out, judged_by, refuse_fixed_length, took
from rerank.reranker.selection.judge import Judged, by_option, judge_of, judged
from rerank.reranker.selection.told import ToldMixin
from rerank.reranker.settings import check
from rerank.reranker.state import FittedState
from rerank.statistics import fitted_statistic, parse

if TYPE_CHECKING:
    from rerank.io import Table

Floats = NDArray[np.float64]


class RerankerCV(ToldMixin, ExplainMixin, BaseEstimator):
    """A :class:`Reranker` whose options are chosen by cross-validation, with the first stage as a safeguard.

    Parameters
    ----------
    reranker : Reranker, optional
        Holds the parameters that the grid does not vary; ``Reranker()`` if omitted. Its checkpoint is for the last fit,
        on all rows.
    grid : mapping of str to sequence, or sequence of such mappings, optional
        Values of the reranker's parameters. By default radii of .03 and .1, corrections of 3 columns, a
        margin of .1 and, for a statistic of N places, a window of 2; for AUC of one list a radius of .1 with
        corrections of 3 columns, and radii of .3 and 1 with corrections of all.
    cv : int, splitter, iterable or None
        Number of folds; None is 5. The folds are whole lists if ``fit`` gets ``qid``, else rows, with the relevant ones
        spread evenly. Or a splitter of scikit-learn, or pairs of training and test rows; both have to keep lists
        whole. A splitter gets ``qid`` as its groups, and whether a row is relevant as its ``y``.
    n_repeats : int or None
        Number of times that the folds are drawn; None is 2 for a number of folds, and 1 for a splitter.
    rule : None or {"mean", "best", "strict"}
        By "mean" the mean lead over the first stage decides, smaller radius first: a larger radius is tried only where
        the one before it leads. By "best" the largest mean lead decides. By "strict" the lead must exceed ``safeguard``
        standard errors, smaller radius first. None is "best" for AUC of one list, else "mean".
    judge : None, str or RankStatistic
        What leads are measured by. None is ``window8@N`` for a statistic of N places of one list, because hits far
        around N vary less than hits up to N, and else the statistic itself.
    safeguard : float, default 1.0
        For the strict rule. ``-inf`` always keeps the reranking and ``inf`` the first stage, by any rule.
    time_limit : float or None
        Seconds for everything, shared among the fits; each fit also keeps to the reranker's own limit. First stages of
        others run to their end.
    n_jobs : int or None
        Folds at a time, by joblib, so that any of its backends serves (Ray, Dask).
    random_state : int, RandomState or None
        Seed of the folds; None is 0, so that two fits give the same result.
    verbose : int, default 0
        1 writes a line with its seconds to standard error for each fold, unless ``n_jobs`` has several at a time.

    Attributes
    ----------
    best_estimator_ : Reranker
        Fitted on all rows with the best options; it ranks as the first stage does if that was kept.
    best_params_ : dict
    best_score_ : float
        Mean statistic of the folds by what was kept, in the unit of :meth:`score` with the weights of ``fit``.
    first_stage_kept_ : bool
    chosen_ : int or None
        Number of the option; None if the first stage was kept.
    cv_results_ : dict of arrays
        For each option ``params``; ``split0_score`` and so on, the statistic of the rows held out in each fold, and
        ``mean_score``; ``mean_lead`` over the first stage by the judge and ``lead_error``, NaN without a first stage;
        ``folds_tried``. NaN stands for folds for which no time was left, and an option that was not tried on most folds
        is not chosen. ``pandas.DataFrame(est.cv_results_)`` has a row for each option. By name there are also
        ``scores`` (options, folds), ``first_stage`` (folds,), its statistic in each fold, and ``leads`` (options,
        repeats), with the held-out rows of all folds in one list.
    judge_ : RankStatistic
    rule_ : str
    result_, coef_, features_, threshold_, first_stage_, classes_
        Of ``best_estimator_``.

    Notes
    -----
    Held-out rows of a single list are scored with the training threshold, so that the head keeps its share of the rows.
    Held-out lists are ranked as lists. After an interrupt the choice uses the folds that are complete. Scores that a
    candidate corrects come from first stages that have not seen the rows, in the folds too. Folds share training rows,
    for which the standard error allows by the corrected variance of Nadeau and Bengio (Machine Learning 52, 2003):
    (1/J + n_test/n_train) times the variance of the leads of J folds.
    """

    def __init__(
        self,
        reranker: Reranker | None = None,
        *,
        grid: Any = None,
        cv: Any = 5,
        n_repeats: int | None = None,
        rule: str | None = None,
        judge: Any = None,
        safeguard: float = 1.0,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.reranker = reranker
        self.grid = grid
        self.cv = cv
        self.n_repeats = n_repeats
        self.rule = rule
        self.judge = judge
        self.safeguard = safeguard
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: Any, y: ArrayLike, qid: ArrayLike | str | None = None, sample_weight: ArrayLike | None = None,
        query_weight: Weights = None, ideal_gains: IdealGains = None,
    ) -> RerankerCV:  # fmt: skip
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
        return self._fit_named(X, y, qid, sample_weight, query_weight, ideal_gains)

    def _fit_named(
        self, X: Any, y: Any, qid: Any, sample_weight: Any, query_weight: Weights, ideal_gains: IdealGains,
        names: tuple[str, ...] = (),
    ) -> RerankerCV:  # fmt: skip
        """Columns get these ``names``, unless X has names of its own."""
        clock = Clock(self.time_limit)
        base = Reranker() if self.reranker is None else self.reranker
        if not isinstance(base, Reranker):
            raise InputError(f"reranker is {base!r}; it must be None or a Reranker.")
        given = base.get_params(deep=False)
        data, weights = data_of(X, y, qid, sample_weight, query_weight, ideal_gains, given, clone(base), names)
        lists = data.qid is not None
        candidates = candidates_of(self.grid, base, data.X.shape[1], lists)
        for options in candidates:
            check(given | options, data.X.shape[1])
        refuse_fixed_length(base, data)
        statistic = parse(base.stat)
        rule, safeguard = check_rule(self.rule, self.safeguard, statistic, lists)
        judge = judge_of(statistic, lists) if self.judge is None else parse(self.judge)
        judge = fitted_statistic(judge, None, base.list_length, None)
        ids = None if qid is None else check_qid(lists_of(X, qid), data.y.size)
        splits = splits_of(data.X, judged_by(data), ids, self.cv, self.n_repeats, self.random_state)
        before = clock.spent
        with enough_memory():
            ranked = held_out(base, candidates, splits, data, weights, clock, self.n_jobs, self.verbose)
        spent = clock.spent - before
        found = judged(data, splits, ranked, statistic, judge)
        choice = choose(found, radii(candidates, base), rule, safeguard)
        best = clone(base).set_params(**candidates[choice.best])
        best.set_params(time_limit=clock.least(best.time_limit, 1))
        best._fit_named(X, y, qid, sample_weight, query_weight, ideal_gains, names)
        if choice.first_stage_kept:
            alone = first_stage_kept(best.state_)
            best = restored(alone.with_classes(data.rows, data.y, alone.scores))
        # Nothing is set before the last fit has succeeded, so that all attributes belong to one fit.
        self.judge_, self.rule_ = judge, rule
        self._publish(best, candidates, choice, found)
        # What held-out rows said goes with the result, and so into the model file.
        result = replace(best.result_, evidence=self._evidence())
        if any(LATE in note for note in result.notes):
            result = result.noting(took(spent, self.time_limit))
        best._adopt(replace(best.state_, result=replace(result, message=own_message(result))))
        self.result_ = best.result_
        return self

    def _publish(self, best: Reranker, candidates: list[dict[str, Any]], choice: Choice, found: Judged) -> None:
        self.best_estimator_ = best
        self.best_params_: dict[str, Any] = candidates[choice.best]
        self.best_score_: float = choice.score
        self.first_stage_kept_: bool = choice.first_stage_kept
        self.chosen_: int | None = None if choice.first_stage_kept else choice.best
        self.cv_results_: dict[str, NDArray[Any]] = by_option(found, candidates, "first_stage")
        copied = "result_ coef_ prior_weight_ features_ threshold_ first_stage_ classes_ n_features_in_"
        for name in copied.split():
            setattr(self, name, getattr(best, name))
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def plot(self, X: Any = None, y: Any = None, ax: Any = None) -> Any:
        """Lead and interval of every option (:func:`rerank.plots.leads`); with rows, as :meth:`Reranker.plot`."""
        if X is not None:
            return super().plot(X, y, ax)
        return self._evidence().plot(ax)

    def _best(self) -> Reranker:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    # What ranks rows is the best estimator.
    @property
    def stat(self) -> Any:
        """The statistic that is quoted."""
        return self._best().stat

    @property
    def gain(self) -> Any:
        """The gain of a grade."""
        return self._best().gain

    @property
    def state_(self) -> FittedState:  # type: ignore[override]
        """All that is known after the last fit."""
        return self._best().state_

    def save(self, path: Any) -> None:
        """Write ``best_estimator_``; :func:`rerank.load` reads it as a :class:`Reranker`."""
        self._best().save(path)


def fit_table_by_folds(search: RerankerCV, table: Table) -> RerankerCV:
    """Choose on a table read from a file, whose columns have names."""
    given = (table.X, table.y, table.qid, table.sample_weight, None, table.ideal_gains)
    return search._fit_named(*given, table.feature_names)
