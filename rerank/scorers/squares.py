"""Squares of columns beside the columns: a score that is linear in both may rise towards both ends of a column."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rerank.errors import InputError
from rerank.io.arrays import held
from rerank.io.bounded import Json
from rerank.io.frames import as_table, chosen_columns, complete, found_numbers, is_sparse, names_of
from rerank.scorers.base import Floats
from rerank.scorers.table_logistic import spread, standardised


class Squares(TransformerMixin, BaseEstimator):
    """Columns of numbers, and the square of each that has more than two values.

    Squares are of columns less their mean, divided by their standard deviation, as in
    :class:`rerank.scorers.TableLogistic` with ``squares=True``. ``Reranker(features=Squares())`` corrects a score by
    both, and its model files hold the squares.

    Parameters
    ----------
    features : None, names, numbers, mask or callable
        Columns to take, as the parameter of :class:`rerank.Reranker`. None takes those that hold numbers and miss none.

    Attributes
    ----------
    columns_ : intp array (k,)
        Columns that are taken, ascending.
    square_of_ : intp array (m,)
        Those of them with a square, ascending.
    centre_, scale_ : float64 arrays (m,)
        Mean and standard deviation of these.
    """

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def __init__(self, features: Any = None) -> None:
        self.features = features

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn means and deviations.

        Parameters
        ----------
        X : array, sparse matrix, pandas or polars data frame, or pyarrow table (n, d)
        y : ignored

        Raises
        ------
        InputError
            For a choice that the table does not have, columns that are no finite numbers, and sparse rows of which no
            columns are named.
        """
        table = self._read(X, reset=True)
        if self.features is None and is_sparse(table):
            raise InputError("X is sparse, and squares are of dense columns; name them: Squares(features=[...]).")
        named = self.features(table) if callable(self.features) else self.features
        self.columns_ = complete(table)[0] if named is None else chosen_columns(table, named)
        values = found_numbers(table, self.columns_)
        between = (values > values.min(axis=0)) & (values < values.max(axis=0))
        squared = np.flatnonzero(between.any(axis=0))
        self.square_of_ = self.columns_[squared]
        nothing = np.empty(0)
        self.centre_, self.scale_ = spread(values[:, squared], None) if squared.size else (nothing, nothing)
        return self

    def transform(self, X: Any) -> Floats:
        """The columns and their squares (n, k + m).

        Raises
        ------
        InputError
            For a table that lacks a column, or columns that are no finite numbers.
        """
        check_is_fitted(self, "columns_")
        values = found_numbers(self._read(X, reset=False), self.columns_)
        squared = values[:, np.searchsorted(self.columns_, self.square_of_)]
        return np.hstack([values, standardised(squared, self.centre_, self.scale_) ** 2])

    def _read(self, X: Any, reset: bool) -> Any:
        table = as_table(held(X))
        validate_data(self, table, reset=reset, skip_check_array=True)
        return table

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[np.object_]:
        """Names of the columns (k + m,); the square of ``age`` is ``age^2``.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the columns (d,), if not those of the fit.
        """
        check_is_fitted(self, "columns_")
        given = getattr(self, "feature_names_in_", None) if input_features is None else input_features
        names = names_of(np.empty((0, self.n_features_in_))) if given is None else tuple(map(str, given))
        made = [names[j] for j in self.columns_]
        for j in self.square_of_:
            name = f"{names[j]}^2"
            while name in made:
                name += "_"
            made.append(name)
        return np.array(made, dtype=object)

    def told(self) -> str:
        """What a square is, in a sentence."""
        return "Squares, such as age^2, that of age, are of columns less their mean, divided by their deviation."

    def to_dict(self) -> Json:
        """The fitted state as numbers and lists, all bits kept; without the names of the columns."""
        check_is_fitted(self, "columns_")
        return {
            "n_columns": int(self.n_features_in_),
            "columns": self.columns_.tolist(),
            "square_of": self.square_of_.tolist(),
            "centre": self.centre_.tolist(),
            "scale": self.scale_.tolist(),
        }

    @classmethod
    def from_dict(cls, body: Json) -> Self:
        """The transformer that :meth:`to_dict` wrote; its ``features`` are the numbers of the columns.

        Raises
        ------
        InputError
            For anything that :meth:`to_dict` does not write.
        """
        try:
            found = cls(list(body["columns"]))
            found.n_features_in_ = body["n_columns"]
            found.columns_ = np.array(body["columns"], dtype=np.intp)
            found.square_of_ = np.array(body["square_of"], dtype=np.intp)
            found.centre_ = np.array(body["centre"], dtype=np.float64)
            found.scale_ = np.array(body["scale"], dtype=np.float64)
            m = found.square_of_.shape
            holds = (
                found.to_dict() == dict(body)
                and [type(number) for number in body["centre"] + body["scale"]] == [float] * 2 * m[0]
                and body["columns"] == sorted({*body["columns"]})
                and 0 <= body["columns"][0] <= body["columns"][-1] < body["n_columns"]
                and body["square_of"] == sorted({*body["columns"]} & {*body["square_of"]})
                and found.centre_.shape == found.scale_.shape == m
                and bool(np.isfinite([*found.centre_, *found.scale_]).all() and (found.scale_ > 0).all())
            )
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            holds = False
        if not holds:
            raise InputError(
                "The stored squares of columns cannot be used (they are not as to_dict writes them); fit and save the "
                "model again."
            )
        return found

    def __sklearn_tags__(self) -> Any:
        """Tables with texts and gaps are taken; columns that have them are left out."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False  # sparse tables need features=[...]
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags
