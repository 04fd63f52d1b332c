"""Out-of-fold scores: each training row is scored by a first stage that has not seen it.

A strong learner scores its own training rows far better than rows to come. A head cut by such scores holds memorised
rows, and looks already ideal. So each fold is scored by a model of the other folds, and the first stage for rows to
come is a model of all rows.
"""

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rerank.errors import InputError
from rerank.errors.compiling import working_time
from rerank.errors.telling import Note
from rerank.problem.lists import Floats, Indices
from rerank.reranker.blend import Scaled, Weighing
from rerank.reranker.clock import Clock
from rerank.reranker.data import Data
from rerank.reranker.first_stage import (
    MEMORISES,
    FirstStage,
    fit_first_stage,
    is_blend,
    is_logistic,
    is_own_name,
    key_of,
    linear_stage,
    unique,
)
from rerank.reranker.members import members_of
from rerank.reranker.selection.folds import splits_of
from rerank.reranker.solution import UNREADY
from rerank.reranker.task import FOLDS, Task

A_SECOND = {"logistic": 1e6, "trees": 4e5, "forest": 1.5e5}
"""Numbers of a table from which a first stage of this name learns in less than half of a second, a row counting as
``A_ROW`` more; those of other names look at the clock, or are the user's own."""
A_ROW, LEAST_ROWS = 5, 10_000


@dataclass(frozen=True, eq=False)
class Staged:
    """A fitted first stage, and its scores of the training rows."""

    stage: FirstStage  # for rows to come
    scores: Floats  # (n,), out-of-fold if ``folds`` is not 0
    folds: int = 0
    notes: tuple[str, ...] = ()
    stopped: bool = (
        False  # the time was over before all folds: scores of rows it has seen, by which nothing is corrected
    )
    members: Floats | None = None  # (n, m), the scores of a blend's members, as its weights take them


def staged(data: Data, task: Task, clock: Clock | None = None) -> Staged | None:
    """The first stage, cross-fitted if the task says so and the clock allows; None if every row is a candidate."""
    if task.first_stage is None:
        if task.radius is None:
            return None
        prior = "equal" if isinstance(task.prior, str) and task.prior == "auto" else task.prior
        return Staged(*linear_stage(prior, data.rows))
    if is_blend(task.first_stage):
        return blended(data, task, clock)
    began = working_time()
    learner, notes = learner_of(task, data.y)
    folds, limit = folds_of(data, task), math.inf if clock is None else clock.limit
    most = most_rows(learner, data, limit / (1 + folds))
    stage, seen = learned(learner, data, most, task.random_state)
    stage = replace(stage, notes=(*stage.notes, *notes))
    anchored = task.radius is not None

    def of_seen(*notes: str, stopped: bool = False) -> Staged:
        return Staged(stage, stage.scores(data.rows) if seen is None else seen, 0, notes, stopped)

    if stage.frozen:
        word = f"The first stage {stage.name} is taken at its word: if it has seen these rows, rows to come fare worse."
        return of_seen(*[word] * anchored)
    if folds < 2:
        unit = data.unit.replace("joined list", "list or group")
        where = "There is one relevant row" if unit == "row" else f"All relevant rows are in one {unit}"
        own = "the first stage's scores cannot be out-of-fold: they are of rows that it has seen."
        return of_seen(*[f"{where}, so that {own}"] * (asked_folds(task) > 1))
    fold, held_out = fold_of(data, folds, task.random_state), data.held_out.get(key_of(task.first_stage))
    if any(np.ptp(data.y[fold != k]) == 0 for k in range(folds)):
        own = "the first stage's scores are of rows that it has seen; more rows, or cross_fit=False, leave this out."
        return of_seen(f"Without one of the {folds} folds all labels are equal, so that {own}")
    if held_out is None:
        held_out, done = _by_folds(data, learner, fold, task.random_state, most, began, clock)
        if done < folds:
            note = (
                f"Out-of-fold scores of the first stage {stage.name} were not ready in time ({done} of {folds} folds), "
                "so it is kept as it is, and its numbers here are of rows that it has seen; raise time_limit."
            )
            return of_seen(Note(note, UNREADY), stopped=True)
    if stage.log_odds:
        return Staged(stage, held_out, folds)
    scores, stage, notes = on_one_scale(held_out, fold, stage)
    return Staged(stage, scores, folds, notes)


