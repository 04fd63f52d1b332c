"""Measurements that were cut short go on with the cells that are missing, and measure none twice."""

import json

import pytest

from benchmarks.resumed import measured_cells


def test_it_goes_on_where_it_stopped(tmp_path, capsys) -> None:
    file, seen = tmp_path / "cells.jsonl", []

    def measure(cell: tuple[int, int]) -> dict:
        if cell == (2, 0) and len(seen) < 3:
            seen.append(cell)
            raise KeyboardInterrupt
        seen.append(cell)
        return {"sum": sum(cell)}

    cells = [(0, 0), (1, 0), (2, 0), (3, 0)]
    given = (file, cells, list, measure, lambda row: f"told {row['cell']}")
    with pytest.raises(KeyboardInterrupt):
        measured_cells(*given)
    assert [json.loads(line)["cell"] for line in file.read_text().splitlines()] == [[0, 0], [1, 0]]
    rows = measured_cells(*given)
    assert rows == [{"cell": [k, 0], "sum": k} for k in range(4)] == measured_cells(*given)
    assert seen == [(0, 0), (1, 0), (2, 0), (2, 0), (3, 0)]
    assert capsys.readouterr().err.splitlines() == [f"told [{k}, 0]" for k in range(4)]
