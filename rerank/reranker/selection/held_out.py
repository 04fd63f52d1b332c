"""Statistics of held-out rows, for rerankers fitted on the other rows and for their first stage alone."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from rerank.errors import InputError
from rerank.ranks.row_gains import gain_of
from rerank.reranker.clock import Clock
from rerank.reranker.data import Data, checked
from rerank.reranker.estimator import Reranker
from rerank.reranker.first_stage import fit_first_stage
from rerank.reranker.selection.folds import Indices, Split
from rerank.reranker.settings import check
from rerank.statistics import parse

Floats = NDArray[np.float64]


def held_out(
    base: Reranker,
    candidates: Sequence[dict[str, Any]],
    splits: Sequence[Split],
    data: Data,
    sample_weight: Floats | None,
    clock: Clock,
    verbose: int = 0,
) -> tuple[Floats, Floats]:
    """Statistic of the held-out rows, in the unit of :meth:`Reranker.score` with the same weights.

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
    verbose : int
        1 writes a line to standard error for each fold.

    Returns
    -------
    scores : float64 array (folds, candidates)
    alone : float64 array (folds,)
        Of the first stage; NaN if there is none. After an interrupt both arrays end with the last complete fold.

    Raises
    ------
    InputError
        Naming the fold on whose rows no model can be fitted or evaluated.
    """
    scores: list[list[float]] = []
    alone: list[float] = []
    try:
        for number, split in enumerate(splits, start=1):
            name = f"fold {number} of {len(splits)}"
            fits = (len(splits) - number + 1) * len(candidates) + 1
            first, own = _run(split, name, base, candidates, data, sample_weight, clock, fits)
            alone.append(first)
            scores.append(own)
            if verbose:
                line = f"{name}: best {max(own):.4f}, first stage {first:.4f}"
                print(line, file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        if not scores:
            raise
    return np.array(scores), np.array(alone)


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


def _run(
    split: Split,
    name: str,
    base: Reranker,
    candidates: Sequence[dict[str, Any]],
    data: Data,
    sample_weight: Floats | None,
    clock: Clock,
    fits: int,
) -> tuple[float, list[float]]:
    """Statistic of the first stage alone and of each candidate; the first stage is fitted once and shared.

    ``fits`` is the number of fits that the clock's seconds have to do for.
    """
    held = _rows_of(data, split.test)
    statistic = parse(base.stat)
    with _naming(f"the training rows of {name}"):
        own = clone(base).set_params(pos_label=None, checkpoint=None)  # the folds' labels are grades already
        part = _rows_of(data, split.train)
        given: dict[str, Any] = {
            "qid": part.qid,
            "sample_weight": None if sample_weight is None else sample_weight[split.train],
            "query_weight": part.list_weight,
            "ideal_gains": part.ideal_gains,
        }
        gain = gain_of(statistic, own.gain, given["sample_weight"])
        learn, weights = checked(part.X, part.y, **given, gain=gain)
        seed = check(own.get_params(deep=False), learn.X.shape[1]).seed
        stage = fit_first_stage(own.first_stage, learn.X, learn.y, learn.qid, weights, random_state=seed)
    shared = {} if stage is None else {"first_stage": FrozenEstimator(stage.estimator)}
    with _naming(f"the rows held out in {name}"):
        alone = math.nan if stage is None else held.evaluate(statistic, stage.scores(held.X))
    scores = []
    for done, candidate in enumerate(candidates):
        est = clone(own).set_params(**candidate, **shared)
        est.set_params(time_limit=clock.least(est.time_limit, fits - done))
        with _naming(f"the training rows of {name}"):
            est.fit(part.X, part.y, **given)
        with _naming(f"the rows held out in {name}"):
            ranked = est.decision_function(held.X) if held.qid is None else est.list_scores(held.X, held.qid)
            scores.append(held.evaluate(statistic, ranked))
    return alone, scores


def _rows_of(data: Data, rows: Indices) -> Data:
    return replace(
        data,
        X=data.X[rows],
        y=data.y[rows],
        gains=data.gains[rows],
        qid=None if data.qid is None else data.qid[rows],
        list_weight=None if data.list_weight is None else data.list_weight[rows],
    )


@contextmanager
def _naming(place: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise type(error)(f"In {place}: {error}") from error
