"""Pieces every builder shares: the weights and their switches, what a model remembers, a start from ``w``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from formulations.data import Floats
from formulations.errors import FormulationError
from formulations.options import Instance, Size
from formulations.rows import Terms, family, linear, named
from formulations.wins import OPEN, Wins, outside_unit_range, switch, won

SHORT = {
    "w": "w", "gamma": "g", "z": "z", "s": "s", "r": "r", "t": "t", "b": "b", "c": "c", "y": "y",
    "above_by_margin": "M", "switch_up": "U", "switch_down": "D", "support_limit": "K",
}  # fmt: skip
"""Prefixes of short names that mean the same in every program; columns in small letters, rows in capitals."""


@dataclass(frozen=True, eq=False)
class Info:
    """What a model remembers of its making, as ``model.rerank_info``.

    Attributes
    ----------
    kind : str
        Module that built the model.
    offset : float
        Constant of the objective; kept here because Pyomo would write it to files as a column.
    instance : Instance
        Data, lists, options, limits of ``w``.
    wins : Wins
        Pairs and what the limits of ``w`` decide.
    plan : object
        Counts and levels of the program, as its own module lays them out.
    short : mapping of str to str
        Prefix of the short names of each component.
    divisor : float
        Largest number a pair row was divided by: its margin is ``epsilon / divisor`` as a solver sees it.
    """

    kind: str
    offset: float
    instance: Instance
    wins: Wins
    plan: Any
    short: Mapping[str, str]
    divisor: float


def remember(
    kind: str, offset: float, instance: Instance, wins: Wins, plan: Any, rows: Mapping[str, str]
) -> Info:
    """The :class:`Info` of a model whose own row families have the prefixes ``rows``."""
    divisor = float(switch(instance, wins.low[wins.state == OPEN]).max(initial=1.0))
    return Info(kind, offset, instance, wins, plan, SHORT | dict(rows), divisor)


def has_switches(instance: Instance) -> bool:
    """Whether non-zero weights are priced or limited, and so need ``gamma``."""
    limit = instance.options.max_features
    return instance.options.C > 0 or (limit is not None and limit < instance.X.shape[1])


def add_weights(model: pyo.ConcreteModel, instance: Instance) -> None:
    """Variables ``w`` and, if features are priced or limited, ``gamma`` with its three families."""
    features = range(instance.X.shape[1])
    lower, upper = instance.lower.tolist(), instance.upper.tolist()
    # Weight of each feature in the score.
    model.w = pyo.Var(features, bounds=lambda _, j: (lower[j], upper[j]))
    if not has_switches(instance):
        return
    w = model.w
    # 1 when feature j may carry a weight.
    model.gamma = gamma = pyo.Var(features, domain=pyo.Binary)
    up, down = _switched(instance)
    model.switch_up = family({j: (None, linear([1.0, -upper[j]], [w[j], gamma[j]]), 0.0) for j in up})
    model.switch_down = family({j: (None, linear([-1.0, lower[j]], [w[j], gamma[j]]), 0.0) for j in down})
    if instance.options.max_features is not None:
        everything = linear([1.0] * len(features), list(gamma.values()))
        model.support_limit = pyo.Constraint(rule=(None, everything, float(instance.options.max_features)))


def _switched(instance: Instance) -> tuple[list[int], list[int]]:
    """Features with a row ``w_j <= upper_j gamma_j``, and with a row ``-w_j <= -lower_j gamma_j``."""
    return np.flatnonzero(instance.upper > 0).tolist(), np.flatnonzero(instance.lower < 0).tolist()


def size_of_weights(instance: Instance) -> Size:
    """Size of :func:`add_weights`."""
    d = instance.X.shape[1]
    if not has_switches(instance):
        return Size(0, d, 0)
    up, down = _switched(instance)
    limit = 0 if instance.options.max_features is None else 1
    return Size(len(up) + len(down) + limit, 2 * d, 2 * (len(up) + len(down)) + limit * d)


def price(model: pyo.ConcreteModel, instance: Instance) -> Terms:
    """Terms ``-C gamma_j`` of an objective."""
    if not instance.options.C > 0:
        return [], []
    return [-float(instance.options.C)] * len(model.gamma), list(model.gamma.values())


@dataclass(frozen=True, eq=False)
class Assignment:
    """Values of every column for given weights, or the row that these weights violate.

    Attributes
    ----------
    values : dict of str to float, or None
        By short name; ``Program.vector`` makes it a column vector.
    violated : str or None
        Constraint family and index, with the numbers that do not fit.
    """

    values: dict[str, float] | None
    violated: str | None = None


def start(info: Info, w: ArrayLike, tolerance: float) -> tuple[Assignment, Floats, NDArray[np.bool_]]:
    """Values of ``w``, ``gamma`` and ``z``; the weights as an array; which of the asked pairs they win.

    Differences within ``tolerance`` of the margin count as wins, as they do for a solver.
    """
    weights, values, violated = _weights(info, w, tolerance)
    wins = won(info.instance, info.wins, weights, tolerance)
    if violated is None and info.instance.options.big_m == "unit":
        violated = outside_unit_range(info.instance, info.wins, weights, tolerance)
    open_ = info.wins.state == OPEN
    values |= named("z", dict(zip(map(tuple, info.wins.open.tolist()), wins[open_].tolist())))
    return Assignment(values if violated is None else None, violated), weights, wins


def _weights(info: Info, w: ArrayLike, tolerance: float) -> tuple[Floats, dict[str, float], str | None]:
    """``w`` as an array, the values of ``w`` and ``gamma``, and the limit that ``w`` violates, if any."""
    instance, weights = info.instance, np.asarray(w, dtype=np.float64)
    if weights.shape != instance.lower.shape or not np.isfinite(weights).all():
        raise FormulationError(
            f"w has shape {weights.shape}; give one finite weight for each of {instance.lower.size}."
        )
    values = {f"w{j}": float(v) for j, v in enumerate(weights)}
    if has_switches(instance):
        values |= {f"g{j}": float(v != 0) for j, v in enumerate(weights)}
    outside = np.flatnonzero((weights < instance.lower - tolerance) | (weights > instance.upper + tolerance))
    if outside.size:
        j = int(outside[0])
        limits = f"[{instance.lower[j]:.17g}, {instance.upper[j]:.17g}]"
        return weights, values, f"bounds of w[{j}]: {weights[j]:.17g} lies outside {limits}"
    limit, used = instance.options.max_features, int(np.count_nonzero(weights))
    if limit is not None and used > limit:
        return weights, values, f"support_limit: {used} non-zero weights, at most {limit} allowed"
    return weights, values, None
