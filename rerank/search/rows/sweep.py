r"""The best point of a line over lists of rows, compiled: steps of the value where rows change places near the top.

Along ``w + tau u`` the score of a row is ``A + tau B``.  On a piece of the line a row is left out if so many others
stay above it that it never reaches a place that counts; then it takes no place from another row either.  Long pieces
are halved until few rows are left.  Only among these are pairs formed: each is won on an interval of the piece
(:mod:`rerank.search.lines.kernel`), and its ends are where the value may change.  Where pairs stay too many, as among
very many equal rows, the value is taken in the middle of a piece alone.
"""

from typing import Any

import numpy as np

from rerank.search.compiled import inner, kernel
from rerank.search.lines.kernel import envelope, won_from
from rerank.search.rows import arrays
from rerank.search.rows.unit import heaped, worth
from rerank.search.workspace import LineMargin

FEW = 32  # pairs that are swept at once; so many more for each row and for each of its places,
PER_PLACE = 0.3
MOST = 1e6  # but no more than these
HALVINGS = 16  # of a piece at most: rows that are equal where a piece ends cannot be told apart by more
WORK = 60.0  # evaluations of each row of a list that all pieces of one length may cost
HEAP = 16.0  # evaluations of a row that finding one place costs
BLOCK = 64  # rows that are compared with another at a time
SHORT = 15  # entries up to which insertion sorts sooner


def _best_of_line(
    line: Any, norming: int, low: float, high: float, epsilon: float, slack: float, lists: Any, scratch: Any
) -> Any:
    A, B, w, u = line
    margin = _margin(w, u, norming, low, high, epsilon, scratch.envelopes)
    base, work, changes = 0.0, 0.0, [np.empty((2, 0))]
    for q in np.flatnonzero(np.diff(lists.first_unit)).tolist():
        places = int(lists.paid.places[lists.first_unit[q]])
        if lists.paid.hits.size > 0:
            places = min(places, int(lists.paid.counted[lists.first_unit[q]]))
        rows = np.arange(lists.begin[q], lists.begin[q + 1])
        parts, known = [(low, high, rows, 0)], None
        while parts:
            a, z, which, turn = parts.pop()
            kept, pairs = arrays.rows_left(A, B, lists, q, a, z, margin, which)
            work += _cost(which.size, places)
            few = min(FEW + (1.0 + PER_PLACE * places) * kept.size, MOST)
            dear = (2 << turn) * _cost(kept.size, places) > WORK * (rows.size + FEW)
            if pairs > few and turn < HALVINGS and not dear:
                chosen, centre = kept if 5 * kept.size <= 4 * which.size else which, 0.5 * (a + z)
                parts += [(centre, z, chosen, turn + 1), (a, centre, chosen, turn + 1)]
                continue
            if pairs > 4.0 * few:
                value, at, steps = arrays.middle(A, B, lists, q, a, z, margin, kept, scratch.memory), rows[:0], rows[:0]
                work += _cost(kept.size, places)
            else:
                at, pair, lost = arrays.crossings(A, B, lists, q, a, z, margin, kept)
                order = np.argsort(at, kind="stable")
                value, steps = arrays.followed(lists, q, pair[order], lost, kept)
                work += 0.25 * pairs + 2.0 * at.size
                at, steps = at[order][steps != 0.0], steps[steps != 0.0]
            if known is None:
                base += value
            elif value != known:
                changes.append(np.array([[a], [value - known]]))
            changes.append(np.stack([at, steps]))
            known = np.cumsum(np.append(value, steps))[-1]
    when, steps = np.concatenate(changes, axis=1)
    order = np.argsort(when, kind="stable")
    return *arrays.widest(when[order], steps[order], base, low, high, slack), work + when.size


def _value_of(scores: Any, margin: float, lists: Any, scratch: Any) -> float:
    total, given = 0.0, LineMargin(margin, margin, margin, 0, None, 0, None)
    for q in np.flatnonzero(np.diff(lists.first_unit)).tolist():
        rows = np.arange(lists.begin[q], lists.begin[q + 1])
        kept, _ = arrays.rows_left(scores, scores, lists, q, 0.0, 0.0, given, rows)
        total += arrays.middle(scores, scores, lists, q, 0.0, 0.0, given, kept, scratch.memory)
    return total


