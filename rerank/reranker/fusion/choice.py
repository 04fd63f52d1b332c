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
from rerank.reranker.fusion.nulls import Null, preferred
from rerank.reranker.selection.folds import Split, splits_of
from rerank.reranker.selection.held_out import Folds, Judge, Ranked, rows_of
from rerank.reranker.selection.options import Lead, beside, best_of
from rerank.reranker.selection.options import Option as Reranked
from rerank.statistics import RankStatistic

Floats = NDArray[np.float64]

FOLDS_SHARE = 0.75
"""Share of the time for the folds; the rest is for the fit on all queries."""

SOME_QUERIES, MANY_QUERIES = 50, 200
"""From some queries on the folds are dealt once, not twice. From many on no fold learns from more: to compare
normalisers and radii they are enough, and all queries are held out once."""

UNMOVED = (
    "Most fits on folds ran out of time at the prior, where they began; with more time_limit held-out queries may "
    "speak for other weights."
)


@dataclass(frozen=True, eq=False)
class Option:
    """A normaliser, the weights that are corrected, and by how much at most."""

    normaliser: str
    prior: Floats
    radius: float | None

    @property
    def parameters(self) -> dict[str, Any]:
        """In words, for tables."""
        return {"normalise": self.normaliser, "radius": self.radius}


@dataclass(frozen=True, eq=False)
class Chosen:
    """The option that is best on held-out queries, and whether it leads the null.

    Attributes
    ----------
    option : Option
    number : int or None
        Of the option among those that were tried; None if the null is kept.
    tried : tuple of Option
    leads : tuple of Lead
        Of the options that were tried; empty without folds.
    folds, rounds : int
        Folds, and how often they were dealt.
    note : str
    """

    option: Option
    number: int | None
    tried: tuple[Option, ...] = ()
    leads: tuple[Lead, ...] = ()
    folds: int = 0
    rounds: int = 0
    note: str = ""


def reranker_of(option: Option, settings: Mapping[str, Any]) -> Reranker:
    """What fits an option: corrections of the prior's score, or free weights."""
    given = dict(settings)
    if option.radius is not None:
        given["prior"] = option.prior
    return Reranker(first_stage=None, radius=option.radius, solver="search", **given)


def chosen_by_folds(
    tables: Mapping[str, Data], options: Sequence[Option], null: Null, null_scores: Floats, statistic: RankStatistic,
    settings: Mapping[str, Any], rule: Mapping[str, Any], clock: Clock, n_jobs: int | None, verbose: int,
) -> Chosen:  # fmt: skip
    """The option to keep, or the null.

    Parameters
    ----------
    tables : mapping of normaliser to Data
        The same rows, lists and grades, normalised.
    null : Null
        What has to be led.
    null_scores : float64 array (n,)
        Its scores of the rows.
    settings : mapping
        Further parameters of the reranker.
    rule : mapping
        ``cv``, ``rule``, ``safeguard`` and ``random_state``.
    """
    first = next(iter(tables.values()))
    relevant = of_mixed_lists(first)
    assert first.qid is not None
    there = np.unique(first.qid[relevant]).size
    if there < 2:
        what = f"Only {there} judged queries have documents to order, so nothing can be held out"
        note = f"{what}, and {null.name} is kept."
        return Chosen(options[0], None, note=note)
    repeats = 1 if there >= SOME_QUERIES else 2
    cv = min(rule["cv"], there)
    splits = splits_of(first.X, relevant, first.qid, cv, repeats, rule["random_state"])
    splits = [fewer_queries(split, first.qid, relevant, rule["random_state"]) for split in splits]

    folds = _Trial(tables, splits, Judge(first, splits, statistic), null_scores, settings, clock, n_jobs, verbose)
    own = {name: [option for option in options if option.normaliser == name] for name in tables}
    *others, last = own
    if not others:
        folds.take(own[last], 1.0)
    else:
        radii_left = len(own[last]) - 1
        for done, name in enumerate(own):
            folds.take([_middle(own[name])], 1 / (len(own) - done + radii_left))
        values = np.array([folds.by_fold(k) for k in range(len(folds.tried))])
        last = preferred(values, [option.normaliser for option in folds.tried], null.normaliser, cv)
        if radii_left:
            folds.take([option for option in own[last] if option is not _middle(own[last])], 1.0)
    alone = next((lead.alone for lead in folds.leads if not np.isnan(lead.lead)), np.nan)
    folds.leads = beside(folds.leads, alone)
    note = UNMOVED if 2 * sum(not np.isnan(lead.value) for lead in folds.leads) < len(folds.leads) else ""
    numbers = [number for number, option in enumerate(folds.tried) if option.normaliser == last]
    safeguard = float(rule["safeguard"])
    if rule["rule"] == "mean" and np.isfinite(safeguard):
        safeguard = 0.0
    best = best_of(
        [Reranked({"radius": folds.tried[k].radius}) for k in numbers], [folds.leads[k] for k in numbers], safeguard
    )
    number = numbers[0] if best is None else numbers[best]
    told = None if best is None else number
    deals = len({split.repeat for split in splits})
    return Chosen(folds.tried[number], told, tuple(folds.tried), tuple(folds.leads), cv, deals, note)


