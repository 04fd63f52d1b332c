"""Codes that stand for a gap, such as 999999 for no income: which values are some, and tables with gaps for them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError, nearest
from rerank.io.frames import Frame, column, entries, is_frame, names_of, numbers
from rerank.io.levels import Places, level_of, name_of
from rerank.io.options import spelled
from rerank.scorecard.questions import IN, MISSING, Question, answered

FEWEST, SHARE = 10, 0.01  # rows, and share of the rows, that share a value which may be a code
LEVELS, LOOKED_AT = 10, 1000  # other values that there are at least, among so many rows
MOST_LEVELS, LONGEST_LEVEL = 500, 1000  # levels of a column that a file holds, and their signs


def special_of(given: Any) -> tuple[Question, ...]:
    """Codes by column as questions whether a value is one of them."""
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise InputError(f"special is {spelled(given)}; give a mapping of columns to codes, such as {{'age': [999]}}.")
    each = {name: [own] if isinstance(own, str) or not np.iterable(own) else list(own) for name, own in given.items()}
    return tuple(Question(str(name), IN, tuple(own)) for name, own in each.items() if own)


def with_gaps(X: Any, special: Sequence[Question]) -> Any:
    """The table (n, d) with gaps in place of codes."""
    names = names_of(X)
    changed = {}
    for question in special:
        if question.column not in names:
            near = nearest(question.column, names)
            raise InputError(f"special names the column {question.column!r}, and the nearest of X is {near!r}.")
        values = column(X, names.index(question.column))
        (codes,) = answered([question], values)
        if codes.any():
            changed[question.column] = _without(values, codes)
    if not changed:
        return X
    if isinstance(X, Frame):
        return Frame({**X.columns, **changed}, X.notes)
    if not is_frame(X):
        return Frame({name: changed.get(name, X[:, j]) for j, name in enumerate(names)})
    return Frame({name: changed[name] if name in changed else _plain(column(X, j)) for j, name in enumerate(names)})


def _plain(values: Any) -> NDArray[Any]:
    """A column of a frame as a :class:`rerank.io.frames.Frame` holds it."""
    found = numbers(values)
    if found is not None and not (np.abs(found) >= 2.0**53).any():
        return found
    each = np.empty(len(values), dtype=object)
    each[:] = entries(values)
    return each


def _without(values: Any, gone: NDArray[np.bool_]) -> NDArray[Any]:
    found = _plain(values).copy()
    found[gone] = np.nan if found.dtype.kind == "f" else None
    return found


def codes_told(X: Any) -> tuple[str, ...]:
    """A sentence for each column of numbers where many rows share a value that stands far apart from all others."""
    found = []
    for j, name in enumerate(names_of(X)):
        values = numbers(column(X, j))
        known = values[np.isfinite(values)] if values is not None else np.empty(0)
        for code, side in ((known.max(), "above"), (known.min(), "below")) if known.size else ():
            rows, others = int((known == code).sum()), known[known != code]
            if rows < max(FEWEST, SHARE * known.size) or np.unique(others[:LOOKED_AT]).size < LEVELS:
                continue
            low, high = float(others.min()), float(others.max())
            if (code - high if side == "above" else low - code) > high - low:
                number = name_of(level_of(code))
                advice = f"special={{{name!r}: [{number}]}} (--special {name}={number})"
                found.append(
                    f"Column {name!r} holds {number} in {rows:,} rows, far {side} all others ({low:.4g} to "
                    f"{high:.4g}); if that is a code for a gap, pass {advice}."
                )
    return tuple(found)


def levels_of(questions: Sequence[Question], X: Any) -> dict[str, list[str]]:
    """The texts that a table has in columns whose levels are asked for, where they are not too many for a file."""
    asked = {question.column for question in questions if any(isinstance(level, str) for level in question.levels)}
    names = names_of(X)
    found = {}
    for name in sorted(asked):
        each = {str(entry) for entry in entries(column(X, names.index(name))) if entry is not None}
        if len(each) <= MOST_LEVELS and all(len(level) <= LONGEST_LEVEL for level in each):
            found[name] = sorted(each)
    return found


def missed(questions: Sequence[Question], X: Any) -> NDArray[np.intp]:
    """The rows of a table that miss a value of a column of the card, of which no question asks whether it is."""
    knows = {question.column for question in questions if question.sign == MISSING}
    asked = dict.fromkeys(question.column for question in questions if question.column not in knows)
    each = [Question(name, MISSING).answers(X) for name in asked]
    return np.flatnonzero(np.any(each, axis=0)) if each else np.empty(0, np.intp)


def notes_on_rows(
    questions: Sequence[Question], levels: Mapping[str, Sequence[str]], X: Any, rows: Sequence[Any]
) -> list[str]:
    """A sentence on the rows of a table that miss a value of a column of the card, of which no question asks whether it
    is, and one for each column with levels that the rows of the fit did not have; ``rows`` names the rows.
    """
    names, found = names_of(X), []
    if (gaps := missed(questions, X)).size:
        found.append(
            f"Rows that miss a value the card asks for: {gaps.size}{_first(gaps, rows)}. A question about it counts as "
            "answered by no."
        )
    for name, known in levels.items():
        places = Places([*known])
        each = entries(column(X, names.index(name)))
        new = np.flatnonzero([entry is not None and places[entry] is None for entry in each])
        if new.size:
            words = ", ".join(dict.fromkeys(repr(str(each[row]))[:40] for row in new[:200].tolist()))
            found.append(
                f"Column {name!r} has levels that the rows of the fit did not have, {words[:200]}, in {new.size} rows"
                f"{_first(new, rows)}; questions about it count as answered by no."
            )
    return found


def _first(which: NDArray[np.intp], rows: Sequence[Any]) -> str:
    """Some of the rows by name."""
    told = ", ".join(str(rows[row]) for row in which[:5].tolist())
    return f" ({told}{', ...' if which.size > 5 else ''})"
