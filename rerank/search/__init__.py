"""The problem in weight space: exact line search, and branch and bound over boxes of weights.

The whole branch and bound, with the names of the functions that do it::

    run.begin(start)                                        # first weights: LineSearch.climb, or forward; levels
    while True:                                             # loop.BranchAndBound.explore
        while boxes.drop_fathomed():                        # some bound is above the best value
            if a limit is reached or Ctrl-C came: stop; the bound is boxes.open_bound()
            if _own_axes_are_slow(): boxes.restart(whitened=True)       # correlated features
            if many supports wait: screen_supports(...)     # groups, coarse boxes: supports.screens
            else:                                           # in parallel, in as many jobs as a round has
                batches = boxes.pick()                      # largest bound first
                found = explore_batches(batches)            # on each batch: boxes.kernel.explorer
                boxes.merge(found)                          # best point, open and unresolved boxes
                follow_lines(...)                           # beside it: more good weights
                if the bound is still far: a target             # targets.Targets
        if fathom_unresolved(boxes, exact):
            if there is no target: stop; the best value is proved
            targets.next()                                  # the target is a bound; again from the root, a lower one
        elif boxes.axes.whitened: boxes.restart(whitened=False)     # exact arithmetic is for boxes of weights only
        else: stop; the bound is boxes.open_bound()

    def explore(boxes, target):                             # depth first, compiled
        while boxes and work is left:
            box = the last one
            reach(box)                                      # M, R: each pair's margin lies in M - R .. M + R
            impose(box)                                     # of antiparallel pairs, one side is lost
            bound = value if only pairs with M + R < 0 are lost      # lost_weight, count_lost, total_value
            best = max(best, value at the centre)
            if bound > max(best, target): bound = min(bound, must_lose(box))      # AUC: linear relaxation
            if bound <= max(best, target): continue         # fathomed or set aside
            descend(undecided pairs)                        # the children evaluate these alone
            if the box is too small: unresolved.add(box)
            else: split by heaviest() antiparallel group or at the middle of coordinate()
"""

import os
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.errors.stops import limited, protected, unbroken
from rerank.errors.threads import one_thread
from rerank.io.options import one_of
from rerank.problem import Problem
from rerank.search.checkpoint import Checkpoint
from rerank.search.halves import half_bound
from rerank.search.loop import BranchAndBound
from rerank.search.result import Progress, SearchResult, without_search
from rerank.search.run import SearchRun
from rerank.search.sizes import OutOfTimeError
from rerank.search.tables import gap_of_orders
from rerank.search.warm import compile_kernels, ready
from rerank.search.workers import SearchWorkers

__all__ = ["Progress", "SearchResult", "compile_kernels", "line_search", "ready", "solve", "statistic_bound"]

RESOLUTION = 1e-12
"""Scaled scores that differ by less count as equal in :func:`statistic_bound`; rounding stays far below it."""
WIDEST = 1e-3  # the largest margin at which it searches, where rows of small whole numbers would stay apart by more


