"""The local engine: no shard works on after an interruption, no report is lost, and what shares memory."""

import threading
import time

import numpy as np
import pytest
import threadpoolctl

from rerank.latent.engines.interface import Factors, Report, Settings, Step
from rerank.latent.engines.local import LocalEngine
from rerank.latent.engines.shard import Shard
from rerank.latent.log import log_of
from tests.cases.latent import random_factors, random_log


@pytest.fixture
def engine():
    made = LocalEngine(2)
    made.prepare(log_of(random_log(12, 20, 0.4, seed=1)), random_factors(12, 20, 3), Settings(n_shards=2))
    yield made
    made.close()


def test_shards_that_have_a_task_are_waited_for(engine, monkeypatch):
    """Ctrl-C before the second shard has its task: the first one ends before vectors are collected."""
    submit, ended = engine._pool.submit, threading.Event()

    def slow(shard, step, block):
        time.sleep(0.3)
        ended.set()
        return Report(pairs=7)

    def once(work, *arguments):
        monkeypatch.setattr(engine._pool, "submit", interrupted)
        return submit(work, *arguments)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(Shard, "run", slow)
    monkeypatch.setattr(engine._pool, "submit", once)
    with pytest.raises(KeyboardInterrupt):
        engine.sub_epoch(Step(1, 0))
    found = engine.collect()
    assert ended.is_set() and found.report.pairs == 7


def test_reports_of_an_interrupted_step_are_not_lost(engine, monkeypatch):
    """Ctrl-C while the driver waits: later reports of the shards count, above all those of divergence."""
    waiting = threading.Event()

    def run(shard, step, block):
        waiting.wait(5)
        return Report(pairs=1 + shard.index, finite=shard.index == 0)

    class Interrupted:
        def __init__(self, task):
            self.task = task

        def result(self):
            if not waiting.is_set():
                waiting.set()
                raise KeyboardInterrupt
            return self.task.result()

    submit = engine._pool.submit
    monkeypatch.setattr(Shard, "run", run)
    monkeypatch.setattr(engine._pool, "submit", lambda *arguments: Interrupted(submit(*arguments)))
    with pytest.raises(KeyboardInterrupt):
        engine.sub_epoch(Step(1, 0))
    found = engine.collect()
    assert found.report.pairs == 3 and not found.report.finite
    # And the engine goes on.
    monkeypatch.undo()
    engine.sub_epoch(Step(1, 1))
    assert engine.collect().report.pairs > 0


def test_the_libraries_are_searched_for_once(engine, monkeypatch):
    """BLAS has one thread while a shard works, but the search through all loaded libraries comes before."""
    searched, threads = [], []
    load = threadpoolctl.ThreadpoolController._load_libraries
    monkeypatch.setattr(
        threadpoolctl.ThreadpoolController,
        "_load_libraries",
        lambda self: (searched.append(self), load(self))[1],
    )

    def run(shard, step, block):
        threads.extend(info["num_threads"] for info in engine._blas.select(user_api="blas").info())
        return Report()

    monkeypatch.setattr(Shard, "run", run)
    with threadpoolctl.threadpool_limits(2, "blas"):
        searched.clear()
        engine.sub_epoch(Step(1, 0))
    assert searched == [] and set(threads) == {1}
    assert np.isfinite(engine.collect().factors.U).all()


NAMES = ("U", "V", "GU", "GV")


def copied(factors):
    return Factors(*(getattr(factors, name).copy() for name in NAMES))


def test_later_epochs_change_nothing_that_was_given_or_collected():
    start = random_factors(12, 20, 3)
    before = copied(start)
    engine = LocalEngine()
    engine.prepare(log_of(random_log(12, 20, 0.4, seed=1)), start, Settings(n_shards=2))
    kept = []
    for epoch in (1, 2):
        for t in range(2):
            engine.xi_step(Step(epoch, t))
            engine.sub_epoch(Step(epoch, t))
        kept.append(engine.collect().factors)
        kept.append(copied(kept[-1]))
    engine.close()
    for old, new in ((start, before), (kept[0], kept[1])):
        for name in NAMES:
            np.testing.assert_array_equal(getattr(old, name), getattr(new, name))
    assert not np.array_equal(kept[0].V, kept[2].V)


def test_collecting_twice_gives_the_same():
    engine = LocalEngine()
    engine.prepare(log_of(random_log(12, 20, 0.4, seed=1)), random_factors(12, 20, 3), Settings(n_shards=2))
    engine.xi_step(Step(1, 0))
    engine.sub_epoch(Step(1, 0))
    one, two = engine.collect().factors, engine.collect().factors
    engine.close()
    for name in NAMES:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_a_log_in_order_is_not_copied_and_one_out_of_order_not_changed():
    X = random_log(12, 20, 0.4, seed=1)
    X.sort_indices()
    assert np.shares_memory(log_of(X).items, X.indices)
    mixed = X.indices.copy()
    mixed[: X.indptr[1]] = mixed[: X.indptr[1]][::-1]
    Y = type(X)((X.data, mixed, X.indptr), shape=X.shape)
    before = Y.indices.copy()
    np.testing.assert_array_equal(log_of(Y).items, X.indices)
    np.testing.assert_array_equal(Y.indices, before)
