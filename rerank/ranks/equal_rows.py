"""Equal rows, on all features or on the support of some weights: found, merged, or moved apart."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.random import Generator, RandomState
from numpy.typing import ArrayLike

from rerank.errors import InputError
from rerank.io.arrays import check_matrix, check_qid
from rerank.io.options import real, source
from rerank.ranks.lists import number_lists
from rerank.ranks.positions import Indices
from rerank.ranks.row_gains import Floats

Seed = int | Generator | RandomState | None

DRAWS = 50
"""Random draws before giving up: one is enough unless a moved row meets another, or rounding to doubles undoes it."""


def duplicates(X: ArrayLike, support: ArrayLike | None = None, qid: ArrayLike | None = None) -> list[Indices]:
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
    data = check_matrix(X)
    chosen = data if support is None else data[:, np.asarray(support, dtype=_index_type(support))]
    lists = np.zeros(data.shape[0], np.intp)
    if qid is not None:
        lists = number_lists(check_qid(qid, data.shape[0]))[1]
    order = np.lexsort((*chosen.T, lists))
    differs = (lists[order[1:]] != lists[order[:-1]]) | np.any(chosen[order[1:]] != chosen[order[:-1]], axis=1)
    starts = np.concatenate([[0], np.flatnonzero(differs) + 1, [order.size]])
    several = np.flatnonzero(np.diff(starts) > 1)
    groups = [np.sort(order[starts[i] : starts[i + 1]]) for i in several]
    return sorted(groups, key=lambda group: int(group[0]))


def _index_type(support: ArrayLike) -> type:
    return bool if np.asarray(support).dtype == bool else np.intp


@dataclass(frozen=True, eq=False)
class Merged:
    """One row for each group of interchangeable rows.

    Attributes
    ----------
    rows : int array
        The rows kept, ascending: the first of each group and every row that equals no other.
    counts : int array
        How many rows each kept row stands for.
    groups : list of int arrays
        The groups that were merged.
    conflicts : list of int arrays
        Groups of equal rows with different labels.  They are all kept: no weights can tell them apart, and the data
        do not say which label is right.
    """

    rows: Indices
    counts: Indices
    groups: list[Indices]
    conflicts: list[Indices]

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
    data, labels = check_matrix(X), np.asarray(y)
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


def perturb_rows(
    X: ArrayLike,
    size: float | None = None,
    epsilon: float = 1e-4,
    *,
    qid: ArrayLike | None = None,
    random_state: Seed = None,
) -> Floats:
    """A copy of the data in which equal rows are moved apart, far enough for their scores to differ by epsilon.

    Each column of a group of m equal rows is spread evenly over ``2 * size`` of the column's range, in an order of
    its own and without leaving the range.  So the rows differ by at least epsilon in *every* column that is not
    constant, and can be told apart under any support.  A smaller move would make things worse: a difference below
    epsilon is counted lost by Subrank and is infeasible for ResolvedRank.

    Parameters
    ----------
    X : array (n, d)
    size : float, optional
        Half of the spread, as a share of the column's range; the least allowed, ``epsilon (m - 1) / 2`` for the
        largest group, if omitted.
    epsilon : float
        Margin, in units of the scaled score.
    qid : array (n,), optional
        Equal rows of different lists are left alone.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    float64 array (n, d)
        Rows that equal no other row are unchanged.

    Raises
    ------
    InputError
        When ``size`` is too small or above 1/2, when all columns are constant, or when a column's values are too
        large for its range to be divided so finely in double precision.
    """
    data = check_matrix(X).copy()
    groups = duplicates(data, qid=qid)
    if not groups:
        return data
    spread = _spread(max(group.size for group in groups), size, epsilon)
    low, high = data.min(axis=0), data.max(axis=0)
    moving = np.flatnonzero(high > low)
    if moving.size == 0:
        raise InputError("All rows are equal: there is no column whose range could say how far to move them.")
    rng = source(random_state)
    for _ in range(DRAWS):
        moved = data.copy()
        for group in groups:
            for j in moving:
                width = spread * (high[j] - low[j])
                centre = min(max(float(data[group[0], j]), low[j] + width), high[j] - width)
                places = centre + width * rng.permutation(np.linspace(-1, 1, group.size))
                moved[group, j] = np.clip(places, low[j], high[j])
        if not duplicates(moved, qid=qid) and _apart(moved, groups, moving, epsilon):
            return moved
    raise InputError(
        "The moved rows meet other rows, or are not a margin apart in double precision; choose a larger size, or "
        "subtract a constant from columns whose values are large against their range."
    )


def _spread(largest: int, size: float | None, epsilon: float) -> float:
    least = real("The margin epsilon", epsilon, 0.0, positive=True) * (largest - 1) / 2
    size = least if size is None else size
    if not least <= size <= 0.5:
        raise InputError(
            f"A size of {size:g} of the range was asked for; {largest} equal rows need at least {least:.6g} for their "
            f"scores to differ by {epsilon:g}, and at most 0.5 stays in the range; merge them if that is too much."
        )
    # Slightly above the least spacing, so that rounding to doubles does not take it below epsilon.
    return min(size * (1 + 1e-9), 0.5)


def _apart(moved: Floats, groups: list[Indices], moving: Indices, epsilon: float) -> bool:
    """Rows of a group at least epsilon apart in every moving column, in units of its new range: exactly."""
    for j in moving:
        least = Fraction(epsilon) * (Fraction(moved[:, j].max()) - Fraction(moved[:, j].min()))
        for group in groups:
            places = [Fraction(value) for value in np.sort(moved[group, j])]
            if any(above - below < least for below, above in itertools.pairwise(places)):
                return False
    return True
