"""Files written whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from rerank.errors import InputError


def writing(path: str | os.PathLike[str]) -> AbstractContextManager[IO[str]]:
    """Open a text file (UTF-8, Unix line ends) that takes the place of `path` when the block ends well.

    The text goes to a temporary file beside the target, is flushed to the disk, and is then moved over it.
    After an error the target is as it was and nothing is left beside it.

    Raises
    ------
    InputError
        The folder does not exist or cannot be written.
    """
    return _replacing(Path(path), "w", encoding="utf-8", newline="\n")


def writing_bytes(path: str | os.PathLike[str]) -> AbstractContextManager[IO[bytes]]:
    """Open a binary file that takes the place of `path` as :func:`writing` does."""
    return _replacing(Path(path), "wb")


@contextmanager
def _replacing(target: Path, mode: str, **options: str) -> Iterator[IO[Any]]:
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        advice = "choose a folder that can be written"
        raise InputError(f"Cannot write {target}: {error.strerror}; {advice}.") from None
    try:
        with open(descriptor, mode, **options) as file:  # type: ignore[call-overload]
            yield file
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes the file private; the result gets the permissions any new file would have.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        _move(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _move(name: str, target: Path) -> None:
    try:
        os.replace(name, target)
    except OSError as error:
        raise InputError(f"Cannot write {target}: {error.strerror}; choose another path.") from None
