"""The problem as flat arrays of rows, for lists too long for a table of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.search.places import MOST_NUMBERS, last_hit, places_of, starts
from rerank.search.rows.choice import rough, smooth_from
from rerank.search.rows.lists import Lists, Paid
from rerank.search.tables import spacing, tolerance

if TYPE_CHECKING:
    from rerank.problem import Problem, RankedList
    from rerank.search.rows.smooth import Sample

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class RowTables:
    """Rows list by list, positives first, and what places earn.

    A list here is binary: a list with several grades stands once for each of its thresholds.

    Attributes
    ----------
    rows : float64 (n, d)
        Scaled features list by list, the highest gain first, minus one point of each list: differences stay the same.
    order : intp (n,)
        Rows of the problem that they are.
    lists : Lists
        The lists with their several grades, and what the places of the binary ones earn.
    entries : int32 (E,)
        Row numbers of every binary list.
    n_positive, n_rows : int32 (U,)
        Of each list.
    constant, epsilon, tolerance, spacing : float
        Of the problem; the tolerance covers two rows.
    rough : bool
        Whether the steps of the value along a line are too many to look at each.
    """

    rows: Floats
    order: NDArray[np.intp]
    lists: Lists
    entries: Ints
    n_positive: Ints
    n_rows: Ints
    constant: float
    epsilon: float
    tolerance: float
    spacing: float
    rough: bool
    integral = False
    linear = False
    grain = 0.0
    total = 0.0

    @cached_property
    def size(self) -> int:
        """What one evaluation of everything counts as."""
        return int(self.entries.size)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.rows.shape[1]

    @cached_property
    def ideal(self) -> float:
        """Value of all positives on top."""
        paid = self.lists.paid
        parts = zip(paid.coef_start[:-1], paid.hit_start[:-1], np.minimum(paid.places, self.n_positive), strict=True)
        if paid.hits.size:
            return float(sum((paid.coef[p : p + n] * paid.hits[q : q + n]).sum() for p, q, n in parts))
        return float(sum(paid.coef[p : p + n].sum() for p, _, n in parts))

    @cached_property
    def slack(self) -> float:
        """A box is fathomed when its bound beats the incumbent by no more than this (rounding of sums)."""
        paid = self.lists.paid
        return 1e-13 * max(float(paid.coef.sum()) * paid.hits.max(initial=1.0), 1e-300)

    def to_value(self, inner: float) -> float:
        """From the kernels' unit to the problem's."""
        return float(self.constant + inner)

    @property
    def covariance(self) -> Floats:
        """Covariance of the differences of rows, of every so many where there are very many."""
        return 2.0 * np.atleast_2d(np.cov(self.rows[:: 1 + self.rows.size // MOST_NUMBERS].T))

    @cached_property
    def _whole(self) -> Sample:
        from rerank.search.rows.smooth import whole

        return whole(self)

    @cached_property
    def _samples(self) -> dict[int, Sample]:
        return {}

    def sample(self, most: int) -> Sample:
        """About so many rows as the smooth stand-in for the value takes them, always the same ones."""
        from rerank.search.rows.smooth import sampled

        if most >= self.rows.shape[0]:
            return self._whole
        if most not in self._samples:
            self._samples[most] = sampled(self._whole, most, np.random.default_rng(0))
        return self._samples[most]

    @cached_property
    def spread(self) -> Floats:
        """Covariance of the columns inside lists, of a sample where there are very many rows."""
        from rerank.search.rows.smooth import spread

        return spread(self.sample(max(10 * MOST_NUMBERS // self.n_features**2, 40 * self.n_features)))

    @property
    def smooth(self) -> bool:
        """Whether climbs begin on the smooth stand-in for the value."""
        return self.n_features >= smooth_from(self.lists.begin.size - 1)


def _centre(rows: Floats, item: RankedList, anchored: bool) -> Floats:
    """What is subtracted from the rows of a list: rows near it have the narrowest intervals.

    Any point will do. Rows near the last place that earns something decide the value: those around it by the given
    score of an anchored problem, else the relevant rows.
    """
    near: Any = slice(int(np.count_nonzero(item.gains > 0)))  # the highest gains come first
    if anchored:
        places = max(int(np.count_nonzero(item.coefficients)), 2)
        near = np.argsort(-rows[:, 0], kind="stable")[places // 2 : 2 * places]
    chosen = rows[near]
    return chosen.mean(axis=0) if chosen.size else rows[0]


def row_tables(problem: Problem, scale: Floats) -> RowTables:
    """Flatten a problem; ``scale`` holds what columns are multiplied by, so that weights become coordinates."""
    levels = [np.searchsorted(item.thresholds(), item.gains, side="right") for item in problem.lists]
    orders = [np.argsort(-level, kind="stable") for level in levels]
    order = np.concatenate([item.rows[o] for item, o in zip(problem.lists, orders, strict=True)])
    rows = (problem.scaled * scale)[order]
    begin, first_unit = starts(levels), np.cumsum([0, *(q.thresholds().size for q in problem.lists)])
    for q, item in enumerate(problem.lists):
        mine = rows[begin[q] : begin[q + 1]]
        mine -= _centre(mine, item, problem.anchored)
    units = problem.units
    home = np.repeat(np.arange(begin.size - 1), np.diff(first_unit))
    places = [places_of(unit.factor, unit.coefficients) for unit in units]
    hits = [unit.hits.astype(np.float64) if problem.weighs_hits else np.empty(0) for unit in units]
    coef_start, n_rows = starts(places).astype(np.int64), np.diff(begin)[home]
    # One type of whole numbers but for the rows' own: each mixture of two compiles functions again.
    paid = Paid(
        np.minimum(np.diff(coef_start), n_rows).astype(np.int64), coef_start, np.concatenate([np.empty(0), *places]),
        starts(hits).astype(np.int64), np.concatenate([np.empty(0), *hits]),
        np.array([last_hit(unit.hits) for unit in units], np.int64),
    )  # fmt: skip
    return RowTables(
        rows=rows,
        order=order,
        lists=Lists(
            begin.astype(np.int64),
            np.concatenate([x[o] for x, o in zip(levels, orders, strict=True)]).astype(np.int32),
            first_unit.astype(np.int64),
            paid,
        ),
        entries=np.concatenate([np.empty(0), *(np.arange(begin[q], begin[q + 1]) for q in home)]).astype(np.int32),
        n_positive=np.array([unit.positive.size for unit in units], np.int32),
        n_rows=n_rows.astype(np.int32),
        constant=problem.constant,
        epsilon=float(problem.epsilon),
        tolerance=4.0 * tolerance(problem),
        spacing=spacing(problem),
        rough=rough(problem),
    )
