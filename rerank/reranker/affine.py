"""The weights of estimators whose scores are affine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.frames import is_sparse
from rerank.ranks.positions import affine
from rerank.ranks.rationals import unit

Floats = NDArray[np.float64]

SMALLEST = 2.0**-1000
"""Columns of smaller numbers get no weight in their own unit, which would be beyond the largest number."""


def affine_part(estimator: Any, X: Floats, scores: Floats) -> tuple[Floats | None, float]:
    """Weights in original units, if a fitted estimator's scores are affine in the features.

    Parameters
    ----------
    estimator : object
        A linear model, or a pipeline of standard scalers and a linear model; frozen or not.
    scores : float64 array (n,)
        The estimator's scores of ``X``; the weights have to give the same.

    Returns
    -------
    coef : float64 array (d,) or None
        None if the scores are not affine, or not known to be.
    intercept : float
    """
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    whole = thawed(estimator)
    steps = [step for _, step in whole.steps] if isinstance(whole, Pipeline) else [whole]
    *before, last = map(thawed, steps)
    if not hasattr(last, "coef_") or not all(isinstance(step, StandardScaler) for step in before):
        return None, 0.0
    coef = np.asarray(last.coef_, dtype=np.float64).ravel()
    intercept = np.asarray(getattr(last, "intercept_", 0.0), dtype=np.float64).ravel()
    if coef.shape != (X.shape[1],) or intercept.size > 1:
        return None, 0.0
    constant = float(intercept[0]) if intercept.size else 0.0
    for scaler in reversed(before):
        if scaler.scale_ is not None:
            coef = coef / scaler.scale_
        if scaler.mean_ is not None:
            constant -= float(np.sum(coef * scaler.mean_))
    if not np.isfinite(coef).all():
        return None, 0.0
    # Poisson regression and others have coefficients too, but their scores are not linear; they are kept as estimators.
    size = np.abs(X) @ np.abs(coef) + abs(constant) + 1.0
    if np.all(np.abs(affine(X, coef, constant) - scores) <= 1e-9 * size):
        return coef, constant
    return None, 0.0


def standardised(scorer: Any, X: Any, names: Sequence[str]) -> Any:
    """A pipeline that fits the scorer to standardised columns.

    Columns of a size whose squares are not finite, or vanish, are divided by a power of two before. That is exact, so
    the scores are those of the table in such a unit.

    Raises
    ------
    InputError
        For a column of numbers so small that its weight would be no number.
    """
    from sklearn.frozen import FrozenEstimator
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    ends = (X.max(axis=0), X.min(axis=0))
    top, bottom = (end.toarray().ravel() if is_sparse(end) else np.asarray(end) for end in ends)
    largest = np.maximum(top, -bottom)
    tiny = np.flatnonzero((largest > 0) & (largest < SMALLEST))
    if tiny.size:
        raise InputError(
            f"Column {names[tiny[0]]!r} holds no number above {largest[tiny[0]]:g}, and its weight would be "
            "no finite number; multiply that column by a constant."
        )
    units = np.asarray(unit(largest), dtype=np.float64)
    scaler = StandardScaler(with_mean=not is_sparse(X))
    if np.all(units == 1.0):
        return make_pipeline(scaler, scorer)
    divided = StandardScaler(with_mean=False)
    divided.mean_, divided.var_, divided.scale_, divided.n_features_in_ = None, None, units, units.size
    return make_pipeline(FrozenEstimator(divided), scaler, scorer)


def thawed(estimator: Any) -> Any:
    """The estimator inside a ``FrozenEstimator``."""
    from sklearn.frozen import FrozenEstimator

    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator
