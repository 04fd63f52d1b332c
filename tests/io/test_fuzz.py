"""Readers under damaged input: a sound file is read, a damaged one is read or refused with one sentence."""

import pytest

from tests.cases.fuzz import READERS, again, failures, kept, tried


@pytest.mark.parametrize("name", READERS)
def test_sound_files_are_read(name, tmp_path):
    import gzip

    reader = READERS[name]
    for content in reader.seeds():
        path = tmp_path / f"sound{reader.suffix}"
        path.write_bytes(gzip.compress(content) if reader.suffix.endswith(".gz") else content)
        if name in ("csv", "csv_gz", "solution", "svmlight"):
            assert tried(reader, path.read_bytes(), tmp_path) is None  # not every one has every role
        else:
            reader.read(path)


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_are_read_or_refused_with_one_sentence(name):
    done, found = failures(name, count=600, seconds=2, seed=7)
    assert done and [failure.what for failure in found] == []


@pytest.mark.parametrize("path", kept(), ids=lambda path: path.name)
def test_what_once_failed(path, tmp_path):
    assert again(path, tmp_path) is None
