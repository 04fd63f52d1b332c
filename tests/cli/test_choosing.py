"""``rerank fit`` with a radius, with folds that choose it, and with rows held out."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from rerank.cli import app
from rerank.reranker.selection.grid import RADII

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
    assert all(f"radius {radius}" in chosen for radius in RADII)
    assert "The first stage is kept." in chosen or "Chosen (*)" in chosen
    assert held.startswith("Held out 60 rows: precision@20 in the unit of all 240")
    assert RUN.invoke(app, ["rank", str(tmp_path / "m.json"), str(table)]).exit_code == 0


@pytest.mark.parametrize(
    "options, message",
    [
        (["--margin", "0.1"], "give a radius"),
        (["--cross-fit", "some"], "--cross-fit is 'some'"),
        (["--holdout", "2"], "--holdout is 2"),
        (["--cv", "3", "--rule", "bold"], "rule is 'bold'"),
        (["--first-stage", "bb"], "did you mean 'b'"),
        (["--rule", "strict"], "--rule is given, and it says how --cv chooses; add --cv 5"),
        (["--rule", "mean"], "add --cv 5, or leave it out"),
        (["--cv", "3", "--radius", "0.1"], "--radius is given, and --cv chooses the radius"),
        (["--radius", "0.1", "--margin", "0.1", "--epsilon", "0.2"], "--margin replaces it"),
        (["--first-stage", "none", "--candidates", "30"], "--candidates is given, and it is about the scores"),
        (["--first-stage", "none", "--cross-fit", "3"], "--cross-fit is given, and it is about the scores"),
        (["--no-presolve"], "--solver search does nothing but that search"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(table, tmp_path, options, message):
    done = fit(table, tmp_path, *options)
    assert done.exit_code == 2 and message in " ".join((done.output + (done.stderr or "")).split())
    assert not (tmp_path / "m.json").exists()


def test_a_column_of_scores_is_a_first_stage(table, tmp_path):
    done = fit(table, tmp_path, "--first-stage", "a", "--radius", "0.2", "--json")
    assert done.exit_code in (0, 3), done.output
    assert json.loads(done.stdout)["folds"] == 0


def test_rows_held_out_are_not_those_that_the_radius_was_chosen_by(table, tmp_path, monkeypatch):
    from rerank.cli import choosing

    sizes, real = [], choosing.chosen

    def chosen(est, rows, *rest):
        sizes.append(len(rows))
        return real(est, rows, *rest)

    monkeypatch.setattr(choosing, "chosen", chosen)
    fit(table, tmp_path, "--cv", "2", "--holdout", "0.25")
    assert sizes == [240, 180]
