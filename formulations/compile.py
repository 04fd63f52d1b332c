"""One compile step: a Pyomo model becomes the arrays that solvers, files and checks share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.common.enums import ObjectiveSense
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler
from scipy import sparse

from formulations.errors import FormulationError
from formulations.program import LONGEST_NAME, Program

__all__ = ["Program", "compile_model", "short_name"]


def compile_model(model: pyo.ConcreteModel) -> Program:
    """Arrays of a linear model; columns in the order of declaration, rows likewise.

    Parameters
    ----------
    model : ConcreteModel
        One active linear objective. Built by this package or extended by its user; components without a
        short name in ``model.rerank_info.short`` are numbered (``x12``, ``c7``).

    Raises
    ------
    FormulationError
        If the model has not exactly one active objective.
    """
    objectives = list(model.component_data_objects(pyo.Objective, active=True))
    if len(objectives) != 1:
        raise FormulationError(
            f"The model has {len(objectives)} active objectives; a program has exactly one."
        )
    info = getattr(model, "rerank_info", None)
    short: Mapping[str, str] = info.short if info is not None else {}
    variables = [data for block in model.component_objects(pyo.Var, active=True) for data in block.values()]
    form = LinearStandardFormCompiler().write(model, mixed_form=True, set_sense=ObjectiveSense.maximize)
    # Fixed and unused variables are no columns of the standard form; here they keep their place, so that
    # every weight has a column in every program.
    position = {id(data): j for j, data in enumerate(variables)}
    order = np.fromiter((position[id(data)] for data in form.columns), np.intp, len(form.columns))
    matrix = _spread(form.A, order, len(variables))
    cost = _spread(form.c, order, len(variables)).toarray().ravel()
    kind = np.fromiter((row.bound_type for row in form.rows), np.int8, len(form.rows))
    side = np.asarray(form.rhs, dtype=np.float64).reshape(kind.size)
    bounds = np.array([_bounds(data) for data in variables], dtype=np.float64).reshape(-1, 2)
    weights = getattr(model, "w", None)
    chosen = [] if weights is None else [position[id(data)] for data in weights.values()]
    return Program(
        name=str(model.name),
        cost=cost,
        constant=float(form.c_offset[0]) + (info.constant if info is not None else 0.0),
        matrix=matrix,
        row_lower=np.where(kind <= 0, side, -np.inf),
        row_upper=np.where(kind >= 0, side, np.inf),
        lower=bounds[:, 0],
        upper=bounds[:, 1],
        integer=np.fromiter((not data.is_continuous() for data in variables), np.bool_, len(variables)),
        columns=_names(variables, short, "x"),
        rows=_names([row.constraint for row in form.rows], short, "c"),
        weights=np.array(chosen, dtype=np.intp),
    )


def _spread(matrix: sparse.csc_array, order: NDArray[np.intp], n_columns: int) -> sparse.csr_array:
    """The columns of ``matrix`` put at the places ``order`` of a matrix with ``n_columns`` columns."""
    rows = matrix.tocsr()
    spread = sparse.csr_array(
        (rows.data, order[rows.indices].astype(np.int32), rows.indptr.astype(np.int32)),
        shape=(matrix.shape[0], n_columns),
    )
    spread.sort_indices()
    return spread


def _bounds(data: Any) -> tuple[float, float]:
    if data.fixed:
        return data.value, data.value
    low, high = data.bounds
    return (-np.inf if low is None else low), (np.inf if high is None else high)


def _names(items: Iterable[Any], short: Mapping[str, str], letter: str) -> tuple[str, ...]:
    names: list[str] = []
    taken: set[str] = set()
    for number, data in enumerate(items):
        name = _name(data, short) or f"{letter}{number}"
        if name in taken:
            name = f"{letter}{number}"
        taken.add(name)
        names.append(name)
    if len(taken) != len(names):
        raise FormulationError(
            f"Short names of the model collide with its numbered names ({letter}0, {letter}1, ...)."
        )
    return tuple(names)


def _name(data: Any, short: Mapping[str, str]) -> str | None:
    component = data.parent_component()
    # The full name: a component of a sub-block may share its local name with one of ours.
    prefix = short.get(component.name)
    if prefix is None:
        return None
    name = prefix if data.index() is None else short_name(prefix, data.index())
    return name if len(name) <= LONGEST_NAME and name.isascii() and name.isidentifier() else None


def short_name(prefix: str, index: Any) -> str:
    """``z`` and ``(3, 7)`` make ``z3_7``."""
    return prefix + ("_".join(map(str, index)) if isinstance(index, tuple) else str(index))
