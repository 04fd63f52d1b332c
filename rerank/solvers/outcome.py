"""What is asked of a solver (:class:`Options`), and how its run ended (:class:`Outcome`)."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.program import Program
from rerank.errors import InputError, SolverError
from rerank.io.options import real, whole

Floats = NDArray[np.float64]

ACCEPTED = 2e-5  # violation up to which another solver's point is accepted; GLPK's own tolerance is 1e-5

AGREE = 1e-5
"""Difference allowed between a claimed objective and the point's, relative to what the objective sums up; CBC prints
a point with 8 digits."""


class Stop(StrEnum):
    """Why the solver stopped."""

    finished = "finished"
    time_limit = "time_limit"
    interrupted = "interrupted"
    node_limit = "node_limit"
    error = "error"
    contradicted = "contradicted"  # it claims something that a known point refutes; no bound is taken from it
    unbounded = "unbounded"  # it finds no best objective; a solve that ends so is a SolverError
    unsure = "unsure"  # it cannot tell whether the program is infeasible or unbounded; likewise


class Holds(StrEnum):
    """What the solver holds; ``optimal`` is its own claim, within its tolerances."""

    optimal = "optimal"
    feasible = "feasible"
    nothing = "nothing"


ENDINGS: dict[str, tuple[Stop, Holds]] = {  # what a solver claims, by the words of the tables of solvers
    "optimal": (Stop.finished, Holds.optimal),
    "infeasible": (Stop.finished, Holds.nothing),
    "unbounded": (Stop.unbounded, Holds.nothing),
    "unsure": (Stop.unsure, Holds.nothing),
    "gap": (Stop.finished, Holds.feasible),
    "cutoff": (Stop.finished, Holds.feasible),
    "time": (Stop.time_limit, Holds.feasible),
    "nodes": (Stop.node_limit, Holds.feasible),
    "interrupt": (Stop.interrupted, Holds.feasible),
}


def ending(word: str) -> tuple[Stop, Holds]:
    """The claim of a word of :data:`ENDINGS`; for any other an end in a state unknown here."""
    return ENDINGS.get(word, (Stop.error, Holds.feasible))


@dataclass(frozen=True, eq=False)
class Point:
    """A point with the figures recomputed from it."""

    x: Floats
    objective: float
    violation: float
    size: float  # sum of the sizes of all terms of the objective, which rounding is relative to

    @classmethod
    def of(cls, program: Program, x: ArrayLike) -> Point:
        """The point ``x`` of a program; InputError if it has another number of columns."""
        given = np.array(x, dtype=np.float64)
        if given.shape != program.cost.shape:
            raise InputError(f"The start has shape {given.shape}; the program has {program.cost.size} columns.")
        size = float(np.abs(program.cost) @ np.abs(given) + abs(program.constant))
        return cls(given, program.objective(given), program.violation(given), size)


@dataclass(frozen=True)
class Progress:
    """What a solver reports while it works, of the objective maximised, whatever the file or model states.

    Attributes
    ----------
    seconds : float
        Since the solver was called.
    incumbent, bound : float
        Best objective found (-inf while there is none) and the solver's bound on it (inf while unknown).
    nodes : int
    """

    seconds: float
    incumbent: float
    bound: float
    nodes: int

    @property
    def gap(self) -> float:
        """``bound - incumbent``: absolute, in units of the objective; infinite while either is unknown."""
        return gap_between(self.bound, self.incumbent)


@dataclass(frozen=True, eq=False)
class Options:
    """What to ask of a solver.

    Attributes
    ----------
    time_limit : float, optional
        Seconds for the whole call; none if omitted.
    threads, seed : int
    mip_rel_gap, mip_abs_gap : float
        The solver may stop at these gaps. Both 0 by default: HiGHS alone would stop at 1e-4, a wrong third
        digit of a DCG.
    feasibility_tolerance : float
        By how much a row, a bound or an integrality may be missed.
    presolve : bool
    node_limit : int, optional
    log_file : path, optional
        The solver's log, as it comes; that of HiGHS below a header with versions and options. Replaced if it exists.
    progress : callable, optional
        Called with :class:`Progress` from the thread that waits, at most ten times a second; True stops the solver.
    verbose : int
        0 silent, 1 a live line on a terminal, 2 the solver's own log on standard error.
    cutoff : float, optional
        Only points with a better objective are looked for, in the unit and sense of the file or model. An outcome whose
        objective is no better says that no point is better than the cut-off, and no more.
    raw : mapping of str to value
        The solver's own options, by its own names. They are passed on as they are, after all others.
    asked : frozenset of str
        Names of ``COMMON`` that somebody chose; the message of an outcome says which of them its solver has not.
    """

    time_limit: float | None = None
    threads: int = 1
    seed: int = 0
    mip_rel_gap: float = 0.0
    mip_abs_gap: float = 0.0
    feasibility_tolerance: float = 1e-6
    presolve: bool = True
    node_limit: int | None = None
    log_file: str | os.PathLike[str] | None = None
    progress: Callable[[Progress], bool | None] | None = None
    verbose: int = 0
    cutoff: float | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)
    asked: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.time_limit is not None and not self.time_limit >= 0:
            raise InputError(f"time_limit is {self.time_limit}; it must be None or seconds, 0 or more.")
        if self.threads < 1:
            raise InputError(f"threads is {self.threads}; it must be 1 or more.")
        if not 0 <= self.seed < 2**31:
            raise InputError(f"seed is {self.seed}; solvers take 0 to {2**31 - 1}.")
        for name in ("mip_rel_gap", "mip_abs_gap"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"{name} is {getattr(self, name)}; it must be 0 or a positive number.")
        if not 1e-10 <= self.feasibility_tolerance <= 1e-2:
            raise InputError(f"feasibility_tolerance is {self.feasibility_tolerance}; give 1e-10 to 1e-2.")
        if self.node_limit is not None and self.node_limit < 0:
            raise InputError(f"node_limit is {self.node_limit}; it must be None or 0 or more.")
        if self.cutoff is not None and not math.isfinite(self.cutoff):
            raise InputError(f"cutoff is {self.cutoff}; it must be None or a finite objective.")

    def chosen(self, given: Mapping[str, Any]) -> Options:
        """These options and those that somebody chose: names of ``COMMON``, checked, and the solver's own."""
        common = {name: value for name, value in given.items() if name in COMMON and value is not None}
        checks = {name: check for name, check in COMMON.items() if name in common}
        values = {field: check(name, common[name]) for name, (field, check) in checks.items() if field}
        raw = {name: value for name, value in given.items() if name not in COMMON}
        return replace(self, **values, raw={**self.raw, **raw}, asked=self.asked | common.keys())


