"""A choice by held-out rows: from the first stage itself, over simple rivals and corrections of it, to free weights.

An exact fit can over-fit its training list. How far a fit may move from its first stage is for held-out rows to say:
:class:`RerankerCV` sees all sizes of corrections at once, judges each by the user's own statistic, and keeps the first
stage unless one leads by clearly more than its error.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rerank.errors import InfeasibleError, InputError
from rerank.errors.stops import enough_memory
from rerank.errors.telling import say
from rerank.errors.threads import one_thread
from rerank.io.arrays import held
from rerank.io.options import without
from rerank.problem.lists import Floats, Indices
from rerank.ranks.row_gains import IdealGains
from rerank.reranker.clock import Clock
from rerank.reranker.columns import lists_of
from rerank.reranker.cross_fit import asked_folds
from rerank.reranker.data import Arguments, Data, Weights, data_of
from rerank.reranker.describe import stage_in_words
from rerank.reranker.estimator import Reranker, restored
from rerank.reranker.evidence import WIDTH, Evidence, most_of, option_names, short
from rerank.reranker.first_stage import is_auto, memorises, too_many
from rerank.reranker.fit import broken_by_first_stage, unsearched
from rerank.reranker.members import reranked
from rerank.reranker.options import Params, copied, may_correct
from rerank.reranker.ranker import Ranker
from rerank.reranker.result import Result
from rerank.reranker.selection.folds import Split, fold_of_each, splits_of
from rerank.reranker.selection.held_out import MOST, Folds, Judge, Ranked, judged_by, refuse_fixed_length, took
from rerank.reranker.selection.options import (
    NOT_TRIED,
    SAFEGUARD,
    STRONG,
    Lead,
    Option,
    beside,
    best_of,
    check_safeguard,
    contends,
    corrections,
    cv_results,
    limited,
    options_of,
)
from rerank.reranker.state import FittedState, first_stage_kept
from rerank.reranker.task import task_of
from rerank.statistics import Precision, parse

GONE = {
    "rule": "one rule holds for every statistic; safeguard says how clear a lead has to be",
    "judge": "leads are measured by the statistic itself; leave it out",
}
"""Parameters of earlier versions, and what to use."""

FOLDS_SHARE = 0.75  # share of the time for the folds; the rest is for the fit on all rows


@dataclass(eq=False, repr=False)
class RerankerCV(Ranker):
    """A :class:`Reranker` whose options are chosen on held-out rows, with the first stage as what has to be led.

    Parameters
    ----------
    reranker : Reranker, optional
        Holds the parameters that the grid does not vary; ``Reranker()`` if omitted. Its ``max_features`` holds for all
        that may be chosen, the first stage included: "logistic" is then one of the columns that matter most. Its
        checkpoint is for the last fit, on all rows. Its ``list_length`` says how long lists to come are; without it the
        length of the training list is taken, and the report says so.
    grid : mapping of str to sequence, or sequence of such mappings, optional
        Values of the reranker's parameters. By default first stages, and then corrections of the best of them. First
        stages are logistic regression, which has to be led; the same with squares of the columns, refitted on the first
        10, 20 or 40 % of its own list, and with balanced classes; and, unless the reranker names a ``first_stage``,
        boosted trees, a forest, and a blend of logistic regression, squares, trees and forest. With
        ``first_stage="logistic"`` the answer is linear: a sum of columns, and perhaps their squares. Beside any other
        first stage that the reranker names the simple ones are only compared. Corrections are of all columns with radii
        .03, .1, .3, 1 and 3 and a margin of .1, free weights, and of three columns with a radius of .1, each with a
        window of 2 for a statistic of N places. Where trees are options, logistic regression is corrected with radii
        of .3 and more, and not at all where trees or a blend lead clearly, which are then corrected by .03 and by three
        columns. Where the reranker has ``features=rerank.scorers.Squares()``, corrections of the columns alone are
        tried before. Sparse tables, constraints, signs and ``max_features`` have no trees.
        A correction that does not lead on most folds of the first deal is not fitted on the others, and its lead is of
        these folds alone; with a grid, and where the first stage may not be kept, every option is tried on all folds.
    cv : int, splitter, iterable or None
        Number of folds; None is 5. The folds are whole lists and groups if ``fit`` gets ``qid`` or ``groups``, else
        rows, with the relevant ones spread evenly. Or a splitter of scikit-learn, or pairs of training and test rows;
        both have to keep lists and groups whole. A splitter gets ``groups``, or else ``qid``, as its groups, and
        whether a row is relevant as its ``y``. Where its folds hold out every row once, the first stage's out-of-fold
        scores of the last fit are by them. Else a note says so; and with ``groups`` that fit has folds of its own, of
        whole groups.
    n_repeats : int or None
        Number of times that the folds are drawn; None is 2 for a number of folds, and 1 for a splitter. Only options
        that lead on the first deal, by half of what they have to and by no less than the best one so far less two
        standard errors, are tried on the others.
    safeguard : float, default 2.0
        Standard errors that a lead has to exceed. Few rows decide the hits of the first N, so a first stage that leads,
        but not so clearly, is taken too if it leads by AUC by so many errors (of one list, with two grades). ``inf``
        keeps the first stage, and ``-inf`` takes the option with the largest statistic.
    time_limit : float or None
        Seconds for everything. A quarter is for the last fit, on all rows. An option may take two thirds of the time of
        the folds while others wait, and all first stages together before corrections have theirs. An option counts only
        if its fits end by themselves on all folds, so that its value does not depend on the speed of the machine; the
        others have none. Each fit also keeps to the reranker's limit.
        Programs, and searches with a ``node_limit``, have equal shares of the time, and a note says how many it ended.
        A fit of a first stage of others runs to its end; the next one is begun only if it would end in time.
    n_jobs : int or None
        Folds at a time, by joblib, so that any of its backends serves (Ray, Dask).
    random_state : int, RandomState, Generator or None
        Seed of the folds; None is 0, so that two fits give the same result.
    verbose : int, default 0
        1 writes a line to standard error for each option: its lead over the first stage on held-out rows.

    Attributes
    ----------
    best_estimator_ : Reranker
        Fitted on all rows with the best options; it ranks as the first stage does if that was kept.
    best_params_ : dict
    best_score_ : float
        Held-out statistic of what was kept, in the unit of :meth:`score` with the weights of ``fit``, as of a list to
        come.
    first_stage_kept_ : bool
    chosen_ : int or None
        Number of the option; None if the first stage was kept.
    cv_results_ : dict of lists
        For each option ``params`` (all of one shape: what some option varies), ``first_stage`` (the statistic of the
        held-out rows of all folds in one list, or the mean over held-out lists, by the first stage), ``lead``,
        ``value`` (the first stage's with this lead), ``error`` (standard error of the lead) and ``rival`` (compared
        only). NaN for an option that was not tried, and without a first stage. As in scikit-learn's ``GridSearchCV``
        also ``param_NAME`` of every parameter, ``mean_test_score`` (``value``), ``rank_test_score``, and
        ``split0_test_score`` ... with ``std_test_score``: a split is a deal of all folds, or a fold of a splitter.
    result_, coef_, features_, threshold_, first_stage_, classes_
        Of ``best_estimator_``.

    Notes
    -----
    The lead is measured by the statistic itself, with all held-out rows in one ranking of full length and the places
    that count at their share of it. Its standard error is that of paired differences of rows that earn, or of lists
    (:meth:`rerank.ranks.evaluator.Evaluator.lead`). Held-out rows of a single list are scored with the training
    threshold, so that the head keeps its share of the rows. Scores that an option corrects come from first stages that
    have not seen the rows, in the folds too. Trees and blends are fitted once for each fold: what a fold learns of
    their scores it learns from those that the other folds hold out, whose models have seen the fold's own rows, and
    such options lead by less for it, if at all. After an interrupt the choice uses the options that were tried.
    """

    # Groups that scikit-learn's tools hand to their splitter are kept whole in the fit as well, unless asked otherwise.
    __metadata_request__fit = {"groups": True, "people": True}

    reranker: Reranker | None = None
    _: KW_ONLY
    grid: Any = None
    cv: Any = 5
    n_repeats: int | None = None
    safeguard: float = SAFEGUARD
    time_limit: float | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | str | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: Weights = None,
        ideal_gains: IdealGains = None,
        groups: ArrayLike | str | None = None,
        people: ArrayLike | str | None = None,
        **others: Any,
    ) -> RerankerCV:
        """Choose by held-out rows, then fit on all.

        Parameters
        ----------
        X, y, qid, sample_weight, query_weight, ideal_gains, groups, people, **others
            As in :meth:`Reranker.fit`. Weights count in the fits and on held-out rows. Groups are whole in every fold,
            also in those by which the first stage scores training rows. On the part of a single list that a fold
            learns from, quotas ask for their share of places and rows, rounded to what is easier; the last fit keeps
            them as they are, and a first stage that does not is not kept.

        Raises
        ------
        InputError
            For parameters or data that cannot be used, too few relevant rows or lists for the folds, or a fold on whose
            rows no model can be fitted or evaluated.
        """
        self._refuse(others)
        return self._fit_on(Arguments(X, y, qid, sample_weight, query_weight, ideal_gains, groups, people))._warned()

    def _fit_on(self, arguments: Arguments) -> RerankerCV:
        clock, arguments = Clock(self.time_limit), replace(arguments, X=held(arguments.X))
        safeguard, posed = check_safeguard(self.safeguard), self._posed(arguments)
        with enough_memory(), one_thread(math.prod(posed.data.X.shape)):
            part = Clock(clock.share(FOLDS_SHARE))
            judge = Judge(posed.data, posed.splits, parse(posed.base.stat), posed.base.list_length)
            folds = Folds(posed.base, posed.splits, posed.data, part, self.n_jobs)
            trial = Trial(folds, judge, self.verbose, safeguard, self.grid is None and posed.may_keep)
            self._try(trial, posed, safeguard)
        trial.leads = beside(trial.leads, trial.alone)
        self._check(trial)
        spent, chosen = clock.spent, best_of(trial.options, trial.leads, safeguard, trial.by_auc)
        with one_thread(math.prod(posed.data.X.shape)):
            chosen, params, best = _last_fit(posed, trial, chosen, clock)
        if chosen is None:
            alone = first_stage_kept(best.state_)
            best = restored(alone.with_classes(posed.data.rows, posed.data.y, alone.scores))
        # Nothing is set before the last fit has succeeded, so that all attributes belong to one fit.
        self._publish(best, trial, posed, chosen, params)
        # What held-out rows said goes with the result, and so into the model file.
        result = replace(best.result_, evidence=self._evidence(trial, safeguard, best))
        if unsearched(result):
            result = result.noting(took(spent, self.time_limit))
        result = result.noting(*trial.notes(), *posed.notes(result), *_cost_of_linear(posed, trial, chosen, best))
        best._adopt(replace(best.state_, result=result))
        self.result_ = best.result_
        return self

    def _posed(self, arguments: Arguments) -> _PosedChoice:
        """The checked data, options and folds of a choice."""
        base = Reranker() if self.reranker is None else self.reranker
        if not isinstance(base, Reranker):
            raise InputError(f"reranker is {base!r}; it must be None or a Reranker.")
        data = data_of(arguments, base, clone(base))
        asked, strong = copied(base), is_auto(base.first_stage)
        base = limited(replace(base, first_stage="logistic") if strong else base, data)
        options = options_of(self.grid, base, data, strong)
        for option in options:
            given = replace(asked, **option.params)
            made = reranked(given.first_stage, given.features)
            table = data if made is asked.features else data.reranking(made)
            task_of(given, table.X.shape[1])
        refuse_fixed_length(base, data)
        splits = self._splits(data, arguments)
        whole = splits[0].repeat < 0 and arguments.groups is None
        fold = fold_of_each(splits, data.y.size) if whole else None
        data = data if fold is None else replace(data, fold=fold)
        return _PosedChoice(arguments, base, data, options, splits, fold, whole)

    def _try(self, trial: Trial, posed: _PosedChoice, safeguard: float) -> None:
        """Try the options: of the default ones first stages alone, corrections of the best of them, then the others.
        Where trees or a blend lead clearly, what they lead is not corrected. First stages for which :data:`MOST` of the
        time is not enough wait until corrections had theirs.
        """
        options, base = posed.options, posed.base
        first = [option for option in options if self.grid is None and option.first_stage_alone]
        waiting = trial.take(first, MOST)
        best = trial.best_simple(safeguard) if first else None
        if best is not None:
            trial.take(corrections(base, posed.data, best))
        if best is None or best not in STRONG:
            trial.take(options[len(first) :])
        trial.take_up(waiting)

    def _check(self, trial: Trial) -> None:
        """Whether the options that were tried are enough to choose, before the last fit."""

    def _splits(self, data: Data, arguments: Arguments) -> list[Split]:
        """The folds: whole lists and groups, a splitter gets what the user calls them."""
        grouped = arguments.groups is not None
        ids = lists_of(arguments.X, arguments.groups, "groups") if grouped else lists_of(arguments.X, arguments.qid)
        joined = data.qid is not None and grouped
        units = data.units if ids is None or joined else data.rows.there.of(np.asarray(ids))
        dealing = (self.cv, self.n_repeats, self.random_state, data.unit, data.rows.there)
        return splits_of(data.X, judged_by(data), units, *dealing)

    def _publish(self, best: Reranker, trial: Trial, posed: _PosedChoice, chosen: int | None, params: Params) -> None:
        self.best_estimator_ = best
        self.first_stage_kept_, self.chosen_ = chosen is None, chosen
        self.best_params_: Params = params
        self.best_score_: float = trial.alone if chosen is None else trial.leads[chosen].value
        tried, rivals = [option.params for option in trial.options], [option.rival for option in trial.options]
        rounds = [[fold.value for fold in trial.rounds.get(k, [])] for k in range(len(tried))]
        base = posed.base.get_params(deep=False)
        self.cv_results_: dict[str, list[Any]] = cv_results(tried, trial.leads, rivals, rounds, base)
        self.__dict__.pop("feature_names_in_", None)
        self.result_, self.coef_, self.classes_ = best.result_, best.coef_, best.classes_
        self.prior_weight_, self.threshold_, self.first_stage_ = best.prior_weight_, best.threshold_, best.first_stage_
        self.blend_weights_, self.features_ = best.blend_weights_, best.features_
        self.n_features_in_ = best.n_features_in_
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_

    def _evidence(self, trial: Trial, safeguard: float, best: Reranker) -> Evidence:
        """The numbers of the choice, to be reported, drawn and kept."""
        judge, statistic = trial.judge, trial.judge.statistic
        counted = judge.data.qid is None and statistic.depth is not None
        first, *others = judge.deals()
        how: Params = {"folds": len(first), "rounds": 1 + len(others), "safeguard": safeguard}
        how["list_length"] = judge.list_length or judge.data.y.size if counted else None
        how["fit_keeps"] = self.best_params_.get("radius") != 0 and best.result_.keeps_first_stage
        how["fit_late"] = how["fit_keeps"] and unsearched(best.result_)
        how["refused"], how["ended"] = tuple(trial.refused), tuple(trial.ended)
        names = option_names([option.params for option in trial.options])
        if judge.by_auc is not None:
            areas = [trial.by_auc.get(k) for k in range(len(names))]
            how["auc_leads"] = tuple(None if lead is None else lead.lead for lead in areas)
            how["auc_errors"] = tuple(None if lead is None else lead.error for lead in areas)
        return Evidence.of(self.cv_results_, names, statistic=statistic.name, chosen=self.chosen_, **how)

    def report(self) -> str:
        """Statistic, lead and interval of every option on held-out rows, what was chosen and why."""
        return self._kept_evidence().report()

    def _kept_evidence(self) -> Evidence:
        found = self._best().result_.evidence
        assert found is not None
        return found

    def plot(self, X: Any = None, y: Any = None, ax: Any = None, qid: Any = None) -> Any:
        """Lead and interval of every option (:func:`rerank.plots.leads`); with rows, as :meth:`Reranker.plot`."""
        return super().plot(X, y, ax, qid) if X is not None else self._kept_evidence().plot(ax)

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


RerankerCV.__init__ = without(GONE)(RerankerCV.__init__)  # type: ignore[method-assign]


@dataclass(frozen=True, eq=False)
class _PosedChoice:
    """What is chosen among, of which rows."""

    arguments: Arguments
    base: Reranker
    data: Data
    options: list[Option]
    splits: list[Split]
    fold: Indices | None  # of a splitter whose folds divide the rows
    by_splitter: bool  # whether a splitter says which rows are held out together, and no groups do

    @property
    def may_keep(self) -> bool:
        """Whether the first stage can be the answer, and nothing but a lead speaks against it."""
        base = self.base
        led = base.first_stage is not None and not (base.constraints or base.quota or base.normalise)
        return led and base.max_features is None and base.formulation != "resolved_rank"

    def notes(self, result: Result) -> list[str]:
        """What is to be said of folds that do not serve the last fit."""
        if self.fold is not None or not self.by_splitter or not result.folds or result.grouped:
            return []
        return [
            "The folds of cv do not hold out every row once, so the first stage's scores of the last fit are by "
            f"{result.folds} folds of its own; give groups, if rows belong together."
        ]


def _cost_of_linear(posed: _PosedChoice, trial: Trial, chosen: int | None, best: Reranker) -> list[str]:
    """What the lead over logistic regression is where what is taken is no sum of columns: a linear score costs that."""
    stage, led = best.state_.first_stage, posed.base.first_stage
    if chosen is None or stage is None or not (isinstance(led, str) and led == "logistic"):
        return []
    lead, statistic = trial.leads[chosen], trial.judge.statistic
    if lead.interval is None or not memorises(trial.options[chosen].params.get("first_stage")):
        return []
    hits = isinstance(statistic, Precision) and trial.judge.data.qid is None
    unit = f"hits of {statistic.depth}" if hits else f"of {statistic.name}"
    return [
        f"Taken: {stage_in_words(stage.name)}; {lead.lead:+.3g} +- {WIDTH * lead.error:.2g} {unit} over logistic "
        "regression on held-out rows. So much would a linear score cost: first_stage='logistic', or --linear."
    ]


def _last_fit(
    posed: _PosedChoice, trial: Trial, chosen: int | None, clock: Clock
) -> tuple[int | None, Params, Reranker]:
    """The fit of an option on all rows. Where the first stage breaks the constraints, or ranks by more columns than
    max_features, the best option is taken that does neither.
    """
    other = best_of(trial.options, trial.leads, -math.inf)
    try:
        params, best = _fitted(posed, trial, chosen, clock)
        state = best.state_
        many = too_many(state.first_stage, posed.base.max_features, state.columns)
        broken = broken_by_first_stage(state.problem, state.task, state.first_stage, state.columns)
        breaks = chosen is None and (many is not None or broken is not None)
    except InfeasibleError:
        if chosen is not None or other is None:
            raise
        breaks = True
    if breaks and other is not None:
        chosen = other
        params, best = _fitted(posed, trial, chosen, clock)
    return chosen, params, best


def _fitted(posed: _PosedChoice, trial: Trial, chosen: int | None, clock: Clock) -> tuple[Params, Reranker]:
    """An option, or None for the first stage, on all rows. Trees and blends were tried on folds that serve here too."""
    params, fold, known = trial.params_of(chosen, posed.base), posed.fold, dict[Any, Floats]()
    best = clone(posed.base).set_params(**params)
    if memorises(best.first_stage) and (deal := trial.first_deal()) is not None:
        fold, known = deal, trial.held_out(best.first_stage)
    if fold is not None and asked_folds(task_of(best, posed.data.X.shape[1])):
        best.set_params(cross_fit=int(fold.max()) + 1)
    best.set_params(time_limit=clock.least(best.time_limit, 1))
    return params, best._fit_on(posed.arguments, fold, known)


class Trial:
    """Options tried on folds one after the other, each judged when its folds are complete."""

    def __init__(
        self, folds: Folds, judge: Judge, verbose: int, safeguard: float = SAFEGUARD, early: bool = False
    ) -> None:
        self.options: list[Option] = []
        self.leads: list[Lead] = []
        self.rounds: dict[int, list[Lead]] = {}  # by option, of each deal of the folds
        self.by_auc: dict[int, Lead] = {}  # of first stages alone, where the statistic counts places of one list
        self.refused: list[int] = []
        self.judge = judge
        self._folds, self._verbose, self._began = folds, verbose, time.perf_counter()
        self._over, self._deals, self._once = False, 0, 0
        self._safeguard, self._early = safeguard, early and 0 <= safeguard < math.inf
        self.ended: list[int] = []
        """Corrections that did not lead on the first folds, and were not fitted on the others."""
        self.alone = math.nan
        """The statistic by the first stage, on as many deals as any option was tried on."""

    def take(self, options: Sequence[Option], share: float = 1.0) -> list[int]:
        """Try some more options, and return the numbers of those that wait because this share of the time is over."""
        new = range(len(self.options), len(self.options) + len(options))
        self.options += options
        self.leads += [NOT_TRIED] * len(options)
        return self.take_up(new, share)

    def take_up(self, numbers: Sequence[int], share: float = 1.0) -> list[int]:
        """Try these; after an interrupt, or when the time is over, they are left untried."""
        for place, number in enumerate(numbers):
            if self._over:
                return []
            if self._folds.used > share:
                return list(numbers[place:])
            left, done = (len(numbers) - place) * len(self.judge.splits), list[tuple[Sequence[int], list[Ranked]]]()
            try:
                for folds in self.judge.deals():
                    ranked = self._ranked(number, folds, left, first=not done)
                    if number in self.ended:
                        break
                    if len(ranked) < len(folds):
                        self._once += len(done) == 1
                        break
                    done.append((folds, ranked))
                    self.rounds[number] = self.judge.rounds(done)
                    lead = self.leads[number] = self.judge.lead(self.rounds[number])
                    if self.options[number].first_stage_alone and (areas := self.judge.by_auc) is not None:
                        self.by_auc[number] = areas.lead(areas.rounds(done))
                    if len(done) > self._deals:
                        self._deals, self.alone = len(done), lead.alone
                    if len(done) == 1 and not contends(lead, self.leads, self._safeguard):
                        break
                self._over = self._folds.over
            except InfeasibleError:  # it cannot keep the constraints
                self.leads[number] = NOT_TRIED
                self.rounds.pop(number, None)
                self.refused.append(number)
                continue
            except KeyboardInterrupt:
                self._over = True
                if all(math.isnan(lead.value) for lead in self.leads):
                    raise
            if self._verbose and number in self.rounds:
                self._say(number)
        return []

    def _ranked(self, number: int, folds: Sequence[int], left: int, first: bool) -> list[Ranked]:
        """What an option makes of the rows of a deal. A default correction that does not lead on most folds of the
        ``first`` one is not fitted on the others: on these it would have to lead clearly. Its lead is of those folds.
        """
        option, most = self.options[number], most_of(len(folds))
        if not (self._early and first) or option.first_stage_alone or most == len(folds):
            return self._folds.take(option.params, folds, left)
        found = self._folds.take(option.params, folds, left, slice(most))
        if len(found) < most:
            return found
        rounds = self.judge.rounds([(folds[:most], found)])
        if not (lead := self.judge.lead(rounds)).lead > 0:
            self.ended.append(number)
            self.rounds[number], self.leads[number] = rounds, lead
            return found
        return found + self._folds.take(option.params, folds, left - most, slice(most, None))

    def notes(self) -> list[str]:
        """What lack of time did to values."""
        once = f"No time was left for further deals of the folds (options that lead on the first one: {self._once})."
        cut = f"Fits on folds that the time ended before they were through: {self._folds.cut}; with more it may change."
        return [once] * bool(self._once) + [cut] * bool(self._folds.cut)

    def first_deal(self) -> Indices | None:
        """The fold of each row in the first deal; None where rows are held out otherwise than once."""
        return fold_of_each([self.judge.splits[k] for k in self.judge.deals()[0]], self.judge.data.y.size)

    def held_out(self, stage: Any) -> dict[Any, Floats]:
        """What the first deal holds out of a first stage, by member."""
        return self._folds.held_out(stage, self.judge.deals()[0])

    def best_simple(self, safeguard: float) -> Any:
        """The simple first stage that is best and passes, if any is."""
        best = best_of(self.options, self.leads, max(safeguard, 0.0), self.by_auc)
        return None if best is None else self.options[best].params["first_stage"]

    def params_of(self, chosen: int | None, base: Reranker) -> Params:
        """Parameters of the last fit: those of the option, or no correction where the first stage is kept."""
        if chosen is not None:
            return self.options[chosen].params
        own = base.first_stage is None and base.radius is None
        return {"radius": 0.0} if may_correct(base) and not own else self.options[0].params

    def _say(self, number: int) -> None:
        lead = self.leads[number]
        name = option_names([option.params for option in self.options])[number]
        # No value beside a lead: deals and ways to join folds differ from line to line, and the report has one base.
        what = f"{self.judge.statistic.name} {short(lead.value)}"
        if not math.isnan(lead.lead):
            what = f"{self.judge.statistic.name} {lead.lead:+.4g} over the first stage"
        spent = time.perf_counter() - self._began
        say(f"{name}: {what} on held-out rows, {spent:.1f} s in all")
