"""Measurements of latent models: the law of an epoch, its prices, a ring without Ray, and successive halving."""

import multiprocessing
import socket
import threading
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.latent.law import FACTORS, Constants, Size, at, epoch, machine_gb, steps
from benchmarks.latent.methods import Method
from benchmarks.latent.plan import plan, tables
from benchmarks.latent.prices import SubBlock, fitted, log_from, record_price, settings_for, shard_epoch, size_of, zipf
from benchmarks.latent.ring import ROTATIONS, TURNS, Holder, exchange, in_turn, peer
from benchmarks.latent.scaling import epochs, xi_prices
from benchmarks.latent.trials import tuned
from rerank.latent.engines.interface import ShardSums, SubEpoch

FREE = ((10.0, 0.0),)
NOTHING = Constants(0.0, FREE, 0.0, FREE, FREE, 0.0, 0.0, np.inf, np.inf)
TOY = Size(3.0, 8.0, 6.0, np.array([1, 2, 3]))
LARGE = Size(1e6, 4e5, 4.4e7, np.full(100, 44))
USUAL = Constants(1e-6, ((1e4, 1e-5), (1e6, 2e-5)), 5e-6, ((4e5, 2e-9),), ((4e5, 3e-8),), 1e-4, 1e-2, 1e10, 1e9)


