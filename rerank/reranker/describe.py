"""A fitted model in sentences: what the fit changed, what was proved, which rows and columns it saw.

Terminal, notebook and page say the same, because each asks here or :class:`rerank.reranker.result.Result`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rerank.io.page import Part, Words
from rerank.reranker.columns import Columns
from rerank.reranker.first_stage import FirstStage
from rerank.reranker.result import ON_WORD, Result, listed, number, up
from rerank.reranker.state import FittedState
from rerank.reranker.task import Task
from rerank.statistics import Precision

Floats = NDArray[np.float64]

MOST_WEIGHTS = 12
"""Weights that are listed in a line."""

MOST = 6
"""Corrections that are told."""


SLACK = 1e-6
"""What a solver's bound may lack where it is rounded down to a whole number of rows."""

CORRECTIONS = "Corrections"
"""How the sentence on them begins."""


def described(state: FittedState) -> list[Part]:
    """Message, numbers, weights, shortlist, time and notes of a fit."""
    message, numbers, *rest = state.result.parts()
    used = [f"{name} {weight:+.6g}" for name, weight in state.named_weights().items()]
    short, result, asked = state.result.shortlist, state.result, state.task.constraints
    lines = (
        f"weights   {listed(used, MOST_WEIGHTS) or 'none'}",
        *([f"rows      among weights that keep your constraints: {'; '.join(asked)}"] if asked else []),
        f"shortlist {short.n_head} of {short.n_rows} rows in {result.n_lists} list(s), {short.n_positive_head} of "
        f"{short.n_positive} relevant ones; {short.n_features} features",
        "seconds   " + ", ".join(f"{name} {value:.2f}" for name, value in result.seconds.items()),
    )
    return [message, numbers, *map(Words, lines), *rest]


def corrections_in_words(names: Sequence[str], weights: Floats, spread: Floats) -> str:
    """One sentence on what a fit changed, the largest corrections first; ``""`` if it changed nothing.

    Parameters
    ----------
    weights : float64 array (p,)
        In deviations of the first stage's score for one deviation of the column.
    spread : float64 array (p,)
        Deviation of each column.
    """
    order = [int(j) for j in np.argsort(-np.abs(weights), kind="stable") if weights[j] != 0]
    if not order:
        return ""
    told = [_one(names[j], float(weights[j]), float(spread[j])) for j in order[:MOST]]
    more = f", and {len(order) - MOST} smaller ones" if len(order) > MOST else ""
    return f"{CORRECTIONS}, in deviations of the first stage's score: {', '.join(told)}{more}."


def kept_in_words(task: Task, stage: FirstStage | None, columns: Columns) -> tuple[str, ...]:
    """A sentence if a first stage that is kept ranks by more columns than ``max_features`` allows weights."""
    if stage is None or task.max_features is None:
        return ()
    used = len(columns.inputs) if stage.coef is None else int(np.count_nonzero(stage.coef))
    if used <= task.max_features:
        return ()
    return (
        f"max_features={task.max_features} limits what is fitted after the first stage; that is kept, and ranks by "
        f"{used} columns.",
    )


def _one(name: str, weight: float, spread: float) -> str:
    step = _round_step(spread)
    return f"{weight * (step / spread):+.2g} per {step:g} of {name}"


def _round_step(spread: float) -> float:
    """The largest of 1, 2, 5, 10, 20, ... that is not above a deviation."""
    power = 10.0 ** math.floor(math.log10(spread))
    return next((many * power for many in (5.0, 2.0) if many * power <= spread), power)


def proved_in_words(state: FittedState, unweighted: bool = False) -> list[str]:
    """What no allowed weights exceed on the training rows, what this fit has, and whose the bound is.

    Parameters
    ----------
    unweighted : bool
        Whether it is known that no training row has a weight. Only then a value is given as a number of rows.
    """
    result = state.result
    if result.status == "already_ideal" or result.status.startswith("nothing"):
        return [result.message]
    places = _counting(state, unweighted)
    first, *told = _counts(result, places) if places else _numbers(result)
    word = f"On the word of {result.bound_solver or 'a solver'}: on" if result.bound_source in ON_WORD else "On"
    kept = [] if state.reranks else ["These weights are not used: the first stage's list is kept."]
    price = f", and each column with a weight takes off {result.C:g}" if result.C else ""
    margin = (
        f"By the margin a row stands above another only if its score is larger by it{price}; without it numbers may "
        "differ. For rows to come this proves nothing."
    )
    return [f"{word} the {_rows(result)} no {_who(state)} {first}", *told, *kept, margin, _whose(result)]


