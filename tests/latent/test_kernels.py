"""Compiled steps and sums, and the engine that runs them, against loops over all pairs."""

import threading
import time

import numpy as np
import pytest
import threadpoolctl
from hypothesis import strategies as st

from benchmarks.latent.log import drawn_log, read, shape, write
from benchmarks.latent.naive import naive
from rerank.latent.engines.interface import Factors, ItemBlock, Settings, ShardSums, SubEpoch, partition
from rerank.latent.engines.local import LocalEngine
from rerank.latent.engines.shard import Shard
from rerank.latent.kernels.primitives import LANES, draw, exp2
from rerank.latent.kernels.steps import draw_others, harmonic, importance_weights, robirank, warp
from rerank.latent.kernels.visits import visit_starts
from rerank.latent.kernels.xi import user_sums
from rerank.latent.log import log_of
from tests.cases.examples import examples
from tests.cases.latent import gradient, linearised, random_factors, random_log, sigma, sums_over_others


def one_block(shard, epoch=1):
    """The whole catalogue as the block of an epoch, and the order of its items."""
    s = shard.settings
    order = partition(shard.log.n_items, 1, 1, s.seed, epoch).order
    return order, lambda V, GV: ItemBlock(epoch, 0, V[order].copy(), GV[order].copy())


def records_of(shard, order):
    """(user, item) of the shard's records, in the order of the epoch."""
    return shard.who, order[shard.where]


@pytest.mark.parametrize(("n_shards", "popular"), [(1, 0.0), (2, 0.6)])
def test_the_mean_step_is_the_gradient(n_shards, popular):
    """Steps too small to affect one another, summed over an epoch, whose draws differ; without any free constant."""
    log = random_log(6, 9, 0.4, seed=1)
    start = random_factors(6, 9, 2)
    alpha, rate, repeats = 0.3, 1e-4, 300
    xi = 1 / sums_over_others(log, start.U, start.V)
    U, V = start.U.astype(np.float64), start.V.astype(np.float64)
    wanted = [gradient(lambda: linearised(log, U, V, xi, alpha), M) for M in (U, V)]
    drawn = []
    for seed in range(repeats):
        options = Settings(
            n_shards=n_shards,
            alpha=alpha,
            learning_rate=rate,
            optimizer="sgd",
            n_negatives=3,
            visit_size=2,
            popular=popular,
            block_bytes=9 * 4 // n_shards,
            seed=seed,
        )
        engine = LocalEngine(n_jobs=1)
        engine.prepare(log_of(log), start, options)
        for t in range(n_shards):
            give_xi(engine, log, xi, t)
            engine.sub_epoch(SubEpoch(1, t))
        ends = engine.collect()[0]
        engine.close()
        drawn.append([(start.U - ends.U) / rate, (start.V - ends.V) / rate])
    for k in range(2):
        found = np.array([pair[k] for pair in drawn])
        error = found.std(axis=0) / np.sqrt(repeats)
        # Five standard errors, and what rounding and the steps before leave.
        assert (np.abs(found.mean(axis=0) - wanted[k]) < 5 * error + 0.01 * np.abs(wanted[k]).max()).all()
        assert 5 * error.max() < 0.3 * np.abs(wanted[k]).max()


def give_xi(engine, log, xi, t):
    """Give the shards the exact ``xi``, so that only the step is tested."""
    table = log.toarray() * 0.0
    table[log.nonzero()] = xi
    for users, shard in zip(engine._users, engine._shards):
        block = (shard.index + t) % len(engine._shards)
        shard._arrange(1, block)
        for k in range(shard.items.n_parts):
            records = slice(shard.ends[k], shard.ends[k + 1])
            first = shard.items.edges[block * shard.items.n_parts + k]
            items = shard.items.order[shard.where[records] + first]
            shard.xi[records] = table[users[shard.who[records]], items]


def arguments(start, who, items, xi, starts, size, m, popular, seed, n=20, rate=1e-4, alpha=0.1):
    """Of a compiled step, plain SGD."""
    f = np.float32
    factors = start.U, start.GU, start.V, start.GV
    return (who, items, xi, starts), *factors, n, (f(rate), f(alpha), False), (size, m, popular, np.uint64(seed))


