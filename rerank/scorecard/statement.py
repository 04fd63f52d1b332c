"""From what a user asks to a problem: candidates, points, rules and limits, each read and checked once."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError, nearest
from rerank.io.frames import names_of
from rerank.io.options import real, spelled, whole
from rerank.io.rules import LESS, NUMBER, ORDER, quota_in
from rerank.scorecard.card import Card
from rerank.scorecard.data import AnswerPatterns, counted, worth_of
from rerank.scorecard.files import OPTIONS, RULES
from rerank.scorecard.gaps import special_of
from rerank.scorecard.kernels import FREE, NO_CUT, TOP, Limits
from rerank.scorecard.likelihood import LogLoss
from rerank.scorecard.options import CardOptions
from rerank.scorecard.points import MOST_QUESTIONS, few
from rerank.scorecard.problem import CardProblem, Found
from rerank.scorecard.questions import IN, MISSING, WITHIN, Question, QuestionsAsked, candidates
from rerank.scorecard.rows import Rows
from rerank.scorecard.rules import Rules, rules_of
from rerank.statistics import RankStatistic, parse

LARGEST = 10**6  # points of a question, at most
NO_LIMIT = LARGEST * MOST_QUESTIONS  # of the points of a card
ROUNDING = 1e-12  # a limit is kept to within rounding: .55 of 20 rows are 11, and a double above

RATE = re.compile(r"pauc_fpr@(.+)$")

CONSTRAINT = re.compile(
    rf"(?P<what>sensitivity gap|flagged gap|sensitivity|specificity|precision|flagged|auc inside) ?(?P<sign>{ORDER}) ?"
    rf"(?P<number>{NUMBER}) ?(?P<percent>%?)$"
)
WANTED = {
    **dict.fromkeys(("sensitivity", "specificity", "precision", "auc inside"), ">="),
    **dict.fromkeys(("flagged", "sensitivity gap", "flagged gap"), "<="),
}


def measure(stat: Any) -> tuple[RankStatistic | LogLoss, float | None]:
    """The statistic or log loss, and the greatest false positive rate of ``"pauc_fpr@F"``."""
    if isinstance(stat, str) and stat.strip().lower() == LogLoss.name:
        return LogLoss(), None
    match = RATE.match(stat.strip().lower()) if isinstance(stat, str) else None
    if match is None:
        return parse(stat), None
    try:
        rate = float(match[1].rstrip("%")) / (100 if match[1].endswith("%") else 1)
    except ValueError:
        rate = float("nan")
    if not 0 < rate < 1:
        raise InputError(f"{stat!r} has no false positive rate above 0 and below 1; write one such as 'pauc_fpr@0.1'.")
    return parse("auc"), rate


def name_of(stat: Any) -> str:
    """What a statistic of :func:`measure` is called."""
    statistic, rate = measure(stat)
    return statistic.name if rate is None else f"pauc_fpr@{rate:g}"


def asked_of(options: CardOptions, rows: Rows) -> dict[str, Any]:
    """What is asked of a fit, in plain values, by which a file can be verified."""

    def texts(given: Any) -> Any:
        if isinstance(given, str | Question) or not isinstance(given, Iterable):
            return given if given is None or isinstance(given, int) else str(given)
        return [texts(entry) for entry in given]

    def spread(given: Any, read: Any) -> Any:
        return None if given is None else {str(key): read(own) for key, own in given.items()}

    found: dict[str, Any] = {name: texts(getattr(options, name)) for name in RULES}
    found |= {name: getattr(options, name) for name in OPTIONS}
    levels = options.thresholds
    found["thresholds"] = (
        spread(levels, lambda own: np.asarray(own).tolist()) if isinstance(levels, Mapping) else levels
    )
    found |= {"points": list(domain_of(options.points)), "signs": spread(options.signs, int)}
    found["bounds"] = spread(options.bounds, lambda own: list(domain_of(own)))
    found["special"] = {code.column: list(code.levels) for code in special_of(options.special)} or None
    by_class = options.class_weight
    found["class_weight"] = spread(by_class, float) if isinstance(by_class, Mapping) else by_class
    weights = rows.list_weight
    more = {"lists": weights.size, "list_weights": bool((weights != weights[0]).any())}
    return found | {"columns": list(names_of(rows.X)), **more}


def carded(questions: Sequence[Question], found: Found, special: Sequence[Question]) -> Card:
    """The card of numbers of questions, with the codes for gaps in its columns."""
    own = tuple(questions[j] for j in found.members)
    columns = {question.column for question in own}
    return Card(own, found.points, special=tuple(code for code in special if code.column in columns))


@dataclass(frozen=True, eq=False)
class StatedCard:
    """A problem with the questions that its numbers mean."""

    problem: CardProblem
    questions: list[Question]
    answers: NDArray[np.bool_]
    left_out: dict[str, str]
    special: tuple[Question, ...] = ()

    def card(self, found: Found) -> Card:
        """The questions and points that a search found."""
        return carded(self.questions, found, self.special)

    def found(self, card: Card) -> tuple[Found, ...]:
        """A card by the numbers of its questions, without those that no candidate answers like; none if all are so."""
        numbers = {question: j for j, question in enumerate(self.questions)}
        own = [(numbers[q], point) for q, point in zip(card.questions, card.points) if q in numbers and point]
        return (Found(tuple(j for j, _ in own), tuple(point for _, point in own), -math.inf),) if own else ()


def stated(options: CardOptions, rows: Rows, card: Card | None = None) -> StatedCard:
    """The problem of some rows; the questions and points of a given ``card`` join those of the table. ``options`` has
    the parameters of :class:`rerank.scorecard.Scorecard` as attributes.
    """
    size = whole("n_questions", options.n_questions, 1, MOST_QUESTIONS)
    names = names_of(rows.X)
    named = [*([] if card is None else card.questions), *_questions_named(options, names)]
    never = [str(own) if _is_column(own, names) else _question(own, names) for own in _texts("never", options.never)]
    asked = _asked(options, float(rows.weight.sum()))
    questions, answers, left_out = candidates(rows.X, asked, named, never, rows.weight, rows.relevant)
    if not questions:
        why = ", ".join(f"{name!r}: {reason}" for name, reason in list(left_out.items())[:5])
        raise InputError(
            f"X gives no question that some rows answer by yes and others by no ({why}); give a column that varies."
        )
    places = _Places(rows.X, questions, answers, left_out)
    column = np.array([names.index(question.column) for question in questions])
    domains, rules = _domains(options, places, card), _rules(options, places, column)
    data = counted(answers, rows.relevant, rows.weight, rows.lists, rows.people)
    worth = worth_of(*measure(options.stat), data, rows.list_weight)
    problem = CardProblem(data, worth, domains, size, rules, _limits(options, data, rows.kinds))
    return StatedCard(problem, questions, answers, left_out, special_of(options.special))


def _asked(options: CardOptions, rows: float) -> QuestionsAsked:
    """Which questions a table of so many rows is to give."""
    if options.both_ways not in (False, True, "gaps"):
        raise InputError(f"both_ways is {spelled(options.both_ways)}; it must be True, False or 'gaps'.")
    points, least = domain_of(options.points), real("min_rows", options.min_rows, 0.0)
    return QuestionsAsked(
        options.thresholds,
        whole("max_levels", options.max_levels, 2),
        True if points[0] * points[-1] > 0 else options.both_ways,
        bool(options.ranges) and options.one_per_column != "monotone",
        bool(options.groups),
        least * rows if least < 1 else least,
    )


def _texts(option: str, given: Any) -> list[Any]:
    """An option that is a text, a question, or a sequence of them."""
    if isinstance(given, str | Question):
        return [given]
    if not isinstance(given, Iterable):
        raise InputError(f"{option} is {spelled(given)}; give questions such as 'age >= 60', or names of columns.")
    return list(given)


def _sets(option: str, given: Any) -> list[list[Any]]:
    """An option that is one set of questions, or several."""
    own = _texts(option, given)
    several = own and all(not isinstance(entry, str | Question) for entry in own)
    return [_texts(option, entry) for entry in own] if several else [own] if own else []


def _questions_named(options: CardOptions, names: Sequence[str]) -> list[Question]:
    """Questions that the user names and that may not be among those of the table."""
    every = [*_texts("must", options.must)]
    sets = ("at_least_one", options.at_least_one), ("not_both", options.not_both), ("together", options.together)
    every += [text for option, given in sets for own in _sets(option, given) for text in own]
    for option, own in (("signs", options.signs), ("bounds", options.bounds)):
        if own is not None and not isinstance(own, Mapping):
            raise InputError(f"{option} is {spelled(own)}; give a mapping of questions or columns.")
        every += list(own or ())
    return [_question(text, names) for text in every if not _is_column(text, names)]


def _is_column(text: Any, names: Sequence[str]) -> bool:
    return not isinstance(text, Question) and str(text) in names


def _question(given: Any, names: Sequence[str]) -> Question:
    if isinstance(given, Question):
        return given
    text = str(given)
    try:
        return Question.read(text, names)
    except InputError as error:
        if any(sign in text for sign in (">", "<", "=", "is missing")):
            raise
        raise InputError(f"{text!r} is no column of X; did you mean {nearest(text, names)!r}?") from error


@dataclass(frozen=True, eq=False)
class _Places:
    """Which candidates a text means: a question, or all questions of a column."""

    X: Any
    questions: list[Question]
    answers: NDArray[np.bool_]
    left_out: dict[str, str]

    def of(self, option: str, text: Any) -> list[int]:
        names = names_of(self.X)
        if _is_column(text, names):
            found = [j for j, question in enumerate(self.questions) if question.column == str(text)]
            if not found:
                why = self.left_out.get(str(text), "all are excluded")
                raise InputError(f"{option} names the column {str(text)!r}, which gives no question: {why}; drop it.")
            return found
        question = _question(text, names)
        same = np.flatnonzero((self.answers == question.answers(self.X)).all(axis=1))
        if not same.size:
            raise InputError(
                f"{option} names the question '{question}', which never excludes or all rows answer alike; drop it."
            )
        return [int(same[0])]

    def sets(self, option: str, given: Any) -> list[list[list[int]]]:
        """Sets of questions or columns, each of these a list of candidates."""
        return [[self.of(option, text) for text in own] for own in _sets(option, given)]


def domain_of(points: Any) -> tuple[int, ...]:
    """Points that a question may have: R for -R to R, a pair for a range, or the numbers themselves; never 0."""
    if isinstance(points, Integral) and not isinstance(points, bool):
        most = whole("points", points, 1, LARGEST)
        return tuple(point for point in range(-most, most + 1) if point)
    if isinstance(points, str) or not isinstance(points, Iterable):
        raise InputError(
            f"points is {spelled(points)}; give a whole number R for -R to R, a pair of ends, or the numbers."
        )
    own = [whole("A number of points", point, -LARGEST, LARGEST) for point in points]
    pair = isinstance(points, tuple) and len(own) == 2 and own[0] <= own[1]
    found = tuple(sorted({*(range(own[0], own[1] + 1) if pair else own)} - {0}))
    if not found:
        raise InputError(f"points is {spelled(points)}, which leaves no number but 0; give one that is not 0.")
    return found


def _domains(options: CardOptions, places: _Places, card: Card | None) -> tuple[tuple[int, ...], ...]:
    every = domain_of(options.points)
    if card is not None:
        wide = tuple(sorted({*every, *card.points} - {0}))
        every = wide if few([wide] * len(card.points)) else every
    domains = [every] * len(places.questions)
    for text, own in (options.bounds or {}).items():
        for j in places.of("bounds", text):
            domains[j] = domain_of(own)
    for text, sign in (options.signs or {}).items():
        if sign not in (-1, 1):
            raise InputError(f"The sign of {str(text)!r} is {spelled(sign)}; it must be 1 or -1.")
        for j in places.of("signs", text):
            domains[j] = tuple(point for point in domains[j] if point * sign > 0)
            if not domains[j]:
                raise InputError(
                    f"The question '{places.questions[j]}' may have no points of the sign {sign:+d}; widen "
                    f"points or bounds."
                )
    if card is not None:
        for question, point in zip(card.questions, card.points):
            if point and question in places.questions:
                j = places.questions.index(question)
                domains[j] = tuple(sorted({*domains[j], point}))
    return tuple(domains)


def _rules(options: CardOptions, places: _Places, column: Any) -> Rules:
    if options.one_per_column not in (False, True, "monotone"):
        raise InputError(f"one_per_column is {spelled(options.one_per_column)}; it must be True, False or 'monotone'.")
    several, monotone = places.sets("at_least_one", options.at_least_one), options.one_per_column == "monotone"
    return rules_of(
        column,
        directions=[_direction(question) for question in places.questions] if monotone else (),
        one_per_column=options.one_per_column is True,
        max_columns=None if options.max_columns is None else whole("max_columns", options.max_columns),
        some=[
            *(places.of("must", text) for text in _texts("must", options.must)),
            *([j for group in own for j in group] for own in several),
        ],
        apart=places.sets("not_both", options.not_both),
        together=places.sets("together", options.together),
    )


def _direction(question: Question) -> str:
    """What questions of a column share whose points of one sign make points that rise, or fall, with its values."""
    if question.sign == WITHIN:
        return str(question)  # beside no other
    return {">": ">=", "<=": "<", IN: "=", MISSING: ""}.get(question.sign, question.sign)


def _limits(options: CardOptions, data: AnswerPatterns, kinds: Sequence[str]) -> Limits:
    rows = float(data.totals.sum())
    cut, top = _cut(options.cut, rows, data.unit)
    found = {what: float(sign == "<=") for what, sign in WANTED.items()}
    quota, first = np.zeros(max(1, len(kinds))), 0.0
    for text in _texts("constraints", options.constraints):
        match, own = CONSTRAINT.match(" ".join(str(text).split())), quota_in(text)
        if match is not None and (match["sign"] in LESS) == (WANTED[match["what"]] == "<="):
            share = float(match["number"]) / (100.0 if match["percent"] else 1.0)
            if share > 1.0:
                raise InputError(f"The constraint {text!r} has a share above 1; write a part of 1, or one such as 80%.")
            found[match["what"]] = (min if match["sign"] in LESS else max)(found[match["what"]], share)
        elif own is not None and own.least is not None:
            if own.name not in kinds:
                known = ", ".join(kinds) or "none are given"
                raise InputError(
                    f"The constraint {text!r} names the kind {own.name!r}, and the kinds of people are: "
                    f"{known}; pass people=."
                )
            if first and first != float(own.first) * data.unit:
                raise InputError("The constraints count the kinds among two different numbers of first rows; give one.")
            first = float(own.first) * data.unit
            place = kinds.index(own.name)
            quota[place] = max(quota[place], float(own.least) * data.unit)
        else:
            raise InputError(
                f"The constraint {text!r} cannot be read; write one such as 'sensitivity >= 0.8', 'specificity >= "
                "0.9', 'precision >= 0.3', 'flagged <= 20%', 'flagged gap <= 0.1', 'sensitivity gap <= 0.1', 'auc "
                "inside >= 0.6' or 'at least 20 of A among the first 200'."
            )
    asked = {what for what, sign in WANTED.items() if found[what] != float(sign == "<=")}
    if not kinds and asked & {"sensitivity gap", "flagged gap", "auc inside"}:
        raise InputError("The constraints compare kinds of people, and none are given; pass people=.")
    if cut == NO_CUT and asked - {"auc inside"}:
        cut = FREE
    held = {what: found[what] + (ROUNDING if sign == "<=" else -ROUNDING) for what, sign in WANTED.items()}
    return Limits(
        cut=cut,
        rows=top * (1.0 + ROUNDING),
        sensitivity=held["sensitivity"],
        specificity=held["specificity"],
        precision=held["precision"],
        flagged=held["flagged"],
        gap_flagged=held["flagged gap"],
        gap_sensitivity=held["sensitivity gap"],
        area=held["auc inside"],
        first=first,
        quota=quota,
        one_sign=options.one_per_column == "monotone",
        total=NO_LIMIT if options.max_total is None else whole("max_total", options.max_total, 0),
    )


def _cut(cut: Any, rows: float, unit: int) -> tuple[int, float]:
    """The kind of a cut, and how many rows it may flag, in units."""
    if cut is None:
        return NO_CUT, 0.0
    if cut == "free":
        return FREE, 0.0
    match = re.match(r"top (\d+)(%?)$", cut) if isinstance(cut, str) else None
    if match is not None:
        most = int(match[1]) * rows / 100 if match[2] else float(int(match[1]) * unit)
    elif isinstance(cut, int | float | np.floating) and not isinstance(cut, bool) and 0 < cut < 1:
        most = float(Fraction(repr(float(cut))) * Fraction(rows))
    else:
        raise InputError(f"cut is {spelled(cut)}; it must be 'top N', a share such as 0.1, or 'free'.")
    return TOP, most
