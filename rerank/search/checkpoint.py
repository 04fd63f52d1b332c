"""The file of a search: its state from time to time, so that a search of hours survives its process.

Weights and boxes are stored as they are.  Tables, layouts and groups of antiparallel pairs follow from the problem and
are made anew; the groups have to come out as they were, because boxes name them by number.

A file belongs to one search: its problem, seed, record of splits and version of this package.  The number of workers
and all limits may change from process to process.  The file of a search that has closed stays; with it the same call
returns the same answer at once.
"""

import heapq
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank import __version__
from rerank.errors import InputError
from rerank.io.archive import Format, cut, finite, joined, read_archive, refusing, write_archive
from rerank.io.bounded import Json
from rerank.problem import digest
from rerank.problem.lists import Floats
from rerank.problem.proof import Circuits
from rerank.search.boxes.nodes import NAMES, NodeBatch
from rerank.search.boxes.open import OpenBoxes
from rerank.search.jobs import MOST_SIDES
from rerank.search.lines.ascent import WIDTHS
from rerank.search.lines.search import Climb, ClimbState
from rerank.search.loop import BranchAndBound

Arrays = dict[str, NDArray[Any]]

DOUBLES = ("weights", "points", "centres", "halves", "bounds", "basis", "priced")
NUMBERS = ("unexplored", "supports", "sizes", "sides", "pushed", "names", "grouped", "guide_counts")
OF_PROOFS = ("splits", "listed", "kept_splits", "kept_listed", *Circuits.none().arrays())
SMALL_NUMBERS = ("chosen", "guides", "boxed")
KINDS = dict.fromkeys(DOUBLES, "<f8") | dict.fromkeys(NUMBERS + OF_PROOFS, "<i8") | dict.fromkeys(SMALL_NUMBERS, "<i4")
BOXES = ("centres", "halves", "bounds", "names")  # what a batch holds by these names
COUNTS, VALUES = ("rounds", "patience", "turn", "idle", "kind"), ("value", "before")  # of a climb
MOST = {"pushed": 2**62, "named": NAMES, "job": 2**62 // NAMES, "boxes": 2**62}
"""Counters of :class:`OpenBoxes`, and what they stay below."""

BOUNDS = ("cap", "shown_before", "target", "aside")  # bounds of :class:`OpenBoxes`; infinite ones among them
FORM = Format("exact-rerank checkpoint", 1, KINDS, most_bytes=(1 << 31) - 1, compressed=False)
EVERY = 30.0  # seconds between two writes, at least
SHARE = 0.05  # of the time, that may be spent on writing
REMEDY = "delete it to begin anew, or choose another path"


class Checkpoint:
    """The file of one search; ``note`` says why the last write failed, or is empty."""

    def __init__(self, path: str | os.PathLike[str], loop: BranchAndBound) -> None:
        self.path = path
        self.note = ""
        self._loop, run = loop, loop.run
        self._search: Json = {
            "version": __version__,
            "problem": digest(run.problem),
            "random_state": int(run.random_state),
            "proof": run.boxes.record,
        }
        self._at, self._cost = time.perf_counter(), 0.0

    def resume(self) -> None:
        """Go on where an earlier process stopped; without one the file is written, which reserves the path. InputError:
        the file is of another search or of something else, is damaged, or cannot be written. It is left as it was.
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
                self.path, FORM, {"search": self._search, "closed": closed, "seconds": seconds, **header}, arrays
            )
        finally:
            self._at = time.perf_counter()
            self._cost = self._at - began

    def _compare(self, other: Json) -> None:
        """Refuse the state of another search."""
        for name, mine in self._search.items():
            if other.get(name) == mine:
                continue
            what = "another problem (data, margin, penalty, signs or limits on features)"
            if name != "problem":
                what = f"{name}={other.get(name)!r}, not {mine!r}"
            raise InputError(
                f"{self.path} is the checkpoint of a search with {what}; give that again to go on with it, or choose "
                "another path."
            )


def stored(loop: BranchAndBound) -> tuple[Json, Arrays]:
    """A header of plain values and flat arrays, from which :func:`restore` makes the same state."""
    run, boxes = loop.run, loop.boxes
    # Before the search has begun only its first climb is under way.
    lines, points = stored_lines(run.states if run.begun else [run.lines.state])
    waiting = boxes.unexplored.screened
    header = {
        "begun": run.begun,
        "start_value": float(run.start_value).hex(),
        "value": float(boxes.value).hex(),
        "has_weights": boxes.weights is not None,
        "whitened": boxes.axes.whitened,
        **{name: float(getattr(boxes, name)).hex() for name in BOUNDS},
        "top_bound": float(run.top_bound).hex(),
        **{name: int(getattr(boxes, name)) for name in MOST},
        "next_support": int(boxes.unexplored.following),
        "supports_of_a_job": int(boxes.unexplored.part),
        "loop": {name: float(getattr(*held)).hex() for name, held in loop.counters().items()},
        "lines": lines,
    }
    arrays = {
        "weights": np.empty(0) if boxes.weights is None else boxes.weights,
        "points": joined(points, np.float64),
        "unexplored": np.array([s for _, s, _ in waiting], np.int64),
        "priced": np.array([low for low, _, _ in waiting], np.float64),
        "boxed": np.array([batch is not None for _, _, batch in waiting], np.int32),
        "splits": joined(boxes.splits, np.int64),
        "listed": np.array(sorted(boxes.listed), np.int64),
        "kept_splits": joined(boxes.kept[0], np.int64),
        "kept_listed": np.array(sorted(boxes.kept[1]), np.int64),
        **run.circuits.arrays(),
        **_stored_batches(boxes, [batch for _, _, batch in waiting if batch is not None]),
    }
    return header, arrays


def restore(loop: BranchAndBound, header: Json, arrays: Arrays) -> None:
    """Go on where :func:`stored` was called, with a loop of the same problem and options. ValueError, KeyError or
    TypeError: the state does not fit the problem, or is none.
    """
    run, boxes, d = loop.run, loop.boxes, loop.run.problem.n_features
    restored = restored_lines(header["lines"], arrays["points"].reshape(-1, d))
    run.begun, run.start_value = bool(header["begun"]), _number(header["start_value"])
    if len(restored) != (len(run.states) if run.begun else 1):
        raise ValueError("it has another number of series of lines")
    if run.begun:
        run.states = restored
        for name, (part, attribute) in loop.counters().items():
            kind = type(getattr(part, attribute))
            setattr(part, attribute, kind(_number(header["loop"][name])))
    else:
        run.lines.state = restored[0]
    boxes.value = _number(header["value"])
    for name in BOUNDS:
        setattr(boxes, name, _bound(header[name]))
    run.top_bound, run.circuits = _bound(header["top_bound"]), Circuits.of(arrays)
    boxes.weights = None
    if header["has_weights"]:
        boxes.weights = finite(arrays["weights"], (d,))
    for name, most in MOST.items():
        setattr(boxes, name, _count(header[name], most))
    _within(np.append(arrays["pushed"], 0), 0, boxes.pushed)
    splits = arrays["splits"].reshape(-1, 3)
    # Names of boxes to come must be new.
    children = splits[splits[:, 1] >= 0, 2]
    _within(np.concatenate([[0], arrays["names"], splits[:, 0], children]), 0, boxes.job * NAMES - 1)
    waiting, following = arrays["unexplored"], _count(header["next_support"])
    _within(np.append(waiting, following - 1), -1, len(boxes.columns) - 1)
    priced = finite(arrays["priced"], waiting.shape).tolist()
    boxes.splits, boxes.n_splits = [splits] if splits.size else [], len(splits)
    boxes.listed = set(arrays["listed"].tolist())
    kept = arrays["kept_splits"].reshape(-1, 3)
    boxes.kept = [kept] if kept.size else [], set(arrays["kept_listed"].tolist())
    screened = iter(_restore_batches(boxes, bool(header["whitened"]), arrays))
    flags = (arrays["boxed"] != 0).tolist()
    order = [
        (low, s, next(screened) if boxed else None)
        for low, s, boxed in zip(priced, waiting.tolist(), flags, strict=True)
    ]
    if any(batch is not None and batch.support != s for _, s, batch in order):
        raise ValueError("its screened boxes are of other supports")
    supports = boxes.unexplored
    supports.following, supports.part, supports.screened = following, _count(header["supports_of_a_job"]), order


# ---- boxes


def _stored_batches(boxes: OpenBoxes, screened: list[NodeBatch]) -> Arrays:
    """Open batches, the unresolved ones, the ``screened``; ``pushed`` holds the numbers of the open ones."""
    batches = [batch for _, _, batch in boxes.heap] + boxes.unresolved + screened
    # A proof names the groups of every support, the boxes to come only those of their own.
    used = boxes.axes.antiparallel if boxes.record else {batch.support for batch in batches}
    grouped = sorted(s for s in used if s in boxes.axes.antiparallel)
    guides = [boxes.axes.antiparallel[s].guide for s in grouped]
    basis = boxes.axes.basis(0) if boxes.axes.whitened else None
    return {
        "supports": np.array([batch.support for batch in batches], np.int64),
        "sizes": np.array([batch.bounds.size for batch in batches], np.int64),
        "sides": np.array([batch.sides.shape[1] for batch in batches], np.int64),
        "pushed": np.array([number for _, number, _ in boxes.heap], np.int64),
        "chosen": joined((batch.sides for batch in batches), np.int32),
        **{name: joined((getattr(batch, name) for batch in batches), KINDS[name]) for name in BOXES},
        "basis": np.empty(0) if basis is None else basis.ravel(),
        "grouped": np.array(grouped, np.int64),
        "guide_counts": np.array([guide.size for guide in guides], np.int64),
        "guides": joined(guides, np.int32),
    }


def _restore_batches(boxes: OpenBoxes, whitened: bool, arrays: Arrays) -> list[NodeBatch]:
    """Put the batches back; everything that compiled code will use as a place in an array is checked. Returns those
    that screening left open.
    """
    supports, sizes, sides = arrays["supports"], arrays["sizes"], arrays["sides"]
    _within(supports, 0, len(boxes.columns) - 1)
    _within(arrays["grouped"], 0, len(boxes.columns) - 1)
    _within(sizes, 1, arrays["bounds"].size)
    boxed = int(np.count_nonzero(arrays["boxed"]))
    if not sizes.size == supports.size == sides.size >= arrays["pushed"].size + boxed:
        raise ValueError("its batches of boxes do not fit together")
    if not np.isin(sides, (0, MOST_SIDES)).all():
        raise ValueError("its boxes have another number of sides")
    for s, guide in zip(arrays["grouped"].tolist(), cut(arrays["guides"], arrays["guide_counts"]), strict=True):
        if not np.array_equal(boxes.axes.grouped(s).guide, guide):
            raise ValueError("its groups of pairs come out differently on this machine")
    width = np.array([boxes.columns[s].size for s in supports.tolist()], np.int64)
    parts = [
        cut(finite(arrays["centres"]), sizes * width),
        cut(finite(arrays["halves"]), sizes * width),
        cut(finite(arrays["bounds"]), sizes),
        cut(arrays["names"], sizes),
        cut(arrays["chosen"], sizes * sides),
    ]
    batches = []
    for s, n, k, m, c, h, bounds, names, chosen in zip(
        supports.tolist(), sizes.tolist(), width.tolist(), sides.tolist(), *parts, strict=True
    ):
        _within(h, 0.0, np.inf)
        known = boxes.axes.antiparallel[s].count if s in boxes.axes.antiparallel else 0
        _within(chosen, -known, known)
        batch = NodeBatch.of(s, c.reshape(n, k), h.reshape(n, k), bounds, names, m)
        batch.sides[:] = chosen.reshape(n, m)
        batches.append(batch)
    open_, end = arrays["pushed"].size, len(batches) - boxed
    boxes.unresolved = batches[open_:end]
    boxes.heap = [
        (-(batch.bound - boxes.prices[batch.support]), number, batch)
        for number, batch in zip(arrays["pushed"].tolist(), batches[:open_], strict=True)
    ]
    heapq.heapify(boxes.heap)
    boxes.axes.change(whitened)
    if whitened:
        # The basis may come out differently elsewhere, and boxes mean nothing in another one.
        k = boxes.columns[0].size
        boxes.axes.bases[0] = finite(arrays["basis"], (k, k)) if arrays["basis"].size else None
    return batches[end:]


def _number(text: str) -> float:
    return float(finite(np.array(float.fromhex(text))))


def _bound(text: str) -> float:
    number = float.fromhex(text)
    if np.isnan(number):
        raise ValueError("a bound is no number")
    return number


def _count(number: Any, most: int = 2**31) -> int:
    if type(number) is not int or not 0 <= number < most:
        raise ValueError("a counter is not a number that it can be")
    return number


def _within(array: NDArray[Any], low: float, high: float) -> None:
    if not ((array >= low) & (array <= high)).all():
        raise ValueError("a number is not where it can be")


# ---- lines


def stored_lines(states: Sequence[ClimbState]) -> tuple[list[Json], list[Floats]]:
    """Series of climbs as plain values, and their points one after the other."""
    found, points = [], []
    for state in states:
        climb = state.climb
        points += [w for _, w in state.elite]
        if climb is not None:
            points += [climb.w, *climb.queue, *([] if climb.at is None else [climb.at])]
        if state.found is not None:
            points.append(state.found)
        found.append(
            {
                "rng": state.rng.bit_generator.state,
                "random_start": state.random_start,
                "elite": [float(value).hex() for value, _ in state.elite],
                "found": state.found is not None,
                "owed": float(state.owed).hex(),
                "spent": [float(work).hex() for work in state.spent],
                "gains": [int(times) for times in state.gains],
                "climb": None if climb is None else _stored_climb(climb),
            }
        )
    return found, points


def _stored_climb(climb: Climb) -> Json:
    numbers = {name: getattr(climb, name) for name in COUNTS}
    numbers |= {name: float(getattr(climb, name)).hex() for name in VALUES}
    widths = [float(width).hex() for width in climb.widths]
    return numbers | {"directions": len(climb.queue), "widths": widths, "smooth": climb.at is not None}


def restored_lines(stored: Sequence[Json], points: Floats) -> list[ClimbState]:
    """The series that :func:`stored_lines` was given, with the same random numbers to come."""
    rows = list(finite(points)[::-1])
    return [_state(state, rows) for state in stored]


def _state(stored: Json, rows: list[Floats]) -> ClimbState:
    """One series of climbs; its points are taken from the end of ``rows``."""
    state = ClimbState(np.random.default_rng(0), random_start=bool(stored["random_start"]))
    state.owed = _number(stored["owed"])
    state.spent, state.gains = [_number(work) for work in stored["spent"]], [int(n) for n in stored["gains"]]
    state.rng.bit_generator.state = stored["rng"]
    state.elite = [(float.fromhex(value), rows.pop()) for value in stored["elite"]]
    if (kept := stored["climb"]) is not None:
        numbers: Json = {name: int(kept[name]) for name in COUNTS}
        numbers |= {name: float.fromhex(kept[name]) for name in VALUES}
        state.climb = Climb(rows.pop(), **numbers)
        state.climb.queue = [rows.pop() for _ in range(kept["directions"])]
        state.climb.widths = [float.fromhex(width) for width in kept["widths"]]
        if not set(state.climb.widths) <= set(WIDTHS):
            raise ValueError("a width of a smooth climb is none of ours")
        state.climb.at = rows.pop() if kept["smooth"] else None
    state.found = rows.pop() if stored["found"] else None
    return state