def slow_visit(who, where, xi, starts, U, V, n, rate, alpha, size, m, popular, seed):
    """The steps of plain SGD, by the derivative of the formula in the docstring of the kernel."""
    state = np.array([seed], dtype=np.uint64)
    B = len(V)
    weights = importance_weights(where, B, popular)
    for low in starts:
        rows = [r for r in range(low, min(low + size, who.size)) if who[r] == who[low]]
        x, c = who[low], len(rows)
        other = np.empty(m, dtype=np.int64)
        draw_others(where, B, popular, other, state)
        u = U[x].copy()
        gU, gV = alpha * c * u, np.zeros_like(V)
        for r in rows:
            y = where[r]
            gV[y] += alpha * (1.5 - B / (B - 1)) * V[y]
            for z in other:
                t = u @ V[y] - u @ V[z]
                force = -(n - 1) / np.log(2) * B / (B - 1) * xi[r] / m * weights[z] / (1 + 2.0**t)
                gU += force * (V[y] - V[z])
                gV[y] += force * u
                gV[z] -= force * u
        for z in other:
            gV[z] += alpha * B / (B - 1) * c / m * weights[z] * V[z]
        U[x] -= rate * gU
        V -= rate * gV


@examples(
    25, seed=st.integers(0, 9999), size=st.integers(1, 5), m=st.integers(1, 6), popular=st.sampled_from([0.0, 0.5, 0.9])
)
def test_a_visit_takes_the_step_of_the_formula(seed, size, m, popular):
    log = log_of(random_log(5, 8, 0.5, seed=seed))
    start = random_factors(5, 8, 3, seed=seed)
    who = np.repeat(np.arange(5, dtype=np.int32), np.diff(log.indptr))
    if who.size == 0:
        return
    rng = np.random.default_rng(seed)
    xi = rng.random(who.size).astype(np.float32)
    starts = visit_starts(who, size, rng)
    U, V = start.U.astype(np.float64), start.V.astype(np.float64)
    slow_visit(who, log.items, xi, starts, U, V, 20, 1e-4, 0.1, size, m, popular, seed)
    pairs = robirank(*arguments(start, who, log.items, xi, starts, size, m, popular, seed))
    assert pairs == who.size * m
    # A record or an item y' may come twice in a visit: its shrinkage is then a product, not a sum; moves are of 1e-3.
    np.testing.assert_allclose(start.U, U, atol=3e-6)
    np.testing.assert_allclose(start.V, V, atol=3e-6)


def test_visits_hold_every_record_once_and_one_user_each():
    who = np.repeat(np.array([0, 2, 3, 7], dtype=np.int32), [1, 5, 4, 9])
    starts = np.sort(visit_starts(who, 4, np.random.default_rng(0)))
    np.testing.assert_array_equal(starts, [0, 1, 5, 6, 10, 14, 18])


@examples(
    40,
    n=st.integers(1, 3 * 2 * LANES),
    c=st.integers(1, 5),
    scale=st.sampled_from([0.1, 3.0, 15.0]),
    seed=st.integers(0, 999),
)
def test_sums_over_items(n, c, scale, seed):
    rng = np.random.default_rng(seed)
    row = (scale * rng.standard_normal(n)).clip(-25, 25).astype(np.float32)
    f = row[rng.integers(n, size=c)]
    wanted = sigma(f[:, None].astype(np.float64) - row).sum(axis=1)
    product, exponent, sums = np.empty(LANES, np.float32), np.empty(LANES, np.int32), np.empty(c)
    user_sums(row, row.max(), f, product, product.view(np.int32), exponent, sums)
    np.testing.assert_allclose(sums, wanted, rtol=2e-5, atol=1e-5 * n)


@pytest.mark.parametrize("method", ["exact", "auto"])
def test_xi_of_the_whole_catalogue_is_exact(method):
    log, start = random_log(9, 30, 0.4, seed=3), random_factors(9, 30, 4)
    shard = Shard(0, log_of(log), start.U, start.GU, Settings(xi=method))
    order, block = one_block(shard)
    report = shard.xi_step(SubEpoch(1, 0), block(start.V, start.GV))
    A = log.toarray() * 0.0
    A[log.nonzero()] = sums_over_others(log, start.U, start.V)
    who, items = records_of(shard, order)
    np.testing.assert_allclose(1 / shard.xi, A[who, items], rtol=1e-5)
    assert report.records == log.nnz
    assert report.loss == pytest.approx(np.log2(A[A > 0]).mean(), rel=1e-3)


