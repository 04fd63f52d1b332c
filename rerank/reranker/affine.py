"""The weights of estimators whose scores are affine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.ranks.positions import affine

Floats = NDArray[np.float64]


def affine_part(estimator: Any, X: Floats, scores: Floats) -> tuple[Floats | None, float]:
    """Weights in original units, if a fitted estimator's scores are affine in the features.

    Parameters
    ----------
    estimator : object
        A linear model, or a pipeline of standard scalers and a linear model; frozen or not.
    X : float64 array (n, d)
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
    # Poisson regression and others have coefficients too, but their scores are not linear; they are kept as estimators.
    size = np.abs(X) @ np.abs(coef) + abs(constant) + 1.0
    if np.all(np.abs(affine(X, coef, constant) - scores) <= 1e-9 * size):
        return coef, constant
    return None, 0.0


def thawed(estimator: Any) -> Any:
    """The estimator inside a ``FrozenEstimator``."""
    from sklearn.frozen import FrozenEstimator

    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator
