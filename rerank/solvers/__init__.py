"""Solvers: programs in, outcomes out; nothing here knows the ranking problem behind a program.

:mod:`~rerank.solvers.highs` solves a program in memory, :func:`rerank.solvers.gateway.solve_file` a model file with any
solver of :func:`rerank.solvers.commands.names`. A new solver is one row of :data:`rerank.solvers.commands.SOLVERS`.
"""

from rerank.solvers.outcome import Holds, Options, Outcome, Progress, Stop

__all__ = ["Holds", "Options", "Outcome", "Progress", "Stop"]
