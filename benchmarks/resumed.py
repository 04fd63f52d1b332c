"""Long measurements that go on where they were cut short: one line of JSON for each cell, in a file that only grows."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

Cell = TypeVar("Cell")


def measured_cells(
    file: Path,
    cells: Iterable[Cell],
    key: Callable[[Cell], Any],
    measure: Callable[[Cell], dict[str, Any]],
    told: Callable[[dict[str, Any]], str],
    more: Callable[[Cell, dict[str, Any]], dict[str, Any]] = lambda cell, row: {},
) -> list[dict[str, Any]]:
    """The rows of a file, with those of the cells that it lacked.

    A row is a line that is appended. A later line of the same cell adds to an earlier one.

    Parameters
    ----------
    file : Path
        Created if there is none.
    cells : iterable
    key : callable
        What a row calls its cell (``row["cell"]``), in types of JSON.
    measure : callable
        The rest of a cell's row.
    told : callable
        A line on standard error about a new row.
    more : callable, optional
        What a cell's row lacks, such as methods that came later.
    """
    rows: dict[str, dict[str, Any]] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        row = json.loads(line)
        rows.setdefault(json.dumps(row["cell"]), {}).update(row)
    for cell in cells:
        name = key(cell)
        known = rows.setdefault(json.dumps(name), {"cell": name})
        found = more(cell, known) if len(known) > 1 else measure(cell)
        if not found:
            continue
        known.update(found)
        with file.open("a") as kept:
            kept.write(json.dumps({"cell": name, **found}) + "\n")
        print(told(known), file=sys.stderr, flush=True)
    return list(rows.values())
