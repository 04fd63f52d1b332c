r"""Exact line search: the best point of a whole line of weights, compiled.

Along ``w + tau u`` a pair is won where ``(w + tau u).D - epsilon max_j|w_j + tau u_j| >= 0``.  The left side
is concave in ``tau``, so the pair is won on an interval.  The ends of all intervals are sorted and swept, the
statistic following in O(1) per end: an item whose lost count falls from ``L + 1`` to ``L`` takes the last of
the places that items with at most ``L`` lost pairs hold [Och2003 does this for sums over sentences].
"""

from typing import Any

import numpy as np

from rerank.errors.kernels import MARK
from rerank.search.boxes.pairs import spans, terms
from rerank.search.compiled import inner, kernel


def _envelope(w: Any, u: Any, sign: float, k: int, pieces: Any) -> int:
    rows = pieces.tolist()  # Python reads an entry of a list sooner
    n: int = getattr(_envelope, MARK)(w.tolist(), u.tolist(), sign, k, rows)
    pieces[:] = rows
    return n


@inner(python=_envelope)
def envelope(w: Any, u: Any, sign: float, k: int, pieces: Any) -> int:
    """How many ends lie between the pieces of ``max_j |w_j + sign tau u_j|`` over ``j < k``, from left to right.
    ``pieces`` (5, 2 k + 1) is given the ends, slopes and intercepts of the pieces; its last two rows are scratch.
    """
    lines = 2 * k
    breaks, slopes, levels, slope, level = pieces[0], pieces[1], pieces[2], pieces[3], pieces[4]
    for j in range(k):
        slope[2 * j] = sign * u[j]
        level[2 * j] = w[j]
        slope[2 * j + 1] = -sign * u[j]
        level[2 * j + 1] = -w[j]
    now = 0
    for i in range(1, lines):
        if slope[i] < slope[now] or (slope[i] == slope[now] and level[i] > level[now]):
            now = i
    n = 0
    slopes[0] = slope[now]
    levels[0] = level[now]
    while True:
        nearest, follow = np.inf, -1
        for i in range(lines):
            if slope[i] > slope[now]:
                t = (level[now] - level[i]) / (slope[i] - slope[now])
                if t < nearest or (t == nearest and slope[i] > slope[follow]):
                    nearest, follow = t, i
        if follow < 0:
            break
        breaks[n] = nearest
        n += 1
        slopes[n] = slope[follow]
        levels[n] = level[follow]
        now = follow
    return n


@inner()
def won_from(A: float, B: float, epsilon: float, n: int, pieces: Any) -> float:
    """Left end of the interval where ``A + B tau - epsilon N(tau) >= 0``; ``inf`` where it is empty."""
    breaks, slopes, levels = pieces[0], pieces[1], pieces[2]
    if B - epsilon * slopes[0] < 0.0:
        return -np.inf
    for i in range(n):
        t = breaks[i]
        if A + B * t - epsilon * (levels[i] + slopes[i] * t) >= 0.0:
            d = B - epsilon * slopes[i]
            if d > 0.0:
                return -(A - epsilon * levels[i]) / d
            return breaks[i - 1] if i > 0 else -np.inf  # flat on the margin, and rounding hid it one break earlier
    d = B - epsilon * slopes[n]
    return -(A - epsilon * levels[n]) / d if d > 0.0 else np.inf


def all_won_from(A: Any, B: Any, epsilon: float, n: int, pieces: Any) -> Any:
    """:func:`won_from` of many pairs, by NumPy."""
    breaks, slopes, levels = pieces[0], pieces[1], pieces[2]
    out = np.full(A.size, -np.inf)
    left = ~(B - epsilon * slopes[0] < 0.0)
    for i in range(n + 1):
        t, d = breaks[i], B - epsilon * slopes[i]
        last = i == n
        here = left if last else left & (A + B * t - epsilon * (levels[i] + slopes[i] * t) >= 0.0)
        flat = np.inf if last else breaks[i - 1] if i > 0 else -np.inf
        out[here] = np.where(d > 0.0, -(A - epsilon * levels[i]) / d, flat)[here]
        left = left & ~here
    return out


