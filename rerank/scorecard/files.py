"""Files of cards: JSON with all that a card needs to be applied, and CSV with questions and points.

A JSON file holds ``format``, ``schema``, ``questions``, ``totals`` and ``cut``, and may hold ``fit``, which says what
was found and changes nothing, and ``digest``, the SHA-256 of the rest. What is not known, given twice, too long or no
number is refused.
"""

import csv
import hashlib
import json
import math
import os
import re
import sys
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from rerank.errors import InputError
from rerank.io.atomic import writing
from rerank.io.bounded import parsed_json, plain, read_bytes
from rerank.io.csv_table import csv_rows, name_in, spreadsheet_cell
from rerank.io.lines import wrong
from rerank.scorecard.questions import Question

AnyPath = str | os.PathLike[str]

FORMAT = "exact-rerank card"
# Files of schema 1 have neither a digest nor what was asked, those of 2 lack the options of LEGACY; those up to 3 have
# the intervals of pools of totals.
SCHEMA = 4
HEADER = ["question", "points"]

MOST_BYTES = 8 * 2**20
# Questions and totals of a file, and signs of a name or a text.
MOST_QUESTIONS, MOST_TOTALS, LONGEST = 1_000, 50_000, 10_000
FIT = ("statistic", "value", "bound", "status", "corrected")
RULES = ("must", "never", "at_least_one", "not_both", "together", "constraints")
OPTIONS = (
    "n_questions",
    "points",
    "thresholds",
    "max_levels",
    "max_columns",
    "one_per_column",
    "signs",
    "bounds",
    "cut",
    "max_total",
    "class_weight",
    "both_ways",
    "ranges",
    "groups",
    "min_rows",
    "special",
)
LEGACY: Mapping[str, Any] = {
    "max_total": None,
    "class_weight": None,
    "both_ways": False,
    "ranges": False,
    "groups": False,
    "min_rows": 0,
    "special": None,
}
"""Options that files of earlier schemas lack, and what these fits did."""
ASKED = (*OPTIONS, *RULES, "columns", "lists", "list_weights")
"""What is asked of a fit: parameters of :class:`rerank.scorecard.Scorecard`, the columns of the table, the number of
lists and whether they had weights."""
READ = ("label", "qid", "weight", "people", "positive", "texts")
"""How a command read the table."""
LARGEST = 2**53

_WHOLE = re.compile(r"[+-]?[0-9]{1,7}")


class Total(NamedTuple):
    """Rows of the fit with one total: how many, and the share of relevant rows, smoothed, with an interval of 95 %."""

    total: int
    relevant: float
    other: float
    risk: float
    low: float
    high: float


TOTAL = Total._fields


class Filed(NamedTuple):
    """What a file of a card holds."""

    arguments: tuple[Any, ...]  # of rerank.scorecard.Card
    fit: Mapping[str, Any] | None  # what it says of the fit, under the names of FIT, "asked", "notes" and "levels"
    digested: bool  # whether it states its digest, which then is right


def read_card(path: AnyPath, columns: Sequence[str] = ()) -> Filed:
    """A card of a .csv (columns question and points) or a .json. ``columns`` are the names of a table's columns, for
    the questions of a CSV file.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".json"):
        raise InputError(f"{path} names no format of a card; pass a .json, or a .csv with the columns question,points.")
    if suffix == ".csv":
        return Filed(_of_csv(path, columns), None, False)
    raw = read_bytes(path, MOST_BYTES)
    try:
        return _of_json(parsed_json(raw))
    except ValueError as error:
        raise InputError(f"{path} is no card: {error}; pass a file written by save or by rerank card fit.") from None


def is_card(path: AnyPath) -> bool:
    """Whether a file is a card by its name or by the format that it states."""
    if Path(path).suffix.lower() == ".csv":
        return True
    return (
        os.path.isfile(path)
        and os.path.getsize(path) <= MOST_BYTES
        and f'"{FORMAT}"'.encode() in read_bytes(path, MOST_BYTES)
    )


def filed_of(card: Any, result: Any) -> Filed:
    """What a file of a fitted card would hold."""
    return _of_json(parsed_json(json_of(card, result).encode()))


def save(path: AnyPath, card: Any, result: Any = None) -> None:
    """Write a card as JSON or CSV; see :meth:`rerank.scorecard.Card.save`."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".json"):
        raise InputError(f"{path} names no format of a card; write to a .json, or to a .csv.")
    text = csv_of(card) if suffix == ".csv" else json_of(card, result)
    with writing(path) as file:
        file.write(text)


def csv_of(card: Any, raw: bool = False) -> str:
    """Questions and points as CSV; what a spreadsheet would take for a formula gets an apostrophe unless ``raw``."""
    if card.special:
        raise InputError(f"The card has codes for gaps ({card.special[0]}), which CSV does not hold; write a .json.")
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for question, points in zip(card.questions, card.points):
        text = str(question)
        if any(sign in "\r\0" or "\ud800" <= sign <= "\udfff" for sign in text):
            raise InputError(f"The question {text[:60]!r} holds a character that CSV loses; write a .json.")
        writer.writerow([spreadsheet_cell(text, raw), str(int(points))])
    return out.getvalue()


