r"""Mixed pairs: the weights with the best statistic when only losses to less relevant rows count.

Symbols, for one unit (a list and a threshold of gain) with ``n_+`` positive rows ``i`` and ``m - n_+``
negative rows ``k``; the index of the unit is left out

=============  ========================================================================================
``p``          place ``1..m-1`` from the top with ``a_(m-p+1) > a_(m-p)``: one that pays more than the next
``q``          number of negatives that may be lost to, ``0..m-n_+-1``
``j``          number of positives, ``1..min(n_+, p)``
``w_j``        weight of feature ``j``, in ``[-1, 1]``
``gamma_j``    1 when feature ``j`` may carry a weight (only if features are penalised or limited)
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
``C sum_j gamma_j``, and the constant ``f n_+ a_1`` of each unit. What no weights of the box can change is a constant
too: then the variable is left out.

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

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from formulations.common import Assignment, documented, family, linear, named, new_model, start, statistic
from formulations.compile import uncollected
from formulations.data import Coefficients, Indices, Unit
from formulations.levels import Ladder, climbed, level_rows
from formulations.options import Instance, instance_of
from formulations.wins import OPEN, WON, Layout, Wins, asked_pairs, nonzeros_bound, wins_of

Key = tuple[int, int]
Index = tuple[int, int, int]

__all__ = ["build", "most_nonzeros", "assignment"]

PARTS = {  # prefixes of the short names of this program's own families, and what the components mean
    "s": ("", "ours: how many negatives of unit u item i beats"),
    "b": ("", "ours: 1 when item i loses to at most q negatives of unit u"),
    "c": ("", "ours: how many positives of unit u lose to at most q negatives"),
    "y": ("", "ours: 1 when at least j positives of unit u stand in the top p"),
    "win_count": ("S", "ours: s is the sum of the z of its negatives, less the wins that are certain"),
    "few_lost": ("B", "ours: to lose to at most q negatives is to beat all others"),
    "few_lost_order": ("O", "ours: who loses to at most q negatives loses to at most q + 1"),
    "place_count": ("C", "ours: c is the sum of b over the positives of the unit"),
    "enough_placed": ("Y", "ours: j positives are in the top p when j of them lose to at most p - j negatives"),
    "enough_placed_order": ("P", "ours: where j positives are, j - 1 are"),
    "wider_top": ("X", "ours: who is in the top p is in a wider one"),
}


@uncollected()
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
    layout = _layout(instance_of(X, y, coefficients, qid=qid, units=units, **options))
    chosen, few, placed = layout.instance.options, layout.few, layout.placed
    model = new_model("mixed", name, layout, PARTS)
    z = model.z
    model.s = s = pyo.Var(list(few), bounds={ui: (ladder.sure, ladder.most) for ui, ladder in few.items()})
    model.b = b = pyo.Var([uiq for open_ in layout.losers.values() for uiq in open_], domain=pyo.Binary)
    model.c = c = pyo.Var(list(placed), bounds={uq: (ladder.sure, ladder.most) for uq, ladder in placed.items()})
    model.y = y_ = pyo.Var(list(layout.gains), domain=pyo.Binary)

    model.statistic = statistic(model, y_)
    model.win_count = family(
        ((u, i), linear((1, s[u, i]), *((-1, s[ui]) for ui in lower), *((-1, z[i, k]) for k in added)) == sure)
        for (u, i), (lower, added, sure) in layout.counts.items()
    )
    model.few_lost, model.few_lost_order = level_rows(few, b, s, chosen)
    model.place_count = family(
        (uq, linear((1, c[uq]), *((-1, b[uiq]) for uiq in layout.losers[uq])) == placed[uq].sure) for uq in placed
    )
    model.enough_placed, model.enough_placed_order = level_rows(placed, y_, c, chosen)
    model.wider_top = family((p, linear((1, y_[p]), (-1, y_[wider])) <= 0) for p, wider in layout.wider)
    return documented(model, PARTS)


def most_nonzeros(*data: Any, **options: Any) -> int:
    """Upper bound on the non-zeros of the program that :func:`build` makes of the same arguments."""
    return _layout(instance_of(*data, **options)).nonzeros


def assignment(model: pyo.ConcreteModel, w: ArrayLike, tolerance: float = 1e-9) -> Assignment:
    """Every column's value for weights ``w``; as :func:`formulations.subrank.assignment`."""
    layout: MixedLayout = model.rerank_info.layout
    begun, _, wins = start(model.rerank_info, w, tolerance)
    if begun.values is None:
        return begun
    won = set(map(tuple, layout.wins.pairs[wins].tolist()))
    beaten: dict[Key, int] = {}
    for ui, (lower, added, sure) in layout.counts.items():
        beaten[ui] = sum(beaten[key] for key in lower) + sure + sum((ui[1], k) in won for k in added)
    b = climbed(layout.few, beaten)
    standing = {uq: ladder.sure + int(sum(b[uiq] for uiq in layout.losers[uq])) for uq, ladder in layout.placed.items()}
    y = climbed(layout.placed, standing)
    return Assignment(begun.values | named("s", beaten) | named("b", b) | named("c", standing) | named("y", y))


