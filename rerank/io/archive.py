"""Archives: a zip of plain arrays (``.npy``) and a JSON header, which ``numpy.load`` opens too; no pickle.

The header states how long every array is.  An array of another length is not unpacked, and all arrays together are
not if they would take more than the format allows.
"""

import io
import json
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.atomic import writing_bytes
from rerank.io.bounded import Json, open_regular, parsed_json, read_array

HEADER = "header.json"
DATE = (1980, 1, 1, 0, 0, 0)  # of all members, so that equal contents make equal bytes
MOST_HEADER = 1 << 16
MOST_DIRECTORY = 1 << 12
DAMAGES = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, RuntimeError),  # of the zip
    *(LookupError, ValueError, TypeError, AttributeError, OverflowError, SyntaxError),  # of what it holds
)

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Format:
    """What archives of one kind hold."""

    name: str  # stands in the header as ``format``
    version: int
    kinds: Mapping[str, str]  # names of the arrays and types of their numbers
    most_bytes: int  # size of all arrays together, unpacked
    compressed: bool = True
    optional: tuple[str, ...] = ()  # arrays that are left out where they are empty

    def check(self, lengths: Any) -> None:
        """Raise ValueError unless arrays of these lengths may be unpacked together."""
        for name, kind in self.kinds.items():
            most = self.most_bytes // np.dtype(kind).itemsize
            if type(lengths[name]) is not int or not 0 <= lengths[name] <= most:
                raise ValueError(f"{name} holds {str(lengths[name])[:20]} numbers, and 0 to {most} are read")
        total = sum(lengths[name] * np.dtype(kind).itemsize for name, kind in self.kinds.items())
        if total > self.most_bytes:
            raise ValueError(f"its arrays take {total} bytes, and at most {self.most_bytes} are read")


def lengths_of(form: Format, arrays: Arrays) -> dict[str, int]:
    """Numbers in each array; ValueError if an archive of them would not be read back."""
    lengths = {name: int(arrays[name].size) for name in form.kinds}
    form.check(lengths)
    return lengths


def write_archive(path: str | os.PathLike[str], form: Format, header: Json, arrays: Arrays) -> None:
    """Write an archive, whole or not at all; equal contents make equal bytes. ``format``, ``version`` and ``lengths``
    are added to the plain values of the header, and the arrays are flattened. InputError: the file cannot be written;
    ValueError: the arrays are larger than what is read back.
    """
    empty = [name for name in form.optional if not arrays[name].size]
    form = replace(form, kinds={name: kind for name, kind in form.kinds.items() if name not in empty})
    stated = {"format": form.name, "version": form.version, **header, "lengths": lengths_of(form, arrays)}
    method = zipfile.ZIP_DEFLATED if form.compressed else zipfile.ZIP_STORED
    with writing_bytes(path) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(HEADER, DATE), json.dumps(stated, indent=1) + "\n", method)
        for name, kind in form.kinds.items():
            body = io.BytesIO()
            flat = np.ravel(arrays[name]).astype(kind, copy=False)
            np.lib.format.write_array(body, flat, version=(1, 0), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", DATE), body.getbuffer(), method)


@contextmanager
def refusing(path: str | os.PathLike[str], what: str, remedy: str) -> Iterator[None]:
    """Turn whatever is wrong with a file that is read in the block into an :class:`InputError` of one sentence."""
    name = Path(path).name
    try:
        yield
    except InputError as error:
        known = str(error).startswith("Cannot read")
        raise InputError(str(error) if known else f"Cannot read the {what} {name}: {error}") from None
    except OSError as error:
        raise InputError(f"Cannot read the {what} {name}: {error.strerror or 'it is damaged'}.") from None
    except (MemoryError, RecursionError):
        raise InputError(
            f"The {what} {name} does not fit into memory; it is damaged or was made on a larger machine."
        ) from None
    except DAMAGES as error:
        reason = str(error).splitlines()[0][:100] if str(error) else type(error).__name__
        raise InputError(f"{name} is not a {what} that can be used ({reason}); {remedy}.") from None


def read_archive(path: str | os.PathLike[str], form: Format) -> tuple[Json, dict[str, NDArray[Any]]]:
    """Header and flat arrays of an archive; call it in a block of :func:`refusing`."""
    with open_regular(path) as file:
        # A long list of members is refused before it is read into memory.
        size = file.seek(0, io.SEEK_END)
        file.seek(max(0, size - 42))
        tail = file.read()
        end = tail[-22:]
        if size > form.most_bytes + (1 << 20) or end[:4] != b"PK\x05\x06" or tail.startswith(b"PK\x06\x07"):
            raise ValueError(f"it is no archive of a header and {len(form.kinds)} arrays")
        if int.from_bytes(end[12:16], "little") > MOST_DIRECTORY:
            raise ValueError("its list of members is too long")
        file.seek(0)
        with zipfile.ZipFile(file) as archive:
            names = sorted(entry.filename for entry in archive.infolist())
            left_out = [name for name in form.optional if f"{name}.npy" not in names]
            form = replace(form, kinds={name: kind for name, kind in form.kinds.items() if name not in left_out})
            if names != sorted([HEADER, *(f"{name}.npy" for name in form.kinds)]):
                raise ValueError(f"it does not hold a header and the {len(form.kinds)} arrays")
            header = parsed_json(_content(archive, archive.getinfo(HEADER)))
            known = isinstance(header, dict) and (header.get("format"), header.get("version"))
            if known != (form.name, form.version):
                raise ValueError(f"it does not say it is an {form.name} of version {form.version}")
            form.check(header["lengths"])
            return header, {name: np.empty(0) for name in left_out} | {
                name: _array(archive, archive.getinfo(f"{name}.npy"), header["lengths"][name], kind)
                for name, kind in form.kinds.items()
            }


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


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    if entry.file_size > MOST_HEADER:
        raise ValueError(f"{entry.filename} is longer than it may be")
    with archive.open(entry) as file:
        body = file.read(MOST_HEADER + 1)  # read to the end, so that the checksum is compared
    if len(body) != entry.file_size:
        raise ValueError(f"{entry.filename} is cut short")
    return body


def cut(array: NDArray[np.generic], sizes: NDArray[np.integer[Any]]) -> list[NDArray[Any]]:
    """Consecutive parts of the given sizes; ValueError if they are not all of the array."""
    stops = np.cumsum(sizes, dtype=np.int64)
    if (sizes < 0).any() or (int(stops[-1]) if stops.size else 0) != len(array):
        raise ValueError("its parts do not add up")
    nothing = array[:0]  # where most parts are empty, they can share one object
    return [array[stop - size : stop] if size else nothing for stop, size in zip(stops.tolist(), sizes.tolist())]


def joined(parts: Iterable[NDArray[np.generic]], kind: Any) -> NDArray[Any]:
    """Arrays one after the other, flat; :func:`cut` parts them again."""
    return np.concatenate([np.empty(0, kind), *(part.ravel() for part in parts)])


def finite(array: NDArray[np.generic], shape: tuple[int, ...] | None = None) -> NDArray[Any]:
    """The array in this shape; ValueError if it has another size or holds a NaN or an infinity."""
    if not np.isfinite(array).all():
        raise ValueError("a number is not finite")
    return array if shape is None else array.reshape(shape)
