"""``rerank report``: on one screen question, answer, picture and proof; the list; folded what was tried and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import floor, isfinite, log10, nan
from typing import TYPE_CHECKING, Any

from rerank.cli.inputs import lists_for_model, scores_shown
from rerank.io.page import Beside, Cells, Folded, Items, Part, Picture, Words

if TYPE_CHECKING:
    from rerank.io import Table
    from rerank.plots.curves import Curve
    from rerank.reranker.describe import Description
    from rerank.reranker.evidence import Evidence
    from rerank.reranker.files.model_file import ModelDocument
    from rerank.reranker.files.verify import Report
    from rerank.reranker.ranked import StateRanker
    from rerank.reranker.selection.options import Lead
    from rerank.reranker.state import Reason

Section = tuple[str, list[Part]]  # a heading and what stands below it
Cols = Mapping[str, list[str]]  # cells of the file by column
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


SHOWN = 20  # rows of the list, where the statistic has no number of places
MOST_ROWS = 200
LABEL, CELL = 14, 32  # signs of a column's name beside a row, and of a cell; longer ones are cut in their middle
DIGITS = 6  # of a fraction beside a row


@dataclass(frozen=True, eq=False)
class RankedTable:
    """A table ranked by a model."""

    est: StateRanker
    table: Table
    scores: Any  # (n,), what orders the lists
    places: Any  # (n,), each in its list
    first: Any  # (n,), scores of the first stage; None without one
    before: Any  # (n,), its places
    depth: int | None  # places that count
    lead: Lead | None  # over the first stage, ties on average; None without labels
    chance: float  # mean of the statistic over all orders of the rows
    own: bool  # whether these are the rows of the fit

    @property
    def n_lists(self) -> int:
        """Lists of the table."""
        return 1 if self.table.qid is None else len(set(self.table.qid.tolist()))

    @property
    def name(self) -> str:
        """Of the statistic."""
        return self.est.result_.statistic_name

    @property
    def digits(self) -> int:
        """Decimals of a mean number of rows."""
        return 1 if self.n_lists == 1 else 2

    @property
    def n_shown(self) -> int:
        """Rows of a list that are shown."""
        return min(SHOWN if self.depth is None else self.depth + 5, MOST_ROWS)

    @cached_property
    def first_rows(self) -> list[int]:
        """The best rows of each list, best first, list by list."""
        from rerank.ranks.lists import rows_by_list

        order: list[int] = []
        for _, rows_of_list in rows_by_list(self.table.qid, len(self.table)):
            order += rows_of_list[self.places[rows_of_list].argsort()][: self.n_shown].tolist()
        return order[:MOST_ROWS]

    def shared(self, depth: int) -> tuple[int, int]:
        """Rows in the first places, and those among them that stand there in the first stage's list, too."""
        above = self.places <= depth
        return int(above.sum()), int((above & (self.before <= depth)).sum())

    @property
    def above(self) -> str:
        """The places that count, in words."""
        return f"the first {self.depth} places{'' if self.n_lists == 1 else ' of a list'}"


def ranked(est: StateRanker, table: Table, own: bool) -> RankedTable:
    """The table ranked by the model; ``own`` if its rows are those of the fit."""
    from rerank.ranks.lists import places_by_list
    from rerank.statistics.derived import Share

    scores, first = est.list_scores(table.X, lists_for_model(table)), est.first_stage_scores(table.X)
    before = None if first is None else places_by_list(first, table.qid)
    stat, (lead, chance) = est.state_.task.quoted, lead_of(est, table, scores, first)
    depth = stat.of(len(table)).depth if isinstance(stat, Share) and table.qid is None else stat.depth
    return RankedTable(est, table, scores, places_by_list(scores, table.qid), first, before, depth, lead, chance, own)


