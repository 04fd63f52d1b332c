r"""Mixed pairs: the weights with the best statistic when only losses to less relevant rows count.

Symbols, for one unit (a list and a threshold of gain) with ``n_+`` positive rows ``i`` and ``m - n_+``
negative rows ``k``; the index of the unit is left out

=============  ========================================================================================
``p``          place ``1..m-1`` from the top with ``a_(m-p+1) > a_(m-p)``: one that pays more than the next
``q``          number of negatives that may be lost to, ``0..m-n_+-1``
``j``          number of positives, ``1..min(n_+, p)``
``w_j``        weight of feature ``j``, in ``[-1, 1]``
``gamma_j``    1 when feature ``j`` may carry a weight (only if features are priced or limited)
``z_ik``       1 when item ``i`` is scored at least ``epsilon`` above item ``k`` of lower gain
``s_i``        negatives that ``i`` beats, so ``m - n_+ - s_i`` are lost to
``b_iq``       1 when ``i`` is lost to at most ``q`` negatives: ``s_i >= m - n_+ - q``
``c_q``        positives with ``b_iq = 1``
``y_jp``       1 when at least ``j`` positives stand in the top ``p``: ``c_(p-j) >= j``
``f``          factor of the unit
=============  ========================================================================================

Sort the positives by the negatives they lose to; the ``j``-th best stands at place ``j + lost_(j)``. It is in
the top ``p`` when ``lost_(j) <= p - j``, that is when at least ``j`` positives lose to at most ``p - j``.

Maximise ``statistic``: the sum over units, places and ``j`` of ``f (a_(m-p+1) - a_(m-p)) y_jp``, less
``C sum_j gamma_j``. The constant ``f n_+ a_1`` of each unit is kept in ``rerank_info.offset``, and so is what
no weights of the box can change: then the variable is left out.

Subject to

``switch_up``, ``switch_down``
    ``w_j <= upper_j gamma_j`` and ``-w_j <= -lower_j gamma_j``: a feature that is not paid for has no weight.
``support_limit``
    ``sum_j gamma_j <= max_features``.
``above_by_margin``
    ``z_ik <= (w.(x_i - x_k) - epsilon) / M_ik + 1``: a win needs the margin.
``win_count``
    ``s_i = sum_k z_ik`` over the negatives; a lower threshold's count is taken over, not written again.
``few_lost``
    ``sum_r (T_r - T_(r-1)) b_(i,q_r) <= s_i`` with ``T_r = m - n_+ - q_r``, ``T_0 = 0`` (ordered), or
    ``(m - n_+ - q) b_iq <= s_i`` for each ``q`` (paper's style): losing to few means beating the others.
``few_lost_order``
    ``b_iq <= b_iq'`` for consecutive ``q < q'``.
``place_count``
    ``c_q = sum_i b_iq``.
``enough_placed``
    ``sum_r (j_r - j_(r-1)) y_(j_r, q + j_r) <= c_q`` with ``j_0 = 0`` (ordered), or ``j y_(j, q+j) <= c_q``
    for each ``j`` (paper's style).
``enough_placed_order``
    ``y_(j', q+j') <= y_(j, q+j)`` for consecutive ``j < j'``.
``wider_top``
    ``y_jp <= y_jp'`` for consecutive ``p < p'`` (extra cut).

The optimum is the optimum of the problem itself, ``V(w) - C |w|_0`` over ``max|w_j| = 1`` and ``w = 0``: no
pair of positives appears, and scaling ``w`` up to the surface of the box loses no pair won and changes no zero.
Places are distinct by construction (``j <= p``), so the distinct-rank cut has nothing to add.

Source: our own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyomo.environ as pyo
from numpy.typing import ArrayLike

from formulations.common import Assignment, Info, add_weights, price, remember, start
from formulations.data import Coefficients
from formulations.levels import link
from formulations.mixed_plan import Key, Plan, plan_of, size_of, wider_tops
from formulations.options import Size, instance_of
from formulations.rows import Row, family, linear, maximise, named, total
from formulations.wins import pair_rows

ROWS = {
    "win_count": "S", "few_lost": "B", "few_lost_order": "O", "place_count": "C",
    "enough_placed": "Y", "enough_placed_order": "P", "wider_top": "X",
}  # fmt: skip
"""Prefixes of the short names of this program's own families."""


