"""Advice that a message gives is followed: it works, and what the message promised holds."""

import pytest

from tests.cases.advice import commands, fits, heard, pattern, programs, tables

ROWS = [*tables.ROWS, *fits.ROWS, *commands.ROWS, *programs.ROWS]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.says[0][:70])
def test_advice_helps_whoever_follows_it(row, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said, _ = heard(row.wrong)
    assert [part for part in row.says if not pattern(part).search(said)] == [], said
    after = {}
    said, kept = heard(lambda: after.setdefault("promise", row.right()))
    assert after.get("promise"), said
    assert [part for part in row.says if pattern(part).search(said)] == []
