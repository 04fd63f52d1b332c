"""What held-out rankings are worth: the user's statistic of all held-out rows in one list, and how sure a lead is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.reranker.data import Data
from rerank.reranker.selection.folds import Split, fold_names
from rerank.reranker.selection.held_out import Ranked, rows_of
from rerank.reranker.selection.priors import naming
from rerank.statistics import InLists, RankStatistic

Floats = NDArray[np.float64]


class Lead(NamedTuple):
    """Held-out statistic of an option and of the first stage, and the lead with its standard error."""

    value: float
    alone: float
    lead: float
    error: float


NOT_TRIED = Lead(math.nan, math.nan, math.nan, math.nan)


def beside(leads: Sequence[Lead], alone: float) -> list[Lead]:
    """The same leads, each over one value of the first stage.

    Options are tried on one or on more deals of the folds, and folds are joined by scores or by places. A lead is of
    two rankings that are made alike; so the value of an option is that of the first stage with its lead.
    """
    return [one if math.isnan(one.lead) else Lead(alone + one.lead, alone, one.lead, one.error) for one in leads]


def cv_results(params: Sequence[dict[str, Any]], leads: Sequence[Lead], rivals: Sequence[bool]) -> dict[str, Any]:
    """``cv_results_`` of a choice: lists with an entry for each option, as a data frame takes them."""
    sides = {"value": "value", "first_stage": "alone", "lead": "lead", "error": "error"}
    numbers = {name: [getattr(one, of) for one in leads] for name, of in sides.items()}
    return {"params": list(params), **numbers, "rival": list(rivals)}


@dataclass(frozen=True, eq=False)
class Judge:
    """Measures leads on the held-out rows of all folds in one list, or on all held-out lists.

    Attributes
    ----------
    data : Data
        All rows.
    splits : sequence of Split
    statistic : RankStatistic
        What leads are measured by.
    list_length : int or None
        Rows of the lists to come, if not those of the training list.
    """

    data: Data
    splits: Sequence[Split]
    statistic: RankStatistic
    list_length: int | None = None

    def deals(self) -> list[list[int]]:
        """The folds of each repeat; all folds of a splitter are one deal."""
        repeats = sorted({split.repeat for split in self.splits})
        return [[k for k, split in enumerate(self.splits) if split.repeat == repeat] for repeat in repeats]

    def lead(self, deals: Sequence[tuple[Sequence[int], Sequence[Ranked]]]) -> Lead:
        """The mean over some deals, each with its folds and what an option made of them.

        The error is that of one deal: repeats hold out the same rows, and take from it little. Folds of a splitter,
        which may not divide the rows, are ranked each by itself.
        """
        if not deals:
            return NOT_TRIED
        folds = deals[0][0]
        if self.splits[folds[0]].repeat >= 0:
            return Lead(*np.mean([self._round(*deal) for deal in deals], axis=0).tolist())
        names, rounds = fold_names(self.splits), []
        for k, one in zip(folds, deals[0][1]):
            with naming(f"the rows held out in {names[k]}"):
                rounds.append(self._round([k], [one]))
        found = np.array(rounds)
        value, alone, lead, _ = found.mean(axis=0).tolist()
        return Lead(value, alone, lead, float(np.linalg.norm(found[:, 3])) / len(found))

    def _round(self, folds: Sequence[int], ranked: Sequence[Ranked]) -> Lead:
        rows = np.concatenate([self.splits[k].test for k in folds])
        own, null, alone = (
            np.concatenate([getattr(one, side) for one in ranked]) for side in ("joint", "joint_alone", "alone")
        )
        statistic, unit = self.statistic, 1.0
        if self.data.qid is None:
            statistic, unit = in_lists_of(statistic, self.list_length or self.data.y.size, rows.size)
        evaluator = rows_of(self.data, rows).evaluator(statistic)
        value = unit * evaluator.mean(own, "pessimistic")
        if np.isnan(alone).any():
            return Lead(value, math.nan, math.nan, math.nan)
        lead, error = evaluator.lead(own, null)
        return Lead(value, unit * evaluator.mean(alone, "pessimistic"), unit * lead, unit * error)


def in_lists_of(statistic: RankStatistic, length: int, m: int) -> tuple[RankStatistic, float]:
    """What to evaluate on ``m`` rows, and what to multiply it by, in the unit of a list of ``length`` rows."""
    if m == length or statistic.counts_pairs or statistic.weighs_hits or statistic.length is not None:
        return statistic, 1.0
    unit = 1.0 if statistic.normalised or statistic.per_relevant else length / m
    return (statistic if statistic.by_share else InLists(statistic, length)), unit
