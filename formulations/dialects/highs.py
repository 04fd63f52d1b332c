"""Solution files of HiGHS: its styles 0 and 4, 1, and -1."""

from __future__ import annotations

import re

from formulations.dialects.raw import (
    Dialect,
    Lines,
    PointlessError,
    Raw,
    UnreadableError,
    after,
    finite,
    stated,
    store,
)  # fmt: skip


def _is_highs(lines: Lines) -> bool:
    return lines[0][1].strip() == "Model status"


def _highs(lines: Lines) -> Raw:
    """Styles 0 (all columns) and 4 (non-zero columns, each with its index)."""
    status = lines[1][1].strip() if len(lines) > 1 else ""
    words = [(number, line.split()) for number, line in lines]
    start = next(
        (i for i, (_, word) in enumerate(words) if word[:2] == ["#", "Columns"] and len(word) in (3, 4)), None
    )
    titles = [line.strip() for _, line in lines[:-1]]
    title = "# Primal solution values"
    kind = lines[titles.index(title) + 1][1].strip() if title in titles else "None"
    if kind != "Feasible" or start is None:
        raise PointlessError(lines[-1][0], "HiGHS", f"{status}, {kind}")
    line, word = words[start]
    count = int(finite(line, word[2]))  # from HiGHS 1.16 on "sparse" follows a count below 0
    sparse = count < 0
    rows = words[start + 1 : start + 1 + abs(count)]
    if len(rows) != abs(count):
        raise UnreadableError(lines[-1][0], f"{abs(count)} columns are announced and {len(rows)} follow")
    named: dict[str, float] = {}
    for number, word in rows:
        if len(word) != (3 if sparse else 2) or word[0] == "#":
            raise UnreadableError(number, "a column is a name and a number")
        store(named, number, word[0], word[1])
    return Raw(status, named, omits_zeros=sparse, objective=stated(after("Objective ", lines)))


def _is_highs_table(lines: Lines) -> bool:
    first, second = (line.split() for _, line in (*lines[:2], (0, ""))[:2])
    return first == ["Columns"] and second[:2] == ["Index", "Status"] and "Primal" in second


def _highs_table(lines: Lines) -> Raw:
    """Style 1: a table; the Status column is blank for integer programs and the Dual one may be."""
    status = after("Model status:", lines)
    if status in ("", "Infeasible", "Empty", "Not Set"):
        raise PointlessError(lines[-1][0], "HiGHS", status)
    primal = lines[1][1].index("Primal") + len("Primal")
    named: dict[str, float] = {}
    for number, line in lines[2:]:
        if line.strip() == "Rows":
            return Raw(status, named, objective=stated(after("Objective value:", lines)))
        figures = line[:primal].split()
        if len(figures) < 4:
            raise UnreadableError(number, "a column has an index, bounds and a value; HiGHS has none for it")
        store(named, number, line.split()[-1], figures[-1])
    raise UnreadableError(lines[-1][0], "the table of columns has no end")


def _is_highs_list(lines: Lines) -> bool:
    return re.match(r"\d{1,12} \d{1,12} : Number of columns and rows", lines[0][1]) is not None


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
    return Raw("", listed=[finite(number, line.split()[0]) for number, line in values])


FORMS = (
    Dialect("highs", _is_highs, _highs),
    Dialect("highs", _is_highs_table, _highs_table),
    Dialect("highs", _is_highs_list, _highs_list),
)