def _log(name: str, value: Any) -> Path:
    if not isinstance(value, str | os.PathLike) or not Path(value).parent.is_dir():
        raise InputError(f"{name} is {value!r}; it must be the path of a file in a folder that exists.")
    return Path(value)


COMMON: dict[str, tuple[str, Callable[[str, Any], Any]]] = {
    "threads": ("threads", lambda name, value: whole(name, value, 1)),
    "gap": ("mip_rel_gap", lambda name, value: real(name, value, 0.0)),
    "node_limit": ("node_limit", lambda name, value: whole(name, value, 0)),
    "cutoff": ("cutoff", lambda name, value: real(name, value, -1e300)),
    "seed": ("seed", lambda name, value: whole(name, value, 0)),
    "log": ("log_file", _log),
    "start": ("", lambda name, value: value),
}
"""Options that mean the same for every solver: the field of :class:`Options`, and what checks a value."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a run ended: why the solver stopped, what it holds, a point, and numbers recomputed from that point.

    What a solver says by itself is an outcome too, of the program maximised, until ``verified`` compares it with
    the point.

    Attributes
    ----------
    stop : Stop
        Why it stopped.
    holds : Holds
        What it holds. ``finished`` and ``nothing`` together: the solver says that there is no (better) point.
    x : float64 array (n,), optional
        The point, in the order of the program's columns.
    objective : float, optional
        The program's objective at ``x``, constant included, in the sense of its file or model; never the number the
        solver printed.
    bound : float
        The solver's bound, likewise; infinite if it gave none.
    nodes : int
        -1 if the solver does not say.
    seconds : float
    start_accepted : bool, optional
        Whether the solver took the start as its first incumbent; None without a start, if presolve left nothing to
        solve, or if it does not say.
    log : str, optional
        The solver's log.
    solver, version : str
    violation : float, optional
        Largest violation of a row, bound or integrality at ``x``.
    message : str
        A remark in a sentence or two; empty if there is none.
    minimises : bool
        Whether the file or model minimises, so that the bound lies below the objective.
    """

    stop: Stop
    holds: Holds = Holds.nothing
    x: Floats | None = None
    objective: float | None = None
    bound: float = math.inf
    nodes: int = -1
    seconds: float = 0.0
    start_accepted: bool | None = None
    log: str | None = None
    solver: str = ""
    version: str = ""
    violation: float | None = None
    message: str = ""
    minimises: bool = False

    @property
    def gap(self) -> float:
        """Distance of objective and bound; infinite if either is missing."""
        if self.objective is None:
            return math.inf
        sides = (self.objective, self.bound) if self.minimises else (self.bound, self.objective)
        return gap_between(*sides)

    @property
    def who(self) -> str:
        """Solver and version, for a sentence: ``CBC 2.10.8``."""
        return f"{self.solver} {self.version if self.version[:1].isdigit() else f'({self.version})'}"

    def holding(self, point: Point | None) -> Outcome:
        """The outcome with a point, its objective and its violation; without a point it holds nothing."""
        if point is None:
            return replace(self, holds=Holds.nothing, x=None, objective=None)
        return replace(self, x=point.x, objective=point.objective, violation=point.violation)

    def noting(self, *remarks: str) -> Outcome:
        """The outcome with remarks behind its message."""
        return replace(self, message=" ".join(filter(None, (self.message, *remarks))))

    def stated(self, program: Program) -> Outcome:
        """The outcome of a maximised program in the sense of its file or model."""
        if not program.minimises:
            return self
        objective = None if self.objective is None else program.own(self.objective)
        return replace(self, objective=objective, bound=program.own(self.bound), minimises=True)


