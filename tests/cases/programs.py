"""Random small instances for the programs, with every option that changes what may be chosen."""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from formulations import auc, mixed, resolved_rank, subrank
from formulations.compile import compile_model
from formulations.data import units_from_labels
from tests.oracles import programs as oracle

PROGRAMS = {
    "subrank": (subrank, oracle.subrank_value),
    "resolved_rank": (resolved_rank, oracle.resolved_value),
    "mixed": (mixed, oracle.problem_value),
    "auc": (auc, oracle.problem_value),
}
STATISTICS = ("auc", "dcg", "dcg@3", "wta", "mrr", "pnorm", "pauc@3")


def coefficients(statistic, m):
    """a_1 .. a_m by the table of the paper; a_m belongs to the top."""
    level = np.arange(1.0, m + 1.0)
    top3 = level > m - 3
    return {
        "auc": level,
        "dcg": 1 / np.log2(m - level + 2),
        "dcg@3": top3 / np.log2(m - level + 2),
        "wta": (level == m).astype(float),
        "mrr": 1 / (m - level + 1),
        "pnorm": (level / m) ** 4,
        "pauc@3": level * top3,
    }[statistic]


@dataclass(frozen=True, eq=False)
class Case:
    X: np.ndarray
    units: tuple
    statistic: str
    options: dict = field(default_factory=dict)

    @property
    def epsilon(self):
        return float(self.options.get("epsilon", 1e-4))

    @property
    def names(self):
        return [name for name in PROGRAMS if name != "auc" or self.statistic == "auc"]

    def build(self, name, **changes):
        return PROGRAMS[name][0].build(self.X, units=self.units, **(self.options | changes))

    def optimum(self, name, **changes):
        """What HiGHS finds for a program."""
        return oracle.solve(compile_model(self.build(name, **changes)))[0]

    def value(self, name, w):
        """Objective of weights by the definition, None where the program forbids them."""
        found = self.earned(name, w)
        return None if found is None else found - self.options.get("C", 0.0) * np.count_nonzero(w)

    def earned(self, name, w):
        """The same without the penalty."""
        if self.options.get("two_sided"):
            apart = np.array([w @ (self.X[i] - self.X[k]) for i, k in self.listed(name)])
            if ((apart > oracle.TOLERANCE) & (apart < self.epsilon - oracle.TOLERANCE)).any():
                return None
        return PROGRAMS[name][1](self.X, self.units, w, self.epsilon)

    def listed(self, name):
        """Pairs that have a row ``above_by_margin`` in a program."""
        pairs = set()
        for unit in self.units:
            rows = [*unit.positive, *unit.negative]
            above = rows if name == "resolved_rank" else unit.positive
            below = unit.negative if name in ("mixed", "auc") else rows
            pairs |= {(int(i), int(k)) for i in above for k in below if i != k}
        return sorted(pairs)

    def best(self, name):
        """Optimum of a program by enumeration of vertices, and weights that attain it."""
        chosen = {key: self.options[key] for key in ("max_features", "signs", "box") if key in self.options}
        if self.options.get("big_m") == "unit":
            chosen |= {
                "unit_pairs": self.listed(name),
                "unit_both": name == "resolved_rank" or "two_sided" in self.options,
            }
        return oracle.best_over_vertices(
            lambda w: self.earned(name, w), self.X, self.epsilon, C=self.options.get("C", 0.0), **chosen
        )


def draw(seed, d=None, n=None, plain=False):
    """One instance: rows on a grid (so ties happen), sometimes duplicates, grades, two lists, limits of w."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8)) if n is None else n
    d = int(rng.integers(1, 3)) if d is None else d
    X = rng.integers(0, rng.choice([4, 17, 65]), (n, d)) / 64 * rng.choice([1, 4])
    if rng.random() < 0.3:
        X[rng.integers(n)] = X[rng.integers(n)]
    qid = rng.integers(0, 2, n) if rng.random() < 0.3 else None
    gains = rng.integers(0, rng.choice([2, 3]), n).astype(float)
    gains[0] = max(gains[0], 1.0)
    statistic = str(rng.choice(STATISTICS))
    options = {"epsilon": float(rng.choice([1e-4, 1e-3, 1 / 64, 1 / 16, 1 / 8]))}
    if not plain:
        options |= _limits(rng, d)
    return Case(X, units_from_labels(X, gains, lambda m: coefficients(statistic, m), qid), statistic, options)


def on_grid(seed):
    """The instance of a seed with whole numbers in its columns, and every other time a margin on their grid."""
    case, rng = draw(seed), np.random.default_rng([seed, 1])
    top = int(rng.choice([5, 6, 10]))
    table = rng.integers(0, top + 1, case.X.shape).astype(float)
    step = Fraction(int(rng.integers(1, 1 + top // 2)), top)
    margin = step if seed % 2 else Fraction(str(rng.choice([".05", ".15", "1/7"])))
    sides = np.zeros(table.shape[1]), np.full(table.shape[1], float(top))
    options = case.options | {"epsilon": margin, "scaled_from": (table, *sides)}
    return Case(table / top, case.units, case.statistic, options)


def _limits(rng, d):
    options = {
        "C": float(rng.choice([0, 0, 0.01, 0.3])),
        "linking": str(rng.choice(["ordered", "paper"])),
        "cuts": bool(rng.random() < 0.7),
        "extra_cuts": bool(rng.random() < 0.3),
        "big_m": str(rng.choice(["pair", "pair", "pair", "unit"])),
    }
    if rng.random() < 0.25:
        lower = np.round(rng.uniform(-1, 0.5, d) * 8) / 8
        options["box"] = lower, np.minimum(1, lower + np.round(rng.uniform(0, 1.5, d) * 8) / 8)
    elif rng.random() < 0.4:
        options["signs"] = rng.integers(-1, 2, d)
    forced = sum(low > 0 or high < 0 for low, high in zip(*options.get("box", ((), ())), strict=True))
    if rng.random() < 0.3 and forced <= 1:
        options["max_features"] = 1
    return options
