r"""Rank statistics as values: what each place of a list is worth.

A conditional linear rank statistic [RudinWang2018, eq. 1] pays every relevant item by its rank alone,

    CLRS = sum over relevant items i of a_{rank(i)},      0 <= a_1 <= a_2 <= ... <= a_n,

where rank 1 is the bottom and rank n the top of a list of n items.  A statistic here is nothing but that
sequence and a name; who holds which rank, and what happens to equal scores, is the business of
:mod:`rerank.ranks`.

>>> from rerank.statistics import DCG, parse
>>> parse("dcg@10") == DCG(at=10)
True
>>> DCG(at=2).coefficients(4).tolist()
[0.0, 0.0, 0.6309297535714575, 1.0]

Normalised forms (AUC in [0, 1], nDCG) are a presentation of the same sum, an offset and a scale: see
:func:`presentation`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError

Floats = NDArray[np.float64]


class RankStatistic:
    """Base of the rank statistics: frozen, printable, comparable, hashable.

    A subclass is a frozen dataclass with a ``stem`` (its name in text) and :meth:`coefficients`.
    """

    stem: ClassVar[str] = ""
    normalised: ClassVar[bool] = False

    def coefficients(self, n: int) -> Floats:
        """``a_1..a_n`` as float64 (n,), non-decreasing and non-negative; ``a_n`` belongs to the top."""
        try:
            length = operator.index(n)
        except TypeError:
            length = -1
        if length < 0:
            raise InputError(f"A list length of {n!r} was asked for; it must be a whole number, 0 or more.")
        return self._coefficients(length)

    def _coefficients(self, n: int) -> Floats:
        raise NotImplementedError

    def _presentation(self, gains: Floats) -> tuple[float, float]:
        """Offset and scale of :func:`presentation`."""
        return 0.0, 1.0

    @property
    def name(self) -> str:
        """The form :func:`parse` reads, such as ``"dcg@10"``."""
        given = [getattr(self, field.name) for field in fields(self)]  # type: ignore[arg-type]
        return self.stem + "".join(f"@{_plain(value)}" for value in given if value is not None)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        given = [(f.name, getattr(self, f.name)) for f in fields(self)]  # type: ignore[arg-type]
        inside = ", ".join(f"{name}={value!r}" for name, value in given if value is not None)
        return f"{type(self).__name__}({inside})"

    def __sklearn_clone__(self) -> RankStatistic:
        return self


def _plain(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _cut_off(stem: str, at: Any) -> int:
    try:
        number = operator.index(at)
    except TypeError:
        number = 0
    if number < 1 or isinstance(at, bool):
        raise InputError(f"The cut-off of {stem} is {at!r}; it must be a whole number of places, at least 1.")
    return number


def _discounts(n: int, at: int | None) -> Floats:
    """``1/log2(position + 1)`` of the top ``at`` places, 0 below, bottom of the list first."""
    top = n if at is None else min(at, n)
    # math.log2, not np.log2: numpy picks a vector routine by processor, so the last bit would depend on the
    # machine and a certificate made on one could not be repeated on another.
    a = np.zeros(n)
    a[n - top :] = [1.0 / math.log2(position + 1) for position in range(top, 0, -1)]
    return a


@dataclass(frozen=True, repr=False)
class AUC(RankStatistic):
    """Wilcoxon rank sum, ``a_l = l`` [RudinWang2018, sec. 2.2].

    Presented as the fraction of pairs in the right order; with grades a pair counts by the difference of its
    two gains.
    """

    stem: ClassVar[str] = "auc"
    normalised: ClassVar[bool] = True

    def _coefficients(self, n: int) -> Floats:
        return np.arange(1.0, n + 1)

    def _presentation(self, gains: Floats) -> tuple[float, float]:
        levels, counts = np.unique(gains, return_counts=True)
        positive = levels > 0
        at_least = np.cumsum(counts[::-1])[::-1][positive].astype(np.float64)
        steps = np.diff(levels[positive], prepend=0.0)
        inside = float(np.dot(steps, at_least * (at_least + 1) / 2))
        return inside, float(np.dot(steps, at_least * (gains.size - at_least)))


@dataclass(frozen=True, repr=False)
class PartialAUC(RankStatistic):
    """Rank sum over the top ``at`` places, ``a_l = l`` for ``l > n - at`` [ClemenconVayatis2007]."""

    at: int
    stem: ClassVar[str] = "pauc"

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", _cut_off(self.stem, self.at))

    def _coefficients(self, n: int) -> Floats:
        ranks = np.arange(1.0, n + 1)
        return np.where(ranks > n - self.at, ranks, 0.0)


@dataclass(frozen=True, repr=False)
class WinnerTakesAll(RankStatistic):
    """1 when the top item is relevant, ``a_l = [l = n]`` [Burges2006; RudinWang2018, sec. 2.2]."""

    stem: ClassVar[str] = "wta"

    def _coefficients(self, n: int) -> Floats:
        return Precision(at=1)._coefficients(n)


@dataclass(frozen=True, repr=False)
class Precision(RankStatistic):
    """Hits in the top ``at`` places, a count: ``a_l = [l > n - at]`` [ClemenconVayatis2007]."""

    at: int
    stem: ClassVar[str] = "precision"

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", _cut_off(self.stem, self.at))

    def _coefficients(self, n: int) -> Floats:
        return (np.arange(1, n + 1) > n - self.at).astype(np.float64)


@dataclass(frozen=True, repr=False)
class MRR(RankStatistic):
    """1/position summed over all relevant items, ``a_l = 1/(n - l + 1)`` [RudinWang2018, sec. 2.2].

    Not the reciprocal rank of the first hit, which depends on more than one item's rank: that is
    :func:`rerank.ranks.measures.reciprocal_rank`.
    """

    stem: ClassVar[str] = "mrr"

    def _coefficients(self, n: int) -> Floats:
        return 1.0 / np.arange(n, 0, -1.0)


@dataclass(frozen=True, repr=False)
class DCG(RankStatistic):
    """Discounted cumulative gain, ``a_l = 1/log2(n - l + 2)``, of the top ``at`` places or of all.

    Source: [JarvelinKekalainen2002], with the discount log2(1 + position) of [Burges2006].
    """

    at: int | None = None
    stem: ClassVar[str] = "dcg"

    def __post_init__(self) -> None:
        if self.at is not None:
            object.__setattr__(self, "at", _cut_off(self.stem, self.at))

    def _coefficients(self, n: int) -> Floats:
        return _discounts(n, self.at)


@dataclass(frozen=True, repr=False)
class NDCG(DCG):
    """DCG presented as a fraction of the list's ideal DCG [JarvelinKekalainen2002]."""

    stem: ClassVar[str] = "ndcg"
    normalised: ClassVar[bool] = True

    def _presentation(self, gains: Floats) -> tuple[float, float]:
        return 0.0, ideal(self, gains.size, gains)


