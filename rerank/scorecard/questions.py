"""Yes/no questions of the columns of a table, and their answers."""

import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError, nearest
from rerank.io.frames import are_dates, column, entries, names_of, numbers
from rerank.io.levels import Level, Places, counted, doubles, level_of, name_of, number_of
from rerank.io.lines import is_number, number
from rerank.io.options import real, spelled, whole

Floats = NDArray[np.float64]
Answers = NDArray[np.bool_]

SIGNS = (">=", "<=", ">", "<", "=")
MISSING = "is missing"
IN, WITHIN = "in", "within"  # one of some levels; from a number up to below another one

_QUOTED = re.compile(r'\s*"((?:[^"]|"")*)"\s*(.+)$', re.DOTALL)
_PLAIN = re.compile(rf"\s*(.+?)\s*({'|'.join(SIGNS)}|{MISSING})\s*(.*)$", re.DOTALL)
_IN = re.compile(r"\s*(.+?)\s+(in)\s+(.+)$", re.DOTALL)
_WITHIN = re.compile(r"\s*(\S+)\s*<=\s*(.+?)\s*<\s*(\S+)\s*$", re.DOTALL)
_LEVEL = re.compile(r"\s*(?:'((?:[^']|'')*)'|([^',][^,]*?))\s*(?:,|$)", re.DOTALL)

QUANTILES = 4
# Texts of a column that become questions: the most frequent ones, each in so many rows (of small tables 2 %).
MOST_TEXTS, LEAST_ROWS = 50, 10
# Why a column gives no question.
DATE = "dates; give them as numbers, such as days since the first of them"
CONSTANT, OWN, NO_VALUE = "constant", "nearly a text for each row", "no value"
OTHER, NEVER = "no numbers or texts", "never asked"


