"""TopPush's own statistic fitted itself: in training, and on held-out thirds.

Printed by ``python -m benchmarks.papers --pos-at-top``. Relevant rows above every other row, by logistic regression, by
TopPush with ``alpha`` chosen by folds, and by fits of ``stat="pos@top"`` over logistic regression: free weights, and
corrections within two radii. Columns are standardised.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.first_stage.data import Floats, bipartite, standardised
from benchmarks.first_stage.toppush_table import at_top, best_alpha, exact, quiet
from rerank import Reranker, datasets

RADII = (None, 0.1, 0.3)
SETS = ("haberman", "diabetes", "german", "uis", "spambase")
NAMES = ("logistic", "TopPush", "free", "r = .1", "r = .3")


def table(where: Path | None, name: str) -> tuple[Floats, Floats] | None:
    """Columns and labels of a shipped table, or of one of the folder; None where there is none."""
    if name in datasets.names():
        shipped = datasets.load(name)
        return standardised(shipped.X), np.asarray(shipped.y, dtype=np.float64)
    if where is None or not (where / name).is_dir():
        return None
    X, y = bipartite(where, name)
    return np.asarray(X), 1 - y if name == "diabetes" else y  # the paper's 500 positives are the healthy


def scorers(X: Floats, y: Floats, seconds: float) -> tuple[list[Floats], list[Reranker], list[float]]:
    """Weights of both first stages, the fits, and the seconds of each of these."""
    logistic = LogisticRegression(max_iter=2000).fit(X, y)
    weights = [logistic.coef_[0], quiet(exact, X, y, np.array([best_alpha(exact, X, y)]))[0]]
    fits, took = [], []
    for radius in RADII:
        began = time.perf_counter()
        stage = LogisticRegression(max_iter=2000)
        fit = Reranker(
            "pos@top",
            first_stage=stage,
            radius=radius,
            cross_fit=False,
            n_candidates=None,
            solver="search",
            time_limit=seconds,
        )
        fits.append(fit.fit(X, y))
        took.append(time.perf_counter() - began)
    return weights, fits, took


def report(where: Path | None, sets: list[str], splits: int, seconds: float) -> None:
    """Both tables; a fit in training has so many seconds, one of a split a fifth of them."""
    warnings.simplefilter("ignore")
    tables = {name: found for name in sets if (found := table(where, name)) is not None}
    print("whole tables: relevant rows above every other row, bound in brackets where it is not proved, seconds")
    print(f"{'set':10} {'rows':>5} {'relevant':>8}" + "".join(f"{name:>22}" for name in NAMES))
    for name, (X, y) in tables.items():
        p, (weights, fits, took) = y.sum(), scorers(X, y, seconds)
        cells = [f"{round(p * at_top(y, X @ w))}" for w in weights]
        for fit, second in zip(fits, took):
            best, bound = round(p * fit.result_.value), round(p * fit.result_.bound)
            cells.append(f"{best}{'' if fit.result_.gap < 0.5 / p else f' [{bound}]'}, {second:.1f} s")
        print(f"{name:10} {y.size:5} {round(p):8}" + "".join(f"{cell:>22}" for cell in cells), flush=True)
    print(f"\nheld-out thirds, {splits} splits: mean Pos@Top +- its standard error, lead over logistic regression")
    print(f"{'set':10}" + "".join(f"{name:>28}" for name in NAMES))
    for name, (X, y) in tables.items():
        tops = np.array([split(X, y, seed, seconds / 5) for seed in range(splits)])
        leads = tops - tops[:, :1]
        cells = [
            f"{top.mean():.3f}" + ("" if not j else f" ({lead.mean():+.3f} +- {lead.std(ddof=1) / splits**0.5:.3f})")
            for j, (top, lead) in enumerate(zip(tops.T, leads.T))
        ]
        print(f"{name:10}" + "".join(f"{cell:>28}" for cell in cells), flush=True)


def split(X: Floats, y: Floats, seed: int, seconds: float) -> list[float]:
    """Pos@Top of each method on a random third, fitted on the rest."""
    order = np.random.default_rng(seed).permutation(y.size)
    train, test = order[: 2 * y.size // 3], order[2 * y.size // 3 :]
    weights, fits, _ = scorers(X[train], y[train], seconds)
    return [at_top(y[test], X[test] @ w) for w in weights] + [
        at_top(y[test], fit.decision_function(X[test])) for fit in fits
    ]
