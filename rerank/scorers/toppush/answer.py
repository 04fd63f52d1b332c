"""What is found of a TopPush problem: an answer, or the certificate that zero weights are optimal.

``w = 0`` is optimal for every alpha and loss exactly when some ``p_g`` in ``P_g``
(:mod:`rerank.scorers.toppush.problem`) give ``sum_i c_i x_i = sum_g C_g sum_j p_gj x_j``, ``C_g = sum_{i in g} c_i``.
With one list and the largest score as threshold: when the mean of the positives is in the convex hull of the negatives.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse import csr_matrix, issparse, vstack
from scipy.sparse.linalg import lsqr

from rerank.scorers.base import Floats, Ints
from rerank.scorers.toppush.problem import TopPushProblem

# The two means agree if they differ, in each column, by this share of its largest entry.
EQUAL = 1e-8
# Least squares for a certificate are solved so many times at most, and end at this share of the largest entries.
ROUNDS, EXACT = 30, 1e-14


@dataclass(frozen=True, eq=False)
class HullCertificate:
    """Proof that no weights do better than 0."""

    # (n_rows,): convex weights over the rows of the data, those of the negatives only; in each list they sum to the
    # list's share of the positives.
    weights: Floats
    mean: Floats  # (d,): the weighted mean of the positives
    residual: float  # max |mean - X'weights|, computed from centred rows where they are dense


@dataclass(frozen=True, eq=False)
class PrimalDual:
    """What a method found; also what the next fit starts from."""

    w: Floats  # weights of the problem's columns (d,)
    a: Floats  # the dual point that proves most (m,), in the units of :mod:`.problem`; zeros if none was found
    beta: Floats  # (n,)
    n_iter: int = 0
    met: bool = False  # whether the method met its rule to stop
    hull: HullCertificate | None = None  # why zero weights are optimal, if they are


def certificate_of(problem: TopPushProblem, beta: Floats) -> HullCertificate | None:
    """The certificate made of multipliers ``beta`` (n,) of any scale, if they are near one."""
    lists, mass = problem.negative_list, problem.per_list(problem.share)
    most = mass[lists] * problem.threshold.caps
    if (np.bincount(lists, beta, problem.n_lists) <= 0).any():
        return None
    p = problem.scaled(_nearest(problem, np.clip(problem.scaled(beta, mass), 0, most), most, mass), mass)
    if (p < 0).any() or (p > most * (1 + 1e-9)).any():
        return None
    residual = np.abs(problem.residual(np.ones(problem.share.size), p))
    if (residual > EQUAL * _sizes(problem)).any():
        return None
    weights = np.zeros(problem.data.y.size)
    weights[problem.negative_rows] = p
    mean = problem.full(problem.positives.T @ problem.share + problem.centre)
    return HullCertificate(weights, mean, float(residual.max(initial=0.0)))


def _nearest(problem: TopPushProblem, p: Floats, most: Floats, mass: Floats) -> Floats:
    """Shares near ``p`` between 0 and ``most`` that give the mean of the positives, or as near to it as was reached.
    Multipliers found by iterations are right in the limit only. Here least squares change those between their bounds,
    each in units of its room, as far as no bound forbids; one that reaches its bound stays there.
    """
    lists, sizes = problem.negative_list, _sizes(problem)
    unit = np.where(sizes > 0, sizes, 1)
    best, least, part, p = p, np.inf, 0.0, p.copy()
    for _ in range(ROUNDS):
        missing = problem.residual(np.ones(problem.share.size), p) / unit
        off = np.concatenate([missing, mass - np.bincount(lists, p, mass.size)])
        size, free = float(np.abs(off).max()), np.flatnonzero((p > 0) & (p < most))
        if size < least:
            best = p.copy()
        if size <= EXACT or not free.size or (part == 1 and size > least / 2):
            break
        least = min(least, size)
        room = np.minimum(p, most - p)[free]
        move = room * _least_squares(problem.negatives[free], lists[free], unit, room, off)
        reach = np.where(move < 0, p[free], (most - p)[free])
        part = min(1.0, float(np.min(reach / np.maximum(np.abs(move), np.finfo(float).tiny))))
        at_bound = reach <= part * np.abs(move)
        p[free] += part * move
        p[free[at_bound]] = np.where(move < 0, 0, most[free])[at_bound]
    return best


def _least_squares(rows: Any, lists: Ints, unit: Floats, room: Floats, off: Floats) -> Floats:
    """The shortest z of least ``|M diag(room) z - off|``, where M holds the rows in their units and their lists."""
    G = off.size - unit.size
    if not issparse(rows):
        M = np.vstack([rows.T / unit[:, None], np.arange(G)[:, None] == lists])
        return np.asarray(scipy.linalg.lstsq(M * room, off, check_finite=False)[0])

    member = csr_matrix((room, (lists, np.arange(room.size))), shape=(G, room.size))
    M = vstack([rows.T.multiply(1 / unit[:, None]).multiply(room), member], format="csr")
    return np.asarray(lsqr(M, off, atol=EXACT, btol=EXACT)[0])


def _sizes(problem: TopPushProblem) -> Floats:
    """The largest absolute entry of each column."""
    parts = (problem.positives, problem.negatives)
    return np.max(
        [abs(X).max(axis=0).toarray().ravel() if issparse(X) else np.abs(X).max(axis=0) for X in parts], axis=0
    )
