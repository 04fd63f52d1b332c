r"""The problem in weight space: data, lists of gains and what counts as a good order.

A :class:`Problem` says everything that the value of a weight vector depends on, in stored doubles.  Search,
programs and certificate all read it; none of them adds to it.

Value of weights ``w`` (scaled space, ``max|w_j| = 1`` or ``w = 0``)::

    V(w)  = sum_q weight_q * (raw_q(w) + constant_q) / scale_q  /  sum_q weight_q
    raw_q = sum_t (g_(t) - g_(t-1)) * sum_j a[m - (j + lost_(j)) + 1]

where ``g_(1) < g_(2) < ...`` are the list's distinct positive gains (``g_(0) = 0``), ``lost`` holds for each
item of gain ``>= g_(t)`` the number of the list's other items ``k`` with ``w.(x_i - x_k) < epsilon``, sorted
ascending, and ``a_1 <= ... <= a_m`` are the list's coefficients.  The objective is ``V(w) - C * |w|_0``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.io.options import real, whole
from rerank.problem.scaling import scale_columns

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class RankedList:
    """One list: its rows, the gain of each row, the coefficient of each place.

    Attributes
    ----------
    rows : intp array (m,)
        Rows of ``Problem.X`` in this list.
    gains : float64 array (m,)
        Non-negative gain of each row; 0 is irrelevant.
    coefficients : float64 array (m,)
        ``a_1 <= ... <= a_m``; ``a_m`` belongs to the top of the list.
    weight : float
        Weight of the list in the mean over lists.
    constant : float
        Added to the raw value before it is divided by ``scale``: what a fixed tail below these rows earns, minus
        the offset by which the statistic is shown.
    scale : float
        Positive divisor of the raw value (pairs for AUC, ideal DCG for nDCG, otherwise 1).
    """

    rows: Indices
    gains: Floats
    coefficients: Floats
    weight: float = 1.0
    constant: float = 0.0
    scale: float = 1.0

    @cached_property
    def _thresholds(self) -> Floats:
        return np.unique(self.gains[self.gains > 0])

    def thresholds(self) -> Floats:
        """Distinct positive gains, ascending."""
        return self._thresholds


@dataclass(frozen=True, eq=False)
class Unit:
    """One binary list: the rows of a list at or above a gain, against its other rows.

    Its part of ``V`` is ``factor * sum_i a_(rank of i)`` over the rows i of ``positive``.
    """

    list_index: int
    positive: Indices
    negative: Indices
    coefficients: Floats
    factor: float


@dataclass(frozen=True, eq=False)
class Problem:
    """Data and lists in original units, with scaling, margin, price of features and limits on the weights.

    Attributes
    ----------
    X : float64 array (n, d)
        Features in original units.
    lists : tuple of RankedList
    epsilon : float
        Margin, in units of the scaled score.
    C : float
        Price of one feature, in the unit of the value.
    max_features : int or None
        At most this many non-zero weights.
    signs : int8 array (d,)
        1 where a weight must be >= 0, -1 where it must be <= 0, 0 where it is free.
    low, high : float64 arrays (d,)
        The scaled feature is ``(x - low) / (high - low)``, exactly in rationals and rounded in
        :attr:`scaled`.
    """

    X: Floats
    lists: tuple[RankedList, ...]
    epsilon: float
    C: float
    max_features: int | None
    signs: NDArray[np.int8]
    low: Floats
    high: Floats

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.X.shape[1]

    @cached_property
    def scaled(self) -> Floats:
        """Features in [0, 1]; see :func:`rerank.problem.scale_columns`."""
        return scale_columns(self.X, self.low, self.high)

    @cached_property
    def total_weight(self) -> float:
        """Sum of the lists' weights."""
        return float(sum(item.weight for item in self.lists))

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The binary lists whose values add up to ``V`` (apart from :attr:`constant`)."""
        return tuple(unit for q, item in enumerate(self.lists) for unit in self._units_of(q, item))

    def _units_of(self, q: int, item: RankedList) -> list[Unit]:
        steps = np.diff(item.thresholds(), prepend=0.0)
        share = item.weight / (item.scale * self.total_weight)
        return [
            Unit(
                q,
                item.rows[item.gains >= g],
                item.rows[item.gains < g],
                item.coefficients,
                float(step * share),
            )
            for g, step in zip(item.thresholds(), steps, strict=True)
        ]

    @cached_property
    def constant(self) -> float:
        """The part of ``V`` that no weight vector changes."""
        return float(sum(q.weight * q.constant / q.scale for q in self.lists) / self.total_weight)

    @cached_property
    def ideal(self) -> float:
        """Value of the ideal lists, all positives on top, no price paid.  Rounded up."""
        top = sum(
            u.factor * float(np.sort(u.coefficients)[::-1][: u.positive.size].sum()) for u in self.units
        )
        total = self.constant + top
        return float(total + 1e-13 * (abs(top) + abs(self.constant)))

    @classmethod
    def build(
        cls,
        X: ArrayLike,
        lists: Sequence[RankedList],
        *,
        epsilon: float = 1e-4,
        C: float = 0.0,
        max_features: int | None = None,
        signs: ArrayLike | None = None,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
    ) -> Problem:
        """A problem of checked parts.

        Parameters
        ----------
        X : array (n, d)
        lists : sequence of RankedList
        epsilon, C, max_features, signs
            See the attributes; without ``signs`` all weights are free.
        low, high : arrays (d,), optional
            Range of each column; without them its range over the rows of the lists.

        Raises
        ------
        InputError
            For a constant column, no list, or a margin, price, limit or sign that cannot be used.
        """
        data = np.ascontiguousarray(X, dtype=np.float64)
        if not lists or not sum(item.weight for item in lists) > 0:
            raise InputError(
                "No list holds a gain: there is nothing to rank; give at least one relevant item."
            )
        used = data[np.unique(np.concatenate([item.rows for item in lists]))]
        low_ = used.min(axis=0) if low is None else np.asarray(low, dtype=np.float64)
        high_ = used.max(axis=0) if high is None else np.asarray(high, dtype=np.float64)
        flat = np.flatnonzero(~(high_ > low_))
        if flat.size:
            raise InputError(
                f"Column {flat[0]} is constant on the shortlist; drop it before building the problem."
            )
        margin, price = real("epsilon", epsilon, 0, positive=True), real("C", C, 0)
        signs_ = np.zeros(data.shape[1], np.int8) if signs is None else np.asarray(signs, dtype=np.int8)
        if signs_.shape != (data.shape[1],) or not np.isin(signs_, (-1, 0, 1)).all():
            raise InputError(f"signs must hold one of -1, 0, 1 for each of the {data.shape[1]} features.")
        limit = None if max_features is None else whole("max_features", max_features)
        if limit is not None and limit >= data.shape[1]:
            limit = None
        return cls(data, tuple(lists), margin, price, limit, signs_, low_, high_)
