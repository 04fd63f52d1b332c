"""What a person reads: remarks of a fit, sentences for wrong arguments, and exit codes."""

import sys
from pathlib import Path

import numpy as np
import pytest
import typer

from rerank.cli.common import Outputs, guarded, tell
from rerank.errors import CertificateError, InputError, SolverError
from rerank.io import Table, write_csv
from tests.cli.commands import answer, fit, noisy, run, words


def written(name, X, y, qid=None):
    names = tuple(f"c{j}" for j in range(X.shape[1]))
    write_csv(name, Table(X, y, qid, None, names), label="hit")


def test_a_fit_says_what_it_left_out_and_who_shares_a_score(folder):
    X, y = noisy(0)
    X = np.hstack([X, np.ones((len(X), 1))])
    X[25:], y[25:40] = X[:25], y[:15]  # the others have another label than their twin
    written("twins.csv", X, y)
    done = fit(data="twins.csv", code=None)
    said = words(done.stderr + done.stdout)
    assert "Constant on the shortlist and left out: c3." in said
    assert "repeat an earlier one" in said and "of them with another gain" in said
    # Twins have equal scores, so that of two neighbouring cuts one parts a pair.
    cuts = [fit("--candidates", count, data="twins.csv", code=None) for count in (19, 20)]
    assert "share the score at the cut" in words("".join(done.stderr + done.stdout for done in cuts))


def test_names_of_columns_and_rows_are_printed_as_they_are_and_whole(folder):
    X, y = noisy(0)
    names, ids = ("[/x]", "b[red]", "year"), [f"[/a]{'long' * 30}[b]{number}" for number in range(len(y))]
    write_csv("odd.csv", Table(X, y, None, np.array(ids, dtype=object), names), label="hit")
    said = fit("--id", "id", "--details", data="odd.csv", code=None).stdout
    weights = next(line for line in said.splitlines() if line.startswith("weights"))
    assert any(f"{name} " in weights for name in names[:2])
    rows = run("rank", "m.json", "odd.csv", "--top", 0).stdout.splitlines()[1:]
    assert sorted(row.split()[1] for row in rows) == sorted(ids)


def test_runs_to_convert_may_be_named(folder):
    for where in ("a", "b"):
        Path(where).mkdir()
        Path(where, "bm25.run").write_text("q1 Q0 d1 1 2.0 bm25\nq1 Q0 d2 2 1.0 bm25\n")
    run("convert", "first=a/bm25.run", "second=b/bm25.run", "named.csv")
    assert Path("named.csv").read_text().splitlines()[0].endswith("first,second")
    body = answer(run("convert", "data.csv", "out.csv", "--label", "hit", "--json"))
    assert body == {"written": "out.csv", "n_rows": 50, "n_features": 3}


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (KeyboardInterrupt(), 130, "Stopped before there was a result"),
        (MemoryError(), 2, "not enough memory"),
        (InputError("This cannot be used."), 2, "This cannot be used."),
        (SolverError("It failed."), 4, "It failed."),
        (CertificateError("It is contradicted."), 5, "It is contradicted."),
    ],
)
def test_each_way_to_end_has_its_exit_code(capsys, error, code, sentence):
    @guarded
    def command():
        raise error

    with pytest.raises(typer.Exit) as ended:
        command()
    assert ended.value.exit_code == code and sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "said"), [(BrokenPipeError(), None), (OSError(28, "No space"), "Cannot write standard output: No space")]
)
def test_a_reader_that_goes_away_is_no_error_and_a_full_disk_is_one(monkeypatch, capsys, error, said):
    class Closed:
        def write(self, text):
            raise error

        def fileno(self):
            raise OSError

    monkeypatch.setattr(sys, "stdout", Closed())
    outputs = Outputs()

    @guarded
    def command():
        with outputs.one():
            tell("an answer")
        outputs.check()

    if said is None:
        command()
    else:
        with pytest.raises(typer.Exit) as ended:
            command()
        assert ended.value.exit_code == 2 and said in capsys.readouterr().err
