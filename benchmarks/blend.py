"""What a blend of first stages finds among rows to come, beside its members: ``python -m benchmarks.blend``.

Each split fits logistic regression, the same with squares, boosted trees, a forest and their blend on two thirds of a
table, and counts relevant rows among the first 5 % of the rest.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from benchmarks.data import folder
from benchmarks.evidence.tables import divided
from rerank import Reranker
from rerank.reranker.selection.options import STRONG

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


def main() -> None:
    """Print a line for each table: mean hits by logistic regression, and leads over them in per cent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--splits", type=int, default=4)
    given = parser.parse_args()
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
