"""Out-of-fold scores: each training row is scored by a first stage that has not seen it.

A strong learner scores its own training rows far better than rows to come. A head cut by such scores holds memorised
rows, and looks already ideal. So each fold is scored by a model of the other folds, and the first stage for rows to
come is a model of all rows.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.reranker.columns import Rows
from rerank.reranker.data import Data
from rerank.reranker.first_stage import FirstStage, fit_first_stage, is_own_name, linear_stage
from rerank.reranker.settings import FOLDS, Settings

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Staged:
    """A fitted first stage, and its scores of the training rows.

    Attributes
    ----------
    stage : FirstStage
        For rows to come.
    scores : float64 array (n,)
        Out-of-fold if ``folds`` is not 0.
    folds : int
    notes : tuple of str
    """

    stage: FirstStage
    scores: Floats
    folds: int = 0
    notes: tuple[str, ...] = ()


def staged(data: Data, settings: Settings, sample_weight: Floats | None) -> Staged | None:
    """The first stage of a fit, cross-fitted if the settings say so; None if every row is a candidate.

    Parameters
    ----------
    data : Data
    settings : Settings
    sample_weight : float64 array (n,) or None
    """
    if settings.first_stage is None:
        if settings.radius is None:
            return None
        prior = "equal" if isinstance(settings.prior, str) and settings.prior == "auto" else settings.prior
        return Staged(*linear_stage(prior, data.rows))
    given = (data.rows, data.y, data.qid, sample_weight, settings.seed)
    found = fit_first_stage(settings.first_stage, *given)
    assert found is not None
    stage, scores = found
    anchored = settings.radius is not None
    if stage.frozen:
        return Staged(stage, scores, notes=(taken_at_its_word(stage),) if anchored else ())
    folds = folds_of(data, settings)
    if folds < 2:
        return Staged(stage, scores)
    return _cross_fitted(data, settings, stage, sample_weight, folds)


def taken_at_its_word(stage: FirstStage) -> str:
    """A sentence on a first stage that was ready when it came."""
    return f"The first stage {stage.name} is taken at its word: if it has seen these rows, rows to come fare worse."


def folds_of(data: Data, settings: Settings) -> int:
    """How many parts: as many as asked for, and no more than there are relevant rows, or lists with one; 0 for none."""
    asked = asked_folds(settings)
    marked = data.y > data.y.min()
    there = int(marked.sum()) if data.qid is None else np.unique(data.qid[marked]).size
    folds = min(int(asked), there)
    return folds if folds > 1 else 0


def asked_folds(settings: Settings) -> int:
    """How many folds the settings ask for: "auto" is for anchored problems, and for learners of others."""
    if isinstance(settings.cross_fit, str):
        ours = is_own_name(settings.first_stage)
        return FOLDS if settings.radius is not None or not ours else 0
    return settings.cross_fit


def _cross_fitted(
    data: Data, settings: Settings, stage: FirstStage, sample_weight: Floats | None, folds: int
) -> Staged:
    fold = fold_of(data, folds, settings.seed)
    scores = np.empty(data.y.size)
    for k in range(folds):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        scores[test] = held_out_scores(settings.first_stage, data, train, test, sample_weight, settings.seed)
    if stage.log_odds:
        return Staged(stage, scores, folds)
    scores, stage, notes = on_one_scale(scores, fold, stage)
    return Staged(stage, scores, folds, notes)


def fold_of(data: Data, folds: int, seed: int) -> NDArray[np.intp]:
    """A fold for each row: lists stay whole, and those with something relevant are spread evenly."""
    from rerank.reranker.selection.folds import splits_of

    fold = np.empty(data.y.size, dtype=np.intp)
    for k, split in enumerate(splits_of(data.X, data.y > data.y.min(), data.qid, folds, 1, seed)):
        fold[split.test] = k
    return fold


def held_out_scores(
    first_stage: Any, data: Data, train: NDArray[np.intp], test: NDArray[np.intp],
    sample_weight: Floats | None, seed: int,
) -> Floats:  # fmt: skip
    """Scores of the ``test`` rows by a first stage fitted on the ``train`` rows."""
    rows: Rows = data.rows
    own = None if sample_weight is None else sample_weight[train]
    lists = None if data.qid is None else data.qid[train]
    found = fit_first_stage(first_stage, rows.some(train), data.y[train], lists, own, seed)
    assert found is not None
    return found[0].scores(rows.some(test))


def on_one_scale(
    scores: Floats, fold: NDArray[np.intp], stage: FirstStage
) -> tuple[Floats, FirstStage, tuple[str, ...]]:
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
