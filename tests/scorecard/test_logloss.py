"""Log loss: the card is the best of all by enumeration, sets are bounded by logistic regression."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from rerank.errors import InputError, NotSupportedError
from rerank.scorecard import Card, Scorecard
from tests.scorecard import oracle
from tests.scorecard.test_exchange import no_proof  # noqa: F401
from tests.scorecard.test_rules import RULES
from tests.scorecard.test_search import QUICK, SEEDS, fitted, wide

CLOSE = 1e-4  # to what scipy minimises, where a card separates the classes


def value(totals, rows) -> float:
    """Minus the log loss of the logistic curve with a slope of at least 0 that fits best."""
    t, y = np.asarray(totals, float), np.asarray(rows.y)
    weight = np.ones(y.size) if rows.weight is None else rows.weight

    def loss(link):
        eta = link[0] + link[1] * t
        return weight @ (np.logaddexp(0, eta) - y * eta) / weight.sum()

    return -minimize(loss, [0.0, 0.1], bounds=[(-60, 60), (0, 60)], method="L-BFGS-B").fun


def best_of(questions, rows, **asked) -> float:
    known: dict[bytes, float] = {}
    for _, own, totals in oracle.cards(questions, rows.X, **asked):
        if np.gcd.reduce(own) == 1 and (key := totals.astype(np.int8).tobytes()) not in known:
            known[key] = value(totals, rows)
    return max(known.values(), default=-np.inf)


@pytest.mark.parametrize("proved", [True, False])
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True, **QUICK)
@given(rows=st.builds(oracle.drawn, SEEDS, st.sampled_from(["", "parts"])), rules=st.sampled_from([{}, *RULES]))
def test_the_card_has_the_least_log_loss(request, proved, rows, rules):
    if not proved:
        request.getfixturevalue("no_proof")
    questions = fitted(rows, n_questions=1).questions_
    try:
        card = fitted(rows, "logloss", n_questions=3, points=1, **rules)
    except InputError:
        assert best_of(questions, rows, size=3, points=1, **rules) == -np.inf
        return
    best = best_of(card.questions_, rows, size=3, points=1, **rules)
    result = card.result_
    assert result.value == pytest.approx(value(card.total(rows.X), rows), abs=CLOSE) and result.value <= result.bound
    assert best - (CLOSE if proved else 0.02) <= result.value <= best + CLOSE
    if proved:
        assert result.status == "optimal" and card.verify().value == result.value


def test_a_set_is_bounded_by_logistic_regression_on_its_questions(monkeypatch):
    rows = oracle.drawn(11, n=200)
    monkeypatch.setattr("rerank.scorecard.search.best_of_sets", lambda *asked: ([], 0, False))
    card = fitted(rows, "logloss", n_questions=3, points=2)
    bounds = []
    for members in combinations(card.questions_, 3):
        answers = np.transpose([one.answers(rows.X) for one in members])
        risk = LogisticRegression(C=1e9, tol=1e-10, max_iter=1000).fit(answers, rows.y).predict_proba(answers)
        bounds.append(-log_loss(rows.y, risk))
    assert card.result_.bound == pytest.approx(max(bounds), abs=1e-7)


def test_points_of_any_size_are_proved_and_a_card_that_separates_is_perfect():
    rows = oracle.drawn(12, n=60)
    values = [fitted(rows, "logloss", n_questions=3, points=points).result_ for points in (2, 5, 20)]
    assert all(one.status == "optimal" for one in values) and values == sorted(values, key=lambda one: one.value)
    perfect = oracle.Rows(rows.X, (rows.X["c"] + rows.X["d"] == 2).to_numpy() * 1)
    result = fitted(perfect, "logloss", n_questions=2).result_
    assert result.value == pytest.approx(0, abs=1e-9) and result.status == "optimal"


def test_other_rows_are_judged_by_the_link_of_the_fit(tmp_path):
    rows, other = oracle.drawn(13, n=200), oracle.drawn(14, n=100)
    card = Scorecard("logloss", n_questions=3, validation=3).fit(rows.X, rows.y)
    assert card.score(rows.X, rows.y) == pytest.approx(card.result_.value)
    assert card.score(other.X, other.y) <= value(card.total(other.X), other) + CLOSE
    # Risks by logistic regression on the total alone.
    link = LogisticRegression(C=1e9, tol=1e-10).fit(card.total(rows.X)[:, None], rows.y)
    assert card.score(other.X, other.y) == pytest.approx(
        -log_loss(other.y, link.predict_proba(card.total(other.X)[:, None])), abs=1e-6
    )
    assert card.result_.corrected < card.result_.value
    card.card_.save(tmp_path / "card.json", card.result_)
    assert Card.of(tmp_path / "card.json").points == card.card_.points
    regret = Scorecard("logloss", validation=2).regret({"a >= 1": 1, "c = 1": -1}, rows.X, rows.y)
    assert regret.best_value >= regret.value and regret.proved
    for call in (lambda: card.pool(0.1), card.build_model):
        with pytest.raises(NotSupportedError, match="another rank statistic"):
            call()
    with pytest.raises(InputError, match="leave qid out"):
        Scorecard("logloss").fit(rows.X, rows.y, np.arange(200) % 2)


def test_large_cards_have_less_loss_than_rounded_logistic_regression(no_proof):  # noqa: F811
    rows = wide()
    weights = LogisticRegression(C=1e9).fit(rows.X, rows.y).coef_[0]
    chosen = np.argsort(-np.abs(weights))[:6]
    points = np.zeros(rows.X.shape[1])
    points[chosen] = np.round(5 * weights[chosen] / np.abs(weights).max())
    card = fitted(rows, "logloss", n_questions=6)
    assert card.result_.value >= value(rows.X.to_numpy() @ points, rows)
