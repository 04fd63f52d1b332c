"""Newton's method for TopPush: quadratic models of the loss under the cuts ``t_g >= row.w`` of a growing pool.

In the variables (w, t) the problem is smooth but for linear constraints, of which few are active.  Each step models
the loss to second order, solves the quadratic program over the vertices in the pool, adds the vertices that the
solution violates, and repeats until none does.  The multipliers of the cuts give a dual point, and so the gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.errors.stops import current
from rerank.scorers.data import Floats
from rerank.scorers.toppush.answer import MANY_ACTIVE, Answer, no_answer
from rerank.scorers.toppush.cuts import qp
from rerank.scorers.toppush.cuts.metric import FeatureMetric, LimitedMetric, Metric, RowMetric
from rerank.scorers.toppush.cuts.pool import Pool
from rerank.scorers.toppush.gram import DIRECT
from rerank.scorers.toppush.problem import TopPushProblem, relative_gap

# Vertices added at once at least, and rounds of adding before a step is made with those in the pool.
ADDED, ROUNDS = 30, 50
# A cut may be violated by this share of the decrease that the model predicts.
SLACK = 1e-3
# Steps without a decrease after which the method gives up.
STALLED = 20


@dataclass(eq=False)
class _Point:
    """Weights and the scores they give."""

    w: Floats
    up: Floats
    down: Floats


@dataclass(eq=False)
class _Step:
    """A solution of the model: changes of w, t and the scores, multipliers of the cuts, predicted decrease."""

    w: Floats
    t: Floats
    up: Floats
    down: Floats
    q: Floats
    decrease: float


def _metric_of(problem: TopPushProblem, alpha: float) -> Metric:
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
    start: Answer | None,
    metric: Metric | None = None,
) -> Answer:
    """Minimise ``P`` until the relative gap is at most ``tol``, or until too many cuts are active.

    Parameters
    ----------
    problem : TopPushProblem
    alpha, tol : float
    max_iter : int
    start : Answer, optional
        Of a near problem with as many columns and negatives, found by this method.
    metric : Metric, optional
        Form of the curvature; the cheapest by default.
    """
    metric = _metric_of(problem, alpha) if metric is None else metric
    start = no_answer(problem) if start is None else start
    pool, active = _pool_of(problem, start)
    here = _Point(start.w, problem.positives @ start.w, problem.negatives @ start.w)
    bound, dual = -np.inf, (np.zeros(here.up.size), np.zeros(here.down.size))
    gap, stalled, n_iter, stop = np.inf, 0, 0, current()
    while n_iter < max_iter and stalled < STALLED and active.sum() <= MANY_ACTIVE:
        n_iter += 1
        step, active = _model_step(problem, alpha, here, metric, pool, active)
        proved, a, q = _dual_point(problem, alpha, here, step, pool)
        if proved > bound:
            bound, dual = proved, (a, pool.spread(q))
        here, value, moved = _search(problem, alpha, here, step)
        stalled = 0 if moved else stalled + 1
        gap = relative_gap(value, bound)
        if gap <= tol:
            # The scores are sums of steps: check the gap with scores of the rows.
            here.down, here.up = problem.negatives @ here.w, problem.positives @ here.w
            gap = relative_gap(_value(problem, alpha, here), bound)
            if gap <= tol:
                break
        metric.learn(step.w, step.up)
        active = _prune(pool, active, metric)
        if stop.now:
            break
    problem.workspace["pool"] = pool
    return Answer(here.w, *dual, n_iter, gap <= tol, gap, pool.vertices, active)


def _pool_of(problem: TopPushProblem, start: Answer) -> tuple[Pool, NDArray[np.bool_]]:
    """The pool that the last fit left if it is that of ``start``, else one with its vertices; which were active."""
    held = problem.workspace.get("pool")
    if held is not None and held.vertices is start.vertices:
        pool = held
    else:
        pool = Pool(problem)
        pool.add(start.vertices)
    if start.active is None or start.active.size != pool.size:
        return pool, np.zeros(pool.size, np.bool_)
    return pool, start.active


def _model_step(
    problem: TopPushProblem, alpha: float, here: _Point, metric: Metric, pool: Pool, active: NDArray[np.bool_]
) -> tuple[_Step, NDArray[np.bool_]]:
    """Solve the model at ``here`` under all cuts that matter; the step, and the vertices active at its end."""
    t = problem.threshold.values(here.down)
    z = t[problem.list_of] - here.up
    slope = problem.share * problem.loss.slope(z)
    metric.refresh(problem.share * problem.loss.curvature(z))
    grad_t = problem.per_list(slope)
    reduced = alpha * here.w - problem.positives.T @ slope + metric.mean.T @ grad_t
    base = metric.solve(reduced)
    grad_w = reduced - metric.mean.T @ grad_t
    if pool.size == 0:
        pool.add(problem.threshold.above(here.down, np.full(t.size, -np.inf), 1))
    for _ in range(ROUNDS):
        active = np.concatenate([active, np.zeros(pool.size - active.size, np.bool_)])
        r = pool.rows @ here.w - (t - grad_t / metric.S)[pool.lists] - metric.rows_times(pool, base)
        q = qp.solve(metric.gram(pool), r, active, 1e-10 * max(float(np.abs(r).max()), 1e-300))
        active = q > 0
        dw = -base - metric.solve(metric.rows_sum(pool, q))
        dt = metric.mean @ dw + (np.bincount(pool.lists, q, t.size) - grad_t) / metric.S
        down = problem.negatives @ dw
        decrease = float(-(grad_w @ dw) - grad_t @ dt)
        rounding = 1e-13 * float(np.abs(here.down).max() + np.abs(down).max())
        level = t + dt + rounding + SLACK * max(decrease, 0.0) / max(float(grad_t.sum()), 1e-300)
        more = max(ADDED, int(active.sum()) // 4)
        if active.sum() > MANY_ACTIVE or not pool.add(problem.threshold.above(here.down + down, level, more)):
            break
    active = np.concatenate([active, np.zeros(pool.size - active.size, np.bool_)])
    return _Step(dw, dt, problem.positives @ dw, down, q, decrease), active


def _dual_point(
    problem: TopPushProblem, alpha: float, here: _Point, step: _Step, pool: Pool
) -> tuple[float, Floats, Floats]:
    """The bound of the model's multipliers, scaled to a dual point; ``a`` (m,) and those of the vertices (k,)."""
    t = problem.threshold.values(here.down) + step.t
    a = problem.loss.slope(t[problem.list_of] - here.up - step.up)
    mass = problem.per_list(problem.share * a)
    q = np.concatenate([step.q, np.zeros(pool.size - step.q.size)])
    got = np.bincount(pool.lists, q, problem.n_lists)
    if (got[mass > 0] <= 0).any():
        return -np.inf, a, q
    q = q * (mass / np.where(got > 0, got, 1))[pool.lists]
    nu = problem.positives.T @ (problem.share * a) - pool.rows.T @ q
    return float(-(nu @ nu) / (2 * alpha) - problem.share @ problem.loss.conjugate(a)), a, q


