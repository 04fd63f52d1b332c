"""Files read within limits: regular files only, a stated number of bytes, and no more memory than these justify."""

import functools
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from typing import Any, BinaryIO, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError

Json = dict[str, Any]
"""An object of a JSON file, by the names of its entries."""

MOST_JSON_PARTS = 2**22  # brackets, commas and colons of a JSON file, each for at most about 70 bytes of memory
MAX_TEXT = 10_000  # characters of a name or of another text that a model file holds

_NPY_HEADER = re.compile(
    rb"\{'descr': '([^'\\]{1,6})', 'fortran_order': (False|True), 'shape': \(([0-9, ]{0,64})\), \} *\n"
)
_NPY_MOST_HEADER = 1024

Path = str | os.PathLike[str]
Given = ParamSpec("Given")
Found = TypeVar("Found")


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file to read its bytes; a folder, a device or a pipe, which may have no end, is refused."""
    try:
        # A pipe that nobody writes to would block; the flag has no effect on a file.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror or error}; check the path.") from None
    except ValueError:
        raise InputError(f"Cannot read {str(path)!r}: it holds a NUL character; check the path.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"Cannot read {path}: it is a folder, a device or a pipe; pass a regular file.")
    return open(descriptor, "rb")


def read_bytes(path: Path, most: int) -> bytes:
    """The content of a regular file of at most `most` bytes, or an `InputError`."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise InputError(f"{path} is larger than {most} bytes; pass another file.")
        try:
            return file.read(most)
        except OSError as error:
            raise InputError(f"Cannot read {path}: {error.strerror or error}; check the path.") from None


def parsed_json(raw: bytes, most_parts: int = MOST_JSON_PARTS) -> Any:
    """What JSON text says. ValueError: the bytes are not UTF-8, are no JSON, name a thing twice in one object, hold a
    NaN or an infinity, or nest too deeply or hold too many parts to be read.
    """
    parts = sum(raw.count(mark) for mark in (b"[", b"{", b",", b":"))
    if parts > most_parts:
        raise ValueError(f"it has {parts} parts, and at most {most_parts} are read")
    try:
        return json.loads(raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("too deeply nested") from None


def _unique(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"the name {repeated(name for name, _ in pairs)[:60]!r} appears twice in one object")
    return found


def repeated(names: Iterable[str]) -> str:
    """The first of some names that came before, or ``""``."""
    seen = set[str]()
    return next((name for name in names if name in seen or seen.add(name)), "")  # type: ignore[func-returns-value]


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


def read_array(body: BinaryIO, kind: str, shape: tuple[int, ...], size: int) -> NDArray[Any]:
    """One array of a ``.npy`` file (version 1.0) of this kind (``"<f8"``) and shape, or a ValueError. ``body`` stands
    at the beginning of the array, and ``size`` is the number of bytes that are really there, which is compared with
    what the array states before any memory is taken.
    """
    start = body.read(10)
    length = int.from_bytes(start[8:10], "little")
    if start[:8] != b"\x93NUMPY\x01\x00" or length > _NPY_MOST_HEADER:
        raise ValueError("it is no array of version 1.0")
    found = _NPY_HEADER.fullmatch(body.read(length))
    if found is None:
        raise ValueError("its header is not one that NumPy writes")
    stated = tuple(int(part) for part in found[3].decode().split(",") if part.strip().isdigit())
    if stated != shape or found[1].decode() != kind:
        raise ValueError(f"it does not hold {' x '.join(map(str, shape))} numbers of type {kind}")
    wanted = int(np.prod(shape, dtype=object)) * np.dtype(kind).itemsize
    if wanted != size - 10 - length:
        raise ValueError("its length is not the one it states")
    raw = bytearray(wanted)
    rest = memoryview(raw)
    while rest:
        if not (count := body.readinto(rest[: 2**20])):  # type: ignore[attr-defined]
            raise ValueError("it is cut short")
        rest = rest[count:]
    array = np.frombuffer(raw, kind).reshape(shape, order="F" if found[2] == b"True" else "C")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def within_memory(read: Callable[Given, Found]) -> Callable[Given, Found]:
    """A reader that takes a path first, with a shortage of memory turned into an `InputError`."""

    @functools.wraps(read)
    def reader(*arguments: Given.args, **options: Given.kwargs) -> Found:
        try:
            return read(*arguments, **options)
        except MemoryError:
            where = arguments[0] if arguments else "The file"
            raise InputError(f"{where} needs more memory than there is; pass a smaller file.") from None

    return reader


def plain(value: Any) -> Any:
    """The value in types that JSON has; numbers that are not finite become null, what it does not know a text."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