@dataclass(frozen=True, eq=False)
class MixedLayout(Layout):
    """The mixed program; its gains are indexed ``(unit, j, p)``. ``counts`` is ``win_count`` of each ``(unit, i)``: the
    count of the lower threshold that it reuses, if any, the open wins added to it, and the wins that are certain; lower
    thresholds first.
    """

    counts: dict[Key, tuple[tuple[Key, ...], list[int], int]]
    few: dict[Key, Ladder]  # open ``b`` of each (unit, i), indexed ``(unit, i, q)``
    losers: dict[Key, list[Index]]  # ``place_count``: the open ``b`` that ``c_q`` of a (unit, q) adds up
    placed: dict[Key, Ladder]  # open ``y`` of each (unit, q), indexed ``(unit, j, p)``
    wider: list[tuple[Index, Index]]  # ``wider_top``: each ``y_jp`` and that of the next place that pays


def _layout(instance: Instance) -> MixedLayout:
    """Pairs, counts and levels of all units."""
    wins = wins_of(instance, asked_pairs(instance, "mixed", lambda item, i, k: item.grade[i] > item.grade[k]))
    layout = MixedLayout(instance, wins, {}, 0.0, 0, {}, {}, {}, {}, [])
    grade = np.zeros(instance.X.shape[0], np.intp)
    wanted = np.full(len(wins.pairs), instance.options.big_m == "unit" or instance.options.two_sided)
    constant, unit = 0.0, 0
    for item in instance.lists:
        grade[item.rows] = item.grade
        # The positives of a unit have at least this grade.
        thresholds = range(len(item.units), 0, -1)
        for number, threshold in enumerate(thresholds):
            ranges = {i: _range(wins, i, grade, threshold) for i in item.units[number].positive.tolist()}
            constant += _add_levels(layout, unit + number, item.units[number], ranges)
        for i in item.relevant.tolist():
            needed = [(unit + number, t) for number, t in enumerate(thresholds) if (unit + number, i) in layout.few]
            _add_counts(layout, i, grade, needed[::-1])
            if needed:
                wanted[wins.of(i)] |= grade[wins.pairs[wins.of(i), 1]] < needed[0][1]
        unit += len(item.units)
    wins = wins.only(wanted)
    levels = len(layout.gains) + sum(map(len, layout.losers.values()))
    return replace(
        layout,
        wins=wins,
        constant=constant,
        nonzeros=nonzeros_bound(instance, wins, 2, levels),
        wider=_wider(layout) if instance.options.extra_cuts else [],
    )


def _range(wins: Wins, i: int, grade: Indices, threshold: int) -> tuple[int, int]:
    """Least and largest number of wins of ``i`` over rows below a grade."""
    part = wins.of(i)
    state = wins.state[part][grade[wins.pairs[part, 1]] < threshold]
    sure = int((state == WON).sum())
    return sure, sure + int((state == OPEN).sum())


def _add_levels(layout: MixedLayout, number: int, unit: Unit, ranges: dict[int, tuple[int, int]]) -> float:
    """Levels of one unit, from the places that pay back to the wins they ask for; returns what is earned anyway."""
    positives, negatives = unit.positive.size, unit.negative.size
    a, m = unit.coefficients, positives + negatives
    pays = {p: unit.factor * float(a[m - p] - a[m - p - 1]) for p in range(1, m) if a[m - p] > a[m - p - 1]}
    # Nobody loses to more negatives than there are.
    constant = unit.factor * positives * float(a[0])
    constant += sum(gain * max(0, min(positives, p - negatives)) for p, gain in pays.items())
    few: dict[int, list[tuple[int, Index]]] = {i: [] for i in ranges}
    for q in range(negatives):
        levels = [(p - q, (number, p - q, p)) for p in pays if 1 <= p - q <= positives]
        asked = negatives - q
        sure = sum(low >= asked for low, _ in ranges.values())
        able = [i for i, (low, high) in ranges.items() if low < asked <= high]
        ladder = Ladder.of(levels, sure, sure + len(able))
        constant += sum(pays[p] for _, (_, _, p) in levels[: ladder.reached])
        if ladder.steps:
            layout.placed[number, q] = ladder
            layout.losers[number, q] = [(number, i, q) for i in able]
            layout.gains.update({index: pays[index[2]] for _, index in ladder.steps})
            for i in able:
                few[i].insert(0, (asked, (number, i, q)))
    layout.few.update({(number, i): Ladder.of(few[i], *ranges[i]) for i in ranges if few[i]})
    return constant


def _add_counts(layout: MixedLayout, i: int, grade: Indices, needed: list[tuple[int, int]]) -> None:
    """``win_count`` of item ``i`` in each unit that needs it, each built on the one with fewer negatives."""
    part = layout.wins.of(i)
    ks = layout.wins.pairs[part][layout.wins.state[part] == OPEN, 1]
    before: tuple[Key, ...] = ()
    floor = known = 0
    for number, threshold in needed:
        added = ks[(grade[ks] >= floor) & (grade[ks] < threshold)].tolist()
        sure = layout.few[number, i].sure
        layout.counts[number, i] = before, added, sure - known
        before, floor, known = ((number, i),), threshold, sure


def _wider(layout: MixedLayout) -> list[tuple[Index, Index]]:
    by_count: dict[Key, list[Index]] = {}
    for index in sorted(layout.gains):
        by_count.setdefault(index[:2], []).append(index)
    return [pair for indices in by_count.values() for pair in pairwise(indices)]