def test_sampled_sums_have_the_error_they_state_and_no_bias():
    log, start = random_log(60, 40, 0.3, seed=5), random_factors(60, 40, 4)
    A = log.toarray() * 0.0
    A[log.nonzero()] = sums_over_others(log, start.U, start.V)
    errors, stated = [], []
    for epoch in range(1, 81):
        shard = Shard(0, log_of(log), start.U, start.GU, Settings(xi_samples=12))
        order, block = one_block(shard, epoch)
        report = shard.xi_step(SubEpoch(epoch, 0), block(start.V, start.GV))
        who, items = records_of(shard, order)
        errors.append(1 / (shard.xi * A[who, items]) - 1)
        stated.append(report.xi_error)
    errors = np.array(errors)
    assert np.sqrt((errors**2).mean()) == pytest.approx(np.mean(stated), rel=0.25)
    assert abs(errors.mean()) < 5 * errors.mean(axis=1).std() / np.sqrt(len(errors))


def test_the_harmonic_number_meets_its_series():
    for k in (1, 2, 31, 32, 33, 1000):
        assert harmonic(k) == pytest.approx(sum(1 / i for i in range(1, k + 1)), rel=1e-8)


def test_powers_of_two_are_those_of_numpy():
    f = np.random.default_rng(0).uniform(-126, 126, 5001).astype(np.float32)
    f[:5] = [-126, 0, 0.5, -0.5, 126]
    E = f.copy()
    exp2(E, 5000)
    np.testing.assert_allclose(E[:5000], np.exp2(f[:5000].astype(np.float64)), rtol=3e-7)
    assert E[5000] == f[5000]


@pytest.mark.parametrize("popular", [0.0, 0.6, 0.95])
def test_importance_weights_correct_for_the_chance_of_a_draw(popular):
    """Items 0 .. 5 with 0 .. 5 records have the chances that the docstring says, and weights inverse to them."""
    where = np.repeat(np.arange(6), np.arange(6)).astype(np.int32)
    state, other = np.array([7], dtype=np.uint64), np.empty(60_000, dtype=np.int64)
    draw_others(where, 6, popular, other, state)
    chance = (1 - popular) / 6 + popular * np.arange(6) / 15
    found = np.bincount(other, minlength=6) / other.size
    np.testing.assert_allclose(found, chance, atol=5 * np.sqrt(0.25 / other.size))
    np.testing.assert_allclose(importance_weights(where, 6, popular) * chance * 6, 1.0, rtol=1e-6)


def test_draws_are_uniform():
    state = np.array([5], dtype=np.uint64)
    seen = np.bincount([draw(state, 6) for _ in range(6000)], minlength=6)
    # Chi-square with 5 degrees of freedom: 30 is passed once in 70,000 seeds.
    assert ((seen - 1000) ** 2 / 1000).sum() < 30


