"""The best card: every allowed set of questions bounded, the points of those that may hold it searched."""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors.compiling import say, working_time
from rerank.errors.stops import Deadline, limited, protected
from rerank.scorecard import kernels
from rerank.scorecard.exchange import Exchange, found_of
from rerank.scorecard.points import orders
from rerank.scorecard.problem import CardProblem, Found

MOST_MEMORY = 2**30  # bytes of the tree of sets of questions

# A job bounds so many sets, or fewer where rows are many: some hundredths of a second.
SETS_OF_A_JOB, WORDS_OF_A_JOB = 2**16, 2**24
MOST_KEPT = 5 * 10**6  # sets whose points are still to be searched
# Rounds of exchange of each size without a better card after which it ends: at most, where sets are few, one more for
# so many sets, and for the cards of folds.
ROUNDS, FEWEST, SETS_OF_A_ROUND, ROUNDS_OF_A_FOLD = 20, 4, 2 * 10**4, 5
EVERY = 1.0  # seconds between two lines of progress


class Tree:
    """Sets of at most ``size`` - 1 of ``n`` questions with the numbers of rows that answer yes to all, by cell.
    :mod:`.kernels` says how they stand; ``level`` has the first node of each size, and the one behind its last.
    """

    def __init__(self, n: int, size: int, totals: NDArray[np.int64]) -> None:
        nodes = nodes_of(n, size)
        self.n, self.size = n, size
        self.counts = np.zeros((nodes, totals.size), np.int32 if totals.max() < 2**31 else np.int64)
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


