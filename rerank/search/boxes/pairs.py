"""Loops over the pairs of one box, compiled, and written so that they fill the vector unit where they can.

A *level* holds, column by column, the pairs that the boxes below it still have to evaluate.
"""

from typing import Any

import numpy as np

from rerank.search.compiled import inner

SHARE = 0.08  # a box is split by a group whose lighter side holds this share of the undecided weight
NEVER = -1e300
EVEN = 1e-9  # of what a coordinate moves: a balance up to which is none


def _reached(D: Any, a: int, c: Any, h: Any, margin: float, tolerance: float, M: Any, R: Any) -> None:
    M[:], R[:] = -margin, tolerance
    for j in range(0, c.size - 1, 2):
        x, y = D[j : j + 2, a : a + M.size]
        M += c[j] * x + c[j + 1] * y
        R += h[j] * abs(x) + h[j + 1] * abs(y)
    if c.size % 2:
        x = D[c.size - 1, a : a + M.size]
        M += c[-1] * x
        R += h[-1] * abs(x)


@inner(python=_reached)
def reach(D: Any, a: int, c: Any, h: Any, epsilon: float, tolerance: float, M: Any, R: Any) -> None:
    """``M = c.D - epsilon`` and ``R = h.|D| + tolerance`` for the pairs from ``a`` on, column by column.

    Behind the columns of the features ``D`` may hold others.
    """
    n = M.size
    for p in range(n):
        M[p] = -epsilon
        R[p] = tolerance
    k = c.size
    j = 0
    # Two columns at a time halve the traffic of M and R.  Slices of the last axis are contiguous: the compiler has
    # to know.
    while j + 1 < k:
        x, y = D[j, a : a + n], D[j + 1, a : a + n]
        cx, cy = c[j], c[j + 1]
        hx, hy = h[j], h[j + 1]
        for p in range(n):
            M[p] += cx * x[p] + cy * y[p]
            R[p] += hx * abs(x[p]) + hy * abs(y[p])
        j += 2
    if j < k:
        x, cx, hx = D[j, a : a + n], c[j], h[j]
        for p in range(n):
            M[p] += cx * x[p]
            R[p] += hx * abs(x[p])


@inner(fastmath={"reassoc", "nsz"})
def lost_weight(M: Any, R: Any, W: Any, safe: float) -> Any:
    """Weight of the pairs that are lost in the whole box, and of those lost at the centre."""
    whole, centre = 0.0, 0.0
    for p in range(M.size):
        whole += W[p] if M[p] + R[p] < 0.0 else 0.0
        centre += W[p] if M[p] < safe else 0.0
    return whole, centre


@inner()
def norms(S: Any, c: Any, h: Any) -> Any:
    """``max_j |(S u)_j|``: least and largest over the box, and at its centre."""
    least, most, here = 0.0, 0.0, 0.0
    for i in range(S.shape[0]):
        middle, reach = 0.0, 0.0
        for j in range(S.shape[1]):
            middle += S[i, j] * c[j]
            reach += abs(S[i, j]) * h[j]
        middle = abs(middle)
        least = max(least, middle - reach)
        most = max(most, middle + reach)
        here = max(here, middle)
    return least, most, here


@inner()
def beyond(h: Any, spacing: float, tolerance: float) -> float:
    """By how much a computed difference has to pass the margin for the pair to be won, for sure. More than the
    rounding. But where all multiples of ``spacing`` at the ends of the box, and at its centre, are farther apart than
    the rounding, a difference within the rounding of the margin is the margin: that is enough.
    """
    narrowest = 1.0
    for j in range(h.size):
        if h[j] > 0.0:
            narrowest = min(narrowest, h[j])
    return -tolerance if narrowest * spacing > 4.0 * tolerance else tolerance


def _undecided(M: Any, R: Any, spread: float, keep: Any) -> int:
    found = np.flatnonzero((M + R >= 0.0) & np.less_equal(M - R, spread))
    keep[: found.size] = found
    return found.size


