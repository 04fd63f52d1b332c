"""What the lines of an ``.mps`` file say, and the program they make."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from formulations.errors import FileFormatError, shortened
from formulations.program import Program


@dataclass(slots=True)
class Column:
    """One column: whether it is integer, the bounds given and the line that gave the last one."""

    whole: bool
    lower: float | None = None
    upper: float | None = None
    line: int = 0


@dataclass
class Contents:
    """What has been read so far.

    Attributes
    ----------
    source : str
        Name of the file.
    number : int
        Number of the line being looked at.
    objective : str or None
        Name of the row of costs.
    kinds : dict of row to str
        ``L``, ``G`` or ``E``.
    index : dict of row to int
        Number of each row.
    entries : arrays of int, int and float
        Numbers of the row and of the column, and the value.
    whole : bool
        Whether columns are integer here: a marker INTORG is open.
    """

    source: str
    number: int = 0
    name: str = ""
    maximise: bool = False
    objective: str | None = None
    kinds: dict[str, str] = field(default_factory=dict)
    columns: dict[str, Column] = field(default_factory=dict)
    whole: bool = False
    cost: dict[str, float] = field(default_factory=dict)
    index: dict[str, int] = field(default_factory=dict)
    entries: tuple[array[int], array[int], array[float]] = field(
        default_factory=lambda: (array("i"), array("i"), array("d"))
    )
    rhs: dict[str, float] = field(default_factory=dict)
    ranges: dict[str, float] = field(default_factory=dict)

    def error(self, what: str) -> FileFormatError:
        """An error at the line being looked at."""
        return FileFormatError(f"{self.source}, line {self.number}: {shortened(what)}.")

    def program(self) -> Program:
        """The program, once the file is read to its end."""
        if self.objective is None:
            raise self.error("no N row is the objective")
        if self.whole:
            raise self.error("the marker INTORG is never closed by INTEND")
        limits = np.array([self._limits(name, column) for name, column in self.columns.items()]).reshape(
            -1, 2
        )
        sides = np.array([self._sides(row, kind) for row, kind in self.kinds.items()]).reshape(-1, 2)
        i, j = (np.array(numbers, np.int32) for numbers in self.entries[:2])
        values = np.array(self.entries[2], dtype=np.float64)
        shape = (len(self.kinds), len(self.columns))
        matrix = sparse.csr_array(sparse.coo_array((values, (i, j)), shape))
        matrix.sort_indices()
        cost = np.array([self.cost.get(name, 0.0) for name in self.columns], dtype=np.float64)
        # A right-hand side of the objective is its constant with the sign turned.
        constant = -self.rhs.get(self.objective, 0.0)
        sign = 1.0 if self.maximise else -1.0
        return Program(
            name=self.name,
            cost=sign * cost + 0.0,
            constant=sign * constant + 0.0,
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
            raise self.error(
                f"the integer column {name!r} has no upper bound: readers disagree between 1 and none"
            )
        if column.lower is None and column.upper is not None and column.upper < 0:
            raise self.error(
                f"the column {name!r} has a negative upper and no lower bound: readers disagree on it"
            )
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
