r"""What is compiled of cards. It is one file, because numba makes a kernel anew only when its own file has changed.

**Worth of an order of groups.** A block of p relevant and q other rows that are tied shares what its places earn.  With
W(x) what the first x places earn, a fraction of a place its share, a block from place a to b earns
:math:`\frac{p}{p + q}(W(b) - W(a))`.  For AUC that is :math:`p (Q - q_{above} - q/2)`, with Q all other rows: a tie
counts one half.

**Bounds of sets of questions.** ``s`` questions put the rows into ``2^s`` groups of equal answers.  Over all scores on
the groups, linear or not, the best order is by share of relevant rows, descending: for neighbouring blocks A above B
that begin at place o, with r their shares, m their rows, :math:`D_A, D_B` what the first :math:`m_A, m_B` of their
:math:`m_A + m_B` places earn and T what all do, order AB less order BA is :math:`(r_A - r_B)(D_A + D_B - T)`, and D
falls with the place, so that :math:`D_A + D_B \ge T`.  A tie is worth no more than AB for the same reason.

The rows of a set's groups are counted depth first: a node holds the rows that answer the first questions alike, group
by group, and how many of each group answer yes to each further question and to each two of them.  A further question
divides each group; those that answer yes to it are counted as bits, one AND and a population count for each two
questions, and the others are what is left.  So memory is that of one path of nodes.

For areas most sets are left out before their groups are sorted.  Whatever the slope t, no order of groups has more than
:math:`t x + \sum_g \max(0, p_g - t q_g)` relevant rows above x others: these lines lie above the convex hull of its ROC
curve, so that the area below some of them is a bound.

**Log loss** is no sum over places: the risk of a total is logistic in it, with intercept and slope as they fit best. No
card of a set has less loss than the shares of its groups, nor than logistic regression on its questions, nor, where the
first j questions have points, than logistic regression on their total and on the other questions: each lets the weights
be free that a card ties together.

**Limits.** A cut flags whole blocks of tied rows.  "Top N" flags as many blocks as have at most N rows together,
and a card whose first block has more is not allowed: a budget is not exceeded.  A free cut may stand below any block.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.errors.kernels import before_compiling, kept

# AUC, what the first places earn, area up to a false positive rate, relevant rows among so many first ones, log loss
AREA, PLACES, PARTIAL, HITS, LOGLOSS = 0, 1, 2, 3, 4


class Worth(NamedTuple):
    """A statistic on the lists of a table, for kernels. Rows are counted in ``unit`` to a row. The value of an order is
    the sum over lists of what its blocks earn, divided by ``scale``, plus ``constant``. One list's AUC is a quotient of
    whole numbers, so that equal values are equal as doubles.
    """

    kind: int
    unit: float
    constant: float
    scale: NDArray[np.float64]  # (lists,): infinite for a list that does not count
    others: NDArray[np.float64]  # (lists,): rows that are not relevant
    limit: NDArray[np.float64]  # (lists,): of these, how many count in a partial area; of hits, the first rows
    earned: NDArray[np.float64]  # what the first x places of a list earn, list after list
    start: NDArray[np.int64]  # (lists,): where a list begins in ``earned``


@kept()
def first_places(worth: Any, of: int, rows: float) -> float:
    """What the places down to ``rows`` earn, in units of a row."""
    place = rows / worth.unit
    whole = np.int64(place)
    part = place - whole
    at = worth.start[of] + whole
    value = worth.earned[at]
    if part > 0.0:
        value += part * (worth.earned[at + 1] - value)
    return value


@kept()
def block(worth: Any, of: int, p: float, q: float, above_p: float, above_q: float) -> float:
    """What a block of tied rows earns below so many relevant and other rows of its list."""
    if worth.kind == AREA:
        return p * (worth.others[of] - above_q - 0.5 * q)
    if worth.kind == PLACES:
        if p == 0.0:
            return 0.0
        start = above_p + above_q
        return p / (p + q) * (first_places(worth, of, start + p + q) - first_places(worth, of, start))
    if worth.kind == LOGLOSS:  # at the share of the block, which no link exceeds
        return (p * np.log(p / (p + q)) if p > 0.0 else 0.0) + (q * np.log(q / (p + q)) if q > 0.0 else 0.0)
    if worth.kind == HITS:
        return p / (p + q) * max(0.0, min(p + q, worth.limit[of] - above_p - above_q))
    counted = min(q, worth.limit[of] - above_q)
    if counted <= 0.0:
        return 0.0
    return counted * (above_p + 0.5 * p * (counted / q))


@kept(exact=True, fastmath=True)
def best_area(p: Any, q: Any) -> float:
    """AUC's pairs won in the best order of groups: of each two groups the better order, the larger of two products."""
    relevant = other = apart = 0.0
    for g in range(p.size):
        own_p, own_q = p[g], q[g]
        relevant += own_p
        other += own_q
        part = 0.0
        for h in range(p.size):
            part += abs(own_p * q[h] - p[h] * own_q)
        apart += part
    return 0.5 * relevant * other + 0.25 * apart


@kept()
def by_share(p: Any, q: Any, n: int) -> None:
    """Sort groups by share of relevant rows, the largest first, in place."""
    for i in range(1, n):
        a, b = p[i], q[i]
        j = i
        while j > 0 and a * q[j - 1] > p[j - 1] * b:
            p[j], q[j] = p[j - 1], q[j - 1]
            j -= 1
        p[j], q[j] = a, b


@kept()
def in_order(worth: Any, of: int, p: Any, q: Any, n: int) -> float:
    """What blocks earn in their order, in units of pairs or of places."""
    total = above_p = above_q = 0.0
    for i in range(n):
        total += block(worth, of, p[i], q[i], above_p, above_q)
        above_p += p[i]
        above_q += q[i]
    return total


@kept()
def best_order(groups: Any, worth: Any, p: Any, q: Any) -> float:
    """The value that no order of groups exceeds; ``groups`` are numbers of rows (2 lists, groups); p, q memory."""
    total = worth.constant
    for of in range(worth.scale.size):
        relevant, other = groups[2 * of], groups[2 * of + 1]
        if worth.kind == AREA:
            total += best_area(relevant, other) / worth.scale[of]
            continue
        n = np.int64(0)
        for g in range(relevant.size):
            if relevant[g] + other[g] > 0.0:
                p[n], q[n] = relevant[g], other[g]
                n += 1
        by_share(p, q, n)
        total += in_order(worth, of, p, q, n) / worth.scale[of]
    return total


ENOUGH = 1e-12  # of log-likelihood a row that a further step may gain


