"""``rerank fit`` with a radius, with folds that choose it, and with rows held out."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from rerank import Reranker, load
from rerank.cli import app
from rerank.cli.common import exit_code
from rerank.io import read_table
from rerank.reranker.files import model_file
from rerank.reranker.selection.options import RADII, SIMPLE
from tests.cases.mutants import signed

RUN = CliRunner()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    y = (X @ [1, 0.5, 0.2] + rng.normal(size=240) > 1.2).astype(int)
    path = tmp_path_factory.mktemp("data") / "table.csv"
    rows = [",".join(map(repr, map(float, row))) + f",{label}" for row, label in zip(X, y)]
    path.write_text("a,b,c,label\n" + "\n".join(rows) + "\n")
    return path


def fit(table, tmp_path, *options):
    given = ["fit", str(table), "--label", "label", "--model", str(tmp_path / "m.json"), "--stat", "precision@20"]
    return RUN.invoke(app, [*given, "--solver", "search", "--time-limit", "6", *options])


def test_a_radius_and_its_file_verifies(table, tmp_path):
    done = fit(table, tmp_path, "--radius", "0.1", "--window", "2", "--margin", "0.05", "--json")
    assert done.exit_code in (0, 3), done.output
    found = json.loads(done.stdout)
    assert found["fitted_name"] == "window2@20" and found["epsilon"] == 0.05 and found["folds"] == 5
    assert any(note.startswith("Corrections") for note in found["notes"]) or found["status"] == "first_stage_kept"
    checked = RUN.invoke(app, ["verify", str(tmp_path / "m.json"), str(table), "--label", "label"])
    assert checked.exit_code == 3 and "All that could be checked holds" in checked.output  # no proof was given


def test_folds_choose_and_rows_are_held_out(table, tmp_path):
    done = fit(table, tmp_path, "--cv", "3", "--holdout", "0.25", "--json")
    assert done.exit_code in (0, 3), done.output
    chosen, held = json.loads(done.stdout)["held_out"]
    assert all(f"radius {radius}" in chosen for radius in RADII if radius is not None)
    assert "free weights" in chosen and all(name in chosen for name in SIMPLE)
    assert "Counted for lists to come of 240 rows; list_length says how long they are." in chosen
    assert "The first stage is kept." in chosen or "Chosen (*)" in chosen
    assert held.startswith("Held out 60 rows: precision@20, as of a list of 240 rows: ")
    assert RUN.invoke(app, ["rank", str(tmp_path / "m.json"), str(table)]).exit_code == 0


def test_hits_are_counted_for_lists_of_the_length_that_was_asked(table, tmp_path):
    done = fit(table, tmp_path, "--cv", "3", "--list-length", "1000", "--json")
    assert done.exit_code in (0, 3), done.output
    (chosen,) = json.loads(done.stdout)["held_out"]
    assert "Counted for lists to come of 1,000 rows" in chosen
    share = fit(table, tmp_path, "--cv", "3", "--stat", "precision@10%", "--json")
    (chosen,) = json.loads(share.stdout)["held_out"]
    assert "Counted for" not in chosen and "precision@10%" in chosen


def test_a_column_of_scores_is_a_first_stage(table, tmp_path):
    done = fit(table, tmp_path, "--first-stage", "a", "--radius", "0.2", "--json")
    assert done.exit_code in (0, 3), done.output
    assert json.loads(done.stdout)["folds"] == 0


def test_rows_held_out_are_not_those_that_the_radius_was_chosen_by(table, tmp_path, monkeypatch):
    from rerank.cli import fitting

    sizes, real = [], fitting.chosen

    def chosen(est, rows, *rest):
        sizes.append(len(rows))
        return real(est, rows, *rest)

    monkeypatch.setattr(fitting, "chosen", chosen)
    fit(table, tmp_path, "--cv", "2", "--holdout", "0.25")
    assert sizes == [240, 180]


def test_fit_draws_value_and_bound_over_time(table, tmp_path, monkeypatch):
    from rerank import plots

    seen, real = [], plots.bound_over_time
    monkeypatch.setattr(plots, "bound_over_time", lambda traces, **rest: seen.append(traces) or real(traces, **rest))
    picture = tmp_path / "fit.png"
    done = fit(table, tmp_path, "--radius", "0.1", "--margin", "0.05", "--json", "--plot", str(picture))
    assert done.exit_code in (0, 3), done.output
    assert picture.read_bytes()[:4] == b"\x89PNG" and "Drawn to" in done.stderr
    ((name, course),) = seen[0].items()
    found = json.loads(done.stdout)
    assert name == "search" and course[0].seconds == 0 and course[0].incumbent == -np.inf
    assert (course[-1].incumbent, course[-1].bound) == (found["value"], found["bound"])
    assert (np.diff([now.seconds for now in course]) >= 0).all()
    assert (np.diff([now.incumbent for now in course[1:]]) >= -1e-12).all()
    # What is stated in the end has the search's allowance for rounding in it.
    assert (np.diff([now.bound for now in course]) <= 1e-9).all() and course[0].bound > course[-1].bound


def test_fit_by_folds_draws_the_leads_of_all_options(table, tmp_path, monkeypatch):
    from rerank import plots

    seen, real = [], plots.leads
    monkeypatch.setattr(plots, "leads", lambda names, *rest, **more: seen.append(names) or real(names, *rest, **more))
    picture = tmp_path / "leads.svg"
    done = fit(table, tmp_path, "--cv", "2", "--plot", str(picture))
    assert done.exit_code in (0, 3), done.output
    assert len(seen) == 1 and {*SIMPLE, "radius 0.03"} < set(seen[0])
    assert "<svg" in picture.read_text()[:600]


@pytest.mark.filterwarnings("ignore:No order of the shortlist changes")
def test_a_fit_without_a_search_draws_nothing_and_says_so(table, tmp_path):
    picture = tmp_path / "fit.pdf"
    done = fit(table, tmp_path, "--candidates", "20", "--plot", str(picture))
    assert done.exit_code == 3, done.output
    assert not picture.exists() and "Nothing was drawn" in done.stderr and "no part" in done.stderr


def test_a_first_stage_that_held_out_rows_keep_is_a_success_and_told_the_same_everywhere(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = (X[:, 0] + 1.5 * rng.normal(size=200) > 1).astype(int)
    table = tmp_path / "t.csv"
    rows = [",".join(map(repr, map(float, row))) + f",{label}" for row, label in zip(X, y)]
    table.write_text("a,b,c,d,e,label\n" + "\n".join(rows) + "\n")
    options = ["--stat", "auc", "--cv", "3", "--safeguard", "inf", "--max-features", "3", "--node-limit", "1"]
    done = fit(table, tmp_path, *options, "--json")
    assert done.exit_code == 0, done.output  # rerank fit && rerank rank goes on
    found = json.loads(done.stdout)
    assert found["status"] == "first_stage_kept"
    open_gap = replace(load(tmp_path / "m.json").result_, bound=9.0)
    assert exit_code(open_gap) == 0 and exit_code(replace(open_gap, evidence=None)) == 3
    assert found["message"].startswith("The first stage is kept: no option that was tried on held-out")
    (told,) = found["held_out"]
    last = told.splitlines()[-1]
    assert last.startswith("The first stage is kept. safeguard=inf keeps")
    assert sum("ranks by 5 columns" in note for note in found["notes"]) == 1  # and not by 3
    printed = fit(table, tmp_path, *options)
    assert last in printed.stdout and "max_features=3 limits" in printed.stdout and "Chosen" not in printed.stdout
    assert "logistic+squares: auc " in printed.stderr and "over the first stage" in printed.stderr
    checked = RUN.invoke(app, ["verify", str(tmp_path / "m.json"), str(table), "--label", "label"])
    assert checked.exit_code == 3 and "All that could be checked holds" in checked.output, checked.output
    assert "settings.reranks" in checked.output and "FAILED" not in checked.output
    page = RUN.invoke(app, ["report", str(tmp_path / "m.json"), str(table), "-o", str(tmp_path / "r.html")])
    assert page.exit_code == 0 and last.split(". ", 1)[1] in (tmp_path / "r.html").read_text()


def test_label_words_of_a_model_are_checked_against_those_of_the_table(table, tmp_path):
    given = read_table(table, label="label")
    words = np.where(given.y > 0, "dead", "alive")
    est = Reranker("precision@20", solver="search", node_limit=1, pos_label="dead").fit(given.X, words)
    texts = table.read_text().splitlines()
    told = tmp_path / "words.csv"
    rows = [line.rpartition(",")[0] + f",{word}" for line, word in zip(texts[1:], words)]
    told.write_text("x0,x1,x2,label\n" + "\n".join(rows) + "\n")
    est.save(tmp_path / "w.json")
    command = ["verify", str(tmp_path / "w.json"), str(told), "--label", "label"]
    assert RUN.invoke(app, command).exit_code == 3  # without a proof of the bound
    body = model_file.to_dict(model_file.read(tmp_path / "w.json"))
    pair = {"label_negative": "dead", "label_positive": "alive"}
    (tmp_path / "w.json").write_text(json.dumps(signed(body | {"settings": body["settings"] | pair})))
    for more in ([], ["--positive-label", "dead"]):
        assert RUN.invoke(app, [*command, *more]).exit_code == 5
