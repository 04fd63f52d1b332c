r"""ResolvedRank: the weights whose order earns the most when ties are resolved against relevant items.

Symbols

=================  ====================================================================================
``i``, ``k``       rows of ``X``, in one list of ``m`` rows; every pair is compared
``l``              level ``2..m`` with ``a_l > a_(l-1)``
``w_j``            weight of feature ``j``, in ``[-1, 1]``
``gamma_j``        1 when feature ``j`` may carry a weight (only if features are priced or limited)
``z_ik``           1 when item ``i`` is scored at least ``epsilon`` above item ``k``, 0 when not above it
``r_i``            rows below ``i`` once ties are resolved: its ResolvedRank, ``0..m-1``
``t_il``           1 when ``r_i >= l - 1``; ``i`` relevant
``v_i``            sum of the factors of the units in which ``i`` is positive; 1 for one binary list
``a_l``            coefficient of rank ``l - 1``, unit of the statistic
``M_ik``           ``epsilon`` minus the least value of ``w.(x_i - x_k)`` in the box
``U_ik``           largest value of ``w.(x_i - x_k)`` in the box
=================  ====================================================================================

At equal score the item of lower gain is above, and at equal gain the later row.

Maximise ``statistic``: the sum over relevant ``i`` and levels ``l`` of ``v_i (a_l - a_(l-1)) t_il``, less
``C sum_j gamma_j``. The constant ``sum_i v_i a_1`` is kept outside the model, in ``rerank_info.offset``.

Subject to

``switch_up``, ``switch_down``
    ``w_j <= upper_j gamma_j`` and ``-w_j <= -lower_j gamma_j``: a feature that is not paid for has no weight.
``support_limit``
    ``sum_j gamma_j <= max_features``.
``above_by_margin``
    ``z_ik <= (w.(x_i - x_k) - epsilon) / M_ik + 1``: a win needs the margin.
``win_when_above``
    ``w.(x_i - x_k) / U_ik <= z_ik``: whoever is above wins, so no difference lies strictly between 0 and
    ``epsilon``.
``rank_from_wins`` (ordered)
    ``r_i = sum_(k takes ties) z_ik + sum_(i takes ties) (1 - z_ki)``: those that ``i`` stands above.
``winner_higher``, ``tie_to_lower_gain``, ``tie_to_later`` (paper)
    ``r_i - r_k >= 1 + m (z_ik - 1)`` for all pairs; ``r_k - r_i >= 1 - m z_ik`` for ``i`` of higher gain;
    ``r_k - r_i >= 1 - m (z_ik + z_ki)`` for equal gain and ``i < k``.
``reach_level``
    ``sum_h (T_h - T_(h-1)) t_(i,l_h) <= r_i`` with ``T_h = l_h - 1``, ``T_0 = 0`` (ordered), or
    ``(l - 1) t_il <= r_i`` for each level (paper): a level needs its rank.
``level_order``
    ``t_(i,l') <= t_il`` for consecutive levels ``l < l'``.
``distinct_ranks``
    ``sum_i t_il <= m - l + 1``: ranks are a permutation. The root bound becomes the ideal.
``one_above``
    ``z_ik + z_ki <= 1`` (extra cut).

Both forms of the ranks say the same: the ``z`` fix every difference as won, lost or zero, so "above" is a total
order of the list, and the only ``r`` in ``0..m-1`` that differ by 1 or more along it are its positions.

Scaling ``w`` up takes no difference into the forbidden gap, loses no pair won and changes no zero: the optimum
over the box is that over ``max|w_j| = 1`` and ``w = 0``. It never exceeds the problem's optimum, because
of the gap; it equals it when some optimal ``w`` has no difference in the gap. The wider ``epsilon``, the more the
gap takes away.

Source: [RudinWang2018, (11)-(21)], with ``M_ik`` and ``U_ik`` for their number 1.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from formulations.common import Assignment, Info, add_weights, price, remember, start
from formulations.data import Coefficients, Floats
from formulations.errors import FormulationWarning
from formulations.levels import crowding_rows, link
from formulations.options import Size, instance_of
from formulations.resolved_rank_plan import Plan, gap_pairs, plan_of, size_of
from formulations.rows import Row, family, linear, maximise, named
from formulations.wins import OPEN, WON, differences, mutual_pairs, one_above, pair_rows

ROWS = {
    "win_when_above": "A", "rank_from_wins": "S", "winner_higher": "H", "tie_to_lower_gain": "L", "tie_to_later": "E",
    "reach_level": "R", "level_order": "O", "distinct_ranks": "P", "one_above": "X",
}  # fmt: skip
"""Prefixes of the short names of this program's own families."""

