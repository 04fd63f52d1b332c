"""Statistics of a share of the list: the number of places follows the length."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank import Reranker, load
from rerank.errors import InputError
from rerank.ranks import evaluate
from rerank.statistics import Share, parse

NAMES = ["precision@2%", "dcg@5%", "ndcg@10%", "recall@12.5%", "pauc@7%"]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_read_back(name):
    found = parse(name)
    assert isinstance(found, Share) and found.name == name and parse(found.name) == found
    assert found.by_share and found.depth is None and found.counts_places


@given(st.sampled_from(NAMES[:4]), st.integers(5, 300), st.integers(0, 2**32 - 1))
def test_it_is_the_statistic_of_so_many_places(name, n, seed):
    rng = np.random.default_rng(seed)
    y, scores = rng.integers(0, 2, n), rng.integers(0, 20, n)
    y[0] = 1
    share = parse(name)
    places = max(1, round(n * share.percent / 100))
    plain = f"{name.partition('@')[0]}@{places}"
    assert share.of(n).name == plain
    assert evaluate(name, y, scores) == pytest.approx(evaluate(plain, y, scores), abs=1e-12)


@pytest.mark.parametrize("name", ["precision@0%", "precision@100%", "dcg@-3%", "precision@120%"])
def test_what_is_no_share_is_refused_and_the_advice_works(name):
    with pytest.raises(InputError, match="above 0 % and below 100 %, such as 2 %"):
        parse(name)
    assert parse(f"{name.partition('@')[0]}@2%").percent == 2


@pytest.mark.parametrize(("name", "told"), [("precison@2%", "'precision@2%'"), ("auc@2%", "'auc@2%'")])
def test_a_refusal_names_the_share_that_was_written(name, told):
    with pytest.raises(InputError, match=told):
        parse(name)


def test_what_has_no_places_has_no_share_of_them_and_the_advice_works():
    with pytest.raises(InputError, match="use precision@2%"):
        Share(parse("auc"), 2)
    assert Share(parse("precision@9"), 2) == parse("precision@2%")


def test_lists_of_any_length_are_fitted_and_scored_and_the_model_file_says_so(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + rng.normal(size=200) > 1).astype(int)
    est = Reranker("precision@5%", radius=0.3, solver="search", node_limit=0).fit(X, y)
    plain = Reranker("precision@10", radius=0.3, solver="search", node_limit=0).fit(X, y)
    assert est.result_.first_stage_statistic == plain.result_.first_stage_statistic
    assert est.result_.bound == plain.result_.bound
    later = rng.normal(size=(80, 3))
    labels = (later[:, 0] + rng.normal(size=80) > 1).astype(int)
    expected = evaluate("precision@4", labels, est.decision_function(later))
    assert est.score(later, labels) == expected
    est.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert parse(again.stat) == parse("precision@5%") and again.score(later, labels) == expected
