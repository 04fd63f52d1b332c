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
FIT = f"{GUARDED} --free --solver search"
LISTED, CODED = (f"{FIT.replace('t.csv', name)}" for name in ("l.csv --qid q", "coded.csv"))
ALONE = ("verify m.json --without-data", 3)

ENTERING = {
    "it draws the boxes of a proof; give {}, or leave it out": lines(
        "verify m.json t.csv --plot p.png",
        f"{FIT} --first-stage none --proof m.proof",
        "verify m.json t.csv --proof m.proof --plot p.png",
        "verify m.json t.csv",
    ),
    "it is about a column of the table; give the table, or leave it out": lines(
        "verify m.json --label hit", "verify m.json t.csv --label hit", ALONE
    ),
    "or ask for a check of the file alone: without_data=True, --without-data": lines(
        "verify m.json", "verify m.json t.csv", ALONE
    ),
    "it says how held-out rows choose, which --free does not ask; leave one of them out": lines(
        f"{FIT} --safeguard 1", f"{GUARDED} --safeguard 1", FIT
    ),
    "it fits nothing that held-out rows could judge; add --free": lines(
        f"{GUARDED} --solver none", f"{GUARDED} --free --solver none"
    ),
    "--margin replaces it; leave one out": lines(
        f"{FIT} --radius 1 --margin 0.1 --epsilon 0.1",
        f"{FIT} --radius 1 --margin 0.1",
        f"{FIT} --radius 1 --epsilon 0.1",
    ),
    "it is about the scores of a first stage; leave it out, or name a --first-stage": lines(
        f"{FIT} --first-stage none --candidates 9",
        f"{FIT} --first-stage none",
        f"{FIT} --first-stage logistic --candidates 9",
    ),
    "learns from numbers alone; leave it out, or use --first-stage logistic": lines(
        f"{FIT} --first-stage toppush --texts a",
        f"{FIT} --first-stage toppush",
        f"{FIT} --first-stage logistic --texts a",
    ),
    "the folds of a card keep lists whole; leave it out": lines(
        "frontier t.csv --label hit --questions --groups a", "frontier t.csv --label hit --questions --most 1"
    ),
    "correct the column, or have all of it read as texts (--texts)": Row(
        lambda: typed(CODED), lambda: succeeds(f"{CODED} --texts code") and "code" in Path("m.json").read_text()
    ),
    "--solver search does nothing but that search; leave one of them out": lines(
        f"{FIT} --no-presolve", FIT, f"{FIT} --no-presolve --solver highs --candidates 8"
    ),
    "names no kind of picture; write to a .png, .svg or .pdf file": lines(
        f"{FIT} --plot p.bmp", *(f"{FIT} --first-stage none --plot p.{kind}" for kind in ("png", "svg", "pdf"))
    ),
    "which held the lists of the fit, so all rows are one list; name theirs with --qid": lines(
        (LISTED, "rank m.json n.csv"), "rank m.json n.csv --qid r"
    ),
    "is no run; write NAME=FILE, such as bm25=a.run": lines("evaluate =a.run q.txt", "evaluate bm25=a.run q.txt"),
    "There is no run with judgements; give files of runs and then one of judgements": lines(
        "evaluate a.run", "evaluate a.run q.txt", "evaluate a.run b.run q.txt"
    ),
    "give each a name of its own: NAME=FILE": lines("evaluate a.run a.run q.txt", "evaluate x=a.run y=a.run q.txt"),
    "--measures is empty; name at least one, such as ndcg@10": lines(
        "evaluate a.run q.txt --measures ,", "evaluate a.run q.txt --measures ndcg@10"
    ),
    "names no format; write to a .csv or a .run file": lines(
        "rank m.json t.csv --output o.txt", "rank m.json t.csv --output o.csv", "rank m.json t.csv --output o.run"
    ),
    "--plot draws one list, and the table has several; leave it out, or give one list": lines(
        (LISTED, "score m.json l.csv --plot p.png"), "score m.json l.csv", "score m.json one.csv --plot p.png"
    ),
    "is no name of a page; let it end in .html": lines(
        "report m.json t.csv --output r.txt", "report m.json t.csv --output r.html"
    ),
    "The model file holds no held-out evidence: fit without --free (RerankerCV in Python)": Row(
        lambda: (succeeds("report m.json t.csv"), Path("report.html").read_text())[1],
        lambda: (
            succeeds(f"{GUARDED} --cv 5")
            and succeeds("report m.json t.csv")
            and "no held-out evidence" not in Path("report.html").read_text()
        ),
    ),
    "names no format that can be written; use .csv, .svm or .qrels": lines(
        "convert t.csv o.txt --label hit", "convert t.csv o.svm --label hit", "convert o.svm o.csv"
    ),
    "is no TREC run; give runs only (NAME=FILE says that one is), or one table": lines(
        "convert a.run t.csv o.csv", "convert a.run b.run o.csv", "convert t.csv o.csv --label hit"
    ),
    "it judges the documents of runs; give runs, or leave it out": lines(
        "convert t.csv o.csv --label hit --qrels q.txt",
        "convert a.run o.csv --qrels q.txt",
        "convert t.csv o.csv --label hit",
    ),
    "it is about --qrels; add them, or leave it out": lines(
        "convert a.run o.csv --no-judged", "convert a.run o.csv --no-judged --qrels q.txt", "convert a.run o.csv"
    ),
    "it is about a table, and runs were given; leave it out": lines(
        "convert a.run o.csv --qid q", "convert a.run o.csv"
    ),
    "tables were given; convert one at a time": lines("convert t.csv u.csv o.csv", "convert t.csv o.csv --label hit"),
    "The table was read without labels; name the column that holds them with --label": lines(
        "convert t.csv o.qrels", "convert l.csv o.qrels --label hit --qid q"
    ),
    "use the judgements the runs came with, or convert with --no-judged": lines(
        ("convert a.run o.csv --qrels more.txt", "convert o.csv o.qrels --label target --qid qid"),
        "convert a.run o.csv --qrels more.txt --no-judged",
        "convert o.csv o.qrels --label target --qid qid",
    ),
}

