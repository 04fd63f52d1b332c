"""Models and checkpoints on disk: a folder with a JSON file and arrays as npy files, without pickle.

The JSON file names the array files, their shapes and digests.  Array files have their digest in their name and are
written first; the JSON file replaces the old one last.  So the folder holds one whole model at any time, the old one or
the new one, even if the process dies while it writes.

A lock keeps it to one process at a time that writes to a folder.
"""

import hashlib
import json
import os
import platform
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.atomic import writing, writing_bytes
from rerank.io.bounded import open_regular, parsed_json, read_array, read_bytes

MOST_FIELDS = 2**28  # bytes of a JSON file that is read; array files may be of any size, and are checked against it


@dataclass(frozen=True)
class FolderKind:
    """What a folder holds."""

    name: str  # of the JSON file
    noun: str  # what error messages call it
    schema: int  # version of the fields
    source: str  # for error messages: who writes such a folder
    remedy: str  # and what to do about a damaged one
    arrays: tuple[str, ...]  # names of all arrays that it may hold

    @property
    def format(self) -> str:
        """The value of "format" in the JSON file."""
        return f"exact-rerank latent {self.noun}"


_ARRAYS = ("U", "V", "GU", "GV", "log_indptr", "log_items", "held_out")
MODEL = FolderKind("model.json", "model", 1, "save() wrote", "save the model again", _ARRAYS)


def write(
    folder: str | os.PathLike[str],
    fields: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    kind: FolderKind = MODEL,
    written: Collection[str] = (),
) -> set[str]:
    """Write a model in place of the one in the folder, which is made unless it exists; the caller holds :func:`locked`.

    ``fields`` hold what JSON can. Array files that an earlier call has ``written`` are left as they are; those that the
    folder now holds are returned.
    """
    home = make_folder(folder)
    # A process that is killed while it writes leaves files whose names begin with a dot.
    if not (home / kind.name).exists() and any(path.name[0] != "." for path in home.iterdir()):
        raise InputError(f"{home} holds files but no {kind.noun}; choose a folder of its own.")
    described = {name: _write_array(home, name, array, written) for name, array in arrays.items()}
    document = {"format": kind.format, "schema": kind.schema, **fields, "arrays": described}
    with writing(home / kind.name) as file:
        json.dump(document, file, indent=1, allow_nan=False)
    kept = {str(entry["file"]) for entry in described.values()}
    _clean(home, kind, kept)
    return kept


def _clean(home: Path, kind: FolderKind, kept: Collection[str]) -> None:
    """Remove arrays that the JSON file no longer names, and what a killed process left; nothing else."""
    array = rf"({'|'.join(kind.arrays)})-[0-9a-f]{{16}}\.npy"
    ours = re.compile(rf"{array}|\.({array}|{re.escape(kind.name)})(\..*)?\.part")
    for path in home.iterdir():
        if ours.fullmatch(path.name) and path.name not in kept:
            path.unlink(missing_ok=True)


def _write_array(home: Path, name: str, array: NDArray[Any], written: Collection[str]) -> dict[str, Any]:
    digest = digest_of(array)
    target = home / f"{name}-{digest[:16]}.npy"
    entry = {"file": target.name, "sha256": digest, "shape": list(array.shape), "dtype": str(array.dtype)}
    if target.name in written:
        return entry
    with writing_bytes(target) as file:
        np.save(file, array, allow_pickle=False)
    return entry


def digest_of(*arrays: NDArray[Any]) -> str:
    """SHA-256 of the bytes of some arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def read_fields(folder: str | os.PathLike[str], kind: FolderKind = MODEL) -> dict[str, Any]:
    """The fields of the JSON file, without arrays; errors as :func:`read`."""
    path = Path(folder) / kind.name
    try:
        fields = parsed_json(read_bytes(path, MOST_FIELDS))
    except (OSError, ValueError, MemoryError):
        raise InputError(f"{folder} holds no readable {kind.name}; give a folder that {kind.source}.") from None
    if not isinstance(fields, dict) or fields.get("format") != kind.format:
        raise InputError(f"{path} is not an {kind.format}; give a folder that {kind.source}.")
    if type(fields.get("schema")) is not int or fields["schema"] != kind.schema:
        raise InputError(
            f"{path} has schema {str(fields.get('schema'))[:40]}, this version reads {kind.schema}; "
            "read it with the version of exact-rerank that wrote it."
        )
    return fields


def read(folder: str | os.PathLike[str], kind: FolderKind = MODEL) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Fields and arrays of a model; refused is a folder without one, of another version, or with a damaged one."""
    home = Path(folder)
    fields = read_fields(home, kind)
    try:
        arrays = {name: _read_array(home, entry, kind) for name, entry in fields.pop("arrays").items()}
    except (KeyError, AttributeError, TypeError):
        raise InputError(f"{home / kind.name} is damaged; {kind.remedy}.") from None
    return fields, arrays


def _read_array(home: Path, entry: Mapping[str, Any], kind: FolderKind) -> NDArray[Any]:
    # Use the last part alone: a name read from a file could lead out of the folder.
    path = home / Path(entry["file"]).name[:100]
    try:
        shape, dtype = entry["shape"], np.dtype(str(entry["dtype"]))
        if dtype.hasobject or not all(type(length) is int and 0 <= length < 2**48 for length in shape):
            raise ValueError("no shape of an array of numbers")
        with open_regular(path) as file:
            array = read_array(file, dtype.str, tuple(shape), os.fstat(file.fileno()).st_size)
    except (OSError, InputError, MemoryError):
        raise InputError(f"{path} is missing or damaged; {kind.remedy}.") from None
    except ValueError as error:
        raise InputError(f"{path} is not the array that {kind.name} describes ({error}); {kind.remedy}.") from None
    if digest_of(array) != entry["sha256"]:
        raise InputError(f"{path} is not the array that {kind.name} describes; {kind.remedy}.")
    return array


NAME = ".lock"


def make_folder(folder: str | os.PathLike[str]) -> Path:
    """Make a folder unless it exists."""
    home = Path(folder)
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make the folder {home}: {error.strerror}; choose another path.") from None
    return home


@contextmanager
def locked(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Lock a folder while the block runs; it is made unless it exists. The system releases the lock when the process
    ends, however it ends, so a lock is never stale.
    """
    home = make_folder(folder)
    try:
        descriptor = _open_locked(home / NAME)
    except BlockingIOError:
        holder = ""
        with suppress(OSError):
            holder = (home / NAME).read_text()
        raise InputError(
            f"{home} is in use by {holder or 'another process'}; wait until it has ended, or choose another folder."
        ) from None
    except OSError:
        descriptor = None  # The folder cannot be written to; the first write says so.
    try:
        yield
    finally:
        if descriptor is not None:
            with suppress(OSError):
                os.unlink(home / NAME)
            os.close(descriptor)


def _open_locked(path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(descriptor)
            # The last holder may have removed the file after it was opened here; such a lock keeps nobody out.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, f"process {os.getpid()} on {platform.node() or 'this machine'}".encode())
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


if sys.platform == "win32":

    def _lock(descriptor: int) -> None:
        import msvcrt

        try:
            # Lock bytes far behind the text: a lock keeps out readers, and others read the text.
            os.lseek(descriptor, 2**30, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        except OSError as error:
            raise BlockingIOError from error

else:

    def _lock(descriptor: int) -> None:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
