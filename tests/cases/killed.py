"""What processes of a test are told to do, to be killed among others; a file that loads fast, since each loads it."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any


def killed(parent: int, once: Path | None, call: Callable[..., Any], *given: Any) -> Any:
    """Make a call; another process than ``parent`` ends as the kernel does it where memory ends, always or once."""
    if os.getpid() != parent and not (once and once.exists()):
        if once:
            once.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return call(*given)
