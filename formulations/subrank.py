r"""Subrank: the weights whose order earns the most when tied scores share the lowest of their ranks.

Symbols

=================  ====================================================================================
``i``, ``k``       rows of ``X``; ``i`` relevant (positive in some unit), ``k`` another row of its list
``l``              level ``2..m`` of a list of ``m`` rows with ``a_l > a_(l-1)``
``w_j``            weight of feature ``j``, in ``[-1, 1]``
``gamma_j``        1 when feature ``j`` may carry a weight (only if features are priced or limited)
``z_ik``           1 when item ``i`` is scored at least ``epsilon`` above item ``k``
``s_i``            rows that ``i`` beats: its Subrank, ``0..m-1``
``t_il``           1 when ``s_i >= l - 1``
``v_i``            sum of the factors of the units in which ``i`` is positive; 1 for one binary list
``a_l``            coefficient of rank ``l - 1``, unit of the statistic
``M_ik``           ``epsilon`` minus the least value of ``w.(x_i - x_k)`` in the box
=================  ====================================================================================

Maximise ``statistic``: the sum over relevant ``i`` and levels ``l`` of ``v_i (a_l - a_(l-1)) t_il``, less
``C sum_j gamma_j``. The constant ``sum_i v_i a_1`` is kept outside the model, in ``rerank_info.offset``.

Subject to

``switch_up``, ``switch_down``
    ``w_j <= upper_j gamma_j`` and ``-w_j <= -lower_j gamma_j``: a feature that is not paid for has no weight.
``support_limit``
    ``sum_j gamma_j <= max_features``.
``above_by_margin``
    ``z_ik <= (w.(x_i - x_k) - epsilon) / M_ik + 1``: a win needs the margin.
``win_count``
    ``s_i = sum_k z_ik``, over the rows ``k != i`` of the list of ``i``.
``reach_level``
    ``sum_m (T_m - T_(m-1)) t_(i,l_m) <= s_i`` with ``T_m = l_m - 1``, ``T_0 = 0`` (ordered), or
    ``(l - 1) t_il <= s_i`` for each level (paper): a level needs its rank.
``level_order``
    ``t_(i,l') <= t_il`` for consecutive levels ``l < l'``.
``distinct_ranks``
    ``sum_i t_il <= m - l + 1``: of ``p`` items with Subrank ``l - 1`` or more the lowest beats none of the
    ``p``, itself included, so ``l - 1 <= m - p``. The root bound becomes the ideal value.
``one_above``
    ``z_ik + z_ki <= 1`` for two relevant items: the valid half of the paper's optional (27).

Every ``w`` of the box ``[-1, 1]^d`` is feasible with ``big_m="pair"``. Scaling ``w`` up loses no pair won and
changes no zero, so the optimum over the box is the optimum over ``max|w_j| = 1`` and ``w = 0``, and no
normalisation appears above. It never exceeds the problem's optimum, because the margin is asked between relevant
items too; it equals it when some optimal ``w`` keeps these apart.

Source: [RudinWang2018, (22)-(30)], with ``gamma``, ``M_ik`` and the links scaled to the box. Their optional
equality ``z_ik + z_ki = 1`` is not offered: it forbids ties, hence ``w = 0``, which can be optimal when
``C > 0``. Their bound of the objective by the sum of all coefficients follows from ``distinct_ranks``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from formulations.common import Assignment, Info, add_weights, price, remember, size_of_weights, start
from formulations.data import Coefficients, GradedList, Indices
from formulations.levels import RankLevels, crowding_rows, link, rank_levels, size_of_rank_levels
from formulations.options import Instance, Size, instance_of
from formulations.rows import family, maximise, named, total
from formulations.wins import OPEN, WON, Wins, asked_pairs, mutual_pairs, one_above, pair_rows, wins_of

ROWS = {"win_count": "S", "reach_level": "R", "level_order": "O", "distinct_ranks": "P", "one_above": "X"}
"""Prefixes of the short names of this program's own families."""


@dataclass(frozen=True, eq=False)
class Plan:
    """The program laid out before Pyomo sees it: pairs, the rows each item may beat, its
    levels, and the pairs that could beat each other.
    """

    instance: Instance
    wins: Wins
    opponents: dict[int, list[int]]
    ranks: RankLevels
    mutual: list[tuple[int, int]]


