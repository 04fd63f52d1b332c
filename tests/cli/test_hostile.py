"""Names, streams and signals that a command has to survive."""

import contextlib
import csv
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from rerank.errors.telling import harmless, say, stderr
from rerank.io import read_table, write_run
from rerank.reranker.files import model_file
from tests.cli.commands import run

EVIL = "Жук\x1b[31m\u202e\x9b"
FIT = ["fit", "t.csv", "--free", "--label", "y", "--id", "id", "--solver", "search", "--time-limit", "5"]
FIT += ["--model", "m.json"]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with a table of evil names and a model of it."""
    folder = tmp_path_factory.mktemp("evil")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    rows = [[f"{EVIL}{i}", *X[i], int(X[i, 0] > 0.5)] for i in range(30)]
    rows[int(X[:, 0].argmax())][0] = "=1+1"
    with open(folder / "t.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["id", "a", "b", "y"], *rows])
    with contextlib.chdir(folder):
        run(*FIT)
    return folder


def command(folder, *words, shell="", **environment):
    """The command in a process of its own, its streams redirected as a shell does it."""
    line = f'"$0" -m rerank "$@" {shell}'
    return subprocess.run(
        ["bash", "-c", line, sys.executable, *words],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_names_are_printed_in_any_encoding_and_without_control_characters(fitted, monkeypatch):
    monkeypatch.chdir(fitted)
    rank = ("rank", "m.json", "t.csv", "--id", "id", "--top", "3")
    other = command(fitted, *rank, PYTHONIOENCODING="cp1252")
    for shown, text in (("Жук", run(*rank).stdout), ("\\u0416\\u0443\\u043a", other.stdout)):
        assert f"{shown}\\x1b[31m\\u202e\\x9b" in text and other.stderr == ""
        assert all(line.isprintable() for line in text.splitlines())


def test_a_forged_message_does_not_reach_the_terminal(fitted, monkeypatch):
    monkeypatch.chdir(fitted)
    doc = model_file.read("m.json")
    forged = replace(doc, result={**doc.result, "message": "\x1b[2J" + doc.result["message"]})
    model_file.write("forged.json", forged)
    done = run("verify", "forged.json", "t.csv", code=5)
    assert "\\x1b[2J" in done.stdout and "\x1b" not in done.stdout + done.stderr


def test_a_ranked_file_runs_no_formula_and_is_read_with_the_true_ids(fitted, monkeypatch):
    monkeypatch.chdir(fitted)
    run("rank", "m.json", "t.csv", "--id", "id", "--output", "r.csv")
    assert "\n1,'=1+1," in (fitted / "r.csv").read_text(encoding="utf-8")
    found = read_table(fitted / "r.csv", id="id").ids.tolist()
    assert sorted(found) == sorted(read_table(fitted / "t.csv", id="id", label="y").ids.tolist())


@pytest.mark.parametrize("shell", ["<&- >&- 2>&-", ">/dev/full"])
def test_no_fit_loses_its_model_to_a_stream(fitted, tmp_path, shell):
    (tmp_path / "t.csv").write_bytes((fitted / "t.csv").read_bytes())
    done = command(tmp_path, *FIT, shell=shell)
    assert (tmp_path / "m.json").stat().st_size > 1000 and "Traceback" not in done.stderr
    assert done.returncode == (2 if shell == ">/dev/full" else 0)
    assert ("Cannot write standard output: No space left on device" in done.stderr) == (shell == ">/dev/full")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_keeps_what_a_fit_has_found(tmp_path, name):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 8))
    y = rng.random(400) < 0.3
    np.savetxt(tmp_path / "t.csv", np.column_stack([X, y]), delimiter=",", header="a,b,c,d,e,f,g,h,y", comments="")
    options = ["--label", "y", "--solver", "search", "--time-limit", "60", "-v", "--checkpoint", "c"]
    with subprocess.Popen(
        [sys.executable, "-m", "rerank", "fit", "t.csv", "--free", "--model", "m.json", *options],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(getattr(signal, name), signal.SIG_DFL),  # nohup ignores SIGHUP
    ) as process:
        while not (tmp_path / "c").exists() and process.poll() is None:
            time.sleep(0.02)
        time.sleep(0.3)
        process.send_signal(getattr(signal, name))
        told = process.communicate()[1]
    assert process.returncode == 3 and (tmp_path / "m.json").exists() and "Traceback" not in told


def test_nohup_is_respected():
    code = (
        "import signal, sys\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\nfrom rerank import cli\n"
        "cli.app = lambda: print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)\ncli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


@pytest.mark.parametrize("end", ["raise KeyboardInterrupt", "os.kill(os.getpid(), signal.SIGTERM)"])
def test_an_interrupt_while_the_commands_are_imported_has_its_exit_code(end):
    code = (
        "import os, signal, sys\nclass Finder:\n    def find_spec(self, name, *rest):\n"
        f"        if name == 'rerank.cli.fitting':\n            {end}\n"
        "sys.meta_path.insert(0, Finder())\nfrom rerank.__main__ import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = "rerank: Stopped before there was a result; nothing was written.\n"
    assert (done.returncode, done.stdout, done.stderr) == (130, "", said)


PLAIN = """
import json
from typer.testing import CliRunner
from rerank.cli import app
words = "fit few.csv --free --formulation mixed --label y --stat dcg@2 --model o.json".split()
rest = [["--proof", "o.proof"], None, ["--no-presolve"], ["--solver", "search"]]
verify = ["verify", "o.json", "few.csv", "--proof", "o.proof"]
done = [CliRunner().invoke(app, verify if more is None else [*words, *more]) for more in rest]
print(json.dumps([(one.exit_code, one.output) for one in done]))
"""


def test_python_without_docstrings_fits_verifies_and_says_what_it_cannot_do(tmp_path):
    (tmp_path / "few.csv").write_text("a,y\n1,0\n2,1\n3,0\n4,1\n", encoding="utf-8")
    environment = os.environ | {"PYTHONOPTIMIZE": "2", "NUMBA_DISABLE_JIT": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", PLAIN], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    fit, verify, programs, search = json.loads(ran.stdout)
    assert fit[0] == 0 and "PYTHONOPTIMIZE=2), so no program confirms the proof" in fit[1], fit
    assert verify[0] == 0 and "FAILED" not in verify[1]
    assert programs[0] == 2 and "only solver='search' needs no program" in programs[1]
    assert search[0] == 0


@pytest.mark.parametrize("stream", [None, "closed", "full"])
def test_standard_error_never_ends_a_call(monkeypatch, stream):
    if stream is not None:
        stream = open("/dev/full", "w")  # noqa: SIM115
        stream.close() if stream == "closed" else None
    monkeypatch.setattr(sys, "stderr", stream)
    say("lost")
    assert stderr().isatty() is False
    from rerank import Reranker

    X = np.arange(12.0).reshape(6, 2) ** 2 % 7
    est = Reranker("dcg@2", solver="search", verbose=2).fit(X, [0, 1, 0, 1, 0, 0])
    assert est.result_.value > 0


def test_text_keeps_its_lines_and_names_have_none():
    assert harmless("a\n\tb\r\x00\ud800é") == "a\n\tb\\r\\x00\\ud800é"
    assert harmless("a\n\tb", name=True) == "a\\n\\tb"


def test_evaluate_prints_control_characters_as_their_codes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        write_run(f"{name}.run", ["q\x1b[31m"], ["d"], [1.0])
    (tmp_path / "q.qrels").write_text("q\x1b[31m 0 d 1\n")
    done = run("evaluate", "x\n\x1b=a.run", "b.run", "q.qrels", "--per-query")
    assert "\x1b" not in done.stdout and "x\\n\\x1b\tq\\x1b[31m\t" in done.stdout


@pytest.mark.parametrize(
    ("words", "shell"),
    [
        (("--version",), ">/dev/full"),
        (("rank", "--help"), ">/dev/full 2>/dev/full"),
        (("nonsense",), ">/dev/full 2>/dev/full"),
    ],
)
def test_help_that_cannot_be_written_is_no_traceback(tmp_path, words, shell):
    done = command(tmp_path, *words, shell=shell)
    assert done.returncode == 2 and "Traceback" not in done.stderr and "Exception" not in done.stderr
