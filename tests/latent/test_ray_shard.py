"""The actor of the Ray engine without Ray: messages, calls that come twice or too early, a ring of shards."""

import numpy as np
import pytest
from hypothesis import strategies as st

from rerank.latent import LatentRoBiRank
from rerank.latent.engines import ray_shard
from rerank.latent.engines.interface import Settings, ShardSums, SubEpoch, shards_of
from rerank.latent.engines.local import LocalEngine
from rerank.latent.engines.ray_shard import OutOfStepError, RayShard, block_of, pieces_of, rows_of, slices
from rerank.latent.log import log_of
from tests.cases.examples import examples
from tests.cases.latent import clustered_log, random_factors
from tests.cases.refuses import refuses

N_USERS, N_ITEMS, D = 30, 40, 3
LOG = log_of(clustered_log(N_USERS, N_ITEMS))


def options(p, loss="robirank", block_bytes=4 * D * 3):
    return Settings(n_shards=p, loss=loss, n_negatives=10, block_bytes=block_bytes, seed=3)


@examples(
    60,
    n=st.integers(8, 500),
    d=st.integers(1, 9),
    p=st.integers(1, 4),
    cache=st.integers(8, 4000),
    most=st.integers(100, 9000),
    epoch=st.integers(1, 5),
)
def test_pieces_are_whole_sub_blocks_and_messages_are_short(n, d, p, cache, most, epoch):
    s = Settings(n_shards=p, block_bytes=cache)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ray_shard, "MOST", most)
        pieces = pieces_of(n, d, s)
    items = s.partition(n, d, epoch)
    assert [k for piece in pieces for k in range(*piece)] == list(range(items.n_parts))
    for b in range(p):
        rows = [rows_of(items, b, piece) for piece in pieces]
        low, high = items.bounds(b)
        assert [i for some in rows for i in range(high - low)[some]] == list(range(high - low))
        for piece, some in zip(pieces, rows):
            # One sub-block alone may be longer: what fits the cache is the user's choice, and is checked there.
            assert 4 * d * (some.stop - some.start) <= most or piece[1] - piece[0] == 1
    cuts = slices(n, 4 * d)
    assert [i for some in cuts for i in range(n)[some]] == list(range(n)) and slices(0, 8) == [slice(0, 0)]


def test_the_million_song_log_travels_in_messages_of_64_mb():
    for factor, p in ((1, 2), (1, 32), (4, 2)):
        n, d, s = 386_133 * factor, 100, Settings(n_shards=p)
        items = s.partition(n, d, 1)
        for piece in pieces_of(n, d, s):
            rows = rows_of(items, 0, piece)
            assert 4 * d * (rows.stop - rows.start) <= 2**26


class Ring:
    """The driver of a few shards in this process: the same calls, one after the other, each made ``times`` times."""

    def __init__(self, start, s, times=1):
        self.users, self.start, self.s, self.times = shards_of(N_USERS, s.n_shards, s.seed), start, s, times
        self.shards = [RayShard() for _ in self.users]
        self.report = ShardSums()
        for q, (shard, users) in enumerate(zip(self.shards, self.users)):
            part = LOG.of(users)
            cut = len(users) // 2
            shard.load(q, s, N_ITEMS, 2, part.indptr[:cut], part.indptr[cut:], part.items)
            parts = [start.U[users][:1], start.U[users][1:], start.GU[users]]
            for array in parts:
                array.flags.writeable = False  # as they come out of the store
            shard.restore(*parts)

    def call(self, method, *arguments):
        found = [method(*arguments) for _ in range(self.times)]
        return frozen(found[-1])

    def epochs(self, n):
        p, V, GV = self.s.n_shards, self.start.V.copy(), self.start.GV.copy()
        for e in range(1, n + 1):
            items = self.s.partition(N_ITEMS, D, e)
            self.blocks = {b: self.home(e, b, V, GV) for b in range(p)}
            for t in range(p):
                self.work(SubEpoch(e, t))
            for shard in self.shards:
                b, *pieces = shard.current()
                mine = items.items_of(b)
                V[mine], GV[mine] = (np.concatenate(parts) for parts in zip(*pieces))
        return V, GV

    def work(self, step):
        blocks = {}
        for q, shard in enumerate(self.shards):
            b = block_of(q, step, len(self.shards))
            *first, last = self.blocks[b]
            for k, piece in enumerate(first):
                self.call(shard.bring, step, k, piece)
            runs = [self.call(shard.run, step, 0, True, last)]
            runs += [self.call(shard.run, step, k, False) for k in range(1, len(shard.pieces))]
            blocks[b] = [piece for piece, _ in runs]
            self.report += sum((report for _, report in runs), ShardSums())
        self.blocks = blocks

    def home(self, epoch, b, V, GV):
        items = self.s.partition(N_ITEMS, D, epoch)
        mine = items.items_of(b)
        rows = [mine[rows_of(items, b, piece)] for piece in self.shards[0].pieces]
        return [frozen((V[some], GV[some])) for some in rows]