@dataclass(frozen=True)
class Question:
    """A question about one column that a row answers by yes or no.

    A missing value answers no, but for the question whether it is missing.

    Parameters
    ----------
    column : str
    sign : {">=", "<=", ">", "<", "=", "is missing", "in", "within"}
    value : float or str, or tuple of them, optional
        Not for "is missing". Of "in" the numbers and texts, one of which the value is; of "within" two numbers, the
        first of which it reaches, and the second not.
    """

    column: str
    sign: str
    value: float | str | tuple[float | str, ...] | None = None

    def __post_init__(self) -> None:
        if self.sign not in (*SIGNS, MISSING, IN, WITHIN):
            known = ", ".join((*SIGNS, MISSING, IN, WITHIN))
            raise InputError(f"A question has the sign {self.sign!r}; it must be one of {known}.")
        if self.sign == MISSING:
            object.__setattr__(self, "value", None)
        elif self.sign in (IN, WITHIN):
            own = self.value if isinstance(self.value, list | tuple) else ()
            parts = [Question(self.column, "=" if self.sign == IN else "<", level).value for level in own]
            object.__setattr__(self, "value", tuple(dict.fromkeys(parts)))
            rising = self.sign == IN or (len(parts) == 2 and parts[0] < parts[1])  # type: ignore[operator]
            if not (parts and rising):
                raise InputError(
                    f"The question {self.column!r} {self.sign} {spelled(self.value)} cannot be asked; give 'in' some "
                    "numbers or texts, and 'within' two numbers, the smaller first."
                )
        elif self.sign == "=" and isinstance(level_of(self.value), int):  # a whole number that is no double
            object.__setattr__(self, "value", str(self.value))
        elif isinstance(self.value, bool | np.bool_ | int | float | np.integer | np.floating):
            what = f"The value of a question about {self.column!r}"
            object.__setattr__(self, "value", real(what, float(self.value), -sys.float_info.max))
        elif not isinstance(self.value, str) or self.sign != "=":
            raise InputError(
                f"The question {self.column!r} {self.sign} {self.value!r} compares with no number; give a number, or a "
                "text with the sign '='."
            )

    def __str__(self) -> str:
        name = self.column
        signs = [*SIGNS, MISSING, *([" in "] if self.sign == IN else [])]
        listed = ", ".join(map(_spelled, self.value)) if isinstance(self.value, tuple) else ""
        odd = self.sign == IN and any(sign in listed for sign in signs)
        if odd or name != name.strip() or name[:1] in ("", '"') or any(sign in name for sign in signs):
            name = '"' + name.replace('"', '""') + '"'
        if self.sign == MISSING:
            return f"{name} {MISSING}"
        if self.sign == IN:
            return f"{name} in {listed}"
        if self.sign == WITHIN:
            low, high = map(name_of, self.levels)
            return f"{low} <= {name} < {high}"
        value = name_of(self.levels[0])
        return f"{name} {self.sign} " + (f"'{value}'" if isinstance(self.value, str) and _is_odd(value) else value)

    @property
    def levels(self) -> tuple[float | str, ...]:
        """The numbers and texts that the question names."""
        return self.value if isinstance(self.value, tuple) else () if self.value is None else (self.value,)

    @property
    def sides(self) -> list[tuple[str, float]]:
        """The comparisons of sizes, all of which a row answers by yes: signs and numbers; none for other questions."""
        signs = (">=", "<") if self.sign == WITHIN else (self.sign,) if self.sign in COMPARED else ()
        return [(sign, float(level)) for sign, level in zip(signs, self.levels)]

    @classmethod
    def read(cls, text: str, columns: Sequence[str] = ()) -> Self:
        """The question that a text such as ``"age >= 60"``, ``"18 <= age < 30"``, ``"sex = male"``, ``"region in B,
        D"`` or ``"income is missing"`` means.

        A text to compare with may stand in quotes, a column in double ones (``""`` for one that is part of its name).

        Parameters
        ----------
        text : str
        columns : sequence of str, optional
            Names of the table's columns: they may hold signs.

        Raises
        ------
        InputError
        """
        if (ends := _WITHIN.match(text)) is not None and is_number(ends[1]) and is_number(ends[3]):
            name = ends[2][1:-1].replace('""', '"') if ends[2][0] == '"' == ends[2][-1] else ends[2]
            if not columns or name in columns:
                return cls(name, WITHIN, (number(ends[1]), number(ends[3])))
        name, rest = _parted(text, columns)
        if rest == MISSING:
            return cls(name, MISSING)
        if rest.startswith("in "):
            return cls(name, IN, _levels_in(text, rest[3:]))
        sign = next(sign for sign in SIGNS if rest.startswith(sign))
        value = rest[len(sign) :].strip()
        if sign == "=":
            value = value.removeprefix("=").strip()
        try:
            if math.isfinite(found := number(value)) and not (sign == "=" and isinstance(number_of(value), int)):
                return cls(name, sign, found)
        except ValueError:
            pass
        return cls(name, sign, value[1:-1] if _in_quotes(value) else value)

    def answers(self, X: Any) -> Answers:
        """Whether each row of a table (n, d) answers yes.

        Raises
        ------
        InputError
            For a table without the column, and for a column of texts where numbers are compared.
        """
        names = names_of(X)
        if self.column not in names:
            raise InputError(
                f"X has no column {self.column!r}, which the card asks about; the nearest is "
                f"{nearest(self.column, names)!r}."
            )
        return answered([self], column(X, names.index(self.column)))[0]


def _parted(text: str, columns: Sequence[str]) -> tuple[str, str]:
    """The column that a text asks about, and the rest of it, which begins with a sign."""
    found = _QUOTED.match(text)
    parts = [] if found is None else [(found[1].replace('""', '"'), found[2].strip())]
    named = [name for name in sorted(columns, key=len, reverse=True) if text.startswith(f"{name} ")]
    parts += [(name, text[len(name) :].strip()) for name in named]
    plain = _PLAIN.match(text) or _IN.match(text)
    if not columns and plain is not None:
        parts.append((plain[1], f"{plain[2]} {plain[3]}".strip()))
    for name, rest in parts:
        if (rest == MISSING or rest.startswith((*SIGNS, "in "))) and (not columns or name in columns):
            return name, rest
    if plain is None:
        raise InputError(f"{text!r} is no question; write one such as 'age >= 60', 'sex = male' or 'age {MISSING}'.")
    raise InputError(
        f"The question {text!r} asks about {plain[1]!r}, and the nearest column is {nearest(plain[1], columns)!r}."
    )


