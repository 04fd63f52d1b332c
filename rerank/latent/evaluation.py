"""The best items of many users, and how good they are.

All measures use the first ``k`` recommended items; ``h_l`` is 1 if the l-th is one of the ``r`` held-out items of the
user, else 0.

=========  =======================================================================
precision  ``sum_l h_l / k``
recall     ``sum_l h_l / r``
ndcg       ``sum_l h_l / log2(l + 1)``, divided by its value for ``min(k, r)`` hits on top
mrr        ``1 / l`` of the first hit, 0 without one
=========  =======================================================================
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.errors.kernels import kept
from rerank.io.options import whole
from rerank.latent.log import Log, log_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scores = Callable[[Ints], Any]

CHUNK = 2**19  # scores held at a time, so that they stay in the cache
USERS = 32  # at least so many at a time: a matrix product reads all item vectors once for all of them
_LANES = 64  # scores that are compared together


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Measures of each user with held-out items, so that models can be compared by user: float64 (n,)."""

    users: Ints  # (n,): those with at least one held-out item
    k: int
    precision: Floats
    recall: Floats
    ndcg: Floats
    mrr: Floats

    def means(self) -> dict[str, float]:
        """Mean of each measure over the users."""
        named = {"precision": self.precision, "recall": self.recall, "ndcg": self.ndcg, "mrr": self.mrr}
        return {name: float(values.mean()) if values.size else float("nan") for name, values in named.items()}