def frozen(found):
    """Copies that cannot be written to, as answers come out of an object store."""
    if isinstance(found, np.ndarray):
        found = found.copy()
        found.flags.writeable = False
        return found
    return tuple(frozen(one) for one in found) if isinstance(found, tuple) else found


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("most", [2**26, 4 * D * 4])
@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_a_ring_in_this_process_gives_the_bits_of_the_local_engine(p, most, times, monkeypatch):
    """Also in many short messages, and with every call made twice."""
    monkeypatch.setattr(ray_shard, "MOST", most)
    start, s = random_factors(N_USERS, N_ITEMS, D), options(p)
    ring = Ring(start, s, times)
    V, GV = ring.epochs(3)
    local = LocalEngine(1)
    local.prepare(LOG, start, s)
    for e in range(1, 4):
        for t in range(p):
            local.xi_step(SubEpoch(e, t))
            local.sub_epoch(SubEpoch(e, t))
    wanted, reports = local.collect()
    local.close()
    for users, shard in zip(ring.users, ring.shards):
        *parts, GU = shard.users(slice(0, 2), slice(2, N_USERS))
        np.testing.assert_array_equal(np.concatenate(parts), wanted.U[users])
        np.testing.assert_array_equal(GU, wanted.GU[users])
    np.testing.assert_array_equal(V, wanted.V)
    np.testing.assert_array_equal(GV, wanted.GV)
    assert ring.report.pairs == sum(report.pairs for report in reports) and ring.report.records == 3 * LOG.n_records
    assert len(ring.shards[0].pieces) > 1


def test_a_call_out_of_step_is_refused_and_changes_nothing():
    start, s = random_factors(N_USERS, N_ITEMS, D), options(2)
    ring = Ring(start, s)
    ring.epochs(1)
    shard = ring.shards[0]
    before = frozen(shard.users(slice(0, N_USERS))), frozen(shard.current())
    for step, k in ((SubEpoch(2, 0), 0), (SubEpoch(1, 0), 0), (SubEpoch(2, 0), 1)):
        with pytest.raises(OutOfStepError):
            shard.run(step, k, True)
    pieces = ring.home(2, 0, start.V, start.GV)
    with pytest.raises(OutOfStepError):
        shard.run(SubEpoch(2, 0), 0, True, pieces[-1])  # the other pieces are missing
    for k, piece in enumerate(pieces[:-1]):
        shard.bring(SubEpoch(2, 0), k, piece)
    with pytest.raises(OutOfStepError):
        shard.run(SubEpoch(2, 0), 1, False)  # piece 1 before piece 0
    np.testing.assert_array_equal(before[0][0], shard.users(slice(0, N_USERS))[0])


def test_a_shard_that_is_restored_forgets_its_steps():
    start, s = random_factors(N_USERS, N_ITEMS, D), options(2)
    ring, twin = Ring(start, s), Ring(start, s)
    ring.epochs(2)
    for shard, users in zip(ring.shards, ring.users):
        shard.restore(start.U[users], start.GU[users])
    for one in (ring, twin):
        one.epochs(1)
    for a, b in zip(ring.shards, twin.shards):
        np.testing.assert_array_equal(a.users(slice(0, 99))[0], b.users(slice(0, 99))[0])


def failing(error):
    def importing(name):
        raise error

    return importing


def test_without_ray_the_error_says_what_to_install(monkeypatch):
    missing = failing(ModuleNotFoundError("No module named 'ray'", name="ray"))
    monkeypatch.setattr("rerank.latent.engines.importlib.import_module", missing)
    refuses(r"exact-rerank\[ray\]", LatentRoBiRank(engine="ray").fit, clustered_log())


def test_the_error_of_a_damaged_ray_is_not_replaced(monkeypatch):
    damaged = failing(ImportError("libray.so: cannot open", name="ray._raylet"))
    monkeypatch.setattr("rerank.latent.engines.importlib.import_module", damaged)
    with pytest.raises(ImportError, match="libray"):
        LatentRoBiRank(engine="ray").fit(clustered_log())
