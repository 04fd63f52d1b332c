"""One compile step: a Pyomo model becomes the arrays that solvers, files and checks share."""

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.common.enums import ObjectiveSense
from pyomo.common.errors import PyomoException
from pyomo.dae import ContinuousSet
from pyomo.gdp import Disjunct, Disjunction
from pyomo.network import Port
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler
from scipy import sparse

from formulations.data import Floats
from formulations.errors import FormulationError
from formulations.program import COST, LONGEST_NAME, Program

__all__ = ["Program", "compile_model", "short_name", "variables_of"]


# What says nothing to a solver, and all kinds of components that a linear program may hold.
SILENT = frozenset({pyo.Block, pyo.Set, pyo.RangeSet, pyo.Param, pyo.Expression, pyo.Suffix, pyo.BuildAction})
SILENT |= {pyo.BuildCheck, pyo.ExternalFunction, ContinuousSet, Port}
PLAIN = SILENT | {pyo.Var, pyo.Constraint, pyo.Objective}


@contextmanager
def uncollected() -> Iterator[None]:
    """No collection of garbage meanwhile: a model is many objects and little garbage, and looking for that took most
    of the time. Pyomo's PauseGC does the same, in one thread at a time.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@uncollected()
def compile_model(model: pyo.ConcreteModel) -> Program:
    """Arrays of a linear model; columns in the order of declaration, rows likewise.

    Parameters
    ----------
    model : ConcreteModel
        One active linear objective, and variables that are real, integer or binary. Built by this package or extended
        by its user; components without a short name in ``model.rerank_info.short`` are numbered (``x12``, ``c7``).
        References are other names of variables and make no columns. A fixed variable stays a column with its value as
        both bounds; one of this package's own stays in its rows, too. Bounds of an integer variable are rounded to the
        whole numbers between them. Disjuncts count once they are transformed.

    Raises
    ------
    FormulationError
        Naming what is no part of a linear program, or what has no number: another kind of component or domain, a
        variable outside the active blocks of the model, a term that is not linear, an unset parameter.
    """
    objective = _objective_of(model)
    info = getattr(model, "rerank_info", None)
    short: Mapping[str, str] = info.short if info is not None else {}
    own, variables = _own_variables(model), variables_of(model)
    # Fixed and unused variables are no columns of the standard form; here they keep their place, so that
    # every weight has a column in every program.
    position = {id(data): j for j, data in enumerate(variables)}
    form = _standard_form(model, own, position, len(variables))
    whole = np.fromiter(map(_whole, variables), np.bool_, len(variables))
    bounds = np.array(list(map(_bounds, variables, whole)), dtype=np.float64).reshape(-1, 2)
    weights = _weights_of(model, position)
    _check_finite(form, objective)
    titles = {COST: str(objective.name)}
    columns = _names(variables, short, "x", titles)
    rows = _names(form.rows, short, "c", titles)
    return Program(
        name=str(model.name),
        cost=form.cost,
        constant=form.constant,
        matrix=form.matrix,
        row_lower=np.where(form.kind <= 0, form.side, -np.inf),
        row_upper=np.where(form.kind >= 0, form.side, np.inf),
        lower=bounds[:, 0],
        upper=bounds[:, 1],
        integer=whole,
        columns=columns,
        rows=rows,
        weights=np.array(weights, dtype=np.intp),
        minimises=objective.sense == ObjectiveSense.minimize,
        titles=titles,
    )


@dataclass(frozen=True, eq=False)
class _Form:
    """Pyomo's standard form of a model, its columns those of the program."""

    cost: Floats
    constant: float
    matrix: sparse.csr_array
    side: Floats  # right-hand side of each row
    kind: NDArray[np.int8]  # -1 where that is its upper end, 1 where it is the lower one, 0 for an equality
    rows: list[Any]  # the constraint of each row


