"""The sections of ``rerank report``: the list, what changed, how good it is, what was proved and checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from rerank.io.page import Cells, Items, Part, Picture, Words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rerank.io import Table
    from rerank.ranks.evaluator import Ties
    from rerank.reranker.estimator import Reranker
    from rerank.reranker.evidence import Evidence
    from rerank.reranker.files.model_file import ModelDocument
    from rerank.reranker.files.verify import Report

Section = tuple[str, list[Part]]
"""A heading and what stands below it."""

GIVEN = "Taken as given from the model file"
"""What nobody can recompute from rows and file; ``rerank verify`` lists it under the same name."""

MOST_OPTIONS, MOST_DRAWN, LARGEST = 200, 30, 1e100
"""Options in the table and in the picture; no picture has larger numbers."""

def text(*sentences: str, small: bool = False) -> Words:
    """A paragraph."""
    return Words(" ".join(sentences), small=small)


def picture(draw: Callable[[], Any]) -> Picture:
    """The axes that a function draws."""
    from rerank.plots.style import svg

    return Picture(lambda: svg(draw))


SHOWN = 20
"""Cells of the list, where the statistic has no number of places."""
MOST_ROWS = 200
DRAWS = 1000


@dataclass(frozen=True, eq=False)
class Ranked:
    """A table ranked by a model: scores and places, those of the first stage (or None), places that count (or None)."""

    est: Reranker
    table: Table
    scores: Any
    places: Any
    first: Any
    before: Any
    depth: int | None


def ranked(est: Reranker, table: Table) -> Ranked:
    """The table ranked by the model."""
    from rerank.ranks.lists import places_by_list

    scores, first = est.list_scores(table.X, table.qid), est.first_stage_scores(table.X)
    before = None if first is None else places_by_list(first, table.qid)
    depth = est.state_.task.quoted.depth
    return Ranked(est, table, scores, places_by_list(scores, table.qid), first, before, depth)


def question(found: Ranked) -> Section:
    """What the list is for, and by what it is judged."""
    table, depth = found.table, found.depth
    n_lists = 1 if table.qid is None else len(set(table.qid.tolist()))
    lists = "" if n_lists == 1 else f" in {n_lists} lists"
    first = "" if depth is None else f" The first {depth} places{' of each list' if lists else ''} count."
    asked = f"Which of {len(table)} rows{lists} should be looked at first?{first}"
    return ("The question", [text(asked, f"A list is judged by {found.est.result_.statistic_name}.")])


def the_list(found: Ranked) -> Section:
    """The first rows, with the cut."""
    from rerank.ranks.lists import rows_by_list

    table, places, before, depth = found.table, found.places, found.before, found.depth
    n_shown = min(SHOWN if depth is None else depth + 5, MOST_ROWS)
    order: list[int] = []
    for _, rows_of_list in rows_by_list(table.qid, len(table)):
        order += rows_of_list[places[rows_of_list].argsort()][:n_shown].tolist()
    order = order[:MOST_ROWS]
    head = ["place", "row", "score"] + (["place before"] if before is not None else [])
    head += ["relevant"] if table.y is not None else []
    if table.qid is not None:
        head.insert(0, "list")
    body = []
    for row in order:
        own: list[Any] = [] if table.qid is None else [table.qid[row]]
        name = row if table.ids is None else table.ids[row]
        own += [int(places[row]), name, f"{found.scores[row]:#.4g}".rstrip(".")]
        own += [int(before[row])] if before is not None else []
        if table.y is not None:
            own.append("" if table.y[row] <= 0 else "yes" if table.y[row] == 1 else f"grade {table.y[row]:g}")
        body.append(own)
    start = 1 if table.qid is not None else 0
    numbers = [start, start + 2] + ([start + 3] if before is not None else [])
    below = "" if depth is None or table.qid is not None else " The line is where the list is cut."
    which = "best" if table.qid is None else f"best {n_shown} of each list, in the order of their names:"
    shown = text(f"The {which} {len(body)} of {len(table)} rows.{below}", small=True)
    sides = ["right" if place in numbers else "left" for place in range(len(head))]
    return ("The list", [Cells([head, *body], sides, True, depth if table.qid is None else None), shown])


def change(found: Ranked) -> Section:
    """What differs from the first stage's list, and the weights."""
    from rerank.reranker.describe import CORRECTIONS

    est, places, before, depth = found.est, found.places, found.before, found.depth
    if not est.reranks_:
        return ("What changed, and why", [text(est.result_.message)])
    parts: list[Part] = []
    if before is not None and depth is not None:
        count, both = int((places <= depth).sum()), int(((places <= depth) & (before <= depth)).sum())
        parts.append(text(f"The first stage had {both} of these first {count} rows in its own first {depth} places."))
    words = [note for note in est.result_.notes if note.startswith(CORRECTIONS)]
    parts.append(text(*words) if words else text("The score is the sum of the columns by these weights."))
    weights = [(name, f"{weight:+.4g}") for name, weight in est.state_.named_weights().items()]
    parts.append(Cells([("column", "weight of one unit, in all"), *weights], ("left", "right"), named=True))
    return ("What changed, and why", parts)


