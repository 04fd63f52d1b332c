"""What an epoch takes on many machines, from constants that were measured on one.

With ``R`` records, ``N`` users, ``n`` items of ``d`` numbers, ``M`` machines of ``c`` cores and ``p = M c`` shards:

compute  (s R + v(r) W(p) + b E(p)) / p + scans; ``W(p)`` counts visits, which grow in number where sub-blocks get
         smaller; ``v`` is dearer the more records ``r`` a sub-block holds, since competitors are drawn from their list;
         ``E(p)`` counts pairs of a user and a block with records of his: for each the xi-step scores a sample
scans    a R + 2 e n a shard: it looks through its R / p records for those of each of p blocks, and deals all items
         out, once for itself and once for the actor that sends them
copies   2 x 4 d n / copy a shard: out of the object store and back, p blocks of an epoch
deal     new blocks for all shards when an epoch begins, with no work to hide them: 8 d n / wire by way of the driver
wire     (M - 1) / M of 4 d n / wire a machine, for all its shards; all but the last piece of a block is hidden by
         work on the rest
latency  p x hop: a sub-epoch begins when the driver has heard of the block
driver   p^2 x (2 pieces - 1) x call, at the same time as all the others

    epoch = max(compute + copies + deal + max(wire / pieces, wire - compute) + latency, driver).

A part of ``python -m benchmarks.latent --scaling``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.latent.log import ITEMS, RECORDS, USERS
from rerank.latent.engines.interface import Settings, parts_for
from rerank.latent.engines.ray_shard import pieces_of

FACTORS = 100
Points = tuple[tuple[float, float], ...]  # sizes, ascending, and what was measured there


@dataclass(frozen=True)
class Constants:
    """Measured: seconds a record, a pair (user, block), a call and a hop; bytes per second of a copy and the wire.

    ``visit`` has seconds a visit by the records of a sub-block; ``scan`` seconds a record and block, and ``deal``
    seconds an item, by the items of the log: larger tables are further from the core.
    """

    record: float
    visit: Points
    pair: float
    scan: Points
    deal: Points
    call: float
    hop: float
    copy: float
    wire: float


@dataclass(frozen=True)
class Epoch:
    """Seconds of an epoch, by part; ``scans`` are in ``compute`` too."""

    compute: float
    scans: float
    copies: float
    deal: float
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

    def parts(self, p: int) -> int:
        """Sub-blocks of all p blocks."""
        return p * parts_for(int(self.items), p, FACTORS, Settings().block_bytes)

    def pairs(self, parts: float) -> float:
        """Pairs of a user and a part of the items with records of his: parts (1 - (1 - 1/parts)^n_x) for each."""
        return float(self.users * (parts * (1 - (1 - 1 / parts) ** self.of_user)).mean())

    def work(self, p: int) -> NDArray[np.float64]:
        """Records, visits and pairs of user and block of an epoch on p shards.

        Few sub-blocks hold more than ``visit_size`` records of a user, so a visit is a pair of user and sub-block.
        """
        return np.array([self.records, self.pairs(self.parts(p)), self.pairs(p)])


def million_songs(of_user: NDArray[np.int64]) -> Size:
    """The Million Song log."""
    return Size(USERS, ITEMS, RECORDS, of_user)


def at(points: Points, size: float) -> float:
    """What was measured, between sizes on a scale of logarithms; beyond them as at the last one."""
    sizes, values = np.array(points).T
    return float(np.interp(np.log(size), np.log(sizes), values))


def steps(size: Size, k: Constants, p: int) -> float:
    """CPU seconds of the steps of all shards."""
    records, visits, _ = size.work(p)
    return float(k.record * records + at(k.visit, records / (p * size.parts(p))) * visits)


def scanning(size: Size, k: Constants, p: int) -> float:
    """CPU seconds of each shard for finding the records of its blocks, and for dealing."""
    return p * (size.records / p) * at(k.scan, size.items) + 2 * size.items * at(k.deal, size.items)


def epoch(size: Size, constants: Constants, machines: int, cores: int = 1) -> Epoch:
    """The law."""
    p = machines * cores
    k = constants
    pieces = len(pieces_of(int(size.items), FACTORS, Settings(n_shards=p)))
    scans = scanning(size, k, p)
    compute = (steps(size, k, p) + k.pair * size.pairs(p)) / p + scans
    copies = 2 * size.item_bytes / k.copy
    sent = size.item_bytes / k.wire if machines > 1 else 0.0
    deal, wire = 2 * sent, sent - sent / machines
    latency, driver = p * k.hop, p * p * (2 * pieces - 1) * k.call
    total = max(compute + copies + deal + max(wire / pieces, wire - compute) + latency, driver)
    return Epoch(compute, scans, copies, deal, wire, latency, driver, total)


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
