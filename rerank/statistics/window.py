"""Hits around a depth, paid less and less with their place."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.errors import InputError
from rerank.io.options import real
from rerank.statistics.base import PLACES, Floats, Number, RankStatistic, check_cut_off

NAME = re.compile(r"window(\d+(?:\.\d+)?)?$")


@dataclass(frozen=True, repr=False)
class Window(RankStatistic):
    """The mean of precision at depths around ``at``: place p earns ``clip((c at - p) / (c at - at / c), 0, 1)``.

    That is 1 down to place ``at / c`` and 0 from place ``c at`` on; ``c = 1`` is precision. Its name is ``window2@N``
    for ``c = 2``.
    """

    at: int
    c: float = 2.0
    stem: ClassVar[str] = "window2"
    aliases: ClassVar[tuple[str, ...]] = ("window",)
    number: ClassVar[Number] = PLACES

    def __post_init__(self) -> None:
        check_cut_off(self)
        object.__setattr__(self, "c", real("The width c of a window", self.c, 1.0))

    def _coefficients(self, n: int) -> Floats:
        place = np.arange(n, 0, -1, dtype=np.float64)
        if self.c == 1.0:
            return (place <= self.at).astype(np.float64)
        ends = self.at / self.c, self.c * self.at
        return np.clip((ends[1] - place) / (ends[1] - ends[0]), 0.0, 1.0)

    @property
    def depth(self) -> int:
        """Places from the top that count."""
        return self.at if self.c == 1.0 else math.ceil(self.c * self.at) - 1

    @property
    def name(self) -> str:
        """The form that :func:`rerank.statistics.parse` reads."""
        return f"window{self.c:g}@{self.at}"

    @classmethod
    def read(cls, stem: str, argument: str) -> Window:
        """The window of a name's two parts.

        Raises
        ------
        InputError
            For another text than a width and a number of places.
        """
        match = NAME.match(stem)
        if match is None or not argument.isdigit():
            raise InputError(f"'{stem}@{argument}' is no window; write a width and a depth, such as 'window2@100'.")
        return cls(int(argument), float(match[1] or 2.0))
