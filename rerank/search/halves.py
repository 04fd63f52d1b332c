"""Problems in which a tied pair counts one half: what AUC can be, as the field counts it.

With ``h(w)`` the share of pairs in the right order plus half the share of tied ones, two facts bound it by searches
that count ties against the relevant row.

- *Inside* a set of weights a tie is never needed. A small move ``v`` breaks ties one way and ``-v`` the other, so
  ``h(w)`` is the mean of ``h(w + v)`` and ``h(w - v)``, and one of the two is no less. Only pairs of equal rows stay
  tied, and they add the same for all weights.
- *On an edge*, where a sign, a radius, a row on the weights or a limit on the features leaves only one of ``v`` and
  ``-v``, unequal rows may be tied for all weights of that edge. Without rows an edge fixes some weights to 0 or to a
  limit, and is such a set itself. With rows, or many edges, every list is taken twice, with half its weight: in the
  first a pair is won from the resolution on, in the second it is lost from minus the resolution on. In a box of weights
  a pair then counts 0 where its difference is below 0 throughout, one half where it is at most 0, else 1.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InputError
from rerank.problem import Problem, RankedList
from rerank.problem.lists import Floats
from rerank.problem.values import values_at
from rerank.search.tables import is_linear, tolerance

Edge = dict[int, float]  # weights that are fixed, by column
Search = Callable[[Problem, ArrayLike | None], float]
"""The bound of a search on a problem from a start, in the time that is left."""

MOST_EDGES, MOST_NUMBERS = 4096, 2e7  # edges, and numbers in all, that are looked at one by one
LEAD = 1.99  # resolutions by which relevant rows lead where ties are won


def half_bound(problem: Problem, search: Search, start: ArrayLike | None = None) -> float:
    """A bound on ``h`` over the weights of a problem whose margin is the resolution, without a penalty. InputError
    where places do not earn equal steps, so that a tied pair is no half of anything.
    """
    if not is_linear(problem):
        raise InputError(
            "ties is 'average', and the places of these lists do not earn equal steps, as those of AUC do; bound the "
            "statistic with ties='pessimistic'."
        )
    edges = None if problem.rows else _edges(problem)
    if edges is None:
        first = None if start is None else np.append([] if problem.anchored else [1.0], start)
        return search(doubled(problem), first)
    whole = search(problem, start)
    most, known = whole + _tied(problem, {}), dict[frozenset[tuple[int, float]], float]({frozenset(): whole})
    for more, edge in edges:
        own = frozenset(edge.items())
        bound = min(limit for wider, limit in known.items() if wider <= own)
        if bound + more > most:
            bound = min(bound, _on_edge(problem, edge, search))
        known[own], most = bound, max(most, bound + more)
    return min(most + 1e-14 * (1.0 + abs(most)), problem.ideal)


def _edges(problem: Problem) -> list[tuple[float, Edge]] | None:
    """Columns fixed to 0 or to a limit where that ties unequal rows, and what ties add: wide edges of most ties first.
    None where there are too many, or scores so large that rounding hides ties.
    """
    first, limited = int(problem.anchored), problem.max_features is not None
    d = problem.n_features - first
    most, free = d if problem.max_features is None else problem.max_features, problem.signs == 0
    if problem.limits is not None:
        if 2.0**-44 * problem.largest_score > problem.epsilon:
            return None
        zero = {0.0} if limited else set()
        ends = [sorted({low, high} | zero) for low, high in zip(*(side[1:].tolist() for side in problem.limits))]
    else:
        ends = [[0.0] if limited or not free[j] else [] for j in range(d)]
    if limited and problem.limits is None and free.all():  # on fewer columns a tie is broken by one more of them
        many, edges = float(comb(d, most)), (dict.fromkeys(none, 0.0) for none in combinations(range(d), d - most))
    else:
        many = float(np.prod([1.0 + len(each) for each in ends]))
        edges = (
            {j + first: value for j, value in enumerate(values) if value is not None}
            for values in product(*([None, *each] for each in ends))
        )
    if many > MOST_EDGES or many * problem.X.size > MOST_NUMBERS:
        return None
    equal, found = _tied(problem, {}), []
    for edge in edges:
        used = d - sum(value == 0.0 for value in edge.values())
        if edge and used <= most and (more := _tied(problem, edge)) > equal:
            found.append((more, edge))
    return sorted(found, key=lambda each: (len(each[1]), -each[0]))


def _on_edge(problem: Problem, edge: Edge, search: Search) -> float:
    """A bound on the value where some columns are fixed."""
    left = [j for j in range(problem.n_features) if j not in edge]
    if len(left) == int(problem.anchored):
        w = problem.unchanged
        w[list(edge)] = list(edge.values())
        return -np.inf if problem.by_sum and not w.any() else float(values_at(problem, w[None])[0])
    low, high, signs = problem.low[left], problem.high[left], problem.signs[left]
    X, limits = problem.X[:, left], problem.limits
    if limits is not None:
        limits = limits[0][left], limits[1][left]
        X, low, high = X.copy(), np.append(0.0, low[1:]), np.append(1.0, high[1:])
        X[:, 0] = _fixed(problem, edge)
    most = None if problem.max_features is None else problem.max_features - sum(value != 0 for value in edge.values())
    most = None if most is None or most >= len(left) - int(problem.anchored) else most
    table = np.ascontiguousarray(X)
    return search(replace(problem, X=table, signs=signs, low=low, high=high, limits=limits, max_features=most), None)


def _fixed(problem: Problem, edge: Edge) -> Floats:
    """The part of every score that does not move on an edge of the limits."""
    return np.asarray(problem.scaled[:, 0] + problem.scaled[:, list(edge)] @ np.array(list(edge.values())))


def _tied(problem: Problem, edge: Edge) -> float:
    """Half the value of all pairs of rows that are tied for all weights of an edge."""
    X = problem.X[:, [j for j in range(problem.n_features) if j not in edge]]
    if problem.anchored and edge:
        # Rows whose scores differ by no more than rounding count as tied.
        scores = _fixed(problem, edge)
        order, near = np.argsort(scores, kind="stable"), 8.0 * tolerance(problem)
        X = X.copy()
        X[order, 0] = np.append(0, np.cumsum(np.diff(scores[order]) > near))
    found = 0.0
    for item in problem.lists:
        rows, last, worth = X[item.rows], 0.0, 0.0
        group = np.unique(rows, axis=0, return_inverse=True)[1].ravel() if X.shape[1] else np.zeros(len(rows), np.intp)
        for gain in item.thresholds():
            above = item.gains >= gain
            ahead, behind = (np.bincount(group[side], minlength=len(rows)) for side in (above, ~above))
            worth += (gain - last) * float(ahead @ behind)
            last = gain
        found += item.weight * worth * float(np.diff(item.coefficients[:2]).sum()) / item.scale
    return 0.5 * found / problem.total_weight


def doubled(problem: Problem) -> Problem:
    """The problem whose value is ``h`` of the same weights. A first column that every score has with weight 1 gives the
    relevant rows of the copies a lead, so that they lose no tie. Weights of which the direction counts keep a largest
    size of 1. Quotas are left out: the bound is one of more weights.
    """
    n, anchored, d = problem.X.shape[0], problem.anchored, problem.n_features
    base = problem.scaled[:, 0] if anchored else np.zeros(n)
    # Far above the rounding of a score with a lead.
    resolution = max(float(problem.epsilon), 2.0**-44 * float(np.abs(base).max()))
    first, rows, copies, size = [base], [np.arange(n)], list[RankedList](), n
    for item in problem.lists:
        # A list for each threshold, so that all its pairs have the same lead.
        steps = np.diff(item.thresholds(), prepend=0.0)
        for gain, step in zip(item.thresholds(), steps, strict=True):
            above = item.gains >= gain
            # Just less than twice: a pair is never ahead where the opposite one still counts as tied.
            first.append(base[item.rows] + np.where(above, LEAD * resolution, 0.0))
            rows.append(item.rows)
            own = np.arange(size, size + above.size)
            copies.append(replace(item, rows=own, gains=above * step * steps.size, weight=item.weight / steps.size))
            size += above.size
    other = slice(int(anchored), d)
    limits = problem.limits
    if limits is None:
        ends = np.where(problem.signs > 0, 0.0, -1.0), np.where(problem.signs < 0, 0.0, 1.0)
        limits = np.append(1.0, ends[0]), np.append(1.0, ends[1])
    zero = () if anchored else (Fraction(0),)
    made = Problem.build(
        np.column_stack([np.concatenate(first), problem.X[np.concatenate(rows), other]]),
        [*problem.lists, *copies],
        epsilon=resolution,
        max_features=problem.max_features,
        limits=limits,
        low=np.append(0.0, problem.low[other]),
        high=np.append(1.0, problem.high[other]),
        rows=[replace(row, coefficients=(*zero, *row.coefficients)) for row in problem.rows],
    )
    return replace(made, directions=not anchored)
