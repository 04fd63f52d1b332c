"""Checkpoints: a run whose process died goes on to the same bits, and checkpoints of other runs are refused."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from rerank.latent import LatentRoBiRank, split_log, storage
from rerank.latent.engines.local import LocalEngine
from rerank.latent.training import KIND
from tests.cases.latent import clustered_log
from tests.cases.refuses import refuses

OPTIONS = dict(
    n_factors=4,
    n_negatives=20,
    n_shards=2,
    block_bytes=4 * 4 * 20,
    alpha=0.05,
    n_epochs=9,
    evaluate_every=2,
    random_state=0,
)


def model(folder, **options):
    return LatentRoBiRank(**{**OPTIONS, "checkpoint": folder, **options})


@pytest.fixture(scope="module")
def logs():
    return split_log(clustered_log(60, 40), (0.25,), 0)[::-1]


def same(a, b):
    """The same factors, epochs and history, but for the seconds."""
    histories = [
        [{k: v for k, v in entry.items() if k in ("epoch", "loss", "xi_error", "precision")} for entry in m.history_]
        for m in (a, b)
    ]
    return (
        (a._factors.U == b._factors.U).all()
        and (a._factors.V == b._factors.V).all()
        and (a._factors.GU == b._factors.GU).all()
        and (a._factors.GV == b._factors.GV).all()
        and histories[0] == histories[1]
        and (a.n_epochs_, a.stopped_) == (b.n_epochs_, b.stopped_)
    )


class Crash(Exception):
    pass


def crashing(monkeypatch, epoch):
    """An error in the last sub-epoch of ``epoch``; the caller undoes the patch."""
    run = LocalEngine.sub_epoch

    def sub_epoch(self, step):
        if step == (epoch, 1):
            raise Crash
        run(self, step)

    monkeypatch.setattr(LocalEngine, "sub_epoch", sub_epoch)


@pytest.mark.parametrize(
    ("died", "every", "validated"), [(1, 1, False), (4, 1, False), (9, 1, True), (8, 3, False), (8, 3, True)]
)
def test_a_run_that_died_goes_on_to_the_same_bits(logs, tmp_path, monkeypatch, died, every, validated):
    given = logs if validated else logs[:1]
    whole = model(None, patience=9).fit(*given)
    with monkeypatch.context() as patch:
        crashing(patch, died)
        with pytest.raises(Crash):
            model(tmp_path / "c", checkpoint_every=every, patience=9).fit(*given)
    at = storage.read(tmp_path / "c", KIND)[0]["at"]
    best = at and at["best"]
    done = []
    run = LocalEngine.sub_epoch
    monkeypatch.setattr(LocalEngine, "sub_epoch", lambda self, step: (done.append(step), run(self, step)))
    again = model(tmp_path / "c", checkpoint_every=every, patience=9).fit(*given)
    kept = [e for e in range(died) if e % every == 0 or e % 2 == 0]  # every evaluation is saved, too
    assert done[0] == (max(kept) + 1, 0)
    assert same(whole, again)
    if not validated:  # the factors of the last evaluation are kept beside the newest
        assert best == {1: None, 4: "own", 8: "newest"}[died]


def test_a_checkpoint_changes_nothing_and_a_run_that_ended_is_not_run_again(logs, tmp_path, monkeypatch):
    whole = model(None).fit(logs[0])
    assert same(whole, model(tmp_path / "c").fit(logs[0]))
    assert same(whole, model(tmp_path / "d", checkpoint_every=4).fit(logs[0]))
    monkeypatch.setattr(LocalEngine, "prepare", lambda *a: 1 / 0)
    assert same(whole, model(tmp_path / "c", n_jobs=1, verbose=1).fit(logs[0]))


def test_the_seed_of_the_folder_is_used_if_none_is_given(logs, tmp_path):
    first = model(tmp_path / "c", random_state=None).fit(logs[0])
    assert same(first, model(tmp_path / "c", random_state=None).fit(logs[0]))
    assert not same(first, model(tmp_path / "d", random_state=None).fit(logs[0]))


def test_ctrl_c_leaves_a_run_that_can_go_on(logs, tmp_path, monkeypatch):
    run = LocalEngine.sub_epoch

    def sub_epoch(self, step):
        run(self, step)
        if step == (5, 0):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(LocalEngine, "sub_epoch", sub_epoch)
        assert model(tmp_path / "c").fit(logs[0]).stopped_ == "interrupted"
    assert same(model(None).fit(logs[0]), model(tmp_path / "c").fit(logs[0]))


SCRIPT = """
import os, signal, sys
import scipy.sparse as sp
from rerank.latent import LatentRoBiRank
from tests.latent.test_checkpoint import OPTIONS
count = 0
replace = os.replace
def replacing(a, b):
    global count
    count += 1
    if count == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    replace(a, b)
