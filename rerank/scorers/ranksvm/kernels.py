"""Sums over the pairs of a list that are ordered wrongly or by less than the margin, compiled.

A pair is two rows of one list with ``y_i < y_j``; at scores ``p`` it is active where ``p_j - p_i < 1``, and the two
rows are then partners.  Rows are laid out by list and utility.  A node is a range of them, cut in two
between different utilities.  With the rows of a node sorted by score, the partners of a row of the lower
half are a prefix of the upper half, and those of a row of the upper half a suffix of the lower half.  Stable splits
keep the rows of every node in score order, and with them how many of them score within the margin, as in a wavelet
tree [Grossi, Gupta, Vitter 2003]: O(m log r) for lists of m rows with r different utilities, without a branch that
cannot be predicted.  Indices are unsigned: numba then leaves out the handling of negative ones.

A product with the Hessian of the squared hinge loss adds up a vector over the partners of every row.  Within one
Newton step the partners stay the same, so :func:`record` keeps the ends of their ranges, and :func:`sums` passes
through the nodes with one prefix sum each.
"""

from typing import Any

import numpy as np

from rerank.errors.kernels import kept

# Rows of a node that is not cut further.
LEAF = 16


@kept()
def make_nodes(first: Any, after: Any, start: Any, parts: int) -> Any:
    """Nodes in an order in which every node comes before its halves; size of all nodes that are cut.

    ``first`` and ``after`` (m,) bound the run of equal utilities around each place of the layout, ``start`` the
    lists.  A node is not cut further at ``LEAF`` rows, or a share of ``1 / parts`` of its list.  The rows of the
    result: ``low``, ``middle``, ``high``, the buffer ``side`` that the node reads, and where its record begins,
    ``at``.  A leaf has ``middle == low``.
    """
    runs = 0
    for k in range(first.size):
        runs += 1 if first[k] == k else 0
    nodes = np.empty((5, 2 * runs), np.int64)
    stack = np.empty((3, runs + 1), np.int64)
    found, at = 0, 0
    for g in range(start.size - 1):
        leaf = max(LEAF, (start[g + 1] - start[g]) // parts)
        depth = 0
        stack[0, 0], stack[1, 0], stack[2, 0] = start[g], start[g + 1], 0
        while depth >= 0:
            a, b, side = stack[0, depth], stack[1, depth], stack[2, depth]
            depth -= 1
            c = a
            if b - a > leaf and after[a] < b:
                half = (a + b) // 2
                c = np.int64(first[half])
                if c == a or (after[half] < b and after[half] - half < half - c):
                    c = np.int64(after[half])
            nodes[0, found], nodes[1, found], nodes[2, found] = a, c, b
            nodes[3, found], nodes[4, found] = side, at
            found += 1
            if c > a:
                at += b - a
                for lo, hi in ((c, b), (a, c)):
                    depth += 1
                    stack[0, depth], stack[1, depth], stack[2, depth] = lo, hi, 1 - side
    return nodes[:, :found].copy(), at


@kept(passes=13)
def margins(by_score: Any, group: Any, start: Any, place: Any, p: Any) -> Any:
    """The rows by list and score, their places in the layout, and their margins ``above`` and ``below``. ``above`` is
    how many rows of the list score less than ``p_i + 1``, ``below`` how many score at most ``p_i - 1``. Both come from
    the one test ``p_j - p_i < 1``, so that a pair is active seen from either of its rows.
    """
    m = p.size
    rows, q = np.empty(m, np.int64), np.empty(m + 1)
    z, above, below = np.empty(m, np.uint32), np.empty(m + 1, np.uint32), np.zeros(m + 1, np.uint32)
    head = start.copy()
    for row in by_score:
        to = head[group[row]]
        head[group[row]] += 1
        rows[to], q[to], z[to] = row, p[row], place[row]
    q[m] = np.inf
    one: Any = np.uint64(1)
    for g in range(start.size - 1):
        a, b = np.uint64(start[g]), np.uint64(start[g + 1])
        i = c = a
        # A merge without a branch: one of the two indices advances at each step.
        while i < b:
            near = np.uint64((c < b) & (q[c] - q[i] < 1.0))
            above[i] = c - a
            c += near
            i += one - near
        below[a] = 0
        for k in range(a, b):
            below[a + above[k]] += 1
        for k in range(a + one, b):
            below[k] += below[k - one]
    return rows, z, above[:m], below[:m]


@kept()
def split(c: int, h: int, z: Any, above: Any, below: Any, to: Any, bits: Any, ends: Any, ones: Any) -> None:
    """Split the ``z.size`` rows of one node at place ``c``; its lower half has ``h`` rows. ``to`` are the ranges of the
    other buffers. ``bits`` get 1 for rows of the upper half, ``ends``, by new position, how many rows of the other half
    come before the last partner of a lower row, or the first one of an upper row.
    """
    z_to, above_to, below_to = to
    count = 0
    for k in range(z.size):
        ones[k] = count
        bit = z[k] >= c
        bits[k] = bit
        count += bit
    ones[z.size] = count
    left, right = np.int64(0), np.int64(h)
    for k in range(z.size):
        bit = np.int64(bits[k])
        over_1, under_1 = np.int64(ones[above[k]]), np.int64(ones[below[k]])
        over_0, under_0 = np.int64(above[k]) - over_1, np.int64(below[k]) - under_1
        new = np.uint32(left + bit * (right - left))
        ends[new] = over_1 + bit * (under_0 - over_1)
        z_to[new] = z[k]
        above_to[new] = over_0 + bit * (over_1 - over_0)
        below_to[new] = under_0 + bit * (under_1 - under_0)
        right += bit
        left += 1 - bit


@kept(passes=15)
def counts(nodes: Any, first: Any, order: Any, found: Any, weight: Any, p: Any, sums: Any) -> None:
    """For every row, in ``sums`` (3, m): the weight of its partners above, of those below, and ``sum weight p`` of all.
    ``found`` are the rows by list and score and what :func:`margins` says of them; ``order`` has the row of each place
    of the layout.
    """
    rows = found[0]
    m = first.size
    z, above, below = two(found[1]), two(found[2]), two(found[3])
    v, carried = np.empty((2, 2, m)), np.empty((2, 3, m))
    for k in range(m):
        i = rows[k]
        v[0, 0, k] = weight[i]
        v[0, 1, k] = weight[i] * p[i]
    carried[0] = 0.0
    ones, bits, ends = np.empty(m + 1, np.uint32), np.empty(m, np.uint8), np.empty(m, np.uint32)
    prefix = np.empty((2, m + 2))
    for n in range(nodes.shape[1]):
        a, c, b, s = nodes[0, n], nodes[1, n], nodes[2, n], nodes[3, n]
        if c > a:
            to = (z[1 - s, a:b], above[1 - s, a:b], below[1 - s, a:b])
            split(c, c - a, z[s, a:b], above[s, a:b], below[s, a:b], to, bits, ends, ones)
            _carry(c - a, bits, ends, _five(v, carried, s, a, b), _five(v, carried, 1 - s, a, b), prefix)
            continue
        if first[b - 1] > a:
            _count_leaf(first, z[s, a:b], above[s, a:b], *_five(v, carried, s, a, b))
        for k in range(a, b):
            i = order[z[s, k]]
            sums[0, i], sums[1, i], sums[2, i] = carried[s, 0, k], carried[s, 1, k], carried[s, 2, k]


@kept()
def two(a: Any) -> Any:
    """Two buffers, the first one filled."""
    both = np.empty((2, a.size), a.dtype)
    for k in range(a.size):  # assigning the whole row takes long to compile
        both[0, k] = a[k]
    return both


@kept()
def _five(v: Any, sums: Any, s: int, a: int, b: int) -> Any:
    """The range of a node in one buffer, as contiguous rows."""
    return v[s, 0, a:b], v[s, 1, a:b], sums[s, 0, a:b], sums[s, 1, a:b], sums[s, 2, a:b]


@kept()
def _carry(h: int, bits: Any, ends: Any, here: Any, there: Any, prefix: Any) -> None:
    """Take vectors and sums to the halves of a node and add what each half is to the other."""
    w, q, up, down, both = here
    w_to, q_to, up_to, down_to, both_to = there
    P, Q = prefix[0], prefix[1]
    n = w.size
    left, right = np.int64(0), np.int64(h)
    w_left, w_right, q_left, q_right = 0.0, 0.0, 0.0, 0.0
    for k in range(n):
        bit = np.int64(bits[k])
        share = np.float64(bit)
        new = np.uint32(left + bit * (right - left))
        x, y = w[k], q[k]
        w_to[new], q_to[new] = x, y
        up_to[new], down_to[new], both_to[new] = up[k], down[k], both[k]
        P[np.uint32(new + bit)] = w_left + share * (w_right - w_left)
        Q[np.uint32(new + bit)] = q_left + share * (q_right - q_left)
        w_right += share * x
        w_left += x - share * x
        q_right += share * y
        q_left += y - share * y
        right += bit
        left += 1 - bit
    P[h], Q[h], P[n + 1], Q[n + 1] = w_left, q_left, w_right, q_right
    for k in range(h):
        e = np.uint32(ends[k] + h + 1)
        up_to[k] += P[e]
        both_to[k] += Q[e]
    for k in range(h, n):
        down_to[k] += w_left - P[ends[k]]
        both_to[k] += q_left - Q[ends[k]]


@kept()
def _count_leaf(first: Any, z: Any, above: Any, w: Any, q: Any, up: Any, down: Any, both: Any) -> None:
    for k in range(z.size):
        run = first[z[k]]
        for j in range(np.int64(above[k])):
            hit = 1.0 if first[z[j]] > run else 0.0
            up[k] += hit * w[j]
            both[k] += hit * q[j]
            down[j] += hit * w[k]
            both[j] += hit * q[k]


@kept(passes=20)
def record(nodes: Any, size: int, first: Any, order: Any, found: Any) -> Any:
    """Bits and ends of ``size`` entries, node after node, tables of small leaves, and the rows as :func:`sums` ends.
    ``found`` and ``order`` are those of :func:`counts`. In a table 1 stands for a partner above, -1 for one below.
    Leaves of more than ``LEAF`` rows keep no pairs.
    """
    m, few = first.size, 0
    z, above, below = two(found[1]), two(found[2]), two(found[3])
    bits, ends = np.empty(size, np.uint8), np.empty(size, np.uint32)
    owner, ones = np.empty(m, np.int64), np.empty(m + 1, np.uint32)
    for n in range(nodes.shape[1]):
        few += nodes[0, n] == nodes[1, n] and _has_table(nodes[0, n], nodes[2, n], first)
    tables = np.zeros((m if few else 0, LEAF), np.int8)
    for n in range(nodes.shape[1]):
        a, c, b, s, at = nodes[0, n], nodes[1, n], nodes[2, n], nodes[3, n], nodes[4, n]
        if c > a:
            to = (z[1 - s, a:b], above[1 - s, a:b], below[1 - s, a:b])
            split(c, c - a, z[s, a:b], above[s, a:b], below[s, a:b], to, bits[at:], ends[at:], ones)
            continue
        for k in range(a, b):
            owner[k] = order[z[s, k]]
        if _has_table(a, b, first):
            _table(first, z[s, a:b], above[s, a:b], tables[a:b])
    return bits, ends, tables, owner


@kept()
def _has_table(a: int, b: int, first: Any) -> Any:
    return b - a <= LEAF and first[b - 1] > a


@kept()
def _table(first: Any, z: Any, above: Any, table: Any) -> None:
    for k in range(z.size):
        for j in range(np.int64(above[k])):
            if first[z[j]] > first[z[k]]:
                table[k, j] = 1
                table[j, k] = -1


@kept()
def sums(nodes: Any, first: Any, recorded: Any, rows: Any, weight: Any, u: Any) -> Any:
    """``sum weight_j u_j`` over the partners of every row (m,); ``rows`` are those by list and score."""
    bits, ends, tables, owner = recorded
    m = first.size
    v, total = np.empty((2, m)), np.empty((2, m))
    for k in range(m):
        v[0, k] = weight[rows[k]] * u[rows[k]]
    total[0] = 0.0
    prefix, few, result = np.empty(m + 2), np.zeros(LEAF), np.empty(m)
    for n in range(nodes.shape[1]):
        a, c, b, s, at = nodes[0, n], nodes[1, n], nodes[2, n], nodes[3, n], nodes[4, n]
        if c > a:
            here, there = (v[s, a:b], total[s, a:b]), (v[1 - s, a:b], total[1 - s, a:b])
            _carry_one(c - a, bits[at:], ends[at:], here, there, prefix)
            continue
        if _has_table(a, b, first):
            _add_table(tables[a:b], v[s, a:b], few, total[s, a:b])
        for k in range(a, b):
            result[owner[k]] = total[s, k]
    return result


@kept()
def _carry_one(h: int, bits: Any, ends: Any, here: Any, there: Any, prefix: Any) -> None:
    v, total = here
    v_to, total_to = there
    n = v.size
    left, right = np.int64(0), np.int64(h)
    sum_left, sum_right = 0.0, 0.0
    for k in range(n):
        bit = np.int64(bits[k])
        share = np.float64(bit)
        x = v[k]
        new = np.uint32(left + bit * (right - left))
        v_to[new], total_to[new] = x, total[k]
        prefix[np.uint32(new + bit)] = sum_left + share * (sum_right - sum_left)
        sum_right += x * share
        sum_left += x - x * share
        right += bit
        left += 1 - bit
    prefix[h], prefix[n + 1] = sum_left, sum_right
    for k in range(h):
        total_to[k] += prefix[np.uint32(ends[k] + h + 1)]
    for k in range(h, n):
        total_to[k] += sum_left - prefix[ends[k]]


@kept(fastmath={"reassoc", "nsz"})
def _add_table(table: Any, v: Any, few: Any, total: Any) -> None:
    few[:] = 0.0
    for k in range(v.size):
        few[k] = v[k]
    for k in range(v.size):
        s = 0.0
        for j in range(LEAF):
            s += abs(np.float64(table[k, j])) * few[j]
        total[k] += s
