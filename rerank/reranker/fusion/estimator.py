"""Fitted score fusion: normalised scores of several runs, weighted, with RRF as the null hypothesis."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rerank.certificate import save_proof
from rerank.errors import InputError, unknown
from rerank.errors.stops import protected
from rerank.errors.threads import one_thread
from rerank.io import Table
from rerank.io.atomic import together
from rerank.io.csv_table import write_csv
from rerank.io.fusion import ranges
from rerank.io.options import one_of, real, whole, without
from rerank.io.page import Cells, Items, Part, ShownMixin, Words
from rerank.io.paths import unwritable
from rerank.io.runs import kinds_of
from rerank.ranks import evaluate
from rerank.ranks.lists import number_lists, places_by_list
from rerank.ranks.runs import worse_than_chance
from rerank.reranker.blend import of_size_one
from rerank.reranker.clock import Clock
from rerank.reranker.constraints import floors_of
from rerank.reranker.data import Data
from rerank.reranker.describe import number
from rerank.reranker.estimator import fit_table
from rerank.reranker.evidence import Evidence
from rerank.reranker.files.document import write_state
from rerank.reranker.fit import unsearched
from rerank.reranker.fusion.alpha import AlphaCurve, Values, alpha_curve
from rerank.reranker.fusion.choice import Chosen, Kind, Posed, Weighting, choose, untold, weights_by_kind
from rerank.reranker.fusion.exports import export
from rerank.reranker.fusion.lists import JudgedRuns, judged_runs
from rerank.reranker.fusion.model import FusionModel, named_runs, save
from rerank.reranker.fusion.normalise import MISSING, NORMALISERS, Floats, K, curves_of
from rerank.reranker.fusion.points import prior_weights
from rerank.reranker.options import FusionOptions
from rerank.reranker.result import Result
from rerank.reranker.selection.held_out import took
from rerank.reranker.selection.options import check_safeguard
from rerank.reranker.state import FittedState, first_stage_kept
from rerank.statistics import RankStatistic, parse

GONE = {"rule": "one rule holds for every choice; safeguard says how clear a lead has to be"}
"""Parameters of earlier versions, and what to use."""

AUDIT_FILES = "table.csv", "model.json", "fit.proof"

RADII = (0.1, 0.3, 1.0)  # radii that are tried by default, in deviations of the prior
AUTO = ("minmax", "rank", "z")  # normalisers that are tried by default, those that engines have before the other
TOLD_QUERIES = 200  # of which it is told whether a run stands in a worse order than chance
DEPTH, PLACES = 100, 20
"""Documents of each run that count by default, where a statistic looks at no more than so many places."""

DEPTH_TOLD = f"The first {DEPTH} documents of each run count, as in all statistics of at most {PLACES} places (depth)."

MESSAGES = {
    "optimal": "Proved optimal: no weights within the limits have a larger {name} on the judged queries, margin "
    "included.",
    "feasible": "Stopped with a gap of {gap:.6g} in {name}: weights with a larger value may exist within the limits, "
    "larger by at most this gap; more time_limit may close it.",
    "first_stage_kept": "The prior is kept: no weights that were found have a larger {name} on the judged queries.",
    "already_ideal": "The prior is kept: no weights within the limits have a larger {name} on the judged queries.",
    "nothing_to_find": "The prior is kept: the documents of the judged queries hold nothing to find.",
    "nothing_to_reorder": "The prior is kept: no weights change the {name} of the judged queries.",
}


class ScoreFusion(FusionOptions, ShownMixin, BaseEstimator):
    """Fuses runs by weights that are chosen on held-out queries, as :class:`rerank.RerankerCV` chooses a ranking.

    Parameters
    ----------
    stat : str or RankStatistic
        As of :class:`rerank.Reranker`, but "precision@k", like P@k, asks only whether the grade is above 0. It counts
        hits, where ``rerank evaluate`` divides by k.
    normalise : "auto", str or sequence of str
        "none", "minmax", "z", "rank" or "sigmoid"; of several the first is that of the weights to lead. "auto" is
        minmax, rank and z. Without ``cv`` the first of them.
    prior : "auto", "equal", "logistic", "rrf" or mapping of run to weight
        The weights that others have to lead: by "auto" and "logistic" those of a logistic regression of relevance on
        the normalised scores, averaged with equal ones, which count as ten queries; equal weights, RRF (equal weights
        of "rank"), or your own, with one normaliser. By "auto" and "logistic" the same with the other normalisers,
        equal weights and RRF are options, by "auto" logistic regression alone and the best run, too. Without ``cv``
        "auto" is "equal".
    radius : "auto", float or None
        Largest correction of a weight, in deviations of the prior for each deviation of the normalised score. "auto" is
        .1, .3 and 1, as options that correct the best of the other weights; without ``cv`` it is .3. None fits free
        weights exactly.
    cv : int or None
        Folds of whole queries that choose; None fits without a choice.
    safeguard : float
        Standard errors that a held-out lead has to exceed, as of :class:`rerank.RerankerCV`.
    positive : bool
        No weight below 0.
    gain : {"linear", "exponential"}
        Gain of a grade g: ``g``, as in trec_eval and ``rerank evaluate``, or ``2^g - 1``.
    missing : {"lowest", "zero", "impute"}
        What a document gets that a run does not have: the lowest normalised score that the run gives in the query (0
        after "minmax" and "rank"), 0, or the mean of those that it gives.
    depth : "auto", int or None
        First documents of each run's list that are looked at; None for all. "auto" is 100 for statistics of at most
        20 places, else None.
    k : float
        Constant of "rank" and RRF: ``1 / (k + rank)``.
    margin : float or None
        Deviations of the prior by which a relevant document has to lead in the fit; with ``radius=None`` of the scaled
        score.
    constraints : sequence of str
        Floors of the runs' shares, such as ``"bm25 >= 0.3"``: of the sum of all weights. All weights keep them.
    time_limit : float or None
        Seconds for everything.
    node_limit : int or None
        Boxes of the search on all queries; 0 is for good weights soon, without a bound of worth.
    proof : bool
        Record the search on all queries, for ``save_audit``.
    n_jobs : int or None
        Folds at a time, and cores of the search.
    random_state : int, RandomState, Generator or None
    verbose : int
        1 for progress on standard error.

    Attributes
    ----------
    model_ : FusionModel
        What ranks: names, normaliser, weights.
    weights_ : dict of str to float
        Of the normalised scores; their sizes sum to 1.
    normaliser_ : str
    null_ : str
        Name of the weights that had to be led.
    null_kept_ : bool
    result_ : Result
        Statistic, value, bound, gap and status of the fit on all judged queries; ``first_stage_statistic`` is that of
        the prior. The bound holds for the normaliser and the radius of this fit, which is 0 where no weights were
        searched for. A judged query of which no run has a relevant document counts 0.
    nulls_ : dict of str to float
        Mean statistic on the judged queries of what learns nothing: RRF and equal weights of each normaliser, or the
        prior given.
    runs_ : dict of str to float
        The same of each run alone, documents that it does not have last.
    losses_ : dict of str to float
        Held-out statistic that is lost without each run, by the kind of weights that is best without a search; NaN
        where it was not tried, and empty without folds.
    cv_results_ : dict or None
        As of :class:`rerank.RerankerCV`, with ``first_stage`` for what had to be led; None without folds.
    evidence_ : Evidence or None
        The same as it is told and drawn, and what was chosen.
    notes_ : tuple of str
        What was left out, and why.
    kinds_ : list of Kind
        Each kind of queries: its judged queries, weights, held-out lead over the common weights, and whether the model
        has them (``taken``). All other numbers are of the common weights; ``score`` takes kinds.
    """

    def fit(self, runs: Any, qrels: Any, kinds: Any = None) -> Self:
        """Choose and fit on the judged queries of the runs.

        Parameters
        ----------
        runs : mapping of str to run, or sequence of runs
            As of :func:`rerank.evaluate_runs`. Names serve later runs of the same systems.
        qrels : path, dict, data frame or Qrels
            Documents that are not judged count as irrelevant. Relevant documents that no run has count in the ideal
            list, and are never candidates. Every judged query counts, with 0 where nothing relevant was found.
        kinds : mapping of query to kind, or path of a file with lines ``QUERY KIND``, optional
            Such as "code" and "question". The weights of a kind are the average of the common ones, which count as ten
            queries, and those of logistic regression on the queries of the kind; a kind has them only if they lead the
            common ones on its held-out queries, by the safeguard. Needs ``cv``.

        Raises
        ------
        InputError
            For runs, judgements or parameters that cannot be used.
        """
        with one_thread():
            return self._fit(runs, qrels, kinds)

    def _fit(self, runs: Any, qrels: Any, kinds: Any) -> Self:
        clock = Clock(self.time_limit)
        posed = self._posed(runs, qrels)
        of_lists = self._kinds(kinds, number_lists(posed.judged.joined.qid)[0])
        home = "logistic" if self.prior == "logistic" else "given"
        radii, points = radii_of(self.get_params(deep=False)), posed.points()
        choice = Chosen(Weighting(home, posed.normalisers[0], radii[0]))
        if self.cv is not None:
            choice, interrupted = protected(partial(choose, posed, points, radii, clock))
            if interrupted and not (choice.evidence and choice.evidence.tried):
                raise KeyboardInterrupt
        spent, point = clock.spent, choice.point
        table, proof = posed.tables[point.normaliser], bool(self.proof) and point.radius != 0
        est = posed.reranker(point, alone=True)
        limit = self.node_limit if point.radius != 0 else 0  # one point needs no search
        est.set_params(time_limit=clock.least(None, 1), verbose=int(self.verbose > 0), proof=proof, node_limit=limit)
        with untold():
            fit_table(est, table)
        state, stage = first_stage_kept(est.state_) if choice.kept else est.state_, est.state_.first_stage
        assert stage is not None and stage.coef is not None
        model = replace(posed.plain, normaliser=point.normaliser, weights=of_size_one(state.coef))
        found = list[Kind]()
        if of_lists is not None:
            found, _ = protected(partial(weights_by_kind, posed, choice, model.weights, of_lists, clock))
        if late_kinds := [kind.name for kind in found if math.isnan(kind.lead.lead)]:
            unjudged = f"Not judged on held-out queries, and left with the common weights: {', '.join(late_kinds)}."
            choice = replace(choice, notes=(*choice.notes, unjudged))
        model = replace(model, kinds={kind.name: kind.weights for kind in found if kind.taken})
        result = replace(state.result, first_stage_statistic=posed.worth(replace(model, weights=stage.coef)))
        if late := unsearched(result) and choice.evidence is not None:
            result = result.noting(took(spent, self.time_limit))
            late = point.radius != 0
            choice = replace(choice, evidence=replace(choice.evidence, fit_keeps=late, fit_late=late))
        result = in_words(replace(result, statistic=posed.worth(model)), posed, choice)
        self._publish(posed, choice, model, result)
        self.kinds_: list[Kind] = found
        self.null_: str = posed.title(points[0])
        self._two = (posed, choice) if len(model.names) == 2 else None
        self._audited: tuple[FittedState, Table] | None = (state, table) if proof else None
        return self

    def _posed(self, runs: Any, qrels: Any) -> Posed:
        """The judged runs and what is asked, checked."""
        options = self.get_params(deep=False)
        check(options)
        normalisers, statistic = normalisers_of(options), parse(self.stat)
        few = statistic.depth is not None and statistic.depth <= PLACES
        depth = (DEPTH if few else None) if self.depth == "auto" else None if self.depth is None else int(self.depth)
        judged = judged_runs(runs, qrels, depth, statistic)
        judged.check_classes()
        names = judged.joined.names
        prior, floors = prior_weights(self.prior, names), floors_of(self.constraints, names)
        if self.positive and (prior < 0).any():
            raise InputError("prior holds a weight below 0, and positive is True; set positive=False, or correct it.")
        curves = curves_of(judged.joined.scores) if "sigmoid" in normalisers else None
        plain = FusionModel(names, prior, "none", float(self.k), self.missing, depth, curves=curves)
        return Posed(judged, plain, normalisers, floors, options)

    def _kinds(self, kinds: Any, queries: Sequence[str]) -> list[str | None] | None:
        """The kind of each judged query, None where there are no kinds."""
        if kinds is None:
            return None
        known = kinds_of(kinds)
        if self.cv is None:
            raise InputError("kinds have weights of their own where held-out queries agree, and cv is None; give cv.")
        if not any(query in known for query in queries):
            raise InputError(
                f"No judged query has a kind: kinds has {next(iter(known), None)!r}, the judgements {queries[0]!r}; "
                "give kinds of the same queries, with the same ids."
            )
        return [known.get(query) for query in queries]

    def _publish(self, posed: Posed, choice: Chosen, model: FusionModel, result: Result) -> None:
        """Set all attributes, after the fit has succeeded, so that they belong to one fit."""
        data, judged, names, nulls = posed.data, posed.judged, model.names, posed.nulls
        # Ranks that have 0 where a run lacks the document, whatever the fit takes for it.
        ranks = judged.table(replace(posed.plain, normaliser="rank", missing="zero", k=K)).X.T
        assert data.qid is not None
        some = np.flatnonzero(data.qid < TOLD_QUERIES)
        part, statistic = data.some(some), posed.statistic
        worse = [note for name, own in zip(names, ranks) for note in turned(name, part, statistic, own[some])]
        cut = DEPTH_TOLD if judged.cut and self.depth == "auto" else ""
        told = (statistic.remark, *judged.notes, cut, *worse, *shut_out(model, judged), *choice.notes)
        about = {"stat": statistic.name, "gain": self.gain, "prior": choice.point.kind, "radius": choice.point.radius}
        about |= {"null": posed.title(posed.points()[0]), "null_kept": choice.kept}
        about |= {"statistic": result.statistic, "status": result.status, "message": result.message}
        self.notes_: tuple[str, ...] = tuple(note for note in told if note)
        about |= {"queries": result.n_lists, "notes": list(self.notes_)}
        about |= {"value": result.value, "bound": result.bound, "gap": result.gap, "ranges": ranges(judged.joined)}
        self.model_: FusionModel = replace(model, about=about)
        self.result_: Result = result.noting(*worse)
        self.weights_: dict[str, float] = dict(zip(names, model.weights.tolist()))
        self.normaliser_: str = model.normaliser
        self.null_kept_: bool = choice.kept
        self.nulls_: dict[str, float] = {each.name: each.mean for each in nulls}
        self.runs_: dict[str, float] = {name: posed.worth(model, own) for name, own in zip(names, ranks)}
        self.losses_: dict[str, float] = choice.losses
        self.cv_results_: dict[str, Any] | None = choice.cv_results
        self.evidence_: Evidence | None = choice.evidence

    def _model(self) -> FusionModel:
        check_is_fitted(self, "model_")
        return self.model_

    def fuse(self, runs: Mapping[str, Any], kinds: Any = None) -> Any:
        """The fused run of runs under the names of the fit; see :meth:`FusionModel.fuse`."""
        return self._model().fuse(runs, kinds)

    def fuse_arrays(self, scores: ArrayLike, qid: ArrayLike | None = None) -> Floats:
        """Fused scores of arrays; see :meth:`FusionModel.fuse_arrays`."""
        return self._model().fuse_arrays(scores, qid)

    def score(self, runs: Mapping[str, Any], qrels: Any, kinds: Any = None) -> float:
        """The statistic of the fused run: the mean over judged queries, equal scores as ``stat.ties`` says."""
        model = self._model()
        found = judged_runs(named_runs(runs, model.names), qrels, model.depth, parse(self.stat))
        given = found.judged.grades, found.scores(model, kinds), found.joined.qid
        return float(evaluate(self.stat, *given, gain=self.gain, ideal_gains=found.missed))

    def export(self, target: str) -> str:
        """A snippet for a search engine, or the "formula"; see :mod:`rerank.reranker.fusion.exports`."""
        return export(self._model(), target)

    def save(self, path: Any) -> None:
        """Write the model as JSON; :func:`rerank.fusion.load` reads it as a :class:`FusionModel`."""
        save(self._model(), path)

    def save_audit(self, folder: Any) -> None:
        """Write what others need to check the bound: ``table.csv``, ``model.json`` and ``fit.proof`` in a folder.

        ``rerank verify model.json table.csv --proof fit.proof`` recomputes value and bound in exact arithmetic.

        Raises
        ------
        InputError
            If no weights were searched for, so that there is no bound; if ``proof`` was False; if the search had no
            part in the fit, its proof is too large, or the folder cannot be written.
        """
        if self._model().about["radius"] == 0:
            raise InputError("No weights were searched for in this fit, so it has no bound; there is nothing to audit.")
        if self._audited is None:
            raise InputError("The fit recorded no proof; fit again with proof=True.")
        state, table = self._audited
        if state.result.proof is None:
            raise InputError("The search had no part in this fit, so there is no proof to write; nothing was written.")
        where = Path(folder)
        try:
            where.mkdir(exist_ok=True)
        except OSError as error:
            raise unwritable(where, error, "choose a folder that can be written") from None
        read = {"label_column": "grade", "qid_column": "qid", "id_column": "id"}
        table_path, model_path, proof_path = (where / name for name in AUDIT_FILES)
        with together():
            write_csv(table_path, table, label="grade")
            write_state(replace(state, columns_read=read), model_path)
            save_proof(state.result.proof, proof_path)

    def report(self) -> str:
        """Lead, error and statistic of every option over the null, and what was chosen."""
        self._model()
        if self.evidence_ is None:
            return "\n".join(self.notes_) or "There were no folds."
        return self.evidence_.report()

    def plot(self, ax: Any = None) -> Any:
        """Lead and interval of every option over the null (:func:`rerank.plots.leads`).

        Raises
        ------
        InputError
            For a fit without folds.
        """
        self._model()
        if self.evidence_ is None:
            raise InputError(f"There were no folds, so no option has a lead. {' '.join(self.notes_)}".rstrip())
        return self.evidence_.plot(ax)

    def alpha_curve(self) -> AlphaCurve:
        """The statistic of two runs by the weight of the second, with the normaliser of the fit.

        Exact for all alphas from 0 to 1 on the judged queries, in about ``n log n`` of the pairs of a relevant and
        another document. Statistics that count all places take longer.

        Returns
        -------
        AlphaCurve
            The ``table`` by alpha, the best interval, held-out values, and ``plot``. It prints itself.

        Raises
        ------
        InputError
            For another number of runs.
        """
        model = self._model()
        if self._two is None:
            raise InputError(f"A curve by alpha is of two runs, and this fit has {len(model.names)}; fit two of them.")
        posed, choice = self._two
        data = posed.normalised_by(model.normaliser)
        folds = [(split, posed.fitted(choice.point, data, split.train, Clock())) for split in choice.splits]
        return alpha_curve(model, Values(data, data.evaluator(posed.statistic)), folds)

    def _by_kind(self) -> list[Part]:
        head = ("kind", "queries", "lead over common weights", "standard error", *self.weights_, "")
        rows: list[Sequence[str]] = [head]
        for kind in self.kinds_:
            numbers = (f"{kind.lead.lead:+.4f}", f"{kind.lead.error:.4f}", *(f"{own:.4f}" for own in kind.weights))
            rows.append((kind.name, str(kind.queries), *numbers, "taken" if kind.taken else "common weights"))
        sides = ("left", *["right"] * (len(self.weights_) + 3), "left")
        return [Words("Kinds of queries, on held-out ones of the kind:"), Cells(rows, sides, named=True)]

    def _parts(self) -> list[Part] | None:
        if not hasattr(self, "model_"):
            return None
        result = self.result_
        numbers = f"value {number(result.value)}, bound {number(result.bound)}, gap {number(result.gap, 9)}"
        lost = {name: "" if loss != loss else f"{loss:+.4f}" for name, loss in self.losses_.items()}
        rows: list[tuple[str, ...]] = [("", "weight", parse(self.stat).name, *(["lost without it"] if lost else []))]
        rows += [
            (name, f"{weight:.4f}", number(self.runs_[name]), *([lost[name]] if lost else []))
            for name, weight in self.weights_.items()
        ]
        more = [""] if lost else []
        rows += [(name, "", number(value), *more) for name, value in self.nulls_.items()]
        rows.append(("these weights", "", number(result.statistic), *more))
        return [
            *([] if self.evidence_ is None else [*self.evidence_.parts(), Words("")]),
            Words(f"Weights of the scores normalised by {self.normaliser_}:"),
            Cells(rows, ("left", *["right"] * (len(rows[0]) - 1))),
            *([] if not self.kinds_ else self._by_kind()),
            Words(result.message, strong=True),
            *([Words(f"{numbers}, on the judged queries")] if self.model_.about["radius"] != 0 else []),
            Items(list(dict.fromkeys((*self.notes_, *result.notes)))),
        ]


ScoreFusion.__init__ = without(GONE)(FusionOptions.__init__)  # type: ignore[method-assign]


def check(options: Mapping[str, Any]) -> None:
    """Refuse values of parameters that nothing else looks at."""
    one_of("missing", options["missing"], MISSING)
    check_safeguard(options["safeguard"])
    real("k", options["k"], 0.0)
    if options["depth"] not in (None, "auto"):
        whole("depth", options["depth"])
    if options["cv"] is not None:
        whole("cv", options["cv"], 2)


def normalisers_of(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The normalisers to try."""
    given, prior = options["normalise"], options["prior"]
    auto = isinstance(given, str) and given == "auto"
    if not isinstance(given, str | Sequence):
        raise InputError(f"normalise is {given!r}; it must be 'auto', a normaliser or a sequence of them.")
    names = AUTO if auto else (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if name not in NORMALISERS:
            raise unknown("normaliser", name, NORMALISERS)
    if not names:
        raise InputError(f"normalise is empty; give 'auto' or some of {', '.join(NORMALISERS)}.")
    if isinstance(prior, str) and prior == "rrf":
        if not auto and names != ("rank",):
            raise InputError(
                f"prior is 'rrf', which is equal weights of reciprocal ranks, and normalise is {given!r}; use "
                "normalise='rank', or prior='equal'."
            )
        return ("rank",)
    if isinstance(prior, Mapping) and (auto or len(names) > 1):
        raise InputError("prior holds weights of normalised scores, so normalise must name their one normaliser.")
    return tuple(dict.fromkeys(names))


def radii_of(options: Mapping[str, Any]) -> tuple[float | None, ...]:
    """The radii to try; None is for free weights."""
    given = options["radius"]
    if given is None:
        return (None,)
    if isinstance(given, str):
        if given != "auto":
            raise InputError(f"radius is {given!r}; it must be 'auto', None or a number.")
        return RADII if options["cv"] is not None else (RADII[1],)
    return (real("radius", given, 0.0),)


def turned(name: str, data: Data, statistic: RankStatistic, ranks: Floats) -> list[str]:
    """A note if the run's documents stand in a worse order than a random one; those that it lacks are last in both."""
    own, chance = (
        np.array(data.evaluator(statistic).values(scores, "average"), dtype=np.float64)
        for scores in (ranks, (ranks > 0) * 1.0)
    )
    return worse_than_chance(f"run {name}", statistic.name, own, chance)


def shut_out(model: FusionModel, judged: JudgedRuns) -> list[str]:
    """A note for each run of whose own documents none comes among the first of a query."""
    joined, there = judged.joined, ~np.isnan(judged.joined.scores)
    places = places_by_list(judged.scores(model), number_lists(joined.qid)[1])
    found = []
    for run, (name, weight) in enumerate(zip(model.names, model.weights.tolist())):
        own = there[:, run] & (there.sum(axis=1) == 1)
        if (places > DEPTH).any() and own.any() and places[own].min() > DEPTH:
            found.append(
                f"None of the {int(own.sum()):,} documents that only {name} has comes among the first {DEPTH} of its "
                f"query, by its weight of {weight:.4g} of {model.normaliser} scores; a floor ({name} >= "
                f"{1 / len(model.names):.2g}) would change that."
            )
    return found


def in_words(result: Result, posed: Posed, choice: Chosen) -> Result:
    """The result with the words of fusion."""
    evidence, message = choice.evidence, MESSAGES[result.status].format(name=result.fitted_name, gap=result.gap)
    name, searched = posed.title(choice.point), choice.point.radius != 0
    if evidence is None:
        message = " ".join(choice.notes) or message
    elif not evidence.guarded and choice.kept:
        name = name[:1].upper() + name[1:]
        message = f"{name} is kept: no option had the time to be tried on held-out queries; raise time_limit."
    elif not searched:
        message = f"Taken on held-out queries: {name}. No weights were searched for on all queries."
    if not searched:  # one point is all that is allowed, and notes are about a search
        return replace(result, said=message, bound=result.value, notes=())
    return replace(result, said=message, notes=tuple(note.replace("first stage", "prior") for note in result.notes))
