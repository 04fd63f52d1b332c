"""Discounted cumulative gain, raw and as a fraction of its ideal."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rerank.statistics.base import PLACES, Floats, Number, RankStatistic, check_cut_off


@dataclass(frozen=True, repr=False)
class DCG(RankStatistic):
    """Discounted cumulative gain, ``a_l = 1/log2(n - l + 2)``, of the top ``at`` places or of all.

    Source: [JarvelinKekalainen2002], with the discount log2(1 + position) of [Burges2006].
    """

    at: int | None = None
    stem: ClassVar[str] = "dcg"
    number: ClassVar[Number] = replace(PLACES, optional=True)

    def __post_init__(self) -> None:
        if self.at is not None:
            check_cut_off(self)

    def _coefficients(self, n: int) -> Floats:
        top = n if self.at is None else min(self.at, n)
        # math.log2, not np.log2: numpy picks a vector routine by processor, so the last bit would depend on the
        # machine and a certificate made on one could not be repeated on another.
        a = np.zeros(n)
        a[n - top :] = [1.0 / math.log2(position + 1) for position in range(top, 0, -1)]
        return a


@dataclass(frozen=True, repr=False)
class NDCG(DCG):
    """DCG presented as a fraction of the list's ideal DCG [JarvelinKekalainen2002]."""

    stem: ClassVar[str] = "ndcg"
    normalised: ClassVar[bool] = True
