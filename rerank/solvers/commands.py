"""Solvers that are called by a command of their own: a row of :data:`SOLVERS` each, and how a command is run."""

import importlib.util
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from formulations.program import Program
from rerank.errors import SolverError
from rerank.errors.stops import POLL
from rerank.solvers.outcome import ENDINGS, Holds, Options, Outcome, Stop, ending, reasons

MODEL, SOLUTION, START = "model.mps", "answer.sol", "start.mst"
"""Names of files in the working directory of a solver: what it reads; what it writes, in a format of
:mod:`formulations.solutions`; and a start, one line with name and value for each column, if there is one."""

NEVER = "(?!)"  # a regular expression that is found nowhere
GRACE = 1.2  # seconds that a command has to write its solution once it is told to stop


@dataclass(frozen=True, kw_only=True)
class Solver:
    """One solver. Regular expressions of its end are looked for in its log, below the first lines of the solution file.
    Each of these lines has ``file:`` before it. Numbers are in the file's minimise sense, and the last one found
    counts.
    """

    title: str  # its name in a sentence
    licence: str
    install: str  # what to run when it is missing
    find: Callable[[], list[str] | None]  # the words with which its command begins, or None if it is not installed
    ask: Sequence[str] = ()  # arguments that make it print its version
    version: str  # regular expression of it, in that print and in every log
    # The rest of the command, which reads MODEL and writes SOLUTION; a cut-off is in the unit of the file.
    # Gaps are always stated: most solvers stop at 1e-4 otherwise.
    arguments: Callable[[Options], list[str]]
    lacks: frozenset[str] = frozenset()  # names of COMMON that it has no option for
    refusal: str = NEVER  # how it complains of an unknown option and goes on; its options are then DASHED
    starting: Sequence[str] = ()  # arguments that make it read START; empty if it takes no start
    endings: Sequence[tuple[str, str]]  # how it may end, the first found counts: an expression and a word of ENDINGS
    objective: str
    bound: str
    nodes: str = NEVER
    final: bool = True  # whether the last bound in the log of an optimum is that of its end
    started: str = NEVER  # that the start was used,
    ignored: str = NEVER  # or not
    pulp: Sequence[str] = ()  # PuLP's interfaces to it, in the order of trial, for when the command is not found

    def version_in(self, text: str) -> str:
        """The version a text names, or ``unknown``."""
        match = re.search(self.version, text, re.M)
        return match[1] if match else "unknown"

    def claim(self, log: str, solution: str = "", constant: float = 0.0) -> Outcome:
        """What it says in its log and its solution file (empty if there is none) of a program with this constant."""
        text = "".join(f"file: {line}\n" for line in solution.splitlines()[:20]) + log
        stop, holds = ending(next((word for said, word in self.endings if re.search(said, text, re.M)), ""))
        objective, bound, nodes = (_last(said, text) for said in (self.objective, self.bound, self.nodes))
        if not self.final and holds is not Holds.feasible:
            bound = None
        used = True if re.search(self.started, text, re.M) else False if re.search(self.ignored, text, re.M) else None
        return Outcome(
            stop,
            holds,
            objective=None if objective is None else constant - objective,
            bound=math.inf if bound is None else constant - bound,
            nodes=-1 if nodes is None else int(nodes),
            start_accepted=used,
            log=log,
            solver=self.title,
            version=self.version_in(log),
        )


def _last(pattern: str, text: str) -> float | None:
    """Group 1 of the last match as a number; None if there is none or it means infinity, which SCIP writes as 1e20."""
    numbers = re.findall(pattern, text, re.M)
    try:
        value = float(numbers[-1]) if numbers else math.inf
    except ValueError:
        return None
    return value if abs(value) < 1e20 else None


def _on_path(program: str) -> Callable[[], list[str] | None]:
    """A ``find`` for a program on the PATH."""
    return lambda: [path] if (path := shutil.which(program)) else None


def _in_python(package: str, script: str, program: str = "") -> Callable[[], list[str] | None]:
    """A ``find`` for a script of this folder that needs a package, or else for a program on the PATH."""

    def find() -> list[str] | None:
        if importlib.util.find_spec(package) is None:
            return _on_path(program)() if program else None
        return [sys.executable, "-P", str(Path(__file__).with_name(script))]

    return find


