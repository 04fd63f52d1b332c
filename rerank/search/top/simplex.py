r"""The largest margin between positives and negatives, by the simplex method, compiled.

Rows stand in *blocks*; in each block all positives have to lead all negatives.  The weights that do it by the most
solve a linear program.  Its dual is solved here: shares ``a_i >= 0`` of the positives and ``b_k >= 0`` of the
negatives, equally much of both in a block and 1 of either in all blocks, for which

    sup { w.y : lower <= w <= upper },  y = sum_i a_i x_i - sum_k b_k x_k,

is smallest.  Where that is below the margin asked for, the rows that have a share cannot be in this order for any
weights.  With ``s+, s- >= 0`` for the two signs of ``y`` the program is ``min upper.s+ - lower.s-`` with ``d + 1``
equations and one for each block, so its basis is small and only the choice of the next column looks at all rows.
"""

from typing import Any, NamedTuple

import numpy as np

from rerank.search.compiled import inner

OPTIMAL = 1e-9  # a column enters only if its reduced cost is below minus this
PIVOT = 1e-9
MOST_STEPS = 60  # times the number of equations
NOUGHT = 1e-9  # a smaller share of a row is left out


class Blocks(NamedTuple):
    """What is to be put in order: rows, block by block, and by which weights."""

    rows: Any  # float64 (n, d)
    positive: Any  # bool (n,)
    block: Any  # int64 (n,)
    copies: Any  # int64 (n,): how many equal rows each stands for
    lower: Any  # float64 (d,): ends of the weights
    upper: Any
    epsilon: float  # the margin, and what no rounding lifts to it
    below: float


class Basis(NamedTuple):
    """The basis of a program of ``m`` equations: ``d``, then one for each block, then the sum of shares."""

    column: Any  # row number, or n + j for s+ of coordinate j, n + d + j for s-
    inverse: Any
    x: Any
    price: Any  # of the equations: -w, where each block is divided, the margin
    step: Any
    inside: Any  # bool, by column
    total: Any  # (blocks, 2): shares of the negatives and positives of a block


def basis_of(n: int, d: int, blocks: int) -> Basis:
    """Memory for programs of ``n`` rows."""
    m = d + blocks + 1
    column, inside, total = np.zeros(m, np.int64), np.zeros(n + 2 * d, np.bool_), np.zeros((blocks, 2))
    return Basis(column, np.zeros((m, m)), np.zeros(m), np.zeros(m), np.zeros(m), inside, total)


@inner()
def _begin(given: Blocks, dropped: Any, basis: Any) -> None:
    """Begin with all shares on a positive and a negative of block 0; other blocks have a negative without a share."""
    rows, positive, block = given.rows, given.positive, given.block
    n, d = rows.shape
    last = basis.x.size - 1
    for c in range(basis.inside.size):
        basis.inside[c] = False
    for at in range(last + 1):
        basis.x[at] = 0.0
        for r in range(last + 1):
            basis.inverse[at, r] = 0.0
    for e in range(n):
        if not dropped[e]:
            if not positive[e]:
                basis.column[d + block[e]] = e
            elif block[e] == 0:
                basis.column[last] = e
    i, k = basis.column[last], basis.column[d]
    basis.x[last] = 1.0
    basis.x[d] = 1.0
    basis.inverse[last, last] = 1.0
    for at in range(d, last):
        basis.inverse[at, at] = -1.0
    basis.inverse[d, last] = 1.0
    for j in range(d):
        v = rows[i, j] - rows[k, j]
        sign = -1.0 if v >= 0.0 else 1.0
        basis.column[j] = n + j if v >= 0.0 else n + d + j
        basis.x[j] = abs(v)
        basis.inverse[j, j] = sign
        basis.inverse[j, last] = -sign * v
        for at in range(d, last):
            basis.inverse[j, at] = -sign * rows[basis.column[at], j]
    for at in range(last + 1):
        basis.inside[basis.column[at]] = True


@inner()
def _prices(given: Blocks, basis: Any) -> None:
    n, d = given.rows.shape
    m = basis.x.size
    for r in range(m):
        basis.price[r] = 0.0
    for at in range(m):
        c = basis.column[at]
        if c >= n:
            cost = given.upper[c - n] if c < n + d else -given.lower[c - n - d]
            for r in range(m):
                basis.price[r] += cost * basis.inverse[at, r]


