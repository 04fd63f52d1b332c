"""Normaliser and radius chosen on held-out queries, with a null as the first stage that has to be led."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors.telling import say
from rerank.io.options import legacy
from rerank.reranker.clock import Clock
from rerank.reranker.data import Data
from rerank.reranker.estimator import Reranker
from rerank.reranker.evidence import Evidence
from rerank.reranker.fusion.normalise import Floats
from rerank.reranker.fusion.nulls import Null, preferred
from rerank.reranker.selection.folds import Split, splits_of
from rerank.reranker.selection.held_out import Folds, Judge, Ranked, rows_of
from rerank.reranker.selection.options import Lead, Option, beside, best_of, cv_results
from rerank.statistics import parse

FOLDS_SHARE = 0.75
"""Share of the time for the folds; the rest is for the fit on all queries."""

SOME_QUERIES, MANY_QUERIES = 50, 200
"""From some queries on the folds are dealt once, not twice. From many on no fold learns from more: to compare
normalisers and radii they are enough, and all queries are held out once."""

UNMOVED = (
    "Most fits on folds ran out of time at the prior, where they began; with more time_limit held-out queries may "
    "speak for other weights."
)

SETTLED_FIRST = (
    "One normaliser is settled first: ranks give way only to one that leads them by a standard error in the mean of "
    "the folds."
)
"""What is asked beside a lead, where several normalisers are tried."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """The normaliser and radius that are best on held-out queries, or the null; what folds said, if there were any."""

    option: Option
    kept: bool = False
    note: str = ""
    cv_results: dict[str, Any] | None = None
    evidence: Evidence | None = None


def chosen_by_folds(
    tables: Mapping[str, Data], options: Sequence[Option], null: Null, null_scores: Floats, est: Reranker,
    settings: Mapping[str, Any], clock: Clock,
) -> Chosen:  # fmt: skip
    """The option to keep, or the null.

    Parameters
    ----------
    tables : mapping of normaliser to Data
        The same rows, lists and grades, normalised.
    options : sequence of Option
        With ``normalise`` and ``radius``.
    null : Null
        What has to be led.
    null_scores : float64 array (n,)
        Its scores of the rows.
    est : Reranker
        What the options do not vary.
    settings : mapping
        Parameters of :class:`rerank.fusion.ScoreFusion`.
    """
    first = next(iter(tables.values()))
    relevant = of_mixed_lists(first)
    assert first.qid is not None
    there = np.unique(first.qid[relevant]).size
    if there < 2:
        what = f"Only {there} judged queries have documents to order, so nothing can be held out"
        return Chosen(options[0], kept=True, note=f"{what}, and {null.name} is kept.")
    seed, statistic = settings["random_state"], parse(settings["stat"])
    repeats, cv = 1 if there >= SOME_QUERIES else 2, min(settings["cv"], there)
    splits = splits_of(first.X, relevant, first.qid, cv, repeats, seed)
    splits = [fewer_queries(split, first.qid, relevant, seed) for split in splits]

    trial = _Trial(tables, Judge(first, splits, statistic), null_scores, est, settings, clock)
    own = {name: [option for option in options if option.params["normalise"] == name] for name in tables}
    middle = {name: some[len(some) // 2] for name, some in own.items()}
    *others, last = own
    if not others:
        trial.take(own[last], 1.0)
    else:
        radii_left = len(own[last]) - 1
        for done, option in enumerate(middle.values()):
            trial.take([option], 1 / (len(own) - done + radii_left))
        last = preferred(np.array(trial.by_fold()), list(own), null.normaliser, cv)
        if radii_left:
            trial.take([option for option in own[last] if option is not middle[last]], 1.0)
    leads = beside(trial.leads, next((lead.alone for lead in trial.leads if not np.isnan(lead.lead)), np.nan))
    safeguard = float(settings["safeguard"])
    if settings["rule"] == "mean" and np.isfinite(safeguard):
        safeguard = 0.0
    numbers = [number for number, option in enumerate(trial.options) if option.params["normalise"] == last]
    best = best_of([trial.options[k] for k in numbers], [leads[k] for k in numbers], safeguard)
    results = cv_results([option.params for option in trial.options], leads, [False] * len(leads))
    evidence = Evidence.of(
        results, statistic=statistic.name, chosen=None if best is None else numbers[best], folds=cv, rounds=repeats,
        safeguard=safeguard, null=null.name, remark=SETTLED_FIRST if others else "",
    )  # fmt: skip
    note = UNMOVED if 2 * sum(not np.isnan(lead.value) for lead in leads) < len(leads) else ""
    return Chosen(trial.options[numbers[best or 0]], best is None, note, results, evidence)


class _Trial:
    """Options tried on folds, some of one normaliser after the other; unlike those of one table, on every deal."""

    def __init__(
        self, tables: Mapping[str, Data], judge: Judge, null_scores: Floats, est: Reranker, settings: Mapping[str, Any],
        clock: Clock,
    ) -> None:  # fmt: skip
        self._tables, self._judge, self._null, self._est = tables, judge, null_scores, est
        self._settings, self._clock = settings, clock
        self._end = clock.remaining * (1 - FOLDS_SHARE) if clock.limited else 0.0
        self._scores: list[dict[int, Floats]] = []
        self._over = False
        self.options: list[Option] = []
        self.leads: list[Lead] = []

    def take(self, options: Sequence[Option], share: float) -> None:
        """Fit options of one normaliser on all folds, in a share of the time for folds; none after an interrupt."""
        judge, name = self._judge, options[0].params["normalise"]
        left = (self._clock.remaining - self._end) * share
        part = Clock(max(0.0, left) if self._clock.limited else None)
        with untold():
            folds = Folds(self._est, judge.splits, self._tables[name], None, part, self._settings["n_jobs"])
        for place, option in enumerate(options):
            radius, fits = option.params["radius"], (len(options) - place) * len(judge.splits)
            deals: list[tuple[list[int], list[Ranked]]] = []
            try:
                for deal in [] if self._over else judge.deals():
                    with untold():
                        ranked = folds.take({"radius": radius}, deal, fits)
                    if len(ranked) == len(deal):
                        nulls = [self._null[judge.splits[k].test] for k in deal]
                        deals.append((deal, [replace(o, alone=n, joint_alone=n) for o, n in zip(ranked, nulls)]))
            except KeyboardInterrupt:
                self._over = True
                if not deals and not any(self._scores):
                    raise
            self.options.append(option)
            self._scores.append({k: one.own for deal, ranked in deals for k, one in zip(deal, ranked)})
            self.leads.append(lead := judge.lead(deals))
            if self._settings["verbose"]:
                say(f"normaliser {name}, radius {radius}: {judge.statistic.name} {lead.value:.4g}")

    def by_fold(self) -> list[list[float]]:
        """The statistic of each fold by each option; NaN for folds without time."""
        held = [rows_of(self._judge.data, split.test) for split in self._judge.splits]
        return [
            [data.evaluate(self._judge.statistic, own[k]) if k in own else np.nan for k, data in enumerate(held)]
            for own in self._scores
        ]


@contextmanager
def untold() -> Iterator[None]:
    """Leave out a reranker's warning that no order matters: it speaks of a shortlist, and the result says it too."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"(No order of the shortlist|The shortlist holds no)")
        yield


def fewer_queries(split: Split, qid: NDArray[np.intp], relevant: NDArray[np.bool_], random_state: Any) -> Split:
    """The split with at most ``MANY_QUERIES`` training queries, drawn from those whose order matters."""
    telling = np.unique(qid[split.train[relevant[split.train]]])
    if telling.size <= MANY_QUERIES:
        return split
    rng = legacy(0 if random_state is None else random_state)
    kept = rng.choice(telling, MANY_QUERIES, replace=False)
    return replace(split, train=split.train[np.isin(qid[split.train], kept)])


def of_mixed_lists(data: Data) -> NDArray[np.bool_]:
    """Relevant rows of the lists that also have others, so that their order matters."""
    assert data.qid is not None
    relevant = data.gains > 0
    count = np.bincount(data.qid)
    mixed = np.bincount(data.qid, relevant) < count
    return relevant & mixed[data.qid]
