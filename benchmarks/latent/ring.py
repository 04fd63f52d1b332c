"""Blocks that go round between two actors of Ray, beside two processes and a bare TCP connection.

A rotation hands a block of 64 MB from each to the other, and ends where both can write to what they have got: after
``recv_into`` for TCP, after the copy out of the object store and the one back into it for Ray.  Ray is measured on one
node, where blocks go through shared memory, and between two nodes of this machine, where they go through Ray's own
TCP transfer.  All ways take turns within one run; medians.

Printed by ``python -m benchmarks.latent --ring``.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.latent.engines.ray_shard import MOST, joined

ROTATIONS, TURNS = 6, 9


def exchange(connection: socket.socket, out: Any, into: Any) -> None:
    """Send and receive a block at the same time."""
    sender = threading.Thread(target=connection.sendall, args=(out,))
    sender.start()
    got = 0
    while got < len(into):
        got += connection.recv_into(into[got:], min(len(into) - got, 2**20))
    sender.join()


def peer(orders: Any, first: bool, port: int, size: int) -> None:
    """One of two processes: exchanges blocks as often as it is told."""
    if first:
        with socket.create_server(("127.0.0.1", 0)) as server:
            orders.send(server.getsockname()[1])
            connection, _ = server.accept()
    else:
        connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    a, b = (memoryview(bytearray(size)) for _ in range(2))
    while n := orders.recv():
        for _ in range(n):
            exchange(connection, a, b)
            a, b = b, a
        orders.send(None)
    connection.close()


class Tcp:
    """Two processes and a connection."""

    def __init__(self, size: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.ends, self.processes, port = [], [], 0
        for first in (True, False):
            mine, other = context.Pipe()
            process = context.Process(target=peer, args=(other, first, port, size), daemon=True)
            process.start()
            self.ends.append(mine)
            self.processes.append(process)
            port = mine.recv() if first else port

    def rotate(self, n: int) -> None:
        for end in self.ends:
            end.send(n)
        for end in self.ends:
            end.recv()

    def close(self) -> None:
        for end in self.ends:
            end.send(0)
        for process in self.processes:
            process.join()


class Holder:
    """An actor that makes a block its own and hands it on, as a shard does."""

    def turn(self, block: Any) -> Any:
        if not hasattr(self, "room"):
            self.room = joined([block])
        self.room[:] = block
        return self.room


class Ring:
    """Two actors, each on a node of its own where there are two."""

    def __init__(self, ray: Any, size: int) -> None:
        self.ray = ray
        self.actors = [
            ray.remote(Holder).options(num_cpus=0.9, scheduling_strategy="SPREAD").remote() for _ in range(2)
        ]
        self.blocks = [actor.turn.remote(np.ones(size, np.uint8)) for actor in self.actors]

    def rotate(self, n: int) -> None:
        for _ in range(n):
            self.hand_on()
        self.wait()

    def hand_on(self) -> None:
        self.blocks = [actor.turn.remote(block) for actor, block in zip(self.actors, reversed(self.blocks))]

    def wait(self) -> None:
        self.ray.wait(self.blocks, num_returns=2, fetch_local=False)

    def close(self) -> None:
        for actor in self.actors:
            self.ray.kill(actor)


def in_turn(ways: dict[str, Callable[[int], None]], size: int) -> dict[str, float]:
    """GB handed on per second by each way, both directions together: medians over turns."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(TURNS + 1):
        for name, rotate in ways.items():
            began = time.perf_counter()
            rotate(ROTATIONS)
            if turn:
                seconds[name].append(time.perf_counter() - began)
    return {name: 2 * ROTATIONS * size / statistics.median(spent) / 1e9 for name, spent in seconds.items()}


@dataclass(frozen=True)
class Rates:
    """GB/s by size of the blocks, both directions together, and whatever else was measured on that cluster."""

    tcp: dict[int, float]
    ray: dict[int, float]
    costs: Any


@contextmanager
def nodes_of_ray(n: int) -> Iterator[Any]:
    """Ray on one or two nodes of this machine, with two cores in all."""
    import ray
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    store = 12 * MOST
    head = {"num_cpus": 3 - n, "object_store_memory": store, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    if n == 2:
        cluster.add_node(num_cpus=1, object_store_memory=store)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    try:
        yield ray
    finally:
        ray.shutdown()
        cluster.shutdown()


def rates(nodes: int, sizes: Sequence[int], costs: Callable[[Any], Any] = lambda ray: None) -> Rates:
    """Measure on a cluster of one or two nodes of this machine."""
    found = Rates({}, {}, None)
    with nodes_of_ray(nodes) as ray:
        for size in sizes:
            tcp, ring = Tcp(size), Ring(ray, size)
            both = in_turn({"TCP": tcp.rotate, "Ray": ring.rotate}, size)
            tcp.close()
            ring.close()
            found.tcp[size], found.ray[size] = both["TCP"], both["Ray"]
        return Rates(found.tcp, found.ray, costs(ray))


def report() -> None:
    """Print the table."""
    print(f"{'':42} TCP GB/s   Ray GB/s   Ray / TCP")
    for nodes, where in ((1, "through shared memory"), (2, "between two nodes")):
        found = rates(nodes, (2**23, MOST))
        for size, tcp in found.tcp.items():
            ours = found.ray[size]
            print(
                f"blocks of {size // 2**20:2d} MB, {where:22}      {tcp:8.2f}   {ours:8.2f}   {ours / tcp:9.2f}",
                flush=True,
            )
