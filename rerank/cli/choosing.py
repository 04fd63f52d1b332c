"""What held-out rows say, for ``rerank fit``: ``--cv`` chooses the options, ``--holdout`` shows what a fit gains."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.cli.common import refuse_idle, some_of
from rerank.cli.pictures import course_of
from rerank.errors import InputError
from rerank.reranker.estimator import Reranker

if TYPE_CHECKING:
    from rerank.io import Table
    from rerank.reranker.selection.reranker_cv import RerankerCV


def fitted(
    est: Reranker, table: Table, cv: int | None, safeguard: float | None, holdout: float | None
) -> tuple[Reranker, list[str], Callable[[], Any]]:
    """The fitted reranker, what held-out rows say of it, and what draws the fit: the axes, or None."""
    from rerank.reranker.estimator import fit_table
    from rerank.solvers.progress import recording

    def by_folds_or_not(rows: Table) -> tuple[Reranker, list[str], Callable[[], Any]]:
        own = Reranker(**est.get_params(deep=False))
        if cv is not None:
            search = chosen(own, rows, cv, safeguard)
            return search.best_estimator_, [search.report()], search.plot
        with recording() as course:
            found = fit_table(own, rows)
        return found, [], lambda: course_of(course, found.result_)

    found, why, draw = by_folds_or_not(table)
    if holdout is not None:
        est.set_params(checkpoint=None, proof=False)
        why.append(held_out_gain(lambda rows: by_folds_or_not(rows)[0], table, holdout, est))
    return found, why, draw


def chosen(est: Reranker, table: Table, cv: int, safeguard: float | None) -> RerankerCV:
    """What cross-validation tried and chose."""
    from rerank.reranker.selection.options import SAFEGUARD
    from rerank.reranker.selection.reranker_cv import RerankerCV, fit_table_by_folds

    clear = SAFEGUARD if safeguard is None else safeguard
    search = RerankerCV(
        est, cv=cv, safeguard=clear, time_limit=est.time_limit, random_state=est.random_state, verbose=1
    )
    return fit_table_by_folds(search, table)


def check_holdout(share: float | None) -> None:
    """Refuse what is no share of the rows."""
    if share is not None and not 0 < share < 1:
        raise InputError(f"--holdout is {share:g}; it must be a share of the rows between 0 and 1, such as 0.3.")


def check_meant(
    cv: int | None, safeguard: float | None, radius: float | None, margin: float | None, epsilon: str, first_stage: str,
    candidates: str, cross_fit: str, solver: str, presolve: bool,
) -> None:  # fmt: skip
    """Refuse options of ``rerank fit`` that have no meaning beside the others.

    Raises
    ------
    InputError
        Naming the first of them.
    """
    if cv is None:
        refuse_idle({"--safeguard": safeguard}, "it says how --cv chooses; add --cv 5, or leave it out")
    else:
        refuse_idle({"--radius": radius}, "--cv chooses the radius; leave one of them out")
    if margin is not None:
        refuse_idle({"--epsilon": None if epsilon == "auto" else epsilon}, "--margin replaces it; leave one out")
    if first_stage == "none":
        idle = {
            "--candidates": None if candidates in ("auto", "0") else candidates,
            "--cross-fit": None if cross_fit in ("auto", "none") else cross_fit,
        }
        refuse_idle(idle, "it is about the scores of a first stage; leave it out, or name a --first-stage")
    if solver == "search" and not presolve:
        refuse_idle({"--no-presolve": True}, "--solver search does nothing but that search; leave one of them out")


def held_out_gain(fitted: Callable[[Table], Reranker], table: Table, share: float, est: Reranker) -> str:
    """A sentence: the statistic of rows that a second fit did not see, by the first stage and by the fit.

    Parameters
    ----------
    fitted : callable
        Makes the fit of a table, choices by folds included.
    est : Reranker
        Statistic, gain and seed.
    """
    from rerank.ranks import evaluate
    from rerank.reranker.data import units_of
    from rerank.reranker.selection.folds import splits_of
    from rerank.reranker.selection.held_out import in_lists_of
    from rerank.statistics import parse

    assert table.y is not None
    relevant = table.y > table.y.min()
    units = table.qid if table.groups is None else units_of(table.qid, table.groups)
    split = splits_of(table.X, relevant, units, max(2, round(1 / share)), 1, est.random_state)[0]
    train, test = (some_of(table, rows) for rows in (split.train, split.test))
    part, statistic, unit, where = fitted(train), parse(est.stat), 1.0, ""
    if table.qid is None:
        statistic, unit = in_lists_of(statistic, len(table), len(test))
        where = f", as of a list of {len(table)} rows" if unit != 1.0 else ""
    grades = test.y
    assert grades is not None

    def told(scores: NDArray[np.float64]) -> float:
        weights: dict[str, Any] = {"sample_weight": test.sample_weight, "ideal_gains": test.ideal_gains}
        return unit * evaluate(statistic, grades, scores, test.qid, gain=est.gain, **weights)

    after, first = told(part.list_scores(test.X, test.qid)), part.first_stage_scores(test.X)
    before = "" if first is None else f"{told(first):.6g} by the first stage, "
    told_of = f"Held out {len(test)} rows: {parse(est.stat)}{where}:"
    return f"{told_of} {before}{after:.6g} by a fit on the other {len(train)}."