def _levels_in(text: str, rest: str) -> tuple[float | str, ...]:
    """The numbers and texts of a list with commas between."""
    found, at = list[float | str](), 0
    while at < len(rest):
        match = _LEVEL.match(rest, at)
        if match is None or (match[1] is None and any(sign in match[2] for sign in (*SIGNS, MISSING))):
            raise InputError(f"{text[:80]!r} is no question; write one such as 'region in B, D', odd texts in quotes.")
        at = match.end()
        plain = match[1] is None and is_number(match[2]) and not isinstance(number_of(match[2]), int)
        found.append(number(match[2]) if plain else match[2] if match[1] is None else match[1].replace("''", "'"))
    return tuple(found)


def _spelled(level: float | str) -> str:
    """A level of a list as :func:`_levels_in` reads it."""
    text = name_of(level)
    plain = not isinstance(level, str) or not (_is_odd(text) or "," in text or text[0] == "'")
    return text if plain else "'" + text.replace("'", "''") + "'"


def _in_quotes(text: str) -> bool:
    return len(text) > 1 and text[0] == text[-1] and text[0] in "'\""


def _is_odd(text: str) -> bool:
    """Whether :meth:`Question.read` would take the text for a number or another text without quotes."""
    other = is_number(text) or text != text.strip() or not text or _in_quotes(text)
    return other or any(sign in text for sign in (*SIGNS, MISSING))


COMPARED = {">=": np.greater_equal, "<=": np.less_equal, ">": np.greater, "<": np.less}


def answered(questions: Sequence[Question], values: Any) -> list[Answers]:
    """Answers of the rows of one column to questions about it."""
    found = numbers(values)
    # Whole numbers that are no doubles are told apart as entries alone.
    exact = found is None or bool((np.abs(found) >= 2.0**53).any())
    each = entries(values) if exact else []
    return [_answers(question, found, each) for question in questions]


def _answers(question: Question, found: Floats | None, each: list[Any]) -> Answers:
    """By the column as numbers, or for equality by its entries where there are some."""
    if question.sign == MISSING:
        return np.isnan(found) if found is not None else np.array([entry is None for entry in each], dtype=bool)
    if not (sides := question.sides):
        if found is None or each:
            places = Places(question.levels)
            return np.array([entry is not None and places[entry] is not None for entry in each], dtype=bool)
        own = [number_of(level) if isinstance(level, str) else level for level in question.levels]
        # A text that is no number equals none.
        return np.isin(found, [double for number in own if number is not None for double in doubles(number)])
    if found is None:
        if any(isinstance(level_of(entry), str) for entry in each if entry is not None):
            raise InputError(
                f"Column {question.column!r} holds texts, and the card asks whether {question}; give numbers."
            )
        found = np.array([np.nan if entry is None else float(entry) for entry in each])
    # NaN is neither above nor below anything.
    return np.logical_and.reduce([COMPARED[sign](found, value) for sign, value in sides])


def rounded(low: float, high: float) -> float:
    """The roundest number above ``low`` and at most ``high``, as a person would write a threshold between them."""
    if low < 0 <= high:
        return 0.0
    largest = max(abs(low), abs(high))
    power = math.floor(math.log10(largest)) + 1
    exact_low, exact_high = Decimal(repr(low)), Decimal(repr(high))
    for exponent in range(power, power - 20, -1):
        for step in (Decimal(10) ** exponent, 5 * Decimal(10) ** (exponent - 1)):
            number = (exact_high / step).to_integral_value("ROUND_FLOOR") * step
            if exact_low < number <= exact_high and low < float(number) <= high:
                return float(number)
    return high


@dataclass(frozen=True, eq=False)
class QuestionsAsked:
    """Which questions a table gives.

    Attributes
    ----------
    thresholds : "quantiles", int or mapping
    max_levels : int
    both_ways : bool or "gaps"
        Numbers are also asked whether they are below a threshold; where a value is missing.
    ranges, groups : bool
        Numbers are also asked whether they are between two thresholds, and texts whether they are one of some.
    least : float
        Rows, at least, that answer yes, and that answer no.
    """

    thresholds: str | int | Mapping[str, Iterable[float]]
    max_levels: int
    both_ways: bool | str
    ranges: bool
    groups: bool
    least: float


