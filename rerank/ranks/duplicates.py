"""Rows that coincide, on all features or on the support of some weights: found, reported, merged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.ranks.lists import rows_by_list

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


def table(X: ArrayLike) -> Floats:
    """Features as float64 (n, d), finite.

    Raises
    ------
    InputError
        Naming the first entry that is not a finite number.
    """
    data = np.asarray(X, dtype=np.float64)
    if data.ndim != 2:
        raise InputError(
            f"The features have shape {data.shape}; give one row per item and one column per feature."
        )
    bad = np.argwhere(~np.isfinite(data))
    if bad.size:
        row, column = (int(v) for v in bad[0])
        raise InputError(
            f"The feature in row {row}, column {column} is {data[row, column]}; give a finite number."
        )
    return data


def duplicates(
    X: ArrayLike, support: ArrayLike | None = None, qid: ArrayLike | None = None
) -> list[Integers]:
    """Groups of rows that are equal, exactly, on the support.

    Parameters
    ----------
    X : array (n, d)
    support : array of feature indices, or bool array (d,), optional
        Features to compare; all of them if omitted.
    qid : array (n,), optional
        List of each row; rows of different lists are never compared.

    Returns
    -------
    list of int arrays
        Row indices of each group of two or more, ascending; groups in order of their first row.
    """
    data = table(X)
    chosen = data if support is None else data[:, np.asarray(support, dtype=_index_type(support))]
    groups = []
    for _, rows in rows_by_list(qid, data.shape[0]):
        if rows.size > 1:
            groups += [rows[group] for group in _equal_rows(chosen[rows])]
    return sorted(groups, key=lambda group: int(group[0]))


def _index_type(support: ArrayLike) -> type:
    return bool if np.asarray(support).dtype == bool else np.intp


def _equal_rows(rows: Floats) -> list[Integers]:
    if rows.shape[1] == 0:
        return [np.arange(rows.shape[0])]
    order = np.lexsort(rows.T)
    differs = np.any(rows[order[1:]] != rows[order[:-1]], axis=1)
    blocks = np.split(order, np.flatnonzero(differs) + 1)
    return [np.sort(block) for block in blocks if block.size > 1]


@dataclass(frozen=True, eq=False)
class Merged:
    """One row for each group of interchangeable rows.

    Attributes
    ----------
    rows : int array
        The rows kept, ascending: the first of each group and every row without a twin.
    counts : int array
        How many rows each kept row stands for.
    groups : list of int arrays
        The groups that were merged.
    conflicts : list of int arrays
        Groups of equal rows with different labels.  They are all kept: no weights can tell them apart, and which
        label to believe is not for a program to decide.
    """

    rows: Integers
    counts: Integers
    groups: list[Integers]
    conflicts: list[Integers]

    def __str__(self) -> str:
        merged = sum(group.size - 1 for group in self.groups)
        text = f"{merged} rows merged into {len(self.groups)} others"
        if self.conflicts:
            first = ", ".join(map(str, self.conflicts[0][:5]))
            text += (
                f"; {len(self.conflicts)} groups of equal rows have different labels (rows {first} are one)"
            )
        return text


def merge_duplicates(X: ArrayLike, y: ArrayLike, qid: ArrayLike | None = None) -> Merged:
    """Merge rows of a list that agree on every feature and on the label; report those that differ in the label.

    Parameters
    ----------
    X : array (n, d)
    y : array (n,)
    qid : array (n,), optional

    Returns
    -------
    Merged
        ``X[merged.rows]``, ``y[merged.rows]`` are the merged data, ``merged.counts`` their multiplicity.
    """
    data, labels = table(X), np.asarray(y)
    if labels.shape != (data.shape[0],):
        raise InputError(
            f"There are {data.shape[0]} rows and labels of shape {labels.shape}; give one per row."
        )
    equal = duplicates(data, qid=qid)
    conflicts = [group for group in equal if np.unique(labels[group]).size > 1]
    groups = [group for group in equal if np.unique(labels[group]).size == 1]
    counts = np.ones(data.shape[0], np.intp)
    for group in groups:
        counts[group[0]], counts[group[1:]] = group.size, 0
    rows = np.flatnonzero(counts)
    return Merged(rows, counts[rows], groups, conflicts)
