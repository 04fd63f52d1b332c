"""HiGHS on the arrays of a program: the only file that imports highspy."""

import math
import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, TextIO

import numpy as np
from numpy.typing import ArrayLike

from formulations.program import Program
from rerank.errors import InputError, SolverError
from rerank.errors.compiling import uncounted
from rerank.errors.stops import attended, current
from rerank.errors.telling import stderr
from rerank.solvers.outcome import Holds, Options, Outcome, Point, Progress, Stop, described, ending, endless, reasons
from rerank.solvers.progress import reporting, throttled

__all__ = ["solve", "version"]

FEASIBLE = 2  # HiGHS's ``primal_solution_status`` of a point that keeps rows and bounds

UNSAFE_PRESOLVE = ("1.16.0",)
"""Releases whose presolve loses optima of integer programs: what they then call optimal is not."""

LOG_LIMIT = 1_000_000  # characters of log that an outcome keeps

STATUSES: dict[str, str] = {
    "kOptimal": "optimal",
    "kModelEmpty": "optimal",
    "kInfeasible": "infeasible",
    "kObjectiveBound": "infeasible",
    "kUnboundedOrInfeasible": "unsure",
    "kUnbounded": "unbounded",
    "kTimeLimit": "time",
    "kIterationLimit": "nodes",
    "kSolutionLimit": "nodes",
    "kInterrupt": "interrupt",
    "kHighsInterrupt": "interrupt",
    "kMemoryLimit": "ran out of memory",
    "kPresolveError": "failed in presolve",
    "kSolveError": "failed in the solve",
    "kPostsolveError": "failed in postsolve",
    "kUnknown": "ended in a state it calls unknown",
}
"""Model status of HiGHS -> the word of :data:`rerank.solvers.outcome.ENDINGS`, or what is said of an error.
``mip_max_nodes`` ends in ``kSolutionLimit``."""

CLOSED = 1e-6  # gap, relative to the objective or to 1, up to which a finished search counts as closed

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
    if asked.cutoff is not None:
        asked = replace(asked, cutoff=program.own(asked.cutoff))  # of the program maximised
    point = None if start is None else Point.of(program, start)
    # HiGHS itself accepts a cost that is not a number.
    parts = (program.cost, program.matrix.data, program.constant)
    sides = (program.row_lower, program.row_upper, program.lower, program.upper)
    if not all(np.isfinite(part).all() for part in parts) or any(np.isnan(side).any() for side in sides):
        raise InputError(f"A number in {described(program)} is not finite; build it from finite data.")
    began = time.monotonic()
    unsafe = asked.presolve and bool(program.integer.any()) and version() in UNSAFE_PRESOLVE
    # Most false claims of HiGHS on record come from presolve (its issues 1164, 1517, 2388, 2432, 3090).
    ways = (True, False) if asked.presolve and not unsafe else (False,)
    note = f"Solved without presolve: that of HiGHS {version()} loses optima." if unsafe else ""
    for presolve in ways:
        run = _Run(program, asked, presolve, point, began)
        run.work(cancel)
        trouble = run.contradiction()
        if trouble is None:
            return run.outcome(note).stated(program)
        note = f"Solved again without presolve: {trouble}"
    both = " It says so with and without presolve." if len(ways) > 1 else ""
    return run.refuse(f"{trouble}{both}").stated(program)


def version() -> str:
    """Version of the installed HiGHS; SolverError if there is none."""
    return str(_quietly(_highspy().Highs).version())


