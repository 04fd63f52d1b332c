"""Weights are polished, recomputed exactly and compared with what was claimed, before they are reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rerank.errors import CertificateError
from rerank.problem import Problem
from rerank.ranks.rationals import is_closed
from rerank.reranker.solve.program import normalised

if TYPE_CHECKING:
    from rerank.certificate import Certificate

Floats = NDArray[np.float64]

MOST_PAIRS = 20_000
"""Largest number of pairs that are polished; the linear program of more pairs takes too long."""

CLAIMED_SHARES = (1 - 1e-6, 0.99, 0.85)
"""Shares of the margin from which on a pair counts as claimed by a solver, tried in this order.

A solver may violate a row by a tenth of the margin (``margin.SAFETY``), but mostly it violates none. Pairs that it did
not claim and that are nearly won would be in the way: often no weights win them too.
"""


@dataclass(frozen=True, eq=False)
class Verified:
    """Weights (d,) and their exact certificate."""

    weights: Floats
    certificate: Certificate

    @property
    def value(self) -> float:
        """Exact value, rounded down."""
        return float(self.certificate.value_down)


def summed(problem: Problem) -> float:
    """Sum of the sizes of what a value adds up; the rounding error of a value in doubles is relative to it.

    With sample weights of 1e12 and 1e-12 in one list it is 1e12, even where the value is 1e-12.
    """
    earned = sum(u.factor * float(np.abs(u.coefficients).max()) * float(u.hits.sum()) for u in problem.units)
    kept = sum(abs(q.weight * q.constant / q.scale) for q in problem.lists) / problem.total_weight
    return float(earned + kept + problem.C * problem.n_features)


def verified(problem: Problem, w: Floats) -> Verified:
    """Recompute ``w`` exactly."""
    from rerank.certificate import certify

    return Verified(w, certify(problem, w))


def polished(
    problem: Problem, w: Floats, claim: float | None = None, box: tuple[Floats, Floats] | None = None
) -> Verified:
    """The better of ``w`` and its polish, both recomputed exactly.

    Parameters
    ----------
    claim : float, optional
        Value that a solver claims for ``w``.
    box : pair of float64 arrays (d,), optional
        Limits of a program that ``w`` keeps; a polish that leaves them is not used.

    Raises
    ------
    CertificateError
        If the weights do not reach the claim, even after polishing.
    """
    best = verified(problem, w)
    tried = 0
    for share in (1.0,) if claim is None else CLAIMED_SHARES:
        pairs = won_pairs(problem, w, share * problem.epsilon) if w.any() else ()
        if tried < len(pairs) <= MOST_PAIRS:
            from rerank.reranker.solve.polish import polish

            tried = len(pairs)
            wide = polish(problem.scaled, pairs, w, problem.signs, w != 0, box or problem.limits)
            wide = normalised(wide, problem.limits)
            if box is None or outside(wide, box) is None:
                better = verified(problem, wide)
                best = max(best, better, key=lambda one: (one.value, one.certificate.margin or 0))
        if claim is not None and is_closed(claim - best.value, claim, summed(problem)):
            break
    if claim is not None and not is_closed(claim - best.value, claim, summed(problem)):
        raise CertificateError(
            f"The solver claims {claim:.9g}, but its weights are worth {best.value:.9g} when recomputed exactly, and "
            "polishing does not restore the claim; fit with solver='search', which has no tolerance."
        )
    return best


def outside(w: Floats, box: tuple[Floats, Floats]) -> int | None:
    """The first weight outside a box; None if all lie in it, up to rounding."""
    wrong = np.flatnonzero((w < box[0] - 1e-12) | (w > box[1] + 1e-12))
    return int(wrong[0]) if wrong.size else None


def within_tolerance(problem: Problem, w: Floats, claim: float) -> bool:
    """Whether weights reach a claim with the smallest margin that a solver's tolerance leaves.

    If no doubles win the same pairs by the whole margin, an honest solver's claim cannot be restored.
    """
    loose = problem.with_epsilon(CLAIMED_SHARES[-1] * problem.epsilon)
    return is_closed(claim - verified(loose, w).value, claim, summed(problem))


def won_pairs(problem: Problem, w: Floats, margin: float) -> NDArray[np.intp]:
    """Pairs (p, 2) of a row above a row of smaller gain in the same list, ahead by at least ``margin``.

    Returns an empty array where there would be more than ``MOST_PAIRS``.
    """
    scores = problem.scaled @ w
    found, count = [], 0
    for item in problem.lists:
        for g in item.thresholds():
            upper = item.rows[item.gains == g]
            lower = item.rows[item.gains < g]
            if count + upper.size * lower.size > 20 * MOST_PAIRS:
                return np.empty((0, 2), np.intp)
            i, k = np.nonzero(scores[upper][:, None] - scores[lower][None, :] >= margin)
            found.append(np.column_stack([upper[i], lower[k]]))
            count += i.size
    pairs = np.concatenate(found) if found else np.empty((0, 2), np.intp)
    return pairs if len(pairs) <= MOST_PAIRS else pairs[:0]
