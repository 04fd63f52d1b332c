"""Figure 1 of the TreeRSVM paper: ``python -m benchmarks.papers --treersvm``.

Prints the seconds of a subgradient by trees and by pairs and of a fit, and the test error, at growing m. The rows are
the sparse, text-like ones of :mod:`benchmarks.first_stage.ranksvm`, whose utilities all differ; the paper's are tf-idf
rows of RCV1. As there, alpha is 1e-5, the loss is the hinge, and the test list has 20,000 rows.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import njit

from benchmarks.first_stage.ranksvm import ALPHA, text_like
from benchmarks.first_stage.robirank_kernels import clock
from benchmarks.papers.hinge import HingeRankSVM
from rerank.scorers.base import Floats, RankingData
from rerank.scorers.ranksvm.pairs import UtilityPairs

TEST_ROWS = 20_000


@njit(cache=True)
def counts_by_pairs(score: Any, y: Any) -> tuple[Any, float]:  # pragma: no cover
    """Per row, how often it stands in violated pairs above less how often below; and the sum of the losses."""
    m = score.size
    found, loss = np.zeros(m), 0.0
    for i in range(m):
        for k in range(m):
            if y[i] > y[k] and score[i] < score[k] + 1.0:
                found[i] -= 1.0
                found[k] += 1.0
                loss += score[k] + 1.0 - score[i]
    return found, loss


def pairwise_error(score: Any, y: Any) -> float:
    """Share of the pairs whose order is wrong; neither scores nor utilities may be equal."""
    from scipy.stats import kendalltau

    return float((1 - kendalltau(score, y).statistic) / 2)


def subgradients(X: Any, y: Floats, by_pairs: bool) -> tuple[float, float | None]:
    """Seconds of the sums over pairs at some scores, by trees and by a compiled loop; both must agree."""
    data = RankingData(X, y, np.zeros(y.size, np.int64), np.ones(y.size))
    pairs = UtilityPairs(data, "pairs")
    score = np.asarray(X @ (0.1 * np.random.default_rng(0).standard_normal(X.shape[1])))
    tree = clock(lambda: pairs.at(score).hinge, 3)
    if not by_pairs:
        return tree, None
    (loss, slope), (found, slow) = pairs.at(score).hinge, counts_by_pairs(score, y)
    n_pairs = y.size * (y.size - 1) / 2
    assert np.allclose(loss, slow / n_pairs) and np.allclose(slope, found / n_pairs, atol=1e-15)
    return tree, clock(lambda: counts_by_pairs(score, y), 3)


def report(largest: int, pairs_up_to: int) -> None:
    """Print one line for each number of rows, doubled up to ``largest``."""
    X, y = text_like(largest + TEST_ROWS)
    test_X, test_y = X[largest:], y[largest:]
    print("CPU seconds of one thread; hinge loss, alpha 1e-5; error: wrong pairs of 20,000 test rows")
    heads = f"{'subgradient, trees':>18}  {'by pairs':>9}  {'fit, gap 1e-3':>13}  {'rounds':>6}  {'test error':>10}"
    print(f"{'m':>8}  {heads}")
    HingeRankSVM(ALPHA, tol=1e-3).fit(X[:1000], y[:1000])  # compiles, or reads what is compiled
    m = 1000
    while m <= largest:
        rows, own = X[:m], y[:m]
        by_tree, by_pairs = subgradients(rows, own, m <= pairs_up_to)
        began = time.process_time()
        ranker = HingeRankSVM(ALPHA, tol=1e-3).fit(rows, own)
        spent = time.process_time() - began
        error = pairwise_error(ranker.decision_function(test_X), test_y)
        slow = f"{by_pairs:9.4f}" if by_pairs is not None else f"{'-':>9}"
        print(f"{m:8d}  {by_tree:18.5f}  {slow}  {spent:13.3f}  {ranker.n_iter_:6d}  {error:10.4f}", flush=True)
        m *= 2
