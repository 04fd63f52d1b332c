"""What a blend of first stages finds among rows to come, beside its members: ``python -m benchmarks.blend``.

``--reach`` prints how soon the exact search of a blend ends, on members' scores that are drawn; it needs no data.
Without it each split fits logistic regression, the same with squares, boosted trees, a forest and their blend on two
thirds of a table, and counts relevant rows among the first 5 % of the rest.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from benchmarks.data import folder
from benchmarks.evidence.tables import divided
from benchmarks.trust.limits import processor_clock
from rerank import Reranker
from rerank.reranker.selection.options import STRONG
from rerank.search import compile_kernels

TABLES = ("german", "uis", "coil2000", "ai4i2020")
SHARE = 0.05
STAGES = {"logistic": "logistic", "squares": "logistic+squares", "trees": "trees", "forest": "forest"}


def hits(name: str, split: int, where: Path) -> tuple[dict[str, int], float]:
    """Relevant rows in the head of the rows to come by each first stage, and the CPU seconds of all fits."""
    rows, found, began = divided(name, split, where), dict[str, int](), time.process_time()
    head = max(1, round(SHARE * rows.y_held.size))
    for word, stage in {**STAGES, "blend": STRONG[-1]}.items():
        est = Reranker(f"precision@{head}", first_stage=stage, radius=0, cross_fit=False, solver="search")
        scores = est.fit(rows.X, rows.y).list_scores(rows.X_held)  # of the first stage, which stays
        found[word] = int(rows.y_held[np.argsort(-scores, kind="stable")[:head]].sum())
    return found, time.process_time() - began


MEMBERS = ["x0", "x1", "x2", "x3"]  # as columns of an array are called


def reach(rows: int) -> None:
    """Print CPU seconds of the search of four members, scores that say alike much of what counts."""
    compile_kernels()
    rng = np.random.default_rng(0)
    worth = rng.normal(size=rows)
    X = np.column_stack([worth + 0.5 * rng.normal(size=rows) for _ in range(4)])
    y = worth + rng.logistic(size=rows) > np.quantile(worth, 0.95)
    for statistic in ("precision@100", "dcg@100"):
        with processor_clock():  # the parts of a fit in CPU seconds
            est = Reranker(statistic, first_stage=MEMBERS, features="members", solver="search", time_limit=60).fit(X, y)
        found, seconds = est.result_, est.result_.seconds
        print(
            f"{rows:,} rows, {int(y.sum()):,} relevant, {statistic}: {found.value:.6g}, bound {found.bound:.6g}, "
            f"{found.status}, search {seconds['search']:.2f} of {seconds['total']:.2f} CPU seconds"
        )


def main() -> None:
    """Print a line for each table: mean hits by logistic regression, and leads over them in per cent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--reach", type=int, nargs="?", const=100_000, help="rows of the exact search")
    given = parser.parse_args()
    if given.reach:
        return reach(given.reach)
    where = folder(given.data)
    if where is None:
        raise SystemExit("There is no folder of data; name it with --data.")
    print(
        "| table | logistic, hits | squares | trees | forest | blend | CPU seconds of a split |\n|---"
        + "|---" * 6
        + "|"
    )
    every = []
    for name in given.tables.split(","):
        done = [hits(name, split, where) for split in range(given.splits)]
        means = {word: float(np.mean([found[word] for found, _ in done])) for word in done[0][0]}
        leads = [100 * (means[word] / means["logistic"] - 1) for word in (*list(STAGES)[1:], "blend")]
        every.append(leads)
        seconds = np.mean([spent for _, spent in done])
        print(f"| {name} | {means['logistic']:.4g} | {' | '.join(f'{one:+.1f} %' for one in leads)} | {seconds:.1f} |")
    print(f"| mean | | {' | '.join(f'{one:+.1f} %' for one in np.mean(every, axis=0))} | |")


if __name__ == "__main__":
    main()
