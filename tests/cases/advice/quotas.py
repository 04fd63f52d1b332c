"""Advice on quotas: texts, counts that clash, kinds of rows, programs, files."""

import numpy as np

from rerank import Reranker
from tests.cases.advice import Row

RNG = np.random.default_rng(5)
X = RNG.normal(size=(30, 2))
Y = (X[:, 0] + RNG.normal(size=30) > 0.5).astype(int)
KIND = np.where(X[:, 1] > 0, "A", "B")  # 14 of A


def kept(quota="at least 4 of A among the first 10", people=KIND, **options):
    """A fit under quotas."""
    given = {"stat": "precision@5", "first_stage": None, "solver": "search", "time_limit": 10.0} | options
    return Reranker(quota=quota, **given).fit(X, Y, people=people)


def counts(quota="at least 4 of A among the first 10", **options) -> bool:
    found = kept(quota, **options)
    return any(note.startswith("Quota '") for note in found.result_.notes)


ROWS = {
    "which does not prove that there are none; raise time_limit, use solver='search', or ask for less.": Row(
        lambda: kept(time_limit=0), counts
    )
}
