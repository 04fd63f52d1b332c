"""How large a search would be: pairs are counted before their differences are made, and too many are refused."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rerank.errors import InputError
from rerank.errors.stops import Deadline, current
from rerank.problem import Problem
from rerank.problem.lists import Indices
from rerank.search.rows.choice import too_many

NUMBERS_A_SECOND = 5e7  # differences of features, over all pairs, that are made in a second; a low estimate
BESIDE = 12  # numbers that are held for a pair beside its differences

COPIES = 2
"""Times that a worker holds the pairs: those of a box, and of the boxes inside it that leave some of them undecided."""

ROW_BYTES = 80  # bytes that a worker, and the lines, hold for a row beside its features in a search by rows
MOST_PAIRS = 2**31 - 1  # pairs are numbered in 32 bits


class OutOfTimeError(Exception):
    """The time was over before the search could begin."""


def check_time(stop: Deadline) -> None:
    """Raise KeyboardInterrupt after Ctrl-C, and :class:`OutOfTimeError` after the deadline."""
    if stop.asked.is_set():
        raise KeyboardInterrupt
    if stop.now:
        raise OutOfTimeError("The time was over before the search could begin.")


@dataclass(frozen=True, eq=False)
class ListPairs:
    """The pairs of one list before their differences are made."""

    level: Indices  # (m,): thresholds that an item reaches, 0 for gain 0
    below: Indices  # rows that stand for all different ones, by level,
    count: Indices  # so many times each
    ends: Indices  # ``below[: ends[i]]`` have a lower gain than item ``i``

    @property
    def items(self) -> Indices:
        """Items that stand above others."""
        return np.flatnonzero(self.level > 0)

    @property
    def number(self) -> int:
        """How many pairs there are."""
        return int(self.ends[self.items].sum())


def pairs_of(problem: Problem) -> list[ListPairs]:
    """The pairs of each list; ``n log n`` time and ``n`` numbers."""
    found = []
    for q in problem.lists:
        level = np.searchsorted(q.thresholds(), q.gains, side="right")
        # Equal rows of one gain stand in the same pairs: the first is kept, with their count.
        rows = np.column_stack([level, problem.X[q.rows]])
        _, first_of, count = np.unique(rows, axis=0, return_index=True, return_counts=True)
        order = np.argsort(level[first_of], kind="stable")
        below = first_of[order]
        found.append(ListPairs(level, below, count[order], np.searchsorted(level[below], level)))
    return found


def affordable_pairs(problem: Problem, workers: int = 1) -> list[ListPairs]:
    """The pairs of each list; InputError, OutOfTimeError if there is no memory or time for a search of them."""
    stop, d = current(), problem.n_features
    check_time(stop)
    parts = pairs_of(problem)
    number = sum(part.number for part in parts)
    needed = 8 * number * (d + BESIDE + COPIES * workers * d)
    most = memory() * 0.75
    if needed > most or number > MOST_PAIRS:
        longest = max(q.rows.size for q in problem.lists)
        fits = int(longest * min(most / needed, MOST_PAIRS / number) ** 0.5)
        raise InputError(
            f"The search would hold {number:,} pairs of {d} features, {needed / 1e9:.3g} GB; lower n_candidates to "
            f"{fits} or less, or give fewer features."
        )
    seconds = number * d / NUMBERS_A_SECOND
    if seconds > stop.left:
        raise OutOfTimeError(
            f"The search did not begin: to prepare {number:,} pairs of {d} features takes about {seconds:.3g} s, and "
            f"{stop.left:.3g} s were left; raise time_limit or lower n_candidates."
        )
    return parts


def pairs_if_affordable(problem: Problem, workers: int = 1) -> list[ListPairs] | None:
    """As :func:`affordable_pairs`; None where there is no memory or no time for the pairs, or rows are better."""
    check_time(current())
    with suppress(InputError, OutOfTimeError):
        parts = affordable_pairs(problem, workers)
        return None if too_many(problem, sum(part.number for part in parts)) else parts
    return None


def check_rows(problem: Problem, entries: int, workers: int = 1) -> None:
    """InputError, OutOfTimeError if there is no memory or time for a search by rows, ``entries`` of them."""
    check_time(current())
    d = problem.n_features
    needed = 8 * problem.X.size * 3 + entries * (4 + (workers + 1) * (ROW_BYTES + 8 * d))
    if needed > 0.75 * memory():
        raise InputError(
            f"The search would hold {entries:,} rows of {d} features, {needed / 1e9:.3g} GB; lower n_candidates, or "
            "give fewer features."
        )


def memory() -> float:
    """Bytes of memory that this process may use; infinite where that is not known."""
    found = [np.inf]
    with suppress(AttributeError, ValueError, OSError):
        found.append(float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE"))
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(ValueError, OSError):
            found.append(float(Path(name).read_text(encoding="ascii")))
    return float(min(found))
