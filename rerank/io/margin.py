"""The margin: the number that was written, as a rational, and the double nearest to it."""

import re
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from rerank.errors import InputError

_RATIONAL = re.compile(r"[0-9]{1,700}/[0-9]{1,700}")
_DECIMAL = re.compile(r"(?=\.?[0-9])[0-9]{0,400}(\.[0-9]{0,400})?(e[+-]?[0-9]{1,3})?", re.IGNORECASE)

MOST_BITS = 2_300  # of numerator and denominator: 700 digits, which all doubles have room in
LARGEST = 2**20  # size of a free weight, which multiplies the margin where it is above 1


class Margin(float):
    """A margin above 0; as a float it is the nearest double.

    A float or an integer stands for the shortest decimal that reads back as it: .05 is 1/20, and not the double, which
    is a little more.  A ``Fraction``, or a text such as ``"0.05"`` or ``"1/6"``, is taken as it is.
    ``docs/decisions/0010-the-margin-is-what-was-written.md`` says why.

    Attributes
    ----------
    exact : Fraction

    Examples
    --------
    >>> Margin(0.05).exact, Margin("1/6").exact
    (Fraction(1, 20), Fraction(1, 6))
    """

    exact: Fraction

    def __new__(cls, written: Any) -> "Margin":
        """A margin from what was written; a Margin is itself."""
        if isinstance(written, Margin):
            return written
        exact = written if isinstance(written, Fraction) else Fraction(_text(written))
        if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > MOST_BITS:
            raise ValueError("its numerator and denominator have too many digits")
        made = super().__new__(cls, exact.numerator / exact.denominator)
        made.exact = exact
        return made

    @property
    def text(self) -> str:
        """How a file holds it: the double in hexadecimal where the margin is the double, else ``"1/20"``.

        Files in which every margin was a double are read as they were meant.
        """
        return self.hex() if self.exact == float(self) else f"{self.exact.numerator}/{self.exact.denominator}"

    @classmethod
    def from_text(cls, text: str) -> "Margin":
        """The margin of a :attr:`text`; anything else is a ValueError."""
        try:
            if "x" in text:
                return cls(Fraction(float.fromhex(text)))
            if _RATIONAL.fullmatch(text) and (made := cls(Fraction(text))).text == text:
                return made
        except (OverflowError, ZeroDivisionError):
            pass
        raise ValueError(f"{text[:40]!r} is no margin")

    def __reduce__(self) -> tuple[Any, ...]:
        """A margin keeps its rational when it is copied or sent."""
        return Margin, (self.exact,)


def margin_of(name: str, value: Any, wanted: str = "a number, above 0") -> Margin:
    """An option, a number above 0 or the text of one, as a margin; ``wanted`` says in the error what it may be."""
    usable = isinstance(value, str | Fraction | Real) and not isinstance(value, bool | np.bool_)
    try:
        found = Margin(value) if usable else None
    except (ValueError, OverflowError, ZeroDivisionError):
        found = None
    if found is None or not 0 < found < float("inf") or found.exact <= 0:
        raise InputError(f"{name} is {value!r}; it must be {wanted}.")
    return found


def _text(written: Any) -> str:
    """The text of the rational that was written."""
    if not isinstance(written, str):
        return repr(float(written))
    text = written.strip()
    if not (_RATIONAL.fullmatch(text) or _DECIMAL.fullmatch(text)):
        raise ValueError(f"{text[:40]!r} is not a number above 0")
    return text