def question(found: RankedTable) -> str:
    """What the list is for."""
    n, depth = f"{len(found.table):,} rows", found.depth
    if depth is None:
        lists = "" if found.n_lists == 1 else f" of {found.n_lists:,} lists"
        return f"In which order should the {n}{lists} be looked at?"
    of = n if found.n_lists == 1 else f"each of {found.n_lists:,} lists ({n})"
    return f"Which {depth} of {of} should be looked at first?"


def sections(
    found: RankedTable, beside: Cols, data: str, doc: ModelDocument, checked: Report
) -> tuple[str, list[Section]]:
    """The question, and all that answers it, in the order in which it is read; ``beside`` has the cells of
    :attr:`RankedTable.first_rows` by columns, and ``data`` is the name of the table.
    """
    from rerank.reranker.describe import describe

    state = found.est.state_
    unweighted = found.own and found.table.sample_weight is None and state.two_grades
    told = describe(replace(state, binary=True) if unweighted else state)
    folded = [evidence(found), change(found), held_out(found.est), proof(told), certificate(doc, checked, found.own)]
    screen = [text(f"{data}, by {found.name}.", small=True), *on_one_screen(found, told)]
    rest: Section = ("How it was made, judged and checked", [Folded(*section) for section in folded])
    return question(found), [("", screen), the_list(found, beside), rest]


def on_one_screen(found: RankedTable, told: Description) -> list[Part]:
    """Answer, what held-out rows say and what was proved, in a few sentences, beside the picture of both lists. Numbers
    of the rows of the fit stand behind those of held-out rows.
    """
    from rerank.errors.telling import of_kind
    from rerank.io.leaks import LEAK

    result, own = found.est.result_, found.own
    known = result.evidence is not None and result.evidence.expected is not None
    leads = known and (own or found.lead is None)
    here = f"{'On these rows, which are those of the fit: ' if own else ''}{answer(found, kept=not leads)}"
    first, then = (told.answer, "" if own else here) if leads else (here, told.answer)
    note = "The picture is of the list itself, whose scores come from models that have seen these rows."
    said = [then, told.on_fit, *([] if " have more" in then + told.on_fit else told.proof[:1])]
    said += [note] if own and result.folds else []
    beware = [text(note) for note in of_kind(result.notes, LEAK)]
    lines = [Words(first, strong=True), *beware, text(*held_out_line(found, told)), text(*filter(None, said))]
    return [Beside(lines, [Picture(lambda: both_lists(found))])]


def answer(found: RankedTable, kept: bool = True) -> str:
    """What the list finds, beside the first stage's list and a random order; without labels how much it changed. With
    ``kept`` it is said that the list is the first stage's.
    """
    from rerank.plots.curves import counted

    lead, name, depth, first = found.lead, found.name, found.depth, found.before
    own_list = "This is the first stage's own list: the fit keeps it."
    stage = [own_list] if kept and not found.est.reranks_ else []
    if lead is None:
        lacking = "no labels" if found.table.y is None else "no relevant row"
        shared = ""
        if first is not None and depth is not None and found.est.reranks_:
            count, both = found.shared(depth)
            shared = f"Of the {count} rows in {found.above} the first stage's list has {both} there, too. "
        return " ".join([*stage, f"{shared}The table has {lacking}, so the list cannot be judged by it."])
    if not isfinite(lead.value):
        return f"No {name} is defined on these rows: they hold nothing to order."
    told = []
    if depth is not None:
        y = found.table.y
        assert y is not None
        counts = {curve.kind: curve.values[-1] for curve in curves_of(found, depth)}
        mine, first_has, chance = (
            counted(counts.get(kind, 0), found.digits) for kind in ("list", "first stage", "random")
        )
        total = f"{int((y > 0).sum()):,} relevant rows"
        held = f"hold {mine} of {total}" if found.n_lists == 1 else f"hold {mine} relevant rows on average"
        first_told = f"those of the first stage's list {first_has}, " if "first stage" in counts else "those "
        told.append(f"{found.above.capitalize()} {held}; {first_told}of a random order {chance}.")
    if depth is None or lead.value != counts["list"]:
        by = "" if found.first is None or not found.est.reranks_ else f", of the first stage's {lead.alone:.4g}"
        told.append(f"{name} of this list is {lead.value:.4g}{by}, of a random order {found.chance:.4g}.")
    return " ".join([*stage, *told])


