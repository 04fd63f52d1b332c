"""Solution files of CBC."""

from __future__ import annotations

import re

from formulations.dialects.raw import Dialect, Lines, PointlessError, Raw, UnreadableError, stated, store


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
        store(named, number, words[1], words[2])
    return Raw(status, named, omits_zeros=True, objective=stated(lines[0][1].rsplit("objective value", 1)[1]))


FORMS = (Dialect("cbc", _is_cbc, _cbc),)
