"""Weights are polished, recomputed exactly and compared with what was claimed, before they are reported."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.certificate import Certificate, certify
from rerank.certificate.lists import meets_quotas
from rerank.errors import CertificateError
from rerank.errors.stops import current
from rerank.errors.telling import Note
from rerank.problem import Problem
from rerank.problem.lists import Floats, Indices
from rerank.problem.quotas import met_by
from rerank.ranks.positions import affine, snap
from rerank.ranks.rationals import is_closed
from rerank.reranker.solution import CLAIM
from rerank.reranker.solve.program import normalised
from rerank.search.domain import allowed, sides_of

Pairs = Indices
Sides = Sequence[tuple[Floats, float, str]]  # rows on the weights, ``a.w >= b``
MOST_PAIRS = 20_000  # largest number of pairs that are polished; the linear program of more pairs takes too long
MOST_ROUNDS = 60  # rounds of adding rows to that program; five to fifteen are usual
ROOM, ROOM_FIRST = 1e-7, 1e3
"""Room that a row of the user's keeps in a polish, so that rounding does not break it, and what room is worth there,
beside a margin."""

PRECISE = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}  # of linear programs here

CLAIMED_SHARES = (1 - 1e-6, 0.99, 0.85)
"""Shares of the margin from which on a pair counts as claimed by a solver, tried in this order.

A solver may violate a row by a tenth of the margin (``margin.SAFETY``), but mostly it violates none. Pairs that it did
not claim and that are nearly won would be in the way: often no weights win them too.
"""


@dataclass(frozen=True, eq=False)
class VerifiedWeights:
    """Weights (d,) and their exact certificate."""

    weights: Floats
    certificate: Certificate

    @property
    def value(self) -> float:
        """Exact value, rounded down."""
        return float(self.certificate.value_down)

    @property
    def figures(self) -> dict[str, Any]:
        """Weights, value and certificate by the names that a solution has for them."""
        return {"weights": self.weights, "value": self.value, "certificate": self.certificate}


def summed(problem: Problem) -> float:
    """Sum of the sizes of what a value adds up, to which its rounding error in doubles is relative."""
    earned = sum(u.factor * float(np.abs(u.coefficients).max()) * float(u.hits.sum()) for u in problem.units)
    kept = sum(abs(q.weight * q.constant / q.scale) for q in problem.lists) / problem.total_weight
    return float(earned + kept + problem.C * problem.n_features)


def verified(problem: Problem, w: Floats, as_given: bool = False) -> VerifiedWeights:
    """Recompute ``w`` exactly; ``as_given`` is that of :func:`rerank.certificate.certify`."""
    return VerifiedWeights(w, certify(problem, w, as_given))


def meets(problem: Problem, w: Floats) -> bool:
    """Whether the order by weights meets the quotas, exactly and by scores as a ranking rounds them."""
    if not problem.quotas:
        return True
    return meets_quotas(problem, w) and met_by(snap(affine(problem.scaled, w)), problem.quotas, problem.lists)


def polished(problem: Problem, w: Floats, claim: float | None = None, nearly: bool = False) -> VerifiedWeights:
    """The better of ``w`` and its polish, both recomputed exactly; with a claim, or ``nearly``, pairs won by almost the
    margin are tried, too. A CertificateError if a solver's claim is not reached even so.
    """
    best = verified(problem, w)
    tried = 0
    for share in CLAIMED_SHARES if nearly or claim is not None else (1.0,):
        pairs = won_pairs(problem, w, share) if w.any() else ()
        if tried < len(pairs) <= MOST_PAIRS:
            tried = len(pairs)
            # By sum weights are compared as they are, and brought to norm 1 afterwards.
            ends = (np.zeros(w.size), np.ones(w.size)) if problem.by_sum else problem.limits
            total = [(-np.ones(w.size), -float(w.sum()), "")] if problem.by_sum else []
            wide = polish(problem.scaled, pairs, w, problem.signs, w != 0, ends, [*sides_of(problem), *total])
            wide = allowed(problem, normalised(wide, problem.limits))
            if not (np.array_equal(wide, w) or current().now) and meets(problem, wide):
                best = max(best, verified(problem, wide), key=lambda own: (own.value, own.certificate.margin or 0))
        if claim is not None and is_closed(claim - best.value, claim, summed(problem)):
            return best
    if claim is None:
        return best
    raise CertificateError(
        f"The solver claims {claim:.9g}, but its weights are worth {best.value:.9g} when recomputed exactly, and "
        "polishing does not restore the claim; fit with solver='search', which has no tolerance."
    )


def outside(w: Floats, box: tuple[Floats, Floats]) -> int | None:
    """The first weight outside a box; None if all lie in it, up to rounding."""
    wrong = np.flatnonzero((w < box[0] - 1e-12) | (w > box[1] + 1e-12))
    return int(wrong[0]) if wrong.size else None


def within_tolerance(problem: Problem, w: Floats, claim: float, as_given: bool = False) -> bool:
    """Whether weights reach a claim with the least margin that a solver's tolerance leaves, as honest ones may."""
    loose = problem.with_epsilon(CLAIMED_SHARES[-1] * problem.epsilon)
    return is_closed(claim - verified(loose, w, as_given).value, claim, summed(problem))


