"""The table of mechanisms: every switch names something that is there, and changes what the search does."""

from unittest.mock import patch

import pytest

from benchmarks.mechanisms import MECHANISMS, Mechanism, lines_of, row


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)
def test_a_mechanism_has_files_and_a_switch(mechanism: Mechanism) -> None:
    assert all(lines_of((pattern,)) > 0 for pattern in mechanism.files) and mechanism.off
    for name, value in mechanism.off.items():
        with patch(name, value):  # refuses a name that does not exist
            pass


def test_without_the_exact_end_a_grid_stays_open() -> None:
    exact = next(one for one in MECHANISMS if one.name == "exact end in rationals")
    _, _, _, _, on, off, _ = row(exact, 5.0).split("|")
    assert on.strip().endswith(" s") and "gap" not in on and "gap 1.5 %" in off
