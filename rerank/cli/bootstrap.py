"""How sure a lead over the first stage is on labelled rows: rows or lists drawn anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rerank.io import Table
    from rerank.ranks.evaluator import Ties
    from rerank.reranker.estimator import Reranker


@dataclass(frozen=True)
class Lead:
    """What a list is worth on labelled rows; NaN if unknown.

    Attributes
    ----------
    value, first : float
        The statistic of the list and of the first stage's; None without a first stage.
    chance : float
        Its mean over all orders of the rows.
    low, high : float
        Ends of the 95 % interval of the difference.
    """

    value: float
    first: float | None
    chance: float
    low: float
    high: float


def lead_of(
    est: Reranker, table: Table, scores: NDArray[Any], first: NDArray[Any] | None, draws: int, seed: int = 0
) -> Lead:
    """Value, that of the first stage, and the interval between the 2.5 and 97.5 % quantiles of the lead over draws.

    Rows of one list are drawn with repetition; of several lists, the lists are, as a mean is taken over them.

    Parameters
    ----------
    table : Table
        With labels.
    scores, first : arrays (n,)
        Scores that order each list, by the model and by its first stage.
    """
    from rerank.ranks import list_values

    assert table.y is not None
    y, weight = table.y, table.sample_weight

    def values(of: NDArray[Any], rows: Any = slice(None), ties: Ties = "pessimistic") -> NDArray[np.float64]:
        return list_values(
            est.stat, y[rows], of[rows], None if table.qid is None else table.qid[rows], ties=ties, gain=est.gain,
            sample_weight=None if weight is None else weight[rows], ideal_gains=table.ideal_gains,
        )  # fmt: skip

    own = values(scores)
    if np.isnan(own).all():  # nothing to order
        return Lead(np.nan, None, np.nan, np.nan, np.nan)
    value, chance = float(np.nanmean(own)), float(np.nanmean(values(np.zeros(y.size), ties="average")))
    if first is None:
        return Lead(value, None, chance, np.nan, np.nan)
    before, rng = values(first), np.random.default_rng(seed)
    if table.qid is None:
        drawn = (rng.integers(0, y.size, y.size) for _ in range(draws))
        leads = np.array([values(scores, rows)[0] - values(first, rows)[0] for rows in drawn])
    else:
        each = (own - before)[~np.isnan(own)]
        leads = each[rng.integers(0, each.size, (draws, each.size))].mean(axis=1)
    leads = leads[~np.isnan(leads)]  # draws without a relevant row
    low, high = np.quantile(leads, [0.025, 0.975]) if leads.size else (np.nan, np.nan)
    return Lead(value, float(np.nanmean(before)), chance, float(low), float(high))
