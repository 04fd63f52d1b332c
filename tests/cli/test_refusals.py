"""What a command refuses that has no row in ``tests/cases/advice``: in one sentence, and no file is written."""

import os
import shlex
from pathlib import Path

import pytest

from rerank.io import Table, write_csv
from tests.cases.advice import command
from tests.cli.commands import NAMES, fit, noisy, run, words

FILES = {
    "few.csv": "age,size,hit,w\n1,2,1,1\n2,1,0,1\n3,5,1,1\n4,4,0,1\n",
    "q.txt": "1 0 a 2\n1 0 b 1\n2 0 a 1\n",
    "q.qrels": "1 0 a 2\n",
    "a.run": "1 Q0 a 1 3.0 t\n1 Q0 c 2 2.0 t\n2 Q0 b 1 2.0 t\n",
    "b.run": "1 Q0 c 1 5.0 t\n1 Q0 b 2 3.0 t\n2 Q0 a 1 3.0 t\n",
}


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
        run("fuse", "bm25=a.run", "dense=b.run", "q.txt", "--model", "f.json", "--cv", 0, "--radius", 0, code=None)
    return folder


FIT = "fit few.csv --free --label hit --solver search --model new.json"
REFUSED = {
    "fit few.csv --label hit --model new.json --cv 2 --safeguard nan": "safeguard is NaN",
    "fit few.csv --label hit --model new.json --cv 3 --rule mean": "No such option: --rule",
    "rank m.json few.csv": "year",
    "export m.json data.csv p.lp": "p.lp",
    "convert data.csv": "at least one file to read",
    f"{FIT} --statt auc": "--stat",
    f"{FIT} --stat dgc@10": "dcg@10",
    f"{FIT} --label hits": "nearest: 'hit'",
    f"{FIT} --qid query": "query",
    f"{FIT} --features age,sise": "nearest: 'size'",
    f"{FIT} --solver hihgs": "did you mean 'highs'",
    f"{FIT} --margin small": "margin",
    f"{FIT} --candidates -3": "--candidates 0",
    f"{FIT} --first-stage Age": "did you mean 'age'",
    f"{FIT} --first-stage nnone": "(on the command line: none)",
    f"{FIT} --time-limit -1": "a number of seconds, 0 or more",
    f"{FIT} --jobs 0": "n_jobs is 0",
    f"{FIT} --cross-fit some": "--cross-fit is 'some'",
    f"{FIT} --holdout 2": "--holdout is 2",
    "evaluate a.run q.txt --measures ndcg10": "did you mean 'ndcg@10'",
    "evaluate a.run q.txt --ties random": "ties is 'random'",
    "evaluate a.run q.txt --gain exp --measures ap": "gain is 'exp'",
    "evaluate a.run q.txt --level 0": "level",
    "fuse bm25=a.run dense=b.run --model f.json --out o.run --run third=a.run": "no run 'third' in the model",
    "fuse bm25=a.run dense=b.run --qrels q.txt --jobs 0": "n_jobs is 0",
    "fuse bm25=a.run dense=b.run --qrels q.txt --audit a.run": "Not a directory",
    "fuse bm25=a.run dense=b.run --qrels q.txt --normalise zz": "Unknown normaliser",
    "fuse bm25=a.run dense=b.run --qrels q.txt --export solr": "Unknown target 'solr'",
    "fuse bm25=a.run --model f.json --out o.run": "run 'dense' is missing",
    "unknown": "No such command",
    **dict.fromkeys(
        (
            "fit data.csv --label hit --model hard.json",
            "fit data.csv --label hit --model x.json --proof data.csv",
            "rank m.json data.csv --output link.csv",
            "convert a.run --qrels q.qrels q.qrels",
            "export m.json data.csv m.mps",
            *(f"solve p.mps --solution {name}" for name in ("p.mps", "p.json")),
            *(f"import p.mps p.sol --model {name}" for name in ("p.sol", "p.json", "p.mps")),
            "fuse bm25=a.run dense=b.run --qrels q.txt --out a.run",
        ),
        "is both read and written",
    ),
}


@pytest.mark.parametrize(("line", "sentence"), REFUSED.items(), ids=lambda value: value[:60])
def test_a_command_that_cannot_be_done_says_why_and_writes_nothing(inputs, monkeypatch, line, sentence):
    monkeypatch.chdir(inputs)
    done = command(*shlex.split(line))
    assert done.exit_code == 2 and sentence in words(done.stderr.replace("│", "")), done.stderr
