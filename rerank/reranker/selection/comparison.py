"""Which method to take for a table: simple scores, boosted trees, a card and guarded corrections on the same folds.

Each method is a first stage that nothing corrects, so that it is fitted, timed and judged as any option of a choice.
"""

import importlib
import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from rerank.errors import InputError, unknown
from rerank.errors.compiling import working_time
from rerank.errors.stops import current, enough_memory, protected
from rerank.errors.telling import say
from rerank.io.frames import is_frame, is_sparse, names_of
from rerank.io.options import seed
from rerank.io.page import Cells, Part, Readable, Words
from rerank.problem.lists import Floats
from rerank.ranks.row_gains import IdealGains
from rerank.reranker.clock import Clock
from rerank.reranker.data import Arguments, Data, Weights, data_of
from rerank.reranker.estimator import Reranker
from rerank.reranker.evidence import interval, short
from rerank.reranker.first_stage import fitted, memorises, name_of
from rerank.reranker.options import Params
from rerank.reranker.selection.held_out import Folds, Judge, Ranked, dealt, placed
from rerank.reranker.selection.options import FEW, FEW_RADIUS, MARGIN, SAFEGUARD, SMALL, STRONG, WINDOW, Lead, clearest
from rerank.reranker.selection.reranker_cv import RerankerCV
from rerank.statistics import fitted_statistic, parse

STAGES: dict[str, Any] = {"logistic": "logistic", "squares": "logistic+squares"}
STAGES |= dict(zip(("trees", "forest", "blend"), STRONG)) | {"lightgbm": "LightGBM"}
METHODS = (*STAGES, "card", "guard")
"""What is compared by default; the guard stands for one over each of the scores before it that are corrected."""

GUARDED = "{}, guarded"

IN_USE = "column {}"  # a score in use, which is a column of the table
SIMPLEST = ("logistic", "squares", "card", "logistic, guarded", "squares, guarded")
"""What has to be led is a score in use, else the first of these that was tried, else the first method."""

SIZES, INNER = (0.1, 0.3, 1.0), 3
"""Radii that a guard of a score tries, beside free weights, and its folds inside the training rows: fewer than it has
alone. Of trees and blends it tries what :class:`rerank.RerankerCV` does.
"""

CARD = 2.0  # seconds of the search of a card on each fold: its first cards are good, and the rest is for a proof
RESERVE = 0.9  # share of its part of the time that a guard may use on a fold; folds that come later have what it leaves
OVER = "not tried: the time was over, or the call interrupted"
LATE = "not tried: there was no time for all of its folds; raise time_limit"
STARVED = "no value: no correction was tried in time inside a fold; raise time_limit"
PARTLY = "{} of {} options tried in time"


