"""Solution files of solvers, read back into values of a program's columns.

XML is read by the same patterns as the rest: there is no parser of XML that could expand an entity.
"""

import io
import math
import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from formulations.errors import FileFormatError, shortened
from formulations.files import file_bytes
from formulations.program import Program, portable

__all__ = ["SolutionFile", "NoPointError", "read_solution", "parse_solution", "original_names", "solution_text"]

LARGEST_SOLUTION = 2**28  # bytes; larger solution files are refused before they are read
LONGEST_LINE = 2_000  # characters; the patterns below take the square of a line's length at worst

Lines = list[tuple[int, str]]  # lines that are not blank, with their numbers


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """One form of solution file, in regular expressions: of its whole text (without blank lines), or of a line."""

    solver: str  # who writes it
    head: str  # the text from its beginning: what is found is of this form
    row: str  # the line of a column: ``value``, and ``name``, or ``number`` where columns have no names
    what: str = "a column is a name and a value"  # the same in words
    status: str = "$^"  # in the text; its groups are the words of the solver, the first is the status
    point: str = ""  # in the text: there only if the file holds a feasible point
    silent: str = "nothing"  # what the solver says where the file holds neither a point nor a status
    objective: str = "$^"  # in the text; group 1
    count: str = ""  # in the text; group 1 is the number of columns
    begin: str = ""  # the line before the columns; without one all lines are columns
    end: str = "$^"  # the first line after them
    other: str = "$^"  # lines among the columns that are none
    marked: str = "$^"  # how the line of a value begins that the solver calls infeasible
    wrapped: str = "$^"  # a line of a column that goes on in the next line
    sparse: str = "$^"  # in the text; found where columns at 0 are left out

    @property
    def title(self) -> str:
        """Who writes it, in a sentence."""
        return "the file" if self.solver in ("gurobi", "plain") else TITLES.get(self.solver, self.solver)


TITLES = dict(highs="HiGHS", glpk="GLPK", scip="SCIP", cbc="CBC", cplex="CPLEX", xpress="Xpress", copt="COPT")
NAMED, FIGURE = r"(?P<name>[^#\s]\S*)\s+(?P<value>\S+)", r"[-+.\d]\S*"

