"""RankSVM beside other programs: ``python -m benchmarks.ranksvm [--peers] [--sizes 1000,100000]``.

CPU seconds on one thread, medians of runs taken in turn, and every objective beside its time.  Peers run where
they can be imported (scikit-survival, dlib); ``--liblinear`` and ``--svm-rank`` name programs built elsewhere, whose
reading of text is measured by a run that stops at once.  Sparse rows: 50 draws from 50,000 Zipf words, tf-idf,
norm 1; utilities linear in them plus half as much noise; all different.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

from benchmarks.exact_data import arrays, folder
from benchmarks.ranksvm_peers import Floats, Run, dlib_planes, liblinear, logistic, survival, svm_rank
from rerank.scorers import RankSVM

ALPHA = 1e-5


def text_like(m: int, d: int = 50_000, per_row: int = 50, seed: int = 0) -> tuple[Any, Floats]:
    """The sparse rows (m, d) and their utilities (m,)."""
    rng = np.random.default_rng(seed)
    zipf = 1 / np.arange(1, d + 1)
    words = rng.choice(d, m * per_row, p=zipf / zipf.sum()).astype(np.int32)
    X = csr_matrix((np.ones(m * per_row), words, np.arange(0, m * per_row + 1, per_row)), shape=(m, d))
    X.sum_duplicates()
    rarity = np.log((m + 1) / (np.bincount(X.indices, minlength=d) + 1))
    X.data = (1 + np.log(X.data)) * rarity[X.indices]
    X.data /= np.repeat(np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1])), np.diff(X.indptr))
    signal = X @ np.random.default_rng(99).standard_normal(d)
    return X, signal + 0.5 * signal.std() * rng.standard_normal(m)


def cpu() -> float:
    """CPU seconds of this process and of the programs it waited for."""
    child = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + child.ru_utime + child.ru_stime


def table(title: str, runs: dict[str, Run], repeats: int) -> dict[str, float]:
    """Run all in turn, ``repeats`` times after a first time that is not counted; print the medians."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    says = dict.fromkeys(runs, "")
    for turn in range(repeats + 1):
        for name, run in runs.items():
            before = cpu()
            says[name] = run()
            if turn:
                taken[name].append(cpu() - before)
    print(f"\n{title}")
    medians = {name: float(np.median(t)) for name, t in taken.items()}
    for name, seconds in medians.items():
        print(f"  {name:<32} {seconds:9.4f} s   {says[name]}", flush=True)
    return medians


def fit(X: Any, y: Floats, **options: Any) -> Run:
    """A fit of RankSVM; says its objective and gap."""

    def run() -> str:
        ranker = RankSVM(**options).fit(X, y)
        return f"objective {ranker.objective_:.9f}, gap {ranker.gap_:.1e}, {ranker.n_iter_} iterations"

    return run


def sparse_tables(chosen: argparse.Namespace) -> None:
    """Squared hinge, and the hinge where it is quick, at growing m."""
    from sklearn.datasets import dump_svmlight_file

    last: tuple[int, float] | None = None
    for m in map(int, chosen.sizes.split(",")):
        X, y = text_like(m)
        runs = {f"squared hinge, tol {tol:g}": fit(X, y, alpha=ALPHA, tol=tol) for tol in (1e-4, 1e-6)}
        runs |= {f"logistic, {solver}": logistic(X, y, solver) for solver in ("liblinear", "lbfgs")}
        if m <= 100_000:
            runs["hinge, tol 3e-3"] = fit(X, y, alpha=ALPHA, loss="hinge", tol=3e-3)
        with tempfile.TemporaryDirectory() as where:
            text = f"{where}/rows"
            if chosen.liblinear or chosen.svm_rank:
                dump_svmlight_file(X, y, text, zero_based=False, query_id=np.ones(m, int))
            if chosen.liblinear:
                runs |= liblinear(chosen.liblinear, text, X, y, ALPHA)
            if chosen.svm_rank and m <= 8000:
                runs |= svm_rank(chosen.svm_rank, text, X, y, ALPHA)
            took = table(f"sparse, m = {m:,}, {X.nnz / m:.0f} entries a row", runs, chosen.repeats)
        first = took["squared hinge, tol 0.0001"]
        print(f"  times one liblinear logistic regression: {first / took['logistic, liblinear']:.2f}")
        if last is not None:
            print(f"  times the fit at m = {last[0]:,}: {first / last[1]:.1f}")
        last = m, first


def dense_table(m: int, peers: bool, repeats: int) -> None:
    """Dense rows with 50 features, beside scikit-survival."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, 50))
    y = X @ rng.standard_normal(50) + 5 * rng.standard_normal(m)
    runs = {f"squared hinge, tol {tol:g}": fit(X, y, alpha=1e-3, tol=tol) for tol in (1e-4, 1e-8)}
    if peers and importlib.util.find_spec("sksurv"):
        runs |= survival(X, y, 1e-3)
    table(f"dense, m = {m:,}, d = 50", runs, repeats)


def bipartite_table(data: dict[str, Any], title: str, alpha: float, peers: bool, repeats: int) -> None:
    """The hinge on two grades, beside dlib, both to an absolute gap of 1e-3."""
    spread = data["X"].std(axis=0)
    X = (data["X"] - data["X"].mean(axis=0)) / np.where(spread > 0, spread, 1)
    y = data["y"].astype(np.float64)
    near = RankSVM(alpha, loss="hinge", tol=1e-2).fit(X, y).objective_
    runs = {"hinge": fit(X, y, alpha=alpha, loss="hinge", tol=1e-3 / near), "squared": fit(X, y, alpha=alpha)}
    if peers and importlib.util.find_spec("dlib"):
        runs |= dlib_planes(X, y, alpha)
    table(f"{title}, {X.shape}, alpha {alpha:g}", runs, repeats)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--peers", action="store_true", help="scikit-survival and dlib, where installed")
    options.add_argument(
        "--sizes", default="1000,8000,100000", help="rows of the sparse tables, between commas"
    )
    options.add_argument("--dense", default="1000,16000", help="rows of the dense tables, between commas")
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--liblinear", help="path of the program train of LIBLINEAR-rankSVM")
    options.add_argument("--svm-rank", help="path of the program svm_rank_learn")
    options.add_argument("--data", help="folder of data sets")
    chosen = options.parse_args(arguments)
    with threadpool_limits(1):
        if chosen.sizes:
            sparse_tables(chosen)
        for m in map(int, filter(None, chosen.dense.split(","))):
            dense_table(m, chosen.peers, chosen.repeats)
        where = folder(chosen.data)
        if where is not None:
            for name, alpha in (
                ("spambase", 0.1),
                ("spambase", 1e-3),
                ("spambase", 1e-4),
                ("coil2000", 1e-2),
            ):
                bipartite_table(arrays(where, name), name, alpha, chosen.peers, chosen.repeats)


if __name__ == "__main__":
    main()
