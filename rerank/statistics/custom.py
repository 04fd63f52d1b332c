"""A statistic given by its coefficients."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from rerank.errors import InputError
from rerank.statistics.base import Floats, RankStatistic


@dataclass(frozen=True, repr=False)
class Custom(RankStatistic):
    """Any non-decreasing, non-negative sequence [RudinWang2018, eq. 1].

    Parameters
    ----------
    a : sequence of float, or callable
        ``a_1..a_n`` for lists of exactly n items, or a function ``a(l, n)`` of rank and length.

    Raises
    ------
    InputError
        Naming the first index at which the sequence falls, is negative, or is not finite.
    """

    a: tuple[float, ...] | Callable[[int, int], float]
    stem: ClassVar[str] = "custom"

    def __post_init__(self) -> None:
        if callable(self.a):
            return
        try:
            values = np.asarray(self.a, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("A custom statistic takes numbers a_1..a_n or a function of (l, n).") from None
        if values.ndim != 1 or values.size == 0:
            raise InputError(f"A custom statistic takes one row a_1..a_n; what was given has shape {values.shape}.")
        object.__setattr__(self, "a", tuple(_checked(values).tolist()))

    @property
    def length(self) -> int | None:
        """How many coefficients there are; None for a function, which serves every length."""
        return None if callable(self.a) else len(self.a)

    @property
    def name(self) -> str:
        """``"custom[a_1,...,a_n]"``, which :meth:`read` takes back; of a function only its own name."""
        if callable(self.a):
            return f"custom({getattr(self.a, '__qualname__', repr(self.a))})"
        return "custom[" + ",".join(map(repr, self.a)) + "]"

    @classmethod
    def read(cls, name: str) -> Self:
        """The statistic of a name ``"custom[a_1,...,a_n]"``."""
        inside = re.fullmatch(r"custom\[(.*)\]", name)
        try:
            coefficients = tuple(float(value) for value in inside.group(1).split(","))  # type: ignore[union-attr]
        except (AttributeError, ValueError):
            raise InputError(
                f"{name!r}: a custom statistic is written custom[a_1,...,a_n] with numbers; one made of a "
                "function cannot be read back from its name, give the function itself."
            ) from None
        return cls(coefficients)

    def _coefficients(self, n: int) -> Floats:
        if callable(self.a):
            return _checked(np.array([float(self.a(rank, n)) for rank in range(1, n + 1)]))
        if n != len(self.a):
            raise InputError(
                f"The custom statistic holds {len(self.a)} coefficients and the list has {n} items; "
                "give as many as there are items, or a function of (l, n)."
            )
        return np.array(self.a)


def _checked(a: Floats) -> Floats:
    """``a`` itself when it is finite, non-negative and non-decreasing."""
    for bad, what in ((~np.isfinite(a), "not finite"), (a < 0, "negative")):
        if bad.any():
            k = int(np.argmax(bad))
            raise InputError(f"Coefficient a_{k + 1} (index {k}) is {a[k]}, {what}; give numbers >= 0.")
    falls = np.flatnonzero(np.diff(a) < 0)
    if falls.size:
        k = int(falls[0]) + 1
        raise InputError(
            f"Coefficient a_{k + 1} (index {k}) is {a[k]}, below a_{k} = {a[k - 1]}; "
            "coefficients must not decrease from the bottom of the list to the top."
        )
    return a
