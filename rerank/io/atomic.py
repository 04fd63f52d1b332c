"""Files written whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from rerank.errors import InputError


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """Open a text file (UTF-8, Unix line ends) that takes the place of `path` when the block ends well.

    The text goes to a temporary file beside the target, is flushed to the disk, and is then moved over it.
    After an error the target is as it was and nothing is left beside it.

    Raises
    ------
    InputError
        The folder does not exist or cannot be written.
    """
    target = Path(path)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        advice = "choose a folder that can be written"
        raise InputError(f"Cannot write {target}: {error.strerror}; {advice}.") from None
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
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
