r"""A smooth stand-in for the value of lists and its slopes, compiled.

What a list earns is ``sum_p drop_p * (gains among its first p rows)``, where place ``p`` earns ``drop_p`` more than the
next.  "Among the first p" is "score above a threshold"; here a row counts by how far it is above the threshold in
units of a width ``h``, and the threshold is where the rows count as ``p`` in all.  With ``h`` going to 0 the value
becomes the statistic's, but for weights of hits, which are left out.  The threshold moves with the scores, so the slope
of a row at ``t`` widths above it is ``drop_p k(t) (gain - mean gain) / h``, with the mean taken over the rows near the
threshold by the weights ``k(t)`` (implicit differentiation).  Where relevant rows take no places from each other the
threshold is the p-th irrelevant row, where ``p - 1/2`` irrelevant rows count; these alone move it.  ``k`` is the
biweight kernel, 0 beyond ``h``: rows far away cost nothing.  The rows are those of all lists or of a sample.  Scores
and sums over rows have the same bits with any number of threads of the linear algebra: climbs go where these numbers
send them, in worker processes, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rerank.problem.lists import Counts, Floats
from rerank.search.compiled import inner, kernel, writable
from rerank.search.rows.unit import descend, heaped

EXACT = 1e-6  # rows by which the count at a threshold may be off
STEPS = 40  # of the search for a threshold at most
AROUND = 3.0  # widths below the last place that counts, beyond which a row is left out
MOST_TARGETS = 12  # thresholds of a list; more are put together
MANY_LISTS = 100  # from which on a sample holds whole lists, and not some rows of every list
FEWEST = 20  # rows of a list in a sample


class SmoothLists(NamedTuple):
    """Rows ``begin[q] .. begin[q + 1]`` make a list; its first ``target`` rows earn ``drop`` times their gains. The
    first ``ahead`` rows of a list take no places: relevant ones, where they take none from each other.
    """

    begin: Any
    gain: Any
    first_target: Any
    target: Any
    drop: Any
    ahead: Any


class Sample(NamedTuple):
    """Rows of some or all lists."""

    rows: Floats
    lists: SmoothLists

    def scratch(self) -> tuple[Floats, Counts]:
        """Memory for the scores, gains and slopes of the longest list, its largest scores, and its rows."""
        n = int(np.diff(self.lists.begin).max(initial=1))
        return np.empty((4, n)), np.empty(n, np.int64)


@kernel()
def smooth_lists(lists: Any, gain: Any, first_target: Any, target: Any, drop: Any, ahead: Any) -> None:
    """Fill in gains of rows, and thresholds of lists, of which neighbours are put together that earn little."""
    n = 0
    for q in range(lists.begin.size - 1):
        first_target[q] = n
        first, end = lists.begin[q], lists.begin[q + 1]
        u, none = lists.first_unit[q], lists.first_unit[q + 1]
        ahead[q] = 0
        if u == none:
            gain[first:end] = 0.0
            continue
        start = lists.paid.coef_start[u]
        top = lists.paid.coef[start]
        for i in range(first, end):
            gain[i] = 0.0
            for v in range(u, u + lists.level[i]):
                gain[i] += lists.paid.coef[lists.paid.coef_start[v]] / top
            if lists.paid.step[u] == 0 and lists.level[i] > 0:
                ahead[q] += 1
        places = lists.paid.coef_start[u + 1] - start
        most, size = top / MOST_TARGETS, 0.0
        for p in range(1, min(places, end - first - 1) + 1):
            step = lists.paid.coef[start + p - 1] - (lists.paid.coef[start + p] if p < places else 0.0)
            if step <= 0.0:
                continue
            if size > 0.0 and size + step <= most:
                target[n - 1] += (p - target[n - 1]) * step / (size + step)
                drop[n - 1] += step
                size += step
            else:
                target[n], drop[n], size = p - (0.5 if lists.paid.step[u] == 0 else 0.0), step, step
                n += 1
    first_target[lists.begin.size - 1] = n


def whole(rows: Floats, given: Any) -> Sample:
    """All rows (n, d) of tables, in their lists with what places earn."""
    n, earning = rows.shape[0], given.paid.coef.size
    first_target, ahead = np.empty(given.begin.size, np.int64), np.zeros(given.begin.size - 1, np.int64)
    lists = SmoothLists(given.begin, np.empty(n), first_target, np.empty(earning + 1), np.empty(earning + 1), ahead)
    smooth_lists(writable(given), *lists[1:])
    used = int(lists.first_target[-1])
    return Sample(rows, lists._replace(target=lists.target[:used].copy(), drop=lists.drop[:used].copy()))


def sampled(all_rows: Sample, most: int, rng: np.random.Generator) -> Sample:
    """About ``most`` rows: those of some lists where there are many, else some of every list; all if they are fewer."""
    rows, lists = all_rows
    n, sizes = rows.shape[0], np.diff(lists.begin)
    share = most / max(n, 1)
    if share >= 1.0:
        return all_rows
    if sizes.size >= MANY_LISTS:
        chosen = np.zeros(sizes.size, np.bool_)
        chosen[rng.choice(sizes.size, max(MANY_LISTS // 2, int(share * sizes.size)), replace=False)] = True
        counts = np.diff(lists.first_target)
        kept, targets = np.repeat(chosen, sizes), np.repeat(chosen, counts)
        ends, first = (np.concatenate([[0], np.cumsum(x[chosen])]) for x in (sizes, counts))
        sums = lists.target[targets], lists.drop[targets]
        return Sample(rows[kept], SmoothLists(ends, lists.gain[kept], first, *sums, lists.ahead[chosen]))
    kept = rng.random(n) < np.repeat(np.maximum(share, np.minimum(1.0, FEWEST / np.maximum(sizes, 1))), sizes)
    ends = np.concatenate([[0], np.cumsum(kept)])[lists.begin]
    shares = np.repeat(np.diff(ends) / np.maximum(sizes, 1), np.diff(lists.first_target))
    ahead = np.concatenate([[0], np.cumsum(kept)])[lists.begin[:-1] + lists.ahead] - ends[:-1]
    sums = lists.target * shares, lists.drop / np.maximum(shares, 1e-300)
    return Sample(rows[kept], SmoothLists(ends, lists.gain[kept], lists.first_target, *sums, ahead))


def spread(part: Sample) -> Floats:
    """Covariance of the columns inside lists."""
    begin = part.lists.begin[:-1][np.diff(part.lists.begin) > 0]
    sizes = np.diff([*begin, part.rows.shape[0]])
    means = np.add.reduceat(part.rows, begin) / sizes[:, None]
    centred = part.rows - np.repeat(means, sizes, axis=0)
    return np.asarray(centred.T @ centred / max(part.rows.shape[0], 1))


@kernel()
def smoothed(scores: Any, lists: Any, h: float, slopes: Any, scratch: Any) -> float:
    """The smooth value of all lists with a width ``h``; ``slopes`` (n,) receives its derivative by each score (n,)."""
    total = 0.0
    s, g, slope, heap, row = scratch[0][0], scratch[0][1], scratch[0][2], scratch[0][3], scratch[1]
    slopes[:] = 0.0
    for q in range(lists.begin.size - 1):
        first, end = lists.begin[q], lists.begin[q + 1]
        k0, k1 = lists.first_target[q], lists.first_target[q + 1]
        if k0 == k1:
            continue
        ahead = lists.ahead[q]
        size = end - first - ahead
        if size == 0:
            continue
        known = heaped(scores, first + ahead, end, min(int(lists.target[k1 - 1]) + 1, size), heap)
        far = heap[0] - AROUND * h
        descend(heap, known)
        n, a = 0, 0  # the first ``a`` of these rows take no places
        for i in range(first, end):
            if i == first + ahead:
                a = n
            if scores[i] > far:
                s[n], g[n], slope[n], row[n] = scores[i], lists.gain[i], 0.0, i
                n += 1
        for k in range(k0, k1):
            p = lists.target[k]
            at = min(max(int(p), 1), known - 1)
            theta = heap[0] if known < 2 else 0.5 * (heap[at - 1] + heap[at])
            theta = _threshold(s[a:n], p, theta, h)
            counted, near, gain_near = _gains(s[:n], g[:n], a, theta, 1.0 / h)
            total += lists.drop[k] * counted
            if near > 0.0:
                _slopes(s[:a], g[:a], slope[:a], theta, 1.0 / h, 0.0, lists.drop[k] / h)
                _slopes(s[a:n], g[a:n], slope[a:n], theta, 1.0 / h, gain_near / near, lists.drop[k] / h)
        for i in range(n):
            slopes[row[i]] = slope[i]
    return total


@inner()
def _threshold(s: Any, p: float, theta: float, h: float) -> float:
    """Where the rows count as ``p``: Newton's steps between ends that close in."""
    low, high = -np.inf, np.inf
    for _ in range(STEPS):
        count, density = _counts(s, theta, 1.0 / h)
        over = count - p
        if abs(over) < EXACT:
            break
        if over > 0.0:
            low = theta
        else:
            high = theta
        step = h * over / density if density > 1e-9 else (h if over > 0.0 else -h)
        theta += min(max(step, -h), h)
        if not low < theta < high:
            theta = 0.5 * (low + high)
        if high - low < 1e-12 * h:
            break
    return theta


