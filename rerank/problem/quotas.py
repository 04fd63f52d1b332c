"""Quotas: at least, or at most, so many rows of a group among the first of every list.

Places are those of the score itself: no margin, all rows of the list whatever their gains, and ties against the quota.
Where at least ``q`` are asked for, other rows of the same score stand above the group's; where at most ``q``, below.
So a quota says of two rows that the one has a strictly larger score: with the group ``G`` and the other rows ``C`` of
a list, at least ``q`` of ``G`` are among the first ``N`` if and only if the q-th largest score of ``G`` exceeds the
(N - q + 1)-th largest of ``C``.  At most ``q`` of ``G`` means at least ``N - q`` of ``C``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import ceil, floor

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InfeasibleError, InputError, nearest
from rerank.io.rules import quota_in
from rerank.problem.lists import Floats, Indices, RankedList
from rerank.ranks.positions import BINARY_PLACES

APART = 2.0 ** (1 - BINARY_PLACES)
"""Scores so far apart are not equal when they are rounded for a ranking; a point that meets a quota does so by more."""


@dataclass(frozen=True, eq=False)
class Quota:
    """A quota on every list of a problem.

    Attributes
    ----------
    name : str
        The group.
    first : int
        Places that are looked at; a list of fewer rows is looked at as a whole.
    least, most : int or None
        Rows of the group among them, at least and at most.
    rows : intp array
        Rows of the group, ascending; those of ``Problem.X``.
    """

    name: str
    first: int
    least: int | None = None
    most: int | None = None
    rows: Indices = field(default_factory=lambda: np.empty(0, np.intp))

    @classmethod
    def read(cls, text: str) -> Quota:
        """The quota of a text such as ``"at least 20 of A among the first 200"``, without rows; else InputError."""
        written = quota_in(text)
        if written is None:
            raise InputError(
                f"The quota {str(text)[:100]!r} cannot be read; write one such as 'at least 20 of A among the first "
                "200' or 'at most 5 of B among the first 100'."
            )
        return cls(*written)

    def __str__(self) -> str:
        ends = ((word, count) for word, count in (("least", self.least), ("most", self.most)) if count is not None)
        counts = " and ".join(f"at {word} {count}" for word, count in ends)
        return f"{counts} of {self.name} among the first {self.first}"

    def of(self, rows: Indices) -> Quota:
        """The quota on these rows."""
        return replace(self, rows=np.unique(np.asarray(rows, dtype=np.intp)))


@dataclass(frozen=True, eq=False)
class Demand:
    """What a quota asks of one list: the ``wanted``-th best of ``ahead`` above the ``rival``-th of ``others``."""

    quota: Quota
    list_index: int
    ahead: Indices  # rows of the list that are to stand ahead,
    others: Indices  # and all others of it
    wanted: int  # from 1 on, and no more than there are rows of each
    rival: int


def demands(quotas: Sequence[Quota], lists: Sequence[RankedList]) -> Iterator[Demand]:
    """What quotas ask of the lists, without what every order gives. InputError for what no order gives: see
    :func:`check_quotas`, which says it of several quotas together.
    """
    for quota, (number, item) in product(quotas, enumerate(lists)):
        member = np.isin(item.rows, quota.rows)
        places = min(quota.first, item.rows.size)
        sides = [(member, quota.least), (~member, None if quota.most is None else places - quota.most)]
        for own, wanted in sides:
            ahead, others = item.rows[own], item.rows[~own]
            rival = places - (wanted or 0) + 1
            if wanted is None or wanted <= 0 or rival > others.size:
                continue
            if wanted > min(ahead.size, places):
                raise InputError(_too_many(quota, item, int(member.sum())))
            yield Demand(quota, number, ahead, others, wanted, rival)


def met_by(scores: Floats, quotas: Sequence[Quota], lists: Sequence[RankedList]) -> bool:
    """Whether an order by scores of the problem's rows (n,), rounded as a ranking has them, meets the quotas."""
    return all(
        np.sort(scores[demand.ahead])[-demand.wanted] > np.sort(scores[demand.others])[-demand.rival]
        for demand in demands(quotas, lists)
    )


def check_quotas(quotas: Sequence[Quota], lists: Sequence[RankedList]) -> None:
    """Refuse quotas that no order of a list meets, counting alone; groups of different names share no row."""
    longest = max(item.rows.size for item in lists)
    for quota in quotas:
        if quota.first > longest:
            raise InputError(
                f"The quota '{quota}' looks at {quota.first} places, and the longest list that is ordered has "
                f"{longest}; ask for the first {longest} or fewer."
            )
    for _ in demands(quotas, lists):
        pass
    for item in lists:
        _check_together(quotas, item)


