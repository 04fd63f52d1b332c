"""Other ways to good weights in equal CPU time: coordinate ascent, Nelder-Mead, CMA-ES, random weights, fastrank.

They share nothing with the search: the value is computed here from the definition, with ties against the relevant rows
and no margin, which a margin of 1e-9 comes down to.  A method runs until its :class:`Judge` says that time is over.

A part of ``python -m benchmarks.exact --incumbents``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
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
def value(scores: Any, lists: Any) -> float:
    """What lists earn by the definition: at each threshold the j-th hit, at place p, earns ``coef[p] * hits[j]``; of
    equal scores the lower gain comes first.  Hits that take no places from each other stand behind other rows alone.
    """
    begin, level, unit, alone, coef_begin, coef, hit_begin, hits, place = lists
    total = 0.0
    for q in range(begin.size - 1):
        first, end = begin[q], begin[q + 1]
        for u in range(unit[q], unit[q + 1]):
            lowest = u - unit[q]  # rows of a higher level are hits
            start, places = coef_begin[u], min(coef_begin[u + 1] - coef_begin[u], end - first)
            m = 0
            if alone[u] or 8 * places < end - first:
                for i in range(first, end):
                    if alone[u] and level[i] > lowest:
                        continue
                    at = m
                    if m == places:
                        if not _before(scores, level, i, place[m - 1]):
                            continue
                        at -= 1
                    else:
                        m += 1
                    while at > 0 and _before(scores, level, i, place[at - 1]):
                        place[at] = place[at - 1]
                        at -= 1
                    place[at] = i
            else:
                order = np.argsort(-scores[first:end])
                for j in range(order.size):
                    i, at = order[j] + first, j
                    while at > 0 and _before(scores, level, i, place[at - 1]):
                        place[at] = place[at - 1]
                        at -= 1
                    place[at] = i
                m = places
            if alone[u]:
                for i in range(first, end):
                    if level[i] > lowest:
                        above = m
                        while above > 0 and scores[i] > scores[place[above - 1]]:
                            above -= 1
                        if above < places:
                            total += coef[start + above]
                continue
            hit = 0
            for p in range(m):
                if level[place[p]] > lowest:
                    total += coef[start + p] * hits[hit_begin[u] + hit]
                    hit += 1
    return total


@njit(cache=True)
def _before(scores: Any, level: Any, i: int, k: int) -> bool:
    """Whether row ``i`` stands before row ``k``."""
    return bool(scores[i] > scores[k] or (scores[i] == scores[k] and level[i] < level[k]))


@njit(cache=True)
def best_step(scores: Any, x: Any, steps: Any, trial: Any, before: float, lists: Any) -> Any:
    """The step along one column that raises the value most, and the value; 0 where none does."""
    best, step = before, 0.0
    for change in steps:
        for i in range(scores.size):
            trial[i] = scores[i] + change * x[i]
        v = value(trial, lists)
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
        self.rows = np.concatenate([q.rows for q in problem.lists])
        self.X = np.asfortranarray(problem.scaled[self.rows])
        self.gains = np.concatenate([q.gains for q in problem.lists])
        self.qid = np.repeat(np.arange(len(problem.lists)), [q.rows.size for q in problem.lists])
        coef = [u.factor * np.trim_zeros(u.coefficients[::-1], "b") for u in problem.units]
        hits = [u.hits.astype(np.float64) for u in problem.units]
        level = [np.searchsorted(q.thresholds(), q.gains, side="right") for q in problem.lists]
        self.lists = (
            np.cumsum([0, *(q.rows.size for q in problem.lists)]),
            np.concatenate(level),
            np.cumsum([0, *(q.thresholds().size for q in problem.lists)]),
            np.array([u.alone for u in problem.units]),
            np.cumsum([0, *(c.size for c in coef)]),
            np.concatenate(coef),
            np.cumsum([0, *(h.size for h in hits)]),
            np.concatenate(hits),
            np.empty(self.gains.size, np.int64),
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
        return self.offer(value(scores, self.lists), w)

    def offer(self, found: float, w: Floats, when: float | None = None) -> float:
        """Keep ``w`` if its value is the best so far, and look at the clock."""
        now = self.now
        if found > self.best[0] and np.isfinite(w).all() and w.any():
            self.best = (found, np.array(w))
            self.found.append((now if when is None else when, found))
        if now > self.seconds:
            raise TimeIsUp
        return found


def coordinate_ascent(
    judge: Judge, rng: np.random.Generator, least: float = -np.inf, start: Floats | None = None
) -> None:
    """Steps of many sizes along each column, scores kept up to date, from equal weights or a ``start``.

    Restarted beside the best point or anywhere.  No weight goes below ``least``.
    """
    d, n = judge.d, judge.gains.size
    trial, w = np.empty(n), np.ones(d) if start is None else start
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

    places, lists = np.diff(judge.lists[4]).max(), judge.qid
    grades = np.log2(1.0 + judge.gains)  # fastrank takes 2^grade - 1 for the gain
    data = CDataset.from_numpy(judge.X.astype(np.float32, order="C"), grades, lists)
    while True:
        request = TrainRequest.coordinate_ascent()
        request.measure = f"ndcg@{places}"
        request.params.quiet, request.params.num_restarts = True, 1
        request.params.seed = int(rng.integers(2**31))
        began = judge.now
        w = np.array(data.train_model(request).to_dict()["Linear"]["weights"])
        judge.offer(value(judge.X @ w, judge.lists), w, began)


METHODS: dict[str, Method] = {
    "coordinates": coordinate_ascent,
    "Nelder-Mead": nelder_mead,
    "CMA-ES": cma_es,
    "random": random_weights,
}


def _spread(judge: Judge) -> Floats:
    """The deviation of each column, 1 where it has none."""
    deviations = judge.X.std(axis=0)
    return np.where(deviations > 0, deviations, 1.0)


def logistic(judge: Judge, rng: np.random.Generator) -> None:
    """Logistic regression of relevant rows on standardised columns, then coordinate ascent from there."""
    from sklearn.linear_model import LogisticRegression

    size = _spread(judge)
    model = LogisticRegression(max_iter=200).fit((judge.X - judge.X.mean(axis=0)) / size, judge.gains > 0)
    _ascend(judge, rng, [model.coef_[0] / size])


def ranksvm(judge: Judge, rng: np.random.Generator) -> None:
    """RankSVM with two strengths, then coordinate ascent from the better."""
    from rerank.scorers import RankSVM

    def found(alpha: float) -> Floats:
        return RankSVM(alpha=alpha).fit(judge.X / size, judge.gains, judge.qid).coef_ / size

    size = _spread(judge)
    _ascend(judge, rng, map(found, (1e-2, 1e-4)))


def toppush(judge: Judge, rng: np.random.Generator, trimmed: int = 1) -> None:
    """TopPush with four strengths, then coordinate ascent from the best. ``trimmed`` times each is solved again on the
    relevant rows that do not lose clearly (steps of the concave-convex procedure for a ramp loss), of two starts.
    """
    from rerank.scorers import TopPush

    size = _spread(judge)
    Z = (judge.X - judge.X.mean(axis=0)) / size
    relevant, lists = judge.gains > 0, judge.lists[0][:-1]

    def lead(w: Floats) -> Floats:
        """By how much each row leads the best irrelevant row of its list."""
        scores = Z @ w
        best = np.maximum.reduceat(np.where(relevant, -np.inf, scores), lists)
        return np.asarray(scores - best[judge.qid])

    def found(alpha: float, start: Floats | None) -> Iterator[Floats]:
        w, before = start, np.zeros(0, bool)
        for _ in range(trimmed):
            kept = ~relevant | (True if w is None else lead(w) > -1.0)
            if np.array_equal(kept, before) or not (kept & relevant).any():
                return
            before = kept
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                w = TopPush(alpha=alpha).fit(Z[kept], relevant[kept], judge.qid[kept]).coef_
            yield w / size

    starts: list[Floats | None] = [None]
    if trimmed > 1:
        from sklearn.linear_model import LogisticRegression

        starts.append(LogisticRegression(max_iter=200).fit(Z, relevant).coef_[0])
    _ascend(judge, rng, (w for alpha in (0.01, 0.1, 1e-3, 1.0) for start in starts for w in found(alpha, start)))


def _ascend(judge: Judge, rng: np.random.Generator, points: Iterable[Floats]) -> None:
    """Coordinate ascent from the best of some points."""
    for w in points:
        judge(w)
    coordinate_ascent(judge, rng, start=judge.best[1] if judge.best[1].any() else None)


FITTED: dict[str, Method] = {
    "coordinates": coordinate_ascent,
    "logistic": logistic,
    "RankSVM": ranksvm,
    "TopPush": toppush,
    "trimmed": partial(toppush, trimmed=8),
}
"""Methods that fit a bound of the loss, each followed by coordinate ascent from what it found."""


def best_of(method: Method, judge: Judge, budgets: Sequence[float], seed: int) -> list[float]:
    """The best values that a method finds in so many CPU seconds each, in one run of the longest."""
    judge.begin(max(budgets))
    with suppress(TimeIsUp):
        method(judge, np.random.default_rng(seed))
    return [judge.constant + max((v for when, v in judge.found if when <= s), default=-np.inf) for s in budgets]
