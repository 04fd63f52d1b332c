"""``rerank fit`` with a radius, with folds that choose it, and with rows held out."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rerank import Reranker, load, plots
from rerank.cli import fitting
from rerank.cli.common import exit_code
from rerank.io import Table, read_table, write_csv
from rerank.ranks import evaluate
from rerank.reranker.files import model_file
from rerank.reranker.selection.options import RADII, SIMPLE
from tests.cases.mutants import signed
from tests.cli.commands import OPEN, answer, run


def written(weights, noise, cut, n):
    """A table of normal columns and a label in the folder of the test."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, len(weights)))
    y = (X @ weights + noise * rng.normal(size=n) > cut).astype(float)
    write_csv("table.csv", Table(X, y, None, None, tuple("abcde"[: len(weights)])), label="label")


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written([1, 0.5, 0.2], 1.0, 1.2, 240)


def fit(*options, code=OPEN):
    given = [] if {"--cv", "--guarded"} & {*options} else ["--free"]
    given += ["--label", "label", "--model", "m.json", "--stat", "precision@20", "--solver", "search"]
    options = [one for one in options if one != "--guarded"]
    return run("fit", "table.csv", *given, "--time-limit", 6, *options, code=code)


def seen_calls(monkeypatch, module, name, told):
    """What a function is called with, by what ``told`` says of its arguments."""
    seen, real = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given, **more: seen.append(told(given)) or real(*given, **more))
    return seen


def test_a_radius_and_its_file_verifies():
    found = answer(fit("--radius", 0.1, "--window", 2, "--margin", 0.05, "--json"))
    assert found["fitted_name"] == "window2@20" and found["epsilon"] == 0.05 and found["folds"] == 5
    assert any(note.startswith("Corrections") for note in found["notes"]) or found["status"] == "first_stage_kept"
    checked = run("verify", "m.json", "table.csv", "--label", "label", code=3)  # no proof was given
    assert "All that could be checked holds" in checked.output


def test_folds_choose_and_rows_are_held_out():
    chosen, held = answer(fit("--linear", "--cv", 3, "--holdout", 0.25, "--node-limit", 0, "--json"))["held_out"]
    assert "forest" not in chosen and all(f"radius {radius}" in chosen for radius in RADII if radius is not None)
    assert "free weights" in chosen and all(name in chosen for name in SIMPLE)
    assert "Counted for lists to come of 240 rows; list_length says how long they are." in chosen
    assert "The first stage is kept." in chosen or "Chosen (*)" in chosen
    assert held.startswith("Held out 60 rows: precision@20, as of a list of 240 rows: ")
    run("rank", "m.json", "table.csv")


def test_held_out_rows_choose_the_first_stage_too_unless_the_answer_is_to_be_linear():
    X = np.random.default_rng(0).normal(size=(400, 2))
    write_csv("table.csv", Table(X, (X[:, 0] * X[:, 1] > 0.8) + 0.0, None, None, ("a", "b")), label="label")
    quick = ("--cv", 2, "--stat", "auc", "--node-limit", 0, "--time-limit", 600)
    found = answer(fit(*quick, "--json", code=0))
    (taken,) = [note for note in found["notes"] if note.startswith("Taken: ")]
    lead = float(re.match(r"Taken: .*; ([+]\d*\.\d+) \+- .* of auc over logistic regression", taken)[1])
    best = load("m.json").result_.evidence
    assert lead == pytest.approx(best.leads[best.chosen], rel=0.01) and lead > 0.2
    assert run("verify", "m.json", "table.csv", "--label", "label", code=(0, 3)).stdout.count("FAILED") == 0
    assert answer(run("score", "m.json", "table.csv", "--label", "label", "--json"))["value"] > 0.9
    plain = answer(fit(*quick, "--linear", "--json", code=(0, 3)))
    assert "forest" not in plain["held_out"][0] and not any("Taken" in note for note in plain["notes"])
    assert "--linear stands for" in fit(*quick, "--linear", "--first-stage", "trees", code=2).stderr


