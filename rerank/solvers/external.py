"""What a file of this folder says of one external solver: :class:`Solver`, with :class:`Claim` for its answer."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rerank.solvers.outcome import Options, Stop
from rerank.solvers.running import Ran

MODEL = "model.mps"
"""Name of the file a solver reads, in its working directory."""

SOLUTION = "answer.sol"
"""Name of the file it writes there, in a format of :mod:`formulations.solutions`."""

START = "start.mst"
"""Name of the file with a start, one line with name and value for each column; there is none without a start."""


@dataclass(frozen=True)
class Claim:
    """What a solver says, in the file's minimise sense.

    Attributes
    ----------
    stop : Stop
    optimal, infeasible : bool
        Whether it says that its point is optimal, or that there is none.
    unbounded, unsure : bool
        Whether it says that no objective is the best, or that this is so or there is no point.
    objective, bound : float, optional
        As printed.
    nodes : int
        -1 if it does not say.
    start_accepted : bool, optional
        Whether it used the start; None if it was given none, or does not say.
    """

    stop: Stop
    optimal: bool = False
    infeasible: bool = False
    unbounded: bool = False
    unsure: bool = False
    objective: float | None = None
    bound: float | None = None
    nodes: int = -1
    start_accepted: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Solver:
    """One solver that is called by a command of its own.

    Attributes
    ----------
    name, title, licence : str
        The name a user gives, and the one in a sentence.
    install : str
        What to run when it is missing.
    find : callable
        The words with which its command begins, or None if it is not installed.
    ask : sequence of str
        Arguments that make it print its version.
    version : str
        Regular expression of the version, in that print and in every log.
    arguments : callable
        The rest of the command, from the options; reads :data:`MODEL` and writes :data:`SOLUTION` in the working
        directory. The gaps are always stated: most solvers stop at 1e-4 otherwise.
    starting : sequence of str
        Arguments that make it read :data:`START`; empty for a solver that takes no start.
    claim : callable
        From how the command ended and the text of the solution file (empty if there is none).
    pulp : sequence of str
        PuLP's interfaces to this solver, in the order of trial, for when the command is not found.
    """

    name: str
    title: str
    licence: str
    install: str
    find: Callable[[], list[str] | None]
    ask: Sequence[str]
    version: str
    arguments: Callable[[Options], Sequence[str]]
    claim: Callable[[Ran, str], Claim]
    starting: Sequence[str] = ()
    pulp: Sequence[str] = ()

    def version_in(self, text: str) -> str:
        """The version a text names, or ``unknown``."""
        return first_match(self.version, text) or "unknown"


def on_path(program: str) -> Callable[[], list[str] | None]:
    """A ``find`` for a program on the PATH."""

    def find() -> list[str] | None:
        path = shutil.which(program)
        return [path] if path else None

    return find


def first_match(pattern: str, text: str) -> str:
    """Group 1 of the first match in a text; empty if there is none."""
    found = re.search(pattern, text)
    return found.group(1) if found else ""


def last_number(pattern: str, text: str) -> float | None:
    """Group 1 of the last match as a number; None if there is none or it is not finite."""
    found = re.findall(pattern, text)
    try:
        value = float(found[-1]) if found else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def last_count(pattern: str, text: str) -> int:
    """Group 1 of the last match as a whole number; -1 if there is none."""
    value = last_number(pattern, text)
    return -1 if value is None else int(value)
