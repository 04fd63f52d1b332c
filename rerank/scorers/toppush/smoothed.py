"""The smoothed threshold and loss of :mod:`rerank.scorers.toppush.multipliers`: the maximiser at given scores."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rerank.errors.kernels import kept
from rerank.scorers.base import Floats, Ints
from rerank.scorers.toppush.problem import Loss, TopPushProblem

# Penalty parameter of the positives, in units of sigma: less of it takes more steps where rows can be told apart with a
# tiny alpha, more of it takes more steps elsewhere.
STIFF = 10.0
# Every list has at least this multiplier mass in the search for its level, so that a list without any has a level.
LEAST = 1e-280
# Steps of a search for a threshold at most, and its relative error.
STEPS, OFF = 100, 1e-14


@dataclass(eq=False)
class Smoothed:
    """Value of psi, its maximiser (a, b), and what its derivatives are made of."""

    problem: TopPushProblem
    loss: Loss  # smoothed
    value: float
    a: Floats
    b: Floats
    z: Floats  # (m,): the thresholds less the scores
    T: Floats  # (G,)
    theta: Floats  # (G,)
    parts: Floats  # (G, 4): what the search for theta counted
    upper: Floats  # (n,): the caps of the negatives whose multiplier is at the upper bound

    @cached_property
    def D(self) -> Floats:
        """Second derivatives of the loss (m,)."""
        return np.asarray(self.problem.share * self.loss.curvature(self.z))

    @cached_property
    def middle(self) -> Ints:
        """The negatives whose multiplier is between its bounds."""
        return np.flatnonzero((self.b > 0) & (self.upper == 0))


def smoothed(
    p: TopPushProblem, up: Floats, down: Floats, a0: Floats, beta: Floats, sigma: float, near: Smoothed | None = None
) -> Smoothed:
    """The maximum at the scores ``up`` (m,) and ``down`` (n,); ``near`` is the maximum at scores close by. T is the
    root of ``T - T_h(A(T))``, which rises at least as fast as T.
    """
    loss = p.loss.near(a0, p.share / (STIFF * sigma))
    cap = np.zeros(0) if p.threshold.k is None else p.threshold.caps
    v = beta + sigma * down
    T = p.threshold.values(down) if near is None else near.T.copy()
    theta = sigma * T if near is None else near.theta.copy()
    parts = np.zeros((T.size, 4))
    negatives = (p.threshold.start, v, cap, sigma)
    if loss.hinge is not None:
        begin, rise = loss.hinge
        roots(negatives, (p.first, begin - up, p.share * rise), T, theta, parts)
    else:
        bracket = np.repeat([[-np.inf], [np.inf]], T.size, axis=1)
        for _ in range(STEPS):
            z = T[p.list_of] - up
            sums = p.per_list(p.share * loss.slope(z)), p.per_list(p.share * loss.curvature(z))
            if not advance(negatives, sums, T, theta, parts, bracket):
                break
    z = T[p.list_of] - up
    a = loss.slope(z)
    mass = p.per_list(p.share * a)
    b = np.maximum(v - theta[p.negative_list], 0)
    upper = np.zeros(b.size)
    if cap.size:
        most = mass[p.negative_list] * cap
        full = (b >= most) & (b > 0)
        upper[full] = cap[full]
        b = np.minimum(b, most)
    # To the exact mass of the list, so that the dual point is feasible.
    b = p.scaled(b, mass)
    change = b - beta
    value = p.share @ loss.value(z) - mass @ T + b @ down - (change @ change) / (2 * sigma)
    return Smoothed(p, loss, float(value), a, b, z, T, theta, parts, upper)


@kept()
def roots(negatives: Any, positives: Any, T: Any, theta: Any, parts: Any) -> None:
    """T of each list (G,) where the slopes of the loss are ``max(z, 0)`` times a factor, and as in :func:`levels` theta
    and parts.  T and theta start near their values.

    ``negatives`` are ``(start, v, cap, sigma)``; ``positives`` are where each list of them begins, ``z - T`` of each,
    and its factor times its share.
    """
    start, v, cap, sigma = negatives
    first, h, rise = positives
    for g in range(T.size):
        rows = slice(start[g], start[g + 1])
        low, high = -np.inf, np.inf
        for _ in range(STEPS):
            mass, bend = 0.0, 0.0
            for i in range(first[g], first[g + 1]):
                z = T[g] + h[i]
                if z > 0.0:
                    mass += rise[i] * z
                    bend += rise[i]
            theta[g] = _level(v[rows], cap[rows], max(mass, LEAST), theta[g], parts[g])
            new, low, high = _nearer(T[g], mass, bend, sigma, theta[g], parts[g], low, high)
            if new == T[g]:
                break
            T[g] = new


@kept()
def advance(negatives: Any, sums: Any, T: Any, theta: Any, parts: Any, bracket: Any) -> bool:
    """One step of the searches for T, with the ``sums`` of slopes and curvatures at T in each list (G,), and between
    the bounds ``bracket`` (2, G); whether any moved.
    """
    start, v, cap, sigma = negatives
    mass, bend = sums
    levels(start, v, cap, mass, theta, parts)
    moved = False
    for g in range(T.size):
        low, high = bracket[0, g], bracket[1, g]
        new, low, high = _nearer(T[g], mass[g], bend[g], sigma, theta[g], parts[g], low, high)
        bracket[0, g], bracket[1, g] = low, high
        moved = moved or new != T[g]
        T[g] = new
    return moved


@kept()
def _nearer(T: float, mass: float, bend: float, sigma: float, theta: float, parts: Any, low: float, high: float) -> Any:
    """The next T of a list by a Newton step, or the same one if it is the root; with the bounds of the root."""
    # T_h at the mass A, and how fast it falls as A grows.
    between, top, top2, top_v = parts[0], parts[1], parts[2], parts[3]
    got = (theta + top_v - theta * top - mass * top2) / sigma
    off = T - got
    if abs(off) <= OFF * (1.0 + abs(T)):
        return T, low, high
    if off < 0.0:
        low = T
    else:
        high = T
    fall = ((1.0 - top) * (1.0 - top) / max(between, 1.0) + top2) / sigma
    new = T - off / (1.0 + fall * bend)
    if not low < new < high:
        new = low / 2 + high / 2 if np.isfinite(low) and np.isfinite(high) else got
    return new, low, high


@kept()
def levels(start: Any, v: Any, cap: Any, mass: Any, theta: Any, parts: Any) -> None:
    """For each list the root theta of ``sum_j clip(v_j - theta, 0, A cap_j) = A``, A its entry of ``mass``.

    ``cap`` (n,) is empty where nothing is capped.  ``theta`` (G,) starts near the roots and ends there; ``parts``
    (G, 4) gets the number of entries between their bounds, and of those at the upper bound the sums of ``cap``, of
    ``cap^2`` and of ``cap v``.
    """
    for g in range(start.size - 1):
        rows = slice(start[g], start[g + 1])
        theta[g] = _level(v[rows], cap[rows], max(mass[g], LEAST), theta[g], parts[g])


@kept()
def _level(v: Any, cap: Any, A: float, theta: float, parts: Any) -> float:
    """One list, by Newton steps between a level that is too low and one that is too high."""
    capped = cap.size > 0
    low, high = np.inf, -np.inf
    for j in range(v.size):
        high = max(high, v[j])
        if capped:
            low = min(low, v[j] - A * cap[j])
    if not capped:
        low = high - A
    if not low <= theta <= high:
        theta = low + (high - low) / 2
    for _ in range(300):
        total, between, top, top2, top_v = 0.0, 0, 0.0, 0.0, 0.0
        for j in range(v.size):
            z = v[j] - theta
            if z > 0.0:
                if capped and z >= A * cap[j]:
                    top += cap[j]
                    top2 += cap[j] * cap[j]
                    top_v += cap[j] * v[j]
                else:
                    total += z
                    between += 1
        parts[0], parts[1], parts[2], parts[3] = between, top, top2, top_v
        excess = total + A * (top - 1.0)
        if abs(excess) <= 1e-15 * A:
            break
        if excess > 0.0:
            low = theta
            v = v if capped else v[v > low]  # the others count nowhere from here on
        else:
            high = theta
        new = theta + excess / between if between > 0 else low
        if not low < new < high:
            new = low + (high - low) / 2
        if not low < new < high:
            break
        theta = new
    return theta