def test_hits_are_counted_for_lists_of_the_length_that_was_asked():
    (chosen,) = answer(fit("--linear", "--cv", 2, "--node-limit", 0, "--list-length", 1000, "--json"))["held_out"]
    assert "Counted for lists to come of 1,000 rows" in chosen
    (chosen,) = answer(fit("--linear", "--cv", 2, "--node-limit", 0, "--stat", "precision@10%", "--json"))["held_out"]
    assert "Counted for" not in chosen and "precision@10%" in chosen


def test_a_column_of_scores_is_a_first_stage():
    assert answer(fit("--first-stage", "a", "--radius", 0.2, "--json"))["folds"] == 0


def test_rows_held_out_are_not_those_that_the_radius_was_chosen_by(monkeypatch):
    sizes = seen_calls(monkeypatch, fitting, "fitted", lambda given: len(given[1]))
    fit("--linear", "--cv", 2, "--holdout", 0.25, "--node-limit", 0)
    assert sizes == [240, 180]


def test_fit_draws_value_and_bound_over_time(monkeypatch):
    seen = seen_calls(monkeypatch, plots, "bound_over_time", lambda given: given[0])
    done = fit("--radius", 0.1, "--margin", 0.05, "--json", "--plot", "fit.png")
    assert Path("fit.png").read_bytes()[:4] == b"\x89PNG" and "Drawn to" in done.stderr
    ((name, course),) = seen[0].items()
    found = answer(done)
    assert name in ("search", "search, highs") and course[0].seconds >= 0 and course[0].value == -np.inf
    assert (course[-1].value, course[-1].bound) == (found["value"], found["bound"])
    assert (np.diff([now.seconds for now in course]) >= 0).all()
    assert (np.diff([now.value for now in course[1:]]) >= 0).all()
    assert (np.diff([now.bound for now in course]) <= 0).all() and course[0].bound > course[-1].bound


def test_fit_by_folds_draws_the_leads_of_all_options(monkeypatch):
    seen = seen_calls(monkeypatch, plots, "leads", lambda given: given[0])
    fit("--linear", "--cv", 2, "--plot", "leads.svg", "--node-limit", 0, "--time-limit", 600)
    assert len(seen) == 1 and {*SIMPLE, "radius 0.03"} < set(seen[0])
    assert "<svg" in Path("leads.svg").read_text()[:600]


@pytest.mark.filterwarnings("ignore:No order of the shortlist changes")
def test_a_fit_without_a_search_draws_nothing_and_says_so():
    done = fit("--candidates", 20, "--plot", "fit.pdf", code=3)
    assert not Path("fit.pdf").exists() and "Nothing was drawn" in done.stderr and "no part" in done.stderr


