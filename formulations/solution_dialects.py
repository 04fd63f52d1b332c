"""One reader for each dialect of solution files: how it is recognised, and what it says."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Lines = Sequence[tuple[int, str]]
"""Lines that are not blank, with their numbers."""

GLPK_STATUS = re.compile(r"s (mip|bas|ipt) \d{1,12} \d{1,12} ")


@dataclass
class Raw:
    """What one dialect says: values by name, or in the order of the columns."""

    status: str
    named: dict[str, float] | None = None
    listed: list[float] | None = None
    omits_zeros: bool = False


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


def _after(title: str, lines: Lines) -> str:
    """The rest of the first line that begins with a title; empty if there is none."""
    return next((line[len(title) :].strip() for _, line in lines if line.startswith(title)), "")


def _number(line: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in text:
        raise UnreadableError(line, f"{text[:40]!r} is no finite number")
    return value + 0.0


def _store(named: dict[str, float], line: int, name: str, text: str) -> None:
    if name in named:
        raise UnreadableError(line, f"the column {name!r} has two values")
    named[name] = _number(line, text)


def _is_highs(lines: Lines) -> bool:
    return lines[0][1].strip() == "Model status"


def _highs(lines: Lines) -> Raw:
    """Styles 0 (all columns) and 4 (non-zero columns, each with its index)."""
    status = lines[1][1].strip() if len(lines) > 1 else ""
    words = [(number, line.split()) for number, line in lines]
    start = next(
        (i for i, (_, word) in enumerate(words) if word[:2] == ["#", "Columns"] and len(word) == 3), None
    )
    titles = [line.strip() for _, line in lines[:-1]]
    title = "# Primal solution values"
    kind = lines[titles.index(title) + 1][1].strip() if title in titles else "None"
    if kind != "Feasible" or start is None:
        raise PointlessError(lines[-1][0], "HiGHS", f"{status}, {kind}")
    line, (_, _, count_text) = words[start]
    count = int(_number(line, count_text))
    sparse = count < 0
    rows = words[start + 1 : start + 1 + abs(count)]
    if len(rows) != abs(count):
        raise UnreadableError(lines[-1][0], f"{abs(count)} columns are announced and {len(rows)} follow")
    named: dict[str, float] = {}
    for number, word in rows:
        if len(word) != (3 if sparse else 2) or word[0] == "#":
            raise UnreadableError(number, "a column is a name and a number")
        _store(named, number, word[0], word[1])
    return Raw(status, named, omits_zeros=sparse)


def _is_highs_table(lines: Lines) -> bool:
    first, second = (line.split() for _, line in (*lines[:2], (0, ""))[:2])
    return first == ["Columns"] and second[:2] == ["Index", "Status"] and "Primal" in second


def _highs_table(lines: Lines) -> Raw:
    """Style 1: a table; the Status column is blank for integer programs and the Dual one may be."""
    status = _after("Model status:", lines)
    if status in ("", "Infeasible", "Empty", "Not Set"):
        raise PointlessError(lines[-1][0], "HiGHS", status)
    primal = lines[1][1].index("Primal") + len("Primal")
    named: dict[str, float] = {}
    for number, line in lines[2:]:
        if line.strip() == "Rows":
            return Raw(status, named)
        figures = line[:primal].split()
        if len(figures) < 4:
            raise UnreadableError(number, "a column has an index, bounds and a value; HiGHS has none for it")
        _store(named, number, line.split()[-1], figures[-1])
    raise UnreadableError(lines[-1][0], "the table of columns has no end")


def _is_highs_list(lines: Lines) -> bool:
    return re.match(r"\d+ \d+ : Number of columns and rows", lines[0][1]) is not None


def _highs_list(lines: Lines) -> Raw:
    """Style -1: values without names."""
    count = int(lines[0][1].split()[0])
    start = next((i for i, (_, line) in enumerate(lines) if line.strip() == "Columns"), None)
    if start is None or not any(line.strip() == "T Primal solution" for _, line in lines):
        raise PointlessError(lines[-1][0], "HiGHS", "no primal solution")
    values = lines[start + 1 : start + 1 + count]
    if len(values) != count:
        raise UnreadableError(lines[-1][0], f"{count} columns are announced and {len(values)} follow")
    # A dual value and a basis status may follow on the line.
    return Raw("", listed=[_number(number, line.split()[0]) for number, line in values])


def _is_cbc(lines: Lines) -> bool:
    return re.search(r" - objective value\s+\S+\s*$", lines[0][1]) is not None


def _cbc(lines: Lines) -> Raw:
    """``index name value reduced_cost`` lines below the status; ``**`` marks a value outside its bounds."""
    status = lines[0][1].rsplit(" - objective value", 1)[0].strip()
    # "no integer solution - continuous used": the values are those of the relaxation.
    if "infeasible" in status.lower() or "no integer solution" in status or status.startswith("Unbounded"):
        raise PointlessError(lines[0][0], "CBC", status)
    named: dict[str, float] = {}
    for number, line in lines[1:]:
        words = line.split()
        if words[0] == "**":
            raise UnreadableError(number, "CBC marks the value as infeasible")
        if len(words) != 4 or not words[0].isdigit():
            raise UnreadableError(number, "a column is an index, a name, a value and a reduced cost")
        _store(named, number, words[1], words[2])
    return Raw(status, named, omits_zeros=True)


def _is_scip(lines: Lines) -> bool:
    return lines[0][1].startswith(("solution status:", "objective value:", "no solution available"))


def _scip(lines: Lines) -> Raw:
    """``name value (obj:cost)`` lines; columns at zero are left out."""
    body = list(lines)
    status = ""
    if body[0][1].startswith("solution status:"):
        status = body.pop(0)[1].split(":", 1)[1].strip()
    if not body or not body[0][1].startswith("objective value:"):
        raise PointlessError(lines[-1][0], "SCIP", status or lines[0][1].strip())
    named: dict[str, float] = {}
    for number, line in body[1:]:
        words = line.split()
        if len(words) < 2 or not (len(words) == 2 or words[2].startswith("(obj:")):
            raise UnreadableError(number, "a column is a name, a value and (obj:cost)")
        _store(named, number, words[0], words[1])
    return Raw(status, named, omits_zeros=True)


def _is_glpk_raw(lines: Lines) -> bool:
    return any(GLPK_STATUS.match(line) for _, line in lines[:20])


def _glpk_raw(lines: Lines) -> Raw:
    """``glpsol -w``: one ``j column value`` line for each column, by number."""
    start = next(i for i, (_, line) in enumerate(lines) if GLPK_STATUS.match(line))
    number, words = lines[start][0], lines[start][1].split()
    kind, count, statuses = words[1], int(words[3]), " ".join(words[4:-1])
    # A basic solution has a primal and a dual status, the others have one; f is feasible, o optimal.
    if not statuses.startswith("f" if kind == "bas" else ("o", "f")):
        raise PointlessError(number, "GLPK", statuses)
    # After "j number" come the value (mip), status and value (bas), or value and dual value (ipt).
    place = 3 if kind == "bas" else 2
    listed: list[float] = []
    for number, line in lines[start + 1 :]:
        words = line.split()
        if words[0] != "j":
            continue
        if len(words) <= place or words[1] != str(len(listed) + 1):
            raise UnreadableError(number, f"expected column {len(listed) + 1} and its value")
        listed.append(_number(number, words[place]))
    if len(listed) != count:
        raise UnreadableError(lines[-1][0], f"{count} columns are announced and {len(listed)} follow")
    return Raw(statuses, listed=listed)


def _is_glpk(lines: Lines) -> bool:
    return lines[0][1].startswith("Problem:")


def _glpk(lines: Lines) -> Raw:
    """``glpsol -o``: six digits; names longer than twelve characters stand on a line of their own."""
    status = _after("Status:", lines)
    if status not in ("INTEGER OPTIMAL", "OPTIMAL", "INTEGER NON-OPTIMAL", "FEASIBLE"):
        raise PointlessError(lines[0][0], "GLPK", status)
    start = next((i for i, (_, line) in enumerate(lines) if re.match(r"\s*No\. +Column name", line)), None)
    if start is None:
        raise UnreadableError(lines[-1][0], "the table of columns is missing")
    named: dict[str, float] = {}
    waiting = ""
    for number, line in lines[start + 2 :]:
        words = line.split()
        if waiting:
            name, rest, waiting = waiting, words, ""
        elif not words[0].isdigit():
            break
        elif len(words) == 2:
            waiting = words[1]
            continue
        else:
            name, rest = words[1], words[2:]
        # A star marks an integer column; a basis status stands there in the output of an LP.
        while rest and not re.match(r"[-+.\d]", rest[0]):
            rest = rest[1:]
        if not rest:
            raise UnreadableError(number, f"the column {name!r} has no value")
        _store(named, number, name, rest[0])
    return Raw(status, named)


def _is_gurobi(lines: Lines) -> bool:
    first = next((line for _, line in lines if not line.startswith("#")), lines[0][1])
    return lines[0][1].startswith(("#", "=")) or len(first.split()) == 2


def _gurobi(lines: Lines) -> Raw:
    """``name value`` lines below ``#`` comments; MIPLIB's form has an ``=obj=`` line and leaves zeros out."""
    named: dict[str, float] = {}
    status, miplib = "", False
    for number, line in lines:
        words = line.split()
        if line.startswith("#"):
            continue
        if words[0] in ("=obj=", "=infeas="):
            miplib = True
            if words[0] == "=infeas=":
                raise PointlessError(number, "the file", line.strip())
            continue
        if len(words) != 2:
            raise UnreadableError(number, "a column is a name and a value")
        _store(named, number, words[0], words[1])
    if not named and not miplib:
        raise PointlessError(lines[-1][0], "the file", "nothing")
    return Raw(status, named, omits_zeros=miplib)


DIALECTS: tuple[tuple[str, Callable[[Lines], bool], Callable[[Lines], Raw]], ...] = (
    ("highs", _is_highs, _highs),
    ("highs", _is_highs_table, _highs_table),
    ("highs", _is_highs_list, _highs_list),
    ("glpk", _is_glpk_raw, _glpk_raw),
    ("glpk", _is_glpk, _glpk),
    ("scip", _is_scip, _scip),
    ("cbc", _is_cbc, _cbc),
    ("gurobi", _is_gurobi, _gurobi),
)
