"""Files written whole or not at all, text and bytes alike."""

import errno
import os
import subprocess
import sys

import numpy as np
import pytest

from rerank.errors import InputError
from rerank.io import Table, atomic, write_csv, write_qrels, write_run, write_svmlight
from rerank.io.atomic import together, writing, writing_bytes
from tests.cases.disk import file_size_limit
from tests.io.test_paths import write

TABLE = Table(np.eye(2), np.ones(2), None, None, ("a", "b"))
WRITERS = [
    lambda path: write_csv(path, TABLE),
    lambda path: write_svmlight(path, TABLE),
    lambda path: write_run(path, None, ["d1", "d2"], [2, 1]),
    lambda path: write_qrels(path, None, ["d1", "d2"], [1, 0]),
]


@pytest.mark.parametrize(("open_new", "old", "new"), [(writing, "old", "é\n"), (writing_bytes, b"old", b"\0\xff\r\n")])
def test_a_file_is_replaced_when_the_block_ends_well_and_only_then(tmp_path, open_new, old, new):
    path = tmp_path / "file"
    for content in (old, new):
        with open_new(path) as file:
            file.write(content)
    expected = new.encode() if isinstance(new, str) else new
    assert path.read_bytes() == expected
    with pytest.raises(ZeroDivisionError), open_new(path) as file:
        file.write(old)
        file.write(1 / 0)
    assert path.read_bytes() == expected and os.listdir(tmp_path) == ["file"]
    nowhere = tmp_path / "none" / "file"
    with pytest.raises(InputError, match="Cannot write .*; choose a folder"), open_new(nowhere):
        pass


WAITING = "import sys, time\nfrom rerank.io.atomic import writing\nwith writing(sys.argv[1]) as f:\n" + (
    "    f.write('half'); f.flush(); print('ready', flush=True); time.sleep(60)"
)


def test_a_process_that_is_killed_leaves_the_old_file_whole_and_the_next_one_removes_what_it_left(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with subprocess.Popen([sys.executable, "-c", WAITING, str(path)], stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"ready\n"
        child.kill()
    (left,) = tmp_path.glob(".file.????????.part")
    assert path.read_text() == "old" and left.read_text() == "half"
    write(path)
    assert path.read_text() == "new" and os.listdir(tmp_path) == ["file"]


def test_what_a_living_process_is_writing_stays(tmp_path):
    path, other = tmp_path / "file", tmp_path / ".file.other.part"
    other.write_text("of somebody else")
    with writing(path) as outer, together():
        outer.write("outer")
        write(path, "inner")
        write(tmp_path / "another")
        write(path, "last")
    assert path.read_text() == "outer" and sorted(os.listdir(tmp_path)) == [other.name, "another", "file"]


def test_many_writers_of_one_file_at_once(tmp_path):
    """None disturbs what another one is writing."""
    code = (
        "import sys\nfrom rerank.io.atomic import writing\nfor k in range(60):\n"
        "    with writing(sys.argv[1]) as f: f.write(sys.argv[2] * 1000)"
    )
    path = tmp_path / "file"
    children = [subprocess.Popen([sys.executable, "-c", code, str(path), str(k)]) for k in range(4)]
    assert [child.wait(timeout=60) for child in children] == [0] * 4
    assert os.listdir(tmp_path) == ["file"]
    assert len(set(path.read_text())) == 1 and path.stat().st_size == 1000


def test_a_full_disk_is_one_sentence_at_every_write(tmp_path, monkeypatch):
    """The n-th call of the system fails, for every n there is."""
    path = tmp_path / "file"
    calls = ["open", "fsync", "replace", "fchmod"]
    path.write_text("old")
    for name in calls:
        real = getattr(os, name)

        def fail(*arguments, real=real, **options):
            if "part" in str(arguments) or isinstance(arguments[0], int):
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(*arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(atomic.os, name, fail)
            with pytest.raises(InputError, match=r"Cannot write .*: No space left on device; .*\.$"):
                write(path)
        assert path.read_text() == "old" and os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("limit", [0, 5000, 40000])
@pytest.mark.parametrize("open_new", [writing, writing_bytes])
def test_a_file_that_cannot_grow_is_one_sentence(tmp_path, open_new, limit):
    path = tmp_path / "file"
    path.write_text("old")
    part = "x" * 1000 if open_new is writing else b"x" * 1000
    sentence = r"Cannot write .*; make room .*\.$"
    with file_size_limit(limit), pytest.raises(InputError, match=sentence), open_new(path) as file:
        for _ in range(50):
            file.write(part)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("number", range(len(WRITERS)))
def test_every_writer_of_tables_keeps_the_old_file_when_the_disk_is_full(tmp_path, number):
    path = tmp_path / "file"
    path.write_text("old")
    with file_size_limit(0), pytest.raises(InputError, match="Cannot write"):
        WRITERS[number](path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["file"]


def test_files_that_belong_together_are_replaced_together_or_not_at_all(tmp_path):
    paths = [tmp_path / name for name in ("a", "b")]
    for path in paths:
        path.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic.together():
        for path in paths:
            write(path)
        assert [path.read_text() for path in paths] == ["old", "old"]
        1 / 0  # noqa: B018
    assert [path.read_text() for path in paths] == ["old", "old"] and len(os.listdir(tmp_path)) == 2
    with atomic.together():
        write(paths[0])
        with pytest.raises(InputError), atomic.together():
            write(tmp_path)
        write(paths[1])
        assert [path.read_text() for path in paths] == ["old", "old"]
    assert [path.read_text() for path in paths] == ["new", "new"] and len(os.listdir(tmp_path)) == 2
