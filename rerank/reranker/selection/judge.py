"""What held-out rankings are worth: the statistic of each fold, and of all held-out rows in one list.

A statistic of the first N places jumps, and few rows decide it. So options are compared on the held-out rows of all
folds in one list of full length, by hits far around N instead of hits up to N.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.reranker.data import Data
from rerank.reranker.selection.folds import Split
from rerank.reranker.selection.held_out import Ranked, rows_of
from rerank.reranker.selection.priors import naming
from rerank.statistics import InLists, RankStatistic, Window

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Judged:
    """Held-out statistics of the options and of their first stage.

    Attributes
    ----------
    scores : float64 array (options, folds)
        The user's statistic of the rows held out in each fold.
    alone : float64 array (folds,)
        The same of the first stage; NaN if there is none.
    leads : float64 array (options, rounds)
        Lead over the first stage by the judge. A round is a repeat, with all rows in one list, or a fold of a splitter.
    errors : float64 array (options,)
        Standard error of the mean lead, for folds that share training rows [NadeauBengio2003, eq. 9].
    means : float64 array (options,)
        Mean value by the judge.
    """

    scores: Floats
    alone: Floats
    leads: Floats
    errors: Floats
    means: Floats


SPREAD = 8.0
"""Of the window that judges: its coefficients fall from 1 at an eighth of the depth to 0 at eight times the depth."""


def judge_of(statistic: RankStatistic, lists: bool) -> RankStatistic:
    """What options are compared by: hits far around the depth in one list, else the statistic itself."""
    if lists or statistic.depth is None or statistic.weighs_hits:
        return statistic
    return Window(statistic.depth, SPREAD)


def judged(
    data: Data, splits: Sequence[Split], ranked: Sequence[Sequence[Ranked]], statistic: RankStatistic,
    judge: RankStatistic, n_options: int,
) -> Judged:  # fmt: skip
    """Held-out statistics of every option.

    Parameters
    ----------
    data : Data
        All rows.
    splits : sequence of Split
        The first of them may lack rankings after an interrupt.
    ranked : sequence of sequences of Ranked
        By fold and option.
    statistic, judge : RankStatistic
    n_options : int
    """
    done = list(zip(splits, ranked))
    if not done:
        unknown = np.full(n_options, math.nan)
        return Judged(np.empty((n_options, 0)), np.empty(0), unknown[:, None], unknown, unknown)
    held = [rows_of(data, split.test) for split, _ in done]
    folds = len(done)
    scores, alone = np.empty((n_options, folds)), np.full(folds, math.nan)
    by_fold = np.full((n_options, folds), math.nan)
    for k, ((_, options), rows) in enumerate(zip(done, held)):
        with naming(f"the rows held out in fold {k + 1} of {len(splits)}"):
            for number, one in enumerate(options):
                scores[number, k] = rows.evaluate(statistic, one.own)
                if not np.isnan(one.alone).any():
                    alone[k] = rows.evaluate(statistic, one.alone)
                    by_fold[number, k] = _full(data, rows, judge, one.own) - _full(
                        data, rows, judge, one.alone
                    )
    rounds = _rounds([split for split, _ in done])
    leads, means = np.empty((n_options, len(rounds))), np.empty((n_options, len(rounds)))
    for number in range(n_options):
        for r, members in enumerate(rounds):
            own = [(splits[k].test, ranked[k][number]) for k in members]
            means[number, r] = _joint(data, judge, [(rows, one.joint) for rows, one in own])
            leads[number, r] = means[number, r] - _joint(
                data, judge, [(rows, one.joint_alone) for rows, one in own]
            )
    share = float(np.mean([split.test.size / split.train.size for split, _ in done]))
    spread = by_fold.std(axis=1, ddof=1) if folds > 1 else np.full(n_options, math.inf)
    return Judged(scores, alone, leads, spread * math.sqrt(1 / folds + share), means.mean(axis=1))


def _rounds(splits: Sequence[Split]) -> list[list[int]]:
    """The folds of each repeat that is complete, or each fold where folds do not divide the rows."""
    repeats = sorted({split.repeat for split in splits if split.repeat >= 0})
    found = [[k for k, split in enumerate(splits) if split.repeat == repeat] for repeat in repeats]
    sizes = [sum(splits[k].test.size for k in members) for members in found]
    whole = [members for members, size in zip(found, sizes) if size == max(sizes)]
    return whole + [[k] for k, split in enumerate(splits) if split.repeat < 0]


def _joint(data: Data, judge: RankStatistic, parts: list[tuple[NDArray[np.intp], Floats]]) -> float:
    """The judge of the rows of some folds in one list of full length."""
    rows, scores = (np.concatenate(side) for side in zip(*parts))
    if np.isnan(scores).any():
        return math.nan
    return _full(data, rows_of(data, rows), judge, scores)


def _full(data: Data, rows: Data, judge: RankStatistic, scores: Floats) -> float:
    """The judge of some of the rows, in the unit of the full list."""
    n, m = data.y.size, rows.y.size
    if data.qid is not None:
        return rows.evaluate(judge, scores)
    averaged, unit = of_whole_list(judge, n, m)
    return unit * rows.evaluate(averaged, scores)


def of_whole_list(statistic: RankStatistic, n: int, m: int) -> tuple[RankStatistic, float]:
    """What to evaluate on ``m`` of the ``n`` rows of a list, and what to multiply it by, in the unit of the whole."""
    if m == n or statistic.counts_pairs or statistic.weighs_hits or statistic.length is not None:
        return statistic, 1.0
    return InLists(statistic, n), 1.0 if statistic.normalised else n / m
