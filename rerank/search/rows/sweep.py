r"""The best point of a line over lists of rows, compiled: steps of the value where rows change places near the top.

Along ``w + tau u`` the score of a row is ``A + tau B``.  On a piece of the line a row is left out if so many others
stay above it that it never reaches a place that counts; then it takes no place from another row either.  Long pieces
are halved until few rows are left.  Only among these are pairs formed: each is won on an interval of the piece
(:mod:`rerank.search.lines.kernel`), and its ends are where the value may change.  Where pairs stay too many, as among
very many equal rows, the value is taken in the middle of a piece alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.search.compiled import inner, kernel
from rerank.search.lines.margin import envelope
from rerank.search.rows.lists import Margin
from rerank.search.rows.piece import longer, middle, swept
from rerank.search.rows.unit import heaped

FEW = 32  # pairs that are swept at once; so many more for each row and for each of its places,
PER_PLACE = 0.3
MOST = 1e6  # but no more than these
HALVINGS = 16  # of a piece at most: rows that are equal where a piece ends cannot be told apart by more
WORK = 60.0  # evaluations of each row of a list that all pieces of one length may cost
HEAP = 16.0  # evaluations of a row that finding one place costs


@inner()
def line_steps(A: Any, B: Any, lists: Any, low: float, high: float, margin: Any, scratch: Any) -> Any:
    """Where and by how much the value changes on ``low .. high``.

    Parameters
    ----------
    A, B : float64 (n,)
        Scores at ``w`` and along ``u``.
    lists : Lists
    low, high : float
        Both finite.
    margin : Margin
        Of this line.
    scratch : LineScratch

    Returns
    -------
    base : float
        Value just above ``low``.
    n, at, change : int, float64, float64
        The first ``n`` entries: places and what the value gains there, in no order.
    work : float
        Evaluations of a row that it took.
    """
    base, n, work = 0.0, 0, 0.0
    at, change = scratch.at, scratch.change
    pieces, which = scratch.pieces, scratch.which
    for q in range(lists.begin.size - 1):
        first = lists.begin[q]
        size = lists.begin[q + 1] - first
        if lists.first_unit[q] == lists.first_unit[q + 1]:
            continue
        for i in range(size):
            which[i] = first + i
        places = _places(lists, q)
        known, last = False, 0.0
        pieces[0, 0], pieces[0, 1], pieces[0, 2], pieces[0, 3], pieces[0, 4] = low, high, 0, size, 0
        top = 1
        while top > 0:
            top -= 1
            a, z = pieces[top, 0], pieces[top, 1]
            start, count, turn = int(pieces[top, 2]), int(pieces[top, 3]), int(pieces[top, 4])
            kept, pairs = _filtered(A, B, lists, q, a, z, margin, start, count, scratch)
            work += _cost(count, places)
            few = min(FEW + (1.0 + PER_PLACE * places) * kept, MOST)
            dear = 2.0 ** (turn + 1) * _cost(kept, places) > WORK * (size + FEW)
            if pairs > few and turn < HALVINGS and not dear:
                if 5 * kept <= 4 * count:
                    start, count = start + count, kept
                centre = 0.5 * (a + z)
                for half in range(2):
                    pieces[top + half, 0] = centre if half == 0 else a
                    pieces[top + half, 1] = z if half == 0 else centre
                    pieces[top + half, 2], pieces[top + half, 3], pieces[top + half, 4] = start, count, turn + 1
                top += 2
                continue
            if pairs > 4.0 * few:
                value, steps, when, gain = middle(A, B, lists, q, a, z, margin, start + count, kept, scratch)
                work += _cost(kept, places)
            else:
                value, steps, when, gain = swept(A, B, lists, q, a, z, margin, start + count, kept, scratch)
                work += 0.25 * pairs + 2.0 * steps
            if n + steps + 1 > at.size:
                at, change = longer(at, n + steps + 1), longer(change, n + steps + 1)
            if not known:
                base += value
            elif value != last:
                at[n], change[n] = a, value - last
                n += 1
            known, last = True, value
            for e in range(steps):
                if gain[e] != 0.0:
                    at[n], change[n] = when[e], gain[e]
                    last += gain[e]
                    n += 1
    return base, n, at, change, work


@inner()
def _places(lists: Any, q: int) -> int:
    """Places of a list that rows have to be sorted for: where some hits alone count, no more than these."""
    u = lists.first_unit[q]
    return min(lists.places[u], lists.counted[u]) if lists.hits.size > 0 else lists.places[u]


@inner()
def _cost(count: int, places: int) -> float:
    """Evaluations of a row that the largest of so many scores cost."""
    return count + HEAP * min(count, places)


@inner()
def _filtered(
    A: Any, B: Any, lists: Any, q: int, a: float, z: float, margin: Any, start: int, count: int, scratch: Any
) -> Any:
    """Rows that may reach a place that counts on ``a .. z``, and how many pairs of different gains they make.

    They are written behind ``which[start : start + count]``, which holds the rows to choose from.
    """
    which, lower, upper, heap = scratch.which, scratch.lower, scratch.upper, scratch.heap
    for i in range(count):
        row = which[start + i]
        left = A[row] + a * B[row]
        right = A[row] + z * B[row]
        lower[i] = min(left, right)
        upper[i] = max(left, right)
    places = lists.places[lists.first_unit[q]]
    least = -np.inf
    if places < count:
        heaped(lower, 0, count, places, heap)
        least = heap[0] - abs(margin.most)
    if lists.hits.size > 0 and lists.first_unit[q + 1] - lists.first_unit[q] == 1:
        # What so many positives are above is behind every hit that counts.
        positives, counted = 0, min(places, lists.counted[lists.first_unit[q]])
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
def best_place(base: float, n: int, at: Any, change: Any, low: float, high: float, slack: float) -> Any:
    """Largest value on ``low .. high`` and the ends of the widest piece that has it."""
    order = np.argsort(at[:n])
    best, best_width, left, right = -np.inf, 0.0, low, high
    value, previous = base, low
    for e in range(n + 1):
        t = high if e == n else at[order[e]]
        width = t - previous
        wide = width > 1e-12 * (1.0 + abs(t))
        # Sums of steps are rounded; pieces that are equal but for that are told apart by their width.
        if wide and (value > best + slack or (value > best - slack and width > best_width)):
            best, best_width, left, right = value, width, previous, t
        if e < n:
            value += change[order[e]]
            previous = t
    return best, left, right


@kernel()
def best_of_line(
    A: Any, B: Any, w: Any, u: Any, norming: int, low: float, high: float, epsilon: float, slack: float, lists: Any,
    scratch: Any,
) -> Any:  # fmt: skip
    """Best value on ``w + tau u`` for ``tau`` in ``low .. high``, the piece that has it, and the work.

    The margin is multiplied by the largest size of the first ``norming`` weights.
    """
    n, breaks, slopes, levels = envelope(w[:norming], u[:norming])
    back = envelope(w[:norming], -u[:norming])
    first, last = _norm(w, u, norming, low), _norm(w, u, norming, high)
    least, ends = min(first, last), max(first, last)
    for i in range(n):
        if low < breaks[i] < high:
            least = min(least, levels[i] + slopes[i] * breaks[i])
    margin = Margin(epsilon, epsilon * least, epsilon * ends, n, breaks, slopes, levels, *back)
    base, steps, at, change, work = line_steps(A, B, lists, low, high, margin, scratch)
    best, left, right = best_place(base, steps, at, change, low, high, slack)
    return best, left, right, work + steps


@inner()
def _norm(w: Any, u: Any, norming: int, tau: float) -> float:
    """Largest size of the first ``norming`` weights at ``w + tau u``."""
    norm = 0.0
    for j in range(norming):
        norm = max(norm, abs(w[j] + tau * u[j]))
    return norm


@inner()
def _value_of_list(scores: Any, margin: Any, lists: Any, q: int, scratch: Any) -> float:
    """Value of one list for the scores of its rows."""
    first = lists.begin[q]
    size = lists.begin[q + 1] - first
    for i in range(size):
        scratch.which[i] = first + i
    kept, _ = _filtered(scores, scores, lists, q, 0.0, 0.0, margin, 0, size, scratch)
    value, _, _, _ = middle(scores, scores, lists, q, 0.0, 0.0, margin, size, kept, scratch)
    return value


@kernel()
def value_of(scores: Any, margin: float, lists: Any, scratch: Any) -> float:
    """Value of all lists for the scores of their rows; a pair within ``margin`` is lost."""
    none = np.empty(0)
    n = none.size  # a literal 0 would make another type of margin, for which all else is compiled again
    given = Margin(margin, margin, margin, n, none, none, none, n, none, none, none)
    total = 0.0
    for q in range(lists.begin.size - 1):
        if lists.first_unit[q] < lists.first_unit[q + 1]:
            total += _value_of_list(scores, given, lists, q, scratch)
    return total
