"""The best card: every allowed set of questions bounded, the points of those that may hold it searched."""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors.compiling import say, working_time
from rerank.errors.stops import Deadline, limited, protected
from rerank.scorecard import kernels
from rerank.scorecard.exchange import Exchange, found_of
from rerank.scorecard.points import orders
from rerank.scorecard.problem import CardProblem, Found

MOST_MEMORY = 2**27  # bytes of a path of sets of questions
MOST_SETS = 2**31  # sets that are bounded: some minutes

# A job bounds so many sets, or fewer where rows are many: some hundredths of a second.
SETS_OF_A_JOB, ROWS_OF_A_JOB = 2**16, 2**32
MOST_KEPT = 5 * 10**6  # sets whose points are still to be searched
SETS_OF_A_PART = 64  # whose points are searched in one call, at most: some hundredths of a second
# Rounds of exchange of each size without a better card after which it ends: at most, where sets are few, one more for
# so many sets, and for the cards of folds.
ROUNDS, FEWEST, SETS_OF_A_ROUND, ROUNDS_OF_A_FOLD = 20, 4, 2 * 10**4, 5
EVERY = 1.0  # seconds between two lines of progress


def jobs_of(
    n: int, size: int, most: int, path: tuple[int, ...] = ()
) -> Iterator[tuple[tuple[int, ...], int, int, int]]:
    """Parts of the sets of ``size`` of ``n`` questions, of about ``most``: the first questions, from which to which the
    next one is, and how many sets these are.
    """
    behind = size - 1 - len(path)  # questions of a set behind the next one
    low, many = (path[-1] + 1 if path else 0), 0
    if size == 2:
        yield path, 0, 0, math.comb(n, 2)
        return
    for x in range(low, n - behind):
        own = math.comb(n - 1 - x, behind)
        divided = own > most and behind > 2
        if many and (divided or many + own > most):
            yield path, low, x, many
            low, many = x, 0
        if divided:
            yield from jobs_of(n, size, most, (*path, x))
            low = x + 1
        else:
            many += own
    if many:
        yield path, low, n - behind, many