@inner()
def _entering(given: Blocks, dropped: Any, basis: Any) -> int:
    """The column of least reduced cost; -1 if none is negative."""
    rows, positive, block = given.rows, given.positive, given.block
    n, d = rows.shape
    price = basis.price
    margin = price[price.size - 1]
    best = -OPTIMAL
    which = -1
    for e in range(n):
        if not dropped[e]:
            score = price[d + block[e]]
            for j in range(d):
                score += price[j] * rows[e, j]
            cost = -margin - score if positive[e] else score
            if cost < best and not basis.inside[e]:
                best, which = cost, e
    for j in range(d):
        for c, cost in ((n + j, given.upper[j] + price[j]), (n + d + j, -given.lower[j] - price[j])):
            if cost < best and not basis.inside[c]:
                best, which = cost, c
    return which


@inner()
def _direction(given: Blocks, c: int, basis: Any) -> None:
    """What one unit of a column takes from the basis."""
    rows = given.rows
    n, d = rows.shape
    last = basis.x.size - 1
    for at in range(last + 1):
        if c >= n + d:
            total = basis.inverse[at, c - n - d]
        elif c >= n:
            total = -basis.inverse[at, c - n]
        else:
            total = basis.inverse[at, d + given.block[c]]
            for j in range(d):
                total += basis.inverse[at, j] * rows[c, j]
            total = total + basis.inverse[at, last] if given.positive[c] else -total
        basis.step[at] = total


@inner()
def _exchange(c: int, basis: Any) -> bool:
    """Let a column enter; False if nothing would leave."""
    m = basis.x.size
    leave, amount = -1, np.inf
    for at in range(m):
        if basis.step[at] > PIVOT:
            most = max(basis.x[at], 0.0) / basis.step[at]
            if most < amount - 1e-12 or (most < amount + 1e-12 and basis.step[at] > basis.step[leave]):
                amount = min(most, amount)
                leave = at
    if leave < 0:
        return False
    basis.inside[basis.column[leave]] = False
    basis.inside[c] = True
    basis.column[leave] = c
    for at in range(m):
        basis.x[at] = max(basis.x[at] - amount * basis.step[at], 0.0)
    basis.x[leave] = amount
    pivot = basis.step[leave]
    for r in range(m):
        basis.inverse[leave, r] /= pivot
    for at in range(m):
        factor = basis.step[at]
        if at != leave and factor != 0.0:
            for r in range(m):
                basis.inverse[at, r] -= factor * basis.inverse[leave, r]
    return True


@inner()
def widest(given: Blocks, dropped: Any, basis: Any, most_steps: int) -> float:
    """The largest margin by which in all blocks the positives lead the negatives, without the rows that are dropped. A
    row of both classes has to be left in every block. The basis holds the solution: ``-price[:d]`` are the weights,
    ``x`` the shares of the rows among its columns. NaN where rounding or ``most_steps`` keeps the method from an end.
    """
    _begin(given, dropped, basis)
    for _ in range(min(most_steps, MOST_STEPS * basis.x.size)):
        _prices(given, basis)
        c = _entering(given, dropped, basis)
        if c < 0:
            return basis.price[basis.price.size - 1]
        _direction(given, c, basis)
        if not _exchange(c, basis):
            return np.nan
    return np.nan


@inner()
def shares(given: Blocks, basis: Any, share: Any) -> float:
    """The shares of the rows, small ones left out, and the largest ``w.y`` for them, in doubles. Every block has
    equally large shares of both classes again, and their sum is 1; ``inf`` where that is not possible.
    """
    rows, positive, block = given.rows, given.positive, given.block
    n, d = rows.shape
    m = basis.x.size
    total = basis.total
    for c in range(m - d - 1):
        total[c, 0] = 0.0
        total[c, 1] = 0.0
    for at in range(m):
        e = basis.column[at]
        share[at] = basis.x[at] if e < n and basis.x[at] > NOUGHT else 0.0
        if share[at] > 0.0:
            total[block[e], 1 if positive[e] else 0] += share[at]
    whole = 0.0
    for c in range(m - d - 1):
        if min(total[c, 0], total[c, 1]) <= 0.0 and max(total[c, 0], total[c, 1]) > 0.0:
            return np.inf
        whole += total[c, 1]
    most = 0.0
    for at in range(m):
        if share[at] > 0.0:
            e = basis.column[at]
            share[at] *= total[block[e], 1] / (total[block[e], 1 if positive[e] else 0] * whole)
    for j in range(d):
        y = 0.0
        for at in range(m):
            if share[at] > 0.0:
                e = basis.column[at]
                y += share[at] * rows[e, j] if positive[e] else -share[at] * rows[e, j]
        most += max(given.lower[j] * y, given.upper[j] * y)
    return most if whole > 0.0 else np.inf
