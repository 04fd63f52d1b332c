"""Lists in parts: what is kept, that it does not depend on the parts, and that it has the value of the whole."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.certificate import certify
from rerank.errors import InputError
from rerank.io.row_groups import row_groups
from rerank.problem import Problem, anchored_problem, digest, passes, ranked_list
from rerank.problem.partitions import at_weights, scores_of, top_of
from rerank.search import solve
from rerank.search.workers import Workers
from rerank.statistics import parse
from rerank.statistics.dcg import DCG

SEEDS = st.integers(0, 10**6)
LIMITS = ([1, -0.1, -0.05, 0], [1, 0.1, 0.05, 0.2])


def table(seed: int, n: int = 400, graded: bool = False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1, 3, 100, 0.01] + [0, 5, 2000, 0]
    y = (X[:, 0] + rng.normal(size=n) > 1.5).astype(float)
    return X, y * rng.choice([1.0, 3.0], n) if graded else y


def cut(X, y, places):
    """Parts that read what is between the places."""
    ends = [0, *sorted(places), len(X)]
    return [lambda a=a, z=z: (X[a:z], y[a:z]) for a, z in pairwise(ends)]


def whole(X, y, statistic, reduced) -> Problem:
    """The problem of all rows, in the same scaling."""
    listed = ranked_list(parse(statistic), np.arange(len(X)), y)
    given_ = reduced.problem
    return Problem.build(
        X, [listed], epsilon=given_.epsilon, low=given_.low, high=given_.high, limits=given_.limits
    )


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.sampled_from(["precision@20", "dcg@10", "window2@8", "ndcg@10", "pauc@7"]), st.booleans())
def test_any_allowed_weights_are_worth_the_same_on_what_is_kept(seed: int, statistic: str, graded: bool) -> None:
    X, y = table(seed, graded=graded)
    reduced = anchored_problem(cut(X, y, [100, 250]), parse(statistic), LIMITS, epsilon=0.01)
    every = whole(X, y, statistic, reduced)
    rng = np.random.default_rng(seed)
    low, high = every.limits
    for w in (low, high, every.unchanged, *(low + rng.random((4, 4)) * (high - low))):
        w = np.clip(w, low, high)
        mine, all_ = certify(reduced.problem, w), certify(every, w)
        assert mine.value == all_.value
        assert certify(at_weights(cut(X, y, [7]), reduced, w).problem, w).value == all_.value
    assert reduced.rows.size < len(X) and reduced.n_rows == len(X)


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.lists(st.integers(0, 400), max_size=12))
def test_parts_of_any_size_give_the_same_problem(seed: int, places: list[int]) -> None:
    X, y = table(seed)
    one = anchored_problem(cut(X, y, []), parse("precision@20"), LIMITS)
    other = anchored_problem(cut(X, y, places), parse("precision@20"), LIMITS)
    assert digest(one.problem) == digest(other.problem) and np.array_equal(one.rows, other.rows)


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.lists(st.sampled_from([0, 0, 1, 2, 30, 100]), max_size=9), st.booleans(), st.sampled_from([1, 2, 256]))
def test_row_groups_of_every_size_give_the_problem_of_the_list_in_memory(
    tmp_path_factory, seed: int, sizes: list[int], ascending: bool, at_a_time: int
) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X, y = table(seed, 120)
    if ascending:  # no row of the first groups is left
        order = np.argsort(X[:, 0])
        X, y = X[order], y[order]
    whole_table = pa.table([*X.T, y], names=["score", "a", "b", "c", "found"])
    path = tmp_path_factory.mktemp("list") / "list.parquet"
    ends = np.minimum(np.cumsum([0, *sizes, 120]), 120).tolist()
    with parquet.ParquetWriter(path, whole_table.schema) as writer:
        for a, z in pairwise(ends):
            writer.write_table(whole_table.slice(a, z - a))
    parts = row_groups(path, ["score", "a", "b", "c"], "found")
    assert sum(len(part()[0]) for part in parts) == 120 and len(parts) >= len([n for n in np.diff(ends) if n])
    here = anchored_problem([lambda: (X, y)], parse("ndcg@3"), LIMITS)
    w = np.array([1.0, 0.02, -0.01, 0.1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "ROUND", at_a_time)
        there = anchored_problem(parts, parse("ndcg@3"), LIMITS)
        assert digest(there.problem) == digest(here.problem) and np.array_equal(there.rows, here.rows)
        near, same = at_weights(parts, here, w), at_weights([lambda: (X, y)], here, w)
        assert digest(near.problem) == digest(same.problem) and np.array_equal(near.rows, same.rows)
    if ascending:
        assert here.rows.min() > 20


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.lists(st.integers(0, 400), max_size=5), st.integers(1, 450), st.sampled_from([1, 256]))
def test_the_first_places_are_those_of_a_sort_of_the_whole_list(
    seed: int, places: list[int], n: int, at_a_time: int
) -> None:
    X, y = table(seed)
    reduced = anchored_problem(cut(X, y, []), parse("precision@20"), LIMITS)
    # Whole numbers and equal weights: many rows of equal exact scores, whose sums differ in the last bits.
    reduced = replace(reduced, problem=replace(reduced.problem, low=np.zeros(4), high=np.ones(4)))
    X, w = np.random.default_rng(seed).integers(-3, 4, (400, 4)).astype(float), np.array([1.0, 0.1, 0.1, 0.1])
    parts = cut(X, y, places)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "ROUND", at_a_time)
        rows, scores = top_of(parts, reduced, w, n)
    every = np.concatenate([scores_of(part, reduced, w) for part in parts])
    # The slow twin: scores in rationals, rounded to 40 binary places; of equal ones the earlier row is first.
    exact = [round((Fraction(row[0]) + Fraction(0.1) * sum(map(Fraction, row[1:]))) * 2**40) for row in X.tolist()]
    order = sorted(range(400), key=lambda i: -exact[i])[:n]
    assert rows.tolist() == order and np.array_equal(scores, every[order])
    assert np.array_equal(every * 2**40, exact)
    assert len(set(exact)) < np.unique(sum(X[:, j] * w[j] for j in range(4))).size


def test_a_list_needs_no_two_numbers_a_row() -> None:
    """Where places earn the same in every list, only rows that can matter are held, and few gains."""
    X, y = table(5, 3000)
    asked = []

    class Asked(DCG):
        def _coefficients(self, n: int):
            asked.append(n)
            return super()._coefficients(n)

    reduced = anchored_problem(cut(X, y, [500]), Asked(at=10), LIMITS)
    assert max(asked) == reduced.rows.size < 1000 and asked[0] == 11
    assert passes.look_at_all(cut(X, y, [500]), passes.in_turn, 20, 10).gains.size == 10


def test_the_best_weights_are_those_of_the_whole_list() -> None:
    X, y = table(0, 3000)
    reduced = anchored_problem(cut(X, y, [1000, 1500]), parse("precision@50"), LIMITS, epsilon=1e-9)
    found, all_ = solve(reduced.problem), solve(whole(X, y, "precision@50", reduced))
    assert found.closed and all_.closed and found.value == pytest.approx(all_.value)
    assert reduced.rows.size < 600


def test_the_first_rows_at_weights_are_those_of_the_whole_list() -> None:
    X, y = table(1, 2000)
    reduced = anchored_problem(cut(X, y, [300]), parse("precision@30"), LIMITS)
    w = np.array([1.0, 0.05, -0.02, 0.1])
    near = at_weights(cut(X, y, [300]), reduced, w)
    scores = whole(X, y, "precision@30", reduced).scaled @ w
    best = near.rows[np.argsort(-(near.problem.scaled @ w), kind="stable")[:30]]
    assert np.array_equal(best, np.argsort(-scores, kind="stable")[:30])


@pytest.mark.parametrize("jobs", [1, 2])
def test_row_groups_of_a_file_on_workers(tmp_path, jobs: int) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X, y = table(2, 1000)
    names = ["score", "a", "b", "c"]
    columns = dict(zip(names, X.T, strict=True)) | {"found": y.astype(np.int64)}
    parquet.write_table(pa.table(columns), tmp_path / "list.parquet", row_group_size=130)
    parts = row_groups(tmp_path / "list.parquet", names, "found")
    assert len(parts) == 8
    with Workers(jobs) as workers:
        mine = anchored_problem(parts, parse("dcg@10"), LIMITS, run=workers.run)
    assert digest(mine.problem) == digest(anchored_problem(cut(X, y, []), parse("dcg@10"), LIMITS).problem)
    with pytest.raises(InputError, match="did you mean 'score'"):
        row_groups(tmp_path / "list.parquet", ["scores"], "found")


def test_what_cannot_be_left_out_is_refused_with_the_number() -> None:
    X, y = table(3)
    with pytest.raises(InputError, match="looks at every place"):
        anchored_problem(cut(X, y, []), parse("auc"), LIMITS)
    with pytest.raises(InputError, match="auc looks at every place"):
        anchored_problem(cut(X, y, []), parse("auc"), LIMITS)
    with pytest.raises(InputError, match="hold no row"):
        anchored_problem([], parse("dcg@10"), LIMITS)
    with pytest.raises(InputError, match="n is 0"):
        top_of(cut(X, y, []), anchored_problem(cut(X, y, []), parse("dcg@10"), LIMITS), [1, 0, 0, 0], 0)
    with pytest.raises(InputError, match="rows can reach the places that count, more than 50"):
        anchored_problem(cut(X, y, [50]), parse("precision@20"), ([1, -9, -9, 0], [1, 9, 9, 0]), most_rows=50)
    with pytest.raises(InputError, match="Column 2 is constant"):
        anchored_problem(cut(X * [1, 1, 0, 1], y, []), parse("precision@20"), LIMITS)
    with pytest.raises(InputError, match="nothing to rank"):
        anchored_problem(cut(X, 0 * y, []), parse("precision@20"), LIMITS)
    with pytest.raises(InputError, match="beyond 1e"):
        anchored_problem(cut(X * 1e160, y, []), parse("precision@20"), LIMITS)