@inner(fastmath={"reassoc", "nsz"})
def _counts(s: Any, theta: float, scale: float) -> Any:
    count, density = 0.0, 0.0
    for i in range(s.size):
        t = min(max((s[i] - theta) * scale, -1.0), 1.0)
        r = t * t
        count += 0.5 + 0.9375 * t * (1.0 + r * (0.2 * r - 2.0 / 3.0))
        density += (1.0 - r) * (1.0 - r)
    return count, 0.9375 * density


@inner(fastmath={"reassoc", "nsz"})
def _gains(s: Any, g: Any, ahead: int, theta: float, scale: float) -> Any:
    """Gains counted; rows near the threshold, of those that take places, and the gains near it."""
    counted, near, gain_near = 0.0, 0.0, 0.0
    for i in range(s.size):
        t = min(max((s[i] - theta) * scale, -1.0), 1.0)
        r = t * t
        counted += g[i] * (0.5 + 0.9375 * t * (1.0 + r * (0.2 * r - 2.0 / 3.0)))
        k = (1.0 - r) * (1.0 - r)
        near += k if i >= ahead else 0.0
        gain_near += k * g[i]
    return counted, near, gain_near


@inner()
def _slopes(s: Any, g: Any, slope: Any, theta: float, scale: float, mean: float, drop: float) -> None:
    for i in range(s.size):
        t = min(max((s[i] - theta) * scale, -1.0), 1.0)
        r = t * t
        slope[i] += 0.9375 * drop * (1.0 - r) * (1.0 - r) * (g[i] - mean)