def build(
    X: ArrayLike,
    y: ArrayLike | None = None,
    coefficients: Coefficients | None = None,
    *,
    qid: ArrayLike | None = None,
    units: Iterable[Any] | None = None,
    name: str = "subrank",
    **options: Any,
) -> pyo.ConcreteModel:
    """The Subrank program of labelled rows.

    Parameters
    ----------
    X : array (n, d)
    y : array (n,)
        Gains: 0/1 labels or any non-negative numbers.
    coefficients : array (m,) or callable
        ``a_1 <= ... <= a_m``, or a function of the number of rows.
    qid : array (n,), optional
        List of each row.
    units : iterable of Unit, optional
        Lists with grades and weights; overrides ``y``, ``coefficients`` and ``qid``.
    name : str
        Name of the model and of its files.
    **options
        Fields of :class:`formulations.options.Options`: ``epsilon``, ``C``, ``big_m``, ``linking``, ``cuts``,
        ``extra_cuts``, ``max_features``, ``signs``, ``box``, ``max_nonzeros``.

    Returns
    -------
    ConcreteModel
        With ``w``, ``z``, ``s``, ``t`` (and ``gamma``), the families named above and ``rerank_info``.

    Raises
    ------
    FormulationError
        For data or options that make no program.
    ModelTooLarge
        If the program has more than ``max_nonzeros`` non-zeros.
    """
    instance = instance_of(X, y, coefficients, qid, units, options)
    plan = _plan(instance)
    _size(plan).refuse_above(instance.options.max_nonzeros, "subrank")
    ladders, gains = plan.ranks.ladders, plan.ranks.gains
    model = pyo.ConcreteModel(name)
    add_weights(model, instance)
    # 1 when item i is scored at least the margin above item k.
    model.z = z = pyo.Var(list(map(tuple, plan.wins.open.tolist())), domain=pyo.Binary)
    # How many rows item i beats.
    model.s = s = pyo.Var(list(ladders), bounds=lambda _, i: (ladders[i].sure, ladders[i].most))
    # 1 when item i beats at least l - 1 rows.
    model.t = t = pyo.Var(list(gains), domain=pyo.Binary)

    model.statistic = maximise((list(gains.values()), list(t.values())), price(model, instance))
    model.above_by_margin = family(pair_rows(model, instance, plan.wins))
    model.win_count = family(
        {i: total(s[i], [z[i, k] for k in plan.opponents[i]], ladders[i].sure) for i in ladders}
    )
    reach, order = link(ladders, t, s, instance.options)
    model.reach_level = family(reach)
    model.level_order = family(order)
    model.distinct_ranks = family(crowding_rows(plan.ranks, t))
    model.one_above = family(one_above(z, plan.mutual))
    model.rerank_info = remember("subrank", plan.ranks.offset, instance, plan.wins, plan, ROWS)
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
    return _size(_plan(instance_of(X, y, coefficients, qid, units, options)))


def assignment(model: pyo.ConcreteModel, w: ArrayLike, tolerance: float = 1e-9) -> Assignment:
    """Every column's value for weights ``w``, with as many wins and levels as ``w`` allows.

    Parameters
    ----------
    model : ConcreteModel
        From :func:`build`.
    w : array (d,)
    tolerance : float
        Differences this far below the margin still count as wins.
    """
    info: Info = model.rerank_info
    plan: Plan = info.plan
    begun, _, wins = start(info, w, tolerance)
    if begun.values is None:
        return begun
    ladders = plan.ranks.ladders
    beaten = {i: int(wins[plan.wins.of(i)].sum()) for i in ladders}
    levels = {index: value for i in ladders for index, value in ladders[i].climbed(beaten[i]).items()}
    return Assignment(begun.values | named("s", beaten) | named("t", levels))


def _plan(instance: Instance) -> Plan:
    wins = wins_of(instance, asked_pairs(instance, "subrank", _others))
    relevant = [i for item in instance.lists for i in item.relevant.tolist()]
    opponents = {i: wins.pairs[wins.of(i)][wins.state[wins.of(i)] == OPEN, 1].tolist() for i in relevant}
    sure = {i: int((wins.state[wins.of(i)] == WON).sum()) for i in relevant}
    ranges = {i: (sure[i], sure[i] + len(opponents[i])) for i in relevant}
    ranks = rank_levels(instance.lists, ranges, instance.options.cuts)
    if instance.options.big_m == "pair":
        # A row of the literal form limits w even if nothing counts its win.
        wins = wins.only(np.isin(wins.pairs[:, 0], list(ranks.ladders)))
    cut = instance.options.cuts or instance.options.extra_cuts
    return Plan(instance, wins, opponents, ranks, mutual_pairs(wins) if cut else [])


def _others(item: GradedList, i: Indices, k: Indices) -> NDArray[np.bool_]:
    return i != k


def _size(plan: Plan) -> Size:
    ladders, options = plan.ranks.ladders, plan.instance.options
    counted = sum(len(plan.opponents[i]) for i in ladders)
    return (
        size_of_weights(plan.instance)
        + plan.wins.size()
        + Size(len(ladders), len(ladders), len(ladders) + counted)
        + size_of_rank_levels(plan.ranks, options)
        + Size(len(plan.mutual), 0, 2 * len(plan.mutual))
    )
