r"""ResolvedRank: the weights whose order earns the most when ties are resolved against relevant items.

Symbols

=================  ====================================================================================
``i``, ``k``       rows of ``X``, in one list of ``m`` rows; every pair is compared
``l``              level ``2..m`` with ``a_l > a_(l-1)``
``w_j``            weight of feature ``j``, in ``[-1, 1]``
``gamma_j``        1 when feature ``j`` may carry a weight (only if features are penalised or limited)
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
``C sum_j gamma_j``, and the constant ``sum_i v_i a_1``.

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
``quota_place``, ``quota_count``
    ``sum_(k in C) z_ik >= (|C| - (N - q)) p_i`` for ``i`` in ``G``, and ``sum_i p_i >= q``: at least ``q`` of ``G``
    among the first ``N`` of a list, whose other rows are ``C``; at most ``q`` of them is the same of the others and
    ``N - q``. A row is ahead (``p_i = 1``) only if at most ``N - q`` of the others have its score or more.

A pair that the box decides has no ``z``; what it adds to a rank is a number in the rows of the ranks.

Both forms of the ranks say the same: the ``z`` fix every difference as won, lost or zero, so "above" is a total
order of the list, and the only ``r`` in ``0..m-1`` that differ by 1 or more along it are its positions.

Scaling ``w`` up takes no difference into the forbidden gap, loses no pair won and changes no zero: the optimum
over the box is that over ``max|w_j| = 1`` and ``w = 0``. It never exceeds the problem's optimum, because
of the gap; it equals it when some optimal ``w`` has no difference in the gap. The wider ``epsilon``, the more the
gap takes away.

Source: [RudinWang2018, (11)-(21)], with ``M_ik`` and ``U_ik`` for their number 1.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from formulations.common import Assignment, Term, documented, family, linear, named, new_model, start, statistic
from formulations.compile import uncollected
from formulations.data import Coefficients
from formulations.errors import FormulationError, FormulationWarning
from formulations.levels import Below, RankLayout, climbed, level_rows, rank_cuts, rank_levels
from formulations.options import Instance, instance_of
from formulations.wins import LOST, OPEN, WON, Pair, asked_pairs, mutual_pairs, nonzeros_bound, wins_of

__all__ = ["build", "most_nonzeros", "assignment"]

PARTS = {  # prefixes of short names; equations of [RudinWang2018], and what the other components mean
    "statistic": ("", "(11), (10)"),
    "w": ("", "(21)"),
    "gamma": ("", "(21)"),
    "z": ("", "(21)"),
    "t": ("", "(21)"),
    "above_by_margin": ("", "(12)"),
    "switch_up": ("", "(14)"),
    "switch_down": ("", "(15)"),
    "r": ("", "(21): ResolvedRank, how many rows stand below item i once ties are resolved"),
    "win_when_above": ("", "(13)"),
    "rank_from_wins": ("S", "ours, for (16)-(19): r_i counts the rows that i stands above"),
    "winner_higher": ("H", "(16): a winner has the higher rank"),
    "tie_to_lower_gain": ("L", "(17): who does not win stands below a row of lower gain"),
    "tie_to_later": (
        "E",
        "(18) for relevant rows, (19) for others: of two tied rows of one gain the later one is higher",
    ),
    "reach_level": ("R", "(20): a level needs its rank; row times l - 1, one for all levels unless linking='paper'"),
    "p": ("p", "ours: row i stands among the first N of a quota"),
    "quota_place": ("Q", "ours: who stands among the first N has at most so many others at or above it"),
    "quota_count": ("N", "ours: so many rows of a kind, or of the others, stand among the first N"),
    "level_order": ("O", "ours"),
    "distinct_ranks": ("P", "ours"),
    "one_above": ("X", "ours"),
}


TWO_SIDED = {"two_sided": True}  # what this program always is
WIDE = 1e-3  # margin above which the gap between 0 and it is likely to cost something


@uncollected()
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
        For a margin above :data:`formulations.resolved_rank.WIDE`.
    """
    instance = instance_of(X, y, coefficients, qid=qid, units=units, **options | TWO_SIDED)
    epsilon = instance.options.epsilon
    if instance.options.corrections is not None:
        raise FormulationError(
            "resolved_rank has no point where two given scores are closer than epsilon; use 'mixed' with corrections."
        )
    if epsilon > WIDE:
        warnings.warn(
            f"ResolvedRank forbids every difference of scores between 0 and epsilon = {epsilon:g}, which lowers its "
            f"optimum where rows lie close together; use at most {WIDE:g}, or the mixed program.",
            FormulationWarning,
            stacklevel=2,
        )
    layout = _layout(instance)
    model = new_model("resolved_rank", name, layout, PARTS)
    z, m = model.z, layout.length
    model.r = r = pyo.Var(list(layout.ranges), bounds=layout.ranges)
    model.t = t = pyo.Var(list(layout.gains), domain=pyo.Binary)

    def above(coefficient: float, *pairs: Pair) -> list[Term]:
        return _open_pairs(z, coefficient, pairs)

    model.statistic = statistic(model, t)
    if instance.options.linking == "ordered":
        model.rank_from_wins = family(
            (i, linear((1, r[i]), *above(-1, *own.by_win), *above(1, *own.by_tie)) == own.sure + len(own.by_tie))
            for i, own in layout.standings.items()
            if i in r
        )
    else:
        # A pair won for certain has z_ik = 1 and no variable.
        model.winner_higher = family(
            ((i, k), linear((1, r[i]), (-1, r[k]), *above(-m[i], (i, k))) >= 1 - m[i] * ((i, k) in z))
            for i, k in layout.maybe_above
        )
        model.tie_to_lower_gain = family(
            ((i, k), linear((1, r[k]), (-1, r[i]), *above(m[i], (i, k))) >= 1) for i, k in layout.lower_gain
        )
        model.tie_to_later = family(
            ((i, k), linear((1, r[k]), (-1, r[i]), *above(m[i], (i, k), (k, i))) >= 1) for i, k in layout.later
        )
    model.reach_level, model.level_order = level_rows(layout.ladders, t, r, instance.options)
    rank_cuts(model, layout)
    if layout.quotas:
        _add_quotas(model, layout)
    return documented(model, PARTS)


