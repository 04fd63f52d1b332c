"""Numbered lines of a text file, the numbers in them, and the one sentence when something is wrong."""

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import IO, BinaryIO

from rerank.errors import InputError
from rerank.io.atomic import writing, writing_bytes
from rerank.io.bounded import open_regular

Path = str | os.PathLike[str]

MAX_LINE = 16 * 2**20
MAX_UNPACKED = 2**27  # bytes of text that a gzip file may hold, or ten times its own size if that is more
MAGIC = b"\x1f\x8b"  # the first bytes of a gzip file, by which it is known whatever its name is
MAX_LINES = 2**22  # lines that a gzip file may hold, or one for each of its bytes if that is more

_PART = 2**18
# Words for the numbers of a column of truth values.
TRUTH = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", ".", "-", "#n/a", "<na>", "\\n"})


def wrong(path: Path, line: int, found: str, advice: str) -> InputError:
    """The error for one place of a file."""
    return InputError(f"{path}, line {line}: {found}; {advice}.")


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, text with its line end) for each line of a UTF-8 file, without a byte order mark.
    InputError: the file cannot be opened, is no regular file, is damaged gzip, unpacks to more than ``MAX_UNPACKED``
    bytes or ``MAX_LINES`` lines, is not UTF-8, or has a line of more than 16 MiB.
    """
    with _opened(path) as packed:
        if _is_packed(path, packed):
            for _ in _unpacked(path, packed):  # which takes a hundredth of the time that reading the lines does
                pass
            packed.seek(0)
            yield from lines_of(path, gzip.GzipFile(fileobj=packed, mode="rb"))  # type: ignore[arg-type]
        else:
            yield from lines_of(path, packed)


def lines_of(path: Path, file: BinaryIO) -> Iterator[tuple[int, str]]:
    """The lines of an open file as :func:`numbered_lines` has them."""
    number = 0
    try:
        while raw := file.readline(MAX_LINE + 1):
            number += 1
            if len(raw) > MAX_LINE:
                raise wrong(path, number, f"the line is longer than {MAX_LINE} bytes", "break it")
            if b"\0" in raw:
                raise wrong(path, number, "there is a NUL byte, so this is no text", "pass a text file")
            yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise wrong(path, number, "the text is not UTF-8", "save the file as UTF-8") from None


def read_whole(path: Path) -> bytes:
    """All bytes of a file, unpacked if it is gzip, within the limits of :func:`numbered_lines`."""
    with _opened(path) as packed:
        return b"".join(_unpacked(path, packed)) if _is_packed(path, packed) else packed.read()


def read_beginning(path: Path) -> bytes:
    """The first bytes of what :func:`read_whole` has."""
    with _opened(path) as packed:
        return next(_unpacked(path, packed), b"") if _is_packed(path, packed) else packed.read(_PART)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The file, and one sentence for what reading it may raise."""
    try:
        with open_regular(path) as file:
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is damaged gzip ({error}); take an undamaged copy.") from None
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror or error}; check the path.") from None


def _is_packed(path: Path, file: BinaryIO) -> bool:
    found = file.read(2) == MAGIC or PurePath(path).suffix == ".gz"
    file.seek(0)
    return found


@contextmanager
def writing_lines(path: Path) -> Iterator[IO[str]]:
    """Write what :func:`numbered_lines` reads back: UTF-8, packed where the name ends in ``.gz``."""
    if PurePath(path).suffix != ".gz":
        with writing(path) as file:
            yield file
        return
    with (
        writing_bytes(path) as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as file,
    ):
        yield file


def _unpacked(path: Path, packed: BinaryIO) -> Iterator[bytes]:
    """The text of a gzip file, part by part, unless there is too much of it."""
    size = os.fstat(packed.fileno()).st_size
    left, lines = max(MAX_UNPACKED, 10 * size), max(MAX_LINES, size)
    file = gzip.GzipFile(fileobj=packed, mode="rb")
    while part := file.read(_PART):
        left, lines = left - len(part), lines - part.count(b"\n")
        if left < 0 or lines < 0:
            most = f"{MAX_UNPACKED} bytes and ten times" if left < 0 else f"{MAX_LINES} lines and one for each byte of"
            raise InputError(
                f"{path}: the text unpacks to more than {most} the file; unpack it if you trust it, and pass that."
            )
        yield part


def number(text: str) -> float:
    """Return the number in a cell; anything else is a `ValueError` (``float`` alone reads ``1_000`` too)."""
    if "_" in text:
        raise ValueError(text)
    return float(text)


def is_number(text: str) -> bool:
    """Whether a cell holds the digits of a number, NaN and infinity among them."""
    try:
        number(text)
    except ValueError:
        return False
    return True


def no_number(path: Path, line: int, column: str, text: str) -> InputError:
    """The error for a cell that should be a finite number."""
    shown = text.strip()[:40]
    if shown.lower() in MISSING:
        found = f"column {column} has no value ({shown!r})" if shown else f"column {column} is empty"
        return wrong(path, line, found, "fill the value in, or drop the row")
    if not is_number(text):
        found = f"column {column} holds {shown!r} where a number is expected"
        return wrong(path, line, found, "correct it, or leave that column out")
    return wrong(path, line, f"column {column} holds {shown}, which is not finite", "fill it in or drop the row")


def named(name: str) -> str:
    """A name from a file in quotes, for a sentence; only the beginning of a long one."""
    return repr(name if len(name) <= 60 else name[:57] + "...")


def spelled(value: float) -> str:
    """The shortest text that reads back as the same double; whole numbers without a point."""
    # -0.0 is kept apart from 0 by its own spelling.
    whole = value.is_integer() and abs(value) < 1e15 and str(value) != "-0.0"
    return str(int(value)) if whole else repr(value)
