"""Lines and single points of long lists, without pairs.

Along ``w + tau u`` the score of a row is a straight line in ``tau``.  Few lists are solved by the branch and bound
over boxes, with two columns: the scores of ``w`` and of ``u``.  It ends with the best point of the line, unless the
work that a line may cost ends it.  Where there are many lists their jumps lie so close that a grid finds as good a
point sooner; it is refined around its best point.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rerank.search.lines.search import LineSearch, Point
from rerank.search.rows.tables import RowTables

if TYPE_CHECKING:
    from rerank.search.domain import Domain
    from rerank.search.rows.levels import Levels, Scratch
    from rerank.search.tables import Tables

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

FEW_LISTS = 200  # up to which lines are solved by boxes
LINE_WORK = 60.0  # evaluations of every row that a line may cost
GRID = np.tan(np.linspace(-1.5, 1.5, 15))  # places on a line, as angles to its point, of a first look,
ZOOMS, FINER = 3, np.linspace(-1.0, 1.0, 9)[[0, 1, 2, 3, 5, 6, 7, 8]]  # and around the best place so far
SMALLEST = 2.0**-40  # half-width of a piece of a line that is not split further


@dataclass(eq=False)
class RowLines(LineSearch):
    """Line searches on rows; see :class:`rerank.search.lines.search.LineSearch`."""

    _memory: tuple[Levels, Scratch] | None = field(default=None, init=False)

    @property
    def cost(self) -> float:
        """Evaluations of a row that a line costs."""
        return 50.0 * self.tables.size

    def line(self, w: Floats, u: Floats, features: Indices | None = None) -> Point:
        """A good point on ``w + tau u``, the best one where lists are few, and its value; ``features`` is not read."""
        self.lines += 1
        size = float(np.abs(u).max())
        if size == 0.0:
            return self.value(w), w
        u = u * (max(float(np.abs(w).max()), 1e-300) / size)
        low, high = self.domain.interval(w, u)
        scores = self.tables.rows @ np.column_stack([w, u])
        few = self.tables.n_rows.size <= FEW_LISTS
        value, a, b = self._boxes(w, u, scores, low, high) if few else self._grid(w, u, scores, low, high)
        if not np.isfinite(value):
            return -np.inf, w
        out = self.domain.normal(a * w + b * u)
        # The value at the point as it is rounded, which is what counts.
        return self.value(out), out

    def value(self, w: Floats, sign: float = 1.0) -> float:
        """Value of a point in the tables' unit; pairs within rounding of the margin are lost, or won for sign -1."""
        return self._worth(self.tables.rows @ w, self.domain.norm(w), sign)

    def _worth(self, scores: Floats, norm: float, sign: float = 1.0) -> float:
        from rerank.search.rows.unit import total_worth
        from rerank.search.rows.workspace import instance

        t = self.tables
        levels, scratch = self._arrays()
        margin = t.epsilon * norm + sign * t.tolerance * max(norm, 1.0)
        return float(total_worth(instance(t), levels, scores, margin, scratch))

    def _arrays(self) -> tuple[Levels, Scratch]:
        from rerank.search.rows import workspace

        if self._memory is None:
            self._memory = workspace.levels(self.tables), workspace.scratch(self.tables, 3, 2)
        return self._memory

    def _boxes(self, w: Floats, u: Floats, scores: Floats, low: float, high: float) -> tuple[float, float, float]:
        """Best value on the line, and the coefficients of ``w`` and ``u`` at its point."""
        from rerank.search.boxes.stack import Boxes
        from rerank.search.rows.kernel import explore
        from rerank.search.rows.workspace import instance

        t = self.tables
        levels, scratch = self._arrays()
        pieces = [(max(low, -1.0), min(high, 1.0), 0.0)]  # tau within -1 .. 1, beyond 1 and beneath -1
        pieces += [(max(0.0, 1.0 / high), min(1.0, 1.0 / max(low, 1.0)), 1.0)] if high > 1.0 else []
        pieces += [(max(0.0, -1.0 / low), min(1.0, -1.0 / min(high, -1.0)), -1.0)] if low < -1.0 else []
        pieces = [(a, z, side) for a, z, side in pieces if a <= z]
        if not pieces:
            return -np.inf, 1.0, 0.0
        centre = np.array([((a + z) / 2, s) if s else (1.0, (a + z) / 2) for a, z, s in pieces])
        half = np.array([((z - a) / 2, 0.0) if s else (0.0, (z - a) / 2) for a, z, s in pieces])
        n = len(pieces)
        todo = Boxes(
            centre, half, np.full(n, t.ideal + t.slack), np.arange(n), np.zeros((n, 0), np.int32)
        )
        scratch.notes[:] = 0
        given = instance(t, self.domain.norming(np.column_stack([w, u])), scores)
        work = LINE_WORK * t.size
        found, best, *_ = explore(given, levels, scratch, todo, -1.0, t.slack, -np.inf, work, SMALLEST, n)
        return float(found), float(best[0]), float(best[1])

    def _grid(self, w: Floats, u: Floats, scores: Floats, low: float, high: float) -> tuple[float, float, float]:
        best, at, width = -np.inf, 0.0, 0.2
        for turn in range(1 + ZOOMS):
            # Around a place tau the steps are in units of what turns the weights by the same angle.
            places = GRID if turn == 0 else at + width * (1.0 + at * at) * FINER
            for tau in places:
                if low <= tau <= high and not (self.late and np.isfinite(best)):
                    norm = self.domain.norm(w + tau * u)
                    value = self._worth(scores[:, 0] + tau * scores[:, 1], norm)
                    if value > best:
                        best, at = value, float(tau)
            width *= 0.2
        return best, 1.0, at


def lines_on(
    tables: Tables | RowTables, domain: Domain, random_state: int = 0, deadline: float = np.inf
) -> LineSearch:
    """Line searches on tables of pairs or of rows."""
    if isinstance(tables, RowTables):
        return RowLines(tables, domain, random_state, deadline)
    return LineSearch(tables, domain, random_state, deadline)
