"""Normaliser, weights and radius chosen on held-out queries; weights that cost no search come first.

Weights of kinds of queries, such as codes and questions, are averaged with the common ones, and kept where they lead.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.errors.telling import say
from rerank.io.options import legacy
from rerank.ranks.row_gains import gain_of
from rerank.reranker.blend import POOL, of_size_one
from rerank.reranker.clock import Clock
from rerank.reranker.data import Data
from rerank.reranker.estimator import Reranker
from rerank.reranker.evidence import Evidence
from rerank.reranker.fit import fit
from rerank.reranker.fusion.lists import some_rows
from rerank.reranker.fusion.normalise import Floats
from rerank.reranker.fusion.points import Lists, Null, Values, point
from rerank.reranker.selection.folds import Split, splits_of
from rerank.reranker.selection.held_out import Done, Workers, part_of
from rerank.reranker.selection.options import NOT_TRIED, Lead, Option, cv_results
from rerank.reranker.task import task_of
from rerank.statistics import parse

FOLDS_SHARE = 0.75  # share of the time for the folds; the rest is for the fit on all queries
FEW_QUERIES, SOME_QUERIES, MANY_QUERIES = 20, 50, 200
"""With few queries no weights are searched for, and the folds are dealt five times. From some on they are dealt once,
not twice. From many on no fold learns from more: to compare options they are enough, and all queries are held out."""

FEW_TOLD = (
    f"With {{}} judged queries no weights were searched for: with fewer than {FEW_QUERIES}, held-out queries hardly "
    "tell them from equal weights and those of logistic regression, averaged."
)

BAR = 1.5  # standard errors by which anything else must lead the first kind of weights (docs/decisions/0028)
Folds = Sequence[tuple[Lists, Lists]]  # training and held-out lists of each fold
Make = Callable[[Floats, float | None], Reranker]
"""What corrects the score of some weights within a radius, or fits free weights without one."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """What is best on held-out queries, or the null, and what folds said, if there were any."""

    option: Option
    kept: bool = False
    note: str = ""
    cv_results: dict[str, Any] | None = None
    evidence: Evidence | None = None
    name: str = ""
    folds: Folds = ()
    held: Floats | None = None
    by_fold: Sequence[Floats] = ()

    @property
    def searched(self) -> bool:
        """Whether weights are searched for on all queries."""
        return bool(self.option.params["radius"] != 0)


def title(option: Option, null: Null) -> str:
    """An option in words."""
    name, kind, radius = (option.params[key] for key in ("normalise", "prior", "radius"))
    if kind == "given":
        words = null.name if name == null.normaliser else f"equal weights ({name})"
    else:
        words = f"best run ({name})" if kind == "single" else f"{kind} ({name})"
    return f"{name}, without a limit" if radius is None else words if not radius else f"{words}, radius {radius:g}"


OVER = f"the {FOLDS_SHARE:.0%} of the time_limit of {{}} s that folds have were over; give more time_limit."
"""Why options were not tried."""

UNSURE = ("single", "logistic alone", "logistic of any sign")  # weights that are not tried with few queries
NO_ENGINE = ("z",)  # normalisers that no search engine has; they are taken where they lead like any other option
TOLD = {"given": "Equal weighting", "logistic": "Logistic regression, averaged with equal weights,"}
"""Kinds of weights that are taken unless others lead them."""


def best_of(held: Sequence[Floats], firsts: Sequence[int], bar: float = BAR) -> int:
    """The option of ``firsts`` with the best mean, unless others lead it by ``bar`` standard errors: then their best.
    ``held`` are held-out values (lists,) of the options, all NaN where one was not tried.
    """
    means = [-math.inf if np.isnan(one).all() else float(np.nanmean(one)) for one in held]
    home = max(firsts, key=means.__getitem__)
    home = int(np.argmax(means)) if math.isinf(means[home]) else home
    ahead = [lead_of(one, held[home]) for one in held]
    # An error that is not known is no reason to move.
    clear = [k for k, lead in enumerate(ahead) if lead.lead > max(bar * lead.error, 0.0)]
    return max(clear, key=means.__getitem__, default=home)


def lead_of(own: Floats, other: Floats) -> Lead:
    """Mean values over lists, the lead, and the standard error of the paired difference."""
    ahead = own - other
    ahead = ahead[~np.isnan(ahead)]
    if not ahead.size:
        return NOT_TRIED
    error = float(ahead.std(ddof=1)) / math.sqrt(ahead.size) if ahead.size > 1 else math.nan
    alone = float(np.nanmean(other))
    return Lead(alone + float(ahead.mean()), alone, float(ahead.mean()), error)


@dataclass(eq=False)
class Trial:
    """Options tried on all folds, one after the other, until the time of the folds is over."""

    tables: Mapping[str, Data]  # by normaliser the same rows, lists and grades
    values: Values  # of their lists
    prior: Floats  # (runs,), weights of the kind "given"
    make: Make
    settings: Mapping[str, Any]  # parameters of ScoreFusion
    clock: Clock
    kept: NDArray[np.intp] | None = None  # rows that a search needs; see `points.telling`

    def __post_init__(self) -> None:
        self.splits: list[Split] = []
        self.lists: list[tuple[Lists, Lists]] = []
        self._points: dict[tuple[str, str], list[Floats]] = {}
        self.weights: list[list[Floats]] = []  # of each fold, for each option; none where the time was over
        self.over, self.short, self.cut, self._limit = "", "", 0, self.clock.limit

    def choose(self, points: Sequence[Option], radii: Sequence[float | None], null: Null) -> Chosen:
        """The option to take, or the ``null``: the best of the first kind of weights on held-out queries, unless others
        lead it by more than ``BAR`` standard errors. Points are weights without a search, ``radii`` of corrections of
        the best.
        """
        first = next(iter(self.tables.values()))
        relevant, settings = of_mixed_lists(first), self.settings
        assert first.qid is not None
        there = np.unique(first.qid[relevant]).size
        home = Option({"normalise": null.normaliser, "prior": "given", "radius": 0.0})
        if there < 2:
            what = f"Only {there} judged queries have documents to order, so nothing can be held out"
            return Chosen(home, kept=True, note=f"{what}, and {null.name} is kept.")
        few = there < FEW_QUERIES and settings["radius"] == "auto"
        seed, statistic = settings["random_state"], parse(settings["stat"])
        repeats = 1 if there >= SOME_QUERIES else 5 if few else 2
        cv = min(settings["cv"], there)
        splits = splits_of(first.X, relevant, first.qid, cv, repeats, seed)
        self.splits = [fewer_queries(split, first.qid, relevant, seed) for split in splits]
        self.lists = [(np.unique(first.qid[split.train]), np.unique(first.qid[split.test])) for split in self.splits]
        self.clock = Clock(self.clock.share(FOLDS_SHARE))

        options = [home, *(one for one in points if not (few and one.params["prior"] in UNSURE))]
        held = [self.of(option, 1) for option in options]
        like = (*points, home)[0].params["prior"]
        firsts = [k for k, option in enumerate(options) if option.params["prior"] == like]
        firsts = [k for k in firsts if options[k].params["normalise"] not in NO_ENGINE] or firsts
        around = options[best_of(held, firsts)].params
        corrections = [] if few else [Option({**around, "radius": radius}) for radius in radii if radius != 0]
        for left, option in zip(range(len(corrections), 0, -1), corrections):
            held.append(self.of(option, left * len(self.splits)))
        options += corrections

        safeguard, strict = float(settings["safeguard"]), settings["rule"] == "strict"
        leads = [lead_of(one, held[0]) for one in held]
        if math.isinf(safeguard):
            best = 0 if safeguard > 0 else max(range(len(held)), key=lambda k: np.nan_to_num(leads[k].value, nan=-1.0))
        else:
            best, safeguard = best_of(held, firsts), safeguard if strict else 0.0
            if strict and not leads[best].lead > safeguard * leads[best].error:
                best = 0
        notes = [FEW_TOLD.format(there)] if few else []
        if lost := sum(math.isnan(lead.value) for lead in leads[1:]):
            why = self.over or self.short
            notes.append(f"{lost} of {len(options) - 1} options were not tried on held-out queries: {why}")
        if self.cut:
            notes.append(f"Fits on folds that the time ended before they were through: {self.cut}.")
        results = cv_results([one.params for one in options[1:]], leads[1:], [False] * (len(options) - 1))
        more = ", and what is taken has to lead what is kept by the safeguard" if strict else ""
        best_for_it = "with the normaliser of an engine that is best for it,"
        word = title(home, null) if firsts == [0] else f"{TOLD[like]} {best_for_it}"
        remark = f"{word} is taken where nothing else leads it by more than {BAR} standard errors{more}."
        how: dict[str, Any] = {"folds": cv, "rounds": repeats, "safeguard": safeguard, "null": null.name}
        chosen = best - 1 if best else None
        evidence = Evidence.of(results, statistic=statistic.name, chosen=chosen, remark=remark, **how)
        evidence = replace(evidence, options=tuple(title(option, null) for option in options[1:]))
        told = " ".join(notes), results, evidence, title(options[best], null)
        return Chosen(options[best], best == 0, *told, self.lists, held[best], self.weights[best])

    @cached_property
    def _workers(self) -> Workers:
        return Workers(self.settings["n_jobs"])

    def of(self, option: Option, fits: int) -> Floats:
        """Mean value of each list over the deals, NaN where the time was over, which the ``fits`` to come share."""
        name, kind, radius = (option.params[key] for key in ("normalise", "prior", "radius"))
        data, found = self.tables[name], np.full(len(self.values.evaluator.lists), np.nan)
        self.weights.append([])
        try:
            if not self.over and self.clock.remaining <= 0:
                self.over = OVER.format(f"{self._limit:g}")
            if self.over:
                return found
            if (name, kind) not in self._points:
                made = [point(kind, self.values, data.X, train, self.prior) for train, _ in self.lists]
                self._points[name, kind] = made
            weights = self._points[name, kind]
            if radius != 0:
                weights = self._corrected(name, weights, radius, fits)
        except KeyboardInterrupt:
            self.over = "the fit was interrupted."
            return found
        if len(weights) < len(self.splits):
            return found
        self.weights[-1] = weights
        total = np.zeros(found.size)
        for one, (_, test) in zip(weights, self.lists):
            total[test] += self.values.of(data.X, one[None], test)[0]
        found = total / (1 + max(split.repeat for split in self.splits))
        if self.settings["verbose"]:
            say(f"{', '.join(f'{key} {value}' for key, value in option.params.items())}: {np.nanmean(found):.4g}")
        return found

    def _corrected(self, name: str, weights: Sequence[Floats], radius: float | None, fits: int) -> list[Floats]:
        """The weights of each fold corrected, or free ones; fewer where the time was over."""
        data, splits = self.tables[name], self.splits
        gain = gain_of(self.settings["stat"], self.settings["gain"])
        if self.kept is not None:
            data, place = some_rows(data, self.kept), np.cumsum(np.isin(np.arange(data.y.size), self.kept)) - 1
            splits = [replace(one, train=place[np.intersect1d(one.train, self.kept)]) for one in splits]
        parts = [part_of(data, split.train, gain, "a fold") for split in splits]
        made = [self.make(one, radius).set_params(n_jobs=None) for one in weights]
        jobs, ending = [(corrected, pair) for pair in zip(made, parts)], not self.settings["node_limit"]
        found = self._workers.shared(jobs, self.clock, fits, None, ending)
        self.short = self.short if len(found) == len(weights) else OVER.format(f"{self._limit:g}")
        self.cut += sum(one.cut for one in found)
        return [one.answer for one in found]


def corrected(est: Reranker, data: Data, seconds: float | None) -> Done:
    """Weights that a reranker fits in so many seconds, to be judged on other lists."""
    task = task_of(est.get_params(deep=False), data.X.shape[1])
    limit = 0 if task.node_limit is None else task.node_limit
    clock = Clock(seconds)
    with untold():
        state = fit(data, replace(task, node_limit=limit, proof=False, verbose=0, judged=True), clock)
    found = state.coef if np.any(state.coef) or est.radius is None else np.asarray(est.prior, dtype=np.float64)
    return Done(found, clock.cut, clock.idle)


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
    kept = legacy(0 if random_state is None else random_state).choice(telling, MANY_QUERIES, replace=False)
    return replace(split, train=split.train[np.isin(qid[split.train], kept)])


def of_mixed_lists(data: Data) -> NDArray[np.bool_]:
    """Relevant rows of the lists that also have others, so that their order matters."""
    assert data.qid is not None
    relevant = data.gains > 0
    mixed = np.bincount(data.qid, relevant) < np.bincount(data.qid)
    return relevant & mixed[data.qid]


class Kind(NamedTuple):
    """A kind of queries; its weights average common ones, as ``POOL`` queries, and logistic regression on its own."""

    name: str
    queries: int  # judged queries of the kind
    weights: Floats  # (runs,)
    lead: Lead  # held-out statistic by such weights and by the common ones, and the paired lead
    taken: bool  # whether they lead the common ones by the rule of the choice


def weights_by_kind(
    kinds: Sequence[str | None], values: Values, X: Floats, common: Floats, choice: Chosen, settings: Mapping[str, Any]
) -> list[Kind]:
    """Each kind, by name; ``kinds`` has that of each list, and the ``choice`` folds and the weights of each."""
    found, bar = [], math.inf if settings["safeguard"] == math.inf else BAR
    positive = bool(settings["positive"])
    for name in sorted({kind for kind in kinds if kind is not None}):
        own = np.flatnonzero([kind == name for kind in kinds])
        sums = np.zeros((2, len(kinds)))
        count = np.zeros(len(kinds))
        for weights, (train, test) in zip(choice.by_fold, choice.folds):
            here = np.intersect1d(test, own)
            both = np.stack([of_size_one(weights), _pooled(weights, values, X, np.intersect1d(train, own), positive)])
            sums[:, here] += values.of(X, both, here)
            count[here] += 1
        held = np.divide(sums, count, out=np.full_like(sums, np.nan), where=count > 0)
        weights = _pooled(common, values, X, own, positive)
        tried = not np.isnan(held).all()
        taken = tried and best_of(list(held), [0], bar) == 1
        found.append(Kind(name, own.size, weights, lead_of(held[1], held[0]), taken))
    return found


def _pooled(common: Floats, values: Values, X: Floats, lists: Lists, positive: bool) -> Floats:
    """The common weights, averaged with those of logistic regression on some lists."""
    common = of_size_one(common)
    if not any((values.evaluator.lists[number].gains > 0).any() for number in lists):
        return common
    own = point("logistic alone" if positive else "logistic of any sign", values, X, lists, common)
    return of_size_one(POOL * common + lists.size * own)
