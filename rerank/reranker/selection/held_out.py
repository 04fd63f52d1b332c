"""Held-out rows ranked by candidates that learned from the other rows, and by the first stage alone."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.errors.compiling import uncounted
from rerank.ranks.row_gains import gain_of
from rerank.reranker.clock import Clock
from rerank.reranker.data import Data
from rerank.reranker.estimator import Reranker
from rerank.reranker.fit import fit
from rerank.reranker.selection.folds import Indices, Split, fold_names
from rerank.reranker.selection.priors import Part, Prior, naming, part_of, priors
from rerank.reranker.settings import Settings, check, jobs_of
from rerank.reranker.state import FittedState
from rerank.statistics import parse

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranked:
    """What one candidate and its first stage make of the rows held out in one fold.

    Attributes
    ----------
    own, alone : float64 arrays (rows,)
        Scores that order these rows, or each of their lists; ``alone`` is NaN without a first stage, and ``own`` where
        no time was left for the candidate.
    joint, joint_alone : float64 arrays (rows,)
        Scores that can be compared with those of other folds: in the unit of the first stage's score where the
        candidate corrects it, else places as shares of the rows.
    """

    own: Floats
    alone: Floats
    joint: Floats
    joint_alone: Floats

    @property
    def tried(self) -> bool:
        """Whether the candidate had the time for a fit."""
        return not np.isnan(self.own).any()


def held_out(
    base: Reranker,
    candidates: Sequence[dict[str, Any]],
    splits: Sequence[Split],
    data: Data,
    sample_weight: Floats | None,
    clock: Clock,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[list[Ranked]]:
    """For each fold what each candidate makes of the held-out rows.

    Parameters
    ----------
    base : Reranker
        The parameters that the candidates do not vary.
    candidates : sequence of dict
        Parameters of the reranker; none changes the first stage or the statistic.
    splits : sequence of Split
    data : Data
    sample_weight : float64 array (n,) or None
    clock : Clock
        Its seconds are shared among all fits, including the fit on all rows at the end.
    n_jobs : int or None
        Folds at a time, by joblib.
    verbose : int
        1 writes a line to standard error for each fold, and the seconds since the first began.

    Returns
    -------
    list of lists
        After an interrupt it ends with the last complete fold.

    Raises
    ------
    InputError
        Naming the fold on whose rows no model can be fitted or evaluated.
    """
    options = [
        base.get_params(deep=False) | candidate | {"checkpoint": None, "pos_label": None}
        for candidate in candidates
    ]
    d = data.X.shape[1]
    settings = [_resolved(check(one, d)) for one in options]
    names = fold_names(splits)
    gain = gain_of(base.stat, base.gain, sample_weight)
    parts = [part_of(data, split, sample_weight, gain, name) for split, name in zip(splits, names)]
    jobs_of(n_jobs)
    workers = joblib.effective_n_jobs(n_jobs)
    if workers > 1:
        with uncounted():  # processes start, and load what every fit needs
            joblib.Parallel(n_jobs=n_jobs)(joblib.delayed(Clock)() for _ in range(workers))

    def call(jobs: list[Any]) -> list[Any]:
        if workers == 1:
            return [function(*given) for function, given in jobs]
        return list(
            joblib.Parallel(n_jobs=n_jobs)(joblib.delayed(function)(*given) for function, given in jobs)
        )

    shared: dict[tuple[bool, bool], list[Prior | None]] = {}
    for one in settings:
        if _kind(one) not in shared:
            shared[_kind(one)] = priors(data, one, sample_weight, splits, parts, call)
    jobs = []
    for number, (split, part) in enumerate(zip(splits, parts)):
        given = [shared[_kind(one)][number] for one in settings]
        held = rows_of(data, split.test)
        jobs.append((part, held, given))
    # A quarter of the time is for the fit on all rows.
    fits = math.ceil(len(splits) * len(candidates) * 4 / 3)

    def ranked() -> Iterator[list[Ranked]]:
        if workers > 1:
            limit = clock.least(None, math.ceil(fits / workers))
            limits: list[Any] = [_least(one["time_limit"], limit) for one in options]
            # Not every backend of joblib has generators, so they are asked for only where lines are printed.
            parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator" if verbose else "list")
            yield from parallel(joblib.delayed(_fold)(settings, options, *job, limits) for job in jobs)
            return
        for number, job in enumerate(jobs):
            first = fits - number * len(options)
            limits = [(one["time_limit"], first - place) for place, one in enumerate(options)]
            yield _fold(settings, options, *job, limits, clock)

    found: list[list[Ranked]] = []
    began = time.perf_counter()
    try:
        for name, job, fold in zip(names, jobs, ranked()):
            found.append(fold)
            if verbose:
                with naming(f"the rows held out in {name}"):
                    line = _told(base.stat, job[1], fold)
                spent = time.perf_counter() - began
                print(f"{name}: {line}, {spent:.1f} s in all", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        if not found:
            raise
    return found


def took(seconds: float, time_limit: float | None) -> str:
    """A note on a last fit without time: what took it."""
    of = "" if time_limit is None else f" of the time_limit of {time_limit:g} s"
    return f"The fits on folds took {seconds:.2g} s{of}."


def _told(stat: object, held: Data, ranked: Sequence[Ranked]) -> str:
    """The statistic of the rows held out in a fold, by the first stage and by the options."""
    statistic = parse(stat)
    own = sorted(held.evaluate(statistic, one.own) for one in ranked if one.tried)
    alone = ranked[0].alone
    first = "" if np.isnan(alone).any() else f"{held.evaluate(statistic, alone):.4g} by the first stage, "
    if not own:
        return f"{statistic.name} {first}no time was left for an option"
    ends = " to ".join(f"{value:.4g}" for value in dict.fromkeys((own[0], own[-1])))
    return f"{statistic.name} {first}{ends} by {len(own)} {'option' if len(own) == 1 else 'options'}"


def _resolved(settings: Settings) -> Settings:
    """The settings with a number of folds for the first stage's scores, as a plain fit would use.

    Held-out rows judge weights and no bound. So a search ends with its first points, unless it is told where to end.
    """
    from rerank.reranker.cross_fit import asked_folds

    limit = settings.node_limit
    if limit is None and settings.presolve and settings.formulation != "resolved_rank":
        limit = 0
    return replace(settings, cross_fit=asked_folds(settings), node_limit=limit, proof=False, verbose=0)


def _kind(settings: Settings) -> tuple[bool, bool]:
    """What the first-stage scores of a fold depend on."""
    return bool(settings.cross_fit), settings.radius is not None


def _least(own: float | None, limit: float | None) -> float | None:
    return min((one for one in (own, limit) if one is not None), default=None)


def _fold(
    settings: Sequence[Settings], options: Sequence[dict[str, Any]], part: Part, held: Data,
    given: Sequence[Prior | None], limits: Sequence[Any], clock: Clock | None = None,
) -> list[Ranked]:  # fmt: skip
    """All candidates of one fold."""
    found = []
    for one, option, prior, limit in zip(settings, options, given, limits):
        seconds = limit if clock is None else clock.least(*limit)
        own, first = Clock(seconds), None if prior is None else prior.held
        if own.remaining <= 0:
            found.append(_untried(held, first))
            continue
        with naming(f"the training rows of {part.name}"):
            state = fit(part.data, one, option, own, part.weights, None if prior is None else prior.staged)
        with naming(f"the rows held out in {part.name}"):
            late = (own.cut or own.remaining <= 0) and _unmoved(state)
            found.append(_untried(held, first) if late else _ranked(state, held, first))
    return found


def _ranked(state: FittedState, held: Data, first: Floats | None) -> Ranked:
    lists = held.qid
    own = state.row_scores(held.rows, first) if lists is None else state.list_scores(held.rows, lists, first)
    alone = np.full(own.size, math.nan) if first is None else first
    if lists is not None or first is None:
        return Ranked(own, alone, own, alone)
    if state.anchored and math.isinf(state.threshold):
        moved = (
            held.rows.reranked(state.features) @ state.corrections if state.reranks else np.zeros(own.size)
        )
        return Ranked(own, alone, first + (moved - moved.mean()), first)
    return Ranked(own, alone, _shares(own), _shares(first))


def _unmoved(state: FittedState) -> bool:
    """Whether a search left its start as it was."""
    status = state.result.status
    return status == "first_stage_kept" or (status == "feasible" and not np.any(state.coef))


def _untried(held: Data, first: Floats | None) -> Ranked:
    """What stands for a candidate that had no time to leave where it began."""
    none = np.full(held.y.size, math.nan)
    alone = none if first is None else first
    return Ranked(none, alone, none, alone)


def _shares(scores: Floats) -> Floats:
    """The share of rows that each row stands above, half of those it is equal to among them."""
    ordered = np.sort(scores)
    ends = np.searchsorted(ordered, scores, "left"), np.searchsorted(ordered, scores, "right")
    return (ends[0] + ends[1]) / (2.0 * scores.size)


def judged_by(data: Data) -> NDArray[np.bool_]:
    """Rows above the lowest grade with a positive weight."""
    relevant = (data.y > data.y.min()) & (data.gains > 0)
    return relevant if data.list_weight is None else relevant & (data.list_weight > 0)


def refuse_fixed_length(base: Reranker, data: Data) -> None:
    """Refuse coefficients for one length if the folds are parts of a single list.

    Raises
    ------
    InputError
    """
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
