"""What the tests of commands share: a noisy table, and a command run in this process."""

import json

from typer.testing import CliRunner

from rerank.cli import app
from tests.reranker.test_reranker import table

NAMES = ("age", "size", "year")


def noisy(seed):
    """A table whose first stage is far from ideal: every third label is turned."""
    X, y = table(seed, n=50)
    y[::3] = 1 - y[::3]
    return X, y


OPEN = (0, 3)
"""Exit codes of a fit that may end before its bound is proved."""


def run(*arguments, code=0):
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    allowed = code if isinstance(code, tuple) else (code,)
    assert None in allowed or done.exit_code in allowed, f"{done.exit_code}: {done.output}{done.exception!r}"
    return done


def fit(*extra, code=0, data="data.csv", label="hit"):
    own = ["--label", label] if label else []
    own += [] if {"--cv", "--guarded"} & {*extra} else ["--free"]
    extra = [one for one in extra if one != "--guarded"]
    options = ["--model", "m.json", "--solver", "search", "--candidates", 20, "--stat", "dcg@5"]
    return run("fit", data, *own, *options, *extra, code=code)


def answer(done):
    return json.loads(done.stdout)


def words(text):
    """A text as one line, whatever its width was."""
    return " ".join(text.split())
