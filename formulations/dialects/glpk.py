"""Solution files of GLPK: plain ones (``-w``) and tables (``-o``)."""

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

GLPK_STATUS = re.compile(r"s (mip|bas|ipt) \d{1,12} \d{1,12} ")


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
        listed.append(finite(number, words[place]))
    if len(listed) != count:
        raise UnreadableError(lines[-1][0], f"{count} columns are announced and {len(listed)} follow")
    return Raw(statuses, listed=listed, objective=stated(lines[start][1].split()[-1]))


def _is_glpk(lines: Lines) -> bool:
    return lines[0][1].startswith("Problem:")


def _glpk(lines: Lines) -> Raw:
    """``glpsol -o``: six digits; names longer than twelve characters stand on a line of their own."""
    status = after("Status:", lines)
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
        elif len(words) == 1:
            raise UnreadableError(number, f"the column number {words[0][:12]} has no name")
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
        store(named, number, name, rest[0])
    # "Objective:  name = value (MINimum)"
    return Raw(status, named, objective=stated(after("Objective:", lines).rpartition("=")[2]))


FORMS = (Dialect("glpk", _is_glpk_raw, _glpk_raw), Dialect("glpk", _is_glpk, _glpk))
