"""What every dialect of solution files needs: lines in, values or an error with its line out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Lines = Sequence[tuple[int, str]]
"""Lines that are not blank, with their numbers."""


@dataclass
class Raw:
    """What one dialect says: values by name, or in the order of the columns, and its objective if it states one."""

    status: str
    named: dict[str, float] | None = None
    listed: list[float] | None = None
    omits_zeros: bool = False
    objective: float | None = None


class UnreadableError(Exception):
    """What is wrong, and in which line."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


class PointlessError(UnreadableError):
    """The file can be read and holds no feasible point; ``status`` is why, in the solver's words."""

    def __init__(self, line: int, solver: str, status: str) -> None:
        super().__init__(line, f"it holds no feasible point; {solver} says {status!r}")
        self.status = status


def after(title: str, lines: Lines) -> str:
    """The rest of the first line that begins with a title; empty if there is none."""
    return next((line[len(title) :].strip() for _, line in lines if line.startswith(title)), "")


def stated(text: str) -> float | None:
    """The objective that begins a text; None where there is none."""
    try:
        value = float((text.split() or [""])[0])
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def finite(line: int, text: str) -> float:
    """The number of a text."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in text:
        raise UnreadableError(line, f"{text[:40]!r} is no finite number")
    return value + 0.0


def store(named: dict[str, float], line: int, name: str, text: str) -> None:
    """Enter the value of a column, which must have none yet."""
    if name in named:
        raise UnreadableError(line, f"the column {name!r} has two values")
    named[name] = finite(line, text)


@dataclass(frozen=True)
class Dialect:
    """One form of solution file.

    Attributes
    ----------
    solver : str
        Who writes it.
    recognise : callable
        Whether lines are of this form.
    read : callable
        What they say.
    """

    solver: str
    recognise: Callable[[Lines], bool]
    read: Callable[[Lines], Raw]
