"""The problem as data: scaling, lists, gains, digest, JSON, and the record of a proof."""

from rerank.problem.problem import Problem, RankedList, Unit, problem_of, ranked_list, scale_columns

__all__ = ["Problem", "RankedList", "Unit", "problem_of", "ranked_list", "scale_columns"]
