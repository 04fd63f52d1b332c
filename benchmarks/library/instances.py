"""The library's instances: a few small tables, ranked in ways that meet every program and every special case."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from importlib import import_module
from math import log2
from typing import Any

Table = tuple[tuple[float, ...], ...]

EPSILON = 1 / 1024
"""A margin that doubles hold exactly, as they do all the data below: the files have the same bytes everywhere."""


def _sixtyfourths(*rows: tuple[int, ...]) -> Table:
    return tuple(tuple(entry / 64 for entry in row) for row in rows)


SEVEN = _sixtyfourths((46, 21), (15, 64), (11, 20), (41, 51), (41, 56), (3, 25), (37, 28))
EIGHT = _sixtyfourths((25, 24), (2, 6), (35, 31), (62, 15), (55, 16), (9, 12), (25, 12), (58, 52))
GRID = _sixtyfourths((0, 0), (0, 32), (32, 0), (32, 32), (64, 32), (32, 64), (64, 64))
TWICE = _sixtyfourths((46, 21), (46, 21), (15, 64), (15, 64), (41, 51), (41, 51), (3, 25))
FOUR = _sixtyfourths((64, 0), (64, 64), (0, 0), (0, 64))
"""Rows 0 and 1 above rows 2 and 3 on the first feature, tied in pairs there, told apart only by the second."""


def coefficients(statistic: str, m: int) -> tuple[float, ...]:
    """``a_1 .. a_m``, rounded to six decimals so that no library of functions decides the bytes."""
    places = range(m, 0, -1)
    value = {
        "auc": lambda p: float(m - p + 1),
        "dcg": lambda p: round(1 / log2(p + 1), 6),
        "dcg@3": lambda p: round(1 / log2(p + 1), 6) if p <= 3 else 0.0,
        "mrr": lambda p: round(1 / p, 6),
        "wta": lambda p: float(p == 1),
    }[statistic]
    return tuple(value(p) for p in places)


@dataclass(frozen=True)
class Instance:
    """One instance: a program and what it is built from.

    Attributes
    ----------
    name : str
        Stem of its files, and name of the program in them.
    title : str
        What is special about it.
    program : str
        Module that states it.
    X : table of float
    gains : tuple of float
        One for each row; empty for preferences.
    statistic : str
        Which :func:`coefficients`.
    lists : tuple of int
        List of each row.
    preferences : tuple of (i, k, weight)
        For ``pairwise``.
    options : dict
        Of the builder; ``epsilon`` is always among them.
    """

    name: str
    title: str
    program: str
    X: Table
    gains: tuple[float, ...] = ()
    statistic: str = "auc"
    lists: tuple[int, ...] = ()
    preferences: tuple[tuple[int, int, float], ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def choices(self) -> dict[str, Any]:
        """Options of the builder."""
        return {"epsilon": EPSILON} | self.options

    def lengths(self) -> set[int]:
        """How many rows the lists have."""
        return {self.lists.count(q) for q in self.lists} or {len(self.X)}

    def model(self) -> Any:
        """The Pyomo model."""
        builder = import_module(f"formulations.{self.program}")
        if self.preferences:
            pairs = [(i, k) for i, k, _ in self.preferences]
            weights = [weight for _, _, weight in self.preferences]
            return builder.build(self.X, (pairs, weights), name=self.name, **self.choices)
        return builder.build(
            self.X,
            self.gains,
            lambda m: coefficients(self.statistic, m),
            qid=self.lists or None,
            name=self.name,
            **self.choices,
        )

    def card(self, optimum: Fraction, weights: tuple[Fraction, ...], vertices: int) -> dict[str, Any]:
        """What the sidecar says about the instance and its optimum."""
        return {
            "title": self.title,
            "program": self.program,
            "X": self.X,
            "gains": self.gains,
            "lists": self.lists,
            "coefficients": {str(m): coefficients(self.statistic, m) for m in sorted(self.lengths())},
            "preferences": self.preferences,
            "options": self.choices,
            "optimum": float(optimum),
            "optimum_exact": str(optimum),
            "weights_exact": [str(w) for w in weights],
            "proof": f"{vertices} vertices enumerated in rational arithmetic",
        }


SOME = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0)
PAPER = {"big_m": "unit", "linking": "paper", "cuts": False}
FOUR_GAINS = (1.0, 1.0, 0.0, 0.0)
GRADES = (2.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 3.0)
TWO_LISTS = (0, 0, 0, 1, 1, 1, 0, 1)

INSTANCES = (
    Instance("subrank_auc", "three positives of seven, C = 0", "subrank", SEVEN, SOME),
    Instance("subrank_dcg", "every place pays, each less than the one above", "subrank", SEVEN, SOME, "dcg"),
    Instance("subrank_dcg_at_3", "levels are skipped: only the top three places pay", "subrank", SEVEN, SOME, "dcg@3"),
    Instance("subrank_grid_ties", "rows on a grid, so that most weights tie some", "subrank", GRID, SOME, "mrr"),
    Instance("subrank_duplicates", "three rows stand twice, once in each class", "subrank", TWICE, SOME, "dcg"),
    Instance(
        "subrank_price",
        "breaking the tie of the two positives costs more than it earns",
        "subrank",
        FOUR,
        FOUR_GAINS,
        options={"C": 1.5},
    ),
    Instance(
        "subrank_price_small",
        "breaking the tie of the two positives pays",
        "subrank",
        FOUR,
        FOUR_GAINS,
        options={"C": 0.125},
    ),
    Instance(
        "subrank_all_zero",
        "every feature costs more than the list can earn: w = 0",
        "subrank",
        SEVEN,
        SOME,
        "wta",
        options={"C": 2.0},
    ),
    Instance(
        "subrank_one_feature",
        "one feature of two may carry a weight",
        "subrank",
        FOUR,
        FOUR_GAINS,
        options={"max_features": 1},
    ),
    Instance(
        "subrank_paper_letter",
        "the literal form: big-M 1, a row for each level, no cut",
        "subrank",
        SEVEN,
        SOME,
        "dcg",
        options=PAPER,
    ),
    Instance("subrank_grades", "two lists with grades", "subrank", EIGHT, GRADES, "dcg", TWO_LISTS),
    Instance("resolved_rank_mrr", "MRR as the sum over all positives", "resolved_rank", SEVEN, SOME, "mrr"),
    Instance(
        "resolved_rank_grid_ties", "rows on a grid, ties resolved against positives", "resolved_rank", GRID, SOME, "dcg"
    ),
    Instance(
        "resolved_rank_price",
        "one feature is enough, because a tie of positives costs nothing",
        "resolved_rank",
        FOUR,
        FOUR_GAINS,
        options={"C": 0.125},
    ),
    Instance(
        "resolved_rank_one_feature",
        "one feature of two may carry a weight",
        "resolved_rank",
        FOUR,
        FOUR_GAINS,
        options={"max_features": 1},
    ),
    Instance(
        "resolved_rank_paper_letter",
        "the literal form: big-M 1, ranks by big-M rows",
        "resolved_rank",
        SEVEN[:6],
        SOME[:6],
        "dcg",
        options=PAPER,
    ),
    Instance("mixed_dcg_at_3", "only the top three places pay", "mixed", SEVEN, SOME, "dcg@3"),
    Instance(
        "mixed_wide_margin",
        "a margin of an eighth of the range",
        "mixed",
        SEVEN,
        SOME,
        "dcg",
        options={"epsilon": 0.125},
    ),
    Instance("mixed_grades", "two lists with grades", "mixed", EIGHT, GRADES, "dcg", TWO_LISTS),
    Instance(
        "mixed_signs_price",
        "one weight may not be positive, and features cost",
        "mixed",
        SEVEN,
        SOME,
        "mrr",
        options={"signs": [0, -1], "C": 0.0625},
    ),
    Instance(
        "mixed_box",
        "a box decides some pairs beforehand",
        "mixed",
        SEVEN,
        SOME,
        "auc",
        options={"box": [[0.25, -0.5], [1.0, 0.25]]},
    ),
    Instance("mixed_winner_takes_all", "only the top place pays", "mixed", GRID, SOME, "wta"),
    Instance("auc_price", "pairs alone, and features cost", "auc", SEVEN, SOME, options={"C": 1.0}),
    Instance(
        "auc_two_lists",
        "two lists with grades, pairs weighted by the difference of gain",
        "auc",
        EIGHT,
        GRADES,
        "auc",
        TWO_LISTS,
    ),
    Instance(
        "pairwise_grades",
        "every pair of different grade, once",
        "pairwise",
        SEVEN,
        preferences=tuple((i, k, 1.0) for i in range(7) for k in range(7) if i % 3 > k % 3),
    ),
    Instance(
        "pairwise_cycle",
        "preferences that contradict each other",
        "pairwise",
        GRID,
        preferences=((0, 1, 2.0), (1, 2, 1.0), (2, 0, 1.0), (3, 6, 4.0), (6, 3, 1.0), (4, 5, 1.0), (5, 2, 0.5)),
    ),
)
"""All instances of the library."""
