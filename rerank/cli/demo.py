"""The demonstration: a real list, the exact order of its shortlist, what was proved, and held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.io import Table, datasets
from rerank.ranks import evaluate
from rerank.reranker.estimator import Reranker
from rerank.reranker.result import Result

# Hits among the first fifty: no weights reach the ideal shortlist, and a rule with two features is easy to read.
DATA, STAT, TOP, CANDIDATES, FEATURES = "haberman", "precision@50", 50, 120, 2
PLACES = 12
SPLITS = 20


@dataclass(frozen=True)
class Place:
    """One place of a list: the row there, whether it is relevant, and its place in the other list."""

    name: str
    relevant: bool
    other: int


@dataclass(frozen=True, eq=False)
class Demo:
    """Everything the demonstration shows.

    Attributes
    ----------
    title, task, found : str
        The data set, what its rows are, and the word for relevant rows.
    result : Result
    before, after : tuples of Place
        The top of the training list by the first stage and by the exact order.
    hits : pair of tuples of int
        Places of the relevant rows among the first ``TOP`` in each order.
    held_out : tuple of float
        Statistic of first stage and exact order on the held-out rows.
    splits : tuple of (float, float)
        The same for other random splits.
    columns : tuple of str
    ideal : float
        Value of the ideal shortlist.
    weights : dict of str to float
    n_train, n_held_out : int
    citation : str
    """

    title: str
    task: str
    found: str
    result: Result
    before: tuple[Place, ...]
    after: tuple[Place, ...]
    hits: tuple[tuple[int, ...], tuple[int, ...]]
    held_out: tuple[float, float]
    splits: tuple[tuple[float, float], ...]
    columns: tuple[str, ...]
    ideal: float
    weights: dict[str, float]
    n_train: int
    n_held_out: int
    citation: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values for ``--json``."""
        return {
            "data": DATA,
            "n_train": self.n_train,
            "n_held_out": self.n_held_out,
            "ideal": self.ideal,
            "weights": self.weights,
            "result": self.result.to_dict(),
            "before": [vars(place) for place in self.before],
            "after": [vars(place) for place in self.after],
            "hits": {"first_stage": list(self.hits[0]), "reranked": list(self.hits[1])},
            "held_out": {"first_stage": self.held_out[0], "reranked": self.held_out[1]},
            "splits": [{"first_stage": before, "reranked": after} for before, after in self.splits],
            "citation": self.citation,
        }


def run(time_limit: float = 40.0, n_jobs: int | None = None, splits: int = SPLITS) -> Demo:
    """Fit the demonstration.

    Parameters
    ----------
    time_limit : float
        Seconds for the exact fit.
    n_jobs : int or None
    splits : int
        Number of further random splits, each fitted by the search alone.
    """
    from rerank.search.warm import compile_kernels

    # Kernels are compiled once on a machine; the seconds shown are those of the proof.
    compile_kernels()
    table, about = datasets.load(DATA), datasets.describe(DATA)
    assert table.y is not None
    train, test = thirds(table, seed=0)
    est = Reranker(
        STAT,
        n_candidates=CANDIDATES,
        formulation="mixed",
        max_features=FEATURES,
        time_limit=time_limit,
        n_jobs=n_jobs,
    )
    names = np.array(table.feature_names)
    est.fit(table.X[train], table.y[train])
    orders = _orders(est, table, train)
    hits = [_hits(table, train[order]) for order in orders]
    before, after = _tops(table, train, orders)
    problem = est.state_.problem
    return Demo(
        title=about.title,
        task=about.task,
        found="died",
        result=est.result_,
        before=before,
        after=after,
        hits=(hits[0], hits[1]),
        held_out=_held_out(est, table, test),
        splits=tuple(_split(table, seed, time_limit / 20) for seed in range(1, splits + 1)),
        columns=table.feature_names,
        ideal=float("nan") if problem is None else problem.ideal,
        weights={str(names[j]): float(est.coef_[j]) for j in np.flatnonzero(est.coef_)},
        n_train=train.size,
        n_held_out=test.size,
        citation=f"{about.citation} doi {about.doi}, {about.licence}.",
    )


def _hits(table: Table, order: NDArray[np.intp]) -> tuple[int, ...]:
    """Places of the relevant rows among the first ``TOP``."""
    assert table.y is not None
    return tuple((np.flatnonzero(table.y[order[:TOP]] > 0) + 1).tolist())


def thirds(table: Table, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Two thirds of the rows for the fit and a third held out, with the same share of positives in both."""
    assert table.y is not None
    rng = np.random.default_rng(seed)
    test = np.concatenate([
        rng.permutation(rows)[: rows.size // 3]
        for rows in (np.flatnonzero(table.y == label) for label in (0, 1))
    ])  # fmt: skip
    inside = np.ones(len(table), dtype=bool)
    inside[test] = False
    return np.flatnonzero(inside), np.sort(test)


def _held_out(est: Reranker, table: Table, test: NDArray[np.intp]) -> tuple[float, float]:
    assert table.y is not None
    X, y = table.X[test], table.y[test]
    return evaluate(est.stat, y, _first(est, X)), est.score(X, y)


def _first(est: Reranker, X: NDArray[np.float64]) -> NDArray[np.float64]:
    scores = est.first_stage_scores(X)
    assert scores is not None
    return scores


def _split(table: Table, seed: int, time_limit: float) -> tuple[float, float]:
    assert table.y is not None
    train, test = thirds(table, seed)
    est = Reranker(
        STAT, n_candidates=CANDIDATES, solver="search", max_features=FEATURES, time_limit=time_limit
    )
    return _held_out(est.fit(table.X[train], table.y[train]), table, test)


def _orders(est: Reranker, table: Table, train: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Training rows, best first, by the first stage and by the exact order."""
    X = table.X[train]
    return [np.argsort(-scores, kind="stable") for scores in (_first(est, X), est.list_scores(X))]


def _tops(
    table: Table, train: NDArray[np.intp], orders: list[NDArray[np.intp]]
) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
    """The first places of two orders, each row with its place in the other."""
    assert table.y is not None
    places = [np.argsort(order) + 1 for order in orders]
    tops = []
    for order, other in ((orders[0], places[1]), (orders[1], places[0])):
        rows = [(int(train[row]), int(other[row])) for row in order[:PLACES]]
        tops.append(tuple(Place(_name(table, row), bool(table.y[row]), place) for row, place in rows))
    return tops[0], tops[1]


def _name(table: Table, row: int) -> str:
    """The row's values, by which a reader can recognise it."""
    return ", ".join(f"{value:g}" for value in table.X[row])
