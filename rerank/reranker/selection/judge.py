"""What held-out rankings are worth: the statistic of each fold, and of all held-out rows in one list.

A statistic of the first N places jumps, and few rows decide it. So options are compared on the held-out rows of all
folds in one list of full length, by hits far around N instead of hits up to N.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.reranker.data import Data
from rerank.reranker.selection.folds import Split, fold_names
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
        The user's statistic of the rows held out in each fold; NaN where no time was left for the option.
    alone : float64 array (folds,)
        The same of the first stage; NaN if there is none.
    leads : float64 array (options, rounds)
        Lead over the first stage by the judge. A round is a repeat, with all rows in one list, or a fold of a splitter;
        of its folds those count on which the option was tried, and without any it is NaN.
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

    @property
    def tried(self) -> NDArray[np.intp]:
        """On how many folds each option was tried."""
        return np.count_nonzero(~np.isnan(self.scores), axis=1)

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Options that were tried on more than half of the folds; of others the folds say too little."""
        return 2 * self.tried > self.scores.shape[1]

    @property
    def mean_scores(self) -> Floats:
        """Mean statistic of the folds on which each option was tried."""
        return _mean(self.scores)

    @property
    def mean_leads(self) -> Floats:
        """Mean lead of each option; NaN without a first stage, and for one that was not tried."""
        return _mean(self.leads)


class ByOption(dict[str, NDArray[Any]]):
    """Arrays with an entry for each option, as a data frame takes them; those of other shapes are found by name only.

    Parameters
    ----------
    by_option, others : mapping of str to array
    """

    def __init__(self, by_option: Mapping[str, Any], others: Mapping[str, Any]) -> None:
        super().__init__(by_option)
        self.others = dict(others)

    def __missing__(self, name: str) -> NDArray[Any]:
        found: NDArray[Any] = self.others[name]
        return found


def by_option(found: Judged, params: Sequence[Mapping[str, Any]], null: str) -> ByOption:
    """``cv_results_`` of a choice; ``null`` names the entry of what had to be led."""
    splits = {f"split{k}_score": own for k, own in enumerate(found.scores.T)}
    means = {"mean_score": found.mean_scores, "mean_lead": found.mean_leads, "lead_error": found.errors}
    return ByOption(
        {"params": np.array(params, dtype=object), **means, "folds_tried": found.tried, **splits},
        {"scores": found.scores, "leads": found.leads, null: found.alone},
    )


SPREAD = 8.0
"""Of the window that judges: its coefficients fall from 1 at an eighth of the depth to 0 at eight times the depth."""


def judge_of(statistic: RankStatistic, lists: bool) -> RankStatistic:
    """What options are compared by: hits far around the depth in one list, else the statistic itself."""
    if lists or statistic.depth is None or statistic.weighs_hits:
        return statistic
    return Window(statistic.depth, SPREAD)


def judged(
    data: Data, splits: Sequence[Split], ranked: Sequence[Sequence[Ranked]], statistic: RankStatistic,
    judge: RankStatistic,
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
    """
    done, n_options = list(zip(splits, ranked)), len(ranked[0])
    held = [rows_of(data, split.test) for split, _ in done]
    folds = len(done)
    scores, alone = np.full((n_options, folds), math.nan), np.full(folds, math.nan)
    by_fold = np.full((n_options, folds), math.nan)
    for k, ((_, options), rows, name) in enumerate(zip(done, held, fold_names(splits))):
        with naming(f"the rows held out in {name}"):
            for number, one in enumerate(options):
                if one.tried:
                    scores[number, k] = rows.evaluate(statistic, one.own)
                if not np.isnan(one.alone).any():
                    alone[k] = rows.evaluate(statistic, one.alone)
                    if one.tried:
                        own, first = (_full(data, rows, judge, side) for side in (one.own, one.alone))
                        by_fold[number, k] = own - first
    rounds = _rounds([split for split, _ in done])
    leads, means = (np.full((n_options, len(rounds)), math.nan) for _ in range(2))
    for number in range(n_options):
        for r, members in enumerate(rounds):
            parts = [(splits[k].test, ranked[k][number]) for k in members if ranked[k][number].tried]
            if not parts:
                continue
            means[number, r] = _joint(data, judge, [(rows, one.joint) for rows, one in parts])
            leads[number, r] = means[number, r] - _joint(
                data, judge, [(rows, one.joint_alone) for rows, one in parts]
            )
    share = float(np.mean([split.test.size / split.train.size for split, _ in done]))
    errors = np.array([_error(each[~np.isnan(each)], share) for each in by_fold])
    return Judged(scores, alone, leads, errors, _mean(means))


def _mean(values: Floats) -> Floats:
    """The mean of each row without its NaN; NaN where there is nothing else."""
    there = ~np.isnan(values)
    sums, none = np.where(there, values, 0.0).sum(axis=1), np.full(len(values), math.nan)
    return np.divide(sums, there.sum(axis=1), out=none, where=there.any(axis=1))


def _error(leads: Floats, share: float) -> float:
    """Standard error of the mean of leads on folds that share training rows; NaN of none, infinite of one."""
    if leads.size < 2:
        return math.nan if leads.size == 0 else math.inf
    return float(leads.std(ddof=1)) * math.sqrt(1 / leads.size + share)


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
