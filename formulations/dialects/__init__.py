"""Dialects of solution files: a file for each solver and an entry in ``DIALECTS``, tried in order."""

from formulations.dialects import cbc, glpk, gurobi, highs, scip
from formulations.dialects.raw import Dialect

__all__ = ["DIALECTS"]

DIALECTS: tuple[Dialect, ...] = (*highs.FORMS, *glpk.FORMS, *scip.FORMS, *cbc.FORMS, *gurobi.FORMS)
