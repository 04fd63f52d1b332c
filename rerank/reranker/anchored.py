"""Anchored problems of a fit: how far it may move from the first stage, and the rows that can still matter.

Of one list in which only the first places count, the problem holds the rows that some allowed corrections bring near
these places (:mod:`rerank.problem.reduced`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Problem, RankedList
from rerank.problem.reduced import depth_of, reduced_problem
from rerank.problem.scaling import deviations
from rerank.reranker.columns import Columns
from rerank.reranker.data import Data
from rerank.reranker.first_stage import FirstStage, top_of
from rerank.reranker.task import Task
from rerank.statistics import RankStatistic

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

LARGEST = 1e150
"""Largest number whose square is one."""


@dataclass(frozen=True, eq=False)
class Anchor:
    """How far a fit may move from the first stage's score, its prior.

    Attributes
    ----------
    radius : float
        Largest size of a correction, in deviations of the prior for each deviation of the column.
    coef : float64 array (columns,) or None
        Weights of the prior where it is affine in the columns of ``Data.X`` alone.
    within : bool
        Whether only columns of the prior are corrected, because it was fitted on a number of them.
    """

    radius: float
    coef: Floats | None = None
    within: bool = False

    def limits(self, signs: NDArray[np.int8], features: Indices, spread: Floats) -> tuple[Floats, Floats]:
        """Smallest and largest weight of the prior and of each correction.

        A sign is one of the total weight where the prior is affine, else of the correction. No correction is always
        allowed.
        """
        own = np.zeros(features.size) if self.coef is None else self.coef[features] * spread[1:] / spread[0]
        lower, upper = np.full(features.size, -self.radius), np.full(features.size, self.radius)
        lower = np.where(signs > 0, np.minimum(np.maximum(lower, -own), 0.0), lower)
        upper = np.where(signs < 0, np.maximum(np.minimum(upper, -own), 0.0), upper)
        return np.concatenate([[1.0], lower]), np.concatenate([[1.0], upper])


def anchor_of(columns: Columns, task: Task, stage: FirstStage | None) -> Anchor | None:
    """How far the fit may move from the first stage; None for the free problem."""
    if task.radius is None or stage is None:
        return None
    coef = stage.coef
    if coef is None or columns.transformer is not None or np.delete(coef, columns.chosen).any():
        return Anchor(task.radius)
    return Anchor(task.radius, coef[columns.chosen], top_of(stage.name) is not None)


@dataclass(frozen=True, eq=False)
class Corrections:
    """The problem of correcting a score, and what it was made of.

    Attributes
    ----------
    problem : Problem or None
        None if no column varies.
    features : intp array (p,)
        Columns of ``Data.X`` that it corrects by.
    rows : intp array
        Row of the data of each row of the problem.
    cut : bool
        Whether it may hold fewer rows than the heads; these then are in the order of the list.
    """

    problem: Problem | None
    features: Indices
    rows: Indices
    cut: bool = False


def corrections(
    data: Data,
    statistic: RankStatistic,
    scores: Floats,
    lists: list[RankedList],
    head_rows: Indices,
    features: Indices,
    anchor: Anchor,
    signs: NDArray[np.int8],
    options: dict[str, Any],
) -> Corrections:
    """The problem of correcting the scores. Deviations are those of all training rows, not of the heads alone.

    Parameters
    ----------
    data : Data
    statistic : RankStatistic
    scores : float64 array (n,)
    lists : list of RankedList
        Their rows are places in ``head_rows``.
    head_rows : intp array
        Rows of all heads.
    features : intp array (p,)
        Columns of ``data.X``.
    anchor : Anchor
    signs : int8 array (p,)
    options : dict
        ``epsilon``, ``C``, ``max_features`` and ``quotas`` of :meth:`Problem.build`.
    """
    table = np.column_stack([scores, data.X[:, features]])
    spread = np.concatenate([deviations(scores[:, None]), data.spread[features]])
    used = head_rows[np.concatenate([item.rows for item in lists])]
    low = table[used].min(axis=0)
    high = low + spread
    moving = np.flatnonzero(high[1:] > low[1:])
    columns = np.concatenate([[0], moving + 1])
    features, signs, spread, low, high = features[moving], signs[moving], spread[columns], low[columns], high[columns]
    if not features.size:
        return Corrections(None, features, head_rows)
    limits, table = anchor.limits(signs, features, spread), table[:, columns]
    if _is_cut(data, statistic, head_rows, table):
        own = [quota.of(head_rows[quota.rows]) for quota in options["quotas"]]
        options |= {"quotas": own}
        left, rows = reduced_problem(table, data.gains, statistic, low, high, limits, **options)
        return Corrections(left, features, rows, True)
    problem = Problem.build(table[head_rows], lists, low=low, high=high, limits=limits, **options)
    return Corrections(problem, features, head_rows)


def _is_cut(data: Data, statistic: RankStatistic, head_rows: Indices, table: Floats) -> bool:
    """Whether rows that no correction brings near the first places are left out: of one whole list."""
    whole = data.qid is None and not data.missed and head_rows.size == data.y.size
    return whole and np.abs(table).max() <= LARGEST and depth_of(statistic) is not None
