"""Learning curves of score fusion: ``python -m benchmarks.fusion --data FOLDER`` runs what is missing, writes the page.

A cell is a collection, a number of runs, a number of training queries, a fold and a draw of both; it is one line of
``benchmarks/fusion/cells.jsonl``, or of the file that ``--cells`` names. Time limits count CPU seconds. LightGBM has
to be installed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.data import folder
from benchmarks.fusion.collections import KINDS, cells
from benchmarks.fusion.lists import cell
from benchmarks.fusion.measures import kept_measures
from benchmarks.fusion.methods import lacking, measured
from benchmarks.fusion.page import curves, page
from benchmarks.resumed import measured_cells
from benchmarks.trust.limits import processor_clock
from rerank.search import compile_kernels

KEPT = Path(__file__).parent / "cells.jsonl"
DOCS = Path(__file__).parent.parent.parent / "docs"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fusion", description=__doc__)
    parser.add_argument("--data", help="folder of data sets")
    parser.add_argument("--cells", type=Path, default=KEPT, help="file with one line a cell")
    parser.add_argument("--draws", type=int, default=1, help="draws of runs and training queries in each fold")
    parser.add_argument("--collections", nargs="*", default=list(KINDS), choices=list(KINDS), help="only these")
    parser.add_argument("--written", action="store_true", help="measure nothing, write the page")
    parser.add_argument("--page", type=Path, default=DOCS / "fusion.md", help="where to write the page")
    asked = parser.parse_args(arguments)
    where = folder(asked.data)
    if where is None and not asked.written:
        print("No folder of data sets; give it with --data.", file=sys.stderr)
        return 2
    if not asked.written:
        compile_kernels()

    def timed(key: tuple[str, int, int, int, int], row: dict[str, Any]) -> dict[str, Any]:
        if where is None or not lacking(row):
            return {}
        with processor_clock():
            return measured(*cell(where, *key), row)

    rows = measured_cells(
        asked.cells,
        [] if asked.written else cells(asked.collections, asked.draws),
        list,
        lambda key: timed(key, {}),
        lambda row: f"{row['cell']} " + " ".join(f"{name} {row[name]['ndcg']:.4f}" for name in ("RRF", "guarded")),
        timed,
    )
    asked.page.write_text(page(rows, kept_measures()))
    curves(rows, asked.page.parent / "images" / "fusion_curves.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