def _all_ends(
    t: Any, w: Any, u: Any, norming: int, low: float, high: float, memory: Any, at: Any, who: Any, lost: Any
) -> Any:
    """:func:`ends` by NumPy."""
    pieces, (A, B) = memory
    n_left, n_right = envelope(w, u, 1.0, norming, pieces[0]), envelope(w, u, -1.0, norming, pieces[1])
    for j in range(t.pairs.shape[0]):
        A += w[j] * t.pairs[j]
        B += u[j] * t.pairs[j]
    left = all_won_from(A, B, t.epsilon, n_left, pieces[0])
    right = -all_won_from(A, -B, t.epsilon, n_right, pieces[1])
    never = ~(left < right) | (left > high) | (right < low)
    gone = never | (left > low)
    value = t.total if t.linear else 0.0
    if t.linear:
        for weight in t.weight[gone].tolist():
            value -= weight
    else:
        which, span = t.slot[gone], t.span[gone]
        np.add.at(lost, spans(which, span), np.repeat(t.weight[gone].astype(np.int64), span))
    inside = np.stack([~never & (left > low), ~never & (right < high)], axis=1)
    n, pair = int(inside.sum()), np.arange(1, A.size + 1)
    at[:n], who[:n] = np.stack([left, right], axis=1)[inside], np.stack([pair, -pair], axis=1)[inside]
    return n, value


@kernel(python=_all_ends)
def ends(
    t: Any, w: Any, u: Any, norming: int, low: float, high: float, memory: Any, at: Any, who: Any, lost: Any
) -> Any:
    """How many ends of intervals on which pairs are won lie in ``low .. high``; linear: the value at ``low``.

    The margin is multiplied by the largest size of the first ``norming`` weights. ``t`` are LinePairs, ``memory`` (2,
    5, 2 norming + 1) and zeros (2, P). ``at`` (2 P,) is set to the place of each end, and ``who`` to ``p + 1`` where
    pair ``p`` begins to be won or ``-(p + 1)`` where it ceases; ``lost``, zeros, to the lost pairs of each slot at
    ``low``, unless linear.
    """
    pieces, scores = memory
    pairs, slot, span, weight, linear = t.pairs, t.slot, t.span, t.weight, t.linear
    k, P = pairs.shape
    n_left = envelope(w, u, 1.0, norming, pieces[0])
    n_right = envelope(w, u, -1.0, norming, pieces[1])
    A, B = scores[0], scores[1]
    for j in range(k):
        wj, uj = w[j], u[j]
        for p in range(P):
            A[p] += wj * pairs[j, p]
            B[p] += uj * pairs[j, p]
    n = 0
    value = t.total if linear else 0.0
    for p in range(P):
        left = won_from(A[p], B[p], t.epsilon, n_left, pieces[0])
        right = -won_from(A[p], -B[p], t.epsilon, n_right, pieces[1])
        never = not left < right or left > high or right < low
        if never or left > low:
            if linear:
                value -= weight[p]
            else:
                for s in range(slot[p], slot[p] + span[p]):
                    lost[s] += np.int64(weight[p])
        if never:
            continue
        if left > low:
            at[n] = left
            who[n] = p + 1
            n += 1
        if right < high:
            at[n] = right
            who[n] = -(p + 1)
            n += 1
    return n, value


def before(group: Any, x: Any) -> Any:
    """The sum of the entries of ``x`` that come before each in its group."""
    order = np.argsort(group, kind="stable")
    sums = np.cumsum(x[order]) - x[order]
    first = np.flatnonzero(np.append(True, np.diff(group[order]) != 0)) if order.size else order
    out = np.empty_like(sums)
    out[order] = sums - np.repeat(sums[first], np.diff(np.append(first, order.size)))
    return out


