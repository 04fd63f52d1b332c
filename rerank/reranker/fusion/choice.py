"""The options of a fusion for the one choice on held-out queries (:mod:`rerank.reranker.selection`), and its kinds.

Weights of kinds of queries, such as codes and questions, are averaged with the common ones, and kept where they lead.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.io import Table
from rerank.ranks.row_gains import gain_of
from rerank.reranker.blend import POOL, of_size_one
from rerank.reranker.clock import Clock
from rerank.reranker.constraints import rows_of_floors
from rerank.reranker.data import Arguments, Data, data_of
from rerank.reranker.estimator import Reranker
from rerank.reranker.evidence import Evidence
from rerank.reranker.fit import fit
from rerank.reranker.fusion.lists import JudgedRuns
from rerank.reranker.fusion.model import FusionModel
from rerank.reranker.fusion.normalise import Floats
from rerank.reranker.fusion.points import Null, RunWeights
from rerank.reranker.options import RerankerOptions
from rerank.reranker.selection.folds import Split, splits_of
from rerank.reranker.selection.held_out import Folds, Judge, part_of
from rerank.reranker.selection.options import NOT_TRIED, Lead, Option, beside, best_of, cv_results
from rerank.reranker.selection.reranker_cv import FOLDS_SHARE, Trial
from rerank.reranker.task import task_of
from rerank.statistics import RankStatistic, parse

REPEATS = 2  # deals of the folds


@dataclass(frozen=True)
class Weighting:
    """Weights of a kind for scores by a normaliser, how far a search corrects them, and a run that is left out."""

    kind: str
    normaliser: str
    radius: float | None = 0.0
    without: int | None = None


@dataclass(frozen=True, eq=False)
class Posed:
    """Judged runs, and what a fit asks of their weights."""

    judged: JudgedRuns
    plain: FusionModel  # names of the runs, their prior weights, and how a document is scored that a run lacks
    normalisers: tuple[str, ...]  # that are tried, the first one first
    floors: Floats  # (runs,), least share
    settings: dict[str, Any]  # parameters of ScoreFusion

    @cached_property
    def statistic(self) -> RankStatistic:
        """What is fitted."""
        return parse(self.settings["stat"])

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The rows as each normaliser has them; those of RRF are there, too."""
        every = dict.fromkeys((*self.normalisers, "rank"))
        return {name: self.judged.table(replace(self.plain, normaliser=name)) for name in every}

    @cached_property
    def data(self) -> Data:
        """The scores by all normalisers side by side."""
        table = self.tables[self.normalisers[0]]
        names = tuple(f"{name} {own}" for name in self.tables for own in self.plain.names)
        X = np.column_stack([table.X for table in self.tables.values()])
        return data_of(Arguments.of_file(replace(table, X=X, feature_names=names)), self._options, Reranker())

    @cached_property
    def _columns(self) -> dict[str, list[int]]:
        """Numbers of the columns by each normaliser: one list of each, as folds take columns apart for each list."""
        return {}

    def normalised_by(self, normaliser: str) -> Data:
        """The scores by one normaliser."""
        return data_of(Arguments.of_file(self.tables[normaliser]), self._options, Reranker())

    @property
    def _options(self) -> RerankerOptions:
        return RerankerOptions(self.settings["stat"], first_stage=None, gain=self.settings["gain"])

    def worth(self, model: FusionModel, scores: Floats | None = None) -> float:
        """The mean statistic of the queries as a model ranks: scores are rounded, so that rounding breaks no tie."""
        found = self.judged.scores(model) if scores is None else scores
        return float(self.data.evaluator(self.statistic).mean(found, "pessimistic"))

    def points(self) -> list[Weighting]:
        """Weights that cost no search; the first are what others have to lead."""
        prior, several = self.settings["prior"], len(self.plain.names) > 1
        word = prior if isinstance(prior, str) else "own"
        kinds = ("logistic", "given") if word in ("auto", "logistic") else ("given",)
        found = [Weighting(kind, name) for kind in kinds for name in self.normalisers]
        found += [Weighting("given", "rank")] if word != "own" else []
        signs = () if self.settings["positive"] else ("logistic of any sign",)
        more = ("logistic alone", "single", *signs) if word == "auto" and several else ()
        return list(dict.fromkeys([*found, *(Weighting(kind, self.normalisers[0]) for kind in more)]))

    @property
    def nulls(self) -> list[Null]:
        """What learns nothing, RRF first: equal weights of each normaliser; a user's own weights alone."""
        own = isinstance(self.settings["prior"], Mapping)
        names = self.normalisers if own else dict.fromkeys(("rank", *self.normalisers))
        return [
            Null(self.title(Weighting("given", name)), self.worth(replace(self.plain, normaliser=name)))
            for name in names
        ]

    def params(self, point: Weighting, alone: bool = False) -> dict[str, Any]:
        """Parameters of the reranker that fits a point, among all columns or on those of its normaliser ``alone``."""
        m = len(self.plain.names)
        begin = 0 if alone else m * list(self.tables).index(point.normaliser)
        runs = np.delete(np.arange(m), [] if point.without is None else [point.without])
        floors = self.floors[runs] if point.without is None else np.zeros(runs.size)
        more = self.settings["stat"], self.settings["gain"]
        columns = (
            None if alone or point.radius == 0 else self._columns.setdefault(point.normaliser, (begin + runs).tolist())
        )
        found: dict[str, Any] = {"radius": point.radius, "features": columns}
        found["first_stage"] = RunWeights(point.kind, begin + runs, self.plain.weights[runs], floors, *more)
        if point.radius != 0 and floors.any():
            names = self.plain.names if alone else self.data.rows.columns.inputs[begin : begin + m]
            found["constraints"] = rows_of_floors(floors, names)
        if (margin := self.settings["margin"]) is not None:
            found["margin"] = margin
        return found

    def reranker(self, point: Weighting, alone: bool = False) -> Reranker:
        """What fits a point."""
        given = {name: self.settings[name] for name in ("gain", "node_limit", "n_jobs", "random_state")}
        given |= {"positive": bool(self.settings["positive"]), "cross_fit": False, "n_candidates": None}
        return Reranker(self.settings["stat"], solver="search", **given, **self.params(point, alone))

    def title(self, point: Weighting) -> str:
        """A point in words."""
        kind, name, radius, without = astuple(point)
        words = f"best run ({name})" if kind == "single" else f"{kind} ({name})"
        if kind == "given":
            rrf = name == "rank" and self.plain.missing != "impute"
            words = "RRF" if rrf else f"equal weighting ({name})"
            words = "the given weighting" if isinstance(self.settings["prior"], Mapping) else words
        words += "" if radius == 0 else ", free weights" if radius is None else f", radius {radius:g}"
        return words if without is None else f"{words}, without {self.plain.names[without]}"

    def fitted(self, point: Weighting, data: Data, rows: NDArray[np.intp], clock: Clock) -> Floats:
        """Weights of a point, of size 1 in sum, from some rows of its normaliser's."""
        est, gain = self.reranker(point, alone=True), gain_of(self.settings["stat"], self.settings["gain"])
        task = task_of(est, data.X.shape[1])
        task = replace(task, node_limit=task.node_limit or 0, proof=False, judged=True)
        with untold():
            return of_size_one(fit(part_of(data, rows, gain, "a fold"), task, clock).coef)

    def params_of(self, point: Weighting) -> dict[str, Any]:
        """A point as ``cv_results_`` has it."""
        without = None if point.without is None else self.plain.names[point.without]
        return {"normalise": point.normaliser, "prior": point.kind, "radius": point.radius, "without": without}


