"""How each field of a model file is written in JSON, and what is refused when it is read back.

Floats are hexadecimal texts (``float.hex``), because a decimal reader may round, and a margin that is no double is a
quotient of two whole numbers (:class:`rerank.io.margin.Margin`).  Integers are JSON integers.  A flat
mapping holds numbers, texts, booleans and null; its floats are ``{"hex": "0x1.8p+0"}``, so that they differ from texts.
"""

import re
from collections.abc import Iterator, Mapping, Sized
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from rerank.errors import InputError
from rerank.io.margin import Margin

MAX_ENTRIES = 1_000_000
MAX_TEXT = 10_000
MAX_INTEGER = 2**62

# The kind of every field; a question mark allows null.
KINDS = {
    "statistic": "text?",
    "coefficients": "floats?",
    "gain": "text",
    "feature_names": "texts",
    "features": "integers",
    "reranked": "integers?",
    "low": "floats",
    "high": "floats",
    "weights": "floats",
    "epsilon": "margin",
    "C": "float",
    "max_features": "integer?",
    "signs": "integers?",
    "first_stage": "text?",
    "first_stage_coef": "floats?",
    "first_stage_intercept": "float?",
    "prior_scores": "floats?",
    "threshold": "float?",
    "n_candidates": "integer?",
    "result": "flat",
    "settings": "flat",
    "versions": "flat",
    "data_sha256": "sha256?",
    "random_state": "integer?",
}

AGAIN = "write it again with save"
"""What to do about a file that nobody can mend by hand."""

# What numbers and texts of a file may provoke in the code that uses them.
_FOREIGN = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
# What makes fields shorter that do not hold a number for each column.
_FEWER = {"prior_scores": "on fewer rows, or with cross_fit=False", "coefficients": "on fewer rows"}
_HEX = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def refuse(where: str, found: str, advice: str) -> InputError:
    """The error for a file that is not a model: what was found and what to do."""
    return InputError(f"{where} is not a model file that can be used: {found}; {advice}.")


@contextmanager
def usable(where: str) -> Iterator[None]:
    """Turn an error that values of a file cause in the code that reads them into one sentence.

    Raises
    ------
    InputError
        Naming ``where``.
    """
    try:
        yield
    except _FOREIGN as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).splitlines()[0][:100] if str(error) else type(error).__name__
        raise InputError(
            f"{where} holds a number or a text that cannot be used ({reason}); take an undamaged copy, or fit again."
        ) from error


def encode(name: str, value: Any) -> Any:
    """Return `value` of the field `name` as JSON. A value of another kind is an `InputError`."""
    kind = KINDS[name]
    if value is None and kind.endswith("?"):
        return None
    if isinstance(value, Sized) and not isinstance(value, str) and len(value) > MAX_ENTRIES:
        raise InputError(
            f"The model's {name!r} has {len(value)} entries, and a file holds at most {MAX_ENTRIES}; fit it "
            f"{_FEWER.get(name, 'on fewer columns')}."
        )
    try:
        return _ENCODERS[kind.rstrip("?")](value)
    except (TypeError, ValueError, OverflowError) as error:
        meaning = _MEANING[kind.rstrip("?")]
        raise InputError(f"The model's {name!r} cannot be saved ({error}); give {meaning}.") from None


def decode(name: str, value: Any, where: str) -> Any:
    """Return the field `name` from its JSON `value`. Anything else is an `InputError`."""
    kind = KINDS[name]
    if value is None and kind.endswith("?"):
        return None
    try:
        return _DECODERS[kind.rstrip("?")](value)
    except (TypeError, ValueError, OverflowError) as error:
        meaning = _MEANING[kind.rstrip("?")]
        found = f"the field {name!r} is not {meaning} ({str(error)[:100]})"
        raise refuse(where, found, AGAIN) from None


def _hex(value: Any) -> str:
    number = float(value)
    if not np.isfinite(number):
        raise ValueError(f"{number} is not finite")
    return number.hex()


def _unhex(text: Any) -> float:
    if not isinstance(text, str) or not _HEX.fullmatch(text):
        raise ValueError(f"{str(text)[:40]!r} is not a hexadecimal float")
    number = float.fromhex(text)
    # Each number has one spelling only: otherwise a subnormal written with too many bits would be rounded silently.
    if number.hex() != text:
        raise ValueError(f"{text!r} is not the shortest spelling of {number!r}")
    return number


def _integer(value: Any) -> int:
    integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not integer or abs(int(value)) > MAX_INTEGER:
        raise ValueError(f"{str(value)[:40]!r} is not an integer in range")
    return int(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise ValueError(f"{str(value)[:40]!r} is not a text of at most {MAX_TEXT} characters")
    return str(value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list) or len(value) > MAX_ENTRIES:
        raise ValueError(f"a list of at most {MAX_ENTRIES} entries is expected")
    return value


def _sha256(value: Any) -> str:
    if not isinstance(value, str) or not _SHA256.fullmatch(value):
        raise ValueError(f"{str(value)[:40]!r} is not 64 hexadecimal digits")
    return value


def _entry(name: str, value: Any) -> Any:
    """A margin that was written as a quotient stays one."""
    if name in ("epsilon", "margin") and isinstance(value, Fraction) and value:
        return f"{value.numerator}/{value.denominator}"
    return _flat_out(value)


def _flat_out(value: Any) -> Any:
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, (int, np.integer)):
        return _integer(value)
    if isinstance(value, (float, np.floating, Fraction, Decimal)):
        # A bound may be infinite if nothing is known. NaN is refused.
        return {"hex": str(float(value)) if np.isinf(float(value)) else _hex(value)}
    return _text(value)


def _flat_in(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, dict) and set(value) == {"hex"}:
        return float(value["hex"]) if value["hex"] in ("inf", "-inf") else _unhex(value["hex"])
    return _text(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or len(value) > MAX_ENTRIES:
        raise ValueError("an object is expected")
    return value


_ENCODERS = {
    "text": _text,
    "texts": lambda value: [_text(each) for each in value],
    "float": _hex,
    "margin": lambda value: Margin(value).text,
    "floats": lambda value: [_hex(each) for each in np.asarray(value, dtype=np.float64).tolist()],
    "integer": _integer,
    "integers": lambda value: [_integer(each) for each in np.asarray(value).tolist()],
    "flat": lambda value: {_text(key): _entry(key, each) for key, each in _mapping(value).items()},
    "sha256": _sha256,
}
_DECODERS = {
    "text": _text,
    "texts": lambda value: tuple(_text(each) for each in _list(value)),
    "float": _unhex,
    "margin": lambda value: Margin(Fraction(_unhex(value))) if "x" in value else Margin.from_text(value),
    "floats": lambda value: np.array([_unhex(each) for each in _list(value)], dtype=np.float64),
    "integer": _integer,
    "integers": lambda value: np.array([_integer(each) for each in _list(value)], dtype=np.intp),
    "flat": lambda value: {_text(key): _flat_in(each) for key, each in _mapping(value).items()},
    "sha256": _sha256,
}
_MEANING = {
    "text": f"a text of at most {MAX_TEXT} characters",
    "texts": f"texts of at most {MAX_TEXT} characters",
    "float": "a finite number",
    "margin": "a finite number",
    "floats": "a list of finite numbers",
    "integer": "an integer",
    "integers": "a list of integers",
    "flat": "a flat object of numbers, texts, booleans and null",
    "sha256": "a SHA-256 digest",
}
