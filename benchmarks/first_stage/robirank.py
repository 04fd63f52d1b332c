"""RoBiRank measured: ``python -m benchmarks.first_stage.robirank --kernels``, ``--quality`` and ``--starts``.

``--kernels`` times the sums over pairs of five shapes of list, in CPU seconds of one thread, against a plain compiled
loop, with the largest error of the gradient.  ``--quality`` tunes every method on validation queries and compares them
on test queries, peers where they are installed.  ``--starts`` looks for other minima.  Both need a folder of data sets
(``--data``).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from threadpoolctl import threadpool_limits

from benchmarks.data import folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables asked for; the exit code is 1 where a goal of the kernels was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_stage.robirank", description=__doc__)
    parser.add_argument("--kernels", action="store_true", help="speed and error of the sums over pairs")
    parser.add_argument("--quality", action="store_true", help="nDCG of all methods")
    parser.add_argument("--starts", action="store_true", help="where ten starts end")
    parser.add_argument("--data", help="folder of data sets, <name>/<name>.npz")
    parser.add_argument(
        "--sets", default="ohsumed,mslr_sample,lightgbm_rank,mq2007agg", help="data sets, between commas"
    )
    parser.add_argument(
        "--methods", default="", help="--quality: methods whose name holds one of these, between commas"
    )
    parser.add_argument(
        "--small", action="store_true", help="--quality: one size of tree, 100 rounds at most, for all packages"
    )
    asked = parser.parse_args(arguments)
    missed = 0
    if asked.kernels or not (asked.quality or asked.starts):
        from benchmarks.first_stage.robirank_kernels import report

        missed = report()
    where = folder(asked.data)
    if where is None and (asked.quality or asked.starts):
        print("Quality and starts are left out: there is no folder of data; give one with --data.")
    if where is not None and asked.quality:
        from benchmarks.first_stage.robirank_quality import report as quality

        with threadpool_limits(1):
            quality(where, asked.sets.split(","), asked.methods.split(","), asked.small)
    if where is not None and asked.starts:
        from benchmarks.first_stage.robirank_starts import report as starts

        with threadpool_limits(1):
            starts(where, asked.sets.split(","))
    return missed


if __name__ == "__main__":
    sys.exit(main())
