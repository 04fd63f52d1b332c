"""What a column may mean otherwise than it is read: numbers as people write them, gaps in words, long whole numbers."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from rerank.errors.telling import Note
from rerank.io.frames import Frame, are_dates, column, entries, is_sparse, names_of, numbers
from rerank.io.levels import level_of
from rerank.io.lines import MISSING, is_number

MEANT = "meant"  # kind of the notes of this page

# Numbers with signs of thousands, decimal commas, units, and in base 16.
_WRITTEN = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|[$\u20ac\u00a3]?\s?[-+]?\d+([.,' \u00a0]\d+)*\s?[%kKmM\u20ac]?)")


def meant(X: Any) -> tuple[str, ...]:
    """A note for each column of a table that may mean something else; what a reader has found, of its frames."""
    if isinstance(X, Frame):
        return X.notes
    if is_sparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind == "f"):
        return ()
    found = (note_on(repr(name), column(X, j)) for j, name in enumerate(names_of(X)))
    return tuple(note for note in found if note)


def note_on(name: str, values: Any) -> str:
    """The note on one column, whose ``name`` is for a sentence; empty if there is none."""
    found = numbers(values)
    if found is None:
        return note_on_texts(name, entries(values))
    if not (np.abs(found) >= 2.0**53).any():
        return ""
    levels = (level_of(entry) for entry in entries(values) if entry is not None)
    long = next((level for level in levels if isinstance(level, int)), None)
    if long is None:
        return ""
    return Note(
        f"Column {name} holds {str(long)[:40]}, which is rounded to a double, as many whole numbers above 2^53 are; if "
        "these are names, make them texts, and if differences count, subtract a constant.",
        MEANT,
    )


def note_on_texts(name: str, each: Iterable[Any]) -> str:
    """The same of the entries of a column that is read as texts."""
    known = [entry.strip() for entry in dict.fromkeys(text for text in each if isinstance(text, str))]
    gaps = [word for word in known if word.lower() in MISSING]
    others = [word for word in known if word.lower() not in MISSING]
    if gaps and others and all(map(is_number, others)):
        return Note(
            f"Column {name} holds {gaps[0]!r} among numbers, so that all of it is read as texts; if that is a gap, put "
            "NaN in its place and convert the column to numbers.",
            MEANT,
        )
    like = [word for word in others if _WRITTEN.fullmatch(word)]
    written = [word for word in like if not is_number(word)]
    if not written or 2 * len(like) < len(others) or are_dates(written):
        return ""
    return Note(
        f"Column {name} holds {written[0][:40]!r}, which is read as a text; if these are numbers, write them with "
        "digits and a decimal point alone, such as 1234.5.",
        MEANT,
    )
