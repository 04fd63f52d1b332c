"""What orders of the training lists make of quotas: counted over all rows of a list, tied rows against the quota."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Quota

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def counts(quota: Quota, lists: Sequence[Indices], scores: Floats) -> list[int]:
    """Rows of the group among the first of each list, in the order that is worst for the quota."""
    found = []
    for rows in lists:
        member = np.isin(rows, quota.rows)
        last = member if quota.least is not None else ~member  # of equal scores
        found.append(int(member[np.lexsort((last, -scores[rows]))[: quota.first]].sum()))
    return found


def worst(quota: Quota, lists: Sequence[Indices], scores: Floats) -> int:
    """The count of the list that is worst for the quota."""
    found = counts(quota, lists, scores)
    return min(found) if quota.least is not None else max(found)


def broken(quotas: Sequence[Quota], lists: Sequence[Indices], scores: Floats) -> Quota | None:
    """The first quota that an order does not meet; None if it meets all."""
    for quota in quotas:
        count = worst(quota, lists, scores)
        if count < (quota.least or 0) or (quota.most is not None and count > quota.most):
            return quota
    return None


def in_words(quotas: Sequence[Quota], lists: Sequence[Indices], scores: Floats) -> list[str]:
    """What an order makes of each quota, as sentences."""
    where = "" if len(lists) == 1 else " in the list where that is closest"
    return [f"Quota '{quota}': there are {worst(quota, lists, scores)}{where}." for quota in quotas]
