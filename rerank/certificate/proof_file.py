"""Proofs as files: a zip of plain arrays (``.npy``) and a JSON header, which ``numpy.load`` opens too.

The header states how long every array is.  An array of another length is not unpacked, and all arrays together are
not if they would take more than ``MOST_BYTES``.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.atomic import writing_bytes
from rerank.io.bounded import open_regular, parsed_json, read_array
from rerank.problem.proof import VERSION, Proof

FORMAT = "exact-rerank proof"
HEADER = "header.json"
MOST_HEADER = 1 << 16
MOST_BYTES = 1 << 27
"""Size of all arrays together: 67 million codes. A search would need several gigabytes to put them in order."""
MOST_SUPPORTS = 2_000_000
"""Each is an object of about 150 bytes."""
MOST_DIRECTORY = 1 << 12
ARRAYS = {
    "weights": "<f8", "flip": "|i1", "support_sizes": "<i4", "supports": "<i4", "line_counts": "<i4",
    "lines": "<i8", "codes": "<u2",
}  # fmt: skip
DAMAGES = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, KeyError, ValueError, TypeError,
    AttributeError, OverflowError, NotImplementedError, RuntimeError, IndexError, SyntaxError,
)  # fmt: skip


class ProofTooLargeError(InputError):
    """A proof is larger than what is read back, so it is not written."""


def save_proof(proof: Proof, path: str | os.PathLike[str]) -> None:
    """Write a proof, whole or not at all; equal proofs make equal bytes.

    Raises
    ------
    InputError
        The file cannot be written, or the proof is larger than what is read back (`ProofTooLargeError`).
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
    try:
        _check_lengths(header["lengths"])
    except ValueError as error:
        raise ProofTooLargeError(
            f"The proof cannot be written to {path}: {error}; use a shorter search."
        ) from None
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        _put(archive, HEADER, (json.dumps(header, indent=1) + "\n").encode())
        for name, kind in ARRAYS.items():
            body = io.BytesIO()
            np.lib.format.write_array(body, arrays[name].astype(kind), version=(1, 0), allow_pickle=False)
            _put(archive, f"{name}.npy", body.getvalue())
    with writing_bytes(path) as file:
        file.write(memory.getbuffer())


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
        with open_regular(path) as file:
            _check_directory(file)
            with zipfile.ZipFile(file) as archive:
                return _read(archive)
    except InputError as error:
        raise InputError(f"Cannot read the proof {name}: {error}") from None
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


def _check_directory(file: BinaryIO) -> None:
    """Refuse an archive with a long list of members before that list is read into memory."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - 42))
    tail = file.read()
    end = tail[-22:]
    if size > MOST_BYTES + (1 << 20) or end[:4] != b"PK\x05\x06" or tail.startswith(b"PK\x06\x07"):
        raise ValueError("it is no archive of a header and seven arrays")
    if int.from_bytes(end[12:16], "little") > MOST_DIRECTORY:
        raise ValueError("its list of members is too long")
    file.seek(0)


def _read(archive: zipfile.ZipFile) -> Proof:
    entries = {entry.filename: entry for entry in archive.infolist()}
    wanted = [HEADER, *(f"{name}.npy" for name in ARRAYS)]
    if sorted(entries) != sorted(wanted) or len(archive.infolist()) != len(wanted):
        raise ValueError("it does not hold a header and the seven arrays")
    header = parsed_json(_content(archive, entries[HEADER], MOST_HEADER))
    if not isinstance(header, dict) or header.get("format") != FORMAT or header.get("version") != VERSION:
        raise ValueError(f"it does not say it is an {FORMAT} of version {VERSION}")
    _check_lengths(header["lengths"])
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
        supports=tuple(_cut(arrays["supports"].astype(np.intp), arrays["support_sizes"])),
        codes=arrays["codes"], lines=tuple(_cut(lines, arrays["line_counts"])), fingerprint=fingerprint,
    )  # fmt: skip


def _check_lengths(lengths: Any) -> None:
    """Whether all arrays together may be unpacked."""
    for name, kind in ARRAYS.items():
        if type(lengths[name]) is not int or not 0 <= lengths[name] <= MOST_BYTES // np.dtype(kind).itemsize:
            raise ValueError(f"{name} is said to hold {str(lengths[name])[:20]} numbers")
    total = sum(lengths[name] * np.dtype(kind).itemsize for name, kind in ARRAYS.items())
    if total > MOST_BYTES:
        raise ValueError(f"its arrays take {total} bytes, and at most {MOST_BYTES} are read")
    if lengths["support_sizes"] > MOST_SUPPORTS or lengths["line_counts"] > MOST_SUPPORTS:
        raise ValueError(f"it is said to list more than {MOST_SUPPORTS} supports")


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, length: int, kind: str) -> NDArray[Any]:
    """One array of exactly the type and length that the header states."""
    if entry.file_size > length * np.dtype(kind).itemsize + 1024:
        raise ValueError(f"{entry.filename} is longer than it may be")
    with archive.open(entry) as file:
        try:
            array = read_array(cast(BinaryIO, file), kind, (length,), entry.file_size)
        except ValueError as error:
            raise ValueError(f"{entry.filename}: {error}") from None
        if file.read(1):  # read to the end, so that the checksum is compared
            raise ValueError(f"{entry.filename} is longer than it states")
    return array


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
    nothing = array[:0]  # most supports have no lines, and can share one object
    return [
        array[stop - size : stop] if size else nothing for stop, size in zip(stops.tolist(), sizes.tolist())
    ]
