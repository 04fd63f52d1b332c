"""Pushes with the exponential loss: RankBoost's sum over pairs, and the p-norm that weighs the highest competitors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.io.options import real
from rerank.scorers.base import LinearRanker, Solution
from rerank.scorers.data import Floats, Ints, RankingData
from rerank.scorers.linalg.lbfgs import Loss, minimise


class PNormPush(LinearRanker):
    r"""Linear scores that minimise the p-norm push [Rudin2009, eq. 3] with the exponential loss.

    For lists x (of ``Q``), relevant rows i, others k and row weights ``a`` that are divided by their sum over the
    relevant rows, or over the others, of their list::

        alpha/2 |w|^2 + 1/p log R(w),    R(w) = 1/Q sum_x sum_k a_k (sum_i a_i exp(w.x_k - w.x_i))^p.

    The loss factorises, ``(sum_i a_i exp(-w.x_i))^p exp(p w.x_k)``, so a value costs O(n) in time and memory.  The
    logarithm is increasing, so ``R`` and ``log R`` have the same minimisers for some ``alpha`` each; it keeps every
    number in range, is convex, and is 0 at ``w = 0``.  A larger ``p`` gives the highest competitors more weight.

    Parameters
    ----------
    p : float, default 4.0
        At least 1; 1 is :class:`ExponentialPush`.
    alpha : float, default 1e-3
        Strength of the penalty. The loss is a mean, so ``alpha`` does not grow with the data.
    tol : float, default 1e-6
        Largest entry of the gradient, relative to that at zero.
    max_iter : int, default 1000
    warm_start : bool, default False

    Attributes
    ----------
    coef_ : float64 (d,)
    objective_ : float
    gap_ : float
        Bound on the relative distance of ``objective_`` to the optimum, from strong convexity.
    n_iter_ : int

    Notes
    -----
    Rows above the smallest label with a weight are relevant.  Integer weights equal repeated rows.  A list without
    relevant rows, or with nothing else, is left out.
    """

    def __init__(
        self,
        p: float = 4.0,
        alpha: float = 1e-3,
        *,
        tol: float = 1e-6,
        max_iter: int = 1000,
        warm_start: bool = False,
    ) -> None:
        self.p = p
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    def _check_parameters(self) -> None:
        super()._check_parameters()
        real("p", self._power, 1)

    @property
    def _power(self) -> float:
        return self.p

    def _solve(self, data: RankingData, alpha: float, start: Solution | None) -> Solution:
        loss = push_loss(sides_of(data), float(self._power), data.y.size)
        at = None if start is None else start.coef
        return minimise(data.X, loss, alpha, at, tol=self.tol, max_iter=self.max_iter, convex=True)


class ExponentialPush(PNormPush):
    """Linear scores that minimise RankBoost's exponential loss of pairs [FreundIyerSchapireSinger2003, eq. 1].

    :class:`PNormPush` with ``p = 1``: ``alpha/2 |w|^2 + log sum D_ik exp(w.x_k - w.x_i)`` over relevant rows i and
    others k of a list, where the distribution ``D`` shares its weight equally among lists and, inside a list, in
    proportion to the products of the rows' weights.

    Parameters
    ----------
    alpha, tol, max_iter, warm_start
        As for :class:`PNormPush`.
    """

    def __init__(
        self, alpha: float = 1e-3, *, tol: float = 1e-6, max_iter: int = 1000, warm_start: bool = False
    ) -> None:
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    @property
    def _power(self) -> float:
        return 1.0


@dataclass(frozen=True, eq=False)
class _Side:
    """Relevant rows, or the others, of the lists that have both.

    Attributes
    ----------
    rows : int64 (m,)
        Where each is in the data, list by list.
    home : int64 (m,)
        Its list.
    start : int64 (n_lists,)
    share : float64 (m,)
        Logarithm of the row's share of the weight of its side of the list.
    """

    rows: Ints
    home: Ints
    start: Ints
    share: Floats

    def log_sums(self, exponents: Floats) -> tuple[Floats, Floats]:
        """``log sum exp`` of each list (n_lists,), and each row's part of its list's sum (m,)."""
        top = np.maximum.reduceat(exponents, self.start)
        parts = np.exp(exponents - top[self.home])
        sums = np.add.reduceat(parts, self.start)
        return top + np.log(sums), parts / sums[self.home]


def sides_of(data: RankingData) -> tuple[_Side, _Side]:
    """Relevant rows and the others; errors as :meth:`RankingData.sides`."""
    first, second = (_side(data, rows, home) for rows, home in data.sides())
    return first, second


def _side(data: RankingData, rows: Ints, home: Ints) -> _Side:
    start = np.flatnonzero(np.diff(home, prepend=-1)).astype(np.int64)
    sums = np.add.reduceat(data.weight[rows], start)
    return _Side(rows, home, start, np.log(data.weight[rows] / sums[home]))


def push_loss(sides: tuple[_Side, _Side], p: float, n: int) -> Loss:
    """``1/p log R`` as a function of the scores (n,)."""
    relevant, others = sides

    def loss(scores: Floats) -> tuple[float, Floats]:
        u, up = relevant.log_sums(relevant.share - scores[relevant.rows])
        v, down = others.log_sums(others.share + p * scores[others.rows])
        lists = p * u + v
        top = float(lists.max())
        parts = np.exp(lists - top)
        total = float(parts.sum())
        parts /= total
        slope = np.zeros(n)
        slope[relevant.rows] = -parts[relevant.home] * up
        slope[others.rows] = parts[others.home] * down
        return (top + float(np.log(total / parts.size))) / p, slope

    return loss