def curves_of(found: RankedTable, ends: int) -> list[Curve]:
    """Relevant rows by place, of a list on average: this list, the first stage's, a random order, a perfect list."""
    import numpy as np

    from rerank.plots.curves import Curve, found_by_place

    y, qid, n = found.table.y, found.table.qid, len(found.table)
    assert y is not None
    orders = [("this list", "list", found.scores, False)]
    if found.first is not None and found.est.reranks_:
        orders.append(("the first stage's list", "first stage", found.first, False))
    orders += [("a random order", "random", np.zeros(n), True), ("a perfect list", "ideal", y, False)]
    return [Curve(name, kind, found_by_place(y > 0, by, qid, ends, mean)) for name, kind, by, mean in orders]


def both_lists(found: RankedTable) -> str:
    """The picture of the list and of the first stage's, as SVG: what is found, or without labels what they share."""
    import numpy as np

    from rerank.plots.curves import SHOWN as MULTIPLES
    from rerank.plots.curves import Curve, curves_svg, shared_by_place

    longest, depth = int(found.places.max()), found.depth
    ends = longest if depth is None else min(longest, MULTIPLES * depth)
    if found.lead is not None:
        what, curves = "relevant rows found", curves_of(found, ends)
    elif found.before is not None and found.est.reranks_:
        shared = shared_by_place(found.before, found.places, found.table.qid, ends)
        what = "rows that the first stage's list has there, too"
        curves = [Curve("shared", "list", shared), Curve("the same list", "ideal", np.arange(ends + 1.0))]
    else:
        return ""
    mean = "" if found.n_lists == 1 else f", mean of {found.n_lists:,} lists"
    mean += ", on the rows of the fit" if found.own else ""
    at = None if depth is None else min(depth, ends)
    return curves_svg(curves, at=at, x="rows looked at", y=f"{what}{mean}", digits=found.digits)


def held_out_line(found: RankedTable, told: Description) -> list[str]:
    """What rows that the fit has not seen say of its lead: these, if they are such rows, and those of its folds."""
    lead = found.lead
    if lead is None or (ends := lead.interval) is None or found.own or not found.est.reranks_:
        return [*told.held_out]
    said = (
        f"On these rows the lead over the first stage is {lead.value - lead.alone:+.4g}, 95 % interval "
        f"{ends[0]:+.3g} to {ends[1]:+.3g}: evidence if the fit has not seen them."
    )
    return [said, *(told.held_out if found.est.result_.evidence is not None else ())]


def the_list(found: RankedTable, beside: Cols) -> Section:
    """The first rows, with the cut, and what moved each of them."""
    import numpy as np

    est, table, depth = found.est, found.table, found.depth
    n_shown, order = found.n_shown, found.first_rows
    rows = est.state_.columns.rows(table.X)
    why = est.state_.reasons(rows, table.qid, np.array(order, dtype=np.intp))
    columns = _about_rows(found, order, beside)
    named = any(reason.columns for reason in why)
    if named:
        columns["moved most by" if est.reranks_ else "score most due to"] = (
            "left",
            [_columns_moved(reason) for reason in why],
        )
    cells = [[*columns], *map(list, zip(*(values for _, values in columns.values())))]
    shown = Cells(cells, [side for side, _ in columns.values()], True, depth if table.qid is None else None, named)
    which = "best" if table.qid is None else f"best {n_shown} of each list, in the order of their names:"
    told = [f"The {which} {len(order)} of {len(table):,} rows."]
    if depth is not None and table.qid is None and len(order) > depth:
        told.append(f"The line is under place {depth}.")
    if "before" in columns:
        told.append("Before is the place in the first stage's list.")
    told.append(_meaning(found) if named else "The score is no sum over columns, so no column is named.")
    return ("The list", [shown, text(*told, small=True)])


