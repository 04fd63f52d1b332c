"""What a person reads: text without control characters, and a standard error that never ends a call."""

import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import IO, Any, Self, TextIO, cast

# Control characters but for line end and tab, what turns the direction of writing, line ends of Unicode, and halves
# of characters, which no file takes.
_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
_IN_TEXT, _IN_NAME = re.compile(f"[{_CONTROLS}]"), re.compile(f"[{_CONTROLS}\t\n]")


def harmless(text: str, name: bool = False) -> str:
    """The text with control characters spelled, for instance as backslash, x, 1b: a terminal would obey them. Of a
    ``name``, which stands in a line or a cell, line ends and tabs are spelled, too.
    """
    return (_IN_NAME if name else _IN_TEXT).sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class Note(str):
    """A sentence for people. ``kind`` says what it is about where something depends on that; most have none."""

    kind: str

    def __new__(cls, text: str, kind: str = "") -> Self:
        """The sentence with its kind."""
        note = super().__new__(cls, text)
        note.kind = kind
        return note

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        return type(self), (str(self), self.kind)


def of_kind(notes: Iterable[str], kind: str) -> list[str]:
    """The notes that are of this kind."""
    return [note for note in notes if isinstance(note, Note) and note.kind == kind]


class _Steady:
    """A stream that is written to as far as that is possible; it may be closed, full, or None."""

    def __init__(self, stream: IO[str] | None) -> None:
        self._stream = stream

    def _tried(self, name: str, *words: str) -> Any:
        with suppress(OSError, ValueError, AttributeError):
            return getattr(self._stream, name)(*words)

    def write(self, text: str) -> int:
        self._tried("write", text)
        return len(text)

    def flush(self) -> None:
        self._tried("flush")

    def isatty(self) -> bool:
        return bool(self._tried("isatty"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def stderr() -> TextIO:
    """Standard error for progress and remarks: where it is closed, full or missing, they are lost and nothing else."""
    return cast("TextIO", _Steady(sys.stderr))


def say(line: str) -> None:
    """A line of progress or of remarks, on standard error."""
    print(harmless(line), file=stderr(), flush=True)
