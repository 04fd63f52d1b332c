"""The items y' of a visit: which are drawn, and what a draw is worth.

A share ``p`` is drawn by popularity, as the items of random records of the sub-block, the others evenly among its
``B`` items.  With ``n_j`` records each, ``o_j = 1 / (1 - p + p n_j B / sum n)``, one over ``B`` times the chance of a
draw, makes up for it: the mean of ``o_j h_j`` over draws is the even mean of ``h``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from rerank.latent.kernels.rows import below, mixed

HALF = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True)
def odds_of(where: Any, B: int, popular: float) -> Any:
    """``o``, float32 (B,), for records whose items are ``where``."""
    odds = np.zeros(B, dtype=np.float32)
    for r in range(where.size):
        odds[where[r]] += np.float32(1.0)
    even = B / where.size
    for y in range(B):
        odds[y] = 1.0 / (1.0 - popular + popular * odds[y] * even)
    return odds


@njit(cache=True, nogil=True)
def draw_others(where: Any, B: int, popular: float, other: Any, state: Any) -> None:
    """Fill ``other``: the low half of 64 random bits says how an item is drawn, the high half which."""
    share = np.uint64(popular * 2.0**32)
    for j in range(other.size):
        z = mixed(state)
        by_record = where[below(z, where.size)]  # read in any case, so that nothing waits for the choice
        evenly = below(z, B)
        other[j] = by_record if z & HALF < share else evenly
