"""Rankers of scikit-learn: a fitted ranking that is an estimator."""

import warnings
from collections.abc import Mapping
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted, validate_data

from rerank.errors import InputError, unknown
from rerank.problem.lists import Floats
from rerank.reranker.first_stage import GROUPED, names_optional
from rerank.reranker.ranked import StateRanker
from rerank.reranker.state import FittedState


class Ranker(StateRanker, BaseEstimator):
    """Ranks rows by a fitted state, as a classifier of scikit-learn whose classes may be grades."""

    takes_grades = True
    stat: Any
    coef_: Floats
    prior_weight_: float
    features_: NDArray[Any]
    threshold_: float
    first_stage_: Any
    classes_: NDArray[Any] | None
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def _refuse(self, others: Mapping[str, Any]) -> None:
        """Refuse arguments that ``fit`` has not."""
        for name in others:
            if name in GROUPED:
                raise InputError(
                    f"{type(self).__name__}.fit has no {name!r}; give qid, the list of each row: of sizes that is "
                    "np.repeat(np.arange(len(group)), group)."
                )
            raise unknown(f"argument of {type(self).__name__}.fit", name, [*signature(type(self).fit).parameters][1:-1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags()
        tags.target_tags.required = True
        tags.input_tags.sparse = False  # sparse tables need features=[...]
        return tags

    def _fitted(self) -> FittedState:
        check_is_fitted(self, "result_")
        return self.state_

    def _refuse_others(self, table: Any) -> None:
        with names_optional():
            validate_data(self, table, reset=False, skip_check_array=True)

    def _warned(self) -> Self:
        """The same; a warning at the line that called ``fit`` says if nothing can be changed."""
        if self.result_.status.startswith("nothing"):
            warnings.warn(self.result_.message, stacklevel=3)
        return self
