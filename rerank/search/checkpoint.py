"""The file of a search: its state from time to time, so that a search of hours survives its process.

A file belongs to one search: its problem, seed, record of splits and version of this package.  The number of workers
and all limits may change from process to process.  The file of a search that has closed stays; with it the same call
returns the same answer at once.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rerank import __version__
from rerank.errors import InputError
from rerank.io.archive import Format, read_archive, refusing, write_archive
from rerank.problem import digest
from rerank.search.state import KINDS, restore, stored

if TYPE_CHECKING:
    from rerank.search.boxes.open import OpenBoxes
    from rerank.search.loop import BranchAndBound

FORM = Format("exact-rerank checkpoint", 1, KINDS, most_bytes=(1 << 31) - 1, compressed=False)
EVERY = 30.0
"""Seconds between two writes, at least."""
SHARE = 0.05
"""Of the time, that may be spent on writing."""
REMEDY = "delete it to begin anew, or choose another path"


class Checkpoint:
    """The file of one search.

    Parameters
    ----------
    path : path
    loop : BranchAndBound

    Attributes
    ----------
    note : str
        Why the last write failed, or ``""``.
    """

    def __init__(self, path: str | os.PathLike[str], loop: BranchAndBound) -> None:
        self.path = path
        self.note = ""
        self._loop, run = loop, loop.run
        self._search: dict[str, Any] = {
            "version": __version__, "problem": digest(run.problem), "random_state": int(run.random_state),
            "proof": run.boxes.record,
        }  # fmt: skip
        self._at, self._cost = time.perf_counter(), 0.0

    def resume(self) -> None:
        """Go on where an earlier process stopped; without one the file is written, which reserves the path.

        Raises
        ------
        InputError
            The file belongs to another search or to something else, is damaged, or cannot be written.  It is left as
            it was.
        """
        if not Path(self.path).exists():
            self._write(closed=False)
            return
        with refusing(self.path, "checkpoint", REMEDY):
            header, arrays = read_archive(self.path, FORM)
            other = dict(header["search"])
        self._compare(other)
        with refusing(self.path, "checkpoint", REMEDY):
            restore(self._loop, header, arrays)
            self._loop.run.began -= float.fromhex(header["seconds"])

    def after(self, boxes: OpenBoxes | None = None) -> None:
        """Write the state if the last write was long ago; ``boxes`` is not read."""
        if time.perf_counter() - self._at >= max(EVERY, self._cost / SHARE):
            self.save()

    def save(self, closed: bool = False) -> None:
        """Write the state.  If that fails the old file stays, and :attr:`note` says why: the search is worth more."""
        try:
            self._write(closed)
            self.note = ""
        except ValueError as error:
            self.note = f"The checkpoint {self.path} is not of the end: {str(error).rstrip('.')}."

    def _write(self, closed: bool) -> None:
        began = time.perf_counter()
        header, arrays = stored(self._loop)
        seconds = float(began - self._loop.run.began).hex()
        try:
            write_archive(
                self.path,
                FORM,
                {"search": self._search, "closed": closed, "seconds": seconds, **header},
                arrays,
            )
        finally:
            self._at = time.perf_counter()
            self._cost = self._at - began

    def _compare(self, other: dict[str, Any]) -> None:
        """Refuse the state of another search."""
        for name, mine in self._search.items():
            if other.get(name) == mine:
                continue
            what = "another problem (data, margin, price, signs or limits on features)"
            if name != "problem":
                what = f"{name}={other.get(name)!r}, not {mine!r}"
            raise InputError(
                f"{self.path} is the checkpoint of a search with {what}; give that again to go on with it, or choose "
                "another path."
            )
