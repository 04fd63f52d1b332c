"""What reranking a whole list costs against its head: seconds, memory and what is left open, by the rows of the list.

The number of rows up to which ``n_candidates="auto"`` takes whole lists is read off this table.

Printed by ``python -m benchmarks.exact --whole-lists``.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
import warnings

import numpy as np

ROWS = (500, 1000, 2000, 4000, 8000)
FEATURES = (3, 6, 12)
LIMIT = 20.0


def report() -> int:
    """Print the table: precision@N and dcg@N with N = 50, 5 % of the rows positive, default options."""
    print(
        f"{'rows':>6} {'features':>8} {'statistic':13} {'head':>6} {'CPU s':>6} {'MB':>6} {'statistic':>9} {'gap':>7}"
    )
    context = multiprocessing.get_context("spawn")
    for statistic in ("precision@50", "dcg@50"):
        for d in FEATURES:
            for n in ROWS:
                for head in (100, n):
                    # A process for each fit, since the peak of memory is that of a process.
                    with context.Pool(1) as pool:
                        print(pool.apply(fitted, (n, d, statistic, head)), flush=True)
    return 0


def fitted(n: int, d: int, statistic: str, head: int) -> str:
    """One fit as a line of the table; memory is what the fit adds to that of a small one."""
    from rerank import Reranker

    warnings.simplefilter("ignore")
    Reranker(stat="dcg@5", time_limit=LIMIT).fit(*_drawn(40, 3))
    before, began = _peak(), time.process_time()
    est = Reranker(stat=statistic, n_candidates=head, time_limit=LIMIT).fit(*_drawn(n, d))
    found, seconds = est.result_, time.process_time() - began
    return (
        f"{n:>6} {d:>8} {statistic:13} {head:>6} {seconds:6.1f} {_peak() - before:6.0f} {found.statistic:9.3f} "
        f"{found.gap:7.3f}"
    )


def _drawn(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows with a linear signal and as much noise, of which 5 % (at least two) are relevant."""
    rng = np.random.default_rng(n * d)
    X = rng.normal(size=(n, d))
    latent = X @ rng.normal(size=d) / np.sqrt(d) + rng.normal(size=n)
    y = np.zeros(n, int)
    y[np.argsort(-latent)[: max(2, n // 20)]] = 1
    return X, y


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