def _rows(result: Result) -> str:
    short, lists = result.shortlist, "" if result.n_lists == 1 else f" in {result.n_lists} lists"
    return f"{short.n_rows} training rows{lists}"


def _who(state: FittedState) -> str:
    """The weights that the bound speaks of, with all limits that they had."""
    result, asked, p = state.result, state.task, state.features.size
    short, limits = result.shortlist, []
    these = "this column" if p == 1 else f"these {p} columns"
    who = f"weights of {these}"
    if state.anchored:
        who = f"corrections of {'the first stage' if state.first_stage else 'the prior'} by {these}"
        limits.append(f"within the radius {asked.radius:g}")
    if asked.max_features is not None and asked.max_features < p:
        limits.append(f"of at most {asked.max_features} columns at a time")
    if asked.signs[state.columns.chosen.searchsorted(state.features)].any():
        limits.append("with the signs that were asked for")
    if asked.normalise:
        limits.append("none below 0, with sum 1")
    if asked.constraints:
        limits.append("that keep your constraints")
    if result.bound_source == "rows":
        limits.append("that keep the rows added to the program")
    if short.n_head < short.n_rows:
        limits.append(f"that order the {short.n_head} rows of the shortlist")
    return " ".join([who, *([f"({', '.join(limits)})"] if limits else [])])


def _counting(state: FittedState, unweighted: bool) -> int | None:
    """The places of a statistic whose value is a number of relevant rows; None for all others."""
    result, stat = state.result, state.task.quoted
    grades = None if state.classes is None else state.classes.grades
    read = state.columns_read
    known = unweighted or ("weight_column" in read and read["weight_column"] is None)
    counts = (
        type(stat) is Precision
        and result.fitted_name == result.statistic_name
        and (result.n_lists, result.C, grades) == (1, 0.0, (0, 1))
        and known
        and not state.weighted_lists
        and float(result.value).is_integer()
    )
    return stat.at if counts and isinstance(stat, Precision) else None


def _counts(result: Result, places: int) -> list[str]:
    most, found = math.floor(result.bound + SLACK), int(result.value)
    more = most - found
    return [
        f"put more than {most} of the {result.shortlist.n_positive} relevant rows into the first {places} places by "
        "the margin of the fit.",
        f"The weights that were found put {found} there.",
        f"So at most {more} more could be found by such weights." if more else "So no such weights find more.",
    ]


def _numbers(result: Result) -> list[str]:
    name, more = result.value_name, f"So at most {up(result.gap)} more is possible with such weights."
    told = [
        f"have a value of {name} above {up(result.bound)}, by the margin of the fit.",
        f"The weights that were found have {number(result.value)}.",
        "So no such weights have more." if result.proved else more,
    ]
    if halves := result.halves():
        told.append(halves)
    if result.fitted_name != result.statistic_name:
        fitted, quoted = result.fitted_name, result.statistic_name
        told.append(f"{fitted} was fitted in place of {quoted}, of which this bound says nothing.")
    return told


def _whose(result: Result) -> str:
    """Who computed the bound, and how it is checked."""
    if result.bound_source in ON_WORD:
        return "Nobody has checked that bound, and rerank verify leaves it open."
    if result.bound_source == "ideal":
        return (
            "The bound is the value of the best order that the shortlist has, whatever the weights; rerank verify "
            "recomputes it from the training rows."
        )
    return (
        "The bound was computed by the branch and bound of this package. With the training rows and the proof that "
        "rerank fit --proof writes, rerank verify --proof checks it in exact arithmetic, without the search."
    )