@inner(python=_undecided)
def undecided(M: Any, R: Any, spread: float, keep: Any) -> int:
    """Positions of the pairs neither won nor lost in the whole box; no branch here could be predicted."""
    i = 0
    for p in range(M.size):
        keep[i] = p
        i += 1 if (M[p] + R[p] >= 0.0) & (M[p] - R[p] <= spread) else 0
    return i


def _moved(row: Any, weight: Any) -> Any:
    return (weight * abs(row)).sum(), (weight * row).sum()


@inner(python=_moved, fastmath={"reassoc", "nsz"})
def moved(row: Any, weight: Any) -> Any:
    """``sum_p weight_p |row_p|`` and ``sum_p weight_p row_p``, up to their last bits."""
    size, balance = 0.0, 0.0
    for p in range(row.size):
        size += weight[p] * abs(row[p])
        balance += weight[p] * row[p]
    return size, balance


@inner()
def movements(D: Any, a: int, n: int, weight: Any, h: Any, smallest: float, amount: Any, balance: Any) -> None:
    """How much each coordinate that can be split moves the pairs, and in which direction on balance."""
    for j in range(h.size):
        amount[j], balance[j] = 0.0, 0.0
        if h[j] > smallest:
            amount[j], balance[j] = moved(D[j, a : a + n], weight)


@inner()
def widest(h: Any, smallest: float, every: float, amount: Any, balance: Any, crossed: Any) -> Any:
    """Coordinate whose halving moves pairs, or rows, most, and whether they gain more in its upper half. Rows on the
    weights that cross the box count as much as all pairs: ``crossed`` is what :func:`crossing` says of each coordinate,
    and ``every`` of all. The coordinate is -1 if all are too small to be split. The last bits of sums do not count.
    """
    which, most, total = -1, np.float32(-1.0), 0.0
    for j in range(h.size):
        total += amount[j]
    share = (total if total > 0.0 else 1.0) / every if every > 0.0 else 0.0
    for j in range(h.size):
        size = np.float32(h[j] * (amount[j] + share * crossed[j]))
        if h[j] > smallest and size > most:
            most, which = size, j
    return which, which < 0 or balance[which] > EVEN * amount[which]


@inner()
def crossing(c: Any, h: Any, walls: Any, out: Any) -> float:
    """How much each coordinate moves the rows on the weights that cross the box, and all together."""
    k = c.size
    total = 0.0
    for j in range(k):
        out[j] = 0.0
    for i in range(walls.shape[0]):
        least = -walls[i, k]
        for j in range(k):
            least += walls[i, j] * c[j] - abs(walls[i, j]) * h[j]
        if least < 0.0:
            for j in range(k):
                out[j] += abs(walls[i, j])
                total += abs(walls[i, j])
    return total


def _count_runs(M: Any, R: Any, S: Any, ends: Any, runs: int, safe: float, whole: Any, centre: Any) -> None:
    for slots, pairs in ((centre, np.less(M, safe)), (whole, M + R < 0.0)):
        slots += np.bincount(S[pairs], minlength=slots.size)


@inner(python=_count_runs, fastmath={"reassoc", "nsz"})
def count_runs(M: Any, R: Any, S: Any, ends: Any, runs: int, safe: float, whole: Any, centre: Any) -> None:
    """:func:`count_lost` where every pair counts once in one slot: sums over runs, which the vector unit can do."""
    p = 0
    for r in range(runs):
        a, b = 0.0, 0.0
        for q in range(p, ends[r]):
            a += 1.0 if M[q] + R[q] < 0.0 else 0.0
            b += 1.0 if M[q] < safe else 0.0
        whole[S[p]] += np.int32(a)
        centre[S[p]] += np.int32(b)
        p = ends[r]


def _count_lost(M: Any, R: Any, S: Any, Q: Any, W: Any, safe: float, whole: Any, centre: Any) -> None:
    here = np.less(M, safe)
    for slots, pairs in ((centre, here), (whole, here & (M + R < 0.0))):
        np.add.at(slots, spans(S[pairs], Q[pairs]), np.repeat(W[pairs].astype(slots.dtype), Q[pairs]))


def spans(first: Any, length: Any) -> Any:
    """All numbers ``first .. first + length``, range after range."""
    before = np.cumsum(length) - length
    return np.arange(length.sum()) + np.repeat(first - before, length)


