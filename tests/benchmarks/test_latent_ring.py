"""Blocks handed round over TCP, what a ring costs, the shard that pauses: their parts, without Ray."""

import multiprocessing
import socket
import threading

import numpy as np
import pytest

from benchmarks.latent.prices import log_from, settings_for, shard_epoch, size_of
from benchmarks.latent.ring import ROTATIONS, TURNS, Holder, exchange, in_turn, peer
from benchmarks.latent.scaling import epochs, xi_prices
from rerank.latent.engines.interface import Collected, Report, Step


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
    assert pause.run(Step(1, 0), None, (2, 5)).finite and slept == [1.5]
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
        return Collected(None, (Report(step_seconds=2.0, xi_seconds=1.0),))

    def close(self):
        self.closed = True


def test_an_epoch_is_timed_step_by_step_and_its_cpu_seconds_are_the_shards_own():
    rng = np.random.default_rng(0)
    log = log_from(rng.integers(20, size=100), rng.integers(30, size=100), 20, 30)
    engine = Counting()
    wall, cpu = epochs(engine, log, 2, 3)
    assert cpu == 3.0 and 0 < wall < 5 and engine.closed
    wanted = [(call, Step(e, t)) for e in (1, 2, 3, 4) for t in (0, 1) for call in ("xi", "run")]
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
