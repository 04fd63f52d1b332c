"""Runs the cells that are missing and writes the page: ``python -m benchmarks.evidence --data FOLDER``.

Each cell is one line of ``benchmarks/evidence/cells.jsonl``, or of the file that ``--cells`` names. A run that is cut
short goes on. Time limits count CPU seconds, so that other programs on the machine change nothing.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.data import folder
from benchmarks.evidence.cells import (
    LARGE,
    MORE_STAGES,
    QUERY_SETS,
    SECONDS,
    SPLITS,
    STAGES,
    STATISTICS,
    TABLES,
    Cell,
    all_cells,
    is_planned,
    measured,
)
from benchmarks.evidence.page import page
from benchmarks.evidence.tuning import all_tuned, section, tuned
from benchmarks.resumed import measured_cells
from benchmarks.trust.limits import processor_clock
from rerank.search import compile_kernels

KEPT, TUNED = (Path(__file__).parent / name for name in ("cells.jsonl", "tuned.jsonl"))
PAGE = Path(__file__).parent.parent.parent / "docs" / "evidence.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evidence", description=__doc__)
    parser.add_argument("--data", help="folder of data sets")
    parser.add_argument("--cells", type=Path, default=KEPT, help="file with one line a cell")
    parser.add_argument("--splits", type=int, default=SPLITS, help=f"splits of each table, up to {SPLITS}")
    parser.add_argument("--tables", nargs="*", default=list(TABLES), help=f"these tables, or {', '.join(QUERY_SETS)}")
    parser.add_argument("--stages", nargs="*", default=list(STAGES), help=f"these, or {', '.join(MORE_STAGES)}")
    parser.add_argument("--statistics", nargs="*", default=list(STATISTICS), help="these, or ap, ndcg ...")
    parser.add_argument("--page", type=Path, default=PAGE, help="where to write the page")
    parser.add_argument("--tuning", action="store_true", help="tune LightGBM on these tables and splits, and no cells")
    asked = parser.parse_args(arguments)
    cells = list(all_cells(0 if asked.tuning else asked.splits, asked.tables, asked.stages, asked.statistics))
    if not all(map(is_planned, cells)) and (asked.cells == KEPT or asked.page == PAGE):
        parser.error("What was not planned goes to files of its own: give --cells and --page.")
    where = folder(asked.data)
    if where is None:
        print("No folder of data sets; give it with --data.", file=sys.stderr)
        return 2
    compile_kernels()  # which counts for no cell

    def timed(cell: Cell) -> dict[str, Any]:
        with processor_clock():
            return measured(cell, where)

    def told(row: dict[str, Any]) -> str:
        return " ".join(f"{key}={value}" for key, value in row.items())

    ways = all_tuned(asked.splits if asked.tuning else 0, asked.tables)
    models = measured_cells(TUNED, ways, list, lambda way: tuned(*way, where), told)
    rows = measured_cells(asked.cells, cells, lambda cell: cell.key, timed, told)
    beside = section(models, rows) if models else []
    asked.page.write_text("\n".join([page(rows, _head(rows)), *beside]))
    return 0


def _head(rows: list[dict[str, object]]) -> str:
    splits = {str(row["cell"]).rsplit("/", 1)[1] for row in rows}
    others = sum(not is_planned(Cell.of(str(row["cell"]))) for row in rows)
    told = f", and {others} that were not planned" if others else ""
    planned = len(TABLES) * len(STAGES) * len(STATISTICS) * SPLITS
    done = f"{len(rows) - others} of {planned} cells{told}"
    cells = f"{len(TABLES)} tables x {', '.join(STAGES)} x {', '.join(STATISTICS)} x {SPLITS} stratified splits"
    today, large = datetime.date.today(), max(LARGE.values())
    return f"""# Does it help on rows to come?

Written by `python -m benchmarks.evidence --data FOLDER` on {today}: {done}, with the splits
{", ".join(sorted(splits, key=int))} as seeds.

Tables, first stages, statistics and splits were fixed before anything was run:
{cells} 2/3 to 1/3,
of which the cells above are the first. Methods: the free fit with all defaults;
corrections of up to 3 columns with radius .1, margin .1 and a window of 2; and `RerankerCV` with all defaults. They are
called free, anchored and cv; "radius 0" is the share of the splits in which cv kept the first stage. A fit has
{SECONDS:g} CPU seconds, cross-validation {15 * SECONDS:g}; on {" and ".join(LARGE)} {large:g} and {15 * large:g},
because the first stage alone takes a second there. (At first 10 and 150 were planned there; the 20 cells that were
measured so were measured anew when the search had become faster.)
The defaults of `RerankerCV` were chosen on splits with other seeds (100 to 103) of eight of these tables: those for
precision and DCG before anything was run
([decision 0062](decisions/0062-few-corrections-and-a-wide-judge.md)), those for AUC after 269 cells of AUC,
which were then measured anew ([decision 0065](decisions/0065-auc-takes-the-best-option.md)).

A number is the mean lead over the first stage in per cent of its mean, with the 95 % interval for splits that share
rows (Nadeau and Bengio 2003), and wins/losses. One split gives no interval and no test. Means over all tables count the
cells of a table alike, and have the 95 % interval of drawing the tables anew. FOLDER holds
[the tables](papers.md#data-of-the-benchmarks).

`--stages` takes {" and ".join(MORE_STAGES)} too, `--tables` sets of queries ({", ".join(QUERY_SETS)};
three splits are folds of whole lists), and `--statistics` other ones. They go to files of their own, by `--cells` and
`--page`."""


if __name__ == "__main__":
    sys.exit(main())
