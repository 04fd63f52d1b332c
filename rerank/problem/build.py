"""Problems from a rank statistic: the list of one query, and all rows of a table in their lists."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InputError
from rerank.io.arrays import check_matrix, plain_numbers
from rerank.problem.lists import Counts, Floats, Indices, RankedList
from rerank.problem.problem import Problem
from rerank.ranks.evaluator import scale_of, scales_of_lists, won_pairs
from rerank.ranks.lists import rows_by_list
from rerank.ranks.row_gains import LARGEST
from rerank.statistics import AUC, RankStatistic


def ranked_list(
    statistic: RankStatistic,
    rows: ArrayLike,
    gains: ArrayLike,
    tail_gains: ArrayLike = (),
    weight: float = 1.0,
    missed: ArrayLike = (),
) -> RankedList | None:
    """The list of a statistic: head rows to be ordered, above a tail whose order is fixed.

    Parameters
    ----------
    statistic : RankStatistic
    rows : array (m,)
        Rows of the head.
    gains : array (m,)
        Their gains.  AP, RR, success@N and Pos@Top ask only whether they are above 0; recall and RBP take them as
        they are, so labels have to be made binary before (:func:`rerank.ranks.row_gains.gain_of`).
    tail_gains : array (t,)
        Gains of the items below the head, best place first.
    weight : float
        Weight of the list.
    missed : array
        Gains of relevant items that are no rows; they count in the scale only.

    Returns
    -------
    RankedList or None
        None where the statistic is not defined: no gain at all, or no pair for AUC. A list whose relevant items were
        all missed has no gain, and is worth 0 in every order.
    """
    given = (np.asarray(part, dtype=np.float64) for part in (gains, tail_gains, missed))
    head, tail, others = ([part] for part in given)
    return _listed(statistic, [np.asarray(rows, dtype=np.intp)], head, tail, others, [float(weight)])[0]


def _listed(
    statistic: RankStatistic,
    rows: Sequence[Indices],
    heads: Sequence[Floats],
    tails: Sequence[Floats],
    missed: Sequence[Floats],
    weights: Sequence[float],
) -> list[RankedList | None]:
    """:func:`ranked_list` of many lists at once; lists of one length share what their places earn."""
    if statistic.weighs_hits:
        heads, tails, missed = ([(own > 0).astype(np.float64) for own in part] for part in (heads, tails, missed))
    every = [np.concatenate(own) if own[1].size else own[0] for own in zip(heads, tails)]
    sizes = {own.size for own in every}
    earned, hits = {n: statistic.coefficients(n) for n in sizes}, {n: statistic.hit_weights(n) for n in sizes}
    found: list[RankedList | None] = [None] * len(every)
    for q, (offset, scale) in enumerate(scales_of_lists(statistic, every, missed)):
        if not scale > 0:
            continue
        head, tail = heads[q], tails[q]
        coefficients, of_hits = earned[head.size + tail.size], hits[head.size + tail.size]
        below = _below(statistic, head, tail, coefficients, of_hits) if tail.size else 0.0
        own_hits = None if of_hits is None else of_hits[: head.size]
        own_earned = coefficients[tail.size :]
        placed = own_earned, weights[q], below - offset, scale, own_hits, statistic.alone
        found[q] = RankedList(rows[q], head, *placed)
    return found


def _below(statistic: RankStatistic, head: Floats, tail: Floats, coefficients: Floats, hits: Counts | None) -> float:
    """What a tail earns below a head, in any order of this."""
    earned = tail
    if hits is not None:
        number = np.count_nonzero(head) + np.cumsum(tail).astype(np.intp)
        earned = tail * hits[np.maximum(number, 1) - 1]
    places = np.arange(head.size, head.size + tail.size)
    if statistic.alone:
        places = np.count_nonzero(head == 0) + np.cumsum(tail == 0)
    return float(np.dot(earned, coefficients[::-1][np.minimum(places, coefficients.size - 1)]))


def stated_lists(
    statistic: RankStatistic,
    rows: Sequence[Indices],
    heads: Sequence[Floats],
    tails: Sequence[Floats],
    missed: Sequence[Floats],
    weights: Sequence[float],
) -> list[Sequence[RankedList]]:
    """The lists that state each of many: itself, or none where the statistic is not defined on it; of pairs several.
    All arguments but the first have an entry for each list; see :func:`ranked_list`.
    """
    if not statistic.by_order:
        found = _listed(statistic, rows, heads, tails, missed, weights)
        return [() if entry is None else (entry,) for entry in found]
    sides = zip(rows, heads, tails, missed, weights, strict=True)
    return [
        _lists_of_pairs(statistic, *own, alone=len(rows) == 1) if own[1].size > 1 or own[2].size else ()
        for own in sides
    ]


MOST_STATED = 5_000_000  # rows of all lists of two classes that the pairs of one list may be stated as


def _lists_of_pairs(
    statistic: RankStatistic, places: Indices, head: Floats, tail: Floats, missed: Floats, weight: float, alone: bool
) -> list[RankedList]:
    """The lists that state one list of pairs of rows with different labels: for each label its rows against those with
    smaller ones. Every pair counts the same, and what the pairs with the tail add in any order is a part of the first.
    With ``alone`` there is no other list, so that its weight does not matter: those of its parts are whole numbers.

    InputError if these lists would have more than ``MOST_STATED`` rows.
    """
    scale = scale_of(statistic, np.concatenate([head, tail]), missed)[1]
    if not scale > 0:
        return []
    levels, counts = np.unique(head, return_counts=True)
    stated = int(np.cumsum(counts)[1:].sum())
    if stated > MOST_STATED:
        fits = int(head.size * MOST_STATED / stated)
        raise InputError(
            f"The pairs of a list of {head.size:,} rows with {levels.size:,} different labels are stated as lists of "
            f"two classes with {stated:,} rows, and the most is {MOST_STATED:,}; lower n_candidates to {fits:,} or "
            "less, or round the labels."
        )
    # In the tail, and between head and tail, no weights change the order.
    below = np.sort(tail)
    fixed = float(np.searchsorted(below, head).sum())
    fixed += won_pairs(tail, np.arange(tail.size)[::-1]).sum() / 2
    pairs = counts[1:] * np.cumsum(counts)[:-1]
    free = float(pairs.sum())
    if not free:  # no head row is above another
        listed = ranked_list(AUC(), places, np.zeros(head.size), missed=[1.0])
        assert listed is not None
        return [replace(listed, weight=weight, constant=fixed, scale=scale)]
    found: list[RankedList] = []
    for level, own in zip(levels[1:], pairs.astype(np.float64).tolist()):
        inside = head <= level
        listed = ranked_list(AUC(), places[inside], (head[inside] == level).astype(np.float64))
        assert listed is not None
        # A pair is worth weight / scale: numbers of pairs as weights need no rounding, equal weights give equal pairs.
        parts = (own, own * (scale / free)) if alone else (weight / pairs.size, scale / pairs.size)
        constant = listed.constant + (0.0 if found else fixed)
        found.append(replace(listed, weight=parts[0], constant=constant, scale=parts[1]))
    return found


def _gains(gains: ArrayLike, statistic: RankStatistic) -> Floats:
    """One finite number for each row, 0 or more but for pairs, small enough to be added up."""
    found = plain_numbers(gains)
    if found.ndim != 1 or not found.size or found.dtype.kind not in "biuf":
        raise InputError(f"gains has the shape {found.shape} and the type {found.dtype}; give a number for each row.")
    row_gains = found.astype(np.float64)
    least = -np.inf if statistic.by_order else 0.0
    if (bad := np.flatnonzero(~np.isfinite(row_gains) | (row_gains < least))).size:
        wanted = "finite" if statistic.by_order else "finite and 0 or more"
        raise InputError(f"gains holds {row_gains[bad[0]]:g} in row {bad[0]}, but gains are {wanted}; correct it.")
    if np.abs(row_gains).max() > LARGEST:
        raise InputError(f"gains go up to {np.abs(row_gains).max():.3g}, and sums of them overflow; divide them all.")
    return row_gains


def problem_of(
    X: ArrayLike,
    gains: ArrayLike,
    statistic: RankStatistic,
    qid: ArrayLike | None = None,
    query_weight: Mapping[Any, float] | None = None,
    **options: Any,
) -> Problem:
    """The problem of ranking all rows, without a shortlist.

    Parameters
    ----------
    X : array (n, d)
        Features in original units.
    gains : array (n,)
        Gain of each row, 0 for an irrelevant one; for pairs any numbers.
    statistic : RankStatistic
    qid : array (n,), optional
        List of each row; one list without it.
    query_weight : mapping, optional
        Weight of a list by its id, 1 where it has none.
    **options
        ``epsilon``, ``C`` and the others of :meth:`Problem.build`.

    Returns
    -------
    Problem
        Of the lists on which the statistic is defined; the mean leaves the others out.

    Raises
    ------
    InputError
        As :meth:`Problem.build`.
    """
    row_gains, weights, shape = _gains(gains, statistic), query_weight or {}, np.shape(X)
    if len(shape) != 2 or shape[0] != row_gains.size:
        raise InputError(f"X has the shape {shape}, and there are {row_gains.size} gains; give a row for each.")
    X = check_matrix(X) if shape[1] else np.empty(shape)
    names, rows = zip(*rows_by_list(qid, row_gains.size))
    none = [np.empty(0)] * len(rows)
    sides = [row_gains[own] for own in rows], none, none, [float(weights.get(name, 1.0)) for name in names]
    return Problem.build(X, list(chain.from_iterable(stated_lists(statistic, rows, *sides))), **options)
