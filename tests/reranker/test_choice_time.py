"""Choices that are short of time: what had none has no value, and what has one has that of a choice with time."""

import math

import numpy as np
import pytest

import rerank
from rerank import Reranker, RerankerCV
from rerank.reranker.selection import reranker_cv

GRID = [{"margin": [0.1], "radius": [0.3, 1.0]}, {"radius": [None]}]
LIMITS = (0.05, 0.3, 0.8, 2.0)


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


def test_a_guard_without_time_has_no_value_in_a_comparison(table):
    methods = ["logistic", "guard"]
    whole = rerank.compare(*table, "precision@60", methods=methods, folds=3, time_limit=None).table[1]
    for limit in LIMITS:
        try:
            found = rerank.compare(*table, "precision@60", methods=methods, folds=3, time_limit=limit)
        except rerank.errors.InputError as error:
            assert "raise time_limit" in str(error)  # no method had the time
            continue
        row = found.table[1]
        if row["value"] is None:
            assert "raise time_limit" in row["note"] and "1 of 2 methods have no value" in found.sentence
            assert row["lead"] is row["low"] is None and "+0" not in str(found)
        else:
            assert row["value"] == whole["value"] and not row["note"]


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
