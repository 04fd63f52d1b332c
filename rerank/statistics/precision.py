"""Statistics that pay every top place the same: precision, recall, and precision of the first place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.statistics.base import PLACES, Floats, Number, RankStatistic, check_cut_off


@dataclass(frozen=True, repr=False)
class Precision(RankStatistic):
    """Hits in the top ``at`` places, a count: ``a_l = [l > n - at]`` [ClemenconVayatis2007]."""

    at: int
    stem: ClassVar[str] = "precision"
    aliases: ClassVar[tuple[str, ...]] = ("p", "prec")
    number: ClassVar[Number] = PLACES

    def __post_init__(self) -> None:
        check_cut_off(self)

    def _coefficients(self, n: int) -> Floats:
        return (np.arange(1, n + 1) > n - self.at).astype(np.float64)


@dataclass(frozen=True, repr=False)
class Recall(Precision):
    """Share of the relevant items that stand in the top ``at`` places, those that were not retrieved included."""

    stem: ClassVar[str] = "recall"
    aliases: ClassVar[tuple[str, ...]] = ("r",)
    binary: ClassVar[bool] = True
    per_relevant: ClassVar[bool] = True


@dataclass(frozen=True, repr=False)
class WinnerTakesAll(RankStatistic):
    """1 when the top item is relevant, ``a_l = [l = n]`` [Burges2006; RudinWang2018, sec. 2.2]."""

    stem: ClassVar[str] = "wta"
    aliases: ClassVar[tuple[str, ...]] = ("winnertakesall",)

    def _coefficients(self, n: int) -> Floats:
        return Precision(at=1)._coefficients(n)
