"""The folder in which a command runs."""

import pytest

from rerank.io import Table, write_csv
from tests.cli.commands import NAMES, noisy


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = noisy(0)
    write_csv("data.csv", Table(X, y, None, None, NAMES), label="hit")
    return tmp_path