@kept()
def likeliest(x: Any, m: int, p: Any, q: Any, w: Any, least: float) -> float:
    """The largest log-likelihood of groups of ``p`` relevant and ``q`` other rows whose odds are exp(x w), with ``m``
    columns of ``x`` (groups, columns) and weights from ``w`` on, which are changed; rounded up. Newton's steps: each is
    halved until it helps, and what a step may gain bounds what is left (so for directions without an end, too).

    If twice what the first step promises is below ``least``, its promise is returned.
    """
    slope, step, bend = np.empty(m), np.zeros(m), np.empty((m, m))
    every = p.sum() + q.sum()
    best, gain = -np.inf, np.inf
    for turn in range(100):
        value = 0.0
        slope[:] = 0.0
        bend[:] = 0.0
        for g in range(p.size):
            rows = p[g] + q[g]
            if rows == 0.0:
                continue
            eta = 0.0
            for i in range(m):
                eta += x[g, i] * (w[i] + step[i])
            small = np.exp(-abs(eta))
            value -= rows * np.log1p(small) + (q[g] * eta if eta > 0.0 else -p[g] * eta)
            risk = 1.0 / (1.0 + small) if eta > 0.0 else small / (1.0 + small)
            left, spread = p[g] - rows * risk, rows * risk * (1.0 - risk)
            for i in range(m):
                slope[i] += left * x[g, i]
                for j in range(i + 1):
                    bend[i, j] += spread * x[g, i] * x[g, j]
        if value < best:
            step *= 0.5
            if np.abs(step).max() < 1e-200:
                break
            continue
        best = value
        for i in range(m):
            w[i] += step[i]
        _solve(bend, slope, step)
        gain = 0.0
        for i in range(m):
            gain += slope[i] * step[i]
        if gain <= ENOUGH * every or (turn == 0 and best + gain < least):
            break
    return min(0.0, best + gain)


@kept()
def _solve(bend: Any, slope: Any, step: Any) -> None:
    """The step that ``bend`` step = ``slope`` gives, by Cholesky's method; no step in directions that do not bend."""
    m = slope.size
    for i in range(m):
        diagonal = bend[i, i]
        for j in range(i):
            for h in range(j):
                bend[i, j] -= bend[i, h] * bend[j, h]
            bend[i, j] /= bend[j, j]
        for j in range(i):
            bend[i, i] -= bend[i, j] ** 2
        bend[i, i] = np.sqrt(bend[i, i]) if bend[i, i] > 1e-13 * diagonal else np.inf
        step[i] = slope[i]
        for j in range(i):
            step[i] -= bend[i, j] * step[j]
        step[i] /= bend[i, i]
    for i in range(m - 1, -1, -1):
        for j in range(i + 1, m):
            step[i] -= bend[j, i] * step[j]
        step[i] /= bend[i, i]


@kept()
def linked(x: Any, m: int, p: Any, q: Any, w: Any, least: float) -> float:
    """The log-likelihood that :func:`likeliest` finds, whose last column is a total and has no weight below 0."""
    value = likeliest(x, m, p, q, w, least)
    if w[m - 1] < 0.0:
        w[:] = 0.0
        value = likeliest(x, m - 1, p, q, w, -np.inf)
    return value


@kept()
def best_link(totals: Any, j: int, k: int, p: Any, q: Any) -> float:
    """The log-likelihood that no points exceed that give the groups of the first ``j`` of ``k`` questions these
    ``totals`` or a positive multiple of them; with all ``k`` that of the card.
    """
    m = 1 + k - j + (j > 0)
    x, w = np.ones((1 << k, m)), np.zeros(m)
    for s in range(1 << k):
        for i in range(j, k):
            x[s, 1 + i - j] = (s >> i) & 1
        if j > 0:
            x[s, m - 1] = totals[s & ((1 << j) - 1)]
    return linked(x, m, p, q, w, -np.inf) if j > 0 else likeliest(x, m, p, q, w, -np.inf)


NO_CUT, TOP, FREE = 0, 1, 2  # kinds of cuts: none, at most some rows, below any block


class Limits(NamedTuple):
    """Limits of a card, for kernels; numbers of rows are in the unit of the counts."""

    cut: int
    rows: float  # that a cut at the top may flag
    sensitivity: float  # share of the relevant rows that are flagged: at least
    specificity: float  # share of the other rows that are not: at least
    precision: float  # share of relevant rows among those flagged: at least
    flagged: float  # share of the rows that are flagged: at most
    gap_flagged: float  # difference of that share between two kinds of people: at most
    gap_sensitivity: float  # the same of sensitivity
    area: float  # AUC among the rows of each kind: at least
    first: float  # of the first rows,
    quota: NDArray[np.float64]  # (kinds,): so many are of each kind, at least
    one_sign: bool  # questions of one column have points of one sign
    total: int  # of the points above 0 of a card: at most


@kept()
def keeps(place: Any, k: int, limits: Any, band: Any, people: Any) -> bool:
    """Whether the card keeps the limits whose groups of ``k`` questions have this ``place``. ``band`` holds the
    column of each question, ``people`` the relevant and other rows of each group by kind of people.
    """
    size, kinds = people.shape[0], people.shape[1] // 2
    if limits.one_sign:
        for i in range(k):
            for j in range(i):
                up, other = place[1 << i] < place[0], place[1 << j] < place[0]
                if band[i] == band[j] and up != other:
                    return False
    by_block = np.zeros((size, 2 * kinds))
    blocks = np.int64(0)  # a plain constant would compile its callees twice
    for s in range(size):
        at = place[s]
        blocks = max(blocks, at + 1)
        for c in range(2 * kinds):
            by_block[at, c] += people[s, c]
    return blocks_keep(by_block, blocks, limits)


@kept()
def blocks_keep(by_block: Any, blocks: int, limits: Any) -> bool:
    """Whether blocks of rows, by class and kind of people, keep the limits."""
    kinds = by_block.shape[1] // 2
    if limits.area > 0.0 and not _areas(by_block, blocks, kinds, limits.area):
        return False
    if limits.first > 0.0 and not _quotas(by_block, blocks, kinds, limits):
        return False
    return limits.cut == NO_CUT or cut_below(by_block, blocks, limits) >= 0


@kept()
def _areas(by_block: Any, blocks: int, kinds: int, least: float) -> bool:
    for kind in range(kinds):
        p, q = by_block[:, 2 * kind], by_block[:, 2 * kind + 1]
        won = above = 0.0
        for b in range(blocks):
            above += p[b]
            won += q[b] * (above - 0.5 * p[b])
        pairs = p[:blocks].sum() * q[:blocks].sum()
        if pairs > 0.0 and won < least * pairs:
            return False
    return True


