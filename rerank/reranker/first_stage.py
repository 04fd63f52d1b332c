"""First stages: from a name or an estimator to scores of rows.

A first stage is fitted on the whole training list. It is fast, and only has to bring the relevant rows into the
shortlist. If it is an affine function of the features, its weights are kept as numbers. Such a first stage gives the
same bits on every machine, can be written to a model file, and gives the search its start.
"""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError, unknown
from rerank.problem.scaling import affine
from rerank.reranker.affine import affine_part, thawed

Floats = NDArray[np.float64]

# Scorers of this package, by the name a user types. Zero weights are optimal for TopPush as published on most real
# tables, and seldom with the mean of the upper half of the irrelevant rows as threshold (docs/decisions/0055).
SCORERS: dict[str, tuple[str, dict[str, Any]]] = {
    "toppush": ("TopPush", {"alpha": 0.01, "threshold": "quantile", "k": 0.5}),
    "ranksvm": ("RankSVM", {}),
    "robirank": ("RoBiRank", {}),
}
NAMES = ("logistic", *SCORERS)


@dataclass(frozen=True, eq=False)
class FirstStage:
    """A fitted first stage.

    Attributes
    ----------
    name : str
        The name that the user gave, or the estimator's class.
    estimator : object or None
        The fitted estimator; None when read from a model file.
    coef : float64 array (d,) or None
        Weights in original units if the score is affine, else None.
    intercept : float
    """

    name: str
    estimator: Any
    coef: Floats | None
    intercept: float = 0.0

    def scores(self, X: Floats) -> Floats:
        """Score of each row, larger is better."""
        if self.coef is not None:
            return affine(X, self.coef, self.intercept)
        return _estimator_scores(self.estimator, X)


def fit_first_stage(
    first_stage: Any,
    X: Floats,
    y: Floats,
    qid: NDArray[Any] | None = None,
    sample_weight: Floats | None = None,
    random_state: Any = None,
) -> FirstStage | None:
    """Fit the first stage; an estimator that is already fitted is used as it is.

    Parameters
    ----------
    first_stage : str, estimator or None
        ``"logistic"``, a scorer of this package, or any scikit-learn estimator. None gives None.
    X : float64 array (n, d)
    y : float64 array (n,)
        0/1 or grades. Classifiers learn ``y > min(y)``, which is usually ``y > 0``. Regressors and scorers that take
        grades learn the grade itself.
    qid, sample_weight : arrays (n,), optional
        Passed to estimators whose ``fit`` takes them.

    Raises
    ------
    InputError
        For an unknown name or an estimator that gives no usable score.
    """
    if first_stage is None:
        return None
    name = first_stage if isinstance(first_stage, str) else type(thawed(first_stage)).__name__
    estimator = _named(first_stage, random_state) if isinstance(first_stage, str) else first_stage
    if isinstance(first_stage, type) or not (hasattr(estimator, "fit") or hasattr(estimator, "predict")):
        raise InputError(
            f"first_stage is {first_stage!r}; give None, one of {', '.join(map(repr, NAMES))}, or a "
            "scikit-learn estimator."
        )
    if isinstance(first_stage, str) or not _is_fitted(estimator):
        if thawed(estimator) is not estimator:
            raise InputError(
                f"The first stage {name} is frozen and not fitted; fit it first, or do not freeze it."
            )
        estimator = _fitted(estimator, X, y, qid, sample_weight)
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if getattr(last, "degenerate_", False):
        raise InputError(
            f"The first stage {name} orders nothing: zero weights are its optimum on these rows; use 'logistic', "
            "other columns, or TopPush with threshold='quantile' and a larger k."
        )
    scores = _estimator_scores(estimator, X)
    coef, intercept = affine_part(estimator, X, scores)
    return FirstStage(name, estimator, coef, intercept)


def _named(name: str, random_state: Any) -> Any:
    """The first stage that a name stands for, on standardised features."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name == "logistic":
        from sklearn.linear_model import LogisticRegression

        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    if name not in SCORERS:
        raise unknown("first stage", name, (*NAMES, "none"))
    scorer_class, options = SCORERS[name]
    scorer = getattr(importlib.import_module("rerank.scorers"), scorer_class)(**options)
    if "random_state" in scorer.get_params():
        scorer.set_params(random_state=random_state)
    return make_pipeline(StandardScaler(), scorer)


def _is_fitted(estimator: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if not hasattr(estimator, "fit"):
        return True
    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError):
        return False
    return True


def _fitted(
    estimator: Any, X: Floats, y: Floats, qid: NDArray[Any] | None, sample_weight: Floats | None
) -> Any:
    """A fitted clone."""
    from sklearn import config_context, get_config
    from sklearn.base import clone, is_regressor
    from sklearn.pipeline import Pipeline
    from sklearn.utils.metadata_routing import get_routing_for_object
    from sklearn.utils.validation import has_fit_parameter

    fresh = clone(estimator)
    last = fresh.steps[-1] if isinstance(fresh, Pipeline) else None
    prefix, taker = (f"{last[0]}__", last[1]) if last else ("", fresh)
    graded = is_regressor(fresh) or getattr(taker, "takes_grades", False)
    target = y if graded else (y > y.min()).astype(np.int64)
    given = {
        key: values for key, values in (("sample_weight", sample_weight), ("qid", qid)) if values is not None
    }
    if get_config()["enable_metadata_routing"]:
        requested = get_routing_for_object(fresh).consumes("fit", given)
        if requested:
            return fresh.fit(X, target, **{key: given[key] for key in requested})
    extra = {prefix + key: values for key, values in given.items() if has_fit_parameter(taker, key)}
    # Nothing was requested, so nothing would be routed: the last step gets what it takes, as without routing.
    with config_context(enable_metadata_routing=False):
        return fresh.fit(X, target, **extra)


def _estimator_scores(estimator: Any, X: Floats) -> Floats:
    with warnings.catch_warnings():
        # A user's estimator fitted on a frame is given the same columns as an array.
        warnings.filterwarnings("ignore", message=".*does not have valid feature names.*")
        if hasattr(estimator, "decision_function"):
            raw = estimator.decision_function(X)
        elif hasattr(estimator, "predict_proba"):
            raw = np.asarray(estimator.predict_proba(X))[:, -1]
        else:
            raw = estimator.predict(X)
    scores = np.asarray(raw, dtype=np.float64)
    name = type(estimator).__name__
    if scores.shape != (X.shape[0],):
        raise InputError(
            f"The first stage {name} gives scores of shape {scores.shape}; one score a row is needed, so use a binary "
            "classifier, a regressor or a ranker."
        )
    if not np.isfinite(scores).all():
        raise InputError(
            f"The first stage {name} gives a score that is NaN or inf; it cannot order the rows."
        )
    return scores
