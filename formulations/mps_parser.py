"""Read linear ``.mps`` files strictly: what readers understand differently is an error with its line."""

import math
import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from scipy import sparse

from formulations.errors import FileFormatError, shortened
from formulations.program import HUGE, Program

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d{1,4})?")

MOST_NAMES = 2**21  # rows and columns of a program; each takes some hundred bytes of memory
INFINITE = frozenset({"inf", "+inf", "infinity", "+infinity", "-inf", "-infinity"})

# The section that has to stand before another one.
BEFORE = {"COLUMNS": "ROWS", "RHS": "COLUMNS", "RANGES": "COLUMNS", "BOUNDS": "COLUMNS", "ENDATA": "COLUMNS"}
# Types of bounds without a number: the lower and the upper bound that they state.
BARE = {"FR": (-math.inf, math.inf), "MI": (-math.inf, None), "PL": (None, math.inf), "BV": (0.0, 1.0)}

# Types of bounds with a number: whether it is the lower, and whether it is the upper bound.
ENDS = {"LO": (True, False), "LI": (True, False), "UP": (False, True), "UI": (False, True), "FX": (True, True)}


def parse(content: bytes, source: str) -> Program:
    """The program that a file states, maximising: costs are negated unless the file says MAX.

    Free format and the fixed format without blanks in names; sections NAME, OBJSENSE, ROWS, COLUMNS, RHS, RANGES,
    BOUNDS and ENDATA; the first N row is the objective, other N rows are dropped. A FileFormatError names ``source``
    and the line.
    """
    return _Parser(source).read(content)


@dataclass(slots=True)
class Column:
    """One column: whether it is integer, the bounds given and the line that gave the last one."""

    whole: bool
    line: int
    lower: float | None = None
    upper: float | None = None


