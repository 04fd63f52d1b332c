"""Linear rows on the weights: searches under them have the enumeration's optimum, and their proofs hold."""

import pytest

from tests.search.rows_agreement import check, drawn


@pytest.mark.parametrize("rows", [False, True], ids=["by pairs", "by rows"])
@pytest.mark.parametrize("part", range(5))
def test_searches_under_rows_agree_with_an_enumeration(part: int, rows: bool) -> None:
    seeds = range(60 * part + 30 * rows, 60 * part + 30 * rows + 30)
    asked = [problem for seed in seeds if (problem := drawn(seed)) is not None]
    found = [check(problem, rows) for problem in asked]
    assert len(found) > 10 and found.count("closed") > 0.9 * len(found)
