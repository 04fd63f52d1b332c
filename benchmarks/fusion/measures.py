"""Score fusion by several measures: ``python -m benchmarks.fusion.measures --data FOLDER``, on runs of real retrievers
or on columns of scores that stand for runs.

Leads of ScoreFusion over fusions that need no folds, on held-out queries. A query is tested by every draw of runs and
training queries, and its mean difference is one of the values of which the interval is Student's, 95 %. What is
measured is kept in ``benchmarks/fusion/measures.jsonl``; ``python -m benchmarks.fusion --written`` puts it on the page.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.data import folder
from benchmarks.evidence.page import summary
from benchmarks.fusion.collections import FOLDS, KINDS, REAL
from benchmarks.fusion.lists import Part, cell
from benchmarks.fusion.methods import logistic, minmax, rrf, single
from benchmarks.resumed import measured_cells
from benchmarks.trust.limits import processor_clock
from rerank.fusion import ScoreFusion
from rerank.ranks import list_values, number_lists
from rerank.search import compile_kernels

KEPT = Path(__file__).parent / "measures.jsonl"
STATS = ("ndcg@10", "rr@10", "recall@100")
SIZES = (10, 50)
MOST_RUNS = 6
SECONDS = 10.0
RIVALS = {"RRF": rrf, "min-max": minmax, "logistic": logistic, "best single": single}


def values(given: Part, stat: str, scores: NDArray[np.float64]) -> dict[str, float]:
    """The statistic of each query, equal scores against the relevant documents."""
    names, missed = number_lists(given.found.joined.qid)[0], given.found.missed or {}
    y = given.y if stat.startswith("ndcg") else (given.y > 0).astype(np.intp)
    ideal = {
        k: [float(g > 0) if y is not given.y else g for g in missed[q]] for k, q in enumerate(names) if q in missed
    }
    found = np.nan_to_num(list_values(stat, y, scores, given.lists, gain="linear", ideal_gains=ideal))
    return dict(zip(names, found.tolist()))


def measured(where: Path, name: str, runs: int, size: int, stat: str, draws: int) -> dict[str, Any]:
    """Mean lead over every rival with half of its interval, and mean CPU seconds of a fit."""
    ahead: dict[str, dict[str, list[float]]] = {rival: {} for rival in RIVALS}
    seconds = []
    for fold in range(FOLDS):
        for draw in range(draws):
            train, test = cell(where, name, runs, size, fold, draw)
            began = time.process_time()
            with warnings.catch_warnings(), threadpool_limits(1), processor_clock():
                warnings.simplefilter("ignore")
                est = ScoreFusion(stat, time_limit=SECONDS, random_state=0).fit(train.runs, train.qrels)
                seconds.append(time.process_time() - began)
                own = values(test, stat, np.nan_to_num(est.fuse_arrays(test.found.joined.scores, test.lists)))
                for rival, method in RIVALS.items():
                    other = values(test, stat, method(train, test)[0])
                    for query, value in own.items():
                        ahead[rival].setdefault(query, []).append(value - other[query])
    leads = {rival: summary([np.mean(each) for each in by.values()], 0.0)[:2] for rival, by in ahead.items()}
    found = {rival: [round(mean, 4), round(half, 4)] for rival, (mean, half) in leads.items()}
    return {**found, "seconds": round(float(np.mean(seconds)), 2)}


def kept_measures() -> list[dict[str, Any]]:
    """The lines that were measured so far."""
    return measured_cells(KEPT, [], list, lambda cell: {}, str)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure a line for each collection, number of runs, number of training queries and measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fusion.measures", description=__doc__)
    parser.add_argument("--data", help="folder of data sets")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--collections", nargs="*", default=list(REAL), choices=list(KINDS), help="only these")
    given = parser.parse_args(arguments)
    where = folder(given.data)
    if where is None:
        raise SystemExit("No folder of data sets; give it with --data.")
    compile_kernels()
    asked = [
        (name, runs, size, stat, given.draws)
        for name in given.collections
        for size in SIZES
        for runs in KINDS[name].runs
        if runs <= MOST_RUNS
        for stat in STATS
    ]
    measured_cells(KEPT, asked, list, lambda cell: measured(where, *cell), str)


if __name__ == "__main__":
    main()
