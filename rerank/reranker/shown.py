"""A result as a person reads it: its status in words, its numbers with their meaning, as text and as HTML."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from rerank.io.shown import html_table, text_table

if TYPE_CHECKING:
    from rerank.reranker.result import Result

SOURCES = {
    "ideal": "the ideal list",
    "search": "the search in weight space",
    "solver": "the solver, on its word",
}
BAR = 40
"""Signs of the bar that shows value and bound."""


def number(value: float | None, digits: int = 6) -> str:
    """A number in short digits; a dash if there is none."""
    if value is None:
        return "-"
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") if math.isfinite(value) else "none"


def message_of(
    status: str, statistic_name: str, gap: float = 0.0, bound_source: str = "ideal", needed: int | None = None,
    bound_solver: str | None = None, read: bool = False, gave_up: bool = False,
) -> str:  # fmt: skip
    """One or two sentences: what holds, and what to do about it.

    Parameters
    ----------
    status : str
    statistic_name : str
    gap : float
    bound_source : str
    needed : int, optional
        The smallest ``n_candidates`` with which an order of the shortlist can matter.
    bound_solver : str, optional
        Whose word the bound is, if it is a solver's.
    read : bool
        Whether the weights were read from a file, so that no more time helps.
    gave_up : bool
        Whether more time would not help the search.
    """
    name, who = statistic_name, bound_solver or "the solver"
    how = "the ideal list is reached" if bound_source == "ideal" else "by the search"
    more = (
        "More time would not change that; a note says why."
        if gave_up
        else "Fit again with solver='search' and more time_limit to prove more."
        if read
        else "Raise time_limit, lower n_candidates, or set max_features to 3 or 4, which is usually proved."
    )
    advice = (
        f"n_candidates must be at least {needed} for an order to matter."
        if needed is not None
        else "no n_candidates changes that with these rows and columns."
    )
    return {
        "optimal": f"Proved optimal ({how}): no allowed weights have a larger {name} on the shortlist, "
        "margin and price included.",
        "optimal_by_solver": f"Optimal on the word of {who}: {name} of the weights is recomputed exactly, "
        "the bound is not; presolve=True with more time_limit lets the search prove it.",
        "feasible": f"Stopped with a gap of {gap:.6g} in {name}, margin and price included: allowed weights with "
        f"a larger value may exist, larger by at most this gap{f', on the word of {who}' if bound_solver else ''}. "
        f"{more}",
        "first_stage_kept": "The first stage is kept: no weights that were found order the training list better "
        f"in {name}.",
        "guarded": "The first stage is kept: no option that was tried on held-out rows leads it by what safeguard "
        "asks.",
        "chosen": "Held-out rows chose this first stage, as it is.",
        "untried": "The first stage is kept: no option had the time to be tried on held-out rows; raise time_limit.",
        "already_ideal": "The first stage is kept: no weights within the limits give the shortlist an order with a "
        f"larger {name}.",
        "nothing_to_find": f"The shortlist holds no relevant row, so the first stage is kept: {advice}",
        "nothing_to_reorder": f"No order of the shortlist changes {name}, so the first stage is kept: {advice}",
    }[status]


def numbers_of(result: Result) -> list[tuple[str, str, str]]:
    """Name, number and meaning of statistic, value, bound and the program's own numbers."""
    name = result.statistic_name
    fitted = "" if result.fitted_name == name else f"of {result.fitted_name}, "
    rows = [
        ("statistic", number(result.statistic), f"{name} of the fitted list, ties counted against it"),
        ("value", number(result.value), f"{fitted}exact, from the weights, margin and price included"),
        ("bound", number(result.bound), f"of the value, margin included, by {SOURCES[result.bound_source]}"),
        ("gap", number(result.gap, 9), "bound minus value"),
    ]
    if result.first_stage_statistic is not None:
        rows.insert(0, ("first stage", number(result.first_stage_statistic), f"{name} of the first stage's list"))
    if result.program_value is not None:
        reported = (
            f"{fitted}in the unit of the value, what {result.solver} reports for the {result.formulation} program, "
            f"bound {number(result.program_bound)}"
        )
        rows.append(("program", number(result.program_value), reported))
    return rows


def reached(result: Result) -> float | None:
    """Value over bound, between 0 and 1; None where no such share says anything."""
    if not (result.bound > 0 and result.value >= 0):
        return None
    return 1.0 if result.proved else min(1.0, result.value / result.bound)


def text_of(result: Result) -> str:
    """The message, the numbers, and a bar of value and bound."""
    lines = [text_table(numbers_of(result), ("left", "left", "left"))]
    share = reached(result)
    if share is not None:
        full = math.floor(BAR * share)
        lines.append(f"[{'#' * full}{'.' * (BAR - full)}] the value is {_percent(share)} of the bound")
    return "\n".join([result.message, *lines, *(f"- {note}" for note in result.notes)])


def html_of(result: Result, told: str = "") -> str:
    """The same as a piece of a page, or with a paragraph ``told`` in place of the message; nothing is read as HTML."""
    share, bar = reached(result), ""
    if share is not None:
        bar = (
            '<div style="width:20em;max-width:100%;box-sizing:border-box;height:.8em;margin-top:.8em;'
            'border:1px solid #8c8c8c">'
            f'<div style="width:{100 * share:.2f}%;height:100%;background:#0072b2"></div></div>'
            f"<p>The value is {_percent(share)} of the bound.</p>"
        )
    notes = "".join(f"<li>{escape(note)}</li>" for note in result.notes)
    table = html_table(numbers_of(result), ("left", "right", "left"))
    first = f"<p>{escape(told)}</p>" if told else f"<p><b>{escape(result.message)}</b></p>"
    return first + table + bar + (f"<ul>{notes}</ul>" if notes else "")


def _percent(share: float) -> str:
    """Rounded down, so that only a closed gap is 100 %."""
    return f"{math.floor(1000 * share) / 10:g} %"
