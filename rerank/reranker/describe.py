"""A fitted model in words: the one home of what text, notebook, command line and page say of a fit.

:func:`describe` makes one record in this order: what was asked, the answer, what held-out rows say, what was proved
and what not, notes, then details. Each number is told once, and every reader shows the same record.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rerank.errors.telling import of_kind
from rerank.io.bounded import Json
from rerank.io.page import Bar, Cells, Folded, Items, Part, Words, as_html, as_text
from rerank.problem.lists import Floats
from rerank.ranks.rationals import is_closed
from rerank.reranker.figures import Figures
from rerank.reranker.solution import ON_WORD, SOURCES, UNREADY, status_of
from rerank.statistics import AUC, NDCG, Pairs, Precision, Recall

MOST_WEIGHTS = 12  # weights that are listed in a line
MOST = 6  # corrections that are told
SLACK = 1e-6  # what a solver's bound may lack where it is rounded down to a whole number of rows
USUALLY_PROVED = 4  # columns up to which a fit is mostly proved
PRESOLVED = "presolve=True with more time_limit lets the search prove it."
PROVE = "load_solution(..., prove=60), or rerank import --prove 60,"
"""What helps to a proof of weights that a solver found, and of weights that were read from a file."""

STAGES = {"logistic": "logistic regression", "toppush": "TopPush", "ranksvm": "RankSVM", "robirank": "RoBiRank"}
STAGES |= {"trees": "boosted trees", "forest": "a forest", "lambdarank": "LightGBM's lambdarank"}
PARTS = {
    "squares": "squares of the columns",
    "balanced": "balanced classes",
    **{f"head{share}": f"a refit of its first {share} %" for share in (10, 20, 40)},
}
"""First stages of this package, and parts of their names, in words."""

GIVEN = "the given score"  # a first stage that is a function or ready scores, whose name may say nothing


TIES = {"pessimistic": "ties counted against it", "average": "a tied pair as one half"}
"""How equal scores count, in words."""


@dataclass(frozen=True, kw_only=True)
class Description:
    """What is said of a fitted model, in the order in which it is read; ``str`` leaves out the details."""

    asked: tuple[str, ...]  # sentences: what was asked
    answer: str  # in one sentence: on held-out rows, where there were any, else on those of the fit
    on_fit: str = ""  # the same on the rows of the fit, where the answer is about others
    held_out: tuple[str, ...] = ()  # what rows say that the fit had not seen
    proof: tuple[str, ...] = ()  # what was proved, and what not
    notes: tuple[str, ...] = ()
    details: tuple[Part, ...] = field(default=(), repr=False)

    def parts(self, details: bool = False) -> list[Part]:
        """The record as paragraphs, the answer strong; with ``details`` everything."""
        lines = [Words(" ".join(self.asked)), Words(self.answer, strong=True)]
        on_fit = (self.on_fit, *self.proof) if self.on_fit else self.proof
        lines += [Words(" ".join(said)) for said in (self.held_out, on_fit) if said]
        return [*(line for line in lines if line.text), Items(self.notes), *(self.details if details else ())]

    def __str__(self) -> str:
        return as_text(self.parts())

    def on_page(self) -> list[Part]:
        """The record as paragraphs, and the details folded, which text leaves out."""
        return [*self.parts(), Folded("Details", self.details)]

    def _repr_html_(self) -> str:
        return as_html(self.on_page())

    def to_dict(self) -> Json:
        """The sentences as plain JSON values."""
        said = {"asked": self.asked, "held_out": self.held_out, "proof": self.proof, "notes": self.notes}
        told = {"answer": self.answer} | ({"on_fit": self.on_fit} if self.on_fit else {})
        return told | {name: list(sentences) for name, sentences in said.items()}


def describe(model: Any) -> Description:
    """What is to be said of a fitted model, in one record; text, HTML, command line and page show it.

    Parameters
    ----------
    model : Reranker, RerankerCV, or the ``result_`` of one

    Raises
    ------
    NotFittedError
        Before the fit.
    """
    from sklearn.utils.validation import check_is_fitted

    if hasattr(model, "get_params"):
        check_is_fitted(model, "result_")
    r: Figures = getattr(model, "result_", getattr(model, "result", model))
    said = {"asked": tuple(_asked(r)), "held_out": tuple(_held_out(r)), "proof": tuple(_proof(r))}
    answer, on_fit = _answers(r)
    return Description(answer=answer, on_fit=on_fit, notes=(*r.notes, *_remarks(r)), details=tuple(_details(r)), **said)


def _asked(r: Figures) -> list[str]:
    short, asked, found = r.shortlist, r.asked, r.evidence
    lists = "" if r.n_lists == 1 else f" in {r.n_lists:,} lists"
    relevant = "" if _by_order(r) else f", {short.n_positive:,} of them relevant"
    rows = f"{short.n_rows:,} rows{lists}{relevant}"
    if r.said:
        return [f"Asked: order {rows}, by {r.statistic_name}."]
    of = f"the best {asked.them}"
    if found is not None:
        # What was chosen may have another first stage than what had to be led.
        of = f"{asked.first_stage if found.chosen is None else found.null}, or a better order "
        of += f"if held-out rows show one ({found.counted})"
    cut = f"; {short.n_head:,} rows are reordered" if short.n_head < short.n_rows else ""
    return [f"Asked: order {rows}, by {r.statistic_name}: {of}{cut}."]


def _answers(r: Figures) -> tuple[str, str]:
    """The answer in one sentence, on held-out rows if there were any; then also that on the rows of the fit."""
    if r.said:
        return r.said, ""
    if r.status.startswith("nothing"):
        return message(r), ""
    if r.evidence is None or (expected := r.evidence.expected) is None:
        return _on_fit(r), ""
    phrase, shown = _unit(r, held_out=True)
    does, led = phrase.format(shown(expected)), r.evidence.first_stage
    others = f"; {r.evidence.null.removeprefix('the ')} {shown(led)}" if r.evidence.chosen is not None and led else ""
    if not r.keeps_first_stage:
        return f"On held-out rows the new order {does}{others}.", _on_fit(r)
    return f"{_kept(r)}: on held-out rows it {does}{others}.", _on_fit(r, told=True)


def _on_fit(r: Figures, told: bool = False) -> str:
    """What the list is worth on the rows of the fit, in one sentence; ``told`` if it is known what ranks."""
    phrase, shown = _unit(r)
    does, first, limit = phrase.format(shown(r.statistic)), r.first_stage_statistic, _limit(r, shown)
    if not r.keeps_first_stage:
        others = "" if first is None else f"; {r.asked.first_stage} {shown(first)}"
        return f"On the rows of the fit the new order {does}{others}{limit}."
    by = ", by scores of one deal of folds that had not seen them" if r.folds else ""
    by = ", by scores of rows that it has seen" if of_kind(r.notes, UNREADY) else by
    return f"{'On' if told else f'{_kept(r)}: on'} the rows of the fit it {does}{by}{limit}."


def _kept(r: Figures) -> str:
    name = r.asked.first_stage
    return f"{name[:1].upper()}{name[1:]} is {'taken as it is' if _was_chosen(r) else 'kept'}"


def _limit(r: Figures, shown: Callable[[float], str]) -> str:
    """What no weights exceed, where the bound is one of the user's own statistic and says something."""
    own = r.fitted_name == r.statistic_name and r.C == 0 and r.bound_source != "rows" and not r.changed
    # With a margin, or ties, an order may be worth more than the bound of those that keep the margin.
    halves = r.ties == "average"
    bound = r.bound if not halves else math.inf if r.statistic_bound is None else r.statistic_bound
    below = bound < r.statistic - SLACK * max(1.0, abs(r.statistic))
    if not own or _unfitted(r) or not math.isfinite(bound) or below:
        return ""
    word = f"on the word of {r.bound_solver or 'a solver'} " if r.bound_source in ON_WORD else ""
    if _is_trivial(r, bound):
        return "; nothing was proved, since the bound is that of the ideal list"
    such = f"such {r.asked.who.partition(' of ')[0]}" if r.asked.who.partition(" of ")[1] else r.asked.who
    most = shown(float(math.floor(bound + SLACK))) if _counts(r) else up(bound, shown)  # never below itself
    more = "more" if is_closed(bound - r.statistic, bound) else f"more than {most}"
    return f"; {word}no {such} have {more}{' by the margin' if r.asked.margin and not halves else ''}"