def _objective_of(model: Any) -> Any:
    """The objective of a model that holds nothing but what a linear program may hold."""
    if not hasattr(model, "component_objects"):
        raise FormulationError(f"model is a {type(model).__name__}; give a ConcreteModel of Pyomo.")
    for component in model.component_objects(active=True):
        if component.ctype not in PLAIN:
            what = f"{component.name!r} is a {component.ctype.__name__}, which no linear program holds"
            if component.ctype in (Disjunct, Disjunction):
                raise FormulationError(f"{what}; transform the model by gdp.bigm or gdp.hull of Pyomo.")
            leave = "deactivate" if hasattr(component, "deactivate") else "delete"
            raise FormulationError(f"{what}; state it as linear rows, or {leave} it.")
    objectives = list(model.component_data_objects(pyo.Objective, active=True))
    if len(objectives) != 1:
        raise FormulationError(f"The model has {len(objectives)} active objectives; a program has exactly one.")
    return objectives[0]


def _standard_form(model: Any, own: Iterable[Any], position: Mapping[int, int], n_columns: int) -> _Form:
    """The rows and the objective; ``own`` are the variables of this package, ``position`` the columns by variable."""
    try:
        with _unfixed(own):
            form = LinearStandardFormCompiler().write(model, mixed_form=True, set_sense=ObjectiveSense.maximize)
        # A fixed variable without a value is no number here.
        constant, side = float(form.c_offset[0]), np.asarray(form.rhs, dtype=np.float64)
    except (PyomoException, ValueError, TypeError) as error:
        raise FormulationError(f"The model is no linear program: {_sentence(error)}.") from error
    for data in form.columns:
        if id(data) not in position:
            raise FormulationError(
                f"The variable {data.name!r} stands in the program, but on no active block of the model; add or "
                "activate its block, or fix it."
            )
    order = np.fromiter((position[id(data)] for data in form.columns), np.intp, len(form.columns))
    kind = np.fromiter((row.bound_type for row in form.rows), np.int8, len(form.rows))
    return _Form(
        cost=_spread(form.c, order, n_columns).toarray().ravel(),
        constant=constant,
        matrix=_spread(form.A, order, n_columns),
        side=side.reshape(kind.size),
        kind=kind,
        rows=[row.constraint for row in form.rows],
    )


def _weights_of(model: pyo.ConcreteModel, position: Mapping[int, int]) -> list[int]:
    """The columns of the variables ``w``; none in a model of others, where another component may have that name."""
    named: Any = getattr(model, "w", None)
    weights = list(named.values()) if getattr(named, "ctype", None) is pyo.Var else []
    for data in weights:
        if id(data) not in position:
            raise FormulationError(
                f"The weight {data.name!r} is on no active block of the model; add or activate its block."
            )
    return [position[id(data)] for data in weights]


def _check_finite(form: _Form, objective: Any) -> None:
    if not (np.isfinite(form.cost).all() and np.isfinite(form.constant)):
        raise FormulationError(f"The objective {objective.name!r} holds a number that is not finite.")
    broken = np.flatnonzero(~np.isfinite(form.side) | ~np.isfinite(form.matrix.sum(axis=1)))
    if broken.size:
        raise FormulationError(f"The row {form.rows[broken[0]].name!r} holds a number that is not finite.")


def variables_of(model: pyo.ConcreteModel) -> list[Any]:
    """The variables of a model in the order of the columns that :func:`compile_model` makes of them: those of active
    blocks, then those of Disjuncts that a transformation has turned into rows.
    """
    declared = [block for block in model.component_objects(pyo.Var, active=True) if not block.is_reference()]
    for disjunct in model.component_data_objects(Disjunct, active=None, descend_into=(pyo.Block, Disjunct)):
        if disjunct.transformation_block is not None:
            declared += disjunct.component_objects(pyo.Var)
    return [data for block in declared for data in block.values()]


