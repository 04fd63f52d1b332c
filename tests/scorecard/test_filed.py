"""A file of a card is verified: its totals, value and proof from the rows of the fit, and each forgery is named."""

import json

import numpy as np
import pandas as pd
import pytest

from rerank import verify
from rerank.io import Table
from rerank.scorecard import Scorecard, files
from tests.cases.refuses import refuses
from tests.cli.commands import answer, run, words

OPTIONS = {"n_questions": 2, "points": (1, 3), "must": "x0", "constraints": "sensitivity >= 0.4", "cut": "top 40%"}


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(7)
    X = rng.integers(0, 4, (90, 4)).astype(float)
    y = (X[:, 0] + X[:, 1] + rng.normal(size=90) * 2 > 4).astype(float)
    est = Scorecard(**OPTIONS, validation=None, thresholds={"x2": [1.5]}, signs={"x1": 1}).fit(X, y)
    return est, Table(X, y, None, None, ("x0", "x1", "x2", "x3"))


def forged(path, est, change, signed=True):
    body = json.loads(est.card_.to_json(est.result_))
    del body["digest"]
    change(body)
    path.write_text(json.dumps(body | ({"digest": files._digest(body)} if signed else {})))
    return path


def fit_of(**more):
    return lambda body: body["fit"].update(more)


def total_of(**more):
    return lambda body: body["totals"][0].update(more)


def asked_of(**more):
    return lambda body: body["fit"]["asked"].update(more)


def test_a_true_file_holds_and_so_does_the_estimator(made, tmp_path):
    est, table = made
    est.card_.save(tmp_path / "card.json", est.result_)
    for card in (tmp_path / "card.json", est):
        report = verify(card, table)
        assert report.complete and "fit.bound" in [one.name for one in report.checks]
    alone = verify(tmp_path / "card.json", without_data=True)
    assert alone.holds and not alone.complete
    refuses("--without-data", verify, tmp_path / "card.json")
    other = Table(table.X, 1 - table.y, None, None, table.feature_names)
    assert not verify(est, other).holds


@pytest.mark.parametrize(
    ("entry", "change"),
    [
        ("fit.value", fit_of(value=0.99, bound=0.99)),
        ("fit.bound", fit_of(bound=0.1)),
        ("fit.status", fit_of(bound=0.99)),
        ("totals.risk", total_of(risk=0.999, high=1.0)),
        ("totals", total_of(relevant=1.0)),
        ("fit.value", lambda body: body["questions"][0].update(points=1, value=0.5)),
        ("cut", lambda body: body.update(cut=-50)),
        ("fit.bound", asked_of(n_questions=4)),
        ("fit.asked.lists", asked_of(lists=2)),
    ],
)
def test_a_forged_entry_is_named(made, tmp_path, entry, change):
    est, table = made
    report = verify(forged(tmp_path / "card.json", est, change), table)
    assert entry in [one.name for one in report.checks if not one.holds]


def test_a_file_of_earlier_versions_leaves_the_bound_open(made, tmp_path):
    est, table = made
    path = forged(tmp_path / "card.json", est, lambda body: body["fit"].pop("asked"), signed=False)
    report = verify(path, table)
    assert report.holds and "fit.bound" in [one.name for one in report.not_looked_at if one.open]
    assert any("no digest" in remark for remark in report.remarks)


def test_the_value_of_a_file_is_that_of_weighted_rows_in_lists(tmp_path):
    rng = np.random.default_rng(3)
    X, y, qid = rng.integers(0, 3, (60, 3)).astype(float), rng.integers(0, 2, 60), np.repeat(["a", "b"], 30)
    weight = rng.integers(1, 9, 60) / 4
    for stat, lists in (("auc", None), ("dcg@5", None), ("ndcg@5", qid)):
        est = Scorecard(stat, 2, 2, validation=None).fit(X, y, lists, sample_weight=weight)
        report = verify(est, Table(X, y.astype(float), lists, None, ("x0", "x1", "x2"), sample_weight=weight))
        assert report.complete
        assert verify(est, without_data=True).holds


def test_commands_verify_a_card_and_say_what_its_totals_contradict(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": rng.integers(20, 80, 120), "sex": rng.choice(["m", "f"], 120), "zip": rng.integers(1, 4, 120)}
    )
    frame["kind"] = rng.choice(["A", "B"], 120)
    died = frame["age"] + 20 * (frame["sex"] == "m") + rng.normal(size=120) * 15 > 70
    frame.assign(died=np.where(died, "yes", "no")).to_csv("old.csv", index=False)
    how = ("--texts", "zip", "--people", "kind", "--constraint", "flagged gap <= 0.9", "--cut", "top 50%")
    short = ("--questions", 2, "--points", 2, "--validation", 3)
    run("card", "fit", "old.csv", "--label", "died", "--pos-label", "yes", *how, *short, "-o", "card.json")
    body = answer(run("verify", "card.json", "old.csv", "--json"))
    assert body["complete"] and "fit.bound" in [one["name"] for one in body["checks"]]
    run("verify", "card.json", "old.csv", "--pos-label", "no", code=5)
    run("verify", "card.json", "--without-data", code=3)
    run("verify", "card.json", "old.csv", "--proof", "x.proof", code=2)
    card = json.loads((tmp_path / "card.json").read_text())
    card["fit"] |= {"value": 0.99, "bound": 0.99}
    (tmp_path / "bad.json").write_text(json.dumps({key: one for key, one in card.items() if key != "digest"}))
    run("verify", "bad.json", "old.csv", code=5)
    shown = run("card", "show", "bad.json")
    assert "its own totals make" in words(shown.stdout) and "proved" not in shown.stdout
    assert "no digest" in shown.stderr
    said = run("card", "report", "bad.json", "old.csv", "--label", "died", "--pos-label", "yes")
    assert "its own totals make" in said.stderr and "its own totals make" in (tmp_path / "report.html").read_text()
