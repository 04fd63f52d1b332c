"""The rows of a problem as rationals, in coordinates of the search."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from rerank.problem import Problem
from rerank.problem.lists import Floats, Indices


@dataclass(frozen=True, eq=False)
class ExactRows:
    """Rows up to a shift that all have in common; an entry is computed when it is asked for first."""

    problem: Problem
    scale: Floats  # what columns are multiplied by, so that weights become coordinates
    _known: dict[tuple[int, int], Fraction] = field(default_factory=dict, init=False)

    @cached_property
    def _factors(self) -> list[Fraction]:
        p = self.problem
        ends = zip(self.scale.tolist(), p.low.tolist(), p.high.tolist(), strict=True)
        return [Fraction(s) / (Fraction(b) - Fraction(a)) for s, a, b in ends]

    def entry(self, i: int, j: int) -> Fraction:
        """Row ``i`` in column ``j``."""
        found = self._known.get((i, j))
        if found is None:
            found = self._known[i, j] = Fraction(float(self.problem.X[i, j])) * self._factors[j]
        return found

    def difference(self, i: int, k: int, features: Indices) -> tuple[Fraction, ...]:
        """Row ``i`` minus row ``k`` on some features."""
        return tuple(self.entry(i, j) - self.entry(k, j) for j in features.tolist())
