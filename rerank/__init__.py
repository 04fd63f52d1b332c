"""Rank statistics fitted exactly.

A first stage shortlists, a program or a search orders the shortlist, and a bound says how well.  Nothing heavy is
imported here: :class:`Reranker` and its like are loaded when they are first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rerank import certificate as certificate
    from rerank import datasets as datasets
    from rerank import errors as errors
    from rerank import fusion as fusion
    from rerank import io as io
    from rerank import latent as latent
    from rerank import metrics as metrics
    from rerank import perturb as perturb
    from rerank import plots as plots
    from rerank import problem as problem
    from rerank import ranks as ranks
    from rerank import scorecard as scorecard
    from rerank import scorers as scorers
    from rerank import search as search
    from rerank import statistics as statistics
    from rerank.ranks.runs import evaluate_runs
    from rerank.reranker.describe import describe
    from rerank.reranker.estimator import Reranker, load
    from rerank.reranker.files.verify import verify
    from rerank.reranker.selection.comparison import compare
    from rerank.reranker.selection.reranker_cv import RerankerCV

__version__ = "0.3.0"

__all__ = ["Reranker", "RerankerCV", "__version__", "compare", "describe", "evaluate_runs", "load", "verify"]

_HOMES = {
    "Reranker": "rerank.reranker.estimator",
    "RerankerCV": "rerank.reranker.selection.reranker_cv",
    "compare": "rerank.reranker.selection.comparison",
    "describe": "rerank.reranker.describe",
    "evaluate_runs": "rerank.ranks.runs",
    "load": "rerank.reranker.estimator",
    "verify": "rerank.reranker.files.verify",
}
_ROOMS = {
    "certificate",
    "errors",
    "io",
    "latent",
    "plots",
    "problem",
    "ranks",
    "scorecard",
    "scorers",
    "search",
    "statistics",
}
_ELSEWHERE = {"datasets", "fusion", "metrics", "perturb"}  # public modules whose file stands in a room

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            return getattr(importlib.import_module(_HOMES[name]), name)
        if name in _ROOMS or name in _ELSEWHERE:
            return importlib.import_module(f"rerank.{name}")
        raise AttributeError(f"module 'rerank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_ROOMS, *_ELSEWHERE})
