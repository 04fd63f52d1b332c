"""Long measurements that go on where they were cut short: one line of JSON for each cell, in a file that only grows."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

Cell = TypeVar("Cell")


def measured_cells(
    file: Path, cells: Iterable[Cell], key: Callable[[Cell], Any], measure: Callable[[Cell], dict[str, Any]],
    told: Callable[[dict[str, Any]], str],
) -> list[dict[str, Any]]:  # fmt: skip
    """The rows of a file, with those of the cells that it lacked.

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
    """
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    done = {json.dumps(row["cell"]) for row in rows}
    for cell in cells:
        name = key(cell)
        if json.dumps(name) in done:
            continue
        rows.append({"cell": name, **measure(cell)})
        with file.open("a") as kept:
            kept.write(json.dumps(rows[-1]) + "\n")
        print(told(rows[-1]), file=sys.stderr, flush=True)
    return rows
