"""Normalisers, missing documents, depth and the arrays path against definitions."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.fusion import FusionModel, ScoreFusion
from rerank.reranker.fusion.normalise import curves_of, normalised
from tests.fusion import naive

# Scores are equal or differ by a thousandth: of smaller differences the naive deviation is rounding alone.
SCORE = st.one_of(st.integers(-3, 3).map(float), st.integers(-60_000, 60_000).map(lambda number: number / 1000))
LISTS = st.lists(st.lists(st.one_of(st.none(), SCORE), min_size=2, max_size=2), min_size=1, max_size=8)


def table(rows):
    return np.array([[np.nan if one is None else one for one in row] for row in rows])


def close(found, wanted):
    return np.allclose(found, wanted, rtol=1e-9, atol=1e-9)


def alike(found, wanted, name, rule):
    """Equal bits; where documents are summed up in another order, the last of 40 binary places may differ."""
    sums = name in ("l2", "z") or rule == "impute"
    return np.allclose(found, wanted, 1e-11, 1e-11, True) if sums else np.array_equal(found, wanted, True)


def expected(column, name, rule, k=60.0):
    there = [one for one in column if one is not None]
    places = iter(range(len(there)))
    return [
        naive.filled(name, rule, there, k) if one is None else naive.value(name, there, next(places), k)
        for one in column
    ]


@given(LISTS, st.sampled_from(naive.NORMALISERS), st.sampled_from(naive.MISSING), st.sampled_from((60.0, 1.0, 0.5)))
@settings(max_examples=200, deadline=None)
def test_a_normaliser_is_its_definition(rows, name, rule, k):
    scores = table(rows)
    found = normalised(scores.T[:, None, :], name, k, rule)
    for place, column in enumerate(zip(*rows)):
        assert close(found[place, 0], expected(column, name, rule, k))


EXTREME = [0.0, 1.0, 1.0 + 2**-52, 5e-324, 1e-310, 2.3e-308, 1e-160, 1e160, 1.7e308, -1.7e308, -1e-310, math.nan]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(*[st.sampled_from(EXTREME)] * 2), min_size=1, max_size=5),
    st.sampled_from(("minmax", "l2", "z", "sigmoid")),
    st.sampled_from(naive.MISSING),
    st.sampled_from((None, [[1.7e308, 5e-324], [-1.7e308, 1.7e308]], [[1e-310, 1e-310], [0.0, 1e300]])),
)
def test_finite_scores_give_finite_ones_however_large_or_small(rows, name, rule, curves):
    scores = np.array(rows)
    found = FusionModel(("a", "b"), np.array([0.7, -0.3]), name, missing=rule, curves=curves).fuse_arrays(scores)
    assert (np.isfinite(found) == ~np.isnan(scores).all(axis=1)).all()


@given(
    st.lists(LISTS, min_size=1, max_size=4),
    st.sampled_from(naive.NORMALISERS),
    st.sampled_from(naive.MISSING),
    st.sampled_from((None, 1, 3)),
)
@settings(max_examples=150, deadline=None)
def test_queries_do_not_see_each_other(lists, name, rule, depth):
    model = FusionModel(("a", "b"), np.array([0.7, 0.3]), name, missing=rule, depth=depth)
    rows = np.concatenate([table(rows) for rows in lists])
    qid = np.repeat(np.arange(len(lists)), [len(rows) for rows in lists])
    # In each query the rows keep their order, which breaks ties.
    drawn = np.random.default_rng(0).random(len(rows))
    shuffled = np.argsort(drawn[np.lexsort((drawn, qid))])
    found = np.empty(len(rows))
    found[shuffled] = model.fuse_arrays(rows[shuffled], qid[shuffled])
    alone = np.concatenate([model.fuse_arrays(table(rows)) for rows in lists])
    assert alike(found, alone, name, rule)


@given(LISTS, st.sampled_from(naive.NORMALISERS), st.sampled_from(naive.MISSING), st.sampled_from((None, 1, 2, 4)))
@settings(max_examples=150, deadline=None)
def test_arrays_and_dictionaries_fuse_alike_and_as_defined(rows, name, rule, depth):
    rows = [row for row in rows if any(one is not None for one in row)]
    columns = {"a": [row[0] for row in rows], "b": [row[1] for row in rows]}
    runs = {run: {"q": {f"d{i}": s for i, s in enumerate(own) if s is not None}} for run, own in columns.items()}
    if not rows or not all(own["q"] for own in runs.values()):
        return
    model = FusionModel(("a", "b"), np.array([0.6, -0.4]), name, missing=rule, depth=depth)
    found = model.fuse(runs)["q"]
    wanted = naive.fused(runs, {"a": 0.6, "b": -0.4}, name, rule, depth)["q"]
    assert found.keys() == wanted.keys()
    assert close([found[doc] for doc in wanted], list(wanted.values()))
    arrays = model.fuse_arrays(table(rows))
    assert {f"d{i}" for i in np.flatnonzero(~np.isnan(arrays))} == found.keys()
    assert alike([found[doc] for doc in found], [arrays[int(doc[1:])] for doc in found], name, rule)


@pytest.mark.parametrize("name", naive.NORMALISERS)
def test_constant_single_negative_and_huge_scores_are_finite(name):
    cases = [[[2.0, 2.0, 2.0]], [[-5.0]], [[-1e308, 0.0, 1e308]], [[-1e-320, 0.0, 5e-324]], [[np.nan, np.nan]]]
    for case in cases:
        assert np.isfinite(normalised(np.array(case)[None], name)).all()


def test_what_constant_scores_and_empty_runs_get():
    constant = np.array([[[3.0, 3.0, np.nan]]])
    assert normalised(constant, "minmax")[0, 0].tolist() == [1.0, 1.0, 0.0]
    assert normalised(constant, "z")[0, 0].tolist() == [0.0, 0.0, 0.0]
    assert normalised(constant, "rank")[0, 0].tolist() == [1 / 61, 1 / 62, 0.0]
    for name in naive.NORMALISERS:
        for rule in naive.MISSING:
            assert normalised(np.full((1, 1, 3), np.nan), name, missing=rule)[0, 0].tolist() == [0.0, 0.0, 0.0]


def test_min_max_of_the_largest_numbers_keeps_its_order():
    assert normalised(np.array([[[-1e308, 0.0, 1.5e308]]]), "minmax")[0, 0].tolist() == pytest.approx([0, 0.4, 1])


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_equal_ranks_in_another_order_give_equal_scores(seed):
    """RRF of the same ranks in three runs, permuted: sums that differ by rounding must not break the tie."""
    rng = np.random.default_rng(seed)
    first = rng.choice(30, size=3, replace=False)
    scores = np.array([first, first[[1, 2, 0]], first[[2, 0, 1]]], dtype=float)
    full = np.full((30, 3), np.nan)
    full[:3] = -scores
    for column in range(3):
        full[3:, column] = -np.array([r for r in range(30) if r not in set(scores[:, column])], dtype=float)
    found = FusionModel(("a", "b", "c"), np.full(3, 1 / 3), "rank").fuse_arrays(full)
    assert found[0] == found[1] == found[2]


def test_a_system_that_found_nothing_gives_0_to_all():
    model = FusionModel(("a", "b"), np.array([0.5, 0.5]), "rank", k=1.0)
    found = {"q": {"x": 3.0, "y": 2.0}}
    assert model.fuse({"a": found, "b": {"q": {}}}) == {"q": {"x": 0.25, "y": pytest.approx(1 / 6)}}
    assert model.fuse({"a": {}, "b": {"q": {}}}) == {}
    assert model.fuse_arrays(np.empty((0, 2))).size == 0
    frame = pd.DataFrame({"qid": ["q"], "docno": ["x"], "score": [3.0]})
    fused = model.fuse({"a": frame.iloc[:0], "b": frame})
    assert fused.to_dict("list") == {"qid": ["q"], "docno": ["x"], "score": [0.25]}
    for nothing in (frame.iloc[:0], pl.DataFrame(frame).clear(), pa.Table.from_pandas(frame).slice(0, 0)):
        fused = model.fuse({"a": nothing, "b": nothing})
        assert type(fused) is type(nothing) and len(fused) == 0


def test_a_sigmoid_is_centred_on_the_scores_of_each_run():
    scores = np.array([[10.0, np.nan, 3.0], [14.0, -2.0, 3.0], [18.0, -4.0, np.nan]])
    assert curves_of(scores).tolist() == [[14.0, pytest.approx(math.sqrt(32 / 3))], [-3.0, 1.0], [0.0, 1.0]]
    assert curves_of(np.array([[np.nan, 1e308], [np.nan, -1e308]])).tolist() == [[0.0, 1.0]] * 2


def test_a_fit_with_a_sigmoid_does_not_depend_on_unit_and_origin_of_scores():
    runs, qrels = naive.made(12, (0.8, 0.4), seed=3)
    far = {
        run: {query: {doc: 50.0 + 4.0 * score for doc, score in own.items()} for query, own in given.items()}
        for run, given in runs.items()
    }
    fusion = ScoreFusion("ndcg@10", normalise="sigmoid", radius=None, cv=None, time_limit=5)
    near = fusion.fit(runs, qrels).result_.value
    assert fusion.fit(far, qrels).result_.value == pytest.approx(near, abs=1e-6)
