"""The demonstration: a guarded fit that pays on lists to come, and one where the guard keeps the first stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.io import Table, datasets
from rerank.reranker.estimator import Reranker, fit_table
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

SEED = 1
"""The draw that is shown; ``python -m benchmarks.guard`` has others."""

SIMPLE = ("logistic+squares", "logistic+head20")
"""What is compared on the lists to come: squares as columns, and a refit on the first 20 % of its own list."""


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
        Failures among the first ``TOP`` of each list to come, by logistic regression and by what was chosen.
    others : mapping of str to int array (lists,)
        Failures by other simple scores, fitted to all rows.
    before, after : tuples of Place
        The top of the first list to come, by the same two.
    """

    ways: int
    n_rows: int
    n_failed: int
    kept: bool
    result: Result
    report: str
    first: NDArray[np.intp]
    ours: NDArray[np.intp]
    others: dict[str, NDArray[np.intp]]
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
            "lists_to_come": {
                "first_stage": self.first.tolist(), "chosen": self.ours.tolist(),
                **{name: found.tolist() for name, found in self.others.items()},
            },
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
    """
    for ways in (2, 1):
        yield guarded(SEED, ways, time_limit, n_jobs)


def guarded(
    seed: int, ways: int, time_limit: float = 40.0, n_jobs: int | None = None,
    others: Mapping[str, Callable[[Any, Any], Callable[[Any], Any]]] = MappingProxyType({}),
) -> Case:
    """Fit on one made-up list and rank lists to come, which are the same for every seed.

    Parameters
    ----------
    seed, ways : int
        As for :func:`rerank.io.machines.machines`.
    n_jobs : int or None
        As for :class:`rerank.Reranker`.
    others : mapping
        Further scores to compare with: functions from rows and labels to a function that scores rows.
    """
    table = datasets.machines(ROWS, seed, ways)
    assert table.y is not None
    # No search for a proof: with all columns and a wide radius it would not end in minutes.
    base = Reranker(STAT, first_stage="logistic", solver="search", n_jobs=n_jobs, node_limit=0)
    search = fit_table_by_folds(RerankerCV(base, time_limit=time_limit), table)
    est = search.best_estimator_
    scores = {name: _simple(name, table) for name in ("logistic", *SIMPLE)}
    scores |= {name: fitted(table.X, table.y) for name, fitted in others.items()}
    hits = []
    for number in range(LISTS):
        later = datasets.machines(ROWS, TO_COME + number, ways)
        hits.append([_hits(later, _order(one(later.X))) for one in (est.decision_function, *scores.values())])
    shown = datasets.machines(ROWS, TO_COME, ways)
    before, after = _tops(shown, [_order(one(shown.X)) for one in (scores.pop("logistic"), est.decision_function)])
    ours, first, *more = np.array(hits).T
    return Case(
        ways, len(table), int(table.y.sum()), search.first_stage_kept_, search.result_, search.report(), first, ours,
        dict(zip(scores, more)), before, after,
    )


def _simple(name: str, table: Table) -> Callable[[Any], Any]:
    """The scores by a simple first stage, fitted to all rows."""
    found = fit_table(Reranker(STAT, first_stage=name, radius=0.0, cross_fit=False), table)
    return found.decision_function


def _order(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """Rows, best first."""
    return np.argsort(-scores, kind="stable")


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
