"""HiGHS on the arrays of a program: the only file that knows its statuses and its options."""

from __future__ import annotations

import math
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import fields
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError, SolverError
from rerank.solvers.listener import Listener, Point
from rerank.solvers.outcome import Holds, Options, Outcome, Stop
from rerank.solvers.progress import reporting, throttled
from rerank.solvers.worker import Stopper, run

if TYPE_CHECKING:
    from formulations.compile import Program

Floats = NDArray[np.float64]

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

FEASIBLE = 2
"""HiGHS's ``primal_solution_status`` of a point that keeps rows and bounds."""


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

    Raises
    ------
    InputError
        For a start of the wrong length, or arrays with numbers that are not finite.
    SolverError
        If highspy is missing or rejects the arrays; for a status not in :data:`STATUSES`; for a claim that
        contradicts a point at hand, or an infeasible "optimum", and does so again without presolve; for an
        unbounded program.
    """
    asked = Options() if options is None else options
    point = None if start is None else np.array(start, dtype=np.float64)
    if point is not None and point.shape != program.cost.shape:
        raise InputError(f"The start has shape {point.shape}; the program has {program.cost.size} columns.")
    # HiGHS itself takes a cost that is not a number for granted.
    parts = (program.cost, program.matrix.data, program.offset)
    sides = (program.row_lower, program.row_upper, program.lower, program.upper)
    if not all(np.isfinite(part).all() for part in parts) or any(np.isnan(side).any() for side in sides):
        raise InputError(f"A number in {_described(program)} is not finite; build it from finite data.")
    began = time.monotonic()
    first = _Session(program, asked, asked.presolve, point, began)
    first.work(cancel)
    trouble = first.contradiction()
    if trouble is None:
        return first.outcome()
    if not asked.presolve:
        raise SolverError(trouble)
    # Most false claims of HiGHS on record come from presolve (its issues 1164, 1517, 2388, 2432, 3090).
    second = _Session(program, asked, False, point, began)
    second.work(cancel)
    still = second.contradiction()
    if still is not None:
        raise SolverError(f"{still} It says so with and without presolve.")
    return second.outcome(note=f"Solved again without presolve: {trouble}")


def version() -> str:
    """Version of the installed HiGHS; SolverError if there is none."""
    return str(_highspy().Highs().version())


def read_and_solve(
    path: str | PathLike[str], options: Options | None = None
) -> tuple[dict[str, float], str, str]:
    """Let HiGHS read a model file by itself: the check on our own reader.

    Returns
    -------
    values, status, log
        Every column's value by name (none if HiGHS holds no point), and the name of its model status.

    Raises
    ------
    SolverError
        If HiGHS cannot read the file.
    """
    asked = Options() if options is None else options
    highs = _highspy().Highs()
    lines: list[str] = []
    highs.cbLogging.subscribe(lambda event: lines.append(event.message))
    _set_options(highs, asked, asked.presolve)
    if "kError" in str(highs.readModel(str(path))):
        raise SolverError(f"HiGHS cannot read {path}: {' '.join(lines[-1:]).strip() or 'no reason given'}")
    run(lambda: _run(highs), Stopper())
    held = highs.getInfo().primal_solution_status == FEASIBLE
    values = dict(zip(highs.getLp().col_names_, highs.getSolution().col_value, strict=True)) if held else {}
    return values, str(highs.getModelStatus().name), "".join(lines)


class _Session:
    """One run of HiGHS on one program."""

    def __init__(
        self, program: Program, options: Options, presolve: bool, start: Floats | None, began: float
    ) -> None:
        self.program, self.options, self.began = program, options, began
        self.stopper = Stopper()
        self.listener = Listener(program, 10 * options.feasibility_tolerance, self.stopper, began)
        self.status = "kNotset"
        self.came_back = False
        self.remarks: list[str] = []
        self.highs = _highspy().Highs()
        self.listener.attach(self.highs)
        _set_options(self.highs, options, presolve)
        if options.cutoff is not None:
            self.highs.setOptionValue("objective_bound", program.offset - options.cutoff)
        self._pass_model()
        self.refused = start is not None and not self._pass_start(start)

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
            reason = self.listener.log[-1].strip() if self.listener.log else "no reason given"
            raise SolverError(f"HiGHS rejects {_described(p)}: {reason}")

    def _pass_start(self, start: Floats) -> bool:
        point = Point.of(self.program, start)
        if not point.violation <= self.options.feasibility_tolerance:
            self.remarks.append(f"The start violates the program by {point.violation:.3g} and was not used.")
            return False
        self.listener.keep(point)
        if not self.program.integer.any():
            return True
        solution = _highspy().HighsSolution()
        solution.col_value = start.tolist()
        return "kError" not in str(self.highs.setSolution(solution))

    def work(self, cancel: threading.Event | None) -> None:
        """Run until HiGHS is done, told to stop, or late."""
        limit = self.options.time_limit
        if limit is not None:
            # The limit is for the whole call: what handing over has cost is taken off.
            self.highs.setOptionValue("time_limit", max(0.0, limit - (time.monotonic() - self.began)))
        with ExitStack() as stack:
            echo = self.listener.echo
            if self.options.log_file is not None:
                echo.append(stack.enter_context(open(self.options.log_file, "w", encoding="utf-8")))
                echo[-1].write(self._header())
            if self.options.verbose >= 2:
                echo.append(sys.stderr)
            stack.callback(setattr, self.listener, "echo", [])
            report = stack.enter_context(reporting(self.options, f"HiGHS {self.program.name}"))
            self.came_back = run(
                lambda: _run(self.highs),
                self.stopper,
                cancel=cancel,
                deadline=None if limit is None else self.began + limit + max(0.5, 0.02 * limit),
                tick=throttled(report, lambda: self.listener.latest),
                on_exit=lambda: self.listener.detach(self.highs),
            )
        self.status = str(self.highs.getModelStatus().name) if self.came_back else "kInterrupt"
        if self.status not in STATUSES:
            raise SolverError(f"HiGHS {self.highs.version()} ended with status {self.status}, unknown here.")
        final = self._final()
        if final is not None:
            self.listener.keep(final)

    def _final(self) -> Point | None:
        """The point HiGHS hands back, whether or not it keeps the rows."""
        if not self.came_back or self.highs.getInfo().primal_solution_status != FEASIBLE:
            return None
        return Point.of(self.program, np.array(self.highs.getSolution().col_value, dtype=np.float64))

    def contradiction(self) -> str | None:
        """A sentence if the claim cannot be true of this program and the points at hand."""
        claim, best, final = STATUSES[self.status][1], self.listener.best, self._final()
        if claim == "unsure" and self.options.cutoff is None:
            return f"HiGHS cannot tell whether {_described(self.program)} is infeasible or unbounded."
        if claim == "unbounded":
            return f"HiGHS calls {_described(self.program)} unbounded; bound its columns."
        if self.options.cutoff is not None:
            return None
        if claim == "infeasible" and best is not None:
            return f"HiGHS calls {_described(self.program)} infeasible, but a feasible point is at hand."
        if claim == "optimal" and final is not None:
            if final.violation > 10 * self.options.feasibility_tolerance:
                return f"HiGHS's optimum violates {_described(self.program)} by {final.violation:.3g}."
            if best is not None and best.objective > self.bound() + CLOSED * max(1.0, abs(best.objective)):
                return f"HiGHS's bound {self.bound():.9g} is below a point at hand, {best.objective:.9g}."
        return None

    def bound(self) -> float:
        """HiGHS's bound in the program's sense, and never below the cut-off."""
        claim, offset, cutoff = STATUSES[self.status][1], self.program.offset, self.options.cutoff
        final = self._final()
        if not self.came_back:
            bound = math.inf if self.listener.latest is None else self.listener.latest.bound
        elif claim in ("infeasible", "unsure"):
            bound = -math.inf
        elif self.program.integer.any():
            dual = self.highs.getInfo().mip_dual_bound
            bound = math.inf if math.isinf(dual) else offset - dual
        else:
            bound = final.objective if claim == "optimal" and final is not None else math.inf
        # Under a cut-off HiGHS calls whatever point it holds optimal and repeats its objective as the bound.
        return bound if cutoff is None else max(bound, cutoff)

    def outcome(self, note: str = "") -> Outcome:
        """The two axes, the best point and the figures recomputed from it."""
        stop, claim = STATUSES[self.status]
        if stop is Stop.interrupted and self.stopper.reason is not None:
            stop = self.stopper.reason
        best, bound, name = self.listener.best, self.bound(), str(self.highs.version())
        if stop is Stop.error and best is None:
            raise SolverError(f"HiGHS {name} {claim} and holds no point; try presolve=False or another seed.")
        closed = best is not None and bound - best.objective <= CLOSED * max(1.0, abs(best.objective))
        held = Holds.optimal if closed and stop is Stop.finished else Holds.feasible
        return Outcome(
            stop=stop,
            holds=Holds.nothing if best is None else held,
            x=None if best is None else best.x,
            objective=None if best is None else best.objective,
            bound=bound,
            nodes=self._nodes(),
            seconds=time.monotonic() - self.began,
            start_accepted=False if self.refused else self.listener.start_accepted,
            log="".join(self.listener.log),
            solver="HiGHS",
            version=name,
            violation=None if best is None else best.violation,
            message=" ".join(filter(None, (note, *self.remarks, self._remark(stop, claim, best)))),
        )

    def _nodes(self) -> int:
        if self.came_back:
            return max(0, int(self.highs.getInfo().mip_node_count))
        return 0 if self.listener.latest is None else self.listener.latest.nodes

    def _remark(self, stop: Stop, claim: str, best: Point | None) -> str:
        cutoff = self.options.cutoff
        if stop is Stop.error:
            return f"HiGHS {claim}; the best point it had found is kept."
        if not self.came_back:
            return "HiGHS did not stop in time and was left behind; the best point it had reported is kept."
        if stop is Stop.finished and cutoff is not None and (best is None or best.objective <= cutoff):
            return f"HiGHS finds no point better than the cut-off {cutoff:.9g}."
        return "HiGHS says that the program has no feasible point." if claim == "infeasible" else ""

    def _header(self) -> str:
        o = self.options
        shown = {f.name: getattr(o, f.name) for f in fields(o) if f.name not in ("progress", "log_file")}
        what = f"{_described(self.program)}, offset {self.program.offset!r}"
        return f"HiGHS {self.highs.version()}\n{what}\noptions {shown}\n\n"


def _run(highs: Any) -> None:
    highs.run()
    # The scheduler belongs to the thread that ran; left alone, its helpers outlive it.
    highs.resetGlobalScheduler(True)


def _described(program: Program) -> str:
    size = f"{len(program.rows)} rows, {program.cost.size} columns, {program.matrix.nnz} non-zeros"
    return f"the program {program.name!r} ({size})"


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
    }
    if options.time_limit is not None:
        values["time_limit"] = float(options.time_limit)
    if options.node_limit is not None:
        values["mip_max_nodes"] = options.node_limit
    for name, value in values.items():
        if "kOk" not in str(highs.setOptionValue(name, value)):
            raise SolverError(f"HiGHS {highs.version()} refuses {name} = {value!r}.")
