"""Logs and measures: which matrices are accepted, how they are split, and the best items by sorting and counting."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.latent import LatentRoBiRank, evaluate, split_log
from rerank.latent.engines.interface import partition, parts_for, shards_of
from rerank.latent.evaluation import top_items
from rerank.latent.log import CHUNK, Log, cut, log_of
from tests.cases.examples import examples
from tests.cases.latent import random_log
from tests.cases.refuses import refuses


def test_arrays_and_matrices_of_any_format_are_logs():
    X = random_log()
    for other in (X.toarray(), X.astype(np.int8).tolil(), 3 * X.tocsc()):
        found = log_of(other)
        np.testing.assert_array_equal(found.matrix().toarray(), X.toarray())
        assert found.indptr.dtype == np.int64


def sets_of(rows, cols, data):
    """Items of each of three users, one entry after the other."""
    found = [set(), set(), set()]
    for x, y, count in zip(rows, cols, data):
        if count:
            found[x].add(int(y))
    return found


@pytest.mark.parametrize("index", [np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("count", [np.float32, np.int8, bool])
def test_raw_matrices_with_repeats_and_zeros(form, count, index):
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = rng.integers(0, 12)
        rows, cols = np.sort(rng.integers(3, size=n)), rng.integers(4, size=n)
        data = rng.integers(3, size=n).astype(count)
        ends = np.r_[0, np.cumsum(np.bincount(rows, minlength=3))]
        if form == "coo":
            X = sp.coo_matrix((data, (rows, cols)), shape=(3, 4))
            X.coords = X.row.astype(index), X.col.astype(index)
        elif form == "csr":
            X = sp.csr_matrix((data, cols, ends), shape=(3, 4))
        else:  # the same arrays by column, read the other way
            X = sp.csc_matrix((data, cols, ends), shape=(4, 3))
        if form != "coo":
            X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
        found = log_of(X)
        kept = found.of(np.arange(found.n_users)).matrix().toarray() > 0
        kept = kept.T if form == "csc" else kept
        assert [set(np.flatnonzero(row)) for row in kept] == sets_of(rows, cols, data)
        assert found.indptr[-1] == found.items.size == kept.sum()


def test_counts_that_wrap_or_cancel_are_not_added_up():
    one = np.zeros(256, np.int32)
    many = sp.coo_matrix((np.ones(256, np.int8), (one, one)), shape=(1, 2))
    for X in (many, sp.csr_matrix((np.ones(256, np.int8), one, [0, 256]), shape=(1, 2))):
        assert log_of(X).items.tolist() == [0]
    both = sp.coo_matrix((np.array([-1, 1]), ([0, 0], [0, 0])), shape=(1, 2))
    refuses("negative", log_of, both)


def broken(indices, indptr):
    X = sp.csr_matrix((np.ones(2), [0, 1], [0, 1, 2]), shape=(2, 3))
    X.indices, X.indptr = np.array(indices), np.array(indptr)
    return X


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (sp.csr_matrix([[1j, 0]]), "complex128"),
        (sp.coo_array(np.ones(3)), "1 axes"),
        (broken([0, 9], [0, 1, 2]), "not a valid csr"),
        (broken([0, 9], [0, 1, 2]).T, "not a valid csc"),
        (broken([0, 1], [0, 2, 1]), "not a valid csr"),
        (sp.csr_matrix([[1.0, np.nan]]), "NaN"),
        (sp.csr_matrix([[1.0, -2.0]]), "negative"),
        (sp.csr_matrix([[np.inf, 1.0]]), "infinite"),
        (np.array([["a", "b"]]), "sparse matrix"),
        (np.ones(3), "sparse matrix"),
    ],
)
def test_what_is_no_log_is_named(log, words):
    refuses(words, log_of, log)


RECORDS = np.array([[0, 3, 1], [1, 0, 5], [2, 3, 4.0]])  # user, item, rating


@pytest.mark.parametrize(
    "kind", [np.array, np.ndarray.tolist, pd.DataFrame, pl.DataFrame], ids=lambda kind: kind.__name__
)
@pytest.mark.parametrize("columns", [[0, 1], [0, 1, 2], [0, 1, 2, 2]], ids=len)
def test_a_row_for_each_record_is_no_matrix_of_users_and_items(kind, columns):
    rows, ones = kind(RECORDS[:, columns]), sp.csr_matrix(np.ones((3, len(columns))))
    model = LatentRoBiRank(2, n_epochs=1, n_jobs=1, random_state=0)
    for enters in (
        lambda: split_log(rows, (0.5,)),
        lambda: model.fit(rows),
        lambda: model.fit(ones, validation=rows),
        lambda: evaluate(lambda users: ones[users].toarray(), rows),
        lambda: evaluate(lambda users: ones[users].toarray(), ones, seen=rows),
    ):
        refuses(r"scipy\.sparse\.coo_matrix", enters)
    users, items, ratings = RECORDS.T
    assert log_of(sp.coo_matrix((ratings, (users.astype(int), items.astype(int))))).n_records == 3


def test_few_items_may_be_dense():
    """Of zeros and ones, shares, more items, or sparse where they are counts."""
    few = np.array([[1, 0, 1], [0, 1, 1]])
    for log in (few, few > 0, few * 0.5, 3 * np.hstack([few, few]), sp.csr_matrix(3 * few)):
        assert log_of(log).n_records == np.count_nonzero(log if isinstance(log, np.ndarray) else log.toarray())


@examples(
    30,
    seed=st.integers(0, 999),
    fractions=st.sampled_from([(0.3,), (0.0, 0.5), (0.2, 0.3, 0.5), (1.0,)]),
    chunk=st.integers(1, 30),
    density=st.sampled_from([0.0, 0.1, 0.6]),
)
def test_a_split_is_that_of_a_loop_over_users(seed, fractions, chunk, density):
    """The records with a user's smallest random numbers come first, however many users are split together."""
    X = random_log(density=density, seed=seed)
    drawn = np.random.default_rng(seed).random(X.nnz)
    wanted = np.zeros((len(fractions) + 1, *X.shape))
    for x in range(X.shape[0]):
        mine = slice(X.indptr[x], X.indptr[x + 1])
        items = X.indices[mine][np.argsort(drawn[mine])]
        edges = [0, *np.rint(np.cumsum(fractions) * items.size).astype(int), items.size]
        for k in range(len(wanted)):
            wanted[k, x, items[edges[k] : edges[k + 1]]] = 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rerank.latent.log.CHUNK", chunk)
        parts = split_log(X, fractions, seed)
    np.testing.assert_array_equal([part.toarray() for part in parts], wanted)
    assert all(part.has_canonical_format for part in parts)


