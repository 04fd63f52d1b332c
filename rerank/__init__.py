"""Rank statistics fitted exactly.

A first stage shortlists, a program or a search orders the shortlist, and a bound says how well.  Nothing heavy is
imported here: :class:`Reranker` and its like are loaded when they are first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rerank.model_selection import RerankerCV
    from rerank.reranker import Reranker, load

__version__ = "0.1.0"

__all__ = ["Reranker", "RerankerCV", "__version__", "load"]

_HOMES = {
    "Reranker": "rerank.reranker",
    "RerankerCV": "rerank.model_selection",
    "load": "rerank.reranker",
}
_MODULES = {
    "certificate", "datasets", "errors", "io", "latent", "metrics", "perturb", "plots", "problem", "proof", "ranks",
    "scorers", "search", "statistics",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"rerank.{name}")
    raise AttributeError(f"module 'rerank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_HOMES) | _MODULES)
