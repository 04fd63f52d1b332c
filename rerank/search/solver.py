"""Exact search in weight space: the two calls that the rest of the toolkit makes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.problem import Problem
from rerank.search.result import Progress, SearchResult
from rerank.search.run import Run
from rerank.search.warm import ready

Floats = NDArray[np.float64]


def solve(
    problem: Problem,
    time_limit: float | None = 60.0,
    start: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    proof: bool = False,
    progress: Callable[[Progress], None] | None = None,
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
        Workers, as joblib counts them; threads here, whatever the surrounding ``joblib.parallel_config`` says
        elsewhere.
    random_state : int
        Seed of the line search.
    proof : bool
        Keep the record of splits.
    progress : callable, optional
        Called with a :class:`Progress` after each round.

    Returns
    -------
    SearchResult
        Ctrl-C ends the search early and keeps what it found.
    """
    ready()
    return Run(problem, time_limit, n_jobs, random_state, proof, progress).solve(start)


def line_search(
    problem: Problem, start: ArrayLike | None = None, time_limit: float = 1.0, random_state: int = 0
) -> tuple[Floats, float]:
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
        ``V(w) - C |w|_0``, every pair judged exactly.
    """
    ready()
    run = Run(problem, time_limit, 1, random_state, False, None)
    run.begin(start)
    if not run.limited:
        run.lines.restarts(run.search.best)
        if run.lines.state.found is not None:
            run.offer(run.lines.state.found)
    best = run.search
    w = np.zeros(problem.n_features) if best.weights is None else best.weights * run.flip + 0.0
    return w, run.tables.to_value(best.value)
