"""Results as the flat mapping of a model file: nested names are joined by dots, entries of a sequence are numbered."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.reranker.evidence import Evidence, evidence_of
from rerank.reranker.files.model_fields import MAX_TEXT
from rerank.reranker.result import KEEPING, SOURCES, STATUSES, Result, ShortlistInfo

UNFITTED = KEEPING[1:]
"""Statuses of a fit without weights."""

# Kept elsewhere in the file, or computed from the rest.
_ELSEWHERE = {"weights", "gap", "proved", "statistic_name", "fitted_name", "gain", "epsilon", "C"}
# The part of an annotation before "| None", and what a value of it is.
_KINDS: dict[str, tuple[type, str]] = {
    "float": (float, "a finite number"),
    "int": (int, "a whole number from 0"),
    "str": (str, "a text"),
    "bool": (bool, "true or false"),
}


def result_to_flat(result: Result) -> dict[str, Any]:
    """Numbers, texts, booleans and None by dotted name."""
    body = {key: value for key, value in result.to_dict().items() if key not in _ELSEWHERE}
    if not result.gave_up:  # files written before have no such entry
        del body["gave_up"]
    for field in fields(Result):
        if str(field.type).startswith("float") and body.get(field.name) is not None:
            body[field.name] = float(body[field.name])
    if result.certificate is not None:
        body["certificate"] = certificate_entries(result.certificate)
    return flattened({**body, "message": _shortened(result.message)})


def _shortened(text: Any) -> Any:
    """A text that the file can hold: its SHA-256 where it is too long, enough to compare it with a recomputed one."""
    if len(str(text)) <= MAX_TEXT:
        return text
    return "sha256:" + hashlib.sha256(str(text).encode()).hexdigest()


def certificate_entries(certificate: Any) -> dict[str, Any]:
    """Every entry of a certificate by dotted name; with hundreds of lists its fractions are too long for a file."""
    return {key: _shortened(value) for key, value in flattened(certificate.to_dict()).items()}


def _certificate(entries: Mapping[str, Any]) -> Any:
    """The certificate of a file; None if there is none, or if its fractions were too long for the file."""
    from rerank.certificate import Certificate

    if not entries or any(str(value).startswith("sha256:") for value in entries.values()):
        return None
    try:
        return Certificate.from_dict({**entries, "weights": _row(entries, "weights")})
    except InputError:
        raise _unusable("its certificate lacks an entry, or one is no number") from None


def flattened(body: Any, prefix: str = "") -> dict[str, Any]:
    """Values by dotted name; entries of a sequence are numbered."""
    if isinstance(body, Mapping):
        items = list(body.items())
    elif isinstance(body, list):
        items = list(enumerate(body))
    else:
        return {prefix: body}
    return {
        name: value
        for key, inner in items
        for name, value in flattened(inner, f"{prefix}.{key}" if prefix else str(key)).items()
    }


def gathered(flat: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The entries below a dotted name."""
    return {key[len(prefix) + 1 :]: value for key, value in flat.items() if key.startswith(prefix + ".")}


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping that was flattened; a sequence is numbered from 0, and empty ones are not there.

    Raises
    ------
    InputError
        If a name stands for a value and for a mapping.
    """
    tree: dict[str, Any] = {}
    for key, value in flat.items():
        *path, last = key.split(".")
        node = tree
        for part in path:
            node = node.setdefault(part, {})
            if not isinstance(node, dict):
                raise _unusable(f"{key[:40]} is below a value")
        if last in node:
            raise _unusable(f"{key[:40]} is a value and a mapping")
        node[last] = value
    return {key: _sequences(value) for key, value in tree.items()}


def _sequences(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    inner = {key: _sequences(value) for key, value in node.items()}
    numbered = [str(number) for number in range(len(inner))]
    return [inner[key] for key in numbered] if set(inner) == set(numbered) else inner


def _evidence(entries: Mapping[str, Any], statistic: str) -> Evidence | None:
    """What held-out rows said, by the entries of a file; None if it says nothing of them."""
    if not entries:
        return None
    rows = {name: _row(entries, name) for name in {key.partition(".")[0] for key in entries if "." in key}}
    plain = {key: value for key, value in entries.items() if "." not in key}
    return evidence_of(plain | rows, statistic)


def _row(flat: Mapping[str, Any], prefix: str) -> list[Any]:
    """Numbered entries in order."""
    entries = gathered(flat, prefix)
    try:
        return [entries[str(number)] for number in range(len(entries))]
    except KeyError as error:
        raise _unusable(f"{prefix} has no entry {error}") from None


def result_from_flat(
    flat: Mapping[str, Any],
    weights: NDArray[np.float64],
    names: tuple[str, str],
    gain: str,
    epsilon: float,
    C: float,
) -> Result:
    """The result of a model file; ``names`` are those of the quoted and of the fitted statistic.

    Raises
    ------
    InputError
        If an entry is missing or of another kind, or if the status or the source of the bound is unknown.
    """
    short, size = gathered(flat, "shortlist"), gathered(flat, "model_size")
    constant, notes = tuple(_row(short, "constant_features")), tuple(_row(flat, "notes"))
    left_out = tuple(_row(flat, "left_out"))
    short = {key: value for key, value in short.items() if "." not in key}
    plain = {key: value for key, value in flat.items() if "." not in key and key != "model_size"}
    seconds, message = gathered(flat, "seconds"), plain.pop("message", None)
    if not isinstance(message, str):
        raise _unusable("it has no message")
    _check_kinds(Result, plain, "")
    _check_kinds(ShortlistInfo, short, "shortlist.")
    for kind, values in (
        ("str", constant),
        ("float", seconds.values()),
        ("int", size.values()),
        ("str", (*notes, *left_out)),
    ):
        for value in values:
            _check_kind(kind, "shortlist, seconds, model_size or notes", value)
    try:
        result = Result(
            **plain,
            weights=weights,
            statistic_name=names[0],
            fitted_name=names[1],
            gain=gain,
            epsilon=epsilon,
            C=C,
            certificate=_certificate(gathered(flat, "certificate")),
            evidence=_evidence(gathered(flat, "evidence"), names[0]),
            shortlist=ShortlistInfo(**short, constant_features=constant),
            seconds=seconds,
            model_size=size or None,
            notes=notes,
            left_out=left_out,
        )
    except (TypeError, ValueError) as error:
        raise (error if isinstance(error, InputError) else _unusable(str(error)[:160])) from None
    for name, known in (("status", STATUSES), ("bound_source", SOURCES)):
        if plain[name] not in known:
            raise _unusable(f"the {name} {plain[name][:40]!r} is unknown")
    return result


def _check_kinds(kind: type, values: Mapping[str, Any], prefix: str) -> None:
    """Check that each entry has the type that the class declares."""
    annotations = {field.name: str(field.type) for field in fields(kind)}
    for name, value in values.items():
        word, _, none = annotations.get(name, "").partition(" | ")
        if word in _KINDS and not (none == "None" and value is None):
            _check_kind(word, prefix + name, value)


def _check_kind(word: str, name: str, value: Any) -> None:
    kind, meaning = _KINDS[word]
    usable = type(value) is kind
    if usable and word in ("float", "int"):
        usable = math.isfinite(value) if word == "float" else value >= 0
    if not usable:
        raise _unusable(f"{name} is {str(value)[:40]!r}, not {meaning}")


def _unusable(found: str) -> InputError:
    return InputError(f"The model's result cannot be used ({found}); fit and save it again.")
