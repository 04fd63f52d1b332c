"""First-stage scores of held-out rows and of the rows that candidates learn from, by models that have not seen them.

A candidate of fold ``a`` learns from the other folds. The scores that it corrects there come from models that have seen
neither ``a`` nor the row's own fold ``b``. A model without ``a`` and ``b`` serves both folds, so ``k`` folds take
``k (k + 1) / 2`` fits, which all candidates share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.reranker.cross_fit import Staged, on_one_scale, staged
from rerank.reranker.data import Data, checked
from rerank.reranker.first_stage import FirstStage, fit_first_stage
from rerank.reranker.selection.folds import Indices, Split, fold_of_each
from rerank.reranker.task import Task

Floats = NDArray[np.float64]
Call = Callable[[list[tuple[Callable[..., Any], tuple[Any, ...]]]], list[Any]]
"""Calls functions with their arguments, in this process or in others, and returns the results in order.

They are fewer than the functions if the time is over.
"""


@dataclass(frozen=True, eq=False)
class Part:
    """The training rows of a fold, checked, with the weights of the rows.

    Attributes
    ----------
    data : Data
    weights : float64 array (n,) or None
    name : str
        Such as "fold 2 of 5", for messages.
    """

    data: Data
    weights: Floats | None
    name: str


def part_of(data: Data, split: Split, sample_weight: Floats | None, gain: Any, name: str) -> Part:
    """The training rows of a fold.

    Raises
    ------
    InputError
        If nothing can be learned from them.
    """
    rows = split.train
    ideal = data.ideal_gains
    if ideal and data.qid is not None:  # grades of lists that are all held out belong to no row here
        here = set(data.qid[rows].tolist())
        ideal = {number: grades for number, grades in ideal.items() if number in here} or None
    with naming(f"the training rows of {name}"):
        learn, weights = checked(
            data.rows.some(rows), data.y[rows], None if data.qid is None else data.qid[rows],
            None if sample_weight is None else sample_weight[rows],
            None if data.list_weight is None else data.list_weight[rows], gain, ideal_gains=ideal,
            groups=None if data.groups is None else data.groups[rows],
        )  # fmt: skip
    return Part(learn, weights, name)


@dataclass(frozen=True, eq=False)
class Prior:
    """A first stage of some folds: its scores of the rows to learn from, and of the rows that are held out."""

    staged: Staged
    held: Floats


def priors(
    data: Data, task: Task, sample_weight: Floats | None, splits: Sequence[Split], parts: Sequence[Part],
    call: Call,
) -> list[Prior | None]:  # fmt: skip
    """The prior of each fold; None where there is no first stage. They are fewer than the folds if the time is over.

    Parameters
    ----------
    data : Data
        All rows.
    task : Task
        Those of a candidate: with ``cross_fit`` the scores to learn from are out-of-fold.
    parts : sequence of Part
        The training rows of each split.
    """
    if task.first_stage is None and task.radius is None:
        return [None] * len(splits)
    ready = _ready(data, task)
    if ready is not None:
        return [
            Prior(replace(ready, scores=ready.scores[split.train]), ready.scores[split.test])
            for split in splits
        ]
    given = [(task, part, data.rows.some(split.test)) for split, part in zip(splits, parts)]
    if task.cross_fit and splits[0].repeat < 0 and fold_of_each(splits, data.y.size) is None:
        return call([(_fit_folded, one) for one in given])
    if not task.cross_fit:
        return [
            Prior(Staged(stage, scores), held)
            for stage, scores, held in call([(_fit_one, one) for one in given])
        ]
    found: list[Prior | None] = []
    for repeat in sorted({split.repeat for split in splits}):
        own = [number for number, split in enumerate(splits) if split.repeat == repeat]
        singles = call([(_fit_one, given[i]) for i in own])
        if len(singles) < len(own):
            break
        tests, stages = [splits[i].test for i in own], [one[0] for one in singles]
        found += (by_pairs := _by_pairs(data, task, sample_weight, tests, stages, call))
        if not by_pairs:
            break
    return found


def _ready(data: Data, task: Task) -> Staged | None:
    """Scores that do not depend on the folds: of a first stage that was ready when it came, or of given weights."""
    if task.first_stage is None:
        return staged(data, task, None)
    stage = task.first_stage
    if isinstance(stage, str) and stage not in data.rows.columns.inputs:
        return None
    from rerank.reranker.learners import is_fitted

    if hasattr(stage, "fit") and not is_fitted(stage):
        return None
    found = fit_first_stage(stage, data.rows, data.y)
    return Staged(*found) if found is not None and found[0].frozen else None


def _fit_one(task: Task, part: Part, held: Any) -> tuple[FirstStage, Floats, Floats]:
    """A first stage of the part, its scores of these rows and of the rows held out."""
    with naming(f"the training rows of {part.name}"):
        own = part.data
        found = fit_first_stage(task.first_stage, own.rows, own.y, own.qid, part.weights, task.seed)
    assert found is not None
    return (*found, found[0].scores(held))


def _fit_folded(task: Task, part: Part, held: Any) -> Prior:
    """Out-of-fold scores by folds of the part's own, where those of a splitter do not divide the rows."""
    with naming(f"the training rows of {part.name}"):
        found = staged(part.data, task, part.weights)
    assert found is not None
    return Prior(found, found.stage.scores(held))


def _by_pairs(
    data: Data, task: Task, sample_weight: Floats | None, tests: list[Indices], stages: list[FirstStage],
    call: Call,
) -> list[Prior]:  # fmt: skip
    """The priors of one repeat, from models without two of its folds; none of them if the time is over."""
    from rerank.reranker.cross_fit import held_out_scores

    fold = np.empty(data.y.size, dtype=np.intp)
    for k, test in enumerate(tests):
        fold[test] = k
    pairs = [(a, b) for a in range(len(tests)) for b in range(a)]
    jobs = []
    for a, b in pairs:
        both = (fold == a) | (fold == b)
        train, test = np.flatnonzero(~both), np.flatnonzero(both)
        given = (task.first_stage, data, train, test, sample_weight, task.seed)
        jobs.append((held_out_scores, given))
    scored = call(jobs) if len(tests) > 2 else []
    if len(tests) > 2 and len(scored) < len(jobs):
        return []
    by_pair = dict(zip(pairs, scored))
    found = []
    for a, stage in enumerate(stages):
        every = np.full(data.y.size, np.nan)
        for (one, other), scores in by_pair.items():
            if a in (one, other):
                both = np.flatnonzero((fold == one) | (fold == other))
                own = fold[both] != a
                every[both[own]] = scores[own]
        train = np.flatnonzero(fold != a)
        if not by_pair:  # two folds: nothing is left without both
            scores = stage.scores(data.rows.some(train))
            found.append(Prior(Staged(stage, scores), stage.scores(data.rows.some(tests[a]))))
            continue
        scores, mapped = every[train], stage
        notes: tuple[str, ...] = ()
        if not stage.log_odds:
            scores, mapped, notes = on_one_scale(scores, fold[train], stage)
        held = mapped.scores(data.rows.some(tests[a]))
        found.append(Prior(Staged(mapped, scores, len(tests) - 1, notes), held))
    return found


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Say in which fold the data cannot be used."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"In {place}: {error}") from error
