"""Newton's method for TopPush: quadratic models of the loss under the cuts ``t_g >= row.w`` of a growing pool.

In the variables (w, t) the problem is smooth but for linear constraints, of which few are active.  Each step models
the loss to second order, solves the quadratic program over the vertices in the pool, adds the vertices that the
solution violates, and repeats until none does; the multipliers give a dual point, and with it the gap.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.scorers.toppush.cuts.gram import DIRECT
from rerank.scorers.toppush.cuts.limited import LimitedMetric
from rerank.scorers.toppush.cuts.metric import FeatureMetric, Metric
from rerank.scorers.toppush.cuts.model import CROWD, Point, Step, model_step, value_at
from rerank.scorers.toppush.cuts.pool import Pool
from rerank.scorers.toppush.cuts.row_metric import RowMetric
from rerank.scorers.toppush.problem import TopPushProblem, relative_gap

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Found:
    """A point, the best dual point, and what a near problem can start from (``vertices`` and which were active)."""

    w: Floats
    a: Floats
    beta: Floats
    gap: float
    n_iter: int
    vertices: Any
    active: NDArray[np.bool_]

    @property
    def crowded(self) -> bool:
        """Whether the method gave up because too many vertices are active."""
        return int(self.active.sum()) > CROWD


@dataclass(eq=False)
class _Best:
    """The best dual point so far."""

    value: float = -np.inf
    a: Floats = field(default_factory=lambda: np.zeros(0))
    beta: Floats = field(default_factory=lambda: np.zeros(0))


def metric_of(problem: TopPushProblem, alpha: float) -> Metric:
    """The cheapest form of the curvature."""
    m, d = problem.positives.shape
    if d <= m and d <= DIRECT:
        return FeatureMetric(problem, alpha)
    return RowMetric(problem, alpha) if m <= DIRECT else LimitedMetric(problem, alpha)


def minimise(
    problem: TopPushProblem,
    alpha: float,
    tol: float,
    max_iter: int,
    start: Found | None,
    metric: Metric | None = None,
) -> Found:
    """Minimise ``P`` until the relative gap is at most ``tol``.

    Parameters
    ----------
    problem : TopPushProblem
    alpha, tol : float
    max_iter : int
    start : Found, optional
        Solution of a near problem.
    metric : Metric, optional
        Form of the curvature; the cheapest by default.
    """
    metric = metric_of(problem, alpha) if metric is None else metric
    pool, active = Pool(problem), np.zeros(0, np.bool_)
    held = problem.workspace.get("pool")
    w = np.zeros(problem.positives.shape[1])
    if start is not None and start.w.size == w.size:
        w = start.w
        if held is not None and held.vertices is start.vertices:
            pool = held
        elif start.vertices.shape[1] == problem.negatives.shape[0]:
            pool.add(start.vertices)
        active = start.active if start.active.size == pool.size else np.zeros(pool.size, np.bool_)
    here = Point(w, problem.positives @ w, problem.negatives @ w)
    best, gap, stalled, n_iter = _Best(), np.inf, 0, 0
    while n_iter < max_iter and stalled < 20 and active.sum() <= CROWD:
        n_iter += 1
        step, active = model_step(problem, alpha, here, metric, pool, active)
        _raise_bound(problem, alpha, here, step, pool, best)
        here, value, moved = _search(problem, alpha, here, step)
        stalled = 0 if moved else stalled + 1
        gap = relative_gap(value, best.value)
        if gap <= tol:
            here.down, here.up = problem.negatives @ here.w, problem.positives @ here.w
            gap = relative_gap(value_at(problem, alpha, here), best.value)
            if gap <= tol:
                break
        metric.learn(step.w, step.up)
        active = _prune(pool, active, metric)
    problem.workspace["pool"] = pool
    return Found(here.w, best.a, best.beta, gap, n_iter, pool.vertices, active)


def _raise_bound(
    problem: TopPushProblem, alpha: float, here: Point, step: Step, pool: Pool, best: _Best
) -> None:
    """Make a dual point of the model's multipliers and keep it if it proves more."""
    t = problem.threshold.values(here.down) + step.t
    a = problem.loss.slope(t[problem.list_of] - here.up - step.up)
    pull = problem.per_list(problem.share * a)
    q = np.concatenate([step.q, np.zeros(pool.size - step.q.size)])
    got = np.bincount(pool.lists, q, problem.n_lists)
    if (got[pull > 0] <= 0).any():
        return
    q = q * (pull / np.where(got > 0, got, 1))[pool.lists]
    nu = problem.positives.T @ (problem.share * a) - pool.rows.T @ q
    value = float(-(nu @ nu) / (2 * alpha) - problem.share @ problem.loss.conjugate(a))
    if value > best.value:
        best.value, best.a, best.beta = value, a, pool.spread(q)


def _search(problem: TopPushProblem, alpha: float, here: Point, step: Step) -> tuple[Point, float, bool]:
    """The best of a few points along the step; whether it is better than ``here``."""
    at = lambda e: Point(here.w + e * step.w, here.up + e * step.up, here.down + e * step.down)  # noqa: E731
    old = value_at(problem, alpha, here)
    length, point = 1.0, at(1.0)
    value = value_at(problem, alpha, point)
    for _ in range(40):
        if value <= old - 0.25 * length * step.decrease:
            break
        bend = (value - old) / length + step.decrease
        shorter = 0.5 * step.decrease * length / bend if np.isfinite(bend) and bend > 0 else 0.1 * length
        length = float(np.clip(shorter, 0.1 * length, 0.5 * length))
        point = at(length)
        value = value_at(problem, alpha, point)
    return (point, value, True) if value < old else (here, old, False)


def _prune(pool: Pool, active: NDArray[np.bool_], metric: Metric) -> NDArray[np.bool_]:
    """Forget the older idle vertices once they outnumber the active ones."""
    idle = np.flatnonzero(~active)
    allowed = 2 * int(active.sum()) + 50
    if idle.size > allowed:
        keep = active.copy()
        keep[idle[-allowed:]] = True
        pool.keep(keep)
        metric.forget()
        return active[keep]
    return active
