"""What tables of pairs and tables of rows share: what places earn, and where the parts of a flat array begin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

MOST_NUMBERS = 10_000_000
"""Numbers that a covariance is computed from."""


class Slots(NamedTuple):
    """The slots of binary lists, and what their places earn; kernels take it as it is.

    ``unit_start``, ``unit_slots`` and ``unit_of`` are the slots of each list, and the list of each slot.  ``coef`` from
    ``coef_start`` on is what the places of each list earn, best place first, without trailing zeros; ``hits`` is what
    its j-th best item multiplies that with, as in ``unit_slots``.
    """

    unit_start: Any
    unit_slots: Any
    unit_of: Any
    coef_start: Any
    coef: Any
    hits: Any


def places_of(factor: float, coefficients: Floats) -> Floats:
    """What the places of a list earn, best place first, without those at the end that earn nothing."""
    coef = factor * coefficients[::-1]
    return coef[: np.flatnonzero(coef > 0).max(initial=0) + 1]


def last_hit(hits: NDArray[np.int64]) -> int:
    """How many of the best relevant rows can earn something, by the weights of hits."""
    return int(np.flatnonzero(hits).max(initial=-1)) + 1


def starts(parts: Sequence[NDArray[Any]]) -> Ints:
    """Where each of the arrays begins once they stand one after the other, and where the last ends."""
    return np.concatenate([[0], np.cumsum([part.size for part in parts], dtype=np.int64)]).astype(np.int32)


def writable(parts: Any) -> Any:
    """A tuple of arrays and numbers for a kernel, which is compiled for plain arrays; processes get read-only maps."""
    made = [
        np.require(x, requirements=["C", "W"]) if isinstance(x, np.ndarray)
        else writable(x) if isinstance(x, tuple) else x
        for x in parts
    ]  # fmt: skip
    return type(parts)(*made)