def _sweep(t: Any, order: Any, at: Any, who: Any, value: float, lost: Any, low: float, high: float, upto: Any) -> Any:
    """:func:`sweep` by NumPy: an item's lost pairs, and how many have no more, are sums over the ends before."""
    who, n = who[order], len(order)
    pair, sign = abs(who) - 1, np.sign(who)
    if t.linear:
        last, steps = np.arange(n + 1), t.weight[pair] * sign
    else:
        (unit_start, _, unit_of, coef_start, coef, hits), start = t.slots, t.count_start
        value = np.cumsum(np.append(value, terms(np.arange(len(unit_start) - 1), lost, t.slots)[0]))[-1]
        span = t.span[pair].astype(np.int64)
        times = t.weight[pair].astype(np.int64) * span
        last, of = np.append(0, np.cumsum(times)), np.repeat(np.arange(n), times)
        slot = t.slot[pair][of] + (np.arange(of.size) - last[of]) % span[of]
        up, v = sign[of], unit_of[slot]
        least = lost[slot] - before(slot, up) - (up > 0)  # of the items with at most so many lost pairs it is the last
        upto += np.bincount(start[unit_of] + lost, minlength=upto.size)
        sums = np.append(0, np.cumsum(upto))
        place = sums[start[v] + least + 1] - sums[start[v]] + before(start[v] + least, up) + (up > 0) - 1
        near, places = place + least, coef_start[v + 1] - coef_start[v]
        padded = np.append(coef, 0.0)
        earned = [np.where(x < places, padded[coef_start[v] + np.minimum(x, places)], 0.0) for x in (near, near + 1)]
        steps = up * hits[unit_start[v] + place] * (earned[0] - earned[1])
    values = np.cumsum(np.append(value, steps))[last]
    edges = np.concatenate([[low], at[order], [high]])
    width = np.diff(edges)
    wide = np.flatnonzero((width == np.inf) | (width > 1e-12 * (1.0 + abs(edges[1:]))))
    wide = wide[~np.isnan(values[wide])]  # beyond the largest double a sum is no value
    if not wide.size:
        return -np.inf, 0.0
    wide = wide[values[wide] == values[wide].max()]
    best = wide[np.argmax(width[wide])]
    return values[best], _inside(edges[best], edges[best + 1])


@kernel(python=_sweep)
def sweep(t: Any, order: Any, at: Any, who: Any, value: float, lost: Any, low: float, high: float, upto: Any) -> Any:
    """Best value on a line and the middle of the widest interval that has it, from the :func:`ends` in ``order``.
    ``upto`` is memory for the cumulative counts of the lists, all zero.
    """
    n = len(order)
    slot, span, weight, linear, count_start = t.slot, t.span, t.weight, t.linear, t.count_start
    unit_start, unit_slots, unit_of, coef_start, coef, hits = t.slots
    if not linear:
        for v in range(len(unit_start) - 1):
            first = count_start[v]
            for s in range(unit_start[v], unit_start[v + 1]):
                upto[first + lost[unit_slots[s]]] += 1
            place = 0
            for x in range(count_start[v + 1] - first):
                for _ in range(upto[first + x]):
                    i = place + x
                    if i < coef_start[v + 1] - coef_start[v]:
                        value += hits[unit_start[v] + place] * coef[coef_start[v] + i]
                    place += 1
                upto[first + x] = place
    best, best_width, best_tau = -np.inf, 0.0, 0.0
    previous = low
    for e in range(n + 1):
        end = high if e == n else at[order[e]]
        width = end - previous
        wide = width == np.inf or width > 1e-12 * (1.0 + abs(end))
        if wide and (value > best or (value == best and width > best_width)):
            best, best_width = value, width
            best_tau = _inside(previous, end)
        if e == n:
            break
        signed = who[order[e]]
        p = abs(signed) - 1
        previous = end
        if linear:
            value += weight[p] if signed > 0 else -weight[p]
            continue
        for _ in range(np.int64(weight[p])):
            for s in range(slot[p], slot[p] + span[p]):
                v = unit_of[s]
                places = coef_start[v + 1] - coef_start[v]
                x = lost[s]
                if signed > 0:
                    upto[count_start[v] + x - 1] += 1
                    i = upto[count_start[v] + x - 1] + x - 1
                    lost[s] = x - 1
                    i -= 1
                    gain = hits[unit_start[v] + i - x + 1]
                else:
                    i = upto[count_start[v] + x] + x - 1
                    gain = -hits[unit_start[v] + i - x]
                    upto[count_start[v] + x] -= 1
                    lost[s] = x + 1
                near = coef[coef_start[v] + i] if i < places else 0.0
                far = coef[coef_start[v] + i + 1] if i + 1 < places else 0.0
                value += gain * (near - far)
    return best, best_tau


@inner()
def _inside(a: float, b: float) -> float:
    if a == -np.inf and b == np.inf:
        return 0.0
    if a == -np.inf:
        return b - 1.0 - abs(b)
    if b == np.inf:
        return a + 1.0 + abs(a)
    return 0.5 * (a + b)
