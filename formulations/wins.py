"""Pairs of rows ``(i, k)``: which of them a program asks about, what the box of ``w`` decides, how they are scaled."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats, GradedList, Indices
from formulations.errors import ModelTooLarge
from formulations.options import Instance

LOST, OPEN, WON = -1, 0, 1

# A range whose end is this close to the margin, for the sizes of its terms, is computed again in rationals.
ROUNDING = 1e-12
CHUNK = 1 << 22  # numbers of a table of differences that are held at a time
ENTRIES_OF_A_FEATURE = 5  # ``switch_up`` and ``switch_down`` hold two entries each, ``support_limit`` one

# Largest number of entries that a level adds to all families together, with every option that adds some.
ENTRIES_OF_A_LEVEL = 7
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Wins:
    """Pairs ``(i, k)`` that a program asks about, and which of them the limits of ``w`` decide."""

    pairs: Indices  # (p, 2): sorted, no pair twice
    state: NDArray[np.int8]  # (p,): 1 if every ``w`` of the box wins the pair, -1 if none does, 0 if it is open
    low: Floats  # (p,): range of ``w.(x_i - x_k)`` with at most ``max_features`` weights that are not 0
    high: Floats
    entries: Indices  # (p,): features in which the two rows differ

    @property
    def open(self) -> list[Pair]:
        """The open pairs."""
        return list(map(tuple, self.pairs[self.state == OPEN].tolist()))

    def of(self, i: int) -> slice:
        """Positions of the pairs of item ``i``."""
        return slice(*np.searchsorted(self.pairs[:, 0], (i, i + 1)).tolist())

    def only(self, wanted: NDArray[np.bool_]) -> "Wins":
        """The same, with pairs that nothing asks for any more left out."""
        return Wins(*(column[wanted] for column in vars(self).values()))


@dataclass(frozen=True, eq=False)
class Layout:
    """What a program consists of, known before Pyomo sees it; programs with ranks add their counts and levels."""

    instance: Instance
    wins: Wins
    gains: dict[Any, float]  # what the objective pays for each variable in it
    constant: float  # what is earned in any case
    nonzeros: int  # upper bound on the non-zeros of the constraint matrix

    @cached_property
    def gap(self) -> tuple[Indices, Floats]:
        """Pairs (g, 2) of ``win_when_above``, and their ``U_ik`` (g,)."""
        options, asked = self.instance.options, _in_gap(self.instance, self.wins)
        # Not below epsilon, so that no row is divided by a number near 0.
        most = np.maximum(self.wins.high[asked], options.epsilon)
        return self.wins.pairs[asked], np.ones(len(most)) if options.big_m == "unit" else most


def pair_layout(instance: Instance, wins: Wins, gains: Floats, constant: float, rows: int) -> Layout:
    """Layout of a program that pays ``gains`` for its pairs, each of them in ``rows`` rows."""
    paid = dict(zip(wins.open, gains[wins.state == OPEN].tolist()))
    constant += float(gains[wins.state == WON].sum())
    return Layout(instance, wins, paid, constant, nonzeros_bound(instance, wins, rows))


def nonzeros_bound(instance: Instance, wins: Wins, rows: int, levels: int = 0) -> int:
    """Upper bound on the non-zeros of a program that asks for the features of a pair in one row only. The variable of
    an open pair stands in at most so many ``rows``, and there are so many variables of ``levels``.
    """
    open_, gap = wins.state == OPEN, _in_gap(instance, wins)
    switches = ENTRIES_OF_A_FEATURE * instance.lower.size if instance.switched else 0
    asked = int((open_ & gap).sum() + wins.entries[gap].sum())  # win_when_above
    return asked + switches + int(rows * open_.sum() + wins.entries[open_].sum()) + ENTRIES_OF_A_LEVEL * levels


def _in_gap(instance: Instance, wins: Wins) -> NDArray[np.bool_]:
    """Pairs that need a row to keep their difference out of the gap between 0 and the margin."""
    if not instance.options.two_sided:
        return np.zeros(len(wins.pairs), np.bool_)
    # A box that wins a pair, or never puts i above k, says enough.
    return ((wins.state != WON) & (wins.high > 0)) | (instance.options.big_m == "unit")


Ask = Callable[[GradedList, Indices, Indices], NDArray[np.bool_]]


def asked_pairs(instance: Instance, name: str, ask: Ask, everyone: bool = False) -> Indices:
    """Pairs ``(i, k)`` of rows of one list for which ``ask`` says yes, given their places in the list. ``i`` runs over
    the relevant rows, or over all (``everyone``); more pairs than non-zeros allowed are too many.
    """
    starts = [np.arange(item.rows.size) if everyone else np.flatnonzero(item.grade) for item in instance.lists]
    looked_at = sum(places.size * item.rows.size for places, item in zip(starts, instance.lists))
    if looked_at > instance.options.max_nonzeros:
        raise ModelTooLarge(
            f"The {name} program would ask about {looked_at:,} pairs, above the limit of "
            f"{instance.options.max_nonzeros:,} non-zeros; rank fewer candidates or raise max_nonzeros."
        )
    found = [np.empty((0, 2), np.intp)]
    for places, item in zip(starts, instance.lists):
        i, k = np.repeat(places, item.rows.size), np.tile(np.arange(item.rows.size), places.size)
        kept = ask(item, i, k)
        found.append(np.stack([item.rows[i[kept]], item.rows[k[kept]]], axis=1))
    return np.concatenate(found)


def wins_of(instance: Instance, pairs: Indices) -> Wins:
    """Range of each pair's difference over the limits of ``w``, and what follows from it."""
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    low, high, size = np.empty((3, len(pairs)))
    entries = np.empty(len(pairs), np.intp)
    for part in _chunks(pairs, instance):
        difference = instance.X[pairs[part, 0]] - instance.X[pairs[part, 1]]
        low[part], high[part] = _ends(difference, instance.lower, instance.upper, instance)
        size[part] = (np.abs(difference) * np.maximum(np.abs(instance.lower), np.abs(instance.upper))).sum(axis=1)
        entries[part] = np.count_nonzero(difference, axis=1)
    state = np.zeros(len(pairs), np.int8)
    if instance.options.big_m == "pair":
        # The literal form keeps every pair, because each of its rows also limits w.
        epsilon, slack = instance.options.epsilon, ROUNDING * np.maximum(1.0, size)
        state[low >= epsilon] = WON
        state[high < epsilon] = LOST
        near = np.flatnonzero((np.abs(low - epsilon) <= slack) | (np.abs(high - epsilon) <= slack))
        state[near] = _exact_states(instance, pairs[near])
    return Wins(pairs, state, low, high, entries)


