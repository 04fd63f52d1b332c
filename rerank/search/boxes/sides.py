"""Splitting a box between the two sides of a line, compiled (see :mod:`rerank.search.boxes.antiparallel`)."""

from __future__ import annotations

from typing import Any

from numba import njit

SHARE = 0.08  # a line is split on when its lighter side holds this share of the undecided weight
NEVER = -1e300


@njit(cache=True, nogil=True)
def impose(M: Any, G: Any, forces: Any, chosen: Any) -> None:
    """Count the pairs on the sides that were not chosen as lost; ``chosen`` is scratch, zero before and after."""
    for x in forces:
        chosen[abs(x)] = 1 if x > 0 else -1
    chosen[0] = 0
    for p in range(M.size):
        g = G[p]
        if chosen[abs(g)] * g < 0:
            M[p] = NEVER
    for x in forces:
        chosen[abs(x)] = 0


@njit(cache=True, nogil=True)
def heaviest(G: Any, weight: Any, forward: Any, backward: Any) -> int:
    """The line with most undecided weight on its lighter side; 0 where that is too little to split on."""
    total = 0.0
    for p in range(G.size):
        forward[abs(G[p])] = 0.0
        backward[abs(G[p])] = 0.0
    for p in range(G.size):
        total += weight[p]
        if G[p] > 0:
            forward[G[p]] += weight[p]
        elif G[p] < 0:
            backward[-G[p]] += weight[p]
    best = 0
    most = SHARE * total
    for p in range(G.size):
        g = abs(G[p])
        lighter = min(forward[g], backward[g])
        if g != 0 and lighter > most:
            most = lighter
            best = g
    return best
