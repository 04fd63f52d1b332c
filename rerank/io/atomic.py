"""Files written whole or not at all: links are followed, the mode of an existing file stays, only regular files.

A file is written beside its target, under a name of its own, and locked. The system lets go of the lock of a process
that is killed: what no process holds is removed by whoever writes to the same target next.
"""

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

from rerank.errors import InputError
from rerank.io.bounded import read_bytes
from rerank.io.paths import target_of, unwritable

SIDECAR = b'"exact-rerank program"'  # what a sidecar of a program says of its format
LARGEST_SIDECAR = 2**28  # bytes

try:
    import fcntl
except ImportError:  # Windows, where a killed process leaves its file behind
    fcntl = None  # type: ignore[assignment]

# Files that are written and wait for the end of a block of `together`: temporary name, target, what holds the lock.
_waiting: ContextVar[list[tuple[str, Path, int]] | None] = ContextVar("waiting", default=None)


def writing(path: str | os.PathLike[str]) -> AbstractContextManager[IO[str]]:
    """Open a text file (UTF-8, Unix line ends) that takes the place of `path` when the block ends well.

    The text goes to a temporary file beside the target, is flushed to the disk, and is then moved over it.
    After an error the target is as it was and nothing is left beside it. A link stays, and the file that it leads to is
    replaced. The mode of an existing file is kept. InputError: the folder does not exist or cannot be written, the path
    is no regular file or the sidecar of a program, or the disk is full.
    """
    target = Path(path)
    if target.suffix.lower() == ".json" and (program := target.with_suffix(".mps")).is_file() and is_sidecar(target):
        raise InputError(
            f"{path} is the sidecar of {program.name}, which is of no use without it; choose another name."
        )
    return _replacing(path, "w", encoding="utf-8", newline="\n")


def is_sidecar(path: Path) -> bool:
    """Whether a file says that it belongs to a program of the same name."""
    with suppress(InputError):
        return SIDECAR in read_bytes(path, LARGEST_SIDECAR)
    return False


def writing_bytes(path: str | os.PathLike[str]) -> AbstractContextManager[IO[bytes]]:
    """Open a binary file that takes the place of `path` as :func:`writing` does."""
    return _replacing(path, "wb")


@contextmanager
def _replacing(path: str | os.PathLike[str], mode: str, **options: str) -> Iterator[IO[Any]]:
    target = target_of(path)
    try:
        old = os.stat(target) if target.exists() else None
        name, descriptor = _opened(target, 0o666 if old is None else 0o600)  # private where the target has a mode
    except OSError as error:
        raise unwritable(path, error, "choose a folder that can be written") from None
    lock = os.dup(descriptor)
    try:
        with open(descriptor, mode, **options) as file:  # type: ignore[call-overload]
            yield file
            file.flush()
            if old is not None and os.name != "nt":  # the owner and the mode of the old file
                new = os.fstat(descriptor)
                if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
                    with suppress(OSError):
                        os.fchown(descriptor, old.st_uid, old.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
            os.fsync(descriptor)
        if (waiting := _waiting.get()) is None:
            os.replace(name, target)
            os.close(lock)
        else:
            waiting.append((name, target, lock))
    except BaseException as error:
        _remove(name)
        os.close(lock)
        if isinstance(error, OSError):
            raise unwritable(path, error, "make room or choose another path") from None
        raise


def _opened(target: Path, mode: int) -> tuple[str, int]:
    """A new file beside the target, locked: its name and its descriptor."""
    begins = f".{target.name[:50]}."  # names of 255 bytes leave no room to repeat all of the name
    _remove_left(target.parent, re.compile(re.escape(begins) + r"[0-9a-f]{8}\.part"))
    while True:
        name = str(target.with_name(f"{begins}{secrets.token_hex(4)}.part"))
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Another process may have taken it for one that was left, before it was locked.
        if fcntl is None or os.fstat(descriptor).st_nlink:
            return name, descriptor
        os.close(descriptor)


def _remove_left(folder: Path, called: re.Pattern[str]) -> None:
    """Remove files that are so called and that no process holds."""
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for left in [entry.path for entry in entries if called.fullmatch(entry.name)]:
            with suppress(OSError):
                descriptor = os.open(left, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(left)
                finally:
                    os.close(descriptor)


@contextmanager
def together() -> Iterator[None]:
    """Let the files that are written in the block take their places together at its end, none after an error."""
    if _waiting.get() is not None:
        yield
        return
    waiting: list[tuple[str, Path, int]] = []
    token = _waiting.set(waiting)
    try:
        yield
        for name, target, _ in waiting:
            try:
                os.replace(name, target)
            except OSError as error:
                raise unwritable(target, error, "choose another path") from None
    except BaseException:
        for name, _, _ in waiting:
            _remove(name)
        raise
    finally:
        for _, _, lock in waiting:
            os.close(lock)
        _waiting.reset(token)


def _remove(name: str) -> None:
    with suppress(OSError):
        os.unlink(name)
