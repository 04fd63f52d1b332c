"""The sum of reciprocal positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.statistics.base import Floats, RankStatistic


@dataclass(frozen=True, repr=False)
class MRR(RankStatistic):
    """1/position summed over all relevant items, ``a_l = 1/(n - l + 1)`` [RudinWang2018, sec. 2.2].

    Not the reciprocal rank of the first hit, which depends on more than one item's rank: that is
    :func:`rerank.ranks.measures.reciprocal_rank`.
    """

    stem: ClassVar[str] = "mrr"
    remark: ClassVar[str] = (
        "mrr is the paper's sum of 1/position over all relevant items; the field's MRR, of the first one, is rr, and "
        "MRR@10 is rr@10."
    )

    def _coefficients(self, n: int) -> Floats:
        return 1.0 / np.arange(n, 0, -1.0)