class Boosted(ClassifierMixin, BaseEstimator):
    """LightGBM with its defaults, on tables encoded as for logistic regression: ranker, regressor or classifier."""

    takes_grades = True

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Floats, qid: Any = None, sample_weight: Floats | None = None) -> Self:
        """Learn the encoding and the trees."""
        from rerank.scorers.encoding import learned

        self.names_ = names_of(X)
        self.rules_ = learned(X, None, self.names_)[0]
        if not self.rules_:
            raise InputError("LightGBM has no column that it can learn from; give columns of numbers, or of few texts.")
        two = np.unique(y).size == 2
        kind = "LGBMRanker" if qid is not None else "LGBMClassifier" if two else "LGBMRegressor"
        model = getattr(importlib.import_module("lightgbm"), kind)
        learner = model(n_jobs=1, random_state=self.random_state, verbose=-1)
        self.model_ = fitted(learner, self._encoded(X), np.asarray(y), qid, sample_weight)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Score of each row, of two classes the log-odds."""
        return np.asarray(self.model_.predict(self._encoded(X), raw_score=True), dtype=np.float64)

    def _encoded(self, X: Any) -> Floats:
        from rerank.scorers.encoding import encoded

        return encoded(X, self.rules_, self.names_)


class Method(NamedTuple):
    """What is compared: its name, and what makes its first stage within so many seconds for one fit."""

    name: str
    make: Callable[[float | None], Any]
    least: float = 0.0  # seconds without which no fold is begun
    over: str = ""  # of a guard: the score that it corrects,
    of_trees: bool = False  # and whether that is trees or a blend
    one_scale: bool = False  # whether scores by models of different folds can be compared


class StarvedError(Exception):
    """No option of a choice inside the training rows had the time to be tried."""


class _Guard(RerankerCV):
    """A choice that ends before its last fit where no option was tried: what it would keep, nothing was beside."""

    def _check(self, trial: Any) -> None:
        if len(trial.refused) < len(trial.leads) and all(math.isnan(lead.value) for lead in trial.leads):
            raise StarvedError


@dataclass(frozen=True, eq=False)
class Compared:
    """A method on rows that its fits have not seen."""

    name: str
    value: float | None = None  # None for one that was not tried; ``why`` says so
    lead: float | None = None  # over the first method; None for that one
    error: float | None = None  # standard error of the lead
    seconds: float = 0.0  # of its fits on all folds
    why: str = ""  # why it has no value, or what its value lacks

    @property
    def interval(self) -> tuple[float, float] | None:
        """The lead less and plus 1.96 standard errors; None where it is not known."""
        return interval(self.lead, self.error)


@dataclass(frozen=True, eq=False)
class Comparison(Readable):
    """Methods on the same held-out rows, and which to take."""

    statistic: str
    methods: tuple[Compared, ...]  # in the order in which they were tried; the first is what the others lead
    take: str  # the method that leads clearly, or what has to be led
    sentence: str  # what to take, and why
    folds: int
    list_length: int | None  # rows for which values are counted; None if the length makes no difference
    estimator: Any = field(repr=False)  # what to take, not fitted yet
    given: Arguments | None = field(repr=False, default=None)  # the rows, as they came

    def fit(self) -> Any:
        """The estimator of what to take, fitted to the rows that were compared."""
        taken = inspect.signature(self.estimator.fit).parameters
        rows = {name: side for name, side in vars(self.given).items() if side is not None and name in taken}
        return clone(self.estimator).fit(**rows)

    @property
    def table(self) -> list[dict[str, Any]]:
        """A mapping for each method, as ``pandas.DataFrame`` takes them; None for what is not known."""
        head, found = ("method", "statistic", "value", "lead", "low", "high", "seconds", "take", "note"), []
        for method in self.methods:
            numbers = (method.value, method.lead, *(method.interval or (None, None)), method.seconds)
            found.append(dict(zip(head, (method.name, self.statistic, *numbers, method.name == self.take, method.why))))
        return found

    def parts(self) -> list[Part]:
        """What a person reads."""
        first = f"Held-out rows of {self.folds} folds, rows of equal score in any order."
        if self.list_length is not None:
            first += f" Counted for lists of {self.list_length:,} rows, all folds in one."
        if self.statistic.startswith("precision@"):
            first += " Hits are counted, not divided by the number of places."
        noted = any(method.why for method in self.methods if method.value is not None)
        head = ("method", self.statistic, f"lead over {self.methods[0].name}", "95 % interval", "seconds", "note")
        rows = [head]
        for method in self.methods:
            if method.value is None:
                rows.append((method.name, "", "", method.why, "", ""))
                continue
            lead = "" if method.lead is None else f"{method.lead:+.4g}"
            ends = "" if method.interval is None else " to ".join(f"{end:+.3g}" for end in method.interval)
            name = f"{named(method.name)} *" if method.name == self.take else named(method.name)
            rows.append((name, short(method.value), lead, ends, f"{method.seconds:.2g}", method.why))
        sides, width = ("left", "right", "right", "left", "right", "left"), 5 + noted
        return [
            Words(first),
            Cells([row[:width] for row in rows], sides[:width], named=True),
            Words(self.sentence, strong=True),
        ]

    def plot(self, ax: Any = None) -> Any:
        """Lead and interval of every method that was tried; returns the axes (:func:`rerank.plots.leads`)."""
        from rerank.plots import leads

        first, *others = [method for method in self.methods if method.value is not None]
        unit = f"lead over {first.name}, {self.statistic}"
        null = f"{first.name}: {short(first.value or 0.0)}"
        means, errors = np.array([(method.lead, method.error) for method in others], np.float64).reshape(-1, 2).T
        chosen = next((k for k, method in enumerate(others) if method.name == self.take), None)
        called = [f"{method.name} ({method.why})" if method.why else named(method.name) for method in others]
        names = [f"{name}: {short(method.value or 0.0)}" for name, method in zip(called, others)]
        return leads(names, means, errors, chosen, unit=unit, null=null, ax=ax)


def named(method: str) -> str:
    """A method as people read it: of LightGBM, which nothing tunes here, that it has its defaults."""
    return method.replace("lightgbm", "lightgbm (defaults)")


def compare(
    X: Any,
    y: ArrayLike,
    stat: Any,
    qid: ArrayLike | str | None = None,
    sample_weight: ArrayLike | None = None,
    query_weight: Weights = None,
    ideal_gains: IdealGains = None,
    groups: ArrayLike | str | None = None,
    *,
    methods: Sequence[Any] = METHODS,
    folds: int = 5,
    time_limit: float | None = 120.0,
    gain: Any = "exponential",
    pos_label: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> Comparison:
    """Compare methods on held-out rows of a table, and say which to take.

    Parameters
    ----------
    X, y, stat, qid, sample_weight, query_weight, ideal_gains, groups, gain, pos_label
        As for :class:`rerank.Reranker` and its ``fit``. X may hold texts and gaps, and is not sparse.
    methods : sequence of str or estimators
        ``"logistic"``, ``"squares"`` (logistic regression with squares of the columns), ``"trees"``, ``"forest"`` and
        ``"blend"``, as :class:`rerank.RerankerCV` tries them, ``"lightgbm"`` where it is installed, ``"card"`` (four
        questions, points of -5 to 5, two seconds of search on a fold), and ``"guard"``: over each score a correction
        of the size that three folds inside the training rows choose, if any. Where trees or the blend lead clearly they
        alone are corrected, else all other scores. The name of a column is a score in use, which has to be led; an
        estimator of scikit-learn's kind is a method of its own.
    folds : int
        Whole lists and groups, else rows, with the relevant ones spread evenly.
    time_limit : float or None
        Seconds for everything, compiling not counted. Methods for which none are left are not tried. The guard of the
        best score comes first. One that had the time for a part of its options, on all inner folds, has a value, and
        the note "1 of 4 options tried in time", where 1 is the fewest of a fold; one with none has no value.
    n_jobs : int or None
        Folds at a time.
    random_state : int, RandomState, Generator or None
        None is 0.
    verbose : int
        1 writes a line for each method to standard error.

    Returns
    -------
    Comparison
        With ``table``, ``take``, ``sentence``, ``estimator`` (what to take, not fitted yet), ``fit()``, which fits that
        to these rows, and ``plot(ax)``. To take is a score in use, else logistic regression, unless a method leads it
        by more than two standard errors; of those the one with the largest lead, less two errors. Of one list with two
        grades, a score with a smaller lead is taken if it leads so clearly by AUC.
        :class:`rerank.RerankerCV` chooses alike. Values are of all held-out rows in one list, as in the first deal of
        that choice, or means over lists. Cards, corrections and other estimators have no scale that folds share: they
        order the rows of a fold, which get the first method's scores in that order. After an interrupt the methods that
        were tried are compared.

    Raises
    ------
    InputError
        For data or options that cannot be used, or if no method could be tried.
    """
    if is_sparse(X):
        raise InputError("X is sparse, and a card and corrections need dense columns; pass X.toarray().")
    clock, number = Clock(time_limit), seed(random_state)
    names = names_of(X) if is_frame(X) else ()
    stages = [_stage(method, number, names) for method in methods if method != "guard"]
    if not stages:
        raise InputError("methods name no score; add one to compare, such as 'logistic'.")
    base = Reranker(
        stat, solver="search", gain=gain, pos_label=pos_label, n_jobs=1, random_state=number, time_limit=None
    )
    given = Arguments(X, y, qid, sample_weight, query_weight, ideal_gains, groups)
    data = data_of(given, base, Reranker())
    by_places = parse(stat).depth is not None and not parse(stat).weighs_hits
    length = data.y.size if data.qid is None and by_places else None
    with enough_memory():
        judged = dealt(base, data, folds, number, clock, n_jobs, one_scale=True)
        every = [_method(name, stage, stat, data, length, number) for name, stage in stages]
        if "guard" in methods:
            scores = [(name, stage) for name, stage in stages if name in STAGES or isinstance(stage, str)]
            every += [_guard(name, stage, base, length, data.X.shape[1]) for name, stage in scores]
        trial = _MethodTrial(every, *judged, clock, verbose)
        _, interrupted = protected(trial.run)
    if interrupted and not trial.ranked:
        raise KeyboardInterrupt
    found = trial.comparison(length, {"stat": stat, "gain": gain, "pos_label": pos_label, "random_state": number})
    return replace(found, given=given)


def _stage(given: Any, number: int, columns: Sequence[str]) -> tuple[str, Any]:
    """Name and first stage of a score, or what stands for the card."""
    if not isinstance(given, str):
        return name_of(given), given
    if given in columns and given not in METHODS:
        return IN_USE.format(given), given
    if given not in METHODS:
        raise unknown("method", given, METHODS)
    return given, Boosted(number) if given == "lightgbm" else STAGES.get(given)


def _method(name: str, stage: Any, stat: Any, data: Data, length: int | None, number: int) -> Method:
    if name != "card":
        return Method(name, lambda seconds: stage, one_scale=name in STAGES or isinstance(stage, str))
    from rerank.scorecard import Scorecard

    # On the rows of a fold as many places are paid as are their share of the list.
    own = fitted_statistic(parse(stat), None, length)

    def made(seconds: float | None) -> Scorecard:
        return Scorecard(own, validation=None, time_limit=CARD, random_state=number)

    return Method(name, made, CARD)


def _guard(name: str, stage: Any, base: Reranker, length: int | None, columns: int) -> Method:
    """Corrections of a score by growing radius, kept where they lead it on folds of the training rows."""
    fixed: Params = {"window": [WINDOW]} if parse(base.stat).counts_places else {}
    anchored = {**fixed, "margin": [MARGIN]}
    grid = [{**anchored, "radius": list(SIZES)}, {**fixed, "radius": [None]}]
    if memorises(stage):
        few = [{**anchored, "radius": [FEW_RADIUS], "max_features": [FEW]}] if columns > FEW else []
        grid = [{**anchored, "radius": list(SMALL)}, *few]

    def made(seconds: float | None) -> RerankerCV:
        # Nobody reads a bound of the last fit, so that it ends as those on folds do.
        rows = {"list_length": length, "pos_label": None}
        own = {**base.get_params(deep=False), "first_stage": stage, "node_limit": 0, **rows}
        kind = RerankerCV if seconds is None else _Guard
        return kind(
            Reranker(**own), grid=grid, cv=INNER, n_repeats=1, time_limit=seconds, random_state=base.random_state
        )

    return Method(GUARDED.format(name), made, over=name, of_trees=memorises(stage))


class _MethodTrial:
    """Methods tried on folds one after the other."""

    def __init__(self, methods: Sequence[Method], folds: Folds, judge: Judge, clock: Clock, verbose: int) -> None:
        self.methods, self._folds, self._judge, self._clock, self._verbose = methods, folds, judge, clock, verbose
        self.ranked: dict[str, list[Ranked]] = {}
        self._stages: list[Any] = []  # kept, because folds know an estimator by its id
        self.seconds: dict[str, float] = {}
        self.why: dict[str, str] = {}

    def run(self) -> None:
        """Try them; after an interrupt, or when the time is over, the rest is left untried."""
        every = range(len(self._judge.splits))
        waiting = list(self.methods)
        while waiting:
            # The guard of the best score comes first, because there may be no time for others.
            values = {name: self._lead(name, name).value for name in self.ranked} if waiting[0].over else {}
            if values and (idle := self._idle(waiting, values)):
                self.methods = [method for method in self.methods if method not in idle]
                waiting = [method for method in waiting if method not in idle]
                continue
            method = max(waiting, key=lambda method: values.get(method.over, -math.inf)) if values else waiting[0]
            waiting.remove(method)
            if current().asked.is_set():
                return
            if method.name.startswith("lightgbm") and find_spec("lightgbm") is None:
                self.why[method.name] = "not tried: LightGBM is not installed"
                continue
            began = working_time()
            try:
                ranked = self._ranked(method, every)
            except (InputError, StarvedError) as error:
                self.why[method.name] = STARVED if isinstance(error, StarvedError) else f"not tried: {error}"
                continue
            except KeyboardInterrupt:  # of a search that would begin after Ctrl-C
                return
            if current().asked.is_set():
                self.why.pop(method.name, None)
                continue
            if len(ranked) < len(every):
                self.why[method.name] = LATE
                continue
            self.ranked[method.name], self.seconds[method.name] = ranked, working_time() - began
            if self._verbose:
                value, spent = self._lead(method.name, method.name).value, self.seconds[method.name]
                say(f"{method.name}: {self._judge.statistic.name} {short(value)}, {spent:.1f} s")

    def _idle(self, waiting: Sequence[Method], values: dict[str, float]) -> list[Method]:
        """Guards of what is not corrected, as in :class:`rerank.RerankerCV`: where trees or a blend would be taken all
        but that of these, else those of all trees and blends.
        """
        guarded = {method.over: method.of_trees for method in self.methods if method.over in values}
        if not guarded:
            return []
        best, _ = self._chosen({name: values[name] for name in guarded})
        return [method for method in waiting if (method.over != best if guarded[best] else method.of_trees)]

    def _ranked(self, method: Method, every: Sequence[int]) -> list[Ranked]:
        """What a method makes of every fold; fewer where there is not the time for all of them."""
        ranked, chosen, began = list[Ranked](), list[Any](), self._clock.spent
        while len(ranked) < len(every) and self._clock.remaining > method.least:
            if (len(every) - len(ranked)) * (self._clock.spent - began) > len(ranked) * self._clock.remaining > 0:
                break  # the folds that are left would not end in time
            # A guard learns in how many seconds to end; of a whole deal blends learn their weights by its folds.
            count = self._folds.count if method.over else len(every)
            some = every[len(ranked) : len(ranked) + count]
            parts = math.ceil((len(every) - len(ranked)) / count)
            self._stages.append(method.make(self._clock.share(RESERVE / parts)))
            found = self._folds.take({"first_stage": self._stages[-1], "radius": 0.0}, some, len(some))
            ranked += found
            chosen += self._folds.fitted(self._stages[-1]) if method.over else []
            if len(found) < len(some):
                break
        if starved := [method.result_.evidence for method in chosen if method.result_.evidence.starved]:
            fewest = min(starved, key=lambda evidence: evidence.tried)
            self.why[method.name] = PARTLY.format(fewest.tried, len(fewest.options))
        return ranked

    def _lead(self, name: str, other: str, judge: Judge | None = None) -> Lead:
        """How far a method is above another on the held-out rows, as the comparison or another ``judge`` counts."""
        judge = judge or self._judge
        sides = zip(self.ranked[name], self.ranked[other], self._joint(name), self._joint(other), strict=True)
        pairs = [Ranked(a.own, b.own, *joint) for a, b, *joint in sides]
        return judge.lead(judge.rounds([(range(len(pairs)), pairs)]))

    def _joint(self, name: str) -> list[Floats]:
        """Scores of a method that can be compared between folds: its own, or those of the first method that has such at
        the places where it puts the rows of a fold.
        """
        own = [fold.own for fold in self.ranked[name]]
        shared = [method.name for method in self.methods if method.one_scale and method.name in self.ranked]
        if self._judge.data.qid is not None or name in shared:
            return own
        if not shared:
            return [placed(scores, np.arange(scores.size) / scores.size) for scores in own]
        return [placed(scores, like.own) for scores, like in zip(own, self.ranked[shared[0]])]

    def comparison(self, length: int | None, given: Params) -> Comparison:
        """The record; ``given`` are parameters of the estimator that is to be taken."""
        if not self.ranked:
            why = next(iter(self.why.values()), "")
            raise InputError(f"No method could be compared in the time; raise time_limit. {why}".strip())
        first = next(iter(self.ranked))
        found = []
        for method in self.methods:
            name = method.name
            if name not in self.ranked:
                found.append(Compared(name, why=self.why.get(name, OVER)))
                continue
            value, _, lead, error = self._lead(name, first)
            alone = name == first
            led, sure = None if alone else lead, None if alone or math.isnan(error) else error
            found.append(Compared(name, value, led, sure, self.seconds[name], self.why.get(name, "")))
        found.sort(key=lambda method: method.name != first)
        take, sentence = self._chosen({method.name: method.value for method in found if method.value is not None})
        late = sum("raise time_limit" in why for why in self.why.values())
        sentence += f" {late} of {len(found)} methods have no value for lack of time; raise time_limit." if late else ""
        partly = sum(bool(method.why) for method in found if method.value is not None)
        what = f"{partly} of {len(found)} methods had the time for a part of"
        sentence += f" {what} their options; with more they may choose otherwise; raise time_limit." if partly else ""
        stage = next(method for method in self.methods if method.name == take).make(None)
        statistic, folds = self._judge.statistic.name, len(self._judge.splits)
        return Comparison(statistic, tuple(found), take, sentence, folds, length, _ready(stage, given))

    def _chosen(self, values: dict[str, float]) -> tuple[str, str]:
        """What has to be led, unless a method leads it by more than two errors; of those the one that leads most, less
        two errors; else, of scores that lead it, the one that leads so clearly by AUC. That is the rule of
        :class:`rerank.RerankerCV`. And why, in a sentence.
        """
        statistic, ranks = self._judge.statistic.name, {name: place for place, name in enumerate(SIMPLEST)}
        in_use = IN_USE.format("")
        null = min(values, key=lambda name: -1 if name.startswith(in_use) else ranks.get(name, len(ranks)))
        leads = {name: self._lead(name, null) for name in values if name != null}
        areas = self._by_auc(leads, null)
        if (best := clearest(leads, areas, SAFEGUARD)) is not None:
            why = f"no method has a clearer lead ({_ends(leads[best])})"
            if not leads[best].less(SAFEGUARD) > 0:
                why = f"by AUC, which all pairs of rows decide, it leads clearly ({_ends(areas[best])})"
            has = f"Take {best}: it has {statistic} {short(values[best])} on held-out rows, {null} has"
            return best, f"{has} {short(values[null])}, and {why}."
        said = f"Take {null}: it has {statistic} {short(values[null])} on held-out rows"
        if not leads:
            return null, f"Take {null}: nothing else was tried."
        most = max(leads, key=values.__getitem__)
        if values[most] > values[null]:
            has = f"the best, {most}, has {short(values[most])}, which is no clear lead"
        else:
            has = f"no method has more; {most} has {short(values[most])}"
        return null, f"{said}, and {has} ({_ends(leads[most])})."

    def _by_auc(self, names: Iterable[str], null: str) -> dict[str, Lead]:
        """The leads by AUC of these methods, corrections aside, where AUC is asked."""
        judge, guards = self._judge.by_auc, {method.name for method in self.methods if method.over}
        return {} if judge is None else {name: self._lead(name, null, judge) for name in names if name not in guards}


def _ready(stage: Any, given: Params) -> Any:
    """The estimator of a method, for the user's own table."""
    if isinstance(stage, RerankerCV):
        stage.set_params(cv=5, n_repeats=None, time_limit=None, reranker__node_limit=None, reranker__list_length=None)
        return stage.set_params(reranker__time_limit=60.0, **{f"reranker__{name}": own for name, own in given.items()})
    if "n_questions" in getattr(stage, "get_params", dict)():
        return stage.set_params(stat=given["stat"], pos_label=given["pos_label"], validation=5, time_limit=60.0)
    return Reranker(**given, first_stage=stage, radius=0.0)


def _ends(lead: Lead) -> str:
    """A lead with its interval."""
    ends = "" if (two := lead.interval) is None else f", 95 % interval {two[0]:+.3g} to {two[1]:+.3g}"
    return f"a difference of {lead.lead:+.4g}{ends}"
