"""First stages as scikit-learn estimators, which know neither programs, nor the search, nor solvers.

:class:`rerank.Reranker` finds them here by name.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rerank.scorers.cost_sensitive import CostSensitiveLogistic, CostSensitiveSVM
    from rerank.scorers.push import ExponentialPush, PNormPush
    from rerank.scorers.ranksvm.estimator import RankSVM
    from rerank.scorers.robirank.estimator import RoBiRank
    from rerank.scorers.table_logistic import TableLogistic
    from rerank.scorers.transform import MonotoneTransform

_HOMES = {
    "TopPush": "rerank.scorers.toppush.estimator",
    "RankSVM": "rerank.scorers.ranksvm.estimator",
    "RoBiRank": "rerank.scorers.robirank.estimator",
    "PNormPush": "rerank.scorers.push",
    "ExponentialPush": "rerank.scorers.push",
    "CostSensitiveLogistic": "rerank.scorers.cost_sensitive",
    "CostSensitiveSVM": "rerank.scorers.cost_sensitive",
    "MonotoneTransform": "rerank.scorers.transform",
    "TableLogistic": "rerank.scorers.table_logistic",
}
__all__ = [
    "CostSensitiveLogistic",
    "CostSensitiveSVM",
    "ExponentialPush",
    "MonotoneTransform",
    "PNormPush",
    "RankSVM",
    "RoBiRank",
    "TableLogistic",
    "TopPush",
]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            return getattr(importlib.import_module(_HOMES[name]), name)
        raise AttributeError(f"module 'rerank.scorers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
