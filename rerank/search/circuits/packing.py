r"""Sets of pairs that cannot all be won, and the bound they give where boxes say nothing: with nine features or more.

If ``lambda >= 0`` and the largest ``w . sum_p lambda_p D_p`` over all allowed weights is below
``epsilon sum_p lambda_p``, then no weights win every pair with ``lambda_p > 0``: such a set is a *circuit*.  Losing
pair p costs at least ``v_p``; so numbers ``q_S >= 0`` with ``sum_{S holds p} q_S <= v_p`` for every pair show that
every weight vector loses at least ``sum_S q_S``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors.stops import current
from rerank.problem.proof import Circuits as Record
from rerank.search.circuits.record import recorded, whole
from rerank.search.domain import Domain
from rerank.search.tables import Tables

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

FEWEST_FEATURES = 9  # with fewer, boxes are the better bound
MOST_PAIRS = 20_000  # of which linear programs are made
LEVELS = (1e-9, 0.02, 0.05, 0.1, 0.2)  # of the price of a pair, up to which circuits are looked for
ROUNDING = 1e-12


@dataclass(eq=False)
class Circuits:
    """A pool of circuits of the pairs of a problem.

    Parameters
    ----------
    tables : Tables
        Differences of coordinates.
    domain : Domain
    random_state : int
    """

    tables: Tables
    domain: Domain
    random_state: int = 0
    pool: list[Indices] = field(default_factory=list)
    multipliers: list[Floats] = field(default_factory=list)
    shares: Floats = field(default_factory=lambda: np.empty(0))  # of the best packing
    _programs: int = 0
    _until: float = np.inf

    def loss(self, programs: int, seconds: float = np.inf) -> float:
        """At least so much weight of pairs is lost by any weights.

        The weight of a pair is its loss where the value is linear in the lost pairs (AUC), otherwise its multiplicity.

        Parameters
        ----------
        programs : int
            Linear programs after which to stop.
        seconds : float
            Seconds after which to stop.
        """
        self._programs, self._until = programs, time.perf_counter() + seconds
        rng = np.random.default_rng([self.random_state, 7])
        z, best, level = np.zeros(self.tables.size), 0.0, 0
        if self.pool:  # of an earlier call
            self.shares, z = self._packed()
            best = float(self.shares.sum())
        while level < len(LEVELS) and not self._over:
            # Circuits of pairs that cost little so far are those that raise the bound.
            cheap = np.flatnonzero(z <= LEVELS[level])
            cheap = cheap[rng.random(cheap.size) < (1.0 if level == 0 else 0.8)]
            found = [c for c in self._disjoint(cheap) if z[c[0]].sum() < 1.0 - 1e-6]
            if found:
                self.pool += [pairs for pairs, _ in found]
                self.multipliers += [weight for _, weight in found]
                q, z = self._packed()
                if q.sum() > best:
                    best, self.shares = float(q.sum()), q
            level = 0 if found else level + 1
        return best

    @property
    def _over(self) -> bool:
        return self._programs <= 0 or current().now or time.perf_counter() > self._until

    def recorded(self, every: bool = False) -> Record:
        """The circuits of the best packing, for a proof; or ``every`` circuit, without shares."""
        if every:
            shares = np.zeros(len(self.pool))
            some, t = np.arange(shares.size), self.tables
        else:
            some, t, shares = np.flatnonzero(self.shares > 0), self.tables, self.shares
        pairs = [list(zip(t.upper[c].tolist(), t.lower[c].tolist(), strict=True)) for c in self.pool]
        return recorded(
            [pairs[i] for i in some], [whole(self.multipliers[i]) for i in some], shares[some], []
        )

    def _disjoint(self, free: Indices) -> list[tuple[Indices, Floats]]:
        """Circuits that share no pair, one linear program each, until the pairs left can be won together."""
        made: list[tuple[Indices, Floats]] = []
        while free.size and not self._over:
            found = self._refuted(free)
            if found is None:
                break
            made.append(found)
            free = np.setdiff1d(free, found[0], assume_unique=True)
        return made

    def _refuted(self, pairs: Indices) -> tuple[Indices, Floats] | None:
        """A circuit among the pairs, and multipliers; None if all can be won.

        A linear program has them: the largest margin with which all pairs are won.
        """
        self._programs -= 1
        D = self.tables.pairs[:, pairs]
        d, n = D.shape
        bounds = [*zip(self.domain.lower, self.domain.upper, strict=True), (None, None)]
        given = _solved(np.append(np.zeros(d), -1.0), np.column_stack([-D.T, np.ones(n)]), np.zeros(n), bounds)
        if given is None or -given.fun >= self.tables.epsilon:
            return None
        return self._checked(pairs, -given.ineqlin.marginals)

    def _checked(self, pairs: Indices, multipliers: Floats) -> tuple[Indices, Floats] | None:
        """The pairs with a multiplier, if the multipliers show that they are a circuit, rounding included."""
        some = multipliers > 1e-9
        chosen, weight = pairs[some], multipliers[some]
        t, total = self.tables, float(multipliers[some].sum())
        y = t.pairs[:, chosen] @ weight
        most = float(np.maximum(self.domain.lower * y, self.domain.upper * y).sum())
        return (chosen, weight) if most + (t.tolerance + ROUNDING) * total < t.epsilon * total else None

    def _packed(self) -> tuple[Floats, Floats]:
        """The best packing of the pool, feasible after rounding, and the prices of the pairs."""
        from scipy.sparse import csr_array

        t = self.tables
        sizes = [circuit.size for circuit in self.pool]
        columns = np.repeat(np.arange(len(self.pool)), sizes)
        rows = np.concatenate(self.pool)
        holds = csr_array((np.ones(rows.size), (rows, columns)), shape=(t.size, len(self.pool)))
        given = _solved(-np.ones(len(self.pool)), holds, t.weight, (0, None))
        if given is None:
            return np.zeros(len(self.pool)), np.zeros(t.size)
        q = np.maximum(given.x, 0.0)
        used = holds @ q
        over = float(np.max(used / np.maximum(t.weight, 1e-300), initial=1.0))
        return q / over * (1.0 - ROUNDING * len(self.pool)), -given.ineqlin.marginals


def _solved(cost: Any, A: Any, b: Any, bounds: Any) -> Any:
    """The solution of ``min cost.x`` with ``A x <= b``; None where there is none."""
    from scipy.optimize import linprog

    given = linprog(cost, A_ub=A, b_ub=b, bounds=bounds, method="highs")
    return given if given.status == 0 else None


def circuits_of(t: Any, domain: Domain, random_state: int, proof: bool = False) -> Circuits | None:
    """A pool for a problem that circuits may bound; None for the others.

    The pairs must be few enough for linear programs, the features too many for boxes.  A statistic that is not linear
    must be that of a single binary list, and a ``proof`` is about one.
    """
    pool = pool_of(t, domain, random_state)
    if pool is None:
        return None
    one = t.unit_start.size == 2 and bool((t.span == 1).all())
    return pool if one or (t.linear and not proof) else None


def pool_of(t: Any, domain: Domain, random_state: int) -> Circuits | None:
    """A pool for the rows of a program, whatever the statistic; None for too many pairs or too few features."""
    if not isinstance(t, Tables) or t.n_features < FEWEST_FEATURES or t.size > MOST_PAIRS:
        return None
    return Circuits(t, domain, random_state)


def bound_of_loss(t: Tables, lost: float) -> float:
    """The largest value, in the tables' unit, of any weights that lose at least so much weight of pairs.

    A statistic that is not linear needs a single binary list.  Which positive loses how many pairs is left open, and so
    is that a positive with fewer lost pairs stands higher: more is allowed than weights can do.
    """
    if t.linear:
        return t.total - (np.ceil(lost - 1e-6) if t.integral else lost)
    missing = int(np.ceil(lost - 1e-6))
    positives = t.unit_of.size
    most = int(np.bincount(t.slot, t.multiplicity, positives).max()) if t.size else 0
    coef = np.zeros(positives + most + 1)
    coef[: min(t.coef.size, coef.size)] = t.coef[: coef.size]
    best = np.full(missing + 1, -np.inf)  # best[m]: the largest value with m pairs still to be lost
    best[missing] = 0.0
    for j in range(positives):
        after = np.full(missing + 1, -np.inf)
        for m in range(missing + 1):
            if best[m] > -np.inf:
                worth = best[m] + coef[j : j + most + 1]
                n = min(m, most)
                after[m - n : m + 1] = np.maximum(after[m - n : m + 1], worth[: n + 1][::-1])
        best = after
    return float(best[0]) if best[0] > -np.inf else 0.0
