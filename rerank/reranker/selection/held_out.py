"""Held-out rows ranked by options that learned from the other rows, and what these rankings are worth."""

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import joblib
import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.errors.compiling import compiling_time, uncounted, waited, working_time
from rerank.errors.lost import answers
from rerank.io.options import whole
from rerank.problem.lists import Floats, Indices
from rerank.problem.quotas import scaled_quotas
from rerank.ranks.evaluator import Evaluator
from rerank.ranks.row_gains import gain_of
from rerank.reranker.blend import Scaled, Weighing
from rerank.reranker.clock import Clock
from rerank.reranker.columns import Columns, TableRows
from rerank.reranker.cross_fit import Staged, asked_folds, held_out_scores, on_one_scale, staged, unscored
from rerank.reranker.data import Arguments, Data, checked
from rerank.reranker.first_stage import fit_first_stage, is_auto, is_blend, is_fitted, key_of, memorises
from rerank.reranker.fit import fit
from rerank.reranker.members import by_members, members_of, reranked
from rerank.reranker.options import Params, RerankerOptions, copied
from rerank.reranker.selection.folds import Split, fold_names, fold_of_each, splits_of
from rerank.reranker.selection.options import NOT_TRIED, Lead
from rerank.reranker.state import FittedState
from rerank.reranker.task import Task, jobs_of, task_of
from rerank.search.warm import compile_kernels, is_compiled
from rerank.statistics import InLists, RankStatistic, parse

Job = tuple[Callable[..., Any], tuple[Any, ...]]
Call = Callable[[list[Job]], list[Any]]
"""Calls functions with their arguments, in this process or in others, and returns the results in order.

They are fewer than the functions if the time is over.
"""


@dataclass(frozen=True, eq=False)
class Fold:
    """The rows that a fold learns from, checked, those that it holds out, and its name, such as "fold 2 of 5"."""

    learn: Data
    held: Data
    name: str

    def reranking(self, features: Any, columns: Columns) -> Self:
        """The same rows with other columns to rerank, ``columns`` on all rows. What a transformer learns, it learns of
        the training rows; texts and gaps have the same columns in all folds, which constraints and signs name.
        """
        with naming(f"the training rows of {self.name}"):
            encoded = columns.encoded is not None
            learn = self.learn.seeing(columns) if encoded else self.learn.reranking(features)
        return replace(
            self, learn=learn, held=replace(self.held, rows=replace(self.held.rows, columns=learn.rows.columns))
        )


def part_of(data: Data, rows: Indices, gain: Any, name: str) -> Data:
    """The training rows of a fold, checked; an error if nothing can be learned from them."""
    own, ideal = data.some(rows), data.ideal_gains
    if ideal and own.qid is not None:  # grades of lists that are all held out belong to no row here
        here = set(own.qid.tolist())
        ideal = {number: grades for number, grades in ideal.items() if number in here} or None
    weights = own.sample_weight, own.list_weight
    with naming(f"the training rows of {name}"):
        return checked(own.rows, Arguments(None, own.y, own.qid, *weights, ideal, own.groups, own.kinds), gain)


class Prior(NamedTuple):
    """A first stage of some folds: its scores of the rows to learn from, and of the rows that are held out."""

    staged: Staged
    held: Floats


def priors(
    data: Data,
    task: Task,
    splits: Sequence[Split],
    folds: Sequence[Fold],
    call: Call,
    fitted: Sequence[Prior] | None = None,
) -> list[Prior | None]:
    """The prior of each fold, None without a first stage; fewer if the time is over. With ``task.cross_fit`` fold ``a``
    learns from scores by models without ``a`` and the row's own fold ``b``; one serves both, so ``k`` folds take ``k (k
    + 1) / 2`` fits, fewer where those without one fold are ``fitted``.
    """
    if task.first_stage is None and task.radius is None:
        return [None] * len(splits)
    if (ready := _ready(data, task)) is not None:
        return [Prior(replace(ready, scores=ready.scores[split.train]), ready.scores[split.test]) for split in splits]
    # Folds of a splitter that do not divide the rows have folds of their own for out-of-fold scores.
    undivided = splits[0].repeat < 0 and fold_of_each(splits, data.y.size) is None
    one_stage = task if undivided else replace(task, cross_fit=0)
    jobs = [(_prior, (one_stage, fold)) for fold in folds]
    if undivided or not task.cross_fit:
        return call(jobs)
    found: list[Prior | None] = []
    for repeat in sorted({split.repeat for split in splits}):
        numbers = [number for number, split in enumerate(splits) if split.repeat == repeat]
        singles = call([jobs[k] for k in numbers]) if fitted is None else [fitted[k] for k in numbers]
        if len(singles) < len(numbers):
            break
        if len(numbers) > 2:  # of two folds nothing is left without both
            singles = _by_pairs(data, task, [splits[k].test for k in numbers], singles, call)
        found += singles
        if not singles:
            break
    return found