def _is_trivial(r: Figures, bound: float) -> bool:
    """Whether a bound that is not reached says no more than that a list has so many places or relevant rows."""
    if is_closed(bound - r.statistic, bound):
        return False
    stat, most = r.asked.statistic, math.inf
    if isinstance(stat, Precision) and _counts(r):
        most = min(stat.at, r.shortlist.n_positive)
    elif type(stat) in (AUC, NDCG):
        most = 1.0
    return r.bound_source == "ideal" or bound + SLACK >= most


def _valued(r: Figures, name: str = "") -> str:
    """What is fitted, and how that counts ties where the statistic counts them otherwise."""
    return f"{name or amount_of(r.fitted_name)}{'' if r.ties == 'pessimistic' else ' with ties counted as lost'}"


def _unit(r: Figures, held_out: bool = False) -> tuple[str, Callable[[float], str]]:
    """What an order does, with a place for the number, and how the number is written; of ``held_out`` rows no other
    number is one of the fit.
    """
    stat, half = r.asked.statistic, ", a tie being one half" if r.ties == "average" else ""
    if _counts(r):
        assert isinstance(stat, Precision)
        if held_out:
            length = None if r.evidence is None else r.evidence.list_length
            lists = "" if length in (None, r.shortlist.n_rows) else f" of lists of {length:,} rows"
            return f"finds {{}} relevant rows in the first {stat.at:,}{lists}", four
        return f"finds {{}} of the {r.shortlist.n_positive:,} relevant rows in its first {stat.at:,}", four
    if type(stat) is Precision and r.asked.hits:
        return f"finds {{}} relevant rows in the first {stat.at:,} of a list on average", four
    if type(stat) is Recall and r.asked.hits:
        return f"finds {{}} of the relevant rows in the first {stat.at:,}", percent
    if type(stat) is AUC and r.n_lists == 1 and r.asked.hits:
        return f"puts the relevant row first in {{}} of the pairs of a relevant and an irrelevant one{half}", percent
    if _by_order(r) and r.n_lists == 1:
        return f"has {{}} of the pairs of rows with different labels in their order{half}", percent
    return f"has a {amount_of(r.statistic_name)} of {{}}", four


