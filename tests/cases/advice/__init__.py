"""Messages with advice: what provokes each, and the same call after its advice was followed.

``tests/test_advice.py`` tries the rows, and looks for kinds of advice that no row of their room follows.
"""

import contextlib
import io
import re
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from rerank import Reranker


class Row(NamedTuple):
    """``wrong`` provokes a message; ``right`` follows its advice and returns what was promised.

    In a table its key is a part of the message, or several, with braces for what differs.
    """

    wrong: Callable[[], Any]
    right: Callable[[], Any]


def promised(right: Callable[[], Any], wrong: dict[Any, Callable[[], Any]]) -> dict[Any, Row]:
    """Rows of several mistakes that one call follows."""
    return {says: Row(one, right) for says, one in wrong.items()}


def one_line(text: str) -> str:
    return " ".join(text.split())


def pattern(part: str) -> re.Pattern[str]:
    """The part of a message, in which braces stand for what differs."""
    return re.compile(".*?".join(map(re.escape, one_line(part).split("{}"))))


def shown(result: Any) -> str:
    """What a result says to a person."""
    if isinstance(result, str):
        return result
    if hasattr(result, "exit_code"):
        return f"{result.stdout} {result.stderr}"
    if hasattr(result, "result_"):
        report = result.report() if hasattr(result, "report") else ""
        return " ".join([result.result_.message, *result.result_.notes, *getattr(result, "notes_", ()), report])
    if isinstance(result, list | tuple):
        return " ".join(map(str, result))
    return " ".join(map(str, getattr(result, "notes", ())))


def heard(call: Callable[[], Any]) -> tuple[str, Any]:
    """Everything that a call says (its error, warnings, streams, notes), and what it returns."""
    out, err, result = io.StringIO(), io.StringIO(), None
    with (
        warnings.catch_warnings(record=True) as warned,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        warnings.simplefilter("always")
        try:
            result = call()
            said = shown(result)
        except AssertionError:  # of a test, and no message
            raise
        except Exception as error:
            said = str(error)
    return one_line(" ".join([said, *(str(one.message) for one in warned), out.getvalue(), err.getvalue()])), result


def files() -> dict[Path, bytes]:
    """What the files of this folder hold."""
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def command(*arguments: Any) -> Any:
    """The command line, in this process; what it refuses it refuses in one sentence, and no file is another then."""
    from rerank.cli import app

    before = files()
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if done.exit_code == 2:
        *progress, last = done.stderr.strip().splitlines()
        assert "Usage:" in done.stderr or (last.startswith("rerank: ") and last.endswith((".", "?"))), done.stderr
        assert not any(one.startswith("rerank: ") for one in progress), done.stderr
        assert done.stdout == "" and files() == before, arguments
    return done


def succeeds(*arguments: Any, code: int = 0) -> Any:
    done = command(*arguments)
    assert done.exit_code == code, done.stdout + done.stderr
    return done


@cache
def data(n: int = 40, d: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """A table of d columns, of which the first tells most of the label."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + rng.normal(size=n) > 0.5).astype(int)


X, Y = data()
FRAME = pd.DataFrame(X, columns=["a", "b"])


def est(**options: Any) -> Reranker:
    return Reranker(**{"stat": "precision@5", "solver": "search", "first_stage": None, "time_limit": 20, **options})


def fit(table: Any = X, y: Any = Y, **more: Any) -> Reranker:
    """A fit; what belongs to the rows goes to ``fit``, all else is an option."""
    of_rows = ("qid", "sample_weight", "query_weight", "groups", "ideal_gains")
    own = {name: more.pop(name) for name in of_rows if name in more}
    return est(**more).fit(table, y, **own)


def proved(other: Any) -> bool:
    return bool(other.result_.proved)


def same(other: Any) -> bool:
    """Whether the fit is that of the plain table."""
    return bool(other.result_.value == fit().result_.value)


def write(path: str, text: str) -> str:
    Path(path).write_text(text, encoding="utf-8")
    return path


def table_file(path: str = "t.csv", n: int = 40) -> str:
    """A CSV file with the columns hit, a, b."""
    X, y = data(n)
    rows = [f"{hit},{a!r},{b!r}" for hit, (a, b) in zip(y.tolist(), X.tolist())]
    return write(path, "\n".join(["hit,a,b", *rows]) + "\n")


def model_file(path: str = "m.json", *more: Any, table: str = "t.csv") -> str:
    """A model fitted by the command line on ``t.csv``."""
    if not Path(table).exists():
        table_file(table)
    own = ["--label", "hit", "--solver", "search", "--stat", "precision@5", "--first-stage", "none"]
    succeeds("fit", table, "--free", "--model", path, *own, *more)
    return path