WIDE = 1e-3
"""Margin above which the gap between 0 and it is likely to cost something."""


def build(
    X: ArrayLike,
    y: ArrayLike | None = None,
    coefficients: Coefficients | None = None,
    *,
    qid: ArrayLike | None = None,
    units: Iterable[Any] | None = None,
    name: str = "resolved_rank",
    **options: Any,
) -> pyo.ConcreteModel:
    """The ResolvedRank program; parameters and errors as for :func:`formulations.subrank.build`.

    Returns
    -------
    ConcreteModel
        With ``w``, ``z``, ``r``, ``t`` (and ``gamma``), the families named above and ``rerank_info``.

    Warns
    -----
    FormulationWarning
        For a margin above :data:`WIDE`.
    """
    instance = instance_of(X, y, coefficients, qid, units, options)
    if instance.options.epsilon > WIDE:
        warnings.warn(
            f"ResolvedRank forbids every difference of scores between 0 and epsilon = {instance.options.epsilon:g}, "
            f"which lowers its optimum where rows lie close together; use at most {WIDE:g}, or the mixed program.",
            FormulationWarning,
            stacklevel=2,
        )
    plan = plan_of(instance)
    size_of(plan).refuse_above(instance.options.max_nonzeros, "resolved_rank")
    ladders, gains = plan.ranks.ladders, plan.ranks.gains
    model = pyo.ConcreteModel(name)
    add_weights(model, instance)
    # 1 when item i is scored at least the margin above item k.
    model.z = z = pyo.Var(list(map(tuple, plan.wins.open.tolist())), domain=pyo.Binary)
    # How many rows stand below item i.
    model.r = r = pyo.Var(list(plan.ranges), bounds=lambda _, i: plan.ranges[i])
    # 1 when at least l - 1 rows stand below item i.
    model.t = t = pyo.Var(list(gains), domain=pyo.Binary)

    model.statistic = maximise((list(gains.values()), list(t.values())), price(model, instance))
    model.above_by_margin = family(pair_rows(model, instance, plan.wins))
    model.win_when_above = family(_win_when_above(model, plan))
    if instance.options.linking == "ordered":
        model.rank_from_wins = family({i: _rank_from_wins(plan, i, r[i], z) for i in plan.ranges})
    else:
        model.winner_higher = family(_winner_higher(plan, r, z))
        model.tie_to_lower_gain = family(_tie_to_lower_gain(plan, r, z))
        model.tie_to_later = family(_tie_to_later(plan, r, z))
    reach, order = link(ladders, t, r, instance.options)
    model.reach_level = family(reach)
    model.level_order = family(order)
    model.distinct_ranks = family(crowding_rows(plan.ranks, t))
    model.one_above = family(one_above(z, mutual_pairs(plan.wins) if instance.options.extra_cuts else []))
    model.rerank_info = remember("resolved_rank", plan.ranks.offset, instance, plan.wins, plan, ROWS)
    return model


def size(
    X: ArrayLike,
    y: ArrayLike | None = None,
    coefficients: Coefficients | None = None,
    *,
    qid: ArrayLike | None = None,
    units: Iterable[Any] | None = None,
    **options: Any,
) -> Size:
    """Rows, columns and non-zeros that :func:`build` would make of the same arguments."""
    return size_of(plan_of(instance_of(X, y, coefficients, qid, units, options)))


def assignment(model: pyo.ConcreteModel, w: ArrayLike, tolerance: float = 1e-9) -> Assignment:
    """Every column's value for weights ``w``; as :func:`formulations.subrank.assignment`.

    Weights that put a difference into the gap between 0 and ``epsilon`` are not feasible here.
    """
    info: Info = model.rerank_info
    plan: Plan = info.plan
    begun, weights, wins = start(info, w, tolerance)
    if begun.values is None:
        return begun
    violated = _in_gap(plan, weights, tolerance)
    if violated is not None:
        return Assignment(None, violated)
    won = dict(zip(map(tuple, plan.wins.pairs.tolist()), wins.tolist()))
    below = {
        i: sum(won[i, k] if plan.yields(i, k) else not won[k, i] for k in plan.mates[i] if k != i)
        for i in plan.ranges
    }
    levels = {
        index: v for i, ladder in plan.ranks.ladders.items() for index, v in ladder.climbed(below[i]).items()
    }
    return Assignment(begun.values | named("r", below) | named("t", levels))


