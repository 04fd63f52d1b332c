"""What the end of a run of HiGHS means: its status and bound, checked against the points at hand."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rerank.errors import SolverError
from rerank.solvers.highs_listener import Listener
from rerank.solvers.outcome import Holds, Options, Outcome, Point, Stop

if TYPE_CHECKING:
    from formulations.compile import Program

STATUSES: dict[str, tuple[Stop, str]] = {
    "kOptimal": (Stop.finished, "optimal"),
    "kModelEmpty": (Stop.finished, "optimal"),
    "kInfeasible": (Stop.finished, "infeasible"),
    "kObjectiveBound": (Stop.finished, "infeasible"),
    "kUnboundedOrInfeasible": (Stop.finished, "unsure"),
    "kUnbounded": (Stop.finished, "unbounded"),
    "kTimeLimit": (Stop.time_limit, ""),
    "kIterationLimit": (Stop.node_limit, ""),
    "kSolutionLimit": (Stop.node_limit, ""),
    "kInterrupt": (Stop.interrupted, ""),
    "kHighsInterrupt": (Stop.interrupted, ""),
    "kMemoryLimit": (Stop.error, "ran out of memory"),
    "kPresolveError": (Stop.error, "failed in presolve"),
    "kSolveError": (Stop.error, "failed in the solve"),
    "kPostsolveError": (Stop.error, "failed in postsolve"),
    "kUnknown": (Stop.error, "ended in a state it calls unknown"),
}
"""Model status of HiGHS -> why it stopped, and its claim. ``mip_max_nodes`` ends in ``kSolutionLimit``."""

CLOSED = 1e-6
"""Gap, relative to the objective or to 1, up to which a finished search counts as closed."""


@dataclass(frozen=True, eq=False)
class Ended:
    """How a run of HiGHS ended.

    Attributes
    ----------
    listener : Listener
        With the program, the best point and the log.
    options : Options
    version : str
    status : str
        A key of :data:`STATUSES`.
    came_back : bool
        False if HiGHS did not stop in time and was left behind; what follows then says nothing.
    final : Point or None
        The point HiGHS returned, even if it violates the program.
    dual_bound : float
        In the minimise sense; of a program with integers.
    nodes : int
    refused : bool
        Whether there was a start and it was not handed over.
    remarks : sequence of str
    """

    listener: Listener
    options: Options
    version: str
    status: str
    came_back: bool
    final: Point | None
    dual_bound: float
    nodes: int
    refused: bool
    remarks: Sequence[str]

    def contradiction(self) -> str | None:
        """A sentence if the claim cannot be true of this program and the points at hand."""
        claim, best, final = STATUSES[self.status][1], self.listener.best, self.final
        program, cutoff, own = (
            described(self.listener.program),
            self.options.cutoff,
            self.listener.program.own,
        )
        if claim == "unsure" and cutoff is None:
            return endless("HiGHS", self.listener.program, sure=False)
        if claim == "unbounded":
            return endless("HiGHS", self.listener.program, sure=True)
        if claim == "infeasible" and best is not None and cutoff is None:
            return f"HiGHS calls {program} infeasible, but a feasible point is at hand."
        if claim == "optimal" and final is not None and cutoff is None:
            if final.violation > self.listener.tolerance:
                return f"HiGHS's optimum violates {program} by {final.violation:.3g}."
        # With a cut-off too no point may be above the bound, which is then the cut-off or more.
        bound = self._bound()
        if best is not None and best.objective > bound + _slack(best):
            return f"HiGHS's bound is {own(bound):.9g}, and a better point is at hand, with {own(best.objective):.9g}."
        return None

    def refuse(self, why: str) -> Outcome:
        """The best point at hand, and nothing of what HiGHS claims.

        Raises
        ------
        SolverError
            If no point is at hand, or the program has no finite optimum.
        """
        if self.listener.best is None or STATUSES[self.status][1] in ("unsure", "unbounded"):
            raise SolverError(why)
        honest = self.outcome(f"{why} No bound is taken from it.")
        return replace(honest, stop=Stop.contradicted, holds=Holds.feasible, bound=math.inf)

    def outcome(self, note: str = "") -> Outcome:
        """The two axes, the best point and the figures recomputed from it."""
        stop, claim = STATUSES[self.status]
        seen = self.listener
        if stop is Stop.interrupted and seen.stopper.reason is not None:
            stop = seen.stopper.reason
        best, bound = seen.best, self._bound()
        if stop is Stop.error and best is None:
            raise SolverError(
                f"HiGHS {self.version} {claim} and holds no point; try presolve=False or another seed."
            )
        closed = best is not None and bound - best.objective <= CLOSED * max(1.0, abs(best.objective))
        held = Holds.optimal if closed and stop is Stop.finished else Holds.feasible
        return Outcome(
            stop=stop,
            holds=Holds.nothing if best is None else held,
            x=None if best is None else best.x,
            objective=None if best is None else best.objective,
            bound=bound,
            nodes=self.nodes,
            seconds=time.monotonic() - seen.began,
            start_accepted=False if self.refused else seen.start_accepted,
            log="".join(seen.log),
            solver="HiGHS",
            version=self.version,
            violation=None if best is None else best.violation,
            message=" ".join(filter(None, (note, *self.remarks, self._remark(stop, claim, best)))),
        )

    def _bound(self) -> float:
        """HiGHS's bound in the program's sense, and never below the cut-off."""
        claim, program, cutoff = STATUSES[self.status][1], self.listener.program, self.options.cutoff
        if not self.came_back:
            bound = math.inf if self.listener.latest is None else self.listener.latest.bound
        elif claim in ("infeasible", "unsure"):
            bound = -math.inf
        elif program.integer.any():
            bound = math.inf if math.isinf(self.dual_bound) else program.constant - self.dual_bound
        else:
            bound = self.final.objective if claim == "optimal" and self.final is not None else math.inf
        # Under a cut-off HiGHS calls whatever point it holds optimal and repeats its objective as the bound.
        return bound if cutoff is None else max(bound, cutoff)

    def _remark(self, stop: Stop, claim: str, best: Point | None) -> str:
        cutoff = self.options.cutoff
        if stop is Stop.error:
            return f"HiGHS {claim}; the best point it had found is kept."
        if not self.came_back:
            return "HiGHS did not stop in time and was left behind; the best point it had reported is kept."
        if stop is Stop.finished and cutoff is not None and (best is None or best.objective <= cutoff):
            return f"HiGHS finds no point better than the cut-off {cutoff:.9g}."
        return "HiGHS says that the program has no feasible point." if claim == "infeasible" else ""


def described(program: Program) -> str:
    """Name and size of a program, for a sentence."""
    size = f"{len(program.rows)} rows, {program.cost.size} columns, {program.matrix.nnz} non-zeros"
    return f"the program {program.name!r} ({size})"


def endless(who: str, program: Program, sure: bool) -> str:
    """The sentence of a solver that finds no best objective, and is ``sure`` that there are points."""
    if sure:
        return f"{who} calls {described(program)} unbounded; bound its columns."
    return (
        f"{who} cannot tell whether {described(program)} is infeasible or unbounded; bound its columns and solve it "
        "again to see which."
    )


def _slack(point: Point) -> float:
    """By how much rounding may lift a point above a bound."""
    return CLOSED * max(1.0, point.size)
