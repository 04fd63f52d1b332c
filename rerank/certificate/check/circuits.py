r"""Check of circuits: sets of pairs that no admissible weights win together, and the bound that follows from them.

With multipliers ``m_p > 0`` and ``y = sum_p m_p D_p``, weights that win all pairs of a set have
``v.y >= epsilon sum_p m_p``.  If the largest ``v.y`` over all coordinates is below that, there are none: one sum
decides.

Weights under which ``j`` positives lose fewer than ``l`` pairs each order all rows but ``n+ - j`` positives and
``l - 1`` negatives; if every choice of such rows leaves a set whole, the j-th best positive loses ``l`` pairs at least.
A search over the choices shows it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from rerank.certificate.check.exact import ExactProblem
from rerank.certificate.check.tree import UnprovenError
from rerank.problem.proof import Circuits

MOST_LOOKS = 60_000_000  # looks at circuits in the search over rows that may leave; some twenty seconds
MOST_CIRCUITS = 100_000


class CircuitCheck:
    """The bound by circuits of a problem with one list of two classes. Equal rows of a class are one group; they are
    won and lost together. UnprovenError for any other problem, a row that is not there, or a set that some weights may
    win.
    """

    def __init__(self, exact: ExactProblem, circuits: Circuits) -> None:
        self.exact, self.circuits = exact, circuits
        if len(exact.units) != 1:
            raise UnprovenError("Circuits bound a single list of two classes, and the problem is another one.")
        (self.unit,) = exact.units
        if set(self.unit.hits) != {1} or not self.unit.step:
            raise UnprovenError("Circuits bound a list whose places earn the same for every relevant row.")
        self.used = set(exact.used.tolist())
        self._shapes()
        self.copies: list[int] = []
        positive = self._groups((row, 1) for row in self.unit.positive.tolist())
        self.first = len(self.copies)  # number of the first group of negatives
        negative = self._groups(zip(self.unit.negative.tolist(), self.unit.copies.tolist()))
        self.masks, at = [], 0
        for size in circuits.sizes.tolist():
            part = slice(at, at + size)
            pairs = circuits.pairs[part].tolist()
            self.masks.append(self._mask(pairs, positive, negative))
            if not infeasible(exact, pairs, circuits.multipliers[part].tolist()):
                raise UnprovenError(f"Some weights may win all pairs of the circuit that begins with rows {pairs[0]}.")
            at += size
        self.looks = 0

    def bound(self) -> Fraction:
        """Largest value that the circuits leave."""
        # Counts may fall from one positive to the next here, which allows more than weights can do.
        earned = sum(self.unit.coefficients[j + count] for j, count in enumerate(self._least()))
        return self.exact.constant + self.unit.factor * Fraction(earned, self.unit.denominator)

    def _shapes(self) -> None:
        c = self.circuits
        fits = c.sizes.ndim == c.multipliers.ndim == c.least.ndim == 1
        fits = fits and c.sizes.size <= MOST_CIRCUITS and c.pairs.shape == (c.multipliers.size, 2)
        if not fits or (c.sizes < 1).any() or sum(c.sizes.tolist()) != c.multipliers.size:
            raise UnprovenError("The arrays of the circuits do not fit together.")
        if (c.multipliers < 1).any() or (c.least < 0).any():
            raise UnprovenError("A circuit has a multiplier that is not positive, or a number below 0.")

    def _content(self, row: int) -> bytes:
        content: bytes = (self.exact.problem.X[row] + 0.0).tobytes()
        return content

    def _groups(self, rows: Iterable[tuple[int, int]]) -> dict[bytes, int]:
        """Number the groups of equal rows of a class and count them."""
        found: dict[bytes, int] = {}
        for row, many in rows:
            group = found.setdefault(self._content(row), len(self.copies))
            if group == len(self.copies):
                self.copies.append(0)
            self.copies[group] += many
        return found

    def _mask(self, pairs: list[list[int]], positive: dict[bytes, int], negative: dict[bytes, int]) -> int:
        """The groups of a circuit, as bits."""
        found = 0
        for upper, lower in pairs:
            if not {upper, lower} <= self.used:
                raise UnprovenError("A circuit has a row that stands in no list.")
            above, below = positive.get(self._content(upper)), negative.get(self._content(lower))
            if above is None or below is None:
                raise UnprovenError(f"The rows {upper} and {lower} of a circuit are no pair of the list.")
            found |= 1 << above | 1 << below
        return found

    def _least(self) -> list[int]:
        """Pairs that the j-th best positive loses at least, for all positives."""
        n, given, known = self.unit.positive.size, self.circuits.least.tolist(), 0
        if len(given) > n:
            raise UnprovenError(f"The circuits speak of {len(given)} positives, and the list has {n}.")
        least = []
        for j, lost in enumerate(given, start=1):
            if lost > known and not self._whichever_leave(n - j, lost - 1):
                raise UnprovenError(
                    f"The circuits do not show that the positive at place {j} loses at least {lost} pairs."
                )
            known = max(known, lost)
            least.append(known)
        return least + [known] * (n - len(least))

    def _whichever_leave(self, positives: int, negatives: int) -> bool:
        """Whether a circuit is left whole if so many positives and negatives leave at most, whichever they are."""
        often = Counter(g for mask in self.masks for g in _bits(mask))
        # Groups are bits: those that have left, and those decided.
        todo = [(0, 0, positives, negatives)]
        while todo:
            gone, decided, p, n = todo.pop()
            # Groups that are no larger than the number of rows of their class that may leave.
            small = sum(1 << g for g, many in enumerate(self.copies) if many <= (p, n)[g >= self.first])
            free = ~decided & small
            best, apart, taken = None, 0, 0
            self.looks += len(self.masks)
            for mask in self.masks:
                if mask & gone:
                    continue
                choices = mask & free
                if best is None or choices.bit_count() < best.bit_count():
                    best = choices
                if not choices & taken:  # circuits that share no row that may leave need a row each
                    apart, taken = apart + 1, taken | choices
            if self.looks > MOST_LOOKS:
                raise UnprovenError("The circuits leave too many choices of rows to go through.")
            if best is None:
                return False
            if not best or apart > p + n:
                continue
            g = max(_bits(best), key=lambda g: often[g])
            many, bit = self.copies[g], 1 << g
            todo.append((gone, decided | bit, p, n))
            todo.append((gone | bit, decided | bit, p - many * (g < self.first), n - many * (g >= self.first)))
        return True


def infeasible(exact: ExactProblem, pairs: Sequence[Sequence[int]], multipliers: Sequence[int]) -> bool:
    """Whether positive multipliers show that no allowed weights win all the pairs (upper, lower)."""
    N, most = exact.numerators, Fraction(0)
    for j, width in enumerate(exact.widths):
        total = sum(m * (N[upper, j] - N[lower, j]) for (upper, lower), m in zip(pairs, multipliers))
        most += max(Fraction(end) * Fraction(total, width) for end in (exact.lower[j], exact.upper[j]))
    return bool(min(multipliers) > 0 and most < exact.epsilon * sum(multipliers))


def _bits(mask: int) -> list[int]:
    return [g for g in range(mask.bit_length()) if mask >> g & 1]
