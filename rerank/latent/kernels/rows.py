"""Vectors of d numbers, powers of two, and random numbers: the pieces the compiled steps are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.polynomial import Chebyshev, Polynomial

# Sums may be taken in any order, which fills the vector unit; NaN and infinity keep their meaning.
FAST = {"reassoc", "nsz", "contract"}
# Of 2^x on [-1/2, 1/2], by interpolation at Chebyshev nodes: off by 1e-8 at most, a float32 by 6e-8.
EXP2 = tuple(
    np.float32(c)
    for c in Chebyshev.interpolate(np.exp2, 6, domain=[-0.5, 0.5])
    .convert(kind=Polynomial, domain=[-1, 1])
    .coef
)


@njit(cache=True, nogil=True)
def floats(n: int) -> Any:
    """Room for n numbers."""
    return np.empty(n, dtype=np.float32)


@njit(cache=True, nogil=True, fastmath=FAST)
def dot(a: Any, b: Any) -> Any:
    """``a . b``, in float32."""
    s = np.float32(0.0)
    for k in range(a.size):
        s += a[k] * b[k]
    return s


@njit(cache=True, nogil=True, fastmath=FAST)
def shrink_and_add(keep: Any, c: Any, a: Any, b: Any) -> None:
    """``b = keep b + c a``."""
    for k in range(a.size):
        b[k] = keep * b[k] + c * a[k]


@njit(cache=True, nogil=True, fastmath=FAST)
def exp2(f: Any, n: int) -> None:
    """The first ``n`` of ``f``, within -126 .. 126, become powers of two, to 3e-7 of each."""
    c0, c1, c2, c3, c4, c5, c6 = EXP2
    exponent = np.empty(n, dtype=np.int32)
    for i in range(n):
        whole = np.floor(f[i] + np.float32(0.5))
        x = f[i] - whole
        f[i] = c0 + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * (c5 + x * c6)))))
        exponent[i] = (np.int32(whole) + np.int32(127)) << np.int32(23)
    # In a loop of its own: the same memory as two types would keep the one above from the vector unit.
    factor = exponent.view(np.float32)
    for i in range(n):
        f[i] *= factor[i]


@njit(cache=True, nogil=True)
def mixed(state: Any) -> Any:
    """64 random bits; ``state`` is a uint64 array (1,), stepped as in SplitMix64 [SteeleLeaFlood2014]."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def below(z: Any, n: int) -> Any:
    """A number 0 .. n - 1 from the high half of 64 random bits."""
    # Times n, shifted down: without a division, and off by n / 2^32 at most.
    return np.int64(((z >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def draw(state: Any, n: int) -> Any:
    """A number 0 .. n - 1."""
    return below(mixed(state), n)
