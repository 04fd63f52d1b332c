"""Linear rows on the weights: what a person writes on columns, exactly, and the same on scaled weights.

A row holds all weights on one side of a hyperplane, or between two parallel ones.  Numbers are taken as the decimals
that were written, ranges of columns as the doubles they are stored in, so that a row says the same in both units.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError, nearest
from rerank.io.bounded import Json
from rerank.io.rules import LESS, MORE, NUMBER, ORDER, QUOTED
from rerank.ranks.rationals import from_text, to_text

Coefficients = dict[int, Fraction]
Form = tuple[Coefficients, Fraction]  # coefficients of columns, and a constant
TOKEN = re.compile(
    rf"\s*(?:(?P<number>{NUMBER})(?![\w`\"])|{QUOTED}|(?P<name>[^\W\d][\w.]*)|(?P<sign>{ORDER}|==|[=<>+\-*/()]))"
)
MOST_DIGITS = 400  # length of a number that is read; exponents beyond make rationals too long to compute with
MOST_TEXT, MOST_OPEN = 100_000, 50  # length of a row that is read, and parentheses in it


@dataclass(frozen=True)
class WeightRow:
    """``lower <= sum_j a_j w_j <= upper`` on scaled weights; a side that is None is not there.

    Attributes
    ----------
    coefficients : tuple of Fraction
        One for each column of the problem; in an anchored problem the first is multiplied by the score's weight, 1.
    lower, upper : Fraction or None
    text : str
        What was written, in the units of the table.
    """

    coefficients: tuple[Fraction, ...]
    lower: Fraction | None
    upper: Fraction | None
    text: str = ""

    def at(self, weights: Iterable[Any]) -> Fraction:
        """``sum_j a_j w_j``, exactly, for doubles or rationals."""
        return sum((a * Fraction(w) for a, w in zip(self.coefficients, weights, strict=True) if a and w), Fraction(0))

    def keeps(self, weights: Iterable[Any]) -> bool:
        """Whether weights satisfy the row, exactly."""
        value = self.at(weights)
        return (self.lower is None or value >= self.lower) and (self.upper is None or value <= self.upper)

    @property
    def homogeneous(self) -> bool:
        """Whether all positive multiples of weights that satisfy the row satisfy it, too."""
        return self.lower in (None, 0) and self.upper in (None, 0)

    def sides(self) -> list[tuple[tuple[Fraction, ...], Fraction]]:
        """The row as one or two inequalities ``a.w >= b``."""
        found = [] if self.lower is None else [(self.coefficients, self.lower)]
        return found if self.upper is None else [*found, (tuple(-a for a in self.coefficients), -self.upper)]

    def to_json(self) -> Json:
        """Plain values, from which :meth:`from_json` makes the same row."""
        return {
            "coefficients": [to_text(a) for a in self.coefficients],
            "lower": None if self.lower is None else to_text(self.lower),
            "upper": None if self.upper is None else to_text(self.upper),
            "text": self.text,
        }

    @classmethod
    def from_json(cls, body: Any, d: int) -> WeightRow:
        """A row of ``d`` columns; ValueError, KeyError or TypeError for anything else."""
        coefficients = tuple(from_text(a) for a in body["coefficients"])
        if len(coefficients) != d:
            raise ValueError(f"a row of {len(coefficients)} coefficients for {d} columns")
        lower, upper = (None if body[side] is None else from_text(body[side]) for side in ("lower", "upper"))
        return cls(coefficients, lower, upper, str(body["text"]))


def broken(rows: Sequence[WeightRow], weights: ArrayLike) -> WeightRow | None:
    """The first row that weights do not satisfy, exactly; None if they satisfy all."""
    w = np.asarray(weights, dtype=np.float64).tolist()
    return next((row for row in rows if not row.keeps(w)), None)


def encoded(rows: Sequence[WeightRow]) -> NDArray[np.int64]:
    """All that rows ask for as one series of whole numbers, for a digest; what was written is left out."""
    numbers = [(*row.coefficients, row.lower, row.upper) for row in rows]
    text = ";".join(",".join("-" if x is None else to_text(x) for x in each) for each in numbers)
    return np.frombuffer(text.encode(), np.uint8).astype(np.int64)


@dataclass(frozen=True)
class WrittenRow:
    """A row as it was written: ``lower <= sum of coefficients times the weights of columns <= upper``."""

    coefficients: Coefficients
    lower: Fraction | None
    upper: Fraction | None
    text: str

    @classmethod
    def read(cls, text: Any, names: Sequence[str], left_out: Sequence[str] = ()) -> WrittenRow:
        """Read such as ``"age >= 2 * income"``, ``"`blood sugar` <= 0"`` or ``"0 <= a + b <= 1"``; else InputError.

        ``left_out`` are columns of the table that get no weight because of what they hold.
        """
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"The constraint {text!r} is no text; write one such as 'age >= 2 * income'.")
        return _Reader(text.strip(), names, left_out).row()


class _Reader:
    """Reads one row: sums of products with at most one column each, with parentheses, between signs of order."""

    def __init__(self, text: str, names: Sequence[str], left_out: Sequence[str]) -> None:
        self.text, self.places, self.left_out = text, {name: j for j, name in enumerate(names)}, left_out
        if len(text) > MOST_TEXT or text.count("(") > MOST_OPEN:
            raise InputError(f"A constraint of {len(text)} characters is too long; write several short ones.")
        self.tokens, at = [], 0
        while at < len(text.rstrip()):
            found = TOKEN.match(text, at)
            if found is None:
                raise self.wrong(f"is not understood at {text[at:].strip()[:20]!r}")
            self.tokens.append((str(found.lastgroup), found[found.lastgroup or 0]))
            at = found.end()
        self.at = 0

    def wrong(self, why: str) -> InputError:
        return InputError(
            f"The constraint {self.text!r} {why}; write columns by name, in backquotes where a name has spaces, as in "
            "'age >= 2 * income' or '`blood sugar` <= 0'."
        )

    def row(self) -> WrittenRow:
        parts, signs = [self.sum()], []
        while self.at < len(self.tokens):
            kind, sign = self.tokens[self.at]
            if kind != "sign" or sign not in (*LESS, *MORE, "<", ">", "=", "=="):
                raise self.wrong(f"is not understood at {sign!r}")
            self.at += 1
            signs.append(sign)
            parts.append(self.sum())
        if {"=", "=="} & set(signs):
            raise InputError(
                f"The constraint {self.text!r} is an equality, which leaves the weights no room to move; put the "
                "columns into one (such as their sum) before the fit, or allow a range with '<=' and '>='."
            )
        if {"<", ">"} & set(signs):
            raise InputError(f"The constraint {self.text!r} leaves out its own limit; write '<=' or '>='.")
        if len(signs) not in (1, 2) or (len(signs) == 2 and (signs[0] in LESS) != (signs[1] in LESS)):
            raise self.wrong("needs one '<=' or '>=', or two of the same kind")
        parts = parts[::-1] if signs[0] in MORE else parts
        return self.between(parts)

    def between(self, parts: list[Form]) -> WrittenRow:
        """The row ``parts[0] <= parts[1]``, or ``parts[0] <= parts[1] <= parts[2]``."""
        if len(parts) == 3:
            if parts[0][0] or parts[2][0]:
                raise self.wrong("has two signs, and then only its middle may name columns")
            middle, constant = parts[1]
            lower, upper = parts[0][1] - constant, parts[2][1] - constant
            if lower >= upper:
                raise self.wrong("leaves no room between its two numbers")
            return self.written(middle, lower, upper)
        coefficients, constant = _added(parts[1], parts[0], -1)
        if sum(a < 0 for a in coefficients.values()) * 2 > len(coefficients):  # as people read it
            return self.written({j: -a for j, a in coefficients.items()}, None, constant)
        return self.written(coefficients, -constant, None)

    def written(self, coefficients: Coefficients, lower: Fraction | None, upper: Fraction | None) -> WrittenRow:
        left = {j: a for j, a in coefficients.items() if a}
        if not left:
            raise self.wrong("holds no column, or its columns cancel")
        return WrittenRow(left, lower, upper, self.text)

    def sum(self) -> Form:
        total: Form = ({}, Fraction(0))
        sign = self.sign()
        while True:
            total = _added(total, self.product(), sign)
            if self.peek() not in ("+", "-"):
                return total
            sign = self.sign()

    def sign(self) -> int:
        sign = 1
        while self.peek() in ("+", "-"):
            sign = -sign if self.peek() == "-" else sign
            self.at += 1
        return sign

    def product(self) -> Form:
        found = self.factor()
        while self.peek() in ("*", "/"):
            division = self.peek() == "/"
            self.at += 1
            other = self.factor()
            if division:
                if other[0] or not other[1]:
                    raise self.wrong("divides by something other than a number")
                found = _times(found, 1 / other[1])
            elif found[0] and other[0]:
                raise self.wrong("multiplies columns with each other, and only sums of weights can be limited")
            else:
                found = _times(found, other[1]) if found[0] or not other[0] else _times(other, found[1])
        return found

    def factor(self) -> Form:
        if self.at >= len(self.tokens):
            raise self.wrong("ends too soon")
        kind, token = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            exponent = re.split("[eE]", token)[1:]
            if len(token) > MOST_DIGITS or (exponent and abs(int(exponent[0])) > MOST_DIGITS):
                raise self.wrong("holds a number that is too long")
            return {}, Fraction(token)
        if kind in ("quoted", "double", "name"):
            return {self.column(token): Fraction(1)}, Fraction(0)
        if token in ("+", "-"):
            self.at -= 1
            sign = self.sign()
            return _times(self.factor(), Fraction(sign))
        if token != "(":
            raise self.wrong(f"is not understood at {token!r}")
        inner = self.sum()
        if self.peek() != ")":
            raise self.wrong("has a parenthesis that is not closed")
        self.at += 1
        return inner

    def column(self, name: str) -> int:
        if name in self.left_out:
            raise InputError(
                f"The constraint {self.text!r} names the column {name!r}, which gets no weight because of what it "
                "holds; leave the constraint out, or give the column as numbers."
            )
        if name not in self.places:
            like = nearest(name, list(self.places))
            raise InputError(
                f"The constraint {self.text!r} names the column {name!r}, which is not among the columns with a "
                f"weight; did you mean {like!r}?"
            )
        return self.places[name]

    def peek(self) -> str | None:
        kind, token = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        return token if kind == "sign" else None


def _added(form: Form, other: Form, sign: int) -> Form:
    coefficients = dict(form[0])
    for j, a in other[0].items():
        coefficients[j] = coefficients.get(j, Fraction(0)) + sign * a
    return coefficients, form[1] + sign * other[1]


def _times(form: Form, factor: Fraction) -> Form:
    return {j: a * factor for j, a in form[0].items()}, form[1] * factor
