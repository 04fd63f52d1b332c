"""A card in other languages: SQL, a formula of a spreadsheet, Python; each gives the total of a row.

A missing value answers no, but to the question whether it is missing.  What a question compares with a number is
compared as a number, and as the text of that number where the column holds texts (:mod:`rerank.io.levels`).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rerank.errors import InputError, nearest
from rerank.io.levels import doubles, name_of, number_of
from rerank.io.lines import TRUTH
from rerank.io.options import whole
from rerank.scorecard.questions import MISSING, Question

# Signs of a formula, and of a text in one [Excel specifications and limits, Microsoft].
LONGEST_FORMULA, LONGEST_LITERAL = 8192, 255
_CELL = re.compile(r"\$?[A-Z]{1,3}\$?[1-9][0-9]{0,6}")


def sql(card: Any, table: str | None = None) -> str:
    """See :meth:`rerank.scorecard.Card.to_sql`."""
    before = "" if table is None else f"{_name(table)}."

    def asked(question: Question) -> str:
        column = before + _name(question.column)
        # An expression of a column, such as NULLIF, has not its type, by which databases compare.
        codes = [f"{column} IN ({', '.join(_literals(level))})" for level in _codes(card, question)]
        if question.sign == MISSING:
            return " OR ".join([f"{column} IS NULL", *codes])
        each = [f"{column} {sign} {name_of(value)}" for sign, value in question.sides]
        if not each:
            named = _literals(question)
            each = [f"{column} IN ({', '.join(named)})" if len(named) > 1 else f"{column} = {named[0]}"]
        return " AND ".join([*each, *(f"NOT {code}" for code in codes)])

    return "\n  + ".join(f"CASE WHEN {asked(question)} THEN {own} ELSE 0 END" for question, own in _paid(card)) or "0"


def _codes(card: Any, question: Question) -> list[Question]:
    """The codes for a gap in the column of a question of a card."""
    return [code for code in card.special if code.column == question.column]


def _literals(question: Question) -> list[str]:
    """What a question for equality names, as SQL writes it."""
    found = list[str]()
    for level in question.levels:
        if not isinstance(level, str):
            found += map(name_of, _numbers(level))
        elif level in TRUTH:
            raise InputError(
                f"The question {str(question)!r} compares with a word for a truth value, which databases write in "
                f"different ways; ask {question.column} = {TRUTH[level]:g}."
            )
        else:
            found.append("'" + _without_nul(level).replace("'", "''") + "'")
    return found


def _name(name: str) -> str:
    return '"' + _without_nul(name).replace('"', '""') + '"'


def _without_nul(text: str) -> str:
    if any(sign == "\0" or "\ud800" <= sign <= "\udfff" for sign in text):  # halves of signs are no UTF-8
        raise InputError(f"{text[:60]!r} holds a character that no text of SQL has; rename it.")
    return text


def _paid(card: Any) -> list[tuple[Question, int]]:
    """The questions that have points, with these."""
    return [(question, own) for question, own in zip(card.questions, card.points) if own]


def _numbers(level: float | str) -> tuple[float | int, ...]:
    """The numbers that equal a level."""
    value = number_of(level) if isinstance(level, str) else level
    if value is None:
        return ()
    return (value,) if isinstance(value, int) else doubles(value)


def python(card: Any) -> str:
    """See :meth:`rerank.scorecard.Card.to_python`."""
    lines = ["def total(row):", "    points = 0"]
    for question, own in _paid(card):
        lines.append(f"    value = row.get({question.column!r})")
        for codes in _codes(card, question):
            lines += [f"    if {_equal_in_python(codes)}:", "        value = None"]
        if question.sign == MISSING:
            when = "value is None or value != value"  # as NaN does
        elif question.sides:
            sizes = " and ".join(f"value {sign} {name_of(value)}" for sign, value in question.sides)
            when = f"value is not None and {sizes}"
        else:
            when = _equal_in_python(question)
        lines += [f"    if {when}:", f"        points += {own}"]
    return "\n".join([*lines, "    return points", ""])


def _equal_in_python(question: Question) -> str:
    found = []
    for level in question.levels:
        when, each = f"value == {name_of(level)!r}", _numbers(level)
        if each:
            read = "value" if each[0] == int(each[0]) else "float(value)"  # of decimals
            equal = " or ".join(f"{read} == {name_of(number)}" for number in each)
            when = f"({equal}) if hasattr(value, '__float__') else {when}"
        found.append(when)
    return found[0] if len(found) == 1 else " or ".join(f"({when})" for when in found)


def formula(card: Any, columns: Mapping[str, str] | Sequence[str] | None = None, row: int = 2) -> str:
    """See :meth:`rerank.scorecard.Card.to_formula`."""
    if columns is None:
        columns = list(dict.fromkeys(question.column for question in card.questions))
    if isinstance(columns, str):
        raise InputError(f"columns is the text {columns[:60]!r}; give a mapping of columns to cells, or their names.")
    if not isinstance(columns, Mapping):
        columns = {str(name): f"{letters(place)}{whole('row', row, 1, 2**20)}" for place, name in enumerate(columns)}

    def asked(question: Question) -> str:
        cell = columns.get(question.column)
        if cell is None:
            near = nearest(question.column, columns) if columns else "none"
            raise InputError(
                f"The card asks about {question.column!r}, which has no cell; the nearest column that has is {near!r}."
            )
        if not _CELL.fullmatch(str(cell)):
            raise InputError(f"{str(cell)[:60]!r} is no cell for {question.column!r}; give one such as 'C2' or '$C2'.")
        codes = [_equal_in_sheets(code, cell) for code in _codes(card, question)]
        gap = _of_several("OR", [f'{cell}=""', *codes])
        if question.sign == MISSING:
            return gap
        # An empty cell equals 0, and any text is above any number; adding 0 makes a text an error.
        sizes = [f"{cell}+0{sign}{name_of(value).upper()}" for sign, value in question.sides]
        if sizes:
            return f"IF({gap},FALSE,{_of_several('AND', sizes)})"
        equal = _equal_in_sheets(question, cell)
        return f"IF({gap},FALSE,{equal})" if codes else equal

    found = "=" + ("+".join(f"IF({asked(question)},{own},0)" for question, own in _paid(card)) or "0")
    if len(found) > LONGEST_FORMULA:
        raise InputError(
            f"The formula has {len(found)} characters, and spreadsheets take {LONGEST_FORMULA}; shorten the card."
        )
    return found


def _of_several(how: str, conditions: Sequence[str]) -> str:
    return conditions[0] if len(conditions) == 1 else f"{how}({','.join(conditions)})"


def _equal_in_sheets(question: Question, cell: str) -> str:
    found = []
    for level in question.levels:
        same = f"EXACT({cell},{_literal(name_of(level))})"  # = takes capitals and small letters for equal
        each = [f"{cell}+0={name_of(number).upper()}" for number in _numbers(level)]
        equal = f"IF(ISTEXT({cell}),{same},{_of_several('OR', each) if each else 'FALSE'})"
        found.append(f'IF({cell}="",FALSE,{equal})' if each else equal)
    return _of_several("OR", found)


def letters(place: int) -> str:
    """The letters of a column of a sheet, counted from 0."""
    text = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def _literal(text: str) -> str:
    """A text in a formula; line ends and their like by their numbers, since a pasted line end ends the cell."""
    parts = re.findall(rf"[\x00-\x1f]|[^\x00-\x1f]{{1,{LONGEST_LITERAL // 2}}}", text)
    if "\0" in text:
        raise InputError(f"{text[:60]!r} holds a NUL, which no cell has; rename it.")
    shown = [f"CHAR({ord(part)})" if part < " " else '"' + part.replace('"', '""') + '"' for part in parts]
    return "&".join(shown) or '""'