def _about_rows(found: RankedTable, order: list[int], beside: Cols) -> dict[str, tuple[str, list[Any]]]:
    """Columns of the table of these rows by their heads: the side on which each stands, and its cells."""
    table, before = found.table, found.before
    columns: dict[str, tuple[str, list[Any]]] = {}
    if table.qid is not None:
        columns["list"] = ("left", [table.qid[row] for row in order])
    columns["place"] = ("right", [int(found.places[row]) for row in order])
    columns["row" if table.ids is None else "id"] = ("left", order if table.ids is None else [*table.ids[order]])
    scores = scores_shown(found.est, table)[order]
    largest = float(abs(scores).max())
    digits = 6 if largest == 0 else min(max(5 - floor(log10(largest)), 0), 9)
    columns["score"] = ("right", [f"{score:.{digits}f}" for score in scores])
    if before is not None and found.est.reranks_:
        columns["before"] = ("right", [int(before[row]) for row in order])
    if table.y is not None:
        labels = ["" if label <= 0 else "yes" if label == 1 else f"grade {label:g}" for label in table.y[order]]
        columns["relevant"] = ("left", labels)
    for name, cells in beside.items():
        head = short_name(name)
        while head in columns:  # a blank keeps it apart from a column of that name above
            head += " "
        columns[head] = ("left", list(map(short_cell, cells)))
    return columns


def _meaning(found: RankedTable) -> str:
    """What the numbers beside a row are."""
    state, reranks = found.est.state_, found.est.reranks_
    weight = "correction" if state.anchored and reranks else "weight"
    below = "; none for rows below the shortlist, which the first stage placed"
    return (
        f"Beside a row: up to three columns, each with {weight} x (value - mean of the list), in units of the score"
        f"{'' if state.n_candidates is None or not reranks else below}."
    )


def _columns_moved(reason: Reason) -> str:
    """The columns in a line that breaks between them only."""
    added = reason.columns or ()
    return ", ".join(f"{short_name(name)}\N{NO-BREAK SPACE}{amount:+.2g}" for name, amount in added)


def short_name(name: str, most: int = LABEL) -> str:
    """A name that leaves room for others in a line."""
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}\N{HORIZONTAL ELLIPSIS}{name[-half:]}"


def short_cell(cell: str) -> str:
    """An entry of a table that leaves room for others in a line: of a fraction six digits."""
    from rerank.io.lines import is_number

    if len(cell) > DIGITS + 2 and not cell.strip("+-").isdigit() and is_number(cell):
        return f"{float(cell):.{DIGITS}g}"
    return short_name(cell, CELL)


def change(found: RankedTable) -> Section:
    """What differs from the first stage's list, and the weights."""
    from rerank.errors.telling import of_kind
    from rerank.reranker.solution import CORRECTIONS

    est, depth = found.est, found.depth
    if not est.reranks_:
        return ("What changed, and why", [text(est.result_.message)])
    parts: list[Part] = []
    if found.before is not None and depth is not None:
        count, both = found.shared(depth)
        parts.append(text(f"The first stage had {both} of these first {count} rows in its own first {depth} places."))
    words = of_kind(est.result_.notes, CORRECTIONS)
    parts.append(text(*words) if words else text("The score is the sum of the columns by these weights."))
    weights = [(name, f"{weight:+.4g}") for name, weight in est.state_.named_weights().items()]
    parts.append(Cells([("column", "weight of one unit, in all"), *weights], ("left", "right"), named=True))
    return ("What changed, and why", parts)