@kept()
def _quotas(by_block: Any, blocks: int, kinds: int, limits: Any) -> bool:
    """Whether enough rows of each kind are among the first ones, in whatever order tied rows stand."""
    for kind in range(kinds):
        surely = 0.0
        left = limits.first
        for b in range(blocks):
            rows = by_block[b].sum()
            own = by_block[b, 2 * kind] + by_block[b, 2 * kind + 1]
            surely += max(0.0, min(left, rows) - (rows - own))
            left -= min(left, rows)
        if surely < limits.quota[kind]:
            return False
    return True


@kept()
def cut_below(by_block: Any, blocks: int, limits: Any) -> int:
    """The block below which the cut stands, -1 for none that keeps the limits; a cut flags some row. Of free cuts that
    keep them it is the one with the largest sensitivity less share of the others flagged.
    """
    kinds = by_block.shape[1] // 2
    total = np.zeros(2 * kinds)
    for b in range(blocks):
        total += by_block[b]
    relevant, every = total[::2].sum(), total.sum()
    flagged = np.zeros(2 * kinds)
    best, at = -np.inf, -1
    for b in range(blocks):
        flagged += by_block[b]
        rows = flagged.sum()
        if rows == 0.0:
            continue  # groups without rows stand above all others
        if limits.cut == TOP and rows > limits.rows:
            break
        hits = flagged[::2].sum()
        fits = hits >= limits.sensitivity * relevant and rows <= limits.flagged * every
        fits &= rows - hits <= (1.0 - limits.specificity) * (every - relevant) and hits >= limits.precision * rows
        gap_flagged = gap_sensitivity = 0.0
        for a in range(kinds):
            for c in range(kinds):
                own, other = total[2 * a] + total[2 * a + 1], total[2 * c] + total[2 * c + 1]
                if own > 0.0 and other > 0.0:
                    share = (flagged[2 * a] + flagged[2 * a + 1]) / own
                    gap_flagged = max(gap_flagged, share - (flagged[2 * c] + flagged[2 * c + 1]) / other)
                if total[2 * a] > 0.0 and total[2 * c] > 0.0:
                    found = flagged[2 * a] / total[2 * a] - flagged[2 * c] / total[2 * c]
                    gap_sensitivity = max(gap_sensitivity, found)
        fits &= gap_flagged <= limits.gap_flagged and gap_sensitivity <= limits.gap_sensitivity
        if limits.cut == TOP:
            # The budget is used up as far as whole blocks allow.
            at = b if fits else -1
        elif fits and hits / max(relevant, 1.0) - (rows - hits) / max(every - relevant, 1.0) > best:
            best, at = hits / max(relevant, 1.0) - (rows - hits) / max(every - relevant, 1.0), b
    return at


class Entries(NamedTuple):
    """Rows, for kernels that count them: each once for each binary digit of how many it stands for. They come in parts,
    each of one class of one list.
    """

    answers: NDArray[np.uint8]  # (rows, questions): whether a row gives the rarer answer to a question
    row: NDArray[np.int32]  # (entries,)
    start: NDArray[np.int64]  # (parts + 1,): first entry of each part
    factor: NDArray[np.int64]  # (parts,): how much an entry counts
    cell: NDArray[np.int64]  # (parts,): for which class of which list


class Nest(NamedTuple):
    """A path of nodes; the groups of that with j questions begin at 2^j - 1. Pairs of questions d < e come in order of
    falling d, then of rising e, so that those of the last questions stand first.
    """

    row: NDArray[np.int32]  # (nodes, entries + 1): rows by group and part,
    start: NDArray[np.int64]  # (nodes, groups parts + 1): where these begin
    words: NDArray[np.uint64]  # (words, questions): memory
    totals: NDArray[Any]  # (groups, cells): how many rows,
    singles: NDArray[Any]  # (groups, cells, questions): how many of these answer yes to a question,
    pairs: NDArray[Any]  # (groups, cells, pairs): and to two


class Lines(NamedTuple):
    """Lines above what orders of groups find, by list."""

    slopes: NDArray[Any]  # (lists, even number): falling; of the type of the groups
    more: NDArray[np.float64]  # what rounding may take from their heights


LANES = 64  # sets that are bounded at a time


def popcount(word: Any) -> Any:
    """Number of bits of a uint64."""
    return int(word).bit_count()


