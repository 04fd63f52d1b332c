"""The problem as data: scaling, lists, gains, digest, JSON, and the record of a proof; it solves nothing."""

from rerank.io.margin import Margin, margin_of
from rerank.problem.build import problem_of, ranked_list, stated_lists
from rerank.problem.json import digest
from rerank.problem.lists import BinaryList, RankedList
from rerank.problem.problem import Problem, coordinates
from rerank.problem.proof import Proof
from rerank.problem.quotas import Quota
from rerank.problem.rows import WeightRow, WrittenRow, broken
from rerank.problem.scaling import scale_columns
from rerank.problem.values import values_at

__all__ = [
    "Margin",
    "Problem",
    "Proof",
    "Quota",
    "RankedList",
    "BinaryList",
    "WeightRow",
    "WrittenRow",
    "broken",
    "coordinates",
    "digest",
    "margin_of",
    "problem_of",
    "ranked_list",
    "scale_columns",
    "stated_lists",
    "values_at",
]
