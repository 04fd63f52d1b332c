"""A statistic whose places are a share of the list: the first 2 % of a list of any length."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rerank.errors import InputError
from rerank.statistics.base import Floats, RankStatistic


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
    stem: ClassVar[str] = "share"
    by_share: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.percent < 100:
            raise InputError(
                f"The share of a list is {self.percent:g} %; it must be above 0 % and below 100 %, such as 2 %."
            )
        if self.statistic.depth is None:
            raise InputError(f"{self.statistic.name} has no places that a share could count; use precision@2%.")
        object.__setattr__(self, "statistic", replace(self.statistic, at=1))  # type: ignore[type-var]

    @property
    def name(self) -> str:
        """Such as ``"precision@2%"``, which :func:`rerank.statistics.parse` reads."""
        return f"{self.statistic.name.rpartition('@')[0]}@{self.percent:g}%"

    @property
    def normalised(self) -> bool:  # type: ignore[override]
        """As the statistic of so many places."""
        return self.statistic.normalised

    @property
    def binary(self) -> bool:  # type: ignore[override]
        """As the statistic of so many places."""
        return self.statistic.binary

    @property
    def per_relevant(self) -> bool:  # type: ignore[override]
        """As the statistic of so many places."""
        return self.statistic.per_relevant

    @property
    def depth(self) -> None:
        """None: how many places count depends on the length of the list."""
        return

    @property
    def counts_places(self) -> bool:
        """Yes."""
        return True

    def of(self, n: int) -> Any:
        """The statistic of a list of ``n`` rows, with its number of places."""
        return replace(self.statistic, at=max(1, round(n * self.percent / 100)))  # type: ignore[type-var]

    def _coefficients(self, n: int) -> Floats:
        found: Floats = self.of(n).coefficients(n)
        return found
