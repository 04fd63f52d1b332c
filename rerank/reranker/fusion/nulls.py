"""The null hypotheses: fusions that learn nothing. RRF is the one that leads are told over.

RRF uses ranks alone, so no scale and no outlier of a score can spoil it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rerank.errors import InputError, unknown
from rerank.reranker.fusion.normalise import Floats

PRIORS = ("auto", "equal", "logistic", "rrf")
"""Words for the weights that a fit corrects."""


@dataclass(frozen=True, eq=False)
class Null:
    """A fusion that learns nothing from the judgements.

    Attributes
    ----------
    name : str
        In words.
    normaliser : str
    values : float64 array (lists,)
        Statistic of each judged query, NaN for one with nothing to order.
    """

    name: str
    normaliser: str
    values: Floats

    @property
    def mean(self) -> float:
        """Mean statistic of the judged queries."""
        return float(np.nanmean(self.values))


def prior_weights(prior: object, names: Sequence[str]) -> Floats:
    """Weights of a prior in the order of the names, which sum to 1 in size.

    Raises
    ------
    InputError
        For a prior that is no word of :data:`PRIORS`, nor a weight for each run.
    """
    if isinstance(prior, str) and prior in PRIORS:
        return np.full(len(names), 1.0 / len(names))
    if not isinstance(prior, Mapping):
        words = ", ".join(map(repr, PRIORS))
        raise InputError(f"prior is {prior!r}; it must be {words}, or a mapping from each run to its weight.")
    for name in prior:
        if name not in names:
            raise unknown("run in prior", name, names)
    try:
        weights = np.array([float(prior.get(name, 0.0)) for name in names])
    except (TypeError, ValueError):
        raise InputError("prior holds a weight that is no number; give one number for each run.") from None
    size = float(np.abs(weights).sum())
    if not (math.isfinite(size) and size > 0):
        raise InputError("prior holds no weight other than 0, or one that is not finite; give numbers.")
    return weights / size
