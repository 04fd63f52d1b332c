"""The demonstration: a guarded fit that pays on lists to come, and one where the guard keeps the first stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.io import Table, datasets
from rerank.reranker.estimator import Reranker
from rerank.reranker.result import Result
from rerank.reranker.selection.reranker_cv import RerankerCV, fit_table_by_folds

ROWS, TOP = 5000, 60
STAT = f"precision@{TOP}"
PLACES = 12
SHOWN = {"hours": 1, "vibration": 1, "temperature": 0, "load": 0}
"""The first sensors, which matter, with the decimals that are shown."""

LISTS, STUDENT = 50, 2.01
"""Lists to come, and the 97.5 % point of Student's t for so many."""

TO_COME = 1_000_000
"""Seed of the first list to come; the fits see smaller seeds."""


@dataclass(frozen=True)
class Place:
    """One place of a list: the row there, whether it is relevant, and its place in the other list."""

    name: str
    relevant: bool
    other: int


@dataclass(frozen=True, eq=False)
class Case:
    """One guarded fit and what it is worth on lists to come.

    Attributes
    ----------
    ways : int
        How many ways the machines have to fail.
    n_rows, n_failed : int
        Of the training list.
    kept : bool
        Whether the guard kept the first stage.
    result : Result
    report : str
        Held-out lead of each option.
    first, ours : int arrays (lists,)
        Failures among the first ``TOP`` of each list to come, by first stage and by what was chosen.
    before, after : tuples of Place
        The top of the first list to come by both.
    """

    ways: int
    n_rows: int
    n_failed: int
    kept: bool
    result: Result
    report: str
    first: NDArray[np.intp]
    ours: NDArray[np.intp]
    before: tuple[Place, ...]
    after: tuple[Place, ...]

    @property
    def lead(self) -> tuple[float, float]:
        """Mean lead on lists to come, and the half-width of its 95 % interval."""
        leads = (self.ours - self.first).astype(np.float64)
        half = STUDENT * float(leads.std(ddof=1)) / float(np.sqrt(leads.size))
        return float(leads.mean()), half

    def to_dict(self) -> dict[str, Any]:
        """Plain values for ``--json``."""
        mean, half = self.lead
        return {
            "ways_to_fail": self.ways,
            "n_train": self.n_rows,
            "n_failed": self.n_failed,
            "first_stage_kept": self.kept,
            "result": self.result.to_dict(),
            "lists_to_come": {"first_stage": self.first.tolist(), "chosen": self.ours.tolist()},
            "lead": {"mean": mean, "low": mean - half, "high": mean + half},
            "before": [vars(place) for place in self.before],
            "after": [vars(place) for place in self.after],
        }


@dataclass(frozen=True, eq=False)
class Demo:
    """A case where corrections pay, and one where there is nothing to correct."""

    pays: Case
    kept: Case

    def to_dict(self) -> dict[str, Any]:
        """Plain values for ``--json``."""
        return {"pays": self.pays.to_dict(), "kept": self.kept.to_dict()}


def cases(time_limit: float = 40.0, n_jobs: int | None = None) -> Iterator[Case]:
    """Fit one case after the other: that where corrections pay first.

    Parameters
    ----------
    time_limit : float
        Seconds for each guarded fit.
    n_jobs : int or None
    """
    yield guarded(0, 2, time_limit, n_jobs)
    # What the guard leaves out needs no proof, and lists of this length none of the kernels for pairs of rows.
    yield guarded(0, 1, time_limit, n_jobs, node_limit=0)


def guarded(
    seed: int, ways: int, time_limit: float = 40.0, n_jobs: int | None = None, node_limit: int | None = None,
    rule: str = "strict",
) -> Case:  # fmt: skip
    """Fit on one made-up list and rank lists to come, which are the same for every seed.

    Parameters
    ----------
    seed, ways : int
        As for :func:`rerank.io.machines.machines`.
    time_limit : float
    n_jobs, node_limit : int or None
        As for :class:`rerank.Reranker`.
    rule : {"strict", "mean"}
        As for :class:`rerank.RerankerCV`.
    """
    table = datasets.machines(ROWS, seed, ways)
    assert table.y is not None
    base = Reranker(STAT, first_stage="logistic", solver="search", n_jobs=n_jobs, node_limit=node_limit)
    search = fit_table_by_folds(RerankerCV(base, rule=rule, time_limit=time_limit), table)
    est = search.best_estimator_
    hits = []
    for number in range(LISTS):
        later = datasets.machines(ROWS, TO_COME + number, ways)
        hits.append([_hits(later, order) for order in _orders(est, later)])
    shown = datasets.machines(ROWS, TO_COME, ways)
    before, after = _tops(shown, _orders(est, shown))
    first, ours = np.array(hits).T
    return Case(
        ways, len(table), int(table.y.sum()), search.first_stage_kept_, search.result_, search.report(), first, ours,
        before, after,
    )  # fmt: skip


def _orders(est: Reranker, table: Table) -> list[NDArray[np.intp]]:
    """Rows, best first, by the first stage and by what was chosen."""
    alone = est.first_stage_scores(table.X)
    assert alone is not None
    return [np.argsort(-scores, kind="stable") for scores in (alone, est.decision_function(table.X))]


def _hits(table: Table, order: NDArray[np.intp]) -> int:
    """Failures among the first ``TOP``."""
    assert table.y is not None
    return int((table.y[order[:TOP]] > 0).sum())


def _tops(table: Table, orders: list[NDArray[np.intp]]) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
    """The first places of two orders, each row with its place in the other."""
    assert table.y is not None
    places = [np.argsort(order) + 1 for order in orders]
    tops = []
    for order, other in ((orders[0], places[1]), (orders[1], places[0])):
        top = order[:PLACES]
        tops.append(tuple(Place(_name(table, row), bool(table.y[row]), int(other[row])) for row in top))
    return tops[0], tops[1]


def _name(table: Table, row: int) -> str:
    """The readings by which a reader can recognise the row."""
    return ", ".join(f"{value:.{digits}f}" for value, digits in zip(table.X[row], SHOWN.values()))