def _by_folds(
    data: Data, learner: Any, fold: Indices, seed: int, most: float, began: float, clock: Clock | None
) -> tuple[Floats, int]:
    """Scores of the rows of each fold by a first stage of the others, and of how many folds there was the time for."""
    held_out, folds = np.empty(data.y.size), int(fold.max()) + 1
    for k in range(folds):
        taken = working_time() - began
        if clock is not None and clock.remaining < taken:
            return held_out, k
        began = working_time()
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        held_out[test] = held_out_scores(learner, data, train, test, seed, most)
    return held_out, folds


def unscored(data: Data, task: Task) -> Staged:
    """A first stage of which only scores of other rows are asked."""
    learner, notes = learner_of(task, data.y)
    stage, _ = learned(learner, data, math.inf, task.random_state)
    return Staged(replace(stage, notes=(*stage.notes, *notes)), np.empty(0))


def blended(data: Data, task: Task, clock: Clock | None) -> Staged:
    """A blend: each member cross-fitted on the same folds, and the weights that a fold is scored by learnt on the
    others' out-of-fold scores.
    """
    asked = asked_folds(task) or FOLDS
    each = [
        staged(data, replace(task, first_stage=own, cross_fit=asked), clock) for own in members_of(task.first_stage)
    ]
    found = [member for member in each if member is not None]
    stages, raw = [member.stage for member in found], np.column_stack([member.scores for member in found])
    scaled, notes = Scaled.of(raw), unique(note for member in found for note in member.notes)
    m, folds = len(found), max(member.folds for member in found)
    seen = [member.stage.name for member in found if not member.folds and not member.stage.frozen]
    if seen:  # of rows that a member has seen nothing is learned
        equal = scaled.blend(data.rows.columns, stages, np.full(m, 1.0 / m))
        stopped = any(member.stopped for member in found)
        return Staged(equal, equal.estimator.of(scaled.scores), 0, tuple(notes), stopped, scaled.scores)
    weighing, every = Weighing.of(data), np.arange(data.y.size)
    stage = scaled.blend(data.rows.columns, stages, weighing.learned(scaled.scores, every))
    folds = folds or folds_of(data, replace(task, cross_fit=asked))
    fold, scores = fold_of(data, folds, task.random_state), np.empty(data.y.size)
    for k in range(folds):
        others, own = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        scores[own] = scaled.scores[own] @ weighing.learned(scaled.scores[others], others)
    value = data.evaluator(task.quoted).mean
    alone = [f"{stage.name} {value(own, None):.4g}" for stage, own in zip(stages, raw.T)]
    notes += [f"{task.quoted.name} of the members alone, out of fold: {', '.join(alone)}."]
    return Staged(stage, scores, folds, tuple(notes), members=scaled.scores)


def taught(learner: Any, data: Data) -> Floats:
    """The labels that a first stage learns; of more than two our trees learn the gain."""
    grades = isinstance(learner, str) and learner in MEMORISES and np.unique(data.y).size > 2
    return data.row_gains if grades else data.y


def learner_of(task: Task, y: Floats) -> tuple[Any, tuple[str, ...]]:
    """The first stage to fit, with a note where it is RankSVM for logistic regression, which knows two classes."""
    named, labels = task.first_stage, np.unique(y).size
    if not (task.statistic.by_order and is_logistic(named) and labels > 2):
        return named, ()
    if named != "logistic":
        raise InputError(
            f"first_stage is {named!r}, which knows two classes, and y holds {labels} labels for "
            f"{task.statistic.name}; use 'ranksvm', a regression of scikit-learn, or None."
        )
    note = f"Logistic regression knows two classes, and y holds {labels} labels: the first stage is RankSVM."
    return "ranksvm", (note,)


def folds_of(data: Data, task: Task) -> int:
    """How many parts: as many as asked for, and no more than relevant rows, or lists or groups with one; 0 for none."""
    asked = asked_folds(task)
    marked = data.y > data.y.min()
    there = int(marked.sum()) if data.units is None else np.unique(data.units[marked]).size
    if data.fold is not None:
        asked, there = asked and int(data.fold.max()) + 1, data.y.size
    folds = min(int(asked), there)
    return folds if folds > 1 else 0


