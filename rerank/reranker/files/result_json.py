"""Results as the flat mapping a model file keeps: nested names joined by dots, entries of a row numbered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.reranker.files.model_fields import MAX_TEXT
from rerank.reranker.result import STATUSES, Result, ShortlistInfo

# Kept elsewhere in the file, or computed from the rest.
_ELSEWHERE = {"weights", "gap", "proved", "statistic_name", "gain", "epsilon", "C"}


def result_to_flat(result: Result) -> dict[str, Any]:
    """Numbers, texts, booleans and None by dotted name."""
    body = {key: value for key, value in result.to_dict().items() if key not in _ELSEWHERE}
    if result.certificate is not None:
        # With hundreds of lists the exact fractions outgrow a text of the file; verifying recomputes them anyway.
        exact = {
            key: value
            for key, value in result.certificate.to_dict().items()
            if key not in ("weights", "epsilon", "C")
        }
        body["certificate"] = {key: value for key, value in exact.items() if len(str(value)) <= MAX_TEXT}
    return _flattened(body)


def _certificate(flat: Mapping[str, Any], weights: NDArray[np.float64], epsilon: float, C: float) -> Any:
    from rerank.certificate import Certificate

    body = _gathered(flat, "certificate")
    if not {"value", "statistic", "margin"} <= set(body):
        return None
    return Certificate.from_dict(
        {**body, "weights": [float(w).hex() for w in weights], "epsilon": epsilon.hex(), "C": C.hex()}
    )


def _flattened(body: Any, prefix: str = "") -> dict[str, Any]:
    if isinstance(body, Mapping):
        items = list(body.items())
    elif isinstance(body, list):
        items = list(enumerate(body))
    else:
        return {prefix: body}
    return {
        name: value
        for key, inner in items
        for name, value in _flattened(inner, f"{prefix}.{key}" if prefix else str(key)).items()
    }


def _gathered(flat: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {key[len(prefix) + 1 :]: value for key, value in flat.items() if key.startswith(prefix + ".")}


def result_from_flat(
    flat: Mapping[str, Any],
    weights: NDArray[np.float64],
    statistic_name: str,
    gain: str,
    epsilon: float,
    C: float,
) -> Result:
    """The result of a model file.

    Raises
    ------
    InputError
        Where a number is missing or the status is unknown.
    """
    try:
        short = _gathered(flat, "shortlist")
        constant = tuple(
            str(short.pop(key)) for key in sorted(k for k in short if k.startswith("constant_features."))
        )
        size = _gathered(flat, "model_size")
        plain = {key: value for key, value in flat.items() if "." not in key and key != "model_size"}
        result = Result(
            **plain,
            weights=weights,
            statistic_name=statistic_name,
            gain=gain,
            epsilon=epsilon,
            C=C,
            certificate=_certificate(flat, weights, epsilon, C),
            shortlist=ShortlistInfo(**short, constant_features=constant),
            seconds=_gathered(flat, "seconds"),
            model_size=size or None,
            notes=tuple(map(str, _gathered(flat, "notes").values())),
        )
        np.array([result.statistic, result.value, result.bound], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The model's result cannot be used ({str(error)[:100]}); fit and save it again."
        ) from None
    if result.status not in STATUSES:
        raise InputError(f"The model's status {result.status!r} is unknown; fit and save it again.")
    return result
