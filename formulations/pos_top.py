r"""Pos@Top: the weights that put the most relevant rows above every other row.

Symbols

=============  ========================================================================================
``i``, ``k``   positive and negative rows of unit ``u`` (a list and a threshold of gain)
``w_j``        weight of feature ``j``, in ``[-1, 1]``
``gamma_j``    1 when feature ``j`` may carry a weight (only if features are penalised or limited)
``h_u``        threshold: no negative of the unit is scored above it
``a_ui``       1 when item ``i`` is scored at least ``epsilon`` above every negative of the unit
``M_ui``       ``epsilon`` minus the least value of ``w.x_i - max_k w.x_k`` in the box, at least ``epsilon``
``f``          factor of the unit, times what the top place pays
=============  ========================================================================================

Maximise ``statistic``: the sum of ``f a_ui``, less ``C sum_j gamma_j``, and a constant: what items earn that no weights
of the box put below a negative.

Subject to

``switch_up``, ``switch_down``
    ``w_j <= upper_j gamma_j`` and ``-w_j <= -lower_j gamma_j``: a feature that is not paid for has no weight.
``support_limit``
    ``sum_j gamma_j <= max_features``.
``threshold``
    ``w.x_k <= h_u`` for the negatives that are the best of their unit for some weights of the box.
``above_threshold``
    ``a_ui <= (w.x_i - h_u - epsilon) / M_ui + 1``: an item counts when it is the margin above the threshold.

No pair has a row or a column: there is one binary a relevant row, and one row for each row of the table at most. An
item that some negative is above whatever the weights has no ``a``.

The optimum is the optimum of the problem itself: scaling ``w`` up to the surface of the box loses no item that counts.

Source: our own; the statistic is that of [LiJinZhou2014].
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from formulations.common import Assignment, documented, family, linear, named, new_model, start, statistic
from formulations.compile import uncollected
from formulations.data import Coefficients, Floats, Unit
from formulations.errors import FormulationError
from formulations.options import Instance, instance_of
from formulations.wins import ENTRIES_OF_A_FEATURE, ROUNDING, Layout, reach, wins_of

Key = tuple[int, int]

__all__ = ["build", "most_nonzeros", "assignment"]

PARTS = {  # prefixes of short names, and what the components mean
    "h": ("h", "ours: no negative of unit u is scored above it"),
    "a": ("a", "ours: 1 when item i is scored at least the margin above every negative of unit u"),
    "threshold": ("H", "ours: the threshold of a unit is at least the score of each of its negatives"),
    "above_threshold": ("A", "ours: an item counts when it is the margin above the threshold; row divided by M_ui"),
}


@uncollected()
def build(
    X: ArrayLike,
    y: ArrayLike | None = None,
    coefficients: Coefficients | None = None,
    *,
    qid: ArrayLike | None = None,
    units: Iterable[Any] | None = None,
    name: str = "pos_top",
    **options: Any,
) -> pyo.ConcreteModel:
    """The Pos@Top program; parameters and errors as for :func:`formulations.subrank.build`.

    ``coefficients`` default to 1 at the top and must be 0 elsewhere. ``big_m``, ``linking``, ``cuts`` and
    ``extra_cuts`` change nothing here: no pair has a row, and there are no ranks.

    Returns
    -------
    ConcreteModel
        With ``w``, ``h``, ``a`` (and ``gamma``), the families named above and ``rerank_info``.
    """
    layout = _layout(instance_of(X, y, _top if coefficients is None else coefficients, qid=qid, units=units, **options))
    rows, epsilon, divisors = layout.instance.X.tolist(), layout.instance.options.epsilon, layout.divisors
    model = new_model("pos_top", name, layout, PARTS, divisors.values())
    w = list(model.w.values())
    model.h = h = pyo.Var(list(layout.limits), bounds=layout.limits)
    model.a = a = pyo.Var(list(layout.gains), domain=pyo.Binary)
    model.statistic = statistic(model, a)
    model.threshold = family(
        ((u, k), linear(*((x, w[j]) for j, x in enumerate(rows[k]) if x), (-1, h[u])) <= 0)
        for u, ks in layout.rivals.items()
        for k in ks
    )
    model.above_threshold = family(
        (
            (u, i),
            linear((1, a[u, i]), *((-x / M, w[j]) for j, x in enumerate(rows[i]) if x), (1 / M, h[u]))
            <= (M - epsilon) / M,
        )
        for (u, i), M in divisors.items()
    )
    return documented(model, PARTS)


def most_nonzeros(X: ArrayLike, y: Any = None, coefficients: Any = None, **options: Any) -> int:
    """Upper bound on the non-zeros of the program that :func:`build` makes of the same arguments."""
    return _layout(instance_of(X, y, _top if coefficients is None else coefficients, **options)).nonzeros


def assignment(model: pyo.ConcreteModel, w: ArrayLike, tolerance: float = 1e-9) -> Assignment:
    """Every column's value for weights ``w``; as :func:`formulations.subrank.assignment`."""
    layout: TopLayout = model.rerank_info.layout
    begun, _, _ = start(model.rerank_info, w, tolerance)
    if begun.values is None:
        return begun
    scores = layout.instance.X @ np.asarray(w, dtype=np.float64)
    best = {u: float(scores[ks].max()) for u, ks in layout.rivals.items()}
    least = layout.instance.options.epsilon - tolerance
    above = {(u, i): float(scores[i] - best[u] >= least) for u, i in layout.gains}
    return Assignment(begun.values | named("h", best) | named("a", above))


