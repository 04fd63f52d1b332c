"""A fit of score fusion: nulls, folds, one fit on all judged queries, and the model that ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rerank.errors import InputError, unknown
from rerank.io.options import one_of, real, whole
from rerank.ranks.runs import worse_than_chance
from rerank.reranker.clock import Clock
from rerank.reranker.data import Data
from rerank.reranker.estimator import Reranker, fit_table
from rerank.reranker.evidence import Evidence
from rerank.reranker.fit import LATE
from rerank.reranker.fusion.audit import Audit
from rerank.reranker.fusion.choice import Chosen, Option, chosen_by_folds, reranker_of, untold
from rerank.reranker.fusion.lists import JudgedRuns, judged_runs
from rerank.reranker.fusion.model import FusionModel
from rerank.reranker.fusion.normalise import MISSING, NORMALISERS, Floats, K, curves_of
from rerank.reranker.fusion.nulls import Null, prior_weights, promising, values_by_list
from rerank.reranker.fusion.told import evidence, in_words, results
from rerank.reranker.result import Result
from rerank.reranker.selection.held_out import took
from rerank.reranker.selection.options import check_safeguard
from rerank.reranker.state import first_stage_kept
from rerank.statistics import RankStatistic, parse

RADII = (0.1, 0.3, 1.0)
"""Radii that are tried by default, in deviations of the prior."""

AUTO = ("minmax", "z", "rank")
"""Normalisers that are tried by default."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a fit found; ``alone`` is the statistic of each run by itself, its missing documents last.

    ``audit`` is None where a null is kept, or no proof was asked for.
    """

    model: FusionModel
    alone: dict[str, float]
    result: Result
    null: Null
    nulls: tuple[Null, ...]
    null_kept: bool
    cv_results: dict[str, Any] | None
    evidence: Evidence | None
    notes: tuple[str, ...]
    audit: Audit | None


def fit(options: Mapping[str, Any], runs: Mapping[str, Any], qrels: Any) -> Fitted:
    """Fit with the parameters of :class:`rerank.fusion.ScoreFusion`.

    Raises
    ------
    InputError
        For parameters, runs or judgements that cannot be used.
    """
    clock = Clock(options["time_limit"])
    _check(options)
    normalisers, radii = _normalisers(options), _radii(options)
    statistic = parse(options["stat"])
    found = judged_runs(runs, qrels, options["depth"], statistic)
    found.check_classes()
    names = found.joined.names
    prior = prior_weights(options["prior"], names)
    plain = FusionModel(names, prior, "none", float(options["k"]), options["missing"], options["depth"],
                        curves=curves_of(found.joined.scores) if "sigmoid" in normalisers else None)  # fmt: skip
    settings = {
        "stat": options["stat"], "gain": options["gain"], "positive": bool(options["positive"]),
        "node_limit": options["node_limit"], "n_jobs": options["n_jobs"], "random_state": options["random_state"],
    }  # fmt: skip
    if bool(options["positive"]) and (prior < 0).any():
        raise InputError("prior holds a weight below 0, and positive is True; set positive=False, or correct it.")
    nulls, tables = _nulls(found, plain, options["prior"], normalisers, settings)
    null = nulls[0]
    dropped = ""
    if options["normalise"] == "auto" and options["cv"] is not None:
        hopeful = promising(nulls)
        if left := [name for name in normalisers if name not in hopeful]:
            dropped = f"Not tried: {', '.join(left)}, because equal weights of it are clearly behind {null.name}."
        normalisers = tuple(name for name in normalisers if name in hopeful)
    able = [Option(name, prior, radius) for name in normalisers for radius in radii]
    choice, before = Chosen(able[0], 0), clock.spent
    if options["cv"] is not None:
        fits = {**settings, **_margin(options, able[0].radius), "n_jobs": None}  # folds share the cores
        scores = replace(plain, normaliser=null.normaliser).scores(found.joined)
        rule = {name: options[name] for name in ("cv", "rule", "safeguard", "random_state")}
        own = {name: tables[name] for name in normalisers}
        choice = chosen_by_folds(
            own, able, null, scores, statistic, fits, rule, clock, options["n_jobs"], options["verbose"]
        )
    spent, kept = clock.spent - before, choice.number is None
    option = replace(choice.option, normaliser=null.normaliser, prior=null.weights) if kept else choice.option
    if kept and option.radius is None:
        option = replace(option, radius=RADII[-1])
    given = {**settings, **_margin(options, option.radius)}
    model, result, audit = _final(found, plain, option, given, kept, clock, options)
    data = tables[model.normaliser]
    result = in_words(_as_ranked(result, found, data, statistic, model, option.prior), null, choice)
    if any(LATE in note for note in result.notes) and choice.leads:
        result = result.noting(took(spent, options["time_limit"]))
    # Ranks that have 0 where a run lacks the document, whatever the fit takes for it.
    ranks = found.table(replace(plain, normaliser="rank", missing="zero", k=K)).X
    alone = {name: data.evaluate(statistic, own) for name, own in zip(names, ranks.T)}
    turned = [note for name, own in zip(names, ranks.T) for note in _turned(name, data, statistic, own)]
    notes = tuple(note for note in (statistic.remark, *found.notes, *turned, dropped, choice.note) if note)
    about = _about(options, result, null, kept, option, notes)
    result = result.noting(*turned)
    model = replace(model, about=about)
    told = evidence(choice, options, null)
    tried = None if told is None else results(choice)
    return Fitted(model, alone, result, null, tuple(nulls), kept, tried, told, notes, audit)


def _check(options: Mapping[str, Any]) -> None:
    one_of("missing", options["missing"], MISSING)
    one_of("rule", options["rule"], ("mean", "strict"))
    check_safeguard(options["safeguard"])
    real("k", options["k"], 0.0)
    if options["depth"] is not None:
        whole("depth", options["depth"])
    if options["cv"] is not None:
        whole("cv", options["cv"], 2)


def _normalisers(options: Mapping[str, Any]) -> tuple[str, ...]:
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


def _radii(options: Mapping[str, Any]) -> tuple[float | None, ...]:
    given = options["radius"]
    if given is None:
        return (None,)
    if isinstance(given, str):
        if given != "auto":
            raise InputError(f"radius is {given!r}; it must be 'auto', None or a number.")
        return RADII if options["cv"] is not None else (RADII[1],)
    return (real("radius", given, 0.0),)


def _margin(options: Mapping[str, Any], radius: float | None) -> dict[str, Any]:
    if options["margin"] is None:
        return {}
    return {"epsilon" if radius is None else "margin": options["margin"]}


def _nulls(
    found: JudgedRuns, plain: FusionModel, prior: Any, normalisers: Sequence[str], settings: Mapping[str, Any]
) -> tuple[list[Null], dict[str, Any]]:
    """RRF first, then equal weights of each normaliser; a user's own weights alone. And the tables that they need."""
    tables = {
        name: found.data(replace(plain, normaliser=name), settings) for name in dict.fromkeys((*normalisers, "rank"))
    }
    statistic = parse(settings["stat"])

    def null(title: str, name: str) -> Null:
        scores = replace(plain, normaliser=name).scores(found.joined)
        return Null(title, name, plain.weights, values_by_list(tables[name], statistic, scores))

    if isinstance(prior, Mapping):
        return [null("the given weighting", normalisers[0])], tables
    others = [name for name in normalisers if name != "rank"]
    # RRF gives nothing to a document that a run lacks.
    first = "RRF" if plain.missing != "impute" else "equal weighting (rank)"
    return [null(first, "rank"), *(null(f"equal weighting ({name})", name) for name in others)], tables


