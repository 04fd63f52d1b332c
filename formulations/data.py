"""What a program ranks: binary lists over rows of ``X``, and what each place of a list pays."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.errors import FormulationError

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Coefficients = ArrayLike | Callable[[int], ArrayLike]


@dataclass(frozen=True, eq=False)
class Unit:
    """One binary list: ``factor * sum_i a_(rank of i + 1)`` over its positive rows.

    A list with grades is several units on the same rows, one for each threshold of gain.

    Attributes
    ----------
    positive, negative : intp arrays
        Rows of ``X``, disjoint.
    coefficients : float64 array (m,)
        ``a_1 <= ... <= a_m`` with ``m`` the number of rows; ``a_m`` belongs to the top of the list.
    factor : float
        Non-negative multiplier: step of gain times weight of the list over its scale.
    """

    positive: Indices
    negative: Indices
    coefficients: Floats
    factor: float = 1.0


@dataclass(frozen=True, eq=False)
class GradedList:
    """Units that rank the same rows by the same coefficients, nested in their positive rows."""

    rows: Indices  # (m,), ascending
    grade: Indices  # (m,): in how many of the units the row is positive
    factor: Floats  # (m,): sum of the factors of those units, what the row earns for a coefficient of 1
    coefficients: Floats  # (m,)
    units: tuple[Unit, ...]  # fewest positive rows first

    @property
    def relevant(self) -> Indices:
        """Rows that are positive in at least one unit, ascending."""
        return self.rows[self.grade > 0]

    def levels(self) -> list[int]:
        """``l >= 2`` with ``a_l > a_(l-1)``: the set ``S_r`` of [RudinWang2018]."""
        return (np.flatnonzero(np.diff(self.coefficients) > 0) + 2).tolist()

    def step(self, level: int) -> float:
        """``a_l - a_(l-1)``."""
        return float(self.coefficients[level - 1] - self.coefficients[level - 2])


def units_from_labels(
    X: ArrayLike, y: ArrayLike, coefficients: Coefficients, qid: ArrayLike | None = None
) -> tuple[Unit, ...]:
    """Units of labelled rows: one for each list and distinct positive gain, lists in equal shares.

    ``y`` (n,) holds gains, 0 for an irrelevant row, ``coefficients`` are ``a_1 .. a_m`` or a function of the number of
    rows, needed where lists differ in length, and ``qid`` is the list of each row. Lists without a gain are left out.
    """
    gains = np.asarray(y, dtype=np.float64)
    n = np.shape(X)[0]
    names = np.zeros(n, np.intp) if qid is None else np.asarray(qid)
    if gains.shape != (n,) or names.shape != (n,):
        raise FormulationError(
            f"X has {n} rows but y has shape {gains.shape} and qid {names.shape}; give one entry a row."
        )
    if not np.isfinite(gains).all() or (gains < 0).any():
        raise FormulationError(
            f"Row {np.flatnonzero(~(gains >= 0) | np.isinf(gains))[0]} has no finite, non-negative gain."
        )
    kept = [rows for q in np.unique(names) if (gains[rows := np.flatnonzero(names == q)] > 0).any()]
    if not kept:
        raise FormulationError("No row has a positive gain: there is nothing to rank.")
    return tuple(unit for rows in kept for unit in _thresholds(rows, gains[rows], coefficients, 1.0 / len(kept)))


def _thresholds(rows: Indices, gains: Floats, coefficients: Coefficients, share: float) -> list[Unit]:
    values = np.asarray(coefficients(rows.size) if callable(coefficients) else coefficients, dtype=np.float64)
    grades = np.unique(gains[gains > 0])
    return [
        Unit(rows[gains >= g], rows[gains < g], values, float(step * share))
        for g, step in zip(grades, np.diff(grades, prepend=0.0), strict=True)
    ]


def graded_lists(units: Iterable[Any], n_rows: int) -> tuple[GradedList, ...]:
    """Check units, or anything with their four attributes, and gather those that share rows and coefficients. Units of
    factor 0 are left out.
    """
    gathered: dict[tuple[bytes, bytes], list[Unit]] = {}
    for number, given in enumerate(units):
        unit = _checked(given, number, n_rows)
        if unit.factor > 0:
            rows = np.sort(np.concatenate([unit.positive, unit.negative]))
            gathered.setdefault((rows.tobytes(), unit.coefficients.tobytes()), []).append(unit)
    if not gathered:
        raise FormulationError("No unit has a positive row and a positive factor: there is nothing to rank.")
    lists = tuple(_merge(sorted(group, key=lambda unit: unit.positive.size)) for group in gathered.values())
    seen, count = np.unique(np.concatenate([item.rows for item in lists]), return_counts=True)
    if (count > 1).any():
        raise FormulationError(f"Row {seen[count > 1][0]} stands in two lists; give each list its own copy of the row.")
    return lists


def _merge(units: Sequence[Unit]) -> GradedList:
    rows = np.sort(np.concatenate([units[0].positive, units[0].negative]))
    grade, factor = np.zeros(rows.size, np.intp), np.zeros(rows.size)
    for smaller, larger in pairwise(units):
        if not np.isin(smaller.positive, larger.positive).all():
            raise FormulationError(
                "Units on the same rows are not nested: each must hold the positive rows of the one before."
            )
    for unit in units:
        inside = np.isin(rows, unit.positive)
        grade[inside] += 1
        factor[inside] += unit.factor
    return GradedList(rows, grade, factor, units[0].coefficients, tuple(units))


def _checked(unit: Any, number: int, n_rows: int) -> Unit:
    positive, negative = (np.asarray(side, dtype=np.intp).ravel() for side in (unit.positive, unit.negative))
    values = np.asarray(unit.coefficients, dtype=np.float64)
    rows = np.concatenate([positive, negative])
    if not positive.size:
        raise FormulationError(f"Unit {number} has no positive row; leave it out.")
    if rows.min() < 0 or rows.max() >= n_rows or np.unique(rows).size != rows.size:
        raise FormulationError(f"Unit {number} names a row twice or one outside 0..{n_rows - 1}.")
    if values.shape != (rows.size,):
        raise FormulationError(
            f"Unit {number} has {rows.size} rows but coefficients of shape {values.shape}; give one a row."
        )
    if not np.isfinite(values).all() or (np.diff(values) < 0).any() or values[0] < 0:
        raise FormulationError(f"Coefficients of unit {number} must be finite, non-negative and non-decreasing.")
    if not np.isfinite(unit.factor) or unit.factor < 0:
        raise FormulationError(f"Unit {number} has factor {unit.factor}; it must be a non-negative number.")
    return Unit(positive, negative, values, float(unit.factor))