def test_a_cut_needs_little_beside_its_parts():
    n = 2_000_000
    log = Log(np.arange(0, n + 1, 20), np.tile(np.arange(20, dtype=np.int32), n // 20), 20)
    tracemalloc.start()
    parts = cut(log, (0.1,), 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    kept = sum(part.items.nbytes + part.indptr.nbytes for part in parts)
    # A byte a record for its part, another for the mask, four numbers a user, and one chunk.
    assert peak - kept < 2 * n + 8 * 4 * log.n_users + 100 * CHUNK


@examples(
    40,
    n=st.integers(4, 60),
    blocks=st.integers(1, 2),
    parts=st.integers(1, 2),
    seed=st.integers(0, 99),
    epoch=st.integers(1, 9),
)
def test_every_item_is_in_one_of_equal_parts(n, blocks, parts, seed, epoch):
    items = partition(n, blocks, parts, seed, epoch)
    np.testing.assert_array_equal(np.sort(items.order), np.arange(n))
    np.testing.assert_array_equal(items.order[items.place], np.arange(n))
    sizes = np.diff(items.edges)
    assert sizes.max() - sizes.min() <= 1
    for y, k in enumerate(items.part_of()):
        assert items.edges[k] <= items.place[y] < items.edges[k + 1]
    assert items.bounds(blocks - 1)[1] == n


def test_each_epoch_has_its_own_partition_and_always_the_same():
    first, again, second = (partition(50, 2, 2, 7, epoch).order for epoch in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != second).any()


def test_any_two_items_meet_equally_often():
    met = np.zeros((7, 7))
    for epoch in range(4000):
        part = partition(7, 1, 3, 0, epoch).part_of()
        sizes = np.bincount(part)
        # The weight of a pair that meets: one over the number of the others.
        met += (part[:, None] == part) / (sizes[part] - 1.0)[:, None]
    met = met[~np.eye(7, dtype=bool)] / 4000 * 6
    # Each entry is a mean of 4000 numbers with a standard deviation below 3.
    np.testing.assert_allclose(met, 1.0, atol=5 * 3 / np.sqrt(4000))


@examples(30, users=st.integers(0, 40), shards=st.integers(1, 5), seed=st.integers(0, 99))
def test_users_are_split_once_and_evenly(users, shards, seed):
    parts = shards_of(users, shards, seed)
    assert sorted(np.concatenate(parts)) == list(range(users))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_sub_blocks_fit_the_cache_and_hold_two_items_at_least():
    parts = parts_for(386_133, 4, 100, 2**20)
    assert 386_133 / (4 * parts) * 400 <= 2**20 < 386_133 / (4 * (parts - 1)) * 400
    assert parts_for(10, 2, 100, 1) == 2
    assert parts_for(10, 1, 8, 2**20) == 1


def slow_top(scores, seen, k):
    """Items by falling score, then by index; what is seen is left out."""
    order = sorted(range(len(scores)), key=lambda y: (-scores[y], y))
    left = [y for y in order if y not in seen][:k]
    return left + [-1] * (k - len(left))


def slow_measures(items, held, k):
    hits = [y in held for y in items]
    ideal = sum(1 / np.log2(l + 2) for l in range(min(k, len(held))))
    return (
        sum(hits) / k,
        sum(hits) / len(held),
        sum(h / np.log2(l + 2) for l, h in enumerate(hits)) / ideal,
        next((1 / (l + 1) for l, h in enumerate(hits) if h), 0.0),
    )


@examples(
    80,
    seed=st.integers(0, 9999),
    k=st.integers(1, 9),
    levels=st.sampled_from([2, 4, 1000]),
    density=st.sampled_from([0.1, 0.5, 0.95]),
)
def test_measures_are_those_of_a_loop_over_users(seed, k, levels, density):
    rng = np.random.default_rng(seed)
    seen, held = random_log(6, 9, density, seed), random_log(6, 9, 0.3, seed + 1)
    S = rng.integers(levels, size=(6, 9)).astype(np.float32)
    known = [set(seen[x].indices) for x in range(6)]
    items, values = top_items(lambda users: S[users], np.arange(6), k, 9, log_of(seen))
    for x in range(6):
        wanted = slow_top(S[x], known[x], k)
        assert items[x].tolist() == wanted
        np.testing.assert_array_equal(values[x], [S[x, y] if y >= 0 else -np.inf for y in wanted])
    held = held - held.multiply(seen)
    if not held.nnz:
        return
    found = evaluate(lambda users: S[users], held, k, seen)
    assert found.users.tolist() == [x for x in range(6) if held[x].nnz]
    for i, x in enumerate(found.users):
        wanted = slow_measures(slow_top(S[x], known[x], k), set(held[x].indices), k)
        got = [found.precision[i], found.recall[i], found.ndcg[i], found.mrr[i]]
        np.testing.assert_allclose(got, wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("order", [1, -1])
def test_the_best_of_long_rows_whatever_their_order(dtype, order):
    """Rows of several stretches and a rest, rising and falling, with ties and minus infinity where numbers have it."""
    S = np.sort(np.random.default_rng(1).integers(60, size=(5, 331)), axis=1)[:, ::order].astype(dtype)
    if dtype != np.int64:
        S[:, ::3] = -np.inf
        S[0] = -np.inf
    items, values = top_items(lambda users: S[users].copy(), np.arange(5), 12, 331)
    for x in range(5):
        wanted = [y if np.isfinite(S[x, y]) else -1 for y in slow_top(S[x], set(), 12)]
        assert items[x].tolist() == wanted
        np.testing.assert_array_equal(values[x], [S[x, y] if y >= 0 else -np.inf for y in wanted])


@pytest.mark.parametrize("least, block", [(1, 7), (12, 12)])
def test_many_users_come_in_blocks_and_stay_in_order(monkeypatch, least, block):
    S = np.random.default_rng(0).standard_normal((50, 20)).astype(np.float32)
    whole, _ = top_items(lambda users: S[users], np.arange(50)[::-1], 3, 20)
    asked = []
    monkeypatch.setattr("rerank.latent.evaluation.CHUNK", 140)
    monkeypatch.setattr("rerank.latent.evaluation.USERS", least)

    def scores(users):
        asked.append(len(users))
        return S[users]

    parts, _ = top_items(scores, np.arange(50)[::-1], 3, 20)
    np.testing.assert_array_equal(whole, parts)
    assert max(asked) == block and sum(asked) == 50


def test_shapes_and_k_are_checked():
    held = random_log(4, 5, 0.5)
    for k in (0, 6):
        refuses("5 items", evaluate, lambda users: np.zeros((len(users), 5)), held, k)
    refuses("same users and items", evaluate, lambda users: np.zeros((len(users), 5)), held, 2, random_log(4, 6))
    refuses("held_out has no record", evaluate, lambda users: np.zeros((len(users), 5)), held * 0, 2)
    refuses(r"have shape \(\d, 4\)", evaluate, lambda users: np.zeros((len(users), 4)), held, 2)


def test_records_in_both_logs_are_refused_and_the_advice_works():
    held, seen = random_log(6, 8, 0.4, 1), random_log(6, 8, 0.4, 2)
    with pytest.raises(InputError, match="records of held_out are in seen, too .* set them to 0 in one of the two"):
        evaluate(lambda users: held[users].toarray(), held, 3, seen)
    for one, other in ((held - held.multiply(seen), seen), (held, seen - seen.multiply(held))):
        found = evaluate(lambda users, one=one: one[users].toarray(), one, 8, other).means()
        assert found["recall"] == found["ndcg"] == 1.0


def test_scores_that_are_nan_are_refused_and_minus_infinity_leaves_out():
    held = random_log(6, 8, 0.4, 1)
    user, item = (int(k[0]) for k in held.nonzero())
    scores = held.toarray().astype(float)
    for value in (np.nan, -np.inf):
        scores[user, item] = value
        if np.isnan(value):
            refuses(f"score of item {item} for user {user} is NaN", evaluate, lambda users: scores[users], held, 8)
    assert evaluate(lambda users: scores[users], held, 8).means()["recall"] < 1
