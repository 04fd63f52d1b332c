"""Folders of models and checkpoints: which files are removed, who may write, and what JSON holds."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rerank.errors import InputError
from rerank.io.bounded import plain
from rerank.latent import LatentRoBiRank, storage
from rerank.latent.storage import NAME, locked
from rerank.latent.training import KIND
from tests.cases.latent import clustered_log
from tests.cases.refuses import refuses

ROOT = Path(__file__).parents[2]
DIGITS = "0123456789abcdef"


def model(**options):
    return LatentRoBiRank(4, n_epochs=1, n_negatives=5, **{"random_state": 0, **options})


@pytest.fixture(scope="module")
def fitted():
    return model().fit(clustered_log(20, 16))


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_files_of_others_in_the_folder_are_left_locked(fitted, tmp_path):
    fitted.save(tmp_path)
    theirs = {"features.npy", "U.npy", "U-0123.npy", f"X-{DIGITS}.npy", "notes.part", ".other.json.ab.part"}
    for name in theirs:
        (tmp_path / name).write_text("mine")
    ours = {f"U-{DIGITS}.npy", f".GV-{DIGITS}.npy.part", f".V-{DIGITS}.npy.x1y2.part", ".model.json.x1y2.part"}
    for name in ours:
        (tmp_path / name).write_text("left by a process that died")
    fitted.save(tmp_path)
    assert theirs <= names(tmp_path) and not ours & names(tmp_path)


def test_what_a_killed_writer_left_of_a_checkpoint_goes(tmp_path):
    log = clustered_log(20, 16)
    model(checkpoint=tmp_path).fit(log)
    (tmp_path / ".checkpoint.json.abc123.part").write_text("{")
    (tmp_path / f"best_U-{DIGITS}.npy").write_text("")
    storage.write(tmp_path, {"run": {}, "at": None}, {}, KIND)
    assert names(tmp_path) == {"checkpoint.json"}


def test_a_full_disk_is_an_error_of_ours_and_leaves_the_old_model(fitted, tmp_path, monkeypatch):
    fitted.save(tmp_path / "m")

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rerank.latent.storage.json.dump", full)
    refuses(r"model.json: No space left", model(random_state=1).fit(clustered_log(20, 16)).save, tmp_path / "m")
    assert (LatentRoBiRank.load(tmp_path / "m").user_factors_ == fitted.user_factors_).all()


@pytest.mark.parametrize("seed", [3, np.int64(3), np.uint8(3), None])
def test_a_seed_of_any_integer_type_is_kept(tmp_path, seed):
    model(random_state=seed, alpha=np.float32(0.1), checkpoint=tmp_path / "c").fit(clustered_log(20, 16)).save(
        tmp_path / "m"
    )
    assert LatentRoBiRank.load(tmp_path / "m").random_state == seed
    model(random_state=np.random.RandomState(3)).fit(clustered_log(20, 16)).save(tmp_path / "m")
    assert LatentRoBiRank.load(tmp_path / "m").random_state is None


def test_values_as_json_knows_them():
    given = {"a": [np.float32(0.5), np.nan, (1, np.int8(2))], "b": {"c": Path("x"), "d": np.inf, "e": np.bool_(True)}}
    wanted = {"a": [0.5, None, [1, 2]], "b": {"c": "x", "d": None, "e": True}}
    assert plain(given) == wanted and json.loads(json.dumps(plain(given))) == wanted


def test_a_folder_that_is_held_is_refused_and_left_as_it_was(fitted, tmp_path):
    log = clustered_log(20, 16)
    model(checkpoint=tmp_path / "c").fit(log)
    fitted.save(tmp_path / "m")
    before = names(tmp_path / "c"), names(tmp_path / "m")
    with locked(tmp_path / "c"), locked(tmp_path / "m"):
        refuses(f"in use by process {os.getpid()}", model(checkpoint=tmp_path / "c").fit, log)
        refuses("in use by", fitted.save, tmp_path / "m")
    assert before == (names(tmp_path / "c"), names(tmp_path / "m"))
    fitted.save(tmp_path / "m")
    with locked(tmp_path / "new"):  # and one that was not there is made
        pass
    assert names(tmp_path / "new") == set()


HOLDER = """
import os, signal, sys
from rerank.latent.storage import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_another_process_keeps_us_out_until_it_is_dead(fitted, tmp_path):
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        refuses(f"in use by process {other.pid}", fitted.save, tmp_path)
        assert names(tmp_path) == {NAME}
        other.stdin.write("\n")
        other.stdin.flush()
        other.wait(30)
    assert names(tmp_path) == {NAME}  # killed, it could not clean up
    fitted.save(tmp_path)
    assert NAME not in names(tmp_path)


