"""Weights of runs that cost no search: logistic regression by the slopes of its loss, averages, floors."""

import numpy as np
import pytest
from scipy.optimize import fsolve

from rerank.fusion import FusionModel
from rerank.ranks import list_values
from rerank.reranker.blend import POOL, RIDGE, logistic
from rerank.reranker.fusion.points import RunWeights, raised


def test_rounding_makes_ties_of_sums_that_are_equal_but_for_rounding():
    X = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.0, 0.0, 0.0]])  # 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1
    found = FusionModel(("a", "b", "c"), np.ones(3), "none").fuse_arrays(X)
    assert X[0].sum() != X[1].sum() and found[0] == found[1] > found[2]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("positive", [True, False])
def test_logistic_regression_is_the_best_of_its_loss(seed, positive):
    """The loss is convex, so weights at which no allowed direction falls are its optimum."""
    rng = np.random.default_rng(seed)
    X = rng.random((200, 4)) * [1.0, 0.5, 2.0, 1.0]
    relevant = rng.random(200) < 1 / (1 + np.exp(-(X @ [3.0, 1.0, -2.0, 0.0] - 1)))
    found = logistic(X, relevant, positive)
    assert np.abs(found).sum() == pytest.approx(1) and (not positive or found.min() >= 0)
    A = (X - X.mean(axis=0)) / np.sqrt(X.var(axis=0).mean())

    def slope(given):
        off = 1 / (1 + np.exp(-(A @ (given[0] * found) + given[1]))) - relevant
        return A.T @ off + RIDGE * given[0] * found, off.sum()

    # The size that was divided away and the intercept, by the slopes along both.
    size = fsolve(lambda given: [found @ slope(given)[0], slope(given)[1]], [1.0, 0.0])
    slopes, _ = slope(size)
    assert size[0] > 0 and np.abs(slopes[found != 0]).max() < 1e-4
    assert (found != 0).all() or (positive and slopes[found == 0].min() > -1e-4)


def test_a_run_that_ranks_without_an_error_and_columns_that_say_nothing_have_finite_weights():
    relevant = np.array([True, True, False, False, False])
    assert logistic(np.array([[5.0], [4.0], [3.0], [2.0], [1.0]]), relevant) == pytest.approx([1.0])
    assert logistic(np.ones((5, 2)), relevant) == pytest.approx([0.5, 0.5])
    assert logistic(np.arange(10.0).reshape(5, 2), ~np.zeros(5, dtype=bool)) == pytest.approx([0.5, 0.5])
    assert logistic(-np.array([[5.0], [4.0], [3.0], [2.0], [1.0]]), relevant) == pytest.approx([1.0])  # held at 0


def test_points_learn_from_their_columns_alone():
    rng = np.random.default_rng(1)
    qid, X, grades = np.repeat(np.arange(6), 20), rng.random((120, 5)), rng.choice([0.0, 0.0, 1.0, 2.0], 120)
    own, equal, none = [1, 2, 4], np.full(3, 1 / 3), np.zeros(3)

    def weights(kind, floors=none):
        coef = RunWeights(kind, own, equal, floors, "ndcg@5").fit(X, grades, qid).coef_
        assert not np.delete(coef, own).any()
        return coef[own]

    alone = weights("logistic alone")
    assert alone == pytest.approx(logistic(X[:, own], grades > 0), abs=1e-6)
    assert weights("logistic") == pytest.approx((POOL * equal + 6 * alone) / (POOL + 6), abs=1e-6)
    means = [np.nanmean(list_values("ndcg@5", grades, X[:, j], qid, gain="linear")) for j in own]
    assert weights("single").tolist() == np.eye(3)[np.argmax(means)].tolist()
    assert weights("given").tolist() == equal.tolist()
    lifted = weights("single", np.full(3, 0.2))
    assert sorted(lifted) == pytest.approx([0.2, 0.2, 0.6]) and np.argmax(lifted) == np.argmax(means)


def test_floors_raise_shares_and_the_others_keep_their_ratios():
    found = raised(np.array([0.7, 0.2, 0.1]), np.array([0.0, 0.0, 0.4]))
    assert found == pytest.approx([0.6 * 7 / 9, 0.6 * 2 / 9, 0.4])
    assert raised(np.array([0.5, 0.45, 0.05]), np.array([0.0, 0.4, 0.4])) == pytest.approx([0.2, 0.4, 0.4])
    assert raised(np.array([1.0, 0.0]), np.array([0.5, 0.5])) == pytest.approx([0.5, 0.5])
