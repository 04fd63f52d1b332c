"""Paths that may be written: regular files, never a file that the same command reads, never one file twice."""

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from rerank.errors import InputError, OutputError

AnyPath = str | os.PathLike[str]

MOST_LINKS = 40
SYSTEM = ("/dev", "/proc", "/sys")
SHARED_MEMORY = ("/dev/shm",)


def target_of(path: AnyPath) -> Path:
    """The regular file that a path leads to, links followed, and not where this process prints; it need not exist."""
    target = _followed(path)
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return target
    except OSError as error:
        raise unwritable(path, error, "choose another path") from None
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"{path} is a folder; give the path of a file.")
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path} is no regular file but a device, a pipe or a socket; give the path of a file.")
    for descriptor, name in ((1, "standard output"), (2, "standard error")):
        with suppress(OSError):
            if os.path.samestat(found, os.fstat(descriptor)):
                raise InputError(f"{path} is where {name} goes; give the path of another file.")
    return target


def check_outputs(inputs: Iterable[AnyPath | None], outputs: Mapping[str, AnyPath | None]) -> None:
    """Check the files that a command reads and writes before it does any work; an error names an output by its key.
    Refused is an output that is an input or another output (links and hard links counted), is no regular file, or lies
    in a folder that does not exist or cannot be written.
    """
    read = [path for path in inputs if path is not None]
    written: dict[str, Path] = {}
    for name, path in outputs.items():
        if path is None:
            continue
        target = target_of(path)
        if not target.parent.is_dir():
            raise InputError(f"The folder of {path} does not exist; make it, or write elsewhere.")
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise InputError(f"The folder of {path} cannot be written; write elsewhere.")
        if any(_same(target, source) for source in read):
            raise InputError(f"{path} is both read and written; write {name} to another file.")
        for other, taken in written.items():
            if _same(target, taken):
                raise InputError(f"{path} is given for {other} and for {name}; write each to a file of its own.")
        written[name] = target


def unwritable(path: AnyPath, error: OSError, advice: str) -> OutputError:
    """The error for a file that the system does not let us write."""
    return OutputError(f"Cannot write {path}: {error.strerror or error}; {advice}.")


def _followed(path: AnyPath) -> Path:
    """The end of a chain of links; what lies among the system's own files is refused on the way."""
    place = os.path.abspath(os.fspath(path))
    if "\0" in place:
        raise InputError(f"The path {str(path)!r} holds a NUL character; choose another name.")
    for _ in range(MOST_LINKS):
        place = os.path.join(os.path.realpath(os.path.dirname(place)), os.path.basename(place))
        below = [any(place == top or place.startswith(top + "/") for top in tops) for tops in (SYSTEM, SHARED_MEMORY)]
        if below == [True, False]:
            raise InputError(f"{path} belongs to the system and is no regular file; give the path of a file.")
        if not os.path.islink(place):
            return Path(place)
        place = os.path.join(os.path.dirname(place), os.readlink(place))
    raise InputError(f"{path} is a link that leads back to itself; choose another path.")


def _same(target: Path, other: AnyPath) -> bool:
    """Whether two paths lead to one file, whether it exists or not."""
    try:
        return os.path.samefile(target, other)
    except OSError:
        return os.path.realpath(target) == os.path.realpath(other)
    except ValueError:
        return False
