"""Exact numbers: doubles as integers over a common denominator, sums, rounding to a chosen side, and closeness."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Exact = NDArray[Any]  # an object array of Python integers
MOST_SUMMED = 2**25  # integers of 27 bits whose sum has 53 bits or fewer


def as_integers(values: NDArray[np.float64]) -> tuple[Exact, int]:
    """Numerators of finite doubles over their smallest common denominator, a power of two."""
    fractions, exponents = np.frexp(values)
    odd = (fractions * 2.0**53).astype(np.int64)  # exact: a double has 53 bits
    zeros = np.frexp((odd & -odd).astype(np.float64))[1] - 1  # at the end of each number in binary
    odd, powers = odd >> np.maximum(zeros, 0), exponents.astype(np.int64) - 53 + zeros
    least = int(min(powers[odd != 0].min(initial=0), 0))
    shifts = np.where(odd != 0, powers - least, 0)
    return np.left_shift(odd.astype(object), shifts.astype(object)), 2**-least


def unit(largest: Any) -> Any:
    """Powers of two near numbers, by which columns of such size can be divided exactly before they are squared.

    They are 1 for numbers from 2^-400 to 2^400, whose squares neither overflow nor vanish.
    """
    power = np.frexp(largest)[1]
    return np.ldexp(1.0, np.where(np.abs(power) > 400, np.clip(power, -1000, 1000), 0))


def common_denominator(values: Sequence[Fraction]) -> tuple[list[int], int]:
    """Numerators of fractions over their least common denominator."""
    denominator = math.lcm(1, *(value.denominator for value in values))
    return [value.numerator * (denominator // value.denominator) for value in values], denominator


def exact_sum(terms: Iterable[Fraction]) -> Fraction:
    """Sum of many fractions, reduced once at the end.

    The terms are added in pairs, then the pairs in pairs, and so on.  Adding one by one would reduce an ever longer
    fraction at every step, which takes minutes for some thousand lists with different scales.
    """
    level = [(term.numerator, term.denominator) for term in terms] or [(0, 1)]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2])
        odd = level[-1:] if len(level) % 2 else []
        level = [(a * q + p * b, b * q) if b != q else (a + p, b) for (a, b), (p, q) in pairs] + odd
    return Fraction(*level[0])


def exact_total(values: NDArray[np.float64]) -> Fraction:
    """Sum of finite doubles; whatever the order, and however they are cut into parts, the same."""
    total = Fraction(0)
    for part in np.array_split(values, 1 + values.size // MOST_SUMMED):
        fractions, exponents = np.frexp(part)
        least = int(exponents.min(initial=0))
        whole = (fractions * 2.0**53).astype(np.int64)
        # Halves of 27 bits, so that doubles hold the sums of those of one exponent exactly.
        halves = ((whole >> 27).astype(np.float64), (whole & (2**27 - 1)).astype(np.float64))
        high, low = (np.bincount(exponents - least, half).tolist() for half in halves)
        units = sum((int(a) * 2**27 + int(b)) << e for e, (a, b) in enumerate(zip(high, low)))
        total += units * Fraction(2) ** (least - 53)
    return total


def value_down(exact: Fraction) -> float:
    """Largest double that does not exceed ``exact``: what may be reported as a value."""
    try:
        rounded = float(exact)
    except OverflowError:
        rounded = math.inf if exact > 0 else -math.inf
    return math.nextafter(rounded, -math.inf) if rounded > exact else rounded


def to_text(exact: Fraction) -> str:
    """``"0x3/0x8"``: hexadecimal, because Python limits the length of decimal integers and not of these."""
    return f"{exact.numerator:#x}/{exact.denominator:#x}"


def from_text(text: str) -> Fraction:
    """The fraction :func:`to_text` wrote; ValueError for any other text."""
    above, _, below = text.partition("/")
    denominator = int(below, 16)
    if denominator <= 0:
        raise ValueError(f"{text!r} is not a fraction with a positive denominator.")
    return Fraction(int(above, 16), denominator)


CLOSED = 1e-9  # the largest gap that counts as closed: two different values of a statistic differ by far more
ROUNDING = 1e-12  # most that sums in doubles are off, relative to the sum of the sizes of their terms


def is_closed(gap: float, value: float, summed: float = 0.0) -> bool:
    """Whether a gap is at most ``CLOSED``, or ``CLOSED`` times the value where that is above 1 in size.

    Where large terms cancel, it may be as large as their rounding error: ``ROUNDING`` times the sum of their sizes.
    """
    return gap < math.inf and gap <= max(CLOSED * max(1.0, abs(value)), ROUNDING * summed)