def _middle(options: Sequence[Option]) -> Option:
    return options[len(options) // 2]


class _Trial:
    """What options make of held-out queries, some options of one normaliser after the other."""

    def __init__(
        self, tables: Mapping[str, Data], splits: Sequence[Split], judge: Judge, null_scores: Floats,
        settings: Mapping[str, Any], clock: Clock, n_jobs: int | None, verbose: int,
    ) -> None:  # fmt: skip
        self._tables, self._splits, self._judge, self._settings = tables, splits, judge, settings
        self._null, self._clock, self._n_jobs, self._verbose = null_scores, clock, n_jobs, verbose
        self._end = clock.remaining * (1 - FOLDS_SHARE) if clock.limited else 0.0
        self._ranked: list[list[Ranked]] = []
        self._over = False
        self.tried: list[Option] = []
        self.leads: list[Lead] = []

    def take(self, options: Sequence[Option], share: float) -> None:
        """Fit options of one normaliser on all folds, in a share of the time for folds; none after an interrupt."""
        left = (self._clock.remaining - self._end) * share
        part = Clock(max(0.0, left) if self._clock.limited else None)
        base, name = reranker_of(options[0], self._settings), options[0].normaliser
        with untold():
            folds = Folds(base, self._splits, self._tables[name], None, part, self._n_jobs)
        for place, option in enumerate(options):
            deals: list[tuple[list[int], list[Ranked]]] = []
            try:
                for deal in [] if self._over else self._judge.deals():
                    fits = (len(options) - place) * len(self._splits)
                    with untold():
                        ranked = folds.take({"radius": option.radius}, deal, fits)
                    if len(ranked) == len(deal):
                        deals.append((deal, [self._led(k, one) for k, one in zip(deal, ranked)]))
            except KeyboardInterrupt:
                self._over = True
                if not deals and not any(self._ranked):
                    raise
            self.tried.append(option)
            self._ranked.append([one for _, ranked in deals for one in ranked])
            self.leads.append(self._judge.lead(deals))
            if self._verbose:
                lead = self.leads[-1]
                say(f"normaliser {name}, radius {option.radius}: {self._judge.statistic.name} {lead.value:.4g}")

    def _led(self, k: int, ranked: Ranked) -> Ranked:
        """With the scores of the null as what has to be led."""
        null = self._null[self._splits[k].test]
        return replace(ranked, alone=null, joint_alone=null)

    def by_fold(self, number: int) -> Floats:
        """Statistic of each fold by an option; NaN for folds without time."""
        found = np.full(len(self._splits), np.nan)
        for k, one in enumerate(self._ranked[number]):
            found[k] = rows_of(self._judge.data, self._splits[k].test).evaluate(self._judge.statistic, one.own)
        return found


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
