"""Score fusion for search: the runs of several systems joined by weights that are fitted, guarded and exported.

``rerank.fusion`` is this package. :class:`ScoreFusion` fits; :class:`FusionModel`, which :func:`load` reads, needs
NumPy alone to rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rerank.reranker.fusion.exports import export
from rerank.reranker.fusion.model import FusionModel, load, save

if TYPE_CHECKING:
    from rerank.reranker.fusion.estimator import ScoreFusion

__all__ = ["FusionModel", "ScoreFusion", "export", "load", "save"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these

    def __getattr__(name: str) -> Any:
        if name == "ScoreFusion":
            from rerank.reranker.fusion.estimator import ScoreFusion

            return ScoreFusion
        raise AttributeError(f"module 'rerank.fusion' has no attribute {name!r}")