os.replace = replacing
LatentRoBiRank(**OPTIONS, checkpoint=sys.argv[2]).fit(sp.load_npz(sys.argv[1]))
"""


# The first file to be moved reserves the folder, then come four arrays and the JSON file of each epoch.
@pytest.mark.parametrize("moved", [1, 13])
def test_a_process_killed_while_it_writes_leaves_a_whole_checkpoint(logs, tmp_path, moved):
    sp.save_npz(tmp_path / "log.npz", logs[0])
    folder = tmp_path / "c"
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path / "log.npz", folder, str(moved)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        timeout=120,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    if moved > 1:
        assert storage.read(folder, KIND)[0]["at"]["epoch"] == 2
    assert same(model(None).fit(logs[0]), model(folder).fit(logs[0]))
    assert not list(folder.glob(".*.part"))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(n_factors=5), "n_factors=4, not 5"),
        (dict(random_state=1), "seed="),
        (dict(n_shards=1), "n_shards=2, not 1"),
        (dict(init_scale=0.1), "init_scale"),
        (dict(evaluate_every=3), "evaluate_every"),
    ],
)
def test_a_checkpoint_of_other_options_is_refused_and_kept(logs, tmp_path, options, words):
    model(tmp_path).fit(logs[0])
    before = contents(tmp_path)
    refuses(words, model(tmp_path, **options).fit, logs[0])
    assert contents(tmp_path) == before


def test_a_checkpoint_of_other_data_is_refused_and_kept(logs, tmp_path):
    model(tmp_path).fit(logs[0])
    before = contents(tmp_path)
    other = logs[0].tolil()
    other[0] = 0
    for given, words in [((sp.csr_matrix(other),), "another log"), (logs, "another validation part")]:
        refuses(words, model(tmp_path).fit, *given)
    refuses("another log", model(tmp_path).fit, sp.hstack([logs[0], sp.csr_matrix((60, 1))], format="csr"))
    assert contents(tmp_path) == before


def spoil(folder, what):
    path = folder / KIND.name
    document = json.loads(path.read_text())
    arrays, run, at = (document[name] for name in ("arrays", "run", "at"))
    change = {
        "schema": lambda: document.update(schema=99),
        "version": lambda: run.update(version="9.9"),
        "format": lambda: document.update(format="exact-rerank latent model"),
        "run": lambda: document.pop("run"),
        "option": lambda: run.update(tomorrow=1),
        "at": lambda: at.pop("best_precision"),
        "array": lambda: np.save(folder / arrays["V"]["file"], np.zeros((40, 4), np.float32)),
        "missing": lambda: (folder / arrays["U"]["file"]).unlink(),
    }
    change.get(what, lambda: None)()
    path.write_text("{" if what == "json" else json.dumps(document))


@pytest.mark.parametrize(
    ("what", "words", "seed"),
    [
        ("schema", "schema 99", 0),
        ("version", "version='9.9'", 0),
        ("format", "not an exact-rerank latent checkpoint", None),
        ("run", "damaged", 0),
        ("run", "damaged", None),
        ("option", "another version", None),
        ("at", "damaged", 0),
        ("json", "no readable", None),
        ("array", "not the array", 0),
        ("missing", "missing", None),
    ],
)
def test_a_checkpoint_of_another_version_or_damaged_is_refused_and_kept(logs, tmp_path, what, words, seed):
    model(tmp_path, n_epochs=1).fit(logs[0])
    spoil(tmp_path, what)
    before = contents(tmp_path)
    refuses(words, model(tmp_path, n_epochs=1, random_state=seed).fit, logs[0])
    assert contents(tmp_path) == before


def test_folders_of_others_are_refused_before_training(logs, tmp_path, monkeypatch):
    monkeypatch.setattr(LocalEngine, "prepare", lambda *a: 1 / 0)
    (tmp_path / "mine.txt").write_text("mine")
    refuses("no checkpoint", model(tmp_path).fit, logs[0])
    refuses("another path", model(tmp_path / "mine.txt" / "c").fit, logs[0])
    for options in (dict(checkpoint=3), dict(checkpoint_every=0)):
        refuses("checkpoint", model(None, **options).fit, logs[0])


def test_a_model_with_a_checkpoint_can_be_saved_and_go_on(logs, tmp_path):
    fitted = model(tmp_path / "c").fit(logs[0])
    before = contents(tmp_path / "c")
    fitted.save(tmp_path / "m")
    again = LatentRoBiRank.load(tmp_path / "m")
    assert again.checkpoint == os.fspath(tmp_path / "c")
    again.partial_fit(logs[0])
    assert contents(tmp_path / "c") == before


def test_a_fit_that_is_refused_leaves_the_model_as_it_was(logs, tmp_path):
    fitted, twin = model(tmp_path / "c").fit(logs[0]), model(None).fit(logs[0])
    with_nan = logs[0].copy()
    with_nan.data[3] = np.nan
    cases = [
        (dict(), (with_nan,), "NaN"),
        (dict(), (logs[0], with_nan), "NaN"),
        (dict(), (logs[0][:, :3],), "items"),
        (dict(), (sp.csr_matrix((0, 40)),), "0 records"),
        (dict(), (sp.csr_matrix((60, 0)),), "0 items"),
        (dict(alpha=-1.0), logs[:1], "alpha"),
        (dict(n_factors=5), logs[:1], "n_factors=4, not 5"),
        (dict(random_state=None, n_epochs=3), logs[:1], "n_epochs=9"),
    ]
    for options, given, words in cases:
        fitted.set_params(**options)
        refuses(words, fitted.fit, *given)
        fitted.set_params(**OPTIONS)
        assert same(fitted, twin) and fitted.alpha_ == twin.alpha_
    refuses("40 items", fitted.recommend, [0], k=41)
    assert same(fitted.partial_fit(logs[0]), twin.partial_fit(logs[0]))