DASHED = "-{} {}"  # template of an option: a dash and its name, and its value as the next word


def _raw(options: Options, template: str = "{}={}") -> list[str]:
    """The arguments of the solver's own options; with a blank in the template a name alone is a switch."""
    words: list[str] = []
    for name, value in options.raw.items():
        flag, blank, _ = template.partition(" ")
        alone = blank and (value is True or value == "")
        words += [flag.format(name), *([] if alone else [str(value)])] if blank else [template.format(name, value)]
    return words


def _words(*stated: tuple[str, Any]) -> list[str]:
    """The arguments of options that are not None: each a template and the value that it takes."""
    return [word for template, value in stated if value is not None for word in template.format(value).split()]


SOLVERS: dict[str, Solver] = {
    "cbc": Solver(
        title="CBC",
        licence="EPL-2.0",
        install="apt-get install coinor-cbc (Debian, Ubuntu), or brew install cbc, or see github.com/coin-or/Cbc",
        find=_on_path("cbc"),
        ask=("-exit",),
        version=r"Version:\s+(\S+)",
        arguments=lambda options: [
            MODEL,
            *_words(
                ("-seconds {:g} -timeMode elapsed", options.time_limit),
                ("-ratioGap {!r}", options.mip_rel_gap),
                ("-allowableGap {!r}", options.mip_abs_gap),
                ("-integerTolerance {!r}", options.feasibility_tolerance),
                ("-threads {}", options.threads if options.threads > 1 else None),
                ("-maxNodes {}", options.node_limit),
                ("-randomCbcSeed {}", options.seed),
            ),
            *_raw(options, DASHED),
            "-solve",
            "-solution",
            SOLUTION,
        ],
        refusal=r"^(No match|.* was provided for .* - valid range|String of .* is illegal|<?Possible options for).*",
        # It could read a start, and would then repeat it as the optimum where it misses the optimum by itself. With its
        # own cut-off at 11, 2.10.8 calls 11 the minimum of 2 A + 3 B over A + B >= 3.5 in whole A <= 2 and B; it is 10.
        lacks=frozenset({"start", "cutoff"}),
        endings=(
            (r"\Afile: Optimal", "optimal"),
            (r"\Afile: (?i:.*infeasible.*) - objective value", "infeasible"),
            (r"\Afile: Unbounded|Problem is unbounded", "unbounded"),
            (r"\Afile: Stopped on time", "time"),
            (r"\Afile: Stopped on", "nodes"),
        ),
        objective=r"Result - Optimal.*\s+Objective value:\s+(\S+)",
        bound=r"Lower bound:\s+(\S+)",
        nodes=r"Enumerated nodes:\s+(\d+)",
        final=False,
        pulp=("COIN_CMD", "PULP_CBC_CMD"),
    ),
    "scip": Solver(
        title="SCIP",
        licence="Apache-2.0",
        install="pip install pyscipopt",
        find=_in_python("pyscipopt", "scip_process.py"),
        version=r"^answer version (.+)$",
        arguments=lambda options: [
            *_words(
                ("limits/gap={!r}", options.mip_rel_gap),
                ("limits/absgap={!r}", options.mip_abs_gap),
                ("numerics/feastol={!r}", options.feasibility_tolerance),
                ("randomization/randomseedshift={!r}", options.seed),
                ("limits/time={!r}", options.time_limit),
                ("limits/nodes={!r}", options.node_limit),
                ("cutoff={!r}", options.cutoff),
            ),
            *_raw(options),
            MODEL,
            SOLUTION,
        ],
        lacks=frozenset({"threads"}),
        starting=(f"start={START}",),
        endings=tuple((rf"^answer ending {word}$", word) for word in ENDINGS),
        objective=r"^answer objective (\S+)",
        bound=r"^answer bound (\S+)",
        nodes=r"^answer nodes (\d+)",
        started=r"^answer start True",
        ignored=r"^answer start False",
    ),
    "glpk": Solver(
        title="GLPK",
        licence="GPL-3.0",
        install="apt-get install glpk-utils (Debian, Ubuntu), or brew install glpk",
        find=_on_path("glpsol"),
        ask=("--version",),
        version=r"GLPSOL.* (\d+\.\d+)",
        arguments=lambda options: [
            "--freemps",
            MODEL,
            *_words(
                ("--tmlim {}", None if options.time_limit is None else math.ceil(options.time_limit)),
                ("--mipgap {!r}", options.mip_rel_gap),
                ("--seed {}", options.seed),
            ),
            *_raw(options, "--{} {}"),
            "-w",
            SOLUTION,
        ],
        lacks=frozenset({"threads", "node_limit", "cutoff", "start"}),
        endings=(
            (r"^file: s (mip|bas) \d+ \d+ (o|f f) ", "optimal"),
            (r"TIME LIMIT EXCEEDED", "time"),
            (r"HAS UNBOUNDED (PRIMAL )?SOLUTION", "unbounded"),
            (r"HAS NO DUAL FEASIBLE SOLUTION", "unsure"),
            (r"^file: s (mip|bas) \d+ \d+ n |PROBLEM HAS NO (\w+ )*FEASIBLE SOLUTION", "infeasible"),
        ),
        objective=r"^file: s (?:mip|bas) \d+ \d+ (?:o|f f) (\S+)$",
        bound=r"^\+\s*\d+: \S+\s+.*>=\s+(-?\d\S*)",
        final=False,
    ),
    "gurobi": Solver(
        title="Gurobi",
        licence="commercial",
        install="pip install gurobipy (its licence covers small programs), or install Gurobi with gurobi_cl on the "
        "path",
        # Both take the same arguments and print the same log.
        find=_in_python("gurobipy", "gurobi_process.py", "gurobi_cl"),
        ask=("--version",),
        version=r"[Vv]ersion (\d+\.\d+\.\d+)",
        arguments=lambda options: [
            *_words(
                ("ResultFile={}", SOLUTION),
                ("MIPGap={}", options.mip_rel_gap),
                ("MIPGapAbs={}", options.mip_abs_gap),
                # Gurobi takes no tolerance below 1e-9.
                ("IntFeasTol={0} FeasibilityTol={0}", max(1e-9, options.feasibility_tolerance)),
                ("Threads={}", options.threads),
                ("Seed={}", options.seed),
                ("TimeLimit={}", options.time_limit),
                ("NodeLimit={}", options.node_limit),
                ("Cutoff={!r}", options.cutoff),
            ),
            *_raw(options),
            MODEL,
        ],
        starting=(f"InputFile={START}",),
        endings=(
            (r"nfeasible or unbounded", "unsure"),
            (r"Model is infeasible|Infeasible model", "infeasible"),
            (r"Model is unbounded|Unbounded model", "unbounded"),
            (r"Model objective exceeds cutoff", "cutoff"),
            (r"Optimal solution found|Optimal objective", "optimal"),
            (r"Time limit reached", "time"),
            (r"Node limit reached", "nodes"),
            (r"Solve interrupted", "interrupt"),
        ),
        objective=r"Best objective (-?\d\S*?),",
        bound=r"best bound (-?\d\S*?),",
        nodes=r"Explored (\d+) nodes",
        started=r"Loaded user MIP start",
        ignored=r"User MIP start",
    ),
}
"""By the name that a user gives. A new solver is one more row here, and one in
:data:`formulations.solutions.DIALECTS` if its solution file has a format of its own."""