@inner(python=_count_lost)
def count_lost(M: Any, R: Any, S: Any, Q: Any, W: Any, safe: float, whole: Any, centre: Any) -> None:
    """Add to the lost counts of the slots: pairs lost in the whole box, and pairs lost at the centre."""
    for p in range(M.size):
        if M[p] < safe:
            m = int(W[p])
            gone = m if M[p] + R[p] < 0.0 else 0
            for s in range(S[p], S[p] + Q[p]):
                centre[s] += m
                whole[s] += gone


def _matters(keep: Any, n: int, S: Any, Q: Any, lost: Any, units: Any, slots: Any) -> int:
    alive = lost < np.diff(slots.coef_start)[slots.unit_of]
    before = np.concatenate([[0], np.cumsum(alive)])
    pairs = keep[:n]
    pairs = pairs[before[S[pairs] + Q[pairs]] > before[S[pairs]]]
    keep[: pairs.size] = pairs
    return int(pairs.size)


@inner(python=_matters)
def matters(keep: Any, n: int, S: Any, Q: Any, lost: Any, units: Any, slots: Any) -> int:
    """Drop from ``keep`` the pairs of items that have lost every place that earns something: they stay there."""
    spent = False
    for i in range(units.size):
        u = units[i]
        places = slots.coef_start[u + 1] - slots.coef_start[u]
        for r in range(slots.unit_start[u], slots.unit_start[u + 1]):
            spent |= lost[slots.unit_slots[r]] >= places
    if not spent:
        return n
    i = 0
    for q in range(n):
        p = keep[q]
        alive = False
        for s in range(S[p], S[p] + Q[p]):
            u = slots.unit_of[s]
            alive |= lost[s] < slots.coef_start[u + 1] - slots.coef_start[u]
        keep[i] = p
        i += 1 if alive else 0
    return i


def _importance(S: Any, Q: Any, W: Any, lost: Any, units: Any, slots: Any, slope: Any, out: Any) -> None:
    s = slots.unit_slots[spans(slots.unit_start[units], slots.unit_start[units + 1] - slots.unit_start[units])]
    base, x, padded = slots.coef_start[slots.unit_of[s]], lost[s], np.append(slots.coef, 0.0)
    places = slots.coef_start[slots.unit_of[s] + 1] - base
    near, far = (np.where(y < places, padded[base + np.minimum(y, places)], 0.0) for y in (x, x + 1))
    slope[s] = near - far
    if out.size:
        each = np.add.reduceat(slope[spans(S, Q)], np.cumsum(Q) - Q)
        mean = 0.1 * each.sum() / out.size
        out[:] = (each + (mean if mean > 0.0 else 1.0)) * W


@inner(python=_importance)
def importance(S: Any, Q: Any, W: Any, lost: Any, units: Any, slots: Any, slope: Any, out: Any) -> None:
    """How much a pair matters for a split: what the next place costs its item, and a tenth of the mean on top. Flat
    stretches of the coefficients cost nothing, but their pairs must come to a decision too.
    """
    for i in range(units.size):
        u = units[i]
        base = slots.coef_start[u]
        places = slots.coef_start[u + 1] - base
        for r in range(slots.unit_start[u], slots.unit_start[u + 1]):
            s = slots.unit_slots[r]
            x = lost[s]
            near = slots.coef[base + x] if x < places else 0.0
            far = slots.coef[base + x + 1] if x + 1 < places else 0.0
            slope[s] = near - far
    mean = 0.0
    for p in range(out.size):
        t = slope[S[p]]
        for s in range(S[p] + 1, S[p] + Q[p]):
            t += slope[s]
        out[p] = t
        mean += t
    mean = 0.1 * mean / max(out.size, 1) if mean > 0.0 else 1.0
    for p in range(out.size):
        out[p] = (out[p] + mean) * W[p]


@inner()
def impose(M: Any, G: Any, sides: Any, chosen: Any) -> None:
    """Count the pairs on the sides that were not chosen as lost; ``chosen`` is scratch, zero before and after.
    ``sides`` holds ``g`` or ``-g`` for a side of group ``g`` (see :mod:`rerank.search.boxes.antiparallel`).
    """
    for x in sides:
        chosen[abs(x)] = 1 if x > 0 else -1
    chosen[0] = 0
    for p in range(M.size):
        g = G[p]
        if chosen[abs(g)] * g < 0:
            M[p] = NEVER
    for x in sides:
        chosen[abs(x)] = 0


