"""Scorecards: whole-number points on yes/no questions, fitted to a rank statistic, with a proof.

>>> import pandas as pd
>>> from rerank.scorecard import Scorecard
>>> table = pd.DataFrame({"age": [61, 72, 35, 44, 68, 29], "claim": ["yes", "no", "yes", "no", "yes", "no"]})
>>> card = Scorecard(n_questions=2, validation=None).fit(table, [1, 1, 0, 0, 1, 0])
>>> card.result_.value, card.result_.status
(1.0, 'optimal')
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rerank.scorecard.card import Card, Cut
    from rerank.scorecard.estimator import Scorecard
    from rerank.scorecard.files import Total
    from rerank.scorecard.frontier import Frontier
    from rerank.scorecard.pool import Pool
    from rerank.scorecard.questions import Question
    from rerank.scorecard.regret import Regret
    from rerank.scorecard.result import CardResult
    from rerank.scorecard.verify import Verified

_HOMES = {
    "Card": "card",
    "CardResult": "result",
    "Cut": "card",
    "Frontier": "frontier",
    "Pool": "pool",
    "Question": "questions",
    "Regret": "regret",
    "Scorecard": "estimator",
    "Total": "files",
    "Verified": "verify",
}
__all__ = ["Card", "CardResult", "Cut", "Frontier", "Pool", "Question", "Regret", "Scorecard", "Total", "Verified"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
