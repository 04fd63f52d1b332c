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
from rerank.io.arrays import held
from rerank.ranks.row_gains import IdealGains
from rerank.reranker.clock import Clock
from rerank.reranker.columns import lists_of
from rerank.reranker.cross_fit import asked_folds
from rerank.reranker.data import Weights, data_of
from rerank.reranker.estimator import Reranker, restored
from rerank.reranker.explain import ExplainMixin
from rerank.reranker.selection.folds import fold_of_each, splits_of
from rerank.reranker.selection.grid import Choice, candidates_of, check_rule, choose, first_stage_kept, radii
from rerank.reranker.selection.held_out import held_out, judged_by, refuse_fixed_length
from rerank.reranker.selection.judge import Judged, judge_of, judged
from rerank.reranker.selection.told import UNTRIED, ToldMixin
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
        Number of folds; None is 5. The folds are whole lists and groups if ``fit`` gets ``qid`` or ``groups``, else
        rows, with the relevant ones spread evenly. Or a splitter of scikit-learn, or pairs of training and test rows;
        both have to keep lists and groups whole. A splitter gets ``groups``, or else ``qid``, as its groups, and
        whether a row is relevant as its ``y``. Its folds also serve for the first stage's out-of-fold scores of the
        last fit, where they hold out every row once.
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
        Seconds for everything, shared among the fits; each fit also keeps to the reranker's own limit. A fit of a first
        stage of others runs to its end; the next one is begun only if it would end in time. If no fold is tried, the
        first stage is kept.
    n_jobs : int or None
        Folds at a time, by joblib, so that any of its backends serves (Ray, Dask).
    random_state : int, RandomState, Generator or None
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
        ``params``, ``scores`` (options, folds) and ``first_stage`` (folds,): the statistic of the rows held out in each
        fold; ``mean_score`` (options,); ``leads`` (options, repeats) over the first stage by the judge, with the
        held-out rows of all folds in one list; ``mean_lead`` and ``lead_error`` (options,), NaN without a first stage.
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

    # Groups that scikit-learn's tools hand to their splitter are kept whole in the fit as well, unless asked otherwise.
    __metadata_request__fit = {"groups": True}

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
        query_weight: Weights = None, ideal_gains: IdealGains = None, groups: ArrayLike | str | None = None,
    ) -> RerankerCV:  # fmt: skip
        """Choose by held-out rows, then fit on all.

        Parameters
        ----------
        X, y, qid, sample_weight, query_weight, ideal_gains, groups
            As in :meth:`Reranker.fit`. Weights count in the fits and on held-out rows. Groups are whole in every fold,
            also in those by which the first stage scores training rows.

        Raises
        ------
        InputError
            For parameters or data that cannot be used, too few relevant rows or lists for the folds, or a fold on whose
            rows no model can be fitted or evaluated.
        """
        return self._fit_named(X, y, qid, sample_weight, query_weight, ideal_gains, groups=groups)

    def _fit_named(
        self, X: Any, y: Any, qid: Any, sample_weight: Any, query_weight: Weights, ideal_gains: IdealGains,
        names: tuple[str, ...] = (), groups: Any = None,
    ) -> RerankerCV:  # fmt: skip
        """Columns get these ``names``, unless X has names of its own."""
        clock, X = Clock(self.time_limit), held(X)
        base = Reranker() if self.reranker is None else self.reranker
        if not isinstance(base, Reranker):
            raise InputError(f"reranker is {base!r}; it must be None or a Reranker.")
        given = base.get_params(deep=False)
        rows = (X, y, qid, sample_weight, query_weight, ideal_gains)
        data, weights = data_of(*rows, given, clone(base), names, groups)
        lists = data.qid is not None
        candidates = candidates_of(self.grid, base, data.X.shape[1], lists)
        for options in candidates:
            check(given | options, data.X.shape[1])
        refuse_fixed_length(base, data)
        statistic = parse(base.stat)
        rule, safeguard = check_rule(self.rule, self.safeguard, statistic, lists)
        judge = judge_of(statistic, lists) if self.judge is None else parse(self.judge)
        judge = fitted_statistic(judge, None, base.list_length, None)
        ids = lists_of(X, qid) if groups is None else lists_of(X, groups, "groups")
        units = (
            data.units
            if ids is None or (lists and groups is not None)
            else data.rows.there.of(np.asarray(ids))
        )
        unit = "list" if groups is None else "group" if qid is None else "joined list"
        dealing = (self.cv, self.n_repeats, self.random_state, unit, data.rows.there)
        splits = splits_of(data.X, judged_by(data), units, *dealing)
        fold = fold_of_each(splits, data.y.size) if splits[0].repeat < 0 and groups is None else None
        data = data if fold is None else replace(data, fold=fold)
        with enough_memory():
            ranked = held_out(base, candidates, splits, data, weights, clock, self.n_jobs, self.verbose)
        found = judged(data, splits, ranked, statistic, judge, len(candidates))
        choice = choose(found, radii(candidates, base), rule, safeguard)
        best = clone(base).set_params(**candidates[choice.best])
        if fold is not None and asked_folds(check(best.get_params(deep=False), data.X.shape[1])):
            best.set_params(cross_fit=len(splits))
        best.set_params(time_limit=clock.least(best.time_limit, 1))
        best._fit_named(*rows, names, groups, fold)
        best._adopt(
            self._noted(best.state_, fold is None and splits[0].repeat < 0 and groups is None, bool(ranked))
        )
        if choice.first_stage_kept:
            alone = first_stage_kept(best.state_)
            best = restored(alone.with_classes(data.rows, data.y, alone.scores))
        # Nothing is set before the last fit has succeeded, so that all attributes belong to one fit.
        self.judge_, self.rule_ = judge, rule
        self._publish(best, candidates, choice, found)
        # What held-out rows said goes with the result, and so into the model file.
        if ranked:
            best._adopt(replace(best.state_, result=replace(best.result_, evidence=self._evidence())))
        self.result_ = best.result_
        return self

    def _noted(self, state: FittedState, divided: bool, tried: bool) -> FittedState:
        """The state with notes on folds of its own beside those of a splitter, and on a choice without time."""
        notes = []
        if divided and state.result.folds and not state.result.grouped:
            notes.append(
                "The folds of cv do not hold out every row once, so the first stage's scores of the last fit are by "
                f"{state.result.folds} folds of its own; give groups, if rows belong together."
            )
        if not tried:
            notes.append(UNTRIED)
        return replace(state, result=state.result.noting(*notes))

    def _publish(self, best: Reranker, candidates: list[dict[str, Any]], choice: Choice, found: Judged) -> None:
        self.best_estimator_ = best
        self.best_params_: dict[str, Any] = candidates[choice.best]
        self.best_score_: float = choice.score
        self.first_stage_kept_: bool = choice.first_stage_kept
        self.chosen_: int | None = None if choice.first_stage_kept else choice.best
        self.cv_results_: dict[str, NDArray[Any]] = {
            "params": np.array(candidates, dtype=object),
            "scores": found.scores,
            "mean_score": found.scores.mean(axis=1) if found.alone.size else found.means,
            "first_stage": found.alone,
            "leads": found.leads,
            "mean_lead": found.leads.mean(axis=1),
            "lead_error": found.errors,
        }
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
    return search._fit_named(*given, table.feature_names, table.groups)
