"""The table that every reader returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.io.labels import TwoLabels

Floats = NDArray[np.float64]
Words = NDArray[np.object_]  # texts as objects: one long text does not widen the others


@dataclass(frozen=True, eq=False)
class Table:
    """Rows to rank.

    Attributes
    ----------
    X : float64 (n, d), or Frame
        Features, every entry finite; a data frame if there are texts or gaps, which a reader takes with ``kinds``.
    y : float64 (n,) or None
        0/1 or grades from 0 upwards; None when the file has no label.
    qid : object array of str (n,) or None
        The list each row belongs to; None when all rows are one list.
    ids : object array of str (n,) or None
        A name for each row.
    feature_names : tuple of str, length d
    sample_weight : float64 (n,) or None
    ideal_gains : mapping from list id to grades, or None
        Relevant documents of a list that no run retrieved: they count in the ideal and are no rows.
    groups : object array of str (n,) or None
        What rows belong together, such as a person: never split between folds.
    people : object array of str (n,) or None
        What kind a row is of: quotas count kinds.
    notes : tuple of str
        Sentences on what the reader decided (columns left out, documents added), for the user to see.
    labels : TwoLabels or None
        The words that the file has for 0 and 1.
    header : tuple of str
        The names of all columns of the file, where it has names.
    rows : intp (n,) or None
        The number of each row in the file, from 0; None where all of its rows are there.
    read : mapping of str to str
        The column that was read as label, qid, weight ..., and the label to find (``positive``), where one was named.
    """

    X: Any
    y: Floats | None
    qid: Words | None
    ids: Words | None
    feature_names: tuple[str, ...]
    sample_weight: Floats | None = None
    ideal_gains: Mapping[str, tuple[float, ...]] | None = None
    notes: tuple[str, ...] = ()
    groups: Words | None = None
    people: Words | None = None
    labels: TwoLabels | None = None
    header: tuple[str, ...] = ()
    rows: NDArray[np.intp] | None = None
    read: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.X.shape[0])


def words(texts: Sequence[str | None]) -> Words:
    """The texts as an array of objects."""
    return np.array(texts, dtype=np.object_)


def numbered(ids: ArrayLike) -> tuple[tuple[Any, ...], NDArray[np.intp]]:
    """Distinct ids (any hashable values) in order of first appearance, and for each id its place among them."""
    every = np.asarray(ids)
    if every.dtype.kind in "biuf":
        known, first, codes = np.unique(every, return_index=True, return_inverse=True)
        by_first = np.argsort(first)
        place = np.empty_like(by_first)
        place[by_first] = np.arange(first.size)
        return tuple(known[by_first].tolist()), place[codes]
    texts = every.tolist()
    distinct = tuple(dict.fromkeys(texts))
    number = dict(zip(distinct, range(len(distinct))))
    return distinct, np.fromiter(map(number.__getitem__, texts), dtype=np.intp, count=len(texts))


def within(numbers: NDArray[np.generic], order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Place of each row in its list, from 1, where ``order`` has the rows list by list."""
    count, place = np.bincount(numbers), np.empty(order.size, dtype=np.intp)
    place[order] = np.arange(order.size) - np.repeat(np.cumsum(count) - count, count) + 1
    return place


def check_written(table: Table) -> None:
    """Refuse a table that the readers of tables would not take back."""
    if not (len(table) and table.X.shape[1]):
        raise InputError(
            f"The table is {len(table)} x {table.X.shape[1]}; a file needs at least one row and one feature."
        )
    if not np.isfinite(table.X).all():
        row, column = (int(k) for k in np.argwhere(~np.isfinite(table.X))[0])
        raise InputError(
            f"Feature {table.feature_names[column]!r} is {table.X[row, column]} in row {row}; files hold "
            "finite numbers, so fill it in or drop the row."
        )
    for what, values in (("label", table.y), ("weight", table.sample_weight)):
        if values is not None and (bad := np.flatnonzero(~(np.isfinite(values) & (values >= 0)))).size:
            raise InputError(
                f"The {what} of row {bad[0]} is {values[bad[0]]:g}; a {what} is a finite number of 0 or "
                "more, so correct it."
            )
