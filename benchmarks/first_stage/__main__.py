"""All first stages measured: ``python -m benchmarks.first_stage [--peers] [--plot FILE]``.

Prints CPU seconds on one thread, objective values beside times.  The parts are commands of their own with more options:
``python -m benchmarks.first_stage.toppush``, ``.ranksvm`` and ``.robirank``.  ``--peers`` adds what is installed of
scikit-survival, LightGBM, XGBoost and CatBoost; ``--liblinear`` names a program that the user built from its source.
Sets of real data need a folder (``--data``).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks.first_stage import ranksvm, robirank, toppush


def main(arguments: Sequence[str] | None = None) -> int:
    """Print all tables; the exit code is 1 where a goal was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_stage", description=__doc__)
    parser.add_argument("--peers", action="store_true", help="other programs beside ours, and quality on queries")
    parser.add_argument("--plot", help="picture of TopPush's objective against CPU seconds")
    parser.add_argument("--liblinear", help="path of the program train of LIBLINEAR-rankSVM")
    parser.add_argument("--data", help="folder of data sets, <name>/<name>.npz")
    asked = parser.parse_args(arguments)
    data = ["--data", asked.data] if asked.data else []
    programs = ["--liblinear", asked.liblinear] if asked.liblinear else []
    missed = toppush.main(["--speed", "--zero", *(["--plot", asked.plot] if asked.plot else []), *data])
    ranksvm.main([*(["--peers"] if asked.peers else []), *programs, *data])
    missed += robirank.main(["--kernels", *(["--quality"] if asked.peers else []), *data])
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
