"""The help of the commands: examples that parse, lines that are whole, and what a slip of the keyboard is told."""

import shlex

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from rerank.cli import app
from rerank.cli.examples import EXAMPLES

ROOT = get_command(app).commands
CARD = ROOT["card"].commands
COMMANDS = ROOT | {f"card {name}": command for name, command in CARD.items()}
NARROW = {"COLUMNS": "80"}


def test_every_command_has_examples_and_a_whole_line_in_the_list():
    assert set(EXAMPLES) == set(COMMANDS)
    for words, commands in (([], ROOT), (["card"], CARD)):
        page = CliRunner().invoke(app, [*words, "--help"], env=NARROW).output
        assert all(f"\n  {name} " in page for name in commands) and "..." not in page.replace("[ARGS]...", "")
    named = ROOT["card"].help.partition(": ")[2].rstrip(".").split(", ")
    assert set(named) == set(CARD)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_a_command_are_shown_whole_and_parse_and_it_answers_in_json(name):
    page = CliRunner().invoke(app, [*name.split(), "--help"], env=NARROW).output
    assert f"\n  Examples:\n    {EXAMPLES[name][0]}\n" in page and ("--json" in page or name == "card")
    for line in EXAMPLES[name]:
        arguments = shlex.split(line)[1:]
        assert f"\n    {line}\n" in page and len(line) <= 76 and f"{line} ".startswith(f"rerank {name} ")
        words = len(name.split())
        COMMANDS[name].make_context(name, arguments[words:])  # parses, runs nothing
