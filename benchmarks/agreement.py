"""Search and programs against the exact oracles, in large numbers.

``python -m benchmarks.agreement --search 20000 --programs 1000`` draws that many random instances, compares
each with the oracle that enumerates vertices (``--planar``: in two dimensions, up to 300 items, with the sweep), and
prints what disagreed and a summary. The exit code is 1 if anything did.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence

from joblib import Parallel, delayed

from tests.cases.instances import Instance, draw, stream
from tests.oracles.comparisons import Verdict, check_programs, check_search
from tests.oracles.sweep import sweep

CHUNK = 50


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both comparisons; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agreement", description=__doc__)
    parser.add_argument("--search", type=int, default=2000, help="instances for the search")
    parser.add_argument("--programs", type=int, default=60, help="instances for every program")
    parser.add_argument(
        "--planar", type=int, default=100, help="instances with two features and up to 300 items"
    )
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for one program")
    asked = parser.parse_args(arguments)
    wrong = compare("search", asked.search, asked.first, asked.jobs, searched)
    wrong += compare("planar", asked.planar, asked.first, asked.jobs, swept)
    wrong += compare("programs", asked.programs, asked.first, asked.jobs, programmed, asked.time_limit)
    return 1 if wrong else 0


def compare(title: str, count: int, first: int, jobs: int, task: Callable[..., list], *options: float) -> int:
    """Compare ``count`` instances in parallel, print the findings, return how many disagreed."""
    begun = time.perf_counter()
    if not count:
        return 0
    starts = range(first, first + count, CHUNK)
    chunks = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(task)(start, min(CHUNK, first + count - start), *options) for start in starts
    )
    seen: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    wrong, done = 0, 0
    for chunk in chunks:
        for described, kind, verdict in chunk:
            done += 1
            kinds[kind] += 1
            seen.update(verdict.seen)
            if verdict.failures:
                wrong += 1
                print(described, *verdict.failures, sep="\n    ", flush=True)
        print(f"{title}: {done} of {count}, {wrong} wrong", file=sys.stderr, end="\r", flush=True)
    seconds = time.perf_counter() - begun
    print(f"\n{title}: {done} instances, {wrong} disagree, {seconds:.0f} s on {jobs} processes")
    for counted in (kinds, seen):
        print("   ", ", ".join(f"{name} {number}" for name, number in sorted(counted.items())))
    return wrong


def searched(first: int, count: int) -> list[tuple[str, str, Verdict]]:
    """Verdicts on the search for consecutive seeds."""
    return [_entry(instance, check_search(instance.problem)) for instance in stream(first, count)]


def swept(first: int, count: int) -> list[tuple[str, str, Verdict]]:
    """Verdicts on the search in two dimensions for consecutive seeds."""
    drawn = (draw(seed, n_max=300, d_max=2) for seed in range(first, first + count))
    planar = [instance for instance in drawn if instance.problem.n_features == 2]
    return [_entry(item, check_search(item.problem, lambda p: sweep(p).value)) for item in planar]


def programmed(first: int, count: int, time_limit: float) -> list[tuple[str, str, Verdict]]:
    """Verdicts on the programs for consecutive seeds; every fifth is AUC, which has a program of its own."""
    drawn = (
        draw(seed, n_max=7, statistic="auc" if seed % 5 == 0 else None)
        for seed in range(first, first + count)
    )
    return [_entry(instance, check_programs(instance, time_limit)) for instance in drawn]


def _entry(instance: Instance, verdict: Verdict) -> tuple[str, str, Verdict]:
    return str(instance), instance.kind, verdict


if __name__ == "__main__":
    sys.exit(main())
