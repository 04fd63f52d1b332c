"""Measures that pay the j-th relevant row from the top by ``j`` and by its place: average precision, first hits.

The j-th best relevant row at place ``p`` earns ``h_j`` times what the place earns, so the list is worth
``sum_j h_j a_(rank of the j-th)``.  The weights ``h`` do not depend on the ranking, and none is negative: no relevant
row that moves up lowers the value.  Rows are relevant or not, whatever their grades.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rerank.statistics.base import PLACES, Counts, Floats, Number, RankStatistic, check_cut_off
from rerank.statistics.mrr import MRR
from rerank.statistics.precision import Precision


@dataclass(frozen=True, repr=False)
class ReciprocalRank(RankStatistic):
    """1/place of the first relevant row; ``mrr`` is the sum over all of them [RudinWang2018, sec. 2.2].

    With ``at`` 0 below the top ``at`` places, as in the MRR@10 of MS MARCO.
    """

    at: int | None = None
    stem: ClassVar[str] = "rr"
    aliases: ClassVar[tuple[str, ...]] = ("reciprocalrank", "reciprank", "meanreciprocalrank")
    number: ClassVar[Number] = replace(PLACES, optional=True)
    binary: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.at is not None:
            check_cut_off(self)

    def _coefficients(self, n: int) -> Floats:
        every = MRR()._coefficients(n)
        return every if self.at is None else every * Precision(self.at)._coefficients(n)

    def hit_weights(self, n: int) -> Counts:
        """``1, 0, 0, ...``."""
        return (np.arange(n) == 0).astype(np.int64)

    def mean_hit_weights(self, above: int, hits: int, size: int) -> Floats:
        """The chance that no row above a relevant one is relevant."""
        if above:
            return np.zeros(size)
        others = np.arange(size - 1, 0, -1)
        return np.concatenate([[1.0], np.cumprod(np.maximum(others - (hits - 1), 0) / others)])


@dataclass(frozen=True, repr=False)
class AveragePrecision(ReciprocalRank):
    """Mean over all relevant rows of the precision at their place, ``j / place_j`` [BuckleyVoorhees2000].

    Relevant rows that were not retrieved, or stand below the top ``at`` places, count with a precision of 0, as in the
    ``map_cut`` of trec_eval.
    """

    stem: ClassVar[str] = "ap"
    aliases: ClassVar[tuple[str, ...]] = ("map", "averageprecision")
    per_relevant: ClassVar[bool] = True

    def hit_weights(self, n: int) -> Counts:
        """``1..n``."""
        return np.arange(1, n + 1)

    def mean_hit_weights(self, above: int, hits: int, size: int) -> Floats:
        """Linear, so the weight of the mean number of relevant rows above."""
        return np.arange(size, dtype=np.float64) * ((hits - 1) / max(size - 1, 1)) + (above + 1)


@dataclass(frozen=True, repr=False)
class Success(ReciprocalRank):
    """1 when a relevant row stands in the top ``at`` places, else 0."""

    at: int
    stem: ClassVar[str] = "success"
    aliases: ClassVar[tuple[str, ...]] = ("hitrate", "hit", "hits", "hr")
    number: ClassVar[Number] = PLACES

    def __post_init__(self) -> None:
        check_cut_off(self)

    def _coefficients(self, n: int) -> Floats:
        return Precision(self.at)._coefficients(n)
