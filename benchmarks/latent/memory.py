"""What a machine's memory has to do with it.

A part of ``python -m benchmarks.latent --rates``.
"""

from __future__ import annotations

import resource
import time
from pathlib import Path

import numpy as np


def peak() -> float:
    """Gigabytes that this process had in memory at its largest, with the files it has mapped.

    The kernel's own record for this program; what a parent process had is not in it, as it is in ``ru_maxrss``.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024 / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def copying() -> float:
    """Bytes read and written per CPU second by a plain copy of 256 MB, the best of five."""
    source = np.ones(2**25)
    target = np.zeros(2**25)
    seconds = []
    for _ in range(5):
        began = time.thread_time()
        np.copyto(target, source)
        seconds.append(time.thread_time() - began)
    return 2 * source.nbytes / min(seconds)
