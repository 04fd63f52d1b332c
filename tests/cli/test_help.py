"""The help of the commands: examples that parse, lines that are whole, and what a slip of the keyboard is told."""

import shlex

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from rerank.cli import app
from rerank.cli.examples import EXAMPLES

COMMANDS = get_command(app).commands
NARROW = {"COLUMNS": "80"}


def test_every_command_has_examples_and_a_whole_line_in_the_list():
    assert set(EXAMPLES) == set(COMMANDS)
    page = CliRunner().invoke(app, ["--help"], env=NARROW).output
    assert all(f"\n  {name} " in page for name in COMMANDS) and "..." not in page.replace("[ARGS]...", "")


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_a_command_are_shown_whole_and_parse(name):
    page = CliRunner().invoke(app, [name, "--help"], env=NARROW).output
    assert f"\n  Examples:\n    {EXAMPLES[name][0]}\n" in page
    for line in EXAMPLES[name]:
        program, command, *arguments = shlex.split(line)
        assert f"\n    {line}\n" in page and len(line) <= 76 and (program, command) == ("rerank", name)
        COMMANDS[name].make_context(name, arguments)  # parses, runs nothing


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_answers_in_json(name):
    assert "--json" in CliRunner().invoke(app, [name, "--help"], env=NARROW).output


SLIPS = [
    (["fit", "t.csv", "--model", "m.json", "--statt", "auc"], "--stat"),
    (["fit", "t.csv", "--model", "m.json", "--label", "y", "--stat", "dcg10"], "did you mean 'dcg@10'"),
    (["fit", "t.csv", "--model", "m.json", "--label", "y", "--first-stage", "logistik"], "did you mean 'logistic'"),
    (["fit", "t.csv", "--model", "m.json", "--label", "y", "--first-stage", "A"], "did you mean 'a'"),
    (["fit", "t.csv", "--model", "m.json", "--label", "y", "--solver", "higs"], "did you mean 'highs'"),
    (["fit", "t.csv", "--model", "m.json", "--label", "yy"], "nearest: 'y'"),
    (["fit", "t.csv", "--model", "m.json", "--label", "y", "--time-limit", "-1"], "a number of seconds, 0 or more"),
    (["fit", "t.csv", "--model", "none/m.json", "--label", "y"], "The folder of none/m.json does not exist; make it"),
    (["fit", "t", "--model", "m.json"], "t has no suffix that names a format that is read; save"),
    (["fit", "t.xls", "--model", "m.json"], "t.xls has the suffix '.xls', which names no format that is read; save"),
    (["rank", "t.csv", "t.csv"], "pass a file written by save or by rerank fit"),
    (["rank", "m.json", "t.csv", "--top", "-1"], "--top"),
    (["solve", "t.csv"], "is not part of a linear program; pass an .mps file"),
    (["evaluate", "t.csv"], "Missing argument"),
]


@pytest.mark.parametrize(("arguments", "said"), SLIPS, ids=lambda value: " ".join(value) if type(value) is list else "")
def test_a_slip_is_answered_with_what_exists(arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("t.csv", "t", "t.xls"):
        (tmp_path / name).write_text("a,y\n1,0\n2,1\n3,0\n4,1\n")
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2 and said in done.output, done.output
    assert isinstance(done.exception, SystemExit) and not (tmp_path / "m.json").exists()