def _heaviest(G: Any, weight: Any, forward: Any, backward: Any) -> int:
    for sums, side in ((forward, G), (backward, -G)):
        sums[:] = np.bincount(np.maximum(side, 0), weight, minlength=sums.size)
    lighter = np.minimum(forward, backward)[abs(G)] * (G != 0)
    at = int(np.argmax(lighter)) if G.size else 0
    return int(abs(G[at])) if G.size and lighter[at] > SHARE * np.cumsum(weight)[-1] else 0


@inner(python=_heaviest)
def heaviest(G: Any, weight: Any, forward: Any, backward: Any) -> int:
    """The group with most undecided weight on its lighter side; 0 where that is too little to split on."""
    total = 0.0
    for p in range(G.size):
        forward[abs(G[p])] = 0.0
        backward[abs(G[p])] = 0.0
    for p in range(G.size):
        total += weight[p]
        if G[p] > 0:
            forward[G[p]] += weight[p]
        elif G[p] < 0:
            backward[-G[p]] += weight[p]
    best = 0
    most = SHARE * total
    for p in range(G.size):
        g = abs(G[p])
        lighter = min(forward[g], backward[g])
        if g != 0 and lighter > most:
            most, best = lighter, g
    return best


def _copy(old: Any, new: Any) -> None:
    new[: old.size] = old


@inner(python=_copy)
def copy(old: Any, new: Any) -> None:
    """``new[: old.size] = old``; a slice assignment would compile for a second, its error messages with it."""
    for p in range(old.size):
        new[p] = old[p]


def _put(numbers: Any, i: int, c: Any, h: Any, bound: float) -> None:
    numbers[i] = *c, *h, bound


@inner(python=_put)
def put(numbers: Any, i: int, c: Any, h: Any, bound: float) -> None:
    """Write the numbers of box ``i``: see :class:`rerank.search.boxes.nodes.NodeBatch`."""
    k = c.size
    for j in range(k):
        numbers[i, j] = c[j]
        numbers[i, k + j] = h[j]
    numbers[i, 2 * k] = bound


@inner()
def allowed(c: Any, within: Any, walls: Any) -> bool:
    """Whether a centre is within the limits (2, k), if there are any, and satisfies the rows on weights, for sure."""
    inside = True
    for j in range(within.shape[1]):
        inside = inside and within[0, j] <= c[j] <= within[1, j]
    k = c.size
    for i in range(walls.shape[0]):
        spare = -walls[i, k + 1] - walls[i, k]
        for j in range(k):
            spare += walls[i, j] * c[j]
        inside = inside and spare >= 0.0
    return inside


@inner()
def excluded(c: Any, h: Any, walls: Any) -> bool:
    """Whether a row on the weights, ``a.v >= b``, excludes a whole box, for sure."""
    k = c.size
    for i in range(walls.shape[0]):
        most = walls[i, k + 1] - walls[i, k]
        for j in range(k):
            most += walls[i, j] * c[j] + abs(walls[i, j]) * h[j]
        if most < 0.0:
            return True
    return False


def _gathered(row: Any, start: int, keep: Any, n: int, to: int) -> None:
    row[to : to + n] = row[start:to][keep[:n]]


@inner(python=_gathered)
def gather(row: Any, start: int, keep: Any, n: int, to: int) -> None:
    """``row[to + q] = row[start + keep[q]]``."""
    old, new = row[start:to], row[to : to + n]
    for q in range(n):
        new[q] = old[keep[q]]


def _find_runs(S: Any, ends: Any, unit_of: Any, mark: Any) -> int:
    last = np.flatnonzero(np.append(S[1:] != S[:-1], S.size > 0)) if S.size else np.arange(0)
    ends[: last.size] = last + 1
    mark[unit_of[S[last]]] = True
    return last.size