def as_it_is(task: Task) -> bool:
    """Whether an option is a first stage as it is, of which nothing is asked but its scores of the rows held out."""
    return task.first_stage is not None and task.radius == 0 and not (task.constraints or task.quota)


def bare(task: Task) -> Task:
    """The first stage of an option as it is."""
    return replace(task, cross_fit=0, radius=0.0, constraints=(), quota=(), max_features=None)


def _ready(data: Data, task: Task) -> Staged | None:
    """Scores that do not depend on the folds: of a first stage that was ready when it came, or of given weights."""
    if (stage := task.first_stage) is None:
        return staged(data, task)
    if is_blend(stage):
        return None
    unfitted = hasattr(stage, "fit") and not is_fitted(stage)
    if unfitted or (isinstance(stage, str) and stage not in data.rows.columns.inputs):
        return None
    found, scores = fit_first_stage(stage, data.rows, data.y)
    return Staged(found, found.scores(data.rows) if scores is None else scores) if found.frozen else None


def _prior(task: Task, fold: Fold) -> Prior:
    """A first stage of a fold, its scores of the rows to learn from and of those held out."""
    with naming(f"the training rows of {fold.name}"):
        bare = as_it_is(task) and not is_blend(task.first_stage)
        found = unscored(fold.learn, task) if bare else staged(fold.learn, task)
    assert found is not None
    return Prior(found, found.stage.scores(fold.held.rows))


def _by_pairs(data: Data, task: Task, tests: list[Indices], singles: Sequence[Prior], call: Call) -> list[Prior]:
    """The priors of one repeat, from models without two of its folds; none of them if the time is over."""
    fold = np.empty(data.y.size, dtype=np.intp)
    for k, test in enumerate(tests):
        fold[test] = k
    pairs = [(a, b) for a in range(len(tests)) for b in range(a)]
    both = [np.flatnonzero((fold == a) | (fold == b)) for a, b in pairs]
    others = [np.flatnonzero((fold != a) & (fold != b)) for a, b in pairs]
    jobs = [(task.first_stage, data, train, test, task.random_state) for train, test in zip(others, both)]
    scored = call([(held_out_scores, job) for job in jobs])
    if len(scored) < len(pairs):
        return []
    without = np.full((len(tests), data.y.size), np.nan)
    for pair, rows, of_both in zip(pairs, both, scored):
        for a, b in (pair, pair[::-1]):
            of_b = fold[rows] == b
            without[a, rows[of_b]] = of_both[of_b]
    found = []
    for a, single in enumerate(singles):
        train, stage, held = np.flatnonzero(fold != a), single.staged.stage, single.held
        scores: Floats = without[a, train]
        notes: tuple[str, ...] = ()
        if not stage.log_odds:
            scores, stage, notes = on_one_scale(scores, fold[train], stage)
            held = stage.scores(data.rows.some(tests[a]))
        found.append(Prior(Staged(stage, scores, len(tests) - 1, notes), held))
    return found


def held_of(splits: Sequence[Split], parts: Sequence[Prior]) -> Floats:
    """The score of each row by the fold that holds it out."""
    scores = np.empty(sum(split.test.size for split in splits))
    for split, prior in zip(splits, parts):
        scores[split.test] = prior.held
    return scores


def joined(splits: Sequence[Split], parts: Sequence[Prior]) -> list[Prior]:
    """Priors of folds that learn from the scores that the other folds hold out, whose models have seen the rows held
    out here: what is learned leans against these rows if at all, and no further model has to be fitted.
    """
    scores, found = held_of(splits, parts), list[Prior]()
    for split, prior in zip(splits, parts):
        learned = replace(prior.staged, scores=scores[split.train], folds=len(splits) - 1)
        found.append(prior if prior.staged.stage.frozen else Prior(learned, prior.held))
    return found


