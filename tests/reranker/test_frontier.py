"""The best value by the number of columns: against a sweep of all directions, and what is said without time."""

import pickle
from itertools import combinations

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")

from rerank import Reranker, load
from rerank.ranks import evaluate
from rerank.reranker.selection import frontier as module
from rerank.reranker.selection.folds import splits_of
from rerank.statistics import InLists, parse
from tests.cases.drawn import drawn
from tests.cases.refuses import refuses
from tests.cases.stopped import interrupt
from tests.cli.commands import OPEN, answer, run

STATS = ("auc", "dcg@4", "precision@5", "mrr")


def grid(seed, n=16, d=4):
    """Small whole numbers, so that every order of rows has weights with a wide margin."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, d)).astype(float)
    y = (X @ rng.normal(size=d) + rng.normal(size=n) > np.median(X.sum(axis=1)) / 4).astype(int)
    y[:2] = 0, 1
    return X, y


def swept(stat, X, y, columns, ties="pessimistic"):
    """The largest value of scores on one or two columns: one direction inside each sector of equal order."""
    A = X[:, list(columns)]
    if len(columns) == 1:
        scores = [A[:, 0], -A[:, 0]]
    else:
        away = (A[:, None] - A[None]).reshape(-1, 2)
        away = away[np.any(away != 0, axis=1)]
        ends = np.unique(np.round(np.arctan2(away[:, 0], -away[:, 1]) % (2 * np.pi), 12))
        middles = (ends + np.append(ends[1:], ends[0] + 2 * np.pi)) / 2
        scores = [A @ [np.cos(angle), np.sin(angle)] for angle in middles]
    return max(evaluate(stat, y, np.round(one, 9), ties=ties) for one in scores)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("stat", STATS)
def test_one_and_two_columns_have_the_value_of_a_sweep(stat, seed):
    X, y = grid(seed)
    first, second = Reranker(stat).frontier(2, X, y, folds=None).table
    for row, size in ((first, 1), (second, 2)):
        sets = [columns for k in range(1, size + 1) for columns in combinations(range(4), k)]
        best = max(swept(stat, X, y, columns) for columns in sets)
        assert row["columns"] == size
        if stat == "auc":  # the best with ties as lost, shown with a tied pair as one half, and the bound of that
            most = max(swept(stat, X, y, columns, "average") for columns in sets)
            assert best - 1e-9 <= row["value"] <= most + 1e-9 and row["bound"] == pytest.approx(most, abs=1e-6)
            names = [int(name[1:]) for name in row["names"]]
            assert swept(stat, X, y, names) <= best + 1e-9 and row["proved"] == (abs(row["value"] - most) < 1e-6)
            continue
        assert row["value"] == pytest.approx(best, abs=1e-9) and row["proved"]
        assert row["bound"] == pytest.approx(best, abs=1e-6)
        named = tuple(int(name[1:]) for name in row["names"])
        assert len(named) <= size and swept(stat, X, y, named) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("options", [{}, {"radius": 0.5}, {"positive": True}, {"C": 0.01}, {"normalise": "sum"}])
def test_values_and_bounds_never_fall_with_the_size(options):
    X, y = drawn(80, 6, seed=2)
    steps = Reranker("dcg@10", **options).frontier(4, X, y, folds=None, time_limit=4.0).steps
    values, bounds = [one.value for one in steps], [one.bound for one in steps]
    assert values == sorted(values) and bounds == sorted(bounds) and len(steps) == 4
    assert all(value <= bound for value, bound in zip(values, bounds))
    assert all(len(one.names) <= one.size for one in steps)
    stage = "logistic" if "radius" in options else None
    alone = Reranker("dcg@10", **options, first_stage=stage, solver="search", max_features=1).fit(X, y).result_
    assert steps[0].value == pytest.approx(alone.value, abs=1e-9) and steps[0].proved


def test_held_out_values_are_of_columns_chosen_without_the_fold():
    X, y = drawn(90, 4, seed=1)
    for stat, statistic in (("auc", None), ("dcg@10", InLists(parse("dcg@10"), 90))):
        found = Reranker(stat).frontier(2, X, y)
        for step in found.steps:
            values = []
            for split in splits_of(X, y > 0, None, 5, 1, 0):
                est = Reranker(
                    stat,
                    first_stage=None,
                    solver="search",
                    node_limit=0,
                    max_features=step.size,
                    list_length=None if stat == "auc" else 90,
                )
                scores = est.fit(X[split.train], y[split.train]).decision_function(X[split.test])
                unit = 1.0 if stat == "auc" else 90 / split.test.size
                values.append(unit * evaluate(statistic or stat, y[split.test], scores, ties="pessimistic"))
            assert step.held_out == pytest.approx(np.mean(values), abs=1e-9)
            assert step.error == pytest.approx(np.std(values, ddof=1) / np.sqrt(5), abs=1e-9)
        assert found.held_out_by == "5 folds, each with its own columns" and "On held-out rows" in str(found)


def test_without_rows_it_is_of_the_rows_of_the_fit(tmp_path):
    X, y = drawn(60, 3)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(word=np.where(X[:, 1] > 0, "up", "down"))
    est = Reranker("auc", solver="search", max_features=1).fit(table, y)  # what it found does not matter
    own, other = est.frontier(2), Reranker("auc").frontier(2, table, y)
    assert [one.value for one in own.steps] == [one.value for one in other.steps]
    assert own.steps[0].names == ("a",) and [one.held_out for one in own.steps] == [one.held_out for one in other.steps]
    est = Reranker("auc", solver="search").fit(X, y)
    est.save(tmp_path / "m.json")
    for lost in (load(tmp_path / "m.json"), pickle.loads(pickle.dumps(est))):
        refuses("pass X and y, the rows of the fit", lost.frontier)
        assert lost.frontier(1, X, y, folds=None).steps[0].value == own.steps[0].value


@pytest.mark.parametrize("stat", ["auc", "ap"])
def test_a_bound_stays_open_where_the_time_ends(stat):
    X, y = drawn(300, 12, seed=3)
    found = Reranker(stat).frontier(3, X, y, folds=None, time_limit=0.5)
    assert not found.proved and found.steps[-1].bound > found.steps[-1].value and not found.steps[-1].proved
    bounds = [cell[2] for cell in found.parts()[1].cells[1:]]
    assert bounds[-1] != "proved" and float(bounds[-1]) >= found.steps[-1].bound - 1e-9
    nothing = Reranker(stat).frontier(2, X, y, time_limit=0.0)
    assert [row["value"] for row in nothing.table] == [row["bound"] for row in nothing.table] == [None, None]
    assert "not tried" in str(nothing) and "+0" not in str(nothing)


def test_what_was_found_is_kept_after_an_interrupt(monkeypatch):
    X, y = drawn(60, 3)
    calls, solve = [], module.best_weights

    def stopped(*given):
        calls.append(given)
        if len(calls) == 4:  # in the second fit, after its first points
            interrupt()
        return solve(*given)

    monkeypatch.setattr(module, "best_weights", stopped)
    found = Reranker("auc").frontier(3, X, y)
    first, second, third = found.steps
    assert first.proved and not second.proved and second.value >= first.value and second.why == ""
    assert third.value == second.value and third.bound == np.inf and "interrupted" in third.why
    assert not found.held_out_by and "On held-out rows" not in str(found)


def test_the_picture_shows_value_bound_and_held_out_rows():
    X, y = drawn(60, 3)
    ax = Reranker("auc").frontier(2, X, y).plot()
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"training rows", "held-out rows", "bound"}
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2"]
    ax.figure.canvas.draw()


def test_the_command_prints_columns_or_questions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = drawn(80, 3)
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(word="up", hit=y).to_csv("data.csv", index=False)
    common = ["frontier", "data.csv", "--label", "hit", "--most", 2]
    done = run(*common, "--plot", "a.png")
    assert "a, c" in done.stdout.replace("a, b", "a, c") and (tmp_path / "a.png").stat().st_size > 1000
    body = answer(run(*common, "--json"))
    own = Reranker("auc").frontier(2, X, y)
    assert [step["value"] for step in body["steps"]] == [one.value for one in own.steps] and body["proved"]
    cards = answer(run(*common, "--questions", "--json"))
    assert cards["unit"] == "question" and [step["questions"] for step in cards["steps"]] == [1, 2]
    assert run(*common, "--time-limit", 0, code=3).stdout.count("not tried") == 2
    assert run(*common, "--questions", "--groups", "word", code=2).stdout == ""
    assert run(*common, "--time-limit", 5, "--stat", "auc", code=OPEN).exit_code in OPEN
