"""Sums of ``log2(1 + E_j / e)`` as the logarithm of a product."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from rerank.latent.kernels.rows import FAST, exp2

LANES = 64  # products that are built side by side
MOST = 16  # pairs of factors before exponents are taken off
RANGE = np.float32(60.0)  # below the best score; two factors of 2^60 are still a float32


@njit(cache=True, nogil=True, fastmath=FAST)
def powers(row: Any, top: Any) -> None:
    """``row = 2^(row - top)``; scores more than ``RANGE`` below ``top``, the largest, are lifted to that."""
    for j in range(row.size):
        row[j] = max(row[j] - top, -RANGE)
    exp2(row, row.size)


@njit(cache=True, nogil=True)
def _take_exponents(bits: Any, exponent: Any) -> None:
    """Leave mantissas, 1 or more and below 2, in ``bits``."""
    for l in range(LANES):
        exponent[l] += (bits[l] >> 23) - 127
        bits[l] = (bits[l] & 0x7FFFFF) | 0x3F800000


@njit(cache=True, nogil=True, fastmath=FAST)
def log_of_product(E: Any, e: Any, product: Any, bits: Any, exponent: Any) -> Any:
    """``sum_j log2(1 + E_j / e)`` with two logarithms, for ``E <= 1``.

    ``product`` and ``bits`` are the same memory, float32 and int32 (LANES,): before a product can be too large, its
    exponent goes to ``exponent`` (int32), and its mantissa stays.
    """
    inverse = np.float32(1.0) / e
    for l in range(LANES):
        product[l] = np.float32(1.0)
        exponent[l] = 0
    pairs = min(max(int(np.float32(63.0) / np.log2(np.float32(1.0) + inverse)), 1), MOST)
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
        # Mantissas below 2: 32 of them fit into a float32.
        for l in range(half):
            product[l] *= product[l + half]
        half //= 2
    return total + math.log2(product[0]) + math.log2(product[1])
