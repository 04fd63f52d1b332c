"""Other ways to good weights in equal CPU time: coordinate ascent, Nelder-Mead, CMA-ES, random weights, fastrank.

They share nothing with the search: the value is computed here from the definition, with ties against the relevant rows
and no margin, which a margin of 1e-9 comes down to.  A method runs until its :class:`Judge` says that time is over.

A part of ``python -m benchmarks.exact --incumbents``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rerank.problem import Problem

Floats = NDArray[np.float64]
Method = Callable[["Judge", np.random.Generator], None]


class TimeIsUp(Exception):  # noqa: N818 - no error
    """The CPU seconds of a method are spent."""


@njit(cache=True)
def value(scores: Any, gains: Any, begin: Any, coef: Any, coef_begin: Any, top: Any, held: Any) -> float:
    """``sum_q sum_p coef_q[p] * gain of the row at place p``; of equal scores the lower gain comes first."""
    total = 0.0
    for q in range(begin.size - 1):
        first, n = coef_begin[q], coef_begin[q + 1] - coef_begin[q]
        m = 0
        for i in range(begin[q], begin[q + 1]):
            s, g = scores[i], gains[i]
            if m == n:
                if s < top[n - 1] or (s == top[n - 1] and g >= held[n - 1]):
                    continue
                m -= 1
            at = m
            while at > 0 and (top[at - 1] < s or (top[at - 1] == s and held[at - 1] > g)):
                top[at], held[at] = top[at - 1], held[at - 1]
                at -= 1
            top[at], held[at] = s, g
            m += 1
        for p in range(m):
            total += coef[first + p] * held[p]
    return total


@njit(cache=True)
def best_step(scores: Any, x: Any, steps: Any, trial: Any, before: float, lists: Any) -> Any:
    """The step along one column that raises the value most, and the value; 0 where none does."""
    gains, begin, coef, coef_begin, top, held = lists
    best, step = before, 0.0
    for change in steps:
        for i in range(scores.size):
            trial[i] = scores[i] + change * x[i]
        v = value(trial, gains, begin, coef, coef_begin, top, held)
        if v > best:
            best, step = v, change
    return best, step


class Judge:
    """Value of weights on lists of which the first places count, the best weights so far, and the clock.

    Parameters
    ----------
    problem : Problem
        Without a penalty or a limit on features.
    seconds : float
        CPU seconds from the first value on.
    """

    def __init__(self, problem: Problem, seconds: float = np.inf) -> None:
        self.d = problem.n_features
        order = np.concatenate([q.rows for q in problem.lists])
        self.X = np.asfortranarray(problem.scaled[order])
        coef = [q.coefficients[::-1][: np.count_nonzero(q.coefficients)] for q in problem.lists]
        scales = [q.weight / (q.scale * problem.total_weight) for q in problem.lists]
        self.gains = np.concatenate([q.gains for q in problem.lists])
        self.lists = (
            self.gains,
            np.cumsum([0, *(q.rows.size for q in problem.lists)]),
            np.concatenate([c * s for c, s in zip(coef, scales, strict=True)]),
            np.cumsum([0, *(c.size for c in coef)]),
            np.empty(max(c.size for c in coef)),
            np.empty(max(c.size for c in coef)),
        )
        self.constant = problem.constant
        self.begin(seconds)

    def begin(self, seconds: float) -> None:
        """Forget what was found and set the clock."""
        self.best: tuple[float, Floats] = (-np.inf, np.zeros(self.d))
        self.found: list[tuple[float, float]] = []
        self.start, self.seconds = time.process_time(), seconds

    @property
    def now(self) -> float:
        """CPU seconds since the clock was set."""
        return time.process_time() - self.start

    def __call__(self, w: Floats) -> float:
        """The value of ``w``."""
        return self.at(self.X @ w, w)

    def at(self, scores: Floats, w: Floats) -> float:
        """The value of ``w``, whose scores are known; the best so far is kept."""
        return self.offer(value(scores, *self.lists), w)

    def offer(self, found: float, w: Floats, when: float | None = None) -> float:
        """Keep ``w`` if its value is the best so far, and look at the clock."""
        now = self.now
        if found > self.best[0] and np.isfinite(w).all() and w.any():
            self.best = (found, np.array(w))
            self.found.append((now if when is None else when, found))
        if now > self.seconds:
            raise TimeIsUp
        return found


def coordinate_ascent(judge: Judge, rng: np.random.Generator, least: float = -np.inf) -> None:
    """Steps of many sizes along each column, scores kept up to date; restarted beside the best point or anywhere.

    No weight goes below ``least``.
    """
    d, n = judge.d, judge.gains.size
    trial, w = np.empty(n), np.ones(d)
    while True:
        scores = judge.X @ w
        now, idle = judge.at(scores, w), 0
        while idle < 2:
            before, largest = now, np.abs(w).max()
            for j in rng.permutation(d):
                sizes = largest * 2.0 ** (1.0 - np.arange(10) - rng.random())
                steps = np.concatenate([sizes, np.maximum(-sizes, least - w[j])])
                now, step = best_step(scores, judge.X[:, j], steps, trial, now, judge.lists)
                if step != 0.0:
                    scores += step * judge.X[:, j]
                    w[j] += step
                judge.offer(now, w)
            idle = 0 if now > before else idle + 1
        w = rng.standard_normal(d)
        if rng.random() < 0.7:
            best = judge.best[1]
            w = best + 0.2 * np.abs(best).max() * w * (rng.random(d) < max(0.2, 2 / d))
        w = np.maximum(w, least)


def nelder_mead(judge: Judge, rng: np.random.Generator) -> None:
    """The simplex of scipy, from equal weights and then from random ones."""
    from scipy.optimize import minimize

    start = np.ones(judge.d)
    while True:
        minimize(lambda w: -judge(w), start, method="Nelder-Mead", options={"adaptive": True, "maxfev": 10**9})
        start = rng.standard_normal(judge.d)


def cma_es(judge: Judge, rng: np.random.Generator) -> None:
    """Evolution with a covariance that adapts (Hansen's tutorial), restarted with twice as many points."""
    d, points = judge.d, 4 + int(3 * np.log(judge.d))
    start = np.ones(d)
    while True:
        mean, sigma, C = start, 0.5, np.eye(d)
        p_c, p_s, B, D, idle, peak = np.zeros(d), np.zeros(d), np.eye(d), np.ones(d), 0, -np.inf
        share = np.log(points / 2 + 0.5) - np.log(np.arange(1, points // 2 + 1))
        share /= share.sum()
        mu = 1 / (share**2).sum()
        c_s, c_c = (mu + 2) / (d + mu + 5), (4 + mu / d) / (d + 4 + 2 * mu / d)
        c_1 = 2 / ((d + 1.3) ** 2 + mu)
        c_mu = min(1 - c_1, 2 * (mu - 2 + 1 / mu) / ((d + 2) ** 2 + mu))
        damp = 1 + 2 * max(0.0, np.sqrt((mu - 1) / (d + 1)) - 1) + c_s
        usual = np.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d**2))
        every, turn = max(1, int(0.1 / (d * (c_1 + c_mu)))), 0
        while idle < 10 + 30 * d / points and sigma > 1e-8:
            turn += 1
            steps = (rng.standard_normal((points, d)) * D) @ B.T
            found = np.array([judge(mean + sigma * y) for y in steps])
            chosen = steps[np.argsort(-found)[: share.size]]
            step = share @ chosen
            mean = mean + sigma * step
            p_s = (1 - c_s) * p_s + np.sqrt(c_s * (2 - c_s) * mu) * (B @ ((B.T @ step) / D))
            sigma *= np.exp(min(1.0, c_s / damp * (np.linalg.norm(p_s) / usual - 1)))
            calm = float(np.linalg.norm(p_s) < (1.4 + 2 / (d + 1)) * usual)
            p_c = (1 - c_c) * p_c + calm * np.sqrt(c_c * (2 - c_c) * mu) * step
            C = (1 - c_1 - c_mu) * C + c_1 * np.outer(p_c, p_c) + c_mu * (chosen.T * share) @ chosen
            if turn % every == 0:
                D, B = np.linalg.eigh(C)
                D = np.sqrt(np.maximum(D, 1e-20))
            idle, peak = (0, found.max()) if found.max() > peak else (idle + 1, peak)
        start, points = rng.standard_normal(d), 2 * points


def random_weights(judge: Judge, rng: np.random.Generator) -> None:
    """Equal weights, then normal ones."""
    judge(np.ones(judge.d))
    while True:
        judge(rng.standard_normal(judge.d))


def fastrank(judge: Judge, rng: np.random.Generator) -> None:
    """Coordinate ascent of fastrank, for nDCG; a run cannot be interrupted, so its end counts as its beginning."""
    from fastrank import CDataset, TrainRequest

    begin, places = judge.lists[1], np.diff(judge.lists[3]).max()
    lists = np.repeat(np.arange(begin.size - 1), np.diff(begin))
    grades = np.log2(1.0 + judge.gains)  # fastrank takes 2^grade - 1 for the gain
    data = CDataset.from_numpy(judge.X.astype(np.float32, order="C"), grades, lists)
    while True:
        request = TrainRequest.coordinate_ascent()
        request.measure = f"ndcg@{places}"
        request.params.quiet, request.params.num_restarts = True, 1
        request.params.seed = int(rng.integers(2**31))
        began = judge.now
        w = np.array(data.train_model(request).to_dict()["Linear"]["weights"])
        judge.offer(value(judge.X @ w, *judge.lists), w, began)


METHODS: dict[str, Method] = {
    "coordinates": coordinate_ascent,
    "Nelder-Mead": nelder_mead,
    "CMA-ES": cma_es,
    "random": random_weights,
}


def best_of(method: Method, judge: Judge, budgets: Sequence[float], seed: int) -> list[float]:
    """The best values that a method finds in so many CPU seconds each, in one run of the longest."""
    judge.begin(max(budgets))
    with suppress(TimeIsUp):
        method(judge, np.random.default_rng(seed))
    return [judge.constant + max(v for when, v in judge.found if when <= s) for s in budgets]
