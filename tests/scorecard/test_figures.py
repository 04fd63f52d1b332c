"""What a validator asks of a card: each figure against its definition written down again."""

import math

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.metrics import roc_auc_score

from rerank.scorecard import Card, Scorecard, figures
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


def test_intervals_by_refits_hold_the_risk_are_wider_and_are_kept(made, tmp_path):
    est, frame, y = made
    plain = est.card_.with_totals(est.total(frame), y * 1.0, 1.0 - y)
    low, high = est.card_.spread
    assert low <= -1.959 and high >= 1.959 and plain.spread is None
    assert all(one.low <= one.risk <= one.high for one in est.card_.totals)
    wide, narrow = (np.mean([one.high - one.low for one in card.totals]) for card in (est.card_, plain))
    assert wide > narrow and "count that these rows chose the card" in str(est) and "do not count" in str(plain)
    est.card_.save(tmp_path / "card.json", est.result_)
    assert Card.of(tmp_path / "card.json") == est.card_