def blends(data: Data, splits: Sequence[Split], folds: Sequence[Fold], parts: Sequence[Sequence[Prior]]) -> list[Prior]:
    """The blend of each fold from its members' priors (members, folds), whose training scores are those that other
    folds hold out: by them the weights are learnt.
    """
    weighing, found = Weighing.of(data), list[Prior]()
    for split, fold, own in zip(splits, folds, zip(*parts)):
        scaled = Scaled.of(np.column_stack([prior.staged.scores for prior in own]))
        stages, weights = [prior.staged.stage for prior in own], weighing.learned(scaled.scores, split.train)
        stage = scaled.blend(fold.learn.rows.columns, stages, weights)
        held = (np.column_stack([prior.held for prior in own]) - scaled.centre) / scaled.scale
        scores, folds_of = stage.estimator.of(scaled.scores), max(prior.staged.folds for prior in own)
        found.append(Prior(Staged(stage, scores, folds_of, members=scaled.scores), stage.estimator.of(held)))
    return found


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Say in which fold the data cannot be used."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"In {place}: {error}") from error


class Ranked(NamedTuple):
    """Scores of one option and of the first stage ``alone`` (NaN without) for rows held out in one fold. The joint ones
    compare with other folds': in the first stage's unit where it is corrected, else shares of the rows.
    """

    own: Floats
    alone: Floats
    joint: Floats
    joint_alone: Floats


MOST = 2 / 3  # share of all the time for one option, at most, while others wait

Divided = tuple[Data, list[Fold]]  # the columns to rerank of an option, of all rows and in each fold


def _timed(function: Callable[..., Any], given: Sequence[Any]) -> tuple[Any, int, float, float]:
    """What a function returns, the process, and the seconds: in all, and of making kernels ready."""
    began, before = time.perf_counter(), compiling_time()
    result = function(*given)
    return result, os.getpid(), time.perf_counter() - began, compiling_time() - before


class Done(NamedTuple):
    """What a fit on a fold gives, and whether its time ended the search, or was over before that could begin."""

    answer: Any
    cut: bool
    idle: bool


class Workers:
    """Calls functions, ``count`` at a time, here or in other processes, whose time to make kernels does not count."""

    def __init__(self, n_jobs: int | None, searches: bool = True) -> None:
        jobs_of(n_jobs)
        self._n_jobs, self.count = n_jobs, joblib.effective_n_jobs(n_jobs)
        if self.count > 1:
            if searches and not is_compiled():
                compile_kernels()  # else each process compiles them for itself
            with uncounted():  # processes start, and load what every fit needs
                self._answers([(Clock, ())] * self.count)

    def run(self, jobs: Sequence[Job]) -> list[Any]:
        """Results of functions with their arguments, in order."""
        if self.count == 1:
            return [function(*given) for function, given in jobs]
        done = self._answers(jobs)
        times = [(seconds, ready) for _, process, seconds, ready in done if process != os.getpid()]
        if times:
            waited(max(seconds for seconds, _ in times) - max(seconds - ready for seconds, ready in times))
        return [result for result, *_ in done]

    def _answers(self, jobs: Sequence[Job]) -> list[tuple[Any, int, float, float]]:
        return answers(lambda: joblib.Parallel(n_jobs=self._n_jobs)(joblib.delayed(_timed)(*job) for job in jobs))

    def shared(
        self, jobs: Sequence[Job], clock: Clock, fits: int, own: float | None = None, ending: bool = True
    ) -> list[Done]:
        """What jobs return that get their seconds as last argument; fewer where there is not the time for them.

        Jobs that are ``ending`` by themselves have the same answer at any speed of the machine, or none: while others
        of the ``fits`` to come wait they may take :data:`MOST` of all the time together, and where the next ones would
        not end in time none is begun. Others are as good as their time, and share it equally among the fits.
        """
        found: list[Done] = []
        began, rounds = clock.spent, math.ceil(len(jobs) / self.count)
        end = clock.limit if fits <= len(jobs) else clock.spent + MOST * clock.limit
        for turn in range(rounds):
            left = min(clock.remaining, end - clock.spent)
            late = ending and turn > 0 and (rounds - turn) * (clock.spent - began) > turn * left
            if left <= 0 or late:
                break
            share = left if ending else clock.remaining / max(1, math.ceil((fits - len(found)) / self.count))
            limit = None if math.isinf(share) and own is None else min(share, math.inf if own is None else own)
            some = jobs[turn * self.count : (turn + 1) * self.count]
            done = self.run([(function, (*given, limit)) for function, given in some])
            if any(fit.idle or (ending and fit.cut and limit != own) for fit in done):
                break
            found += done
        return found


