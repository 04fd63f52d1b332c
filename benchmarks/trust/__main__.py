"""Checks of reliability, one summary line each: ``python -m benchmarks.trust [--CHECK [SIZE]] ...``.

Without an option every check runs at its standard size, which takes days. The exit code is 1 if a check found
something wrong.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.trust.summary import Summary


@dataclass(frozen=True)
class Check:
    """Where a check's function stands (``module:function``), its standard size and what it does.

    A size that is a tuple is a list of words, such as the rooms to mutate. The function of a `timed` check takes
    ``minutes`` too.
    """

    home: str
    standard: int | float | tuple[str, ...]
    help: str
    timed: bool = False


CHECKS: dict[str, Check] = {
    "agreement": Check("benchmarks.trust.agreement:agreement", 10_000, "instances against exact enumeration"),
    "invariance": Check("benchmarks.trust.invariance:invariance", 1_000, "problems moved, permuted, parted"),
    "repeats": Check("benchmarks.trust.repeats:repeats", 20, "the same fits again, bit by bit"),
    "soak": Check("benchmarks.trust.soak:soak", 120.0, "minutes of random jobs in one process"),
    "proofs": Check("benchmarks.trust.proofs:proofs", 1_000, "proofs of the search, verified"),
    "mutants": Check("benchmarks.trust.proofs:mutants", 20_000, "altered proofs, each to be refused"),
    "models": Check("benchmarks.trust.proofs:models", 1, "altered model files, every SIZE-th"),
    "fuzz": Check("benchmarks.trust.fuzz:fuzz", 20_000, "damaged files for each reader", timed=True),
    "mutation": Check(
        "benchmarks.trust.mutation:mutation", ("ranks", "perturb", "certificate"), "changed code that tests notice"
    ),
    "coverage": Check("benchmarks.trust.covered:coverage", ("all",), "lines and branches that tests run"),
    "interrupts": Check("benchmarks.trust.interrupts:interrupts", 200, "fits that a signal reaches"),
    "kills": Check("benchmarks.trust.kills:kills", 30, "searches that are killed, and their checkpoints"),
    "limits": Check("benchmarks.trust.limits:limits", 60, "fits with a time limit, the worst excess"),
    "times": Check("benchmarks.trust.limit_table:times", 3, "the table of what a time limit holds, medians of SIZE"),
}
# A check is one line here and one file beside this one.


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trust", description=__doc__)
    for name, check in CHECKS.items():
        words = isinstance(check.standard, tuple)
        parser.add_argument(
            f"--{name}",
            nargs="*" if words else "?",
            type=str if words else type(check.standard),
            const=None if words else check.standard,
            metavar="NAME" if words else "SIZE",
            help=f"{check.help} (standard: {check.standard})",
        )
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--minutes", type=float, help="end of --fuzz, if it comes before the size")
    asked = vars(parser.parse_args(arguments))
    chosen = {name: asked[name] for name in CHECKS if asked[name] is not None}
    wrong = 0
    for name, size in (chosen or {name: check.standard for name, check in CHECKS.items()}).items():
        wrong += len(run(name, size or CHECKS[name].standard, asked["first"], asked["jobs"], asked["minutes"]).failures)
    return 1 if wrong else 0


def run(name: str, size: int | float | Sequence[str], first: int, jobs: int, minutes: float | None = None) -> Summary:
    """Run one check and print its line."""
    module, _, function = CHECKS[name].home.partition(":")
    limit = {"minutes": minutes} if CHECKS[name].timed and minutes is not None else {}
    begun = time.perf_counter()
    summary: Summary = getattr(importlib.import_module(module), function)(size, first, jobs, **limit)
    print(f"{name}: {summary}; {time.perf_counter() - begun:.0f} s in all, {jobs} processes", flush=True)
    return summary


if __name__ == "__main__":
    sys.exit(main())
