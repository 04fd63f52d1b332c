r"""Statistics made of others: of a share of the list, and of lists of another length.

For lists of ``m`` rows and a training list of ``n``, with ``c_1 >= c_2 >= ...`` what the places of the list to come
earn, the list to come is a random part of the training list, or the training list a random part of it:

- ``m < n``: each row above stays with probability ``m / n``, so place ``p`` earns ``E[c_(1 + B)]`` with ``B``
  binomial(p - 1, m / n).
- ``m > n``: place ``q`` stands for the places from ``(q - 1) m / n`` to ``q m / n`` and earns their mean.

Both averages fall with the place, so they are again rank statistics.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from rerank.errors import InputError
from rerank.io.options import whole
from rerank.statistics.base import Floats, RankStatistic
from rerank.statistics.catalogue import Window


@dataclass(frozen=True, repr=False)
class Share(RankStatistic):
    """A statistic of N places with N a share of the rows of a list, at least 1.

    Parameters
    ----------
    statistic : RankStatistic
        One with places, such as ``Precision(at=1)``; its own number does not matter.
    percent : float
        Above 0 and below 100.
    """

    statistic: RankStatistic
    percent: float
    stem = "share"
    by_share: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.percent < 100:
            raise InputError(
                f"The share of a list is {self.percent:g} %; it must be above 0 % and below 100 %, such as 2 %."
            )
        if self.statistic.depth is None:
            raise InputError(f"{self.statistic.name} has no places that a share could count; use precision@2%.")
        object.__setattr__(self, "statistic", replace(self.statistic, at=1))  # type: ignore[type-var]
        self._shown_as(self.statistic, "normalised", "binary", "per_relevant")

    @property
    def name(self) -> str:
        """Such as ``"precision@2%"``, which :func:`rerank.statistics.parse` reads."""
        return f"{self.statistic.name.rpartition('@')[0]}@{self.percent:g}%"

    def of(self, n: int) -> Any:
        """The statistic of a list of ``n`` rows, with its number of places."""
        return replace(self.statistic, at=max(1, round(n * self.percent / 100)))  # type: ignore[type-var]

    def _coefficients(self, n: int) -> Floats:
        found: Floats = self.of(n).coefficients(n)
        return found


LONGEST = 10**8  # rows of a list whose places are still held in memory


@dataclass(frozen=True, repr=False)
class InLists(RankStatistic):
    """The expected statistic of lists of ``rows`` rows, for a training list of another length.

    Parameters
    ----------
    statistic : RankStatistic
        What is paid in lists of that length.
    rows : int
        Number of rows of the lists to come.
    """

    statistic: RankStatistic
    rows: int
    stem = "inlists"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", whole("list_length", self.rows, 1, LONGEST))
        if self.statistic.weighs_hits:
            raise InputError(
                f"list_length is {self.rows}, and {self.statistic.name} pays several relevant rows at once, which has "
                "no average by places; leave it out, or use a statistic such as 'dcg@10'."
            )
        if self.statistic.length is not None:
            raise InputError(
                f"list_length is {self.rows}, and the coefficients of stat are for lists of {self.statistic.length} "
                "rows; give a statistic by name, such as 'dcg@10'."
            )
        self._shown_as(self.statistic, "normalised", "binary", "per_relevant")

    @property
    def name(self) -> str:
        """Such as ``"dcg@10 in lists of 500"``, which :func:`rerank.statistics.parse` reads."""
        return f"{self.statistic.name} in lists of {self.rows}"

    def _coefficients(self, n: int) -> Floats:
        places = self.statistic.coefficients(self.rows)[::-1]
        if n == 0 or n == self.rows:
            return places[:n][::-1].copy()
        if n > self.rows:
            # A sub-list may by chance be longer than its mean; its last places earn what the last place earns.
            longer = np.concatenate([places, np.full(n - self.rows, places[-1])])
            return _thinned(longer, self.rows / n)[::-1].copy()
        total = np.concatenate([[0.0], np.cumsum(places)])
        ends = np.interp(np.arange(n + 1) * (self.rows / n), np.arange(self.rows + 1), total)
        return np.minimum.accumulate(np.maximum(np.diff(ends) * (n / self.rows), 0.0))[::-1].copy()


def _thinned(by_position: Floats, rho: float) -> Floats:
    """What each position earns on average if each one above it is kept with probability ``rho``; from the top."""
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


def fitted_statistic(statistic: RankStatistic, window: float | None, list_length: int | None) -> RankStatistic:
    """What a fit maximises that is judged by ``statistic``: around its depth, and for lists of the length to come."""
    fitted = statistic
    if window is not None and isinstance(statistic, Share):
        fitted = Share(Window(1, window), statistic.percent)
    elif window is not None:
        if statistic.depth is None:
            raise InputError(
                f"window is {window}, and {statistic.name} has no depth to put it around; leave it out, or use a "
                "statistic such as 'precision@100'."
            )
        fitted = Window(statistic.depth, window)
    if list_length is not None:
        averaged = InLists(fitted, list_length)
        fitted = fitted if statistic.counts_pairs else averaged  # AUC is the same in lists of every length
    return fitted
