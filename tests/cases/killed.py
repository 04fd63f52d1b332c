"""What processes of a test are told to do, to be killed among others; a file that loads fast, since each loads it."""

import os
import signal
from typing import Any


def killed(*_: Any) -> None:
    """End this process as the kernel does where memory ends."""
    os.kill(os.getpid(), signal.SIGKILL)