def evidence(given: Ranked, own: bool) -> Section:
    """The statistic of labelled rows, beside the first stage and chance; ``own`` if they are those of the fit."""
    est, table = given.est, given.table
    title, name = "How good it is on these rows", est.result_.statistic_name
    if table.y is None or not (table.y > 0).any():
        lacking = "no labels" if table.y is None else "no relevant row"
        return (title, [text(f"The table has {lacking}, so the list cannot be judged by it.")])
    found = lead_of(est, table, given.scores, given.first, DRAWS)
    if not isfinite(found.value):
        return (title, [text(f"No {name} is defined on these rows: they hold nothing to order.")])
    lines = [f"{name} of this list is {found.value:.4g}."]
    if found.first is not None:
        lines.append(f"The first stage's list has {found.first:.4g}.")
    lines.append(f"A random order has {found.chance:.4g} on average.")
    if own:
        if est.result_.folds:
            lines.append("The numbers of the fit below differ, because they use out-of-fold scores of the first stage.")
        lines.append("These are the rows that the model was fitted on, which says little about rows to come.")
    elif found.first is not None and isfinite(found.low):
        lines.append(
            f"The lead is {found.value - found.first:+.4g}; its 95 % interval goes from {found.low:+.4g} to "
            f"{found.high:+.4g} (the {'rows' if table.qid is None else 'lists'} drawn anew {DRAWS} times). "
            "That is evidence only if the fit has not seen these rows."
        )
    parts: list[Part] = [text(*lines)]
    if table.qid is None:
        from rerank.plots import cumulative_gain

        relevant = table.y > 0
        curves = {"fitted": given.scores} | ({} if given.first is None else {"first stage": given.first})
        parts.append(picture(lambda: cumulative_gain(relevant, curves, top=given.depth)))
    return (title, parts)


class Lead(NamedTuple):
    """What a list is worth on labelled rows; NaN if unknown.

    Attributes
    ----------
    value, first : float
        The statistic of the list and of the first stage's; None without a first stage.
    chance : float
        Its mean over all orders of the rows.
    low, high : float
        Ends of the 95 % interval of the difference.
    """

    value: float
    first: float | None
    chance: float
    low: float
    high: float


def lead_of(
    est: Reranker, table: Table, scores: NDArray[Any], first: NDArray[Any] | None, draws: int, seed: int = 0
) -> Lead:
    """Value, that of the first stage, and the interval between the 2.5 and 97.5 % quantiles of the lead over draws.

    Rows of one list are drawn with repetition; of several lists, the lists are, as a mean is taken over them.

    Parameters
    ----------
    table : Table
        With labels.
    scores, first : arrays (n,)
        Scores that order each list, by the model and by its first stage.
    """
    import numpy as np

    from rerank.ranks import list_values

    assert table.y is not None
    y, weight = table.y, table.sample_weight

    def values(of: NDArray[Any], rows: Any = slice(None), ties: Ties = "pessimistic") -> NDArray[np.float64]:
        return list_values(
            est.stat, y[rows], of[rows], None if table.qid is None else table.qid[rows], ties=ties, gain=est.gain,
            sample_weight=None if weight is None else weight[rows], ideal_gains=table.ideal_gains,
        )  # fmt: skip

    own = values(scores)
    if np.isnan(own).all():  # nothing to order
        return Lead(np.nan, None, np.nan, np.nan, np.nan)
    value, chance = float(np.nanmean(own)), float(np.nanmean(values(np.zeros(y.size), ties="average")))
    if first is None:
        return Lead(value, None, chance, np.nan, np.nan)
    before, rng = values(first), np.random.default_rng(seed)
    if table.qid is None:
        drawn = (rng.integers(0, y.size, y.size) for _ in range(draws))
        leads = np.array([values(scores, rows)[0] - values(first, rows)[0] for rows in drawn])
    else:
        each = (own - before)[~np.isnan(own)]
        leads = each[rng.integers(0, each.size, (draws, each.size))].mean(axis=1)
    leads = leads[~np.isnan(leads)]  # draws without a relevant row
    low, high = np.quantile(leads, [0.025, 0.975]) if leads.size else (np.nan, np.nan)
    return Lead(value, float(np.nanmean(before)), chance, float(low), float(high))


