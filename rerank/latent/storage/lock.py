"""A lock, so that one process at a time writes to a folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rerank.errors import InputError

NAME = ".lock"


def make_folder(folder: str | os.PathLike[str]) -> Path:
    """Make a folder unless it exists.

    Raises
    ------
    InputError
        The folder cannot be made.
    """
    home = Path(folder)
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make the folder {home}: {error.strerror}; choose another path.") from None
    return home


@contextmanager
def locked(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Lock a folder while the block runs; it is made unless it exists.

    The system releases the lock when the process ends, however it ends, so a lock is never stale.

    Raises
    ------
    InputError
        The folder cannot be made, or another process has locked it.
    """
    home = make_folder(folder)
    try:
        descriptor = _open_locked(home / NAME)
    except BlockingIOError:
        raise InputError(
            f"{home} is in use by {_holder(home / NAME)}; wait until it has ended, or choose another folder."
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
                    os.write(descriptor, f"process {os.getpid()} on {_machine()}".encode())
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


def _machine() -> str:
    import platform

    return platform.node() or "this machine"


def _holder(path: Path) -> str:
    try:
        return path.read_text() or "another process"
    except OSError:
        return "another process"
