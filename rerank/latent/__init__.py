"""Latent collaborative retrieval: users and items as vectors, learnt from a log for the top of the list.

Nothing compiled is imported before :class:`LatentRoBiRank` is asked for.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rerank.latent.evaluation import evaluate
    from rerank.latent.log import split_log
    from rerank.latent.model import LatentRoBiRank

_HOMES = {
    "LatentRoBiRank": "rerank.latent.model",
    "evaluate": "rerank.latent.evaluation",
    "split_log": "rerank.latent.log",
}
__all__ = ["LatentRoBiRank", "evaluate", "split_log"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            return getattr(importlib.import_module(_HOMES[name]), name)
        raise AttributeError(f"module 'rerank.latent' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
