"""Who stands where: ranks, ties and equal rows, in floats and in rationals."""

from rerank.ranks.evaluate import (
    count_empty,
    dense_codes,
    evaluate,
    gains,
    lost_counts,
    reach,
    resolved_ranks,
    subranks,
    value_of_lost,
)

__all__ = [
    "count_empty",
    "dense_codes",
    "evaluate",
    "gains",
    "lost_counts",
    "reach",
    "resolved_ranks",
    "subranks",
    "value_of_lost",
]