def scores_of(rows: Any, w: Any) -> Any:
    """``rows @ w``; columns of weight 0 are left out."""
    out = np.empty(rows.shape[0])
    _scores(rows, w, out)
    return out


def weighted_sum(rows: Any, shares: Any) -> Any:
    """``shares @ rows``; rows of share 0 are left out."""
    out = np.zeros(rows.shape[1])
    _weighted(rows, shares, out)
    return out


def _by_columns(rows: Any, w: Any, out: Any) -> None:
    used = np.flatnonzero(w)
    if used.size == 1:
        out[:] = rows[:, used[0]] * w[used[0]]
        return
    sums, left = np.zeros((4, out.size)), w.size % 4
    for j in range(w.size):
        sums[(j - left) % 4 if j >= left else 0] += rows[:, j] * w[j]
    out[:] = (sums[0] + sums[1]) + (sums[2] + sums[3])


@kernel(python=_by_columns)
def _scores(rows: Any, w: Any, out: Any) -> None:
    used, only = 0, 0
    for j in range(w.size):
        if w[j] != 0.0:
            used += 1
            only = j
    if used == 1:
        for i in range(out.size):
            out[i] = rows[i, only] * w[only]
        return
    for i in range(out.size):
        row = rows[i]
        total, second, third, fourth = 0.0, 0.0, 0.0, 0.0
        left = w.size % 4
        for j in range(left):
            total += row[j] * w[j]
        for j in range(left, w.size, 4):  # one sum would wait for each addition
            total += row[j] * w[j]
            second += row[j + 1] * w[j + 1]
            third += row[j + 2] * w[j + 2]
            fourth += row[j + 3] * w[j + 3]
        out[i] = (total + second) + (third + fourth)


@kernel()
def _weighted(rows: Any, shares: Any, out: Any) -> None:
    for i in range(rows.shape[0]):
        share = shares[i]
        if share != 0.0:
            row = rows[i]
            for j in range(out.size):
                out[j] += share * row[j]
