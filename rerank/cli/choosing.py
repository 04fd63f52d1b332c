"""What held-out rows say, for ``rerank fit``: ``--cv`` chooses the radius, ``--holdout`` shows what a fit gains."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.reranker.estimator import Reranker, fit_table

if TYPE_CHECKING:
    from rerank.io import Table


def chosen(est: Reranker, table: Table, cv: int, rule: str) -> tuple[Reranker, str]:
    """The reranker that cross-validation chooses, and its report."""
    from rerank.reranker.selection.reranker_cv import RerankerCV, fit_table_by_folds

    search = RerankerCV(
        est, cv=cv, rule=rule, time_limit=est.time_limit, random_state=est.random_state, verbose=1
    )  # fmt: skip
    fit_table_by_folds(search, table)
    return search.best_estimator_, search.report()


def held_out_gain(est: Reranker, table: Table, share: float) -> str:
    """A sentence: the statistic of rows that a second fit did not see, by the first stage and by the fit."""
    from rerank.ranks import evaluate
    from rerank.reranker.selection.folds import splits_of
    from rerank.statistics import InLists, parse

    if not 0 < share < 1:
        raise InputError(f"--holdout is {share:g}; it must be a share of the rows between 0 and 1, such as 0.3.")
    assert table.y is not None
    relevant = table.y > table.y.min()
    split = splits_of(table.X, relevant, table.qid, max(2, round(1 / share)), 1, est.random_state)[0]
    train, test = (_some(table, rows) for rows in (split.train, split.test))
    part = fit_table(Reranker(**est.get_params(deep=False)).set_params(checkpoint=None, proof=False), train)
    statistic, n, m = parse(est.stat), len(table), len(test)
    whole = table.qid is not None or statistic.counts_pairs or statistic.length is not None
    judge, unit = (statistic, 1.0) if whole else (InLists(statistic, n), 1.0 if statistic.normalised else n / m)

    grades = test.y
    assert grades is not None

    def told(scores: NDArray[np.float64]) -> float:
        weights = {"sample_weight": test.sample_weight, "ideal_gains": test.ideal_gains}
        return unit * evaluate(judge, grades, scores, test.qid, gain=est.gain, **weights)  # type: ignore[arg-type]

    fitted, first = told(part.list_scores(test.X, test.qid)), part.first_stage_scores(test.X)
    before = "" if first is None else f"{told(first):.6g} by the first stage, "
    return f"Held out {m} rows: {statistic} {before}{fitted:.6g} by a fit on the other {len(train)}."


def _some(table: Table, rows: NDArray[np.intp]) -> Table:
    named = {name: getattr(table, name) for name in ("y", "qid", "ids", "sample_weight")}
    some: dict[str, Any] = {name: None if values is None else values[rows] for name, values in named.items()}
    return replace(table, X=table.X[rows], **some)