def slow_warp(who, where, starts, U, V, n, rate, alpha, size, m, seed):
    """WARP's steps of plain SGD; the number of draws."""
    state = np.array([seed], dtype=np.uint64)
    draws = 0
    for low in starts:
        x = who[low]
        for r in [r for r in range(low, min(low + size, who.size)) if who[r] == x]:
            y = where[r]
            others = [z for z in range(len(V)) if z != y]
            for tries in range(1, m + 1):
                draws += 1
                z = others[draw(state, len(others))]
                if U[x] @ V[z] > U[x] @ V[y] - 1:
                    force = sum(1 / k for k in range(1, max((n - 1) // tries, 1) + 1))
                    u, vy, vz = U[x].copy(), V[y].copy(), V[z].copy()
                    U[x] -= rate * (alpha * u + force * (vz - vy))
                    V[y] -= rate * (alpha * vy - force * u)
                    V[z] -= rate * (alpha * vz + force * u)
                    break
    return draws


@examples(25, seed=st.integers(0, 9999), size=st.integers(1, 5), m=st.integers(1, 6))
def test_warp_takes_the_step_of_the_formula(seed, size, m):
    log = log_of(random_log(5, 8, 0.5, seed=seed))
    start = random_factors(5, 8, 3, seed=seed)
    who = np.repeat(np.arange(5, dtype=np.int32), np.diff(log.indptr))
    starts = visit_starts(who, size, np.random.default_rng(seed))
    U, V = start.U.astype(np.float64), start.V.astype(np.float64)
    wanted = slow_warp(who, log.items, starts, U, V, 20, 1e-4, 0.1, size, m, seed)
    draws = warp(*arguments(start, who, log.items, np.ones(who.size, np.float32), starts, size, m, 0.0, seed))
    assert draws == wanted
    np.testing.assert_allclose(start.U, U, atol=3e-6)
    np.testing.assert_allclose(start.V, V, atol=3e-6)


@pytest.mark.parametrize(("B", "violators"), [(3, 1), (5, 2), (4, 3)])
def test_warp_counts_draws_of_other_items(B, violators):
    """So the mean number of draws is the number of others over that of violators, as (n - 1) / N assumes."""
    f, k = np.float32, 20_000
    start = Factors(np.ones((1, 1), f), np.full((B, 1), -9, f), np.zeros(1, f), np.zeros(B, f))
    start.V[: 1 + violators] = 0
    same = np.zeros(k, np.int32)
    given = arguments(start, same, same, np.ones(k, f), np.arange(k), 1, 10**6, 0.0, 3, n=B, rate=0, alpha=0)
    draws = warp(*given)
    p = violators / (B - 1)
    assert abs(draws / k - 1 / p) <= 5 * np.sqrt(1 - p) / p / np.sqrt(k)


@pytest.mark.parametrize(("m", "known"), [(1, False), (2, None), (3, True), (40, True)])
def test_a_sample_without_a_spread_has_no_error(m, known):
    """One of a sample of two may be y: then there is a single other item, and its spread is unknown."""
    log, start = random_log(60, 40, 0.3, seed=5), random_factors(60, 40, 4)
    shard = Shard(0, log_of(log), start.U, start.GU, Settings(xi_samples=m))
    _, block = one_block(shard)
    error = shard.xi_step(SubEpoch(1, 0), block(start.V, start.GV)).xi_error
    if known is not None:
        assert (error is not None) == known
    assert error is None or (error == 0) == (m == 40)
    assert ShardSums().xi_error == 0


def test_the_rate_is_halved_after_the_decay():
    rates = [Settings(learning_rate=0.4, decay=6.0).rate(epoch) for epoch in (1, 7, 19)]
    np.testing.assert_allclose(rates, [0.4, 0.2, 0.1])


def test_adagrad_bounds_the_first_step_and_shortens_the_later_ones():
    log = log_of(random_log(5, 8, 0.5, seed=2))
    start = random_factors(5, 8, 3, seed=2)
    moves = []
    shard = Shard(
        0, log, start.U, start.GU, Settings(learning_rate=0.1, decay=1e9, alpha=0.0, visit_size=99, n_negatives=4)
    )
    for epoch in range(1, 60):
        _, block = one_block(shard, epoch)
        before = shard.U.copy()
        shard.xi_step(SubEpoch(epoch, 0), block(start.V, start.GV))
        shard.run(SubEpoch(epoch, 0), block(start.V, start.GV))
        moves.append(np.sqrt(((shard.U - before) ** 2).mean(axis=1)))
    # With one visit a user and epoch, the first step is the rate itself, and no later one is longer.
    np.testing.assert_allclose(moves[0], 0.1, rtol=1e-3)
    assert np.max(moves[1:]) < 0.1 and np.median(moves[-1]) < 0.05


@pytest.fixture
def start():
    return random_factors(12, 20, 3)


@pytest.fixture
def engine(start):
    made = LocalEngine(2)
    made.prepare(log_of(random_log(12, 20, 0.4, seed=1)), start, Settings(n_shards=2))
    yield made
    made.close()


def test_shards_that_have_a_task_are_waited_for(engine, monkeypatch):
    """Ctrl-C before the second shard has its task: the first one ends before vectors are collected."""
    submit, ended = engine._pool.submit, threading.Event()

    def slow(shard, step, block):
        time.sleep(0.3)
        ended.set()
        return ShardSums(pairs=7)

    def once(work, *arguments):
        monkeypatch.setattr(engine._pool, "submit", interrupted)
        return submit(work, *arguments)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(Shard, "run", slow)
    monkeypatch.setattr(engine._pool, "submit", once)
    with pytest.raises(KeyboardInterrupt):
        engine.sub_epoch(SubEpoch(1, 0))
    _, reports = engine.collect()
    report = sum(reports, ShardSums())
    assert ended.is_set() and report.pairs == 7


def test_reports_of_an_interrupted_step_are_not_lost(engine, monkeypatch):
    """Ctrl-C while the driver waits: later reports of the shards count, above all those of divergence."""
    waiting = threading.Event()

    def run(shard, step, block):
        waiting.wait(5)
        return ShardSums(pairs=1 + shard.index, finite=shard.index == 0)

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
        engine.sub_epoch(SubEpoch(1, 0))
    _, reports = engine.collect()
    report = sum(reports, ShardSums())
    assert report.pairs == 3 and not report.finite
    # And the engine goes on.
    monkeypatch.undo()
    engine.sub_epoch(SubEpoch(1, 1))
    assert sum(report.pairs for report in engine.collect()[1]) > 0


def test_the_libraries_are_searched_for_once(engine, monkeypatch):
    """BLAS has one thread while a shard works, but the search through all loaded libraries comes before."""
    searched, threads = [], []
    load = threadpoolctl.ThreadpoolController._load_libraries
    monkeypatch.setattr(
        threadpoolctl.ThreadpoolController, "_load_libraries", lambda self: (searched.append(self), load(self))[1]
    )

    def run(shard, step, block):
        threads.extend(info["num_threads"] for info in engine._blas.select(user_api="blas").info())
        return ShardSums()

    monkeypatch.setattr(Shard, "run", run)
    with threadpoolctl.threadpool_limits(2, "blas"):
        searched.clear()
        engine.sub_epoch(SubEpoch(1, 0))
    assert searched == [] and set(threads) == {1}
    assert np.isfinite(engine.collect()[0].U).all()


def arrays(factors):
    return [getattr(factors, name) for name in ("U", "V", "GU", "GV")]


def test_later_epochs_change_nothing_that_was_given_or_collected_and_collecting_twice_gives_the_same(engine, start):
    kept = [(arrays(start), [array.copy() for array in arrays(start)])]
    for epoch in (1, 2):
        for t in range(2):
            engine.xi_step(SubEpoch(epoch, t))
            engine.sub_epoch(SubEpoch(epoch, t))
        found = arrays(engine.collect()[0])
        kept += [(found, [array.copy() for array in found]), (found, arrays(engine.collect()[0]))]
    for old, new in kept[:4]:
        for one, other in zip(old, new):
            np.testing.assert_array_equal(one, other)
    assert not np.array_equal(kept[1][0][1], kept[3][0][1])


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


def formula(x, y, others, weight, U, V, GU, GV, rate):
    """One record's step by the derivatives of ``weight sum_j log2(1 + 2^(f_j - f))``."""
    t = U[x] @ (V[y] - V[others]).T
    a = weight / (1 + 2.0**t)
    gradient = {("V", y): -a.sum() * U[x]} | {("V", z): a[j] * U[x] for j, z in enumerate(others)}
    gradient["U", x] = -(a[:, None] * (V[y] - V[others])).sum(axis=0)
    for (name, i), g in gradient.items():
        M, G = (U, GU) if name == "U" else (V, GV)
        G[i] += (g**2).mean()
        M[i] -= rate * g / np.sqrt(G[i] + 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_loop_takes_the_step_of_the_formula(seed):
    f = random_factors(5, 400, 7, seed=seed)
    U, V, GU, GV = (M.astype(np.float64) for M in (f.U, f.V, f.GU, f.GV))
    state = np.array([seed], dtype=np.uint64)
    others = [draw(state, 400) for _ in range(4)]
    y = next(y for y in range(400) if y not in others)
    assert len(set(others)) == 4  # A repeated item would step twice.
    formula(2, y, np.array(others), 0.5, U, V, GU, GV, 0.1)
    one = np.array([2], np.int32), np.array([y], np.int32), np.array([0.5], np.float32)
    assert naive(*one, f.U, f.V, f.GU, f.GV, np.float32(0.1), 4, np.uint64(seed)) == 4
    for found, wanted in ((f.U, U), (f.V, V), (f.GU, GU), (f.GV, GV)):
        np.testing.assert_allclose(found, wanted, atol=2e-6)


def test_the_drawn_log_has_the_shape_asked_for_and_survives_its_files(tmp_path):
    log = drawn_log(0.002)
    users, items, records = shape(0.002)
    assert log.shape == (users, items) and log.nnz == records
    assert log.has_canonical_format and (log.data == 1).all()
    write(tmp_path, log)
    again = read(tmp_path)
    assert again.shape == log.shape
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(again, name), getattr(log, name))
