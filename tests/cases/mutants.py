"""Model files with one field changed and the digest made to fit: what a forger writes, one step at a time.

The digest of a model file has no key, so it stops accidents and nobody else.  Every mutant here is a file that a reader
takes for undamaged.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from rerank.reranker.files import model_file
from rerank.reranker.files.model_file import KINDS, ModelDocument
from rerank.reranker.solution import STATUSES

# Words that a field may hold elsewhere: a forger swaps one for another.
WORDS = {
    "result.status": STATUSES,
    "result.bound_source": ("ideal", "search", "solver"),
    "result.solver": ("search", "highs", "none", "file", "cbc"),
    "result.formulation": ("subrank", "mixed", "auc"),
    "settings.solver": ("search", "highs", "none", "cbc"),
    "settings.formulation": ("subrank", "mixed", "resolved_rank"),
    "settings.positive": (True, False, "signs"),
    "settings.opaque_first_stage": ("logistic", "logistic+squares", "TableLogistic", "Ridge"),
    "gain": ("exponential", "linear"),
    "settings.label_negative": ("dead", "x"),
    "settings.label_positive": ("alive", "x"),
    "statistic": ("dcg@5", "dcg@4", "DCG@5", "dcg", "auc", "mrr", "ndcg@5", "precision@1", "dcg@" + "9" * 4000),
    "first_stage": ("logistic", "ranksvm", "toppush"),
}
LONG = "x" * 20_000


@dataclass(frozen=True)
class Mutant:
    """A changed file, as parsed JSON with a digest that fits."""

    field: str  # what was changed, by the name under which a verification lists it, such as ``result.seconds``
    change: str
    body: dict[str, Any]


def mutants(doc: ModelDocument, start: int = 0, step: int = 1) -> Iterator[Mutant]:
    """Every stated field changed in several ways, one at a time; of these one in ``step``."""
    plain = model_file.to_dict(doc)
    same = json.dumps(plain)
    every = _changed({name: value for name, value in plain.items() if name != "digest"})
    for field, change, body in islice(every, start, None, step):
        mutant = Mutant(field, change, signed(body))
        if json.dumps(mutant.body) != same:
            yield mutant


def _changed(body: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name, value in body.items():
        if name in ("format", "schema"):
            continue
        if KINDS[name] == "flat":
            for field, change, flat in _of_mapping(name, value):
                yield field, change, {**body, name: flat}
        else:
            for change, other in _of_field(name, value, KINDS[name]):
                yield name, change, {**body, name: other}
        yield name, "removed", {key: inner for key, inner in body.items() if key != name}


def signed(body: dict[str, Any]) -> dict[str, Any]:
    """The file with the digest that fits."""
    plain = {key: value for key, value in body.items() if key != "digest"}
    return {**plain, "digest": model_file._digest(plain)}


def _of_mapping(name: str, flat: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Entries changed, removed, renamed and added; neighbours exchanged."""
    for key, value in flat.items():
        field = name if name == "versions" else f"{name}.{key.partition('.')[0]}"
        for change, other in _of_field(field, value, "flat"):
            yield field, f"{key}: {change}", {**flat, key: other}
        without = {inner: flat[inner] for inner in flat if inner != key}
        yield field, f"{key} removed", without
        yield field, f"{key} renamed", {**without, key + "x": value}
    for key, after in zip(flat, list(flat)[1:], strict=False):
        if flat[key] != flat[after] and name != "versions":
            field = f"{name}.{key.partition('.')[0]}"
            yield field, f"{key} and {after} exchanged", {**flat, key: flat[after], after: flat[key]}
    yield f"{name}.more" if name != "versions" else name, "added", {**flat, "more": "x"}


def _of_field(field: str, value: Any, kind: str) -> Iterator[tuple[str, Any]]:
    """A value changed within its type, and values of other types."""
    for word in WORDS.get(field, ()):
        if word != value:
            yield f"{str(word)[:20]!r} for {str(value)[:20]!r}", word
    if isinstance(value, list):
        yield from _of_list(value, kind)
    elif isinstance(value, bool):
        yield "flipped", not value
    elif isinstance(value, int):
        yield from ((f"{other}", other) for other in (value + 1, value - 1, -value, 2**62, -(2**62), 10**30))
    elif isinstance(value, dict) or (kind.startswith("float") and value is not None):
        yield from _of_float(value)
    elif isinstance(value, str):
        others = ("", value + "x", value[1:], value.upper(), value[::-1], LONG)
        yield from ((f"{other[:12]!r}", other) for other in others)
    numbers = ({"hex": "inf"}, {"hex": "-inf"}, {"hex": (0.25).hex()})
    for other in (None, True, 0, 3, "", "x", "nan", [], {}, *numbers):
        if other != value or type(other) is not type(value):
            yield f"{other!r} instead", other


def _of_float(value: Any) -> Iterator[tuple[str, Any]]:
    """Up and down by one bit, a little and a lot; zero, the other sign, huge and tiny."""
    flat = isinstance(value, dict)
    text = value["hex"] if flat else value
    number = float(text) if text in ("inf", "-inf") else float.fromhex(text)
    near = [math.nextafter(number, math.inf), math.nextafter(number, -math.inf)]
    near += [number * (1 + 1e-6), number * (1 - 1e-6), number + 1, number - 1]
    for other in (*near, 2 * number, number / 2, -number, 0.0, 999.0, 1e300, -1e300, 5e-324):
        if other != number:
            yield f"{other!r} for {number!r}", {"hex": other.hex()} if flat else other.hex()


def _of_list(values: list[Any], kind: str) -> Iterator[tuple[str, Any]]:
    """Shortened, extended, permuted, and each entry changed."""
    yield "first entry dropped", values[1:]
    yield "last entry dropped", values[:-1]
    yield "reversed", values[::-1]
    yield "rotated", values[1:] + values[:1]
    yield "extended", values + values[-1:]
    own = kind.rstrip("?").removesuffix("s")
    for place in sorted({0, len(values) // 2, len(values) - 1} & set(range(len(values)))):
        for change, other in _of_field("", values[place], own):
            yield f"entry {place}: {change}", [*values[:place], other, *values[place + 1 :]]


def json_mutants(body: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Any JSON value with one part changed: numbers, texts, lists and objects, at every depth.

    Of a long list the first, the middle and the last entry are changed.
    """
    name = ".".join(map(str, path)) or "all"
    for other in (None, True, 0, -1, 10**400, 1e308, "", "x", "nan", [], {}, [[]], {"x": None}):
        if json.dumps(other) != json.dumps(body):
            yield f"{name} = {str(other)[:20]}", other
    if isinstance(body, dict):
        for key in body:
            without = {other: inner for other, inner in body.items() if other != key}
            yield f"{name} without {key}", without
            for change, inner in json_mutants(body[key], (*path, key)):
                yield change, {**body, key: inner}
    elif isinstance(body, list) and body:
        yield f"{name} shortened", body[:-1]
        yield f"{name} extended", body + body[-1:]
        yield f"{name} reversed", body[::-1]
        for place in sorted({0, len(body) // 2, len(body) - 1}):
            for change, inner in json_mutants(body[place], (*path, place)):
                yield change, [*body[:place], inner, *body[place + 1 :]]
    elif isinstance(body, str):
        others = (body + "1", body[1:], "-" + body, "0x1p+1023", "inf")
        yield from ((f"{name} = {other[:20]!r}", other) for other in others)
    elif isinstance(body, int | float) and not isinstance(body, bool):
        yield from ((f"{name} = {other}", other) for other in (body + 1, -body - 1, 2 * body + 7, body + 0.5))
