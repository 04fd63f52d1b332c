"""What supports weights that were read from a file: a bound on a solver's word, and a search that tries to prove."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING

from rerank.errors import CertificateError, InputError
from rerank.io.options import real
from rerank.problem import Problem
from rerank.ranks.rationals import is_closed
from rerank.reranker.clock import Clock
from rerank.reranker.result import Result
from rerank.reranker.solution import Moment, history_of
from rerank.reranker.solve.optimise import solve
from rerank.reranker.solve.verified import summed
from rerank.reranker.task import Task
from rerank.solvers.outcome import AGREE

if TYPE_CHECKING:
    from formulations.program import Program


@dataclass(frozen=True)
class Support:
    """What is asked for besides the weights.

    Attributes
    ----------
    bound : float, optional
        A solver's bound, as it prints it for the file of the program, which minimises and holds no constant.
    by : str, optional
        Whose word that is: solver and version.
    prove : float, optional
        Seconds for a search that starts from the weights.
    """

    bound: float | None = None
    by: str | None = None
    prove: float | None = None

    def __post_init__(self) -> None:
        if (self.bound is None) != (not self.by):
            raise InputError(
                "A bound on a solver's word needs both the number and the solver; give bound and by, or neither "
                "(--bound and --by)."
            )
        if self.bound is not None and not (isinstance(self.bound, Real) and math.isfinite(self.bound)):
            raise InputError(f"bound is {self.bound!r}; it must be a finite number.")
        if self.prove is not None:
            real("prove", self.prove, 0.0)

    def bounded(self, result: Result, program: Program, bounds: bool) -> Result:
        """The result with the bound on the solver's word, if that program ``bounds`` the value."""
        if self.bound is None or self.by is None:
            return result
        bound, value = program.constant - self.bound, result.value
        result = replace(result, program_bound=bound)
        if not bounds:
            return result.noting(
                f"{self.by} bounds the {result.formulation} program, as it was stated, by {bound:.9g}; that program "
                "asks more than the problem, so this is no bound on the value."
            )
        self.check(bound, value, program.constant)
        if is_closed(result.bound - max(bound, value), value):
            return result.noting(
                f"The bound that the model had, {result.bound:.9g}, is kept: that of {self.by} is not smaller."
            )
        return replace(result, bound=max(bound, value), bound_source="solver", bound_solver=self.by)

    def check(self, bound: float, value: float, constant: float) -> None:
        """Refuse a bound on the value below the value; ``constant`` is what the program's file lacks of it."""
        if bound < value - AGREE * max(1.0, abs(value)):
            raise InputError(
                f"A bound of {self.bound:.9g} by {self.by} would mean that no value exceeds {bound:.9g}, and these "
                f"weights are worth {value:.9g}; give the bound as {self.by} prints it for the program's file, in "
                f"which they are worth {constant - value:.9g}."
            )

    def proved(self, result: Result, problem: Problem, task: Task) -> Result:
        """The result after a search from its weights; better weights take their place, and that is said."""
        if self.prove is None:
            return result
        clock = Clock(self.prove)
        asked = replace(task, solver="search", presolve=True, node_limit=None, checkpoint=None, judged=False)
        found = solve(problem, asked, clock, result.weights)
        if not is_closed(result.value - found.bound, found.bound, summed(problem)):
            raise CertificateError(
                f"The search says that no value exceeds {found.bound:.12g}, but these weights are worth "
                f"{result.value:.12g} when recomputed exactly; please report this."
            )
        proof, more = found.proof, found.value - result.value
        result = replace(result, nodes=found.nodes, proof=proof, gave_up=found.gave_up, seconds=clock.report()).noting(
            *found.notes
        )
        if not is_closed(more, result.value, summed(problem)) and found.certificate is not None:
            result = replace(
                result,
                weights=found.weights,
                value=found.value,
                certificate=found.certificate,
                statistic=float(found.certificate.statistic),
            ).noting(f"The search found weights that are worth {more:.6g} more than those of the file; they are taken.")
        bound = max(found.bound, result.value)
        if is_closed(bound - result.bound, bound, summed(problem)):
            result = replace(result, bound=bound, bound_source=found.bound_source, bound_solver=None)
        end = Moment(clock.spent, result.value, result.bound)
        return replace(result, history=history_of([*found.history, end], *end[1:]))


NOTHING = Support()
