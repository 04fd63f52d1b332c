"""Libraries that greet on standard output, where the answers of commands go."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

_lock = threading.Lock()
_greeted = False


def quietly(make: Callable[[], Any]) -> Any:
    """What ``make`` returns; what it writes to standard output goes nowhere the first time.

    HiGHS 1.16 greets whoever makes the first of its objects in a process, and no option can come before that.
    """
    global _greeted
    with _lock:
        if _greeted:
            return make()
        _greeted = True
        try:
            kept = os.dup(1)
        except OSError:  # there is no standard output
            return make()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, 1)
            return make()
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            os.close(nowhere)
