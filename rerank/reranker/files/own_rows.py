"""Programs with rows or columns of the user's own: refused where nothing says that they are the user's.

The program that was solved has to be that of the exported problem, or of the model that was given.  Its names and
numbers are compared with those of the problem stated again, and the rows that a solution file counts with the rows of
that program.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rerank.errors import InputError
from rerank.solvers.outcome import ACCEPTED, AGREE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from formulations.program import Program
    from formulations.solutions import Solution

ADVICE = "for rows, columns or bounds of your own give the model, as in load_solution(path, model=m), or export_mps"

# How many rows the program had, in the solution files of HiGHS and GLPK; those of other solvers do not say.
_COUNTS = (
    re.compile(rb"^# Rows (\d{1,12})\s*$", re.M),
    re.compile(rb"\A\s*\d{1,12} (\d{1,12}) : Number of columns and rows"),
    re.compile(rb"^s (?:mip|bas|ipt) (\d{1,12}) \d{1,12} ", re.M),
    re.compile(rb"\AProblem:[^\n]*\nRows: +(\d{1,12})\s*$", re.M),
)
GAP = 1e-3
"""Relative gap at which no solver calls a point optimal unless it was asked to; 1e-4 is a common default."""
# Sums of the same doubles, on another machine.
_CLOSE = 1e-9


def check_program(read: Program, own: Program, source: str) -> None:
    """Refuse a program that is not the problem's own.

    Parameters
    ----------
    read : Program
        That of a file.
    own : Program
        The problem stated again.
    source : str
        Name of the file in messages.

    Raises
    ------
    InputError
        Naming a row or column too many or too few, or saying that the numbers differ.
    """
    for kind in ("rows", "columns"):
        there, wanted = getattr(read, kind), getattr(own, kind)
        if there == wanted:
            continue
        odd = sorted(set(there) ^ set(wanted)) or ["their order"]
        raise InputError(
            f"{source} has {len(there)} {kind} where the problem's program has {len(wanted)}; they differ in "
            f"{odd[0][:40]!r}: {ADVICE}."
        )
    names = ("cost", "row_lower", "row_upper", "lower", "upper", "integer", "weights")
    pairs = [(getattr(read, name), getattr(own, name)) for name in names]
    pairs += [(getattr(read.matrix, name), getattr(own.matrix, name)) for name in ("indptr", "indices", "data")]
    if not all(a.shape == b.shape and np.allclose(a, b, rtol=_CLOSE, atol=_CLOSE) for a, b in pairs):
        raise InputError(f"{source} holds other numbers than the program of its problem: {ADVICE}.")


def check_rows(solution: str | os.PathLike[str], own: Program) -> bool:
    """Refuse a solution file of a program with more or fewer rows, where the file counts them.

    A program file of the same name beside the solution is compared, too. Returns whether anything counted the rows.
    """
    from formulations import mps
    from formulations.errors import FormulationError
    from formulations.files import file_bytes

    name = Path(solution).name
    try:
        content = file_bytes(solution)
        beside = Path(solution).with_suffix(".mps")
        there = beside.is_file() and beside != Path(solution)
        program = mps.read(beside, sidecar=False) if there else None
        ours = mps.read(beside) if there and mps.sidecar_path(beside).is_file() else None
    except FormulationError as error:
        raise InputError(str(error)) from error
    split = np.isfinite(own.row_lower) & np.isfinite(own.row_upper) & (own.row_lower < own.row_upper)
    # A file states a row with two sides as two; a solution that was written from arrays counts it once.
    wanted = (len(own.rows) + int(split.sum()), len(own.rows))
    found = [(name, int(match.group(1))) for match in (count.search(content) for count in _COUNTS) if match]
    if program is not None:
        found.append((beside.name, len(program.rows)))
    for source, count in found:
        if count not in wanted:
            raise InputError(
                f"{source} is of a program with {count} rows where the problem's has {wanted[0]}: {ADVICE}."
            )
    if ours is not None:
        check_program(ours, own, beside.name)
    return bool(found)


def check_point(solution: Solution, x: NDArray[np.float64], own: Program, source: str) -> None:
    """Refuse a point that violates the problem's program, and an objective that is not the point's."""
    violated = own.violation(x)
    if not violated <= ACCEPTED:
        raise InputError(
            f"The point of {source} violates the problem's program by {violated:.3g}, and {ACCEPTED:g} is allowed: it "
            f"is of another program; {ADVICE}."
        )
    paid = float(own.cost @ x)
    # A file minimises the negated cost; a model in memory is maximised, with or without its constant.
    fits = (-paid, paid, paid + own.constant)
    near = AGREE * max(1.0, float(np.abs(own.cost) @ np.abs(x)) + abs(own.constant))
    if solution.objective is not None and min(abs(solution.objective - one) for one in fits) > near:
        raise InputError(
            f"{source} states the objective {solution.objective:.9g}, and its columns are worth {-paid:.9g} in the "
            f"problem's program: it is of another program; {ADVICE}."
        )


def check_claim(solution: Solution, claim: float, known: float, source: str) -> None:
    """Refuse the optimum of a program whose optimum is the problem's, if a better value is known.

    Raises
    ------
    InputError
    """
    if solution.optimal and known - claim > GAP * max(1.0, abs(known)):
        raise InputError(
            f"{source} calls {claim:.9g} optimal, and weights worth {known:.9g} are known, which the problem's program "
            f"admits: it is of another program; {ADVICE}."
        )