def within_tolerance_only(who: str, claim: float, value: float) -> str:
    """What is said of a claim that weights reach so."""
    return Note(
        f"{who} claims {claim:.9g} for weights whose value is {value:.9g}: they win some pairs by the margin only "
        "within the solver's tolerance.",
        CLAIM,
    )


def won_pairs(problem: Problem, w: Floats, share: float = 1.0) -> Pairs:
    """Pairs (p, 2), of larger gain first, ahead by a ``share`` of the margin; none if more than ``MOST_PAIRS``."""
    scores, margin = problem.scaled @ w, share * problem.epsilon * float(problem.norm(w))
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


def polish(
    X: ArrayLike,
    pairs_won: ArrayLike,
    w: ArrayLike,
    signs: ArrayLike | None = None,
    support: ArrayLike | None = None,
    limits: tuple[Floats, Floats] | None = None,
    rows: Sides = (),
) -> Floats:
    """Weights with the widest smallest margin over the pairs (p, 2) of rows of scaled X that ``w`` wins.

    They have ``max |w_j| = 1``, or keep within the limits of an anchored problem; ``w`` itself if nothing is to gain.

    The weights of a mixed-integer solver often win pairs by exactly the margin. An exact check may then fail in the
    last digits, although the solver made no mistake. With the pairs won fixed, the widest margin is a linear program:

        maximise delta  subject to  w.(x_i - x_k) >= delta for every pair (i, k) won,
        -1 <= w_j <= 1 or the limits, the signs asked for, a.w >= b for each of the rows, w_j = 0 off the support.

    Only violated rows are added to it, so 20,000 pairs cost about as much as 200. Inside
    :func:`rerank.errors.stops.limited` no linear program is begun after the deadline.
    """
    table, pairs, given = np.asarray(X, np.float64), np.asarray(pairs_won), np.array(w, np.float64)
    d = given.size
    least, most = (-np.ones(d), np.ones(d)) if limits is None else limits
    free = given != 0 if support is None else np.asarray(support, dtype=bool)
    sign = np.zeros(d, np.int8) if signs is None else np.asarray(signs)
    if not pairs.size or not free.any():
        return given
    low, high = np.where(free & (sign <= 0), least, 0.0), np.where(free & (sign >= 0), most, 0.0)
    none = np.empty((0, d))
    left, right = np.array([-a for a, *_ in rows]).reshape(-1, d), np.array([-side for _, side, _ in rows])
    kept = Kept(left, right, none, none[:, 0])
    best, margin = widest(table, pairs.astype(np.intp), given, low, high, kept)
    # With a smallest margin of 0 or below some pair is not won, and a larger scale would not help.
    if best is None or not best.any() or not (rows or margin > 0):
        return given
    if limits is None:
        best = best / np.max(np.abs(best))
    return best if smallest_margin(table, pairs, best) > smallest_margin(table, pairs, given) else given


@dataclass(frozen=True, eq=False)
class Kept:
    """Linear rows that weights keep while they are polished, together with further columns ``v`` (e,). ``left @ (w, v)
    <= right``, kept with some room where there is any, and ``equal @ (w, v) == sides``.
    """

    left: Floats
    right: Floats
    equal: Floats
    sides: Floats


def smallest_margin(X: Floats, pairs: Pairs, w: Floats) -> float:
    """Smallest ``w.x_i - w.x_k`` over the pairs, in floating point."""
    return float(_margins(X, pairs, w).min())


def _margins(X: Floats, pairs: Pairs, w: Floats) -> Floats:
    scores = X @ w
    return np.asarray(scores[pairs[:, 0]] - scores[pairs[:, 1]])


