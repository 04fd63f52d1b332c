"""Runs are fitted in every form in which they are evaluated."""

import ir_measures
import pandas as pd

from rerank.fusion import ScoreFusion
from tests.fusion import naive


class Named:
    """As a run of ranx is."""

    def __init__(self, given, name):
        self.name, self.to_dict = name, lambda: given


def rows(given):
    return [(query, doc, value) for query, own in given.items() for doc, value in own.items()]


def test_sequences_of_named_runs_and_of_scored_documents_are_fitted_as_mappings():
    runs, qrels = naive.made(6, (1.5, 0.3), seed=1)
    judged = [ir_measures.Qrel(*row) for row in rows(qrels)]
    forms = [
        (runs, qrels),
        ([Named(own, name) for name, own in runs.items()], judged),
        (
            {name: [ir_measures.ScoredDoc(*row) for row in rows(own)] for name, own in runs.items()},
            pd.DataFrame(rows(qrels), columns=["query-id", "corpus-id", "score"]),
        ),
    ]
    made = [ScoreFusion(cv=None, normalise="minmax", node_limit=0).fit(*form).weights_ for form in forms]
    assert set(made[0]) == {"r0", "r1"} and made[0] == made[1] == made[2]