def _by_order(r: Figures) -> bool:
    """Whether labels count by their order alone, so that no row is relevant or irrelevant."""
    return r.asked.statistic is not None and r.asked.statistic.by_order


def amount_of(name: str) -> str:
    """What can be larger: pairs themselves cannot."""
    return "share of pairs in order" if name == Pairs.stem else name


def _counts(r: Figures) -> bool:
    """Whether the statistic is a number of relevant rows of one list."""
    return type(r.asked.statistic) is Precision and r.asked.hits and r.n_lists == 1


def _was_chosen(r: Figures) -> bool:
    """Whether held-out rows chose the first stage that ranks, as an option of its own."""
    return r.evidence is not None and r.evidence.taken is not None and r.status in ("first_stage_kept", "already_ideal")


def _unfitted(r: Figures) -> bool:
    """Whether held-out rows left nothing to fit on all rows."""
    return _was_chosen(r) or (r.evidence is not None and r.evidence.chosen is None and r.keeps_first_stage)


def _held_out(r: Figures) -> list[str]:
    if r.evidence is not None:
        return r.evidence.sentences()
    if r.said:
        return []
    return [
        "Held-out rows: none were asked, and all numbers are of the rows of the fit. RerankerCV, or rerank fit without "
        "--free, asks them."
    ]


