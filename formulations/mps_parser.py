"""Read linear ``.mps`` files strictly: what readers understand differently is an error with its line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from formulations.errors import FileFormatError
from formulations.mps_lines import HUGE

if TYPE_CHECKING:
    from formulations.compile import Program

LARGEST_FILE = 2**30
"""Bytes; larger files are refused before they are read."""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d{1,4})?")

INFINITE = frozenset({"inf", "+inf", "infinity", "+infinity", "-inf", "-infinity"})


def file_bytes(path: str | PathLike[str], largest: int = LARGEST_FILE) -> bytes:
    """Content of a file whose size was looked at first."""
    target = Path(path)
    try:
        size = target.stat().st_size
        if size > largest:
            raise FileFormatError(f"{target.name} has {size} bytes; at most {largest} are read.")
        return target.read_bytes()
    except OSError as error:
        raise FileFormatError(
            f"{target} cannot be read: {error.strerror}; give the path of an existing file."
        ) from error


def parse(content: bytes, source: str) -> Program:
    """The program that a file states, maximising: costs are negated unless the file says MAX.

    Free format and the fixed format without blanks in names; sections NAME, OBJSENSE, ROWS, COLUMNS, RHS,
    RANGES, BOUNDS and ENDATA; the first N row is the objective, other N rows are dropped.

    Raises
    ------
    FileFormatError
        Naming ``source`` and the line.
    """
    return _Parser(source).read(content)


@dataclass
class _Column:
    whole: bool
    lower: float | None = None
    upper: float | None = None
    line: int = 0


@dataclass
class _Parser:
    source: str
    number: int = 0
    section: str = ""
    seen: list[str] = field(default_factory=list)
    name: str = ""
    maximise: bool = False
    objective: str | None = None
    ignored: set[str] = field(default_factory=set)
    kinds: dict[str, str] = field(default_factory=dict)
    columns: dict[str, _Column] = field(default_factory=dict)
    current: str = ""
    in_current: set[str] = field(default_factory=set)
    whole: bool = False
    cost: dict[str, float] = field(default_factory=dict)
    entries: tuple[list[int], list[int], list[float]] = field(default_factory=lambda: ([], [], []))
    row_index: dict[str, int] = field(default_factory=dict)
    rhs: dict[str, float] = field(default_factory=dict)
    ranges: dict[str, float] = field(default_factory=dict)

    def read(self, content: bytes) -> Program:
        sections: dict[str, Callable[[list[str]], None]] = {
            "OBJSENSE": self._objsense, "ROWS": self._row, "COLUMNS": self._entry,
            "RHS": self._rhs, "RANGES": self._range, "BOUNDS": self._bound,
        }  # fmt: skip
        for number, raw in enumerate(content.splitlines(), start=1):
            self.number = number
            line = self._text(raw)
            if not line.strip() or line.startswith("*"):
                continue
            if self.section == "ENDATA":
                raise self._error("something follows ENDATA; end the file there")
            if not line[0].isspace():
                self._open(line.split(), sections)
            elif self.section in sections:
                sections[self.section](line.split())
            else:
                raise self._error("data stand before the first section; start with NAME and ROWS")
        if self.section != "ENDATA":
            raise self._error("the file ends without ENDATA; it is cut short")
        return self._program()

    def _text(self, raw: bytes) -> str:
        try:
            line = raw.decode("ascii")
        except UnicodeDecodeError:
            raise self._error("a byte is not ASCII; write plain names") from None
        if not line.replace("\t", " ").isprintable():
            raise self._error("a control character stands in the line; this is no .mps file")
        return line

    def _open(self, words: list[str], sections: dict[str, Callable[[list[str]], None]]) -> None:
        title = words[0].upper()
        if title in self.seen:
            raise self._error(f"a second section {title} begins; each stands once")
        if title not in sections and title not in ("NAME", "ENDATA"):
            raise self._error(f"the section {words[0]!r} is not part of a linear program")
        needs = {
            "COLUMNS": "ROWS",
            "RHS": "COLUMNS",
            "RANGES": "COLUMNS",
            "BOUNDS": "COLUMNS",
            "ENDATA": "COLUMNS",
        }
        if needs.get(title, title) not in (*self.seen, title) or (
            title == "OBJSENSE" and "COLUMNS" in self.seen
        ):
            raise self._error(f"the section {title} stands before {needs.get(title, 'its place')}")
        self.section = title
        self.seen.append(title)
        if title == "NAME":
            self.name = words[1] if len(words) > 1 else ""
        elif title == "OBJSENSE" and len(words) > 1:
            self._objsense(words[1:])
        elif len(words) > 1:
            raise self._error(f"words follow the section title {title}; data lines begin with a blank")

    def _objsense(self, words: list[str]) -> None:
        sense = words[0].upper()
        if len(words) != 1 or sense not in ("MAX", "MAXIMIZE", "MAXIMISE", "MIN", "MINIMIZE", "MINIMISE"):
            raise self._error("the sense must be MAX or MIN")
        self.maximise = sense.startswith("MAX")

    def _row(self, words: list[str]) -> None:
        kind = words[0].upper()
        if len(words) != 2 or kind not in ("N", "L", "G", "E"):
            raise self._error("a row is one of N, L, G, E and a name")
        name = words[1]
        if name in self.kinds or name in self.ignored or name == self.objective:
            raise self._error(f"the row {name!r} stands twice")
        if kind != "N":
            self.row_index[name] = len(self.kinds)
            self.kinds[name] = kind
        elif self.objective is None:
            self.objective = name
        else:
            self.ignored.add(name)

    def _entry(self, words: list[str]) -> None:
        if len(words) == 3 and words[1].strip("'").upper() == "MARKER":
            mark = words[2].strip("'").upper()
            if mark not in ("INTORG", "INTEND") or (mark == "INTORG") == self.whole:
                raise self._error(
                    f"the marker {words[2]} is unknown, opens a second time, or closes what is not open"
                )
            self.whole = mark == "INTORG"
            return
        if len(words) not in (3, 5):
            raise self._error(
                "an entry is a column and one or two pairs of row and number; names hold no blanks"
            )
        name = words[0]
        if name != self.current:
            if name in self.columns:
                raise self._error(f"the column {name!r} comes back after another; its entries stand together")
            self.columns[name] = _Column(self.whole, line=self.number)
            self.current, self.in_current = name, set()
        for row, text in zip(words[1::2], words[2::2], strict=True):
            self._value(row, self._number(text))

    def _value(self, row: str, value: float) -> None:
        if row in self.in_current:
            raise self._error(f"the column {self.current!r} has two entries in the row {row!r}")
        self.in_current.add(row)
        if row in self.row_index:
            i, j, v = self.entries
            i.append(self.row_index[row])
            j.append(len(self.columns) - 1)
            v.append(value)
        elif row == self.objective:
            self.cost[self.current] = value
        elif row not in self.ignored:
            raise self._error(f"the row {row!r} is not declared in ROWS")

    def _pairs(self, words: list[str]) -> list[tuple[str, float]]:
        if len(words) not in (2, 3, 4, 5):
            raise self._error("a line here is a set name and one or two pairs of row and number")
        kept = words[len(words) % 2 :]
        return [(row, self._number(text)) for row, text in zip(kept[::2], kept[1::2], strict=True)]

    def _rhs(self, words: list[str]) -> None:
        for row, value in self._pairs(words):
            if row not in self.row_index and row != self.objective and row not in self.ignored:
                raise self._error(f"the row {row!r} is not declared in ROWS")
            if row in self.rhs:
                raise self._error(f"the row {row!r} has two right-hand sides")
            self.rhs[row] = value

    def _range(self, words: list[str]) -> None:
        for row, value in self._pairs(words):
            if row not in self.row_index:
                raise self._error(f"the row {row!r} is not declared in ROWS, or has no side")
            if row in self.ranges:
                raise self._error(f"the row {row!r} has two ranges")
            self.ranges[row] = value

    def _bound(self, words: list[str]) -> None:
        kind = words[0].upper()
        bare = kind in ("FR", "MI", "PL", "BV")
        if kind not in ("FR", "MI", "PL", "BV", "LO", "UP", "FX", "LI", "UI"):
            raise self._error(f"the bound type {words[0]!r} is unknown; semi-continuous columns are not read")
        if len(words) not in ((2, 3, 4) if bare else (3, 4)):
            raise self._error(
                "a bound is a type, a set name, a column and, where the type needs one, a number"
            )
        name = words[min(2, len(words) - 1)] if bare else words[-2]
        if name not in self.columns:
            raise self._error(f"the column {name!r} is not declared in COLUMNS")
        column = self.columns[name]
        value = 0.0 if bare else self._number(words[-1], infinite=True)
        low = {"FR": -math.inf, "MI": -math.inf, "BV": 0.0, "LO": value, "LI": value, "FX": value}.get(kind)
        high = {"FR": math.inf, "PL": math.inf, "BV": 1.0, "UP": value, "UI": value, "FX": value}.get(kind)
        if (low is not None and column.lower is not None) or (high is not None and column.upper is not None):
            raise self._error(f"the column {name!r} gets a bound twice")
        column.whole = column.whole or kind in ("BV", "LI", "UI")
        column.lower = column.lower if low is None else low
        column.upper = column.upper if high is None else high
        column.line = self.number

    def _number(self, text: str, infinite: bool = False) -> float:
        if infinite and text.lower() in INFINITE:
            return -math.inf if text[0] == "-" else math.inf
        if len(text) > 400 or not NUMBER.fullmatch(text):
            raise self._error(f"{text[:40]!r} is no number")
        value = float(text.replace("d", "e").replace("D", "e"))
        if infinite and abs(value) >= HUGE:
            return math.copysign(math.inf, value)
        if not math.isfinite(value):
            raise self._error(f"{text[:40]!r} is too large for a double")
        return value

    def _error(self, what: str) -> FileFormatError:
        return FileFormatError(f"{self.source}, line {self.number}: {what}.")

    def _program(self) -> Program:
        from formulations.compile import Program

        if self.objective is None:
            raise self._error("no N row is the objective")
        if self.whole:
            raise self._error("the marker INTORG is never closed by INTEND")
        limits = np.array([self._limits(name, column) for name, column in self.columns.items()]).reshape(
            -1, 2
        )
        sides = np.array([self._sides(row, kind) for row, kind in self.kinds.items()]).reshape(-1, 2)
        i, j, values = self.entries
        shape = (len(self.kinds), len(self.columns))
        matrix = sparse.csr_array(
            sparse.coo_array(
                (np.array(values, dtype=np.float64), (np.array(i, np.int32), np.array(j, np.int32))), shape
            )
        )
        matrix.sort_indices()
        cost = np.array([self.cost.get(name, 0.0) for name in self.columns], dtype=np.float64)
        # A right-hand side of the objective is its constant with the sign turned.
        constant = -self.rhs.get(self.objective, 0.0)
        sign = 1.0 if self.maximise else -1.0
        return Program(
            name=self.name,
            cost=sign * cost + 0.0,
            offset=sign * constant + 0.0,
            matrix=matrix,
            row_lower=sides[:, 0],
            row_upper=sides[:, 1],
            lower=limits[:, 0],
            upper=limits[:, 1],
            integer=np.array([column.whole for column in self.columns.values()], dtype=bool),
            columns=tuple(self.columns),
            rows=tuple(self.kinds),
            weights=np.empty(0, dtype=np.intp),
        )

    def _limits(self, name: str, column: _Column) -> tuple[float, float]:
        self.number = column.line
        if column.whole and column.upper is None:
            raise self._error(
                f"the integer column {name!r} has no upper bound: readers disagree between 1 and none"
            )
        if column.lower is None and column.upper is not None and column.upper < 0:
            raise self._error(
                f"the column {name!r} has a negative upper and no lower bound: readers disagree on it"
            )
        low = 0.0 if column.lower is None else column.lower
        high = math.inf if column.upper is None else column.upper
        if not low <= high or low == math.inf or high == -math.inf:
            raise self._error(f"the column {name!r} has the bounds {low} and {high}, which nothing satisfies")
        return low, high

    def _sides(self, row: str, kind: str) -> tuple[float, float]:
        side = self.rhs.get(row, 0.0)
        if row not in self.ranges:
            return (-math.inf if kind == "L" else side), (math.inf if kind == "G" else side)
        width = self.ranges[row]
        if kind == "E":
            return min(side, side + width), max(side, side + width)
        return (side - abs(width), side) if kind == "L" else (side, side + abs(width))
