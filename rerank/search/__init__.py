"""The problem in weight space: exact line search and branch and bound over boxes."""

from rerank.search.result import Progress, SearchResult
from rerank.search.solver import line_search, solve

__all__ = ["Progress", "SearchResult", "line_search", "solve"]