@kernel(python=_best_of_line)
def best_of_line(
    line: Any, norming: int, low: float, high: float, epsilon: float, slack: float, lists: Any, scratch: Any
) -> Any:
    """Largest value on ``w + tau u``, ``low <= tau <= high``, ends of the widest piece that has it, and work. A line is
    the scores (n,) at ``w`` and along ``u``, ``w`` and ``u``; both ends are finite. The margin is multiplied by the
    largest size of the first ``norming`` weights. Work counts rows evaluated; -1 where the scratch is too small.
    """
    A, B, w, u = line
    margin = _margin(w, u, norming, low, high, epsilon, scratch.envelopes)
    # ---- where the value changes, and by how much, in no order; ``base`` is the value just above ``low``
    base, n, work = 0.0, 0, 0.0
    changes, steps, parts, which = scratch.changes, scratch.steps, scratch.parts, scratch.which
    for q in range(lists.begin.size - 1):
        begin = lists.begin[q]
        size = lists.begin[q + 1] - begin
        if lists.first_unit[q] == lists.first_unit[q + 1]:
            continue
        for i in range(size):
            which[i] = begin + i
        # Places that rows have to be sorted for: where some hits alone count, no more than these.
        places = lists.paid.places[lists.first_unit[q]]
        if lists.paid.hits.size > 0:
            places = min(places, lists.paid.counted[lists.first_unit[q]])
        known, before = False, 0.0
        parts[0, 0], parts[0, 1], parts[0, 2], parts[0, 3], parts[0, 4] = low, high, 0, size, 0
        top = 1
        while top > 0:
            top -= 1
            a, z = parts[top, 0], parts[top, 1]
            start, count, turn = int(parts[top, 2]), int(parts[top, 3]), int(parts[top, 4])
            kept, pairs = _filtered(A, B, lists, q, a, z, margin, start, count, scratch)
            work += _cost(count, places)
            few = min(FEW + (1.0 + PER_PLACE * places) * kept, MOST)
            dear = (2 << turn) * _cost(kept, places) > WORK * (size + FEW)
            if pairs > few and turn < HALVINGS and not dear:
                if 5 * kept <= 4 * count:
                    start, count = start + count, kept
                centre = 0.5 * (a + z)
                for half in range(2):
                    parts[top + half, 0] = centre if half == 0 else a
                    parts[top + half, 1] = z if half == 0 else centre
                    parts[top + half, 2], parts[top + half, 3], parts[top + half, 4] = start, count, turn + 1
                top += 2
                continue
            if pairs > 4.0 * few:
                value, many = middle(A, B, lists, q, a, z, margin, start + count, kept, scratch), 0
                work += _cost(kept, places)
            else:
                many = crossings(A, B, lists, q, a, z, margin, start + count, kept, scratch)
                if many < 0:
                    return 0.0, low, high, -1.0
                put_in_order(steps[0], steps[1], many, steps[2], scratch.order)
                value = followed(lists, q, many, start + count, kept, scratch)
                work += 0.25 * pairs + 2.0 * many
            if n + many + 1 > changes.shape[1]:
                return 0.0, low, high, -1.0
            if not known:
                base += value
            elif value != before:
                changes[0, n], changes[1, n] = a, value - before
                n += 1
            known, before = True, value
            for e in range(many):
                if steps[2, e] != 0.0:
                    changes[0, n], changes[1, n] = steps[0, e], steps[2, e]
                    before += steps[2, e]
                    n += 1
    # ---- the best piece; pieces that are equal but for rounding of sums of steps are told apart by their width
    put_in_order(changes[0], changes[1], n, steps[2], scratch.order)
    best, best_width, left, right = -np.inf, 0.0, low, high
    value, previous = base, low
    for e in range(n + 1):
        t = high if e == n else changes[0, e]
        width = t - previous
        wide = width > 1e-12 * (1.0 + abs(t))
        if wide and (value > best + slack or (value > best - slack and width > best_width)):
            best, best_width, left, right = value, width, previous, t
        if e < n:
            value += changes[1, e]
            previous = t
    return best, left, right, work + n