class Folds:
    """Folds of a table on which options are tried beside those of ``base``, whose first stage is what has to be led."""

    def __init__(
        self, base: RerankerOptions, splits: Sequence[Split], data: Data, clock: Clock, n_jobs: int | None = None
    ) -> None:
        self.splits, self.data = splits, data
        self._given = replace(copied(base), checkpoint=None, pos_label=None)
        if is_auto(base.first_stage):
            self._given.first_stage = "logistic"
        statistic = parse(base.stat)
        if data.qid is None and base.list_length is None and statistic.depth is not None and not statistic.weighs_hits:
            # Lists to come are as long as this one; a fold is shorter, and there the first N are fewer.
            self._given.list_length = data.y.size
        self._clock = clock
        gain = gain_of(base.stat, base.gain, data.sample_weight)
        names = fold_names(splits)
        parts = [part_of(data, split.train, gain, name) for split, name in zip(splits, names)]
        folds = [Fold(part, data.some(split.test), name) for part, split, name in zip(parts, splits, names)]
        self._own: Divided = data, folds
        if data.rows.columns.transformer is not None and data.rows.columns.encoded is None:
            self._own = self._reranking(reranked(base.first_stage, base.features))
        self._divided = {self._reranked(self._given): self._own}
        searches = base.solver == "search" or (base.presolve and base.solver != "none")
        self._workers = Workers(n_jobs, searches)
        self._priors: dict[Any, list[Prior | None]] = {}
        self._longest: dict[Any, float] = {}  # seconds of a fit of each first stage
        self.cut = 0  # fits that count, though the time ended their search

    def take(self, option: Params, folds: Sequence[int], fits: int, part: slice = slice(None)) -> list[Ranked]:
        """What an option makes of the rows held out in folds, or in a part of these; fewer where the time of ``fits``
        to come is over.
        """
        given = replace(self._given, **option)
        kind = self._reranked(given)
        if kind not in self._divided:
            self._divided[kind] = self._reranking(reranked(given.first_stage, given.features))
        divided = self._divided[kind]
        task = _resolved(task_of(given, divided[0].X.shape[1]))
        own = self._prior(task, folds, divided)
        null = self._null(task, folds)
        each = list(zip(folds, own, null))[part]
        jobs: list[Job] = [(_fold, (task, divided[1][k], *pair)) for k, *pair in each]
        done = self._workers.shared(jobs, self._clock, fits, given.time_limit, ends_itself(task))
        self.cut += sum(fit.cut for fit in done)
        return [fit.answer for fit in done]

    def _null(self, task: Task, folds: Sequence[int]) -> list[Prior | None]:
        """The prior of what has to be led. An option of another first stage asks no more of it than its scores."""
        led = replace(task, first_stage=self._given.first_stage)
        same = led.first_stage is None or key_of(led.first_stage) == key_of(task.first_stage)
        return self._prior(led if same else bare(led), folds, self._own)

    @property
    def count(self) -> int:
        """How many folds are fitted at a time."""
        return self._workers.count

    def held_out(self, stage: Any, folds: Sequence[int]) -> dict[Any, Floats]:
        """The scores that a deal holds out, of a first stage that was tried alone, or of each member of a blend."""
        splits, found = [self.splits[k] for k in folds], dict[Any, Floats]()
        for member in members_of(stage) if is_blend(stage) else [stage]:
            if (parts := self._priors.get(self._kind(key_of(member), folds))) is not None:
                found[key_of(member)] = held_of(splits, [part for part in parts if part is not None])
        return found

    def fitted(self, stage: Any) -> list[Any]:
        """The estimators that were fitted on folds for a first stage."""
        found = [prior for kind, those in self._priors.items() if kind[0] == key_of(stage) for prior in those]
        return [prior.staged.stage.estimator for prior in found if prior is not None]

    @property
    def used(self) -> float:
        """The share of the time that is over."""
        return self._clock.spent / self._clock.limit if self._clock.limit > 0 else 1.0

    @property
    def over(self) -> bool:
        """Whether no time is left, or the call interrupted."""
        return self._clock.remaining <= 0

    @staticmethod
    def _reranked(given: RerankerOptions) -> Any:
        """What the columns to rerank are known by."""
        return key_of(given.first_stage) if by_members(given.features) else id(given.features)

    def _reranking(self, features: Any) -> Divided:
        data, folds = self._own
        found = data.reranking(features)
        return found, [fold.reranking(features, found.rows.columns) for fold in folds]

    def _prior(self, task: Task, folds: Sequence[int], divided: Divided) -> list[Prior | None]:
        """First-stage scores of some folds; fewer if the time is over. A prior of weights has those of the columns."""
        stage = task.first_stage
        divided = self._own if stage is not None else divided
        if memorises(stage) and fold_of_each([self.splits[k] for k in folds], self.data.y.size) is not None:
            return self._kept(("joined", key_of(stage), *folds), lambda: self._joined(task, folds), len(folds))
        kind = (key_of(stage), task.cross_fit, task.radius is None, as_it_is(task), id(divided), *folds)
        return self._kept(kind, lambda: self._fitted(task, folds, divided), len(folds))

    def _first_stages(self, task: Task, folds: Sequence[int]) -> list[Any]:
        """What a first stage alone makes of the rows held out."""
        task = bare(task)
        return self._kept(
            self._kind(key_of(task.first_stage), folds), lambda: self._fitted(task, folds, self._own), len(folds)
        )

    def _kind(self, named: Any, folds: Sequence[int]) -> Any:
        return (named, 0, False, True, id(self._own), *folds)

    def _kept(self, kind: Any, make: Callable[[], list[Any]], count: int) -> list[Any]:
        """What is made once, unless it is not whole."""
        if (found := self._priors.get(kind)) is None:
            found = make()
            if len(found) == count:
                self._priors[kind] = found
        return found

    def _fitted(self, task: Task, folds: Sequence[int], divided: Divided) -> list[Prior | None]:
        splits, those, fitted = [self.splits[k] for k in folds], [divided[1][k] for k in folds], None
        cross_fitted = task.cross_fit and task.first_stage is not None
        if len(folds) > 2 and cross_fitted and fold_of_each(splits, self.data.y.size) is not None:
            fitted = self._first_stages(task, folds)
            if len(fitted) < len(folds):
                return []
        named = key_of(task.first_stage)
        return priors(divided[0], task, splits, those, lambda jobs: self._call(jobs, named), fitted)

    def _joined(self, task: Task, folds: Sequence[int]) -> list[Prior]:
        """Trees, or a blend, on a whole deal."""
        splits, those, stage = [self.splits[k] for k in folds], [self._own[1][k] for k in folds], task.first_stage
        parts = []
        for member in members_of(stage) if is_blend(stage) else [stage]:
            own = self._first_stages(replace(task, first_stage=member), folds)
            if len(own) < len(folds):
                return []
            parts.append(joined(splits, own))
        return blends(self.data, splits, those, parts) if is_blend(stage) else parts[0]

    def _call(self, jobs: list[Any], stage: Any) -> list[Any]:
        """Results of fits of a first stage, fewer if the next ones would not end in time."""
        found: list[Any] = []
        while len(found) < len(jobs) and self._clock.remaining > self._longest.get(stage, 0.0):
            began, some = working_time(), jobs[len(found) : len(found) + self._workers.count]
            found += self._workers.run(some)
            self._longest[stage] = max(self._longest.get(stage, 0.0), working_time() - began)
        return found