DIALECTS = (  # tried in order; ``plain`` is a name and a value in each line, written by hand or by a script
    Dialect(  # styles 0 (all columns) and 4 (non-zero columns, each with its index)
        solver="highs",
        head=r"\s*Model status\s*$",
        status=r"\A.*\n\s*(.*?)\s*(?:\n(?:.*\n)*?# Primal solution values\s*\n\s*(.*?)\s*)?$",
        point=r"^# Primal solution values\s*\n\s*Feasible\s*$",
        objective=r"^Objective (\S+)",
        count=r"^# Columns -?(\d{1,12})\b",
        sparse="^# Columns -",
        begin="# Columns ",
        end="#",
        row=NAMED + r"(\s+\d+)?",
        what="a column is a name and a number",
    ),
    Dialect(  # style 1: the Status column is blank for integer programs, and the Dual one may be
        solver="highs",
        head=r"\s*Columns\s*\n\s*Index +Status .*Primal",
        status=r"^Model status: *(.*?)\s*$",
        point=r"^Model status: *(?!\s|Infeasible\s*$|Empty\s*$|Not Set\s*$)\S",
        silent="",
        objective=r"^Objective value: *(\S+)",
        begin=r"\s*Index +Status",
        end=r"\s*Rows\s*$",
        row=rf"\s*\d+(\s+[A-Z]{{2}})?\s+\S+\s+\S+\s+(?P<value>{FIGURE})(\s+{FIGURE})?(\s+[A-Z]\S*)?\s+(?P<name>\S+)",
        what="a column has an index, bounds and a value; HiGHS has none for it",
    ),
    Dialect(  # style -1: values without names; a dual value and a basis status may follow
        solver="highs",
        head=r"\d{1,12} \d{1,12} : Number of columns and rows",
        point=r"^T Primal solution\s*$",
        silent="no primal solution",
        count=r"\A(\d+)",
        begin=r"\s*Columns\s*$",
        end=r"\s*Rows\s*$",
        row=r"\s*(?P<value>\S+).*",
        what="a column is a number",
    ),
    Dialect(  # glpsol -w: "j number value" (mip), status and value (bas), or value and dual value (ipt)
        solver="glpk",
        head=r"(?:.*\n){0,19}?s (mip|bas|ipt) \d{1,12} \d{1,12} ",
        # A basic solution has a primal and a dual status, the others have one; f is feasible, o optimal.
        status=r"^s \w+ \d+ \d+ (.*?) *\S+\s*$",
        point=r"^s (?:bas \d+ \d+ f |(?:mip|ipt) \d+ \d+ [of] )",
        objective=r"^s \w+ .* (\S+)\s*$",
        count=r"^s \w+ \d+ (\d+) ",
        begin=r"s \w+ \d+ \d+ ",
        other=r"(?!j\b)",
        row=r"j\s+(?P<number>\d+)\s+([a-z]\s+)?(?P<value>\S+).*",
        what="expected column {number} and its value",
    ),
    Dialect(  # glpsol -o: six digits; names longer than twelve characters stand on a line of their own
        solver="glpk",
        head="Problem:",
        status=r"^Status: *(.*?)\s*$",
        point=r"^Status: *(INTEGER OPTIMAL|OPTIMAL|INTEGER NON-OPTIMAL|FEASIBLE)\s*$",
        objective=r"^Objective:.*= *(\S+)",
        begin=r"\s*No\. +Column name",
        end="[A-Z]",
        other="-----",
        # A star marks an integer column; a basis status stands there in the output of an LP.
        row=rf"\s*\d+\s+(?P<name>\S+)(\s+[*A-Z]+)?\s+(?P<value>{FIGURE}).*",
        wrapped=r"\s*\d+\s+\S+\s*$",
        what="a column is a number, a name and a value",
    ),
    Dialect(
        solver="scip",
        head=r"solution status:|objective value:|no solution available",
        status=r"\A(?:solution status:)?\s*((?!objective value:).*?)\s*$",
        point="^objective value:",
        objective=r"^objective value:\s*(\S+)",
        begin="objective value:",
        row=NAMED + r"(\s+\(obj:.*)?",
        what="a column is a name, a value and (obj:cost)",
        sparse=r"\A",
    ),
    Dialect(
        solver="cbc",
        head=r".* - objective value\s+\S+\s*$",
        status=r"\A\s*(.*?)\s* - objective value",
        # "no integer solution - continuous used": the values are those of the relaxation.
        point=r"\A(?!Unbounded|.*(?i:infeasible)|.*no integer solution)",
        objective=r" - objective value\s+(\S+)",
        begin=".* - objective value",
        marked=r"\*\*",
        row=r"\s*\d+\s+(?P<name>\S+)\s+(?P<value>\S+)\s+\S+",
        what="a column is an index, a name, a value and a reduced cost",
        sparse=r"\A",
    ),
    Dialect(  # of several solutions in a file the first is read, the incumbent
        solver="cplex",
        head=r"\s*(<\?xml.*\s*)?<CPLEXSolutions? ",
        status=r'\bsolutionStatusString="(.*?)"',
        point=r'\bprimalFeasible="1"',
        objective=r'\bobjectiveValue="(.*?)"',
        sparse=r'\bwriteLevel="[34]"',
        begin=r"\s*<variables>",
        end=r"\s*</variables>",
        row=r'\s*<variable (?=[^<>]*\bname="(?P<name>[^"]+)")(?=[^<>]*\bvalue="(?P<value>[^"]+)")[^<>]*/>',
        what="a column is a tag <variable> with name and value",
    ),
    Dialect(  # .slx
        solver="xpress",
        head=r"NAME\b.*\n\s*C\s",
        begin="NAME",
        end="ENDATA",
        row=r"\s*C\s+" + NAMED,
        what="a column is C, a name and a value",
    ),
    Dialect(  # .asc, rows and columns in one list
        solver="xpress",
        head=r'\s*\d+,"[^"]*","[A-Z]","[A-Z]+",',
        other=r'\s*\d+,"[^"]*","(?!C")',
        row=r'\s*\d+,"(?P<name>[^"\s]+)\s*","C","[A-Z]+",(?P<value>[^,]+),.*',
        what="a column is a number, a name, C, a status and a value",
    ),
    Dialect(  # .prt, six digits; its status is that of the last relaxation
        solver="xpress",
        head=r"\s*Problem Statistics\s*$",
        objective=r"^Objective function value is\s+(\S+)",
        begin="Columns Section",
        other=r"\s+Number\s",
        row=r"\s*C\s+\d+\s+(?P<name>\S+)\s+[A-Z*]+\s+(?P<value>\S+)\s.*",
        what="a column is C, a number, a name, a status and a value",
    ),
    Dialect(  # -S3 and -S4, six digits
        solver="lp_solve",
        head=r"(?:.*\n){0,19}?(Value of objective function:|This problem is )",
        status=r"^(This problem is .*?|The model is sub-optimal.*?)\s*$",
        point="^Actual values of the variables:",
        objective=r"^Value of objective function:\s*(\S+)",
        begin="Actual values of the variables:",
        end="Actual values of the constraints:|Dual value",
        row=NAMED,
    ),
    Dialect(  # MIPLIB's form of Gurobi's
        solver="gurobi",
        head=r"(?:#.*\n)*=(obj|infeas)=",
        status=r"^(=infeas=.*?)\s*$",
        point=r"^=obj=(?![\s\S]*^=infeas=)",
        objective=r"^=obj=\s*(\S+)",
        other="#|=obj=",
        row=NAMED,
        sparse=r"\A",
    ),
    Dialect(
        solver="copt",
        head="# Objective value (?!=)",
        point=r"^[^#]",
        objective=r"^# Objective value (\S+)",
        other="#",
        row=NAMED,
    ),
    Dialect(solver="gurobi", head="#", point=r"^[^#]", objective=r"^# Objective value =\s*(\S+)", other="#", row=NAMED),
    Dialect(solver="plain", head=r"\s*\S+\s+\S+\s*$", other="#", row=NAMED),
)

