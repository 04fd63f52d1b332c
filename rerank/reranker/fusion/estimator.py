"""Fitted score fusion: normalised scores of several runs, weighted, with RRF as the null hypothesis."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rerank.certificate import save_proof
from rerank.errors import InputError, unknown
from rerank.io import Table
from rerank.io.atomic import together
from rerank.io.csv_table import write_csv
from rerank.io.fusion import ranges
from rerank.io.options import one_of, real, whole
from rerank.io.page import Cells, Items, Part, ShownMixin, Words
from rerank.io.paths import unwritable
from rerank.io.runs import kinds_of
from rerank.ranks import evaluate
from rerank.ranks.lists import number_lists
from rerank.ranks.runs import worse_than_chance
from rerank.reranker.blend import of_size_one
from rerank.reranker.clock import Clock
from rerank.reranker.data import Data
from rerank.reranker.describe import number
from rerank.reranker.estimator import Reranker, fit_table
from rerank.reranker.evidence import Evidence
from rerank.reranker.files.document import write_state
from rerank.reranker.fit import unsearched
from rerank.reranker.fusion.alpha import AlphaCurve, alpha_curve
from rerank.reranker.fusion.choice import MANY_QUERIES, Chosen, Kind, Trial, untold, weights_by_kind
from rerank.reranker.fusion.exports import export
from rerank.reranker.fusion.lists import judged_runs
from rerank.reranker.fusion.model import FusionModel, named_runs, save
from rerank.reranker.fusion.normalise import MISSING, NORMALISERS, Floats, K, curves_of
from rerank.reranker.fusion.points import Null, Values, point, prior_weights, telling
from rerank.reranker.options import FusionOptions
from rerank.reranker.result import Result
from rerank.reranker.selection.held_out import took
from rerank.reranker.selection.options import Option, check_safeguard
from rerank.reranker.state import FittedState, first_stage_kept
from rerank.statistics import RankStatistic, parse

AUDIT_FILES = "table.csv", "model.json", "fit.proof"

RADII = (0.1, 0.3, 1.0)  # radii that are tried by default, in deviations of the prior
AUTO = ("minmax", "rank", "z")  # normalisers that are tried by default, those that engines have before the other
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
    """Fuses runs by the weights that are best on held-out queries: equal ones, fitted ones, or those of RRF.

    Parameters
    ----------
    stat : str or RankStatistic
        As of :class:`rerank.Reranker`, but "precision@k", like P@k, asks only whether the grade is above 0. It counts
        hits, where ``rerank evaluate`` divides by k.
    normalise : "auto", str or sequence of str
        "none", "minmax", "z", "rank" or "sigmoid"; of several the folds choose. "auto" is minmax, rank and z. Without
        ``cv`` the first of them.
    prior : "auto", "equal", "logistic", "rrf" or mapping of run to weight
        The weights that a fit corrects: equal ones of the normalised scores, those of a logistic regression on them
        averaged with equal ones, RRF (equal weights of "rank"), or your own, with one normaliser. By "auto" the folds
        choose from these and more; without ``cv`` it is "equal".
    radius : "auto", float or None
        Largest correction of a weight, in deviations of the prior for each deviation of the normalised score, over the
        documents that may come among the first places. By "auto" the folds choose from none, .1, .3 and 1, and with
        fewer than 20 judged queries none is tried; without ``cv`` it is .3. None fits free weights exactly.
    cv : int or None
        Folds of whole queries that choose; None fits without a choice.
    rule : {"mean", "strict"}
        "mean" takes the first kind of weights with the normaliser that is best for it, unless others lead it by more
        than 1.5 standard errors; by "strict" what is taken has to lead the null by ``safeguard`` standard errors, too.
    safeguard : float
        ``inf`` keeps the null.
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
        Name of the null that had to be led.
    null_kept_ : bool
    result_ : Result
        Statistic, value, bound, gap and status of the fit on all judged queries; ``first_stage_statistic`` is that of
        the prior. The bound holds for the normaliser and the radius of this fit, which is 0 where no weights were
        searched for. A judged query of which no run has a relevant document counts 0.
    nulls_ : dict of str to float
        Mean statistic on the judged queries of RRF, or the prior given, and of equal weights of each normaliser.
    runs_ : dict of str to float
        The same of each run alone, documents that it does not have last.
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
            common ones on its held-out queries, by 1.5 standard errors. Needs ``cv``.

        Raises
        ------
        InputError
            For runs, judgements or parameters that cannot be used.
        """
        clock, options = Clock(self.time_limit), self.get_params(deep=False)
        check(options)
        known = None if kinds is None else kinds_of(kinds)
        if known is not None and self.cv is None:
            raise InputError("kinds have weights of their own where held-out queries agree, and cv is None; give cv.")
        normalisers, radii = normalisers_of(options), radii_of(options)
        statistic = parse(self.stat)
        few = statistic.depth is not None and statistic.depth <= PLACES
        depth = (DEPTH if few else None) if self.depth == "auto" else None if self.depth is None else int(self.depth)
        judged = judged_runs(runs, qrels, depth, statistic)
        judged.check_classes()
        names, scores = judged.joined.names, judged.joined.scores
        prior = prior_weights(self.prior, names)
        queries = number_lists(judged.joined.qid)[0]
        if known is not None and not any(query in known for query in queries):
            raise InputError(
                f"No judged query has a kind: kinds has {next(iter(known), None)!r}, the judgements {queries[0]!r}; "
                "give kinds of the same queries, with the same ids."
            )
        curves = curves_of(scores) if "sigmoid" in normalisers else None
        plain = FusionModel(names, prior, "none", float(self.k), self.missing, depth, curves=curves)
        if self.positive and (prior < 0).any():
            raise InputError("prior holds a weight below 0, and positive is True; set positive=False, or correct it.")
        est = self._reranker(prior, radii[0])
        every = dict.fromkeys((*normalisers, "rank"))
        tables = {name: judged.data(replace(plain, normaliser=name), est) for name in every}
        values = Values(tables["rank"].evaluator(statistic))
        least = self.positive and self.missing == "lowest"
        kept_rows = telling(tables["rank"].X, values) if least else None
        nulls = nulls_of(tables, values, plain, self.prior)
        null, kind = nulls[0], "logistic" if self.prior == "logistic" else "given"
        choice = Chosen(Option({"normalise": normalisers[0], "prior": kind, "radius": radii[0]}))
        before = clock.spent
        if self.cv is not None:
            points = points_of(options, normalisers, null, len(names))
            trial = Trial(tables, values, prior, self._reranker, options, clock, kept_rows)
            choice = trial.choose(points, radii, null)
        spent, kept = clock.spent - before, choice.kept
        normaliser, kind, radius = (choice.option.params[key] for key in ("normalise", "prior", "radius"))
        model, data = replace(plain, normaliser=normaliser), tables[normaliser]
        start = point(kind, values, data.X, np.arange(len(values.evaluator.lists)), prior)
        table, proof = judged.table(model, kept_rows), bool(self.proof) and radius != 0
        est = self._reranker(start, radius)
        limit = self.node_limit if radius != 0 else 0  # one point needs no search
        est.set_params(time_limit=clock.least(None, 1), verbose=int(self.verbose > 0), proof=proof, node_limit=limit)
        with untold():
            fit_table(est, table)
        state = first_stage_kept(est.state_) if kept else est.state_
        first = values.evaluator.mean(judged.scores(replace(model, weights=start)), "pessimistic")
        weights = start if radius == 0 or not np.any(state.coef) else state.coef
        model = replace(model, weights=of_size_one(weights))
        found = list[Kind]()
        if known is not None:
            of_lists = [known.get(query) for query in queries]
            found = weights_by_kind(of_lists, values, data.X, model.weights, choice, options)
        model = replace(model, kinds={kind.name: kind.weights for kind in found if kind.taken})
        # As they rank: scores are rounded, so that rounding breaks no tie.
        own = values.evaluator.mean(judged.scores(model), "pessimistic")
        if choice.searched and choice.evidence is not None and unsearched(state.result):
            choice = replace(choice, evidence=replace(choice.evidence, fit_keeps=True, fit_late=True))
        result = in_words(replace(state.result, statistic=own, first_stage_statistic=first), null, choice)
        if unsearched(state.result) and choice.evidence is not None:
            result = result.noting(took(spent, self.time_limit))
        # Ranks that have 0 where a run lacks the document, whatever the fit takes for it.
        ranks = judged.table(replace(plain, normaliser="rank", missing="zero", k=K)).X.T
        assert data.qid is not None
        some = np.flatnonzero(data.qid < MANY_QUERIES)
        part = data.some(some)
        worse = [note for name, own in zip(names, ranks) for note in turned(name, part, statistic, own[some])]
        cut = DEPTH_TOLD if judged.cut and self.depth == "auto" else ""
        notes = tuple(note for note in (statistic.remark, *judged.notes, cut, *worse, choice.note) if note)
        about = {"stat": statistic.name, "gain": self.gain, "prior": kind, "radius": radius}
        about |= {"null": null.name, "null_statistic": null.mean, "null_kept": kept}
        about |= {name: getattr(result, name) for name in ("statistic", "status", "message")}
        about |= {"queries": result.n_lists, "notes": list(notes)}
        about |= {name: getattr(result, name) for name in ("value", "bound", "gap")}
        about["ranges"] = ranges(judged.joined)
        # Nothing is set before the fit has succeeded, so that all attributes belong to one fit.
        self.model_: FusionModel = replace(model, about=about)
        self.result_: Result = result.noting(*worse)
        self.notes_: tuple[str, ...] = notes
        self.kinds_: list[Kind] = found
        self.weights_: dict[str, float] = dict(zip(names, model.weights.tolist()))
        self.normaliser_: str = normaliser
        self.null_: str = null.name
        self.null_kept_: bool = kept
        self.nulls_: dict[str, float] = {each.name: each.mean for each in nulls}
        alone = np.nanmean(values.of(ranks.T, np.eye(len(names))), axis=1)
        self.runs_: dict[str, float] = dict(zip(names, alone.tolist()))
        self.cv_results_: dict[str, Any] | None = choice.cv_results
        self.evidence_: Evidence | None = choice.evidence
        self._two = (values, data.X, choice.folds, choice.held) if len(names) == 2 else None
        self._audited: tuple[FittedState, Table] | None = (state, table) if proof else None
        return self

    def _reranker(self, prior: Floats, radius: float | None) -> Reranker:
        """What fits corrections of the prior's score, or free weights without a radius."""
        more: dict[str, Any] = {} if radius is None else {"prior": prior}
        if self.margin is not None:
            more["margin"] = self.margin
        more |= {name: getattr(self, name) for name in ("gain", "node_limit", "n_jobs", "random_state")}
        positive = bool(self.positive)
        return Reranker(self.stat, first_stage=None, solver="search", radius=radius, positive=positive, **more)

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
        return alpha_curve(model, *self._two)

    def _by_kind(self) -> list[Part]:
        head = ("kind", "queries", "lead over common weights", "standard error", *self.weights_, "")
        rows: list[Sequence[str]] = [head]
        for kind in self.kinds_:
            numbers = (f"{kind.lead.lead:+.4f}", f"{kind.lead.error:.4f}", *(f"{one:.4f}" for one in kind.weights))
            rows.append((kind.name, str(kind.queries), *numbers, "taken" if kind.taken else "common weights"))
        sides = ("left", *["right"] * (len(self.weights_) + 3), "left")
        return [Words("Kinds of queries, on held-out ones of the kind:"), Cells(rows, sides, named=True)]

    def _parts(self) -> list[Part] | None:
        if not hasattr(self, "model_"):
            return None
        result = self.result_
        numbers = f"value {number(result.value)}, bound {number(result.bound)}, gap {number(result.gap, 9)}"
        rows = [("", "weight", parse(self.stat).name)]
        rows += [(name, f"{weight:.4f}", number(self.runs_[name])) for name, weight in self.weights_.items()]
        rows += [(name, "", number(value)) for name, value in self.nulls_.items()]
        rows.append(("these weights", "", number(result.statistic)))
        return [
            *([] if self.evidence_ is None else [*self.evidence_.parts(), Words("")]),
            Words(f"Weights of the scores normalised by {self.normaliser_}:"),
            Cells(rows, ("left", "right", "right")),
            *([] if not self.kinds_ else self._by_kind()),
            Words(result.message, strong=True),
            *([Words(f"{numbers}, on the judged queries")] if self.model_.about["radius"] != 0 else []),
            Items(list(dict.fromkeys((*self.notes_, *result.notes)))),
        ]