@inner(python=_find_runs)
def find_runs(S: Any, ends: Any, unit_of: Any, mark: Any) -> int:
    """Ends of the runs of equal slots, and how many there are; their lists are marked."""
    runs = 0
    for p in range(1, S.size):
        ends[runs] = p
        runs += 1 if S[p] != S[p - 1] else 0
    if S.size:
        ends[runs] = S.size
        runs += 1
    for r in range(runs):
        mark[unit_of[S[ends[r] - 1]]] = True
    return runs


def _mark_lists(S: Any, Q: Any, unit_of: Any, mark: Any) -> None:
    mark[unit_of[spans(S, Q)]] = True


@inner(python=_mark_lists)
def mark_lists(S: Any, Q: Any, unit_of: Any, mark: Any) -> None:
    """Mark the lists of pairs that count in several slots."""
    for p in range(S.size):
        for s in range(S[p], S[p] + Q[p]):
            mark[unit_of[s]] = True


@inner()
def unit_value(total: float, u: Any, lost: Any, slots: Any, count: Any) -> float:
    """``total + sum_j hits[j] coef[j + lost_(j)]`` of one binary list by counting sort. ``coef`` ends with the last
    place that earns something; ``count`` is scratch space, all zero before and after.
    """
    base = slots.coef_start[u]
    places = slots.coef_start[u + 1] - base
    a, z = slots.unit_start[u], slots.unit_start[u + 1]
    if z - a == 1:
        only = lost[slots.unit_slots[a]]
        return total + (slots.hits[a] * slots.coef[base + only] if only < places else 0.0)
    top = 0
    for s in range(a, z):
        x = lost[slots.unit_slots[s]]
        if x < places:
            count[x] += 1
            if x >= top:
                top = x + 1
    place = 0
    for x in range(top):
        k = count[x]
        count[x] = 0
        for _ in range(k):
            if place + x < places:
                total += slots.hits[a + place] * slots.coef[base + place + x]
            place += 1
    return total


def terms(units: Any, lost: Any, slots: Any) -> Any:
    """The terms of :func:`unit_value` of each list, in its order, and the numbers of the lists."""
    first, size = slots.unit_start[units], slots.unit_start[units + 1] - slots.unit_start[units]
    base, places = slots.coef_start[units], slots.coef_start[units + 1] - slots.coef_start[units]
    at, of = spans(first, size), np.repeat(np.arange(units.size), size)
    room = int(lost.max(initial=0)) + 1
    place = at - first[of] + np.sort(of * room + lost[slots.unit_slots[at]]) - of * room  # its own, and lost pairs
    earns = place < places[of]
    at, of, place = at[earns], of[earns], place[earns]
    return slots.hits[at] * slots.coef[base[of] + place], of


def _values(units: Any, lost: Any, slots: Any) -> Any:
    earned, of = terms(units, lost, slots)
    return np.bincount(of, earned, units.size)  # which adds up in their order, as cumsum does


def _total_value(units: Any, lost: Any, slots: Any, count: Any) -> float:
    return float(np.cumsum(_values(units, lost, slots))[-1]) if units.size else 0.0


@inner(python=_total_value)
def total_value(units: Any, lost: Any, slots: Any, count: Any) -> float:
    """Value of the binary lists ``units``."""
    total = 0.0
    for i in range(units.size):
        total += unit_value(0.0, np.int64(units[i]), lost, slots, count)
    return total


def _decided(value: float, units: Any, mark: Any, lost: Any, slots: Any, count: Any, undecided: Any) -> Any:
    marked = mark[units]
    left = units[marked]
    undecided[: left.size], mark[left] = left, False
    return float(np.cumsum(np.append(value, _values(units[~marked], lost, slots)))[-1]), left.size


@inner(python=_decided)
def decided(value: float, units: Any, mark: Any, lost: Any, slots: Any, count: Any, undecided: Any) -> Any:
    """``value`` and that of the lists not marked; how many are, which come to ``undecided``; ``mark`` is cleared."""
    m = 0
    for q in range(units.size):
        u: Any = np.int64(units[q])
        if mark[u]:
            undecided[m] = u
            m += 1
            mark[u] = False
        else:
            value += unit_value(0.0, u, lost, slots, count)
    return value, m