NAMES = tuple(dict.fromkeys(form.solver for form in DIALECTS))  # what a dialect may be called


@dataclass(frozen=True)
class SolutionFile:
    """What a solution file says.

    Attributes
    ----------
    values : dict of str to float
        Every column of the program, by its name there; or its weights alone, where they were allowed.
    status : str
        The solver's own words; empty where its file has none.
    dialect : str
        One of ``formulations.solutions.NAMES``.
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


def read_solution(path: str | PathLike[str], program: Program, dialect: str | None = None) -> dict[str, float]:
    """Values of the program's columns from a solver's solution file.

    Parameters
    ----------
    path : path
    program : Program
        The one whose file was solved.
    dialect : str, optional
        One of ``formulations.solutions.NAMES``; found out from the file if omitted.

    Returns
    -------
    dict
        Column name -> value, complete: columns that a sparse file leaves out are 0.

    Raises
    ------
    FileFormatError
        With the line, for a file that cannot be read, holds no feasible point
        (:class:`formulations.solutions.NoPointError`), or belongs to another program.
    """
    return parse_solution(path, program, dialect).values


def parse_solution(
    path: str | PathLike[str], program: Program, dialect: str | None = None, weights_alone: bool = False
) -> SolutionFile:
    """Like :func:`read_solution`, with the solver's status and the dialect found.

    With ``weights_alone`` a file may hold the weights of the program and no other column.
    """
    source = Path(path).name
    lines = _lines(file_bytes(path, LARGEST_SOLUTION), program, source)
    if not lines:
        raise FileFormatError(f"{source} is empty; the solver has written no solution.")
    text = "\n".join(line for _, line in lines)
    form = next((d for d in DIALECTS if dialect in (None, d.solver) and re.match(d.head, text, re.M)), None)
    if form is None:
        expected = f"a solution of {dialect}" if dialect else f"a solution file of one of {', '.join(NAMES)}"
        raise FileFormatError(f"{source} begins with {lines[0][1].strip()[:60]!r}, which is not {expected}.")
    words = [word or "None" for word in match.groups()] if (match := re.search(form.status, text, re.M)) else []
    if not re.search(form.point, text, re.M):
        status = ", ".join(words) or form.silent
        raise NoPointError(f"{source} holds no feasible point; {form.title} says {shortened(repr(status))}.", status)
    count = _group(form.count, text) if form.count else None
    if form.count and count is None:
        raise FileFormatError(f"{source} does not say how many columns follow ({form.solver}).")
    values = _values(form, lines, None if count is None else int(count), source)
    stated = _figure(_group(form.objective, text) or "")
    status = words[0] if words else ""
    sparse = re.search(form.sparse, text, re.M) is not None
    weights = [program.columns[j] for j in program.weights] if weights_alone and not sparse else []
    return SolutionFile(_by_column(values, sparse, program, source, weights), status, form.solver, stated)


def _lines(content: bytes, program: Program, source: str) -> Lines:
    """The lines that are not blank, with their numbers; no more than a solution of the program has."""
    # Values, dual values and basis of columns and rows, names on lines of their own, and remarks.
    most = 8 * (len(program.columns) + len(program.rows)) + 1000
    lines: Lines = []
    text = io.StringIO(content.decode("utf-8", errors="replace"), newline=None)
    for number, line in enumerate(text, start=1):
        if len(line) > LONGEST_LINE:
            raise FileFormatError(
                f"{source}, line {number} is damaged: it has {len(line)} characters, of {LONGEST_LINE} at most."
            )
        if line.strip():
            lines.append((number, line.rstrip("\n")))
        if len(lines) > most:
            raise FileFormatError(
                f"{source} has more than {most} lines; no solution of this program is as long, so it is of another."
            )
    return lines


def _group(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text, re.M)
    return match and match[1]


def _figure(text: str) -> float | None:
    """The number of a text; None where it is none, or not finite."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value + 0.0 if math.isfinite(value) and "_" not in text else None


