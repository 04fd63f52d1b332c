"""What ``predict`` gives: classes by cuts that mark as many training rows as were relevant."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import rerank
from rerank import Reranker, RerankerCV, verify
from rerank.errors import NotSupportedError
from rerank.io.labels import TwoLabels
from rerank.reranker.files import model_file
from rerank.reranker.files.document import document, state_of
from rerank.reranker.state import classes_of, from_flat
from rerank.solvers import gateway
from tests.cases.drawn import as_table
from tests.cases.refuses import refuses
from tests.reranker.test_reranker import lists
from tests.reranker.test_sklearn_tools import HEAD, SMALL, table

FLOATS = st.one_of(st.floats(-3, 3), st.sampled_from([-1e308, 0.0, 5e-324, 1.0, np.nextafter(1.0, 2), 1e308]))


@given(st.lists(st.tuples(st.integers(0, 3), FLOATS), min_size=1, max_size=12))
def test_a_row_reaches_a_grade_if_fewer_rows_are_above_it_than_have_the_grade(rows):
    y = np.array([0.0, *(grade for grade, _ in rows)])
    scores = np.array([0.5, *(score for _, score in rows)])
    found = classes_of(y, None, scores)
    above = (scores[None, :] > scores[:, None]).sum(axis=1)
    wanted = [max((g for g in y if g and k < (y >= g).sum()), default=0) for k in above]
    assert found.of(scores).tolist() == wanted
    again = from_flat({key.partition(".")[2]: cut for key, cut in found.to_flat().items()}, None)
    if found.cuts.size:
        assert again.grades == found.grades and again.cuts.tobytes() == found.cuts.tobytes()
    for cut in found.cuts:
        reached, below = scores[scores >= cut].min(), scores[scores < cut]
        if not below.size or np.nextafter(below.max(), np.inf) == reached:
            assert cut == reached
        else:
            half = reached / 2 - below.max() / 2
            assert min(reached - cut, cut - below.max()) >= 0.9 * half or half < 1e-12


@pytest.mark.parametrize(
    ("entries", "labels"),
    [
        ({"1": "x"}, None),
        ({"0": 1.0}, None),
        ({"01": 1.0}, None),
        ({"x": 1.0}, None),
        ({"1": 2.0, "2": 1.0}, None),
        ({"1": None, "2": 1.0}, None),
        ({"1": float("inf")}, None),
        ({"1": 1}, None),
        ({"2": 1.0}, TwoLabels("a", "b")),
        ({"1": True}, None),
        ({"9" * 5000: 1.0}, None),
        ({"\u00b2": 1.0}, None),
    ],
)
def test_cuts_that_no_fit_writes_are_refused(entries, labels):
    refuses("cuts between classes cannot be used", from_flat, entries, labels)


def test_as_many_training_rows_are_relevant_as_were_labelled():
    X, y = table()
    by_scores = clone(HEAD).set_params(first_stage=X[:, 0] + 0.1)
    chosen = [RerankerCV(HEAD, grid={}, cv=2, safeguard=safeguard) for safeguard in (-np.inf, np.inf)]
    for est in (HEAD, *chosen, RerankerCV(by_scores, grid={}, cv=2, safeguard=np.inf)):
        est = clone(est).fit(X, y)
        if getattr(est, "first_stage_kept_", False):  # its cut is by out-of-fold scores
            state = est.best_estimator_.state_
            assert (state.classes.of(state.scores) == 1).sum() == y.sum()
            if state.first_stage.coef is None:  # scores that were given are of no other rows
                continue
        else:
            assert est.predict(X).sum() == y.sum()
        marked = est.predict(X)
        scores = est.decision_function(X)
        assert scores[marked == 1].min() > scores[marked == 0].max()


def test_labels_come_back_as_they_were_given(tmp_path):
    X, y = table()
    plain = clone(HEAD).fit(X, y)
    for pair in (("healthy", "sick"), ("z", "a"), (-1, 1), (5, 2), (1, 0), (False, True)):
        labels = np.where(y == 1, pair[1], pair[0])
        est = clone(HEAD).set_params(pos_label=None if pair in ((-1, 1), (0, 1)) else pair[1]).fit(X, labels)
        est.save(tmp_path / "m.json")
        for one in (est, rerank.load(tmp_path / "m.json")):
            assert one.classes_.tolist() == list(pair) and np.sum(one.predict(X) == pair[1]) == y.sum()
            assert np.array_equal(one.rank(X), plain.rank(X)) and one.score(X, labels) == plain.score(X, y)
        if pair != (False, True):
            refuses("the labels of this fit", est.score, X, np.full(y.size, "other"))


@pytest.mark.parametrize("est", [HEAD, SMALL], ids=["head", "radius"])
def test_a_row_gets_the_same_score_and_label_in_any_company(est):
    X, y = table()
    est = clone(est).fit(X, y * (1 + (X[:, 1] > 0)))
    scores, labels = est.decision_function(X), est.predict(X)
    assert set(labels) == {0, 1, 2}
    best = np.argsort(-scores)
    for rows in (best[:5], best[:1], best[-5:], best[::7]):
        np.testing.assert_array_equal(est.decision_function(X[rows]), scores[rows])
        np.testing.assert_array_equal(est.predict(X[rows]), labels[rows])


def test_no_labels_without_cuts(tmp_path):
    X, y, qid = lists(0)
    est = Reranker("ndcg@4", solver="search", node_limit=5, time_limit=None).fit(X, y, qid)
    est.save(tmp_path / "lists.json")
    for one in (est, rerank.load(tmp_path / "lists.json")):
        assert one.classes_.tolist() == np.unique(y).tolist()
        with pytest.raises(NotSupportedError, match="within a list only"):
            one.predict(X)
    X, y = table()
    assert clone(HEAD).set_params(gain="linear").fit(X, y * 0.5).classes_ is None


def test_weights_of_a_solution_file_have_no_cuts_and_a_file_that_verifies(tmp_path):
    X, y = table(14)
    est = Reranker("wta", solver="none", first_stage=None).fit(X, y)
    program, _ = est.export_mps(tmp_path / "p.mps")
    gateway.solve_file(program, "highs", solution=tmp_path / "p.sol")
    est.load_solution(tmp_path / "p.sol")
    with pytest.raises(NotSupportedError, match="weights were read from a file"):
        est.predict(X)
    assert est.classes_.tolist() == [0, 1]
    report = verify(est, as_table(est, X, y))
    assert report.holds and "settings.cuts" not in {one.name for one in report.not_looked_at}


def test_a_file_of_an_earlier_version_ranks_and_says_what_it_lacks():
    X, y = table()
    est = clone(HEAD).fit(X, y)
    doc = document(est.state_)
    given = as_table(est, X, y)
    assert verify(doc, given).holds
    old = replace(doc, settings={k: v for k, v in doc.settings.items() if not k.startswith("cuts")})
    report = verify(model_file.from_dict(model_file.to_dict(old)), given)
    assert report.holds and not report.complete
    assert [one.open for one in report.not_looked_at if one.name == "settings.cuts"] == [True]
    assert state_of(old).classes is None
    moved = replace(doc, settings=doc.settings | {"cuts.1": doc.settings["cuts.1"] + 1e-6})
    assert not verify(moved, given).holds


def test_scores_with_a_radius_are_in_the_unit_of_the_first_stage():
    """So scores of several fits can be compared, whether or not each of them keeps its first stage."""
    X, y = table()
    est = clone(SMALL).fit(X, y)
    moved = est.decision_function(X) - est.first_stage_scores(X)
    assert est.reranks_ and np.ptp(moved) > 1e-3 and np.ptp(est.decision_function(X) - X @ est.coef_) < 1e-9
    np.testing.assert_allclose(moved, X[:, est.state_.features] @ est.state_.corrections, atol=1e-9)
    places, scores = est.rank(X), est.decision_function(X)
    assert (np.diff(scores[np.argsort(places)]) <= 0).all()
