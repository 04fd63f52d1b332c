"""Good supports of every size by adding features one at a time and exchanging them, each step an exact line search."""

from collections.abc import Callable

import numpy as np

from rerank.problem.lists import Floats, Indices
from rerank.search.lines.search import LineSearch, Point

TRIED = 4  # features of which a whole line is searched, where a glance costs much less than a line


def forward(
    search: LineSearch, limit: int, price: Callable[[int], float], among: Indices | None = None, each: bool = True
) -> list[Point]:
    """Best weights met for every size of support up to ``limit``, of all features or those ``among`` them. ``price`` is
    what a support of a given size costs, in the tables' unit; it only serves to stop early. Features are exchanged at
    each size, or only at the last one, which costs less.
    """
    anchor = search.domain.anchor
    among = np.arange(len(anchor), search.domain.n_features) if among is None else among
    d, w = len(anchor) + among.size, search.domain.unchanged
    found: list[Point] = []
    chosen, most = list(anchor), min(limit + len(anchor), d)
    while len(chosen) < most and not search.late:
        step = max(_trials(search, w, chosen, [j for j in among if j not in chosen]), key=lambda item: item[0])
        chosen.append(step[2])
        value, w = search.climb(step[1], np.array(sorted(chosen)), rounds=8, patience=1)
        if each or len(chosen) == most:
            value, w, chosen = _exchange(search, value, w, chosen, among)
        size = len(chosen) - len(anchor)
        if found and value - price(size) < found[-1][0] - price(size - 1) and limit + len(anchor) == d:
            break
        found.append((value, w))
    return found


def _trials(search: LineSearch, w: Floats, chosen: list[int], others: list[int]) -> list[tuple[float, Floats, int]]:
    """The best weight for one more feature, for each of the others that look best at a glance."""
    along = {}
    for j in others:
        u = np.zeros(w.size)
        u[j] = 1.0
        along[j] = w if chosen else u, u if chosen else u * 0.5, np.array(sorted([*chosen, j]))
    if search.glances and len(others) > TRIED:
        seen = {j: -np.inf if search.late else search.glance(*along[j]) for j in others}
        others = sorted(others, key=lambda j: -seen[j])[:TRIED]
    return [(*((-np.inf, w) if search.late else search.line(*along[j])), j) for j in others]


def _exchange(
    search: LineSearch, value: float, w: Floats, chosen: list[int], among: Indices
) -> tuple[float, Floats, list[int]]:
    """Replace one feature by another as long as that helps."""
    improved = len(chosen) > 1
    while improved and not search.late:
        improved = False
        for out in chosen[len(search.domain.anchor) :]:
            rest = [j for j in chosen if j != out]
            base = w.copy()
            base[out] = 0.0
            if not base.any():
                continue
            base = search.domain.normal(base)
            trials = _trials(search, base, rest, [j for j in among if j not in chosen])
            if not trials or search.late:
                break
            best = max(trials, key=lambda item: item[0])
            if best[0] > value - abs(value) * 0.01:
                swapped = [*rest, best[2]]
                v, x = search.climb(best[1], np.array(sorted(swapped)), rounds=6, patience=1)
                if v > value + 1e-12 * abs(value):
                    value, w, chosen, improved = v, x, swapped, True
                    break
    return value, w, chosen