def _values(form: Dialect, lines: Lines, count: int | None, source: str) -> dict[str, float] | list[float]:
    """Values by name, or in the order of the columns where the file has no names."""

    def error(line: int, what: str) -> FileFormatError:
        return FileFormatError(f"{source}, line {line}: {shortened(what)} ({form.solver}).")

    last = lines[-1][0]
    if form.begin:
        begin = next((i for i, (_, line) in enumerate(lines) if re.match(form.begin, line)), None)
        if begin is None:
            raise error(last, "the table of columns is missing")
        lines = lines[begin + 1 :]
    named: dict[str, float] = {}
    listed: list[float] = []
    begun = ""
    for number, line in lines:
        if re.match(form.end, line):
            break
        if re.match(form.other, line):
            continue
        if re.match(form.marked, line):
            raise error(number, f"{form.title} marks the value as infeasible")
        if not begun and re.match(form.wrapped, line):
            begun = line
            continue
        match = re.fullmatch(form.row, f"{begun} {line}".strip() if begun else line.rstrip())
        place, begun = str(len(listed) + 1), ""
        if match is None or match.groupdict().get("number", place) != place:
            raise error(number, form.what.format(number=place))
        value, name = _figure(match["value"]), match.groupdict().get("name")
        if value is None:
            raise error(number, f"{match['value'][:40]!r} is no finite number")
        if name in named:
            raise error(number, f"the column {name!r} has two values")
        if name is None:
            listed.append(value)
        else:
            named[name] = value
    if count is not None and count != len(named or listed):
        raise error(last, f"{count} columns are announced and {len(named or listed)} follow")
    return named if "name" in re.compile(form.row).groupindex else listed


def _by_column(
    values: dict[str, float] | list[float], sparse: bool, program: Program, source: str, alone: list[str]
) -> dict[str, float]:
    """Values by the program's names, of all columns or of those that may stand ``alone``."""
    if isinstance(values, list):
        if len(values) != len(program.columns):
            raise FileFormatError(
                f"{source} holds {len(values)} columns, the program has {len(program.columns)}: "
                "it belongs to another model."
            )
        return dict(zip(program.columns, values, strict=True))
    written = portable(program.columns, "x")
    unknown = values.keys() - set(written)
    if unknown:
        raise FileFormatError(
            f"{source} names {shortened(min(unknown))!r}, which is no column of the program: it is of another model."
        )
    by_name = dict(zip(program.columns, written, strict=True))
    if alone and values.keys() == {by_name[name] for name in alone}:
        return {name: values[by_name[name]] for name in alone}
    missing = [alias for alias in written if alias not in values]
    if missing and not sparse:
        raise FileFormatError(f"{source} has no value for {missing[0]!r} ({len(missing)} missing): it is cut short.")
    return {name: values.get(alias, 0.0) for name, alias in by_name.items()}


def original_names(program: Program) -> dict[str, str]:
    """Name of each column in the program's file -> its name in the program."""
    return dict(zip(portable(program.columns, "x"), program.columns, strict=True))


def solution_text(program: Program, x: ArrayLike, status: str = "Unknown", objective: float | None = None) -> str:
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
        lines += [f"# {title} {len(names)}", *(f"{name} {float(v)!r}" for name, v in zip(written, values, strict=True))]
    return "\n".join([*lines, "", "# Dual solution values", "None", ""])
