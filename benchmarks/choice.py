"""CPU seconds of the default choice: ``python -m benchmarks.choice [NAME ...] [--data FOLDER]``, kernels compiled.

Made tables, on which logistic regression is right or two columns matter together, and small ones of FOLDER.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from benchmarks.data import arrays, folder
from rerank import Reranker, RerankerCV
from rerank.search import compile_kernels

SMALL = ("haberman", "sonar", "uis", "german")
Table = tuple[Any, Any]


def drawn(n: int, d: int, together: bool) -> Table:
    """Rows of which 3 % or so are relevant, by a sum of columns, or by a product of two."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    risk = 1.5 * X[:, 0] * X[:, 1] + 0.5 * X[:, 2] if together else X[:, 0] + 0.7 * X[:, 1] + 0.5 * X[:, 2]
    return X, (rng.random(n) < expit(risk - 4)).astype(int)


def stored(where: Path, name: str) -> Table:
    """A table of the folder."""
    found = arrays(where, name)
    return found["X"], found["y"]


def tables(where: Path | None) -> dict[str, tuple[str, Callable[[], Table]]]:
    """By name the statistic, and what makes the table."""
    found: dict[str, tuple[str, Callable[[], Table]]] = {}
    for n, d in ((5000, 19), (10_000, 30)):
        for word, together in (("linear", False), ("product", True)):
            found[f"{n}x{d} {word}"] = "precision@100", partial(drawn, n, d, together)
    if where is not None:
        found |= {name: ("precision@30", partial(stored, where, name)) for name in SMALL}
    return found


def main() -> None:
    """Print a row for each table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--data", metavar="FOLDER")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    compile_kernels()
    known = tables(folder(asked.data))
    print("| table | CPU seconds | taken |\n|---|---|---|")
    for name in asked.names or known:
        stat, made = known[name]
        X, y = made()
        began = time.process_time()
        est = RerankerCV(Reranker(stat)).fit(X, y)
        spent = time.process_time() - began
        told = est.result_.evidence
        taken = "the first stage" if est.chosen_ is None or told is None else told.options[est.chosen_]
        print(f"| {name}, {stat} | {spent:.1f} | {taken} |", flush=True)


if __name__ == "__main__":
    main()
