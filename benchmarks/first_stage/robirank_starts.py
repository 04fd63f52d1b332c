"""Whether RoBiRank's non-convex objective has other minima that matter: ten starts for each penalty.

On the training rows of the first split of each data set: the objective where the zero start ends, and how much higher
or lower, relative to it, nine random starts end.

Printed by ``python -m benchmarks.first_stage.robirank --starts``.
"""

from __future__ import annotations

import warnings
from pathlib import Path

from benchmarks.first_stage.robirank_quality import splits_of
from rerank.scorers import RoBiRank

ALPHAS = (1e-3, 1e-1, 1e1, 1e3)


def report(where: Path, sets: list[str]) -> None:
    """Print the table."""
    print(f"{'':16} {'alpha':>7} {'from zero':>10} {'highest':>9} {'lowest':>9}")
    for name in sets:
        split = next(splits_of(where, name))[0]
        for alpha in ALPHAS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ranker = RoBiRank(alpha, n_init=10, random_state=0).fit(split.X[0], split.y[0], split.qid[0])
            values = ranker.objectives_
            change = values / values[0] - 1
            print(f"{name:16} {alpha:>7g} {values[0]:>10.4f} {change.max():>+9.0e} {change.min():>+9.0e}", flush=True)
