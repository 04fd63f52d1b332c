"""Output paths: links are followed, modes are kept, special files are refused, and nothing stays after a kill."""

import os
import socket
import subprocess
import sys

import pytest

from rerank.errors import InputError
from rerank.io.atomic import writing, writing_bytes
from rerank.io.paths import check_outputs
from tests.cases.refuses import refuses


def write(path, text="new"):
    with writing(path) as file:
        file.write(text)


def test_a_link_stays_and_the_file_it_leads_to_is_replaced(tmp_path):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    real, link, second = tmp_path / "there" / "real", tmp_path / "here" / "link", tmp_path / "again"
    real.write_text("old")
    link.symlink_to("../there/real")
    second.symlink_to(link)
    write(second)
    assert second.is_symlink() and link.is_symlink() and real.read_text() == "new"
    real.unlink()
    write(link, "made")  # a link that leads nowhere yet
    assert link.is_symlink() and real.read_text() == "made"
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    refuses("leads back to itself", write, loop)


@pytest.mark.parametrize("mode", [0o600, 0o666, 0o755])
def test_the_mode_of_an_existing_file_is_kept(tmp_path, mode):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(mode)
    with writing(path) as file:
        file.write("new")
        (part,) = tmp_path.glob(".*.part")
        assert part.stat().st_mode & 0o777 == 0o600  # never more open than the result
    assert path.stat().st_mode & 0o7777 == mode and path.read_text() == "new"


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_new_file_gets_the_mode_of_any_new_file(tmp_path, mask):
    old = os.umask(mask)
    try:
        write(tmp_path / "file")
    finally:
        os.umask(old)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o666 & ~mask


def specials(folder):
    os.mkfifo(folder / "pipe")
    (folder / "to_null").symlink_to("/dev/null")
    (folder / "to_stdout").symlink_to("/dev/stdout")
    (folder / "sub").mkdir()
    server = socket.socket(socket.AF_UNIX)
    server.bind(os.path.relpath(folder / "socket"))
    server.close()
    own = [folder / name for name in ("pipe", "to_null", "to_stdout", "sub", "socket")]
    return [*own, "/dev/null", "/dev/full", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]


@pytest.mark.parametrize("open_new", [writing, writing_bytes])
def test_only_regular_files_are_written(tmp_path, open_new, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in specials(tmp_path):
        before = os.lstat(path)
        with pytest.raises(InputError) as caught, open_new(path):
            pytest.fail("it was opened")
        assert "give the path of" in str(caught.value) and str(path) in str(caught.value)
        assert os.lstat(path).st_mode == before.st_mode and os.lstat(path).st_ino == before.st_ino
    refuses("NUL", write, "a\0b")


@pytest.mark.parametrize("where", ["/dev/stdout", "printed"])
def test_the_file_that_standard_output_goes_to_is_no_output(tmp_path, where):
    code = f"from tests.io.test_paths import write\ntry: write({where!r})\nexcept Exception as e: print(repr(e))"
    with open(tmp_path / "printed", "w") as out:
        subprocess.run(
            [sys.executable, "-c", code],
            stdout=out,
            cwd=tmp_path,
            check=True,
            env={**os.environ, "PYTHONPATH": os.getcwd()},
        )
    text = (tmp_path / "printed").read_text()
    assert text.startswith("InputError") and os.listdir(tmp_path) == ["printed"]


def test_names_as_long_as_the_system_allows(tmp_path):
    for name in ("é" * 127, "n" * 255):
        write(tmp_path / name)
        assert (tmp_path / name).read_text() == "new"
    refuses("Cannot write .*too long", write, tmp_path / ("n" * 256))


def test_outputs_are_no_inputs_and_differ(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, hard, link = tmp_path / "data.csv", tmp_path / "hard.csv", tmp_path / "link.csv"
    data.write_text("x")
    hard.hardlink_to(data)
    link.symlink_to(data)
    for output in (data, hard, link, "data.csv", "./data.csv", "../" + tmp_path.name + "/data.csv"):
        with pytest.raises(InputError, match="is both read and written; write --model to another file"):
            check_outputs(["data.csv"], {"--model": output})
    with pytest.raises(InputError, match="is given for --model and for --proof"):
        check_outputs([data], {"--model": "new", "--proof": tmp_path / "new"})
    (tmp_path / "n").symlink_to("new")
    refuses("is given for --model and for --proof", check_outputs, [data], {"--model": "new", "--proof": "n"})
    refuses("folder of .* does not exist", check_outputs, [], {"--model": "no/such/m"})
    refuses("is a folder", check_outputs, [], {"--model": tmp_path})
    check_outputs([data, None, "absent"], {"--model": "m", "--proof": None})
    assert sorted(os.listdir()) == ["data.csv", "hard.csv", "link.csv", "n"]