def _resolved(task: Task) -> Task:
    """The task with a number of folds, as a fit has it. Held-out rows judge weights, no bound or value: a search ends
    with its first points unless told otherwise. A first stage alone learns nothing from its scores.
    """
    folds = 0 if task.radius == 0 else asked_folds(task)
    limit = task.node_limit
    if limit is None and task.presolve and task.formulation != "resolved_rank":
        limit = 0
    return replace(task, cross_fit=folds, node_limit=limit, proof=False, verbose=0, judged=True)


def ends_itself(task: Task) -> bool:
    """Whether a fit ends with the first points of its search, or needs none."""
    return task.radius == 0 or (task.node_limit == 0 and task.presolve)


def _fold(task: Task, fold: Fold, own: Prior | None, null: Prior | None, seconds: float | None) -> Done:
    """One option on one fold; quotas on a single list are those of its part."""
    learn, held = fold.learn, fold.held
    if as_it_is(task) and own is not None:
        scores = np.full(own.held.size, math.nan) if null is None else null.held
        return Done(Ranked(own.held, scores, own.held, scores), False, False)
    if task.quota and learn.qid is None and learn.kinds is not None:
        share = learn.y.size / (learn.y.size + held.y.size)
        task = replace(task, quota=scaled_quotas(task.quota, learn.kinds, share))
    with naming(f"the training rows of {fold.name}"):
        clock = Clock(seconds)
        state = fit(learn, task, clock, None if own is None else own.staged)
    with naming(f"the rows held out in {fold.name}"):
        held = replace(held, rows=TableRows(held.rows.given, state.columns))  # with what the fit made of the columns
        ranked = _ranked(state, held, None if own is None else own.held, None if null is None else null.held)
    return Done(ranked, clock.cut, clock.idle)