def check(options: Mapping[str, Any]) -> None:
    """Refuse values of parameters that nothing else looks at."""
    one_of("missing", options["missing"], MISSING)
    one_of("rule", options["rule"], ("mean", "strict"))
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


def points_of(options: Mapping[str, Any], normalisers: Sequence[str], null: Null, n_runs: int) -> list[Option]:
    """Weights that cost no search, those of the kind that comes first before the others, without the null's."""
    prior, single = options["prior"], [] if n_runs == 1 else [("single", normalisers[0])]
    kinds = {
        "auto": ("logistic", "given", "logistic alone", *(() if options["positive"] else ("logistic of any sign",))),
        "logistic": ("logistic", "given"),
    }.get(prior if isinstance(prior, str) else "", ("given",))
    pairs = [(kind, name) for kind in kinds for name in normalisers]
    pairs += single if len(kinds) > 2 else []
    own = ("given", null.normaliser)
    return [Option({"normalise": name, "prior": kind, "radius": 0.0}) for kind, name in pairs if (kind, name) != own]


def nulls_of(tables: Mapping[str, Data], values: Values, plain: FusionModel, prior: Any) -> list[Null]:
    """RRF first, then equal weights of each normaliser; a user's own weights of the first normaliser alone."""

    def null(title: str, name: str) -> Null:
        return Null(title, name, values.of(tables[name].X, plain.weights[None])[0])

    if isinstance(prior, Mapping):
        return [null("the given weighting", next(iter(tables)))]
    # RRF gives nothing to a document that a run lacks.
    first = "RRF" if plain.missing != "impute" else "equal weighting (rank)"
    others = (name for name in tables if name != "rank")
    return [null(first, "rank"), *(null(f"equal weighting ({name})", name) for name in others)]


def turned(name: str, data: Data, statistic: RankStatistic, ranks: Floats) -> list[str]:
    """A note if the run's documents stand in a worse order than a random one; those that it lacks are last in both."""
    own, chance = (
        np.array(data.evaluator(statistic).values(scores, "average"), dtype=np.float64)
        for scores in (ranks, (ranks > 0) * 1.0)
    )
    return worse_than_chance(f"run {name}", statistic.name, own, chance)


def in_words(result: Result, null: Null, choice: Chosen) -> Result:
    """The result with the words of fusion."""
    evidence, message = choice.evidence, MESSAGES[result.status].format(name=result.fitted_name, gap=result.gap)
    if evidence is None:
        message = choice.note or message
    elif not evidence.guarded and choice.kept:
        name = null.name[:1].upper() + null.name[1:]
        message = f"{name} is kept: no option had the time to be tried on held-out queries; raise time_limit."
    elif not choice.searched:
        message = f"Taken on held-out queries: {choice.name}. No weights were searched for on all queries."
    if not choice.searched:  # one point is all that is allowed, and notes are about a search
        return replace(result, said=message, bound=result.value, notes=())
    return replace(result, said=message, notes=tuple(note.replace("first stage", "prior") for note in result.notes))
