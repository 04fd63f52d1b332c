"""The files of the commands: what may be written where, and what is read."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rerank
from rerank import load
from rerank.certificate import proof_file
from rerank.io import Table, atomic, read_table, write_csv
from rerank.scorecard import Card
from tests.cases.disk import file_size_limit
from tests.cases.mutants import signed
from tests.cli.commands import NAMES, OPEN, answer, fit, noisy, run


def unchanged(folder, *arguments):
    """The command is refused with one sentence, and no file changes."""
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    done = run(*arguments, code=2)
    sentence = done.stderr.strip().splitlines()[-1]
    assert sentence.startswith("rerank: ") and sentence.endswith(".")
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    return sentence


def test_special_files_are_no_outputs(folder):
    fit()
    os.mkfifo("pipe")
    Path("sub").mkdir()
    for number, special in enumerate(("/dev/null", "/dev/full", "/dev/stdout", "pipe", "sub")):
        mode = os.lstat(special).st_mode
        arguments = [
            ("fit", "data.csv", "--free", "--label", "hit", "--model", special),
            ("fit", "data.csv", "--free", "--label", "hit", "--model", "x.json", "--proof", special),
            ("import", "p.mps", "p.sol", "--model", special),
            ("solve", "p.mps", "--solution", special),
        ][number % 4]
        assert "give the path of a file" in unchanged(folder, *arguments)
        assert os.lstat(special).st_mode == mode


def test_a_private_model_stays_private_and_a_link_stays_a_link(folder):
    Path("real.json").write_text("old")
    Path("real.json").chmod(0o600)
    Path("m.json").symlink_to("real.json")
    fit()
    assert Path("m.json").is_symlink() and os.stat("real.json").st_mode & 0o777 == 0o600
    assert load("real.json").result_.proved


def test_a_full_disk_is_one_sentence_and_the_old_files_stay(folder):
    fit("--proof", "p.proof")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for limit in (0, 2000):
        with file_size_limit(limit):
            done = fit("--proof", "p.proof", code=2)
            assert done.stderr.strip().splitlines()[-1].startswith("rerank: Cannot write m.json")
    with file_size_limit(100):
        for arguments in [
            ("rank", "m.json", "data.csv", "--output", "list.csv"),
            ("rank", "m.json", "data.csv", "--output", "list.run"),
            ("convert", "data.csv", "c.svm", "--label", "hit"),
        ]:
            assert "Cannot write" in unchanged(folder, *arguments)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


# -- what is read ------------------------------------------------------------------------------------------------------


def test_the_delimiter_can_be_stated_and_the_advice_names_the_option(folder):
    text = Path("data.csv").read_text()
    Path("semi.csv").write_text(text.replace(",", ";"))
    fit("--delimiter", ";", data="semi.csv")
    assert "--delimiter ';'" in unchanged(folder, "rank", "m.json", "semi.csv")
    shown = answer(run("rank", "m.json", "semi.csv", "--delimiter", ";", "--json"))
    assert shown == answer(run("rank", "m.json", "data.csv", "--json"))
    Path("tabs.csv").write_text(text.replace(",", "\t"))
    run("convert", "tabs.csv", "out.csv", "--label", "hit", "--delimiter", "tab")
    assert read_table("out.csv", label="hit").X.tolist() == read_table("data.csv", label="hit").X.tolist()


def test_documents_that_no_run_has_count_in_the_ideal(folder):
    for name, scores in (("bm25", [3, 2, 1]), ("dense", [1, 3, 2])):  # svmlight wants lists that are whole numbers
        lines = [f"{q} Q0 d{k} 1 {s + 0.1 * q} {name}" for q in (1, 2) for k, s in enumerate(scores)]
        Path(f"{name}.run").write_text("\n".join(lines) + "\n")
    Path("j.qrels").write_text("".join(f"{q} 0 d1 2\n{q} 0 d0 1\n{q} 0 far 2\n" for q in (1, 2)))
    values = {}
    for form, choice in [("csv", "--judged"), ("svm", "--judged"), ("csv", "--no-judged")]:
        target = f"f.{form}"
        said = run("convert", "bm25.run", "dense.run", target, "--qrels", "j.qrels", choice).stderr
        assert "2 relevant documents are in no run" in said
        roles = ["--label", "target", "--qid", "qid", "--id", "id"] if form == "csv" else []
        options = ("--stat", "ndcg", "--first-stage", "none", "--solver", "search", "--model", "f.json")
        body = answer(run("fit", target, "--free", *roles, *options, "--json", code=None))
        values[form, choice] = body["statistic"]
        score = answer(run("score", "f.json", target, "--json"))
        assert score["value"] == pytest.approx(body["statistic"])
    discount = 1 / np.log2(np.arange(3) + 2)
    ideal = (np.array([3, 3, 1]) * discount).sum() / (np.array([3, 1, 0]) * discount).sum()
    assert values["csv", "--judged"] == values["svm", "--judged"]
    assert values["csv", "--no-judged"] / values["csv", "--judged"] == pytest.approx(ideal)
    run("convert", "bm25.run", "f.csv", "--qrels", "j.qrels")
    given = ("f.csv", "g.qrels", "--label", "target", "--qid", "qid")
    assert "--no-judged" in unchanged(folder, "convert", *given)


def test_the_version():
    assert run("--version").stdout.strip() == f"rerank {rerank.__version__}"


def test_a_program_and_its_sidecar_are_written_together(folder):
    fit("--candidates", 8)
    run("export", "m.json", "data.csv", "p.mps")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with file_size_limit(len(before["p.json"]) + 1):
        assert "Cannot write p.mps" in unchanged(folder, "export", "m.json", "data.csv", "p.mps")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("lost", ["m.json", "p.proof", "a.svg"])
def test_an_output_that_cannot_be_written_costs_no_other(folder, monkeypatch, lost):
    outputs = ["m.json", "p.proof", "a.svg"]
    fit("--proof", "p.proof", "--plot", "a.svg")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    open_ = os.open

    def full(path, *more, **options):
        if str(path).endswith(".part") and f".{lost}." in str(path):
            raise OSError(28, "No space left on device")
        return open_(path, *more, **options)

    monkeypatch.setattr(atomic.os, "open", full)
    done = fit("--C", "0.001", "--proof", "p.proof", "--plot", "a.svg", code=2)
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(after) == set(before) and [name for name in outputs if after[name] == before[name]] == [lost]
    assert f"Cannot write {lost}: No space left on device" in done.stderr and "weights" in done.stdout
    assert ("p.proof is the proof of an earlier fit" in done.stderr) == (lost == "p.proof")


def test_a_proof_that_is_too_large_costs_no_model(folder, monkeypatch):
    monkeypatch.setattr(proof_file, "FORM", replace(proof_file.FORM, most_bytes=10))
    done = fit("--proof", "p.proof")
    assert "No proof was written to p.proof: The proof cannot be written" in done.stderr
    assert Path("m.json").exists() and not Path("p.proof").exists()


def test_a_command_goes_on_with_its_checkpoint(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    y = (X[:, 0] + rng.normal(size=100) > 0.5).astype(float)
    write_csv("data.csv", Table(X, y, None, None, ("a", "b", "c", "d")), label="hit")
    all_rows = ("--stat", "auc", "--candidates", 0)
    first = fit(*all_rows, "--checkpoint", "c", "--node-limit", 1, code=3)
    whole = answer(fit(*all_rows, "--json"))
    done = fit(*all_rows, "--checkpoint", "c", "--json")
    assert "goes on with c" in done.stderr and "goes on" not in first.stderr
    assert all(answer(done)[name] == whole[name] for name in ("status", "value", "bound", "nodes"))
    assert "another problem" in fit("--checkpoint", "c", "--C", 0.5, code=2).stderr
    assert "both read and written" in fit("--checkpoint", "data.csv", code=2).stderr


def test_a_verification_says_which_columns_and_label_contradict_the_file(folder):
    X, y = noisy(0)
    label = np.where(y > 0, "dead", "alive")
    frame = pd.DataFrame(X, columns=list(NAMES)).assign(hit=label, same=label)
    frame.to_csv("words.csv", index=False)
    fit("--pos-label", "dead", "--features", ",".join(NAMES), data="words.csv")
    sound, how = json.loads(Path("m.json").read_text()), ("--label", "hit", "--pos-label", "dead")
    assert "contradict" not in run("verify", "m.json", "words.csv", *how, code=OPEN).stdout
    for entry, other in (("positive_label", "alive"), ("label_column", "same")):
        forged = signed({**sound, "settings": {**sound["settings"], entry: other}})
        Path("forged.json").write_text(json.dumps(forged))
        body = answer(run("verify", "forged.json", "words.csv", *how, "--json", code=5))
        assert [one["name"] for one in body["checks"] if not one["holds"]] == [f"settings.{entry}"]
        for command in (("score",), ("report", "--output", "page.html")):  # nobody names the label: it is told
            told = run(command[0], "forged.json", "words.csv", *command[1:], code=(0, 5)).stderr
            assert ("is 'alive' count" in told) == (entry == "positive_label")
    renamed = frame.rename(columns={"hit": "died"}).drop(columns="same")
    renamed.to_csv("renamed.csv", index=False)
    assert run("verify", "m.json", "renamed.csv", "--label", "died", *how[2:], code=OPEN).exit_code in OPEN
    said = run("score", "m.json", "words.csv", "--pos-label", "alive").stderr
    assert "'dead'" in said and "'alive'" in said
    said = run("score", "m.json", "words.csv").stderr
    assert f"'hit' is 'dead' count as relevant: {int(y.sum())} of 50" in said and "alive" not in said


def test_ids_that_look_like_formulas_keep_their_apostrophe_with_a_word_or_are_raw(folder):
    ids = ["=1+1", "@x", "+1+1", "-a", "-2", *(f"r{row}" for row in range(45))]
    X, y = noisy(0)
    pd.DataFrame(X, columns=list(NAMES)).assign(name=ids, hit=y).to_csv("named.csv", index=False)
    fit("--features", ",".join(NAMES), data="named.csv", code=OPEN)
    Card.of({"+age >= 0": 1}, ["+age"]).save("odd.json")
    Card.of({"age >= 0": 1}).save("card.json")
    ways = {
        "rank": (("rank", "m.json", "named.csv", "--id", "name", "--output", "out.csv"), "id"),
        "convert": (("convert", "named.csv", "out.csv", "--id", "name", "--label", "hit"), "id"),
        "apply": (("card", "apply", "card.json", "named.csv", "--id", "name", "--output", "out.csv"), "id"),
        "export": (("card", "export", "odd.json", "--to", "csv", "--output", "out.csv"), "question"),
    }
    for command, column in ways.values():
        known = {"+age >= 0"} if column == "question" else set(ids)
        assert "--raw-ids" in run(*command).stderr
        changed = set(pd.read_csv("out.csv", dtype=str)[column]) - known
        assert changed and all(one.startswith("'") and one[1:] in known for one in changed)
        done = run(*command, "--raw-ids")
        assert set(pd.read_csv("out.csv", dtype=str)[column]) == known and "apostrophe" not in done.stderr
    run("rank", "m.json", "named.csv", "--raw-ids", code=2)
