"""Solution files of HiGHS, CBC, SCIP, GLPK and Gurobi, read back into values of a program's columns."""

from __future__ import annotations

import io
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from formulations.dialects import DIALECTS
from formulations.dialects.raw import PointlessError, Raw, UnreadableError
from formulations.errors import FileFormatError, shortened
from formulations.files import file_bytes
from formulations.program import Program, portable

LARGEST_SOLUTION = 2**28
"""Bytes; larger solution files are refused before they are read."""


@dataclass(frozen=True)
class Solution:
    """What a solution file says.

    Attributes
    ----------
    values : dict of str to float
        Every column of the program, by its name there.
    status : str
        The solver's own words; empty where its file has none.
    dialect : str
        ``highs``, ``cbc``, ``scip``, ``glpk`` or ``gurobi``.
    objective : float, optional
        As the file states it, in the sense and unit of the program's file; None where it states none.
    """

    values: dict[str, float]
    status: str
    dialect: str
    objective: float | None = None

    @property
    def optimal(self) -> bool:
        """Whether the file calls the point optimal, in the words of its solver."""
        return self.status.lower().startswith(("optimal", "integer optimal")) or self.status in ("o", "f f")


class NoPointError(FileFormatError):
    """The solution file can be read and holds no feasible point; ``status`` is why, in the solver's words."""

    def __init__(self, message: str, status: str) -> None:
        super().__init__(message)
        self.status = status


def read_solution(
    path: str | PathLike[str], program: Program, dialect: str | None = None
) -> dict[str, float]:
    """Values of the program's columns from a solver's solution file.

    Parameters
    ----------
    path : path
    program : Program
        The one whose file was solved.
    dialect : str, optional
        ``highs``, ``cbc``, ``scip``, ``glpk`` or ``gurobi``; found out from the file if omitted.

    Returns
    -------
    dict
        Column name -> value, complete: columns that SCIP, CBC or a sparse file leave out are 0.

    Raises
    ------
    FileFormatError
        With the line, for a file that cannot be read, holds no feasible point
        (:class:`formulations.solutions.NoPointError`), or belongs to another program.
    """
    return parse_solution(path, program, dialect).values


def parse_solution(path: str | PathLike[str], program: Program, dialect: str | None = None) -> Solution:
    """Like :func:`read_solution`, with the solver's status and the dialect found."""
    source = Path(path).name
    lines = _lines(file_bytes(path, LARGEST_SOLUTION), program, source)
    if not lines:
        raise FileFormatError(f"{source} is empty; the solver has written no solution.")
    matching = [one for one in DIALECTS if dialect in (None, one.solver) and one.recognise(lines)]
    if not matching:
        known = ", ".join(dict.fromkeys(one.solver for one in DIALECTS))
        expected = f"a solution of {dialect}" if dialect else f"a solution file of one of {known}"
        raise FileFormatError(f"{source} begins with {lines[0][1].strip()[:60]!r}, which is not {expected}.")
    found = matching[0]
    try:
        raw = found.read(lines)
    except PointlessError as error:
        raise NoPointError(f"{source}, line {error.line}: {shortened(str(error))}.", error.status) from None
    except UnreadableError as error:
        raise FileFormatError(f"{source}, line {error.line}: {shortened(str(error))} ({found.solver}).") from None
    return Solution(_by_column(raw, program, source), raw.status, found.solver, raw.objective)


def _lines(content: bytes, program: Program, source: str) -> list[tuple[int, str]]:
    """The lines that are not blank, with their numbers; no more than a solution of the program has."""
    # Values, dual values and basis of columns and rows, names on lines of their own, and remarks.
    most = 8 * (len(program.columns) + len(program.rows)) + 1000
    lines = []
    for number, line in enumerate(
        io.StringIO(content.decode("utf-8", errors="replace"), newline=None), start=1
    ):
        if line.strip():
            lines.append((number, line.rstrip("\n")))
        if len(lines) > most:
            raise FileFormatError(
                f"{source} has more than {most} lines; no solution of this program is as long, so it is of another."
            )
    return lines


def _by_column(raw: Raw, program: Program, source: str) -> dict[str, float]:
    if raw.listed is not None:
        if len(raw.listed) != len(program.columns):
            raise FileFormatError(
                f"{source} holds {len(raw.listed)} columns, the program has {len(program.columns)}: "
                "it belongs to another model."
            )
        return dict(zip(program.columns, raw.listed, strict=True))
    named = raw.named or {}
    written = portable(program.columns, "x")
    unknown = named.keys() - set(written)
    if unknown:
        raise FileFormatError(
            f"{source} names {shortened(min(unknown))!r}, which is no column of the program: it is of another model."
        )
    missing = [name for name in written if name not in named]
    if missing and not raw.omits_zeros:
        raise FileFormatError(
            f"{source} has no value for {missing[0]!r} ({len(missing)} missing): it is cut short."
        )
    return {name: named.get(alias, 0.0) for name, alias in zip(program.columns, written, strict=True)}


def original_names(program: Program) -> dict[str, str]:
    """Name of each column in the program's file -> its name in the program."""
    return dict(zip(portable(program.columns, "x"), program.columns, strict=True))


def solution_text(
    program: Program, x: ArrayLike, status: str = "Unknown", objective: float | None = None
) -> str:
    """A point as a HiGHS solution file (style 0), every digit kept.

    ``objective`` is that of the program's file: by default of the one that :func:`formulations.mps.write` makes, which
    minimises the negated cost and has no constant.
    """
    point = np.asarray(x, dtype=np.float64)
    objective = float(-(program.cost @ point)) if objective is None else objective
    rows = program.matrix @ point
    lines = ["Model status", status, "", "# Primal solution values", "Feasible", f"Objective {objective!r}"]
    for title, names, values in (("Columns", program.columns, point), ("Rows", program.rows, rows)):
        written = portable(names, title[0].lower().replace("c", "x"))
        lines += [
            f"# {title} {len(names)}",
            *(f"{name} {float(v)!r}" for name, v in zip(written, values, strict=True)),
        ]
    return "\n".join([*lines, "", "# Dual solution values", "None", ""])
