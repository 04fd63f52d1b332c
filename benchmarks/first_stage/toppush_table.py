"""The paper's table 2 on the sets that are there: its protocol, and its own figures beside ours.

Printed by ``python -m benchmarks.first_stage.toppush --table``.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_rel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks.first_stage.data import Floats, bipartite
from rerank.scorers import TopPush

# Seconds, Pos@Top, its deviation, AP, NDCG, AUC [N. Li et al., NIPS 2014, table 2].
PAPER: dict[str, dict[str, tuple[float, ...]]] = {
    "diabetes": {
        "TopPush": (5.11e-3, 0.123, 0.056, 0.872, 0.976, 0.780),
        "logistic": (2.30e-2, 0.064, 0.075, 0.881, 0.973, 0.810),
    },
    "spambase": {
        "TopPush": (0.151, 0.129, 0.077, 0.922, 0.988, 0.942),
        "logistic": (3.11e-2, 0.071, 0.053, 0.920, 0.987, 0.952),
    },
    "w8a": {
        "TopPush": (7.35, 0.226, 0.053, 0.710, 0.938, 0.922),
        "logistic": (2.46, 0.107, 0.093, 0.450, 0.775, 0.591),
    },
    "news20_forsale": {
        "TopPush": (2.16, 0.191, 0.088, 0.843, 0.970, 0.969),
        "logistic": (4.14, 0.086, 0.067, 0.803, 0.962, 0.973),
    },
    "nslkdd": {
        "TopPush": (76.4, 0.633, 0.088, 0.978, 0.997, 0.969),
        "logistic": (36.3, 0.220, 0.053, 0.981, 0.998, 0.972),
    },
}
ALPHAS: Floats = np.logspace(-3, 3, 7)
# As in the paper the grid goes on while its end is the best; no further than this.
FURTHEST = 1e6
FOLDS = 5

Fit = Callable[[Any, Floats, Floats], Floats]


def exact(X: Any, y: Floats, alphas: Floats) -> Floats:
    """Weights for each alpha (n, d): optima, one path."""
    return TopPush().path(X, y, alphas).coefs


def share(X: Any, y: Floats, alphas: Floats) -> Floats:
    """Optima with the mean of the highest 5 % of the irrelevant rows as threshold."""
    return TopPush(threshold="quantile").path(X, y, alphas).coefs


def authors(X: Any, y: Floats, alphas: Floats) -> Floats:
    """Where the authors' program stops; each from the start, since the answer depends on it."""
    early = {"solver": "accelerated", "stop": "authors", "tol": 1e-4}
    return np.array([TopPush(alpha=a, **early).fit(X, y).coef_ for a in alphas])  # type: ignore[arg-type]


def logistic(X: Any, y: Floats, alphas: Floats) -> Floats:
    """Logistic regression, ``C = 1 / alpha``."""
    solver = "newton-cholesky" if X.shape[1] <= 500 else "lbfgs"
    return np.array([LogisticRegression(C=1 / a, max_iter=500, solver=solver).fit(X, y).coef_[0] for a in alphas])


METHODS: dict[str, tuple[str, Fit]] = {
    "exact": ("TopPush, exact", exact),
    "share": ("TopPush, top 5 %", share),
    "authors": ("TopPush, authors' stop", authors),
    "logistic": ("logistic", logistic),
}


def at_top(y: Floats, scores: Floats) -> float:
    """Share of the relevant rows above every other row; ties count against them."""
    return float(np.mean(scores[y > 0] > scores[y == 0].max()))


def ndcg(y: Floats, scores: Floats) -> float:
    """NDCG of the whole list; ties count against the relevant rows."""
    discount = 1 / np.log2(np.arange(2, y.size + 2))
    return float(discount[y[np.lexsort((y, -scores))] > 0].sum() / discount[: int((y > 0).sum())].sum())


