"""The header of a CSV file: which names it has, which columns are features; the numbers in its cells."""

import re
from collections.abc import Iterable, Iterator, Sequence

from rerank.errors import InputError
from rerank.io.columns import distinct, named_features, refuse_forgotten_list, saved_index
from rerank.io.labels import TwoLabels
from rerank.io.lines import MISSING, Path, named, no_number, number, wrong

# Signs with which a spreadsheet begins a formula, those of full width among them, behind any apostrophes.
_FORMULA = re.compile("'*[=+\\-@\t\r\uff0b\uff0d\uff1d\uff20]")
_TRUTH = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}


def read_header(path: Path, rows: Iterator[tuple[int, list[str]]], delimiter: str) -> list[str]:
    """Take the first row as the names of the columns: present, not numbers, each once."""
    first = next(rows, None)
    if first is None:
        raise InputError(f"{path} is empty; pass a CSV file whose first line names the columns.")
    if all(is_number(name_in(name)) for name in first[1]):
        raise wrong(path, first[0], "there are numbers where the column names should be", "add a header line")
    names = header_names(first[1])
    other = next((mark for mark in ",;\t|" if mark != delimiter and mark in names[0]), None)
    if len(names) == 1 and other:
        found = f"there is one column, {named(names[0][:40])}, that holds {other!r}"
        option = "tab" if other == "\t" else repr(other)
        raise wrong(path, first[0], found, f"pass delimiter={other!r} (--delimiter {option})")
    distinct(path, names)
    return names


def header_names(cells: Sequence[str]) -> list[str]:
    """The names in a header; a column without one is called as pandas calls it, after its place from 0."""
    names = [name_in(cell) for cell in cells]
    for place, name in enumerate(names):
        if not name:
            called = f"Unnamed: {place}"
            while called in names:
                called += ".1"
            names[place] = called
    return names


def choose_features(
    path: Path,
    names: list[str],
    features: Sequence[str] | None,
    place: dict[str, int],
    first: tuple[int, list[str]],
) -> tuple[list[int], list[int], list[int]]:
    """Return the columns used as features, the columns of text left out, and a saved index left out."""
    if features is not None:
        return named_features(path, names, features, place), [], []
    line, cells = first
    taken = set(place.values())
    free = [column for column in range(len(names)) if column not in taken]
    refuse_forgotten_list(path, names, free, place)
    index = [column for column in saved_index(names) if column not in taken]
    numeric: list[int] = []
    text: list[int] = []
    for column in (one for one in free if one not in index):
        # Whether the column is a number or a text cannot be told from a missing first cell, and guessing
        # would drop a feature without a word.
        if cells[column].strip().lower() in MISSING:
            raise no_number(path, line, named(names[column]), cells[column])
        (numeric if _reads_as_number(cells[column]) else text).append(column)
    return numeric, text, index


def spreadsheet_cell(text: str) -> str:
    """A name as a cell that no spreadsheet takes for a formula.

    An apostrophe goes before what begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return and is no number,
    and before what begins so behind apostrophes, so that :func:`name_in` gives back every name.
    """
    return f"'{text}" if _FORMULA.match(text) and not is_number(text) else text


def name_in(cell: str) -> str:
    """The name in a cell, without the apostrophe that :func:`spreadsheet_cell` puts before a formula."""
    name = cell.strip()
    return name[1:] if name.startswith("'") and spreadsheet_cell(name[1:]) == name else name


def value_of(cell: str) -> float:
    """The number in a cell, 1 and 0 for True and False; anything else is a `ValueError`."""
    try:
        return number(cell)
    except ValueError:
        if (truth := _TRUTH.get(cell.strip())) is None:
            raise
        return truth


def two_words(seen: Iterable[str], positive: str) -> TwoLabels | None:
    """The two labels of a file that holds words; None where they are numbers, or more than two."""
    others = list(set(seen) - {positive})
    if len(others) != 1 or all(map(is_number, (positive, *others))):
        return None
    return TwoLabels(others[0], positive)


def is_number(cell: str) -> bool:
    """Whether a cell holds the digits of a number, NaN and infinity among them."""
    try:
        number(cell)
    except ValueError:
        return False
    return True


def _reads_as_number(cell: str) -> bool:
    return cell.strip() in _TRUTH or is_number(cell)
