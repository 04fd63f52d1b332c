"""TopPush measured: ``python -m benchmarks.first_stage.toppush`` prints CPU seconds on one thread.

``--speed`` (medians of five fits; beside one fit, a path of ten alphas and means as thresholds, goal 3 times) and
``--zero`` (tables on which zero weights are optimal) need a folder of data sets (``--data``); ``--rows`` fits a sparse
synthetic of growing length; ``--table`` repeats the protocol of the paper's table 2 on the sets that are there: random
thirds, alpha chosen by cross-validation of Pos@Top, the paper's own figures beside ours. ``--plot FILE`` draws
objective against time.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.data import folder
from benchmarks.first_stage.data import Floats, bipartite, urls
from rerank.scorers import TopPush

GOALS: tuple[tuple[str, float, float], ...] = (
    ("spambase", 1e-3, 0.1),
    ("w8a", 1e-4, 1.0),
    ("news20_forsale", 1e-2, 1.0),
    ("nslkdd", 1e-2, 10.0),
)
SHARES = (0.05, 0.25, 0.5)
IN_HULL = ("diabetes", "german", "abalone19", "haberman", "uis", "coil2000", "ai4i2020", "compas")
OUTSIDE = ("spambase", "ionosphere", "sonar", "australian")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables asked for; the exit code is 1 where a goal was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_stage.toppush", description=__doc__)
    for part in ("speed", "zero", "rows", "table"):
        parser.add_argument(f"--{part}", action="store_true")
    parser.add_argument("--data", help="folder of data sets, <name>/<name>.npz")
    parser.add_argument("--alpha", type=float, default=1e-2, help="--rows: regularisation")
    parser.add_argument("--sizes", default="1e4,1e5,1e6", help="--rows: numbers of rows, between commas")
    parser.add_argument("--trials", type=int, default=30, help="--table: random splits")
    parser.add_argument("--sets", default="diabetes,spambase,w8a,news20_forsale,nslkdd", help="--table")
    parser.add_argument(
        "--methods", default="exact,share,authors,logistic", help="--table: which of these, between commas"
    )
    parser.add_argument("--plot", type=Path, help="picture of objective against CPU seconds on spambase")
    asked = parser.parse_args(arguments)
    where, missed = folder(asked.data), 0
    with threadpool_limits(1):
        if asked.rows:
            missed += rows([int(float(n)) for n in asked.sizes.split(",")], asked.alpha)
        if where is None and (asked.speed or asked.zero or asked.table or asked.plot):
            print("There is no folder of data; give one with --data.")
            return 1
        if where is not None:
            missed += speed(where) if asked.speed else 0
            missed += zero(where) if asked.zero else 0
            if asked.table:
                from benchmarks.first_stage.toppush_table import report

                report(where, asked.sets.split(","), asked.trials, asked.methods.split(","))
            if asked.plot:
                picture(where, asked.plot)
    return int(missed > 0)


def timed(estimator: TopPush, X: Floats | csr_matrix, y: Floats) -> float:
    """CPU seconds of a fit."""
    began = time.process_time()
    estimator.fit(X, y)
    return time.process_time() - began


def path_seconds(X: Floats | csr_matrix, y: Floats, alpha: float) -> float:
    """CPU seconds of a path of ten values that ends at ``alpha``."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        TopPush(alpha=alpha).path(X, y, alpha * np.logspace(2, 0, 10))
    return time.process_time() - began