def report(where: Path, sets: list[str], trials: int, methods: list[str]) -> None:
    """Means over random splits of two thirds and one, and the paper's figures.

    Seconds are those of a fit of the whole table at the alpha chosen most often, as in the paper.
    """
    print("set            method                  Pos@Top          against exact    AP   NDCG    AUC   alpha  seconds")
    for name in sets:
        X, y = bipartite(where, name)
        if name == "diabetes":
            y = 1 - y  # the paper's 500 positives are the healthy
        found: dict[str, list[tuple[float, ...]]] = {m: [] for m in methods}
        for trial in range(trials):
            for method in methods:
                found[method].append(one_trial(METHODS[method][1], X, y, trial))
            means = ", ".join(f"{m} {np.mean([r[0] for r in found[m]]):.3f}" for m in methods)
            print(f"{name}, {trial + 1} trials: {means}", file=sys.stderr, flush=True)
        for method in methods:
            print(line(name, method, found, X, y), flush=True)
        for method, (seconds, top, spread, *others) in PAPER[name].items():
            rest = "  ".join(f"{v:.3f}" for v in others)
            print(f"{name:14} {'paper, ' + method:23} {top:.3f} +- {spread:.3f} {'':15} {rest} {'':7} {seconds:8.3g}")


def one_trial(fit: Fit, X: Any, y: Floats, trial: int) -> tuple[float, ...]:
    """Pos@Top, AP, NDCG and AUC on a random third, and the alpha chosen on the rest."""
    order = np.random.default_rng(trial).permutation(y.size)
    train, test = order[: 2 * y.size // 3], order[2 * y.size // 3 :]
    chosen = best_alpha(fit, X[train], y[train])
    s = X[test] @ quiet(fit, X[train], y[train], np.array([chosen]))[0]
    held = y[test]
    return at_top(held, s), average_precision_score(held, s), ndcg(held, s), roc_auc_score(held, s), chosen


def line(name: str, method: str, found: dict[str, list[tuple[float, ...]]], X: Any, y: Floats) -> str:
    """A row of the table; "worse" and "better" by a paired t-test at level 0.9, the paper's."""
    runs = np.array(found[method])
    tops, first = runs[:, 0], np.array(found.get("exact", found[method]))[:, 0]
    mark = ""
    if tops.size > 1 and (tops != first).any() and ttest_rel(tops, first).pvalue < 0.1:
        mark = "better" if tops.mean() > first.mean() else "worse"
    values, counts = np.unique(runs[:, 4], return_counts=True)
    alpha = values[counts.argmax()]
    began = time.process_time()
    quiet(METHODS[method][1], X, y, np.array([alpha]))
    seconds = time.process_time() - began
    rest = "  ".join(f"{v:.3f}" for v in runs[:, 1:4].mean(axis=0))
    return (
        f"{name:14} {METHODS[method][0]:23} {tops.mean():.3f} +- {tops.std():.3f} {mark:15} {rest} {alpha:7g} "
        f"{seconds:8.3g}"
    )


def quiet(fit: Fit, X: Any, y: Floats, alphas: Floats) -> Floats:
    """Fit without warnings: that zero weights are optimal shows in the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(X, y, alphas)


def best_alpha(fit: Fit, X: Any, y: Floats) -> float:
    """Alpha of the largest mean Pos@Top over folds; the larger of equals."""
    fold = np.random.default_rng(0).permutation(y.size) % FOLDS

    def means(alphas: Floats) -> dict[float, float]:
        tops = []
        for f in range(FOLDS):
            weights = quiet(fit, X[fold != f], y[fold != f], alphas)
            tops.append([at_top(y[fold == f], s) for s in (X[fold == f] @ weights.T).T])
        return dict(zip(alphas.tolist(), np.mean(tops, axis=0).tolist(), strict=True))

    tried = means(ALPHAS)
    while True:
        best = max(tried.values())
        equal = [a for a, top in tried.items() if top >= best - 1e-12]
        # Where more than the end does best, or nothing does anything, there is nothing to go on for.
        end = len(equal) == 1 and equal[0] in (min(tried), max(tried))
        step = 10.0 if equal[0] == max(tried) else 0.1
        further = equal[0] * step
        if not end or not 1 / FURTHEST <= further <= FURTHEST:
            return max(equal)
        tried |= means(np.array([further]))
