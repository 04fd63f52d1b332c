"""Tables of the papers, repeated: ``python -m benchmarks.papers --data FOLDER`` and one of the options below.

``--repeat`` runs smaller experiments of the TopPush, TreeRSVM, reranking and RoBiRank papers, in some ten minutes.
``--treersvm`` is figure 1 of the TreeRSVM paper: cost of a subgradient, cost of a fit and test error at growing m.
``--reranking`` is the reranking paper's protocol: four base rankers, each plain and with its head fitted exactly.
``--pos-at-top`` is the TopPush paper's statistic fitted itself, in training and on held-out thirds, in some minutes.
RoBiRank's nDCG curves are printed by ``python -m benchmarks.first_stage.robirank --quality --data FOLDER``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from threadpoolctl import threadpool_limits

from benchmarks.data import folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("--treersvm", action="store_true", help="seconds and errors at growing m")
    parser.add_argument("--reranking", action="store_true", help="base rankers, plain and reranked")
    parser.add_argument("--pos-at-top", action="store_true", help="Pos@Top fitted itself")
    parser.add_argument("--repeat", action="store_true", help="smaller experiments of each paper")
    parser.add_argument("--data", help="folder of data sets")
    parser.add_argument("--largest", type=int, default=512_000, help="--treersvm: rows of the largest fit")
    parser.add_argument("--pairs", type=int, default=32_000, help="--treersvm: rows up to which pairs are looped over")
    parser.add_argument("--splits", type=int, help="splits of each table: 10 of --reranking, 20 of --pos-at-top")
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="time limit of a fit; a fifth for a split of --pos-at-top"
    )
    parser.add_argument("--sets", help="--pos-at-top: names of tables, between commas")
    asked = parser.parse_args(arguments)
    where = folder(asked.data)
    if (asked.reranking or asked.repeat) and where is None:
        print("No folder of data sets; give it with --data.", file=sys.stderr)
        return 2
    with threadpool_limits(1):
        if asked.treersvm:
            from benchmarks.papers.treersvm import report as figure

            figure(asked.largest, asked.pairs)
        if asked.pos_at_top:
            from benchmarks.papers.pos_at_top import SETS
            from benchmarks.papers.pos_at_top import report as fitted

            fitted(where, asked.sets.split(",") if asked.sets else list(SETS), asked.splits or 20, asked.seconds)
        if asked.reranking and where is not None:
            from benchmarks.papers.reranking import report as protocol

            protocol(where, asked.splits or 10, asked.seconds)
        if asked.repeat and where is not None:
            from benchmarks.papers.repeated import report as experiments

            experiments(where)
    return 0


if __name__ == "__main__":
    sys.exit(main())
