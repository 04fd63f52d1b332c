"""The null hypotheses: fusions that learn nothing. RRF is the one that a fit has to lead on held-out queries.

RRF uses ranks alone, so no scale and no outlier of a score can spoil it. Equal weights of normalised scores are worth
knowing, and say which normalisers are not worth a fit; in the place of RRF the luckiest of them would win.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rerank.errors import InputError, unknown
from rerank.reranker.fusion.normalise import Floats

BEHIND = 2.0
"""Standard errors by which equal weights of a normaliser must be behind for no fit to try it."""


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
        For a prior that is neither "equal", "rrf" nor a weight for each run.
    """
    if isinstance(prior, str) and prior in ("equal", "rrf"):
        return np.full(len(names), 1.0 / len(names))
    if not isinstance(prior, Mapping):
        raise InputError(f"prior is {prior!r}; it must be 'equal', 'rrf', or a mapping from each run to its weight.")
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


def promising(nulls: Sequence[Null]) -> set[str]:
    """Normalisers whose equal weights are not clearly behind the first null.

    Behind is clear from ``BEHIND`` standard errors of the paired difference on.
    """
    found = {nulls[0].normaliser}
    for null in nulls[1:]:
        behind = nulls[0].values - null.values
        behind = behind[~np.isnan(behind)]
        error = float(behind.std(ddof=1)) / math.sqrt(behind.size) if behind.size > 1 else math.inf
        if not behind.size or behind.mean() <= BEHIND * error:
            found.add(null.normaliser)
    return found


def preferred(scores: Floats, names: Sequence[str], base: str, k: int) -> str:
    """Ranks, unless fits with another normaliser lead those of ranks by more than a standard error.

    Parameters
    ----------
    base : str
        The null's normaliser, which stands for ranks where these were not tried; else the first one does.
    k : int
        Folds of a repeat; their training queries overlap, and the error allows for that [NadeauBengio2003].
    """
    tried = [name for name, own in zip(names, scores) if not np.isnan(own).any()]
    home = next((names.index(name) for name in ("rank", base, *tried) if name in tried), 0)
    ahead = scores - scores[home]
    folds = scores.shape[1]
    error = ahead.std(axis=1, ddof=1) * math.sqrt(1 / folds + 1 / (k - 1)) if folds > 1 else math.inf
    clear = np.where(ahead.mean(axis=1) > error, ahead.mean(axis=1), 0.0)
    return names[int(np.argmax(clear))] if clear.max() > 0 else names[home]
