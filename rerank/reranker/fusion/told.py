"""A fit of score fusion in words: what folds said, the weights, and what each way to rank is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rerank.errors import InputError
from rerank.io.page import Cells, Items, Part, Words
from rerank.reranker.describe import CORRECTIONS
from rerank.reranker.evidence import Evidence
from rerank.reranker.result import Result, number
from rerank.reranker.selection.options import cv_results
from rerank.statistics import parse

if TYPE_CHECKING:
    from rerank.reranker.fusion.choice import Chosen
    from rerank.reranker.fusion.estimator import ScoreFusion
    from rerank.reranker.fusion.nulls import Null

NORMALISERS = (
    "One normaliser is settled first: ranks give way only to one that leads them by a standard error in the mean of "
    "the folds."
)
"""What is asked beside a lead, where several normalisers are tried."""


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


def in_words(result: Result, null: Null, choice: Chosen) -> Result:
    """The result with the words of fusion."""
    message = MESSAGES[result.status].format(name=result.fitted_name, gap=result.gap)
    if choice.number is None:
        name = null.name[:1].upper() + null.name[1:]
        message = f"{name} is kept: held-out queries do not speak for fitted weights."
        if not choice.leads:
            message = choice.note
        elif all(math.isnan(lead.value) for lead in choice.leads):
            message = f"{name} is kept: no option had the time to be tried on held-out queries; raise time_limit."
    told = [note for note in result.notes if choice.number is not None or not note.startswith(CORRECTIONS)]
    return replace(result, said=message, notes=tuple(note.replace("first stage", "prior") for note in told))


def folds_of(est: ScoreFusion) -> str:
    """Lead, error and statistic of every option over the null, and what was chosen."""
    given = est.evidence_
    return ("\n".join(est.notes_) or "There were no folds.") if given is None else given.report()


def guarded(est: ScoreFusion) -> bool:
    """Whether held-out queries kept the null."""
    given = est.evidence_
    return given is not None and given.guarded


def parts(est: ScoreFusion) -> list[Part]:
    """What folds said, the weights and what each way to rank is worth, and what was proved."""
    result = est.result_
    found = (("value", number(result.value)), ("bound", number(result.bound)), ("gap", number(result.gap, 9)))
    bounds = f"{', '.join(' '.join(pair) for pair in found)}, on the judged queries"
    if est.null_kept_:
        bounds = f"The weights that were fitted and not taken: {bounds}"
    first = [] if est.evidence_ is None else [*est.evidence_.parts(), Words("")]
    return [
        *first,
        Words(f"Weights of the scores normalised by {est.normaliser_}:"),
        Cells(_ways(est), ("left", "right", "right")),
        Words(result.message, strong=True),
        Words(bounds),
        Items(list(dict.fromkeys((*est.notes_, *result.notes)))),
    ]


def drawn(est: ScoreFusion, ax: Any) -> Any:
    """Lead and interval of every option over the null.

    Raises
    ------
    InputError
        Without folds.
    """
    given = est.evidence_
    if given is None:
        raise InputError(f"There were no folds, so no option has a lead. {' '.join(est.notes_)}".rstrip())
    return given.plot(ax)


def _ways(est: ScoreFusion) -> list[tuple[str, str, str]]:
    """Each run with its weight, the nulls, and the fused run, with the statistic of the judged queries."""
    rows = [("", "weight", parse(est.stat).name)]
    rows += [(name, f"{weight:.4f}", number(est.runs_[name])) for name, weight in est.weights_.items()]
    rows += [(name, "", number(value)) for name, value in est.nulls_.items()]
    return [*rows, ("these weights", "", number(est.result_.statistic))]


def evidence(choice: Chosen, options: Mapping[str, Any], null: Null) -> Evidence | None:
    """What held-out queries said; None without folds."""
    if not choice.leads:
        return None
    free = options["rule"] == "mean" and math.isfinite(options["safeguard"])
    several = len({option.normaliser for option in choice.tried}) > 1
    return Evidence.of(
        results(choice),
        statistic=parse(options["stat"]).name,
        chosen=choice.number,
        folds=choice.folds,
        rounds=choice.rounds,
        safeguard=0.0 if free else float(options["safeguard"]),
        null=null.name,
        remark=NORMALISERS if several else "",
    )


def results(choice: Chosen) -> dict[str, Any]:
    """``cv_results_`` of a choice."""
    return cv_results([option.parameters for option in choice.tried], choice.leads, [False] * len(choice.tried))
