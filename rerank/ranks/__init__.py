"""Who stands where: ranks, ties and equal rows, in floats and in rationals."""

from rerank.ranks.evaluate import count_empty, evaluate, list_values
from rerank.ranks.lists import number_lists, places_by_list, rows_by_list
from rerank.ranks.positions import count_lost, dense_codes, lost_counts, reach, resolved_ranks, subranks, value_of_lost
from rerank.ranks.row_gains import gains, weighted_gains

__all__ = ["count_empty", "count_lost", "dense_codes", "evaluate", "gains", "list_values", "lost_counts"]
__all__ += ["number_lists", "places_by_list", "reach", "resolved_ranks", "rows_by_list", "subranks"]
__all__ += ["value_of_lost", "weighted_gains"]
