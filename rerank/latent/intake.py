"""What a caller gives as a log: any matrix of counts, looked over before anything is converted."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rerank.errors import InputError

# Formats whose ``data`` are the entries and nothing else; the others are few and short, and go by way of COO.
PLAIN = ("coo", "csr", "csc")
MOST_ITEMS = 2**31 - 1


def chosen(given: Any, name: str) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Items that each user chose, as ``indptr`` (n_users + 1,) and ``items``, ascending within a user, none twice.

    A CSR matrix with int32 indices in order, without repetitions and zeros, lends its arrays; any other is copied, and
    none is changed.  Errors as :func:`rerank.latent.log.log_of`.
    """
    X = _matrix(given, name)
    _check_counts(X.data, name)
    try:
        X = _rows(X)
    except (ValueError, IndexError) as error:
        raise InputError(
            f"{name} is no sound {given.format} matrix ({error}); build it anew from users and items."
        ) from None
    indptr = X.indptr.astype(np.int64, copy=False)
    items = X.indices
    if not X.data.all():
        kept = X.data != 0
        ends = np.concatenate([[0], np.cumsum(kept)])
        indptr, items = ends[indptr], items[kept]
    return indptr, items.astype(np.int32, copy=False)


def _matrix(given: Any, name: str) -> Any:
    """COO, CSR or CSC of real numbers."""
    X: Any = given if sp.issparse(given) else np.asarray(given)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(
            f"{name} is of type {X.dtype} with {X.ndim} axes; give a sparse matrix users x items of counts."
        )
    if X.shape[1] > MOST_ITEMS:
        raise InputError(f"{name} has {X.shape[1]} items; at most {MOST_ITEMS} are possible.")
    if not sp.issparse(X):
        _check_counts(X, name)
        return sp.csr_matrix(X != 0)
    return X if X.format in PLAIN else X.tocoo()


def _check_counts(data: NDArray[Any], name: str) -> None:
    # NaN is the least and the largest of whatever it is among.
    if data.size and not (data.min() >= 0 and data.max() < np.inf):
        bad = ~(np.isfinite(data) & (data >= 0))
        raise InputError(
            f"{name} holds {int(bad.sum())} counts that are negative, infinite or NaN; counts must be numbers >= 0."
        )


def _rows(X: Any) -> Any:
    """CSR in canonical format; where entries of a cell come together, they say only that the pair was there, since
    sums of counts may wrap round to zero.
    """
    if X.format == "coo":
        found = sp.coo_matrix((X.data != 0, (_signed(X.row), _signed(X.col))), shape=X.shape).tocsr()
    else:
        kind = sp.csr_matrix if X.format == "csr" else sp.csc_matrix
        plain = kind((X.data, _signed(X.indices), _signed(X.indptr)), shape=X.shape)
        plain.check_format(full_check=True)  # compiled loops rely on it, SciPy's as well
        if X.format == "csr" and plain.has_canonical_format:
            return plain
        there = (plain.data != 0, plain.indices, plain.indptr)
        found = kind(there, shape=X.shape, copy=True).tocsr()
    found.sum_duplicates()
    return found


def _signed(indices: NDArray[Any]) -> NDArray[Any]:
    """Indices of a type that SciPy works with."""
    return indices if indices.dtype in (np.int32, np.int64) else indices.astype(np.int64)
