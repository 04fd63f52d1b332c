"""The steps of a fit of score fusion: what its parameters mean, the nulls that it has to lead, and its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rerank.errors import InputError, unknown
from rerank.io.options import one_of, real, whole
from rerank.ranks.runs import worse_than_chance
from rerank.reranker.data import Data
from rerank.reranker.fusion.choice import Chosen
from rerank.reranker.fusion.model import FusionModel
from rerank.reranker.fusion.normalise import MISSING, NORMALISERS, Floats
from rerank.reranker.fusion.nulls import Null
from rerank.reranker.fusion.points import Values
from rerank.reranker.result import Result
from rerank.reranker.selection.options import Option, check_safeguard
from rerank.statistics import RankStatistic

RADII = (0.1, 0.3, 1.0)
"""Radii that are tried by default, in deviations of the prior."""

AUTO = ("minmax", "rank", "z")
"""Normalisers that are tried by default, those that engines have before the other."""

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


def depth_of(depth: int | str | None, statistic: RankStatistic) -> int | None:
    """Documents of each run that count; None for all."""
    if depth != "auto":
        return None if depth is None else int(depth)
    return DEPTH if statistic.depth is not None and statistic.depth <= PLACES else None


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
    evidence = choice.evidence
    if evidence is None:
        message = choice.note or MESSAGES[result.status].format(name=result.fitted_name, gap=result.gap)
    elif not evidence.guarded and choice.kept:
        name = null.name[:1].upper() + null.name[1:]
        message = f"{name} is kept: no option had the time to be tried on held-out queries; raise time_limit."
    elif not choice.searched:
        message = f"Taken on held-out queries: {choice.name}. No weights were searched for on all queries."
    else:
        message = MESSAGES[result.status].format(name=result.fitted_name, gap=result.gap)
    if not choice.searched:  # one point is all that is allowed, and notes are about a search
        return replace(result, said=message, bound=result.value, notes=())
    return replace(result, said=message, notes=tuple(note.replace("first stage", "prior") for note in result.notes))
