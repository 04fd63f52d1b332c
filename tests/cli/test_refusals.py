"""What a command refuses: exit code 2, one sentence that says what to do, and no file written or changed.

Sentences with advice are followed in ``tests/cases/advice``; here stands what the command line adds to them.
"""

import os
import shlex
from pathlib import Path

import pytest

from rerank.io import Table, write_csv
from tests.cli.commands import NAMES, fit, noisy, run, words

QRELS = "1 0 a 2\n1 0 b 1\n2 0 a 1\n"
GOOD = "age,size,hit,w\n1,2,1,1\n2,1,0,1\n3,5,1,1\n4,4,0,1\n"
FILES = {
    "few.csv": GOOD,
    "few": GOOD,
    "few.xls": GOOD,
    "inf.csv": GOOD.replace("3,5", "3,inf"),
    "gap.csv": GOOD.replace("3,5", "3,"),
    "text.csv": GOOD.replace("3,5", "three,5"),
    "minus.csv": GOOD.replace("3,5,1,1", "3,5,1,-1"),
    "one.csv": GOOD.replace(",0,", ",1,"),
    "header.csv": "age,size,hit\n",
    "empty.csv": "",
    "q.txt": QRELS,
    "q.qrels": QRELS,
    "a.run": "1 Q0 a 1 3.0 t\n1 Q0 c 2 2.0 t\n2 Q0 b 1 2.0 t\n",
    "b.run": "1 Q0 c 1 5.0 t\n1 Q0 b 2 3.0 t\n2 Q0 a 1 3.0 t\n",
}
RUNS = "fuse --run bm25=a.run --run dense=b.run"
FIT = "fit few.csv --free --label hit --solver search --model new.json"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A folder with tables, runs, and a model of each kind."""
    folder = tmp_path_factory.mktemp("inputs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        X, y = noisy(0)
        write_csv("data.csv", Table(X, y, None, None, NAMES), label="hit")
        for name, text in FILES.items():
            Path(name).write_text(text)
        fit("--candidates", 8)
        run("export", "m.json", "data.csv", "p.mps")
        run("solve", "p.mps")
        Path("link.csv").symlink_to("data.csv")
        os.link("data.csv", "hard.json")
        run(*shlex.split(f"{RUNS} --qrels q.txt --model f.json --cv 0 --radius 0 --normalise z"), code=None)
    return folder


TABLES = [
    ("fit inf.csv --label hit --model new.json", "line 4: column 'size' holds inf"),
    ("fit gap.csv --label hit --model new.json --first-stage none", "'size'"),
    ("fit text.csv --label hit --model new.json", "line 4: column 'age' holds 'three' after numbers"),
    ("fit minus.csv --label hit --weight w --model new.json", "line 4: column 'w' holds -1"),
    ("fit one.csv --label hit --model new.json", "one class"),
    ("fit header.csv --label hit --model new.json", "no rows"),
    ("fit empty.csv --label hit --model new.json", "empty.csv is empty"),
    ("fit nowhere.csv --label hit --model new.json", "Cannot read nowhere.csv"),
    ("fit few --label hit --model new.json", "few has no suffix that names a format that is read"),
    ("fit few.xls --label hit --model new.json", "few.xls has the suffix '.xls'"),
    ("fit few.csv --model new.json", "without labels"),
    ("fit few.csv --label hit --model new.json --cv 2 --safeguard nan", "safeguard is NaN"),
    ("fit few.csv --label hit --model new.json --solver none", "add --free"),
    ("fit few.csv --label hit --model new.json", "rerank fit --free"),
    ("rank nowhere.json data.csv", "Cannot read nowhere.json"),
    ("rank data.csv data.csv", "pass a file written by save or by rerank fit"),
    ("score data.csv data.csv", "pass a file written by save or by rerank fit"),
    ("rank m.json few.csv", "year"),
    ("verify m.json", "--without-data"),
    ("report m.json nowhere.csv", "Cannot read nowhere.csv"),
    ("solve nowhere.mps", "nowhere.mps"),
    ("solve data.csv", "is not part of a linear program; pass an .mps file"),
    ("import nowhere.mps nowhere.sol --model new.json", "nowhere.mps"),
    ("export m.json data.csv p.lp", "p.lp"),
    ("export m.json data.csv m.mps", "m.json"),
    ("convert data.csv", "at least one file to read"),
    ("convert data.csv data.csv", "is both read and written"),
    ("convert data.csv out.parquet", "names no format that can be written"),
    ("convert data.csv out.qrels", "without labels"),
    ("convert data.csv data.csv out.csv", "2 tables were given"),
    ("rank m.json data.csv --output list.xyz", "names no format"),
    ("rank m.json data.csv --plot picture.txt", "names no kind of picture"),
    ("score m.json data.csv --plot gain.txt", "names no kind of picture"),
    ("rank m.json data.csv --qid hit --plot l.png", "--plot draws one list"),
    ("fit data.csv --label hit --model x.json --proof ./x.json", "is given for --model and for --proof"),
]
OVER_INPUTS = [
    *(f"fit data.csv --label hit --model {name}" for name in ("data.csv", "hard.json", "link.csv")),
    "fit data.csv --label hit --model x.json --proof data.csv",
    "rank m.json data.csv --output link.csv",
    "convert data.csv link.csv --label hit",
    "convert a.run --qrels q.qrels q.qrels",
    "export m.json data.csv m.mps",
    *(f"solve p.mps --solution {name}" for name in ("p.mps", "p.json")),
    *(f"import p.mps p.sol --model {name}" for name in ("p.sol", "p.json", "p.mps")),
]
OPTIONS = [
    ("--model no/such/m.json", "The folder of no/such/m.json does not exist"),
    ("--statt auc", "--stat"),
    ("--stat dgc@10", "dcg@10"),
    ("--label hits", "nearest: 'hit'"),
    ("--qid query", "query"),
    ("--features age,sise", "nearest: 'size'"),
    ("--solver hihgs", "did you mean 'highs'"),
    ("--epsilon small", "--epsilon"),
    ("--solver highs --epsilon 1e-7 --first-stage none", "tolerance"),
    ("--candidates -3", "--candidates 0"),
    ("--first-stage logstic", "did you mean 'logistic'"),
    ("--first-stage Age", "did you mean 'age'"),
    ("--first-stage nnone", "(on the command line: none)"),
    ("--time-limit -1", "a number of seconds, 0 or more"),
    ("--jobs 0", "n_jobs is 0"),
    ("--margin 0.1", "give a radius"),
    ("--cross-fit some", "--cross-fit is 'some'"),
    ("--holdout 2", "--holdout is 2"),
    ("--cv 3 --rule mean", "No such option: --rule"),
    ("--plot new.json", "names no kind of picture"),
]
EVALUATE = [
    ("a.run q.txt --measures ndcg10", "did you mean 'ndcg@10'"),
    ("a.run q.txt --ties random", "ties is 'random'"),
    ("a.run q.txt --gain exp --measures ap", "gain is 'exp'"),
    ("a.run q.txt --level 0", "level"),
    ("q.txt q.txt", "not 6"),
    ("few.csv", "There is no run with judgements"),
]
FUSE = [
    ("--model absent.json --out o.run", "Cannot read"),
    ("--model f.json --out o.run --cv 5", "--cv is given"),
    ("--model f.json --out o.run --run third=a.run", "no run 'third' in the model"),
    ("--model f.json --out o.run --run bm25=b.run", "Two runs are called 'bm25'"),
    ("--qrels q.txt --radius wide", "--radius is 'wide'"),
    ("--qrels q.txt --jobs 0", "n_jobs is 0"),
    ("--qrels q.txt --audit a.run", "Not a directory"),
    ("--qrels q.txt --normalise zz", "Unknown normaliser"),
    ("--qrels q.txt --out a.run", "a.run"),
    ("--qrels q.txt --export solr", "Unknown target 'solr'"),
    ("--qrels q.txt --plot leads.gif", "names no kind of picture"),
    ("--model f.json --out o.run --plot p.svg", "--plot"),
    ("--qrels q.txt --normalise minmax,z --export vespa", "Vespa cannot express"),
]
REFUSED = [
    *TABLES,
    *((line, "is both read and written") for line in OVER_INPUTS),
    *((f"{FIT} {options}", sentence) for options, sentence in OPTIONS),
    *((f"evaluate {given}", sentence) for given, sentence in EVALUATE),
    *((f"{RUNS} {options}", sentence) for options, sentence in FUSE),
    ("fuse --run bm25=a.run --model f.json --out o.run", "run 'dense' is missing"),
    ("fuse --run bm25=a.run --run dense=nowhere.run --model f.json --out o.run", "Cannot read nowhere.run"),
    ("unknown", "No such command"),
]


@pytest.mark.parametrize(("line", "sentence"), REFUSED, ids=lambda value: value[:60])
def test_a_command_that_cannot_be_done_says_why_and_writes_nothing(inputs, monkeypatch, line, sentence):
    monkeypatch.chdir(inputs)
    before = {path.name: path.read_bytes() for path in inputs.iterdir()}
    done = run(*shlex.split(line), code=2)
    assert isinstance(done.exception, SystemExit) and done.stdout == "" and "Traceback" not in done.stderr
    assert sentence in words(done.stderr.replace("│", "")), done.stderr
    *progress, last = done.stderr.strip().splitlines()
    assert not any(one.startswith("rerank: ") for one in progress)
    assert (last.startswith("rerank: ") and last.endswith(".")) or "Usage:" in done.stderr
    assert {path.name: path.read_bytes() for path in inputs.iterdir()} == before
