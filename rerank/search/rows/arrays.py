"""The steps of :mod:`rerank.search.rows.sweep` by NumPy, with the same bits: what runs until that is compiled."""

from typing import Any

import numpy as np

from rerank.search.lines.kernel import all_won_from, before
from rerank.search.rows.unit import most_of, terms, worth

ENTRIES = 1_000_000  # pairs of rows that are compared at a time


def rows_left(A: Any, B: Any, lists: Any, q: int, a: float, z: float, margin: Any, which: Any) -> tuple[Any, int]:
    """Those of the rows ``which`` that may reach a place that counts, and how many pairs of different gains they
    make.
    """
    ends = A[which] + a * B[which], A[which] + z * B[which]
    lower, upper, u, paid = np.minimum(*ends), np.maximum(*ends), lists.first_unit[q], lists.paid
    positives, places, alone = int(np.count_nonzero(lists.level[which])), int(paid.places[u]), paid.step[u] == 0
    least, rivals = -np.inf, lower[positives:] if alone else lower
    if places < rivals.size:
        least = most_of(rivals, places) - abs(margin.most)
    if paid.hits.size > 0 and not alone and lists.first_unit[q + 1] - u == 1:
        counted = min(places, int(paid.counted[u]))
        if positives >= counted:
            least = max(least, most_of(lower[:positives], counted) - abs(margin.most))
    kept = which[upper >= least]
    down = -lists.level[kept]
    return kept, int(np.searchsorted(down, down).sum())


def middle(A: Any, B: Any, lists: Any, q: int, a: float, z: float, margin: Any, which: Any, memory: Any) -> float:
    """Value of a list in the middle of ``a .. z``."""
    scores, down, value, first = A[which] + 0.5 * (a + z) * B[which], -lists.level[which], 0.0, lists.first_unit[q]
    for u in range(first, lists.first_unit[q + 1]):
        positives = int(np.searchsorted(down, first - u))
        value += worth(lists.paid, u, 0, scores, scores, positives, which.size, margin.most, memory)
    return value


def crossings(A: Any, B: Any, lists: Any, q: int, a: float, z: float, margin: Any, which: Any) -> tuple[Any, Any, Any]:
    """Where the value of a list may change on ``a .. z``, for which pairs, and the lost pairs at ``a`` for each list
    with two grades.
    """
    m, level, here = which.size, lists.level[which], A[which] + a * B[which]
    there, units = A[which] + z * B[which], lists.first_unit[q + 1] - lists.first_unit[q]
    found, lost = [(np.empty(0), np.empty(0, np.int64))], np.zeros((units, m), np.int64)
    positives, some = int(np.count_nonzero(level)), max(ENTRIES // max(m, 1), 1)
    for first in range(0, positives, some):
        mine = slice(first, min(first + some, positives))
        x, y, rivals = here[mine, None] - here, there[mine, None] - there, level < level[mine, None]
        behind = rivals & (x < margin.least) & (y < margin.least)
        i, k = np.nonzero((rivals & ~behind & ~((x >= margin.most) & (y >= margin.most)))[:, ::-1])
        k = m - 1 - k
        d, e = (C[which[first + i]] - C[which[k]] for C in (A, B))
        left = all_won_from(d, e, margin.epsilon, margin.n, margin.pieces)
        right = -all_won_from(d, -e, margin.epsilon, margin.n_back, margin.pieces_back)
        left, right = np.where(x[i, k] >= margin.most, -np.inf, left), np.where(y[i, k] >= margin.most, np.inf, right)
        behind[i, k] = ~((left <= a) & (a < right))
        for t in range(units):
            lost[t, mine] = behind[:, level <= t].sum(axis=1)
        ends, pair = np.stack([left, right], axis=1), (first + i) * m + k + 1
        inside = (a < ends) & (ends <= z) & (left < right)[:, None]
        found.append((ends[inside], np.stack([pair, -pair], axis=1)[inside]))
    at, pairs = (np.concatenate(each) for each in zip(*found, strict=True))
    return at, pairs, lost


def followed(lists: Any, q: int, pair: Any, lost: Any, which: Any) -> tuple[float, Any]:
    """Value of a list with the ``lost`` pairs of its rows, and the gain of each of the steps in their order."""
    first, paid, m, level = lists.first_unit[q], lists.paid, which.size, lists.level[which]
    places, down, units = int(paid.places[first]), int(paid.step[first]), len(lost)
    mine = [lost[t, : np.count_nonzero(level > t)] for t in range(units)]
    earned = [terms(paid, first + t, 0, x) for t, x in enumerate(mine)]
    value = np.cumsum(np.concatenate([[0.0], *earned]))[-1]
    # ---- a step for each list with two grades that the pair is one of
    i, k = np.divmod(abs(pair) - 1, m)
    times = level[i] - level[k]
    last, of = np.cumsum(times) - times, np.repeat(np.arange(pair.size), times)
    t = level[k][of] + np.arange(of.size) - last[of]
    up = np.sign(pair)[of]
    least = lost[t, i[of]] - before(t * m + i[of], up) - (up > 0)
    room = int(max(lost.max(initial=0), least.max(initial=0))) + 1
    counts = np.bincount(np.concatenate([[0], *(j * room + x for j, x in enumerate(mine))]), minlength=units * room)
    counts[0] -= 1
    upto = np.cumsum(counts.reshape(units, room), axis=1).ravel()
    nth = upto[t * room + least] + before(t * room + least, up) + (up > 0) - 1
    counted = least < places
    of, up, t, nth, near = of[counted], up[counted], t[counted], nth[counted], (down * nth + least)[counted]
    coef, start, size = np.append(paid.coef, 0.0), paid.coef_start[first + t], places
    step = [np.where(x < size, coef[start + np.minimum(x, size)], 0.0) for x in (near, near + 1)]
    gain = step[0] - step[1]
    if paid.hits.size > 0:
        gain = gain * paid.hits[paid.hit_start[first + t] + nth]
    return float(value), np.bincount(of, up * gain, pair.size)


def widest(when: Any, steps: Any, value: float, low: float, high: float, slack: float) -> tuple[float, float, float]:
    """Largest value between changes, but for the slack, and the widest piece that has it."""
    best, best_width, left, right, previous = -np.inf, 0.0, low, high, low
    for t, step in zip([*when.tolist(), high], [*steps.tolist(), 0.0], strict=True):
        width = t - previous
        wide = width > 1e-12 * (1.0 + abs(t))
        if wide and (value > best + slack or (value > best - slack and width > best_width)):
            best, best_width, left, right = value, width, previous, t
        value += step
        previous = t
    return best, left, right
