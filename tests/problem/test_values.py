"""Values of many weights at once: those of the definition, and never more."""

import numpy as np
import pytest

from rerank.errors import InputError
from rerank.problem import Problem, problem_of, values, values_at
from rerank.statistics import parse
from tests.cases.search import drawn_lists
from tests.oracles.anchored import anchored
from tests.oracles.oracle import objective_at


def drawn(seed: int, stat: str) -> Problem:
    graded = drawn_lists(seed, 3, 8, 3, "dcg", C=0.01 * (seed % 2))
    if stat not in ("ap", "rr"):
        return drawn_lists(seed, 3, 8, 3, stat, C=graded.C)
    gains = np.zeros(len(graded.X))
    for item in graded.lists:
        gains[item.rows] = item.gains > 0
    return problem_of(graded.X, gains, parse(stat), np.repeat(np.arange(3), 8), C=graded.C)


@pytest.mark.parametrize("stat", ["auc", "dcg@3", "mrr", "ndcg@5", "ap", "rr"])
@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_of_the_definition(monkeypatch, seed, stat):
    problem = drawn(seed, stat)
    weights = np.random.default_rng(seed).integers(-4, 5, (40, 3)) / 4
    monkeypatch.setattr(values, "BATCH", 60)  # several batches
    found = values_at(problem, weights)
    exact = np.array([float(objective_at(problem, w)) for w in weights])
    assert (found <= exact).all() and found == pytest.approx(exact, abs=1e-9)


def test_corrections_are_valued_with_their_score():
    problem = anchored(3)
    low, high = problem.limits
    weights = np.random.default_rng(3).uniform(low, high, (30, low.size))
    exact = [float(objective_at(problem, w)) for w in weights]
    assert values_at(problem, weights) == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("weights", [np.zeros(3), np.zeros((2, 4)), np.full((1, 3), np.nan)])
def test_weights_of_another_shape_are_refused(weights):
    with pytest.raises(InputError, match="3 for each value"):
        values_at(drawn_lists(0, 3, 8, 3, "auc"), weights)
