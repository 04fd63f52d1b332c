"""What the tests of readers share."""

import pytest


@pytest.fixture
def file(tmp_path):
    """Write a text, or bytes, to a file."""

    def make(text, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return make
