"""Runs for the notebook on score fusion: ``python -m benchmarks.fusion.real_runs --data FOLDER`` writes examples/runs.

Two columns of LightGBM's ranking example (MIT licence) stand for retrievers: of its judged queries the best column by
itself, and the column that makes the best reciprocal rank fusion with it.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import arrays, folder
from benchmarks.fusion.collections import STAT
from rerank.fusion import FusionModel
from rerank.ranks import list_values

KEPT = Path(__file__).parent.parent.parent / "examples" / "runs"
PARTS = ("judged", "later")


def pair(X: NDArray[np.float64], y: NDArray[np.int64], qid: NDArray[np.intp]) -> tuple[int, int]:
    """The best column, and its best partner in reciprocal rank fusion."""
    found = FusionModel(tuple(map(str, range(X.shape[1]))), np.ones(X.shape[1]), "rank").normalised(X, qid)

    def worth(scores: NDArray[np.float64]) -> float:
        return float(np.nanmean(list_values(STAT, y, scores, qid)))

    first = int(np.argmax([worth(column) for column in X.T]))
    return first, int(np.argmax([worth(found[:, first] + column) for column in found.T]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fusion.real_runs", description=__doc__)
    parser.add_argument("--data", help="folder of data sets")
    where = folder(parser.parse_args(arguments).data)
    if where is None:
        print("No folder of data sets; give it with --data.", file=sys.stderr)
        return 2
    data = arrays(where, "lightgbm_rank")
    X, y, split = data["X"], data["y"].astype(np.int64), data["split"]
    qid = np.unique(data["qid"], return_inverse=True)[1]
    judged = np.flatnonzero(split == split.min())
    columns = pair(X[judged], y[judged], np.unique(qid[judged], return_inverse=True)[1])
    KEPT.mkdir(exist_ok=True)
    for name, rows in zip(PARTS, (judged, np.flatnonzero(split != split.min()))):
        ids = [f"q{qid[row]} d{row}".split() for row in rows]
        _write(f"{name}.qrels", [f"{query} 0 {document} {y[row]}" for (query, document), row in zip(ids, rows)])
        for column in columns:
            scores = [f"{query} Q0 {document} 0 {X[row, column]:.6g} c" for (query, document), row in zip(ids, rows)]
            _write(f"{name}.column{column}.run", scores)
    return 0


def _write(name: str, lines: Sequence[str]) -> None:
    # Without a name and a time the bytes are the same on every run.
    (KEPT / f"{name}.gz").write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))


if __name__ == "__main__":
    sys.exit(main())
