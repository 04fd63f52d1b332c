"""The list of solvers: the one place to add a line for a new one."""

from __future__ import annotations

from rerank.solvers import cbc, glpk, gurobi, scip
from rerank.solvers.external import Solver

SOLVERS: dict[str, Solver] = {module.SOLVER.name: module.SOLVER for module in (cbc, scip, glpk, gurobi)}
"""Solvers that are called by a command of their own, one file each."""

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
