"""Answers of rows to questions, counted: equal rows once."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.scorecard.kernels import AREA, LOGLOSS, PARTIAL, PLACES, Entries, Worth, count_groups
from rerank.scorecard.likelihood import LogLoss
from rerank.scorecard.value import NOTHING, gains_of
from rerank.statistics import AUC, RankStatistic, presentation

FINEST = 10**6  # rows are counted in parts of a row: at most so many, for weights that are no whole numbers
LONGEST = 10**8  # rows of a list whose places are held in memory, for statistics that are not areas


@dataclass(frozen=True, eq=False)
class AnswerPatterns:
    """The rows of a table by their answers, equal ones once: how many rows of the table each stands for."""

    answers: NDArray[np.uint8]  # (questions, rows)
    relevant: NDArray[np.int64]  # (rows,): in parts of ``unit`` to a row
    other: NDArray[np.int64]
    lists: NDArray[np.int64]  # (rows,): number of the list
    people: NDArray[np.int64]  # (rows,): number of the kind of people
    unit: int
    entries: Entries

    @property
    def cells(self) -> int:
        """Relevant and other rows of each list."""
        return 2 * (int(self.lists.max()) + 1)

    @property
    def totals(self) -> NDArray[np.int64]:
        """Relevant and other rows of each list, (lists, 2), in units."""
        return np.stack([np.bincount(self.lists, side).astype(np.int64) for side in (self.relevant, self.other)], 1)

    def groups(self, members: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of each group of some questions: by class of each list, and by class of each kind of people."""
        size, chosen = 1 << len(members), np.ascontiguousarray(members, dtype=np.int64)
        by_list = np.zeros((size, self.cells), np.int64)
        by_kind = np.zeros((size, 2 * (int(self.people.max()) + 1)), np.int64)
        count_groups(self.answers, chosen, self.relevant, self.other, self.lists, self.people, by_list, by_kind)
        return by_list, by_kind


def counted(
    answers: NDArray[np.bool_],
    relevant: NDArray[np.bool_],
    weight: NDArray[np.float64],
    lists: NDArray[np.int64],
    people: NDArray[np.int64],
) -> AnswerPatterns:
    """Count the rows of a table by their answers (questions, n), class, list and kind of people."""
    units, unit = in_units(weight)
    key = np.hstack([np.packbits(answers.T, axis=1), lists[:, None].view(np.uint8), people[:, None].view(np.uint8)])
    _, row, number = np.unique(
        np.ascontiguousarray(key).view(f"V{key.shape[1]}")[:, 0], return_index=True, return_inverse=True
    )
    sides = [np.bincount(number, units * side, row.size).astype(np.int64) for side in (relevant, ~relevant)]
    different = np.ascontiguousarray(answers[:, row])
    entries = _entries(different, sides, lists[row])
    return AnswerPatterns(different.view(np.uint8), sides[0], sides[1], lists[row], people[row], unit, entries)