def candidates(
    X: Any,
    asked: QuestionsAsked,
    named: Sequence[Question],
    never: Sequence[Question | str],
    weight: Floats,
    relevant: Answers,
) -> tuple[list[Question], Answers, dict[str, str]]:
    """Questions that a table suggests, their answers (questions, n), and why columns give none.

    A column of numbers gives thresholds: between the values at its quantiles (``thresholds`` says how many, or gives
    numbers by column), rounded inside the gap of the data, or every level where it has at most ``max_levels`` of them;
    one of two values the question whether it has the larger one. A column of texts gives its levels, a column with gaps
    whether the value is missing.  Questions that all rows answer alike are left out, and of questions that are answered
    alike the first stays: those that are ``named`` come first. ``never`` are questions and columns to leave out.
    """
    names = names_of(X)
    given, many = _thresholds(asked.thresholds, names)
    questions: list[Question] = []
    rows: list[Answers] = []
    left_out: dict[str, str] = {}
    known: set[bytes] = set()
    barred = {(q.column, np.packbits(q.answers(X)).tobytes()) for q in never if isinstance(q, Question)}

    def take(question: Question, answer: Answers, least: float) -> None:
        key = np.packbits(answer).tobytes()
        excluded = (question.column, key) in barred or question.column in never or key in known
        if answer.any() and not answer.all() and not excluded and min(weight @ answer, weight @ ~answer) >= least:
            known.add(key)
            questions.append(question)
            rows.append(answer)

    for question in named:
        take(question, question.answers(X), 0.0)
    for j, name in enumerate(names):
        values = column(X, j)
        own = NEVER if name in never else _suggested(name, values, given.get(name), many, asked, weight)
        if isinstance(own, str):
            left_out[name] = own
            continue
        own = _more(own, values, asked, weight, relevant)
        before = len(questions)
        for question, answer in zip(own, answered(own, values)):
            take(question, answer, asked.least)
        if len(questions) == before:
            left_out[name] = CONSTANT if not own else "its questions are excluded, rare, or those of columns before it"
    return questions, np.array(rows, dtype=bool).reshape(len(rows), X.shape[0]), left_out


def _thresholds(thresholds: Any, names: Sequence[str]) -> tuple[dict[str, list[float]], int]:
    """Thresholds by column, and how many quantiles give those of the others."""
    given: dict[str, list[float]] = {}
    many = QUANTILES
    if isinstance(thresholds, Mapping):
        for name, cuts in thresholds.items():
            given[str(name)] = [real(f"A threshold of {name!r}", cut, -math.inf) for cut in cuts]
    elif isinstance(thresholds, str) and thresholds != "quantiles":
        raise InputError(
            f"thresholds is {thresholds!r}; it must be 'quantiles', how many quantiles, or numbers by column."
        )
    elif thresholds != "quantiles":
        many = whole("thresholds", thresholds, 0, 1000)
    for name in given:
        if name not in names:
            raise InputError(f"thresholds names the column {name!r}, and the nearest of X is {nearest(name, names)!r}.")
    return given, many


def _more(own: list[Question], values: Any, asked: QuestionsAsked, weight: Floats, relevant: Answers) -> list[Question]:
    """The questions of a column, and those in the other direction, of ranges, and of groups of levels."""
    gaps = any(question.sign == MISSING for question in own)
    turned = asked.both_ways is True or (gaps and asked.both_ways == "gaps")
    both = [each for question in own for each in _both(question, values)] if turned else own
    cuts = [question.levels[0] for question in own if question.sign == ">="]
    ranges = [Question(own[0].column, WITHIN, ends) for ends in combinations(cuts, 2)] if asked.ranges else []
    return [*both, *ranges, *(_groups(own, values, weight, relevant) if asked.groups else [])]


