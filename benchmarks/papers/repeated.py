"""Experiments of the papers on the data at hand, what the paper prints beside what is measured here.

``python -m benchmarks.papers --repeat --data FOLDER`` prints all of them; the tables of ``docs/papers.md`` are from it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.preprocessing import MinMaxScaler, normalize

from benchmarks.first_stage.data import Floats, bipartite
from benchmarks.first_stage.robirank_quality import splits_of, values_of
from benchmarks.first_stage.toppush_table import METHODS, PAPER, at_top, one_trial
from benchmarks.papers.hinge import HingeRankSVM
from benchmarks.papers.reranking import TABLES, parts_of
from benchmarks.papers.treersvm import pairwise_error
from rerank.scorers import RankSVM, TopPush


def unit(where: Path, name: str) -> tuple[Any, Floats]:
    """Rows of norm 1, as section 2 of the TopPush paper assumes: columns of dense tables are mapped to [0, 1] first."""
    X, y = bipartite(where, name)
    if not isinstance(X, csr_matrix):
        X = np.asarray(normalize(MinMaxScaler().fit_transform(X)))
    return X, 1 - y if name == "diabetes" else y


def toppush_table(where: Path, trials: dict[str, int]) -> None:
    """Table 2: Pos@Top of TopPush as its authors stop it and at its optimum, and of logistic regression."""
    print("\nTopPush, table 2: Pos@Top on random thirds; columns in [0, 1], rows of norm 1")
    print(
        f"{'table':16} {'trials':>6}  "
        + "  ".join(f"{METHODS[m][0]:>22}" for m in ("authors", "exact", "logistic"))
        + "   paper: TopPush, logistic"
    )
    for name, n in trials.items():
        X, y = unit(where, name)
        cells = []
        for method in ("authors", "exact", "logistic"):
            tops = [one_trial(METHODS[method][1], X, y, trial)[0] for trial in range(n)]
            cells.append(f"{np.mean(tops):13.3f} +- {np.std(tops):.3f}")
        printed = ", ".join(f"{PAPER[name][m][1]:.3f}" for m in ("TopPush", "logistic"))
        print(f"{name:16} {n:6d}  {'   '.join(cells)}   {printed}", flush=True)


def toppush_figure(where: Path) -> None:
    """Figure 2: steps and Pos@Top on w8a by tolerance and by lambda, for both stopping rules and the optimum."""
    X, y = unit(where, "w8a")
    order = np.random.default_rng(0).permutation(y.size)
    train, test = order[: 2 * y.size // 3], order[2 * y.size // 3 :]

    def at(alpha: float, stop: str, tol: float) -> str:
        solver = "newton" if stop == "gap" else "accelerated"
        est = TopPush(alpha=alpha, solver=solver, stop=stop, tol=tol).fit(X[train], y[train])
        return f"{est.n_iter_:5d} {at_top(y[test], X[test] @ est.coef_):.3f}"

    print("\nTopPush, figure 2, w8a: steps and Pos@Top of a random third; paper's rule, authors' program, optimum")
    for tol in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        print(f"lambda 1, tolerance {tol:6g}:  {at(1, 'paper', tol)}   {at(1, 'authors', tol)}", flush=True)
    for alpha in (1e-3, 1e-2, 1e-1, 1, 10, 100, 1000):
        rules = (at(alpha, "paper", 1e-4), at(alpha, "authors", 1e-4), at(alpha, "gap", 1e-6))
        print(f"lambda {alpha:6g}, tolerance 1e-4:  " + "   ".join(rules), flush=True)


def treersvm_text(where: Path, largest: int = 16_000) -> None:
    """Figure 1 on real text: utilities are the products with a document that is taken out, as in the paper."""
    with np.load(where / "news20_forsale" / "news20_forsale.npz", allow_pickle=False) as d:
        counts = csr_matrix((d["data"].astype(np.float64), d["indices"], d["indptr"]), shape=tuple(d["shape"]))
    frequency = np.asarray((counts > 0).sum(axis=0)).ravel()
    counts.data = (1 + np.log(counts.data)) * np.log((counts.shape[0] + 1) / (frequency[counts.indices] + 1))
    X = normalize(counts)[np.random.default_rng(0).permutation(counts.shape[0])]
    y = np.asarray((X[1:] @ X[0].T).todense()).ravel()
    X = X[1:]
    X_test, y_test = X[largest:], y[largest:]
    print("\nTreeRSVM, figure 1, on 20 newsgroups: seconds of a fit, share of wrong pairs of the other rows")
    for m in (1000, 2000, 4000, 8000, largest):
        told = []
        for make in (HingeRankSVM(1e-5, tol=1e-3), RankSVM(1e-5, tol=1e-3)):
            began = time.process_time()
            make.fit(X[:m], y[:m])
            spent = time.process_time() - began
            told.append(f"{spent:6.2f} s {pairwise_error(make.decision_function(X_test), y_test):.3f}")
        print(f"m {m:6d}   hinge {told[0]}   squared hinge {told[1]}", flush=True)


def reranking_lengths(where: Path, splits: int, seconds: float) -> None:
    """Section 2.1: the length of the shortlist, in training and on rows to come."""
    from rerank import Reranker
    from rerank.ranks import evaluate

    print(f"\nReranking: DCG@N by the length K of the shortlist over logistic regression, mean of {splits} splits")
    for table in ("abalone19", "uis", "haberman"):
        stat = f"dcg@{TABLES[table]}"
        for K in (TABLES[table], 50, 100, 200):
            rows = []
            for split in range(splits):
                X, y, X_test, y_test = parts_of(where, table, split)
                est = Reranker(
                    stat, n_candidates=min(K, y.size), cross_fit=False, time_limit=seconds, solver="search", n_jobs=1
                ).fit(X, y)
                rows.append(
                    [
                        evaluate(stat, labels, np.asarray(score(part)))
                        for part, labels in ((X, y), (X_test, y_test))
                        for score in (est.first_stage_scores, est.decision_function)
                    ]
                )
            base, fitted, test, after = np.mean(rows, axis=0)
            told = f"training {base:.2f} -> {fitted:.2f}   test {test:.2f} -> {after:.2f}"
            print(f"{table:10} K {K:4d}   {told}", flush=True)


def _log2_soft(t: Floats) -> tuple[Floats, Floats]:
    """``log2(1 + 2^t)`` and its slope."""
    return np.logaddexp2(0, t), 1 / (1 + np.exp2(-t))


TRANSFORMS = {
    "basic (6)": lambda s: (s, np.ones_like(s)),
    "Type I (11)": lambda s: (np.log2(s + 1), 1 / ((s + 1) * np.log(2))),
    "Type II (10)": lambda s: (1 - 1 / np.log2(s + 2), 1 / (np.log2(s + 2) ** 2 * (s + 2) * np.log(2))),
}
"""What is taken of the sum of losses of a row, ``rho`` of equations 2, 10 and 11, and its slope."""


def _objective(w: Floats, lists: list[tuple[Floats, Floats, float]], rho: Any, alpha: float) -> tuple[float, Floats]:
    value, slope = alpha / 2 * float(w @ w), alpha * w
    for X, gain, c in lists:
        s = X @ w
        loss, tilt = _log2_soft(s[None, :] - s[:, None])
        np.fill_diagonal(loss, 0)
        np.fill_diagonal(tilt, 0)
        told, factor = rho(loss.sum(axis=1))
        share = c * gain * factor
        value += c * float(gain @ told)
        slope = slope + X.T @ (share @ tilt) - X.T @ (share * tilt.sum(axis=1))
    return value, slope


def minimum(start: Floats, given: Any) -> Any:
    """A local minimum of the objective."""
    return minimize(_objective, start, given, jac=True, method="L-BFGS-B", options={"maxiter": 200})


def robirank_types(where: Path) -> None:
    """Section 3: Types I and II and the convex model on fold 1 of OHSUMED, from two starts each."""
    split = next(splits_of(where, "ohsumed"))[1]
    X, y, qid = split.X[0], split.y[0], split.qid[0]
    lists = []
    for rows in np.split(np.arange(y.size), np.flatnonzero(np.diff(qid)) + 1):
        gain = 2.0 ** y[rows] - 1
        if gain.any():
            best = np.sort(gain)[::-1] @ (1 / np.log2(np.arange(2, gain.size + 2)))
            lists.append((X[rows], gain, float(1 / best)))
    starts = [np.zeros(X.shape[1]), *np.random.default_rng(0).standard_normal((1, X.shape[1]))]
    print(
        "\nRoBiRank, section 3: nDCG@10 of the test lists of OHSUMED's fold 1;"
        " how far apart two starts end, after at most 200 steps"
    )
    for name, rho in TRANSFORMS.items():
        told = []
        for alpha in (1.0, 0.1, 0.01, 1e-4):
            ends = [minimum(w, (lists, rho, alpha)) for w in starts]
            least = min(ends, key=lambda end: end.fun)
            spread = (max(end.fun for end in ends) - least.fun) / least.fun
            told.append(f"{values_of(split, 2, split.X[2] @ least.x, (10,)).mean():.3f} ({spread:.0e})")
        print(f"{name:13} lambda 1, .1, .01, 1e-4:  " + "  ".join(told), flush=True)


def report(where: Path) -> None:
    """Print all experiments, each with its CPU seconds."""
    trials = {"diabetes": 30, "spambase": 10, "w8a": 2, "news20_forsale": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for run in _runs(where, trials):
            began = time.process_time()
            run()
            print(f"({time.process_time() - began:.0f} CPU s)", flush=True)


def _runs(where: Path, trials: dict[str, int]) -> Iterator[Any]:
    yield lambda: toppush_figure(where)
    yield lambda: toppush_table(where, trials)
    yield lambda: treersvm_text(where)
    yield lambda: reranking_lengths(where, 10, 1.0)
    yield lambda: robirank_types(where)