def gap_between(bound: float, incumbent: float) -> float:
    """``bound - incumbent``, at least 0; infinite unless both are finite."""
    return max(0.0, bound - incumbent) if math.isfinite(bound) and math.isfinite(incumbent) else math.inf


def verified(program: Program, claim: Outcome, known: Point | None = None, cutoff: float | None = None) -> Outcome:
    """The outcome that the point of a claim supports: objective and violation are recomputed from it. The claim and the
    cut-off are of the program maximised. A ``known`` point keeps every row; it is never lost, and a claim that denies
    it is refused. SolverError: the point violates the program, or the claim does not fit the point.
    """
    if cutoff is not None:
        if claim.stop is Stop.unsure:
            claim = replace(claim, stop=Stop.finished, holds=Holds.nothing)
        # What is no better than the cut-off was never looked for.
        claim = replace(claim, bound=max(claim.bound, cutoff))
        if claim.stop is Stop.finished and (claim.holds is Holds.nothing or claim.x is None):
            claim = replace(claim, bound=cutoff, holds=Holds.feasible)
            claim = claim.noting(f"{claim.who} finds no point better than the cut-off {program.own(cutoff):.9g}.")
    who, bound, point = claim.who, claim.bound, None if claim.x is None else Point.of(program, claim.x)
    if claim.stop in (Stop.unbounded, Stop.unsure):
        # Of an integer program solvers mean the relaxation, unless they hold a point.
        sure = point is not None or known is not None
        raise SolverError(endless(who, program, sure or (claim.stop == "unbounded" and not program.integer.any())))
    finished = claim.stop is Stop.finished
    if finished and claim.holds is Holds.nothing:
        bound = -math.inf
        claim = claim.noting(f"{who} says that the program has no feasible point.")
    optimal = finished and claim.holds is Holds.optimal
    outcome = replace(claim, bound=bound).holding(point)
    if point is not None:
        objective, allowed = point.objective, AGREE * max(1.0, point.size)
        if not point.violation <= ACCEPTED:
            raise SolverError(
                f"The point of {who} violates the program by {point.violation:.3g}, and {ACCEPTED:g} is allowed: "
                "it solved another problem, or its tolerance is too loose."
            )
        if claim.objective is not None and abs(claim.objective - objective) > allowed:
            raise SolverError(
                f"{who} claims the objective {program.own(claim.objective):.9g} for a point whose objective is "
                f"{program.own(objective):.9g}: it solved another problem than the file states."
            )
        if optimal and bound == math.inf:
            bound = objective
        if bound < objective - allowed:
            raise SolverError(
                f"{who} gives the bound {program.own(bound):.9g} and a better point, with {program.own(objective):.9g}."
            )
        closed = optimal and bound - objective <= AGREE * max(1.0, abs(objective))
        outcome = replace(
            outcome, bound=max(bound, objective), holds=Holds.optimal if closed else Holds.feasible
        ).noting(f"{who} ended in a state that is unknown here; its point is kept." if claim.stop == "error" else "")
    elif optimal:
        raise SolverError(f"{who} says that it found the optimum and returns no point; its log may say why.")
    return (outcome if known is None else beside(outcome, known, program)).stated(program)


def beside(outcome: Outcome, known: Point, program: Program) -> Outcome:
    """The outcome with the better of its point and a known one; a claim that denies the known one is refused. The
    outcome is of the program maximised, and the known point is feasible in it.
    """
    claimed = outcome.bound
    if outcome.objective is None or known.objective > outcome.objective:
        holds = Holds.feasible if outcome.holds is Holds.nothing else outcome.holds
        outcome = replace(outcome.holding(known), holds=holds, bound=max(claimed, known.objective))
    if known.objective <= claimed + AGREE * max(1.0, known.size):
        return outcome
    said, than = "says that the program has no feasible point", "less" if program.minimises else "more"
    if math.isfinite(claimed):
        said = f"says that no point of the program has {than} than {program.own(claimed):.9g}"
    message = (
        f"{outcome.who} {said}, but one with {program.own(known.objective):.9g} is known: its claim is refused, and no "
        "bound is taken from it."
    )
    return replace(outcome, stop=Stop.contradicted, holds=Holds.feasible, bound=math.inf, message=message)


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


def reasons(
    cancel: threading.Event | None, deadline: float, tick: Callable[[], bool | None] = lambda: None
) -> Callable[[], Stop | None]:
    """A function that says why to stop: an event, a deadline on ``time.monotonic``, or a true answer of ``tick``."""

    def look() -> Stop | None:
        if (cancel is not None and cancel.is_set()) or tick():
            return Stop.interrupted
        return Stop.time_limit if time.monotonic() > deadline else None

    return look