@dataclass(frozen=True, eq=False)
class Chosen:
    """What is best on held-out queries, or what has to be led, and what the folds said, if there were any."""

    point: Weighting
    kept: bool = False
    notes: tuple[str, ...] = ()
    cv_results: dict[str, Any] | None = None
    evidence: Evidence | None = None
    losses: dict[str, float] = field(default_factory=dict)  # held-out statistic that is lost without a run
    splits: tuple[Split, ...] = ()


def choose(posed: Posed, points: Sequence[Weighting], radii: Sequence[float | None], clock: Clock) -> Chosen:
    """The first of the points, or what leads it by the safeguard on held-out queries: other points, or corrections of
    the best within ``radii``.
    """
    home, data, settings = points[0], posed.data, posed.settings
    relevant = of_mixed_lists(data)
    assert data.qid is not None
    if (there := np.unique(data.qid[relevant]).size) < 2:
        what = f"Only {there} judged queries have documents to order, so nothing can be held out"
        return Chosen(home, kept=True, notes=(f"{what}, and {posed.title(home)} is kept.",))
    cv, safeguard = min(settings["cv"], there), float(settings["safeguard"])
    splits = splits_of(data.X, relevant, data.qid, cv, REPEATS, settings["random_state"])
    base, part = posed.reranker(home).set_params(n_jobs=None), Clock(clock.share(FOLDS_SHARE))
    folds = Folds(base, splits, data, part, settings["n_jobs"])
    trial = Trial(folds, Judge(data, splits, posed.statistic), 0, safeguard, early=True)
    tried = list(points[1:])
    trial.take([Option(posed.params(point)) for point in tried])
    best = best_of(trial.options, trial.leads, max(safeguard, 0.0))
    around = home if best is None else tried[best]
    more = [replace(around, radius=radius) for radius in radii if radius != 0]
    trial.take([Option(posed.params(point)) for point in more])
    m = len(posed.plain.names)
    tried += more
    less = [replace(around, without=run) for run in range(m if m > 1 else 0)]
    trial.take([Option(posed.params(point), rival=True) for point in less])
    leads = trial.leads = beside(trial.leads, trial.alone)
    own = 0.0 if best is None else leads[best].lead
    losses = dict(zip(posed.plain.names, (own - lead.lead for lead in leads[len(tried) :])))
    tried += less
    best = best_of(trial.options, leads, safeguard)
    results = cv_results([posed.params_of(point) for point in tried], leads, [option.rival for option in trial.options])
    how: dict[str, Any] = {"folds": cv, "rounds": REPEATS, "safeguard": safeguard, "null": posed.title(home)}
    how["ended"] = tuple(trial.ended)
    evidence = Evidence.of(results, tuple(map(posed.title, tried)), statistic=posed.statistic.name, chosen=best, **how)
    return Chosen(
        home if best is None else tried[best],
        best is None,
        tuple(trial.notes()),
        results,
        evidence,
        losses,
        tuple(splits),
    )