def rounds_for(n: int, size: int) -> int:
    """Rounds of exchange without a better card after which it ends: few where a proof takes no longer."""
    return min(ROUNDS, FEWEST + nodes_of(n, size + 1) // SETS_OF_A_ROUND)


def nodes_of(n: int, size: int) -> int:
    """How many sets of fewer than ``size`` of ``n`` questions there are."""
    return sum(math.comb(n, s) for s in range(size))


@dataclass(eq=False)
class Search:
    """A search over all sets, for the best card or for all cards of at least a value."""

    problem: CardProblem
    stop: Deadline = field(default_factory=Deadline)
    n_jobs: int = 1
    verbose: bool = False
    best: Found | None = None
    starts: tuple[Found, ...] = ()  # cards from which the search sets out, too, whether rules allow them or not
    seed: int = 0
    complete: bool = False  # whether all sets are bounded and searched, or fathomed
    all_bounded: bool = False  # whether all were bounded, and the points of those that are not fathomed searched
    bound: float = math.inf  # no allowed card has a larger value; infinite where nothing is known
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
        self._run(least, each)
        if self.best is not None and self.best.value >= self.problem.best_of_all:  # no score has more
            self.complete, self.bound = True, self.best.value + self.problem.slack

    def _run(self, least: float | None, each: Any) -> None:
        problem, n = self.problem, len(self.problem.domains)
        size = min(problem.size, n)
        self.sets = nodes_of(n, size + 1) - 1
        if each is None:
            self.exchange(lambda cap: rounds_for(n, cap))
        self.bound = problem.ceiling + problem.slack
        totals = problem.data.totals.ravel()
        if nodes_of(n, size) * (4 * totals.size + 8 + 2 * max(size - 1, 1)) > MOST_MEMORY:
            return
        tree = Tree(n, size, totals)
        with ThreadPoolExecutor(self.n_jobs) as pool:
            for s in range(1, size + 1):
                kept, sets, done = self._level(pool, tree, s, least)
                searched = self._points(pool, kept, sets, each)
                if not done or not (searched or each is None):
                    return
        self.all_bounded = not self.left
        best = -math.inf if self.best is None else self.best.value
        self.complete = self._open <= best
        self.bound = min(self.bound, max(best, self._open) + problem.slack)

    def exchange(self, rounds: Callable[[int], int]) -> None:
        """Good cards soon: see :mod:`.exchange`."""
        problem = self.problem
        size = min(problem.size, len(problem.domains))
        exchange = Exchange(problem, self.stop, self.seed)
        known = [one for one in (self.best, *self.starts) if one is not None]
        for draft in exchange.cards(size, rounds, [exchange.draft(one.members, one.points) for one in known]):
            self.take([found_of(draft)])
            self.tell()
            if self.best is not None and self.best.value >= problem.best_of_all:
                return

    def _level(self, pool: Any, tree: Tree, s: int, least: float | None) -> Any:
        """Bounds of the sets of ``s`` questions that are not fathomed, with the sets, the largest first."""
        problem = self.problem
        data, words = problem.data, problem.data.bits.words.shape[1]
        jobs = list(tree.jobs(s, words))
        small = np.float32 if data.totals.max() < 2**24 else np.float64  # holds all counts

        def job(low: int, high: int, children: int) -> Any:
            if self.stop.now:
                return None
            limit = least if least is not None else -math.inf if self.best is None else self.best.value
            sets, bounds = np.empty((children, s), np.int16), np.empty(children)
            begin = tree.first[low] + (tree.elements[low, s - 2] + 1 if s > 1 else 0)
            last = s == tree.size
            own = np.empty((children, data.cells), tree.counts.dtype) if last else tree.counts[begin : begin + children]
            held = np.empty(words, np.uint64)
            kernels.count_children(low, high, s, data.bits, tree.elements, held, own)
            nodes = own, tree.counts, tree.first, tree.elements
            lowest = limit - problem.slack
            lanes = np.empty((data.cells, 1 << s, kernels.LANES), small)
            found = kernels.bound_children(
                low, high, s, lowest, nodes, problem.rules, problem.worth, lanes, (sets, bounds)
            )
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
        """Search the points of sets, the largest bound first, until the bound falls below the best card; whether none
        is left. What is left counts in the bound.
        """
        step, begin = 4 * self.n_jobs, 0
        for begin in range(0, len(sets), step):
            part = sets[begin : begin + step]
            if each is None and self.best is not None and bounds[begin] < self.best.value - self.problem.slack:
                return True
            if self.stop.now:
                break
            if each is None:
                answers = list(pool.map(lambda one: best_of_set(self.problem, one, self.best, self.stop), part))
                self.take(found for found, _ in answers)
                done = all(ended for _, ended in answers)
            else:
                done = all(list(pool.map(each, part, bounds[begin : begin + step])))
            if not done:
                break
            self.searched += len(part)
            self.tell()
        else:
            return True
        self.left += len(sets) - begin
        self._open = max(self._open, float(bounds[begin]))
        return False

    def take(self, cards: Any) -> None:
        """Keep the best of cards and the one so far."""
        for card in cards:
            if card is not None and (self.best is None or card.key < self.best.key):
                self.best = card

    def tell(self) -> None:
        """A line of progress, once a second."""
        now = working_time()
        if now - self._said > EVERY:
            self._said = now
            best = "no card yet" if self.best is None else f"best {self.best.value:.6g}"
            known = "" if math.isinf(self.bound) else f", none above {math.ceil(1e6 * self.bound) / 1e6:.7g}"
            say(
                f"card: {self.bounded:,} of {self.sets:,} sets of questions bounded, points of {self.searched:,} "
                f"searched; {best}{known}",
                self.verbose,
            )


def cards_of(problem: CardProblem, members: Any, limit: float, strict: bool = False) -> list[Found]:
    """All cards of a set of questions, whose points are few enough to be listed, with a value of at least ``limit``."""
    asked, by_list = limits_of(problem, members)
    domains = tuple(problem.domains[j] for j in members)
    if sum(max(0, min(own)) for own in domains) > problem.limits.total:
        return []
    own = orders(domains, problem.limits.total)
    most = 1024
    while True:
        leaf, value = np.empty(most, np.int64), np.empty(most)
        n = kernels.best_points(own, by_list, problem.worth, limit, strict, asked, leaf, value)
        if n < most:
            break
        most *= 8
    names = tuple(int(j) for j in members)
    return [
        Found(names, tuple(own.points[at].tolist()), float(worth), int(own.vectors[at]))
        for at, worth in zip(leaf[:n].tolist(), value[:n].tolist())
    ]


def limits_of(problem: CardProblem, members: Any) -> tuple[Any, ...]:
    """What a kernel is told of the limits of a set of questions, and the rows of each group, by class of each list."""
    by_list, by_kind = problem.data.groups(members)
    together = np.stack([by_kind[:, ::2].sum(axis=1), by_kind[:, 1::2].sum(axis=1)], axis=1)
    return (problem.limits, problem.rules.places[np.asarray(members)], by_kind, together, *problem.flagged), by_list


def best_of_set(problem: CardProblem, members: Any, best: Found | None, stop: Deadline) -> tuple[Found | None, bool]:
    """The best card of a set of questions, if none that is known comes before it, and whether all points were searched
    before the time was over. Questions that alone tell the most apart get their points first.
    """
    k = len(members)
    alone = {j: problem.by_question[j] for j in members}
    order = sorted(range(k), key=lambda i: (-alone[members[i]], i))
    own = [int(members[i]) for i in order]
    domains = [sorted(problem.domains[j], key=lambda one: (abs(one), -one)) for j in own]
    first = np.concatenate([[0], np.cumsum(list(map(len, domains)))]).astype(np.int64)
    points = np.array([one for each in domains for one in each], np.int64)
    asked, groups = limits_of(problem, own)
    memory = 1 << min(14, 3 * k)
    depth = kernels.Depth(
        np.ones(1, np.int64),
        np.zeros(k + 1, np.int64),
        np.zeros((k + 1, 1 << k), np.int64),
        np.zeros((k + 1, 1 << k), np.int64),
        np.zeros(memory, np.uint64),
        np.full(memory, np.nan),
    )
    value, size = (-math.inf, math.inf) if best is None else (best.value, math.inf)
    if best is not None and len(best.members) <= k:
        size = sum(map(abs, best.points)) if len(best.members) == k else -1.0
    found, chosen = np.array([value, size]), np.zeros(k, np.int64)
    rank = np.argsort(order)
    while not (
        done := kernels.best_vector(
            depth, (first, points), rank, groups, problem.worth, problem.slack, asked, found, chosen
        )
    ):
        if stop.now:
            break
    if not chosen.any():
        return None, done
    return Found(tuple(map(int, members)), tuple(chosen[rank].tolist()), float(found[0])), done