@before_compiling
def _popcount_compiled() -> None:
    """What numba makes of it: one instruction."""
    from numba import types
    from numba.extending import intrinsic, overload

    @intrinsic
    def counted(typing: Any, word: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.uint64(types.uint64), code

    overload(popcount, inline="always")(lambda word: lambda word: counted(word))


@kept()
def count_pairs(rows: Any, answers: Any, x: int, factor: int, words: Any, singles: Any, pairs: Any) -> None:
    """Add how many of some ``rows`` answer yes to each question behind ``x`` and to each two, ``factor`` times."""
    n = answers.shape[1]
    many = (rows.size + 63) // 64
    words[:many] = 0
    for i in range(rows.size):
        own, word, bit = answers[rows[i]], words[i // 64], np.uint64(i % 64)
        for d in range(x + 1, n):
            word[d] |= np.uint64(own[d]) << bit
    for w in range(many):
        word = words[w]
        t = 0
        for d in range(n - 1, x, -1):
            one = word[d]
            singles[d] += np.int64(popcount(one)) * factor
            for e in range(d + 1, n):
                pairs[t + e - d - 1] += np.int64(popcount(one & word[e])) * factor
            t += n - 1 - d


@kept()
def enter(j: int, x: int, last: bool, entries: Any, nest: Any) -> None:
    """Ask question ``x`` behind the first ``j``: rows and numbers of the next node, but for rows that answer no if it
    is the ``last``.
    """
    answers, factor = entries.answers, entries.factor
    n, parts, cells, groups = answers.shape[1], factor.size, nest.totals.shape[1], 1 << j
    old, new, pairs = groups - 1, 2 * groups - 1, (n - 1 - x) * (n - 2 - x) // 2
    own, to, start, ends = nest.row[j], nest.row[j + 1], nest.start[j + 1], nest.start[j]
    at = np.int64(0)
    for segment in range(0 if last else groups * parts):
        start[segment] = at
        for i in range(ends[segment], ends[segment + 1]):
            to[at] = own[i]
            at += 1 - answers[own[i], x]
    for g in range(groups):
        yes, no = new + groups + g, new + g
        nest.totals[yes] = 0
        nest.singles[yes, :, x + 1 :] = 0
        nest.pairs[yes, :, :pairs] = 0
        for part in range(parts):
            segment, begin, cell = g * parts + part, at, entries.cell[part]
            start[groups * parts + segment] = begin
            for i in range(ends[segment], ends[segment + 1]):
                to[at] = own[i]
                at += answers[own[i], x]
            if at > begin:
                nest.totals[yes, cell] += (at - begin) * factor[part]
                single, pair = nest.singles[yes, cell], nest.pairs[yes, cell]
                count_pairs(to[begin:at], answers, x, factor[part], nest.words, single, pair)
        for c in range(cells):
            nest.totals[no, c] = nest.totals[old + g, c] - nest.totals[yes, c]
            for d in range(x + 1, n):
                nest.singles[no, c, d] = nest.singles[old + g, c, d] - nest.singles[yes, c, d]
            here, before, less = nest.pairs[no, c], nest.pairs[old + g, c], nest.pairs[yes, c]
            for t in range(pairs):
                here[t] = before[t] - less[t]
    start[2 * groups * parts] = at


@kept()
def _filled(runs: Any, many: int, groups: int, nest: Any, lanes: Any, memory: Any) -> None:
    """Put the groups of sets to ``lanes`` (cells, groups, sets): those of the last of the path with each two questions
    of ``runs`` (many + 1, 4): the first lane, the question d, the first e, and the place of this pair.
    """
    one, other = memory
    w = runs[many, 0]
    for g in range(groups):
        for c in range(lanes.shape[0]):
            single, pairs = nest.singles[groups - 1 + g, c], nest.pairs[groups - 1 + g, c]
            both, first, second = lanes[c, 4 * g + 3], lanes[c, 4 * g + 1], lanes[c, 4 * g + 2]
            for r in range(many):
                begin, end, value = runs[r, 0], runs[r + 1, 0], single[runs[r, 1]]
                e, t = runs[r, 2] - begin, runs[r, 3] - begin
                for at in range(begin, end):
                    one[at] = value
                for at in range(begin, end):
                    other[at] = single[e + at]
                for at in range(begin, end):
                    both[at] = pairs[t + at]
            for at in range(w):
                second[at] = other[at] - both[at]
            for at in range(w):
                first[at] = one[at] - both[at]
            rows, none = nest.totals[groups - 1 + g, c], lanes[c, 4 * g]
            for at in range(w):
                none[at] = rows - one[at] - second[at]


def _all_close(lanes: Any, w: int, worth: Any, lines: Any, high: Any, memory: Any, close: Any) -> None:
    """Leave out none: to bound a set takes no longer in Python."""
    close[:w] = np.inf


# What it leaves out the exact bound would leave out, too, so that the order of its sums changes no result.
@kept(exact=True, fastmath={"contract"}, python=_all_close)
def _close(lanes: Any, w: int, worth: Any, lines: Any, high: Any, memory: Any, close: Any) -> None:
    """Put to ``close`` (sets,) what the first ``w`` sets do not exceed: areas below :class:`Lines`."""
    count = lines.slopes.shape[1]
    close[:w] = worth.constant if count > 0 else np.inf
    left, area = memory
    for of in range(lines.slopes.shape[0] if count > 0 else 0):
        p, q, more = lanes[2 * of], lanes[2 * of + 1], lines.more[of]
        relevant = other = 0.0
        for g in range(p.shape[0]):
            relevant += p[g, 0]
            other += q[g, 0]
        end = other if worth.kind == AREA else min(other, worth.limit[of])
        for k in range(0, count, 2):
            s, t, one, two = lines.slopes[of, k], lines.slopes[of, k + 1], high[k], high[k + 1]
            one[:w] = 0
            two[:w] = 0
            for g in range(0, p.shape[0], 2):
                a, b, c, d = p[g], q[g], p[g + 1], q[g + 1]
                for at in range(w):
                    one[at] += max(a.dtype.type(0), a[at] - s * b[at]) + max(a.dtype.type(0), c[at] - s * d[at])
                    two[at] += max(a.dtype.type(0), a[at] - t * b[at]) + max(a.dtype.type(0), c[at] - t * d[at])
        left[:w] = 0.0
        area[:w] = 0.0
        # Whatever the places where one line follows the other, the area below them is a bound.
        for k in range(count):
            slope, here, rest = np.float64(lines.slopes[of, k]), high[k], more[k]
            if k + 1 < count:
                after, beside = high[k + 1], more[k + 1] - rest
                factor = 1.0 / (slope - np.float64(lines.slopes[of, k + 1]))
                for at in range(w):
                    x = min(end, max(left[at], (after[at] - here[at] + beside) * factor))
                    area[at] += (x - left[at]) * (here[at] + rest + 0.5 * slope * (x + left[at]))
                    left[at] = x
            else:
                for at in range(w):
                    x = min(end, max(left[at], (relevant - here[at] - rest) / slope))
                    area[at] += (x - left[at]) * (here[at] + rest + 0.5 * slope * (x + left[at]))
                    left[at] = x
        for at in range(w):
            close[at] += (area[at] + (end - left[at]) * relevant) * (1.0 + 1e-12) / worth.scale[of]


@kept(passes=64)  # of the sets, whose groups are looked at
def bound_sets(
    path: Any, low: int, high: int, limit: float, nest: Any, entries: Any, rules: Any, worth: Any, lines: Any, out: Any
) -> Any:
    """Bound the sets of questions that begin with ``path``, then a question from ``low`` to ``high`` - 1 if they have
    more than two more. Those that break a rule, or whose bound is below ``limit``, are left out. ``out`` are sets and
    bounds; returns the number of sets kept. The sets have two questions at least; ``nest`` has its first node.
    """
    sets, bounds = out
    n, size = entries.answers.shape[1], sets.shape[1]
    deep, cells = size - 2, nest.totals.shape[1]
    lanes = np.empty((cells, 1 << size, LANES), lines.slopes.dtype)
    memory, held = np.empty((2, LANES), lines.slopes.dtype), np.empty((2, LANES))
    heights, close = np.empty((lines.slopes.shape[1], LANES), lines.slopes.dtype), np.empty(LANES)
    runs = np.empty((LANES + 1, 4), np.int64)
    rows, p, q = np.empty((cells, 1 << size)), np.empty(1 << size), np.empty(1 << size)
    now = np.zeros(size, np.int64)
    begin, found = path.size, np.int64(0)
    for i in range(begin):
        now[i] = path[i]
        enter(i, path[i], False, entries, nest)
    j = np.int64(begin)
    if j < deep:
        now[j] = low
    while j >= begin:
        if j < deep:
            if now[j] >= (high if j == begin else n - (size - 1 - j)):
                j -= 1
                if j >= begin:
                    now[j] += 1
                continue
            if fits(now, j, now[j], rules):
                enter(j, now[j], j + 1 == deep, entries, nest)
                j += 1
                now[j] = now[j - 1] + 1
            else:
                now[j] += 1
            continue
        t, d, e, x = 0, n - 2, n - 1, now[deep - 1] if deep > 0 else -1
        while d > x:
            w = many = np.int64(0)
            while w < LANES and d > x:
                step = min(LANES - w, n - e)
                if e > d + 1 or fits(now, deep, d, rules):
                    runs[many, 0], runs[many, 1], runs[many, 2], runs[many, 3] = w, d, e, t
                    many += 1
                    w += step
                else:
                    step = n - e
                t += step
                e += step
                if e == n:
                    d -= 1
                    e = d + 1
            runs[many, 0] = w
            if w == 0:
                continue
            _filled(runs, many, 1 << deep, nest, lanes, memory)
            _close(lanes, w, worth, lines, heights, held, close)
            for r in range(many):
                now[deep] = runs[r, 1]
                for at in range(runs[r, 0], runs[r + 1, 0]):
                    if close[at] < limit:
                        continue
                    now[deep + 1] = runs[r, 2] + at - runs[r, 0]
                    if not (fits(now, deep + 1, now[deep + 1], rules) and allowed(now, rules)):
                        continue
                    for c in range(cells):
                        for s in range(1 << size):
                            rows[c, s] = lanes[c, s, at]
                    bound = best_order(rows, worth, p, q)
                    if worth.kind == LOGLOSS and bound >= limit:
                        none = np.zeros(1, np.int64)
                        bound = min(bound, best_link(none, 0, size, rows[0], rows[1]) / worth.scale[0])
                    if bound >= limit:
                        for i in range(size):
                            sets[found, i] = now[i]
                        bounds[found] = bound
                        found += 1
        j -= 1
        if j >= begin:
            now[j] += 1
    return found


@kept()
def fits(members: Any, many: int, d: int, rules: Any) -> bool:
    """Whether no rule excludes question ``d`` beside the first ``many``."""
    barred = False
    for i in range(many):
        barred |= rules.clash[members[i], d]
    return not barred


@kept()
def allowed(members: Any, rules: Any) -> bool:
    """Whether questions keep the rules, but for clashes; see :class:`.rules.Rules`."""
    asked, needed, places = rules.asked, rules.needed, rules.places
    for rule in range(len(asked)):
        begun = met = False
        for i in range(members.size):
            begun |= asked[rule, members[i]]
            met |= needed[rule, members[i]]
        if begun and not met:
            return False
    most = places[places.size - 1]
    if most >= members.size:
        return True
    different = 0
    for i in range(members.size):
        new = True
        for j in range(i):
            new &= places[members[i]] != places[members[j]]
        different += new
    return different <= most


@kept()
def count_groups(
    answers: Any, members: Any, relevant: Any, other: Any, lists: Any, people: Any, by_list: Any, by_kind: Any
) -> None:
    """Count the rows of each group of some questions, by class of lists and of kinds of people."""
    for row in range(relevant.size):
        group = np.int64(0)
        for i in range(members.size):
            group |= np.int64(answers[members[i], row]) << i
        by_list[group, 2 * lists[row]] += relevant[row]
        by_list[group, 2 * lists[row] + 1] += other[row]
        by_kind[group, 2 * people[row]] += relevant[row]
        by_kind[group, 2 * people[row] + 1] += other[row]


@kept()
def _merge_runs(p: Any, q: Any, ends: Any, runs: int, memory: Any) -> None:
    """Sort groups by share of relevant rows, the largest first, in place; each of the runs is sorted and ends where
    ``ends`` says.
    """
    while runs > 1:
        begin = 0
        n = 0
        for run in range(0, runs - 1, 2):
            middle, end = ends[run], ends[run + 1]
            i, j = begin, middle
            for to in range(begin, end):
                if j == end or (i < middle and p[i] * q[j] >= p[j] * q[i]):
                    memory[0, to], memory[1, to] = p[i], q[i]
                    i += 1
                else:
                    memory[0, to], memory[1, to] = p[j], q[j]
                    j += 1
            p[begin:end], q[begin:end] = memory[0, begin:end], memory[1, begin:end]
            begin = end
            ends[n] = end
            n += 1
        if runs % 2:
            ends[n] = ends[runs - 1]
            n += 1
        runs = n


@kept()
def best_below(place: Any, j: int, k: int, groups: Any, worth: Any) -> float:
    """The value that no order exceeds that keeps the ``place`` of the groups of the first ``j`` of ``k`` questions,
    for each answers to the others; with all ``k`` the value of this order.
    """
    lists = worth.scale.size
    size, chains = 1 << j, 1 << (k - j)
    p, q, memory = np.empty(1 << k), np.empty(1 << k), np.empty((2, 1 << k))
    at_p, at_q, ends = np.empty(size), np.empty(size), np.empty(chains, np.int64)
    total = worth.constant
    for of in range(lists):
        n = np.int64(0)
        for chain in range(chains):
            at_p[:] = 0.0
            at_q[:] = 0.0
            for s in range(size):
                at_p[place[s]] += groups[(chain << j) | s, 2 * of]
                at_q[place[s]] += groups[(chain << j) | s, 2 * of + 1]
            bottom = n
            for one in range(size):
                a, b = at_p[one], at_q[one]
                if a + b == 0.0:
                    continue
                while j < k and n > bottom and a * q[n - 1] >= p[n - 1] * b:  # a larger share: the two are pooled
                    n -= 1
                    a += p[n]
                    b += q[n]
                p[n], q[n] = a, b
                n += 1
            ends[chain] = n
        _merge_runs(p, q, ends, chains, memory)
        total += in_order(worth, of, p, q, n) / worth.scale[of]
    return total


class Depth(NamedTuple):
    """Where a search of points stands: ``at[i]`` is the number of points of question i that is tried, ``depth`` how
    many questions have some. Of those the totals of the groups, and the groups by total, the largest first.
    """

    depth: NDArray[np.int64]  # (1,)
    at: NDArray[np.int64]  # (k + 1,)
    totals: NDArray[np.int64]  # (k + 1, 2^k)
    order: NDArray[np.int64]  # (k + 1, 2^k)
    key: NDArray[np.uint64]  # (memory,): places of groups of up to four questions, at most 16 of 4 bits,
    bound: NDArray[np.float64]  # (memory,): and their bound, NaN where there is none


@kept()
def _placed(depth: Any, j: int, v: int, place: Any) -> np.uint64:
    """Give question ``j`` - 1 points: totals, order and places of the groups of the first ``j`` questions; returns the
    places in one number.
    """
    half = 1 << (j - 1)
    totals, order, before = depth.totals[j], depth.order[j], depth.order[j - 1]
    for s in range(half):
        totals[s] = depth.totals[j - 1, s]
        totals[s | half] = totals[s] + v
    a = b = np.int64(0)
    level, last, key = np.int64(-1), np.int64(0), np.uint64(0)
    for to in range(2 * half):
        if b == half or (a < half and totals[before[a]] >= totals[before[b]] + v):
            order[to] = before[a]
            a += 1
        else:
            order[to] = before[b] | half
            b += 1
        here = totals[order[to]]
        level += to == 0 or here != last
        last = here
        place[order[to]] = level
        if j <= 4:
            key |= np.uint64(level) << np.uint64(4 * order[to])
    return key


@kept()
def best_vector(
    depth: Any, domains: Any, rank: Any, groups: Any, worth: Any, slack: float, asked: Any, best: Any, own: Any
) -> bool:
    """Search the points of one set of questions for a value above ``best[0]``, or equal to it with a sum of absolute
    points of at most ``best[1]``; whether the search has ended: after :data:`STEPS` steps it has to be called again.

    Depth first: the order of groups whose answers to the last questions are equal bounds all further points.
    ``groups`` (2^k, 2 lists) are the relevant and other rows of each group in each list.  ``domains`` are ``first`` and
    ``points``: ``points[first[i]:first[i + 1]]`` are those of question i, the smallest first.  Of equal cards the one
    with smaller points is taken, then the one whose points are larger in the order ``rank`` of the questions.
    ``asked`` are ``limits``, ``band`` and ``people`` of :func:`keeps`; ``together`` (2^k, 2), the groups in all lists;
    ``flagged``, the Worth of the relevant rows among as many first ones as a cut may flag; and ``hits``, how many these
    must be, or 0.  The points found go to ``own`` (k,).
    """
    limits, band, people, together, flagged, hits = asked
    first, points = domains
    k = first.size - 1
    place = np.empty(1 << k, np.int64)
    tried = np.zeros(k + 1, np.int64)  # sum of the absolute points of the first questions
    total = np.zeros(k + 1, np.int64)  # of those above 0
    least = np.zeros(k + 1, np.int64)  # of the others: the smallest that there is
    for i in range(k - 1, -1, -1):
        least[i] = least[i + 1] + abs(points[first[i]])
    j = depth.depth[0]
    for i in range(j - 1):
        tried[i + 1] = tried[i] + abs(points[first[i] + depth.at[i]])
        total[i + 1] = total[i] + max(0, points[first[i] + depth.at[i]])
    memory = np.uint64(depth.key.size)
    likely_p, likely_q = groups[:, 0].astype(np.float64), groups[:, 1].astype(np.float64)
    # Multiples of points have one log loss but for rounding: the smallest are kept.
    more = slack if worth.kind == LOGLOSS else 0.0
    for _ in range(STEPS):
        if j == 0:
            return True
        if first[j - 1] + depth.at[j - 1] == first[j]:
            j -= 1
            if j > 0:
                depth.at[j - 1] += 1
            continue
        v = points[first[j - 1] + depth.at[j - 1]]
        tried[j], total[j] = tried[j - 1] + abs(v), total[j - 1] + max(0, v)
        if total[j] > limits.total:
            depth.at[j - 1] += 1
            continue
        key = _placed(depth, j, v, place)
        top = np.nan
        slot = np.uint64(0)
        if 1 < j <= 4 and worth.kind != LOGLOSS:
            slot = (key * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(40)) % memory
            if depth.key[slot] == key:
                top = depth.bound[slot]
        if np.isnan(top):
            # Chains of one or two groups hardly bound anything.
            if worth.kind == LOGLOSS:
                top = best_link(depth.totals[j], j, k, likely_p, likely_q) / worth.scale[0]
            else:
                top = np.inf if j < min(k, 2) else best_below(place, j, k, groups, worth)
            if hits > 0.0 and j < k and best_below(place, j, k, together, flagged) < hits:
                top = -np.inf
            if 1 < j <= 4 and worth.kind != LOGLOSS:
                depth.key[slot], depth.bound[slot] = key, top
        equal = slack == 0.0 and top == best[0]
        if top < best[0] - slack or (equal and tried[j] + least[j] > best[1]):
            depth.at[j - 1] += 1
            continue
        if j < k:
            j += 1
            depth.at[j - 1] = 0
            continue
        better = top > best[0] + more or (top == best[0] and tried[j] <= best[1])
        if better and top == best[0] and tried[j] == best[1] and own[0] != 0:
            better = False
            for i in rank:
                mine = points[first[i] + depth.at[i]]
                if mine != own[i]:
                    better = mine > own[i]
                    break
        if better and keeps(place, k, limits, band, people):
            best[0], best[1] = top, tried[j]
            for i in range(k):
                own[i] = points[first[i] + depth.at[i]]
        depth.at[j - 1] += 1
    depth.depth[0] = j
    return False


STEPS = 20_000  # of a search of points between two looks at the clock: some hundredths of a second


class PointsAsked(NamedTuple):
    """Of which rows, questions and limits points are searched, for kernels; ``flagged`` and ``hits`` as in
    :func:`best_vector`.
    """

    answers: NDArray[np.uint8]  # (questions, rows)
    relevant: NDArray[np.int64]  # (rows,)
    other: NDArray[np.int64]
    lists: NDArray[np.int64]
    people: NDArray[np.int64]
    kinds: int
    first: NDArray[np.int64]  # (questions + 1,): where the points of a question begin,
    points: NDArray[np.int64]  # the smallest first
    alone: NDArray[np.float64]  # (questions,): what no card of this question exceeds
    places: NDArray[np.int64]  # (questions,): number of the column
    worth: Worth
    slack: float
    limits: Limits
    flagged: Worth
    hits: float


@kept()
def best_vectors(sets: Any, bounds: Any, begin: int, depth: Any, asked: Any, best: Any, own: Any, value: Any) -> int:
    """Search the points of ``sets`` (m, k) from ``begin`` on, as :func:`best_vector` does, until it takes long, or
    until their ``bounds`` (m,), which fall, are below the best card; returns the first set that is not searched. The
    points of a set that is better than all before it go to ``own`` (m, k), and its value to ``value``.

    Questions that alone tell the most apart get their points first.
    """
    k = sets.shape[1]
    order, rank, names = np.empty(k, np.int64), np.empty(k, np.int64), np.empty(k, np.int64)
    first, band = np.zeros(k + 1, np.int64), np.empty(k, np.int64)
    chosen = np.empty(k, np.int64)
    groups = np.empty((1 << k, 2 * asked.worth.scale.size), np.int64)
    people, together = np.empty((1 << k, 2 * asked.kinds), np.int64), np.empty((1 << k, 2), np.int64)
    for at in range(begin, sets.shape[0]):
        if bounds[at] < best[0] - asked.slack:
            return at
        for i in range(k):
            j = i
            while j > 0 and asked.alone[sets[at, order[j - 1]]] < asked.alone[sets[at, i]]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
        for i in range(k):
            names[i] = sets[at, order[i]]
            rank[order[i]] = i
            first[i + 1] = first[i] + asked.first[names[i] + 1] - asked.first[names[i]]
            band[i] = asked.places[names[i]]
        points = np.empty(first[k], np.int64)
        for i in range(k):
            points[first[i] : first[i + 1]] = asked.points[asked.first[names[i]] : asked.first[names[i] + 1]]
        groups[:] = 0
        people[:] = 0
        count_groups(asked.answers, names, asked.relevant, asked.other, asked.lists, asked.people, groups, people)
        together[:] = 0
        for kind in range(2 * asked.kinds):
            together[:, kind % 2] += people[:, kind]
        if depth.depth[0] == 0:
            depth.depth[0] = 1
            depth.at[:] = 0
            depth.bound[:] = np.nan
        for i in range(k):
            chosen[i] = own[at, order[i]]
        limited = asked.limits, band, people, together, asked.flagged, asked.hits
        domains = first, points
        ended = best_vector(depth, domains, rank, groups, asked.worth, asked.slack, limited, best, chosen)
        for i in range(k):
            own[at, order[i]] = chosen[i]
        if chosen[0] != 0:
            value[at] = best[0]
        if not ended:
            return at
        depth.depth[0] = 0
    return sets.shape[0]


@kept()
def best_points(
    tree: Any, groups: Any, worth: Any, limit: float, strict: bool, asked: Any, leaf: Any, value: Any
) -> int:
    """Orders of one set of questions with a value of at least ``limit``, or above it if ``strict``; ``groups`` and
    ``asked`` as in :func:`best_vector`.

    Leaves of the orders and their values go to ``leaf`` and ``value`` (m,).  Returns how many there are; if the arrays
    are full, some may be missing.
    """
    limits, band, people, together, flagged, hits = asked
    k = tree.level.size - 2
    found = 0
    node = np.empty(k + 1, np.int64)
    end = np.empty(k + 1, np.int64)
    node[0], end[0] = 0, 1
    j = np.int64(0)
    while j >= 0:
        if node[j] == end[j]:
            j -= 1
            if j >= 0:
                node[j] += 1
            continue
        # Chains of one or two groups hardly bound anything.
        place = tree.place[tree.start[node[j]] : tree.start[node[j] + 1]]
        top = np.inf if j < min(k, 2) else best_below(place, j, k, groups, worth)
        missed = hits > 0.0 and j < k and best_below(place, j, k, together, flagged) < hits
        if missed or top < limit or (strict and top <= limit):
            node[j] += 1
            continue
        if j < k:
            node[j + 1], end[j + 1] = tree.child[node[j]], tree.child[node[j] + 1]
            j += 1
            continue
        if keeps(place, k, limits, band, people):
            leaf[found] = node[k] - tree.level[k]
            value[found] = top
            found += 1
            if found == leaf.size:
                return found
        node[j] += 1
    return found


class QuestionTable(NamedTuple):
    """Rows and questions, for kernels that add a question to a card. Of each question the rows are listed that give its
    rarer answer.
    """

    start: NDArray[np.int64]  # (questions + 1,): where the rows of a question begin
    row: NDArray[np.int32]
    yes: NDArray[np.bool_]  # (questions,): whether these answer yes
    counts: NDArray[np.float64]  # (rows, 2): relevant and other rows
    lists: NDArray[np.int64]  # (rows,)
    people: NDArray[np.int64]  # (rows,)
    kinds: int
    first: NDArray[np.int64]  # (questions + 1,): where the points of a question begin
    points: NDArray[np.int64]  # that questions may have


@kept()
def _merged(up: Any, down: Any, totals: Any, v: int, out: Any, at: Any) -> Any:
    """Blocks of rows by total, the largest first, after ``down`` (levels, cells) got ``v`` points more than ``up``;
    how many there are. Their totals go to ``at``.
    """
    levels, cells = up.shape
    i = j = blocks = np.int64(0)
    while i < levels or j < levels:
        here = max(totals[i] if i < levels else totals[j] + v, totals[j] + v if j < levels else totals[i])
        out[blocks] = 0.0
        at[blocks] = here
        if i < levels and totals[i] == here:
            for c in range(cells):
                out[blocks, c] += up[i, c]
            i += 1
        if j < levels and totals[j] + v == here:
            for c in range(cells):
                out[blocks, c] += down[j, c]
            j += 1
        blocks += 1
    return blocks


@kept()
def worth_of_blocks(blocks: Any, totals: Any, n: int, worth: Any) -> float:
    """Value of ``n`` blocks from the top, by class of each list, and their ``totals``."""
    if worth.kind == LOGLOSS:
        x = np.ones((n, 2))
        x[:, 1] = totals[:n]
        return linked(x, 2, blocks[:n, 0].copy(), blocks[:n, 1].copy(), np.zeros(2), -np.inf) / worth.scale[0]
    total = worth.constant
    for of in range(worth.scale.size):
        earned = above_p = above_q = 0.0
        for b in range(n):
            p, q = blocks[b, 2 * of], blocks[b, 2 * of + 1]
            if p + q > 0.0:
                earned += block(worth, of, p, q, above_p, above_q)
                above_p += p
                above_q += q
        total += earned / worth.scale[of]
    return total


@kept()
def levels_of(answers: Any, members: Any, points: Any) -> tuple[Any, Any]:
    """The level of each row by its total, 0 on top, and the total of each level."""
    total = np.zeros(answers.shape[1], np.int64)
    for i in range(members.size):
        for row in range(total.size):
            total[row] += points[i] * answers[members[i], row]
    low = total.min()
    width = total.max() - low + 1
    if width > WIDEST:
        every = np.unique(total)[::-1].copy()
        return every.size - 1 - np.searchsorted(every[::-1], total), every
    here = np.zeros(width, np.int64)
    for row in range(total.size):
        here[total[row] - low] = 1
    every = low + np.flatnonzero(here)[::-1]
    for at in range(every.size):
        here[every[at] - low] = at
    for row in range(total.size):
        total[row] = here[total[row] - low]
    return total, every


@kept()
def by_level(level: Any, own: Any, counts: Any, rows: Any, out: Any) -> None:
    """Add the relevant and other rows of some ``rows`` to ``out`` (levels, cells), by level and list or kind."""
    for row in rows:
        out[level[row], 2 * own[row]] += counts[row, 0]
        out[level[row], 2 * own[row] + 1] += counts[row, 1]


@kept(exact=True, fastmath=True)
def _pairs(common_: Any, rare: Any, totals: Any, most: int, memory: Any) -> float:
    """Pairs that are won whatever points the rarer answer gets, of rows that answer alike. ``memory`` (4, width) gets
    what :func:`_pairs_by` needs, by total: relevant rows of the common and the rarer answer, and how many others of
    each have less, ties as halves. ``most`` is the largest number of points.
    """
    width = memory.shape[1]
    memory[:] = 0.0
    low = totals[totals.size - 1] - most
    for at in range(totals.size):
        here = totals[at] - low
        memory[0, here], memory[1, here] = common_[at, 0], rare[at, 0]
        memory[2, here], memory[3, here] = common_[at, 1], rare[at, 1]
    alike = 0.0
    for side in range(2):
        below = 0.0
        for at in range(width):
            own = memory[2 + side, at]
            memory[2 + side, at] = below + 0.5 * own
            below += own
            alike += memory[side, at] * memory[2 + side, at]
    return alike


@kept(exact=True, fastmath=True)
def _pairs_by(memory: Any, most: int, step: int) -> float:
    """Pairs won of rows that answer differently, when the rarer answer gets ``step`` points. Sums of halves are exact
    in any order.
    """
    end = memory.shape[1] - most
    won = 0.0
    for at in range(most, end):
        won += memory[1, at] * memory[2, at + step] + memory[0, at] * memory[3, at - step]
    return won


WIDEST = 4096  # totals from the least to the largest that are held as an array


@kept(fastmath=True)
def _promised(usual: Any, rare: Any, totals: Any, step: int, odds: Any, low: int, link: Any, scale: float) -> float:
    """Twice what a step of Newton's promises from a ``link`` when the rarer answer gets ``step`` points: no bound, but
    what is below it is hardly ever worth the steps. ``odds`` (width, 4) are the loss of a relevant and of another row,
    risk and spread at each total from ``low`` on.
    """
    value = one = two = aa = ab = bb = 0.0
    for at in range(totals.size):
        for side in range(2):
            p, q = (rare[at, 0], rare[at, 1]) if side else (usual[at, 0], usual[at, 1])
            total = totals[at] + (step if side else 0)
            row = odds[total - low]
            value -= p * row[0] + q * row[1]
            left, spread = p - (p + q) * row[2], (p + q) * row[3]
            one += left
            two += left * total
            aa += spread
            ab += spread * total
            bb += spread * total * total
    apart = aa * bb - ab * ab
    if apart <= 1e-12 * aa * bb:
        return np.inf
    return (value + (one * one * bb - 2.0 * one * two * ab + two * two * aa) / apart) / scale


def _best_more(
    level: Any, totals: Any, table: Any, worth: Any, limits: Any, broken: Any, sign: Any, alone: int, least: Any
) -> Any:
    """The question and the points that make a card better than ``least`` when they join it, or -1 if none do, or -2 if
    the card is as good without any.

    ``totals`` (levels,) are those of the card, the largest first, and ``level`` (rows,) says which one a row has.
    ``broken`` (questions,) counts the rules that a card with the question breaks, ``alone`` those that it breaks
    without any; -1 says that it cannot be. A limit that is not kept counts one more. Fewer of these come first, then
    the value. ``sign`` (questions,) is the one that the points must have, or 0. ``least`` are such a count, a value,
    and by how much a value must be above it. Returns the question, its points, its count and its value.
    """
    fewest, value, more = least
    found = (-1, 0, fewest, value)
    levels, cells, kinds = totals.size, 2 * worth.scale.size, 2 * table.kinds
    limited = limits.cut != NO_CUT or limits.area > 0.0 or limits.first > 0.0
    every, rare = np.zeros((levels, cells)), np.empty((levels, cells))
    all_rows = np.arange(level.size)
    by_level(level, table.lists, table.counts, all_rows, every)
    blocks, at_total = np.empty((2 * levels, cells)), np.empty(2 * levels, np.int64)
    of_kind, rare_of_kind = np.zeros((levels, kinds)), np.empty((levels, kinds))
    by_kind = np.empty((2 * levels, kinds))
    if limited:
        by_level(level, table.people, table.counts, all_rows, of_kind)
    if alone >= 0:
        now = worth_of_blocks(every, totals, levels, worth)
        breaks = alone + (limited and not blocks_keep(of_kind, levels, limits))
        if breaks < fewest or (breaks == fewest and now >= value):
            return -2, 0, breaks, now
    most = np.abs(table.points).max()
    width = totals[0] - totals[levels - 1] + 1 + 2 * most
    pairs = worth.kind == AREA and worth.scale.size == 1 and not limited and width <= WIDEST
    memory = np.empty((4, width if pairs else 0))
    likely, low, link = worth.kind == LOGLOSS and width <= WIDEST, totals[levels - 1] - most, np.zeros(2)
    odds = np.empty((width if likely else 0, 4))
    if likely:
        x = np.ones((levels, 2))
        x[:, 1] = totals
        linked(x, 2, every[:, 0].copy(), every[:, 1].copy(), link, -np.inf)
        for at in range(width):
            eta = link[0] + link[1] * (low + at)
            small = np.exp(-abs(eta))
            odds[at, 0], odds[at, 1] = np.log1p(small) + max(0.0, -eta), np.log1p(small) + max(0.0, eta)
            odds[at, 2] = 1.0 / (1.0 + small) if eta > 0.0 else small / (1.0 + small)
            odds[at, 3] = odds[at, 2] * (1.0 - odds[at, 2])
    for q in range(broken.size):
        if broken[q] < 0 or broken[q] > fewest:
            continue
        rows = table.row[table.start[q] : table.start[q + 1]]
        rare[:] = 0.0
        by_level(level, table.lists, table.counts, rows, rare)
        usual = every - rare
        alike = _pairs(usual, rare, totals, most, memory) if pairs else 0.0
        if limited:
            rare_of_kind[:] = 0.0
            by_level(level, table.people, table.counts, rows, rare_of_kind)
        for at in range(table.first[q], table.first[q + 1]):
            v = table.points[at]
            if v * sign[q] < 0 or max(0, v) > limits.total:
                continue
            # That the rarer answer has v points less is that the other has v more, but for the same number for all.
            step = v if table.yes[q] else -v
            if pairs:
                now = worth.constant + (alike + _pairs_by(memory, most, step)) / worth.scale[0]
            else:
                if likely and not broken[q] < fewest:
                    promised = _promised(usual, rare, totals, step, odds, low, link, worth.scale[0])
                    if promised <= value + more:
                        continue
                n = _merged(usual, rare, totals, step, blocks, at_total)
                now = worth_of_blocks(blocks, at_total, n, worth)
            if broken[q] == fewest and now <= value + more:
                continue
            breaks = broken[q]
            if limited:
                n = _merged(of_kind - rare_of_kind, rare_of_kind, totals, step, by_kind, at_total)
                breaks += not blocks_keep(by_kind, n, limits)
            if breaks < fewest or (breaks == fewest and now > value + more):
                fewest, value = breaks, now
                found = (q, v, breaks, now)
    return found


best_more = kept(exact=True)(_best_more)  # but for log loss, whose promise alone has sums that may be reordered
best_more_by_loss = kept()(_best_more)
