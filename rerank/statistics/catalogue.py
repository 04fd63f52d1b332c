"""The statistics that have a name.

Each is the sequence ``a_1 <= ... <= a_n`` that a relevant item earns at rank ``l``. Those with :meth:`hit_weights`
multiply what the j-th relevant item from the top earns by ``h_j >= 0``: the weights do not depend on the ranking, so
no relevant row that moves up lowers the value. Those that are ``alone`` pay a relevant item by its place among the
other items, which no relevant one changes.
"""

import math
import re
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from rerank.errors import InputError
from rerank.io.options import real, whole
from rerank.statistics.base import PLACES, Counts, Floats, Number, RankStatistic, sorted_by_list


def top(n: int, at: int) -> Floats:
    """1 for each of the first ``at`` places of ``n``, which stand last; 0 for the others."""
    return (np.arange(1, n + 1) > n - at).astype(np.float64)


def _dots(first: Floats, second: Floats, sizes: Counts) -> Floats:
    """Sum of the products in each list; the numbers stand list by list."""
    begins, found = np.cumsum(sizes) - sizes, np.zeros(sizes.size)
    found[sizes == 1] = (first * second)[begins[sizes == 1]]
    for q in np.flatnonzero(sizes > 1).tolist():
        found[q] = np.dot(*(side[begins[q] : begins[q] + sizes[q]] for side in (first, second)))
    return found


@dataclass(frozen=True, repr=False)
class AtDepth(RankStatistic):
    """A statistic of the first ``at`` places; of all, where the number may be missing and is None."""

    at: int | None
    number: ClassVar[Number | None] = PLACES

    def __post_init__(self) -> None:
        if self.at is not None or not (self.number and self.number.optional):
            object.__setattr__(self, "at", whole(f"The cut-off of {self.stem}", self.at))

    def _places(self, n: int) -> int:
        """How many of ``n`` places count."""
        return n if self.at is None else min(self.at, n)


@dataclass(frozen=True, repr=False)
class AUC(RankStatistic):
    """Wilcoxon rank sum, ``a_l = l`` [RudinWang2018, sec. 2.2].

    Presented as the fraction of pairs in the right order; with grades a pair counts by the difference of its
    two gains.
    """

    stem = "auc"
    aliases: ClassVar[tuple[str, ...]] = ("wrs", "rocauc")
    normalised = True
    counts_pairs = True

    def _coefficients(self, n: int) -> Floats:
        return np.arange(1.0, n + 1)

    def _presentations(self, gains: Floats, sizes: Counts) -> tuple[Floats, Floats]:
        """A gain counts by its step over the next smaller one of its list."""
        ascending, number = sorted_by_list(gains, sizes), np.repeat(np.arange(sizes.size), sizes)
        differs = (np.diff(ascending, prepend=0.0) != 0) | (np.diff(number, prepend=0) != 0)
        at = np.flatnonzero((ascending > 0) & differs)
        own = number[at]
        steps = ascending[at] - np.where(np.diff(own, prepend=-1) == 0, np.append(0.0, ascending[at])[:-1], 0.0)
        at_least = (np.cumsum(sizes)[own] - at).astype(np.float64)
        levels = np.bincount(own, minlength=sizes.size)
        inside = _dots(steps, at_least * (at_least + 1) / 2, levels)
        return inside, _dots(steps, at_least * (sizes[own] - at_least), levels)


@dataclass(frozen=True, repr=False)
class Pairs(AUC):
    """Share of the pairs of rows with different labels that are in the right order: 1 less [TreeRSVM, eq. 1].

    Labels are 0/1, grades or real utilities, and every pair counts once: of two labels it is the AUC, whose
    coefficients it has there; of utilities without equal ones (1 + Kendall's tau) / 2.
    """

    stem = "pairs"
    aliases = ("concordance",)
    by_order = True


@dataclass(frozen=True, repr=False)
class PartialAUC(AtDepth):
    """Rank sum over the top ``at`` places, ``a_l = l`` for ``l > n - at`` [ClemenconVayatis2007]."""

    at: int
    stem = "pauc"
    aliases = ("partialauc",)

    def _coefficients(self, n: int) -> Floats:
        return np.arange(1.0, n + 1) * top(n, self.at)


