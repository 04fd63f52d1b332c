"""RankSVM as an estimator."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from rerank.errors import InputError
from rerank.scorers import RankSVM
from rerank.scorers.conversions import alpha_of_c, c_of_alpha, count_pairs
from rerank.scorers.ranksvm.estimator import longer, starts
from tests.cases.scorers import bipartite, sparse, utilities
from tests.scorers.test_ranksvm_solvers import objective


@parametrize_with_checks([RankSVM()])
def test_scikit_learn(estimator, check):
    check(estimator)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), average=st.sampled_from(["queries", "pairs"]))
def test_whole_weights_are_repeated_rows(seed, average):
    X, y, qid = utilities(n=60, d=4, lists=2, levels=5, seed=seed)
    weight = np.random.default_rng(seed).integers(0, 4, 60)
    tol = 1e-12
    ranker = RankSVM(1e-2, tol=tol, average=average)
    kept = ranker.fit(X, y, qid, weight).coef_
    repeated = ranker.fit(np.repeat(X, weight, 0), np.repeat(y, weight), np.repeat(qid, weight))
    # alpha |difference|^2 <= what is left to gain, for a modulus of 2 alpha.
    reach = 2 * np.sqrt(tol * repeated.objective_ / 1e-2)
    assert np.linalg.norm(kept - repeated.coef_) <= reach


def test_order_of_rows_and_names_of_lists_do_not_matter():
    X, y, qid = utilities(n=90, lists=4)
    one = RankSVM(1e-2, tol=1e-6).fit(X, y, qid)
    mixed = np.random.default_rng(3).permutation(90)
    names = np.array([f"list {q}" for q in qid])
    two = RankSVM(1e-2, tol=1e-6).fit(X[mixed], y[mixed], names[mixed])
    assert one.objective_ == pytest.approx(two.objective_, rel=2e-6)


def test_lists_are_not_compared_with_each_other():
    X, y, qid = utilities(n=100, lists=2)
    moved = y + np.where(qid == qid[0], 100, 0)
    np.testing.assert_array_equal(RankSVM().fit(X, y, qid).coef_, RankSVM().fit(X, moved, qid).coef_)
    assert not np.allclose(RankSVM().fit(X, y).coef_, RankSVM().fit(X, moved).coef_)


def test_only_the_order_of_utilities_matters():
    X, y, qid = utilities(n=100)
    np.testing.assert_array_equal(RankSVM().fit(X, y).coef_, RankSVM().fit(X, np.exp(y)).coef_)


def test_a_path_is_as_good_as_single_fits():
    X, y, qid = utilities(n=120, lists=2)
    alphas = [1e-3, 1.0, 1e-1, 1e-2]
    path = RankSVM(tol=1e-5).path(X, y, alphas, qid)
    assert path.coefs.shape == (4, X.shape[1]) and (path.gaps <= 1e-5).all()
    for alpha, coef, value in zip(alphas, path.coefs, path.objectives):
        single = RankSVM(alpha, tol=1e-5).fit(X, y, qid)
        assert value == pytest.approx(single.objective_, rel=2e-5)
        assert objective(X, y, qid, coef, alpha, "squared", "queries")[0] == pytest.approx(value, rel=1e-9)


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


def test_two_fits_are_the_same():
    X, y, qid = utilities(n=80, lists=2)
    fits = [RankSVM(1e-3).fit(X, y, qid).coef_ for _ in range(2)]
    np.testing.assert_array_equal(*fits)


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