def evidence(found: RankedTable) -> Section:
    """The statistic of labelled rows, beside the first stage and chance."""
    est, table, lead = found.est, found.table, found.lead
    title = "How good it is on these rows"
    if lead is None or not isfinite(lead.value):
        return (title, [text(answer(found))])
    lines = [f"{found.name} of this list is {lead.value:.4g}."]
    if found.first is not None:
        lines.append(f"The first stage's list has {lead.alone:.4g}.")
    lines.append(f"A random order has {found.chance:.4g} on average.")
    if found.own:
        if est.result_.folds:
            lines.append("The numbers of the fit below differ, because they use out-of-fold scores of the first stage.")
        lines.append("These are the rows that the model was fitted on, which says little about rows to come.")
    elif (ends := lead.interval) is not None:
        lines.append(
            f"The lead is {lead.value - lead.alone:+.4g}; its 95 % interval goes from {ends[0]:+.4g} to "
            f"{ends[1]:+.4g}, by paired differences of {'rows' if table.qid is None else 'lists'}. "
            "That is evidence only if the fit has not seen these rows."
        )
    return (title, [text(*lines)])


def lead_of(est: StateRanker, table: Table, scores: Any, first: Any) -> tuple[Lead | None, float]:
    """What a list is worth beside the first stage's, and the mean over all orders; None and NaN without labels."""
    from rerank.ranks.evaluator import Evaluator
    from rerank.ranks.lists import split
    from rerank.ranks.row_gains import gain_of
    from rerank.reranker.selection.options import NOT_TRIED, Lead

    if table.y is None or not (table.y > 0).any():
        return None, nan
    stat, weight = est.state_.task.quoted, table.sample_weight
    gain = gain_of(stat, est.gain, weight)
    judge = Evaluator(stat, split(table.y, table.qid, gain=gain, sample_weight=weight, ideal_gains=table.ideal_gains))
    if not any(scale > 0 for _, scale in judge.scales):  # nothing to order
        return NOT_TRIED, nan
    value, chance = (judge.mean(by, "average") for by in (scores, 0.0 * scores))
    if first is None:
        return Lead(value, nan, nan, nan), chance
    return Lead(value, judge.mean(first, "average"), *judge.lead(scores, first, "average")), chance


def held_out(est: StateRanker) -> Section:
    """What the model file keeps of a cross-validation."""
    title, found = "What held-out rows say", est.result_.evidence
    if found is None:
        lacking = (
            "The model file holds no held-out evidence: fit without --free (RerankerCV in Python), or make this page "
            "of labelled rows that the fit has not seen."
        )
        return (title, [text(lacking)])
    n = len(found.options)
    first, table, last = found.table()
    tried = f"{n} {'option was' if n == 1 else 'options were'} tried by fits that had not seen these rows."
    shown = Cells(table[: MOST_OPTIONS + 2], ("left", "right", "right", "right"), named=True)
    parts: list[Part] = [text(tried, *first), shown, text(*(sentence.replace(" (*)", "") for sentence in last))]
    if n > MOST_OPTIONS:
        parts.append(text(f"The first {MOST_OPTIONS} of {n} options are shown.", small=True))
    known = [number for number in (*found.leads, *found.errors) if number is not None]
    if known and n <= MOST_DRAWN and max((abs(x) for x in known if isfinite(x)), default=LARGEST) < LARGEST:
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


def proof(told: Description) -> Section:
    """What was proved, in sentences, and the numbers."""
    given = [text(f"{GIVEN}: the notes.", small=True)] if told.notes else []
    on_fit = text(told.on_fit or told.answer)
    said = [text(*told.asked), on_fit, text(*told.proof), *told.details[:2], Items(told.notes), *given]
    return ("What was proved about the fit", said)


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
    small = [f"{why[0].upper()}{why[1:]}: {', '.join(names)}." for why, names in checked.reasons().items()]
    small += [f"Digest of the fitted problem: {doc.data_sha256}."] if doc.data_sha256 else []
    small.append(f"Made with {', '.join(f'{name} {version}' for name, version in doc.versions.items())}.")
    parts: list[Part] = [text(f"{first} {checked.outcome}{told}"), *(text(sentence, small=True) for sentence in small)]
    return ("Certificate and versions", parts)