@dataclass(frozen=True, repr=False)
class WinnerTakesAll(RankStatistic):
    """1 when the top item is relevant, ``a_l = [l = n]`` [Burges2006; RudinWang2018, sec. 2.2]."""

    stem = "wta"
    aliases: ClassVar[tuple[str, ...]] = ("winnertakesall",)

    def _coefficients(self, n: int) -> Floats:
        return top(n, 1)


@dataclass(frozen=True, repr=False)
class Precision(AtDepth):
    """Hits in the top ``at`` places, a count: ``a_l = [l > n - at]`` [ClemenconVayatis2007]."""

    at: int
    stem = "precision"
    aliases: ClassVar[tuple[str, ...]] = ("p", "prec")

    def _coefficients(self, n: int) -> Floats:
        return top(n, self.at)


@dataclass(frozen=True, repr=False)
class Recall(Precision):
    """Share of the relevant items that stand in the top ``at`` places, those that were not retrieved included."""

    stem = "recall"
    aliases = ("r",)
    binary = True
    per_relevant = True


@dataclass(frozen=True, repr=False)
class Window(AtDepth):
    """The mean of precision at depths around ``at``: place p earns ``clip((c at - p) / (c at - at / c), 0, 1)``.

    That is 1 down to place ``at / c`` and 0 from place ``c at`` on; ``c = 1`` is precision. Its name is ``window2@N``
    for ``c = 2``.
    """

    at: int
    c: float = 2.0
    stem = "window2"
    aliases = ("window",)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "c", real("The width c of a window", self.c, 1.0, 2.0**53))
        whole("The depth of a window", self.at, 1, 2**53)

    def _coefficients(self, n: int) -> Floats:
        if self.c == 1.0:
            return top(n, self.at)
        first, last = self.at / self.c, self.c * self.at
        return np.clip((last - np.arange(n, 0, -1.0)) / (last - first), 0.0, 1.0)

    @property
    def depth(self) -> int:
        """Places from the top that count."""
        return self.at if self.c == 1.0 else math.ceil(self.c * self.at) - 1

    @property
    def name(self) -> str:
        """The form that :func:`rerank.statistics.parse` reads."""
        return f"window{self.c:g}@{self.at}"

    @classmethod
    def read(cls, stem: str, argument: str) -> Self:
        """The window of a name's two parts; InputError for other texts than a width and a number of places."""
        match = re.match(r"window(\d+(?:\.\d+)?)?$", stem)
        if match is None or not argument.isdigit():
            raise InputError(f"'{stem}@{argument}' is no window; write a width and a depth, such as 'window2@100'.")
        return cls(int(argument), float(match[1] or 2.0))


@dataclass(frozen=True, repr=False)
class MRR(RankStatistic):
    """1/position summed over all relevant items, ``a_l = 1/(n - l + 1)`` [RudinWang2018, sec. 2.2].

    The reciprocal rank of the first hit is :class:`ReciprocalRank`.
    """

    stem = "mrr"
    remark = (
        "mrr is the paper's sum of 1/position over all relevant items; the field's MRR, of the first one, is rr, and "
        "MRR@10 is rr@10."
    )

    def _coefficients(self, n: int) -> Floats:
        return 1.0 / np.arange(n, 0, -1.0)


@dataclass(frozen=True, repr=False)
class DCG(AtDepth):
    """Discounted cumulative gain, ``a_l = 1/log2(n - l + 2)``, of the top ``at`` places or of all.

    Source: [JarvelinKekalainen2002], with the discount log2(1 + position) of [Burges2006].
    """

    at: int | None = None
    stem = "dcg"
    number = replace(PLACES, optional=True)

    def _coefficients(self, n: int) -> Floats:
        # math.log2, not np.log2: numpy picks a vector routine by processor, so the last bit would depend on the
        # machine and a certificate made on one could not be repeated on another.
        earned = [1.0 / math.log2(place + 1) for place in range(self._places(n), 0, -1)]
        return np.concatenate([np.zeros(n - len(earned)), earned])


@dataclass(frozen=True, repr=False)
class NDCG(DCG):
    """DCG presented as a fraction of the list's ideal DCG [JarvelinKekalainen2002]."""

    stem = "ndcg"
    normalised = True


