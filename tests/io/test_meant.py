"""What columns may mean otherwise reaches whoever fits, from frames and from files, and stands in what is saved."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from rerank import Reranker, load
from rerank.cli import app
from rerank.io.meant import meant
from rerank.scorecard import Scorecard

N = 24
Y = np.arange(N) % 3 == 0
LONG = 2**53 + np.arange(N)
FRAMES = (pd.DataFrame, pl.DataFrame, pa.table)
TEXTS = {
    "1,234": ["1,234", "900"],
    "12%": ["12%", "7.5%"],
    "$3.2k": ["$3.2k", "$3"],
    "3,2": ["3,2", "4"],
    "0x1F": ["0x1F", "0x2A"],
    "#N/A": ["1.5", "#N/A", "2"],
    "<NA>": ["<NA>", "2"],
    "\\N": ["2", "\\N"],
    "-": ["2", "-"],
    "?": ["2", "?"],
}
PLAIN = (["01", "02"], ["7", "8"], ["red", "-"], ["12.05.2020", "13.05.2020"], ["red", "12%", "blue"])


def filled(words):
    return {"a": np.sin(np.arange(N)), "b": [words[row % len(words)] for row in range(N)]}


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: frame.__module__)
def test_columns_of_frames_that_may_mean_something_else_are_told_with_a_cure(frame):
    for shown, words in TEXTS.items():
        (note,) = meant(frame(filled(words)))
        assert f"Column 'b' holds {shown!r}" in note and "if " in note
    for words in PLAIN:
        assert meant(frame(filled(words))) == ()
    (note,) = meant(frame({"a": np.arange(N), "b": LONG}))
    assert f"'b' holds {LONG[1]}" in note and "texts" in note and "subtract" in note
    assert meant(frame({"a": LONG * 1.0, "b": np.arange(N)})) == ()


def test_long_whole_numbers_of_arrays_are_told():
    notes = Reranker("auc", first_stage=None).fit(np.column_stack([np.arange(N), LONG]), Y).result_.notes
    assert sum(f"'x1' holds {LONG[1]}" in note for note in notes) == 1


def test_the_note_stands_in_result_print_page_and_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = pd.DataFrame(filled(["1,234", "1,900"]))
    (note,) = meant(X)
    est, card = Reranker("auc", time_limit=5).fit(X, Y), Scorecard(n_questions=1, validation=None).fit(X, Y)
    assert note in est.result_.notes and note in card.result_.notes
    assert note in str(est) and note in " ".join(str(card).split())
    est.save("m.json")
    assert note in load("m.json").result_.notes
    X.assign(y=Y.astype(int)).to_csv("t.csv", index=False)

    def run(*words):
        done = CliRunner().invoke(app, words)
        assert done.exit_code in (0, 3), done.stderr
        return " ".join(done.stdout.split())

    assert note in run("card", "fit", "t.csv", "--label", "y", "--questions", "1", "-o", "c.json")
    assert note in run("card", "show", "c.json")
    assert note in run("fit", "t.csv", "--label", "y", "--stat", "auc", "--model", "m.json")
    run("report", "m.json", "t.csv", "-o", "m.html")
    run("card", "report", "c.json", "t.csv", "--label", "y", "-o", "c.html")
    for page in ("m.html", "c.html"):
        assert "1,234" in (tmp_path / page).read_text() and "decimal point alone" in (tmp_path / page).read_text()
