"""Sums of ``log2(1 + E_j / e)`` as the logarithm of a product."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from rerank.latent.rows import FAST, exp2

LANES = 64  # products that are built side by side
RANGE = np.float32(60.0)  # below the best score; two factors of 2^60 are still a float32


@njit(cache=True, nogil=True, fastmath=FAST)
def powers(row: Any) -> Any:
    """``row = 2^(row - top)``, and ``top``, its largest entry; scores ``RANGE`` below it are lifted to that."""
    top = row[0]
    for j in range(row.size):
        top = max(top, row[j])
    for j in range(row.size):
        row[j] = max(row[j] - top, -RANGE)
    exp2(row, row.view(np.int32), row.size)
    return top


@njit(cache=True, nogil=True)
def _take_exponents(bits: Any, exponent: Any) -> None:
    """Leave mantissas, 1 or more and below 2, in ``bits``."""
    for l in range(LANES):
        exponent[l] += (bits[l] >> 23) - 127
        bits[l] = (bits[l] & 0x7FFFFF) | 0x3F800000


@njit(cache=True, nogil=True, fastmath=FAST)
def log_of_product(E: Any, e: Any, product: Any, bits: Any, exponent: Any) -> Any:
    """``sum_j log2(1 + E_j / e)`` with one logarithm.

    ``product`` and ``bits`` are the same memory, float32 and int32 (LANES,): after two factors the exponent of a
    product goes to ``exponent`` (int32), and its mantissa stays.
    """
    inverse = np.float32(1.0) / e
    for l in range(LANES):
        product[l] = np.float32(1.0)
        exponent[l] = 0
    j = 0
    while j + 2 * LANES <= E.size:
        one = E[j : j + LANES]
        two = E[j + LANES : j + 2 * LANES]
        for l in range(LANES):
            product[l] *= (np.float32(1.0) + one[l] * inverse) * (np.float32(1.0) + two[l] * inverse)
        _take_exponents(bits, exponent)
        j += 2 * LANES
    while j < E.size:
        rest = E[j : min(j + LANES, E.size)]
        for l in range(rest.size):
            product[l] *= np.float32(1.0) + rest[l] * inverse
        j += LANES
    _take_exponents(bits, exponent)
    total = 0.0
    together = 1.0
    for l in range(LANES):
        total += exponent[l]
        together *= product[l]
    return total + math.log2(together)
