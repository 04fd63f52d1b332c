"""Random small tables with what may be asked of a card, for the program, the search and enumeration alike."""

from dataclasses import dataclass, field

import numpy as np

from rerank.scorecard import Scorecard


@dataclass(frozen=True, eq=False)
class CardCase:
    """Whole numbers (n, d) with labels; ``asked`` are parameters of Scorecard, ``given`` arguments of its fit."""

    X: np.ndarray
    y: np.ndarray
    asked: dict
    given: dict = field(default_factory=dict)

    def fit(self, **changes):
        return Scorecard(validation=None, time_limit=None, **(self.asked | changes)).fit(self.X, self.y, **self.given)


def draw(seed, ruled=False, stat="auc", rows=30, most=6):
    """At most ``rows`` rows and ``most`` questions; with rules of the operator if ``ruled``."""
    rng = np.random.default_rng([seed, ruled, rows])
    n, left = int(rng.integers(6, rows + 1)), int(rng.integers(2, most + 1))
    columns = []
    while left:
        levels = int(rng.integers(1, min(left, 3) + 1))
        columns.append(rng.integers(0, levels + 1, n))
        left -= levels
    X = np.stack(columns, axis=1).astype(float)
    y = (X @ rng.normal(size=X.shape[1]) + rng.normal(size=n) * rng.choice([0.3, 1.5]) > 0).astype(int)
    y[:2] = 0, 1
    asked = {"stat": stat, "n_questions": int(rng.integers(1, 4)), "points": int(rng.integers(1, 4))}
    given = {}
    if rng.random() < 0.25:
        given["qid"] = rng.integers(0, int(rng.integers(2, 4)), n)
        given["qid"][:2] = 0
        if rng.random() < 0.5:
            given["query_weight"] = np.array([1.0, 3.0, 0.5])[given["qid"]]
    if rng.random() < 0.25:
        given["sample_weight"] = rng.integers(1, 4, n).astype(float)
    if ruled:
        asked |= _rules(rng, X, given)
    return CardCase(X, y, asked, given)


def _rules(rng, X, given):
    """Some of the rules, each by names of columns or questions."""
    names = [f"x{j}" for j in range(X.shape[1]) if np.ptp(X[:, j])]
    single = [
        f"{name} >= {level}" if X[:, int(name[1:])].max() > 1 else f"{name} = 1"
        for name in names
        for level in np.unique(X[:, int(name[1:])])[1:].astype(int)
    ]

    def some(pool, many):
        return [str(one) for one in rng.choice(pool, min(many, len(pool)), replace=False)]

    every = {
        "must": lambda: some(names + single, 1),
        "never": lambda: some(single, 1) if len(single) > 2 else [],
        "at_least_one": lambda: some(single, 2),
        "not_both": lambda: some(single, 2),
        "together": lambda: some(single, 2),
        "max_columns": lambda: int(rng.integers(1, 3)),
        "one_per_column": lambda: [True, "monotone"][rng.integers(2)],
        "signs": lambda: {some(names, 1)[0]: int(rng.choice([-1, 1]))},
        "bounds": lambda: {some(single, 1)[0]: [[-2, 3], (1, 3), [2, 5], (-3, 1)][rng.integers(4)]},
        "constraints": lambda: ["auc inside >= 0.55"],
    }
    chosen = rng.choice(list(every), int(rng.integers(1, 4)), replace=False)
    if "constraints" in chosen:
        given["people"] = rng.integers(0, 2, X.shape[0])
    asked = {}
    for name in sorted(chosen, key=lambda name: name != "never"):
        asked[name] = every[name]()
        if name == "never":  # a question that no card asks is named by no other rule
            single = [one for one in single if one not in asked["never"]]
            names = [one for one in names if any(text.split()[0] == one for text in single)]
    return asked