ONLY_PULP: dict[str, tuple[str, ...]] = {
    "cplex": ("CPLEX_PY", "CPLEX_CMD"),
    "xpress": ("XPRESS_PY", "XPRESS"),
    "copt": ("COPT", "COPT_CMD"),
    "mosek": ("MOSEK",),
    "mipcl": ("MIPCL_CMD",),
    "choco": ("CHOCO_CMD",),
}
"""Solvers that are called through PuLP alone: name -> PuLP's interfaces, in the order of trial."""


def names() -> tuple[str, ...]:
    """Every solver by the name a user gives, HiGHS first."""
    return ("highs", *SOLVERS, *ONLY_PULP)


def _printed(words: Sequence[str]) -> tuple[str, str]:
    """What a command that ends soon prints, and what it prints as errors."""
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL, errors="replace", check=False
    )
    return done.stdout, done.stderr


def installed_version(solver: Solver, command: Iterable[str]) -> str:
    """The version that a solver prints when it is asked."""
    try:
        return solver.version_in("".join(_printed([*command, *solver.ask])))
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"


def by_command(
    name: str, command: list[str], program: Program, options: Options, folder: Path, cancel: threading.Event | None
) -> tuple[Outcome, str]:
    """Run a solver's command on the model (and the start) in a folder: what it claims, and its solution file."""
    from formulations.errors import FileFormatError
    from formulations.solutions import NoPointError, read_solution

    solver, limit, written = SOLVERS[name], options.time_limit, folder / SOLUTION
    if options.raw and solver.refusal != NEVER:  # it would go on without an option that it does not know
        said, _ = _printed([*command, *_raw(options, DASHED), *solver.ask])
        if match := re.search(solver.refusal, said, re.M):
            raise SolverError(f"{solver.title} refuses an option: {match[0].strip()}.")
    if options.cutoff is not None:
        options = replace(options, cutoff=program.constant - options.cutoff)
    # The solver keeps the limit itself; ours is a little later, for a solver that does not.
    fence = None if limit is None else limit + max(0.5, 0.02 * limit)
    starting = solver.starting if (folder / START).exists() else ()
    stopped, code, log = run_command(
        [*command, *starting, *solver.arguments(options)], folder, fence, cancel, options.log_file
    )
    text = written.read_text(encoding="utf-8", errors="replace") if written.exists() else ""
    claim = solver.claim(log, text, program.constant)
    if stopped is not None and claim.stop not in (Stop.finished, Stop.unbounded, Stop.unsure):
        claim = replace(claim, stop=stopped)
    try:
        if text:
            claim = replace(claim, x=program.vector(read_solution(written, program)))
    except NoPointError:
        pass
    except FileFormatError as error:
        # A solver that was killed while it wrote leaves half a file behind.
        if stopped is None:
            raise SolverError(f"The solution file of {name} cannot be read: {error}") from error
    if claim.stop is Stop.error and claim.x is None:
        last = " / ".join([line.strip() for line in log.splitlines() if line.strip()][-3:])[:300] or "none"
        how = f"was killed by signal {-code}" if code < 0 else f"failed with exit code {code}"
        raise SolverError(f"{name} {how if code else 'ended without an answer'}; its last words: {last}.")
    return claim, text if claim.x is not None else ""


