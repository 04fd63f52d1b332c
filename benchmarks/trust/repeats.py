"""The same fit again and again in one process: every bit of the answer stays.

Printed by ``python -m benchmarks.trust --repeats``.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.exact.data import noisy_problem
from benchmarks.trust.summary import Case, Summary
from rerank import Reranker
from rerank.latent import LatentRoBiRank
from rerank.scorers import RankSVM, RoBiRank, TopPush
from rerank.search import solve
from tests.cases.latent import clustered_log
from tests.cases.scorers import bipartite


def repeats(size: int, first: int, jobs: int) -> Summary:
    """Each of the fits ``size`` times with the seed ``first``."""
    summary = Summary(f"{len(fits(first))} fits {size} times each, seed {first}")
    for name, fit in fits(first).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bits = [digest(fit()) for _ in range(size)]
        differ = sum(one != bits[0] for one in bits)
        bad = (f"{differ} of {size} differ from the first",) if differ else ()
        summary.add(Case(name, bad, ("kinds",)))
    return summary


def fits(seed: int) -> dict[str, Callable[[], list[Any]]]:
    """Every kind of fit by name; each returns the numbers that have to stay."""
    X, y = bipartite(n=60, d=4, seed=seed)
    few = np.concatenate([np.flatnonzero(y > 0)[:5], np.flatnonzero(y <= 0)[:9]])
    found: dict[str, Callable[[], list[Any]]] = {
        "search, 1 thread": partial(searched, seed, 1),
        "search, 2 threads": partial(searched, seed, 2),
        "reranker by the search": partial(reranked, X, y, seed, solver="search"),
        "reranker by HiGHS": partial(reranked, X, y, seed, solver="highs"),
        "reranker by HiGHS without presolve": partial(
            reranked, X[few], y[few], seed, solver="highs", presolve=False, formulation="mixed", first_stage=None
        ),
        "latent retrieval": partial(latent, seed),
    }
    for scorer in (TopPush, RankSVM, RoBiRank):
        found[scorer.__name__] = partial(scored, scorer, X, y)
    return found


def searched(seed: int, n_jobs: int) -> list[Any]:
    """A search of some hundred boxes, with its proof."""
    found = solve(noisy_problem(40, 4, "auc", 0.35, seed), time_limit=None, n_jobs=n_jobs, proof=True)
    proof: Any = found.proof
    return [found.value, found.bound, found.weights, found.nodes, proof.codes]


def reranked(X: np.ndarray, y: np.ndarray, seed: int, **options: Any) -> list[Any]:
    """A whole fit and the scores of its rows."""
    options = {"stat": "dcg@5", "n_candidates": 20, "time_limit": 60.0, **options}
    est = Reranker(random_state=seed, **options).fit(X, y)
    result = est.result_
    return [result.value, result.bound, result.statistic, result.weights, est.decision_function(X)]


def scored(scorer: Any, X: np.ndarray, y: np.ndarray) -> list[Any]:
    """The weights of a first stage."""
    return [scorer().fit(X, y).coef_]


def latent(seed: int) -> list[Any]:
    """Vectors of users and items."""
    model = LatentRoBiRank(n_factors=4, random_state=seed).fit(clustered_log(60, 40, seed=seed))
    return [model.user_factors_, model.item_factors_]


def digest(numbers: list[Any]) -> str:
    """A digest of every bit."""
    found = hashlib.sha256()
    for number in numbers:
        found.update(np.ascontiguousarray(number).tobytes())
    return found.hexdigest()
