"""The numbers of a fit: weights, value, bound and status, and what the shortlist held. Words are in ``describe``."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rerank.certificate import Certificate
from rerank.errors.telling import of_kind
from rerank.problem.proof import Proof
from rerank.ranks.rationals import is_closed
from rerank.statistics import RankStatistic

KEEPING = ("first_stage_kept", "already_ideal", "nothing_to_find", "nothing_to_reorder")
"""Statuses of a fit that ended with the first stage."""
CLAIM_SLACK = 1e-4  # relative difference between a solver's figures and exact ones that is rounding
UNUSED, LATE, UNREADY, CORRECTIONS, CLAIM = "unused", "late", "unready", "corrections", "claim"
"""Kinds of notes: a first stage whose score decides nothing, a fit whose time was over before its search, one whose
first stage has seen the rows that it scores, corrections in words, a solver's figure that its weights are not worth."""
BOUNDING = ("mixed", "pos_top", "auc", "pairwise")
"""Programs whose optimum is the problem's, for the statistics that they are used for."""
STATUSES = ("optimal", "optimal_by_solver", "feasible", *KEEPING)

SOURCES = {
    "ideal": "the ideal list",
    "search": "the search in weight space",
    "solver": "the solver, on its word",
    "rows": "the solver, on its word, of the program with your rows",
}
"""Where a bound may come from, in words."""

ON_WORD = ("solver", "rows")  # sources of bounds that nobody recomputes


@dataclass(frozen=True)
class ShortlistInfo:
    """The shortlist: lists, rows reranked, relevant among them, ties at the cut, repeats in the problem, features."""

    n_candidates: int | None
    n_rows: int
    n_head: int
    n_positive: int
    n_positive_head: int
    n_tied: int
    n_duplicates: int
    n_conflicts: int
    n_features: int
    constant_features: tuple[str, ...] = ()
    least_candidates: int | None = None


class Moment(NamedTuple):
    """What search and solver knew after some seconds of a fit, compiling not counted: a value found, and a bound."""

    seconds: float
    value: float
    bound: float


MOST_MOMENTS = 200  # moments that a result keeps


def history_of(moments: Iterable[Moment], value: float, bound: float) -> tuple[Moment, ...]:
    """The moments at which more was known, within the final ``value`` and ``bound``; of too many every second one."""
    kept: list[Moment] = []
    found, limit = -math.inf, math.inf
    for now in moments:
        # A solver counts pairs within its tolerance, and the end of a fit recounts them exactly.
        found, limit = max(found, min(now.value, value)), min(limit, max(now.bound, bound))
        if not kept or (found, limit) != kept[-1][1:]:
            kept.append(Moment(now.seconds, found, limit))
    while len(kept) > MOST_MOMENTS:
        kept = [*kept[:-1:2], kept[-1]]
    return tuple(kept)


