"""Columns that are the label again, separate it, or number the rows in an order that knows it."""

import re
from collections.abc import Iterator, Sequence
from math import lgamma, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors.telling import Note
from rerank.io.frames import column, entries, is_sparse, numbers, some_rows

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

LEAK = "leak"  # kind of the notes of this page
AT_ONCE = 1000  # columns of a sample that are seen at once
SAMPLE = 500  # rows that are looked at before a whole column is
# A column of as many labels in another order is not told apart from chance above this share of all orders.
CHANCE = 1e-4
SEPARATED = 0.98  # share of the pairs of rows with different labels that a numbering of the rows has to order alike
# The same of numbers in the order of the rows, or called numbers: rows that were sorted by the label, nearly.
SORTED = 0.9
# Words in the names of numbers of rows.
NUMBERS = {"id", "idx", "index", "key", "no", "nr", "num", "number", "record", "row"}


def leaks(table: Any, names: Sequence[str], which: Sequence[int] | Indices, y: Floats) -> list[Note]:
    """A sentence for each column that is a one-to-one copy of the label, separates relevant rows from the others by a
    cut or by its values, or is a numbering that orders the label. ``names`` are those of all columns, ``which`` the
    columns that are looked at, ``y`` the grades (n,). Rows in which a column misses its value are not looked at.
    """
    if is_sparse(table) or not _tells(y):
        return []
    n, found = y.size, list[Note]()
    relevant = np.flatnonzero(y > y.min())[:SAMPLE]
    sample = np.union1d(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp), relevant)
    few, own = some_rows(table, sample), y[sample]
    for j in _possible(few, np.asarray(which, dtype=np.intp), own):
        values = _values(few, int(j))
        known = _known(values)
        # Whether some of the rows leave it possible.
        parted = _parted(values[known], own[known] > own.min())
        if not (parted or _copies(values[known], own[known]) or _copies(known, own > own.min()) or _distinct(values)):
            continue
        values, then = _values(table, int(j)), "Leave"
        if not (what := _leak(values, names[int(j)], y)):
            what, then = _separation(values, y, len(which)), "If it is known only with the label, leave"
        if what:
            told = f"The column {names[int(j)]!r} {what}. {then} it out of X (--features names the columns to use)."
            found.append(Note(told, LEAK))
    return found


def _tells(y: Floats) -> bool:
    """Whether there are so many rows that no column agrees with the labels by chance. Where most labels are distinct,
    as utilities are, every column without equal values is a copy in another coding.
    """
    kinds = np.unique(y).size
    return 1 < kinds <= y.size / 2 and _orders(y) > -log(CHANCE)


def _orders(y: NDArray[np.generic]) -> float:
    """The logarithm of the number of orders of these labels."""
    counts = np.unique(y, return_counts=True)[1]
    return lgamma(y.size + 1) - sum(lgamma(count + 1) for count in counts.tolist())


def _possible(table: Any, which: Indices, y: Floats) -> Iterator[int]:
    """The columns that may be leaks: of an array of numbers those that have gaps, or are whole numbers, or one number
    for each label, or have a cut between the labels. Most of very many columns are none of these, and all are seen at
    once.
    """
    if not isinstance(table, np.ndarray) or table.dtype.kind not in "biuf":
        yield from which.tolist()
        return
    _, first, codes = np.unique(y, return_index=True, return_inverse=True)
    relevant = y > y.min()
    for begin in range(0, which.size, AT_ONCE):
        part = which[begin : begin + AT_ONCE]
        block = table[:, part].astype(np.float64)
        whole, one_each = (block == np.floor(block)).all(axis=0), (block == block[first[codes]]).all(axis=0)
        ends = [(block[rows].min(axis=0), block[rows].max(axis=0)) for rows in (relevant, ~relevant)]
        cut = (ends[0][0] > ends[1][1]) | (ends[0][1] < ends[1][0])
        yield from part[whole | one_each | cut | ~np.isfinite(block).all(axis=0)].tolist()


def _values(table: Any, j: int) -> NDArray[Any]:
    """A column: numbers, inf where they are missing, or the text of what it holds, None where that is missing."""
    values = column(table, j)
    found = numbers(values)
    if found is not None:
        return np.where(np.isnan(found), np.inf, found)
    return np.array([None if entry is None else str(entry) for entry in entries(values)], dtype=object)


