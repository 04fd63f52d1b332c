"""Monotone maps of single features, which often help a linear ranker more than another loss does."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rerank.io.options import one_of, real, whole
from rerank.scorers.base import Floats

KINDS = ("signed_log", "ranks", "quantile_bins")


class MonotoneTransform(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Map every feature by a non-decreasing function ``t_j`` with ``t_j(0) = 0``.

    - ``"signed_log"``: ``t(x) = sign(x) log(1 + |x| / offset)``, for ``x >= 0`` the same as ``log(x + offset)`` up to
      a constant.
    - ``"ranks"``: ``t_j(x) = F_j(x) - F_j(0)`` with ``F_j(x) = (#{i: x_ij < x} + #{i: x_ij <= x}) / (2 n)``, the
      mid-rank among the rows of ``fit``.
    - ``"quantile_bins"``: ``t_j(x) = (b_j(x) - b_j(0)) / n_bins``, where ``b_j`` counts the distinct inner quantiles of
      ``fit`` that are ``<= x``.

    A constant added to a feature changes no ranking within a list, so the maps are shifted to keep 0 at 0:
    sparse input stays as sparse as it was and gives the same numbers as its dense form.

    Parameters
    ----------
    kind : {"signed_log", "ranks", "quantile_bins"}, default "signed_log"
    offset : float, default 0.01
        Size at which the logarithm starts to bend, in units of the features.
    n_bins : int, default 32
        Of "quantile_bins".

    Attributes
    ----------
    knots_ : list of float64 arrays
        For each feature the distinct values of ``fit`` ("ranks") or quantiles ("quantile_bins"); empty for
        "signed_log".
    levels_ : list of float64 arrays
        Values of ``t_j`` below, at and between the knots.
    """

    n_features_in_: int

    def __init__(self, kind: str = "signed_log", *, offset: float = 0.01, n_bins: int = 32) -> None:
        self.kind, self.offset, self.n_bins = kind, offset, n_bins

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the maps from ``X`` (n, d), dense or sparse.

        Raises
        ------
        InputError
            For parameters out of range.
        """
        one_of("kind", self.kind, KINDS)
        real("offset", self.offset, 0, positive=True)
        whole("n_bins", self.n_bins, 2)
        X = validate_data(self, X, accept_sparse="csc", dtype=[np.float64, np.float32])
        if issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.knots_: list[Floats] = []
        self.levels_: list[Floats] = []
        for j in range(X.shape[1] if self.kind != "signed_log" else 0):
            values, counts = _column(X, j)
            knots, levels = (_ranks if self.kind == "ranks" else self._bins)(values, counts)
            self.knots_.append(knots)
            self.levels_.append(levels - levels[_place(knots, np.zeros(1))])
        return self

    def transform(self, X: Any) -> Any:
        """``t_j(x_ij)`` for each entry of ``X`` (n, d); sparse stays sparse (CSR for CSR, else CSC), float32 stays."""
        check_is_fitted(self, "knots_")
        X = validate_data(self, X, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], reset=False, copy=True)
        if issparse(X):
            X.sum_duplicates()
        if self.kind == "signed_log":
            values = X.data if issparse(X) else X
            values[...] = np.copysign(np.log1p(np.abs(values) / self.offset), values)
            return X
        # Column by column, because each has knots of its own.
        form = X.format if issparse(X) else ""
        X = X.tocsc(copy=False) if issparse(X) else X
        for j, (knots, levels) in enumerate(zip(self.knots_, self.levels_)):
            part = X.data[X.indptr[j] : X.indptr[j + 1]] if form else X[:, j]
            part[...] = levels[_place(knots, part)]
        return X.asformat(form) if form else X

    def _bins(self, values: Floats, counts: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Distinct inner quantiles, and the number of them at or below each place."""
        reached = np.cumsum(counts)
        wanted = np.arange(1, self.n_bins) / self.n_bins * reached[-1]
        # The least value with at least so many rows at or below it.
        knots = np.unique(values[np.searchsorted(reached, np.ceil(wanted - 1e-9))])
        steps = np.arange(knots.size, dtype=np.float64)
        # Place 2m is between knots m - 1 and m, place 2m + 1 is at knot m.
        levels = np.concatenate([[0.0], np.repeat(steps + 1, 2)])
        return knots, levels / self.n_bins

    def __sklearn_tags__(self) -> Any:
        """Sparse input and float32 keep their kind."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _column(X: Any, j: int) -> tuple[Floats, NDArray[np.int64]]:
    """Distinct values of a column and how often they occur, zeros that are not stored among them."""
    stored = X.data[X.indptr[j] : X.indptr[j + 1]] if issparse(X) else X[:, j]
    missing = X.shape[0] - stored.size
    # One zero more stands for all that are not stored.
    values, counts = np.unique(np.append(stored.astype(np.float64), np.zeros(min(missing, 1))), return_counts=True)
    counts[values == 0] += max(missing - 1, 0)
    return values, counts


def _ranks(values: Floats, counts: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Every distinct value, and the mid-rank between and at them."""
    reached = np.concatenate([[0], np.cumsum(counts)]).astype(np.float64)
    levels = np.empty(2 * values.size + 1)
    levels[0::2] = reached
    levels[1::2] = 0.5 * (reached[:-1] + reached[1:])
    return values, levels / reached[-1]


def _place(knots: Floats, x: NDArray[np.generic]) -> NDArray[np.int64]:
    """``2m + 1`` at knot ``m`` and ``2m`` between knots ``m - 1`` and ``m``."""
    wide = x.astype(np.float64)
    found: NDArray[np.int64] = np.searchsorted(knots, wide, "left") + np.searchsorted(knots, wide, "right")
    return found
