"""Rows, families of rows and short names: the few lines of Pyomo that every builder repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr import LinearExpression

Row = tuple[float | None, Any, float | None]
"""Lower side, body, upper side."""

Terms = tuple[list[float], list[Any]]
"""Coefficients and variables of a sum."""


def linear(coefficients: Sequence[float], variables: Sequence[Any]) -> LinearExpression:
    """A sum of terms in the form that Pyomo compiles fastest."""
    return LinearExpression(linear_coefs=list(coefficients), linear_vars=list(variables))


def family(rows: Mapping[Any, Row]) -> pyo.Constraint:
    """One constraint family from its rows."""
    return pyo.Constraint(list(rows), rule=dict(rows))


def total(count: Any, terms: Sequence[Any], constant: float) -> Row:
    """``count = sum of terms + constant``."""
    return float(constant), linear([1.0] + [-1.0] * len(terms), [count, *terms]), float(constant)


def maximise(*parts: Terms) -> pyo.Objective:
    """The objective that adds up ``parts``."""
    coefficients, variables = ([x for part in parts for x in part[side]] for side in (0, 1))
    return pyo.Objective(expr=linear(coefficients, variables), sense=pyo.maximize)


def short_name(prefix: str, index: Any) -> str:
    """``z`` and ``(3, 7)`` make ``z3_7``."""
    return prefix + ("_".join(map(str, index)) if isinstance(index, tuple) else str(index))


def named(prefix: str, values: Mapping[Any, float]) -> dict[str, float]:
    """Values by short name, from values by index."""
    return {short_name(prefix, index): float(value) for index, value in values.items()}
