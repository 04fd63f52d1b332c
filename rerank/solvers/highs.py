"""HiGHS on the arrays of a program: the only file that imports highspy."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InputError, SolverError
from rerank.errors.compiling import uncounted
from rerank.errors.stops import attended, current
from rerank.errors.telling import stderr
from rerank.solvers.outcome import (
    ENDLESS,
    Holds,
    Options,
    Outcome,
    Point,
    Progress,
    Stop,
    described,
    endless,
    reasons,
)
from rerank.solvers.progress import reporting, throttled

if TYPE_CHECKING:
    from formulations.compile import Program

__all__ = ["solve", "version"]

FEASIBLE = 2
"""HiGHS's ``primal_solution_status`` of a point that keeps rows and bounds."""

UNSAFE_PRESOLVE = ("1.16.0",)
"""Releases whose presolve loses optima of integer programs: what they then call optimal is not."""

LOG_LIMIT = 1_000_000
"""Characters of log that an outcome keeps."""

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

_lock = threading.Lock()
_greeted = False


def solve(
    program: Program,
    options: Options | None = None,
    start: ArrayLike | None = None,
    cancel: threading.Event | None = None,
) -> Outcome:
    """Solve a program with HiGHS; whatever happens, keep the best point seen.

    HiGHS gets what the file holds: minimise the negated cost, without the constant. It runs in a thread of
    its own; Ctrl-C, ``cancel`` and a true answer of ``options.progress`` make this function return within two
    seconds.

    Parameters
    ----------
    program : Program
    options : Options, optional
    start : array (n,), optional
        A full point. It is handed over only if it violates nothing by more than
        ``options.feasibility_tolerance``, and is then never lost: the outcome holds a point at least as good.
    cancel : threading.Event, optional

    Returns
    -------
    Outcome
        Its ``stop`` is ``contradicted``, and its bound infinite, if HiGHS denies a point at hand or calls an
        infeasible point optimal, and does so again without presolve.

    Raises
    ------
    InputError
        For a start of the wrong length, or arrays with numbers that are not finite.
    SolverError
        If highspy is missing or rejects the arrays; for an unknown status; for an unbounded program; for an
        infeasible "optimum", with presolve and without, if no point is at hand.
    """
    asked = Options() if options is None else options
    point = None if start is None else Point.of(program, start)
    # HiGHS itself accepts a cost that is not a number.
    parts = (program.cost, program.matrix.data, program.constant)
    sides = (program.row_lower, program.row_upper, program.lower, program.upper)
    if not all(np.isfinite(part).all() for part in parts) or any(np.isnan(side).any() for side in sides):
        raise InputError(f"A number in {described(program)} is not finite; build it from finite data.")
    began = time.monotonic()
    unsafe = asked.presolve and bool(program.integer.any()) and version() in UNSAFE_PRESOLVE
    first = _Run(program, asked, asked.presolve and not unsafe, point, began)
    first.work(cancel)
    trouble = first.contradiction()
    if trouble is None:
        note = f"Solved without presolve: that of HiGHS {version()} loses optima." if unsafe else ""
        return first.outcome(note=note).stated(program)
    if unsafe or not asked.presolve:
        return first.refuse(trouble).stated(program)
    # Most false claims of HiGHS on record come from presolve (its issues 1164, 1517, 2388, 2432, 3090).
    second = _Run(program, asked, False, point, began)
    second.work(cancel)
    still = second.contradiction()
    if still is not None:
        return second.refuse(f"{still} It says so with and without presolve.").stated(program)
    return second.outcome(note=f"Solved again without presolve: {trouble}").stated(program)


def version() -> str:
    """Version of the installed HiGHS; SolverError if there is none."""
    return str(_quietly(_highspy().Highs).version())


