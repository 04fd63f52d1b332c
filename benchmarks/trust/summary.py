"""What a check found, in one line, and a loop over seeds on several processes."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from joblib import Parallel, delayed

CHUNK = 25
"""Seeds that a process takes at once."""


@dataclass(frozen=True)
class Case:
    """One case of a check: its description, what was wrong with it, and what was seen on the way."""

    described: str
    failures: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()


@dataclass
class Summary:
    """The result of a check.

    Attributes
    ----------
    text : str
        What was done, with its size and seeds.
    failures : list of str
        One line for each case that failed.
    seen : Counter
        How often something was seen on the way.
    """

    text: str
    failures: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    def add(self, case: Case) -> None:
        """Count a case, and print it at once if it failed."""
        self.seen.update(case.seen)
        if case.failures:
            self.failures.append("\n    ".join((case.described, *case.failures)))
            print(self.failures[-1], flush=True)

    def __add__(self, other: Summary) -> Summary:
        return Summary(f"{self.text}; {other.text}", self.failures + other.failures, self.seen + other.seen)

    def __str__(self) -> str:
        counts = ", ".join(f"{name} {number}" for name, number in sorted(self.seen.items()))
        return f"{self.text}, {len(self.failures)} wrong" + (f" ({counts})" if counts else "")


def over_seeds(what: str, task: Callable[[int], Case | Sequence[Case]], count: int, first: int, jobs: int) -> Summary:
    """Run a task for ``count`` consecutive seeds on ``jobs`` processes.

    ``task`` is a function at the top of a module, since it is sent to other processes.
    """
    begun = time.perf_counter()
    summary = Summary("")
    starts = range(first, first + count, CHUNK)
    chunks = (delayed(_chunk)(task, start, min(CHUNK, first + count - start)) for start in starts)
    parts = Parallel(n_jobs=jobs, return_as="generator_unordered")(chunks)
    for done, cases in enumerate(parts, start=1):
        for case in cases:
            summary.add(case)
        print(f"{what}: {done} of {len(starts)} parts", file=sys.stderr, end="\r", flush=True)
    last = f" to {first + count - 1}" if count > 1 else ""
    seconds = time.perf_counter() - begun
    summary.text = f"{count} {what}, seeds {first}{last}, {seconds:.0f} s"
    return summary


def _chunk(task: Callable[[int], Case | Sequence[Case]], start: int, count: int) -> list[Case]:
    found: list[Case] = []
    for seed in range(start, start + count):
        made = task(seed)
        found.extend([made] if isinstance(made, Case) else made)
    return found