def json_of(card: Any, result: Any = None) -> str:
    """All of a card as JSON; the shortest digits that read back as the same doubles."""
    body: dict[str, Any] = {
        "format": FORMAT,
        "schema": SCHEMA,
        "questions": [
            {"column": question.column, "sign": question.sign, "value": _plain(question.value), "points": int(points)}
            for question, points in zip(card.questions, card.points)
        ],
        "cut": None if card.cut is None else int(card.cut),
        "totals": [dict(zip(TOTAL, (int(total[0]), *map(float, total[1:])))) for total in card.totals],
    }
    if card.spread is not None:
        body["spread"] = list(map(float, card.spread))
    if card.pooled:
        body["pooled"] = True
    if card.special:
        body["special"] = {code.column: _plain(code.value) for code in card.special}
    if result is not None:
        body["fit"] = {name: plain(getattr(result, name)) for name in FIT}
        body["fit"] |= {} if result.asked is None else {"asked": plain(result.asked)}
        body["fit"] |= {"notes": list(result.told)} if result.told else {}
        body["fit"] |= {"levels": {name: list(own) for name, own in result.levels.items()}} if result.levels else {}
    return json.dumps({**body, "digest": _digest(body)}, indent=1, allow_nan=False) + "\n"


def _digest(body: Mapping[str, Any]) -> str:
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _plain(value: Any) -> Any:
    """A whole number without a point."""
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST else value


def _of_csv(path: AnyPath, columns: Sequence[str]) -> tuple[Any, ...]:
    if os.path.isfile(path):
        read_bytes(path, MOST_BYTES)  # its size
    rows = csv_rows(path, ",")
    _, header = next(rows, (0, []))
    if [name_in(cell).lower() for cell in header] != HEADER:
        found = ", ".join(map(repr, header[:5])) or "nothing"
        raise InputError(f"{path} begins with {found[:80]}; the first line of a card is question,points.")
    questions: list[Question] = []
    points: list[int] = []
    for line, cells in rows:
        if len(cells) != 2:
            raise wrong(path, line, f"there are {len(cells)} cells", "give a question and its points")
        if not _WHOLE.fullmatch(cells[1].strip()):
            raise wrong(path, line, f"the points are {cells[1].strip()[:40]!r}", "give a whole number")
        if len(cells[0]) > LONGEST or len(questions) == MOST_QUESTIONS:
            most = f"{MOST_QUESTIONS} questions of {LONGEST} signs"
            raise wrong(path, line, f"the card has more than {most}", "shorten it")
        try:
            question = Question.read(name_in(cells[0]), columns)
        except InputError as error:
            raise InputError(f"{path}, line {line}: {error}") from None
        if question in questions:
            raise wrong(path, line, f"the question {str(question)[:60]!r} is there twice", "add its points up")
        questions.append(question)
        points.append(int(cells[1]))
    if not questions:
        raise InputError(f"{path} has no question; give lines such as 'age >= 60,3'.")
    return tuple(questions), tuple(points)


def _of_json(body: Any) -> Filed:
    keys = ("format", "schema", "questions", "cut", "totals")
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise ValueError(f"it does not say that its format is {FORMAT!r}")
    if body.get("schema") not in range(1, SCHEMA + 1) or isinstance(body["schema"], bool):
        raise ValueError(f"its schema is {str(body.get('schema'))[:40]!r}, and 1 to {SCHEMA} are read")
    _keys(body, "the card", keys, ("fit", "digest", "special", "spread", "pooled"))
    questions, points = [], []
    for place, entry in enumerate(_list(body["questions"], "questions", MOST_QUESTIONS), 1):
        where = f"question {place}"
        _keys(entry, where, ("column", "sign", "value", "points"))
        value = _value(entry["value"], where)
        column, sign = (_text(entry[name], f"the {name} of {where}") for name in ("column", "sign"))
        question = Question(column, sign, value)
        if question.sign == "is missing" and value is not None:
            raise ValueError(f"{where} asks whether a value is missing, and has the value {str(value)[:40]!r}")
        if question in questions:
            raise ValueError(f"{where} is there twice")
        questions.append(question)
        points.append(_integer(entry["points"], f"the points of {where}", 10**6))
    totals = []
    for place, entry in enumerate(_list(body["totals"], "totals", MOST_TOTALS), 1):
        where = f"total {place}"
        _keys(entry, where, TOTAL)
        numbers = (_number(entry[name], f"{name} of {where}") for name in TOTAL[1:])
        totals.append(Total(_integer(entry["total"], where, LARGEST), *numbers))
    cut = None if body["cut"] is None else _integer(body["cut"], "the cut", LARGEST)
    codes = body.get("special", {})
    if not isinstance(codes, dict):
        raise ValueError("the codes for gaps are no object")
    special = tuple(Question(_text(name, "a column"), "in", _value(own, "a code")) for name, own in codes.items())
    fit = body.get("fit")
    if fit is not None:
        _check_fit(fit)
    if "digest" in body and body["digest"] != _digest({key: entry for key, entry in body.items() if key != "digest"}):
        raise ValueError("the digest does not match the content; whoever changed the card on purpose takes it out")
    if fit is not None and fit["bound"] is None:
        fit = {**fit, "bound": math.inf}
    arguments = tuple(questions), tuple(points), tuple(totals), cut, special, *_intervals(body)
    return Filed(arguments, fit, "digest" in body)


