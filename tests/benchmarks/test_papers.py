"""Tables of the papers at a tiny size: the counts agree with a loop over the pairs, and a table has its lines."""

import numpy as np
import pytest

from benchmarks.papers.treersvm import pairwise_error, report


def test_a_table_has_a_line_for_each_size_and_checks_itself(capsys: pytest.CaptureFixture[str]) -> None:
    report(2000, 1000)  # compares the subgradient with the loop
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["1000", "2000"]
    assert lines[3].split()[2] == "-" and 0 < float(lines[3].split()[-1]) < 0.5


def test_the_error_is_the_share_of_wrong_pairs() -> None:
    assert pairwise_error(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])) == pytest.approx(1 / 3)
    assert pairwise_error(np.array([1.0, 2.0]), np.array([5.0, 7.0])) == 0
