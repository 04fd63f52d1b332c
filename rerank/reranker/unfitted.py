"""What stands for the scores of a blend's members, as columns, until there are any."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from rerank.problem.lists import Floats


class Unfitted(TransformerMixin, BaseEstimator):
    """Stands for the members' scores until there are any."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.names = names

    def fit(self, X: Any, y: Any = None) -> Self:
        """Nothing is learned."""
        return self

    def transform(self, X: Any) -> Floats:
        """A column for each member."""
        return np.zeros((X.shape[0], len(self.names)))

    def get_feature_names_out(self, input_features: Any = None) -> list[str]:
        """Names of the members' scores."""
        return list(self.names)
