"""What shares memory and what must not."""

import numpy as np

from rerank.latent.engines.interface import Factors, Settings, Step
from rerank.latent.engines.local import LocalEngine
from rerank.latent.log import log_of
from tests.cases.latent import random_factors, random_log

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
