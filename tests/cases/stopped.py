"""Ctrl-C at a given place."""

import _thread
import time

from rerank.errors.stops import current


def interrupt(seconds: float = 10.0) -> None:
    """Ctrl-C, seen by the call that this stands in before it goes on."""
    _thread.interrupt_main()
    end = time.monotonic() + seconds
    while not current().asked.is_set() and time.monotonic() < end:
        time.sleep(0.01)
