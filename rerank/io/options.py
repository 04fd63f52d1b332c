"""Checks of options: whole numbers, real numbers, words and seeds; an InputError says what an option may be.

Numbers may be of Python's types or of NumPy's; a boolean is not a number.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from functools import wraps
from numbers import Integral, Real
from typing import Any, ParamSpec

import numpy as np

from rerank.errors import InputError

P = ParamSpec("P")

LONGEST = 60  # signs of what was given that a message shows


def whole(name: str, value: Any, least: int = 1, most: int | None = None, of: str = "") -> int:
    """An option as int, from ``least`` to ``most``; ``of`` says in the error where ``most`` comes from."""
    number = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else least - 1
    if number < least or (most is not None and number > most):
        ends = f"at least {least}" if most is None else f"from {least} to {most}{of}"
        raise InputError(f"{name} is {spelled(value)}; it must be a whole number, {ends}.")
    return number


def spelled(value: Any) -> str:
    """What was given, for a message."""
    with suppress(ValueError):  # Python writes no whole number of some thousand digits
        text = repr(value)
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    return "a number of thousands of digits"


def real(name: str, value: Any, least: float, end: float = math.inf, positive: bool = False) -> float:
    """An option as float, from ``least`` (above 0 if ``positive``) to below ``end``."""
    number = math.nan
    if isinstance(value, Real | Decimal) and not isinstance(value, bool | np.bool_):
        with suppress(OverflowError):
            number = float(value)
    if not least <= number < end or (positive and number <= 0):
        limits = "above 0" if positive else f"at least {least:g}"
        limits += f" and below {end:g}" if end < math.inf else ""
        raise InputError(f"{name} is {spelled(value)}; it must be a number, {limits}.")
    return number


def one_of(name: str, value: Any, known: Iterable[str]) -> str:
    """An option that is one of the ``known`` words."""
    words = list(known)
    if not isinstance(value, str) or value not in words:
        *others, last = map(repr, words)
        raise InputError(f"{name} is {value!r}; it must be {', '.join(others)} or {last}.")
    return value


def seed(random_state: Any) -> int:
    """A seed: 0 for None, a whole number itself, else one number that the ``RandomState`` or ``Generator`` draws."""
    if random_state is None or isinstance(random_state, Integral):
        return whole("random_state", random_state or 0, 0, 2**31 - 1)
    try:
        return drawn_seed(random_state)
    except InputError:
        raise _no_seed(random_state, 2**31 - 1) from None


def drawn_seed(random_state: Any) -> int:
    """A seed from 0 to 2^31 - 2, drawn from a ``random_state`` in the sense of scikit-learn. That is a ``RandomState``,
    a whole number as its seed, or None for NumPy's global one; or a ``Generator``.
    """
    # What scikit-learn's check_random_state does, without an import of scikit-learn.
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    state = np.random if random_state is None or random_state is np.random else legacy(random_state)
    return int(state.randint(2**31 - 1))


def generator(random_state: Any) -> np.random.Generator:
    """The generator that ``numpy.random.default_rng`` makes, of a number that a ``RandomState`` draws, too."""
    if isinstance(random_state, np.random.RandomState):
        random_state = drawn_seed(random_state)
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise _no_seed(random_state) from None


def legacy(random_state: Any) -> np.random.RandomState:
    """A ``RandomState``: the one given, that of a whole number, or of a seed drawn from a ``Generator`` or globally."""
    if isinstance(random_state, np.random.RandomState):
        return random_state
    if random_state is None or random_state is np.random or isinstance(random_state, np.random.Generator):
        return np.random.RandomState(drawn_seed(random_state))
    with suppress(ValueError):
        if isinstance(random_state, Integral):
            return np.random.RandomState(int(random_state))
    raise _no_seed(random_state)


def source(random_state: Any) -> np.random.Generator | np.random.RandomState:
    """What draws random numbers: a ``RandomState`` itself, else the :func:`generator` of a seed."""
    return random_state if isinstance(random_state, np.random.RandomState) else generator(random_state)


def _no_seed(given: Any, most: int = 2**32 - 1) -> InputError:
    return InputError(
        f"random_state is {given!r}; give a whole number, 0 to {most}, a RandomState or a Generator of "
        "numpy.random or None."
    )


def of_today(given: Mapping[str, Any], renamed: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """Parameters by their names of today; where the caller's caller gave one by its last name, it is warned.

    ``renamed`` has the name of today, and what to look at when it is used.
    """
    found = {name: value for name, value in given.items() if name not in renamed}
    for old in given.keys() & renamed.keys():
        new, note = renamed[old]
        text = f"{old!r} is called {new!r} now and goes with the next release; give {new}{note}."
        warnings.warn(text, FutureWarning, 3)
        if found.get(new) is None:
            found[new] = given[old]
    return found


def without(
    gone: Mapping[str, str], renamed: Mapping[str, tuple[str, str]] | None = None
) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Make an ``__init__`` refuse parameters of earlier versions with what to use, and take those that are ``renamed``
    with a warning; its signature stays its own.
    """

    def decorated(init: Callable[P, None]) -> Callable[P, None]:
        @wraps(init)
        def checked(*args: P.args, **given: P.kwargs) -> None:
            for name in given:
                if name in gone:
                    raise InputError(f"{type(args[0]).__name__} has no {name!r} any more: {gone[name]}.")
            init(*args, **(of_today(given, renamed) if renamed else given))

        return checked

    return decorated
