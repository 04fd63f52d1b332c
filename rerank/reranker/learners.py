"""Estimators of others as first stages: how they are fitted, the score they give a row, and weights of affine ones."""

import inspect
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from rerank.errors import InputError
from rerank.io.frames import is_sparse, some_rows
from rerank.problem.lists import Floats
from rerank.ranks.positions import affine
from rerank.ranks.rationals import unit

GROUPED = ("group", "group_id")
"""Parameters of ``fit`` by which rankers learn where lists end: LightGBM and XGBoost, CatBoost."""

LEAST_CHANCE = 1e-15  # probabilities nearer to 0 or 1 are moved here, so that log-odds are finite
LEAST_COLUMN = 2.0**-1000
"""Columns of smaller numbers get no weight in their own unit, which would be beyond the largest number."""


@contextmanager
def names_optional() -> Iterator[None]:
    """No remark that a table has names and that of the fit had none, or the reverse, and none on huge numbers."""
    with warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore"):
        warnings.filterwarnings("ignore", message="X (does not have valid|has) feature names")
        yield


def is_fitted(estimator: Any) -> bool:
    """Whether an estimator has been fitted, or cannot be."""
    if not hasattr(estimator, "fit"):
        return True
    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError):
        return False
    return True


def fitted(estimator: Any, X: Any, y: Floats, qid: NDArray[Any] | None, sample_weight: Floats | None) -> Any:
    """A fitted clone. Classifiers learn ``y > min(y)``, regressors, rankers and scorers that take grades the grade.
    Lists and weights go where ``fit`` takes them, rows sorted by list to rankers that take groups.
    """
    fresh = clone(estimator)
    last = fresh.steps[-1] if isinstance(fresh, Pipeline) else None
    prefix, taker = (f"{last[0]}__", last[1]) if last else ("", fresh)
    parameters = inspect.signature(taker.fit).parameters
    grouped = next((name for name in GROUPED if name in parameters), "")  # by which a ranker learns its lists
    graded = grouped or is_regressor(fresh) or getattr(taker, "takes_grades", False)
    target = y if graded else (y > y.min()).astype(np.int64)
    if grouped:
        return _fitted_by_groups(fresh, prefix, grouped, X, target, qid, sample_weight)
    given = {key: values for key, values in (("sample_weight", sample_weight), ("qid", qid)) if values is not None}
    if get_config()["enable_metadata_routing"]:
        requested = get_routing_for_object(fresh).consumes("fit", given)
        if requested:
            return fresh.fit(X, target, **{key: given[key] for key in requested})
    extra = {prefix + key: values for key, values in given.items() if has_fit_parameter(taker, key)}
    # Nothing was requested, so nothing would be routed: the last step gets what it takes, as without routing.
    with config_context(enable_metadata_routing=False):
        return fresh.fit(X, target, **extra)


def _fitted_by_groups(
    fresh: Any, prefix: str, parameter: str, X: Any, y: Floats, qid: NDArray[Any] | None, sample_weight: Floats | None
) -> Any:
    """A ranker that wants rows sorted by list, and the sizes or the ids of the lists."""
    lists = np.zeros(y.size, dtype=np.intp) if qid is None else np.asarray(qid)
    order = np.argsort(lists, kind="stable")
    sizes = np.unique(lists, return_counts=True)[1]
    target = y[order].astype(np.int64) if np.all(y == np.rint(y)) else y[order]
    extra: dict[str, Any] = {prefix + parameter: sizes if parameter == "group" else lists[order]}
    weighs_rows = parameter == "group_id" or not type(fresh).__module__.startswith("xgboost")
    if sample_weight is not None and weighs_rows:  # XGBoost weighs lists, not rows
        extra[prefix + "sample_weight"] = sample_weight[order]
    return fresh.fit(some_rows(X, order), target, **extra)


def log_odds(estimator: Any, X: Any, scores: Floats) -> bool:
    """Whether scores are the log-odds of the estimator's own probabilities, and so can be compared between models."""
    if not hasattr(estimator, "predict_proba"):
        return False
    if not hasattr(estimator, "decision_function"):
        return True
    with names_optional():
        likely = np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, -1]
    # The decisions of support vector machines, for example, are no log-odds.
    return bool(np.allclose(likely, 1.0 / (1.0 + np.exp(-np.clip(scores, -700.0, 700.0))), atol=1e-6))


def scores_of(estimator: Any, X: Any, n: int) -> Floats:
    """Score of each row, larger is better: decisions, else the log-odds of the last class, else predictions."""
    with names_optional():  # a user's estimator fitted on a frame may be given the same columns as an array
        if hasattr(estimator, "decision_function"):
            raw = estimator.decision_function(X)
        elif hasattr(estimator, "predict_proba"):
            likely = np.clip(np.asarray(estimator.predict_proba(X), dtype=np.float64), LEAST_CHANCE, 1.0)[:, -1]
            raw = np.log(likely) - np.log(np.maximum(1.0 - likely, LEAST_CHANCE))
        elif hasattr(estimator, "predict"):
            raw = estimator.predict(X)
        else:
            raw = estimator(X)
    scores = np.asarray(raw, dtype=np.float64)
    name = name_of(estimator)
    if scores.shape != (n,):
        raise InputError(
            f"The first stage {name} gives scores of shape {scores.shape}; one score a row is needed, so use a binary "
            "classifier, a regressor or a ranker."
        )
    return finite(scores, name)


def finite(scores: Floats, name: str) -> Floats:
    """The scores of a first stage, refused where one is not finite."""
    if not np.isfinite(scores).all():
        raise InputError(f"The first stage {name} gives a score that is NaN or inf; it cannot order the rows.")
    return scores


def name_of(estimator: Any) -> str:
    """The class of an estimator, or the name of a function."""
    inside = thawed(estimator)
    return getattr(inside, "__name__", None) or type(inside).__name__


def affine_part(estimator: Any, X: Floats, scores: Floats) -> tuple[Floats | None, float]:
    """Weights (d,) and intercept of a linear model, perhaps scaled, if they give the ``scores`` of X; else None."""
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
    linear = np.all(np.abs(affine(X, coef, constant) - scores) <= 1e-9 * size)
    return (coef, constant) if linear else (None, 0.0)


def standardised(scorer: Any, X: Any, names: Sequence[str]) -> Any:
    """A pipeline of scaling and scorer. Columns whose squares are not finite, or vanish, are first divided by a power
    of two, which is exact; one so small that its weight would be no number is refused.
    """
    ends = (X.max(axis=0), X.min(axis=0))
    top, bottom = (end.toarray().ravel() if is_sparse(end) else np.asarray(end) for end in ends)
    largest = np.maximum(top, -bottom)
    tiny = np.flatnonzero((largest > 0) & (largest < LEAST_COLUMN))
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
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator
