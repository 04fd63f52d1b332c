"""Logs of users and items: which matrices are accepted, how a log is stored, and how it is split into parts."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.errors.kernels import kept
from rerank.io.options import generator

Ints = NDArray[np.int64]

CHUNK = 2**18  # records that are split together
RECORDS = range(2, 5)  # columns of a table that has a row for each record: user, item, rating, time
_MOST_ITEMS = 2**31 - 1
# Formats whose ``data`` are the entries and nothing else. The other formats are converted to COO.
_PLAIN = ("coo", "csr", "csc")


@dataclass(frozen=True, eq=False)
class Log:
    """Which items each user chose; counts are not kept, as in [YunRamanVishwanathan2014, sec. 4.2]."""

    indptr: Ints  # (n_users + 1,): the items of user x are ``items[indptr[x] : indptr[x + 1]]``
    items: NDArray[np.int32]  # (n_records,): ascending within a user, none twice
    n_items: int

    @property
    def n_users(self) -> int:
        """Rows of the log."""
        return self.indptr.size - 1

    @property
    def n_records(self) -> int:
        """Pairs of user and item."""
        return self.items.size

    def of(self, users: Ints) -> "Log":
        """The log of some users, in the order given."""
        indptr = np.zeros(users.size + 1, dtype=np.int64)
        np.cumsum(self.indptr[users + 1] - self.indptr[users], out=indptr[1:])
        items = np.empty(indptr[-1], dtype=np.int32)
        _copy_rows(self.indptr, self.items, users, items)
        return Log(indptr, items, self.n_items)

    def matrix(self) -> Any:
        """The log as a CSR matrix of ones (n_users, n_items)."""
        ones = np.ones(self.n_records, dtype=np.float32)
        return sp.csr_matrix((ones, self.items, self.indptr), shape=(self.n_users, self.n_items))


@kept()
def _copy_rows(indptr: Any, items: Any, users: Any, out: Any) -> None:
    """Copy rows one after the other, without temporary arrays of their length."""
    to = 0
    for x in users:
        for r in range(indptr[x], indptr[x + 1]):
            out[to] = items[r]
            to += 1


def log_of(log: Any, name: str = "log") -> Log:
    """Check a users x items matrix or array (n_users, n_items) of counts or ones. Stored zeros mean nothing, and
    repeated entries of a cell are not added up. A dense array of 2 to 4 columns is refused if it holds whole numbers
    above 1, as rows of user, item and rating do. The log is not changed and never made dense. A CSR matrix with sorted
    int32 indices and without repetitions and zeros is not copied: the log shares its arrays.
    """
    if isinstance(log, Log):
        return log
    X = _matrix(log, name)
    _check_counts(X.data, name)
    try:
        X = _rows(X)
    except (ValueError, IndexError) as error:
        raise InputError(
            f"{name} is not a valid {log.format} matrix ({error}); build it anew from users and items."
        ) from None
    indptr = X.indptr.astype(np.int64, copy=False)
    items = X.indices
    if not X.data.all():
        kept = X.data != 0
        ends = np.concatenate([[0], np.cumsum(kept)])
        indptr, items = ends[indptr], items[kept]
    return Log(indptr, items.astype(np.int32, copy=False), int(np.shape(log)[1]))


def _matrix(given: Any, name: str) -> Any:
    """COO, CSR or CSC of real numbers."""
    X: Any = given if sp.issparse(given) else np.asarray(given)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(
            f"{name} is of type {X.dtype} with {X.ndim} axes; give a sparse matrix users x items of counts."
        )
    if X.shape[1] > _MOST_ITEMS:
        raise InputError(f"{name} has {X.shape[1]} items; at most {_MOST_ITEMS} are possible.")
    if not sp.issparse(X):
        _check_counts(X, name)
        _check_dense(X, name)
        return sp.csr_matrix(X != 0)
    return X if X.format in _PLAIN else X.tocoo()


def _check_counts(data: NDArray[Any], name: str) -> None:
    # The minimum and maximum of numbers with a NaN are NaN, which fails both comparisons.
    if data.size and not (data.min() >= 0 and data.max() < np.inf):
        bad = ~(np.isfinite(data) & (data >= 0))
        raise InputError(
            f"{name} holds {int(bad.sum())} counts that are negative, infinite or NaN; counts must be numbers >= 0."
        )


def _check_dense(X: NDArray[Any], name: str) -> None:
    """Refuse what may be a row for each record, such as user, item and rating, and not a row for each user."""
    if X.shape[1] in RECORDS and ((X > 1) & (X % 1 == 0)).any():
        raise InputError(
            f"{name} is an array of {X.shape[1]} columns with whole numbers up to {X.max():.12g}, which may be a row "
            "for each record (user, item, ...), and a log is users x items; give scipy.sparse.coo_matrix((ratings, "
            f"(users, items))), or if these are counts of {X.shape[1]} items, scipy.sparse.csr_matrix({name})."
        )


def _rows(X: Any) -> Any:
    """CSR in canonical format; repeated entries become booleans before they are added, as counts may overflow to 0."""
    if X.format == "coo":
        found = sp.coo_matrix((X.data != 0, (_signed(X.row), _signed(X.col))), shape=X.shape).tocsr()
    else:
        kind = sp.csr_matrix if X.format == "csr" else sp.csc_matrix
        plain = kind((X.data, _signed(X.indices), _signed(X.indptr)), shape=X.shape)
        plain.check_format(full_check=True)  # compiled loops rely on it, also those of SciPy
        if X.format == "csr" and plain.has_canonical_format:
            return plain
        there = (plain.data != 0, plain.indices, plain.indptr)
        found = kind(there, shape=X.shape, copy=True).tocsr()
    found.sum_duplicates()
    return found


def _signed(indices: NDArray[Any]) -> NDArray[Any]:
    """Indices of a type that SciPy accepts."""
    return indices if indices.dtype in (np.int32, np.int64) else indices.astype(np.int64)


def some_users(log: Log, n: int, seed: int) -> Log:
    """The log with the records of only ``n`` users, drawn from those with records; unchanged if there are no more."""
    sizes = np.diff(log.indptr)
    users = np.flatnonzero(sizes)
    if users.size <= n:
        return log
    kept = np.zeros(log.n_users, dtype=bool)
    kept[np.random.default_rng(seed).choice(users, n, replace=False)] = True
    indptr = np.concatenate([[0], np.cumsum(np.where(kept, sizes, 0))])
    return Log(indptr, log.items[np.repeat(kept, sizes)], log.n_items)


def split_log(log: Any, fractions: tuple[float, ...], random_state: Any = None) -> tuple[Any, ...]:
    """Split a log at random into parts, with the same shares of the records of every user.

    Parameters
    ----------
    log : sparse matrix (n_users, n_items)
        Rows of user, item and rating become one by ``scipy.sparse.coo_matrix((ratings, (users, items)))``.
    fractions : tuple of float
        Share of each part but the last, which has the rest. For each user the sums of the first shares are rounded to
        whole records.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    tuple of CSR matrices (n_users, n_items)
        One more than ``fractions``.

    Raises
    ------
    InputError
        For fractions that are negative or sum to more than 1, and as :func:`rerank.latent.log.log_of`.
    """
    return tuple(part.matrix() for part in cut(log_of(log), fractions, random_state))


def cut(log: Log, fractions: tuple[float, ...], random_state: Any = None) -> list[Log]:
    """Parts of a log as :func:`split_log` makes them. Besides the parts it needs one or two bytes a record."""
    if not fractions or min(fractions) < 0 or not sum(fractions) <= 1:
        raise InputError(f"fractions is {fractions!r}; give shares >= 0 that sum to 1 at most.")
    rng = generator(random_state)
    sizes = np.diff(log.indptr)
    ends = np.rint(np.outer(np.cumsum(fractions), sizes)).astype(np.int64)
    part = np.empty(log.n_records, dtype=np.min_scalar_type(len(fractions)))
    # A chunk of users at a time: random numbers drawn in pieces are those drawn at once.
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
    return [Log(np.concatenate([[0], np.cumsum(n)]), log.items[part == k], log.n_items) for k, n in enumerate(counts)]
