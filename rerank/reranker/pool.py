"""Weights nearly as good as those of a fit: how far apart they are, and which signs all of them share."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InfeasibleError, InputError
from rerank.io.options import real, whole
from rerank.problem import Problem
from rerank.problem.lists import Floats
from rerank.reranker.solve.verified import verified
from rerank.reranker.state import FittedState

SAMPLE_SHARE = 0.3  # share of the time for the sample; the rest is for proofs of signs
WORDS = {1: "above 0", -1: "below 0", 0: "both signs, or 0"}


@dataclass(frozen=True, eq=False)
class WeightPool:
    """Near-optimal weights of a fit. They are a sample: others, farther apart, may exist."""

    names: tuple[str, ...]  # columns with a weight
    delta: float  # how much less than the fit's value they may be worth, penalty included
    weights: Floats  # (k, d), the most different ones, those of the fit first, in the table's units as coef_
    values: Floats  # (k,), what each is worth, recounted exactly and rounded down
    ranges: Floats  # (d, 2), smallest and largest weight of each column over all that were found
    signs: NDArray[np.int8]  # (d,), 1 and -1 where all that were found have this sign, else 0
    certain: NDArray[np.bool_]  # (d,), where a search proved that the other sign, or 0, is not worth enough
    found: int  # how many were found
    corrected: bool = False  # whether signs are of corrections of a first stage, whose weights are in ``weights``

    def __str__(self) -> str:
        width, of = max(map(len, self.names)), " of the correction" if self.corrected else ""
        lines = [
            f"{self.found} weights within {self.delta:g} of the fit were found, a sample; others may be farther apart.",
            f"{'column':<{width}}  {'fit':>10}  {'smallest':>10}  {'largest':>10}  sign{of}",
        ]
        rows = zip(self.names, self.weights[0], self.ranges, self.signs.tolist(), self.certain.tolist())
        for name, fit, (low, high), sign, sure in rows:
            how = "" if not sign else ", certain" if sure else " in all that were found"
            lines.append(f"{name:<{width}}  {fit:>10.4g}  {low:>10.4g}  {high:>10.4g}  {WORDS[sign]}{how}")
        return "\n".join(lines)


def pool_of(state: FittedState, delta: float, k: int, time_limit: float) -> WeightPool:
    """The pool of a fit; see :meth:`rerank.Reranker.pool`."""
    from rerank.search.near import near

    if state.result.changed:
        raise InputError("The fit is of a program that was changed, and a pool would not keep what was added to it.")
    problem = state.known_problem()
    # A free problem knows no weights of a first stage that is kept, so the best of its own stand for the fit.
    fitted = problem.unchanged if problem.anchored and not state.reranks else state.weights
    delta, k, seconds = real("delta", delta, 0), whole("k", k, 1), real("time_limit", time_limit, 0)
    least = verified(problem, fitted).certificate.value - Fraction(repr(delta))
    starts = [fitted, *near(problem, [fitted], float(least), SAMPLE_SHARE * seconds, state.task.random_state)]
    moving = np.arange(int(problem.anchored), problem.n_features)
    signs = _common([w[moving] for w in starts])
    certain = np.zeros(moving.size, np.bool_)
    share = (1.0 - SAMPLE_SHARE) * seconds / max(1, int(np.count_nonzero(signs)))
    for place in np.flatnonzero(signs):
        certain[place], more = _half(problem, int(moving[place]), int(signs[place]), least, share, state)
        starts += more
    points = np.array(list({w.tobytes(): w for w in starts}.values()))
    chosen = _farthest(points, k)
    values = np.array([verified(problem, w).value for w in points[chosen]])
    coef = np.array([replace(state, weights=w, reranks=True).coef for w in points])
    found = _common(points[:, moving])
    whole_signs, sure = np.zeros(coef.shape[1], np.int8), np.zeros(coef.shape[1], np.bool_)
    whole_signs[state.features], sure[state.features] = found, certain & (found != 0)
    ranges, names = np.stack([coef.min(axis=0), coef.max(axis=0)], axis=1), state.columns.names
    return WeightPool(names, delta, coef[chosen], values, ranges, whole_signs, sure, len(points), problem.anchored)


def _common(weights: list[Floats] | Floats) -> NDArray[np.int8]:
    """The sign that each column has in all weights, 0 where there is none."""
    signs = np.sign(np.asarray(weights))
    return np.where((signs == signs[0]).all(axis=0), signs[0], 0).astype(np.int8)


def _half(
    problem: Problem, j: int, sign: int, least: Fraction, seconds: float, state: FittedState
) -> tuple[bool, list[Floats]]:
    """Whether no weights are worth enough whose j-th has not this sign; and such that are."""
    from rerank.search import solve

    if problem.limits is not None:
        low, high = (side.copy() for side in problem.limits)
        (high if sign > 0 else low)[j] = 0.0
        other = replace(problem, limits=(low, high))
    elif problem.signs[j]:
        return False, []  # what is left is the weight 0
    else:
        signs = np.where(np.arange(problem.signs.size) == j, -sign, problem.signs).astype(np.int8)
        other = replace(problem, signs=signs)
    try:
        found = solve(other, time_limit=seconds, n_jobs=state.task.n_jobs, random_state=state.task.random_state)
    except InfeasibleError:  # without room to spare, which is no proof
        return False, []
    near = math.isfinite(found.value) and Fraction(found.value) >= least
    # The bound is minus infinity where no weights meet the quotas.
    nothing = found.bound == -math.inf or (math.isfinite(found.bound) and Fraction(found.bound) < least)
    return nothing, [found.weights] * near


def _farthest(points: Floats, k: int) -> list[int]:
    """The first point, and then always the one that is farthest from those chosen."""
    chosen, apart = [0], np.linalg.norm(points - points[0], axis=1)
    while len(chosen) < k and apart.max() > 0:
        chosen.append(int(apart.argmax()))
        apart = np.minimum(apart, np.linalg.norm(points - points[chosen[-1]], axis=1))
    return chosen
