"""One time limit for a whole fit, and the wall time of each phase; compiling and loading do not count."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from numbers import Real

import numpy as np

from rerank.errors import InputError
from rerank.errors.compiling import compiling_time, load_modules, watch, working_time
from rerank.errors.stops import current

NEEDED = ("scipy.optimize", "scipy.spatial.distance")
"""What every fit imports; no limit counts that, so that a fit ends the same in a process that has it already."""


class Clock:
    """A deadline, counted from the time the object is made; without a ``time_limit`` in seconds there is none.
    ``limit`` is in seconds, infinite without one, ``seconds`` the wall time of each phase so far, without compiling and
    loading, ``cut`` whether the limit ended the last search before it was through, and ``idle`` whether nothing was
    left for a search or a program to begin.
    """

    def __init__(self, time_limit: float | None = None) -> None:
        number = isinstance(time_limit, Real | Decimal) and not isinstance(time_limit, bool | np.bool_)
        if time_limit is not None and not (number and time_limit >= 0):
            raise InputError(f"time_limit is {time_limit!r}; it must be None or a number of seconds, 0 or more.")
        self._began, self._compiled = time.monotonic(), compiling_time()
        load_modules(*NEEDED)
        watch()
        self._set_out = working_time()
        self.limit = math.inf if time_limit is None else float(time_limit)
        self.seconds: dict[str, float] = {}
        self.cut: bool = False
        self.idle: bool = False

    @property
    def remaining(self) -> float:
        """Seconds left, at least 0; infinite without a limit, and 0 after Ctrl-C where a call is protected from it."""
        return 0.0 if current().asked.is_set() else max(0.0, self.limit - self.spent)

    @property
    def spent(self) -> float:
        """Seconds that count so far."""
        return working_time() - self._set_out

    def report(self) -> dict[str, float]:
        """``seconds``, those of compiling and loading if they show, and all that have passed."""
        compiling = compiling_time() - self._compiled
        shown = {"compile": compiling} if compiling >= 0.005 else {}
        return {**self.seconds, **shown, "total": time.monotonic() - self._began}

    def share(self, fraction: float, reserve: float = 0.0) -> float | None:
        """A fraction of the remaining seconds after a reserve; None without a limit."""
        return None if math.isinf(self.limit) else max(0.0, self.remaining - reserve) * fraction

    def least(self, own: float | None, parts: int) -> float | None:
        """The smaller of an own limit and an equal share of the remaining seconds among ``parts``."""
        return min((limit for limit in (own, self.share(1 / parts)) if limit is not None), default=None)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time of the block to ``seconds[name]``."""
        began = working_time()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + working_time() - began