def most_nonzeros(*data: Any, **options: Any) -> int:
    """Upper bound on the non-zeros of the program that :func:`build` makes of the same arguments."""
    return _layout(instance_of(*data, **options | TWO_SIDED)).nonzeros


def assignment(model: pyo.ConcreteModel, w: ArrayLike, tolerance: float = 1e-9) -> Assignment:
    """Every column's value for weights ``w``; as :func:`formulations.subrank.assignment`.

    Weights that put a difference into the gap between 0 and ``epsilon`` are not feasible here.
    """
    layout: ResolvedRankLayout = model.rerank_info.layout
    begun, _, wins = start(model.rerank_info, w, tolerance)
    if begun.values is None:
        return begun
    won = dict(zip(map(tuple, layout.wins.pairs.tolist()), wins.tolist()))
    below = {
        i: own.sure + sum(won[pair] for pair in own.by_win) + sum(not won[pair] for pair in own.by_tie)
        for i, own in layout.standings.items()
        if i in layout.ranges
    }
    ahead: dict[tuple[int, int], bool] = {}
    for d, quota in enumerate(layout.quotas):
        own = {(d, i): sum(not won[i, k] for k in quota.others) <= quota.room for i in quota.ahead}
        if sum(own.values()) < quota.wanted:
            many = sum(own.values())
            return Assignment(None, f"quota_count[{d}]: {many} rows are ahead, {quota.wanted} are asked for")
        ahead |= own
    return Assignment(begun.values | named("r", below) | named("t", climbed(layout.ladders, below)) | named("p", ahead))


class Ahead(NamedTuple):
    """What a quota asks of a list: ``wanted`` of the rows ``ahead`` have at most ``room`` others at or above them."""

    ahead: list[int]
    others: list[int]
    wanted: int
    room: int


@dataclass(frozen=True, eq=False)
class ResolvedRankLayout(RankLayout):
    """The ResolvedRank program."""

    ranges: dict[int, tuple[int, int]]  # limits of ``r``: of all rows (paper), or those with an open level (ordered)
    length: dict[int, int]  # rows of the list of each
    state: dict[Pair, int]  # of all pairs, as in :class:`formulations.wins.Wins`
    quotas: list[Ahead]
    maybe_above: list[Pair]  # pairs of ``winner_higher``,
    lower_gain: list[Pair]  # ``tie_to_lower_gain``
    later: list[Pair]  # and ``tie_to_later`` (paper)