def in_units(weight: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    """Weights of rows as whole numbers, and how many make a row. Exact where the weights have a common denominator of
    at most :data:`FINEST`; else rounded to parts of a row so small that the largest weight is :data:`FINEST` parts.
    """
    different, number = np.unique(weight, return_inverse=True)
    exact = [Fraction(repr(float(value))) for value in different]
    unit = 1
    for value in exact:
        unit = math.lcm(unit, value.denominator)
        if unit > FINEST:
            break
    if unit > FINEST:
        unit = max(1, math.floor(FINEST / float(different[-1])))
    found = np.array([round(value * unit) for value in exact], dtype=np.float64)
    if found @ np.bincount(number) >= 2.0**53:
        raise InputError(
            f"The weights of the rows add up to {float(weight.sum()):.3g}, which is too much to count; divide them by "
            "a common number."
        )
    return found.astype(np.int64)[number], unit


def _entries(answers: NDArray[np.bool_], sides: Any, lists: NDArray[np.int64]) -> Entries:
    """The rows, part by part."""
    rows, factor, cell = [], [], []
    for of in range(int(lists.max()) + 1):
        for which, side in enumerate(sides):
            own = np.flatnonzero((lists == of) & (side > 0))
            for power in range(int(side[own].max(initial=0)).bit_length()):
                rows.append(own[(side[own] >> power) & 1 == 1].astype(np.int32))
                factor.append(1 << power)
                cell.append(2 * of + which)
    rare = answers ^ (2 * answers.sum(axis=1) > answers.shape[1])[:, None]
    start = np.concatenate([[0], np.cumsum([own.size for own in rows])])
    return Entries(
        np.ascontiguousarray(rare.T).view(np.uint8),
        np.concatenate(rows),
        *(np.array(values, np.int64) for values in (start, factor, cell)),
    )


def worth_of(
    statistic: RankStatistic | LogLoss, rate: float | None, data: AnswerPatterns, list_weight: NDArray[np.float64]
) -> Worth:
    """The statistic on the lists of a table; ``rate`` is the greatest false positive rate of a partial area. Lists that
    have nothing to order (for areas no row of a class, for normalised statistics no relevant row) count nothing.
    Statistics whose places pay by the relevant rows above are refused.
    """
    totals = data.totals.astype(np.float64)
    pairs, others, unit = totals[:, 0] * totals[:, 1], totals[:, 1].copy(), float(data.unit)
    if isinstance(statistic, LogLoss):
        if len(totals) > 1:
            raise InputError("stat='logloss' is a mean over all rows, and there are several lists; leave qid out.")
        every, none = totals.sum(axis=1), np.zeros(1)
        return Worth(
            kind=LOGLOSS,
            unit=unit,
            constant=0.0,
            scale=every,
            others=others,
            limit=none,
            earned=none,
            start=np.zeros(1, np.int64),
        )
    if rate is not None or isinstance(statistic, AUC):
        weight = np.where(pairs > 0, list_weight, 0.0)
        return Worth(
            kind=AREA if rate is None else PARTIAL,
            unit=unit,
            constant=0.0,
            scale=_divisors(pairs, weight),
            others=others,
            limit=others * (rate or 0.0),
            earned=np.zeros(1),
            start=np.zeros(len(pairs), np.int64),
        )
    if statistic.weighs_hits:
        raise InputError(
            f"{statistic.name} pays a relevant row by those above it, and no bound of a card is known for such "
            "statistics; use auc, dcg@N or precision@N."
        )
    earned, starts, shown = [], [0], []
    for (relevant, other), own in zip((totals / data.unit).tolist(), list_weight.tolist()):
        n = math.ceil(relevant + other)
        if n > LONGEST:
            raise InputError(f"A list has {n} rows, and {statistic.name} counts {LONGEST} at most; use auc.")
        shown.append(presentation(statistic, n, gains_of(n, relevant)) if own and relevant else (0.0, 0.0))
        # One place more: what lies behind the last one earns nothing.
        earned.append(np.concatenate([[0.0], np.cumsum(statistic.coefficients(n)[::-1]), [0.0]]))
        earned[-1][-1] = earned[-1][-2]
        starts.append(starts[-1] + earned[-1].size)
    offset, each = np.array(shown).T
    weight = np.where(each > 0, list_weight, 0.0)
    scale = _divisors(each, weight)
    return Worth(
        kind=PLACES,
        unit=unit,
        constant=-math.fsum(offset / scale),
        scale=scale,
        others=others,
        limit=np.zeros(len(scale)),
        earned=np.concatenate(earned),
        start=np.array(starts[:-1]),
    )


def _divisors(each: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the lists' earnings are divided by: their scales over their shares of the weight."""
    if not weight.any():
        raise InputError(NOTHING)
    counts = weight > 0
    return np.where(counts, each, 1.0) * np.divide(weight.sum(), weight, out=np.full(len(weight), np.inf), where=counts)