def _ranked(state: FittedState, held: Data, prior: Floats | None, null: Floats | None) -> Ranked:
    lists = held.qid
    own = state.row_scores(held.rows, prior) if lists is None else state.list_scores(held.rows, lists, prior)
    alone = np.full(own.size, math.nan) if null is None else null
    if lists is not None or prior is None or null is None:
        return Ranked(own, alone, own, alone)
    if state.anchored and math.isinf(state.threshold):
        moved = held.rows.reranked(state.features) @ state.corrections if state.reranks else np.zeros(own.size)
        return Ranked(own, alone, prior + (moved - moved.mean()), null)
    return Ranked(own, alone, _shares(own), _shares(null))


def _shares(scores: Floats) -> Floats:
    """The share of rows that each row stands above, half of those it is equal to among them."""
    ordered = np.sort(scores)
    ends = np.searchsorted(ordered, scores, "left"), np.searchsorted(ordered, scores, "right")
    return (ends[0] + ends[1]) / (2.0 * scores.size)


def placed(own: Floats, like: Floats) -> Floats:
    """Scores in the order of ``own`` with the values of ``like``, equal ones with the mean of theirs."""
    ordered, values = np.sort(own), np.sort(like)
    first, end = np.searchsorted(ordered, own, "left"), np.searchsorted(ordered, own, "right")
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return np.where(values[first] == values[end - 1], values[first], (sums[end] - sums[first]) / (end - first))


def took(seconds: float, time_limit: float | None) -> str:
    """A note on a last fit without time: what took it."""
    of = "" if time_limit is None else f" of the time_limit of {time_limit:g} s"
    return f"The fits on folds took {seconds:.2g} s{of}."


def judged_by(data: Data) -> NDArray[np.bool_]:
    """Rows above the lowest grade with a positive weight."""
    relevant = (data.y > data.y.min()) & (data.gains > 0)
    return relevant if data.list_weight is None else relevant & (data.list_weight > 0)


def refuse_fixed_length(base: RerankerOptions, data: Data) -> None:
    """Refuse coefficients for one length if the folds are parts of a single list."""
    statistic = parse(base.stat)
    if data.qid is None and statistic.length is not None:
        raise InputError(
            f"stat holds {statistic.length} coefficients for a list of that length, and folds of its rows are shorter; "
            "give a function of (rank, length) or a statistic by name."
        )