@inner()
def _margin(w: Any, u: Any, norming: int, low: float, high: float, epsilon: float, envelopes: Any) -> Any:
    """The margin on ``low .. high``."""
    pieces, pieces_back = envelopes[0], envelopes[1]
    n = envelope(w, u, 1.0, norming, pieces)
    n_back = envelope(w, u, -1.0, norming, pieces_back)
    first, last = _norm(w, u, norming, low), _norm(w, u, norming, high)
    least, ends = min(first, last), max(first, last)
    for i in range(n):
        if low < pieces[0, i] < high:
            least = min(least, pieces[2, i] + pieces[1, i] * pieces[0, i])
    return LineMargin(epsilon, epsilon * least, epsilon * ends, n, pieces, n_back, pieces_back)


@inner()
def _cost(count: int, places: int) -> float:
    """Evaluations of a row that the largest of so many scores cost."""
    return count + HEAP * min(count, places)


@inner()
def _filtered(
    A: Any, B: Any, lists: Any, q: int, a: float, z: float, margin: Any, start: int, count: int, scratch: Any
) -> Any:
    """Rows that may reach a place that counts on ``a .. z``, and how many pairs of different gains they make. They are
    written behind ``which[start : start + count]``, which holds the rows to choose from.
    """
    which, lower, upper, heap = scratch.which, scratch.lower, scratch.upper, scratch.memory.heap
    for i in range(count):
        row = which[start + i]
        left = A[row] + a * B[row]
        right = A[row] + z * B[row]
        lower[i] = min(left, right)
        upper[i] = max(left, right)
    places, alone = lists.paid.places[lists.first_unit[q]], lists.paid.step[lists.first_unit[q]] == 0
    least, first = -np.inf, 0
    if alone:  # irrelevant rows alone put a row in its place
        while first < count and lists.level[which[start + first]] > 0:
            first += 1
    if places < count - first:
        heaped(lower, first, count, places, heap)
        least = heap[0] - abs(margin.most)
    if lists.paid.hits.size > 0 and not alone and lists.first_unit[q + 1] - lists.first_unit[q] == 1:
        # What so many positives are above is behind every hit that counts.
        positives, counted = 0, min(places, lists.paid.counted[lists.first_unit[q]])
        while positives < count and lists.level[which[start + positives]] > 0:
            positives += 1
        if positives >= counted:
            heaped(lower, 0, positives, counted, heap)
            least = max(least, heap[0] - abs(margin.most))
    kept, pairs, level, higher = 0, 0, -1, 0
    for i in range(count):
        if upper[i] >= least:
            row = which[start + i]
            which[start + count + kept] = row
            if lists.level[row] != level:
                level = lists.level[row]
                higher = kept
            pairs += higher
            kept += 1
    return kept, pairs


@inner()
def _norm(w: Any, u: Any, norming: int, tau: float) -> float:
    """Largest size of the first ``norming`` weights at ``w + tau u``."""
    norm = 0.0
    for j in range(norming):
        norm = max(norm, abs(w[j] + tau * u[j]))
    return norm


@kernel(python=_value_of)
def value_of(scores: Any, margin: float, lists: Any, scratch: Any) -> float:
    """Value of all lists for the scores of their rows; a pair within ``margin`` is lost."""
    none = scratch.envelopes
    n = none.ndim  # not read; a literal would make another type of margin, for which all else is compiled again
    given = LineMargin(margin, margin, margin, n, none[0], n, none[1])
    total = 0.0
    for q in range(lists.begin.size - 1):
        if lists.first_unit[q] < lists.first_unit[q + 1]:
            size = lists.begin[q + 1] - lists.begin[q]
            for i in range(size):
                scratch.which[i] = lists.begin[q] + i
            kept, _ = _filtered(scores, scores, lists, q, 0.0, 0.0, given, 0, size, scratch)
            total += middle(scores, scores, lists, q, 0.0, 0.0, given, size, kept, scratch)
    return total


@inner()
def middle(
    A: Any, B: Any, lists: Any, q: int, a: float, z: float, margin: Any, start: int, m: int, scratch: Any
) -> float:
    """Value of a list in the middle of ``a .. z``."""
    which, at, value = scratch.which, 0.5 * (a + z), 0.0
    for i in range(m):
        scratch.lower[i] = A[which[start + i]] + at * B[which[start + i]]
    positives = m
    for u in range(lists.first_unit[q], lists.first_unit[q + 1]):
        t = u - lists.first_unit[q]
        while positives > 0 and lists.level[which[start + positives - 1]] <= t:
            positives -= 1
        value += worth(lists.paid, u, 0, scratch.lower, scratch.lower, positives, m, margin.most, scratch.memory)
    return value


