"""The loss of TopPush smoothed around given multipliers: value, multipliers and curvature.

For scores s of the rows, multipliers ``beta`` of the negatives and ``a0`` of the positives, and a penalty parameter
``sigma``::

    psi(s) = max_{a, b}  sum_j b_j s_j - sum_i c_i (a_i s_i + l*(a_i)) - 1 / (2 sigma) sum_j (b_j - beta_j)^2
                         - 1 / (2 tau) sum_i c_i^2 (a_i - a0_i)^2,    tau = STIFF sigma

where the last sum is for a loss with a kink only.  The maximum is over the dual points of
:mod:`rerank.scorers.toppush.problem`: ``sum_j b_j = A_g = sum_i c_i a_i`` in each list and ``0 <= b_j <= A_g cap_j``.
Without squares psi is the loss itself, which is never below it.  At the maximum ``a_i = l'(T_g - s_i)``, l smoothed
too (:meth:`.losses.SquaredHinge.near`), and ``b_j = clip(beta_j + sigma s_j - theta_g, 0, A_g cap_j)``, where ``T_g``
is the slope in ``A_g`` of what the negatives give; it takes the place of the threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from rerank.scorers.data import Floats, Ints
from rerank.scorers.toppush.problem import TopPushProblem
from rerank.scorers.toppush.threshold import MaxThreshold

# Penalty parameter of the positives, in units of sigma: less of it takes more steps where rows can be told apart with a
# tiny alpha, more of it takes more steps elsewhere.
STIFF = 10.0
# Every list has at least this multiplier mass in the search for its level, so that a list without any has a level.
LEAST = 1e-280


@dataclass(eq=False)
class Smoothed:
    """Value of psi, its maximiser (a, b), and what its derivatives are made of.

    Per list T, theta and what the search for theta counted (G, 4); ``D`` (m,) are the second derivatives of the loss,
    ``middle`` the negatives whose multiplier is between its bounds, ``upper`` (n,) the caps of those at the upper.
    """

    value: float
    a: Floats
    b: Floats
    T: Floats
    theta: Floats
    parts: Floats
    D: Floats
    middle: Ints
    upper: Floats


class Envelope:
    """The function psi.

    Parameters
    ----------
    problem : TopPushProblem
    """

    def __init__(self, problem: TopPushProblem) -> None:
        self.problem = problem
        free = isinstance(problem.threshold, MaxThreshold)
        self.cap = np.zeros(0) if free else problem.threshold.caps()

    def at(
        self, up: Floats, down: Floats, a0: Floats, beta: Floats, sigma: float, near: Smoothed | None
    ) -> Smoothed:
        """The maximum at the scores ``up`` (m,) and ``down`` (n,); ``near`` is the maximum at scores close by.

        T is the root of ``T - T_h(A(T))``, which rises at least as fast as T.
        """
        p = self.problem
        loss = p.loss.near(a0, p.share / (STIFF * sigma))
        v = beta + sigma * down
        T = p.threshold.values(down) if near is None else near.T.copy()
        theta = sigma * T if near is None else near.theta.copy()
        low, high = np.full(T.size, -np.inf), np.full(T.size, np.inf)
        parts = np.zeros((T.size, 4))
        for _ in range(100):
            z = T[p.list_of] - up
            mass = p.per_list(p.share * loss.slope(z))
            levels(p.threshold.start, v, self.cap, mass, theta, parts)
            got, fall = self._threshold(theta, mass, sigma, parts)
            off = T - got
            if (np.abs(off) <= 1e-14 * (1 + np.abs(T))).all():
                break
            low, high = np.where(off < 0, T, low), np.where(off > 0, T, high)
            new = T - off / (1 + fall * p.per_list(p.share * loss.curvature(z)))
            known = np.isfinite(low) & np.isfinite(high)
            middle = np.where(known, np.where(known, low, 0) / 2 + np.where(known, high, 0) / 2, got)
            new = np.where((new > low) & (new < high), new, middle)
            if (new == T).all():
                break
            T = new
        z = T[p.list_of] - up
        a = loss.slope(z)
        mass = p.per_list(p.share * a)
        b = np.maximum(v - theta[p.negative_list], 0)
        upper = np.zeros(b.size)
        if self.cap.size:
            most = mass[p.negative_list] * self.cap
            full = (b >= most) & (b > 0)
            upper[full] = self.cap[full]
            b = np.minimum(b, most)
        between = np.flatnonzero((b > 0) & (upper == 0))
        held = np.bincount(p.negative_list, b, p.n_lists)
        # Scaled to the exact mass of the list, so that the dual point is feasible.
        b = b * (mass / np.where(held > 0, held, 1))[p.negative_list]
        change = b - beta
        value = p.share @ loss.value(z) - mass @ T + b @ down - (change @ change) / (2 * sigma)
        return Smoothed(float(value), a, b, T, theta, parts, p.share * loss.curvature(z), between, upper)


    def _threshold(self, theta: Floats, mass: Floats, sigma: float, parts: Floats) -> tuple[Floats, Floats]:
        """``T_h`` at the mass A, and how fast it falls as A grows."""
        between, top, top2, top_v = parts.T
        rest = (1 - top) ** 2 / np.maximum(between, 1)
        return (theta + top_v - theta * top - mass * top2) / sigma, (rest + top2) / sigma


@njit(cache=True, nogil=True)
def levels(start: Any, v: Any, cap: Any, mass: Any, theta: Any, parts: Any) -> None:
    """For each list the root theta of ``sum_j clip(v_j - theta, 0, A cap_j) = A``, A its entry of ``mass``.

    ``cap`` (n,) is empty where nothing is capped.  ``theta`` (G,) starts near the roots and ends there; ``parts``
    (G, 4) gets the number of entries between their bounds, and of those at the upper bound the sums of ``cap``, of
    ``cap^2`` and of ``cap v``.  Entries that a bracket of the root decides are dropped from the search.
    """
    most = 0
    for g in range(start.size - 1):
        most = max(most, start[g + 1] - start[g])
    w = np.empty(most)
    c = np.empty(most if cap.size else 0)
    for g in range(start.size - 1):
        first = start[g]
        last = start[g + 1]
        held = cap[first:last] if cap.size else cap
        theta[g] = _level(v[first:last], held, max(mass[g], LEAST), theta[g], w, c, parts[g])


@njit(cache=True, nogil=True)
def _bracket(v: Any, cap: Any, A: float, w: Any, c: Any) -> Any:
    """Two levels with the root between them, and how many entries they leave undecided: these go to ``w`` and ``c``."""
    high = v[0]
    low = np.inf
    for j in range(v.size):
        high = max(high, v[j])
        if cap.size:
            low = min(low, v[j] - A * cap[j])
    low = low if cap.size else high - A
    n = 0
    for j in range(v.size):
        if v[j] >= low:
            w[n] = v[j]
            if cap.size:
                c[n] = cap[j]
            n += 1
    return low, high, n


@njit(cache=True, nogil=True)
def _level(v: Any, cap: Any, A: float, theta: float, w: Any, c: Any, parts: Any) -> float:
    """One list; ``w`` and ``c`` are workspaces for the undecided entries and their caps."""
    capped = cap.size > 0
    low, high, n = _bracket(v, cap, A, w, c)
    if not low <= theta <= high:
        theta = low + (high - low) / 2
    # Sums over the entries known to be at their upper bound wherever the root is.
    full = 0.0
    full2 = 0.0
    full_v = 0.0
    for _ in range(300):
        total = 0.0
        between = 0
        top = full
        top2 = full2
        top_v = full_v
        kept = 0
        for i in range(n):
            x = w[i]
            if x <= low and low < theta:
                continue
            own = c[i] if capped else 0.0
            if capped and x - A * own >= high:
                full += own
                full2 += own * own
                full_v += own * x
                top += own
                top2 += own * own
                top_v += own * x
                continue
            w[kept] = x
            if capped:
                c[kept] = own
            kept += 1
            z = x - theta
            if z > 0.0:
                if capped and z >= A * own:
                    top += own
                    top2 += own * own
                    top_v += own * x
                else:
                    total += z
                    between += 1
        n = kept
        parts[0] = between
        parts[1] = top
        parts[2] = top2
        parts[3] = top_v
        excess = total + A * (top - 1.0)
        if abs(excess) <= 1e-15 * A:
            break
        if excess > 0.0:
            low = theta
        else:
            high = theta
        new = theta + excess / between if between > 0 else low
        if not low < new < high:
            new = low + (high - low) / 2
        if not low < new < high:
            break
        theta = new
    return theta
