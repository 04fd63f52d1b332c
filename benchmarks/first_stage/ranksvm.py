"""RankSVM beside other programs: ``python -m benchmarks.first_stage.ranksvm [--peers] [--sizes 1000,100000]``.

Prints CPU seconds on one thread, medians of runs taken in turn, and every objective, computed outside the clock, beside
its time.  ``--peers`` adds scikit-survival where it can be imported; ``--liblinear`` names the program ``train`` of
LIBLINEAR-rankSVM, whose reading of text is measured by a run that stops at once.  Sparse rows: 50 draws from 50,000
Zipf words, tf-idf, norm 1; utilities linear in them plus half as much noise; all different.
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

from benchmarks.data import folder
from benchmarks.first_stage.data import bipartite
from benchmarks.first_stage.ranksvm_peers import LIBLINEAR, Done, Floats, Run, liblinear, logistic, survival
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
            done = run()
            spent = cpu() - before
            if turn:
                taken[name].append(spent)
            else:
                says[name] = done.say()
    print(f"\n{title}")
    medians = {name: float(np.median(t)) for name, t in taken.items()}
    for name, seconds in medians.items():
        print(f"  {name:<32} {seconds:9.4f} s   {says[name]}", flush=True)
    return medians


def fit(X: Any, y: Floats, **options: Any) -> Run:
    """A fit of RankSVM; says its objective and gap."""

    def run() -> Done:
        ranker = RankSVM(**options).fit(X, y)
        text = f"objective {ranker.objective_:.9f}, gap {ranker.gap_:.1e}, {ranker.n_iter_} iterations"
        return Done(lambda: text)

    return run


def written(X: Any, y: Floats, where: str) -> str:
    """The rows as a text file for other programs."""
    from sklearn.datasets import dump_svmlight_file

    path = f"{where}/rows"
    dump_svmlight_file(X, y, path, zero_based=False, query_id=np.ones(y.size, int))
    return path


def sparse_tables(chosen: argparse.Namespace) -> None:
    """The squared hinge at growing m."""
    last: tuple[int, float] | None = None
    for m in sizes(chosen.sizes):
        X, y = text_like(m)
        runs = {f"squared hinge, tol {tol:g}": fit(X, y, alpha=ALPHA, tol=tol) for tol in (1e-4, 1e-6, 1e-8)}
        runs |= {f"logistic, {solver}": logistic(X, y, solver) for solver in ("liblinear", "lbfgs")}
        with tempfile.TemporaryDirectory() as where:
            if chosen.liblinear:
                runs |= liblinear(chosen.liblinear, written(X, y, where), X, y, ALPHA)
            took = table(f"sparse, m = {m:,}, {X.nnz / m:.0f} entries a row", runs, chosen.repeats)
        first = took["squared hinge, tol 0.0001"]
        print(f"  times one liblinear logistic regression: {first / took['logistic, liblinear']:.2f}")
        if chosen.liblinear:
            read = took[f"{LIBLINEAR} 1e10"]
            ratios = [(took[f"{LIBLINEAR} {eps}"] - read) / first for eps in ("1e-3", "1e-6")]
            print(f"  LIBLINEAR-rankSVM without its reading, times ours: {ratios[0]:.1f}, {ratios[1]:.1f}")
        if last is not None:
            print(f"  times the fit at m = {last[0]:,}: {first / last[1]:.1f}")
        last = m, first


def path_table(X: Any, y: Floats, title: str, lowest: float, repeats: int) -> None:
    """Ten alphas from 1e4 times ``lowest`` down, in one path and in ten fits."""
    alphas = lowest * np.logspace(4, 0, 10)

    def path() -> Done:
        values = RankSVM().path(X, y, alphas).objectives
        return Done(lambda: f"objectives {values[0]:.6f} ... {values[-1]:.6f}")

    def fits() -> Done:
        values = [RankSVM(alpha).fit(X, y).objective_ for alpha in alphas]
        return Done(lambda: f"objectives {values[0]:.6f} ... {values[-1]:.6f}")

    took = table(f"{title}: ten alphas", {"path": path, "ten fits": fits}, repeats)
    print(f"  path, times ten fits: {took['path'] / took['ten fits']:.2f}")


def dense_table(m: int, peers: bool, repeats: int) -> None:
    """Dense rows with 50 features, beside scikit-survival."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, 50))
    y = X @ rng.standard_normal(50) + 5 * rng.standard_normal(m)
    runs = {f"squared hinge, tol {tol:g}": fit(X, y, alpha=1e-3, tol=tol) for tol in (1e-4, 1e-8)}
    if peers and importlib.util.find_spec("sksurv"):
        runs |= survival(X, y, 1e-3)
    took = table(f"dense, m = {m:,}, d = 50", runs, repeats)
    for tree in ("avltree", "rbtree"):
        if f"scikit-survival, {tree}" in took:
            ratio = took[f"scikit-survival, {tree}"] / took["squared hinge, tol 1e-08"]
            print(f"  scikit-survival, {tree}, times ours to 1e-8: {ratio:.1f}")


def sizes(text: str) -> list[int]:
    """Numbers between commas."""
    return [int(float(part)) for part in text.split(",") if part]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.first_stage.ranksvm", description=__doc__)
    options.add_argument("--peers", action="store_true", help="scikit-survival, where installed")
    options.add_argument("--sizes", default="1000,10000,100000", help="rows of the sparse tables, between commas")
    options.add_argument("--dense", default="1000,16000", help="rows of the dense tables")
    options.add_argument("--repeats", type=int, default=7)
    options.add_argument("--liblinear", help="path of the program train of LIBLINEAR-rankSVM")
    options.add_argument("--data", help="folder of data sets; none with an empty name")
    chosen = options.parse_args(arguments)
    with threadpool_limits(1):
        sparse_tables(chosen)
        for m in sizes(chosen.dense):
            dense_table(m, chosen.peers, chosen.repeats)
        where = folder(chosen.data) if chosen.data != "" else None
        if where is not None:
            path_table(*text_like(1000), "sparse, m = 1,000", 1e-6, chosen.repeats)
            path_table(*text_like(8000), "sparse, m = 8,000", 1e-6, chosen.repeats)
            path_table(*bipartite(where, "spambase"), "spambase", 1e-5, chosen.repeats)


if __name__ == "__main__":
    main()
