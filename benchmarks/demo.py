"""The cases of ``docs/demonstrations.md`` beside the tools a reader would try first:
``python -m benchmarks.demo [--splits N]``.

A card of three questions, a score in use that is audited and corrected, and two runs that are fused. All data ship with
the package or with the examples; LightGBM is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.baselines import boosted
from rerank import Reranker, RerankerCV, datasets
from rerank.fusion import ScoreFusion
from rerank.ranks import evaluate
from rerank.scorecard import Scorecard
from rerank.scorers import Squares

Scores = Callable[[Any], Any]
Fit = Callable[[Any, Any], Scores]

N, RADIUS = 100, 0.1
"""Machines that can be opened, and the largest correction that the audit speaks of."""


def stage(name: str) -> Fit:
    """A first stage by itself."""
    return lambda X, y: Reranker("auc", first_stage=name, radius=0, cross_fit=False).fit(X, y).decision_function


def tools() -> dict[str, Fit]:
    """What a sceptic would try first."""
    found = {
        "logistic regression": stage("logistic"),
        "its squares": stage("logistic+squares"),
        "its refit on its first 20 %": stage("logistic+head20"),
    }
    return found | ({"LightGBM": boosted} if find_spec("lightgbm") else {})


def told(name: str, values: list[float], base: list[float] | None = None) -> None:
    """A line with a mean, and with the lead over a base and twice its standard error over the splits."""
    line = f"  {name:34} {np.mean(values):8.3f}"
    if base is not None and len(values) > 1:
        lead = np.array(values) - np.array(base)
        # Splits share rows: the variance of Nadeau and Bengio (2003), test parts half as large as training parts.
        line += f"   {lead.mean():+.3f} +- {1.96 * lead.std(ddof=1) * np.sqrt(1 / lead.size + 0.5):.3f}"
    print(line, flush=True)


def card(splits: int) -> None:
    """The best card of three questions on haberman, in training with its proof, and on held-out thirds."""
    from sklearn.model_selection import train_test_split

    table = datasets.load("haberman")
    assert table.y is not None

    def make() -> Scorecard:
        return Scorecard("auc", n_questions=3, points=3)

    began = time.process_time()
    print(make().fit(table.X, table.y).result_)
    print(f"({time.process_time() - began:.1f} CPU s)\n\n  AUC of held-out thirds, {splits} splits; over logistic:")
    fits: dict[str, Fit] = {"the card": lambda X, y: make().fit(X, y).decision_function, **tools()}
    values: dict[str, list[float]] = {name: [] for name in fits}
    for split in range(splits):
        X, X_test, y, y_test = train_test_split(table.X, table.y, test_size=1 / 3, stratify=table.y, random_state=split)
        for name, fit in fits.items():
            values[name].append(evaluate("auc", y_test, np.asarray(fit(X, y)(X_test)), ties="average"))
    for name, own in values.items():
        told(name, own, values["logistic regression"])


def in_use(splits: int) -> None:
    """A logistic score of a third of the machines is in use; it is audited and corrected on another third."""
    from sklearn.model_selection import StratifiedKFold

    table, stat = datasets.load("ai4i2020"), f"precision@{N}"
    assert table.y is not None
    rows = f"a third of {len(table):,} machines, {int(table.y.sum())} of which failed"
    print(f"\nA score in use: logistic regression of {rows}.")
    values: dict[str, list[float]] = {}
    for split in range(splits):
        thirds = [test for _, test in StratifiedKFold(3, shuffle=True, random_state=split).split(table.X, table.y)]
        (old, y_old), (X, y), (X_test, y_test) = ((table.X[rows], table.y[rows]) for rows in thirds)
        score = stage("logistic")(old, y_old)
        if not split:
            audited = Reranker(
                stat, first_stage=score(X), radius=RADIUS, max_features=3, solver="search", time_limit=20.0
            )
            print(f"  audit, three columns: {audited.fit(X, y).audit(20.0)}")
            print(f"  hits of the first {N} of another third, {splits} splits:")
        fits: dict[str, Scores] = {"the score in use": score}
        for name, columns in (("columns", None), ("columns and squares", Squares())):
            est = Reranker(stat, first_stage=score, features=columns, solver="search", node_limit=0)
            fits[f"corrected by {name}"] = RerankerCV(est, time_limit=60.0).fit(X, y).decision_function
        fits |= {f"anew: {name}": fit(np.vstack([old, X]), np.append(y_old, y)) for name, fit in tools().items()}
        for name, scores in fits.items():
            values.setdefault(name, []).append(float(evaluate(stat, y_test, np.asarray(scores(X_test)))))
    for name, own in values.items():
        told(name, own, values["the score in use"])


def fusion() -> None:
    """Two runs that ship with the examples: fitted on judged queries, judged on later ones."""
    where = Path(__file__).parent.parent / "examples" / "runs"

    def of(part: str) -> tuple[dict[str, Path], Path]:
        return {name: where / f"{part}.{name}.run.gz" for name in ("column90", "column99")}, where / f"{part}.qrels.gz"

    (runs, judged), later = of("judged"), of("later")
    print("\nTwo runs fused: nDCG@10 of 50 later queries, fitted on 201")
    ways: dict[str, dict[str, Any]] = {
        "reciprocal rank fusion": {"prior": "rrf", "safeguard": float("inf")},
        "min-max, equal weights": {"prior": "equal", "normalise": "minmax", "radius": 0.0, "cv": None},
        "ScoreFusion": {},
    }
    for name, options in ways.items():
        began = time.process_time()
        fitted = ScoreFusion("ndcg@10", time_limit=20.0, random_state=0, **options).fit(runs, judged)
        spent = time.process_time() - began
        weights = ", ".join(f"{run} {weight:.2f}" for run, weight in fitted.weights_.items())
        print(f"  {name:34} {fitted.score(*later):8.4f}   {fitted.normaliser_}: {weights} ({spent:.1f} CPU s)")


def main() -> None:
    """Print the three cases."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.demo", description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    splits = parser.parse_args().splits
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        card(splits)
        in_use(splits)
        fusion()


if __name__ == "__main__":
    main()
