"""The best card: every allowed set of questions bounded, the points of those that may hold it searched."""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors.compiling import say, working_time
from rerank.errors.stops import Stop, limited, protected
from rerank.scorecard import kernels
from rerank.scorecard.data import Data
from rerank.scorecard.kernels import Limits, Worth
from rerank.scorecard.points import few, listed, orders
from rerank.scorecard.rules import Rules

MOST_MEMORY = 2**30  # bytes of the tree of sets of questions

# A job bounds so many sets, or fewer where rows are many: some hundredths of a second.
SETS_OF_A_JOB, WORDS_OF_A_JOB = 2**16, 2**24
MOST_KEPT = 5 * 10**6  # sets whose points are still to be searched
SWAPS = 5  # sets tried in each place of a swap, the first by their bounds
EVERY = 1.0  # seconds between two lines of progress


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be found."""

    data: Data
    worth: Worth
    domains: tuple[tuple[int, ...], ...]  # points that each question may have, none of them 0
    size: int  # most questions of a card
    rules: Rules
    limits: Limits

    @cached_property
    def slack(self) -> float:
        """By how much a computed value may be off: 0 for an area of one list, whose pairs are counted in integers."""
        exact = self.worth.kind == kernels.AREA and self.worth.scale.size == 1 and self.worth.scale[0] < 2.0**51
        return 0.0 if exact else 1e-11 * max(1.0, self.best_of_all)

    @cached_property
    def flagged(self) -> tuple[Worth, float]:
        """The relevant rows among as many first ones as a cut may flag, and how many a cut has to flag."""
        relevant, other = self.data.totals.sum(axis=0).astype(np.float64)
        most = self.limits.flagged * (relevant + other)
        rows = min(most, self.limits.rows) if self.limits.cut == kernels.TOP else most
        one = np.ones(1)
        worth = Worth(kernels.HITS, 1.0, 0.0, one, one, np.array([rows * (1 + 1e-9)]), one, np.zeros(1, np.int64))
        wanted = 0.0 if self.limits.cut == kernels.NO_CUT else self.limits.sensitivity * relevant
        return worth, wanted * (1 - 1e-9)

    def listed(self, members: Any) -> bool:
        """Whether all vectors of points of these questions are searched, and not only steps from one to the next."""
        return few([self.domains[j] for j in members])

    @cached_property
    def best_of_all(self) -> float:
        """The value that no score on all questions exceeds, but for rounding."""
        total = self.worth.constant
        for of in range(self.worth.scale.size):
            own = np.flatnonzero(self.data.lists == of)
            p, q = (side[own].astype(np.float64) for side in (self.data.relevant, self.data.other))
            order = np.lexsort((-(p + q), -(p / (p + q))))
            total += kernels.in_order(self.worth, of, p[order], q[order], own.size) / self.worth.scale[of]
        return float(total)


@dataclass(frozen=True)
class Found:
    """Questions with points that are not 0, their value as computed, and in how many ways points give this order."""

    members: tuple[int, ...]
    points: tuple[int, ...]
    value: float
    vectors: int = 1

    @property
    def key(self) -> tuple[Any, ...]:
        """Of equal values the card with fewer questions, then smaller points, comes first."""
        return (-self.value, len(self.members), sum(map(abs, self.points)), self.members, [-w for w in self.points])


class Tree:
    """Sets of at most ``size`` - 1 of ``n`` questions with the numbers of rows that answer yes to all, by cell.
    :mod:`.kernels` says how they stand; ``level`` has the first node of each size, and the one behind its last.
    """

    def __init__(self, n: int, size: int, totals: NDArray[np.int64]) -> None:
        nodes = nodes_of(n, size)
        self.n, self.size = n, size
        self.counts = np.zeros((nodes, totals.size), np.int64)
        self.counts[0] = totals
        self.first = np.zeros(nodes, np.int64)
        self.elements = np.zeros((nodes, max(size - 1, 1)), np.int16)
        self.level = [(0, 1)]
        for s in range(1, size + 1):
            low, high = self.level[-1]
            last, ends = self._children(s)
            self.first[low:high] = high + np.concatenate([[0], ends[:-1]]) - (last + 1)
            if s < size:
                parents = np.repeat(np.arange(low, high), n - 1 - last)
                own = slice(high, high + int(ends[-1]))
                self.elements[own] = self.elements[parents]
                self.elements[own, s - 1] = np.arange(own.start, own.stop) - self.first[parents]
                self.level.append((own.start, own.stop))

    def _children(self, s: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The last question of each node of level ``s`` - 1, and how many children it has with those before it."""
        low, high = self.level[s - 1]
        last = self.elements[low:high, s - 2].astype(np.int64) if s > 1 else np.full(1, -1)
        return last, np.cumsum(self.n - 1 - last)

    def jobs(self, s: int, words: int) -> Iterator[tuple[int, int, int]]:
        """Nodes of parts of level ``s`` - 1, from and to, and how many children they have."""
        low, high = self.level[s - 1]
        _, ends = self._children(s)
        most = max(self.n, min(SETS_OF_A_JOB, WORDS_OF_A_JOB // words))
        cuts = np.unique(np.append(np.searchsorted(ends, np.arange(most, ends[-1] + most, most)) + 1, high - low))
        begin = 0
        for end in np.minimum(cuts, high - low).tolist():
            if end > begin:
                before = int(ends[begin - 1]) if begin else 0
                yield low + begin, low + end, int(ends[end - 1]) - before
                begin = end


def nodes_of(n: int, size: int) -> int:
    """How many sets of fewer than ``size`` of ``n`` questions there are."""
    return sum(math.comb(n, s) for s in range(size))


@dataclass(eq=False)
class Search:
    """A search over all sets, for the best card or for all cards of at least a value."""

    problem: Problem
    stop: Stop = field(default_factory=Stop)
    n_jobs: int = 1
    verbose: bool = False
    best: Found | None = None
    complete: bool = False  # whether all sets are bounded and searched, or fathomed
    all_bounded: bool = False  # whether all were bounded, and the points of those that are not fathomed searched
    bound: float = math.inf  # no allowed card has a larger value
    bounded: int = 0  # sets bounded,
    sets: int = 0  # of so many;
    searched: int = 0  # of those that their bound did not fathom so many were searched,
    left: int = 0  # and so many are left
    _open: float = -math.inf
    _said: float = field(default_factory=working_time)

    def run_within(self, seconds: float | None, *asked: Any) -> bool:
        """:meth:`run`, for so long at most; whether Ctrl-C ended it."""

        def run() -> None:
            with limited(seconds) as self.stop:
                self.run(*asked)

        return protected(run)[1]

    def run(self, least: float | None = None, each: Callable[[NDArray[Any], Any], bool] | None = None) -> None:
        """Find the best card, or with ``least`` all cards of at least this value. ``each`` is called with every set
        whose bound is at least ``least``, in order of size, and says whether to go on.
        """
        problem, n = self.problem, len(self.problem.domains)
        size = min(problem.size, n)
        if each is None:
            first_card(self)
        self.sets = nodes_of(n, size + 1) - 1
        self.bound = problem.best_of_all + problem.slack
        totals = problem.data.totals.ravel()
        if nodes_of(n, size) * (8 * totals.size + 8 + 2 * max(size - 1, 1)) > MOST_MEMORY:
            return
        tree = Tree(n, size, totals)
        with ThreadPoolExecutor(self.n_jobs) as pool:
            for s in range(1, size + 1):
                kept, sets, done = self._level(pool, tree, s, least)
                go_on = self._points(pool, kept, sets, each)
                self.left += len(kept) - self.searched_of_level
                if not (done and go_on):
                    return
        self.all_bounded = not self.left
        best = -math.inf if self.best is None else self.best.value
        self.complete = self._open <= best
        self.bound = min(self.bound, max(best, self._open) + problem.slack)

    def _level(self, pool: Any, tree: Tree, s: int, least: float | None) -> Any:
        """Bounds of the sets of ``s`` questions that are not fathomed, with the sets, the largest first."""
        problem = self.problem
        data, words = problem.data, problem.data.bits.words.shape[1]
        jobs = list(tree.jobs(s, words))

        def job(low: int, high: int, children: int) -> Any:
            if self.stop.now:
                return None
            limit = least if least is not None else -math.inf if self.best is None else self.best.value
            sets, bounds = np.empty((children, s), np.int16), np.empty(children)
            begin = tree.first[low] + (tree.elements[low, s - 2] + 1 if s > 1 else 0)
            last = s == tree.size
            own = np.empty((children, data.cells), np.int64) if last else tree.counts[begin : begin + children]
            held = np.empty(words, np.uint64)
            kernels.count_children(low, high, s, data.bits, tree.elements, held, own)
            nodes = own, tree.counts, tree.first, tree.elements
            lowest = limit - problem.slack
            found = kernels.bound_children(low, high, s, lowest, nodes, problem.rules, problem.worth, sets, bounds)
            return bounds[:found].copy(), sets[:found].copy()

        kept = [(np.empty(0), np.empty((0, s), np.int16))]
        done = total = 0
        for answer, (_, _, children) in zip(pool.map(lambda own: job(*own), jobs), jobs):
            if answer is None:
                continue
            done += 1
            self.bounded += children
            kept.append(answer)
            total += answer[0].size
            self.tell()
            if total > MOST_KEPT:  # what is dropped, the sets with the smallest bounds, counts as left
                bounds, sets = map(np.concatenate, zip(*kept))
                order = np.argsort(-bounds, kind="stable")
                self.left += bounds.size - MOST_KEPT
                self._open = max(self._open, float(bounds[order[MOST_KEPT]]))
                kept, total = [(bounds[order[:MOST_KEPT]], sets[order[:MOST_KEPT]])], MOST_KEPT
        bounds, sets = map(np.concatenate, zip(*kept))
        order = np.lexsort([sets[:, j] for j in reversed(range(s))] + [-bounds])
        return bounds[order], sets[order], done == len(jobs)

    def _points(self, pool: Any, bounds: Any, sets: Any, each: Any) -> bool:
        """Search the points of sets, the largest bound first, until the bound falls below the best card."""
        self.searched_of_level = 0
        step = 4 * self.n_jobs
        for begin in range(0, len(sets), step):
            if self.stop.now:
                return False
            part = slice(begin, begin + step)
            if each is None:
                if self.best is not None and bounds[begin] < self.best.value - self.problem.slack:
                    self.searched_of_level = len(sets)
                    break
                self.take(pool.map(self.search_set, sets[part]))
            else:
                if not all(list(pool.map(each, sets[part], bounds[part]))):
                    return False
            if not all(map(self.problem.listed, sets[part])):
                self._open = max(self._open, float(bounds[begin]))
            self.searched_of_level = min(begin + step, len(sets))
            self.searched += len(sets[part])
            self.tell()
        return True

    def take(self, cards: Any) -> None:
        """Keep the best of cards and the one so far."""
        for card in cards:
            if card is not None and (self.best is None or card.key < self.best.key):
                self.best = card

    def search_set(self, members: Any) -> Found | None:
        """The best card of a set that is at least as good as the best one so far."""
        limit = -math.inf if self.best is None else self.best.value
        found = cards_of(self.problem, members, limit, rise=True)
        if found and self.problem.listed(members):  # of equal values the smallest points
            found = cards_of(self.problem, members, found[0].value - self.problem.slack, rise=False)
        return min(found, key=lambda one: one.key, default=None)

    def tell(self) -> None:
        """A line of progress, once a second."""
        now = working_time()
        if now - self._said > EVERY:
            self._said = now
            best = "no card yet" if self.best is None else f"best {self.best.value:.6g}"
            say(
                f"card: {self.bounded:,} of {self.sets:,} sets of questions bounded, points of {self.searched:,} "
                f"searched; {best}, none above {math.ceil(1e6 * self.bound) / 1e6:.7g}",
                self.verbose,
            )


def cards_of(problem: Problem, members: Any, limit: float, rise: bool, strict: bool = False) -> list[Found]:
    """Cards of a set of questions with a value of at least ``limit``: all, or with ``rise`` the best one. Where there
    are too many vectors of points to list, what steps of single points find.
    """
    by_list, by_kind = problem.data.groups(members)
    if not problem.listed(members):
        return stepped(problem, members, by_list, by_kind, limit)
    own = orders(tuple(problem.domains[j] for j in members))
    together = np.stack([by_kind[:, ::2].sum(axis=1), by_kind[:, 1::2].sum(axis=1)], axis=1)
    most = 1024
    asked = problem.limits, problem.rules.places[np.asarray(members)], by_kind, together, *problem.flagged
    while True:
        leaf, value = np.empty(1 if rise else most, np.int64), np.empty(1 if rise else most)
        n = kernels.best_points(own, by_list, problem.worth, limit, strict, rise, asked, leaf, value)
        if rise or n < most:
            break
        most *= 8
    names = tuple(int(j) for j in members)
    return [
        Found(names, tuple(own.points[at].tolist()), float(worth), int(own.vectors[at]))
        for at, worth in zip(leaf[:n].tolist(), value[:n].tolist())
    ]


def first_card(search: Search) -> None:
    """A good card soon: questions one by one by bound, then swaps as long as a card gets better."""
    problem, n = search.problem, len(search.problem.domains)

    def ranked(members: list[int], out: int, complete: bool) -> list[list[int]]:
        """The sets with one question more that the rules allow, but ``out``, the largest bound first."""
        bounds, data = np.empty(n), problem.data
        kernels.bound_more(np.asarray(members, np.int64), data.bits, data.totals.ravel(), problem.worth, bounds)
        allowed = [
            j for j in range(n) if j != out and j not in members and problem.rules.allow([*members, j], complete)
        ]
        return [sorted([*members, j]) for j in sorted(allowed, key=lambda j: (-bounds[j], j))]

    members: list[int] = []
    for _ in range(min(problem.size, n)):
        more = ranked(members, -1, False)
        if not more or (search.best is not None and search.stop.now):  # there is a card even without time
            break
        members = more[0]
        if problem.rules.allow(members):
            search.take([search.search_set(sorted(members))])
    while True:
        before = search.best
        for out in list(members):
            for chosen in ranked([j for j in members if j != out], out, True)[:SWAPS]:
                if search.stop.now:
                    return
                search.take([search.search_set(chosen)])
        if search.best is None or search.best is before:
            return
        members = list(search.best.members)


def stepped(problem: Problem, members: Any, by_list: Any, by_kind: Any, limit: float) -> list[Found]:
    """A card of questions that have too many vectors of points to list: points changed one at a time while that helps.
    It begins with the smallest points of the sign that suits each question alone.
    """
    names = tuple(int(j) for j in members)
    k, band = len(names), problem.rules.places[np.asarray(members)]

    def value(points: Any) -> float:
        own = listed(np.array([points], np.int64))
        if not kernels.keeps(own.place, 0, k, problem.limits, band, by_kind):
            return -math.inf
        return float(kernels.best_below(0, k, k, own, by_list, problem.worth))

    def alone(j: int) -> int:
        own, _ = problem.data.groups([j])
        every = listed(np.array(problem.domains[j], np.int64)[:, None])
        worth = [kernels.best_below(at, 1, 1, every, own, problem.worth) for at in range(len(every.points))]
        return max(zip(worth, -np.abs(every.points[:, 0]), problem.domains[j]))[2]

    points = [alone(j) for j in names]
    best = value(points)
    while True:
        before = best
        for place, j in enumerate(names):
            for point in problem.domains[j]:
                tried = [*points[:place], point, *points[place + 1 :]]
                if (worth := value(tried)) > best:
                    points, best = tried, worth
        if best == before:
            break
    return [Found(names, tuple(points), best)] if best >= limit and best > -math.inf else []
