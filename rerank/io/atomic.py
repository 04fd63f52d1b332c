"""Files written whole or not at all: links are followed, the mode of an existing file stays, only regular files."""

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

from rerank.io.paths import target_of, unwritable

# Files that are written and wait for the end of a block of `together`: open descriptor, temporary name, target.
_waiting: ContextVar[list[tuple[int, str, Path]] | None] = ContextVar("waiting", default=None)


def writing(path: str | os.PathLike[str]) -> AbstractContextManager[IO[str]]:
    """Open a text file (UTF-8, Unix line ends) that takes the place of `path` when the block ends well.

    The text goes to a temporary file beside the target, is flushed to the disk, and is then moved over it.
    After an error the target is as it was and nothing is left beside it. What a killed process left beside
    the target is removed. A link stays, and the file that it leads to is replaced. The mode of an existing
    file is kept. InputError: the folder does not exist or cannot be written, the path is no regular file, or the disk
    is full.
    """
    return _replacing(path, "w", encoding="utf-8", newline="\n")


def writing_bytes(path: str | os.PathLike[str]) -> AbstractContextManager[IO[bytes]]:
    """Open a binary file that takes the place of `path` as :func:`writing` does."""
    return _replacing(path, "wb")


@contextmanager
def _replacing(path: str | os.PathLike[str], mode: str, **options: str) -> Iterator[IO[Any]]:
    target = target_of(path)
    try:
        _remove_leftovers(target)
        descriptor, name, old = _create(target)
    except OSError as error:
        raise unwritable(path, error, "choose a folder that can be written") from None
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
            held = os.dup(descriptor)
        if (waiting := _waiting.get()) is None:
            _take_places([(held, name, target)])
        else:
            waiting.append((held, name, target))
    except OSError as error:
        _remove(name)
        raise unwritable(path, error, "make room or choose another path") from None
    except BaseException:
        _remove(name)
        raise


@contextmanager
def together() -> Iterator[None]:
    """Let the files that are written in the block take their places together at its end, none after an error."""
    if _waiting.get() is not None:
        yield
        return
    waiting: list[tuple[int, str, Path]] = []
    token = _waiting.set(waiting)
    try:
        yield
    except BaseException:
        for held, name, _ in waiting:
            os.close(held)
            _remove(name)
        raise
    finally:
        _waiting.reset(token)
    try:
        _take_places(waiting)
    except OSError as error:
        raise unwritable(waiting[-1][2], error, "choose another path") from None


def _take_places(files: list[tuple[int, str, Path]]) -> None:
    """Move finished files to their targets. Each is locked until it has its final name."""
    try:
        for held, name, target in files:
            if os.name == "nt":
                os.close(held)  # an open file cannot be moved there
            os.replace(name, target)
    except BaseException:
        for _, name, _ in files:
            _remove(name)
        raise
    finally:
        for held, _, _ in files:
            with suppress(OSError):
                os.close(held)


def _create(target: Path) -> tuple[int, str, os.stat_result | None]:
    """A new locked file beside the target, and what is known of the target; private where the target has a mode."""
    old = os.stat(target) if target.exists() else None
    while True:
        # Names of 255 bytes leave no room to repeat all of the name.
        name = str(target.with_name(f".{target.name[:50]}.{secrets.token_hex(4)}.part"))
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        descriptor = os.open(name, flags, 0o666 if old is None else 0o600)
        try:
            _lock(descriptor, wait=True)
            # Another process may have taken the file for a leftover before it was locked.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(name)):
                    return descriptor, name, old
        except BaseException:
            os.close(descriptor)
            _remove(name)
            raise
        os.close(descriptor)


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files of this target that no process holds: those of a process that was killed."""
    pattern = re.compile(rf"\.{re.escape(target.name[:50])}\.[a-z0-9_]{{8}}\.part")
    with os.scandir(target.parent) as entries:
        found = [entry.path for entry in entries if pattern.fullmatch(entry.name)]
    for name in found:
        with suppress(OSError):
            if not stat.S_ISREG(os.lstat(name).st_mode):
                continue
            descriptor = os.open(name, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            try:
                _lock(descriptor, wait=False)
                if os.name != "nt":
                    os.unlink(name)
            finally:
                os.close(descriptor)
            if os.name == "nt":
                os.unlink(name)


def _remove(name: str) -> None:
    with suppress(OSError):
        os.unlink(name)


def _lock(descriptor: int, wait: bool) -> None:
    """Lock a file until it is closed or the process ends, however it ends; Windows removes no open file anyway. OSError
    with ``wait=False``: another process holds the lock, or there are no locks here.
    """
    if os.name == "nt":
        return
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if not wait:
            raise  # a file system without locks keeps its leftovers