def build(
    X: ArrayLike,
    y: ArrayLike | None = None,
    coefficients: Coefficients | None = None,
    *,
    qid: ArrayLike | None = None,
    units: Iterable[Any] | None = None,
    name: str = "mixed",
    **options: Any,
) -> pyo.ConcreteModel:
    """The program of the problem itself; parameters and errors as for :func:`formulations.subrank.build`.

    ``cuts`` changes nothing here: places are distinct by construction.

    Returns
    -------
    ConcreteModel
        With ``w``, ``z``, ``s``, ``b``, ``c``, ``y`` (and ``gamma``), the families named above and ``rerank_info``.
    """
    instance = instance_of(X, y, coefficients, qid, units, options)
    plan = plan_of(instance)
    size_of(plan).refuse_above(instance.options.max_nonzeros, "mixed")
    model = pyo.ConcreteModel(name)
    add_weights(model, instance)
    # 1 when item i is scored at least the margin above item k of lower gain.
    model.z = z = pyo.Var(list(map(tuple, plan.wins.open.tolist())), domain=pyo.Binary)
    # How many negatives of the unit item i beats.
    model.s = s = pyo.Var(list(plan.few), bounds=lambda _, *key: (plan.few[key].sure, plan.few[key].most))
    # 1 when item i loses to at most q negatives of the unit.
    model.b = b = pyo.Var([index for keys in plan.losers.values() for index in keys], domain=pyo.Binary)
    # How many positives lose to at most q negatives.
    model.c = c = pyo.Var(
        list(plan.placed), bounds=lambda _, *key: (plan.placed[key].sure, plan.placed[key].most)
    )
    # 1 when at least j positives of the unit stand in the top p.
    model.y = y_ = pyo.Var(list(plan.gains), domain=pyo.Binary)

    model.statistic = maximise((list(plan.gains.values()), list(y_.values())), price(model, instance))
    model.above_by_margin = family(pair_rows(model, instance, plan.wins))
    model.win_count = family(_win_count(plan, s, z))
    few, few_order = link(plan.few, b, s, instance.options)
    model.few_lost = family(few)
    model.few_lost_order = family(few_order)
    model.place_count = family(
        {
            key: total(c[key], [b[index] for index in plan.losers[key]], plan.placed[key].sure)
            for key in plan.placed
        }
    )
    enough, enough_order = link(plan.placed, y_, c, instance.options)
    model.enough_placed = family(enough)
    model.enough_placed_order = family(enough_order)
    wider = wider_tops(plan) if instance.options.extra_cuts else []
    model.wider_top = family({p: (None, linear([1.0, -1.0], [y_[p], y_[more]]), 0.0) for p, more in wider})
    model.rerank_info = remember("mixed", plan.offset, instance, plan.wins, plan, ROWS)
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
    """Every column's value for weights ``w``; as :func:`formulations.subrank.assignment`."""
    info: Info = model.rerank_info
    plan: Plan = info.plan
    begun, _, wins = start(info, w, tolerance)
    if begun.values is None:
        return begun
    won = {pair for pair, state in zip(map(tuple, plan.wins.pairs.tolist()), wins.tolist()) if state}
    beaten: dict[Key, int] = {}
    for key, (before, added) in plan.counts.items():
        known = (
            plan.few[key].sure
            if before is None
            else beaten[before] + plan.few[key].sure - plan.few[before].sure
        )
        beaten[key] = known + sum((key[1], k) in won for k in added)
    b = {
        index: value
        for key, ladder in plan.few.items()
        for index, value in ladder.climbed(beaten[key]).items()
    }
    standing = {key: plan.placed[key].sure + int(sum(b[i] for i in plan.losers[key])) for key in plan.placed}
    y = {
        index: value
        for key in plan.placed
        for index, value in plan.placed[key].climbed(standing[key]).items()
    }
    return Assignment(
        begun.values | named("s", beaten) | named("b", b) | named("c", standing) | named("y", y)
    )


def _win_count(plan: Plan, s: pyo.Var, z: pyo.Var) -> dict[Key, Row]:
    rows: dict[Key, Row] = {}
    for key, (before, added) in plan.counts.items():
        wins = [z[key[1], k] for k in added]
        if before is None:
            rows[key] = total(s[key], wins, plan.few[key].sure)
        else:
            rows[key] = total(s[key], [s[before], *wins], plan.few[key].sure - plan.few[before].sure)
    return rows
