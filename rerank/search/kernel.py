r"""The inner loop of the exact search: depth-first over boxes of weights, compiled.

In a box with centre ``c`` and half-widths ``h`` the scaled difference of a pair lies in ``c.D +- h.|D|``.  A pair whose upper end
misses the margin is lost in the whole box, one whose lower end reaches it is won, and the children of the box need to look at the rest alone.
The surviving pairs of a box are stored column by column, so that both products run at the width of the vector unit.

Rounding: ``tolerance`` covers the error of the scaled features and of the products (see :func:`rerank.search.tables.tolerance`); a pair counts as lost
in a bound only below ``epsilon - tolerance``, and as won in a value only above ``epsilon + tolerance``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

SHARE = 0.08  # a line is split on when its lighter side holds this share of the undecided weight
LEVELS = 96  # every level drops a fifth of its parent's pairs, so 96 levels outlast 10^9 pairs


@njit(cache=True, nogil=True)
def unit_value(u: int, lost: Any, unit_start: Any, unit_slots: Any, coef_start: Any, coef: Any, count: Any) -> float:
    """``sum_j coef[j + lost_(j)]`` of one unit by counting sort; ``coef`` holds only the places that earn something."""
    places = coef_start[u + 1] - coef_start[u]
    a = unit_start[u]
    z = unit_start[u + 1]
    if z - a == 1:
        only = lost[unit_slots[a]]
        return coef[coef_start[u] + only] if only < places else 0.0
    top = 0
    kept = 0
    for s in range(a, z):
        x = lost[unit_slots[s]]
        if x < places:
            count[x] += 1
            kept += 1
            if x >= top:
                top = x + 1
    total = 0.0
    place = 0
    base = coef_start[u]
    for x in range(top):
        k = count[x]
        count[x] = 0
        for _ in range(k):
            if place + x < places:
                total += coef[base + place + x]
            place += 1
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _reach(D: Any, c: Any, h: Any, epsilon: float, tolerance: float, M: Any, R: Any) -> None:
    """``M = c.D - epsilon`` and ``R = h.|D| + tolerance``, column by column."""
    n = D.shape[1]
    for p in range(n):
        M[p] = -epsilon
        R[p] = tolerance
    for j in range(D.shape[0]):
        cj = c[j]
        hj = h[j]
        row = D[j]
        if hj == 0.0:
            for p in range(n):
                M[p] += cj * row[p]
        else:
            for p in range(n):
                M[p] += cj * row[p]
                R[p] += hj * abs(row[p])


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _sums(M: Any, R: Any, W: Any, safe: float):
    """Weight of the pairs that are lost in the whole box, and of those lost at the centre."""
    whole = 0.0
    centre = 0.0
    for p in range(M.size):
        whole += W[p] if M[p] + R[p] < 0.0 else 0.0
        centre += W[p] if M[p] < safe else 0.0
    return whole, centre


@njit(cache=True, nogil=True)
def _undecided(M: Any, R: Any, keep: Any) -> int:
    """Positions of the pairs that are neither won nor lost in the whole box; branch-free, since no branch here can be foretold."""
    i = 0
    for p in range(M.size):
        keep[i] = p
        i += 1 if abs(M[p]) <= R[p] else 0
    return i


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _moved(row: Any, weight: Any) -> float:
    """``sum_p weight_p |row_p|``."""
    total = 0.0
    for p in range(row.size):
        total += weight[p] * abs(row[p])
    return total


@njit(cache=True, nogil=True)
def _force(M: Any, G: Any, forces: Any, chosen: Any) -> None:
    """Count the pairs on the side that was not chosen as lost."""
    for x in forces:
        if x != 0:
            chosen[abs(x)] = 1 if x > 0 else -1
    for p in range(M.size):
        g = G[p]
        if g != 0 and chosen[abs(g)] * g < 0:
            M[p] = -1e300
    for x in forces:
        chosen[abs(x)] = 0


@njit(cache=True, nogil=True)
def _line(G: Any, weight: Any, forward: Any, backward: Any, forces: Any) -> int:
    """The line with most undecided weight on its lighter side; 0 where that is too little to split on."""
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
        if g != 0:
            lighter = min(forward[g], backward[g])
            if lighter > most:
                most = lighter
                best = g
    return best


@njit(cache=True, nogil=True)
def explore(
    pairs: Any, slot: Any, span: Any, weight: Any,  # pairs (k, P); first slot, number of slots and weight of each pair
    centres: Any, halves: Any, bounds: Any,         # (N, k) boxes to explore, last one first, and what is known of them
    epsilon: float, tolerance: float,
    linear: bool, total: float, slack: float,       # linear statistics: value = total - weight of the lost pairs
    unit_start: Any, unit_slots: Any, unit_of: Any, coef_start: Any, coef: Any,
    incumbent: float, work_limit: float, smallest: float,
    record: bool, names: Any, next_name: int,       # names of the boxes, for the record of splits
    group: Any, n_groups: int, forces: Any,         # opposite pairs, and the sides already chosen for each box (N, F)
):
    """Explore boxes until none is left or the work is spent.

    ``group`` holds ``g`` or ``-g`` (``g >= 1``) for pairs whose differences point along one line, forwards or backwards, and 0 for the others: no weights win both a
    forward and a backward pair.  A box may therefore be split into "no backward pair of g is won" (force ``g``) and "no forward pair" (force ``-g``).

    Returns
    -------
    found : float
        Best value met (the incumbent if none is better).
    best : float64 (k,)
        Its weights, zeros if none was better.
    open : tuple of arrays
        Centres, half-widths, bounds, names and forces of the boxes left to explore.
    stubborn : tuple of arrays
        The same for boxes too small to split whose bound beats the value found.
    splits : int64 (n, 3)
        With ``record``: name of a split box, coordinate (or ``k - 1 + g``), name of its upper (forward) child; the other's is one more.
    boxes, work : int, float
        Number of boxes looked at and pairs visited.
    """
    k, P = pairs.shape
    n_slots = unit_of.size
    n_units = unit_start.size - 1
    capacity = 6 * P + 64
    D = np.empty((k, capacity))
    S = np.empty(capacity if not linear else 1, np.int32)
    Q = np.empty(capacity if not linear else 1, np.int32)
    W = np.empty(capacity)
    G = np.empty(capacity if n_groups > 0 else 1, np.int32)
    for p in range(P if n_groups > 0 else 0):
        G[p] = group[p]
    chosen = np.zeros(n_groups + 1, np.int32)
    forward = np.zeros(n_groups + 1)
    backward = np.zeros(n_groups + 1)
    n_forces = forces.shape[1]
    start = np.zeros(LEVELS, np.int64)
    size = np.zeros(LEVELS, np.int64)
    base = np.zeros(LEVELS)  # linear: weight already lost; otherwise value of the units that are settled
    lost = np.zeros((LEVELS if not linear else 1, n_slots), np.int32)
    active = np.zeros((LEVELS if not linear else 1, n_units), np.int32)
    n_active = np.zeros(LEVELS, np.int64)
    mark = np.zeros(n_units, np.int64)
    stamp = 0
    trial = np.zeros(n_slots, np.int32)
    central = np.zeros(n_slots, np.int32)
    slope = np.ones(n_slots)
    widest = 1
    for u in range(n_units):
        widest = max(widest, coef_start[u + 1] - coef_start[u])
        active[0, u] = u
    n_active[0] = n_units
    count = np.zeros(widest + 1, np.int64)
    for j in range(k):
        for p in range(P):
            D[j, p] = pairs[j, p]
    for p in range(P):
        W[p] = weight[p]
        if not linear:
            S[p] = slot[p]
            Q[p] = span[p]
    size[0] = P

    N = centres.shape[0]
    room = N + 64 * k + 64
    C = np.empty((room, k))
    H = np.empty((room, k))
    B = np.empty(room)
    L = np.zeros(room, np.int64)
    I = np.zeros(room, np.int64)
    F = np.zeros((room, n_forces), np.int32)
    for i in range(N):
        C[i] = centres[i]
        H[i] = halves[i]
        B[i] = bounds[i]
        I[i] = names[i]
        F[i] = forces[i]
    top = N
    splits = np.empty((1024 if record else 1, 3), np.int64)
    n_splits = 0
    M = np.empty(P)
    R = np.empty(P)
    keep = np.empty(P + 1, np.int32)
    best = np.zeros(k)
    c = np.empty(k)
    h = np.empty(k)
    stub_c = np.empty((16, k))
    stub_h = np.empty((16, k))
    stub_b = np.empty(16)
    stub_i = np.empty(16, np.int64)
    stub_f = np.zeros((16, n_forces), np.int32)
    f = np.zeros(n_forces, np.int32)
    n_stub = 0
    boxes = 0
    work = 0.0
    found = incumbent
    while top > 0 and work < work_limit:
        top -= 1
        bound_above = B[top]
        if bound_above <= found + slack:
            continue
        boxes += 1
        c[:] = C[top]
        h[:] = H[top]
        v = L[top]
        a = start[v]
        n = size[v]
        work += n + 32
        _reach(D[:, a : a + n], c, h, epsilon, tolerance, M[:n], R[:n])
        if n_forces > 0:
            f[:] = F[top]
            if f[0] != 0:
                _force(M[:n], G[a : a + n], f, chosen)
        # ---- bound, and value at the centre
        if linear:
            gone, central_loss = _sums(M[:n], R[:n], W[a : a + n], 2.0 * tolerance)
            gone += base[v]
            bound = total - gone
            value = total - base[v] - central_loss
        else:
            trial[:] = lost[v]
            central[:] = trial
            for p in range(n):
                if M[p] < 2.0 * tolerance:
                    m = np.int32(W[a + p])
                    both = M[p] + R[p] < 0.0
                    for s in range(S[a + p], S[a + p] + Q[a + p]):
                        central[s] += m
                        if both:
                            trial[s] += m
            bound = base[v]
            for i in range(n_active[v]):
                bound += unit_value(active[v, i], trial, unit_start, unit_slots, coef_start, coef, count)
            gone = 0.0
            value = -np.inf
        if bound > bound_above:
            bound = bound_above
        if bound <= found + slack:
            continue
        if not linear:
            value = base[v]
            for i in range(n_active[v]):
                value += unit_value(active[v, i], central, unit_start, unit_slots, coef_start, coef, count)
        if value > found:
            found = value
            best[:] = c
            if bound <= found + slack:
                continue
        # ---- which pairs the children still have to look at
        open_pairs = _undecided(M[:n], R[:n], keep)
        if not linear:
            # An item that has lost every place that earns something stays there: its pairs no longer matter.
            i = 0
            for q in range(open_pairs):
                p = keep[q]
                alive = False
                for s in range(S[a + p], S[a + p] + Q[a + p]):
                    u = unit_of[s]
                    alive |= trial[s] < coef_start[u + 1] - coef_start[u]
                keep[i] = p
                i += 1 if alive else 0
            open_pairs = i
        child = v
        if 5 * open_pairs <= 4 * n and v + 1 < LEVELS:
            child = v + 1
            b = a + n
            for j in range(k):
                old = D[j, a : a + n]
                new = D[j, b : b + open_pairs]
                for q in range(open_pairs):
                    new[q] = old[keep[q]]
            for q in range(open_pairs):
                W[b + q] = W[a + keep[q]]
            for q in range(open_pairs if n_groups > 0 else 0):
                G[b + q] = G[a + keep[q]]
            if linear:
                base[child] = gone
            else:
                stamp += 1
                for q in range(open_pairs):
                    first = S[a + keep[q]]
                    many = Q[a + keep[q]]
                    S[b + q] = first
                    Q[b + q] = many
                    for s in range(first, first + many):
                        mark[unit_of[s]] = stamp
                lost[child] = trial
                settled = base[v]
                m2 = 0
                for q in range(n_active[v]):
                    u = active[v, q]
                    if mark[u] == stamp:
                        active[child, m2] = u
                        m2 += 1
                    else:
                        settled += unit_value(u, trial, unit_start, unit_slots, coef_start, coef, count)
                n_active[child] = m2
                base[child] = settled
            start[child] = b
            size[child] = open_pairs
        # ---- split where the undecided pairs are moved most
        a2 = start[child]
        n2 = size[child]
        which = -1
        most = 0.0
        if not linear:
            # a pair matters as much as its item's next place costs
            mean = 0.0
            for i in range(n_active[child]):
                u = active[child, i]
                places = coef_start[u + 1] - coef_start[u]
                for s in range(unit_start[u], unit_start[u + 1]):
                    x = trial[unit_slots[s]]
                    lo = coef[coef_start[u] + x] if x < places else 0.0
                    hi = coef[coef_start[u] + x + 1] if x + 1 < places else 0.0
                    slope[unit_slots[s]] = lo - hi
            for p in range(n2):
                t = 0.0
                for s in range(S[a2 + p], S[a2 + p] + Q[a2 + p]):
                    t += slope[s]
                M[p] = t
                mean += t
            # Flat stretches of the coefficients have slope 0, but their pairs must come to a decision too.
            mean = mean / n2 if mean > 0.0 else 1.0
            for p in range(n2):
                M[p] = (M[p] + 0.1 * mean) * W[a2 + p]
        for j in range(k):
            if h[j] > smallest:
                t = h[j] * _moved(D[j, a2 : a2 + n2], W[a2 : a2 + n2] if linear else M[:n2])
                if t > most or which < 0:
                    most = t
                    which = j
        # ---- or between the two sides of a line along which much is undecided both ways
        line = 0
        if n_forces > 0 and f[n_forces - 1] == 0:
            line = _line(G[a2 : a2 + n2], W[a2 : a2 + n2] if linear else M[:n2], forward, backward, f)
        if which < 0 and line == 0:
            if n_stub == stub_b.size:
                stub_c = _grown(stub_c)
                stub_h = _grown(stub_h)
                stub_b = np.concatenate((stub_b, np.empty_like(stub_b)))
                stub_i = np.concatenate((stub_i, np.empty_like(stub_i)))
                stub_f = np.concatenate((stub_f, np.empty_like(stub_f)))
            stub_c[n_stub] = c
            stub_h[n_stub] = h
            stub_b[n_stub] = bound
            stub_i[n_stub] = I[top]
            stub_f[n_stub] = f
            n_stub += 1
            continue
        if top + 2 > room:
            C = _grown(C)
            H = _grown(H)
            B = np.concatenate((B, np.empty_like(B)))
            L = np.concatenate((L, np.empty_like(L)))
            I = np.concatenate((I, np.empty_like(I)))
            F = np.concatenate((F, np.zeros_like(F)))
            room *= 2
        if record:
            if n_splits == splits.shape[0]:
                splits = np.concatenate((splits, np.empty_like(splits)))
            splits[n_splits, 0] = I[top]
            splits[n_splits, 1] = which if line == 0 else k - 1 + line
            splits[n_splits, 2] = next_name
            n_splits += 1
        if line > 0:
            place = 0
            while f[place] != 0:
                place += 1
            for turn in range(2):
                ahead = (turn == 1) == (forward[line] >= backward[line])
                C[top] = c
                H[top] = h
                B[top] = bound
                L[top] = child
                I[top] = next_name + (0 if ahead else 1)
                F[top] = f
                F[top, place] = line if ahead else -line
                top += 1
            next_name += 2
            continue
        # The side towards which the undecided pairs pull is explored first, that is, pushed last.
        pull = 0.0
        for p in range(a2, a2 + n2):
            pull += W[p] * D[which, p]
        half = 0.5 * h[which]
        for turn in range(2):
            upper = (turn == 1) == (pull > 0.0)
            C[top] = c
            H[top] = h
            H[top, which] = half
            C[top, which] = c[which] + (half if upper else -half)
            B[top] = bound
            L[top] = child
            I[top] = next_name + (0 if upper else 1)
            F[top] = f
            top += 1
        next_name += 2
    return (
        found, best, (C[:top].copy(), H[:top].copy(), B[:top].copy(), I[:top].copy(), F[:top].copy()),
        (stub_c[:n_stub].copy(), stub_h[:n_stub].copy(), stub_b[:n_stub].copy(), stub_i[:n_stub].copy(), stub_f[:n_stub].copy()),
        splits[:n_splits].copy(), boxes, work,
    )


@njit(cache=True, nogil=True)
def _grown(rows: Any):
    return np.concatenate((rows, np.empty_like(rows)))
