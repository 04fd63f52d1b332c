"""The quadratic model of TopPush at a point, and its minimum under the cuts of a growing pool."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.scorers.toppush.cuts import qp
from rerank.scorers.toppush.cuts.metric import Metric
from rerank.scorers.toppush.cuts.pool import Pool
from rerank.scorers.toppush.problem import TopPushProblem

Floats = NDArray[np.float64]

# Vertices taken in at once at least, and rounds of taking in before a step is made with what there is.
ADDED, ROUNDS = 30, 50
# From so many active vertices on, their matrix K is too large to factor again and again.
CROWD = 1500
# A cut may be violated by this share of the decrease that the model foretells.
SLACK = 1e-3


@dataclass(eq=False)
class Point:
    """Weights and the scores they give."""

    w: Floats
    up: Floats
    down: Floats


@dataclass(eq=False)
class Step:
    """A solution of the model: the changes of w, t and the scores, the multipliers, the decrease foretold."""

    w: Floats
    t: Floats
    up: Floats
    down: Floats
    q: Floats
    decrease: float


def value_at(problem: TopPushProblem, alpha: float, at: Point) -> float:
    """``P`` from scores that are at hand."""
    return problem.value(at.w, at.up, at.down, alpha)


def model_step(
    problem: TopPushProblem, alpha: float, here: Point, metric: Metric, pool: Pool, active: NDArray[np.bool_]
) -> tuple[Step, NDArray[np.bool_]]:
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
        if active.sum() > CROWD or not pool.add(problem.threshold.above(here.down + down, level, more)):
            break
    active = np.concatenate([active, np.zeros(pool.size - active.size, np.bool_)])
    return Step(dw, dt, problem.positives @ dw, down, q, decrease), active
