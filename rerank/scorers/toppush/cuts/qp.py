"""Quadratic programs over the non-negative orthant, solved by an active-set method that can start warm.

Goldfarb and Idnani, "A numerically stable dual method for solving strictly convex quadratic programs",
Mathematical Programming 27, 1983, written for the matrix ``K`` of the constraints: the program is the dual of
``min 1/2 x'Hx + g'x, Nx <= b`` with ``K = N H^-1 N'`` and ``r = -(N H^-1 g + b)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numba import njit
from numpy.typing import NDArray

from rerank.scorers.data import Floats

# A row is dependent if the square of its part outside the span of the active ones is below this share of its square.
DEPENDENT = 1e-11
# With more rows than this the first factor is LAPACK's.
MANY = 64


def solve(K: Floats, r: Floats, active: NDArray[np.bool_], tol: float) -> Floats:
    """Minimise ``1/2 q'Kq - r'q`` over ``q >= 0``.

    Parameters
    ----------
    K : array (n, n)
        Positive semidefinite.  If ``r`` is not in its range the program is unbounded; the point where that shows is
        returned.
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
        kept = _independent(K, P, guess.size, L, np.empty(n + 1), DEPENDENT)
    else:
        kept = guess.size
    q = np.zeros(n)
    _active_set(K, r, q, P, kept, L, tol, DEPENDENT, 20 * n + 100)
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


@njit(cache=True, nogil=True)
def _forward(L: Any, p: int, b: Any) -> float:
    """``b = L^-1 b`` on the first p entries; returns ``|b|^2``."""
    size = 0.0
    for i in range(p):
        row = L[i]
        s = b[i]
        for k in range(i):
            s -= row[k] * b[k]
        b[i] = s / row[i]
        size += b[i] * b[i]
    return size


@njit(cache=True, nogil=True)
def _backward(L: Any, p: int, b: Any) -> None:
    """``b = L^-T b`` on the first p entries."""
    for i in range(p - 1, -1, -1):
        row = L[i]
        b[i] /= row[i]
        for k in range(i):
            b[k] -= row[k] * b[i]


@njit(cache=True, nogil=True)
def _drop(L: Any, P: Any, p: int, i: int) -> None:
    """Take entry i out of the list P and of its factor L, by Givens rotations of the columns."""
    for r in range(i, p - 1):
        P[r] = P[r + 1]
        for k in range(r + 2):
            L[r, k] = L[r + 1, k]
    for k in range(i, p - 1):
        h = np.hypot(L[k, k], L[k, k + 1])
        c = L[k, k] / h
        s = L[k, k + 1] / h
        L[k, k] = h
        for r in range(k + 1, p - 1):
            u = L[r, k]
            v = L[r, k + 1]
            L[r, k] = c * u + s * v
            L[r, k + 1] = c * v - s * u


@njit(cache=True, nogil=True)
def _independent(K: Any, P: Any, p: int, L: Any, col: Any, tiny: float) -> int:
    """Factor ``K`` on the first p entries of P, leaving out what depends on those before; how many stay."""
    m = 0
    for a in range(p):
        j = P[a]
        for i in range(m):
            col[i] = K[P[i], j]
        s = K[j, j] - _forward(L, m, col)
        if s > tiny * K[j, j]:
            for i in range(m):
                L[m, i] = col[i]
            L[m, m] = np.sqrt(s)
            P[m] = j
            m += 1
    return m


@njit(cache=True, nogil=True)
def _start(K: Any, r: Any, P: Any, p: int, L: Any, q: Any, y: Any, b: Any) -> int:
    """Solve on P, dropping the most negative until none is; sets q and ``y = Kq - r``; how many stay."""
    while True:
        for i in range(p):
            b[i] = r[P[i]]
        _forward(L, p, b)
        _backward(L, p, b)
        worst = -1
        for i in range(p):
            if b[i] < 0.0 and (worst < 0 or b[i] < b[worst]):
                worst = i
        if worst < 0:
            break
        _drop(L, P, p, worst)
        p -= 1
    for i in range(r.size):
        q[i] = 0.0
        y[i] = -r[i]
    for i in range(p):
        q[P[i]] = b[i]
        row = K[P[i]]
        for k in range(r.size):
            y[k] += row[k] * b[i]
    return p


@njit(cache=True, nogil=True)
def _steepest(K: Any, q: Any, y: Any, tol: float) -> int:
    """The entry at 0 that promises most, ``y_j^2 / K_jj``; -1 if none is below ``-tol``."""
    best = 0.0
    found = -1
    for j in range(y.size):
        if q[j] == 0.0 and y[j] < -tol and y[j] * y[j] > best * K[j, j]:
            best = y[j] * y[j] / K[j, j]
            found = j
    return found


@njit(cache=True, nogil=True)
def _active_set(K: Any, r: Any, q: Any, P: Any, p: int, L: Any, tol: float, tiny: float, most: int) -> Any:
    """Goldfarb and Idnani's dual method on K: entries come in one by one, those that reach 0 leave.

    Starts from the first p entries of P, whose factor is in L; returns how many P holds at the end, and the steps.
    """
    n = r.size
    y = np.empty(n)
    col = np.empty(n + 1)
    way = np.empty(n + 1)
    p = _start(K, r, P, p, L, q, y, col)
    steps = 0
    j = _steepest(K, q, y, tol)
    while j >= 0 and steps < most:
        steps += 1
        for i in range(p):
            col[i] = K[P[i], j]
        s = K[j, j] - _forward(L, p, col)
        for i in range(p):
            way[i] = -col[i]
        _backward(L, p, way)
        length = -y[j] / s if s > tiny * K[j, j] else np.inf
        out = -1
        for i in range(p):
            if way[i] < 0.0 and q[P[i]] < -length * way[i]:
                length = -q[P[i]] / way[i]
                out = i
        if length == np.inf:
            break
        q[j] += length
        row = K[j]
        for k in range(n):
            y[k] += length * row[k]
        for i in range(p):
            q[P[i]] += length * way[i]
            row = K[P[i]]
            u = length * way[i]
            for k in range(n):
                y[k] += u * row[k]
        if out < 0:
            for i in range(p):
                L[p, i] = col[i]
            L[p, p] = np.sqrt(s)
            P[p] = j
            p += 1
            j = _steepest(K, q, y, tol)
        else:
            q[P[out]] = 0.0
            _drop(L, P, p, out)
            p -= 1
    return p, steps
