"""What a place in a list is worth: conditional linear rank statistics, their names and their coefficients."""

from rerank.statistics.kinds import (
    AUC,
    DCG,
    MRR,
    NDCG,
    Custom,
    PartialAUC,
    PNorm,
    Precision,
    RankStatistic,
    WinnerTakesAll,
    ideal,
    presentation,
)
from rerank.statistics.parse import parse
from rerank.statistics.thinned import Thinned

__all__ = [
    "AUC",
    "DCG",
    "MRR",
    "NDCG",
    "Custom",
    "PNorm",
    "PartialAUC",
    "Precision",
    "RankStatistic",
    "Thinned",
    "WinnerTakesAll",
    "ideal",
    "parse",
    "presentation",
]