def _intervals(body: Any) -> tuple[tuple[float, ...] | None, bool]:
    """Of the intervals of totals: the spread by refits, and whether they are those of pools."""
    spread = None
    if "spread" in body:
        spread = tuple(_number(end, "the spread of intervals") for end in _list(body["spread"], "the spread", 2))
        if len(spread) != 2 or not spread[0] < 0 < spread[1]:
            raise ValueError("the spread of intervals is no pair of a number below 0 and one above")
    pooled = body.get("pooled", body["schema"] <= 3 and spread is None)
    if not isinstance(pooled, bool):
        raise ValueError("whether intervals are those of pools is neither true nor false")
    return spread, pooled


def _value(given: Any, where: str) -> Any:
    """What a question compares with: nothing, a number, a text, or a tuple of them."""
    if isinstance(given, list):
        return tuple(_value(entry, where) for entry in _list(given, f"the value of {where}", MOST_QUESTIONS))
    if isinstance(given, bool) or not (given is None or isinstance(given, str | int | float)):
        raise ValueError(f"the value of {where} is neither a number nor a text")
    return given if given is None else (_text if isinstance(given, str) else _number)(given, f"the value of {where}")


def _check_fit(fit: Any) -> None:
    """What the file says of the fit."""
    _keys(fit, "fit", FIT, ("asked", "notes", "levels"))
    levels = fit.get("levels", {})
    if not isinstance(levels, dict):
        raise ValueError("the levels of the fit are no object")
    for name, own in levels.items():
        for level in _list(own, f"the levels of {name[:40]!r}", MOST_QUESTIONS):
            _text(level, f"a level of {name[:40]!r}")
    for note in _list(fit.get("notes", []), "notes", MOST_QUESTIONS):
        _text(note, "a note of the fit")
    unknown = [name for name in ("bound", "corrected") if fit[name] is None]
    for name in ("value", "bound", "corrected"):
        if name not in unknown:
            _number(fit[name], f"{name} of the fit")
    _text(fit["statistic"], "the statistic of the fit")
    if fit["status"] not in ("optimal", "feasible"):
        raise ValueError(f"the status of the fit is {str(fit['status'])[:40]!r}, and not optimal or feasible")
    if (asked := fit.get("asked")) is not None:
        _check_asked(asked)


def _check_asked(asked: Any) -> None:
    """What was asked: the options are read again where they are used."""
    _keys(asked, "what was asked", [name for name in ASKED if name not in LEGACY], ("read", *LEGACY))
    names = asked["columns"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("the columns of the fit are no list of texts")
    if _integer(asked["lists"], "the number of lists", LARGEST) < 1 or not isinstance(asked["list_weights"], bool):
        raise ValueError("the lists of the fit are not counted, or it is not known whether they had weights")
    read = asked.get("read", {})
    _keys(read, "how the table was read", (), READ)
    for name, entry in read.items():
        if entry is not None:
            _text(entry, f"{name} of the table")


def _keys(given: Any, where: str, needed: Sequence[str], more: Sequence[str] = ()) -> None:
    if not isinstance(given, dict):
        raise ValueError(f"{where} is no object")
    for name in needed:
        if name not in given:
            raise ValueError(f"{where} lacks {name!r}")
    for name in given:
        if name not in (*needed, *more):
            raise ValueError(f"{where} has {name[:60]!r}, which no card has")


def _list(given: Any, where: str, most: int) -> list[Any]:
    if not isinstance(given, list) or len(given) > most:
        raise ValueError(f"{where} is no list of at most {most} entries")
    return given


def _text(given: Any, where: str) -> str:
    if not isinstance(given, str) or len(given) > LONGEST:
        raise ValueError(f"{where} is no text of at most {LONGEST} signs")
    return given


def _integer(given: Any, where: str, most: int) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or abs(given) > most:
        raise ValueError(f"{where} is no whole number from -{most} to {most}")
    return given


def _number(given: Any, where: str) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not abs(given) <= sys.float_info.max:
        raise ValueError(f"{where} is no finite number")
    return float(given)
