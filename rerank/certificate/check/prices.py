r"""Check of multipliers: how many of its open pairs all weights of a box lose at least.

In the box ``y_p = w.D_p - epsilon`` is at least ``-L_p``, and at least 0 if the pair is won.  So for every ``0 <= t_p
<= 1 / L_p`` a pair loses at least ``-t_p y_p``, and together, with ``M_p = c.D_p - epsilon``, they lose at least

    sum_p t_p (-M_p) - h.|sum_p t_p D_p|,

rounded up.  The proof names a point of the box and a share: the pairs that lose at the centre have ``1 - share`` of
``1 / max(L_p, h.|D_p| / 4)``, those that lose at the point ``share`` of it.  Bad ones show little, and no false bound.
"""

from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from rerank.certificate.check.exact import ExactProblem
from rerank.certificate.check.pairs import Filter, SlotPairs
from rerank.certificate.check.tree import UnprovenError
from rerank.problem.lists import Floats, Indices
from rerank.problem.proof import MOST_MOVED, PRICED, SHARES, unpacked

UNIT = 2.0**-53
BELOW = 1 - 2.0**-40  # of the largest multiplier, so that rounding does not pass it


class LeafPrices:
    """Multipliers of the priced leaves, and what a lost pair costs at least. UnprovenError if they do not fit."""

    def __init__(
        self, exact: ExactProblem, pairs: SlotPairs, codes: NDArray[np.uint16], words: NDArray[np.int64]
    ) -> None:
        self.pairs, self.epsilon = pairs, float(exact.epsilon)
        self.priced = codes == PRICED
        if words.ndim != 1 or int(self.priced.sum()) != words.size:
            raise UnprovenError(
                f"The proof has {words.size} multipliers for {int(self.priced.sum())} leaves with them."
            )
        if words.size and not 0 <= int(words.min()) <= int(words.max()) < (SHARES + 1) << 4 * MOST_MOVED:
            raise UnprovenError("A word of the multipliers is out of range.")
        self.words = dict(zip(np.flatnonzero(self.priced).tolist(), words.tolist()))
        steps = {
            unit.factor * (b - a) / unit.denominator
            for unit in exact.units
            for b, a in zip(unit.coefficients, unit.coefficients[1:])
        }
        alike = all(set(unit.hits) == {1} for unit in exact.units)
        self.step = min(steps, default=Fraction(0)) if alike else Fraction(0)

    def lost(self, node: int, centre: Floats, half: Floats, known: Filter, which: Indices) -> int:
        """Of the pairs ``which`` so many are lost at least, whatever the weights in a leaf's box."""
        k = half.size
        point, share = unpacked(self.words[node], k)
        D, size, slack = known.both[which, :k], known.both[which, k:], 4 * known.slack[which]
        M = D @ centre - self.epsilon
        reach = size @ half
        width = np.maximum(reach - M, reach / 4) + slack
        here = (1 - share) * (M < 0) + share * (M + D @ (half * point) < 0)
        t = here * (reach + slack >= M) * self.pairs.copies[which] * BELOW / width
        total, largest = t @ D, size.sum(axis=1) + self.epsilon
        error = t @ slack + 4 * (which.size + 2 * k + 8) * UNIT * float(t @ largest)
        return max(ceil(-(t @ M) - half @ np.abs(total) - error), 0)
