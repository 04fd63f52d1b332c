"""Files read with a limit on their size, and files replaced together."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from formulations.errors import FileFormatError, FormulationError

LARGEST_FILE = 2**30
"""Bytes; larger files are refused before they are read."""


def file_bytes(path: str | PathLike[str], largest: int = LARGEST_FILE) -> bytes:
    """Content of a file whose size was looked at first."""
    target = Path(path)
    try:
        size = target.stat().st_size
        if size > largest:
            raise FileFormatError(f"{target.name} has {size} bytes; at most {largest} are read.")
        return target.read_bytes()
    except OSError as error:
        raise FileFormatError(
            f"{target} cannot be read: {error.strerror}; give the path of an existing file."
        ) from error


def replace_all(files: Sequence[tuple[Path, bytes]]) -> None:
    """Write all files beside their targets first; only then let them take the targets' names."""
    waiting: list[tuple[Path, Path]] = []
    done: list[Path] = []
    try:
        for target, content in files:
            if target.is_dir():
                raise FormulationError(f"{target} is a directory; give the name of a file.")
            draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
            waiting.append((draft, target))
            with open(draft, "xb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
        for draft, target in waiting:
            os.replace(draft, target)
            done.append(target)
    except BaseException as error:
        for draft, target in waiting:
            (target if target in done else draft).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise FormulationError(
                f"{files[0][0]} cannot be written: {error.strerror}; choose another place."
            ) from error
        raise