def top_items(scores: Scores, users: Ints, k: int, n_items: int, seen: Log | None = None) -> tuple[Ints, Any]:
    """The ``k`` best items (n, k) of each user and their scores (n, k), best first; ties go to the lower index.
    ``scores`` takes users (b,) and gives scores (b, n_items), which may be overwritten. Items of ``seen`` are left out;
    where fewer than ``k`` are left, the row ends with items -1 and scores -inf.
    """
    k = whole("k", k, 1, n_items, f" (the catalogue has {n_items} items)")
    items = np.full((users.size, k), -1, dtype=np.int64)
    values = np.empty((users.size, k), dtype=np.float32)
    chunk = max(USERS, CHUNK // n_items)
    for low in range(0, users.size, chunk):
        some = users[low : low + chunk]
        S = np.ascontiguousarray(scores(some))
        S = S if S.dtype == np.float32 else S.astype(np.float64)
        if seen is not None:
            own = seen.of(some)
            S[np.repeat(np.arange(some.size), np.diff(own.indptr)), own.items] = -np.inf
        top = np.full((some.size, k), -np.inf, dtype=S.dtype)
        _best(S, items[low : low + chunk], top)
        values[low : low + chunk] = top
    return items, values


@kept()
def _best(S: Any, items: Any, values: Any) -> None:
    """The largest scores of each row of ``S`` (b, n), largest first; ties go to the lower index. ``items`` (b, k) and
    ``values`` (b, k) begin as -1 and -inf, and keep that after a row's last score above -inf. Most scores are below the
    k-th best so far, so ``_LANES`` of them are skipped together if none is above it.
    """
    n = S.shape[1]
    for i in range(S.shape[0]):
        row = S[i]
        for low in range(0, n, _LANES):
            high = min(low + _LANES, n)
            if _any_above(row, low, high, values[i, -1]):
                for j in range(low, high):
                    if row[j] > values[i, -1]:
                        _insert(row[j], j, items[i], values[i])


@kept()
def _any_above(row: Any, low: int, high: int, least: Any) -> Any:
    found = 0
    for j in range(low, high):
        found += row[j] > least
    return found > 0


@kept()
def _insert(score: Any, j: int, items: Any, values: Any) -> None:
    """Insert a score after those that are as large, and drop the last one."""
    at = values.size - 1
    while at > 0 and values[at - 1] < score:
        values[at] = values[at - 1]
        items[at] = items[at - 1]
        at -= 1
    values[at] = score
    items[at] = j


def evaluate(scores: Scores, held_out: Any, k: int = 10, seen: Any = None) -> Evaluation:
    """Measure recommendations against held-out items.

    Parameters
    ----------
    scores : function
        From users (b,) to a float array (b, n_items) that may be overwritten, such as
        ``LatentRoBiRank.score_items``.
    held_out : sparse matrix (n_users, n_items)
        The items that each user chose later.
    k : int, default 10
    seen : sparse matrix (n_users, n_items), optional
        Items not to be recommended again, as a rule the training log. It shares no record with ``held_out``.

    Raises
    ------
    InputError
        For logs of different shapes or with a record in both, for no record held out, for ``k`` larger than the
        catalogue, and for scores of another shape or that are NaN.
    """
    if not callable(scores):
        raise InputError(f"scores is a {type(scores).__name__}; give a function of users, such as score_items.")
    wanted = log_of(held_out, "held_out")
    known = None if seen is None else log_of(seen, "seen")
    if known is not None and (known.n_users, known.n_items) != (wanted.n_users, wanted.n_items):
        raise InputError(
            f"seen has shape {known.n_users, known.n_items} but held_out {wanted.n_users, wanted.n_items}; "
            "give two logs of the same users and items."
        )
    users = np.flatnonzero(np.diff(wanted.indptr))
    if not users.size:
        raise InputError("held_out has no record, so there is nothing to measure; give at least one.")
    if known is not None and (both := np.intersect1d(_keys(wanted), _keys(known), assume_unique=True)).size:
        user, item = divmod(int(both[0]), wanted.n_items)
        raise InputError(
            f"{both.size} records of held_out are in seen, too (item {item} of user {user} first), and what was seen "
            "is not recommended; set them to 0 in one of the two."
        )
    k = whole("k", k, 1, wanted.n_items, f" (the catalogue has {wanted.n_items} items)")

    def checked(some: Ints) -> Any:
        found = scores(some)
        try:
            S = np.asarray(found)
        except ValueError:  # rows of different lengths
            S = np.asarray(None)
        if S.dtype.kind not in "fiub":
            raise InputError(f"The scores of {some.size} users are no table of real numbers; give one.")
        if S.shape != (some.size, wanted.n_items):
            raise InputError(
                f"The scores of {some.size} users have shape {S.shape}; a row for each and a column for each of the "
                f"{wanted.n_items} items are needed."
            )
        if np.isnan(S.min()):  # the least number is NaN if any is
            row, item = (int(at) for at in np.argwhere(np.isnan(S))[0])
            raise InputError(
                f"The score of item {item} for user {some[row]} is NaN; give a number, or -inf to leave it out."
            )
        return S

    items, _ = top_items(checked, users, k, wanted.n_items, known)
    return _measures(users, items, wanted.of(users), k)


def _keys(log: Log) -> Ints:
    """One number for each pair of user and item, ascending."""
    return np.repeat(np.arange(log.n_users), np.diff(log.indptr)) * log.n_items + log.items


def _measures(users: Ints, items: Ints, wanted: Log, k: int) -> Evaluation:
    sizes = np.diff(wanted.indptr)
    keys = _keys(wanted)  # ascending on both sides, so that a hit is found by bisection
    asked = np.arange(users.size)[:, None] * wanted.n_items + items
    at = np.minimum(np.searchsorted(keys, asked), max(keys.size - 1, 0))
    hits = (keys[at] == asked) & (items >= 0) if keys.size else np.zeros(items.shape, dtype=bool)
    count = hits.sum(axis=1)
    discounts = 1.0 / np.log2(np.arange(2, k + 2))
    ideal = np.cumsum(discounts)[np.minimum(sizes, k) - 1]
    first = np.where(count > 0, hits.argmax(axis=1) + 1, 1)
    return Evaluation(users, k, count / k, count / sizes, hits @ discounts / ideal, (count > 0) / first)
