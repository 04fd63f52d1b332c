"""The statistics that have a name; to add one, write its file and give it a line here."""

from __future__ import annotations

from rerank.statistics import auc, dcg, mrr, pnorm, precision
from rerank.statistics.base import RankStatistic

# In the order in which the user sees them listed.
STATISTICS: tuple[type[RankStatistic], ...] = (
    auc.AUC,
    auc.PartialAUC,
    precision.WinnerTakesAll,
    precision.Precision,
    mrr.MRR,
    dcg.DCG,
    dcg.NDCG,
    pnorm.PNorm,
)
