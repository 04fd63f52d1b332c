"""What an epoch takes on many machines, from constants that were measured on one.

With ``R`` records, ``N`` users, ``n`` items of ``d`` numbers, ``M`` machines of ``c`` cores and ``p = M c`` shards:

compute  (s R + v W(p) + b E(p)) / p; ``W(p)`` counts visits, which grow in number where sub-blocks get smaller, and
         ``E(p)`` pairs of a user and a block with records of his, for each of which the xi-step scores a sample
copies   2 x 4 d n / copy a shard: out of the object store and back, p blocks of an epoch
wire     4 d n / wire a machine, for all its shards; all but the last piece of a block is hidden by work on the rest
latency  p x hop: a sub-epoch begins when the driver has heard of the block
driver   p^2 x (2 pieces - 1) x call, at the same time as all the others

    epoch = max(compute + copies + max(wire / pieces, wire - compute) + latency, driver).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.latent_log import ITEMS, RECORDS, USERS
from rerank.latent.blocks import parts_for
from rerank.latent.engine import Settings
from rerank.latent.ray_messages import pieces_of

FACTORS = 100


@dataclass(frozen=True)
class Constants:
    """Measured: seconds a record, visit, pair (user, block), call and hop; bytes per second of a copy and the wire."""

    record: float
    visit: float
    pair: float
    call: float
    hop: float
    copy: float
    wire: float


@dataclass(frozen=True)
class Epoch:
    """Seconds of an epoch, by part."""

    compute: float
    copies: float
    wire: float
    latency: float
    driver: float
    total: float


@dataclass(frozen=True)
class Size:
    """A log: users, items, records, and how many records each user has (a sample)."""

    users: float
    items: float
    records: float
    of_user: NDArray[np.int64]

    def times(self, factor: float) -> Size:
        """More users, items and records by a factor; a user has as many records as before."""
        return Size(self.users * factor, self.items * factor, self.records * factor, self.of_user)

    @property
    def item_bytes(self) -> float:
        """Of all item vectors."""
        return 4 * FACTORS * self.items

    @property
    def user_bytes(self) -> float:
        """Of all user vectors."""
        return 4 * FACTORS * self.users

    def pairs(self, parts: float) -> float:
        """Pairs of a user and a part of the items with records of his: parts (1 - (1 - 1/parts)^n_x) for each."""
        return float(self.users * (parts * (1 - (1 - 1 / parts) ** self.of_user)).mean())

    def work(self, p: int) -> NDArray[np.float64]:
        """Records, visits and pairs of user and block of an epoch on p shards.

        Few sub-blocks hold more than ``visit_size`` records of a user, so a visit is a pair of user and sub-block.
        """
        parts = p * parts_for(int(self.items), p, FACTORS, Settings().block_bytes)
        return np.array([self.records, self.pairs(parts), self.pairs(p)])


def million_songs(of_user: NDArray[np.int64]) -> Size:
    """The Million Song log."""
    return Size(USERS, ITEMS, RECORDS, of_user)


def epoch(size: Size, constants: Constants, machines: int, cores: int = 1) -> Epoch:
    """The law."""
    p = machines * cores
    k = constants
    pieces = len(pieces_of(int(size.items), FACTORS, Settings(n_shards=p)))
    compute = float(size.work(p) @ [k.record, k.visit, k.pair]) / p
    copies = 2 * size.item_bytes / k.copy
    wire = size.item_bytes / k.wire if machines > 1 else 0.0
    latency, driver = p * k.hop, p * p * (2 * pieces - 1) * k.call
    total = max(compute + copies + max(wire / pieces, wire - compute) + latency, driver)
    return Epoch(compute, copies, wire, latency, driver, total)


def machine_gb(size: Size, machines: int, cores: int) -> tuple[float, float]:
    """GB of a machine with shards and its object store, and of the driver.

    A shard holds its users' vectors and records (4 bytes each), the block's records in order (12 bytes each, for 1/p
    of them), two deals of the items (8 bytes an item each) and their sub-blocks (4), and a block; the store holds
    what is on its way.  The driver holds the log, and all vectors twice: at the last collection and at this one.
    """
    p = machines * cores
    users = (size.user_bytes + 8 * size.users + 4 * size.records) / machines
    shard = 12 * size.records / p**2 + 20 * size.items + 2 * size.item_bytes / p
    store = 3 * size.item_bytes / machines
    driver = 2 * (size.user_bytes + size.item_bytes) + 4 * size.records + 8 * size.users
    return (users + cores * shard + store) / 1e9, driver / 1e9