def test_a_lock_that_was_removed_meanwhile_keeps_nobody_out(tmp_path, monkeypatch):
    """The holder unlocks after we open the file and before we lock it: our lock is then of a file without a name."""
    import rerank.latent.storage as lock

    take, locks = lock._lock, []

    def removed(descriptor):
        if not locks:
            (tmp_path / NAME).unlink()
        take(descriptor)
        locks.append(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(lock, "_lock", removed)
    with locked(tmp_path):
        assert len(locks) == 2 and (tmp_path / NAME).stat().st_ino == locks[-1]
        with pytest.raises(InputError, match="in use"), locked(tmp_path):
            pass


ENTRY = {"file": "U.npy", "sha256": "", "shape": [2], "dtype": "float64"}


@pytest.mark.parametrize(
    "change",
    [
        b"[" * 10**6,
        b'{"format": ' + b"9" * 10_000 + b"}",
        b"\xff",
        b"",
        {"schema": True},
        {"schema": 99},
        {"format": "something else"},
        {"arrays": []},
        {"arrays": {"U": []}},
        {"arrays": {"U": {"file": 1}}},
        *({"arrays": {"U": ENTRY | {"shape": shape}}} for shape in ([10**30], [2**40], ["2"])),
        *({"arrays": {"U": ENTRY | {"dtype": kind}}} for kind in ("no type", "object")),
        {"arrays": {"U": ENTRY | {"file": "\0"}}},
    ],
)
def test_a_json_file_that_lies_is_one_sentence(fitted, tmp_path, change):
    """A crafted one raised RecursionError, and its shapes were believed."""
    fitted.save(tmp_path)
    path = tmp_path / "model.json"
    np.save(tmp_path / "U.npy", np.zeros(2))
    if isinstance(change, dict):
        change = json.dumps(json.loads(path.read_text()) | change).encode()
    path.write_bytes(change)
    with pytest.raises(InputError) as caught:
        storage.read(tmp_path)
    assert "\n" not in str(caught.value)


def test_the_order_of_an_array_in_memory_does_not_matter(tmp_path):
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    storage.write(tmp_path, {}, {"U": array})
    assert (storage.read(tmp_path)[1]["U"] == array).all()


@pytest.mark.parametrize(
    "state",
    [{"n_items": 3}, {"n_items": 10**6}, {"n_items": -1}, {"n_shards": 1e999}, {"n_epochs": "x"}, {"seed": None}],
)
def test_numbers_that_do_not_fit_the_arrays_are_refused(fitted, tmp_path, state):
    """Compiled code would have read behind the end of an array."""
    fitted.save(tmp_path)
    path = tmp_path / "model.json"
    fields = json.loads(path.read_text())
    fields["state"] |= state
    path.write_text(json.dumps(fields))
    refuses("no readable" if state == {"n_shards": math.inf} else "does not fit", LatentRoBiRank.load, tmp_path)


def test_arrays_that_do_not_fit_each_other_are_refused(fitted, tmp_path):
    for name, array in [("U", np.zeros((3, 4), np.float32)), ("log_items", np.full(400, 99, np.int32))]:
        fitted.save(tmp_path)
        fields, arrays = storage.read(tmp_path)
        storage.write(tmp_path, fields, arrays | {name: array})
        refuses("does not fit", LatentRoBiRank.load, tmp_path)
