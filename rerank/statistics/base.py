"""The base of all rank statistics, and what a statistic says of the number in its name."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.io.arrays import plain_numbers
from rerank.io.options import whole

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Ties = Literal["pessimistic", "optimistic", "average"]
TIES: tuple[Ties, ...] = get_args(Ties)


@dataclass(frozen=True)
class Number:
    """The number that follows "@" in a name."""

    letter: str  # stands for the number in the list of known names
    kind: str  # what the number is, for the sentence that refuses another text
    read: Callable[[str], float]  # makes the number of its text, or raises ValueError
    example: str
    optional: bool = False  # whether the name may stand without a number


PLACES = Number("N", "a whole number", int, "10")


class RankStatistic:
    """Base of the rank statistics: frozen, printable, comparable, hashable.

    A subclass is a frozen dataclass (``repr=False``) with ``_coefficients`` and these class attributes. To
    have it read by :func:`rerank.statistics.parse`, add it to ``NAMED`` in ``rerank/statistics/catalogue.py``.

    Attributes
    ----------
    stem : str
        The name in text, before "@".
    aliases : tuple of str
        Other names, in lower case, without spaces, "-" and "_".
    number : Number or None
        What follows "@"; None when the statistic takes no number.
    normalised : bool
        Whether the value is presented as a fraction instead of the raw sum.
    counts_pairs : bool
        Whether the presented value is the share of pairs in the right order (AUC), so that programs that count
        pairs maximise it.
    binary : bool
        Whether a row is relevant or not: its gain is 1 where its label is above 0, whatever the grade.
    per_relevant : bool
        Whether the value is presented as a share of the relevant items of the list, each counted by its gain.
    by_order : bool
        Whether labels are any real numbers, of which only the order counts: each pair of rows with different labels
        once (pairs). The value then is no sum over places, but where there are two labels.
    by_share : bool
        Whether it counts a share of the places, so that the length of a list makes no difference.
    alone : bool
        Whether relevant rows take no places from each other: each has its place among the other rows, ``1 + lost``
        where it is ``j + lost`` otherwise.
    remark : str
        What to say to those who may take the name for another measure, where a list has several relevant items.
    """

    stem: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    number: ClassVar[Number | None] = None
    normalised: ClassVar[bool] = False
    counts_pairs: ClassVar[bool] = False
    binary: ClassVar[bool] = False
    per_relevant: ClassVar[bool] = False
    remark: ClassVar[str] = ""
    by_share: ClassVar[bool] = False
    by_order: ClassVar[bool] = False
    alone: ClassVar[bool] = False

    def coefficients(self, n: int) -> Floats:
        """``a_1..a_n`` as float64 (n,), non-decreasing and non-negative; ``a_n`` belongs to the top."""
        return self._coefficients(whole("The list length", n, 0))

    def _coefficients(self, n: int) -> Floats:
        raise NotImplementedError

    def hit_weights(self, n: int) -> Counts | None:
        """What the j-th relevant row from the top earns at its place is multiplied by this, (n,).

        Not negative, the first above 0. None where all are 1, as in every conditional linear rank statistic.
        """
        return None

    def mean_hit_weights(self, above: int, hits: int, size: int) -> Floats:
        """Mean of :meth:`hit_weights` for a relevant row at each place of a block of equal scores, (size,).

        The order of the block is random, ``hits`` of its rows are relevant, and so are ``above`` rows above it.
        """
        raise NotImplementedError

    @property
    def weighs_hits(self) -> bool:
        """Whether what a place pays depends on how many relevant rows stand above it."""
        return self.alone or self.hit_weights(0) is not None

    def _presentations(self, gains: Floats, sizes: Counts) -> tuple[Floats, Floats]:
        """Offsets and scales of :func:`presentations`."""
        none = np.zeros(sizes.size)
        if self.per_relevant:
            return none, sums(gains, sizes)
        return none, _ideals(self, gains, sizes) if self.normalised else none + 1.0

    @property
    def depth(self) -> int | None:
        """Places from the top that count; None where every place does."""
        return getattr(self, "at", None)

    @property
    def counts_places(self) -> bool:
        """Whether the statistic counts some number of places from the top, or a share of the list."""
        return self.by_share or self.depth is not None

    @property
    def ties(self) -> Ties:
        """How equal scores count where nothing else is asked for: as where the statistic is quoted.

        The share of pairs in the right order counts a tied pair as one half, like scikit-learn's ``roc_auc_score``.
        """
        return "average" if self.counts_pairs else "pessimistic"

    @property
    def length(self) -> int | None:
        """The only list length the statistic serves; None when it serves every length."""
        return None

    @property
    def name(self) -> str:
        """The form that :func:`rerank.statistics.parse` reads, such as ``"dcg@10"``."""
        return self.stem + "".join(f"@{_plain(value)}" for _, value in self._given())

    def _given(self) -> list[tuple[str, Any]]:
        """Names and values of the parameters that are not None."""
        pairs = [(each.name, getattr(self, each.name)) for each in fields(self)]  # type: ignore[arg-type]
        return [(name, value) for name, value in pairs if value is not None]

    def _shown_as(self, other: RankStatistic, *names: str) -> None:
        """Take class attributes of the statistic that this one is made of."""
        for name in names:
            object.__setattr__(self, name, getattr(other, name))

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self._given())
        return f"{type(self).__name__}({inside})"

    def __sklearn_clone__(self) -> RankStatistic:
        return self


def _plain(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def presentation(statistic: RankStatistic, n: int, gains: ArrayLike) -> tuple[float, float]:
    """Offset and scale between the raw sum and the number people quote: ``(raw - offset) / scale``.

    ``raw = sum_t (g_(t) - g_(t-1)) * V_t`` over the list's distinct positive gains, with ``V_t`` the sum of
    ``a`` over the items of gain at least ``g_(t)``.  AUC: the offset is what the pairs inside the relevant
    items add, the scale the (gain-weighted) number of pairs.  nDCG: the scale is the ideal DCG; AP and recall:
    the number of relevant items.  All others: 0 and 1.  The constant of a problem's list has the other sign: what the
    tail adds, minus this offset.

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
    offsets, scales = presentations(statistic, _checked(n, gains), np.array([n]))
    return float(offsets[0]), float(scales[0])


