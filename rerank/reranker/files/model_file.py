"""Model files: JSON with a schema, floats as ``float.hex()`` so that no bit is lost, and no pickle.

A file is an object with ``format``, ``schema``, ``digest`` and the fields of :class:`ModelDocument`, whose kinds say
how it is written and what is refused when it is read back. The digest is the SHA-256 of everything else, so
that a damaged file is refused and not read as another ranking. Before arrays are allocated, the size of the file is
limited, and every array must have the length that the feature names and the chosen features give it.

Floats are hexadecimal texts, because a decimal reader may round, and a margin that is no double is a quotient of two
whole numbers (:class:`rerank.io.margin.Margin`). A flat mapping holds numbers, texts, booleans and null; its floats are
``{"hex": "0x1.8p+0"}``, so that they differ from texts.
"""

# ruff: noqa: RUF009 (_kept returns a field)

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.atomic import writing
from rerank.io.bounded import MAX_TEXT, Json, parsed_json, read_bytes
from rerank.io.margin import LARGEST, Margin

FORMAT = "exact-rerank model"
SCHEMA = 4
WRITTEN_BY = "pass a file written by save or by rerank fit"
SINCE_2 = ("prior_scores", "reranked")  # fields that files of schema 1 do not hold
SOMETIMES = "member_scores"  # a field that a file holds only where it has a value
SQUARES = "squares"
"""Entries of ``settings`` below this name are the squares of columns, which files of schema 1 and 2 do not hold."""
ENCODED = "encoded"
"""Entries below this name say how texts and gaps are reranked, which files before schema 4 do not hold."""

# What entries of ``settings`` are: true or false, a text, a finite number; with "?" also null.
COLUMNS = ("label_column", "qid_column", "id_column", "weight_column", "people_column", "positive_label")
"""Names of the columns that a command read, and the label that it looked for."""
TRUTHS = ("named_features", "presolve", "reranks", "weighted_lists")
SETTINGS = dict.fromkeys(TRUTHS, "truth")
SETTINGS |= dict.fromkeys((*COLUMNS, "opaque_first_stage", "quota", "features"), "text?")
SETTINGS |= {"formulation": "text", "solver": "text", "prior_centre": "number", "prior_scale": "number"}

MAX_BYTES = 64 * 2**20

Floats = NDArray[np.float64]

MAX_ENTRIES = 1_000_000
MAX_INTEGER = 2**62

AGAIN = "write it again with save"  # what to do about a file that nobody can mend by hand

# What numbers and texts of a file may provoke in the code that uses them.
_FOREIGN = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
# What makes fields shorter that do not hold a number for each column.
_FEWER = {"prior_scores": "on fewer rows, or with cross_fit=False"}
_FEWER |= dict.fromkeys(("coefficients", "member_scores"), "on fewer rows")
_HEX = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}")
_WEIGHT = re.compile(r"table\.members\.[0-9]+\.weight")  # of a blend's member
_SHA256 = re.compile(r"[0-9a-f]{64}")


def _kept(kind: str, **default: Any) -> Any:
    """A field, and the kind of :data:`_ENCODERS` as which a file holds it; one with ``?`` may be null."""
    return field(metadata={"kind": kind}, **default)


