"""HiGHS on the arrays of a program: the only file that imports highspy."""

from __future__ import annotations

import math
import threading
import time
from contextlib import ExitStack
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InputError, SolverError
from rerank.errors.compiling import uncounted
from rerank.errors.telling import stderr
from rerank.solvers.highs_answer import STATUSES, Ended, described
from rerank.solvers.highs_listener import Listener
from rerank.solvers.outcome import Options, Outcome, Point
from rerank.solvers.progress import reporting, throttled
from rerank.solvers.quiet import quietly
from rerank.solvers.running import Stopper, run_call

if TYPE_CHECKING:
    from formulations.compile import Program

__all__ = ["read_and_solve", "solve", "version"]

FEASIBLE = 2
"""HiGHS's ``primal_solution_status`` of a point that keeps rows and bounds."""

UNSAFE_PRESOLVE = ("1.16.0",)
"""Releases whose presolve loses optima of integer programs: what they then call optimal is not."""


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
    first = _Session(program, asked, asked.presolve and not unsafe, point, began).work(cancel)
    trouble = first.contradiction()
    if trouble is None:
        note = f"Solved without presolve: that of HiGHS {version()} loses optima." if unsafe else ""
        return first.outcome(note=note).stated(program)
    if unsafe or not asked.presolve:
        return first.refuse(trouble).stated(program)
    # Most false claims of HiGHS on record come from presolve (its issues 1164, 1517, 2388, 2432, 3090).
    second = _Session(program, asked, False, point, began).work(cancel)
    still = second.contradiction()
    if still is not None:
        return second.refuse(f"{still} It says so with and without presolve.").stated(program)
    return second.outcome(note=f"Solved again without presolve: {trouble}").stated(program)


def version() -> str:
    """Version of the installed HiGHS; SolverError if there is none."""
    return str(quietly(_highspy().Highs).version())


def read_and_solve(
    path: str | PathLike[str], options: Options | None = None
) -> tuple[dict[str, float], str, str]:
    """Let HiGHS read a model file by itself, to check our own reader.

    Returns
    -------
    values, status, log
        Every column's value by name (empty if HiGHS holds no point), and the name of its model status.

    Raises
    ------
    SolverError
        If HiGHS cannot read the file.
    """
    asked = Options() if options is None else options
    highs = quietly(_highspy().Highs)
    lines: list[str] = []
    highs.cbLogging.subscribe(lambda event: lines.append(event.message))
    _set_options(highs, asked, asked.presolve)
    if "kError" in str(highs.readModel(str(path))):
        raise SolverError(f"HiGHS cannot read {path}: {' '.join(lines[-1:]).strip() or 'no reason given'}")
    run_call(lambda: _run(highs), Stopper())
    held = highs.getInfo().primal_solution_status == FEASIBLE
    values = dict(zip(highs.getLp().col_names_, highs.getSolution().col_value, strict=True)) if held else {}
    return values, str(highs.getModelStatus().name), "".join(lines)


class _Session:
    """One run of HiGHS on one program."""

    def __init__(
        self, program: Program, options: Options, presolve: bool, start: Point | None, began: float
    ) -> None:
        self.program, self.options, self.began = program, options, began
        self.listener = Listener(program, 10 * options.feasibility_tolerance, Stopper(), began)
        self.remarks: list[str] = []
        self.highs = quietly(_highspy().Highs)
        self.listener.attach(self.highs)
        _set_options(self.highs, options, presolve)
        if options.cutoff is not None:
            self.highs.setOptionValue("objective_bound", program.constant - options.cutoff)
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
            raise SolverError(f"HiGHS rejects {described(p)}: {reason}")

    def _pass_start(self, point: Point) -> bool:
        if not point.violation <= self.options.feasibility_tolerance:
            self.remarks.append(f"The start violates the program by {point.violation:.3g} and was not used.")
            return False
        self.listener.keep(point)
        if not self.program.integer.any():
            return True
        solution = _highspy().HighsSolution()
        solution.col_value = point.x.tolist()
        return "kError" not in str(self.highs.setSolution(solution))

    def work(self, cancel: threading.Event | None) -> Ended:
        """Run until HiGHS is done, told to stop, or late."""
        limit = self.options.time_limit
        if limit is not None:
            # The limit is for the whole call, the time spent so far included.
            self.highs.setOptionValue("time_limit", max(0.0, limit - (time.monotonic() - self.began)))
        with ExitStack() as stack:
            echo = self.listener.echo
            if self.options.log_file is not None:
                echo.append(stack.enter_context(open(self.options.log_file, "w", 1, encoding="utf-8")))
                echo[-1].write(self._header())
            if self.options.verbose >= 2:
                echo.append(stderr())
            stack.callback(setattr, self.listener, "echo", [])
            report = stack.enter_context(reporting(self.options, f"HiGHS {self.program.name}"))
            came_back = run_call(
                lambda: _run(self.highs),
                self.listener.stopper,
                cancel=cancel,
                deadline=None if limit is None else self.began + limit + max(0.5, 0.02 * limit),
                tick=throttled(report, lambda: self.listener.latest),
                on_exit=lambda: self.listener.detach(self.highs),
            )
        return self._ended(came_back)

    def _ended(self, came_back: bool) -> Ended:
        version, latest = str(self.highs.version()), self.listener.latest
        status, final, dual_bound, nodes = "kInterrupt", None, math.inf, latest.nodes if latest else 0
        # A run that was left behind is not asked for anything: it may still be writing.
        if came_back:
            info, final = self.highs.getInfo(), self._final()
            status, dual_bound = str(self.highs.getModelStatus().name), info.mip_dual_bound
            nodes = max(0, int(info.mip_node_count))
        if status not in STATUSES:
            raise SolverError(f"HiGHS {version} ended with status {status}, unknown here.")
        if final is not None:
            self.listener.keep(final)
        return Ended(
            self.listener, self.options, version, status, came_back, final, dual_bound, nodes,
            self.refused, self.remarks,
        )  # fmt: skip

    def _final(self) -> Point | None:
        """The point HiGHS returns, whether or not it keeps the rows."""
        if self.highs.getInfo().primal_solution_status != FEASIBLE:
            return None
        return Point.of(self.program, np.array(self.highs.getSolution().col_value, dtype=np.float64))

    def _header(self) -> str:
        hidden = ("progress", "log_file")
        shown = {name: value for name, value in vars(self.options).items() if name not in hidden}
        what = f"{described(self.program)}, constant {self.program.constant!r}"
        return f"HiGHS {self.highs.version()}\n{what}\noptions {shown}\n\n"


def _run(highs: Any) -> None:
    highs.run()
    # HiGHS's scheduler belongs to this thread; if it is not reset, its helper threads outlive the thread.
    highs.resetGlobalScheduler(True)


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