class _Run:
    """One run of HiGHS on one program, and what its end means, checked against the points at hand.

    HiGHS's thread calls the callbacks, and the thread that waits reads what they keep: ``best``, the best point within
    ten tolerances so far, a start included, and ``latest``, the latest figures.
    """

    def __init__(
        self, program: Program, options: Options, presolve: bool, start: Point | None, began: float
    ) -> None:
        self.program, self.options, self.began = program, options, began
        self.best: Point | None = None
        self.latest: Progress | None = None
        self.start_accepted: bool | None = None
        self.log: list[str] = []
        self.size = 0
        self.echo: list[TextIO] = []
        self.remarks: list[str] = []
        self.stop = current()
        # Of its end; a run that was left behind is not asked for anything, since it may still be writing.
        self.came_back, self.status, self.nodes, self.dual_bound = False, "kInterrupt", 0, math.inf
        self.reason: str | None = None
        self.final: Point | None = None
        self.highs = _quietly(_highspy().Highs)
        self.version = str(self.highs.version())
        for callback, call in self._callbacks():
            callback.subscribe(call)
        _set_options(self.highs, options, presolve)
        if options.cutoff is not None:
            self.highs.setOptionValue("objective_bound", program.constant - options.cutoff)
        self._pass_model()
        self.refused = start is not None and not self._pass_start(start)

    def _callbacks(self) -> list[tuple[Any, Callable[[Any], None]]]:
        highs = self.highs
        return [
            (highs.cbLogging, lambda event: self._logged(event.message)),
            (highs.cbMipImprovingSolution, self._improved), (highs.cbMipLogging, self._moved),
            (highs.cbMipInterrupt, self._moved), (highs.cbSimplexInterrupt, self._interrupt),
            (highs.cbIpmInterrupt, self._interrupt),
        ]  # fmt: skip

    def _detach(self) -> None:
        for callback, _ in self._callbacks():
            callback.clear()

    def _logged(self, text: str) -> None:
        # HiGHS says nowhere else what becomes of a start.
        if "MIP start solution is " in text:
            self.start_accepted = "is feasible" in text
        self.size += len(text)
        if self.size <= LOG_LIMIT:
            self.log.append(text)
        for stream in self.echo:
            stream.write(text)

    def _improved(self, event: Any) -> None:
        x = np.array(event.data_out.mip_solution, dtype=np.float64)
        if x.size == self.program.cost.size:
            self._keep(Point.of(self.program, x))
        self._moved(event)

    def _keep(self, point: Point) -> None:
        near = point.violation <= 10 * self.options.feasibility_tolerance
        if near and (self.best is None or point.objective > self.best.objective):
            self.best = point

    def _moved(self, event: Any) -> None:
        out, constant = event.data_out, self.program.constant
        # Before the first node HiGHS's bound is infinite and may have either sign.
        bound = math.inf if math.isinf(out.mip_dual_bound) else constant - out.mip_dual_bound
        # HiGHS's own figure of the point differs from the recomputed one in the last digits.
        incumbent = -math.inf if self.best is None else self.best.objective
        self.latest = Progress(time.monotonic() - self.began, incumbent, bound, int(out.mip_node_count))
        self._interrupt(event)

    def _interrupt(self, event: Any) -> None:
        if self.stop.asked.is_set():
            event.interrupt()

    def _pass_model(self) -> None:
        p = self.program
        rowwise, minimise = 2, 1
        status = self.highs.passModel(
            p.cost.size, len(p.rows), p.matrix.nnz, rowwise, minimise, 0.0,
            -p.cost, p.lower, p.upper, p.row_lower, p.row_upper,
            p.matrix.indptr.astype(np.int32), p.matrix.indices.astype(np.int32), p.matrix.data,
            p.integer.astype(np.int32),
        )  # fmt: skip
        if "kError" in str(status):
            reason = self.log[-1].strip() if self.log else "no reason given"
            raise SolverError(f"HiGHS rejects {described(p)}: {reason}")

    def _pass_start(self, point: Point) -> bool:
        if not point.violation <= self.options.feasibility_tolerance:
            self.remarks.append(f"The start violates the program by {point.violation:.3g} and was not used.")
            return False
        self._keep(point)
        if not self.program.integer.any():
            return True
        solution = _highspy().HighsSolution()
        solution.col_value = point.x.tolist()
        return "kError" not in str(self.highs.setSolution(solution))

    def work(self, cancel: threading.Event | None) -> None:
        """Run until HiGHS is done, told to stop, or late.

        Raises
        ------
        SolverError
            For a status that is unknown here.
        """
        limit, deadline = self.options.time_limit, math.inf
        if limit is not None:
            # The limit is for the whole call, the time spent so far included.
            self.highs.setOptionValue("time_limit", max(0.0, limit - (time.monotonic() - self.began)))
            deadline = self.began + limit + max(0.5, 0.02 * limit)
        with ExitStack() as stack:
            if self.options.log_file is not None:
                self.echo.append(stack.enter_context(open(self.options.log_file, "w", 1, encoding="utf-8")))
                self.echo[-1].write(self._header())
            if self.options.verbose >= 2:
                self.echo.append(stderr())
            stack.callback(setattr, self, "echo", [])
            report = stack.enter_context(reporting(self.options, f"HiGHS {self.program.name}"))
            look = reasons(cancel, deadline, throttled(report, lambda: self.latest))
            self.came_back, self.reason = attended(self._call, look, self._detach)
        self.nodes = self.latest.nodes if self.latest else 0
        if self.came_back:
            info, self.final = self.highs.getInfo(), self._final()
            self.status, self.dual_bound = str(self.highs.getModelStatus().name), info.mip_dual_bound
            self.nodes = max(0, int(info.mip_node_count))
        if self.status not in STATUSES:
            raise SolverError(f"HiGHS {self.version} ended with status {self.status}, unknown here.")
        if self.final is not None:
            self._keep(self.final)

    def _call(self) -> None:
        self.stop = current()
        self.highs.run()
        # HiGHS's scheduler belongs to this thread; if it is not reset, its helper threads outlive the thread.
        self.highs.resetGlobalScheduler(True)

    def _final(self) -> Point | None:
        """The point HiGHS returns, whether or not it keeps the rows."""
        if self.highs.getInfo().primal_solution_status != FEASIBLE:
            return None
        return Point.of(self.program, np.array(self.highs.getSolution().col_value, dtype=np.float64))

    def _header(self) -> str:
        hidden = ("progress", "log_file")
        shown = {name: value for name, value in vars(self.options).items() if name not in hidden}
        what = f"{described(self.program)}, constant {self.program.constant!r}"
        return f"HiGHS {self.version}\n{what}\noptions {shown}\n\n"

    def contradiction(self) -> str | None:
        """A sentence if the claim cannot be true of this program and the points at hand."""
        claim, best, final = STATUSES[self.status][1], self.best, self.final
        program, cutoff, own = (
            described(self.program),
            self.options.cutoff,
            self.program.own,
        )
        if claim == "unsure" and cutoff is None:
            return endless("HiGHS", self.program, sure=False)
        if claim == "unbounded":
            return endless("HiGHS", self.program, sure=True)
        if claim == "infeasible" and best is not None and cutoff is None:
            return f"HiGHS calls {program} infeasible, but a feasible point is at hand."
        if claim == "optimal" and final is not None and cutoff is None:
            if final.violation > 10 * self.options.feasibility_tolerance:
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
        if self.best is None or STATUSES[self.status][1] in ENDLESS:
            raise SolverError(why)
        honest = self.outcome(f"{why} No bound is taken from it.")
        return replace(honest, stop=Stop.contradicted, holds=Holds.feasible, bound=math.inf)

    def outcome(self, note: str = "") -> Outcome:
        """The two axes, the best point and the figures recomputed from it."""
        stop, claim = STATUSES[self.status]
        if stop is Stop.interrupted and self.reason is not None:
            stop = Stop(self.reason)
        best, bound = self.best, self._bound()
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
            seconds=time.monotonic() - self.began,
            start_accepted=False if self.refused else self.start_accepted,
            log="".join(self.log),
            solver="HiGHS",
            version=self.version,
            violation=None if best is None else best.violation,
            message=" ".join(filter(None, (note, *self.remarks, self._remark(stop, claim, best)))),
        )

    def _bound(self) -> float:
        """HiGHS's bound in the program's sense, and never below the cut-off."""
        claim, program, cutoff = STATUSES[self.status][1], self.program, self.options.cutoff
        if not self.came_back:
            bound = math.inf if self.latest is None else self.latest.bound
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


