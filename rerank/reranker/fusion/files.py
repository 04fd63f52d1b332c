"""A fusion model as one JSON file: read whole and checked, written whole or not at all."""

import hashlib
import json
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from rerank.errors import InputError
from rerank.io.atomic import writing
from rerank.io.bounded import parsed_json, plain, read_bytes
from rerank.reranker.fusion.model import FusionModel
from rerank.reranker.fusion.normalise import MISSING, NORMALISERS

FORMAT = "exact-rerank fusion"
SCHEMA = 1
MOST_BYTES = 2**24
FIELDS = ("format", "schema", "runs", "normalise", "k", "missing", "depth", "about", "digest")
SOMETIMES, KINDS = "sigmoid", "kinds"
"""Entries of models with that normaliser (centre and width of each run's scores) and with weights by kind of query."""


def save(model: FusionModel, path: str | os.PathLike[str]) -> None:
    """Write the model. Weights are plain numbers of the normalised scores; every bit is kept.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    body: dict[str, Any] = {"format": FORMAT, "schema": SCHEMA, "runs": dict(zip(model.names, model.weights.tolist()))}
    body |= {"normalise": model.normaliser, "k": model.k, "missing": model.missing, "depth": model.depth}
    body["about"] = plain(model.about)
    if model.normaliser == "sigmoid" and model.curves is not None:
        body[SOMETIMES] = model.curves.tolist()
    if model.kinds:
        body[KINDS] = {kind: dict(zip(model.names, own.tolist())) for kind, own in model.kinds.items()}
    text = json.dumps(body | {"digest": _digest(body)}, indent=1, allow_nan=False)
    with writing(path) as file:
        file.write(text + "\n")


def load(path: str | os.PathLike[str]) -> FusionModel:
    """Read a model that :func:`save` wrote.

    Raises
    ------
    InputError
        One sentence, for anything else: another format, a damaged or changed file, values that cannot be.
    """
    try:
        body = parsed_json(read_bytes(path, MOST_BYTES))
        if not isinstance(body, dict) or body.get("format") != FORMAT:
            raise ValueError(f'"format" is not {FORMAT!r}')
        if type(body.get("schema")) is not int or body["schema"] != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        if set(body) - {SOMETIMES, KINDS} != set(FIELDS):
            raise ValueError(f"it must have the entries {', '.join(FIELDS)}")
        if body["digest"] != _digest({name: value for name, value in body.items() if name != "digest"}):
            raise ValueError("the digest does not match the content")
        return _checked(body)
    except InputError:
        raise
    except (ValueError, MemoryError, RecursionError) as error:
        raise InputError(
            f"{path} holds no fusion model that can be used ({str(error)[:120]}); pass a file written by save or by "
            "rerank fuse --model."
        ) from None


def _checked(body: Mapping[str, Any]) -> FusionModel:
    runs, depth, kinds = body["runs"], body["depth"], body.get(KINDS, {})
    curves: Any = body.get(SOMETIMES)
    if not isinstance(runs, dict) or not runs or not all(runs) or not all(map(_real, runs.values())):
        raise ValueError("'runs' must hold a finite weight for each run")
    if body["normalise"] not in NORMALISERS or body["missing"] not in MISSING:
        raise ValueError("'normalise' or 'missing' is no rule that is known")
    if not _real(body["k"]) or body["k"] < 0:
        raise ValueError("'k' must be a number, 0 or more")
    if depth is not None and (type(depth) is not int or depth < 1):
        raise ValueError("'depth' must be null or a whole number, at least 1")
    if not isinstance(body["about"], dict):
        raise ValueError("'about' must be an object")
    pairs = isinstance(curves, list) and len(curves) == len(runs) and all(isinstance(one, list) for one in curves)
    if SOMETIMES in body:
        if not pairs or not all(len(one) == 2 and all(map(_real, one)) and one[1] > 0 for one in curves):
            raise ValueError("'sigmoid' must hold a centre and a positive width for each run")
        curves = np.array(curves, dtype=np.float64)
    tables: list[Any] = list(kinds.values()) if isinstance(kinds, dict) else [None]
    named = all(isinstance(own, dict) and own.keys() == runs.keys() for own in tables)
    if not named or not all(all(map(_real, own.values())) for own in tables):
        raise ValueError("'kinds' must hold a finite weight for each run and kind")
    weights, *of_kinds = (np.array([float(own[run]) for run in runs]) for own in (runs, *tables))
    rules = body["normalise"], float(body["k"]), body["missing"], depth, body["about"], curves
    return FusionModel(tuple(runs), weights, *rules, dict(zip(kinds, of_kinds)))


def _real(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) <= 1e300 and math.isfinite(value)


def _digest(body: Mapping[str, Any]) -> str:
    canonical = json.dumps(body, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
