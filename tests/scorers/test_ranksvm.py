"""RankSVM as an estimator."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rerank.errors import InputError
from rerank.scorers import RankSVM
from rerank.scorers.conversions import alpha_of_c, c_of_alpha, count_pairs
from rerank.scorers.ranksvm.estimator import longer, starts
from tests.cases.scorers import bipartite, sparse, utilities


def test_lists_are_not_compared_with_each_other():
    X, y, qid = utilities(n=100, lists=2)
    moved = y + np.where(qid == qid[0], 100, 0)
    np.testing.assert_array_equal(RankSVM().fit(X, y, qid).coef_, RankSVM().fit(X, moved, qid).coef_)
    assert not np.allclose(RankSVM().fit(X, y).coef_, RankSVM().fit(X, moved).coef_)


def test_only_the_order_of_utilities_matters():
    X, y, qid = utilities(n=100)
    np.testing.assert_array_equal(RankSVM().fit(X, y).coef_, RankSVM().fit(X, np.exp(y)).coef_)


def test_a_path_takes_half_the_steps_of_single_fits():
    X, y, qid = utilities(n=400, d=30, levels=3)
    alphas = np.logspace(0, -4, 10)
    path = RankSVM().path(X, y, alphas, qid)
    cold = [RankSVM(alpha).fit(X, y, qid) for alpha in alphas]
    assert path.n_iters.sum() <= 0.5 * sum(one.n_iter_ for one in cold)
    np.testing.assert_allclose(path.objectives, [one.objective_ for one in cold], rtol=2e-4)


def test_starts_are_a_parabola_and_a_line_in_log_alpha_and_the_last_solution():
    def curve(alpha, power):
        return np.array([1.0, 2.0, 3.0]) * np.log(alpha) ** power

    for power, exact in ((0, 2), (1, 1), (2, 0)):
        trail = ()
        for alpha in (1.0, 0.5, 0.2, 0.03):
            trail = longer(trail, alpha, curve(alpha, power))
        found = starts(trail, 0.01, 3)
        assert len(found) == 3
        np.testing.assert_allclose(found[exact], curve(0.01, power), rtol=1e-9)
    assert [alpha for alpha, _ in trail] == [0.03, 0.2, 0.5]
    assert [alpha for alpha, _ in longer(trail, 0.2, np.ones(3))] == [0.2, 0.03, 0.5]
    assert starts(trail, 0.03, 3) == [trail[0][1]]
    assert not starts((), 0.03, 3)[0].any()


def test_a_warm_start_from_the_solution_has_nothing_left_to_do():
    X, y = bipartite()
    ranker = RankSVM(1e-3, warm_start=True).fit(X, y)
    first, steps = ranker.coef_.copy(), ranker.n_iter_
    assert steps > 1
    ranker.fit(X, y)
    assert ranker.n_iter_ == 1
    np.testing.assert_array_equal(ranker.coef_, first)
    ranker.fit(X[:, :3], y)
    assert ranker.coef_.size == 3


def test_too_few_iterations_are_said():
    X, y, _ = utilities()
    with pytest.warns(ConvergenceWarning, match="Raise max_iter, tol or alpha"):
        RankSVM(1e-5, max_iter=1).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RankSVM(1e-2).fit(X, y)


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": 0}, {"loss": "log"}, {"loss": "hinge"}, {"tol": 0}, {"tol": float("nan")}, {"max_iter": 0},
        {"average": "rows"},
    ],
)
def test_parameters_out_of_range(wrong):
    X, y = bipartite(20)
    with pytest.raises(InputError, match=next(iter(wrong))):
        RankSVM(**wrong).fit(X, y)


def test_a_constant_matrix_gives_no_weights():
    assert not RankSVM().fit(np.ones((6, 2)), np.arange(6)).coef_.any()


def test_unused_columns_survive_a_path():
    X = sparse(100, 900, 3)
    y = np.asarray(X.sum(axis=1)).ravel()
    path = RankSVM().path(X, y, [1e-1, 1e-2])
    assert path.coefs.shape == (2, 900)


def test_conversions():
    y, qid, weight = [1, 2, 2, 5, 5], [0, 0, 0, 1, 1], [1, 1, 3, 1, 1]
    assert count_pairs(y) == 2 + 2 * 3
    assert count_pairs(y, qid) == 2
    assert count_pairs(y, qid, weight) == 4
    assert alpha_of_c(c_of_alpha(0.3, 17), 17) == pytest.approx(0.3)
    with pytest.raises(InputError, match="alpha is 0.0; it must be a number, above 0"):
        c_of_alpha(0.0)


def test_c_gives_the_objective_of_sums_over_pairs():
    X, y, _ = utilities(n=60)
    alpha = 1e-2
    C = c_of_alpha(alpha, count_pairs(y))
    fitted = RankSVM(alpha, average="pairs").fit(X, y)
    p, w = fitted.decision_function(X), fitted.coef_
    total = sum(max(0, 1 + p[i] - p[j]) ** 2 for i in range(60) for j in range(60) if y[i] < y[j])
    assert w @ w / 2 + C * total == pytest.approx(fitted.objective_ / (2 * alpha))


@pytest.mark.parametrize("offset", [0, 100, 3000])
def test_float32_rows_give_the_objective_and_the_gap_of_their_own_values(offset):
    X, y, qid = utilities(n=200, lists=4)
    X = (X + offset).astype(np.float32)
    narrow = RankSVM(1e-2, tol=1e-8).fit(X, y, qid)
    best = RankSVM(1e-2, tol=1e-10).fit(X.astype(float), y, qid)
    assert narrow.gap_ <= 1e-8
    assert narrow.objective_ <= best.objective_ * (1 + 1e-8)
    assert narrow.objective_ >= best.objective_ * (1 - best.gap_) - 1e-9


def test_a_step_of_one_unit_of_rounding_along_the_path_is_no_step():
    X, y, qid = utilities(n=200, lists=4)
    alphas = [1e-2, np.nextafter(1e-2, 0), 1e-3, np.nextafter(1e-3, 0), 1e-4]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = RankSVM(tol=1e-4).path(X, y, alphas, qid)
    assert (path.gaps <= 1e-4).all()