def _final(
    found: JudgedRuns, plain: FusionModel, option: Option, settings: Mapping[str, Any], kept: bool, clock: Clock,
    options: Mapping[str, Any],
) -> tuple[FusionModel, Result, Audit | None]:  # fmt: skip
    """The fit on all judged queries, or the null with what the fit about it says."""
    model = replace(plain, normaliser=option.normaliser)
    est: Reranker = reranker_of(option, settings)
    proof, table = bool(options["proof"]) and not kept, found.table(model)
    est.set_params(time_limit=clock.least(None, 1), verbose=int(options["verbose"] > 0), proof=proof)
    with untold():
        fit_table(est, table)
    state = first_stage_kept(est.state_) if kept else est.state_
    weights = option.prior if kept or not np.any(state.coef) else state.coef
    weights = weights / np.abs(weights).sum()
    return replace(model, weights=weights), state.result, Audit(state, table) if proof else None


def _as_ranked(
    result: Result, found: JudgedRuns, data: Data, statistic: RankStatistic, model: FusionModel, prior: Floats
) -> Result:
    """The statistic of the model and of its prior as they rank, with scores rounded so that rounding breaks no tie."""
    before = data.evaluate(statistic, replace(model, weights=prior).scores(found.joined))
    own = data.evaluate(statistic, model.scores(found.joined))
    return replace(result, statistic=own, first_stage_statistic=before)


def _turned(name: str, data: Data, statistic: RankStatistic, ranks: Floats) -> list[str]:
    """A note if the run's documents stand in a worse order than a random one; those that it lacks are last in both."""
    evaluator = data.evaluator(statistic)
    own, chance = (
        np.array(evaluator.values(scores, "average"), dtype=np.float64) for scores in (ranks, (ranks > 0) * 1.0)
    )
    return worse_than_chance(f"run {name}", statistic.name, own, chance)


def _about(
    options: Mapping[str, Any], result: Result, null: Null, kept: bool, option: Option, notes: Sequence[str]
) -> dict[str, Any]:
    proved = {"value": result.value, "bound": result.bound, "gap": result.gap}
    return {
        "stat": parse(options["stat"]).name, "gain": options["gain"], "radius": option.radius,
        "null": null.name, "null_statistic": null.mean, "null_kept": kept,
        "statistic": result.statistic, "status": result.status, "message": result.message, "queries": result.n_lists,
        "notes": list(notes),
        **({"not_taken": proved} if kept else proved),
    }  # fmt: skip
