"""The page of fusion: intervals by another tool, and what its lines say."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from benchmarks.fusion.methods import METHODS as MEASURED
from benchmarks.fusion.page import METHODS, interval, leads, page


def rows(folds: int = 3) -> list[dict]:
    found = []
    for fold in range(folds):
        row: dict = {name: {"ndcg": 0.5 + 0.01 * fold, "seconds": 1.0} for name in (*METHODS, "RRF")}
        row["guarded"] |= {"ndcg": 0.51 + 0.02 * fold, "kept": fold == 0}
        row["free"] |= {"gap": 0.0 if fold else 0.1, "value": 0.6}
        found.append({"cell": ["mq2007agg", 3, 20, fold, 0], **row})
    return found


def test_an_interval_is_that_of_a_t_test() -> None:
    values = np.array([0.1, 0.3, -0.2, 0.4])
    mean, half, p = interval(values)
    test = ttest_1samp(values, 0.0, alternative="less")
    low, high = ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert (mean - half, mean + half) == pytest.approx((low, high)) and p == pytest.approx(test.pvalue)
    assert interval(np.array([0.0, 0.0]))[1:] == (0.0, 1.0)


def test_a_line_has_the_mean_lead_of_each_method() -> None:
    made = rows()
    assert leads(made, ("mq2007agg", 3, 20), "guarded").tolist() == pytest.approx([0.01, 0.02, 0.03])
    text = page(made)
    assert "## MQ2007-agg, 3 runs" in text and ", 2 runs" not in text and "OHSUMED, " not in text
    assert "| 20 | 0.510 | +0.020 +- 0.025 | +0.000 +- 0.000 |" in text and "| 1 of 3 | 2 of 3 |" in text
    assert "below RRF after Holm's correction in 0 of 1 cells; its mean lead over all cells is +0.0200." in text


def test_all_that_is_measured_is_shown() -> None:
    assert set(METHODS) == set(MEASURED) - {"RRF"}
