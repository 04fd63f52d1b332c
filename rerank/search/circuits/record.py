"""What circuits show, as whole numbers for a proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.problem.proof import WHOLE, Circuits

Arrays = dict[str, NDArray[Any]]
Pair = tuple[int, int]
UNIT = 2.0**60  # the multipliers of a circuit add up to no more; doubles lose less than the rounding allowed for


@dataclass(eq=False)
class Shown:
    """The lowest bound by circuits, in the tables' unit, and the circuits that show it; ``inf`` without any."""

    bound: float = np.inf
    circuits: Circuits | None = None

    def take(self, bound: float, circuits: Circuits) -> None:
        """Keep the circuits if they show a lower bound."""
        if bound < self.bound:
            self.bound, self.circuits = bound, circuits

    def arrays(self) -> Arrays:
        """The circuits as flat arrays."""
        return {f"circuit_{name}": part for name, part in vars(self.circuits or Circuits.none()).items()}

    @classmethod
    def of(cls, bound: float, arrays: Arrays) -> Shown:
        """Those that :meth:`arrays` described."""
        parts = {f.name: arrays[f"circuit_{f.name}"] for f in fields(Circuits)}
        known = Circuits(**{**parts, "pairs": parts["pairs"].reshape(-1, 2)})
        return cls(bound, known if known.sizes.size else None)


def recorded(
    pairs: Sequence[Sequence[Pair]], multipliers: Sequence[Sequence[int]], shares: NDArray[np.float64], least: Any
) -> Circuits:
    """Circuits for a proof.

    Parameters
    ----------
    pairs : sequence of sequence of (upper, lower)
        Rows of the pairs of each circuit.
    multipliers : sequence of sequence of int
        Positive.
    shares : float64 (number of circuits,)
        Pairs that each circuit costs; rounded down.
    least : int array
        Pairs that the j-th best positive loses at least.
    """
    return Circuits(
        np.array([len(c) for c in pairs], np.int64),
        np.array([p for c in pairs for p in c], np.int64).reshape(-1, 2),
        np.array([m for c in multipliers for m in c], np.int64),
        np.floor(shares * WHOLE).astype(np.int64),
        np.array(least, np.int64),
    )


def whole(multipliers: NDArray[np.float64]) -> list[int]:
    """Multipliers as whole numbers, with :data:`UNIT` as their sum but for what rounding down takes."""
    return [int(m) for m in (multipliers * (UNIT / multipliers.sum())).tolist()]


def paired(rows: Sequence[int], positive: Sequence[bool], shares: Sequence[float]) -> tuple[list[Pair], list[int]]:
    """Pairs with multipliers for the shares of some rows; positives and negatives have equally large shares in all."""
    parts = list(zip(rows, positive, [int(share * UNIT) for share in shares], strict=True))
    ahead, behind = ([[row, part] for row, one, part in parts if one is side] for side in (True, False))
    off = sum(s for _, s in ahead) - sum(s for _, s in behind)
    fewer = behind if off > 0 else ahead
    max(fewer, key=lambda part: part[1])[1] += abs(off)
    pairs, multipliers = [], []
    while ahead and behind:
        (i, a), (k, b) = ahead[-1], behind[-1]
        if min(a, b) > 0:
            pairs.append((i, k))
            multipliers.append(min(a, b))
        ahead[-1][1] -= min(a, b)
        behind[-1][1] -= min(a, b)
        for side in (ahead, behind):
            if not side[-1][1]:
                side.pop()
    return pairs, multipliers
