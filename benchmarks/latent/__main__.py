"""Latent retrieval measured: ``python -m benchmarks.latent --quality``, ``--rates``, ``--xi`` and ``--curve``.

``--quality`` tunes RoBiRank, WARP and implicit's ALS with as many trials each, and compares precision on test records.
``--rates`` times the steps on a drawn log, of the Million Song log's shape with ``--scale 1``, against steps in random
order.  ``--xi`` compares the ways of the xi-step.  ``--default`` compares the default penalty with a fixed one and with
ALS.  ``--curve`` prints precision against seconds for one and two shards.
``--ring`` hands blocks round on Ray and over TCP, and looks at how much of their way work hides; ``--scaling`` times
engines on one and two cores and calculates.
Quality, xi, default and curve need a folder of data sets (``--data``); peers take part where they are installed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.data import folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latent", description=__doc__)
    parser.add_argument("--quality", action="store_true", help="precision of all methods")
    parser.add_argument("--rates", action="store_true", help="pairs per second")
    parser.add_argument("--xi", action="store_true", help="time and precision of the ways of the xi-step")
    parser.add_argument("--default", action="store_true", help="the default penalty beside a fixed one and ALS")
    parser.add_argument("--curve", action="store_true", help="precision against seconds")
    parser.add_argument("--ring", action="store_true", help="blocks handed round, Ray beside TCP")
    parser.add_argument("--scaling", action="store_true", help="seconds on one and two cores, and the law")
    parser.add_argument("--plot", help="--curve, --scaling: file of the picture")
    parser.add_argument("--data", help="folder of data sets, <name>/<name>.npz")
    parser.add_argument("--sets", default="lastfm2k,citeulike_a,ml1m", help="data sets, between commas")
    parser.add_argument("--methods", default="", help="--quality: names, between commas; all without")
    parser.add_argument("--trials", type=int, default=20, help="--quality: settings tried for each method")
    parser.add_argument("--seeds", type=int, default=3, help="--quality, --default: splits, or starts")
    parser.add_argument("--keep", help="--quality: folder where a method's results are kept, and taken from")
    parser.add_argument("--scale", type=float, default=0.05, help="--rates, --scaling: share of the log")
    asked = parser.parse_args(arguments)
    if asked.rates:
        from benchmarks.latent.rates import report as rates

        rates(asked.scale)
    if asked.ring:
        from benchmarks.latent.overlap import report as overlap
        from benchmarks.latent.ring import report as ring

        ring()
        overlap()
    if asked.scaling:
        from benchmarks.latent.scaling import report as scaling

        scaling(asked.scale, asked.plot)
    where = folder(asked.data)
    if where is None and (asked.quality or asked.xi or asked.default or asked.curve):
        print("Quality, xi, default and curve are left out: there is no folder of data; give one with --data.")
        return 0
    if where is None:
        return 0
    from benchmarks.latent.curve import report as curve
    from benchmarks.latent.default import default
    from benchmarks.latent.quality import quality, xi

    keep = None if asked.keep is None else Path(asked.keep)
    for name in asked.sets.split(","):
        if asked.quality:
            quality(where, name, [m for m in asked.methods.split(",") if m], asked.trials, asked.seeds, keep)
        if asked.xi:
            xi(where, name)
        if asked.default:
            default(where, name, asked.seeds)
        if asked.curve:
            curve(where, name, asked.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