def presentations(statistic: RankStatistic, gains: Floats, sizes: Counts) -> tuple[Floats, Floats]:
    """:func:`presentation` of many lists at once, whose gains (n,) stand list by list."""
    return statistic._presentations(gains, sizes)


def ideal(statistic: RankStatistic, n: int, gains: ArrayLike) -> float:
    """Raw value of the list in its best order, the larger gain always on top."""
    return float(_ideals(statistic, _checked(n, gains), np.array([n]))[0])


def _ideals(statistic: RankStatistic, gains: Floats, sizes: Counts) -> Floats:
    """:func:`ideal` of many lists at once."""
    paid = by_size(statistic.coefficients, sizes)
    if statistic.alone:  # every relevant item is the first beside the others
        paid = np.repeat(paid[np.cumsum(sizes) - 1], sizes)
    paid = paid * sorted_by_list(gains, sizes)
    if statistic.hit_weights(0) is not None:
        paid = paid * by_size(lambda n: statistic.hit_weights(n)[::-1], sizes)  # type: ignore[index]
    return sums(paid, sizes)


def by_size(made: Callable[[int], NDArray[np.generic]], sizes: Counts) -> NDArray[Any]:
    """What is made for the size of each list, list by list; it is made once for each size."""
    of = {size: made(size) for size in np.unique(sizes).tolist()}
    return np.concatenate([np.empty(0), *map(of.__getitem__, sizes.tolist())]) if sizes.size != 1 else of[int(sizes[0])]


def sorted_by_list(values: Floats, sizes: Counts) -> Floats:
    """The values of each list in ascending order, list by list."""
    if sizes.size == 1:
        return np.sort(values)
    return values[np.lexsort((values, np.repeat(np.arange(sizes.size), sizes)))]


def sums(values: Floats, sizes: Counts) -> Floats:
    """Sum over each list, correctly rounded; the values stand list by list."""
    if sizes.size == 1:
        values = values[values != 0]
        sizes = np.array([values.size])
    ends, found = np.cumsum(sizes), np.zeros(sizes.size)
    with np.errstate(over="ignore"):
        for place in (0, 1):  # one addition is correctly rounded
            found[sizes > place] += values[(ends - sizes)[sizes > place] + place]
    longer = np.flatnonzero(sizes > 2)
    listed, places = values.tolist(), zip((ends - sizes)[longer].tolist(), ends[longer].tolist())
    try:
        found[longer] = [math.fsum(listed[begin:end]) for begin, end in places]
        if not np.isfinite(found).all():
            raise OverflowError
        return found
    except OverflowError:
        raise InputError("The gains are so large that their sum is no double; divide them all by a number.") from None


def _checked(n: int, gains: ArrayLike) -> Floats:
    found = plain_numbers(gains)
    if found.shape != (n,):
        raise InputError(f"The list has {n} items and gains of shape {found.shape}; give one gain per item.")
    if found.size and (found.dtype.kind not in "biuf" or not 0 <= found.min() <= found.max() < math.inf):
        raise InputError(f"The gains are {found.tolist()!r:.80}; they must be finite numbers, 0 or more.")
    return found.astype(np.float64)
