"""The corrected value: cards chosen anew without the rows they are judged by."""

import json
import time

import numpy as np
import pytest

from rerank.scorecard import Card, Scorecard
from tests.cases.stopped import interrupt
from tests.scorecard import oracle

pd = oracle.pd


def noise(seed: int, n: int = 60, d: int = 12) -> oracle.Rows:
    """A table that says nothing of the labels."""
    r = np.random.default_rng(seed)
    return oracle.Rows(pd.DataFrame(r.integers(0, 2, (n, d))).add_prefix("q"), np.arange(n) % 2)


@pytest.mark.parametrize("validation", [3, 5, "bootstrap"])
@pytest.mark.parametrize("stat, fair", [("auc", 0.5), ("precision@20", 10.0)])
def test_on_noise_the_corrected_value_is_that_of_guessing(validation, stat, fair):
    pairs = []
    for seed in range(3):
        rows = noise(seed)
        card = Scorecard(stat, 2, 1, validation=validation, random_state=seed).fit(rows.X, rows.y)
        pairs.append((card.result_.value, card.result_.corrected))
    value, corrected = np.mean(pairs, axis=0)
    assert value > 1.2 * fair and abs(corrected - fair) < 0.6 * (value - fair)


def test_folds_are_those_of_the_seed():
    rows = noise(0)

    def corrected(**options):
        return Scorecard(n_questions=2, points=1, **options).fit(rows.X, rows.y).result_.corrected

    assert corrected(random_state=1) == corrected(random_state=1) == corrected(random_state=1, n_jobs=2)
    assert len({corrected(random_state=seed) for seed in range(4)}) > 1
    assert corrected() == corrected(random_state=0) and corrected(validation=None) is None


def test_the_value_of_folds_is_the_mean_over_them():
    from sklearn.model_selection import StratifiedKFold

    rows = oracle.drawn(3, n=40)
    card = Scorecard(n_questions=1, points=1, validation=4, random_state=2).fit(rows.X, rows.y)
    values = []
    for train, test in StratifiedKFold(4, shuffle=True, random_state=2).split(rows.X, rows.y):
        own = Scorecard(n_questions=1, points=1, validation=None).fit(rows.X.iloc[train], rows.y[train])
        values.append(own.score(rows.X.iloc[test], rows.y[test]))
    # With one question steps and swaps look at all of them.
    assert card.result_.corrected == pytest.approx(np.mean(values)) and card.result_.held_out.refits == 4
    assert "4 folds, each with its own card" in card._repr_html_()


@pytest.mark.parametrize("why", ["too few", "none was asked", "Ctrl-C"])
def test_where_there_is_no_corrected_value_result_and_file_say_why(why, tmp_path, monkeypatch):
    X, y = pd.DataFrame({"a": [0, 1, 0, 1, 0] * 4}), [0, 1, 0, 0, 0] * 4
    if why == "too few":
        X, y = X[:5], y[:5]
    elif why == "Ctrl-C":
        monkeypatch.setattr("rerank.scorecard.estimator.corrected", lambda *given: interrupt())
    fit = Scorecard(n_questions=1, validation=None if why == "none was asked" else 5).fit(X, y)
    fit.card_.save(tmp_path / "card.json", fit.result_)
    told = json.loads((tmp_path / "card.json").read_text())["fit"]
    assert told["corrected"] is None and why in told["notes"][-1] and Card.of(tmp_path / "card.json") == fit.card_
    assert fit.result_.corrected is None and (why in str(fit)) == (why != "none was asked")
    assert ("Stopped by Ctrl-C." in fit.result_.notes) == (why == "Ctrl-C")


@pytest.mark.parametrize("validation", [5, "bootstrap"])
def test_a_question_that_few_rows_answer_by_yes_ends_no_fit(validation):
    rows = oracle.drawn(3, n=40)
    X = rows.X.assign(rare=np.arange(40) == 7)
    result = Scorecard(n_questions=2, points=1, must=["rare"], validation=validation).fit(X, rows.y).result_
    assert result.status == "optimal" and (result.corrected is None or 0 <= result.corrected <= 1)
    lists = np.arange(40) // 20  # only the first list holds both kinds
    y = np.where(lists == 0, rows.y, 0)
    result = Scorecard(n_questions=2, points=1, validation=validation).fit(rows.X, y, lists).result_
    assert result.status == "optimal"


@pytest.mark.parametrize("stat, points, validation", [("auc", 100, 5), ("pnorm@64", 20, 5), ("wta", 100, "bootstrap")])
def test_refits_keep_to_the_time_limit_and_give_all_of_their_value_or_none(stat, points, validation):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(800, 12))
    y = X[:, 0] + X[:, 1] / 2 + draw.normal(size=800) > 0.8

    def fitted(limit, n=800, many=points):
        rest = {"n_questions": 3, "points": many, "validation": validation, "time_limit": limit}
        return Scorecard(stat, **rest).fit(X[:n], y[:n])

    fitted(None, 60, 1)  # compiled
    for limit in (0.0, 0.3):
        began = time.process_time()
        card = fitted(limit)
        assert time.process_time() - began < 1.05 * limit + 1
        late = "there was no time for all of its refits" in str(card)
        assert (card.result_.corrected is None) == late and (late or limit)
    if validation == 5:
        whole = fitted(None, 60, 1).result_.corrected
        assert fitted(60.0, 60, 1).result_.corrected == whole is not None
        steps = Scorecard(stat, points=1, validation=5).frontier(2, X[:60], y[:60], time_limit=60.0).steps
        assert all(step.held_out is not None for step in steps)
        late = Scorecard(stat, points=1, validation=5, time_limit=0.0).regret({"x0 >= 0": 1}, X[:60], y[:60])
        assert late.lead is None and "No lead on rows held out" in str(late)
