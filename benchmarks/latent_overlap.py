"""How much of a block's way is hidden by work: epochs of the Ray engine between two nodes of this machine.

The engine hands out a step while the one before is worked on, so that pieces of a block travel as soon as they have
been visited.  It is compared with one that waits for the answers of all shards before it hands out anything: then no
piece moves while anybody works, and none is worked on before all have come.  What that takes longer was hidden; an
epoch without any work shows how long the whole way takes.

Work is a pause first, which leaves the cores to Ray as a machine with cores to spare would, then real work on all
cores, which Ray's transfer needs as well.
"""

from __future__ import annotations

import statistics
import time
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.latent_log import ITEMS
from benchmarks.latent_prices import factors, log_from, part_of_log, settings_for
from benchmarks.latent_ring import nodes_of_ray
from rerank.latent import ray_cluster, ray_engine
from rerank.latent.engine import ItemBlock, Report, Step
from rerank.latent.log import Log
from rerank.latent.ray_shard import RayShard

EPOCHS = 4
SHARE = 0.004  # of the users, for real work


class Pause:
    """A shard that takes its time and changes nothing."""

    def __init__(self, U: Any, GU: Any, seconds: float) -> None:
        self.U, self.GU, self.seconds = U, GU, seconds

    def xi_step(self, step: Step, block: ItemBlock) -> Report:
        return Report()

    def run(self, step: Step, block: ItemBlock, parts: tuple[int, int]) -> Report:
        time.sleep(self.seconds * (parts[1] - parts[0]))
        return Report(pairs=1)


def pausing(seconds: float) -> type[RayShard]:
    """An actor that pauses for so many seconds in each sub-block."""

    class Pausing(RayShard):
        def restore(self, *parts: Any) -> None:
            super().restore(*parts)
            self.shard: Any = Pause(self.shard.U, self.shard.GU, seconds)

    return Pausing


def epoch_seconds(log: Log, p: int, ahead: int) -> float:
    """Wall seconds of an epoch without its collection, the median of some after a first one."""
    with patch.object(ray_engine, "AHEAD", ahead):
        engine = ray_engine.RayEngine()
        engine.prepare(log, factors(log), settings_for(p))
        ends = []
        try:
            for e in range(1, EPOCHS + 2):
                for t in range(p):
                    engine.xi_step(Step(e, t))
                    engine.sub_epoch(Step(e, t))
                ends.append(time.perf_counter())  # each as many steps before the end of its epoch
        finally:
            engine.close()
    return statistics.median(np.diff(ends))


def compared(log: Log, p: int) -> tuple[float, float]:
    """Seconds of an epoch, blocks sent while others work, and after that."""
    return epoch_seconds(log, p, 2), epoch_seconds(log, p, 1)


def line(title: str, sent: tuple[float, float]) -> str:
    """A row of the table."""
    return f"{title:42} {sent[0]:14.2f} {sent[1]:17.2f} {sent[1] - sent[0]:7.2f}"


def report(items: int = ITEMS, share: float = SHARE) -> None:
    """Print the table."""
    empty = log_from(np.arange(64), np.arange(64) % items, 64, items)
    with nodes_of_ray(2):
        print(
            f"\n{'wall s of an epoch, two nodes of Ray':42} as they are made  after all answers  hidden",
            flush=True,
        )
        nothing = 0.0
        for seconds in (0.0, 0.02, 0.05):
            with patch.object(ray_cluster, "RayShard", pausing(seconds)):
                found = compared(empty, 4)
            nothing = nothing or found[1]
            print(line(f"4 shards that pause {seconds * 1e3:3.0f} ms a sub-block", found), flush=True)
        print(
            line(f"2 shards at work on {share:.1%} of the users", compared(part_of_log(share, items), 2)),
            flush=True,
        )
    print(f"all blocks once round without work: {nothing:.2f} s", flush=True)