@inner()
def crossings(
    A: Any, B: Any, lists: Any, q: int, a: float, z: float, margin: Any, start: int, m: int, scratch: Any
) -> int:
    """How many steps the value of a list takes on ``a .. z``, -1 if there is no room; its lost pairs at ``a``."""
    here, there, lost = scratch.lower, scratch.upper, scratch.memory.lost
    which, level = scratch.which[start : start + m], lists.level
    steps, n = scratch.steps, 0
    for i in range(m):
        here[i] = A[which[i]] + a * B[which[i]]
        there[i] = A[which[i]] + z * B[which[i]]
    for i in range((lists.first_unit[q + 1] - lists.first_unit[q]) * m):
        lost[i] = 0
    rivals, begins = scratch.rivals[0], scratch.rivals[1]
    for i in range(m):
        begins[i] = begins[i - 1] if i > 0 and level[which[i]] == level[which[i - 1]] else i
    for i in range(m):
        mine, end = level[which[i]], m
        while level[which[end - 1]] < mine:
            first, behind = begins[end - 1], 0
            other = level[which[first]]
            for stop in range(end, first, -BLOCK):
                block = max(first, stop - BLOCK)
                sure, unsure = _compared(here, there, i, block, stop, margin.least, margin.most, rivals)
                behind += sure
                for e in range(unsure):
                    k = rivals[e]
                    x = here[i] - here[k]
                    y = there[i] - there[k]
                    left, right = _won_on(A, B, which[i], which[k], x >= margin.most, y >= margin.most, margin)
                    if n + 2 > steps.shape[1]:
                        return -1
                    if left < right:
                        if a < left <= z:
                            steps[0, n], steps[1, n] = left, i * m + k + 1
                            n += 1
                        if a < right <= z:
                            steps[0, n], steps[1, n] = right, -(i * m + k + 1)
                            n += 1
                    if not left <= a < right:
                        behind += 1
            for t in range(other, mine):
                lost[t * m + i] += behind
            end = first
    return n


@inner()
def _compared(here: Any, there: Any, i: int, first: int, stop: int, least: float, most: float, rivals: Any) -> Any:
    """How many of the rows ``first .. stop`` stay above row ``i`` on a piece, and of how many that is not known. These
    are written into ``rivals``, last first. Most rows stay above or below, and without branches several are compared at
    a time.
    """
    behind, ahead = 0, 0
    for k in range(first, stop):
        x = here[i] - here[k]
        y = there[i] - there[k]
        behind += (x < least) & (y < least)
        ahead += (x >= most) & (y >= most)
    unsure = stop - first - behind - ahead
    n = 0
    if unsure > 0:
        for k in range(stop - 1, first - 1, -1):
            x = here[i] - here[k]
            y = there[i] - there[k]
            rivals[n] = k
            n += 1 - ((x < least) & (y < least)) - ((x >= most) & (y >= most))
    return behind, unsure


@inner()
def _won_on(A: Any, B: Any, i: int, k: int, first: bool, last: bool, margin: Any) -> Any:
    """Ends of the interval on which row ``i`` wins against row ``k``, infinite where the ``first`` or ``last`` is."""
    x, y, left, right = A[i] - A[k], B[i] - B[k], -np.inf, np.inf
    if not first:
        left = won_from(x, y, margin.epsilon, margin.n, margin.pieces)
    if not last:
        right = -won_from(x, -y, margin.epsilon, margin.n_back, margin.pieces_back)
    return left, right