def test_a_first_stage_that_held_out_rows_keep_is_a_success_and_told_the_same_everywhere():
    written([1, 0, 0, 0, 0], 1.5, 1.0, 200)
    options = [
        "--stat",
        "auc",
        "--cv",
        3,
        "--safeguard",
        "inf",
        "--max-features",
        3,
        "--node-limit",
        1,
        "--time-limit",
        600,
    ]
    found = answer(fit(*options, "--json", code=0))  # rerank fit && rerank rank goes on
    assert found["status"] == "first_stage_kept"
    open_gap = replace(load("m.json").result_, bound=9.0)
    assert exit_code(open_gap) == 0 and exit_code(replace(open_gap, evidence=None)) == 3
    chosen = replace(open_gap.evidence, chosen=0, values=(0.7,) * 11, leads=(0.1,) * 11, errors=(0.01,) * 11)
    assert exit_code(replace(open_gap, status="feasible", evidence=chosen)) == 0
    untried = replace(open_gap.evidence, **dict.fromkeys(("values", "leads", "errors"), (None,) * 11))
    assert exit_code(replace(open_gap, evidence=untried)) == 3
    assert found["message"].startswith("The first stage is kept: no option that was tried on held-out")
    (told,) = found["held_out"]
    last = told.splitlines()[-1]
    assert last.startswith("The first stage is kept. safeguard=inf keeps")
    assert np.count_nonzero(load("m.json").coef_) == 3 == len(found["coef"])  # it ranks by no more
    assert last in " ".join(found["description"]["held_out"])
    printed, shown = fit(*options), fit(*options, "--details")
    assert last in printed.stdout and "Chosen" not in printed.stdout
    head = told.splitlines()[2]
    assert head in shown.stdout and head not in printed.stdout
    said = re.findall(r": auc (\S+) over the first stage on held-out rows,", printed.stderr)
    leads = load("m.json").result_.evidence.leads
    assert [float(lead) for lead in said] == pytest.approx(leads, rel=1e-3) and len(said) == 11
    assert "logistic+squares: auc " in printed.stderr and "over the first stage" in printed.stderr
    checked = run("verify", "m.json", "table.csv", "--label", "label", "--details").output
    assert "Everything stated holds" in checked and "settings.reranks" in checked
    assert "FAILED" not in checked
    wrong = json.loads(Path("m.json").read_text())
    wrong["result"]["bound"] = {"hex": (0.5).hex()}
    Path("w.json").write_text(json.dumps(signed(wrong)))
    run("verify", "w.json", "table.csv", "--label", "label", code=5)
    run("report", "m.json", "table.csv", "-o", "r.html")
    assert last.split(". ", 1)[1] in Path("r.html").read_text()


def test_label_words_of_a_model_are_checked_against_those_of_the_table():
    given = read_table("table.csv", label="label")
    words = np.where(given.y > 0, "dead", "alive")
    est = Reranker("precision@20", solver="search", node_limit=1, pos_label="dead").fit(given.X, words)
    frame = pd.DataFrame(given.X, columns=["x0", "x1", "x2"]).assign(label=words)
    frame.to_csv("words.csv", index=False)
    est.save("w.json")
    command = ["verify", "w.json", "words.csv", "--label", "label"]
    run(*command, code=3)  # without a proof of the bound
    body = model_file.to_dict(model_file.read("w.json"))
    pair = {"label_negative": "dead", "label_positive": "alive"}
    Path("w.json").write_text(json.dumps(signed(body | {"settings": body["settings"] | pair})))
    for more in ([], ["--pos-label", "dead"]):
        run(*command, *more, code=5)


def test_a_score_in_whole_numbers_beside_gaps_and_ids_is_compared_fairly():
    rng = np.random.default_rng(5)
    score, chance = rng.integers(0, 6, 400), rng.normal(size=400)
    y = (rng.random(400) < 0.1 + 0.08 * score).astype(int)
    gaps = np.where(rng.random(400) < 0.1, np.nan, rng.normal(size=400))
    numbers = 1000 + rng.permutation(400)
    frame = pd.DataFrame({"patient": numbers, "score": score, "chance": chance, "lab": gaps, "label": y})
    frame.to_csv("table.csv", index=False)
    options = ("--id", "patient", "--first-stage", "score")
    told = " ".join(fit("--guarded", *options).stdout.split())
    lost, even = (evaluate("precision@20", y, score, ties=ties) for ties in ("pessimistic", "average"))
    assert "Column score is kept" in told and "such as 'lab is missing'" in told
    assert f"it has {lost:.4g} so, and {even:.4g} on average" in told and "patient" not in told
    scored = run("score", "m.json", "table.csv", "--label", "label").stdout
    assert f"alone  {lost:.4g}, its rows of equal score as lost, and {even:.4g} on average" in scored
    run("report", "m.json", "table.csv", "--output", "r.html")
    assert f"{even:.4g}" in Path("r.html").read_text(encoding="utf-8")
    few = ("--label", "label", "--id", "patient")
    shown = " ".join(run("frontier", "table.csv", *few, "--most", 2, code=OPEN).stdout.split())
    assert "The best auc by" in shown and "counted as lost" not in shown and "patient" not in shown
    taken = answer(run("compare", "table.csv", *few, "--methods", "logistic", "--stat", "precision@20", "--json"))
    assert taken["take"] == "logistic"
