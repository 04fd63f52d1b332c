"""What processes of a test are told to do, to be killed among others; a file that loads fast, since each loads it."""

import os
import signal
import time
from pathlib import Path
from typing import Any


def slow_at_first(batch: Any) -> Any:
    """Blocks that come first are ready last."""
    time.sleep(0.3 if batch.num_rows == 1 else 0)
    return batch


def killed(*_: Any) -> None:
    """End this process as the kernel does where memory ends."""
    os.kill(os.getpid(), signal.SIGKILL)


def killed_once(part: Any, mark: Path, function: Any, *given: Any) -> Any:
    """Call the function; the first process that comes here is killed before it can answer."""
    answer = function(part, *given)
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return answer
    return killed()
