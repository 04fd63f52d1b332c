"""How much of a block's way is hidden by work: epochs of the Ray engine between two nodes of this machine.

The engine hands out a step while the one before is worked on, so that pieces of a block travel as soon as they have
been visited.  It is compared with one that waits for the answers of all shards before it hands out anything: then no
piece moves while anybody works, and none is worked on before all have come.  What that takes longer was hidden; an
epoch with pauses of no length shows how long all messages of one take.

Work is a pause first, which leaves the cores to Ray as a machine with cores to spare would, then real work on all
cores, which Ray's transfer needs as well.

Printed by ``python -m benchmarks.latent --ring``.
"""

from __future__ import annotations

import statistics
import time
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.latent.log import ITEMS
from benchmarks.latent.prices import factors, log_from, part_of_log, settings_for
from benchmarks.latent.ring import nodes_of_ray
from rerank.latent.engines import ray_engine
from rerank.latent.engines.interface import ItemBlock, ShardSums, SubEpoch
from rerank.latent.engines.ray_shard import RayShard
from rerank.latent.log import Log

EPOCHS = 3
SHARE = 0.004  # of the users, for real work


class Pause:
    """A shard that takes its time and changes nothing."""

    def __init__(self, U: Any, GU: Any, seconds: float) -> None:
        self.U, self.GU, self.seconds = U, GU, seconds

    def xi_step(self, step: SubEpoch, block: ItemBlock) -> ShardSums:
        return ShardSums()

    def run(self, step: SubEpoch, block: ItemBlock, parts: tuple[int, int]) -> ShardSums:
        time.sleep(self.seconds * (parts[1] - parts[0]))
        return ShardSums(pairs=1)


def pausing(seconds: float) -> type[RayShard]:
    """An actor that pauses for so many seconds in each sub-block."""

    class Pausing(RayShard):
        def restore(self, *parts: Any) -> None:
            super().restore(*parts)
            self.shard: Any = Pause(self.shard.U, self.shard.GU, seconds)

    return Pausing


def compared(log: Log, p: int) -> tuple[float, float]:
    """Wall seconds of an epoch without its collection: steps handed out ahead, and after all answers.

    Medians; the first epoch of either is left out, as in it the actors have still to begin or to catch up.
    """
    engine = ray_engine.RayEngine()
    engine.prepare(log, factors(log), settings_for(p))
    found: list[float] = []
    try:
        for ahead, first in ((2, 1), (1, EPOCHS + 3)):
            ends = []
            with patch.object(ray_engine, "AHEAD", ahead):
                for e in range(first, first + EPOCHS + 2):
                    for t in range(p):
                        engine.xi_step(SubEpoch(e, t))
                        engine.sub_epoch(SubEpoch(e, t))
                    ends.append(time.perf_counter())  # in each epoch as many steps before its end
            found.append(float(statistics.median(np.diff(ends)[1:])))
    finally:
        engine.close()
    return found[0], found[1]


def line(title: str, sent: tuple[float, float]) -> str:
    """A row of the table."""
    return f"{title:42} {sent[0]:14.2f} {sent[1]:17.2f} {sent[1] - sent[0]:7.2f}"


def report(items: int = ITEMS, share: float = SHARE) -> None:
    """Print the table."""
    empty = log_from(np.arange(64), np.arange(64) % items, 64, items)
    with nodes_of_ray(2):
        title = "wall s of an epoch, two nodes of Ray"
        print(f"\n{title:42} as they are made  after all answers  hidden", flush=True)
        for pause in (0.0, 0.05):
            with patch.object(ray_engine, "RayShard", pausing(pause)):
                found = compared(empty, 4)
            print(line(f"4 shards that pause {pause * 1e3:.0f} ms a sub-block", found), flush=True)
        found = compared(part_of_log(share, items), 2)
        print(line(f"2 shards at work on {share:.1%} of the users", found), flush=True)
