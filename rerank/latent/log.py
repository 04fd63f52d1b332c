"""Logs of users and items: what is accepted, in which form it is kept, and how a part is held out."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.options import generator
from rerank.latent.intake import chosen

Ints = NDArray[np.int64]

CHUNK = 2**18  # records that are dealt out together


@dataclass(frozen=True, eq=False)
class Log:
    """Which items each user chose; counts are not kept, as in [YunRamanVishwanathan2014, sec. 4.2].

    Attributes
    ----------
    indptr : int64 (n_users + 1,)
        The items of user x are ``items[indptr[x] : indptr[x + 1]]``.
    items : int32 (n_records,)
        Ascending within a user, none twice.
    n_items : int
    """

    indptr: Ints
    items: NDArray[np.int32]
    n_items: int

    @property
    def n_users(self) -> int:
        """Rows of the log."""
        return self.indptr.size - 1

    @property
    def n_records(self) -> int:
        """Pairs of user and item."""
        return self.items.size

    def of(self, users: Ints) -> Log:
        """The rows of some users, in the order given."""
        indptr = np.zeros(users.size + 1, dtype=np.int64)
        np.cumsum(self.indptr[users + 1] - self.indptr[users], out=indptr[1:])
        items = np.empty(indptr[-1], dtype=np.int32)
        _copy_rows(self.indptr, self.items, users, items)
        return Log(indptr, items, self.n_items)

    def matrix(self) -> Any:
        """The log as a CSR matrix of ones (n_users, n_items)."""
        ones = np.ones(self.n_records, dtype=np.float32)
        return sp.csr_matrix((ones, self.items, self.indptr), shape=(self.n_users, self.n_items))


@njit(cache=True, nogil=True)
def _copy_rows(indptr: Any, items: Any, users: Any, out: Any) -> None:
    """Rows one behind the other, without arrays of their length in between."""
    to = 0
    for x in users:
        for r in range(indptr[x], indptr[x + 1]):
            out[to] = items[r]
            to += 1


def log_of(log: Any, name: str = "log") -> Log:
    """Check a users x items matrix.

    Parameters
    ----------
    log : sparse matrix or array (n_users, n_items)
        Counts or ones, >= 0; stored zeros mean nothing, and entries of one cell are not added up. Never made dense,
        and not changed; a CSR matrix with int32 indices in order, without repetitions and zeros, lends its arrays
        and is not copied.

    Raises
    ------
    InputError
        For another shape, numbers that are not real, counts that are negative, infinite or NaN, indices out of range,
        or 2^31 items or more.
    """
    if isinstance(log, Log):
        return log
    return Log(*chosen(log, name), int(np.shape(log)[1]))


def some_users(log: Log, n: int, seed: int) -> Log:
    """The log with the records of ``n`` users, drawn from those who have any, and nobody else's; itself if it has no
    more.
    """
    sizes = np.diff(log.indptr)
    users = np.flatnonzero(sizes)
    if users.size <= n:
        return log
    kept = np.zeros(log.n_users, dtype=bool)
    kept[np.random.default_rng(seed).choice(users, n, replace=False)] = True
    indptr = np.concatenate([[0], np.cumsum(np.where(kept, sizes, 0))])
    return Log(indptr, log.items[np.repeat(kept, sizes)], log.n_items)


def split_log(log: Any, fractions: tuple[float, ...], random_state: Any = None) -> tuple[Any, ...]:
    """Cut a log at random into parts, the same shares of the records of every user.

    Parameters
    ----------
    log : sparse matrix (n_users, n_items)
    fractions : tuple of float
        Share of each part but the last, which takes the rest; rounded to whole records for each user, in order.
    random_state : int or None

    Returns
    -------
    tuple of CSR matrices (n_users, n_items)
        One more than ``fractions``.
    """
    return tuple(part.matrix() for part in cut(log_of(log), fractions, random_state))


def cut(log: Log, fractions: tuple[float, ...], random_state: Any = None) -> list[Log]:
    """Parts of a log as :func:`split_log` makes them; of its length are only they, and a byte or two a record."""
    if not fractions or min(fractions) < 0 or not sum(fractions) <= 1:
        raise InputError(f"fractions is {fractions!r}; give shares >= 0 that sum to 1 at most.")
    rng = generator(random_state)
    sizes = np.diff(log.indptr)
    ends = np.rint(np.outer(np.cumsum(fractions), sizes)).astype(np.int64)
    part = np.empty(log.n_records, dtype=np.min_scalar_type(len(fractions)))
    # Some users at a time: a stream of random numbers is the same in pieces.
    users = np.unique(np.searchsorted(log.indptr, np.arange(0, log.n_records + CHUNK, CHUNK)))
    for low, high in itertools.pairwise(np.minimum(users, log.n_users)):
        some = slice(log.indptr[low], log.indptr[high])
        user = np.repeat(np.arange(low, high), sizes[low:high])
        order = np.lexsort((rng.random(user.size), user))
        place = np.empty(user.size, dtype=np.int64)
        place[order] = np.arange(some.start, some.stop)
        place -= log.indptr[user]
        part[some] = (place >= ends[:, user]).sum(axis=0)
    counts = np.diff(ends, axis=0, prepend=0, append=sizes[None])
    return [
        Log(np.concatenate([[0], np.cumsum(n)]), log.items[part == k], log.n_items)
        for k, n in enumerate(counts)
    ]