def _known(values: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Which rows miss no value."""
    return np.isfinite(values) if values.dtype.kind == "f" else np.array([value is not None for value in values])


def _leak(values: NDArray[Any], name: str, y: Floats) -> str:
    """What a column tells of the label, in words; empty if it is none of the leaks."""
    known, nothing = _known(values), "a ranking by it proves nothing"
    if _copies(values, y):
        return f"is the label again, in the same or another coding: {nothing}"
    if _tells(y[known]) and _copies(values[known], y[known]):
        return f"is the label again where it is filled in, in the same or another coding: {nothing}"
    if _copies(known, y > y.min()):
        return f"is filled in for relevant rows only, or for the others only: {nothing}"
    share = _order(values, y) if _distinct(values) else 0.5
    if share >= SEPARATED:
        return f"numbers the rows, and their order tells the label almost without a mistake: {nothing}"
    words = {word.lower() for word in re.findall("[A-Z]?[a-z]+|[A-Z]+", name)}  # of "row_number", of "PassengerId"
    n, m = y.size, int((y > y.min()).sum())
    # A random order seldom has such a share of the pairs, by its distance in standard deviations.
    by_no_chance = (share - 0.5) ** 2 * 12 * m * (n - m) / (n + 1) > -2 * log(CHANCE)
    steps = np.diff(values) if share >= SORTED and by_no_chance else np.empty(0)
    if steps.size and (np.all(steps > 0) or np.all(steps < 0) or NUMBERS & words):
        return (
            f"numbers the rows, and their order tells most of the label (AUC {share:.2f}), as if they were sorted by "
            "it: rows to come are not"
        )
    return ""


def _copies(values: NDArray[np.generic], y: NDArray[np.generic]) -> bool:
    """Whether each label has one value, and each value one label."""
    _, first, codes = np.unique(y, return_index=True, return_inverse=True)
    stands = values[first]
    return len(set(stands.tolist())) == stands.size and bool(np.all(values == stands[codes]))


def _parted(values: NDArray[np.generic], relevant: NDArray[np.bool_]) -> str:
    """How the values separate the relevant rows from the others, in words; empty if they do not."""
    own, other = values[relevant], values[~relevant]
    if not own.size or not other.size:
        return ""
    if values.dtype.kind == "f":
        if own.min() > other.max():
            return f"{own.min():g} or more for relevant rows, less for the others"
        if own.max() < other.min():
            return f"{own.max():g} or less for relevant rows, more for the others"
    levels, shared = set(own.tolist()), set(other.tolist())
    return "" if levels & shared else f"none of its {len(levels | shared)} values is of both kinds of rows"


def _separation(values: NDArray[np.generic], y: Floats, columns: int) -> str:
    """A separation of the labels that so many columns have not by chance, in words; empty without one."""
    known = _known(values)
    values, relevant = values[known], y[known] > y.min()
    if not (told := _parted(values, relevant)):
        return ""
    # A cut has two sides, and each of so many values may be of relevant rows or of the others.
    ways = log(2) * (1 if "relevant" in told else np.unique(values).size)
    if _orders(relevant) - ways - log(columns) <= -log(CHANCE):
        return ""
    return f"tells the label without a mistake ({told})"


def _distinct(values: NDArray[np.generic]) -> bool:
    """Whether values are whole numbers that doubles count, and no two of them equal."""
    if values.dtype.kind != "f" or np.any(values != np.floor(values)) or not np.abs(values).max() <= 2.0**53:
        return False
    return np.unique(values).size == values.size


def _order(values: Floats, y: Floats) -> float:
    """Share of the pairs that numbers of the rows order by the label, from either side; .5 if they number no rows. They
    number rows, or some of the rows of a larger table, if they lie so close that other whole numbers would not be
    distinct but by chance: of n drawn from w, all differ with a probability of about exp(-n^2 / 2w).
    """
    n, width = y.size, values.max() - values.min() + 1
    if width > max(n, n * n / (-2 * log(CHANCE))):
        return 0.5
    places = np.argsort(np.argsort(values))
    relevant = y > y.min()
    m = int(relevant.sum())
    pairs = m * (n - m)
    share = (float(places[relevant].sum()) - m * (m - 1) / 2) / pairs
    return max(share, 1 - share)