@dataclass(frozen=True, repr=False)
class PNorm(RankStatistic):
    """``a_l = (l/n)^p``, after the p-norm push [Rudin2009]; divided by ``n^p`` so that no solver meets it."""

    p: float
    stem: ClassVar[str] = "pnorm"

    def __post_init__(self) -> None:
        try:
            power = float(self.p)
        except (TypeError, ValueError):
            power = math.nan
        if not 0 < power < math.inf:
            raise InputError(f"The power of pnorm is {self.p!r}; it must be a positive number.")
        object.__setattr__(self, "p", power)

    def _coefficients(self, n: int) -> Floats:
        return (np.arange(1.0, n + 1) / max(n, 1)) ** self.p


@dataclass(frozen=True, repr=False)
class Custom(RankStatistic):
    """Any non-decreasing, non-negative sequence [RudinWang2018, eq. 1].

    Parameters
    ----------
    a : sequence of float, or callable
        ``a_1..a_n`` for lists of exactly n items, or a function ``a(l, n)`` of rank and length.

    Raises
    ------
    InputError
        Naming the first index at which the sequence falls, is negative, or is not finite.
    """

    a: tuple[float, ...] | Callable[[int, int], float]
    stem: ClassVar[str] = "custom"

    def __post_init__(self) -> None:
        if callable(self.a):
            return
        try:
            values = np.asarray(self.a, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("A custom statistic takes numbers a_1..a_n or a function of (l, n).") from None
        if values.ndim != 1 or values.size == 0:
            raise InputError(
                f"A custom statistic takes one row a_1..a_n; what was given has shape {values.shape}."
            )
        object.__setattr__(self, "a", tuple(_checked(values).tolist()))

    @property
    def name(self) -> str:
        """``"custom[a_1,...,a_n]"``, which :func:`parse` reads; of a function only its own name."""
        if callable(self.a):
            return f"custom({getattr(self.a, '__qualname__', repr(self.a))})"
        return "custom[" + ",".join(map(repr, self.a)) + "]"

    def _coefficients(self, n: int) -> Floats:
        if callable(self.a):
            return _checked(np.array([float(self.a(rank, n)) for rank in range(1, n + 1)]))
        if n != len(self.a):
            raise InputError(
                f"The custom statistic holds {len(self.a)} coefficients and the list has {n} items; "
                "give as many as there are items, or a function of (l, n)."
            )
        return np.array(self.a)


def _checked(a: Floats) -> Floats:
    """``a`` itself when it is finite, non-negative and non-decreasing."""
    for bad, what in ((~np.isfinite(a), "not finite"), (a < 0, "negative")):
        if bad.any():
            k = int(np.argmax(bad))
            raise InputError(f"Coefficient a_{k + 1} (index {k}) is {a[k]}, {what}; give numbers >= 0.")
    falls = np.flatnonzero(np.diff(a) < 0)
    if falls.size:
        k = int(falls[0]) + 1
        raise InputError(
            f"Coefficient a_{k + 1} (index {k}) is {a[k]}, below a_{k} = {a[k - 1]}; "
            "coefficients must not decrease from the bottom of the list to the top."
        )
    return a


def presentation(statistic: RankStatistic, n: int, gains: ArrayLike) -> tuple[float, float]:
    """Offset and scale between the raw sum and the number people quote: ``(raw - offset) / scale``.

    ``raw = sum_t (g_(t) - g_(t-1)) * V_t`` over the list's distinct positive gains, with ``V_t`` the sum of
    ``a`` over the items of gain at least ``g_(t)``.  AUC: the offset is what the pairs inside the relevant
    items add, the scale the (gain-weighted) number of pairs.  nDCG: the scale is the ideal DCG.  All others:
    0 and 1.

    Parameters
    ----------
    statistic : RankStatistic
    n : int
        Items in the list.
    gains : array (n,)
        Non-negative gains of the items.

    Returns
    -------
    offset, scale : float
        A scale of 0 means that the list has nothing to order (AUC without a pair, nDCG without a gain).
    """
    worth = np.asarray(gains, dtype=np.float64)
    if worth.shape != (n,):
        raise InputError(f"The list has {n} items and gains of shape {worth.shape}; give one gain per item.")
    return statistic._presentation(worth)


def ideal(statistic: RankStatistic, n: int, gains: ArrayLike) -> float:
    """Raw value of the list in its best order, the larger gain always on top."""
    worth = np.sort(np.asarray(gains, dtype=np.float64))
    return math.fsum(statistic.coefficients(n) * worth)