def run_command(
    command: Sequence[str],
    folder: Path,
    time_limit: float | None = None,
    cancel: threading.Event | None = None,
    log_file: str | os.PathLike[str] | None = None,
) -> tuple[Stop | None, int, str]:
    """Run a command in a folder. On Ctrl-C, ``cancel`` or the limit, interrupt it; if it goes on, kill it. Returns why
    it was told to stop, its exit code (negative for a signal), and what it printed, which is written to ``log_file`` as
    it comes, or to a file in the folder.
    """
    look = reasons(cancel, time.monotonic() + (math.inf if time_limit is None else time_limit))
    log, reason = folder / "log.txt" if log_file is None else Path(log_file), None
    with open(log, "wb") as stream:
        try:
            # In a session of its own the command does not receive the terminal's Ctrl-C; we pass it on.
            process = subprocess.Popen(
                list(command),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise SolverError(f"{command[0]} cannot be started: {error.strerror}.") from error
        try:
            try:
                while reason is None and not _ended(process, POLL):
                    reason = look()
            except KeyboardInterrupt:
                reason = Stop.interrupted
            if reason is not None:
                _signal(process, signal.SIGINT)
                _ended(process, GRACE)
        finally:
            if process.poll() is None:
                _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))
                process.kill()
                process.wait()
    return reason, process.returncode, log.read_text(encoding="utf-8", errors="replace")


def _ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.returncode is not None


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":
            process.terminate()
        else:
            os.killpg(process.pid, number)
