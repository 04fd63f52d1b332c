"""Checks of options: whole numbers, real numbers and seeds, of Python's types or NumPy's; a boolean is no number."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from rerank.errors import InputError


def whole(name: str, value: Any, least: int = 1, most: int | None = None, of: str = "") -> int:
    """An option as int; ``of`` says where ``most`` comes from.

    Raises
    ------
    InputError
        It is no whole number ``least .. most``.
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least or _above(value, most):
        ends = f"at least {least}" if most is None else f"from {least} to {most}{of}"
        raise InputError(f"{name} is {value!r}; it must be a whole number, {ends}.")
    return int(value)


def _above(value: Any, most: int | None) -> bool:
    return most is not None and value > most


def real(name: str, value: Any, least: float, end: float = math.inf, positive: bool = False) -> float:
    """An option as float.

    Raises
    ------
    InputError
        It is no number, or none that is ``least`` at least (above 0 if ``positive``) and below ``end``.
    """
    found = float(value) if isinstance(value, Real) and not isinstance(value, bool | np.bool_) else np.nan
    if not least <= found < end or (positive and found <= 0):
        limits = "above 0" if positive else f"at least {least:g}"
        limits += f" and below {end:g}" if end < math.inf else ""
        raise InputError(f"{name} is {value!r}; it must be a number, {limits}.")
    return found


def seed(random_state: Any) -> int:
    """A seed that is the same at every call: 0 for None, a whole number itself, else one number that is drawn."""
    if random_state is None or isinstance(random_state, Integral):
        return whole("random_state", random_state or 0, 0, 2**31 - 1)
    return drawn_seed(random_state)


def one_of(name: str, value: Any, known: Iterable[str]) -> str:
    """An option that is one of the ``known`` words.

    Raises
    ------
    InputError
        It is none of them.
    """
    known = tuple(known)
    if not isinstance(value, str) or value not in known:
        raise InputError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, known))}.")
    return value


def drawn_seed(random_state: Any) -> int:
    """A seed, 0 .. 2^31 - 2, from a ``random_state`` in the sense of scikit-learn.

    Raises
    ------
    InputError
        It is none.
    """
    from sklearn.utils import check_random_state

    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except (TypeError, ValueError):
        raise _no_seed(random_state, "a numpy.random.RandomState") from None


def generator(random_state: Any) -> np.random.Generator:
    """A generator from whatever NumPy makes one of; errors as :func:`drawn_seed`."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise _no_seed(random_state, "a numpy.random.Generator") from None


def source(random_state: Any) -> np.random.Generator | np.random.RandomState:
    """What draws the random numbers: a ``RandomState`` itself, else :func:`generator`."""
    return random_state if isinstance(random_state, np.random.RandomState) else generator(random_state)


def _no_seed(given: Any, other: str) -> InputError:
    return InputError(f"random_state is {given!r}; give a whole number, 0 to {2**32 - 1}, {other} or None.")