@dataclass(frozen=True, repr=False)
class PNorm(RankStatistic):
    """``a_l = (l/n)^p``, after the p-norm push [Rudin2009]; divided by ``n^p`` to keep the numbers small."""

    p: float
    stem = "pnorm"
    number = Number("P", "a power", float, "4")

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", real("The power of pnorm", self.p, 0.0, positive=True))

    def _coefficients(self, n: int) -> Floats:
        return (np.arange(1.0, n + 1) / max(n, 1)) ** self.p


@dataclass(frozen=True, repr=False)
class RBP(RankStatistic):
    """Rank-biased precision, place j earns ``(1 - p) p^(j-1)`` [MoffatZobel2008].

    The reader goes from each place to the next with probability ``p``; the value is the mean number of relevant rows
    that the reader sees, over the mean number of rows.
    """

    p: float
    stem = "rbp"
    number = Number("P", "a probability", float, "0.8")
    binary = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", real("The persistence of rbp", self.p, 0.0, 1.0, positive=True))

    def _coefficients(self, n: int) -> Floats:
        # Where p is within rounding of 1, two powers may round to the wrong order.
        return np.maximum.accumulate((1.0 - self.p) * self.p ** np.arange(n - 1, -1, -1.0))


@dataclass(frozen=True, repr=False)
class ReciprocalRank(AtDepth):
    """1/place of the first relevant row; ``mrr`` is the sum over all of them [RudinWang2018, sec. 2.2].

    With ``at`` 0 below the top ``at`` places, as in the MRR@10 of MS MARCO.
    """

    at: int | None = None
    stem = "rr"
    aliases: ClassVar[tuple[str, ...]] = ("reciprocalrank", "reciprank", "meanreciprocalrank")
    number = replace(PLACES, optional=True)
    binary = True

    def _coefficients(self, n: int) -> Floats:
        return MRR()._coefficients(n) * top(n, self._places(n))

    def hit_weights(self, n: int) -> Counts:
        """``1, 0, 0, ...``."""
        return (np.arange(n) == 0).astype(np.int64)

    def mean_hit_weights(self, above: int, hits: int, size: int) -> Floats:
        """The chance that no row above a relevant one is relevant."""
        if above:
            return np.zeros(size)
        others = np.arange(size - 1, 0, -1)
        return np.concatenate([[1.0], np.cumprod(np.maximum(others - (hits - 1), 0) / others)])


@dataclass(frozen=True, repr=False)
class AveragePrecision(ReciprocalRank):
    """Mean over all relevant rows of the precision at their place, ``j / place_j`` [BuckleyVoorhees2000].

    Relevant rows that were not retrieved, or stand below the top ``at`` places, count with a precision of 0, as in the
    ``map_cut`` of trec_eval.
    """

    stem = "ap"
    aliases = ("map", "averageprecision")
    per_relevant = True

    def hit_weights(self, n: int) -> Counts:
        """``1..n``."""
        return np.arange(1, n + 1)

    def mean_hit_weights(self, above: int, hits: int, size: int) -> Floats:
        """Linear, so the weight of the mean number of relevant rows above."""
        return np.arange(size, dtype=np.float64) * ((hits - 1) / max(size - 1, 1)) + (above + 1)


@dataclass(frozen=True, repr=False)
class Success(ReciprocalRank):
    """1 when a relevant row stands in the top ``at`` places, else 0."""

    at: int
    stem = "success"
    aliases = ("hitrate", "hit", "hits", "hr")
    number = PLACES

    def _coefficients(self, n: int) -> Floats:
        return top(n, self.at)


@dataclass(frozen=True, repr=False)
class PosAtTop(WinnerTakesAll):
    """Share of the relevant rows that stand above every other row [LiJinZhou2014, sec. 5]."""

    stem = "pos@top"
    aliases: ClassVar[tuple[str, ...]] = ("postop", "posattop")
    binary = True
    per_relevant = True
    alone = True


# In the order in which a user sees them listed. A new statistic gets its name here.
__all__ = ["AUC", "Pairs", "PartialAUC", "WinnerTakesAll", "Precision", "Window", "MRR", "DCG", "NDCG", "PNorm"]
__all__ += ["Recall", "RBP", "AveragePrecision", "ReciprocalRank", "Success", "PosAtTop"]
NAMED: tuple[type[RankStatistic], ...] = tuple(globals()[name] for name in __all__)