def widest(X: Floats, pairs: Pairs, w: Floats, low: Floats, high: Floats, kept: Kept) -> tuple[Floats | None, float]:
    """Weights and further columns in a box, of the widest smallest margin; violated pairs are added in rounds."""
    best, best_margin, d = None, -np.inf, w.size
    active = _lowest(_margins(X, pairs, w), 4 * d + 20)
    for _ in range(MOST_ROUNDS):
        if current().now:
            break
        solved = _solve(X[pairs[active, 0]] - X[pairs[active, 1]], low, high, kept)
        if solved is None:
            break
        candidate, delta = solved
        margins = _margins(X, pairs, candidate[:d])
        if margins.min(initial=np.inf) > best_margin:
            best, best_margin = candidate, float(margins.min(initial=np.inf))
        violated = np.setdiff1d(_lowest(margins, 2 * d + 50), active)
        violated = violated[margins[violated] < delta - 1e-12]
        if not violated.size:
            break
        active = np.concatenate([active, violated])
    return best, best_margin


def _lowest(margins: Floats, count: int) -> Pairs:
    return np.arange(margins.size) if margins.size <= count else np.argpartition(margins, count)[:count]


def least_of(cost: Floats, low: Floats, high: Floats, kept: Kept) -> float | None:
    """Least ``cost @ (w, v)`` in a box and the rows to keep; None where the solver finds none."""
    from scipy.optimize import linprog

    equal = {"A_eq": kept.equal, "b_eq": kept.sides} if kept.sides.size else {}
    rows = {"A_ub": kept.left, "b_ub": kept.right} if kept.right.size else {}
    answer = linprog(cost, **rows, **equal, bounds=_ends(low, high), method="highs", options=PRECISE)
    return float(answer.fun) if answer.status == 0 else None


SECONDS_TO_MISS = 5.0  # for whole columns of a user's own, which may be many


def least_misses(matrix: Any, low: Floats, high: Floats, columns: tuple[Floats, Floats, Any]) -> Floats | None:
    """By how much rows miss their sides (m,) where ``columns`` (least, most, whether whole: (n,) each) let them miss
    least in sum; None where the solver does not say.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import eye_array, hstack

    (m, n), (least, most, whole) = matrix.shape, columns
    if not (m and n):
        return np.maximum(0.0, np.maximum(low, -high))
    apart = eye_array(m)
    answer = milp(
        np.r_[np.zeros(n), np.ones(2 * m)],
        constraints=LinearConstraint(hstack([matrix, apart, -apart], format="csc"), low, high),
        bounds=Bounds(np.r_[least, np.zeros(2 * m)], np.r_[most, np.full(2 * m, np.inf)]),
        integrality=np.r_[whole.astype(float), np.zeros(2 * m)],
        options={"time_limit": SECONDS_TO_MISS},
    )
    return np.asarray(answer.x[n : n + m] + answer.x[n + m :]) if answer.status == 0 else None


def _ends(low: Floats, high: Floats) -> list[tuple[float | None, float | None]]:
    """Bounds as a linear program of SciPy takes them."""
    return [(a if np.isfinite(a) else None, b if np.isfinite(b) else None) for a, b in zip(low, high, strict=True)]


def _solve(differences: Floats, low: Floats, high: Floats, kept: Kept) -> tuple[Floats, float] | None:
    """Maximise delta over ``differences @ w >= delta`` in the box and the rows to keep; None if the solver gives up. Of
    the columns, the weights come first, the further ones next, and then delta and the room of each row.
    """
    from scipy.optimize import linprog

    n, d, m = len(differences), low.size, len(kept.left)
    largest = float(np.abs(differences).sum(axis=1).max(initial=0.0))
    room = ROOM * np.maximum(1.0, np.abs(kept.left).max(axis=1, initial=0.0))
    pairs = np.hstack([-differences, np.zeros((n, d - differences.shape[1])), np.ones((n, 1)), np.zeros((n, m))])
    equal = {"A_eq": np.pad(kept.equal, ((0, 0), (0, 1 + m))), "b_eq": kept.sides} if kept.sides.size else {}
    answer = linprog(
        np.r_[np.zeros(d), -1.0, np.full(m, -ROOM_FIRST)],
        A_ub=np.vstack([pairs, np.hstack([kept.left, np.zeros((m, 1)), np.eye(m)])]),
        b_ub=np.r_[np.zeros(n), kept.right],
        bounds=[*_ends(low, high), (-largest, largest), *((0.0, own) for own in room)],
        method="highs",
        **equal,
        options=PRECISE,
    )
    return None if answer.x is None else (np.clip(answer.x[:d], low, high), float(answer.x[d]))