def _too_many(quota: Quota, item: RankedList, held: int) -> str:
    """Why a list cannot meet a quota, as a sentence."""
    size, places = item.rows.size, min(quota.first, item.rows.size)
    if quota.least is not None and quota.least > min(held, places):
        return (
            f"The quota '{quota}' cannot be met: a list of {size} rows has {held} of {quota.name}, {min(held, places)} "
            f"of them among {places} places at most; ask for {min(held, places)} or fewer."
        )
    fewest = places - (size - held)
    return (
        f"The quota '{quota}' cannot be met: a list of {size} rows has {size - held} others for {places} places; allow "
        f"{fewest} or more."
    )


def _check_together(quotas: Sequence[Quota], item: RankedList) -> None:
    """Refuse quotas that clash with each other on a list."""
    size = item.rows.size
    for low, high in product(quotas, quotas):
        if low.name == high.name and low.least is not None and high.most is not None:
            # The first places of the one are among those of the other, or the others of them hold the rest.
            beyond = max(min(low.first, size) - min(high.first, size), 0)
            if low.least - beyond > high.most:
                raise InputError(f"The quotas '{low}' and '{high}' clash; lower the first, or raise the second.")
    for places in {min(quota.first, size) for quota in quotas}:
        need = {quota.name: quota for quota in _by(quotas, "least") if quota.first <= places}
        if sum(quota.least or 0 for quota in need.values()) > places:
            raise InputError(f"The quotas {_named(need)} ask for more than {places} rows; lower one of them.")
        cap = {quota.name: quota for quota in _by(quotas, "most")[::-1] if quota.first >= places}
        held = [np.isin(item.rows, quota.rows).sum() for quota in cap.values()]
        room = size - sum(max(int(n) - (quota.most or 0), 0) for n, quota in zip(held, cap.values()))
        if room < places:
            raise InputError(f"The quotas {_named(cap)} leave {room} rows for {places} places; raise one of them.")


def _by(quotas: Sequence[Quota], side: str) -> list[Quota]:
    """Those with a number on a side, the smallest first."""
    return sorted((q for q in quotas if getattr(q, side) is not None), key=lambda q: int(getattr(q, side)))


def _named(quotas: dict[str, Quota]) -> str:
    return " and ".join(f"'{quota}'" for quota in quotas.values())


def quotas_of(asked: object) -> tuple[Quota, ...]:
    """The quotas of an option: None, a text, one of several lines, or a sequence of texts."""
    if asked is None:
        return ()
    if isinstance(asked, str):
        return tuple(Quota.read(line) for line in asked.splitlines() if line.strip())
    if isinstance(asked, Sequence):
        return tuple(quota if isinstance(quota, Quota) else Quota.read(quota) for quota in asked)
    raise InputError(f"quota is {asked!r}; give texts such as 'at least 20 of A among the first 200'.")


def unmet(quotas: Sequence[Quota], proved: bool) -> InfeasibleError:
    """The error for a fit without weights that meet the quotas."""
    named = f"the quota{'s' if len(quotas) > 1 else ''} {' and '.join(map(repr, map(str, quotas)))}"
    if proved:
        return InfeasibleError(
            f"No weights meet {named}, which is proved, with tied rows counted against a quota; ask for less, or give "
            "more columns or a larger radius."
        )
    return InfeasibleError(
        f"No weights were found that meet {named}, which does not prove that there are none; raise time_limit, use "
        "solver='search', or ask for less."
    )


def scaled_quotas(quotas: Sequence[Quota], kinds: NDArray[np.generic], share: float) -> tuple[Quota, ...]:
    """Quotas for a part of a list: places and rows are a ``share`` of those asked for, rounded to what is easier. At
    least one row stays asked for, but never more than the part has; ``kinds`` are those of its rows.
    """
    found = []
    for quota in quotas:
        first, held = max(round(share * quota.first), 1), int(np.count_nonzero(kinds == quota.name))
        per = first / quota.first
        least = None if quota.least is None else min(max(floor(quota.least * per), 1), held, first)
        others = kinds.size - held
        most = None if quota.most is None else max(ceil(quota.most * per), min(first, kinds.size) - others)
        found.append(replace(quota, first=first, least=least if quota.least else quota.least, most=most))
    return tuple(found)


def groups_of(quotas: Sequence[Quota], kinds: ArrayLike | None) -> tuple[Quota, ...]:
    """The quotas on the rows of each kind (n,); InputError for a name that no row has, or where no kinds are given."""
    if not quotas:
        return ()
    if kinds is None:
        raise InputError(
            f"The quota '{quotas[0]}' counts rows of the kind {quotas[0].name!r}, and no kinds are given; pass people= "
            "(--people)."
        )
    names = np.asarray(kinds).astype(str)
    known = sorted(set(names.tolist()))
    for quota in quotas:
        if quota.name not in known:
            raise InputError(
                f"The quota '{quota}' names the kind {quota.name!r}, and the kinds of rows are "
                f"{', '.join(known[:10])}; did you mean {nearest(quota.name, known)!r}?"
            )
    return tuple(quota.of(np.flatnonzero(names == quota.name)) for quota in quotas)
