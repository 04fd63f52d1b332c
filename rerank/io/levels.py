"""The values of a category: equal numbers are one level, whatever their type, and so are equal texts.

A category changes its type on its way: whole numbers become floats by one gap, decimals and texts by a database or a
CSV file. So numbers and truth values are known by their value, and a text is itself: "1.10" is not "1.1". Where texts
and numbers meet, a number is the text that Python writes for it: "1" or "1.0" for 1, "True" for a truth value.
"""

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from rerank.io.lines import TRUTH, number

Level = float | int | str  # int: a whole number that is no double
MOST_DIGITS = 1e22  # whole numbers below are written with all of their digits, as files have integers


def level_of(entry: Any) -> Level:
    """The level of a value that is not missing: a finite number, or the text of anything else.

    A number of single precision is what its shortest digits say, and so is the double that equals it: files hold these
    digits.
    """
    if isinstance(entry, str | np.timedelta64) or not isinstance(entry, Real | Decimal | np.bool_):
        return str(entry)
    try:
        value = float(entry)
    except OverflowError:
        return str(entry)
    if not math.isfinite(value):
        return str(entry)
    if abs(value) >= 2.0**53:
        whole = int(entry)  # type: ignore[arg-type]
        return value if whole == value else whole
    single = _single(value)
    return float(str(single)) if not value.is_integer() and float(single) == value else value


def _single(value: float) -> np.float32:
    with np.errstate(over="ignore", under="ignore"):
        return np.float32(value)


def _key(entry: Any) -> Any:
    """What tells values apart: 1 and True are written in different ways."""
    return (type(entry), entry) if type(entry).__hash__ is not None else str(entry)


def doubles(value: float) -> tuple[float, ...]:
    """The doubles that are the level of a number: its digits, and these in single precision."""
    own, single = float(level_of(value)), float(_single(value))
    return (own, single) if single != own == level_of(single) else (own,)


def name_of(level: Level | None) -> str:
    """A level as a person writes it: ``60``, ``.5`` as ``0.5``, texts as they are."""
    if isinstance(level, float) and level.is_integer() and abs(level) < MOST_DIGITS:
        return str(int(level))
    return str(level)


def number_of(text: str) -> float | int | None:
    """The number that a text stands for among numbers and truth values; None for other texts."""
    try:
        found = number(text)
    except ValueError:
        return TRUTH.get(text)
    if not math.isfinite(found):
        return None
    if text in (name_of(found), repr(found)):
        return found
    exact = int(text) if text.removeprefix("-").isdecimal() and len(text) < 40 else 0
    return exact if str(exact) == text and exact != found else None


class Places:
    """Finds which of some levels a value is."""

    def __init__(self, levels: Sequence[Level]) -> None:
        self._texts = {name_of(level): place for place, level in enumerate(levels)}
        self._numbers = {level_of(level): place for place, level in enumerate(levels) if not isinstance(level, str)}
        self._known: dict[Any, int | None] = {}
        numeric = [number_of(level) for level in levels if isinstance(level, str)]
        self.numeric = len(numeric) < len(levels) or any(number is not None for number in numeric)

    def __getitem__(self, entry: Any) -> int | None:
        """The place of the level that a value is; None if it is none of them."""
        key = _key(entry)
        if key not in self._known:
            self._known[key] = self._place(entry)
        return self._known[key]

    def _place(self, entry: Any) -> int | None:
        level = level_of(entry)
        if isinstance(level, str):
            return self._texts.get(level)
        # Of texts first what the type itself writes, by which files of earlier versions know a number.
        each = [str(entry), name_of(level), str(level), *([str(bool(level))] if level in (0, 1) else [])]
        found = [self._numbers.get(level), *map(self._texts.get, each)]
        return next((place for place in found if place is not None), None)


def counted(values: Iterable[tuple[Any, float]]) -> dict[Level, float]:
    """The weight of each level among values with weights, none missing: all levels are numbers, or all are texts."""
    counts: dict[Level, float] = {}
    level: dict[Any, Level] = {}
    written: dict[Level, str] = {}
    for entry, weight in values:
        key = _key(entry)
        if key not in level:
            own = level[key] = level_of(entry)
            text = str(entry)
            written.setdefault(own, text if number_of(text) is not None else name_of(own))
        counts[level[key]] = counts.get(level[key], 0.0) + weight
    if not any(isinstance(level, str) for level in counts):
        return counts
    texts: dict[Level, float] = {}
    for own, weight in counts.items():
        name = name_of(own) if name_of(own) in counts else written[own]
        texts[name] = texts.get(name, 0.0) + weight
    return texts
