"""The demonstration says what is so: its numbers are recomputed here from the machines."""

import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from rerank import datasets
from rerank.cli import app, demo
from rerank.cli.demo import opening, to_come


@pytest.fixture(scope="module")
def shown():
    return SimpleNamespace(**dict(zip(("pays", "kept"), demo.cases(time_limit=40))))


def test_the_guard_takes_a_correction_where_it_pays_and_none_where_there_is_none(shown):
    pays, kept = shown.pays, shown.kept
    assert not pays.kept and np.flatnonzero(pays.result.weights).size
    mean, half = pays.lead
    assert mean - half > 0, "the lead on lists to come is clear"
    assert kept.kept and np.array_equal(kept.first, kept.ours)


@pytest.mark.parametrize("ways", [1, 2])
def test_hits_of_the_first_stage_are_those_of_a_plain_logistic_regression(shown, ways):
    case = {2: shown.pays, 1: shown.kept}[ways]
    table = datasets.machines(demo.ROWS, demo.SEED, ways)
    plain = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8, max_iter=1000)).fit(table.X, table.y)
    assert (case.n_rows, case.n_failed) == (len(table), table.y.sum())
    for number in range(3):
        later = datasets.machines(demo.ROWS, demo.TO_COME + number, ways)
        top = np.argsort(-plain.decision_function(later.X))[: demo.TOP]
        assert abs(later.y[top].sum() - case.first[number]) <= 1  # a row at the cut
    leads = case.ours - case.first
    mean, half = case.lead
    assert mean == pytest.approx(leads.mean())
    assert half == pytest.approx(demo.STUDENT * leads.std(ddof=1) / len(leads) ** 0.5)


def test_lists_side_by_side_hold_the_same_rows_and_their_places(shown):
    before, after = shown.pays.before, shown.pays.after
    for place, row in enumerate(before, start=1):
        if row.other <= demo.PLACES:
            assert after[row.other - 1].name == row.name and after[row.other - 1].other == place


def test_a_worse_result_on_lists_to_come_is_called_worse(shown):
    first = shown.pays.first
    jumps = np.resize([0, 2, -2], first.size)
    for shift, word in ((-9, "worse"), (9, "better"), (0, "no difference can be told")):
        text, others = to_come(replace(shown.pays, ours=first + shift + jumps))
        assert text.endswith(f": {word}.") and all(name in others for name in demo.SIMPLE)


def test_it_prints_and_speaks_json(shown, monkeypatch):
    told = []

    def fitted(*given):
        for case in (shown.pays, shown.kept):
            told.append(sys.stdout.buffer.getvalue().decode())
            yield case

    monkeypatch.setattr(demo, "cases", fitted)
    done = CliRunner().invoke(app, ["demo"])
    assert done.exit_code == 0, done.output
    text = " ".join(done.stdout.split())
    before, between = (" ".join(each.split()) for each in told)  # what was on the screen when each fit began
    assert before == opening() and text.startswith(between) and "lists to come" in between
    assert "Where the first stage is right" in text and "Where the first stage is right" not in between
    said = ("first stage", "corrected", "the new order finds", "lists to come", "The first stage is kept")
    for word in said:
        assert word in text
    done = CliRunner().invoke(app, ["demo", "--json"])
    said = json.loads(done.stdout)
    assert done.exit_code == 0 and len(said["pays"]["lists_to_come"]["logistic+squares"]) == 50
    for case in said.values():
        assert len(case["result"]["evidence"]["options"]) <= 5, "few options, so that it takes seconds"
