"""Good weights by climbing a smooth stand-in for the value that comes ever closer to it; lines then start there.

The value is a step function: a line sees its steps, but a coordinate at a time gets nowhere in many features.  Smoothed
(:mod:`rerank.search.rows.smooth`) it has a gradient.  A climb begins with a width of the order of the scores'
deviation, follows the gradient (L-BFGS), halves the width and goes on.  Many rows are sampled while the width is large.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rerank.errors.stops import current
from rerank.problem.lists import Floats
from rerank.search.domain import Domain
from rerank.search.tables import RowTables

if TYPE_CHECKING:
    from rerank.search.rows.smooth import Sample


WIDTHS = tuple(4.0 * 0.5**i for i in range(8))  # in deviations of the scores
ITERATIONS = 15  # at each width
ROWS = 50_000  # of the sample at the largest width; twice as many at each further one
A_STEP, A_TARGET, A_COLUMN = 1e4, 10.0, 0.5
"""Evaluations of a row that a step costs, and for each row a threshold, and a column."""
RIDGE = 1e-6  # of the largest variance, below which a direction counts as none


@dataclass(eq=False)
class Ascent:
    """Climbs on one problem; ``work`` counts evaluations of a row."""

    tables: RowTables
    domain: Domain
    work: float = 0.0

    def reached(self, v: Floats, width: float) -> Floats:
        """The point that the climb with one width reaches from ``v``."""
        basis, _ = self._axes
        start = np.linalg.lstsq(basis, v, rcond=None)[0] if self._free else v / np.diag(basis)
        part = self.tables.sample(ROWS * int(WIDTHS[0] / width))
        return self.domain.normal(basis @ self._climbed(part, self._inside(np.asarray(start)), width))

    def shaken(self, v: Floats, size: float, rng: np.random.Generator) -> Floats:
        """``v`` with its scores moved at random, by ``size`` of their deviation."""
        basis, _ = self._axes
        change = basis @ rng.standard_normal(basis.shape[1])
        if self.domain.anchored:
            change[0] = 0.0
        covariance = self.tables.spread
        deviations = [np.sqrt(max(float(x @ covariance @ x), 1e-300)) for x in (v, change)]
        return self.domain.normal(v + change * (size * deviations[0] / deviations[1]))

    def _climbed(self, part: Sample, start: Floats, width: float) -> Floats:
        from scipy.optimize import minimize

        from rerank.search.rows.smooth import scores_of, smoothed, weighted_sum

        rows, lists = part
        (basis, covariance), scratch, slopes = self._axes, part.scratch(), np.empty(rows.shape[0])
        each = A_TARGET * lists.target.size / max(lists.begin.size - 1, 1) + A_COLUMN * rows.shape[1]
        cost = A_STEP + each * rows.shape[0]
        best: list[Any] = [np.inf, start]

        def downhill(x: Floats) -> tuple[float, Floats]:
            if current().now:
                raise StopIteration
            moved = covariance @ x
            size = np.sqrt(max(float(x @ moved), 1e-300))
            scores = scores_of(rows, basis @ x / size)
            value = smoothed(scores, lists, width, slopes, scratch)
            slope = basis.T @ weighted_sum(rows, slopes) / size - (slopes @ scores) * moved / size**2
            self.work += cost
            if -value < best[0]:
                best[:] = [-value, x.copy()]
            return -value, -slope

        bounds = None if self._free else self._bounds
        with suppress(StopIteration):
            minimize(downhill, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": ITERATIONS})
        return np.asarray(best[1])

    @property
    def _free(self) -> bool:
        """Whether all directions are allowed."""
        return not (self.domain.anchored or self.domain.signed.any())

    @cached_property
    def _axes(self) -> tuple[Floats, Floats]:
        """Axes along which weights are sought, columns of a matrix, and the covariance of the scores along them."""
        covariance = self.tables.spread
        size = np.sqrt(np.diag(covariance))
        scale = np.where(size > 1e-9 * size.max(initial=1e-300), 1.0 / np.maximum(size, 1e-300), 0.0)
        correlation = covariance * np.outer(scale, scale)
        if not np.isfinite(correlation).all():  # columns too far apart in size: climbs along columns as they are
            covariance, correlation, scale = (np.eye(scale.size), np.eye(scale.size), np.ones(scale.size))
        if self._free:
            values, vectors = np.linalg.eigh(correlation)
            some = values > RIDGE * values[-1]
            basis = scale[:, None] * vectors[:, some] / np.sqrt(values[some])
        else:
            basis = np.diag(np.where(scale > 0, scale, 1.0))
        return np.ascontiguousarray(basis), basis.T @ covariance @ basis

    def _inside(self, x: Floats) -> Floats:
        """A start as the climb takes it: of deviation 1 where only directions count."""
        if self.domain.anchored:
            return x
        size = np.sqrt(float(x @ self._axes[1] @ x))
        return x / size if size > 0 else np.full(x.size, 1.0)

    @cached_property
    def _bounds(self) -> list[tuple[float, float]]:
        """What the coordinates along the axes, which are scaled columns, may be."""
        lower, upper = self.domain.lower, self.domain.upper
        if not self.domain.anchored:
            lower, upper = np.where(self.domain.signed, 0.0, -np.inf), np.full(lower.size, np.inf)
        scale = np.diag(self._axes[0])
        return list(zip(lower / scale, upper / scale, strict=True))
