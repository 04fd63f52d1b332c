"""Quadratic programs over the non-negative orthant, solved by an active-set method that can start warm.

Goldfarb and Idnani, "A numerically stable dual method for solving strictly convex quadratic programs",
Mathematical Programming 27, 1983, written for the matrix ``K`` of the constraints: the program is the dual of
``min 1/2 x'Hx + g'x, Nx <= b`` with ``K = N H^-1 N'`` and ``r = -(N H^-1 g + b)``.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rerank.scorers.toppush.cuts.qp_kernel import active_set, independent

Floats = NDArray[np.float64]

# A row whose part outside the span of the active ones is below this share of its square is taken as dependent.
DEPENDENT = 1e-11
# From so many rows on, the first factor is LAPACK's.
MANY = 64


def solve(K: Floats, r: Floats, active: NDArray[np.bool_], tol: float) -> Floats:
    """Minimise ``1/2 q'Kq - r'q`` over ``q >= 0``.

    Parameters
    ----------
    K : array (n, n)
        Positive semidefinite; ``r`` lies in its range or the program is unbounded and the way there is returned.
    r : array (n,)
    active : bool array (n,)
        Entries that are probably positive.
    tol : float
        Accepted negative part of the gradient ``Kq - r``.

    Returns
    -------
    array (n,)
    """
    n = r.size
    K = np.ascontiguousarray(K)
    P = np.zeros(n + 1, np.int64)
    guess = np.flatnonzero(active)
    P[: guess.size] = guess
    # Rounding may admit a few rows more than the rank of K, never more than there are.
    L = np.zeros((n + 1, n + 1))
    if not (guess.size > MANY and _factor(K, guess, L)):
        kept = independent(K, P, guess.size, L, np.empty(n + 1), DEPENDENT)
    else:
        kept = guess.size
    q = np.zeros(n)
    active_set(K, r, q, P, kept, L, tol, DEPENDENT, 20 * n + 100)
    return q


def _factor(K: Floats, guess: NDArray[np.int64], L: Floats) -> bool:
    """Write the Cholesky factor of ``K[guess, guess]`` to the head of L; False if it is near singular."""
    part = K[np.ix_(guess, guess)]
    try:
        found = scipy.linalg.cholesky(part, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    if (np.diag(found) ** 2 <= DEPENDENT * np.diag(part)).any():
        return False
    L[: guess.size, : guess.size] = found
    return True