@contextmanager
def untold() -> Iterator[None]:
    """Leave out a reranker's warning that no order matters: it speaks of a shortlist, and the result says it too."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"(No order of the shortlist|The shortlist holds no)")
        yield


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
    taken: bool  # whether they lead the common ones by the safeguard


def weights_by_kind(
    posed: Posed, choice: Chosen, common: Floats, kinds: Sequence[str | None], clock: Clock
) -> list[Kind]:
    """Each kind, by name; ``kinds`` has that of each list. After Ctrl-C those have no lead that were not judged yet."""
    data = posed.normalised_by(choice.point.normaliser)
    assert data.qid is not None
    found, lists = list[Kind](), np.array([kind or "" for kind in kinds])
    folds = list[tuple[Split, Floats]]()
    for split in choice.splits:
        weights = posed.fitted(choice.point, data, split.train, Clock(clock.share(1.0)))
        if clock.remaining <= 0:  # or Ctrl-C, so that the search was not through
            folds = []
            break
        folds.append((split, weights))
    evaluator = data.evaluator(posed.statistic)

    def values(weights: Floats) -> Floats:
        return np.array(evaluator.values(data.X @ weights, "pessimistic"), dtype=np.float64)

    alone = held_out(values, data.qid, folds)
    for name in sorted({kind for kind in kinds if kind is not None}):
        own = lists == name
        learned = [
            (split, pooled(posed, weights, data, split.train[own[data.qid[split.train]]]))
            for split, weights in (folds if clock.remaining > 0 else ())
        ]
        lead = lead_of(held_out(values, data.qid, learned)[own], alone[own])
        taken = lead.lead > max(float(posed.settings["safeguard"]), 0.0) * lead.error
        weights = pooled(posed, common, data, np.flatnonzero(own[data.qid]))
        found.append(Kind(name, int(own.sum()), weights, lead, bool(taken and lead.lead > 0)))
    return found


def held_out(
    values: Callable[[Floats], Floats], qid: NDArray[np.intp], folds: Sequence[tuple[Split, Floats]]
) -> Floats:
    """Mean value of each list, over the deals of the folds, by weights that have not seen it; ``values`` has those of
    all lists by some weights.
    """
    total, count = np.zeros((2, int(qid.max()) + 1))
    for split, weights in folds:
        test = np.unique(qid[split.test])
        total[test] += values(weights)[test]
        count[test] += 1
    return np.divide(total, count, out=np.full(total.size, np.nan), where=count > 0)


def lead_of(own: Floats, other: Floats) -> Lead:
    """Mean values over lists, the lead, and the standard error of the paired difference."""
    ahead = own - other
    ahead = ahead[~np.isnan(ahead)]
    if not ahead.size:
        return NOT_TRIED
    error = float(ahead.std(ddof=1)) / math.sqrt(ahead.size) if ahead.size > 1 else math.nan
    alone = float(np.nanmean(other))
    return Lead(alone + float(ahead.mean()), alone, float(ahead.mean()), error)


def pooled(posed: Posed, common: Floats, data: Data, rows: NDArray[np.intp]) -> Floats:
    """The common weights, averaged with those of logistic regression on some rows."""
    assert data.qid is not None
    if not (data.gains[rows] > 0).any():
        return common
    kind = "logistic alone" if posed.settings["positive"] else "logistic of any sign"
    est = posed.params(Weighting(kind, ""), alone=True)["first_stage"]
    own = est.fit(data.X[rows], data.y[rows], data.qid[rows]).coef_
    return of_size_one(POOL * common + np.unique(data.qid[rows]).size * own)