def _proof(r: Figures) -> list[str]:
    """What no allowed weights exceed, whose word it is, and what it does not say."""
    if r.said or r.status.startswith("nothing"):
        return []
    if _unfitted(r):
        return ["Proved: nothing, because the first stage ranks as it is and no weights were fitted on all rows."]
    name = r.asked.smoothed or amount_of(r.fitted_name)
    if r.status == "already_ideal":
        return [f"Proved: no {r.asked.them} give the shortlist an order with a larger {name}."]
    said = [proof_of(r, r.asked.them, _valued(r, r.asked.smoothed))]
    if r.keeps_first_stage:
        said.append("That is about the weights that were fitted and not taken.")
    if r.asked.smoothed:
        said.append(
            f"That count is fitted in place of {r.statistic_name}, as of every statistic of the same places; the bound "
            f"says nothing of {r.statistic_name}, and audit() bounds the count without the margin."
        )
    elif r.asked.margin:
        said.append(f"A row stands above another only{r.asked.margin} there; audit() gives the bound without it.")
    return said


def message(r: Figures) -> str:
    """One or two sentences on the status, which files keep: what holds, and what to do about it."""
    found, name, kept = r.evidence, _valued(r), "The first stage is kept: "
    if r.said:
        return r.said
    if _was_chosen(r):
        return "Held-out rows chose this first stage, as it is."
    if r.status == "already_ideal":
        larger = f"larger {amount_of(r.fitted_name)}"
        return f"{kept}no weights within the limits give the shortlist an order with a {larger}."
    if r.status.startswith("nothing"):
        advice = "no n_candidates changes that with these rows and columns."
        if (needed := r.shortlist.least_candidates) is not None:
            advice = f"n_candidates must be at least {needed} for an order to matter."
        if r.status == "nothing_to_find":
            return f"The shortlist holds no relevant row, so the first stage is kept: {advice}"
        return f"No order of the shortlist changes {name}, so the first stage is kept: {advice}"
    if r.status != "first_stage_kept":
        return proof_of(r)
    if found is None or found.chosen is not None:
        return f"{kept}no weights that were found order the training list better in {name}. {proof_of(r)}"
    if found.guarded:
        return f"{kept}no option that was tried on held-out rows leads it by what safeguard asks."
    return "The first stage is kept: no option had the time to be tried on held-out rows; raise time_limit."


def proof_of(r: Figures, them: str = "allowed weights", name: str = "") -> str:
    """What is proved of the weights, and on whose word; the bound speaks of ``them``, and ``name`` is fitted."""
    status, name, who = status_of(r), name or _valued(r), r.bound_solver or "the solver"
    read, gap, word = r.solver == "file", up(r.gap), f", on the word of {who}" if r.bound_solver else ""
    if status == "optimal":
        how = "the ideal list is reached" if r.bound_source == "ideal" else "by the search"
        halves = ""
        if r.statistic_bound is not None:
            most = f"a larger {amount_of(r.statistic_name)} than {up(r.statistic_bound)} on the lists of the fit"
            halves = f" With a tied pair as one half, as scikit-learn counts it, no {them} have {most}."
        return (
            f"Proved optimal ({how}): no {them} have a larger {name} on the shortlist, margin and penalty included."
            f"{halves}"
        )
    if r.bound_source == "rows":
        if status == "optimal_by_solver":
            return (
                f"Optimal on the word of {who}: none of the weights that the program with your rows admits have a "
                f"larger {name}, margin and penalty included. The value is recomputed exactly, the bound is not."
            )
        return (
            f"Stopped with a gap of {gap} in {name}, margin and penalty included, on the word of {who}: "
            "weights that the program with your rows admits may have a larger value, larger by at most this gap. "
            "Raise time_limit, and node_limit where there is one."
        )
    if r.changed and status != "optimal":
        return (
            f"The weights keep the rows of your program. No weights, with or without what was added to it, have a "
            f"{name} above {up(r.bound)}, margin and penalty included{word}."
        )
    if status == "optimal_by_solver":
        return f"Optimal on the word of {who}: {name} of the weights is recomputed exactly, the bound is not; " + (
            f"{PROVE} lets the search try to." if read else PRESOLVED
        )
    more = "Raise time_limit, or lower n_candidates."
    if r.shortlist.n_features > USUALLY_PROVED and not any(limit.startswith("of at most") for limit in r.asked.limits):
        more = "Raise time_limit, lower n_candidates, or set max_features to 3 or 4, which is usually proved."
    if r.gave_up:
        more = "More time would not change that; a note says why."
    elif read:
        more = f"{PROVE} lets the search try to prove more, from these weights; more seconds help it."
    return (
        f"{'The weights of the file leave' if read else 'Stopped with'} a gap of {gap} in {name}, margin "
        f"and penalty included: {them} with a larger value may exist, larger by at most this gap"
        f"{word}. {more}"
    )