@dataclass(frozen=True, eq=False)
class TopLayout(Layout):
    """The Pos@Top program; its gains are indexed ``(unit, i)``, and it asks about no pair."""

    rivals: dict[int, list[int]]  # negatives of each unit that can be its best
    limits: dict[int, tuple[float, float]]  # least and largest threshold of each unit
    divisors: dict[Key, float]  # ``M_ui``, by (unit, i)


def _top(m: int) -> Floats:
    return (np.arange(m) == m - 1).astype(np.float64)


def _layout(instance: Instance) -> TopLayout:
    """Thresholds, and the items that the box leaves open."""
    none = wins_of(instance, np.empty((0, 2), np.intp))
    layout = TopLayout(instance, none, {}, 0.0, 0, {}, {}, {})
    constant = sum(
        _add_unit(layout, number, unit)
        for number, unit in enumerate(unit for item in instance.lists for unit in item.units)
    )
    d = instance.lower.size
    rows = len(layout.gains) + sum(map(len, layout.rivals.values()))
    switches = ENTRIES_OF_A_FEATURE * d if instance.switched else 0
    nonzeros = switches + rows * (d + 1) + len(layout.gains)
    return replace(layout, constant=float(constant), nonzeros=nonzeros)


def _add_unit(layout: TopLayout, number: int, unit: Unit) -> float:
    """One unit's threshold and open items; returns what is earned anyway."""
    instance, X = layout.instance, layout.instance.X
    if unit.coefficients[:-1].any():
        raise FormulationError(
            "The pos_top program pays the top place alone; use mixed for coefficients that pay others, too."
        )
    paid = unit.factor * float(unit.coefficients[-1])
    if not unit.negative.size:
        return paid * unit.positive.size
    epsilon, rivals = instance.options.epsilon, X[unit.negative]
    low, high = -_most(-rivals, instance), _most(rivals, instance)
    # One that another is above whatever the weights is the best for none.
    best = _most(rivals - rivals[np.argmax(low)], instance) >= -ROUNDING * max(1.0, float(np.abs(high).max()))
    rivals, layout.rivals[number] = rivals[best], unit.negative[best].tolist()
    layout.limits[number] = float(low.max()), float(high.max())
    constant = 0.0
    for i in unit.positive.tolist():
        apart = X[i] - rivals
        slack = ROUNDING * max(1.0, float(np.abs(apart).sum(axis=1).max()))
        behind = float(_most(-apart, instance).max())
        if -behind >= epsilon + slack:
            constant += paid
        elif float(_most(apart, instance).min()) >= epsilon - slack:
            layout.gains[number, i] = paid
            layout.divisors[number, i] = max(epsilon + behind, epsilon)
    return constant


def _most(rows: Floats, instance: Instance) -> Floats:
    """Largest ``w.row`` in the box, of each row."""
    return reach(np.maximum(rows * instance.lower, rows * instance.upper), instance)