@dataclass(frozen=True, eq=False, kw_only=True)
class Head:
    """What scores the head of a list, in a file and after a fit.

    The score of a row ``x`` (input units, ``d`` features) is ``weights @ ((x[features] - low) / (high - low))``. In
    anchored problems ``low``, ``high`` and ``weights`` begin with an entry of the first stage's score, whose weight
    is 1.
    """

    features: NDArray[np.intp] = _kept("integers")  # (p,), used columns or their squares, ascending; none constant
    low: Floats = _kept("floats")  # (p,), least of each used column on the training shortlist
    high: Floats = _kept("floats")  # (p,), largest, above ``low``
    weights: Floats = _kept("floats")  # (p,), in the scaled space, of size 2^20 at most
    prior_scores: Floats | None = _kept("floats?", default=None)  # (n,), out-of-fold scores of the training rows
    data_sha256: str | None = _kept("sha256?", default=None)  # of the training data, as a problem


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelDocument(Head):
    """All that is needed to use, check and identify a fitted ranking.

    With a first stage, the head is where ``coef @ x + intercept >= threshold``.
    """

    statistic: str | None = _kept("text?")  # name that `rerank.statistics.parse` reads, or None with coefficients
    feature_names: tuple[str, ...] = _kept("texts")  # (d,), all input columns, in order
    epsilon: Margin = _kept("margin")  # in the scaled space
    coefficients: Floats | None = _kept("floats?", default=None)  # (n,), custom a_1 <= ... <= a_n
    gain: str = _kept("text", default="exponential")  # or linear
    C: float = _kept("float", default=0.0)  # penalty for each weight that is not 0, in the statistic's unit
    max_features: int | None = _kept("integer?", default=None)
    signs: NDArray[np.intp] | None = _kept("integers?", default=None)  # (p,), -1, 0 (free) or 1
    first_stage: str | None = _kept("text?", default=None)  # a linear one; None when `weights` rank all rows
    first_stage_coef: Floats | None = _kept("floats?", default=None)  # (d,)
    first_stage_intercept: float | None = _kept("float?", default=None)
    member_scores: Floats | None = _kept("floats?", default=None)  # (n * m,), of a blend's members, row by row
    reranked: NDArray[np.intp] | None = _kept("integers?", default=None)  # that could be used, ascending; None for all
    threshold: float | None = _kept("float?", default=None)
    n_candidates: int | None = _kept("integer?", default=None)  # K, the number of rows reranked at training
    result: Json = _kept("flat", default_factory=dict)  # statistic, value, bound, status, seconds ...
    settings: Json = _kept("flat", default_factory=dict)  # the remaining options of the fit
    versions: Mapping[str, str] = _kept("flat", default_factory=dict)  # of packages
    random_state: int | None = _kept("integer?", default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", Margin(self.epsilon))

    @property
    def n_made(self) -> int:
        """Number of columns that can be reranked: those of the table, or what is made of them."""
        made = [name for name in self.settings if name.startswith((f"{SQUARES}.columns.", f"{SQUARES}.square_of."))]
        if isinstance(width := self.settings.get(f"{ENCODED}.width"), int):
            return width
        if self.settings.get("features") is not None:
            made = [name for name in self.settings if _WEIGHT.fullmatch(name)]
        return len(made) or len(self.feature_names)


KINDS = {each.name: each.metadata["kind"] for each in fields(ModelDocument)}


def to_dict(document: ModelDocument) -> Json:
    """Return the document as plain JSON values, digest included; :func:`from_dict` is its inverse."""
    body: Json = {"format": FORMAT, "schema": SCHEMA}
    for each in fields(document):
        if each.name != SOMETIMES or document.member_scores is not None:
            body[each.name] = encode(each.name, getattr(document, each.name))
    body["digest"] = _digest(body)
    from_dict(body, "the model to be written")  # refuses what could not be read back
    return body


def from_dict(body: Any, where: str = "model") -> ModelDocument:
    """Build the document from JSON values; a malformation is an `InputError` naming `where` and the field."""
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise refuse(where, f'"format" is not {FORMAT!r}', WRITTEN_BY)
    if body.get("schema") not in range(1, SCHEMA + 1) or isinstance(body["schema"], bool):
        found = f"schema {str(body.get('schema'))[:40]} is not 1 to {SCHEMA}"
        raise refuse(where, found, "use the version of exact-rerank that wrote it")
    given = body
    if body["schema"] == 1:
        body = dict.fromkeys(SINCE_2) | body
    body = {SOMETIMES: None} | body
    known = {each.name for each in fields(ModelDocument)}
    for name in body.keys() - known - {"format", "schema", "digest"}:
        raise refuse(where, f"there is no field {name[:40]!r}", "remove it")
    for name in sorted(known | {"digest"}):
        if name not in body:
            raise refuse(where, f"the field {name!r} is missing", AGAIN)
    document = ModelDocument(**{name: decode(name, body[name], where) for name in sorted(known)})
    _check(document, where)
    if body["digest"] != _digest({name: value for name, value in given.items() if name != "digest"}):
        raise refuse(where, "the digest does not match the content", "take an undamaged copy or fit again")
    settings = dict(document.settings)
    if settings.pop("thinning", None) is not None:  # in files of earlier versions, mostly without a value
        raise refuse(where, "its statistic is thinned, which there is no more", "fit it again without thinning")
    result = dict(document.result)
    if isinstance(message := result.get("message"), str):  # in files of earlier versions
        result["message"] = message.replace("margin and price included", "margin and penalty included")
    return replace(document, settings=settings, result=result)


def write(path: str | os.PathLike[str], document: ModelDocument) -> None:
    """Write the document as JSON, whole or not at all; one that could not be read back is an `InputError`."""
    text = json.dumps(to_dict(document), indent=1, ensure_ascii=True, allow_nan=False)
    if len(text) > MAX_BYTES:
        raise InputError(
            f"The model takes {len(text)} bytes, over {MAX_BYTES}; fit it on fewer columns, or on fewer rows where it "
            "holds a score of each (cross_fit)."
        )
    with writing(path) as file:
        file.write(text + "\n")


def read(path: str | os.PathLike[str]) -> ModelDocument:
    """Read a document written by :func:`write`; anything else is refused with one sentence (`InputError`)."""
    where = str(path)
    raw = read_bytes(path, MAX_BYTES)
    try:
        body = parsed_json(raw)
    except (ValueError, MemoryError) as error:
        reason = str(error) or "it does not fit into memory"
        raise refuse(where, f"it is not JSON ({reason[:120]})", WRITTEN_BY) from None
    return from_dict(body, where)


def _check(document: ModelDocument, where: str) -> None:
    """The relations between fields."""
    d, p = len(document.feature_names), len(document.features)
    anchored = document.settings.get("radius") is not None and len(document.low) == p + 1
    scaled = p + anchored
    lengths = {"low": scaled, "high": scaled, "weights": scaled, "signs": p, "first_stage_coef": d}
    for name, length in lengths.items():
        values = getattr(document, name)
        if values is not None and len(values) != length:
            raise refuse(where, f"{name!r} has {len(values)} entries where {length} are expected", AGAIN)
    chosen, made = document.reranked, document.n_made

    def ascending(columns: NDArray[np.intp]) -> bool:
        return not columns.size or (columns[0] >= 0 and columns[-1] < made and bool(np.all(np.diff(columns) > 0)))

    rules = {
        "'statistic' and 'coefficients': exactly one is given": (document.statistic is None)
        != (document.coefficients is None),
        "'feature_names' are distinct": len(set(document.feature_names)) == d,
        "'features' are ascending columns": ascending(document.features),
        "'reranked' are ascending columns, those used among them": chosen is None
        or bool(chosen.size > 0 and ascending(chosen) and np.isin(document.features, chosen).all()),
        "'low' is below 'high'": bool(np.all(document.low < document.high)),
        "'weights' are of size 2^20 at most, or correct a score of weight 1": document.weights[0] == 1
        if anchored
        else bool(np.all(np.abs(document.weights) <= LARGEST)),
        "'signs' are -1, 0 or 1": document.signs is None or bool(np.all(np.abs(document.signs) <= 1)),
        "'epsilon' is positive and 'C' not negative": document.epsilon > 0 and document.C >= 0,
        "'gain' is exponential or linear": document.gain in ("exponential", "linear"),
        "a first stage has a coefficient for each feature and an intercept": (document.first_stage is None)
        == (document.first_stage_coef is None)
        == (document.first_stage_intercept is None),
    }
    for rule, holds in {**rules, **_of_records(document)}.items():
        if not holds:
            raise refuse(where, f"a rule is broken: {rule}", AGAIN)


def _of_records(document: ModelDocument) -> dict[str, bool]:
    """The rules for entries that no score depends on, or that say how a table is read."""
    settings, limit = document.settings, document.settings.get("time_limit")
    rules = {
        f"{name!r} of the settings is {_KINDS[kind.rstrip('?')][0]}{' or null' * kind.endswith('?')}": (
            kind.endswith("?") if settings[name] is None else _KINDS[kind.rstrip("?")][1](settings[name])
        )
        for name, kind in SETTINGS.items()
        if name in settings
    }
    pair = [settings.get(f"label_{side}") for side in ("negative", "positive")]
    words = pair[1] if isinstance(pair[1], str) else None
    return rules | {
        "'time_limit' of the settings is null or a number of seconds": limit is None or (_number(limit) and limit >= 0),
        "'label_negative' and 'label_positive' are two labels": pair == [None, None] or pair[0] != pair[1],
        "'positive_label' is 'label_positive'": words is None or settings.get("positive_label") in (None, words),
        "'versions' are texts": all(isinstance(version, str) for version in document.versions.values()),
    }


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "truth": ("true or false", lambda value: isinstance(value, bool) or (_number(value) and value in (0, 1))),
    "text": ("a text", lambda value: isinstance(value, str)),
    "number": ("a finite number", lambda value: _number(value) and abs(value) < float("inf")),
}


