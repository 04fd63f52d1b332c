"""What a validator asks of a card: each figure against its definition written down again."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.metrics import roc_auc_score

from rerank.scorecard import Card, Scorecard, figures
from tests.cli.commands import run
from tests.scorecard.oracle import pools, wilson
from tests.scorecard.test_gaps import applicants


@pytest.fixture(scope="module")
def made():
    frame, y = applicants(0)
    return Scorecard(n_questions=3, points=2, validation="bootstrap").fit(frame, y), frame, y


def test_gini_and_ks_are_those_of_scores(made):
    est, frame, y = made
    totals = est.total(frame)
    assert figures.gini(est.card_.totals) == pytest.approx(2 * roc_auc_score(y, totals) - 1, abs=1e-12)
    value, at = figures.separation(est.card_.totals)
    assert value == pytest.approx(ks_2samp(totals[y == 1], totals[y == 0]).statistic, abs=1e-12)
    assert value == pytest.approx((totals[y == 1] >= at).mean() - (totals[y == 0] >= at).mean(), abs=1e-12)


def test_information_and_stability_are_sums_over_cells(made):
    est, frame, y = made
    other, _ = applicants(9)
    yes = est.card_.answers(frame)[0]
    cells = [[(side & own).sum() + 0.5 for own in (yes, ~yes)] for side in (y == 1, y == 0)]
    (a, b), (c, d) = ([own / sum(side) for own in side] for side in cells)
    wanted = (a - c) * math.log(a / c) + (b - d) * math.log(b / d)
    sides = [[(side & own).sum() for own in (yes, ~yes)] for side in (y == 1, y == 0)]
    assert figures.information(*sides) == pytest.approx(wanted, abs=1e-12)
    before, now = figures.by_total(est.card_, est.total(other), np.ones(len(other)))
    assert sum(before) == len(frame) and sum(now) == len(other)
    assert figures.stability(before, before) == 0 < figures.stability(before, now)
    assert figures.stability(now, before) == pytest.approx(figures.stability(before, now), abs=1e-12)
    outside = figures.by_total(est.card_, np.array([-99, 99]), np.ones(2))[1]
    assert outside[0] == outside[-1] == 1 and sum(outside) == 2


def test_net_benefit_counts_rows(made):
    est, frame, y = made
    risk = est.predict_proba(frame)[:, 1]
    p, q = (np.array([getattr(one, side) for one in est.card_.totals]) for side in ("relevant", "other"))
    for at in (0.0, 0.2, 0.5, 0.9):
        acts = risk >= at
        wanted = ((acts & (y == 1)).sum() - (acts & (y == 0)).sum() * at / (1 - at)) / len(y)
        found = figures.net_benefit([one.risk for one in est.card_.totals], p, q, [at])[0]
        assert found == pytest.approx(wanted, abs=1e-12)


@pytest.fixture(scope="module")
def small():
    """A fit with totals that are pooled, since their shares would fall."""
    frame, y = (own[:120] for own in applicants(0))
    est = Scorecard(n_questions=3, points=3, validation=None).fit(frame, y)
    assert any(pool != one[1:3] for pool, one in zip(pools(est.card_.totals), est.card_.totals))
    return est, frame, y


def test_intervals_are_of_the_rows_of_each_total_or_by_refits(made, small, tmp_path):
    est, plain = made[0], small[0].card_
    for one in plain.totals:
        assert [one.low, one.high] == pytest.approx(wilson(one.risk, one.relevant + one.other), abs=1e-9)
    low, high = est.card_.spread
    assert low <= -1.959 and high >= 1.959 and plain.spread is None
    assert all(one.low <= one.risk <= one.high for one in est.card_.totals)
    assert "count that these rows chose the card" in str(est) and "of the rows of each total alone" in str(plain)
    est.card_.save(tmp_path / "card.json", est.result_)
    assert Card.of(tmp_path / "card.json") == est.card_


def test_a_card_of_an_earlier_file_keeps_intervals_of_pools(small, tmp_path):
    est, frame, y = small
    frame.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    path, table = tmp_path / "card.json", (tmp_path / "rows.csv", "--label", "y")
    body = json.loads(est.card_.to_json(est.result_))
    del body["digest"]
    for one, (p, q) in zip(body["totals"], pools(est.card_.totals)):
        one["low"], one["high"] = wilson(p / (p + q), p + q)
    path.write_text(json.dumps(body))
    assert "totals.risk" in run("verify", path, *table, code=None).stdout  # by the rule of its schema
    path.write_text(json.dumps({**body, "schema": 3}))
    earlier = Card.of(path)
    assert earlier.pooled and "do not count that these rows chose the card" in str(earlier)
    assert run("verify", path, *table).exit_code == 0
    earlier.save(path, est.result_)
    assert Card.of(path) == earlier and run("verify", path, *table).exit_code == 0
    assert Card.of(path).with_totals(est.total(frame), y * 1.0, 1.0 - y) == replace(est.card_, cut=earlier.cut)
