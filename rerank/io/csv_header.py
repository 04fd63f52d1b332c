"""The header of a CSV file: which names it has, which column is meant, which columns are features."""

from collections.abc import Iterator, Sequence

from rerank.errors import InputError, similar
from rerank.io.lines import MISSING, Path, no_number, number, wrong


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
        found = f"there is one column, {names[0][:40]!r}, that holds {other!r}"
        raise wrong(path, first[0], found, f"pass delimiter={other!r}")
    distinct(path, names)
    return names


def distinct(path: Path, names: list[str]) -> None:
    """Refuse a name that stands over two columns."""
    for place, name in enumerate(names):
        if name in names[:place]:
            places = f"columns {names.index(name) + 1} and {place + 1}"
            raise InputError(
                f"{path}: the name {name!r} stands over {places}; give every column its own name."
            )


def find(path: Path, names: list[str], wanted: str) -> int:
    """Return the place of the column called `wanted`, or offer the nearest names."""
    if wanted in names:
        return names.index(wanted)
    lower = {name.lower(): name for name in names}
    close = [lower[name] for name in similar(wanted.lower(), lower)]
    advice = f"nearest: {some(close)}" if close else f"its columns are {some(names)}"
    raise InputError(f"{path} has no column {wanted!r}; {advice}.")


def choose_features(
    path: Path,
    names: list[str],
    features: Sequence[str] | None,
    place: dict[str, int],
    first: tuple[int, list[str]],
) -> tuple[list[int], list[int]]:
    """Return the columns used as features, and the columns of text left out."""
    if features is not None:
        chosen = [find(path, names, name) for name in features]
        for column in chosen:
            if chosen.count(column) > 1 or column in place.values():
                raise InputError(
                    f"{path}: the column {names[column]!r} is named twice; name each column once."
                )
        return chosen, []
    line, cells = first
    free = [column for column in range(len(names)) if column not in place.values()]
    for column in free:
        # Whether the column is a number or a text cannot be told from a missing first cell, and guessing
        # would drop a feature without a word.
        if cells[column].strip().lower() in MISSING:
            raise no_number(path, line, repr(names[column]), cells[column])
    numeric = [column for column in free if is_number(cells[column])]
    return numeric, [column for column in free if column not in numeric]


def is_number(cell: str) -> bool:
    """Whether a cell reads as a number, NaN and infinity among them."""
    try:
        number(cell)
    except ValueError:
        return False
    return True


def some(names: Sequence[str], most: int = 8) -> str:
    """The first few distinct names, for a sentence."""
    distinct = list(dict.fromkeys(names))
    return ", ".join(repr(name) for name in distinct[:most]) + (" ..." if len(distinct) > most else "")