def nest_of(entries: kernels.Entries, totals: NDArray[np.int64], size: int) -> kernels.Nest:
    """Memory of the paths to sets of ``size`` questions, the first node filled in."""
    n, groups = entries.answers.shape[1], (1 << (size - 1)) - 1
    kind = np.int32 if totals.max() < 2**31 else np.int64
    parts, many = entries.factor.size, entries.row.size
    nest = kernels.Nest(
        np.zeros((size - 1, many + 1), np.int32),
        np.zeros((size - 1, (parts << (size - 2)) + 1), np.int64),
        np.empty((many // 64 + 1, n), np.uint64),
        np.empty((groups, totals.size), kind),
        np.empty((groups, totals.size, n), kind),
        np.empty((groups, totals.size, math.comb(n, 2)), kind),
    )
    nest.row[0, :many], nest.start[0, : parts + 1] = entries.row, entries.start
    nest.totals[0], nest.singles[0], nest.pairs[0] = totals, 0, 0
    for begin, end, factor, cell in zip(entries.start, entries.start[1:], entries.factor, entries.cell):
        own = entries.row[begin:end], entries.answers, -1, factor, nest.words
        kernels.count_pairs(*own, nest.singles[0, cell], nest.pairs[0, cell])
    return nest


def beside(nest: kernels.Nest) -> kernels.Nest:
    """Memory as that of a nest, with its first node."""
    own: list[NDArray[Any]] = [np.empty_like(counts) for counts in nest]
    for new, old in zip(own, list[Any](nest)):
        new[0] = old[0]
    return kernels.Nest(*own)


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
        if self.sets > MOST_SETS or (4 * totals.size * math.comb(n, 2)) << size > MOST_MEMORY:
            return
        with ThreadPoolExecutor(self.n_jobs) as pool:
            for s in range(1, size + 1):
                kept, sets, done = self._level(pool, s, least)
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
        known = [card for card in (self.best, *self.starts) if card is not None]
        for draft in exchange.cards(size, rounds, [exchange.draft(card.members, card.points) for card in known]):
            self.take([found_of(draft)])
            self.tell()
            if self.best is not None and self.best.value >= problem.best_of_all:
                return

    def _level(self, pool: Any, s: int, least: float | None) -> Any:
        """Bounds of the sets of ``s`` questions that are not fathomed, with the sets, the largest first."""
        problem = self.problem
        entries, totals, n = problem.data.entries, problem.data.totals.ravel(), len(problem.domains)
        most = max(1, min(SETS_OF_A_JOB, ROWS_OF_A_JOB // entries.row.size))
        jobs = list(jobs_of(n, s, most)) if s > 1 else [((), 0, 0, n)]
        nest = nest_of(entries, totals, s) if s > 1 else None
        lines = lines_above(problem, s, self.best)

        def job(path: tuple[int, ...], low: int, high: int, many: int) -> Any:
            if self.stop.now:
                return None
            limit = least if least is not None else -math.inf if self.best is None else self.best.value
            lowest = limit - problem.slack
            if nest is None:
                own = [j for j in range(n) if problem.by_question[j] >= lowest and problem.rules.allow([j])]
                return problem.by_question[own], np.array(own, np.int16).reshape(-1, 1)
            sets, bounds = np.empty((many, s), np.int16), np.empty(many)
            first = np.array(path, np.int64)
            rest = entries, problem.rules, problem.worth, lines, (sets, bounds)
            found = kernels.bound_sets(first, low, high, lowest, beside(nest), *rest)
            return bounds[:found].copy(), sets[:found].copy()

        kept = [(np.empty(0), np.empty((0, s), np.int16))]
        done = total = 0
        for answer, (_, _, _, children) in zip(pool.map(lambda own: job(*own), jobs), jobs):
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
        begin, size = 0, 4
        while begin < len(sets):
            if each is None and self.best is not None and bounds[begin] < self.best.value - self.problem.slack:
                return True
            if self.stop.now:
                break
            ends = range(begin, min(len(sets), begin + size * self.n_jobs), size)
            parts = [(sets[at : at + size], bounds[at : at + size]) for at in ends]
            if each is None:
                search = partial(best_of_sets, self.problem, self.best, self.stop)
                answers = list(pool.map(search, *zip(*parts)))
                self.take(card for cards, _, _ in answers for card in cards)
                searched, done = sum(many for _, many, _ in answers), all(ended for _, _, ended in answers)
            else:
                searched = sum(len(members) for members, _ in parts)
                done = all(list(pool.map(each, *(np.concatenate(side) for side in zip(*parts)))))
            if not done:
                break
            self.searched += searched
            self.tell()
            begin, size = begin + size * self.n_jobs, min(2 * size, SETS_OF_A_PART) if each is None else size
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


CANDIDATES, LINES, SAMPLE = 13, 6, 16  # slopes that are tried, slopes taken, and sets on which they are


def lines_above(problem: CardProblem, size: int, best: Found | None) -> kernels.Lines:
    """Lines above the orders of groups of sets of ``size`` questions, for areas: their slopes are close to the best on
    sets beside the best card.
    """
    totals, worth, n = problem.data.totals.astype(np.float64), problem.worth, len(problem.domains)
    small = np.float32 if totals.sum() < 2**24 else np.float64  # holds all counts
    if worth.kind not in (kernels.AREA, kernels.PARTIAL):
        return kernels.Lines(np.empty((len(totals), 0), small), np.zeros((len(totals), 1)))
    draw, known = np.random.default_rng(0), () if best is None else best.members
    every = [[*known, *draw.permutation(np.setdiff1d(np.arange(n), known))] for _ in range(SAMPLE)]
    groups = [problem.data.groups(sorted(draw.permutation(own[: size + 1])[:size]))[0] for own in every]
    p, q = (np.stack([own[:, side::2].sum(axis=1) for own in groups]) / totals[:, side].sum() for side in (0, 1))
    tried = np.exp(np.linspace(6, -6, CANDIDATES))
    high = np.maximum(0, p[:, None] - tried[:, None] * q[:, None]).sum(axis=2)  # (sets, slopes)

    def area(chosen: list[int]) -> float:
        slope, here = np.append(tried[chosen], 0.0), np.column_stack([high[:, chosen], np.ones(len(high))])
        ends = np.clip(np.diff(here, axis=1) / -np.diff(slope), 0.0, 1.0)
        ends = np.column_stack([np.zeros(len(high)), np.maximum.accumulate(ends, axis=1), np.ones(len(high))])
        low, up = ends[:, :-1], ends[:, 1:]
        return float(((up - low) * (here + slope * (low + up) / 2)).sum())

    taken = list[int]()
    for _ in range(LINES):
        left = (j for j in range(CANDIDATES) if j not in taken)
        taken = min((sorted([*taken, j]) for j in left), key=area)
    rate = np.where(totals.all(axis=1), totals[:, 0] / np.maximum(totals[:, 1], 1.0), 1.0)
    slopes = (rate[:, None] * tried[taken]).astype(small)
    rows: NDArray[np.float64] = totals[:, :1] + slopes.astype(np.float64) * totals[:, 1:]
    return kernels.Lines(slopes, ((1 << size) + 4) * 2 * float(np.finfo(small).eps) * rows)


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


def best_of_sets(
    problem: CardProblem, best: Found | None, stop: Deadline, sets: NDArray[np.int16], bounds: NDArray[np.float64]
) -> tuple[list[Found], int, bool]:
    """Cards of sets of questions, each the best so far, if none that is known comes before them; how many sets were
    searched until their bounds, which fall, fell below it; and whether that was before the time was over.
    """
    many, k = sets.shape
    memory = 1 << min(14, 3 * k)
    depth = kernels.Depth(
        np.zeros(1, np.int64),
        np.zeros(k + 1, np.int64),
        np.zeros((k + 1, 1 << k), np.int64),
        np.zeros((k + 1, 1 << k), np.int64),
        np.zeros(memory, np.uint64),
        np.full(memory, np.nan),
    )
    value, size = (-math.inf, math.inf) if best is None else (best.value, math.inf)
    if best is not None and len(best.members) <= k:
        size = sum(map(abs, best.points)) if len(best.members) == k else -1.0
    found, points, values = np.array([value, size]), np.zeros((many, k), np.int64), np.empty(many)
    at = 0
    while True:
        at = kernels.best_vectors(sets, bounds, at, depth, problem.points_asked, found, points, values)
        done = at == many or bool(bounds[at] < found[0] - problem.slack)
        if done or stop.now:
            break
    better = np.flatnonzero(points.any(axis=1))
    cards = [Found(tuple(sets[i].tolist()), tuple(points[i].tolist()), float(values[i])) for i in better]
    return cards, at, done