def _slack(point: Point) -> float:
    """By how much rounding may lift a point above a bound."""
    return CLOSED * max(1.0, point.size)


@uncounted()
def _highspy() -> Any:
    try:
        import highspy
    except ImportError as error:
        raise SolverError("HiGHS is not installed; run: pip install highspy") from error
    return highspy


def _set_options(highs: Any, options: Options, presolve: bool) -> None:
    tolerance = options.feasibility_tolerance
    values: dict[str, Any] = {
        "output_flag": True,
        "log_to_console": False,
        "threads": options.threads,
        "random_seed": options.seed,
        "mip_rel_gap": options.mip_rel_gap,
        "mip_abs_gap": options.mip_abs_gap,
        "mip_feasibility_tolerance": tolerance,
        "primal_feasibility_tolerance": min(1e-7, tolerance),
        "presolve": "choose" if presolve else "off",
        "time_limit": None if options.time_limit is None else float(options.time_limit),
        "mip_max_nodes": options.node_limit,
    }
    for name, value in values.items():
        if value is not None and "kOk" not in str(highs.setOptionValue(name, value)):
            raise SolverError(f"HiGHS {highs.version()} refuses {name} = {value!r}.")


def _quietly(make: Callable[[], Any]) -> Any:
    """What ``make`` returns; what it writes to standard output goes nowhere the first time.

    HiGHS 1.16 greets whoever makes the first of its objects in a process, and no option can come before that.
    """
    global _greeted
    with _lock:
        if _greeted:
            return make()
        _greeted = True
        try:
            kept = os.dup(1)
        except OSError:  # there is no standard output
            return make()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, 1)
            return make()
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            os.close(nowhere)
