"""One epoch end to end, in a process of its own: ``python -m benchmarks.latent.epoch FOLDER OPTION=NUMBER ...``.

The log is mapped from the files that :mod:`benchmarks.latent.log` wrote; ``fit`` draws the first vectors, trains one
epoch and leaves a model.  Memory is that of the whole process: the interpreter, the log, and all that training holds.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.latent.log import drawn_log, read
from benchmarks.latent.memory import peak
from rerank.latent import LatentRoBiRank

FACTORS = 100
LOOKED_AT = 5000  # users that are recommended to


def main(folder: str, *options: str) -> None:
    """Print seconds, share and error of the xi-step, and memory."""
    named: dict[str, Any] = {name: int(value) for name, value in (option.split("=") for option in options)}
    small = LatentRoBiRank(FACTORS, n_epochs=1, random_state=0, **named).fit(drawn_log(0.001))
    small.recommend([0])
    log = read(Path(folder))
    wall, cpu = time.perf_counter(), time.process_time()
    model = LatentRoBiRank(FACTORS, n_epochs=1, random_state=0, **named).fit(log)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = peak()
    look = model.history_[-1]
    print(f"epoch: {cpu:.0f} CPU s, {wall:.0f} s of wall time on {os.cpu_count()} cores")
    print(
        f"steps: {look['pairs_per_second'] / 1e6:.1f} M pairs/s and thread; xi-step: {look['xi_share']:.0%} of the "
        f"time, {model.xi_samples} items sampled, relative error of A {look['xi_error']:.2%}"
    )
    print(f"memory at its largest: {memory:.2f} GB", flush=True)
    users = np.random.default_rng(0).choice(log.shape[0], min(LOOKED_AT, log.shape[0]), replace=False)
    cpu = time.process_time()
    model.recommend(users, k=10)
    cpu = time.process_time() - cpu
    print(f"recommending: {users.size / cpu:.0f} users per CPU s, 10 of {log.shape[1]} items each")


if __name__ == "__main__":
    main(*sys.argv[1:])
