"""Models on the disk: a folder with a JSON file and arrays as npy files, and never a pickle.

``model.json`` names the array files, their shapes and digests.  Array files carry their digest in their name and
are written first; the JSON file is moved over the old one last.  So a folder holds one whole model at any time, the old
one or the new one, whatever happens in between.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.atomic import writing
from rerank.errors import InputError

NAME = "model.json"
FORMAT = "exact-rerank latent model"
SCHEMA = 1


def write(
    folder: str | os.PathLike[str], fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a model, in place of the one that the folder holds.

    Parameters
    ----------
    folder : path
        Made where it does not exist.
    fields : mapping
        Whatever JSON can hold.
    arrays : mapping of str to array

    Raises
    ------
    InputError
        The folder cannot be made or written, or holds files but no model.
    """
    home = Path(folder)
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make the folder {home}: {error.strerror}; choose another path.") from None
    if not (home / NAME).exists() and any(home.iterdir()):
        raise InputError(f"{home} holds files but no model; choose a folder of its own.")
    described = {name: _write_array(home, name, array) for name, array in arrays.items()}
    document = {"format": FORMAT, "schema": SCHEMA, **fields, "arrays": described}
    with writing(home / NAME) as file:
        json.dump(document, file, indent=1, allow_nan=False)
    kept = {entry["file"] for entry in described.values()}
    for path in home.glob("*.npy"):
        if path.name not in kept:
            path.unlink(missing_ok=True)


def _write_array(home: Path, name: str, array: NDArray[Any]) -> dict[str, Any]:
    digest = digest_of(array)
    target = home / f"{name}-{digest[:16]}.npy"
    part = home / f".{target.name}.part"
    try:
        with open(part, "wb") as file:
            np.save(file, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError(f"Cannot write {target}: {error.strerror}; choose another path.") from None
    return {"file": target.name, "sha256": digest, "shape": list(array.shape), "dtype": str(array.dtype)}


def digest_of(*arrays: NDArray[Any]) -> str:
    """SHA-256 of the bytes of some arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def read(folder: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Fields and arrays of a model.

    Raises
    ------
    InputError
        The folder holds no model, one of a newer version of this package, or a damaged one.
    """
    home = Path(folder)
    try:
        fields = json.loads((home / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{home} holds no readable {NAME}; give a folder that save() wrote.") from None
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise InputError(f"{home / NAME} is no {FORMAT}; give a folder that save() wrote.")
    if fields.get("schema") != SCHEMA:
        raise InputError(
            f"{home / NAME} has schema {fields.get('schema')!r}, this version reads {SCHEMA}; "
            "read it with the version of exact-rerank that wrote it."
        )
    try:
        arrays = {name: _read_array(home, entry) for name, entry in fields.pop("arrays").items()}
    except (KeyError, AttributeError, TypeError):
        raise InputError(f"{home / NAME} is damaged; save the model again.") from None
    return fields, arrays


def _read_array(home: Path, entry: Mapping[str, Any]) -> NDArray[Any]:
    # A name from a file is not trusted to stay inside the folder.
    path = home / Path(entry["file"]).name
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise InputError(f"{path} is missing or damaged; save the model again.") from None
    if list(array.shape) != entry["shape"] or digest_of(array) != entry["sha256"]:
        raise InputError(f"{path} is not the array that {NAME} describes; save the model again.")
    return array