@inner()
def followed(lists: Any, q: int, n: int, start: int, m: int, scratch: Any) -> float:
    """Value of a list with the ``lost`` pairs of its rows, and the gain of each of the ``n`` steps in their order."""
    value, lost, upto, level, paid = 0.0, scratch.memory.lost, scratch.upto, lists.level, lists.paid
    which = scratch.which[start : start + m]
    pair, gain = scratch.steps[1], scratch.steps[2]
    units = lists.first_unit[q + 1] - lists.first_unit[q]
    places, weighs, down = paid.places[lists.first_unit[q]], paid.hits.size > 0, paid.step[lists.first_unit[q]]
    for i in range(units * (places + 1)):
        upto[i] = 0
    for t in range(units):
        first, coef = t * (places + 1), paid.coef_start[lists.first_unit[q] + t]
        hits = paid.hit_start[lists.first_unit[q] + t]
        for i in range(m):
            if level[which[i]] <= t:
                break
            if lost[t * m + i] < places:
                upto[first + lost[t * m + i]] += 1
        place = 0
        for x in range(places):
            for _ in range(upto[first + x]):
                if down * place + x < places:
                    value += paid.coef[coef + down * place + x] * (paid.hits[hits + place] if weighs else 1.0)
                place += 1
            upto[first + x] = place
    for e in range(n):
        p = int(abs(pair[e])) - 1
        i, k, total = p // m, p % m, 0.0
        for t in range(level[which[k]], level[which[i]]):
            first, coef = t * (places + 1), paid.coef_start[lists.first_unit[q] + t]
            x = lost[t * m + i]
            # Of the rows with at most ``least`` lost pairs it is the last, at this place:
            least = x - 1 if pair[e] > 0 else x
            lost[t * m + i] += -1 if pair[e] > 0 else 1
            if least >= places:
                continue
            if pair[e] > 0:
                upto[first + least] += 1
            nth = upto[first + least] - 1
            near = down * nth + least
            if pair[e] < 0:
                upto[first + least] -= 1
            step = paid.coef[coef + near] if near < places else 0.0
            step -= paid.coef[coef + near + 1] if near + 1 < places else 0.0
            if weighs:
                step *= paid.hits[paid.hit_start[lists.first_unit[q] + t] + nth]
            total += step if pair[e] > 0 else -step
        gain[e] = total
    return value


@inner()
def put_in_order(when: Any, pair: Any, n: int, spare: Any, order: Any) -> None:
    """Put the first ``n`` entries of both in the order of ``when``."""
    if n > 40:
        argsort(when, n, order[0], order[1])
        for row in (when, pair):
            for e in range(n):
                spare[e] = row[order[0, e]]
            for e in range(n):
                row[e] = spare[e]
        return
    for e in range(1, n):
        t, p, at = when[e], pair[e], e
        while at > 0 and when[at - 1] > t:
            when[at], pair[at] = when[at - 1], pair[at - 1]
            at -= 1
        when[at], pair[at] = t, p


@inner()
def argsort(x: Any, n: int, order: Any, stack: Any) -> None:
    """The order of the first ``n`` entries, by quicksort with the median of three; the stack is scratch. With numpy's
    own a kernel compiles a second longer. Equal entries keep their order, which decides how sums are rounded.
    """
    for e in range(n):
        order[e] = e
    stack[0], stack[1] = 0, n - 1
    top = 2
    while top > 0:
        top -= 2
        low, high = stack[top], stack[top + 1]
        while high - low >= SHORT:
            middle = (low + high) // 2
            for a, b in ((low, middle), (middle, high), (low, middle)):
                if _precedes(x, order[b], order[a]):
                    order[a], order[b] = order[b], order[a]
            pivot = order[middle]
            order[middle], order[high] = order[high], order[middle]
            i, k = low, high - 1
            while True:
                while i < high and _precedes(x, order[i], pivot):
                    i += 1
                while k >= low and _precedes(x, pivot, order[k]):
                    k -= 1
                if i >= k:
                    break
                order[i], order[k] = order[k], order[i]
                i += 1
                k -= 1
            order[i], order[high] = order[high], order[i]
            # The larger part waits, so that few ever do.
            if high - i > i - low:
                stack[top], stack[top + 1] = i + 1, high
                high = i - 1
            else:
                stack[top], stack[top + 1] = low, i - 1
                low = i + 1
            top += 2
        for e in range(low + 1, high + 1):
            which, at = order[e], e
            while at > low and _precedes(x, which, order[at - 1]):
                order[at] = order[at - 1]
                at -= 1
            order[at] = which


@inner()
def _precedes(x: Any, one: int, other: int) -> Any:
    """Whether an entry comes before another, by size, then by place."""
    return x[one] < x[other] or (x[one] == x[other] and one < other)
