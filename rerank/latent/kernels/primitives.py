"""What the compiled steps share: vectors of d numbers, powers of two, random numbers, logarithms of products."""

import math
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

from rerank.errors.kernels import kept

# Sums may be taken in any order, which fills the vector unit; NaN and infinity keep their meaning.
FAST = {"reassoc", "nsz", "contract"}
ONE, ZERO, TINY = np.float32(1.0), np.float32(0.0), np.float32(1e-12)
# Coefficients of 2^x on [-1/2, 1/2], interpolated at Chebyshev nodes: error at most 1e-8, in float32 6e-8.
_EXP2 = tuple(
    np.float32(c)
    for c in Chebyshev.interpolate(np.exp2, 6, domain=[-0.5, 0.5]).convert(kind=Polynomial, domain=[-1, 1]).coef
)
LANES = 64  # products that are built side by side
RANGE = np.float32(60.0)  # scores below the best by more are raised to this; two factors of 2^60 fit into a float32
_MOST_PAIRS = 16  # pairs of factors before exponents are taken off


@kept()
def floats(n: int) -> Any:
    """An uninitialised float32 array (n,)."""
    return np.empty(n, dtype=np.float32)


@kept(fastmath=FAST)
def dot(a: Any, b: Any) -> Any:
    """``a . b``, in float32."""
    s = np.float32(0.0)
    for k in range(a.size):
        s += a[k] * b[k]
    return s


@kept(fastmath=FAST)
def shrink_and_add(keep: Any, c: Any, a: Any, b: Any) -> None:
    """``b = keep b + c a``."""
    for k in range(a.size):
        b[k] = keep * b[k] + c * a[k]


@kept(fastmath=FAST)
def step_length(rate: Any, adaptive: bool, square: Any, G: Any, i: int) -> Any:
    """Step length of row i, whose gradient has the mean square ``square``. With AdaGrad [DuchiHazanSinger2011], applied
    by rows, ``G`` sums the squares, so that the root mean square of a step is at most ``rate``. Without it every step
    has length ``rate``.
    """
    if not adaptive:
        return rate
    G[i] += square
    return rate / np.sqrt(G[i] + TINY)


@kept(fastmath=FAST)
def exp2(f: Any, n: int) -> None:
    """Replace the first ``n`` numbers of ``f``, all in -126 .. 126, by ``2^f``; relative error at most 3e-7."""
    c0, c1, c2, c3, c4, c5, c6 = _EXP2
    exponent = np.empty(n, dtype=np.int32)
    for i in range(n):
        whole = np.floor(f[i] + np.float32(0.5))
        x = f[i] - whole
        f[i] = c0 + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * (c5 + x * c6)))))
        exponent[i] = (np.int32(whole) + np.int32(127)) << np.int32(23)
    # A separate loop: one memory read as two types would keep the loop above from being vectorised.
    factor = exponent.view(np.float32)
    for i in range(n):
        f[i] *= factor[i]


@kept()
def random_bits(state: Any) -> Any:
    """64 random bits; ``state`` is a uint64 array (1,), stepped as in SplitMix64 [SteeleLeaFlood2014]."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kept()
def below(z: Any, n: int) -> Any:
    """A number 0 .. n - 1 from the high half of 64 random bits."""
    # Multiply and shift: no division, and the chance of a number is off by n / 2^32 at most.
    return np.int64(((z >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@kept()
def draw(state: Any, n: int) -> Any:
    """A number 0 .. n - 1."""
    return below(random_bits(state), n)


@kept(fastmath=FAST)
def powers(row: Any, top: Any) -> None:
    """``row = 2^(row - top)`` for the largest score ``top``; scores below ``top - RANGE`` count as ``top - RANGE``."""
    for j in range(row.size):
        row[j] = max(row[j] - top, -RANGE)
    exp2(row, row.size)


@kept()
def _take_exponents(bits: Any, exponent: Any) -> None:
    """Add the exponents to ``exponent`` and leave the mantissas, in [1, 2), in ``bits``."""
    for l in range(LANES):
        exponent[l] += (bits[l] >> 23) - 127
        bits[l] = (bits[l] & 0x7FFFFF) | 0x3F800000


@kept(fastmath=FAST)
def log_of_product(E: Any, e: Any, product: Any, bits: Any, exponent: Any) -> Any:
    """``sum_j log2(1 + E_j / e)`` for ``E <= 1``, as the logarithm of a product. ``product`` and ``bits`` are the same
    memory, float32 and int32 (LANES,). Before a product overflows, its exponent is added to ``exponent`` (int32) and
    its mantissa is kept.
    """
    inverse = np.float32(1.0) / e
    for l in range(LANES):
        product[l] = np.float32(1.0)
        exponent[l] = 0
    pairs = min(max(int(np.float32(63.0) / np.log2(np.float32(1.0) + inverse)), 1), _MOST_PAIRS)
    left = pairs
    j = 0
    while j + 2 * LANES <= E.size:
        one = E[j : j + LANES]
        two = E[j + LANES : j + 2 * LANES]
        for l in range(LANES):
            product[l] *= (np.float32(1.0) + one[l] * inverse) * (np.float32(1.0) + two[l] * inverse)
        j += 2 * LANES
        left -= 1
        if left == 0:
            _take_exponents(bits, exponent)
            left = pairs
    _take_exponents(bits, exponent)
    while j < E.size:
        rest = E[j : min(j + LANES, E.size)]
        for l in range(rest.size):
            product[l] *= np.float32(1.0) + rest[l] * inverse
        j += LANES
    _take_exponents(bits, exponent)
    total = 0
    for l in range(LANES):
        total += exponent[l]
    half = LANES // 2
    while half > 1:
        # Mantissas are below 2, so a product of 32 fits into a float32.
        for l in range(half):
            product[l] *= product[l + half]
        half //= 2
    return total + math.log2(product[0]) + math.log2(product[1])
