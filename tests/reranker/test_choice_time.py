"""Choices that are short of time: what had none has no value, and what has one has that of a choice with time."""

import math

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

import rerank
from rerank import Reranker, RerankerCV
from rerank.reranker.selection import comparison, reranker_cv
from rerank.reranker.selection.options import NOT_TRIED

GRID = [{"margin": [0.1], "radius": [0.3, 1.0]}, {"radius": [None]}]
LIMITS = (0.05, 0.5, 2.0)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(3000, 5))
    hidden = X[:, 0] + (np.abs(X[:, 1]) > 1.5) * X[:, 2] + rng.normal(size=3000)
    return X, (hidden > np.quantile(hidden, 0.9)).astype(int)


def choice(limit, **more):
    return RerankerCV(Reranker("precision@60", solver="search"), grid=GRID, cv=3, n_repeats=1, time_limit=limit, **more)


def test_a_value_is_that_of_a_choice_with_time_or_none(table):
    whole = choice(None).fit(*table)
    assert whole.result_.evidence.tried == 3 and "(3 options)" in str(whole)
    for limit in LIMITS:
        est = choice(limit).fit(*table)
        found, values = est.result_.evidence, est.cv_results_["value"]
        assert [math.isnan(own) or own == value for own, value in zip(values, whole.cv_results_["value"])] == [True] * 3
        tried = sum(not math.isnan(value) for value in values)
        assert found.tried == found.to_dict()["tried"] == tried and found.starved == 3 - tried
        assert (f"({tried} of 3 options tried)" in str(est)) == (tried < 3)
        assert est.report().count("not tried: the time was over") == 3 - tried
        assert not np.isnan(values[est.chosen_ or 0]) or est.chosen_ is None


class Part(comparison._Guard):
    """A guard that has the time for so many of its options on each fold."""

    tried = 1

    def _check(self, trial):
        trial.leads[self.tried :] = [NOT_TRIED] * (len(trial.leads) - self.tried)
        super()._check(trial)


@pytest.mark.parametrize("tried", [0, 1, 4])
def test_a_guard_says_how_many_of_its_options_had_the_time(table, monkeypatch, tried):
    monkeypatch.setattr(comparison, "_Guard", Part)
    monkeypatch.setattr(Part, "tried", tried)
    X, y = (one[:300] for one in table)
    methods = ["logistic", "squares", "guard"]
    found = rerank.compare(X, y, "precision@30", methods=methods, folds=2, time_limit=600)
    guards = [row for row in found.table if "guarded" in row["method"]]
    note = f"{tried} of 4 options tried in time"
    assert len(guards) == 2
    for row in guards:
        if tried:
            assert row["note"] == note * (tried < 4) and row["lead"] is not None
        else:
            assert row["value"] is row["lead"] is row["low"] is None and "no correction was tried" in row["note"]
    assert str(found).count(note) == 2 * (tried == 1)
    assert ("2 of 4 methods have no value" in found.sentence) == (tried == 0)
    assert ("2 of 4 methods had the time for a part" in found.sentence) == (tried == 1)
    drawn = [label.get_text() for label in found.plot().get_yticklabels()]
    assert sum(note in label for label in drawn) == 2 * (tried == 1)


@pytest.mark.parametrize("limit", [0.3, 2.0])
def test_a_guard_short_of_time_has_a_note_or_no_value(table, limit):
    X, y = (one[:1000] for one in table)
    whole = rerank.compare(X, y, "precision@20", methods=["logistic", "guard"], folds=2, time_limit=None).table[1]
    try:
        found = rerank.compare(X, y, "precision@20", methods=["logistic", "guard"], folds=2, time_limit=limit)
    except rerank.errors.InputError as error:
        assert "raise time_limit" in str(error)  # no method had the time
        return
    row = found.table[1]
    if row["value"] is None:
        assert "raise time_limit" in row["note"] and "1 of 2 methods have no value" in found.sentence
        assert row["lead"] is row["low"] is None and "+0" not in str(found)
    else:
        assert row["value"] == whole["value"] or "of 4 options tried in time" in row["note"]


def test_a_last_fit_without_time_to_search_is_told_as_that(table, monkeypatch):
    def late(self, *given):
        return real(self.set_params(time_limit=0.0), *given)

    real = Reranker._fit_on
    monkeypatch.setattr(Reranker, "_fit_on", late)
    est = choice(None, safeguard=-math.inf).fit(*table)
    found = est.result_.evidence
    assert found.fit_keeps and found.fit_late and not found.decided
    assert "had no time to search" in str(est) and "found nothing better" not in str(est)


def test_the_last_fit_has_its_share_whatever_the_folds_take(table, monkeypatch):
    given = []
    real = Reranker._fit_on
    monkeypatch.setattr(Reranker, "_fit_on", lambda self, *rest: given.append(self.time_limit) or real(self, *rest))
    for limit in (0.5, 2.0):
        given.clear()
        choice(limit).fit(*table)
        assert given[-1] > 0.5 * (1 - reranker_cv.FOLDS_SHARE) * limit
