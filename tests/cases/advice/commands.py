"""Advice of the commands, followed on the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cases.advice import command, model_file, row, succeeds, table_file, write

FIT = ("--label", "hit", "--solver", "search", "--stat", "precision@5")
RUN = "q1 Q0 d1 1 0.9 t\nq1 Q0 d2 2 0.5 t\nq2 Q0 d3 1 0.7 t\nq2 Q0 d4 2 0.2 t\n"
OTHER = "q1 Q0 d2 1 0.9 t\nq1 Q0 d1 2 0.5 t\nq2 Q0 d3 1 0.7 t\nq2 Q0 d5 2 0.2 t\n"
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 1\nq2 0 d4 0\n"


def fit(*more, model="m.json", table=None):
    return command("fit", table_file() if table is None else table, "--model", model, *FIT, *more)


def fits(*more, codes=(0, 3), **other) -> bool:
    done = fit(*more, **other)
    assert done.exit_code in codes, done.stdout + done.stderr
    return True


def proof(model="m.json"):
    fits("--first-stage", "none", "--proof", "m.proof", model=model)
    return "m.proof"


def runs():
    write("a.run", RUN), write("b.run", OTHER), write("q.txt", QRELS)
    return "a.run", "b.run", "q.txt"


def fuse(*more, qrels=True):
    a, b, q = runs()
    return command("fuse", "--run", f"a={a}", "--run", f"b={b}", *(["--qrels", q] if qrels else []), *more)


def fuses(*more, codes=(0, 3), **other) -> bool:
    done = fuse(*more, **other)
    assert done.exit_code in codes, done.stdout + done.stderr
    return True


def fused_model():
    fuses("--model", "f.json", "--cv", 0)
    return "f.json"


def listed(path="l.csv"):
    """The table in two lists."""
    lines = Path(table_file()).read_text().splitlines()
    return write(path, "\n".join(f"{line},{'q' if k == 0 else k % 2}" for k, line in enumerate(lines)) + "\n")


def coded(path="coded.csv"):
    """The table with codes, some of them numbers."""
    header, *lines = Path(table_file()).read_text().splitlines()
    return write(path, "\n".join([f"{header},code", *(f"{line},{'7K'[k % 2]}" for k, line in enumerate(lines))]) + "\n")


def program():
    fits("--candidates", 6)
    succeeds("export", "m.json", "t.csv", "p.mps")
    return "p.mps"


ENTERING = [
    row(
        "it draws the boxes of a proof; give {}, or leave it out",
        lambda: command("verify", model_file(), "t.csv", "--plot", "p.png"),
        lambda: (
            succeeds("verify", "m.json", "t.csv", "--proof", proof(), "--plot", "p.png")
            and Path("p.png").exists()
            and succeeds("verify", "m.json", "t.csv")
        ),
    ),
    row(
        "it is about a column of the table; give the table, or leave it out",
        lambda: command("verify", model_file(), "--label", "hit"),
        lambda: (
            succeeds("verify", model_file(), "t.csv", "--label", "hit")
            and succeeds("verify", "m.json", "--without-data", code=3)
        ),
    ),
    row(
        "or ask for a check of the file alone: without_data=True, --without-data",
        lambda: command("verify", model_file()),
        lambda: succeeds("verify", model_file(), "t.csv") and succeeds("verify", "m.json", "--without-data", code=3),
    ),
    row(
        "it says how --cv chooses; add --cv 5, or leave it out",
        lambda: fit("--safeguard", 1),
        lambda: fits("--safeguard", 1, "--cv", 5) and fits(),
    ),
    row(
        "--cv chooses the radius; leave one of them out",
        lambda: fit("--cv", 2, "--radius", 1),
        lambda: fits("--cv", 2) and fits("--radius", 1),
    ),
    row(
        "--margin replaces it; leave one out",
        lambda: fit("--radius", 1, "--margin", 0.1, "--epsilon", 0.1),
        lambda: fits("--radius", 1, "--margin", 0.1) and fits("--radius", 1, "--epsilon", 0.1),
    ),
    row(
        "it is about the scores of a first stage; leave it out, or name a --first-stage",
        lambda: fit("--first-stage", "none", "--candidates", 9),
        lambda: fits("--first-stage", "none") and fits("--first-stage", "logistic", "--candidates", 9),
    ),
    row(
        "learns from numbers alone; leave it out, or use --first-stage logistic",
        lambda: fit("--first-stage", "toppush", "--texts", "a"),
        lambda: fits("--first-stage", "toppush") and fits("--first-stage", "logistic", "--texts", "a"),
    ),
    row(
        "correct the column, or have all of it read as texts (--texts)",
        lambda: fit(table=coded()),
        lambda: fits("--texts", "code", table=coded()) and "code" in Path("m.json").read_text(),
    ),
    row(
        "--solver search does nothing but that search; leave one of them out",
        lambda: fit("--no-presolve"),
        lambda: fits() and fits("--no-presolve", "--solver", "highs", "--candidates", 8),
    ),
    row(
        "names no kind of picture; write to a .png, .svg or .pdf file",
        lambda: fit("--plot", "p.bmp"),
        lambda: all(
            fits("--first-stage", "none", "--plot", f"p.{kind}") and Path(f"p.{kind}").exists()
            for kind in ("png", "svg", "pdf")
        ),
    ),
    row(
        "which held the lists of the fit, so all rows are one list; name theirs with --qid",
        lambda: (
            fits("--qid", "q", table=listed()),
            command("rank", "m.json", write("n.csv", Path("l.csv").read_text().replace(",q\n", ",r\n"))),
        )[1],
        lambda: "1" in succeeds("rank", "m.json", "n.csv", "--qid", "r").stdout,
    ),
    row(
        "is no run; write NAME=FILE, such as bm25=a.run",
        lambda: command("evaluate", "=a.run", runs()[2]),
        lambda: succeeds("evaluate", "bm25=a.run", runs()[2]),
    ),
    row(
        "give each a name of its own: NAME=FILE",
        lambda: command("evaluate", "a.run", "a.run", runs()[2]),
        lambda: succeeds("evaluate", "x=a.run", "y=a.run", runs()[2]),
    ),
    row(
        "--measures is empty; name at least one, such as ndcg@10",
        lambda: command("evaluate", "a.run", runs()[2], "--measures", ","),
        lambda: succeeds("evaluate", "a.run", runs()[2], "--measures", "ndcg@10"),
    ),
    row(
        "names no format; write to a .csv or a .run file",
        lambda: command("rank", model_file(), "t.csv", "--output", "o.txt"),
        lambda: (
            succeeds("rank", "m.json", "t.csv", "--output", "o.csv")
            and succeeds("rank", "m.json", "t.csv", "--output", "o.run")
        ),
    ),
    row(
        "--plot draws one list, and the table has several; leave it out, or give one list",
        lambda: (fits("--qid", "q", table=listed()), command("score", "m.json", "l.csv", "--plot", "p.png"))[1],
        lambda: (
            succeeds("score", "m.json", "l.csv")
            and succeeds(
                "score",
                "m.json",
                write(
                    "one.csv",
                    "\n".join(
                        line
                        for k, line in enumerate(Path("l.csv").read_text().splitlines())
                        if k == 0 or line.endswith("1")
                    )
                    + "\n",
                ),
                "--plot",
                "p.png",
            )
        ),
    ),
    row(
        "is no name of a page; let it end in .html",
        lambda: command("report", model_file(), "t.csv", "--output", "r.txt"),
        lambda: succeeds("report", "m.json", "t.csv", "--output", "r.html"),
    ),
    row(
        "The model file holds no held-out evidence: fit with --cv 5 (RerankerCV in Python)",
        lambda: (succeeds("report", model_file(), "t.csv"), Path("report.html").read_text())[1],
        lambda: (
            fits("--cv", 5)
            and succeeds("report", "m.json", "t.csv")
            and "no held-out evidence" not in Path("report.html").read_text()
        ),
    ),
    row(
        "names no format that can be written; use .csv, .svm or .qrels",
        lambda: command("convert", table_file(), "o.txt", "--label", "hit"),
        lambda: succeeds("convert", "t.csv", "o.svm", "--label", "hit") and succeeds("convert", "o.svm", "o.csv"),
    ),
    row(
        "is no TREC run; give runs only (NAME=FILE says that one is), or one table",
        lambda: command("convert", runs()[0], table_file(), "o.csv"),
        lambda: (
            succeeds("convert", "a.run", "b.run", "o.csv") and succeeds("convert", "t.csv", "o.csv", "--label", "hit")
        ),
    ),
    row(
        "it judges the documents of runs; give runs, or leave it out",
        lambda: command("convert", table_file(), "o.csv", "--label", "hit", "--qrels", runs()[2]),
        lambda: (
            succeeds("convert", "a.run", "o.csv", "--qrels", "q.txt")
            and succeeds("convert", "t.csv", "o.csv", "--label", "hit")
        ),
    ),
    row(
        "it is about --qrels; add them, or leave it out",
        lambda: command("convert", runs()[0], "o.csv", "--no-judged"),
        lambda: (
            succeeds("convert", "a.run", "o.csv", "--no-judged", "--qrels", "q.txt")
            and succeeds("convert", "a.run", "o.csv")
        ),
    ),
    row(
        "it is about a table, and runs were given; leave it out",
        lambda: command("convert", runs()[0], "o.csv", "--qid", "q"),
        lambda: succeeds("convert", "a.run", "o.csv"),
    ),
    row(
        "tables were given; convert one at a time",
        lambda: command("convert", table_file(), table_file("u.csv"), "o.csv"),
        lambda: succeeds("convert", "t.csv", "o.csv", "--label", "hit"),
    ),
    row(
        "The table was read without labels; name the column that holds them with --label",
        lambda: command("convert", table_file(), "o.qrels"),
        lambda: succeeds("convert", listed(), "o.qrels", "--label", "hit", "--qid", "q"),
    ),
    row(
        "use the judgements the runs came with, or convert with --no-judged",
        lambda: (
            runs(),
            write("q.txt", QRELS + "q1 0 d9 1\n"),
            succeeds("convert", "a.run", "o.csv", "--qrels", "q.txt"),
            command("convert", "o.csv", "o.qrels", "--label", "target", "--qid", "qid"),
        )[3],
        lambda: (
            succeeds("convert", "a.run", "o.csv", "--qrels", "q.txt", "--no-judged")
            and succeeds("convert", "o.csv", "o.qrels", "--label", "target", "--qid", "qid")
        ),
    ),
]

FUSING = [
    row(
        "it is about a fit, and without --qrels the model is applied as it is; leave it out",
        lambda: (fused_model(), fuse("--model", "f.json", "--out", "o.run", "--depth", 5, qrels=False))[1],
        lambda: fuses("--model", "f.json", "--out", "o.run", qrels=False),
    ),
    row(
        "There is no run; give each as --run NAME=FILE, such as --run bm25=a.run",
        lambda: command("fuse", "--qrels", runs()[2]),
        lambda: fuses("--cv", 0),
    ),
    row(
        "There is neither --qrels to fit to nor a --model to apply; give one of them",
        lambda: fuse(qrels=False),
        lambda: fuses("--cv", 0) and fused_model() and fuses("--model", "f.json", "--out", "o.run", qrels=False),
    ),
    row(
        "There is nothing to write; add --out FUSED.run, or --export",
        lambda: (fused_model(), fuse("--model", "f.json", qrels=False))[1],
        lambda: (
            fuses("--model", "f.json", "--out", "o.run", qrels=False)
            and fuses("--model", "f.json", "--export", "formula", qrels=False)
        ),
    ),
    row(
        "--plot draws what the folds say, and --cv is 0; leave one of them out",
        lambda: fuse("--cv", 0, "--plot", "p.png"),
        lambda: fuses("--cv", 2, "--plot", "p.png") and fuses("--cv", 0),
    ),
    row(
        "it must be equal, rrf, or NAME=WEIGHT with commas between, each name once",
        lambda: fuse("--cv", 0, "--prior", "a=1,a=2"),
        lambda: all(
            fuses("--cv", 0, "--prior", each, *more)
            for each, *more in (("equal",), ("rrf",), ("a=1,b=2", "--normalise", "minmax"))
        ),
    ),
    row(
        "--radius is {}; it must be auto, free or a number",
        lambda: fuse("--cv", 0, "--radius", "x"),
        lambda: all(fuses("--cv", 0, "--radius", each) for each in ("auto", "free", 0.5)),
    ),
    row(
        "cannot express {}; {}, or export the formula",
        lambda: fuse("--cv", 0, "--normalise", "z", "--export", "elasticsearch"),
        lambda: fuses("--cv", 0, "--normalise", "z", "--export", "formula"),
    ),
    row(
        "fit with normalise='minmax' or 'rank'",
        lambda: fuse("--cv", 0, "--normalise", "z", "--export", "elasticsearch"),
        lambda: (
            fuses("--cv", 0, "--normalise", "minmax", "--missing", "zero", "--export", "elasticsearch")
            and fuses("--cv", 0, "--normalise", "rank", "--missing", "zero", "--export", "elasticsearch")
        ),
    ),
    row(
        "fit with missing='zero'",
        lambda: fuse("--cv", 0, "--normalise", "minmax", "--missing", "impute", "--export", "elasticsearch"),
        lambda: fuses("--cv", 0, "--normalise", "minmax", "--missing", "zero", "--export", "elasticsearch"),
    ),
]

ROWS = ENTERING + FUSING