def _value(problem: TopPushProblem, alpha: float, at: _Point) -> float:
    """``P`` from the scores of a point."""
    return problem.value(at.w, at.up, at.down, alpha)


def _search(problem: TopPushProblem, alpha: float, here: _Point, step: _Step) -> tuple[_Point, float, bool]:
    """The best of a few points along the step; whether it is better than ``here``."""
    at = lambda e: _Point(here.w + e * step.w, here.up + e * step.up, here.down + e * step.down)  # noqa: E731
    old = _value(problem, alpha, here)
    length, point = 1.0, at(1.0)
    value = _value(problem, alpha, point)
    for _ in range(40):
        if value <= old - 0.25 * length * step.decrease:
            break
        bend = (value - old) / length + step.decrease
        shorter = 0.5 * step.decrease * length / bend if np.isfinite(bend) and bend > 0 else 0.1 * length
        length = float(np.clip(shorter, 0.1 * length, 0.5 * length))
        point = at(length)
        value = _value(problem, alpha, point)
    return (point, value, True) if value < old else (here, old, False)


def _prune(pool: Pool, active: NDArray[np.bool_], metric: Metric) -> NDArray[np.bool_]:
    """Drop the oldest vertices that are not active once they outnumber the active ones."""
    idle = np.flatnonzero(~active)
    allowed = 2 * int(active.sum()) + 50
    if idle.size > allowed:
        keep = active.copy()
        keep[idle[-allowed:]] = True
        pool.keep(keep)
        metric.forget()
        return active[keep]
    return active
