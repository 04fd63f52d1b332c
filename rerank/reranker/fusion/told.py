"""A fit of score fusion in words: what folds said, the weights, and what each way to rank is worth."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

from rerank.errors import InputError
from rerank.io.shown import html_table, text_table
from rerank.reranker.selection.told import evidence
from rerank.reranker.shown import number
from rerank.reranker.words import CORRECTIONS
from rerank.statistics import parse

if TYPE_CHECKING:
    from rerank.reranker.evidence import Evidence
    from rerank.reranker.fusion.choice import Chosen
    from rerank.reranker.fusion.estimator import ScoreFusion
    from rerank.reranker.fusion.nulls import Null
    from rerank.reranker.result import Result

SIDES = ("left", "right", "right")


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
        if choice.judged is None:
            message = choice.note
        elif not choice.judged.usable.any():
            message = f"{name} is kept: no option had the time to be tried on held-out queries; raise time_limit."
    told = [note for note in result.notes if choice.number is not None or not note.startswith(CORRECTIONS)]
    return replace(result, message=message, notes=tuple(note.replace("first stage", "prior") for note in told))


def folds_of(est: ScoreFusion) -> str:
    """Lead, error and statistic of every option over the null, and what was chosen."""
    given = _given(est)
    return ("\n".join(est.notes_) or "There were no folds.") if given is None else given.report()


def guarded(est: ScoreFusion) -> bool:
    """Whether held-out queries kept the null."""
    given = _given(est)
    return given is not None and given.guarded


def shown(est: ScoreFusion) -> tuple[str, str]:
    """Text and HTML of a fit."""
    given, result, about = _given(est), est.result_, f"Weights of the scores normalised by {est.normaliser_}:"
    found = (("value", number(result.value)), ("bound", number(result.bound)), ("gap", number(result.gap, 9)))
    bounds = f"{', '.join(' '.join(pair) for pair in found)}, on the judged queries"
    if est.null_kept_:
        bounds = f"The weights that were fitted and not taken: {bounds}"
    text = [about, text_table(_ways(est), SIDES), result.message, bounds]
    page = [f"<p>{escape(about)}</p>", html_table(_ways(est), SIDES)]
    page += [f"<p><b>{escape(result.message)}</b></p>", f"<p>{escape(text[-1])}</p>"]
    if given is not None:
        text, page = [f"{given.report()}\n", *text], [given.html(), *page]
    notes = [*est.notes_, *result.notes]
    told = f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>" if notes else ""
    return "\n".join([*text, *(f"- {note}" for note in notes)]), "".join(page) + told


def drawn(est: ScoreFusion, ax: Any) -> Any:
    """Lead and interval of every option over the null.

    Raises
    ------
    InputError
        Without folds.
    """
    given = _given(est)
    if given is None:
        raise InputError(f"There were no folds, so no option has a lead. {' '.join(est.notes_)}".rstrip())
    return given.plot(ax)


def _ways(est: ScoreFusion) -> list[tuple[str, str, str]]:
    """Each run with its weight, the nulls, and the fused run, with the statistic of the judged queries."""
    rows = [("", "weight", parse(est.stat).name)]
    rows += [(name, f"{weight:.4f}", number(est.runs_[name])) for name, weight in est.weights_.items()]
    rows += [(name, "", number(value)) for name, value in est.nulls_.items()]
    return [*rows, ("these weights", "", number(est.result_.statistic))]


def _given(est: ScoreFusion) -> Evidence | None:
    """What held-out queries said; None without folds."""
    found = est.cv_results_
    if found is None:
        return None
    name = parse(est.stat).name
    chosen = None if est.null_kept_ else int(found["chosen"])
    order = " and the largest of its normaliser; ranks give way to a normaliser that leads them by a standard error"
    rest = {"null": est.null_, "order": order, "rule": est.rule, "safeguard": float(est.safeguard)}
    return evidence({**found, "first_stage": found["null"]}, name, name, chosen, **rest)
