"""The page of evidence: intervals and tests by hand, and what a page says of few splits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from benchmarks.evidence.cells import Cell, all_cells
from benchmarks.evidence.page import better_at, holm, page, pooled, summary
from benchmarks.evidence.tuning import section


def test_a_summary_is_the_corrected_t_test() -> None:
    leads = [1.0, 3.0, -1.0, 2.0]
    mean, half, less, more = summary(leads)
    error = math.sqrt((1 / 4 + 1 / 2) * np.var(leads, ddof=1))  # splits share rows: Nadeau and Bengio (2003)
    assert mean == 1.25 and half == pytest.approx(3.182446 * error)
    assert less + more == pytest.approx(1) and more < 0.5 < less
    assert summary([-x for x in leads])[2:] == pytest.approx((more, less))


@pytest.mark.parametrize("leads", [[2.0], [0.0, 0.0], [1.0, 1.0]])
def test_what_has_no_spread_tests_nothing(leads: list[float]) -> None:
    assert summary(leads)[2:] == (1.0, 1.0)


def test_holm_goes_on_until_the_first_that_fails() -> None:
    assert holm({"a": 0.01, "b": 0.02, "c": 0.04, "d": 0.9}) == {"a"}  # .01 <= .05 / 4, .02 > .05 / 3
    assert holm({"a": 0.001, "b": 0.016, "c": 0.024, "d": 0.9}) == {"a", "b", "c"}
    assert holm({"a": 0.5}) == set()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_a_false_discovery_rate_is_that_of_scipy(p: list[float]) -> None:
    named = {str(k): one for k, one in enumerate(p)}
    adjusted = false_discovery_control(p)
    assert set(better_at(named, 0.2)) == {str(k) for k, one in enumerate(adjusted) if one <= 0.2}


def test_an_interval_over_tables_holds_their_mean() -> None:
    mean, low, high = pooled({"a": 1.0, "b": -1.0, "c": 3.0})
    assert mean == 1.0 and -1.0 <= low < mean < high <= 3.0


def test_cells_come_split_by_split_and_a_page_has_one_line_for_each_kind() -> None:
    cells = list(all_cells(2))
    assert len({cell.key for cell in cells}) == len(cells) and [cell.split for cell in cells] == sorted(
        cell.split for cell in cells
    )
    lead = {"free": -1.0, "anchored": 1.0, "cv": 0.0}
    rows = [
        {
            "cell": Cell("german", "logistic", "dcg", split).key,
            "stat": "dcg@30",
            "first_stage": 10.0,
            "radius": 0.0,
        }
        | {method: 10.0 + by * (1 + split) for method, by in lead.items()}
        | {f"{method}_seconds": 1.0 for method in lead}
        for split in range(2)
    ]
    one, two = page(rows[:1], "head"), page(rows, "head")
    assert "| german, dcg@30 | 1 | 10 | -10.00 (0/1) | +10.00 (1/0) | +0.00 (0/0) | 100% |" in one
    assert "-15.00 +- " in two and "(0/2)" in two and one.startswith("head\n")
    assert "- cv: worse than its first stage after Holm's correction in 0 of 1 cells; better at a false" in one
    assert "| dcg | -10.00 (-10.00 to -10.00) | +10.00 (+10.00 to +10.00) | +0.00 (+0.00 to +0.00) |" in one
    assert "three radii" not in one  # the narrow and the wide one are missing
    wide = [row | {"narrow": 12.0, "wide": 9.0} for row in rows[:1]]
    both = page([rows[0], rows[0] | {"cell": "german/logistic/auc/0", "cv": 12.0}], "head")
    assert "| dcg, auc | -10.00 (-10.00 to -10.00) | +10.00 (+10.00 to +10.00) | +10.00 (+10.00 to +10.00) |" in both
    missed = "cv leads logistic in the mean of all tables by a number above 0: missed, +0.00 % (+0.00 to +0.00)."
    assert missed in one and "in no cell after Holm's correction: reached." in one and "cv leads lightgbm" not in one
    assert "above 0: reached, +10.00 % (+10.00 to +10.00)." in both
    kept = "0.3 by -10.00 %. The best of 0 and these in each cell, known only afterwards, leads by +20.00 %, cv by +0."
    assert kept in page(wide, "head") and "it keeps nothing of that lead" in page(wide, "head")
    half = [wide[0] | {"cv": 11.0}]
    assert "it keeps 50% of that lead" in page(half, "head")


def test_tuned_models_are_compared_on_the_splits_that_both_have() -> None:
    cells = [
        {"cell": Cell("german", "lightgbm", "auc", split).key, "first_stage": 0.5, "cv": 0.5 + 0.05 * split}
        for split in range(3)
    ]
    models = [{"cell": ["german", split], "auc": 0.6, "seconds": 2.0} for split in (0, 2, 7)]
    told = "\n".join(section([model | {"precision": 1.0, "dcg": 1.0} for model in models], cells))
    assert "| auc | 2 | +20.00 % (+20.00 to +20.00) | +10.00 % (+10.00 to +10.00) |" in told
    assert "| dcg |" not in told and "2.0 CPU seconds" in told
