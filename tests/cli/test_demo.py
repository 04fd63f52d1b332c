"""The demonstration says what is so: its numbers are recomputed here from the shipped data."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from rerank import datasets
from rerank.cli import app, demo
from rerank.cli.demo_text import closing, print_demo
from rerank.ranks import evaluate


@pytest.fixture(scope="module")
def shown():
    return demo.run(time_limit=20, splits=2)


def test_the_fit_is_proved_and_neither_ideal_nor_trivial(shown):
    result = shown.result
    assert result.status == "optimal" and result.bound_source == "search"
    assert result.bound < shown.ideal - 1e-6, "the ideal list must not be reachable"
    assert result.nodes > 1, "the bound must take some proving"
    assert result.statistic > result.first_stage_statistic
    assert len(shown.weights) <= demo.FEATURES


def test_lists_and_held_out_rows_are_those_of_the_data(shown):
    table = datasets.load(demo.DATA)
    train, test = demo.thirds(table, 0)
    assert np.intersect1d(train, test).size == 0 and train.size + test.size == len(table)
    assert abs(table.y[train].mean() - table.y[test].mean()) < 0.01
    assert (shown.n_train, shown.n_held_out) == (train.size, test.size)
    hits = [len(found) for found in shown.hits]
    assert hits == [shown.result.first_stage_statistic, shown.result.statistic]
    for place, row in enumerate(shown.after, start=1):
        if row.relevant:
            assert place in shown.hits[1]
    score = table.X[train] @ [shown.weights.get(name, 0.0) for name in table.feature_names]
    assert evaluate(demo.STAT, table.y[train], score) <= shown.result.statistic + 1e-9


def test_a_worse_result_on_held_out_rows_is_called_worse(shown):
    from dataclasses import replace

    for after, word in ((3.0, "worse"), (9.0, "better"), (5.0, "the same")):
        text = " ".join(closing(replace(shown, held_out=(5.0, after))))
        assert f"exact order: {word}." in text


def test_it_prints_and_speaks_json(shown, monkeypatch, capsys):
    print_demo(shown)
    text = " ".join(capsys.readouterr().out.split())
    for word in ("first stage", "exact reranking", "bound", "Held out", "CC BY 4.0", "proved by"):
        assert word in text
    monkeypatch.setattr(demo, "run", lambda **options: shown)
    done = CliRunner().invoke(app, ["demo", "--json"])
    assert done.exit_code == 0 and json.loads(done.stdout)["result"]["proved"]