APPLIED = "fuse --run a=a.run --run b=b.run"
FUSED = f"{APPLIED} --qrels q.txt --cv 0"
MODEL = f"{FUSED} --model f.json"
APPLIED_TO = f"{APPLIED} --model f.json"
ELASTIC = f"{FUSED} --export elasticsearch"

FUSING = {
    "it is about a fit, and without --qrels the model is applied as it is; leave it out": lines(
        (MODEL, f"{APPLIED_TO} --out o.run --depth 5"), f"{APPLIED_TO} --out o.run"
    ),
    "There is no run; give each as --run NAME=FILE, such as --run bm25=a.run": lines("fuse --qrels q.txt", FUSED),
    "it is about the run that is written; add --out FUSED.run, or leave it out": lines(
        (MODEL, f"{APPLIED_TO} --export formula --kinds kinds.txt"),
        f"{APPLIED_TO} --export formula",
        f"{APPLIED_TO} --out o.run --kinds kinds.txt",
    ),
    "--plot-alpha draws two runs, and there are {}; leave it out, or give two": lines(
        f"{FUSED} --run c=a.run --plot-alpha a.svg", f"{FUSED} --run c=a.run", f"{FUSED} --plot-alpha a.svg"
    ),
    "There is neither --qrels to fit to nor a --model to apply; give one of them": lines(
        APPLIED, FUSED, MODEL, f"{APPLIED_TO} --out o.run"
    ),
    "There is nothing to write; add --out FUSED.run, or --export": lines(
        (MODEL, APPLIED_TO), f"{APPLIED_TO} --out o.run", f"{APPLIED_TO} --export formula"
    ),
    "--plot draws what the folds say, and --cv is 0; leave one of them out": lines(
        f"{FUSED} --plot p.png", f"{APPLIED} --qrels q.txt --cv 2 --plot p.png", FUSED
    ),
    "it must be auto, equal, logistic, rrf, or NAME=WEIGHT with commas between, each name once": lines(
        f"{FUSED} --prior a=1,a=2",
        *(f"{FUSED} --prior {name}" for name in ("auto", "equal", "logistic", "rrf")),
        f"{FUSED} --prior a=1,b=2 --normalise minmax",
    ),
    "--radius is {}; it must be auto, free or a number": lines(
        f"{FUSED} --radius x", *(f"{FUSED} --radius {radius}" for radius in ("auto", "free", 0.5))
    ),
    "cannot express {}; {}, or export the formula": lines(
        f"{ELASTIC} --normalise z", f"{FUSED} --normalise z --export formula"
    ),
    "fit with normalise={}": lines(
        f"{ELASTIC} --normalise z",
        *(f"{ELASTIC} --missing zero --normalise {name}" for name in ("minmax", "l2", "rank")),
    ),
    "fit with normalise='minmax' or 'rank'": lines(
        f"{FUSED} --export vespa --normalise z",
        *(f"{FUSED} --export vespa --normalise {name}" for name in ("minmax", "rank")),
    ),
    "fit with missing='zero'": lines(
        f"{ELASTIC} --normalise minmax --missing impute", f"{ELASTIC} --normalise minmax --missing zero"
    ),
}

ROWS = ENTERING | FUSING
