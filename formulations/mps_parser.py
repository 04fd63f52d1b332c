"""Read linear ``.mps`` files strictly: what readers understand differently is an error with its line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO

from formulations.mps_contents import Column, Contents
from formulations.mps_lines import HUGE
from formulations.program import Program

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d{1,4})?")

MOST_NAMES = 2**21
"""Rows and columns of a program; each takes some hundred bytes of memory."""

INFINITE = frozenset({"inf", "+inf", "infinity", "+infinity", "-inf", "-infinity"})


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
class _Parser(Contents):
    section: str = ""
    seen: list[str] = field(default_factory=list)
    ignored: set[str] = field(default_factory=set)
    current: str = ""
    in_current: set[str] = field(default_factory=set)

    def read(self, content: bytes) -> Program:
        sections: dict[str, Callable[[list[str]], None]] = {
            "OBJSENSE": self._objsense, "ROWS": self._row, "COLUMNS": self._entry,
            "RHS": self._rhs, "RANGES": self._range, "BOUNDS": self._bound,
        }  # fmt: skip
        # Line by line: a list of all lines would take many times the memory of the file.
        for number, raw in enumerate(BytesIO(content), start=1):
            self.number = number
            if len(self.kinds) + len(self.columns) + len(self.ignored) > MOST_NAMES:
                raise self.error(
                    f"there are more than {MOST_NAMES} rows and columns; no such program is read"
                )
            line = self._text(raw.rstrip(b"\r\n"))
            if not line.strip() or line.startswith("*"):
                continue
            if self.section == "ENDATA":
                raise self.error("something follows ENDATA; end the file there")
            if not line[0].isspace():
                self._open(line.split(), sections)
            elif self.section in sections:
                sections[self.section](line.split())
            else:
                raise self.error("data stand before the first section; start with NAME and ROWS")
        if self.section != "ENDATA":
            raise self.error("the file ends without ENDATA; it is cut short")
        return self.program()

    def _text(self, raw: bytes) -> str:
        try:
            line = raw.decode("ascii")
        except UnicodeDecodeError:
            raise self.error("a byte is not ASCII; write plain names") from None
        if not line.replace("\t", " ").isprintable():
            raise self.error("a control character stands in the line; this is no .mps file")
        return line

    def _open(self, words: list[str], sections: dict[str, Callable[[list[str]], None]]) -> None:
        title = words[0].upper()
        if title in self.seen:
            raise self.error(f"a second section {title} begins; each stands once")
        if title not in sections and title not in ("NAME", "ENDATA"):
            raise self.error(f"the section {words[0]!r} is not part of a linear program; pass an .mps file")
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
            raise self.error(f"the section {title} stands before {needs.get(title, 'its place')}")
        self.section = title
        self.seen.append(title)
        if title == "NAME":
            self.name = words[1] if len(words) > 1 else ""
        elif title == "OBJSENSE" and len(words) > 1:
            self._objsense(words[1:])
        elif len(words) > 1:
            raise self.error(f"words follow the section title {title}; data lines begin with a blank")

    def _objsense(self, words: list[str]) -> None:
        sense = words[0].upper()
        if len(words) != 1 or sense not in ("MAX", "MAXIMIZE", "MAXIMISE", "MIN", "MINIMIZE", "MINIMISE"):
            raise self.error("the sense must be MAX or MIN")
        self.maximise = sense.startswith("MAX")

    def _row(self, words: list[str]) -> None:
        kind = words[0].upper()
        if len(words) != 2 or kind not in ("N", "L", "G", "E"):
            raise self.error("a row is one of N, L, G, E and a name")
        name = words[1]
        if name in self.kinds or name in self.ignored or name == self.objective:
            raise self.error(f"the row {name!r} stands twice")
        if kind != "N":
            self.index[name] = len(self.kinds)
            self.kinds[name] = kind
        elif self.objective is None:
            self.objective = name
        else:
            self.ignored.add(name)

    def _entry(self, words: list[str]) -> None:
        if len(words) == 3 and words[1].strip("'").upper() == "MARKER":
            mark = words[2].strip("'").upper()
            if mark not in ("INTORG", "INTEND") or (mark == "INTORG") == self.whole:
                raise self.error(
                    f"the marker {words[2]} is unknown, opens a second time, or closes what is not open"
                )
            self.whole = mark == "INTORG"
            return
        if len(words) not in (3, 5):
            raise self.error(
                "an entry is a column and one or two pairs of row and number; names hold no blanks"
            )
        name = words[0]
        if name != self.current:
            if name in self.columns:
                raise self.error(f"the column {name!r} comes back after another; its entries stand together")
            self.columns[name] = Column(self.whole, line=self.number)
            self.current, self.in_current = name, set()
        for row, text in zip(words[1::2], words[2::2], strict=True):
            self._value(row, self._number(text))

    def _value(self, row: str, value: float) -> None:
        if row in self.in_current:
            raise self.error(f"the column {self.current!r} has two entries in the row {row!r}")
        self.in_current.add(row)
        if row in self.kinds:
            rows, columns, values = self.entries
            rows.append(self.index[row])
            columns.append(len(self.columns) - 1)
            values.append(value)
        elif row == self.objective:
            self.cost[self.current] = value
        elif row not in self.ignored:
            raise self.error(f"the row {row!r} is not declared in ROWS")

    def _pairs(self, words: list[str]) -> list[tuple[str, float]]:
        if len(words) not in (2, 3, 4, 5):
            raise self.error("a line here is a set name and one or two pairs of row and number")
        kept = words[len(words) % 2 :]
        return [(row, self._number(text)) for row, text in zip(kept[::2], kept[1::2], strict=True)]

    def _rhs(self, words: list[str]) -> None:
        for row, value in self._pairs(words):
            if row not in self.kinds and row != self.objective and row not in self.ignored:
                raise self.error(f"the row {row!r} is not declared in ROWS")
            if row in self.rhs:
                raise self.error(f"the row {row!r} has two right-hand sides")
            self.rhs[row] = value

    def _range(self, words: list[str]) -> None:
        for row, value in self._pairs(words):
            if row not in self.kinds:
                raise self.error(f"the row {row!r} is not declared in ROWS, or has no side")
            if row in self.ranges:
                raise self.error(f"the row {row!r} has two ranges")
            self.ranges[row] = value

    def _bound(self, words: list[str]) -> None:
        kind = words[0].upper()
        bare = kind in ("FR", "MI", "PL", "BV")
        if kind not in ("FR", "MI", "PL", "BV", "LO", "UP", "FX", "LI", "UI"):
            raise self.error(f"the bound type {words[0]!r} is unknown; semi-continuous columns are not read")
        if len(words) not in ((2, 3, 4) if bare else (3, 4)):
            raise self.error(
                "a bound is a type, a set name, a column and, where the type needs one, a number"
            )
        name = words[min(2, len(words) - 1)] if bare else words[-2]
        if name not in self.columns:
            raise self.error(f"the column {name!r} is not declared in COLUMNS")
        column = self.columns[name]
        value = 0.0 if bare else self._number(words[-1], infinite=True)
        low = {"FR": -math.inf, "MI": -math.inf, "BV": 0.0, "LO": value, "LI": value, "FX": value}.get(kind)
        high = {"FR": math.inf, "PL": math.inf, "BV": 1.0, "UP": value, "UI": value, "FX": value}.get(kind)
        if (low is not None and column.lower is not None) or (high is not None and column.upper is not None):
            raise self.error(f"the column {name!r} gets a bound twice")
        column.whole = column.whole or kind in ("BV", "LI", "UI")
        column.lower = column.lower if low is None else low
        column.upper = column.upper if high is None else high
        column.line = self.number

    def _number(self, text: str, infinite: bool = False) -> float:
        if infinite and text.lower() in INFINITE:
            return -math.inf if text[0] == "-" else math.inf
        if len(text) > 400 or not NUMBER.fullmatch(text):
            raise self.error(f"{text[:40]!r} is no number")
        value = float(text.replace("d", "e").replace("D", "e"))
        if infinite and abs(value) >= HUGE:
            return math.copysign(math.inf, value)
        if not math.isfinite(value):
            raise self.error(f"{text[:40]!r} is too large for a double")
        return value
