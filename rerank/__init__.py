"""Rank statistics fitted exactly.

A first stage shortlists, a program or a search orders the shortlist, and a bound says how well.  Nothing heavy is
imported here: :class:`Reranker` and its like are loaded when they are first asked for.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rerank.io import datasets as datasets
    from rerank.ranks import perturb as perturb
    from rerank.reranker import fusion as fusion
    from rerank.reranker import metrics as metrics
    from rerank.reranker.estimator import Reranker
    from rerank.reranker.loading import load
    from rerank.reranker.selection.reranker_cv import RerankerCV

__version__ = "0.1.0"

__all__ = ["Reranker", "RerankerCV", "__version__", "load"]

_HOMES = {
    "Reranker": "rerank.reranker.estimator",
    "RerankerCV": "rerank.reranker.selection.reranker_cv",
    "load": "rerank.reranker.loading",
}
_ROOMS = {
    "certificate", "errors", "io", "latent", "plots", "problem", "ranks", "scorers", "search", "statistics",
}  # fmt: skip
# Public modules whose file stands in a room: ``import rerank.metrics`` gives ``rerank.reranker.metrics``.
_ELSEWHERE = {
    "datasets": "rerank.io.datasets",
    "fusion": "rerank.reranker.fusion",
    "metrics": "rerank.reranker.metrics",
    "perturb": "rerank.ranks.perturb",
}


class _Elsewhere:
    """Finds a module under its public name and loads the file that holds it."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        package, _, last = name.rpartition(".")
        return ModuleSpec(name, self) if package == __name__ and last in _ELSEWHERE else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(_ELSEWHERE[spec.name.rpartition(".")[2]])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just put the public name's spec on the module; it keeps that of its file.
        module.__spec__ = module.__spec__.loader_state  # type: ignore[union-attr]


sys.meta_path.append(_Elsewhere())  # type: ignore[arg-type]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _ROOMS or name in _ELSEWHERE:
        return importlib.import_module(f"rerank.{name}")
    raise AttributeError(f"module 'rerank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_ROOMS, *_ELSEWHERE})
