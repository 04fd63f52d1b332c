"""Corrections in words: the largest first, in steps that people count in."""

import numpy as np
import pytest

from rerank.reranker.describe import corrections_in_words


def test_corrections_are_told_in_round_steps():
    told = corrections_in_words(["age", "income", "flag"], np.array([0.03, -0.1, 0.0]), np.array([12.0, 45_000.0, 0.3]))
    assert told.endswith("-0.044 per 20000 of income, +0.025 per 10 of age.")
    assert corrections_in_words(["a"], np.zeros(1), np.ones(1)) == ""
    many = corrections_in_words([f"x{j}" for j in range(9)], np.linspace(0.1, 0.9, 9), np.ones(9))
    assert many.endswith("and 3 smaller ones.") and "x8" in many and "x0" not in many


@pytest.mark.parametrize("spread, step", [(1.0, "1"), (4.99, "2"), (0.05, "0.05"), (999.0, "500"), (1e-9, "1e-09")])
def test_steps_are_1_2_or_5_times_a_power_of_ten(spread, step):
    assert f"per {step} of x" in corrections_in_words(["x"], np.array([0.1]), np.array([spread]))
