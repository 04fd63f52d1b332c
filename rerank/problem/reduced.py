r"""An anchored problem of one long list: only the rows that can still matter are kept.

The score of every row lies between two ends over all allowed weights, ``L_i <= w.x_i <= U_i``. A statistic of the first
``N`` places looks at no row ``i`` with ``U_i <= T - epsilon``, where ``T`` is the N-th largest ``L`` of the irrelevant
rows: whatever the weights are, these N stand above it, and above everything that it stands above. Columns are shifted
to the middle of the rows near place N by the given score, which makes the intervals narrow and changes no difference.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InputError
from rerank.problem.lists import Floats, Indices, RankedList
from rerank.problem.problem import Problem
from rerank.problem.quotas import check_quotas, unmet
from rerank.problem.scaling import scale_columns
from rerank.ranks.evaluator import scale_of
from rerank.statistics import RankStatistic

ROUNDING = 1e-13  # bound on the rounding of a score and of its ends, relative to the sizes of what is added up


def depth_of(statistic: RankStatistic, n: int) -> int | None:
    """Places of a list of ``n`` rows that count; None where all do, or several rows are looked at at once, so that no
    row can be left out.
    """
    if statistic.alone:  # irrelevant rows alone put a row in its place
        return int(np.count_nonzero(statistic.coefficients(2)))
    depth = statistic.depth
    if depth is None or statistic.weighs_hits:
        return None
    return depth if depth >= n or statistic.coefficients(depth + 1)[0] == 0 else None


def reduced_problem(
    table: Floats,
    gains: Floats,
    statistic: RankStatistic,
    low: Floats,
    high: Floats,
    limits: tuple[ArrayLike, ArrayLike],
    **options: Any,
) -> tuple[Problem, Indices]:
    """The anchored problem of the rows that are left, and their ascending numbers in the whole list.

    Its value at any allowed weights is that of the whole list. The given score is the first column, the statistic one
    with a :func:`depth_of`, and the rest as for :meth:`Problem.build`. The rows that are left serve any other margin
    too: a row that is left out is behind N irrelevant ones, and so is what has no lead over it.
    """
    depth = depth_of(statistic, gains.size)
    assert depth is not None
    quotas = options.pop("quotas", ())
    if quotas:  # the first rows that they count are left, too, whatever they are
        whole = RankedList(np.arange(gains.size), gains, np.zeros(gains.size))
        check_quotas(quotas, [whole])
        depth = max(depth, *(quota.first for quota in quotas))
    first = np.argsort(-table[:, 0], kind="stable")[: 2 * depth]
    centre = scale_columns(table[first[min(depth, first.size) // 2 :]], low, high).mean(axis=0)
    sides = np.asarray(limits, dtype=np.float64)
    lower, upper = _ends(table, low, high, centre, sides)
    ends = lower[gains == 0]
    least = float(np.partition(ends, -depth)[-depth]) if ends.size >= depth else -np.inf
    least -= float(options.get("epsilon", 1e-4))
    rows = np.flatnonzero(upper > least)
    offset, scale = scale_of(statistic, gains, np.empty(0))
    coefficients = statistic.coefficients(gains.size)[gains.size - rows.size :].copy()
    listed = RankedList(np.arange(rows.size), gains[rows], coefficients, 1.0, -offset, scale, None, statistic.alone)
    on_rows = [quota.of(np.flatnonzero(np.isin(rows, quota.rows))) for quota in quotas]
    try:
        check_quotas(on_rows, [listed])
    except InputError:
        raise unmet(quotas, proved=True) from None
    options = options | {"low": low, "high": high, "limits": (sides[0], sides[1]), "quotas": on_rows}
    return Problem.build(table[rows], [listed], **options), rows


def _ends(table: Floats, low: Floats, high: Floats, centre: Floats, sides: Floats) -> tuple[Floats, Floats]:
    """Lower and upper end of the score of each row over all allowed weights."""
    at, reach, size = (np.zeros(len(table)) for _ in range(3))
    # Column by column, so that a row's sums do not depend on the rows beside it.
    for j, (least, most) in enumerate(zip(*sides)):
        z = scale_columns(table[:, j], low[j], high[j]) - centre[j]
        at += 0.5 * (least + most) * z
        reach += 0.5 * (most - least) * np.abs(z)
        size += max(abs(least), abs(most)) * (np.abs(z) + abs(centre[j]))
    reach += ROUNDING * size
    return at - reach, at + reach
