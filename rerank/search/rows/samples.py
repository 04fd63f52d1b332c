"""Lists as the smooth stand-in takes them: gains, and how much more a place earns than the next; all or a sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.search.compiled import kernel
from rerank.search.places import writable

if TYPE_CHECKING:
    from rerank.search.rows.tables import RowTables

Floats = NDArray[np.float64]

MOST_TARGETS = 12  # thresholds of a list; more are put together
MANY_LISTS = 100  # from which on a sample holds whole lists, and not some rows of every list
FEWEST = 20  # rows of a list in a sample


class SmoothLists(NamedTuple):
    """Rows ``begin[q] .. begin[q + 1]`` make a list; its first ``target`` rows earn ``drop`` times their gains."""

    begin: Any
    gain: Any
    first_target: Any
    target: Any
    drop: Any


class SmoothScratch(NamedTuple):
    """Arrays of one list."""

    s: Any
    g: Any
    slope: Any
    row: Any
    heap: Any


class Sample(NamedTuple):
    """Rows of some or all lists."""

    rows: Floats
    lists: SmoothLists

    def scratch(self) -> SmoothScratch:
        """Memory for the longest list."""
        n = int(np.diff(self.lists.begin).max(initial=1))
        return SmoothScratch(np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int64), np.empty(n))


@kernel()
def smooth_lists(lists: Any, gain: Any, first_target: Any, target: Any, drop: Any) -> None:
    """Fill in gains of rows, and thresholds of lists, of which neighbours are put together that earn little."""
    n = 0
    for q in range(lists.begin.size - 1):
        first_target[q] = n
        first, end = lists.begin[q], lists.begin[q + 1]
        u, none = lists.first_unit[q], lists.first_unit[q + 1]
        if u == none:
            gain[first:end] = 0.0
            continue
        start = lists.paid.coef_start[u]
        top = lists.paid.coef[start]
        for i in range(first, end):
            gain[i] = 0.0
            for v in range(u, u + lists.level[i]):
                gain[i] += lists.paid.coef[lists.paid.coef_start[v]] / top
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
                target[n], drop[n], size = p, step, step
                n += 1
    first_target[lists.begin.size - 1] = n


def whole(t: RowTables) -> Sample:
    """All rows."""
    n, given, earning = t.rows.shape[0], t.lists, t.lists.paid.coef.size
    lists = SmoothLists(
        given.begin, np.empty(n), np.empty(given.begin.size, np.int64), np.empty(earning + 1), np.empty(earning + 1)
    )  # fmt: skip
    smooth_lists(writable(given), *lists[1:])
    used = int(lists.first_target[-1])
    return Sample(t.rows, lists._replace(target=lists.target[:used].copy(), drop=lists.drop[:used].copy()))


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
        part = SmoothLists(
            np.concatenate([[0], np.cumsum(sizes[chosen])]),
            lists.gain[kept],
            np.concatenate([[0], np.cumsum(counts[chosen])]),
            lists.target[targets],
            lists.drop[targets],
        )
        return Sample(rows[kept], part)
    kept = rng.random(n) < np.repeat(np.maximum(share, np.minimum(1.0, FEWEST / np.maximum(sizes, 1))), sizes)
    ends = np.concatenate([[0], np.cumsum(kept)])[lists.begin]
    shares = np.repeat(np.diff(ends) / np.maximum(sizes, 1), np.diff(lists.first_target))
    part = SmoothLists(
        ends, lists.gain[kept], lists.first_target, lists.target * shares, lists.drop / np.maximum(shares, 1e-300)
    )
    return Sample(rows[kept], part)


def spread(part: Sample) -> Floats:
    """Covariance of the columns inside lists."""
    begin = part.lists.begin[:-1][np.diff(part.lists.begin) > 0]
    sizes = np.diff([*begin, part.rows.shape[0]])
    means = np.add.reduceat(part.rows, begin) / sizes[:, None]
    centred = part.rows - np.repeat(means, sizes, axis=0)
    return np.asarray(centred.T @ centred / max(part.rows.shape[0], 1))