def _in_gap(plan: Plan, w: Floats, tolerance: float) -> str | None:
    difference = differences(plan.instance, plan.wins, w)
    epsilon = plan.instance.options.epsilon
    gap = (difference > tolerance) & (difference < epsilon - tolerance)
    if plan.instance.options.big_m == "unit":
        gap |= difference > 1 + tolerance
    if not gap.any():
        return None
    at = int(np.flatnonzero(gap)[0])
    i, k = plan.wins.pairs[at].tolist()
    where = "strictly between 0 and epsilon" if difference[at] < epsilon else "above 1"
    return f"win_when_above[{i},{k}]: w.(x_{i} - x_{k}) = {difference[at]:.6g} is {where}"


def _win_when_above(model: pyo.ConcreteModel, plan: Plan) -> dict[tuple[int, int], Row]:
    X, options, kept = plan.instance.X, plan.instance.options, gap_pairs(plan)
    pairs = plan.wins.pairs[kept]
    # Not below epsilon, so that no row is divided by a number near 0.
    largest = 1.0 if options.big_m == "unit" else np.maximum(plan.wins.high[kept], options.epsilon)[:, None]
    slopes = ((X[pairs[:, 0]] - X[pairs[:, 1]]) / largest).tolist()
    w, z = list(model.w.values()), model.z
    rows: dict[tuple[int, int], Row] = {}
    for pair, slope in zip(map(tuple, pairs.tolist()), slopes):
        used = [j for j, a in enumerate(slope) if a]
        win = [z[pair]] if plan.state[pair] == OPEN else []
        rows[pair] = (
            None,
            linear([*(slope[j] for j in used), *[-1.0] * len(win)], [*(w[j] for j in used), *win]),
            0.0,
        )
    return rows


def _rank_from_wins(plan: Plan, i: int, rank: Any, z: pyo.Var) -> Row:
    others = [k for k in plan.mates[i] if k != i]
    yielding = [(i, k) for k in others if plan.yields(i, k)]
    others_yield = [(k, i) for k in others if not plan.yields(i, k)]
    sure = sum(plan.state[p] == WON for p in yielding) + sum(plan.state[p] != WON for p in others_yield)
    wins, losses = ([z[p] for p in pairs if plan.state[p] == OPEN] for pairs in (yielding, others_yield))
    coefficients = [1.0] + [-1.0] * len(wins) + [1.0] * len(losses)
    return float(sure), linear(coefficients, [rank, *wins, *losses]), float(sure)


def _winner_higher(plan: Plan, r: pyo.Var, z: pyo.Var) -> dict[tuple[int, int], Row]:
    rows: dict[tuple[int, int], Row] = {}
    for (i, k), state in plan.state.items():
        m = float(len(plan.mates[i]))
        if state == OPEN:
            rows[i, k] = 1.0 - m, linear([1.0, -1.0, -m], [r[i], r[k], z[i, k]]), None
        elif state == WON:
            rows[i, k] = _above(plan, i, k, r, z, [])
    return rows


def _tie_to_lower_gain(plan: Plan, r: pyo.Var, z: pyo.Var) -> dict[tuple[int, int], Row]:
    return {
        (i, k): _above(plan, k, i, r, z, [(i, k)])
        for (i, k), state in plan.state.items()
        if plan.grade[i] > plan.grade[k] and state != WON
    }


def _tie_to_later(plan: Plan, r: pyo.Var, z: pyo.Var) -> dict[tuple[int, int], Row]:
    return {
        (i, k): _above(plan, k, i, r, z, [(i, k), (k, i)])
        for (i, k), state in plan.state.items()
        if i < k and plan.grade[i] == plan.grade[k] and WON not in (state, plan.state[k, i])
    }


def _above(plan: Plan, high: int, low: int, r: pyo.Var, z: pyo.Var, unless: list[tuple[int, int]]) -> Row:
    """``r_high - r_low >= 1 - m sum of z``, over the open pairs among ``unless``."""
    wins = [z[pair] for pair in unless if plan.state[pair] == OPEN]
    size = float(len(plan.mates[high]))
    return 1.0, linear([1.0, -1.0, *[size] * len(wins)], [r[high], r[low], *wins]), None