@dataclass(frozen=True, eq=False, kw_only=True)
class Solution:
    """The solution of a problem: weights, their verified value and a bound.

    The pairs are ``value`` and ``bound``, ``statistic`` and ``statistic_bound``. No allowed weights (signs,
    ``max_features``, radius) have a value above ``bound``, margin and penalty included. It does not bound
    ``statistic``, which can be larger, as pairs won by less than the margin count there; ``statistic_bound`` does,
    known where the statistic counts a tied pair as one half and the value is proved
    (:func:`rerank.search.statistic_bound`). A solver's bound is not verified; "rows" is one of a program with rows of
    the user's own, and of the weights that it admits.
    """

    weights: NDArray[
        np.float64
    ]  # (features,), scaled: max|w_j| is 1, less with rows that have a scale, more of whole numbers; or none
    value: float  # of the weights, margin and penalty included, exact and rounded down, tail included
    bound: float
    bound_source: str  # ideal, search, solver or rows
    bound_solver: str | None = None  # the solver whose word the bound is, with its version
    certificate: Certificate | None = None  # exact value, statistic and smallest margin of the weights
    program_value: float | None = None  # what the solver reports for its own program, as is its bound
    program_bound: float | None = None
    formulation: str | None = None  # the program that was solved
    model_size: Mapping[str, int] | None = None  # cells, columns, non-zeros of the program handed to a solver
    start_value: float | None = None  # from which search or solver started
    start_accepted: bool | None = None  # whether the solver used the start; None if it does not report it
    nodes: int = 0  # boxes and nodes explored
    proof: Proof | None = None  # the search's record of splits, if ``proof=True``
    notes: tuple[str, ...] = ()  # further remarks, one sentence each
    gave_up: bool = False  # whether the search ended open before its time; a note says why
    changed: bool = False  # whether the weights are of a program of the user's (Reranker.fit_model)
    statistic_bound: float | None = None
    history: tuple[Moment, ...] = ()  # of search and solver; no file keeps times, which differ from run to run

    @property
    def gap(self) -> float:
        """``bound - value``: no value exceeds that of the weights by more."""
        return max(0.0, self.bound - self.value)

    def noting(self, *notes: str) -> Self:
        """The same with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    @property
    def claims_too_much(self) -> bool:
        """Whether a solver's figure is above a bound that was proved, by more than rounding."""
        claim = self.program_value
        return (
            claim is not None
            and self.bound_source not in ON_WORD
            and claim > self.bound + CLAIM_SLACK * max(1.0, abs(self.bound))
        )

    @property
    def bounds_too_little(self) -> bool:
        """Whether a solver's bound on a program with the problem's optimum is below the value, or below its own figure
        for its weights, by more than rounding.
        """
        bound, claim = self.program_bound, self.program_value
        if bound is None:
            return False
        counted = self.formulation in BOUNDING and not self.changed
        least = max(self.value if counted else -math.inf, -math.inf if claim is None else claim)
        return bound < least - CLAIM_SLACK * max(1.0, abs(least))

    @property
    def fell_behind(self) -> bool:
        """Whether a solver that took the start has a smaller figure, in a program where both are values."""
        claim, start = self.program_value, self.start_value
        if claim is None or start is None or not self.start_accepted:
            return False
        same = self.formulation in BOUNDING and not self.changed
        return same and claim < start - CLAIM_SLACK * max(1.0, abs(start))

    def within_bound(self) -> Self:
        """The same without a solver's figures if they contradict the value or a bound that was proved."""
        if self.bounds_too_little:
            return replace(self, program_bound=None).within_bound()
        if not self.claims_too_much:
            return self
        without = replace(self, program_value=None, program_bound=None)
        if of_kind(self.notes, CLAIM):
            return without
        return without.noting(
            f"The solver's own figure for its weights, {self.program_value:.9g}, is left out: it is above the proved "
            f"bound {self.bound:.9g}, so it holds within the solver's tolerance only."
        )


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What was asked of a fit beside its numbers. It follows from task, columns and stage; no file keeps it."""

    statistic: RankStatistic | None = None  # the user's own; None where it is not known
    who: str = "allowed weights"  # what the bound speaks of, such as "weights of these 3 columns"
    limits: tuple[str, ...] = ()  # those that the bound had
    first_stage: str = "the first stage"  # in words
    smoothed: str = ""  # what was fitted in place of the statistic, in words
    margin: str = ""  # one that the user or the choice set, in words; "" for the smallest
    hits: bool = False  # whether every gain is known to be 0 or 1, so that hits are rows
    weights: tuple[tuple[str, float], ...] = ()  # columns with their weights
    constraints: tuple[str, ...] = ()  # as they were given

    @property
    def them(self) -> str:
        """What the bound speaks of, with its limits."""
        return f"{self.who} ({', '.join(self.limits)})" if self.limits else self.who


def status_of(solution: Solution) -> str:
    """``optimal``, ``optimal_by_solver`` or ``feasible``."""
    if not is_closed(solution.bound - solution.value, solution.value):
        return "feasible"
    return "optimal_by_solver" if solution.bound_source in ON_WORD else "optimal"
