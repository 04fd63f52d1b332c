"""Solution files of SCIP."""

from __future__ import annotations

from formulations.dialects.raw import (
    Dialect,
    Lines,
    PointlessError,
    Raw,
    UnreadableError,
    after,
    stated,
    store,
)


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
        store(named, number, words[0], words[1])
    return Raw(status, named, omits_zeros=True, objective=stated(after("objective value:", lines)))


FORMS = (Dialect("scip", _is_scip, _scip),)