@dataclass(frozen=True, eq=False)
class Judge:
    """Measures leads on all held-out rows in one list, or on all held-out lists. Rows of equal score count on average:
    an option that breaks ties by chance leads by nothing.
    """

    data: Data
    splits: Sequence[Split]
    statistic: RankStatistic
    list_length: int | None = None

    @cached_property
    def by_auc(self) -> Self | None:
        """The same rows judged by AUC, which all pairs decide, where the statistic counts places of one list with two
        grades; else None.
        """
        if self.data.qid is not None or self.statistic.counts_pairs or np.unique(self.data.y).size != 2:
            return None
        sides = [judged_by(self.data)[split.test] for split in self.splits]
        both = all(side.any() and not side.all() for side in sides)
        return replace(self, statistic=parse("auc")) if both else None

    @cached_property
    def _evaluators(self) -> dict[tuple[int, ...], Evaluator]:
        """What values of the rows that some folds hold out are computed with."""
        return {}

    def deals(self) -> list[list[int]]:
        """The folds of each repeat; all folds of a splitter are one deal."""
        repeats = sorted({split.repeat for split in self.splits})
        return [[k for k, split in enumerate(self.splits) if split.repeat == repeat] for repeat in repeats]

    def rounds(self, deals: Sequence[tuple[Sequence[int], Sequence[Ranked]]]) -> list[Lead]:
        """What each deal says; folds of a splitter, which may not divide the rows, are ranked each by itself."""
        if not deals or self.splits[deals[0][0][0]].repeat >= 0:
            return [self._round(*deal) for deal in deals]
        names, found = fold_names(self.splits), []
        for k, fold in zip(*deals[0]):
            with naming(f"the rows held out in {names[k]}"):
                found.append(self._round([k], [fold]))
        return found

    def lead(self, rounds: Sequence[Lead]) -> Lead:
        """The mean over deals, with the error of one: repeats hold out the same rows, and take from it little. The
        error of folds of a splitter is that of their mean.
        """
        if not rounds:
            return NOT_TRIED
        found = np.array(rounds)
        value, alone, lead, error = found.mean(axis=0).tolist()
        if self.splits[0].repeat < 0:
            error = float(np.linalg.norm(found[:, 3])) / len(found)
        return Lead(value, alone, lead, error)

    def error(self, ranked: Sequence[Ranked]) -> float | None:
        """The standard error of the value of one deal, by the values of its folds; None where one of them has none."""
        values = [self._round([k], [fold]).value for k, fold in enumerate(ranked)]
        return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if np.isfinite(values).all() else None

    def _round(self, folds: Sequence[int], ranked: Sequence[Ranked]) -> Lead:
        rows = np.concatenate([self.splits[k].test for k in folds])
        own, null, alone = np.concatenate([(fold.joint, fold.joint_alone, fold.alone) for fold in ranked], axis=1)
        statistic, unit = self.statistic, 1.0
        if self.data.qid is None:
            statistic, unit = in_lists_of(statistic, self.list_length or self.data.y.size, rows.size)
        if (evaluator := self._evaluators.get(tuple(folds))) is None:
            evaluator = self._evaluators[tuple(folds)] = self.data.some(rows).evaluator(statistic)
        value = unit * evaluator.mean(own, "average")
        if np.isnan(alone).any():
            return Lead(value, math.nan, math.nan, math.nan)
        lead, error = evaluator.lead(own, null, "average")
        return Lead(value, unit * evaluator.mean(alone, "average"), unit * lead, unit * error)


def in_lists_of(statistic: RankStatistic, length: int, m: int) -> tuple[RankStatistic, float]:
    """What to evaluate on ``m`` rows, and what to multiply it by, in the unit of a list of ``length`` rows."""
    if m == length or statistic.counts_pairs or statistic.weighs_hits or statistic.length is not None:
        return statistic, 1.0
    unit = 1.0 if statistic.normalised or statistic.per_relevant else length / m
    return (statistic if statistic.by_share else InLists(statistic, length)), unit


def dealt(
    base: RerankerOptions,
    data: Data,
    folds: int,
    seed: Any,
    clock: Clock,
    n_jobs: int | None = None,
    one_scale: bool = False,
) -> tuple[Folds, Judge]:
    """Folds of whole lists and groups that are dealt once, for options beside those of ``base``, and their judge. Folds
    of a single list are ranked each by itself, unless scores have ``one_scale``.
    """
    refuse_fixed_length(base, data)
    splits = splits_of(data.X, judged_by(data), data.units, whole("folds", folds, 2), 1, seed, data.unit)
    judged = splits if one_scale or data.qid is not None else [replace(split, repeat=-1) for split in splits]
    return Folds(base, splits, data, clock, n_jobs), Judge(data, judged, parse(base.stat), base.list_length)