class _Parser:
    """What has been read so far, down to the line ``number``."""

    def __init__(self, source: str) -> None:
        self.source, self.number = source, 0
        self.seen: list[str] = []
        self.name, self.maximise, self.whole = "", False, False
        self.objective: str | None = None
        self.ignored: set[str] = set()
        self.kinds: dict[str, str] = {}
        self.index: dict[str, int] = {}
        self.columns: dict[str, Column] = {}
        self.current, self.in_current = "", set[str]()
        self.cost: dict[str, float] = {}
        # Numbers of the row and of the column, and the value.
        self.entries = array("i"), array("i"), array("d")
        self.rhs: dict[str, float] = {}
        self.ranges: dict[str, float] = {}

    def error(self, what: str) -> FileFormatError:
        """An error at the line being looked at."""
        return FileFormatError(f"{self.source}, line {self.number}: {shortened(what)}.")

    def read(self, content: bytes) -> Program:
        readers = self._objsense, self._rows, self._columns, self._bounds
        sections: dict[str, Callable[[list[str]], None]] = {reader.__name__[1:].upper(): reader for reader in readers}
        sections["RHS"] = lambda words: self._take(words, self.rhs, "right-hand sides")
        sections["RANGES"] = lambda words: self._take(words, self.ranges, "ranges")
        section = ""
        # Line by line: a list of all lines would take many times the memory of the file.
        for self.number, raw in enumerate(BytesIO(content), start=1):
            if len(self.kinds) + len(self.columns) + len(self.ignored) > MOST_NAMES:
                raise self.error(f"there are more than {MOST_NAMES} rows and columns; no such program is read")
            if not raw.isascii():
                raise self.error("a byte is not ASCII; write plain names")
            line = raw.rstrip(b"\r\n").decode("ascii")
            if not line.replace("\t", " ").isprintable():
                raise self.error("a control character stands in the line; this is no .mps file")
            if not line.strip() or line.startswith("*"):
                continue
            if section == "ENDATA":
                raise self.error("something follows ENDATA; end the file there")
            if not line[0].isspace():
                section = self._open(line.split(), {"NAME", "ENDATA", *sections})
            elif section in sections:
                sections[section](line.split())
            else:
                raise self.error("data stand before the first section; start with NAME and ROWS")
        if section != "ENDATA":
            raise self.error("the file ends without ENDATA; it is cut short")
        return self._program()

    def _open(self, words: list[str], known: set[str]) -> str:
        title = words[0].upper()
        if title in self.seen:
            raise self.error(f"a second section {title} begins; each stands once")
        if title not in known:
            raise self.error(f"the section {words[0]!r} is not part of a linear program; pass an .mps file")
        late = title == "OBJSENSE" and "COLUMNS" in self.seen
        if late or BEFORE.get(title, title) not in (*self.seen, title):
            raise self.error(f"the section {title} stands before {BEFORE.get(title, 'its place')}")
        self.seen.append(title)
        if title == "NAME":
            self.name = words[1] if len(words) > 1 else ""
        elif title == "OBJSENSE" and len(words) > 1:
            self._objsense(words[1:])
        elif len(words) > 1:
            raise self.error(f"words follow the section title {title}; data lines begin with a blank")
        return title

    def _objsense(self, words: list[str]) -> None:
        sense = words[0].upper()
        if len(words) != 1 or sense not in ("MAX", "MAXIMIZE", "MAXIMISE", "MIN", "MINIMIZE", "MINIMISE"):
            raise self.error("the sense must be MAX or MIN")
        self.maximise = sense.startswith("MAX")

    def _rows(self, words: list[str]) -> None:
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

    def _columns(self, words: list[str]) -> None:
        mark = words[2].strip("'").upper() if len(words) == 3 else ""
        # A row may be called MARKER, and then a number follows.
        if mark and words[1].strip("'").upper() == "MARKER" and (words[1][0] == "'" or not NUMBER.fullmatch(mark)):
            if mark not in ("INTORG", "INTEND") or (mark == "INTORG") == self.whole:
                raise self.error(f"the marker {words[2]} is unknown, opens a second time, or closes what is not open")
            self.whole = mark == "INTORG"
            return
        if len(words) not in (3, 5):
            raise self.error("an entry is a column and one or two pairs of row and number; names hold no blanks")
        name = words[0]
        if name != self.current:
            if name in self.columns:
                raise self.error(f"the column {name!r} comes back after another; its entries stand together")
            self.columns[name] = Column(self.whole, self.number)
            self.current, self.in_current = name, set()
        for row, text in zip(words[1::2], words[2::2], strict=True):
            value = self._number(text)
            if row in self.in_current:
                raise self.error(f"the column {name!r} has two entries in the row {row!r}")
            self.in_current.add(row)
            self._check_row(row)
            if row in self.kinds:
                rows, columns, values = self.entries
                rows.append(self.index[row])
                columns.append(len(self.columns) - 1)
                values.append(value)
            elif row == self.objective:
                self.cost[name] = value

    def _check_row(self, row: str) -> None:
        if row not in self.kinds and row != self.objective and row not in self.ignored:
            raise self.error(f"the row {row!r} is not declared in ROWS")

    def _take(self, words: list[str], found: dict[str, float], what: str) -> None:
        """Take rows and numbers of a line; the name of a set may stand before them."""
        if len(words) not in (2, 3, 4, 5):
            raise self.error("a line here is a set name and one or two pairs of row and number")
        kept = words[len(words) % 2 :]
        for row, text in zip(kept[::2], kept[1::2], strict=True):
            value = self._number(text)
            if found is self.ranges and row not in self.kinds:
                raise self.error(f"the row {row!r} is not declared in ROWS, or has no side")
            self._check_row(row)
            if row in found:
                raise self.error(f"the row {row!r} has two {what}")
            found[row] = value

    def _bounds(self, words: list[str]) -> None:
        kind = words[0].upper()
        if kind not in BARE and kind not in ENDS:
            raise self.error(f"the bound type {words[0]!r} is unknown; semi-continuous columns are not read")
        if len(words) not in ((2, 3, 4) if kind in BARE else (3, 4)):
            raise self.error("a bound is a type, a set name, a column and, where the type needs one, a number")
        name = words[min(2, len(words) - 1)] if kind in BARE else words[-2]
        if name not in self.columns:
            raise self.error(f"the column {name!r} is not declared in COLUMNS")
        column = self.columns[name]
        if kind in BARE:
            low, high = BARE[kind]
        else:
            value = self._number(words[-1], infinite=True)
            low, high = (value if stated else None for stated in ENDS[kind])
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

    def _program(self) -> Program:
        """The program, once the file is read to its end."""
        if self.objective is None:
            raise self.error("no N row is the objective")
        if self.whole:
            raise self.error("the marker INTORG is never closed by INTEND")
        limits = np.array([self._limits(name, column) for name, column in self.columns.items()]).reshape(-1, 2)
        sides = np.array([self._sides(row, kind) for row, kind in self.kinds.items()]).reshape(-1, 2)
        i, j = (np.array(numbers, np.int32) for numbers in self.entries[:2])
        values, shape = np.array(self.entries[2], dtype=np.float64), (len(self.kinds), len(self.columns))
        matrix = sparse.csr_array(sparse.coo_array((values, (i, j)), shape))
        matrix.sort_indices()
        cost = np.array([self.cost.get(name, 0.0) for name in self.columns], dtype=np.float64)
        sign = 1.0 if self.maximise else -1.0
        return Program(
            name=self.name,
            cost=sign * cost + 0.0,
            # A right-hand side of the objective is its constant with the sign turned.
            constant=sign * -self.rhs.get(self.objective, 0.0) + 0.0,
            matrix=matrix,
            row_lower=sides[:, 0],
            row_upper=sides[:, 1],
            lower=limits[:, 0],
            upper=limits[:, 1],
            integer=np.array([column.whole for column in self.columns.values()], dtype=bool),
            columns=tuple(self.columns),
            rows=tuple(self.kinds),
            weights=np.empty(0, dtype=np.intp),
            minimises=not self.maximise,
        )

    def _limits(self, name: str, column: Column) -> tuple[float, float]:
        self.number = column.line
        if column.whole and column.upper is None:
            raise self.error(f"the integer column {name!r} has no upper bound: readers disagree between 1 and none")
        if column.lower is None and column.upper is not None and column.upper < 0:
            raise self.error(f"the column {name!r} has a negative upper and no lower bound: readers disagree on it")
        low = 0.0 if column.lower is None else column.lower
        high = math.inf if column.upper is None else column.upper
        if not low <= high or low == math.inf or high == -math.inf:
            raise self.error(f"the column {name!r} has the bounds {low} and {high}, which nothing satisfies")
        return low, high

    def _sides(self, row: str, kind: str) -> tuple[float, float]:
        side = self.rhs.get(row, 0.0)
        if row not in self.ranges:
            return (-math.inf if kind == "L" else side), (math.inf if kind == "G" else side)
        width = self.ranges[row]
        if kind == "E":
            return min(side, side + width), max(side, side + width)
        return (side - abs(width), side) if kind == "L" else (side, side + abs(width))
