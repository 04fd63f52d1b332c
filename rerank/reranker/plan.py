"""How a problem is to be solved, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from rerank.reranker.solve.verified import Judged
from rerank.statistics import RankStatistic


@dataclass(frozen=True, eq=False)
class Plan:
    """How to solve.

    Attributes
    ----------
    statistic : RankStatistic
    formulation, solver : str
    presolve : bool
    n_jobs : int or None
    random_state : int
    proof : bool
        Whether the search keeps its record of splits.
    verbose : int
        1 for a live line on a terminal, 2 for the solver's log.
    """

    statistic: RankStatistic
    formulation: str = "subrank"
    solver: str = "highs"
    presolve: bool = True
    n_jobs: int | None = None
    random_state: int = 0
    proof: bool = False
    verbose: int = 0


@dataclass(frozen=True, eq=False)
class Solved:
    """Judged weights, the bound and how they came about; fields as in :class:`rerank.reranker.result.Result`."""

    judged: Judged
    bound: float
    bound_source: str
    start_value: float | None = None
    start_accepted: bool | None = None
    program_value: float | None = None
    program_bound: float | None = None
    formulation: str | None = None
    model_size: dict[str, int] | None = None
    nodes: int = 0
    proof: Any = None
    notes: tuple[str, ...] = field(default=())

    @property
    def gap(self) -> float:
        """Bound minus value, at least 0."""
        return max(0.0, self.bound - self.judged.value)

    def noting(self, *notes: str) -> Solved:
        """The same with further notes."""
        return replace(self, notes=(*self.notes, *notes))