def _layout(instance: Instance) -> ResolvedRankLayout:
    options, paper = instance.options, instance.options.linking == "paper"
    wins = wins_of(instance, asked_pairs(instance, "resolved_rank", lambda _, i, k: i != k, everyone=True))
    state = dict(zip(map(tuple, wins.pairs.tolist()), wins.state.tolist()))
    grades: dict[int, int] = {}
    mates: dict[int, list[int]] = {}
    for item in instance.lists:
        grades |= dict(zip(item.rows.tolist(), item.grade.tolist()))
        mates |= dict.fromkeys(item.rows.tolist(), item.rows.tolist())
    length = {i: len(rows) for i, rows in mates.items()}
    standings = {i: _standing(i, mates[i], grades, state) for i in mates if paper or grades[i]}
    ranks = rank_levels(instance, standings)
    maybe_above, lower_gain, later = [], [], []
    ranges = {i: (ladder.sure, ladder.most) for i, ladder in ranks["ladders"].items()}
    if paper:
        ranges = {i: (0, m - 1) for i, m in length.items()}
        maybe_above = [pair for pair, won in state.items() if won != LOST]
        lower_gain = [(i, k) for (i, k), won in state.items() if grades[i] > grades[k] and won != WON]
        later = [
            (i, k)
            for (i, k), won in state.items()
            if i < k and grades[i] == grades[k] and WON not in (won, state[k, i])
        ]
    mutual = mutual_pairs(wins) if options.extra_cuts else []
    # An open pair stands in above_by_margin and one row of the ranks, in the paper's form two.
    nonzeros = nonzeros_bound(instance, wins, 3 if paper else 2, len(ranks["gains"])) + 2 * len(mutual)
    nonzeros += 2 * (len(maybe_above) + len(lower_gain) + len(later))
    quotas = _quotas(instance)
    nonzeros += sum(len(quota.ahead) * (len(quota.others) + 2) for quota in quotas)
    return ResolvedRankLayout(
        instance,
        wins,
        nonzeros=nonzeros,
        standings=standings,
        mutual=mutual,
        ranges=ranges,
        length=length,
        state=state,
        quotas=quotas,
        maybe_above=maybe_above,
        lower_gain=lower_gain,
        later=later,
        **ranks,
    )


def _quotas(instance: Instance) -> list[Ahead]:
    """What the quotas ask of each list, without what every order gives."""
    found = []
    for quota, item in product(instance.options.quotas, instance.lists):
        group, places = set(np.asarray(quota.rows).tolist()), min(quota.first, item.rows.size)
        own, rest = ([i for i in item.rows.tolist() if (i in group) == side] for side in (True, False))
        sides = [(own, rest, quota.least), (rest, own, None if quota.most is None else places - quota.most)]
        found += [
            Ahead(ahead, others, wanted, places - wanted)
            for ahead, others, wanted in sides
            if wanted is not None and wanted > 0 and places - wanted < len(others)
        ]
    return found


def _open_pairs(z: Any, coefficient: float, pairs: Iterable[Pair]) -> list[Term]:
    """Terms of the open pairs; a pair that no weights win adds nothing."""
    return [(coefficient, z[pair]) for pair in pairs if pair in z]


def _add_quotas(model: pyo.ConcreteModel, layout: ResolvedRankLayout) -> None:
    """``p`` is 1 when row i stands ahead of enough others for the quota."""
    model.p = p = pyo.Var([(d, i) for d, quota in enumerate(layout.quotas) for i in quota.ahead], domain=pyo.Binary)
    model.quota_place = family(
        (
            (d, i),
            linear(*_open_pairs(model.z, 1, ((i, k) for k in quota.others)), (quota.room - len(quota.others), p[d, i]))
            >= -sum(layout.state[i, k] == WON for k in quota.others),
        )
        for d, quota in enumerate(layout.quotas)
        for i in quota.ahead
    )
    model.quota_count = family(
        (d, linear(*((1, p[d, i]) for i in quota.ahead)) >= quota.wanted) for d, quota in enumerate(layout.quotas)
    )


def _standing(i: int, rows: list[int], grades: dict[int, int], state: dict[Pair, int]) -> Below:
    sure, by_win, by_tie = 0, [], []
    for k in rows:
        if grades[k] < grades[i] or (grades[k] == grades[i] and k > i):
            sure += state[i, k] == WON
            by_win += [(i, k)] * (state[i, k] == OPEN)
        elif k != i:
            sure += state[k, i] == LOST
            by_tie += [(k, i)] * (state[k, i] == OPEN)
    return Below(sure, by_win, by_tie)
