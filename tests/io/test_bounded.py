"""Limits on what is read: regular files only, and no more memory than the size of a file justifies."""

import gzip
import io
import os
import time

import numpy as np
import pytest

from rerank.io import csv_table, lines, read_csv
from rerank.io.bounded import parsed_json, read_array, read_bytes
from tests.cases.refuses import refuses


def test_what_a_gzip_file_unpacks_to_is_bounded(file, monkeypatch):
    monkeypatch.setattr(lines, "MAX_UNPACKED", 10_000)
    small = gzip.compress(b"a,b\n" + b"1,2\n" * 2000)
    assert len(read_csv(file(small, "t.csv.gz"))) == 2000
    bomb = gzip.compress(b"a,b\n" + b"1,2\n" * 10**6)
    refuses("unpacks to more than 10000 bytes .* unpack it", read_csv, file(bomb, "t.csv.gz"))
    rng = np.random.default_rng(0)
    honest = b"a,b\n" + b"".join(b"%d,%d\n" % tuple(pair) for pair in rng.integers(0, 10**6, (5000, 2)))
    assert len(read_csv(file(gzip.compress(honest), "t.csv.gz"))) == 5000


def test_special_files_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for name in ("pipe.csv", "zero.csv"):
        refuses("pass a regular file", read_csv, tmp_path / name)
    refuses("NUL", read_csv, "a\0b.csv")


def test_a_shortage_of_memory_is_one_sentence(file, monkeypatch):
    def short(*arguments):
        raise MemoryError

    monkeypatch.setattr(csv_table, "read_header", short)
    refuses("needs more memory than there is", read_csv, file("a,b\n1,2\n"))


def npy(array):
    body = io.BytesIO()
    np.save(body, array)
    return body.getvalue()


ARRAYS = [np.arange(3.0), np.zeros((2, 3), "<f4"), np.arange(6).reshape(3, 2).T, np.zeros((0, 2))]


@pytest.mark.parametrize("array", ARRAYS)
def test_arrays_are_read_as_numpy_writes_them(array):
    raw = npy(array)
    found = read_array(io.BytesIO(raw), array.dtype.str, array.shape, len(raw))
    assert found.dtype == array.dtype and np.array_equal(found, array)


def test_arrays_that_are_not_as_stated_take_no_memory():
    raw = npy(np.zeros(3))
    large = raw.replace(b"(3,), }", b"(" + b"9" * 12 + b",), }")
    for body, kind, shape, size in [
        (raw, "<f8", (4,), len(raw)),
        (raw, "<f4", (3,), len(raw)),
        (raw, "<f8", (3,), len(raw) + 8),
        (raw[:-1], "<f8", (3,), len(raw)),
        (large, "<f8", (10**12 - 1,), len(large)),
        (b"", "<f8", (3,), 0),
        (npy(np.array([None])), "|O", (1,), 200),
    ]:
        with pytest.raises(ValueError):
            read_array(io.BytesIO(body), kind, shape, size)


def test_a_name_that_is_repeated_is_found_in_linear_time():
    names = [f'"{j}":0' for j in [*range(200_000), 199_999]]
    begun = time.process_time()
    with pytest.raises(ValueError, match="the name '199999' appears twice"):
        parsed_json(f"{{{','.join(names)}}}".encode())
    assert time.process_time() - begun < 5


def test_json_and_bytes_within_limits(file):
    assert parsed_json(b'{"a": [1, 2]}') == {"a": [1, 2]}
    for raw in (b"[" + b"[]," * 2**22, b"[" * 10**6, b"\xff", b"9" * 5000, b""):
        with pytest.raises(ValueError):
            parsed_json(raw)
    assert read_bytes(file("four"), 4) == b"four"
    refuses("larger than 3 bytes", read_bytes, file("four"), 3)
