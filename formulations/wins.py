"""Who beats whom: pairs, what the box says about them, and the row that ties ``z_ik`` to ``w``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from formulations.data import Floats, GradedList, Indices
from formulations.errors import ModelTooLarge
from formulations.options import Instance, Size
from formulations.rows import Row, linear

LOST, OPEN, WON = -1, 0, 1

# A difference this close to the margin is left to the solver, whose own tolerance is far larger.
ROUNDING = 1e-12
CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class Wins:
    """Pairs ``(i, k)`` that a program asks about, and which of them the limits of ``w`` decide.

    Attributes
    ----------
    pairs : intp array (p, 2)
        Sorted, no pair twice.
    state : int8 array (p,)
        1 if every ``w`` of the box wins the pair, -1 if none does, 0 if it is open and gets a variable.
    low, high : float64 arrays (p,)
        Range of ``w.(x_i - x_k)`` over the box, with at most ``max_features`` non-zero weights.
    entries : intp array (p,)
        Features in which the two rows differ.
    """

    pairs: Indices
    state: NDArray[np.int8]
    low: Floats
    high: Floats
    entries: Indices

    @property
    def open(self) -> Indices:
        """The open pairs, (q, 2)."""
        return self.pairs[self.state == OPEN]

    def of(self, i: int) -> slice:
        """Positions of the pairs of item ``i``."""
        return slice(*np.searchsorted(self.pairs[:, 0], (i, i + 1)).tolist())

    def only(self, wanted: NDArray[np.bool_]) -> Wins:
        """The same, with pairs that nothing asks for any more left out."""
        columns = ("pairs", "state", "low", "high", "entries")
        return replace(self, **{name: getattr(self, name)[wanted] for name in columns})

    def size(self) -> Size:
        """Columns ``z`` and rows ``above_by_margin``."""
        open_ = self.state == OPEN
        count = int(open_.sum())
        return Size(count, count, count + int(self.entries[open_].sum()))


Ask = Callable[[GradedList, Indices, Indices], NDArray[np.bool_]]


def asked_pairs(instance: Instance, name: str, ask: Ask, everyone: bool = False) -> Indices:
    """Pairs ``(i, k)`` of rows of one list for which ``ask`` says yes, given their places in the list.

    Parameters
    ----------
    name : str
        Of the program, for the error.
    ask : callable
    everyone : bool
        Whether ``i`` runs over all rows of the list or the relevant ones.

    Raises
    ------
    ModelTooLarge
        If there are more pairs to look at than non-zeros allowed.
    """
    starts = [
        np.arange(item.rows.size) if everyone else np.flatnonzero(item.grade) for item in instance.lists
    ]
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
    low, high = np.empty((2, len(pairs)))
    entries = np.empty(len(pairs), np.intp)
    for part in _chunks(len(pairs)):
        difference = instance.X[pairs[part, 0]] - instance.X[pairs[part, 1]]
        ends = difference * instance.lower, difference * instance.upper
        low[part] = -_reach(-np.minimum(*ends), instance)
        high[part] = _reach(np.maximum(*ends), instance)
        entries[part] = np.count_nonzero(difference, axis=1)
    state = np.zeros(len(pairs), np.int8)
    if instance.options.big_m == "pair":
        # The literal form keeps every pair, because each of its rows also limits w.
        state[low >= instance.options.epsilon] = WON
        state[high < instance.options.epsilon - ROUNDING] = LOST
    return Wins(pairs, state, low, high, entries)


def _reach(most: Floats, instance: Instance) -> Floats:
    """Largest sum of one term a feature, where at most ``max_features`` weights may differ from 0."""
    limit, d = instance.options.max_features, most.shape[1]
    forced = (instance.lower > 0) | (instance.upper < 0)
    if limit is None or limit >= d or forced.sum() > limit:
        return most.sum(axis=1)
    free = np.maximum(most[:, ~forced], 0.0)
    kept = limit - int(forced.sum())
    best = np.sort(free, axis=1)[:, free.shape[1] - kept :] if kept < free.shape[1] else free
    return most[:, forced].sum(axis=1) + best.sum(axis=1)


def _chunks(count: int) -> Iterator[slice]:
    return (slice(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK))


def switch(instance: Instance, low: Floats) -> Floats:
    """``M_ik`` of ``M_ik z_ik <= w.(x_i - x_k) + M_ik - epsilon``: 1, or the smallest valid one."""
    epsilon = instance.options.epsilon
    # Not below epsilon, so that no row is divided by a number near 0.
    return np.ones(low.size) if instance.options.big_m == "unit" else np.maximum(epsilon - low, epsilon)


def pair_rows(model: pyo.ConcreteModel, instance: Instance, wins: Wins) -> dict[tuple[int, int], Row]:
    """``above_by_margin``: ``z_ik - w.(x_i - x_k) / M_ik <= (M_ik - epsilon) / M_ik`` for the open pairs."""
    pairs = wins.open
    big = switch(instance, wins.low[wins.state == OPEN])
    slopes = ((instance.X[pairs[:, 1]] - instance.X[pairs[:, 0]]) / big[:, None]).tolist()
    sides = ((big - instance.options.epsilon) / big).tolist()
    w, z = list(model.w.values()), model.z
    rows: dict[tuple[int, int], Row] = {}
    for pair, slope, side in zip(map(tuple, pairs.tolist()), slopes, sides):
        kept = [j for j, a in enumerate(slope) if a]
        rows[pair] = None, linear([1.0, *(slope[j] for j in kept)], [z[pair], *(w[j] for j in kept)]), side
    return rows


def mutual_pairs(wins: Wins) -> list[tuple[int, int]]:
    """Open pairs ``(i, k)``, ``i < k``, whose reverse is open too."""
    open_ = set(map(tuple, wins.open.tolist()))
    return [(i, k) for i, k in wins.open.tolist() if i < k and (k, i) in open_]


def one_above(z: pyo.Var, pairs: list[tuple[int, int]]) -> dict[tuple[int, int], Row]:
    """``z_ik + z_ki <= 1``: two items cannot both be above each other."""
    return {(i, k): (None, linear([1.0, 1.0], [z[i, k], z[k, i]]), 1.0) for i, k in pairs}


def differences(instance: Instance, wins: Wins, w: Floats) -> Floats:
    """``w.(x_i - x_k)`` of every pair asked about."""
    parts = [
        (instance.X[wins.pairs[part, 0]] - instance.X[wins.pairs[part, 1]]) @ w
        for part in _chunks(len(wins.pairs))
    ]
    return np.concatenate([np.empty(0), *parts])


def won(instance: Instance, wins: Wins, w: Floats, tolerance: float) -> NDArray[np.bool_]:
    """For every pair asked about whether ``w`` wins it, to within ``tolerance``."""
    reached = differences(instance, wins, w) >= instance.options.epsilon - tolerance
    return (wins.state == WON) | ((wins.state == OPEN) & reached)


def outside_unit_range(instance: Instance, wins: Wins, w: Floats, tolerance: float) -> str | None:
    """The pair whose loss is too large for the literal form, or None."""
    difference = differences(instance, wins, w)
    low = instance.options.epsilon - 1
    if not (difference < low - tolerance).any():
        return None
    i, k = wins.pairs[difference.argmin()].tolist()
    return f"above_by_margin[{i},{k}]: w.(x_{i} - x_{k}) = {difference.min():.6g} is below epsilon - 1"
