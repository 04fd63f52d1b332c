"""Constraints and quotas in the search, in HiGHS and in SCIP: ``python -m tests.search.rows_solvers 300``."""

import sys
import time
import warnings
from collections import Counter

import numpy as np
import pandas as pd

from rerank import Reranker
from rerank.errors import InfeasibleError, RerankError

KINDS = ("order", "side with a radius", "sum", "quota")
SECONDS = 3.0
NEAR = 1e-6


def drawn(seed: int):
    """A table of at most 30 x 6, options of a fit with a constraint or quota, and kinds of rows."""
    rng = np.random.default_rng([20261125, seed])
    kind = KINDS[seed % 4]
    n, d = int(rng.choice([8, 10, 12, 16, 30], p=[0.3, 0.3, 0.2, 0.1, 0.1])), int(rng.integers(2, 7))
    n, d = (min(n, 10), min(d, 3)) if kind == "quota" else (n, d)
    whole = seed % 8 < 4
    X = rng.integers(0, 6, (n, d)).astype(float) if whole else rng.normal(size=(n, d))
    y = (X @ rng.normal(size=d) + rng.normal(size=n) * X.std() > np.quantile(X.sum(axis=1), 0.4) * 0.2).astype(int)
    y[:2] = 0, 1
    names = [f"c{j}" for j in range(d)]
    a, b = rng.choice(names, 2, replace=False)
    options = {
        "order": {"constraints": (f"{a} >= {rng.integers(1, 4)} * {b}",)},
        "side with a radius": {
            "radius": 1.0,
            "first_stage": X[:, 0] + rng.normal(size=n),
            "constraints": (f"{a} >= 0.1",),
        },
        "sum": {"normalise": "sum", "constraints": (f"{a} >= 0.3",)},
        "quota": {"quota": f"at least {rng.integers(1, 3)} of A among the first 4"},
    }[kind]
    radius = "radius" in options
    margin = {"margin": 0.25 if whole else 0.01} if radius else {"epsilon": 0.2 if whole else 0.01}
    statistic = str(rng.choice(["auc", "dcg@4", "precision@3", "mrr"]))
    people = np.where(rng.random(n) < 0.4, "A", "B") if kind == "quota" else None
    given = {"stat": statistic, "first_stage": None, "n_candidates": None, **margin, **options}
    return kind, pd.DataFrame(X, columns=names), y, people, given


def value(X, y, people, **given):
    """Value, bound and whether that is proved; None where no weights are allowed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = Reranker(time_limit=SECONDS, n_jobs=1, **given).fit(X, y, people=people).result_
        except InfeasibleError:
            return None
    return result.value, result.bound, result.proved, result.status


def main(count: int, first: int = 0) -> None:
    """Compare; a program of ResolvedRank may forbid what the search finds, and is never better."""
    began, met, wrong = time.process_time(), Counter(), 0
    for seed in range(first, first + count):
        kind, X, y, people, given = drawn(seed)
        try:
            found = value(X, y, people, **given, solver="search")
        except RerankError as error:
            met[f"{kind}: nothing to fit ({type(error).__name__})"] += 1
            continue
        for solver in ("highs", "scip"):
            program = {"formulation": "resolved_rank"} if kind == "quota" else {}
            try:
                other = value(X, y, people, **given, **program, solver=solver, presolve=False)
            except RerankError as error:
                met[f"{kind}, {solver}: {str(error)[:60]}"] += 1
                continue
            if found is None or other is None:
                same = (found is None and other is None) or (kind == "quota" and other is None)
                word = "no weights allowed"
            else:
                room = NEAR * max(1.0, abs(found[0]))
                same = other[0] <= found[1] + room and (not found[2] or other[0] <= found[0] + room)
                closed = found[2] and other[2]
                same &= kind == "quota" or not closed or abs(other[0] - found[0]) <= room
                word = "both closed" if closed else "one closed" if found[2] or other[2] else "open"
            met[f"{kind}, {solver}: {word}"] += 1
            if not same:
                wrong += 1
                print(f"seed {seed}, {kind}, {solver}: search {found}, program {other}", flush=True)
    for name, many in sorted(met.items()):
        print(f"{many:5} {name}")
    print(f"{count} instances in {time.process_time() - began:.0f} CPU s, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