def priced(size, p, machines=None, **prices):
    """Seconds of an epoch in which only these things cost anything, on machines of a core unless told."""
    machines = p if machines is None else machines
    return epoch(size, replace(NOTHING, **prices), machines, p // machines).total


def test_records_visits_and_pairs_are_shared_out():
    # One record a user in each of two blocks, at best: 1, 2 (1 - 1/4) = 3/2 and 2 (1 - 1/8) = 7/4 pairs.
    pairs = 1 + 3 / 2 + 7 / 4
    assert TOY.parts(2) == 2  # eight items fit into the cache, so a visit is a pair of user and block
    np.testing.assert_allclose(TOY.work(2), [6.0, pairs, pairs])
    assert priced(TOY, 2, record=1.0) == pytest.approx(6 / 2)
    assert priced(TOY, 2, visit=((10.0, 1.0),)) == pytest.approx(pairs / 2)
    assert priced(TOY, 2, pair=1.0) == pytest.approx(pairs / 2)


@pytest.mark.parametrize("p", [1, 2, 4])
def test_every_shard_scans_its_records_once_for_each_block_and_deals_all_items_twice(p):
    assert priced(TOY, p, scan=((10.0, 1.0),)) == pytest.approx(6)  # 6 / p records, p blocks
    assert priced(TOY, p, deal=((10.0, 1.0),)) == pytest.approx(2 * 8)


def test_the_driver_calls_for_every_piece_of_every_block_and_the_rest_waits_for_it():
    # Blocks of 10 MB make three sub-blocks of 4 MB: to bring three pieces less one, and to run three.
    large = Size(3.0, 4 * 10e6 / (4 * FACTORS), 6.0, np.array([2]))
    assert priced(large, 4, call=1.0) == pytest.approx(4 * 4 * (3 + 2))
    assert priced(large, 4, hop=1.0) == pytest.approx(4)
    assert priced(large, 4, call=1.0, hop=1e3) == pytest.approx(4e3)


def test_bytes_on_their_way_in_seconds():
    sent = 4 * FACTORS * 8.0
    assert priced(TOY, 2, copy=1.0) == pytest.approx(2 * sent)
    assert priced(TOY, 2, machines=1, wire=1.0) == 0.0  # nothing leaves a machine
    # All bytes are dealt by way of the driver; half of the blocks then goes on, in one piece, hidden by nothing.
    assert priced(TOY, 2, wire=1.0) == pytest.approx(2 * sent + sent / 2)
    assert priced(TOY, 2, wire=1.0, record=1e6) == pytest.approx(6e6 / 2 + 2 * sent + sent / 2)
    # Of larger blocks work hides all but the last of four pieces.
    hidden = priced(LARGE, 2, wire=1.0, record=1e6) - priced(LARGE, 2, record=1e6)
    assert hidden == pytest.approx(4 * FACTORS * 4e5 * (2 + 1 / 2 / 4))
    assert priced(LARGE, 2, wire=1.0) == pytest.approx(4 * FACTORS * 4e5 * (2 + 1 / 2))


def test_more_shards_take_less_time_until_the_driver_takes_more():
    total = [epoch(LARGE, USUAL, p).total for p in (1, 2, 4, 8, 16, 32, 64)]
    assert (np.diff(total) < 0).all()
    free = [epoch(LARGE, replace(USUAL, hop=0.0, call=0.0), p) for p in (64, 256, 1024)]
    assert free[0].compute > free[1].compute > free[2].compute > free[2].scans == free[0].scans
    drivers = [epoch(LARGE, USUAL, p) for p in (256, 512, 1024)]
    assert (np.diff([e.total for e in drivers]) > 0).all() and drivers[-1].total == drivers[-1].driver


def test_the_total_is_no_less_than_its_parts_and_a_slower_wire_gains_nothing():
    for p in (1, 2, 16, 256):
        e = epoch(LARGE, USUAL, p)
        assert e.total >= max(e.compute + e.copies + e.latency, e.driver)
        assert e.compute > e.scans > 0
        assert epoch(LARGE, replace(USUAL, wire=1e6), p).total >= e.total


def test_prices_between_the_sizes_they_were_measured_at():
    assert at(USUAL.visit, 1e4) == pytest.approx(1e-5) and at(USUAL.visit, 1e6) == pytest.approx(2e-5)
    assert at(USUAL.visit, 1e5) == pytest.approx(1.5e-5)
    assert at(USUAL.visit, 1.0) == pytest.approx(1e-5) and at(USUAL.visit, 1e9) == pytest.approx(2e-5)
    # One shard has long lists of records in a sub-block, so that its visits are dearer than those of many.
    dear = steps(LARGE, replace(USUAL, record=0.0), 1) / LARGE.work(1)[1]
    assert dear > 1.9e-5 and steps(LARGE, replace(USUAL, record=0.0), 64) / LARGE.work(64)[1] < 1.2e-5


def test_the_pairs_of_users_and_blocks_are_those_of_random_blocks():
    rng = np.random.default_rng(0)
    log = log_from(rng.integers(300, size=4000), rng.integers(900, size=4000), 300, 900)
    user = np.repeat(np.arange(300), np.diff(log.indptr))
    counted = [np.unique(user * 6 + rng.permutation(900)[log.items] // 150).size for _ in range(20)]
    assert size_of(log).pairs(6) == pytest.approx(np.mean(counted), rel=0.01)


def test_memory_of_a_machine_with_everything_on_it():
    gb, driver = machine_gb(TOY, 1, 1)
    users, records, vectors = 3 * (4 * FACTORS + 8), 6 * 4, 4 * FACTORS * 8
    assert gb * 1e9 == pytest.approx(users + records + 12 * 6 + 20 * 8 + 2 * vectors + 3 * vectors)
    assert driver * 1e9 == pytest.approx(2 * (4 * FACTORS * 3 + vectors) + records + 8 * 3)
    assert machine_gb(LARGE, 4, 4)[0] < machine_gb(LARGE, 2, 4)[0]


def test_the_tables_say_what_the_law_says(capsys):
    tables(LARGE, USUAL, 250)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[3:]]
    assert [tuple(map(int, row[:2])) for row in rows][:2] == [(1, 1), (4, 1)]
    for row in rows:
        assert float(row[9]) == pytest.approx(epoch(LARGE, USUAL, int(row[0]), int(row[1])).total, abs=0.006)
    plan(LARGE, USUAL, 250)
    first = capsys.readouterr().out.splitlines()[3].split()
    assert float(first[-1]) == pytest.approx(40 * epoch(LARGE, USUAL, 1, 2).total / 3600, abs=0.006)


def test_a_fit_of_exact_sums_finds_the_prices():
    A = np.array([[6.0, 1.0], [6.0, 2.0], [6.0, 4.0]])
    found, off = fitted(A, A @ [0.5, 3.0])
    np.testing.assert_allclose(found, [0.5, 3.0])
    assert off < 1e-9
    _, off = fitted(A, A @ [0.5, 3.0] * [1.0, 1.0, 1.5])
    assert off > 0.05


def test_the_price_of_a_record_is_told_from_that_of_a_visit():
    class Counted:
        def __init__(self, records, visits):
            self.records, self.visits = records, visits

    a, b = Counted(100, 80), Counted(110, 20)
    assert record_price(a, 2 * 100 + 7 * 80, b, 2 * 110 + 7 * 20) == pytest.approx(2)


def test_a_sub_block_has_the_records_asked_for_and_all_its_time_goes_into_visits():
    block = SubBlock(0.1 * np.ones((500, FACTORS), np.float32), 2.0, passes=2)
    assert block.records == pytest.approx(500 * 2, rel=0.15)
    assert 0.7 * 500 < block.visits < 500  # nobody has more than a visit takes, some have no record
    before = block.shard.U.copy()
    assert 0 < block.seconds() < 5
    moved = (before != block.shard.U).any(axis=1)
    assert moved.sum() == block.visits
    items = zipf(1000, np.random.default_rng(0).random(20_000))
    assert items.min() == 0 and items.max() == 999 and np.median(items) < 400


def test_an_exchange_takes_each_end_the_other_ends_block():
    size = 3 * 2**20 + 5  # more than sockets hold, so that both have to send and receive at once
    ends = socket.socketpair()
    out = [memoryview(bytearray([k + 1]) * size) for k in range(2)]
    into = [memoryview(bytearray(size)) for _ in range(2)]
    threads = [threading.Thread(target=exchange, args=(ends[k], out[k], into[k]), daemon=True) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    assert into[0] == out[1] and into[1] == out[0]


def test_two_peers_rotate_as_often_as_they_are_told():
    ends, threads, port = [], [], 0
    for first in (True, False):
        mine, other = multiprocessing.Pipe()
        threads.append(threading.Thread(target=peer, args=(other, first, port, 1000), daemon=True))
        threads[-1].start()
        ends.append(mine)
        port = mine.recv() if first else port
    for n in (2, 3, 0):
        for end in ends:
            end.send(n)
        for end in ends if n else []:
            assert end.poll(20) and end.recv() is None
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def test_ways_take_turns_and_rates_are_of_both_directions(monkeypatch):
    clock, order = [0.0], []
    monkeypatch.setattr("benchmarks.latent.ring.time.perf_counter", lambda: clock[0])

    def way(name, seconds):
        def rotate(n):
            order.append(name)
            clock[0] += n * seconds

        return rotate

    found = in_turn({"a": way("a", 1.0), "b": way("b", 4.0)}, 10**9)
    assert found == pytest.approx({"a": 2.0, "b": 0.5})  # GB/s: two blocks of a GB in each rotation
    assert order == ["a", "b"] * (TURNS + 1) and ROTATIONS > 1


def test_a_holder_can_write_to_what_it_hands_on():
    holder, block = Holder(), np.arange(5, dtype=np.uint8)
    block.flags.writeable = False
    held = holder.turn(block)
    held[0] = 9
    assert block[0] == 0 and holder.turn(block) is held and held[0] == 0


def test_a_pause_is_as_long_as_its_sub_blocks(monkeypatch):
    pytest.importorskip("ray")
    from benchmarks.latent.overlap import Pause, line

    slept = []
    monkeypatch.setattr("benchmarks.latent.overlap.time.sleep", slept.append)
    pause = Pause(None, None, 0.5)
    assert pause.run(SubEpoch(1, 0), None, (2, 5)).finite and slept == [1.5]
    assert line("x", (1.0, 1.25)).split() == ["x", "1.00", "1.25", "0.25"]


class Counting:
    """An engine that only counts."""

    def prepare(self, log, start, settings):
        self.calls, self.closed = [], False

    def xi_step(self, step):
        self.calls.append(("xi", step))

    def sub_epoch(self, step):
        self.calls.append(("run", step))

    def collect(self):
        return None, (ShardSums(step_seconds=2.0, xi_seconds=1.0),)

    def close(self):
        self.closed = True


def test_an_epoch_is_timed_step_by_step_and_its_cpu_seconds_are_the_shards_own():
    rng = np.random.default_rng(0)
    log = log_from(rng.integers(20, size=100), rng.integers(30, size=100), 20, 30)
    engine = Counting()
    wall, cpu = epochs(engine, log, 2, 3)
    assert cpu == 3.0 and 0 < wall < 5 and engine.closed
    wanted = [(call, SubEpoch(e, t)) for e in (1, 2, 3, 4) for t in (0, 1) for call in ("xi", "run")]
    assert engine.calls == wanted


def test_scans_are_paid_for_before_the_xi_step_is():
    log = log_from(np.arange(40) % 10, np.arange(40), 10, 40)
    spent = {p: 2e-3 * 40 + 5e-3 * size_of(log).pairs(p) + 1e-3 * p * 40 for p in (1, 2, 4, 8)}
    assert xi_prices(log, spent, 1e-3, 100) == pytest.approx((2e-3, 5e-3))


def test_a_copy_is_timed_in_bytes_a_second(monkeypatch):
    from benchmarks.latent import transport

    clock = iter(np.arange(1000.0))
    monkeypatch.setattr("benchmarks.latent.transport.time.thread_time", lambda: next(clock))
    assert transport.copy_rate() == transport.MOST


def test_an_epoch_of_a_shard_visits_every_record_once_and_its_xi_step_none():
    rng = np.random.default_rng(0)
    log = log_from(rng.integers(20, size=300), rng.integers(60, size=300), 20, 60)
    settings = settings_for(3)
    whole, alone = shard_epoch(log, settings), shard_epoch(log, settings, steps=False)
    assert whole.pairs == log.n_records * settings.n_negatives and alone.pairs == 0
    assert whole.records == alone.records == log.n_records


USERS = 10


def method(limit):
    """A trial of quality q puts the right item of q users first, after three looks of one user less at a time."""

    def steps(train, options, seed):
        look = 0
        while True:
            look += 1
            right = options["quality"] - max(0, 3 - look)
            yield lambda users, right=right: (np.asarray(users) < right)[:, None] * np.arange(3.0, 0.0, -1.0)

    return Method({"quality": 3}, lambda rng: {"quality": int(rng.integers(3, USERS))}, steps, limit)


@pytest.fixture
def split():
    log = sp.csr_matrix((np.ones(USERS), (np.arange(USERS), np.zeros(USERS, int))), shape=(USERS, 30))
    return sp.csr_matrix(log.shape), log, log


def test_the_best_eight_get_four_looks_and_the_best_four_go_on(split, monkeypatch):
    # Precision of a trial at a look, without a model: a tenth of the users it gets right.
    class Found:
        def __init__(self, scores):
            self.scores = scores

        def means(self):
            return {"precision": float((self.scores(np.arange(USERS))[:, 0] > 0).mean())}

    monkeypatch.setattr("benchmarks.latent.trials.evaluate", lambda scores, *rest: Found(scores))
    best, every = tuned(method(12), split, 20)
    lengths = [len(trial.looks) for trial in every]
    # Three looks raise it and three more bring nothing.
    assert sorted(lengths, reverse=True) == [6] * 4 + [4] * 4 + [2] * 12
    qualities = [trial.options["quality"] for trial in every]
    assert best is every[0] and best.options["quality"] == max(qualities)
    assert min(qualities[:4]) >= max(qualities[4:])
    assert min(qualities[4:8]) >= max(qualities[8:])
    assert best.looks[best.best][1] == pytest.approx(max(qualities) / USERS)
