"""Files written whole or not at all: links are followed, the mode of an existing file stays, only regular files."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

from rerank.io.paths import target_of, unwritable

# Files that are written and wait for the end of a block of `together`: temporary name, target.
_waiting: ContextVar[list[tuple[str, Path]] | None] = ContextVar("waiting", default=None)


def writing(path: str | os.PathLike[str]) -> AbstractContextManager[IO[str]]:
    """Open a text file (UTF-8, Unix line ends) that takes the place of `path` when the block ends well.

    The text goes to a temporary file beside the target, is flushed to the disk, and is then moved over it.
    After an error the target is as it was and nothing is left beside it. A link stays, and the file that it leads to is
    replaced. The mode of an existing file is kept. InputError: the folder does not exist or cannot be written, the path
    is no regular file, or the disk is full.
    """
    return _replacing(path, "w", encoding="utf-8", newline="\n")


def writing_bytes(path: str | os.PathLike[str]) -> AbstractContextManager[IO[bytes]]:
    """Open a binary file that takes the place of `path` as :func:`writing` does."""
    return _replacing(path, "wb")


@contextmanager
def _replacing(path: str | os.PathLike[str], mode: str, **options: str) -> Iterator[IO[Any]]:
    target = target_of(path)
    # Names of 255 bytes leave no room to repeat all of the name.
    name = str(target.with_name(f".{target.name[:50]}.{secrets.token_hex(4)}.part"))
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        old = os.stat(target) if target.exists() else None
        descriptor = os.open(name, flags, 0o666 if old is None else 0o600)  # private where the target has a mode
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
        if (waiting := _waiting.get()) is None:
            os.replace(name, target)
        else:
            waiting.append((name, target))
    except BaseException as error:
        _remove(name)
        if isinstance(error, OSError):
            raise unwritable(path, error, "make room or choose another path") from None
        raise


@contextmanager
def together() -> Iterator[None]:
    """Let the files that are written in the block take their places together at its end, none after an error."""
    if _waiting.get() is not None:
        yield
        return
    waiting: list[tuple[str, Path]] = []
    token = _waiting.set(waiting)
    try:
        yield
        for name, target in waiting:
            try:
                os.replace(name, target)
            except OSError as error:
                raise unwritable(target, error, "choose another path") from None
    except BaseException:
        for name, _ in waiting:
            _remove(name)
        raise
    finally:
        _waiting.reset(token)


def _remove(name: str) -> None:
    with suppress(OSError):
        os.unlink(name)
