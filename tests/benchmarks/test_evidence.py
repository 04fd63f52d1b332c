"""The page of evidence: intervals and tests by hand, and what a page says of few splits."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from benchmarks.evidence.__main__ import main
from benchmarks.evidence.cells import Cell, all_cells, divided, is_planned, stat_of
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


def test_lists_are_divided_whole_and_three_splits_are_folds() -> None:
    qid = np.repeat(np.arange(10), 4)
    parts = [divided(np.zeros(40), qid, split) for split in range(3)]
    assert sorted(np.concatenate([held for _, held in parts]).tolist()) == list(range(40))
    for own, held in parts:
        assert not set(qid[own]) & set(qid[held]) and own.size + held.size == 40
    y = np.repeat([0, 1], [30, 6])
    own, held = divided(y, None, 0)
    assert y[held].sum() == 2 and sorted([*own, *held]) == list(range(36))


def test_what_was_not_planned_has_its_own_files_and_a_place_on_their_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = Cell("ohsumed", "xgboost", "ap", 0)
    assert not is_planned(cell) and Cell.of(cell.key) == cell and stat_of(cell) == "ap"
    assert stat_of(Cell("ohsumed", "xgboost", "ndcg", 0)) == "ndcg@10" and all(map(is_planned, all_cells()))
    asked = ["--data", str(tmp_path), "--stages", "xgboost", "--cells", str(tmp_path / "cells")]
    with pytest.raises(SystemExit):
        main(asked)
    assert "--page" in capsys.readouterr().err
    row = {"cell": cell.key, "stat": "ap", "first_stage": 0.5, "radius": 0.1}
    row |= {name: 0.5 for method in ("free", "anchored", "cv") for name in (method, f"{method}_seconds")}
    (tmp_path / "cells").write_text(json.dumps(row) + "\n")
    main([*asked, "--page", str(tmp_path / "page.md"), "--splits", "0"])
    told = (tmp_path / "page.md").read_text()
    assert "0 of 1200 cells, and 1 that were not planned" in told and "## Over xgboost" in told
    assert "| ohsumed, ap | 1 | 0.5 | +0.00 (0/0) |" in told and "| ap | +0.00 (" in told


def test_tuned_models_are_compared_on_the_splits_that_both_have() -> None:
    cells = [
        {"cell": Cell("german", "lightgbm", "auc", split).key, "first_stage": 0.5, "cv": 0.5 + 0.05 * split}
        for split in range(3)
    ]
    models = [{"cell": ["german", split], "auc": 0.6, "seconds": 2.0} for split in (0, 2, 7)]
    told = "\n".join(section([model | {"precision": 1.0, "dcg": 1.0} for model in models], cells))
    assert "| auc | 2 | +20.00 % (+20.00 to +20.00) | +10.00 % (+10.00 to +10.00) |" in told
    assert "| dcg |" not in told and "2.0 CPU seconds" in told
