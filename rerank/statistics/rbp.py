"""Rank-biased precision: a reader who goes on to the next place with a fixed chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.io.options import real
from rerank.statistics.base import Floats, Number, RankStatistic


@dataclass(frozen=True, repr=False)
class RBP(RankStatistic):
    """Rank-biased precision, place j earns ``(1 - p) p^(j-1)`` [MoffatZobel2008].

    The reader goes from each place to the next with probability ``p``; the value is the mean number of relevant rows
    that the reader sees, over the mean number of rows.
    """

    p: float
    stem: ClassVar[str] = "rbp"
    number: ClassVar[Number] = Number("P", "a probability", float, "0.8")
    binary: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", real("The persistence of rbp", self.p, 0.0, 1.0, positive=True))

    def _coefficients(self, n: int) -> Floats:
        # Where p is within rounding of 1, two powers may round to the wrong order.
        return np.maximum.accumulate((1.0 - self.p) * self.p ** np.arange(n - 1, -1, -1.0))