def _groups(own: Sequence[Question], values: Any, weight: Floats, relevant: Answers) -> list[Question]:
    """Levels of texts in order of their shares of relevant rows, the first of them together, and the last. The best
    single split of two classes is one of these [Breiman1984].
    """
    levels = [question for question in own if isinstance(question.value, str)]
    shares = [float(weight @ (answer & relevant) / (weight @ answer)) for answer in answered(levels, values)]
    order = [levels[k].levels[0] for k in sorted(range(len(levels)), key=lambda k: (-shares[k], k))]
    ends = [part for k in range(2, len(order)) for part in (order[:k], order[k:]) if len(part) > 1]
    return [Question(levels[0].column, IN, tuple(sorted(part, key=str))) for part in ends]


def _both(question: Question, values: Any) -> list[Question]:
    """A question, and the one that rows with a value answer the other way round, where it reads as well."""
    if question.sign == ">=":
        return [question, Question(question.column, "<", question.value)]
    if question.sign == MISSING:
        return [question]
    found = numbers(values)
    others = [] if question.sign != "=" or found is None else np.unique(found[~np.isnan(found)]).tolist()
    rest = [level for level in others if len(others) == 2 and level != question.value]
    return [question, *(Question(question.column, "=", level) for level in rest)]


def _suggested(
    name: str, values: Any, given: Sequence[float] | None, many: int, asked: QuestionsAsked, weight: Floats
) -> list[Question] | str:
    """Questions about one column, or why there are none."""
    found = numbers(values)
    if found is None:
        return _texts(name, entries(values), weight)
    if np.isinf(found).any():
        raise InputError(f"Column {name!r} holds inf; give finite numbers, or leave the entry empty.")
    missing = np.isnan(found)
    gaps = [Question(name, MISSING)] if missing.any() else []
    order = np.argsort(found[~missing])
    seen, rows = found[~missing][order], np.cumsum(weight[~missing][order])
    if not seen.size:
        return NO_VALUE
    levels = np.unique(seen)
    if given is not None:
        return [*(Question(name, ">=", cut) for cut in sorted(set(given))), *gaps]
    if levels.size == 2:
        return [Question(name, "=", level_of(levels[1])), *gaps]
    if levels.size <= asked.max_levels:
        return [*(Question(name, ">=", min(_ends(level))) for level in levels[1:]), *gaps]
    places = np.searchsorted(rows, np.arange(1, many + 1) / (many + 1) * (rows[-1] - 1.0), "right")
    below = np.searchsorted(levels, np.unique(seen[places]))
    pairs = [(max(_ends(levels[k])), min(_ends(levels[k + 1]))) for k in below if k + 1 < levels.size]
    return [*(Question(name, ">=", rounded(low, high)) for low, high in pairs), *gaps]


def _ends(value: float) -> tuple[float, float]:
    """A number as it is, and as files have it."""
    return float(value), float(level_of(value))


def _texts(name: str, found: list[Any], weight: Floats) -> list[Question] | str:
    seen = [entry for entry in found if entry is not None]
    if not seen:
        return NO_VALUE
    kinds = {type(entry) for entry in seen}
    if any(hasattr(kind, "isoformat") or kind.__name__.startswith("timedelta") for kind in kinds):
        return DATE
    if any(issubclass(kind, list | tuple | dict | set | np.ndarray) for kind in kinds):
        return OTHER
    counts = counted((entry, rows) for entry, rows in zip(found, weight.tolist()) if entry is not None)
    many = sum(counts.values())
    if len(counts) > 0.9 * many and many > LEAST_ROWS:
        return DATE if are_dates(counts) else OWN
    least = min(LEAST_ROWS, float(weight.sum()) / 50)
    frequent = [level for level, count in counts.items() if count >= least]
    frequent = sorted(sorted(frequent, key=lambda level: (-counts[level], _placed(level)))[:MOST_TEXTS], key=_placed)
    gaps = [Question(name, MISSING)] if len(seen) < len(found) else []
    if not gaps and (len(counts) == 1 or not frequent) and are_dates(counts):
        return DATE
    if len(counts) == 1 and not gaps:
        return CONSTANT
    return [*(Question(name, "=", level) for level in frequent), *gaps]


def _placed(level: Level) -> tuple[float, str]:
    return (0.0, level) if isinstance(level, str) else (float(level), "")
