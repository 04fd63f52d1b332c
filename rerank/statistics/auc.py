"""Statistics whose coefficients are the ranks themselves: AUC, and AUC of the top places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.statistics.base import PLACES, Floats, Number, RankStatistic, check_cut_off


@dataclass(frozen=True, repr=False)
class AUC(RankStatistic):
    """Wilcoxon rank sum, ``a_l = l`` [RudinWang2018, sec. 2.2].

    Presented as the fraction of pairs in the right order; with grades a pair counts by the difference of its
    two gains.
    """

    stem: ClassVar[str] = "auc"
    aliases: ClassVar[tuple[str, ...]] = ("wrs", "rocauc")
    normalised: ClassVar[bool] = True
    counts_pairs: ClassVar[bool] = True

    def _coefficients(self, n: int) -> Floats:
        return np.arange(1.0, n + 1)

    def _presentation(self, gains: Floats) -> tuple[float, float]:
        levels, counts = np.unique(gains, return_counts=True)
        positive = levels > 0
        at_least = np.cumsum(counts[::-1])[::-1][positive].astype(np.float64)
        steps = np.diff(levels[positive], prepend=0.0)
        inside = float(np.dot(steps, at_least * (at_least + 1) / 2))
        return inside, float(np.dot(steps, at_least * (gains.size - at_least)))


@dataclass(frozen=True, repr=False)
class PartialAUC(RankStatistic):
    """Rank sum over the top ``at`` places, ``a_l = l`` for ``l > n - at`` [ClemenconVayatis2007]."""

    at: int
    stem: ClassVar[str] = "pauc"
    aliases: ClassVar[tuple[str, ...]] = ("partialauc",)
    number: ClassVar[Number] = PLACES

    def __post_init__(self) -> None:
        check_cut_off(self)

    def _coefficients(self, n: int) -> Floats:
        ranks = np.arange(1.0, n + 1)
        return np.where(ranks > n - self.at, ranks, 0.0)