def solve(
    problem: Problem,
    time_limit: float | None = 60.0,
    start: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    proof: bool = False,
    progress: Callable[[Progress], None] | None = None,
    node_limit: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> SearchResult:
    """Maximise ``V(w) - C |w|_0`` over weights in scaled space, with a bound.

    Parameters
    ----------
    problem : Problem
    time_limit : float or None
        Seconds for everything but compiling the kernels, which happens once on a machine.
    start : array (d,), optional
        Weights in scaled space to begin with, such as the first stage's.
    n_jobs : int or None
        Workers, as joblib counts them: threads, unless the surrounding ``joblib.parallel_config`` names another
        backend.
    random_state : int
        Seed of the line search.
    proof : bool
        Keep the record of splits.
    progress : callable, optional
        Called with a :class:`Progress` after each round, in the thread that called this function.
    node_limit : int, optional
        Boxes after which the search stops.  They are counted at the end of each round, so some more are explored.
        With 0 the first points are all: good weights soon, and the value of the ideal lists as bound.
    checkpoint : path, optional
        A file for the state of the search, written about every half minute and at the end.  If the file exists, the
        search goes on where it stopped, with any ``n_jobs`` and any limits.  The file of a closed search stays.

    Returns
    -------
    SearchResult
        Ctrl-C ends the search early and keeps what it found.  Without a time limit, or long before it is reached, the
        result has the same bits for the same seed, whatever ``n_jobs`` is.  A search that a time limit cuts stops
        where the machine's speed lets it: its value and its bound hold, but differ from run to run.

    Raises
    ------
    InputError
        If there is no column whose weight could change, there are more pairs of rows than fit into memory, or the
        checkpoint belongs to a search of other data or options, is damaged, or cannot be written.
    """
    if problem.n_features <= int(problem.anchored):
        raise InputError("The problem has no column whose weight could change; give X at least one that varies.")
    workers = SearchWorkers(n_jobs)
    points = node_limit == 0 and checkpoint is None

    def searched() -> SearchResult:
        closed = interrupted = False
        with limited(time_limit), one_thread(problem.X.size):
            ready(problem, points, proof)
            try:
                run = SearchRun(problem, random_state, proof, workers.count, points)
            except OutOfTimeError as late:
                return without_search(problem, start, str(late))
            loop = BranchAndBound(run, workers, node_limit)
            file = None if checkpoint is None else Checkpoint(checkpoint, loop)
            reports = [] if progress is None else [run.progress(progress)]
            if file is not None:
                file.resume()
                reports.append(file.after)
            try:
                run.begin(start, None if file is None else file.after, levels=not points)
                closed = loop.explore(*reports)
            except KeyboardInterrupt:  # raised by ``progress``
                interrupted = True
            if file is not None:
                file.save(closed)
            return run.result(closed, interrupted, "" if file is None else file.note, loop.gave_up)

    found, interrupted = protected(searched)
    return replace(found, interrupted=True) if interrupted else found


def statistic_bound(
    problem: Problem,
    time_limit: float | None = 60.0,
    start: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    node_limit: int | None = None,
    ties: str = "pessimistic",
) -> float:
    """A bound on the statistic itself: no margin, no penalty.

    The bound of :func:`solve` is one on the value at the margin, and a ranking may exceed it.  This one holds for the
    ranking by any allowed weights in which scaled scores that differ by less than ``RESOLUTION`` count as equal.
    It is found by a search of its own at that margin: the boxes of the first search were fathomed by pairs that miss
    the margin, and such pairs may still be in the right order.

    Parameters
    ----------
    problem : Problem
    time_limit, start, n_jobs, random_state, node_limit
        As for :func:`solve`.
    ties : {"pessimistic", "average"}
        Whether a tied pair is lost, or one half, as scikit-learn counts it for AUC (:mod:`rerank.search.halves`).

    Returns
    -------
    float
        In the unit of ``evaluate``; the value of the ideal lists if the search could not begin.

    Raises
    ------
    InputError
        As :func:`solve`.
    """
    one_of("ties", ties, ("pessimistic", "average"))
    # A search closes sooner at a larger margin, and on whole numbers one changes nothing.
    margin = min(max(RESOLUTION, gap_of_orders(problem)), WIDEST)
    plain, end = replace(problem.with_epsilon(margin), C=0.0), time.perf_counter() + (time_limit or 0.0)

    interrupted = False

    def search(part: Problem, first: ArrayLike | None) -> float:
        nonlocal interrupted
        left = 0.0 if interrupted else None if time_limit is None else max(end - time.perf_counter(), 0.0)
        found = solve(part, left, first, n_jobs, random_state, node_limit=node_limit)
        interrupted = interrupted or found.interrupted
        return found.bound

    return search(plain, start) if ties == "pessimistic" else half_bound(plain, search, start)


def line_search(
    problem: Problem, start: ArrayLike | None = None, time_limit: float = 1.0, random_state: int = 0
) -> tuple[NDArray[np.float64], float]:
    """Good weights by exact line searches alone, for any number of features; nothing is proved.

    Parameters
    ----------
    problem : Problem
    start : array (d,), optional
        Weights in scaled space to begin with; the result is never worse.
    time_limit : float
        Seconds.
    random_state : int
        Seed; the same seed and start give the same lines in the same order.

    Returns
    -------
    weights : float64 (d,)
    value : float
        ``V(w) - C |w|_0``, every pair decided exactly; minus infinity where none were found that meet the quotas.
    """

    def searched() -> tuple[NDArray[np.float64], float]:
        with limited(time_limit):
            ready(problem)
            try:
                run = SearchRun(problem, random_state)
            except OutOfTimeError as late:
                found = without_search(problem, start, str(late))
                return found.weights, found.value
            run.begin(start, levels=False)
            if not run.limited:
                run.lines.restarts(run.boxes.best)
                if run.lines.state.found is not None:
                    run.offer(run.lines.state.found)
            return run.weights(), run.value()

    return unbroken(searched)
