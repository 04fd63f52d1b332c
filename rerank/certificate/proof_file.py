"""Proofs as files: a zip of plain arrays (``.npy``) and a JSON header, which ``numpy.load`` opens too.

The header states how long every array is.  An array of another length is not unpacked.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.atomic import writing
from rerank.problem.proof import VERSION, Proof

FORMAT = "exact-rerank proof"
HEADER = "header.json"
MOST_HEADER = 1 << 16
MOST_BYTES = 1 << 31
"""Size of one array."""
ARRAYS = {
    "weights": "<f8", "flip": "|i1", "support_sizes": "<i4", "supports": "<i4", "line_counts": "<i4",
    "lines": "<i8", "codes": "<u2",
}  # fmt: skip
DAMAGES = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, KeyError, ValueError, TypeError,
    AttributeError, OverflowError, NotImplementedError, RuntimeError, IndexError, SyntaxError,
)  # fmt: skip


def save_proof(proof: Proof, path: str | os.PathLike[str]) -> None:
    """Write a proof, whole or not at all; equal proofs make equal bytes.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    supports = [np.asarray(s) for s in proof.supports]
    arrays: dict[str, NDArray[Any]] = {
        "weights": proof.weights,
        "flip": proof.flip,
        "support_sizes": np.array([s.size for s in supports]),
        "supports": np.concatenate([np.empty(0, np.intp), *supports]),
        "line_counts": np.array([len(m) for m in proof.lines]),
        "lines": np.concatenate(
            [np.empty((0, 2), np.int64), *(m.reshape(-1, 2) for m in proof.lines)]
        ).ravel(),
        "codes": proof.codes,
    }
    header = {
        "format": FORMAT, "version": proof.version,
        "value": float(proof.value).hex(), "bound": float(proof.bound).hex(),
        "left_out": None if proof.left_out is None else int(proof.left_out), "fingerprint": proof.fingerprint,
        "lengths": {name: int(arrays[name].size) for name in ARRAYS},
    }  # fmt: skip
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        _put(archive, HEADER, (json.dumps(header, indent=1) + "\n").encode())
        for name, kind in ARRAYS.items():
            body = io.BytesIO()
            np.lib.format.write_array(body, arrays[name].astype(kind), version=(1, 0), allow_pickle=False)
            _put(archive, f"{name}.npy", body.getvalue())
    with writing(path) as file:
        cast(io.TextIOWrapper, file).buffer.write(memory.getvalue())


def _put(archive: zipfile.ZipFile, name: str, body: bytes) -> None:
    # A fixed date, so that equal proofs make equal bytes.
    archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), body, zipfile.ZIP_DEFLATED)


def load_proof(path: str | os.PathLike[str]) -> Proof:
    """Read a proof; :func:`rerank.certificate.verify_proof` says whether it holds.

    Raises
    ------
    InputError
        The file cannot be read, is no proof, or is damaged.
    """
    name = Path(path).name
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive)
    except OSError as error:
        raise InputError(f"Cannot read the proof {name}: {error.strerror or 'it is damaged'}.") from None
    except (MemoryError, RecursionError):
        raise InputError(
            f"The proof {name} does not fit into memory; it is damaged or was made on a larger machine."
        ) from None
    except DAMAGES as error:
        reason = str(error).splitlines()[0][:100] if str(error) else type(error).__name__
        raise InputError(
            f"{name} is not a proof that can be used ({reason}); write it again with save_proof."
        ) from None


def _read(archive: zipfile.ZipFile) -> Proof:
    entries = {entry.filename: entry for entry in archive.infolist()}
    wanted = [HEADER, *(f"{name}.npy" for name in ARRAYS)]
    if sorted(entries) != sorted(wanted) or len(archive.infolist()) != len(wanted):
        raise ValueError("it does not hold a header and the seven arrays")
    header = json.loads(_content(archive, entries[HEADER], MOST_HEADER))
    if not isinstance(header, dict) or header.get("format") != FORMAT or header.get("version") != VERSION:
        raise ValueError(f"it does not say it is an {FORMAT} of version {VERSION}")
    arrays = {
        name: _array(archive, entries[f"{name}.npy"], header["lengths"][name], kind)
        for name, kind in ARRAYS.items()
    }
    left_out, fingerprint = header["left_out"], header["fingerprint"]
    if not (left_out is None or type(left_out) is int) or not isinstance(fingerprint, str):
        raise ValueError("its header is not complete")
    lines = arrays["lines"].reshape(-1, 2)
    return Proof(
        value=float.fromhex(header["value"]), bound=float.fromhex(header["bound"]),
        weights=arrays["weights"], flip=arrays["flip"], left_out=left_out,
        supports=tuple(part.astype(np.intp) for part in _cut(arrays["supports"], arrays["support_sizes"])),
        codes=arrays["codes"], lines=tuple(_cut(lines, arrays["line_counts"])), fingerprint=fingerprint,
    )  # fmt: skip


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, length: Any, kind: str) -> NDArray[Any]:
    """One array of exactly the type and length that the header states."""
    size = np.dtype(kind).itemsize
    if type(length) is not int or not 0 <= length * size <= MOST_BYTES:
        raise ValueError(f"{entry.filename} is said to hold {length} numbers")
    body = io.BytesIO(_content(archive, entry, length * size + 1024))
    if np.lib.format.read_magic(body) != (1, 0):
        raise ValueError(f"{entry.filename} has another version")
    shape, _, dtype = np.lib.format.read_array_header_1_0(body)
    rest = body.read()
    if shape != (length,) or dtype != np.dtype(kind) or len(rest) != length * size:
        raise ValueError(f"{entry.filename} does not hold {length} numbers of type {kind}")
    return np.frombuffer(rest, dtype=kind).astype(np.dtype(kind).newbyteorder("="))


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> bytes:
    if entry.file_size > most:
        raise ValueError(f"{entry.filename} is longer than it may be")
    with archive.open(entry) as file:
        body = file.read(most + 1)  # read to the end, so that the checksum is compared
    if len(body) != entry.file_size:
        raise ValueError(f"{entry.filename} is cut short")
    return body


def _cut(array: NDArray[Any], sizes: NDArray[np.int32]) -> list[NDArray[Any]]:
    """Consecutive parts of the given sizes."""
    stops = np.cumsum(sizes, dtype=np.int64)
    if (sizes < 0).any() or (int(stops[-1]) if stops.size else 0) != len(array):
        raise ValueError("its parts do not add up")
    return [array[stop - size : stop] for stop, size in zip(stops.tolist(), sizes.tolist())]
