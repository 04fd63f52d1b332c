"""The header of a CSV file: which names it has, which columns are features; the numbers in its cells."""

from collections.abc import Iterable, Iterator, Sequence

from rerank.errors import InputError
from rerank.io.columns import distinct, named_features, refuse_forgotten_list
from rerank.io.labels import TwoLabels
from rerank.io.lines import MISSING, Path, named, no_number, number, wrong

_TRUTH = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}


def read_header(path: Path, rows: Iterator[tuple[int, list[str]]], delimiter: str) -> list[str]:
    """Take the first row as the names of the columns: present, not numbers, each once."""
    first = next(rows, None)
    if first is None:
        raise InputError(f"{path} is empty; pass a CSV file whose first line names the columns.")
    names = [name.strip() for name in first[1]]
    if all(is_number(name) for name in names):
        raise wrong(path, first[0], "there are numbers where the column names should be", "add a header line")
    if "" in names:
        found = f"column {names.index('') + 1} has no name (an index saved with the table?)"
        raise wrong(path, first[0], found, "name the column or drop it")
    other = next((mark for mark in ",;\t|" if mark != delimiter and mark in names[0]), None)
    if len(names) == 1 and other:
        found = f"there is one column, {named(names[0][:40])}, that holds {other!r}"
        option = "tab" if other == "\t" else repr(other)
        raise wrong(path, first[0], found, f"pass delimiter={other!r} (--delimiter {option})")
    distinct(path, names)
    return names


def choose_features(
    path: Path,
    names: list[str],
    features: Sequence[str] | None,
    place: dict[str, int],
    first: tuple[int, list[str]],
) -> tuple[list[int], list[int]]:
    """Return the columns used as features, and the columns of text left out."""
    if features is not None:
        return named_features(path, names, features, place), []
    line, cells = first
    taken = set(place.values())
    free = [column for column in range(len(names)) if column not in taken]
    refuse_forgotten_list(path, names, free, place)
    numeric: list[int] = []
    text: list[int] = []
    for column in free:
        # Whether the column is a number or a text cannot be told from a missing first cell, and guessing
        # would drop a feature without a word.
        if cells[column].strip().lower() in MISSING:
            raise no_number(path, line, named(names[column]), cells[column])
        (numeric if _reads_as_number(cells[column]) else text).append(column)
    return numeric, text


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
