"""scikit-learn's own checks, and what they do not look at."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from rerank.scorecard import Scorecard
from tests.cases.refuses import refuses
from tests.scorecard import oracle
from tests.scorecard.test_search import fitted, wide

EXPECTED = {
    **dict.fromkeys(
        [
            "check_sample_weights_not_an_array",
            "check_sample_weights_pandas_series",  # skipped without pandas
            "check_sample_weights_shape",
            "check_sample_weights_not_overwritten",
            "check_estimators_dtypes",
            "check_classifier_data_not_an_array",
        ],
        "its labels do not begin at 0, which is what an irrelevant row is labelled; that is refused in a sentence",
    ),
    **dict.fromkeys(
        ["check_classifiers_train", "check_classifiers_classes"],
        "it takes 0 for the cut between two classes; a total is a sum of points, and the cut is where the risk is one "
        "half",
    ),
    "check_supervised_y_2d": "labels in one column are read as they are, without a warning",
    "check_classifiers_regression_target": "real labels are refused in a sentence about grades",
}


@parametrize_with_checks(
    [Scorecard(n_questions=2, points=2, validation=None)], expected_failed_checks=lambda estimator: EXPECTED
)
def test_scikit_learn(estimator, check):
    check(estimator)


def test_a_fit_keeps_its_parameters_and_is_cloned_and_pickled():
    rows = oracle.drawn(3, n=40)
    given = Scorecard("dcg@6", 2, (1, 3), must=["a"], bounds={"b": [1, 2]}, constraints=["sensitivity >= 0.2"])
    before = {name: repr(value) for name, value in given.get_params().items()}
    card = given.fit(rows.X, rows.y)
    assert {name: repr(value) for name, value in card.get_params().items()} == before
    twin = clone(card).set_params(n_questions=3)
    assert twin.get_params()["must"] == ["a"] and not hasattr(twin, "card_") and card.n_questions == 2
    again = pickle.loads(pickle.dumps(card))
    assert str(again.card_) == str(card.card_) and again.result_ == card.result_
    assert (again.predict_proba(rows.X) == card.predict_proba(rows.X)).all()
    assert [str(one) for one in again.pool(0.1)] == [str(one) for one in card.pool(0.1)]
    assert again.get_feature_names_out().tolist() == [str(one) for one in card.card_.questions]
    for name in ("predict", "total", "decision_function", "predict_proba"):
        with pytest.raises(Exception, match="not fitted"):
            getattr(twin, name)(rows.X)


@pytest.mark.parametrize(
    "labels, pos", [((0, 1), None), ((-1, 1), None), (("no", "yes"), "yes"), (("yes", "no"), "no"), ((3, 1), 1)]
)
def test_shares_follow_classes(labels, pos):
    rows = oracle.drawn(5, n=40)
    y = np.array(labels)[rows.y]
    card = Scorecard(n_questions=2, pos_label=pos, validation=None).fit(rows.X, y)
    assert card.classes_.tolist() == list(labels)
    shares, totals = card.predict_proba(rows.X), card.total(rows.X)
    assert shares.shape == (40, 2) and np.allclose(shares.sum(axis=1), 1) and ((shares >= 0) & (shares <= 1)).all()
    order = np.argsort(totals, kind="stable")
    assert (np.diff(shares[order, 1]) >= -1e-15).all()
    assert (card.predict(rows.X) == card.classes_[(shares[:, 1] >= 0.5).astype(int)]).all()
    assert (card.decision_function(rows.X) == totals).all() and card.decision_function(rows.X).dtype == float
    assert card.score(rows.X, y) == card.result_.value
    plain = fitted(rows, n_questions=2)
    assert str(plain.card_) == str(card.card_)


def test_three_labels_and_one_are_refused():
    rows = oracle.drawn(5)
    for y, said in (
        (np.arange(len(rows.y)) % 3, "Only binary classification"),
        (np.zeros(len(rows.y)), "one class only"),
        (None, "requires y"),
    ):
        refuses(said, Scorecard().fit, rows.X, y)


def test_a_fit_reads_as_sentences():
    rows = oracle.drawn(5, n=40)
    card = fitted(rows, n_questions=2)
    text = str(card.card_)
    for question, points in zip(card.card_.questions, card.card_.points):
        assert f"{question}" in text and f"{points:+d}" in text
    page = card._repr_html_()
    assert "Proved: no card of at most 2 of these 7 questions that is allowed has more" in page
    assert "on the rows of the fit" in page
    cut = fitted(wide(), n_questions=4, time_limit=0.0)
    assert "Not proved: no bound is known" in cut._repr_html_()
    assert cut.result_.gap > 0


RUNNING = """
import os, signal, threading
from rerank.scorecard import Scorecard
from tests.scorecard.test_search import wide
rows = wide(400, 60)
Scorecard(n_questions=2, validation=None).fit(rows.X, rows.y)
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
card = Scorecard(n_questions=5, points=4, time_limit=120.0, n_jobs=2).fit(rows.X, rows.y)
assert card.result_.status == "feasible" and card.result_.seconds < 60 and card.result_.corrected is None
assert card.result_.value <= card.result_.bound and card.score(rows.X, rows.y) == card.result_.value
print("ended")
"""


def test_ctrl_c_keeps_the_best_card():
    done = subprocess.run([sys.executable, "-c", RUNNING], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and done.stdout == "ended\n", done.stderr[-2000:]
