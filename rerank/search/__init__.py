"""The problem in weight space: exact line search and branch and bound over boxes."""

from rerank.search.result import Progress, SearchResult
from rerank.search.solver import line_search, solve
from rerank.search.warm import compile_kernels, ready

__all__ = ["Progress", "SearchResult", "compile_kernels", "line_search", "ready", "solve"]
