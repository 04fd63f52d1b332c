"""Files written whole or not at all, text and bytes alike."""

import os

import pytest

from rerank.errors import InputError
from rerank.io.atomic import writing, writing_bytes


@pytest.mark.parametrize(
    ("open_new", "old", "new"), [(writing, "old", "é\n"), (writing_bytes, b"old", b"\0\xff\r\n")]
)
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
    with (
        pytest.raises(InputError, match="Cannot write .*; choose a folder"),
        open_new(tmp_path / "none" / "file"),
    ):
        pass
