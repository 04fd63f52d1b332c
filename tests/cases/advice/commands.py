"""Advice of the commands, followed on the command line: what is typed, and what is typed instead."""

import shlex
from itertools import pairwise
from pathlib import Path

from tests.cases.advice import Row, command, model_file, table_file, write

RUNS = {
    "a.run": "q1 Q0 d1 1 0.9 t\nq1 Q0 d2 2 0.5 t\nq2 Q0 d3 1 0.7 t\nq2 Q0 d4 2 0.2 t\n",
    "b.run": "q1 Q0 d2 1 0.9 t\nq1 Q0 d1 2 0.5 t\nq2 Q0 d3 1 0.7 t\nq2 Q0 d5 2 0.2 t\n",
    "q.txt": "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 1\nq2 0 d4 0\n",
    "kinds.txt": "q1 code\nq2 word\n",
    "more.txt": "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 1\nq2 0 d4 0\nq1 0 d9 1\n",
}


def with_column(path, *values, name="q"):
    """The table with another column, of these values in turn."""
    header, *lines = Path(table_file()).read_text().splitlines()
    told = [f"{line},{values[k % len(values)]}" for k, line in enumerate(lines)]
    return write(path, "\n".join([f"{header},{name}", *told]) + "\n")


TABLES = {
    "t.csv": table_file,
    "u.csv": lambda: table_file("u.csv"),
    "m.json": model_file,
    "l.csv": lambda: with_column("l.csv", 1, 0),  # two lists
    "n.csv": lambda: with_column("n.csv", 1, 0, name="r"),
    "one.csv": lambda: with_column("one.csv", 1),
    "coded.csv": lambda: with_column("coded.csv", 7, "K", name="code"),
    **{name: lambda name=name: write(name, RUNS[name]) for name in RUNS},
}
WRITTEN = ("--model", "--proof", "--plot", "--output", "--out")
"""Options whose files a command writes."""


def typed(line: str):
    """The command, once the files are there that it reads."""
    words = shlex.split(line)
    for option, word in zip(["", *words], words):
        name = word.rpartition("=")[2]
        if name in TABLES and option not in WRITTEN and not Path(name).exists():
            TABLES[name]()
    return command(*words)


def succeeds(line: str | tuple[str, int]) -> bool:
    """Whether the command ends well and has written its files; fits may end without a proof."""
    line, *code = (line,) if isinstance(line, str) else line
    done, words = typed(line), shlex.split(line)
    assert done.exit_code in (code or ((0, 3) if words[0] in ("fit", "fuse") else (0,))), done.stdout + done.stderr
    return all(Path(file).exists() for option, file in pairwise(words) if option in WRITTEN)


def lines(wrong: str | tuple[str, ...], *right: str | tuple[str, int]) -> Row:
    """A row about the last of the lines that are typed wrongly; all that follow the advice succeed."""
    *before, last = (wrong,) if isinstance(wrong, str) else wrong
    return Row(lambda: (list(map(succeeds, before)), typed(last))[1], lambda: all(map(succeeds, right)))


GUARDED = "fit t.csv --model m.json --label hit --stat precision@5"
ALONE = ("verify m.json --without-data", 3)

ENTERING = {
    "or ask for a check of the file alone: without_data=True, --without-data": lines(
        "verify m.json", "verify m.json t.csv", ALONE
    ),
    "give each a name of its own: NAME=FILE": lines("evaluate a.run a.run q.txt", "evaluate x=a.run y=a.run q.txt"),
    "The model file holds no held-out evidence: fit without --free (RerankerCV in Python)": Row(
        lambda: (succeeds("report m.json t.csv"), Path("report.html").read_text())[1],
        lambda: (
            succeeds(f"{GUARDED} --cv 5")
            and succeeds("report m.json t.csv")
            and "no held-out evidence" not in Path("report.html").read_text()
        ),
    ),
    "it is about a table, and runs were given; leave it out": lines(
        "convert a.run o.csv --qid q", "convert a.run o.csv"
    ),
    "tables were given; convert one at a time": lines("convert t.csv u.csv o.csv", "convert t.csv o.csv --label hit"),
}


ROWS = ENTERING
