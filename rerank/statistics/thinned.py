r"""Thinning: a rank statistic averaged over lists from which items have been dropped at random.

Many weights have the same value at the top ten places of the training list, and which of them are best there is
largely chance.  Thinning makes the lower places count as well: each item above a given one stays in the list with
probability ``rho``.  The item at position ``p`` then stands at position ``1 + B`` with ``B`` binomial(p - 1, rho),
and its expected coefficient is

    a'_(position p) = sum_b  P[B = b] * a_(position 1 + b).

``B`` grows with ``p`` and ``a`` falls with the position, so the average is still non-decreasing in the rank.  It
is again a conditional linear rank statistic, and everything exact about those holds for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from rerank.errors import InputError
from rerank.statistics.base import Floats, RankStatistic, ideal, presentation


@dataclass(frozen=True, repr=False)
class Thinned(RankStatistic):
    """A statistic averaged over lists in which each item above is kept with probability ``rho``.

    Parameters
    ----------
    statistic : RankStatistic
        What is paid in the thinned list.
    rho : float
        Probability in (0, 1] that an item above stays; 1 changes nothing.
    """

    statistic: RankStatistic
    rho: float
    stem: ClassVar[str] = "thinned"

    def __post_init__(self) -> None:
        if not isinstance(self.rho, int | float) or not 0 < self.rho <= 1:
            raise InputError(
                f"thinning is {self.rho!r}; it must be None or a probability above 0 and at most 1."
            )
        if self.statistic.weighs_hits:
            raise InputError(
                f"thinning averages what each place earns, and {self.statistic.name} looks at several relevant rows at "
                "once; leave thinning out."
            )
        object.__setattr__(self, "rho", float(self.rho))

    @property
    def binary(self) -> bool:  # type: ignore[override]
        """That of the statistic which is averaged."""
        return self.statistic.binary

    @property
    def length(self) -> int | None:
        """That of the statistic which is averaged."""
        return self.statistic.length

    @property
    def name(self) -> str:
        """Such as ``"dcg@10 thinned to 0.8"``; which :func:`rerank.statistics.parse` reads."""
        return f"{self.statistic.name} thinned to {self.rho!r}"

    @property
    def depth(self) -> int | None:
        """Of the statistic in the thinned list."""
        return self.statistic.depth

    def coefficients(self, n: int) -> Floats:
        """``a'_1..a'_n``, averaged over the binomial number of items kept above."""
        return _thinned(self.statistic, self.rho, n).copy()

    def _presentation(self, gains: Floats) -> tuple[float, float]:
        if not self.statistic.normalised:
            return presentation(self.statistic, gains.size, gains)
        if self.statistic.counts_pairs:
            # E[position] is linear in the position, so the pairs are those of AUC, each worth rho.
            offset, scale = presentation(self.statistic, gains.size, gains)
            missing = (1.0 - self.rho) * gains.size * float(np.sum(gains))
            return self.rho * offset + missing, self.rho * scale
        return 0.0, ideal(self, gains.size, gains)


@lru_cache(maxsize=64)
def _thinned(statistic: RankStatistic, rho: float, n: int) -> Floats:
    by_position = statistic.coefficients(n)[::-1]
    if rho == 1.0 or n == 0:
        return by_position[::-1].copy()
    return expected(by_position, rho)[::-1]


def expected(by_position: Floats, rho: float) -> Floats:
    """What each position earns on average if each one above it is kept with probability ``rho``.

    Parameters
    ----------
    by_position : float64 array (n,)
        What positions 1..n earn, non-increasing.
    rho : float
    """
    n = by_position.size
    paid = int(np.count_nonzero(by_position > 0))
    result = np.zeros(n)
    law = np.ones(1)
    first = 0
    for position in range(n):
        result[position] = float(law @ by_position[first : first + law.size])
        law = np.convolve(law, (1.0 - rho, rho))
        # Probabilities below 1e-18 at either end are dropped: over n rounds they add less than a rounding error.
        kept = np.flatnonzero(law > 1e-18)
        first += int(kept[0])
        law = law[kept[0] : kept[-1] + 1]
        if first >= paid:
            break
    return np.maximum.accumulate(result[::-1])[::-1]
