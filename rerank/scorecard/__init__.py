"""Scorecards: whole-number points on yes/no questions, fitted to a rank statistic, with a proof.

>>> import pandas as pd
>>> from rerank.scorecard import Scorecard
>>> table = pd.DataFrame({"age": [61, 72, 35, 44, 68, 29], "claim": ["yes", "no", "yes", "no", "yes", "no"]})
>>> card = Scorecard(n_questions=2, validation=None).fit(table, [1, 1, 0, 0, 1, 0])
>>> card.result_.value, card.result_.status
(1.0, 'optimal')
"""

from rerank.scorecard.card import Card, Cut
from rerank.scorecard.estimator import Scorecard
from rerank.scorecard.files import Total
from rerank.scorecard.frontier import Frontier
from rerank.scorecard.pool import Pool
from rerank.scorecard.questions import Question
from rerank.scorecard.regret import Regret
from rerank.scorecard.result import CardResult
from rerank.scorecard.verify import Verified

__all__ = ["Card", "CardResult", "Cut", "Frontier", "Pool", "Question", "Regret", "Scorecard", "Total", "Verified"]
