"""The problem as data: scaling, lists, gains, digest, JSON, and the record of a proof; it solves nothing."""

from rerank.io.margin import Margin
from rerank.problem.build import problem_of, ranked_list
from rerank.problem.json import digest
from rerank.problem.lists import RankedList
from rerank.problem.problem import Problem
from rerank.problem.proof import Proof
from rerank.problem.quotas import Quota
from rerank.problem.rows import WeightRow

__all__ = ["Margin", "Problem", "Proof", "Quota", "RankedList", "WeightRow", "digest", "problem_of", "ranked_list"]