def asked_folds(task: Task) -> int:
    """How many folds the task ask for: "auto" is for anchored problems, and for learners of others."""
    if isinstance(task.cross_fit, str):
        own = is_own_name(task.first_stage) and task.first_stage not in MEMORISES
        return FOLDS if task.radius is not None or not own else 0
    return task.cross_fit


def fold_of(data: Data, folds: int, seed: int) -> Indices:
    """A fold for each row: lists and groups stay whole, and those with something relevant are spread evenly."""
    if data.fold is not None:
        return data.fold
    fold = np.empty(data.y.size, dtype=np.intp)
    for k, split in enumerate(splits_of(data.X, data.y > data.y.min(), data.units, folds, 1, seed)):
        fold[split.test] = k
    return fold


def most_rows(learner: Any, data: Data, seconds: float) -> float:
    """The rows that a first stage of this package can learn from in such a time; it ends by itself only after all."""
    name = learner.partition("+")[0] if is_own_name(learner) else ""
    each = len(data.rows.columns.inputs) + A_ROW
    return max(LEAST_ROWS, A_SECOND[name] * seconds / each) if name in A_SECOND else math.inf


def learned(learner: Any, data: Data, most: float, seed: int) -> tuple[FirstStage, Floats | None]:
    """A fitted first stage and its scores of the rows, where it took them; of more than ``most`` rows it learns from a
    sample.

    Half of the sample are relevant rows, or all of these, and weights make up for that.
    """
    relevant = data.y > data.y.min()
    if relevant.size <= most or relevant.all() or not relevant.any():
        return fit_first_stage(learner, data.rows, taught(learner, data), data.qid, data.sample_weight, seed)
    rng, weight = np.random.default_rng(seed), np.ones(relevant.size)
    marked, others = np.flatnonzero(relevant), np.flatnonzero(~relevant)
    first = min(marked.size, max(int(most) // 2, int(most) - others.size))
    taken = []
    for rows, count in ((marked, first), (others, min(others.size, int(most) - first))):
        taken += [rng.choice(rows, count, replace=False)]
        weight[rows] = rows.size / count
    some = np.sort(np.concatenate(taken))
    own = data.some(some)
    weight = weight[some] if own.sample_weight is None else weight[some] * own.sample_weight
    stage, _ = fit_first_stage(learner, own.rows, taught(learner, own), own.qid, weight, seed)
    note = (
        f"The first stage {stage.name} was fitted to a sample of {some.size:,} of the {relevant.size:,} rows, with "
        f"{first:,} of the {marked.size:,} relevant ones; time_limit allows no more."
    )
    return replace(stage, notes=(*stage.notes, note)), None


def held_out_scores(
    first_stage: Any, data: Data, train: Indices, test: Indices, seed: int, most: float = math.inf
) -> Floats:
    """Scores of the ``test`` rows by a first stage fitted on the ``train`` rows, or on a sample of them."""
    stage, _ = learned(first_stage, data.some(train), most, seed)
    return stage.scores(data.rows.some(test))


def on_one_scale(scores: Floats, fold: Indices, stage: FirstStage) -> tuple[Floats, FirstStage, tuple[str, ...]]:
    """Scores of mean 0 and deviation 1 in each fold, and the final stage by the folds' mean centre and deviation."""
    present = np.unique(fold)
    centres = np.array([scores[fold == k].mean() for k in present])
    deviations = np.array([scores[fold == k].std() for k in present])
    if not deviations.min() > 0:
        return scores, stage, ()
    place = np.searchsorted(present, fold)
    notes: tuple[str, ...] = ()
    if deviations.max() > 2 * deviations.min():
        note = (
            f"The first stage's scores of one fold spread {deviations.max() / deviations.min():.1f} times as far as "
            "those of another, so their scale is uncertain."
        )
        warnings.warn(note, stacklevel=2)
        notes = (note,)
    return (
        (scores - centres[place]) / deviations[place],
        stage.mapped(math.fsum(centres) / centres.size, math.fsum(deviations) / deviations.size),
        notes,
    )
