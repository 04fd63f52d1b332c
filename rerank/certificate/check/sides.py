"""Subtrees that share their undecided pairs, and the sides of lines chosen inside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.certificate.check.pairs import Indices, Mask
from rerank.certificate.check.tree import Boxes, Floats


@dataclass(frozen=True, eq=False)
class Branch:
    """Subtrees that share the pairs still undecided, and the lost counts of the decided ones.

    ``hull`` is the box in which they were decided last.
    """

    boxes: Boxes
    open: Indices
    lost: NDArray[np.int64]
    hull: tuple[Floats, Floats] | None = None


class Sides:
    """Sets of sides of lines, in one batch: which open pairs each loses, whether it leaves no weights."""

    def __init__(self, branch: Branch, side: Callable[[Branch, int], tuple[Mask, bool]]) -> None:
        self.branch, self.side = branch, side
        self.masks = [np.zeros(branch.open.size, dtype=bool)]
        self.empty = [False]
        self.known: dict[tuple[int, int], int] = {}

    def add(self, base: int, side: int) -> int:
        """Number of the set that adds the side ``g`` (``w.D_g >= 0``) or ``-g`` to set ``base``."""
        if (base, side) not in self.known:
            opposed, empty = self.side(self.branch, side)
            self.masks.append(self.masks[base] | opposed[self.branch.open])
            self.empty.append(self.empty[base] or empty)
            self.known[base, side] = len(self.masks) - 1
        return self.known[base, side]
