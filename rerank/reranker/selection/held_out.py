"""Held-out rows ranked by options that learned from the other rows, and by the first stage alone."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.errors.compiling import compiling_time, uncounted, waited, working_time
from rerank.ranks.row_gains import gain_of
from rerank.reranker.clock import Clock
from rerank.reranker.cross_fit import asked_folds
from rerank.reranker.data import Data
from rerank.reranker.estimator import Reranker
from rerank.reranker.fit import fit
from rerank.reranker.selection.folds import Indices, Split, fold_names
from rerank.reranker.selection.priors import Part, Prior, naming, part_of, priors
from rerank.reranker.state import FittedState
from rerank.reranker.task import Task, jobs_of, task_of
from rerank.search.cached import is_compiled
from rerank.search.warm import compile_kernels
from rerank.statistics import parse

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranked:
    """What one option and the first stage that has to be led make of the rows held out in one fold.

    Attributes
    ----------
    own, alone : float64 arrays (rows,)
        Scores that order these rows, or each of their lists; ``alone`` is NaN without a first stage.
    joint, joint_alone : float64 arrays (rows,)
        Scores that can be compared with those of other folds: in the unit of the first stage's score where the
        option corrects it, else places as shares of the rows.
    """

    own: Floats
    alone: Floats
    joint: Floats
    joint_alone: Floats


class Folds:
    """The folds of a table, on which options are tried one after the other.

    First-stage scores are computed once for all options that share them.

    Parameters
    ----------
    base : Reranker
        The parameters that the options do not vary; its first stage is what has to be led.
    n_jobs : int or None
        Folds at a time, by joblib.
    """

    def __init__(
        self, base: Reranker, splits: Sequence[Split], data: Data, sample_weight: Floats | None, clock: Clock,
        n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.splits, self.data = splits, data
        self._given = base.get_params(deep=False) | {"checkpoint": None, "pos_label": None}
        if data.qid is None and base.list_length is None and parse(base.stat).depth is not None:
            # Lists to come are as long as this one; a fold is shorter, and there the first N are fewer.
            self._given["list_length"] = data.y.size
        self._weights, self._clock = sample_weight, clock
        gain = gain_of(base.stat, base.gain, sample_weight)
        names = fold_names(splits)
        self._parts = [part_of(data, split, sample_weight, gain, name) for split, name in zip(splits, names)]
        self._held = [rows_of(data, split.test) for split in splits]
        jobs_of(n_jobs)
        self._n_jobs, self._workers = n_jobs, joblib.effective_n_jobs(n_jobs)
        if self._workers > 1:
            searches = base.solver == "search" or (base.presolve and base.solver != "none")
            if searches and not is_compiled():
                compile_kernels()  # else each process compiles them for itself
            with uncounted():  # processes start, and load what every fit needs
                joblib.Parallel(n_jobs=n_jobs)(joblib.delayed(_timed)(Clock, ()) for _ in range(self._workers))
        self._priors: dict[Any, list[Prior | None]] = {}

    def take(self, option: Mapping[str, Any], folds: Sequence[int], fits: int) -> list[Ranked]:
        """What an option makes of the rows held out in some folds; fewer folds where the time is over.

        Parameters
        ----------
        option : mapping
            Parameters of the reranker.
        folds : sequence of int
            Numbers of splits.
        fits : int
            How many fits may still come, these included, which share the time.

        Raises
        ------
        InputError
            Naming the fold on whose rows no model can be fitted.
        """
        given = self._given | dict(option)
        task = _resolved(task_of(given, self.data.X.shape[1]))
        own = self._prior(task, folds)
        null = self._prior(replace(task, first_stage=self._given["first_stage"]), folds)
        jobs = [(task, self._parts[k], self._held[k], prior, led) for k, prior, led in zip(folds, own, null)]
        found: list[Ranked] = []
        while len(found) < len(jobs) and self._clock.remaining > 0:
            some = jobs[len(found) : len(found) + self._workers]
            limit = self._clock.least(given["time_limit"], max(1, math.ceil(fits / self._workers)))
            found += self._run([(_fold, (*job, limit)) for job in some])
            fits -= len(some)
        return found

    def _prior(self, task: Task, folds: Sequence[int]) -> list[Prior | None]:
        """First-stage scores of some folds; fewer if the time is over."""
        stage = task.first_stage
        kind = (stage if isinstance(stage, str) else id(stage), task.cross_fit, task.radius is None, *folds)
        if kind not in self._priors:
            splits, parts = [self.splits[k] for k in folds], [self._parts[k] for k in folds]
            found = priors(self.data, task, self._weights, splits, parts, self._call)
            if len(found) < len(folds):
                return found
            self._priors[kind] = found
        return self._priors[kind]

    def _call(self, jobs: list[Any]) -> list[Any]:
        """Results of functions, fewer if the next ones would not end in time."""
        found: list[Any] = []
        longest = 0.0
        while len(found) < len(jobs) and self._clock.remaining >= longest:
            began, some = working_time(), jobs[len(found) : len(found) + self._workers]
            found += self._run(some)
            longest = max(longest, working_time() - began)
        return found

    def _run(self, jobs: list[Any]) -> list[Any]:
        if self._workers == 1:
            return [function(*given) for function, given in jobs]
        done = joblib.Parallel(n_jobs=self._n_jobs)(joblib.delayed(_timed)(*job) for job in jobs)
        times = [(seconds, ready) for _, process, seconds, ready in done if process != os.getpid()]
        if times:
            waited(max(seconds for seconds, _ in times) - max(seconds - ready for seconds, ready in times))
        return [result for result, *_ in done]


def _timed(function: Callable[..., Any], given: Sequence[Any]) -> tuple[Any, int, float, float]:
    """What a function returns, the process, and the seconds: in all, and of making kernels ready."""
    began, before = time.perf_counter(), compiling_time()
    result = function(*given)
    return result, os.getpid(), time.perf_counter() - began, compiling_time() - before


def _resolved(task: Task) -> Task:
    """The task with a number of folds for the first stage's scores, as a plain fit would use.

    Held-out rows judge weights, and no bound or value. So a search ends with its first points, unless it is told where
    to end, and values are not recomputed.
    A first stage alone learns nothing from its scores of training rows.
    """
    folds = 0 if task.radius == 0 else asked_folds(task)
    limit = task.node_limit
    if limit is None and task.presolve and task.formulation != "resolved_rank":
        limit = 0
    return replace(task, cross_fit=folds, node_limit=limit, proof=False, verbose=0, judged=True)


def _fold(
    task: Task, part: Part, held: Data, own: Prior | None, null: Prior | None, seconds: float | None
) -> Ranked:
    """One option on one fold."""
    with naming(f"the training rows of {part.name}"):
        state = fit(part.data, task, Clock(seconds), part.weights, None if own is None else own.staged)
    with naming(f"the rows held out in {part.name}"):
        return _ranked(state, held, None if own is None else own.held, None if null is None else null.held)


def _ranked(state: FittedState, held: Data, prior: Floats | None, null: Floats | None) -> Ranked:
    lists = held.qid
    own = state.row_scores(held.rows, prior) if lists is None else state.list_scores(held.rows, lists, prior)
    alone = np.full(own.size, math.nan) if null is None else null
    if lists is not None or prior is None or null is None:
        return Ranked(own, alone, own, alone)
    if state.anchored and math.isinf(state.threshold):
        moved = (
            held.rows.reranked(state.features) @ state.corrections if state.reranks else np.zeros(own.size)
        )
        return Ranked(own, alone, prior + (moved - moved.mean()), null)
    return Ranked(own, alone, _shares(own), _shares(null))


def _shares(scores: Floats) -> Floats:
    """The share of rows that each row stands above, half of those it is equal to among them."""
    ordered = np.sort(scores)
    ends = np.searchsorted(ordered, scores, "left"), np.searchsorted(ordered, scores, "right")
    return (ends[0] + ends[1]) / (2.0 * scores.size)


def took(seconds: float, time_limit: float | None) -> str:
    """A note on a last fit without time: what took it."""
    of = "" if time_limit is None else f" of the time_limit of {time_limit:g} s"
    return f"The fits on folds took {seconds:.2g} s{of}."


def judged_by(data: Data) -> NDArray[np.bool_]:
    """Rows above the lowest grade with a positive weight."""
    relevant = (data.y > data.y.min()) & (data.gains > 0)
    return relevant if data.list_weight is None else relevant & (data.list_weight > 0)


def refuse_fixed_length(base: Reranker, data: Data) -> None:
    """Refuse coefficients for one length if the folds are parts of a single list."""
    statistic = parse(base.stat)
    if data.qid is None and statistic.length is not None:
        raise InputError(
            f"stat holds {statistic.length} coefficients for a list of that length, and folds of its rows are shorter; "
            "give a function of (rank, length) or a statistic by name."
        )


def rows_of(data: Data, rows: Indices) -> Data:
    """Some of the rows; their lists keep their numbers."""
    return replace(
        data,
        rows=data.rows.some(rows),
        X=data.X[rows],
        y=data.y[rows],
        gains=data.gains[rows],
        qid=None if data.qid is None else data.qid[rows],
        list_weight=None if data.list_weight is None else data.list_weight[rows],
    )
