"""How sure a lead over the first stage is on labelled rows: rows or lists drawn anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rerank.io import Table
    from rerank.reranker.estimator import Reranker


@dataclass(frozen=True)
class Lead:
    """The statistic of the list and of the first stage's list, and the 95 % interval of the difference."""

    value: float
    first: float | None
    low: float
    high: float


def lead_of(est: Reranker, table: Table, draws: int, seed: int = 0) -> Lead:
    """Value, that of the first stage, and the interval between the 2.5 and 97.5 % quantiles of the lead over draws.

    Rows of one list are drawn with repetition; of several lists, the lists are, as a mean is taken over them.
    """
    from rerank.ranks import evaluate
    from rerank.ranks.lists import number_lists

    assert table.y is not None
    y, gain = table.y, est.gain
    scores, first = est.list_scores(table.X, table.qid), est.first_stage_scores(table.X)

    def value(of: np.ndarray, which: np.ndarray | None = None) -> float:
        some = slice(None) if which is None else which
        return float(evaluate(est.stat, y[some], of[some], table.qid if which is None else None, gain=gain))

    whole = est.score(table.X, y, table.qid, sample_weight=table.sample_weight, ideal_gains=table.ideal_gains)
    if first is None:
        return Lead(whole, None, np.nan, np.nan)
    rng = np.random.default_rng(seed)
    if table.qid is None:
        drawn = []
        for _ in range(draws):
            rows = rng.integers(0, y.size, y.size)
            if 0 < np.count_nonzero(y[rows]) < y.size:
                drawn.append(value(scores, rows) - value(first, rows))
        leads = np.array(drawn)
    else:
        lists = number_lists(table.qid)[1]
        own = [np.flatnonzero(lists == k) for k in range(int(lists.max()) + 1)]
        each = np.array([value(scores, rows) - value(first, rows) for rows in own if np.any(y[rows] > 0)])
        leads = each[rng.integers(0, each.size, (draws, each.size))].mean(axis=1)
    low, high = np.quantile(leads, [0.025, 0.975])
    return Lead(whole, value(first), float(low), float(high))
