"""Logistic regression on tables as they come, and the simple variants that are worth a try."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array, issparse
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_is_fitted

from rerank.errors import InputError
from rerank.io.arrays import held
from rerank.io.bounded import Json
from rerank.io.options import real, whole
from rerank.ranks.present import Present, present
from rerank.ranks.rationals import unit
from rerank.scorers import encoding
from rerank.scorers.base import Floats, weights_of
from rerank.scorers.encoding import Numbers
from rerank.scorers.of_tables import OfTables, floats_in, that


class TableLogistic(ClassifierMixin, OfTables):
    """Logistic regression on a table with numbers, texts and gaps; scikit-learn's ``LogisticRegression``.

    Columns of numbers and booleans: a gap gets the median of the training rows, and a further column says where gaps
    are if the training rows have some. Columns of texts and categories: a column for each text that stands in 10
    training rows and in .5 % of them, the 50 most frequent ones at most; one for all other texts and one for gaps, if
    the training rows have any. A text that they do not hold counts as another text, or as none if there is no such
    column; so does a gap. Equal numbers of a category are one level, whatever their type. Dates, constant columns and
    columns with nearly a text for each row are left out. Then every column is divided by its standard deviation, after
    its mean was taken off (not of sparse rows).

    Parameters
    ----------
    squares : bool, default False
        Add the square of each standardised column of numbers that has more than two values, standardised again.
    head : float or None, default None
        Fit a second model on this share of the training rows, the first ones by the first model. Rows that reach the
        lowest score among these are ordered by the second model, above all others. Their score is ``t + log(1 +
        exp(s - m))``: ``t`` is that lowest score, ``s`` the second model's, and ``m`` the least ``s`` of training rows.
    balanced : bool, default False
        Give both classes the same weight in all: ``class_weight="balanced"`` of scikit-learn.
    C : float, default 1.0
        Inverse of the regularisation.
    max_iter : int, default 1000

    Attributes
    ----------
    classes_ : array (2,)
    coef_ : float64 array (1, m)
        Of the encoded columns.
    intercept_ : float64 array (1,)
    head_threshold_, head_floor_ : float or None
        ``t`` and ``m``; None without a second model.
    head_coef_, head_intercept_ : arrays as above, or None
        None also if the rows of the second model would be of one class; :meth:`told` then says so.
    left_out_ : dict of int to str
        Columns that are not used, by number, and why.
    """

    learner = "Logistic regression"
    parameters = ("squares", "head", "balanced", "C", "max_iter")
    head_coef_: Floats | None
    head_intercept_: Floats | None
    head_threshold_: float | None
    head_floor_: float | None

    def __init__(
        self,
        *,
        squares: bool = False,
        head: float | None = None,
        balanced: bool = False,
        C: float = 1.0,
        max_iter: int = 1000,
    ) -> None:
        self.squares, self.head, self.balanced = squares, head, balanced
        self.C, self.max_iter = C, max_iter

    @property
    def log_odds_(self) -> bool:
        """Whether scores are log-odds, and so can be compared with those of a model fitted on other rows."""
        return self.head is None

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from a table.

        Parameters
        ----------
        X : array, sparse matrix, pandas or polars data frame, or pyarrow table (n, d)
        y : array (n,)
            Two different labels.
        sample_weight : array (n,), optional
            Weight of each row, >= 0. A row of weight 0 is as if it were not there.

        Raises
        ------
        InputError
            For parameters out of range, other labels, infinite numbers, or no column that can be used.
        """
        self._check_parameters()
        X, y = held(X), held(y)
        there = Present() if sample_weight is None else present(_num_samples(X), sample_weight)
        table, labels = self._read(there.of(X, "X"), there.of(y, "y"))
        check_classification_targets(labels)
        weight = None if sample_weight is None else weights_of(there.of(sample_weight), labels.size)
        self.classes_, target = np.unique(labels, return_inverse=True)
        if self.classes_.size > 2:
            raise InputError(
                "Only binary classification is supported. The type of the target is multiclass; mark the rows to find "
                "by 1 and the others by 0."
            )
        if self.classes_.size < 2:
            raise InputError(f"y holds 1 class only ({self.classes_[0]}); a classifier needs rows of two.")
        with np.errstate(over="ignore", invalid="ignore"):
            encoded_rows = self._learned(table, weight)
        entries = encoded_rows.data if issparse(encoded_rows) else encoded_rows
        if not np.isfinite(entries).all():
            raise InputError(
                "X has a column too large or too narrow to be divided by its standard deviation; subtract a constant "
                "from it, or divide it by one."
            )
        self.coef_, self.intercept_ = self._model(encoded_rows, target, weight)
        self.head_coef_ = self.head_intercept_ = self.head_threshold_ = self.head_floor_ = None
        if self.head is not None:
            self._fit_head(table, encoded_rows, target, weight)
        return self

    def _check_parameters(self) -> None:
        real("C", self.C, 0.0, positive=True)
        whole("max_iter", self.max_iter)
        if self.head is not None:
            real("head", self.head, 0.0, 1.0, positive=True)
        for name in ("squares", "balanced"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise InputError(f"{name} is {getattr(self, name)!r}; it must be True or False.")

    def _read(self, X: Any, *labels: Any) -> Any:
        """The table, and labels at the fit, as scikit-learn checks them."""
        found = super()._read(X, *labels)
        if labels and self.squares and issparse(found[0]):
            raise InputError(
                "squares=True needs dense rows, because squares of centred columns are dense; leave it out."
            )
        return found

    def _learned(self, table: Any, weight: Floats | None) -> Any:
        """Learn the encoding, and return the encoded rows."""
        names = self._names()
        self.rules_, self.left_out_ = None, {}
        self.square_of_ = np.empty(0, dtype=np.intp)
        if issparse(table):
            table = table.astype(np.float64)
            if not np.isfinite(table.data).all():
                raise InputError("X is sparse and holds NaN or inf; fill it in, or give dense rows.")
            self.centre_ = np.zeros(table.shape[1])
            # Sparse rows are multiplied by the inverse, which is to be finite.
            self.scale_ = np.maximum(spread(table, weight)[1], np.finfo(np.float64).tiny)
            return table @ diags_array(1 / self.scale_)
        rows = encoding.encoded(table, self._learn_rules(table, weight), names)
        self.centre_, self.scale_ = spread(rows, weight)
        rows = standardised(rows, self.centre_, self.scale_)
        if not self.squares:
            return rows
        self.square_of_ = np.array([j for j in self._values_at() if np.unique(rows[:, j]).size > 2], dtype=np.intp)
        squared = rows[:, self.square_of_] ** 2
        if squared.shape[1]:
            scaler = StandardScaler().fit(squared, sample_weight=weight)
            self.centre_ = np.concatenate([self.centre_, scaler.mean_])
            self.scale_ = np.concatenate([self.scale_, scaler.scale_])
        own = rows.shape[1]
        return np.hstack([rows, (squared - self.centre_[own:]) / self.scale_[own:]])

    def _values_at(self) -> list[int]:
        """Places of the columns of numbers among the encoded ones."""
        starts = accumulate((len(rule.names("")) for rule in self.rules_ or ()), initial=0)
        return [start for start, rule in zip(starts, self.rules_ or ()) if isinstance(rule, Numbers)]

    def _model(self, rows: Any, target: NDArray[np.generic], weight: Floats | None) -> tuple[Floats, Floats]:
        model = LogisticRegression(C=self.C, class_weight="balanced" if self.balanced else None, max_iter=self.max_iter)
        model.fit(rows, target, sample_weight=weight)
        self.n_iter_ = model.n_iter_
        return model.coef_, model.intercept_

    def _fit_head(self, table: Any, rows: Any, target: NDArray[np.generic], weight: Floats | None) -> None:
        """The second model, of the rows that make up the share ``head`` of the weight by the first one."""
        scores = self._scores(table)[0]
        order = np.argsort(-scores, kind="stable")
        reached = np.cumsum(np.ones(order.size) if weight is None else weight[order])
        last = int(np.searchsorted(reached, float(self.head or 0.0) * reached[-1] * (1 - 1e-12)))
        threshold = float(scores[order[last]])
        head = np.flatnonzero(scores >= threshold)
        if np.unique(target[head]).size < 2:
            return
        first, own = self.n_iter_, None if weight is None else weight[head]
        self.head_coef_, self.head_intercept_ = self._model(rows[head], target[head], own)
        self.n_iter_ = np.maximum(first, self.n_iter_)
        # By the scores that rows to come get, to the last bit.
        self.head_threshold_, self.head_floor_ = threshold, float(self._scores(table)[1][head].min())

    def _scores(self, X: Any) -> Floats:
        """Scores (models, n) of the rows by the first model and, if there is one, the second."""
        coef, start = self.coef_, self.intercept_
        if self.head_coef_ is not None and self.head_intercept_ is not None:
            coef, start = np.vstack([coef, self.head_coef_]), np.concatenate([start, self.head_intercept_])
        if self.rules_ is None:
            rows = csr_array(X, dtype=np.float64)
            if not np.isfinite(rows.data).all():
                raise InputError("X holds NaN or inf, and the first stage was fitted on sparse rows; fill it in.")
            return np.ascontiguousarray((rows @ (coef / self.scale_).T).T) + start[:, None]
        X = X.tocsc() if issparse(X) else X
        total: Floats = np.repeat(start[:, None], X.shape[0], axis=1)
        own = self.centre_.size - self.square_of_.size
        squares = {int(j): own + k for k, j in enumerate(self.square_of_)}
        at = 0
        # Summed column by column: BLAS gives a row other bits among other rows.
        with np.errstate(over="ignore", invalid="ignore"):  # who takes the scores refuses what is not finite
            for block, codes in encoding.coded(X, self.rules_, self._names()):
                part = np.zeros((coef.shape[0], block.shape[0]))
                for values in block.T:
                    scaled = standardised(values, self.centre_[at], self.scale_[at])
                    part += coef[:, at, None] * scaled
                    if at in squares:
                        j = squares[at]
                        part += coef[:, j, None] * ((scaled**2 - self.centre_[j]) / self.scale_[j])
                    at += 1
                total += part if codes is None else part[:, codes]
        return total

    def _both(self, X: Any) -> tuple[Floats, NDArray[np.bool_], Floats]:
        """Scores of the first model, which rows are in the head, and the scores of the second model."""
        check_is_fitted(self, "coef_")
        scores = self._scores(self._read(X))
        if self.head_coef_ is None:
            return scores[0], np.zeros(scores.shape[1], dtype=bool), scores[0]
        return scores[0], scores[0] >= self.head_threshold_, scores[1]

    def decision_function(self, X: Any) -> Floats:
        """Score of each row of ``X`` (n, d), larger is better: log-odds if there is one model."""
        first, head, second = self._both(X)
        if self.head_threshold_ is None or self.head_floor_ is None:
            return first
        return np.where(head, self.head_threshold_ + np.logaddexp(0.0, second - self.head_floor_), first)

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities (n, 2) of the classes, by the model that orders the row."""
        first, head, second = self._both(X)
        likely = expit(np.where(head, second, first))
        return np.column_stack([1.0 - likely, likely])

    def predict(self, X: Any) -> NDArray[Any]:
        """The more probable class of each row of ``X`` (n, d)."""
        likely = self.predict_proba(X)[:, 1]
        return self.classes_[(likely > 0.5).astype(np.intp)]

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[np.object_]:
        """Names of the encoded columns (m,).

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the columns (d,), if not those of the fit.
        """
        check_is_fitted(self, "coef_")
        names = list(self._names() if input_features is None else input_features)
        found = names if self.rules_ is None else [name for rule in self.rules_ for name in rule.names(names[rule.at])]
        return np.array([*found, *(f"{found[j]}^2" for j in self.square_of_)], dtype=object)

    def told(self, input_features: Sequence[str] | None = None) -> str:
        """In words: which columns were learned from, which not and why, and whether there is a second model.

        Parameters
        ----------
        input_features : sequence of str, optional
            As in :meth:`get_feature_names_out`.
        """
        check_is_fitted(self, "coef_")
        said = super().told(input_features)
        if self.head is None or self.head_coef_ is not None:
            return said
        return f"{said} The first {self.head:.0%} of the rows are of one class, so the first model orders them too."

    def to_dict(self) -> Json:
        """Parameters and fitted state as numbers, texts, booleans, None, lists and dicts of these, all bits kept.

        Names of the columns are not among them.
        """
        check_is_fitted(self, "coef_")
        sparse, head = self.rules_ is None, None
        if self.head_coef_ is not None and self.head_intercept_ is not None:
            head = {"threshold": self.head_threshold_, "floor": self.head_floor_}
            head |= {"coef": self.head_coef_[0].tolist(), "intercept": float(self.head_intercept_[0])}
        return {
            "squares": bool(self.squares),
            "head": None if self.head is None else float(self.head),
            "balanced": bool(self.balanced),
            "C": float(self.C),
            "max_iter": int(self.max_iter),
            "classes": self.classes_.tolist(),
            "sparse": sparse,
            **self._columns_to_dict(),
            "centre": [] if sparse else self.centre_.tolist(),
            "scale": self.scale_.tolist(),
            "square_of": self.square_of_.tolist(),
            "coef": self.coef_[0].tolist(),
            "intercept": float(self.intercept_[0]),
            "head_model": head,
        }

    def _take(self, body: Json) -> None:
        self._check_parameters()
        sparse = bool(body["sparse"])
        rules, n = self._take_columns(body, sparse), self.n_features_in_
        square_of = [int(j) for j in body["square_of"]]
        that(square_of == sorted({*square_of} & {*self._values_at()}), "squares are of columns of numbers, ascending")
        that(bool(self.squares) or not square_of, "there are squares only with squares=True")
        self.square_of_ = np.array(square_of, dtype=np.intp)
        m = (n if sparse else sum(len(rule.names("")) for rule in rules)) + len(square_of)
        self.scale_, centre = floats_in(body["scale"], m), floats_in(body["centre"], 0 if sparse else m)
        that(bool(np.all(self.scale_ > 0)), "scale is positive")
        self.centre_ = np.zeros(m) if sparse else centre
        self.classes_ = np.array(body["classes"])
        plain = self.classes_.shape == (2,) and self.classes_.dtype.kind in "bifU"
        that(plain and self.classes_[0] < self.classes_[1], "there are two classes, ascending")
        self.coef_, self.intercept_ = floats_in(body["coef"], m)[None, :], floats_in([body["intercept"]], 1)
        self.head_coef_ = self.head_intercept_ = self.head_threshold_ = self.head_floor_ = None
        if (head := body["head_model"]) is not None:
            that(self.head is not None, "a second model has a share of rows, head")
            self.head_coef_, self.head_intercept_ = (
                floats_in(head["coef"], m)[None, :],
                floats_in([head["intercept"]], 1),
            )
            self.head_threshold_, self.head_floor_ = floats_in([head["threshold"], head["floor"]], 2).tolist()

    def __sklearn_tags__(self) -> Any:
        """Two classes; texts, gaps and sparse rows are taken."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        taken = tags.input_tags
        taken.sparse = taken.allow_nan = taken.string = taken.categorical = True
        return tags


def spread(rows: Any, weight: Floats | None) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each column, 1 for a constant one. Squares of numbers of any size neither overflow
    nor vanish: they are of columns divided by a power of two.
    """
    sizes = abs(rows).max(axis=0)
    units: Floats = np.asarray(unit(sizes.toarray().ravel() if issparse(rows) else sizes), dtype=np.float64)
    scaler = StandardScaler(with_mean=not issparse(rows))
    scaler.fit(rows @ diags_array(1 / units) if issparse(rows) else rows / units, sample_weight=weight)
    return scaler.mean_ * units, np.maximum(scaler.scale_ * units, np.finfo(np.float64).smallest_subnormal)


def standardised(values: Floats, centre: Any, scale: Any) -> Floats:
    """``(values - centre) / scale``, also where the difference overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        above = values - centre
        return np.where(np.isfinite(above), above / scale, (values / 2 - centre / 2) / (scale / 2))
