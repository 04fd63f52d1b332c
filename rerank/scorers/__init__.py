"""First stages as scikit-learn estimators, which know neither programs, nor the search, nor solvers.

:class:`rerank.Reranker` finds them here by name.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rerank.scorers.ranksvm.estimator import RankSVM
    from rerank.scorers.robirank.estimator import RoBiRank
    from rerank.scorers.squares import Squares
    from rerank.scorers.table_logistic import TableLogistic
    from rerank.scorers.table_trees import TableTrees
    from rerank.scorers.toppush.estimator import TopPush
    from rerank.scorers.transform import MonotoneTransform

_HOMES = {
    "TopPush": "rerank.scorers.toppush.estimator",
    "RankSVM": "rerank.scorers.ranksvm.estimator",
    "RoBiRank": "rerank.scorers.robirank.estimator",
    "MonotoneTransform": "rerank.scorers.transform",
    "Squares": "rerank.scorers.squares",
    "TableLogistic": "rerank.scorers.table_logistic",
    "TableTrees": "rerank.scorers.table_trees",
}
_GONE = {
    "InfinitePush": "TopPush has the same objective",
    "PNormPush": "it is a baseline in benchmarks/baselines.py; use RankSVM, or TopPush for the first places",
    "ExponentialPush": "it is a baseline, PNormPush(p=1) in benchmarks/baselines.py; use RankSVM",
    "CostSensitiveLogistic": "use scikit-learn's LogisticRegression with class_weight",
    "CostSensitiveSVM": "use scikit-learn's LinearSVC with class_weight",
}
__all__ = ["MonotoneTransform", "RankSVM", "RoBiRank", "Squares", "TableLogistic", "TableTrees", "TopPush"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            return getattr(importlib.import_module(_HOMES[name]), name)
        if name in _GONE:
            raise AttributeError(f"rerank.scorers has no {name!r} any more: {_GONE[name]}.")
        raise AttributeError(f"module 'rerank.scorers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