def audit_of(r: Figures, bound: float, found: float | None, ideal: float) -> str:
    """What no allowed weights exceed on the fit's lists (``bound``), and what was ``found``, without the margin. It
    says nothing where it is no lower than the ``ideal``.
    """
    asked, whole, halves = r.asked, _counts(r) and not r.asked.smoothed, r.ties == "average"
    numbers = [] if found is None else [f"{four(found)} found"]
    if r.first_stage_statistic is not None and not asked.smoothed:
        fold = " out of fold" if r.folds else ""
        numbers.insert(0, f"{four(r.first_stage_statistic)} now, by {asked.first_stage}{fold}")
    name = (asked.smoothed or r.fitted_name) + (" (a tied pair as one half)" if halves else "")
    most = four(float(math.floor(bound + SLACK))) if whole else up(bound)
    lists = f"on the lists of the fit, for any {asked.them}."
    told = [f"{name}: {', '.join([*numbers, f'none above {most}'])}, {lists}"]
    if bound >= ideal - SLACK and (found is None or not is_closed(bound - found, bound)):
        why = f"the bound, {most}, is that of the ideal list; raise time_limit, or take fewer columns"
        told = [f"{name}: {', '.join(numbers)}, {lists} Nothing was proved: {why}."]
    if asked.smoothed:
        told.append(f"That count is fitted in place of {r.statistic_name}.")
    if bound > r.bound and not is_closed(bound - r.bound, bound):
        lost = ", ties counted as lost" if halves else ""
        apart = f"{'ties or ' if halves else ''}smaller differences of scores"
        told.append(
            f"Of {asked.them} that keep the fit's margin of {r.epsilon:.3g} none is above {up(r.bound)}{lost}"
            f"{', the penalty taken off' if r.C else ''}: orders between the two rest on {apart}"
            f"{', or on what the penalty takes' if r.C else ''}."
        )
    return " ".join(told)


def _remarks(r: Figures) -> list[str]:
    """Sentences on ties at the cut, columns left out, repeated rows and lists left out."""
    short, lines = r.shortlist, []
    if short.n_tied:
        lines.append(
            f"{_many(short.n_tied, 'row')} more than asked for share the score at the cut; all of them are in the "
            "shortlist."
        )
    if r.left_out:
        lines.append(f"Not reranked, because of what they hold: {listed(r.left_out)}.")
    if short.constant_features:
        lines.append(f"Constant on the shortlist and left out: {listed(short.constant_features)}.")
    if short.n_duplicates:
        apart = f", {short.n_conflicts} of them with another gain, which no weights can tell apart"
        extra, repeat = apart if short.n_conflicts else "", "repeats" if short.n_duplicates == 1 else "repeat"
        lines.append(f"{_many(short.n_duplicates, 'row')} of the shortlist {repeat} an earlier one{extra}.")
    if r.n_empty_lists:
        hold, are = ("holds", "is") if r.n_empty_lists == 1 else ("hold", "are")
        lines.append(f"{_many(r.n_empty_lists, 'list')} {hold} nothing to order and {are} not in the mean.")
    return lines


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _details(r: Figures) -> list[Part]:
    short, asked = r.shortlist, r.asked
    used = listed([f"{name} {weight:+.4g}" for name, weight in asked.weights], MOST_WEIGHTS)
    rows = [("weights", used or "none")]
    relevant = "" if _by_order(r) else f", {short.n_positive_head:,} of {short.n_positive:,} relevant ones"
    if asked.constraints:
        rows.append(("rows", f"among weights that keep your constraints: {'; '.join(asked.constraints)}"))
    of_lists = f"{short.n_head:,} of {short.n_rows:,} rows in {_many(r.n_lists, 'list')}{relevant}"
    rows.append(("shortlist", f"{of_lists}; {_many(short.n_features, 'feature')}"))
    rows.append(("seconds", ", ".join(f"{name} {value:.2f}" for name, value in r.seconds.items())))
    bar = [] if r.reached is None else [Bar(r.reached, "The value is {} of the bound.")]
    options = [] if r.evidence is None else r.evidence.parts()
    return [numbers_table(r), *bar, Cells(rows, ("left", "left")), *options]