def speed(where: Path) -> int:
    """Medians of five fits to a relative duality gap of 1e-6, of three paths and of three fits to means."""
    X, y = bipartite(where, "sonar")
    for threshold in ("max", "topk", "quantile"):
        timed(TopPush(alpha=0.1, threshold=threshold), X, y)
        timed(TopPush(alpha=0.1, threshold=threshold), csr_matrix(X), y)
    print(
        "set                rows  features   alpha  steps      gap   objective  median s  goal s  path of 10, s  ratio"
        "   topk, s  ratio  quantile, s  ratio"
    )
    missed = 0
    for name, alpha, goal in GOALS:
        X, y = bipartite(where, name)
        fitted = TopPush(alpha=alpha)
        seconds = median(timed(fitted, X, y) for _ in range(5))
        path = median(path_seconds(X, y, alpha) for _ in range(3))
        missed += seconds > goal or not fitted.gap_ <= 1e-6 or path > 3 * seconds
        means = [TopPush(alpha=alpha, threshold=threshold) for threshold in ("topk", "quantile")]
        cells = [(median(timed(mean, X, y) for _ in range(3)), mean.gap_) for mean in means]
        missed += sum(t > 3 * seconds or not gap <= 1e-6 for t, gap in cells)
        print(
            f"{name:15} {X.shape[0]:7,} {X.shape[1]:9,} {alpha:7g} {fitted.n_iter_:6} {fitted.gap_:8.1e} "
            f"{fitted.objective_:11.6f} {seconds:9.3f} {goal:7g} {path:14.3f} {path / seconds:6.1f} "
            f"{cells[0][0]:9.3f} {cells[0][0] / seconds:6.1f} {cells[1][0]:12.3f} {cells[1][0] / seconds:6.1f}",
            flush=True,
        )
    return missed


def zero(where: Path) -> int:
    """Whether zero weights are optimal, which must be found on exactly the tables known for it."""
    wrong = 0
    print(f"Zero weights optimal?   and against the mean of the highest {SHARES} of the irrelevant rows")
    for name in (*IN_HULL, *OUTSIDE):
        X, y = bipartite(where, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = TopPush(alpha=0.1).fit(X, y).degenerate_
            by_share = [TopPush(alpha=0.1, threshold="quantile", k=k).fit(X, y).degenerate_ for k in SHARES]
        expected = name in IN_HULL
        wrong += found != expected
        cells = "  ".join(f"{answer!s:5}" for answer in by_share)
        print(f"{name:12} {found!s:5}  expected {expected!s:5}   by share: {cells}", flush=True)
    return wrong


def rows(sizes: list[int], alpha: float) -> int:
    """Seconds against rows, and the slope between the shortest and the longest table."""
    timed(TopPush(alpha=alpha), *urls(2000))
    found = []
    for n in sizes:
        X, y = urls(n)
        fitted = TopPush(alpha=alpha)
        found.append(timed(fitted, X, y))
        print(
            f"{n:9,} rows, {X.nnz:,} entries: {found[-1]:8.2f} s, gap {fitted.gap_:.1e}, "
            f"objective {fitted.objective_:.4f}, {(fitted.dual_coef_ < 0).sum():,} active",
            flush=True,
        )
    if len(sizes) < 2:
        return 0
    slope = np.log(found[-1] / found[0]) / np.log(sizes[-1] / sizes[0])
    print(f"slope {slope:.2f}, goal 1.1")
    return int(slope > 1.1)


def picture(where: Path, path: Path) -> None:
    """Distance from the optimum against CPU seconds on spambase, both solvers."""
    import matplotlib.pyplot as plt

    X, y = bipartite(where, "spambase")
    alpha = 1e-3
    best = TopPush(alpha=alpha, tol=1e-10, max_iter=2000).fit(X, y).objective_
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for solver, title, budgets in (
        ("newton", "Newton steps, multipliers", (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128)),
        ("accelerated", "the paper's projected gradient", (10, 30, 100, 300, 1000, 3000, 10000)),
    ):
        points = []
        for budget in budgets:
            fitted = TopPush(alpha=alpha, solver=solver, max_iter=budget, tol=1e-9)
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted.fit(X, y)
            points.append((time.process_time() - began, max(fitted.objective_ / best - 1, 1e-10)))
        axes.loglog(*zip(*sorted(points), strict=True), marker="o", label=title)
    axes.set_xlabel("CPU seconds, one thread")
    axes.set_ylabel("objective above the optimum, relative")
    axes.set_title("TopPush on spambase, standardised, alpha = 0.001")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    sys.exit(main())
