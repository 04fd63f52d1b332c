"""The programs of the table, each with its options, and the data set that they are stated for.

A part of ``python -m benchmarks.programs``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.data import Unit, units_from_labels
from formulations.pairwise import preferences_from_gains
from rerank.ranks import lost_counts, value_of_lost
from rerank.reranker.solve.verified import polish
from rerank.statistics import RankStatistic

Floats = NDArray[np.float64]
LITERAL = {"big_m": "unit", "linking": "paper", "cuts": False}


@dataclass(frozen=True)
class Entry:
    """One line of the table: a program and its options."""

    name: str
    program: str
    options: dict[str, Any] = field(default_factory=dict)
    auc_only: bool = False


ENTRIES = (
    Entry("subrank, paper's letter", "subrank", LITERAL),
    Entry("subrank, paper's letter + (27)-(28)", "subrank", LITERAL | {"extra_cuts": True}),
    Entry("subrank, paper's links + cut", "subrank", {"linking": "paper"}),
    Entry("subrank", "subrank"),
    Entry("subrank + extra cuts", "subrank", {"extra_cuts": True}),
    Entry("resolved_rank, paper's letter", "resolved_rank", LITERAL),
    Entry("resolved_rank", "resolved_rank"),
    Entry("mixed, paper's links", "mixed", {"linking": "paper"}),
    Entry("mixed", "mixed"),
    Entry("mixed + extra cuts", "mixed", {"extra_cuts": True}),
    Entry("auc, paper's letter", "auc", {"big_m": "unit"}, auc_only=True),
    Entry("auc", "auc", auc_only=True),
    Entry("pairwise", "pairwise", auc_only=True),
)


@dataclass(frozen=True, eq=False)
class Data:
    """One data set and what is counted on it."""

    X: Floats
    y: Floats
    statistic: RankStatistic
    epsilon: float

    @property
    def units(self) -> tuple[Unit, ...]:
        return units_from_labels(self.X, self.y, self.statistic.coefficients)

    def value(self, w: Floats) -> float:
        """Raw value of polished weights, straight from the definition of the problem."""
        # A solver's weights stand on the margin itself: pairs it won are moved off it before anything is counted.
        difference = np.subtract.outer(self.X @ w, self.X @ w)
        won = np.argwhere((difference >= 0.9 * self.epsilon) & (self.y[:, None] > self.y[None, :]))
        w = polish(self.X, won, w) if won.size else w
        lost = lost_counts(self.X @ w, self.y > 0, margin=self.epsilon)
        return float(value_of_lost(lost, self.statistic.coefficients(self.y.size)))


def drawn(n: int, d: int, seed: int, statistic: RankStatistic, epsilon: float = 1e-4) -> Data:
    """The data set of one number of items."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    signal = X @ rng.standard_normal(d)
    score = signal + signal.std() * rng.standard_normal(n)
    y = np.zeros(n)
    y[np.argsort(-score)[: max(1, round(0.35 * n))]] = 1.0
    return Data((X - X.min(axis=0)) / np.ptp(X, axis=0), y, statistic, epsilon)


def stated(data: Data, entry: Entry) -> Any:
    """The Pyomo model of a line."""
    builder = import_module(f"formulations.{entry.program}")
    options = {"epsilon": data.epsilon} | entry.options
    if entry.program == "pairwise":
        return builder.build(data.X, preferences_from_gains(data.y), **options)
    return builder.build(data.X, units=data.units, **options)