def held_out(est: Reranker) -> Section:
    """What the model file keeps of a cross-validation."""
    title, found = "What held-out rows say", est.result_.evidence
    if found is None:
        lacking = (
            "The model file holds no held-out evidence: fit without --free (RerankerCV in Python), or make this page "
            "of labelled rows that the fit has not seen."
        )
        return (title, [text(lacking)])
    n = len(found.options)
    first, table, last = found.told()
    tried = f"{n} {'option was' if n == 1 else 'options were'} tried by fits that had not seen these rows."
    shown = table[: MOST_OPTIONS + 2]
    table_shown = Cells(shown, ("left", "right", "right", "right"), named=True)
    parts: list[Part] = [text(tried, *first), table_shown]
    parts.append(text(*(one.replace(" (*)", "") for one in last)))
    if n > MOST_OPTIONS:
        parts.append(text(f"The first {MOST_OPTIONS} of {n} options are shown.", small=True))
    known = [one for one in (*found.leads, *found.errors) if one is not None]
    if known and n <= MOST_DRAWN and max((abs(one) for one in known if isfinite(one)), default=LARGEST) < LARGEST:
        parts.append(picture(found.plot))
    if known:
        parts.append(text(_caution(found), small=True))
    parts.append(text(f"{GIVEN}; the fits on folds are not repeated here.", small=True))
    return (title, parts)


def _caution(found: Evidence) -> str:
    """What a lead and its interval do not say."""
    lines = ["An interval has 1.96 standard errors on each side, of paired differences of relevant rows or of lists."]
    if found.chosen is not None:
        ends = found.interval(found.chosen)
        if ends is not None and ends[0] <= 0 <= ends[1]:
            lines.append("That of the chosen option holds 0, so its lead may be chance.")
        lines.append("The lead of a chosen option tends to be too large, because the same rows chose it.")
    return " ".join(lines)


def proof(est: Reranker, unweighted: bool) -> Section:
    """What was proved, in sentences, and the numbers."""
    from rerank.reranker.describe import describe

    state = replace(est.state_, binary=True) if unweighted and est.state_.two_grades else est.state_
    told = describe(state)
    parts: list[Part] = [text(*told.asked), text(told.answer), text(*told.proof), *told.details[:2], Items(told.notes)]
    if told.notes:
        parts.append(text(f"{GIVEN}: the notes.", small=True))
    return ("What was proved about the fit", parts)


def certificate(doc: ModelDocument, checked: Report, recomputed: bool) -> Section:
    """Which claims were recomputed, which are open or taken as given, and the versions of the fit."""
    failed = [check.name for check in checked.checks if not check.holds]
    told = f" These do not hold: {', '.join(failed)}." if failed else ""
    first = f"{len(checked.checks)} claims were recomputed from these rows."
    if not recomputed:
        first = (
            "The numbers of the fit were not recomputed here: that takes the labelled rows of the fit. "
            f"{len(checked.checks)} claims of the file were compared with each other."
        )
    parts: list[Part] = [text(f"{first} {checked.outcome}{told}")]
    for why, names in checked.reasons().items():
        parts.append(text(f"{why[0].upper()}{why[1:]}: {', '.join(names)}.", small=True))
    if doc.data_sha256:
        parts.append(text(f"Digest of the fitted problem: {doc.data_sha256}.", small=True))
    versions = ", ".join(f"{name} {version}" for name, version in doc.versions.items())
    parts.append(text(f"Made with {versions}.", small=True))
    return ("Certificate and versions", parts)
