"""The reranking paper's protocol: a base ranker on all rows, a shortlist, the head of the list fitted exactly.

Each base ranker is judged plain and reranked on the same held-out rows. The protocol is the paper's: in-sample scores
of the base ranker cut a shortlist of ``max(3 N, 50)`` rows, weights are free, and there is no margin beyond the
program's. The paper's own tables are not at hand, so the base rankers are run here.

Printed by ``python -m benchmarks.papers --reranking --data FOLDER``.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import arrays

TABLES = {"uis": 20, "diabetes": 20, "abalone19": 20, "haberman": 10, "german": 20}
"""Tables, and the N of DCG@N."""

BASES = ("logistic", "ranksvm", "P-norm push", "toppush")


def base_of(name: str) -> Any:
    """The first stage that a name stands for."""
    if name != "P-norm push":
        return name
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from benchmarks.baselines import PNormPush

    return make_pipeline(StandardScaler(), PNormPush())


def parts_of(where: Path, table: str, split: int) -> tuple[Any, Any, Any, Any]:
    """Two thirds of the rows to learn from and a third to judge by: X, y, X_test, y_test."""
    from sklearn.model_selection import train_test_split

    data = arrays(where, table)
    X, y = np.asarray(data["X"], dtype=np.float64), (data["y"] > 0).astype(int)
    train, test = train_test_split(np.arange(y.size), test_size=1 / 3, stratify=y, random_state=split)
    return X[train], y[train], X[test], y[test]


def split_leads(where: Path, table: str, base: str, split: int, seconds: float) -> tuple[float, ...]:
    """Training and held-out DCG@N of a base ranker, then of its reranking, and whether that was proved optimal."""
    from rerank import Reranker
    from rerank.ranks import evaluate

    X, y, X_test, y_test = parts_of(where, table, split)
    places = TABLES[table]
    stat = f"dcg@{places}"
    est = Reranker(
        stat,
        first_stage=base_of(base),
        n_candidates=min(max(3 * places, 50), y.size),
        cross_fit=False,
        time_limit=seconds,
        random_state=0,
        n_jobs=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est.fit(X, y)
    found = [
        evaluate(stat, labels, np.asarray(score(rows)))
        for score in (est.first_stage_scores, est.decision_function)
        for rows, labels in ((X, y), (X_test, y_test))
    ]
    proved = est.result_.status in ("optimal", "already_ideal") or est.result_.gap == 0
    return (*found, float(proved))


def report(where: Path, splits: int, seconds: float) -> None:
    """Print one line for each table and base ranker."""
    print(f"DCG@N, mean of {splits} splits 2/3 to 1/3; lead of the reranking with its corrected 95 % interval")
    print(f"{'table, N':16} {'base':12} {'train':>7} {'reranked':>8} {'proved':>6}  {'test':>7} {'reranked':>8}  lead")
    for table, places in TABLES.items():
        for base in BASES:
            rows = np.array([split_leads(where, table, base, split, seconds) for split in range(splits)])
            lead = rows[:, 3] - rows[:, 1]
            # Splits share rows: the variance of Nadeau and Bengio (2003), test sets half as large as training sets.
            half = 1.96 * lead.std(ddof=1) * math.sqrt(1 / splits + 0.5)
            before, test, after, reranked, proved = rows.mean(axis=0)
            print(
                f"{table + ', ' + str(places):16} {base:12} {before:7.3f} {after:8.3f} {proved:6.0%}  {test:7.3f} "
                f"{reranked:8.3f}  {lead.mean():+.3f} +- {half:.3f}",
                flush=True,
            )