def _digest(body: Json) -> str:
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def refuse(where: str, found: str, advice: str) -> InputError:
    """The error for a file that is not a model: what was found and what to do."""
    return InputError(f"{where} is not a model file that can be used: {found}; {advice}.")


@contextmanager
def usable(where: str) -> Iterator[None]:
    """Turn an error that values of a file cause in the code that reads them into one sentence that names ``where``."""
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
    if isinstance(value, Sized) and not isinstance(value, str):
        check_size(name, len(value))
    try:
        return _ENCODERS[kind.rstrip("?")](value)
    except (TypeError, ValueError, OverflowError) as error:
        meaning = _MEANING[kind.rstrip("?")]
        raise InputError(f"The model's {name!r} cannot be saved ({error}); give {meaning}.") from None


def check_size(name: str, n: int) -> None:
    """Refuse a field of so many entries."""
    if n > MAX_ENTRIES:
        raise InputError(
            f"The model's {name!r} has {n} entries, and a file holds at most {MAX_ENTRIES}; fit it "
            f"{_FEWER.get(name, 'on fewer columns')}."
        )


def decode(name: str, value: Any, where: str) -> Any:
    """Return the field `name` from its JSON `value`. Anything else is an `InputError`."""
    kind = KINDS[name]
    if value is None and kind.endswith("?"):
        return None
    try:
        return _DECODERS[kind.rstrip("?")](value)
    except (TypeError, ValueError, OverflowError) as error:
        found = f"the field {name!r} is not {_MEANING[kind.rstrip('?')]} ({str(error)[:100]})"
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
_DECODERS = _ENCODERS | {
    "texts": lambda value: tuple(_text(each) for each in _list(value)),
    "float": _unhex,
    "margin": lambda value: Margin(Fraction(_unhex(value))) if "x" in value else Margin.from_text(value),
    "floats": lambda value: np.array([_unhex(each) for each in _list(value)], dtype=np.float64),
    "integers": lambda value: np.array([_integer(each) for each in _list(value)], dtype=np.intp),
    "flat": lambda value: {_text(key): _flat_in(each) for key, each in _mapping(value).items()},
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
