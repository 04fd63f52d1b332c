"""Normaliser and radius chosen on held-out queries, with a null as the first stage that has to be led."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rerank.reranker.clock import Clock
from rerank.reranker.data import Data
from rerank.reranker.estimator import Reranker
from rerank.reranker.fusion.nulls import Null, preferred
from rerank.reranker.selection.folds import Split, splits_of
from rerank.reranker.selection.grid import choose
from rerank.reranker.selection.held_out import Ranked, held_out
from rerank.reranker.selection.judge import Judged, judged
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
    judged : Judged or None
        None without folds.
    note : str
    """

    option: Option
    number: int | None
    tried: tuple[Option, ...] = ()
    judged: Judged | None = None
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
    options : sequence of Option
    null : Null
        What has to be led.
    null_scores : float64 array (n,)
        Its scores of the rows.
    statistic : RankStatistic
    settings : mapping
        Further parameters of the reranker.
    rule : mapping
        ``cv``, ``rule``, ``safeguard`` and ``random_state``.
    clock : Clock
    n_jobs : int or None
    verbose : int
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

    def judge(ranked: Sequence[Sequence[Ranked]]) -> Judged:
        against = [[replace(one, alone=null_scores[split.test], joint_alone=null_scores[split.test]) for one in row]
                   for split, row in zip(splits, ranked)]  # fmt: skip
        return judged(first, splits, against, statistic, statistic)

    folds = _Folds(tables, splits, settings, clock, n_jobs, verbose)
    own = {name: [option for option in options if option.normaliser == name] for name in tables}
    *others, last = own
    if not others:
        folds.take(own[last], 1.0)
    else:
        radii_left = len(own[last]) - 1
        went_on = True
        for done, name in enumerate(own):
            went_on = went_on and folds.take([_middle(own[name])], 1 / (len(own) - done + radii_left))
        first_round = judge(folds.ranked)
        name = preferred(first_round.scores, [option.normaliser for option in folds.tried], null.normaliser, cv)
        if went_on and radii_left:
            folds.take([option for option in own[name] if option is not _middle(own[name])], 1.0)
        last = name
    found = judge(folds.ranked)
    note = UNMOVED if 2 * found.tried.sum() < found.scores.size else ""
    numbers = [number for number, option in enumerate(folds.tried) if option.normaliser == last]
    number, kept = best_of(found, numbers, rule)
    return Chosen(folds.tried[number], None if kept else number, tuple(folds.tried), found, note)


def best_of(found: Judged, numbers: Sequence[int], rule: Mapping[str, Any]) -> tuple[int, bool]:
    """The option with the largest lead among some, and whether the null is kept because it leads none.

    No radius has to be led by a smaller one first, as :func:`choose` has it for corrections of tables: weights that are
    not negative over-fit little, and a small correction may show nothing on few queries where a large one does.
    """
    own = list(numbers)
    some = replace(
        found, scores=found.scores[own], leads=found.leads[own], errors=found.errors[own], means=found.means[own]
    )
    best = choose(some, [0.0] * len(own), rule["rule"], rule["safeguard"])
    return own[best.best], best.first_stage_kept


def _middle(options: Sequence[Option]) -> Option:
    return options[len(options) // 2]


class _Folds:
    """What options make of held-out queries, some options of one normaliser after the other."""

    def __init__(
        self, tables: Mapping[str, Data], splits: Sequence[Split], settings: Mapping[str, Any], clock: Clock,
        n_jobs: int | None, verbose: int,
    ) -> None:  # fmt: skip
        self._tables, self._splits, self._settings = tables, splits, settings
        self._clock, self._n_jobs, self._verbose = clock, n_jobs, verbose
        self._end = clock.remaining * (1 - FOLDS_SHARE) if clock.limited else 0.0
        self.tried: list[Option] = []
        self._by_option: list[list[Ranked]] = []

    def take(self, options: Sequence[Option], share: float) -> bool:
        """Fit options of one normaliser on all folds, in a share of the time for folds; False after an interrupt."""
        left = (self._clock.remaining - self._end) * share
        # held_out leaves a quarter of its time to a fit on all rows, which here comes once for all normalisers.
        part = Clock(max(0.0, left) * 4 / 3 if self._clock.limited else None)
        base, name = reranker_of(options[0], self._settings), options[0].normaliser
        if self._verbose:
            radii = ", ".join(str(option.radius) for option in options)
            print(f"normaliser {name}, radius {radii}", file=sys.stderr, flush=True)
        candidates = [{"radius": option.radius} for option in options]
        with untold():
            found = held_out(
                base, candidates, self._splits, self._tables[name], None, part, self._n_jobs, self._verbose
            )
        self.tried += options
        self._by_option += [[row[place] for row in found] for place in range(len(options))]
        return len(found) == len(self._splits)

    @property
    def ranked(self) -> list[list[Ranked]]:
        """For each fold that all options have, what each of them makes of it."""
        folds = min(len(rows) for rows in self._by_option)
        return [[rows[fold] for rows in self._by_option] for fold in range(folds)]


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
    rng = check_random_state(0 if random_state is None else random_state)
    kept = rng.choice(telling, MANY_QUERIES, replace=False)
    return replace(split, train=split.train[np.isin(qid[split.train], kept)])


def of_mixed_lists(data: Data) -> NDArray[np.bool_]:
    """Relevant rows of the lists that also have others, so that their order matters."""
    assert data.qid is not None
    relevant = data.gains > 0
    count = np.bincount(data.qid)
    mixed = np.bincount(data.qid, relevant) < count
    return relevant & mixed[data.qid]
