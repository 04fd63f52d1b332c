"""The best items and the measures, against sorting and counting one user at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.latent.evaluation import evaluate, top_items
from rerank.latent.log import log_of
from tests.cases.latent import random_log


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


@settings(max_examples=80, deadline=None)
@given(
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


def test_a_perfect_order_has_full_marks():
    held = random_log(20, 30, 0.2, 3)
    found = evaluate(lambda users: held[users].toarray(), held, k=30).means()
    assert found["recall"] == found["ndcg"] == found["mrr"] == pytest.approx(1.0)


def test_shapes_and_k_are_checked():
    held = random_log(4, 5, 0.5)
    for k in (0, 6):
        with pytest.raises(InputError, match="5 items"):
            evaluate(lambda users: np.zeros((len(users), 5)), held, k)
    with pytest.raises(InputError, match="same users and items"):
        evaluate(lambda users: np.zeros((len(users), 5)), held, 2, random_log(4, 6))
    with pytest.raises(InputError, match="held_out has no record"):
        evaluate(lambda users: np.zeros((len(users), 5)), held * 0, 2)
    with pytest.raises(InputError, match=r"have shape \(\d, 4\)"):
        evaluate(lambda users: np.zeros((len(users), 4)), held, 2)


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
            with pytest.raises(InputError, match=f"score of item {item} for user {user} is NaN"):
                evaluate(lambda users: scores[users], held, 8)
    assert evaluate(lambda users: scores[users], held, 8).means()["recall"] < 1
