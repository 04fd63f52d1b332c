"""Vectors of d numbers, and random numbers: the pieces the compiled steps are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# Sums may be taken in any order, which fills the vector unit; NaN and infinity keep their meaning.
FAST = {"reassoc", "nsz", "contract"}


@njit(cache=True, nogil=True, fastmath=FAST)
def dot(a: Any, b: Any) -> Any:
    """``a . b``, in float32."""
    s = np.float32(0.0)
    for k in range(a.size):
        s += a[k] * b[k]
    return s


@njit(cache=True, nogil=True, fastmath=FAST)
def add(c: Any, a: Any, b: Any) -> None:
    """``b += c a``."""
    for k in range(a.size):
        b[k] += c * a[k]


@njit(cache=True, nogil=True, fastmath=FAST)
def shrink_and_add(keep: Any, c: Any, a: Any, b: Any) -> None:
    """``b = keep b + c a``."""
    for k in range(a.size):
        b[k] = keep * b[k] + c * a[k]


@njit(cache=True, nogil=True)
def draw(state: Any, n: int) -> Any:
    """A number 0 .. n - 1; ``state`` is a uint64 array (1,), stepped as in SplitMix64 [SteeleLeaFlood2014]."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    # The high half times n, shifted down: without a division, and off by n / 2^32 at most.
    return np.int64(((z >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))
