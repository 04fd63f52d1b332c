"""Solution files of Gurobi, and of MIPLIB."""

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


def _is_gurobi(lines: Lines) -> bool:
    first = next((line for _, line in lines if not line.startswith("#")), lines[0][1])
    return lines[0][1].startswith(("#", "=")) or len(first.split()) == 2


def _gurobi(lines: Lines) -> Raw:
    """``name value`` lines below ``#`` comments; MIPLIB's form has an ``=obj=`` line and leaves zeros out."""
    named: dict[str, float] = {}
    status, miplib, objective = "", False, stated(after("# Objective value =", lines))
    for number, line in lines:
        words = line.split()
        if line.startswith("#"):
            continue
        if words[0] in ("=obj=", "=infeas="):
            miplib, objective = True, stated(" ".join(words[1:]))
            if words[0] == "=infeas=":
                raise PointlessError(number, "the file", line.strip())
            continue
        if len(words) != 2:
            raise UnreadableError(number, "a column is a name and a value")
        store(named, number, words[0], words[1])
    if not named and not miplib:
        raise PointlessError(lines[-1][0], "the file", "nothing")
    return Raw(status, named, omits_zeros=miplib, objective=objective)


FORMS = (Dialect("gurobi", _is_gurobi, _gurobi),)
