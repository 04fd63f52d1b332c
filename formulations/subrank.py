r"""Subrank: the weights whose order earns the most when tied scores share the lowest of their ranks.

Symbols

=================  ====================================================================================
``i``, ``k``       rows of ``X``; ``i`` relevant (positive in some unit), ``k`` another row of its list
``l``              level ``2..m`` of a list of ``m`` rows with ``a_l > a_(l-1)``
``w_j``            weight of feature ``j``, in ``[-1, 1]``
``gamma_j``        1 when feature ``j`` may carry a weight (only if features are penalised or limited)
``z_ik``           1 when item ``i`` is scored at least ``epsilon`` above item ``k``
``s_i``            rows that ``i`` beats: its Subrank, ``0..m-1``
``t_il``           1 when ``s_i >= l - 1``
``v_i``            sum of the factors of the units in which ``i`` is positive; 1 for one binary list
``a_l``            coefficient of rank ``l - 1``, unit of the statistic
``M_ik``           ``epsilon`` minus the least value of ``w.(x_i - x_k)`` in the box
=================  ====================================================================================

Maximise ``statistic``: the sum over relevant ``i`` and levels ``l`` of ``v_i (a_l - a_(l-1)) t_il``, less
``C sum_j gamma_j``, and the constant ``sum_i v_i a_1``.

Subject to

``switch_up``, ``switch_down``
    ``w_j <= upper_j gamma_j`` and ``-w_j <= -lower_j gamma_j``: a feature that is not paid for has no weight.
``support_limit``
    ``sum_j gamma_j <= max_features``.
``above_by_margin``
    ``z_ik <= (w.(x_i - x_k) - epsilon) / M_ik + 1``: a win needs the margin.
``win_when_above`` (option two_sided)
    ``w.(x_i - x_k) / U_ik <= z_ik``: whoever is above wins, as in ``resolved_rank``; the optimum may be lower.
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

A pair that the box decides has no ``z``; wins that are certain are numbers in ``win_count`` and ``reach_level``.

Every ``w`` of the box ``[-1, 1]^d`` is feasible with ``big_m="pair"``. Scaling ``w`` up loses no pair won and
changes no zero, so the optimum over the box is the optimum over ``max|w_j| = 1`` and ``w = 0``, and no
normalisation appears above. It never exceeds the problem's optimum, because the margin is asked between relevant
items too; it equals it when some optimal ``w`` keeps these apart.

Source: [RudinWang2018, (22)-(30)], with ``gamma``, ``M_ik`` and the links scaled to the box. Their optional
equality ``z_ik + z_ki = 1`` is not offered: it forbids ties, hence ``w = 0``, which can be optimal when
``C > 0``. Their bound of the objective by the sum of all coefficients follows from ``distinct_ranks``.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from formulations.common import Assignment, documented, family, linear, named, new_model, start, statistic
from formulations.compile import uncollected
from formulations.data import Coefficients
from formulations.levels import Below, RankLayout, climbed, level_rows, rank_cuts, rank_levels
from formulations.options import Instance, instance_of
from formulations.wins import OPEN, WON, asked_pairs, mutual_pairs, nonzeros_bound, wins_of

PARTS = {  # prefixes of short names; equations of [RudinWang2018], and what the other components mean
    "statistic": ("", "(22), (10)"),
    "w": ("", "as in (21)"),
    "gamma": ("", "as in (21)"),
    "t": ("", "as in (21)"),
    "z": ("", "(30)"),
    "above_by_margin": ("", "(24)"),
    "switch_up": ("", "(25)"),
    "switch_down": ("", "(26)"),
    "level_order": ("O", "(28)"),
    "distinct_ranks": ("P", "ours, for (29)"),
    "one_above": ("X", "half of (27)"),
    "s": ("", "ours: Subrank, how many rows item i beats: the sum in (23)"),
    "win_count": ("S", "ours: s_i is the sum of z in (23), less the wins that are certain"),
    "reach_level": ("R", "(23): a level needs its rank; row times l - 1, one for all levels unless linking='paper'"),
}


@uncollected()
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
        Fields of :class:`formulations.options.BuilderOptions`: ``epsilon``, ``C``, ``big_m``, ``linking``, ``cuts``,
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
        If the program may have more than ``max_nonzeros`` non-zeros.
    """
    layout = _layout(instance_of(X, y, coefficients, qid=qid, units=units, **options))
    model = new_model("subrank", name, layout, PARTS)
    z, ladders = model.z, layout.ladders
    model.s = s = pyo.Var(list(ladders), bounds={i: (ladder.sure, ladder.most) for i, ladder in ladders.items()})
    model.t = t = pyo.Var(list(layout.gains), domain=pyo.Binary)

    model.statistic = statistic(model, t)
    model.win_count = family(
        (i, linear((1, s[i]), *((-1, z[ik]) for ik in layout.standings[i].by_win)) == ladders[i].sure) for i in ladders
    )
    model.reach_level, model.level_order = level_rows(ladders, t, s, layout.instance.options)
    rank_cuts(model, layout)
    return documented(model, PARTS)


def most_nonzeros(*data: Any, **options: Any) -> int:
    """Upper bound on the non-zeros of the program that :func:`build` makes of the same arguments."""
    return _layout(instance_of(*data, **options)).nonzeros


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
    layout: RankLayout = model.rerank_info.layout
    begun, _, won = start(model.rerank_info, w, tolerance)
    if begun.values is None:
        return begun
    beaten = {i: int(won[layout.wins.of(i)].sum()) for i in layout.ladders}
    return Assignment(begun.values | named("s", beaten) | named("t", climbed(layout.ladders, beaten)))


def _layout(instance: Instance) -> RankLayout:
    options = instance.options
    wins = wins_of(instance, asked_pairs(instance, "subrank", lambda _, i, k: i != k))
    standings = {}
    for i in (i for item in instance.lists for i in item.relevant.tolist()):
        state = wins.state[wins.of(i)]
        rivals = wins.pairs[wins.of(i)][state == OPEN, 1].tolist()
        standings[i] = Below(int((state == WON).sum()), [(i, k) for k in rivals], [])
    ranks = rank_levels(instance, standings)
    if options.big_m == "pair" and not options.two_sided:
        # A row of the literal form, or of two sides, limits w even if nothing counts its win.
        wins = wins.only(np.isin(wins.pairs[:, 0], list(ranks["ladders"])))
    mutual = mutual_pairs(wins) if options.cuts or options.extra_cuts else []
    # An open pair stands in above_by_margin and win_count.
    nonzeros = nonzeros_bound(instance, wins, 2, len(ranks["gains"])) + 2 * len(mutual)
    return RankLayout(instance, wins, nonzeros=nonzeros, standings=standings, mutual=mutual, **ranks)