def numbers_table(r: Figures) -> Cells:
    """Name, number and meaning of statistic, value, bound and the program's own numbers."""
    name = r.statistic_name
    fitted = "" if r.fitted_name == name else f"of {r.fitted_name}, "
    lost = "" if r.ties == "pessimistic" else "ties counted as lost, "
    rows = [
        ("value", four(r.value), f"{fitted}exact, from the weights, {lost}margin and penalty included"),
        ("bound", up(r.bound), f"of the value, margin included, by {SOURCES[r.bound_source]}"),
        ("gap", up(r.gap), "bound minus value"),
        ("statistic", four(r.statistic), f"{name} of the fitted list, {TIES[r.ties]}, which the bound above is not of"),
    ]
    if r.statistic_bound is not None:
        rows.append(("its bound", up(r.statistic_bound), "of the statistic, without the margin, by the search"))
    if r.first_stage_statistic is not None:
        rows.insert(0, ("first stage", four(r.first_stage_statistic), f"{name} of the first stage's list"))
    who = "the file" if r.solver == "file" else r.solver
    if r.program_value is not None:
        reported = (
            f"{fitted}in the unit of the value, what {who} reports for "
            f"{'your' if r.changed else 'the'} {r.formulation} program, bound {number(r.program_bound)}"
        )
        rows.append(("program", number(r.program_value), reported))
    return Cells(rows, ("left", "left", "left"))


def corrections_in_words(names: Sequence[str], weights: Floats, spread: Floats) -> str:
    """The largest corrections in words; weights in deviations of the score for one of the column (``spread``)."""
    order = [int(j) for j in np.argsort(-np.abs(weights), kind="stable") if weights[j] != 0]
    if not order:
        return ""
    told = []
    for j in order[:MOST]:
        step = _round_step(float(spread[j]))
        told.append(f"{float(weights[j]) * (step / float(spread[j])):+.2g} per {step:g} of {names[j]}")
    more = f", and {len(order) - MOST} smaller ones" if len(order) > MOST else ""
    return f"Corrections, in standard deviations of the first stage's score: {', '.join(told)}{more}."


def _round_step(spread: float) -> float:
    """The largest of 1, 2, 5, 10, 20, ... that is not above a deviation."""
    power = 10.0 ** math.floor(math.log10(spread))
    return next((many * power for many in (5.0, 2.0) if many * power <= spread), power)


def stage_in_words(name: str) -> str:
    """A first stage by its name, in words."""
    if name.startswith("blend of "):
        return f"a {name}"
    first, *parts = name.split("+")
    if first not in STAGES:
        return name
    known = [PARTS.get(part, part) for part in parts if not part.startswith("top")]
    top = [f" on {part[3:]} columns" for part in parts if part.startswith("top")]
    return "".join([STAGES[first], *top]) + (f" with {' and '.join(known)}" if known else "")


def listed(names: Sequence[str], most: int = 6) -> str:
    """The first names, with commas between."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def four(value: float) -> str:
    """A number in four digits, whole ones in all of theirs."""
    if not math.isfinite(value):
        return "none"
    return f"{value:,.0f}" if value.is_integer() or abs(value) >= 10_000 else f"{value:.4g}"


def percent(value: float) -> str:
    """A share in four digits."""
    return f"{four(100 * value)} %"


def up(value: float, shown: Callable[[float], str] = four) -> str:
    """A bound in four digits, not below itself but for what closes a gap."""
    if not math.isfinite(value) or is_closed(abs(value), 0.0):
        return "none" if math.isinf(value) else shown(0.0)
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - 3)
    near = round(value / unit) * unit
    return shown(near if is_closed(value - near, value) else math.ceil(value / unit) * unit)


def number(value: float | None, digits: int = 6) -> str:
    """A number in short digits; a dash if there is none."""
    if value is None:
        return "-"
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") if math.isfinite(value) else "none"
