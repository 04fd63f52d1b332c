"""Series of climbs as plain values and points, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.io.archive import finite
from rerank.search.lines.ascent import WIDTHS
from rerank.search.lines.search import Climb, State

Floats = NDArray[np.float64]


def stored_lines(states: Sequence[State]) -> tuple[list[dict[str, Any]], list[Floats]]:
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
                "rng": state.rng.bit_generator.state, "random_start": state.random_start,
                "elite": [float(value).hex() for value, _ in state.elite], "found": state.found is not None,
                "owed": float(state.owed).hex(),
                "climb": None if climb is None else [
                    climb.rounds, climb.patience, climb.turn, climb.idle, len(climb.queue), float(climb.value).hex(),
                    float(climb.before).hex(), [float(width).hex() for width in climb.widths], climb.at is not None,
                ],
            }
        )  # fmt: skip
    return found, points


def restored_lines(stored: Sequence[dict[str, Any]], points: Floats) -> list[State]:
    """The series that :func:`stored_lines` was given, with the same random numbers to come."""
    rows = list(finite(points)[::-1])
    return [_state(one, rows) for one in stored]


def _state(stored: dict[str, Any], rows: list[Floats]) -> State:
    """One series of climbs; its points are taken from the end of ``rows``."""
    state = State(np.random.default_rng(0), random_start=bool(stored["random_start"]))
    state.owed = float(finite(np.array(float.fromhex(stored["owed"]))))
    state.rng.bit_generator.state = stored["rng"]
    state.elite = [(float.fromhex(value), rows.pop()) for value in stored["elite"]]
    if stored["climb"] is not None:
        rounds, patience, turn, idle, directions, value, before, widths, smooth = stored["climb"]
        state.climb = Climb(rows.pop(), int(rounds), int(patience))
        state.climb.turn, state.climb.idle = int(turn), int(idle)
        state.climb.value, state.climb.before = float.fromhex(value), float.fromhex(before)
        state.climb.queue = [rows.pop() for _ in range(directions)]
        state.climb.widths = [float.fromhex(width) for width in widths]
        if not set(state.climb.widths) <= set(WIDTHS):
            raise ValueError("a width of a smooth climb is none of ours")
        state.climb.at = rows.pop() if smooth else None
    state.found = rows.pop() if stored["found"] else None
    return state
