"""Files read within limits, and files replaced together: regular files only, links followed, modes kept."""

import json
import os
import secrets
import stat
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from formulations.errors import FileFormatError, FormulationError

LARGEST_FILE = 2**30  # bytes; larger files are refused before they are read
MOST_PARTS = 2**23  # brackets, commas and colons of a JSON file; each stands for at most about 70 bytes of memory


def file_bytes(path: str | PathLike[str], largest: int = LARGEST_FILE) -> bytes:
    """Content of a regular file whose size was looked at first."""
    target = Path(path)
    try:
        # A pipe that nobody writes to would block; the flag has no effect on a file.
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(target, flags)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            raise FileFormatError(f"{target} cannot be read: it is no regular file; give the path of one.")
        with open(descriptor, "rb") as file:
            if found.st_size > largest:
                raise FileFormatError(f"{target.name} has {found.st_size} bytes; at most {largest} are read.")
            return file.read(largest)
    except (OSError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or "it does not fit into memory"
        raise FileFormatError(f"{target} cannot be read: {reason}; give the path of an existing file.") from error
    except ValueError as error:
        if isinstance(error, FormulationError):
            raise
        raise FileFormatError(f"{str(target)!r} cannot be read: it holds a NUL character.") from error


def parsed_json(content: bytes, source: str) -> Any:
    """What JSON text says, or a `FileFormatError` that names the source."""
    parts = sum(content.count(mark) for mark in (b"[", b"{", b",", b":"))
    try:
        if parts > MOST_PARTS:
            raise ValueError(f"it has {parts} parts, and at most {MOST_PARTS} are read")
        return json.loads(content.decode("ascii"))
    except (ValueError, RecursionError, MemoryError) as error:
        raise FileFormatError(f"{source} is no JSON that can be read: {str(error)[:120]}.") from error


def replace_all(files: Sequence[tuple[Path, bytes]]) -> None:
    """Write all files beside their targets first; only then let them take the targets' names. If one of them cannot
    take its name, those that were replaced before get their old content back.
    """
    waiting: list[tuple[Path, Path, Path]] = []
    done: list[tuple[Path, Path]] = []
    try:
        for path, content in files:
            target = _regular(path)
            draft, kept = (target.with_name(f".{target.name[:50]}.{secrets.token_hex(4)}.part") for _ in "12")
            waiting.append((draft, target, kept))
            _write(draft, content, target)
        for draft, target, kept in waiting:
            if target.exists():
                os.link(target, kept)
            os.replace(draft, target)
            done.append((target, kept))
    except BaseException as error:
        for target, kept in done:
            if kept.exists():
                os.replace(kept, target)
            else:
                target.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise FormulationError(
                f"{files[0][0]} cannot be written: {error.strerror or error}; choose another place."
            ) from error
        raise
    finally:
        for draft, _, kept in waiting:
            draft.unlink(missing_ok=True)
            kept.unlink(missing_ok=True)


def _write(draft: Path, content: bytes, target: Path) -> None:
    """A new file with the mode of the one that it will replace, if there is one."""
    old = target.stat() if target.exists() else None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(draft, flags, 0o666 if old is None else 0o600), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    if old is not None:
        draft.chmod(stat.S_IMODE(old.st_mode))


def _regular(path: Path) -> Path:
    """The file that a path leads to, links followed; a folder, a device or a pipe is refused."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise FormulationError(f"{path} is a directory; give the name of a file.")
    if (target.exists() and not target.is_file()) or str(target).startswith("/proc/"):
        raise FormulationError(f"{path} is a device or a pipe; give the name of a file.")
    return target
