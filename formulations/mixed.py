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
``C sum_j gamma_j``. The constant ``f n_+ a_1`` of each unit is kept in ``rerank_info.constant``, and so is what
no weights of the box can change: then the variable is left out.

Subject to

``switch_up``, ``switch_down``
    ``w_j <= upper_j gamma_j`` and ``-w_j <= -lower_j gamma_j``: a feature that is not paid for has no weight.
``support_limit``
    ``sum_j gamma_j <= max_features``.
``above_by_margin``
    ``z_ik <= (w.(x_i - x_k) - epsilon) / M_ik + 1``: a win needs the margin.
``win_count``
    ``s_i = sum_k z_ik`` over the negatives; the count of a lower threshold is reused, not written again.
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

A pair that the box decides has no ``z``; wins that are certain are numbers in the rows that count them.

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

from formulations.common import Assignment, add_weights, family, linear, maximise, named, new_model, start
from formulations.data import Coefficients
from formulations.levels import climbed, consecutive, linked
from formulations.mixed_layout import Key, MixedLayout, mixed_layout
from formulations.options import instance_of
from formulations.wins import open_slopes

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
    layout = mixed_layout(instance_of(X, y, coefficients, qid=qid, units=units, **options))
    instance, chosen, few, placed = layout.instance, layout.instance.options, layout.few, layout.placed
    model = new_model("mixed", name, layout, ROWS)
    # Weight of feature j, and 1 when it may differ from 0; with switch_up, switch_down and support_limit.
    w, gamma = add_weights(model, instance)
    # 1 when item i is scored at least the margin above item k of lower gain.
    model.z = z = pyo.Var(layout.wins.open, domain=pyo.Binary)
    # How many negatives of unit u item i beats.
    model.s = s = pyo.Var(list(few), bounds=lambda _, *ui: (few[ui].sure, few[ui].most))
    # 1 when item i loses to at most q negatives of unit u.
    model.b = b = pyo.Var([uiq for open_ in layout.losers.values() for uiq in open_], domain=pyo.Binary)
    # How many positives of unit u lose to at most q negatives.
    model.c = c = pyo.Var(list(placed), bounds=lambda _, *uq: (placed[uq].sure, placed[uq].most))
    # 1 when at least j positives of unit u stand in the top p.
    model.y = y_ = pyo.Var(list(layout.gains), domain=pyo.Binary)

    gains, C, epsilon = layout.gains, chosen.C, chosen.epsilon
    model.statistic = maximise(*((gains[ujp], y_[ujp]) for ujp in gains), *((-C, one) for one in gamma if C))
    # a_j = (x_ij - x_kj) / M_ik: each row is divided by its M_ik.
    model.above_by_margin = family({
        (i, k): linear((1, z[i, k]), *((-a_j, w[j]) for j, a_j in a)) <= (M - epsilon) / M
        for (i, k), a, M in open_slopes(instance, layout.wins)
    })  # fmt: skip
    model.win_count = family({
        (u, i): linear((1, s[u, i]), *((-1, s[ui]) for ui in lower), *((-1, z[i, k]) for k in added)) == sure
        for (u, i), (lower, added, sure) in layout.counts.items()
    })  # fmt: skip
    # T is T_r - T_(r-1) (ordered) or T_r (paper), both without the wins that are certain.
    model.few_lost = family({
        row: linear(*((T, b[uiq]) for T, uiq in levels), (-1, s[ui])) <= -few[ui].sure
        for row, ui, levels in linked(few, chosen.linking)
    })  # fmt: skip
    model.few_lost_order = family({
        fewer: linear((1, b[fewer]), (-1, b[more])) <= 0 for more, fewer in consecutive(few, chosen)
    })  # fmt: skip
    model.place_count = family({
        uq: linear((1, c[uq]), *((-1, b[uiq]) for uiq in layout.losers[uq])) == placed[uq].sure for uq in placed
    })  # fmt: skip
    model.enough_placed = family({
        row: linear(*((j, y_[ujp]) for j, ujp in levels), (-1, c[uq])) <= -placed[uq].sure
        for row, uq, levels in linked(placed, chosen.linking)
    })  # fmt: skip
    model.enough_placed_order = family({
        high: linear((1, y_[high]), (-1, y_[low])) <= 0 for low, high in consecutive(placed, chosen)
    })  # fmt: skip
    model.wider_top = family({p: linear((1, y_[p]), (-1, y_[wider])) <= 0 for p, wider in layout.wider})
    return model


def most_nonzeros(*data: Any, **options: Any) -> int:
    """Upper bound on the non-zeros of the program that :func:`build` makes of the same arguments."""
    return mixed_layout(instance_of(*data, **options)).nonzeros


def assignment(model: pyo.ConcreteModel, w: ArrayLike, tolerance: float = 1e-9) -> Assignment:
    """Every column's value for weights ``w``; as :func:`formulations.subrank.assignment`."""
    layout: MixedLayout = model.rerank_info.layout
    begun, _, wins = start(model.rerank_info, w, tolerance)
    if begun.values is None:
        return begun
    won = {pair for pair, state in zip(map(tuple, layout.wins.pairs.tolist()), wins.tolist()) if state}
    beaten: dict[Key, int] = {}
    for key, (lower, added, sure) in layout.counts.items():
        beaten[key] = sum(beaten[one] for one in lower) + sure + sum((key[1], k) in won for k in added)
    b = climbed(layout.few, beaten)
    standing = {
        uq: ladder.sure + int(sum(b[uiq] for uiq in layout.losers[uq]))
        for uq, ladder in layout.placed.items()
    }
    y = climbed(layout.placed, standing)
    return Assignment(
        begun.values | named("s", beaten) | named("b", b) | named("c", standing) | named("y", y)
    )