def _exact_states(instance: Instance, pairs: Indices) -> NDArray[np.int8]:
    """What the limits of ``w`` decide about pairs, in rationals: the margin and the differences as they were meant."""
    given = instance.options.scaled_from
    table = instance.X if given is None else np.asarray(given[0], dtype=np.float64)
    exact: Any = np.frompyfunc(Fraction, 1, 1)
    unit = 1 if given is None else exact(given[2]) - exact(given[1])
    # x_i - x_k is the sum of two doubles, its rounded value and the error of that; on a grid few of them differ.
    upper, lower = table[pairs[:, 0]], table[pairs[:, 1]]
    with np.errstate(over="ignore", invalid="ignore"):
        difference = upper - lower
        part = difference - upper
        error = (upper - (difference - part)) - (lower + part)
    steps, place = np.unique(np.hstack([difference, error]), axis=0, return_inverse=True)
    # Beyond the largest double nothing is decided, which is right too.
    found, finite = np.zeros(len(steps), np.int8), np.isfinite(steps).all(axis=1)
    apart = np.add(*np.split(exact(steps[finite]), 2, axis=1)) / unit
    least, most = _ends(apart, exact(instance.lower), exact(instance.upper), instance)
    margin = instance.options.margin
    found[finite] = np.where(least >= margin, WON, np.where(most >= margin, OPEN, LOST))
    return found[place.ravel()]


def _ends(difference: Any, lower: Any, upper: Any, instance: Instance) -> tuple[Any, Any]:
    """Least and largest ``w.difference`` of each row within limits of ``w``; rationals stay rationals."""
    ends = difference * lower, difference * upper
    return -reach(-np.minimum(*ends), instance), reach(np.maximum(*ends), instance)


def reach(most: Any, instance: Instance) -> Any:
    """Largest sum of one term a feature, where at most ``max_features`` weights may differ from 0."""
    limit, d = instance.options.max_features, instance.lower.size
    forced = (instance.lower > 0) | (instance.upper < 0)
    if limit is not None:
        limit += d - len(instance.counted) - int(forced.sum())  # of those that may be 0
    if limit is None or not 0 <= limit < d - forced.sum():
        return most.sum(axis=1)
    best = np.sort(np.maximum(most[:, ~forced], 0), axis=1)[:, d - forced.sum() - limit :]
    return most[:, forced].sum(axis=1) + best.sum(axis=1)


def _chunks(pairs: Indices, instance: Instance) -> Iterator[slice]:
    count, step = len(pairs), max(1, CHUNK // instance.X.shape[1])
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


def big_m(instance: Instance, wins: Wins) -> Floats:
    """``M_ik`` of ``M_ik z_ik <= w.(x_i - x_k) + M_ik - epsilon`` for the open pairs: 1, or the smallest valid one."""
    low, epsilon = wins.low[wins.state == OPEN], instance.options.epsilon
    # Not below epsilon, so that no row is divided by a number near 0.
    return np.ones(low.size) if instance.options.big_m == "unit" else np.maximum(epsilon - low, epsilon)


Slope = list[tuple[int, float]]


def slopes(instance: Instance, pairs: Indices, divisor: Floats) -> Iterator[tuple[Pair, Slope, float]]:
    """Each pair, the entries ``(j, a_j)`` of ``a = (x_i - x_k) / divisor`` that are not 0, and its divisor."""
    rows = ((instance.X[pairs[:, 0]] - instance.X[pairs[:, 1]]) / divisor[:, None]).tolist()
    for (i, k), row, number in zip(pairs.tolist(), rows, divisor.tolist()):
        yield (i, k), [(j, a) for j, a in enumerate(row) if a], number


def mutual_pairs(wins: Wins) -> list[Pair]:
    """Open pairs ``(i, k)``, ``i < k``, whose reverse is open too."""
    open_ = set(wins.open)
    return [(i, k) for i, k in wins.open if i < k and (k, i) in open_]


def differences(instance: Instance, wins: Wins, w: Floats) -> Floats:
    """``w.(x_i - x_k)`` of every pair asked about."""
    parts = [
        (instance.X[wins.pairs[part, 0]] - instance.X[wins.pairs[part, 1]]) @ w
        for part in _chunks(wins.pairs, instance)
    ]
    return np.concatenate([np.empty(0), *parts])
