"""One time limit for a whole fit, and the wall time of each phase."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rerank.errors import InputError


class Clock:
    """A deadline, counted from the time the object is made.

    Parameters
    ----------
    time_limit : float or None
        Seconds in all; None for no limit.

    Attributes
    ----------
    seconds : dict of str to float
        Wall time of each phase so far.
    """

    def __init__(self, time_limit: float | None = None) -> None:
        if time_limit is not None and not time_limit >= 0:
            raise InputError(
                f"time_limit is {time_limit!r}; it must be None or a number of seconds, 0 or more."
            )
        self._began = time.monotonic()
        self._limit = math.inf if time_limit is None else float(time_limit)
        self.seconds: dict[str, float] = {}

    def excuse(self, phase: str, seconds: float) -> None:
        """Extend the limit by seconds that do not count, such as those of compiling once on a machine."""
        if seconds > 0:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds
            self._limit += seconds

    @property
    def elapsed(self) -> float:
        """Seconds since the clock was made."""
        return time.monotonic() - self._began

    @property
    def remaining(self) -> float:
        """Seconds left, at least 0; infinite without a limit."""
        return max(0.0, self._limit - self.elapsed)

    def share(self, fraction: float, reserve: float = 0.0) -> float | None:
        """A fraction of the remaining seconds after a reserve; None without a limit."""
        if math.isinf(self._limit):
            return None
        return max(0.0, self.remaining - reserve) * fraction

    def least(self, own: float | None, parts: int) -> float | None:
        """The smaller of an own limit and an equal share of the remaining seconds among ``parts``."""
        return min((limit for limit in (own, self.share(1 / parts)) if limit is not None), default=None)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time of the block to ``seconds[name]``."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - began
