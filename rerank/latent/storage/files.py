"""Models and checkpoints on the disk: a folder with a JSON file and arrays as npy files, and never a pickle.

The JSON file names the array files, their shapes and digests.  Array files carry their digest in their name and
are written first; the JSON file is moved over the old one last.  So a folder holds one whole model at any time, the old
one or the new one, whatever happens in between.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.atomic import writing
from rerank.latent.storage.lock import made


@dataclass(frozen=True)
class Kind:
    """What a folder holds.

    Attributes
    ----------
    name : str
        Of the JSON file.
    noun : str
        In sentences.
    schema : int
        Version of the fields.
    source, remedy : str
        Who writes such a folder, and what to do about a damaged one.
    arrays : tuple of str
        Names of all arrays that it may hold.
    """

    name: str
    noun: str
    schema: int
    source: str
    remedy: str
    arrays: tuple[str, ...]

    @property
    def format(self) -> str:
        """As the JSON file states it."""
        return f"exact-rerank latent {self.noun}"


MODEL = Kind(
    "model.json", "model", 1, "save() wrote", "save the model again",
    ("U", "V", "GU", "GV", "log_indptr", "log_items", "held_out"),
)  # fmt: skip


def write(
    folder: str | os.PathLike[str],
    fields: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    kind: Kind = MODEL,
    whole: Collection[str] = (),
) -> set[str]:
    """Write a model, in place of the one that the folder holds; see :func:`rerank.latent.storage.lock.alone`.

    Parameters
    ----------
    folder : path
        Made where it does not exist.
    fields : mapping
        Whatever JSON can hold.
    arrays : mapping of str to array
    kind : Kind
    whole : collection of str
        Files that are known to be there and whole; they are not written again.

    Returns
    -------
    set of str
        The array files that the folder holds now.

    Raises
    ------
    InputError
        The folder cannot be made or written, or holds files but no model.
    """
    home = made(folder)
    # What a process leaves that is killed while it writes has a name that begins with a dot.
    if not (home / kind.name).exists() and any(path.name[0] != "." for path in home.iterdir()):
        raise InputError(f"{home} holds files but no {kind.noun}; choose a folder of its own.")
    described = {name: _write_array(home, name, array, whole) for name, array in arrays.items()}
    document = {"format": kind.format, "schema": kind.schema, **fields, "arrays": described}
    try:
        with writing(home / kind.name) as file:
            json.dump(document, file, indent=1, allow_nan=False)
    except OSError as error:
        raise _cannot_write(home / kind.name, error) from None
    kept = {str(entry["file"]) for entry in described.values()}
    _clean(home, kind, kept)
    return kept


def _clean(home: Path, kind: Kind, kept: Collection[str]) -> None:
    """Remove arrays that are no longer named, and what a process left that was killed while it wrote; nothing else."""
    array = rf"({'|'.join(kind.arrays)})-[0-9a-f]{{16}}\.npy"
    ours = re.compile(rf"{array}|\.{array}\.part|\.{re.escape(kind.name)}\..*\.part")
    for path in home.iterdir():
        if ours.fullmatch(path.name) and path.name not in kept:
            path.unlink(missing_ok=True)


def _cannot_write(target: Path, error: OSError) -> InputError:
    return InputError(f"Cannot write {target}: {error.strerror}; choose another path.")


def _write_array(home: Path, name: str, array: NDArray[Any], whole: Collection[str]) -> dict[str, Any]:
    digest = digest_of(array)
    target = home / f"{name}-{digest[:16]}.npy"
    entry = {"file": target.name, "sha256": digest, "shape": list(array.shape), "dtype": str(array.dtype)}
    if target.name in whole:
        return entry
    part = home / f".{target.name}.part"
    try:
        with open(part, "wb") as file:
            np.save(file, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _cannot_write(target, error) from None
    return entry


def digest_of(*arrays: NDArray[Any]) -> str:
    """SHA-256 of the bytes of some arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def read_fields(folder: str | os.PathLike[str], kind: Kind = MODEL) -> dict[str, Any]:
    """The JSON file alone; errors as :func:`read`."""
    path = Path(folder) / kind.name
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(
            f"{folder} holds no readable {kind.name}; give a folder that {kind.source}."
        ) from None
    if not isinstance(fields, dict) or fields.get("format") != kind.format:
        raise InputError(f"{path} is no {kind.format}; give a folder that {kind.source}.")
    if fields.get("schema") != kind.schema:
        raise InputError(
            f"{path} has schema {fields.get('schema')!r}, this version reads {kind.schema}; "
            "read it with the version of exact-rerank that wrote it."
        )
    return fields


def read(
    folder: str | os.PathLike[str], kind: Kind = MODEL
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Fields and arrays of a model.

    Raises
    ------
    InputError
        The folder holds no model, one of a newer version of this package, or a damaged one.
    """
    home = Path(folder)
    fields = read_fields(home, kind)
    try:
        arrays = {name: _read_array(home, entry, kind) for name, entry in fields.pop("arrays").items()}
    except (KeyError, AttributeError, TypeError):
        raise InputError(f"{home / kind.name} is damaged; {kind.remedy}.") from None
    return fields, arrays


def _read_array(home: Path, entry: Mapping[str, Any], kind: Kind) -> NDArray[Any]:
    # A name from a file is not trusted to stay inside the folder.
    path = home / Path(entry["file"]).name
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise InputError(f"{path} is missing or damaged; {kind.remedy}.") from None
    described = list(array.shape) == entry["shape"] and str(array.dtype) == entry["dtype"]
    if not described or digest_of(array) != entry["sha256"]:
        raise InputError(f"{path} is not the array that {kind.name} describes; {kind.remedy}.")
    return array
