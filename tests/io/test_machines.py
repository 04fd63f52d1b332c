"""Made-up machines: the same for the same seed, and failing as often as their description says."""

import numpy as np
import pytest

from rerank import datasets
from rerank.io.machines import HOT, SENSORS, WORN
from tests.cases.refuses import refuses


def test_the_same_seed_gives_the_same_machines_and_others_give_others():
    one, again, other = (datasets.machines(50, seed) for seed in (3, 3, 4))
    assert np.array_equal(one.X, again.X) and np.array_equal(one.y, again.y)
    assert not np.array_equal(one.X, other.X)
    assert one.feature_names == tuple(SENSORS) and one.X.shape == (50, len(SENSORS))


def test_few_hot_machines_fail_mostly_and_worn_ones_seldom():
    table = datasets.machines(400_000, 0)
    Z = (table.X - [mean for mean, _ in SENSORS.values()]) / [deviation for _, deviation in SENSORS.values()]
    hot = (Z[:, 2] + Z[:, 3]) / 2**0.5 > 2.9
    worn = (Z[:, 0] + Z[:, 1] > 2.0) & (Z[:, 2] + Z[:, 3] < 0.0)
    assert 0.8 * HOT < table.y[hot].mean() < HOT + 0.05 and hot.mean() < 0.01
    assert 0.8 * WORN < table.y[worn].mean() < WORN + 0.005 and worn.mean() > 0.03
    assert 0.04 < table.y.mean() < 0.07


def test_one_way_to_fail_has_linear_log_odds():
    table = datasets.machines(400_000, 1, ways=1)
    Z = (table.X - [mean for mean, _ in SENSORS.values()]) / [deviation for _, deviation in SENSORS.values()]
    for low, high in ((-1.0, 0.0), (1.0, 1.2), (2.0, 2.2)):
        log_odds = 0.8 * (Z[:, 0] + Z[:, 1] + (Z[:, 2] + Z[:, 3]) / 2**0.5)
        here = (log_odds > low) & (log_odds < high)
        expected = 1.0 / (1.0 + np.exp(3.8 - log_odds[here]))
        assert table.y[here].mean() == pytest.approx(expected.mean(), rel=0.1)


def test_other_ways_to_fail_are_refused():
    refuses("1 or 2", datasets.machines, 5, 0, ways=3)
