"""A fit of score fusion in words: what folds said, the weights, and what each way to rank is worth."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from rerank.errors import InputError
from rerank.io.shown import html_table, text_table
from rerank.reranker.selection.told import option_names, report, report_html
from rerank.reranker.shown import number
from rerank.statistics import parse

if TYPE_CHECKING:
    from rerank.reranker.fusion.estimator import ScoreFusion

SIDES = ("left", "right", "right")


def folds_of(est: ScoreFusion) -> str:
    """Lead, error and statistic of every option over the null, and what was chosen."""
    given = _given(est)
    return ("\n".join(est.notes_) or "There were no folds.") if given is None else report(*given)


def shown(est: ScoreFusion) -> tuple[str, str]:
    """Text and HTML of a fit."""
    given, result, about = _given(est), est.result_, f"Weights of the scores normalised by {est.normaliser_}:"
    found = (("value", number(result.value)), ("bound", number(result.bound)), ("gap", number(result.gap, 9)))
    bounds = ", ".join(" ".join(pair) for pair in found)
    text = [about, text_table(_ways(est), SIDES), result.message, f"{bounds}, on the judged queries"]
    page = [f"<p>{escape(about)}</p>", html_table(_ways(est), SIDES)]
    page += [f"<p><b>{escape(result.message)}</b></p>", f"<p>{escape(text[-1])}</p>"]
    if given is not None:
        text, page = [f"{report(*given)}\n", *text], [report_html(*given), *page]
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
    from rerank.plots import leads

    given = _given(est)
    if given is None:
        raise InputError(f"There were no folds, so no option has a lead. {' '.join(est.notes_)}".rstrip())
    found, name, _, chosen, null = given
    unit = f"lead over {null}, {name}"
    return leads(option_names(found), found["mean_lead"], found["lead_error"], chosen, unit=unit, null=null, ax=ax)


def _ways(est: ScoreFusion) -> list[tuple[str, str, str]]:
    """Each run with its weight, the nulls, and the fused run, with the statistic of the judged queries."""
    rows = [("", "weight", parse(est.stat).name)]
    rows += [(name, f"{weight:.4f}", number(est.runs_[name])) for name, weight in est.weights_.items()]
    rows += [(name, "", number(value)) for name, value in est.nulls_.items()]
    return [*rows, ("these weights", "", number(est.result_.statistic))]


def _given(est: ScoreFusion) -> tuple[Any, ...] | None:
    """What a report is made of; None without folds."""
    found = est.cv_results_
    if found is None:
        return None
    name = parse(est.stat).name
    chosen = None if est.null_kept_ else int(found["chosen"])
    return {**found, "first_stage": found["null"]}, name, name, chosen, est.null_