def _own_variables(model: pyo.ConcreteModel) -> list[Any]:
    """The variables that builders of this package made; one of the user's in the place of theirs is refused."""
    found: list[Any] = []
    for block in model.block_data_objects(active=True):
        for name, made in getattr(getattr(block, "rerank_info", None), "made", {}).items():
            there, kind = block.component(name), made.ctype
            if (there is None or there.ctype is kind) and (there is made or kind is not pyo.Var):
                found += made.values() if kind is pyo.Var else ()
                continue
            what = "is no longer there" if there is None else f"is a {there.ctype.__name__} of yours"
            raise FormulationError(
                f"{made.name!r} {what}, and the program has a {kind.__name__} of that name in its rows; give yours "
                "another name, and fix a variable that you do not want."
            )
    return found


@contextmanager
def _unfixed(variables: Iterable[Any]) -> Iterator[None]:
    """Meanwhile variables that are fixed stand in their rows, as if bounds held them there."""
    fixed = [data for data in variables if data.fixed]
    try:
        for data in fixed:
            data.unfix()
        yield
    finally:
        for data in fixed:
            data.fix()


def _sentence(error: Exception) -> str:
    """The first line of Pyomo's words."""
    return " ".join(str(error).split())[:200].rstrip(".")


def _spread(matrix: sparse.csc_array, order: NDArray[np.intp], n_columns: int) -> sparse.csr_array:
    """The columns of ``matrix`` put at the places ``order`` of a matrix with ``n_columns`` columns."""
    rows = matrix.tocsr()
    spread = sparse.csr_array(
        (rows.data, order[rows.indices].astype(np.int32), rows.indptr.astype(np.int32)),
        shape=(matrix.shape[0], n_columns),
    )
    spread.sort_indices()
    return spread


def _whole(data: Any) -> bool:
    """Whether a variable is integer; a domain that is neither an interval of reals nor of whole numbers is refused."""
    if not (data.is_integer() or data.is_continuous()):
        raise FormulationError(
            f"The variable {data.name!r} has the domain {str(data.domain)!r}, which is neither an interval of reals "
            "nor all whole numbers of one; state its values with binary variables."
        )
    return bool(data.is_integer())


def _bounds(data: Any, whole: bool) -> tuple[float, float]:
    """Lower and upper bound of a variable; its value where it is fixed."""
    try:
        low, high = data.bounds
    except ValueError as error:
        raise FormulationError(f"The variable {data.name!r} has no bounds: {_sentence(error)}.") from error
    low, high = (-np.inf if low is None else low), (np.inf if high is None else high)
    if whole:
        low, high = np.ceil(low), np.floor(high)
    if not low <= high:
        raise FormulationError(f"The variable {data.name!r} has no value between its bounds {data.bounds}.")
    if not data.fixed:
        return low, high
    value = np.nan if data.value is None else data.value
    # Our pair rows hold inside the bounds only.
    if not (low <= value <= high and (not whole or value == round(value))):
        raise FormulationError(
            f"The variable {data.name!r} is fixed at {data.value}, which its domain and bounds [{low:g}, {high:g}] do "
            "not allow; unfix it or fix another value."
        )
    return value, value


def _names(items: Iterable[Any], short: Mapping[str, str], letter: str, titles: dict[str, str]) -> tuple[str, ...]:
    """Short names; ``titles`` gets what the model calls those that are numbered."""
    names: list[str] = []
    taken: set[str] = set()
    for number, data in enumerate(items):
        # The full name: a component of a sub-block may share its local name with one of ours.
        prefix = short.get(data.parent_component().name)
        name = None if prefix is None else prefix if data.index() is None else short_name(prefix, data.index())
        fits = name is not None and len(name) <= LONGEST_NAME and name.isascii() and name.isidentifier()
        if name is None or not fits or name in taken:
            name = f"{letter}{number}"
            titles[name] = str(data.name)
        taken.add(name)
        names.append(name)
    if len(taken) != len(names):
        raise FormulationError(f"Short names of the model collide with its numbered names ({letter}0, {letter}1, ...).")
    return tuple(names)


def short_name(prefix: str, index: Any) -> str:
    """``z`` and ``(3, 7)`` make ``z3_7``."""
    return prefix + ("_".join(map(str, index)) if isinstance(index, tuple) else str(index))
