"""Powers of the rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.io.options import real
from rerank.statistics.base import Floats, Number, RankStatistic


@dataclass(frozen=True, repr=False)
class PNorm(RankStatistic):
    """``a_l = (l/n)^p``, after the p-norm push [Rudin2009]; divided by ``n^p`` to keep the numbers small."""

    p: float
    stem: ClassVar[str] = "pnorm"
    number: ClassVar[Number] = Number("P", "a power", float, "4")

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", real("The power of pnorm", self.p, 0.0, positive=True))

    def _coefficients(self, n: int) -> Floats:
        return (np.arange(1.0, n + 1) / max(n, 1)) ** self.p