class _Run:
    """One run of HiGHS on one program, and what its end means, checked against the points at hand. HiGHS's thread calls
    the callbacks, and the thread that waits reads what they keep: ``best``, the best point within ten tolerances so
    far, a start included, and ``latest``, the latest figures.
    """

    def __init__(self, program: Program, options: Options, presolve: bool, start: Point | None, began: float) -> None:
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
        self.came_back, self.status, self.dual_bound = False, "kInterrupt", math.inf
        self.reason: str | None = None
        self.final: Point | None = None
        highs = self.highs = _quietly(_highspy().Highs)
        self.version = str(highs.version())
        self.callbacks: list[tuple[Any, Callable[[Any], None]]] = [
            (highs.cbLogging, self._logged),
            (highs.cbMipImprovingSolution, self._improved),
            (highs.cbMipLogging, self._moved),
            (highs.cbMipInterrupt, self._moved),
            (highs.cbSimplexInterrupt, self._interrupt),
            (highs.cbIpmInterrupt, self._interrupt),
        ]
        for callback, call in self.callbacks:
            callback.subscribe(call)
        tolerance, limit = options.feasibility_tolerance, options.time_limit
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
            "mip_max_nodes": options.node_limit,
            "time_limit": None if limit is None else float(limit),
        }
        for name, value in {**values, **options.raw}.items():
            if value is not None and "kOk" not in str(highs.setOptionValue(name, value)):
                complaint = self.log[-1].partition(": ")[2].strip() if self.log else "it gives no reason"
                raise SolverError(f"HiGHS {self.version} refuses {name} = {value!r}: {complaint}.")
        if options.cutoff is not None:
            highs.setOptionValue("objective_bound", program.constant - options.cutoff)
        rowwise, minimise, matrix, kinds = 2, 1, program.matrix, program.integer.astype(np.int32)
        size = program.cost.size, len(program.rows), matrix.nnz, rowwise, minimise
        sides = program.lower, program.upper, program.row_lower, program.row_upper
        entries = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data
        status = highs.passModel(*size, 0.0, -program.cost, *sides, *entries, kinds)
        if "kError" in str(status):
            reason = self.log[-1].strip() if self.log else "no reason given"
            raise SolverError(f"HiGHS rejects {described(program)}: {reason}")
        if start is not None and not self._pass_start(start):
            self.start_accepted = False

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

    def _logged(self, event: Any) -> None:
        text = event.message
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

    def _detach(self) -> None:
        for callback, _ in self.callbacks:
            callback.clear()

    def _call(self) -> None:
        self.stop = current()
        self.highs.run()
        # HiGHS's scheduler belongs to this thread; if it is not reset, its helper threads outlive the thread.
        self.highs.resetGlobalScheduler(True)

    def work(self, cancel: threading.Event | None) -> None:
        """Run until HiGHS is done, told to stop, or late; SolverError for a status that is unknown here."""
        limit, deadline, options = self.options.time_limit, math.inf, self.options
        if limit is not None:
            # The limit is for the whole call, the time spent so far included.
            self.highs.setOptionValue("time_limit", max(0.0, limit - (time.monotonic() - self.began)))
            deadline = self.began + limit + max(0.5, 0.02 * limit)
        with ExitStack() as stack:
            if options.log_file is not None:
                self.echo.append(stack.enter_context(open(options.log_file, "w", 1, encoding="utf-8")))
                shown = {name: value for name, value in vars(options).items() if name not in ("progress", "log_file")}
                what = f"{described(self.program)}, constant {self.program.constant!r}"
                self.echo[-1].write(f"HiGHS {self.version}\n{what}\noptions {shown}\n\n")
            if options.verbose >= 2:
                self.echo.append(stderr())
            stack.callback(setattr, self, "echo", [])
            report = stack.enter_context(reporting(options, f"HiGHS {self.program.name}"))
            look = reasons(cancel, deadline, throttled(report, lambda: self.latest))
            self.came_back, self.reason = attended(self._call, look, self._detach)
        if self.came_back:
            self.status, self.final = str(self.highs.getModelStatus().name), self._final()
            self.dual_bound = self.highs.getInfo().mip_dual_bound
        if self.status not in STATUSES:
            raise SolverError(f"HiGHS {self.version} ended with status {self.status}, unknown here.")
        if self.final is not None:
            self._keep(self.final)

    def _final(self) -> Point | None:
        """The point HiGHS returns, whether or not it keeps the rows."""
        if self.highs.getInfo().primal_solution_status != FEASIBLE:
            return None
        return Point.of(self.program, np.array(self.highs.getSolution().col_value, dtype=np.float64))

    @property
    def _bound(self) -> float:
        """HiGHS's bound in the program's sense, and never below the cut-off."""
        word, program, cutoff = STATUSES[self.status], self.program, self.options.cutoff
        if not self.came_back:
            bound = math.inf if self.latest is None else self.latest.bound
        elif word in ("infeasible", "unsure"):
            bound = -math.inf
        elif program.integer.any():
            bound = math.inf if math.isinf(self.dual_bound) else program.constant - self.dual_bound
        else:
            bound = self.final.objective if word == "optimal" and self.final is not None else math.inf
        # Under a cut-off HiGHS calls whatever point it holds optimal and repeats its objective as the bound.
        return bound if cutoff is None else max(bound, cutoff)

    def contradiction(self) -> str | None:
        """A sentence if the claim cannot be true of this program and the points at hand."""
        word, best, final, free = STATUSES[self.status], self.best, self.final, self.options.cutoff is None
        program, own, bound = described(self.program), self.program.own, self._bound
        if word == "unbounded" or (word == "unsure" and free):
            return endless("HiGHS", self.program, sure=word == "unbounded")
        if word == "infeasible" and best is not None and free:
            return f"HiGHS calls {program} infeasible, but a feasible point is at hand."
        if word == "optimal" and final is not None and free:
            if final.violation > 10 * self.options.feasibility_tolerance:
                return f"HiGHS's optimum violates {program} by {final.violation:.3g}."
        # With a cut-off too no point may be above the bound, which is then the cut-off or more.
        if best is not None and best.objective > bound + CLOSED * max(1.0, best.size):
            return f"HiGHS's bound is {own(bound):.9g}, and a better point is at hand, with {own(best.objective):.9g}."
        return None

    def refuse(self, why: str) -> Outcome:
        """The best point at hand, and nothing of what HiGHS claims; SolverError without a point or a finite optimum."""
        if self.best is None or STATUSES[self.status] in ("unbounded", "unsure"):
            raise SolverError(why)
        honest = self.outcome(f"{why} No bound is taken from it.")
        return replace(honest, stop=Stop.contradicted, holds=Holds.feasible, bound=math.inf)

    def outcome(self, note: str = "") -> Outcome:
        """Why it stopped, what it holds, the best point and the figures recomputed from it."""
        word, best, bound, cutoff = STATUSES[self.status], self.best, self._bound, self.options.cutoff
        stop = ending(word)[0]
        if stop is Stop.unsure:  # with a cut-off, under which nothing better is there
            stop = Stop.finished
        elif stop is Stop.interrupted and self.reason is not None:
            stop = Stop(self.reason)
        if stop is Stop.error and best is None:
            raise SolverError(f"HiGHS {self.version} {word} and holds no point; try presolve=False or another seed.")
        remark = ""
        if stop is Stop.error:
            remark = f"HiGHS {word}; the best point it had found is kept."
        elif not self.came_back:
            remark = "HiGHS did not stop in time and was left behind; the best point it had reported is kept."
        elif stop is Stop.finished and cutoff is not None and (best is None or best.objective <= cutoff):
            remark = f"HiGHS finds no point better than the cut-off {self.program.own(cutoff):.9g}."
        elif word == "infeasible":
            remark = "HiGHS says that the program has no feasible point."
        closed = best is not None and bound - best.objective <= CLOSED * max(1.0, abs(best.objective))
        nodes = int(self.highs.getInfo().mip_node_count) if self.came_back else self.latest.nodes if self.latest else 0
        claim = Outcome(
            stop,
            Holds.optimal if closed and stop is Stop.finished else Holds.feasible,
            bound=bound,
            nodes=max(0, nodes),
            seconds=time.monotonic() - self.began,
            start_accepted=self.start_accepted,
            log="".join(self.log),
            solver="HiGHS",
            version=self.version,
        )
        return claim.holding(best).noting(note, *self.remarks, remark)


@uncounted()
def _highspy() -> Any:
    try:
        import highspy
    except ImportError as error:
        raise SolverError("HiGHS is not installed; run: pip install highspy") from error
    return highspy


def _quietly(make: Callable[[], Any]) -> Any:
    """What ``make`` returns; what it writes to standard output goes nowhere the first time. HiGHS 1.16 greets whoever
    makes the first of its objects in a process, and no option can come before that.
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
