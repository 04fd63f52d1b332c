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
from rerank.search.lines.kernel import envelope
from rerank.search.rows.piece import argsort, crossings, followed, middle, put_in_order
from rerank.search.rows.unit import heaped
from rerank.search.workspace import Margin

FEW = 32  # pairs that are swept at once; so many more for each row and for each of its places,
PER_PLACE = 0.3
MOST = 1e6  # but no more than these
HALVINGS = 16  # of a piece at most: rows that are equal where a piece ends cannot be told apart by more
WORK = 60.0  # evaluations of each row of a list that all pieces of one length may cost
HEAP = 16.0  # evaluations of a row that finding one place costs


@kernel()
def best_of_line(
    A: Any, B: Any, w: Any, u: Any, norming: int, low: float, high: float, epsilon: float, slack: float, lists: Any,
    scratch: Any,
) -> Any:  # fmt: skip
    """Largest value on ``w + tau u`` for ``tau`` in ``low .. high``, the widest piece that has it, and the work.

    Parameters
    ----------
    A, B : float64 (n,)
        Scores at ``w`` and along ``u``.
    norming : int
        The margin is multiplied by the largest size of the first so many weights.
    low, high : float
        Both finite.
    lists : Lists
    scratch : LineScratch

    Returns
    -------
    best, left, right : float
        The value, and the ends of the piece.
    work : float
        Evaluations of a row that it took; -1 where the scratch has no room for all steps.
    """
    pieces, pieces_back = scratch.envelopes[0], scratch.envelopes[1]
    n = envelope(w, u, 1.0, norming, pieces)
    n_back = envelope(w, u, -1.0, norming, pieces_back)
    first, last = _norm(w, u, norming, low), _norm(w, u, norming, high)
    least, ends = min(first, last), max(first, last)
    for i in range(n):
        if low < pieces[0, i] < high:
            least = min(least, pieces[2, i] + pieces[1, i] * pieces[0, i])
    margin = Margin(epsilon, epsilon * least, epsilon * ends, n, pieces, n_back, pieces_back)
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
        places = _places(lists, q)
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
    argsort(changes[0], n, scratch.order[0], scratch.order[1])
    best, best_width, left, right = -np.inf, 0.0, low, high
    value, previous = base, low
    for e in range(n + 1):
        t = high if e == n else changes[0, scratch.order[0, e]]
        width = t - previous
        wide = width > 1e-12 * (1.0 + abs(t))
        if wide and (value > best + slack or (value > best - slack and width > best_width)):
            best, best_width, left, right = value, width, previous, t
        if e < n:
            value += changes[1, scratch.order[0, e]]
            previous = t
    return best, left, right, work + n


@inner()
def _places(lists: Any, q: int) -> int:
    """Places of a list that rows have to be sorted for: where some hits alone count, no more than these."""
    u = lists.first_unit[q]
    paid = lists.paid
    return min(paid.places[u], paid.counted[u]) if paid.hits.size > 0 else paid.places[u]


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
    places = lists.paid.places[lists.first_unit[q]]
    least = -np.inf
    if places < count:
        heaped(lower, 0, count, places, heap)
        least = heap[0] - abs(margin.most)
    if lists.paid.hits.size > 0 and lists.first_unit[q + 1] - lists.first_unit[q] == 1:
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


@kernel()
def value_of(scores: Any, margin: float, lists: Any, scratch: Any) -> float:
    """Value of all lists for the scores of their rows; a pair within ``margin`` is lost."""
    none = scratch.envelopes
    n = none.ndim  # not read; a literal would make another type of margin, for which all else is compiled again
    given = Margin(margin, margin, margin, n, none[0], n, none[1])
    total = 0.0
    for q in range(lists.begin.size - 1):
        if lists.first_unit[q] < lists.first_unit[q + 1]:
            size = lists.begin[q + 1] - lists.begin[q]
            for i in range(size):
                scratch.which[i] = lists.begin[q] + i
            kept, _ = _filtered(scores, scores, lists, q, 0.0, 0.0, given, 0, size, scratch)
            total += middle(scores, scores, lists, q, 0.0, 0.0, given, size, kept, scratch)
    return total
