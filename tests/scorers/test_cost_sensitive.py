"""Cost-sensitive classifiers: their objectives, what the cost means, what they share with scikit-learn."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from rerank.errors import InputError
from rerank.scorers import CostSensitiveLogistic, CostSensitiveSVM
from tests.cases.scorers import bipartite

BOTH = pytest.mark.parametrize("ranker", [CostSensitiveLogistic, CostSensitiveSVM])
LOSSES = {
    CostSensitiveLogistic: lambda m: np.log1p(np.exp(-m)),
    CostSensitiveSVM: lambda m: np.maximum(0, 1 - m) ** 2,
}


@BOTH
@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_the_objective_is_at_its_minimum(ranker, alpha):
    X, y = bipartite(n=80, d=3)
    weight = np.random.default_rng(0).uniform(0, 2, 80)
    fitted = ranker(alpha, positive_cost=5.0, tol=1e-9).fit(X, y, sample_weight=weight)

    def objective(v):
        w, b = v[:3], v[3]
        cost = weight * np.where(y > 0, 5.0, 1.0)
        margins = np.where(y > 0, 1, -1) * (X @ w + b)
        size = w @ w + (b * b if ranker is CostSensitiveSVM else 0.0)
        return alpha / 2 * size + cost @ LOSSES[ranker](margins)

    found = minimize(objective, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    assert fitted.objective_ == pytest.approx(found.fun, rel=1e-9)
    np.testing.assert_allclose(fitted.coef_, found.x[:3], atol=1e-4)


@BOTH
def test_a_whole_cost_is_a_repeated_relevant_row(ranker):
    X, y = bipartite(n=60, d=3)
    again = np.repeat(np.arange(60), np.where(y > 0, 3, 1))
    costly = ranker(positive_cost=3.0, tol=1e-9).fit(X, y)
    repeated = ranker(tol=1e-9).fit(X[again], y[again])
    np.testing.assert_allclose(costly.coef_, repeated.coef_, rtol=1e-5)


@BOTH
def test_balanced_gives_both_classes_the_same_weight(ranker):
    X, y = bipartite(n=100, share=0.2)
    balanced = ranker(positive_cost="balanced").fit(X, y)
    np.testing.assert_array_equal(balanced.coef_, ranker(positive_cost=4.0).fit(X, y).coef_)


@pytest.mark.parametrize(
    ("ranker", "classifier"),
    [
        (CostSensitiveLogistic, LogisticRegression(C=2.0, tol=1e-8)),
        (CostSensitiveSVM, LinearSVC(C=2.0, dual=False, tol=1e-8)),
    ],
)
def test_without_a_cost_it_is_the_classifier_of_scikit_learn(ranker, classifier):
    X, y = bipartite()
    np.testing.assert_allclose(
        ranker(0.5, tol=1e-8).fit(X, y).coef_, classifier.fit(X, y).coef_[0], rtol=1e-6
    )


def test_a_warm_start_begins_at_the_last_solution():
    X, y = bipartite()
    ranker = CostSensitiveLogistic(warm_start=True).fit(X, y)
    first, coef = ranker.n_iter_, ranker.coef_
    ranker.fit(X, y)
    assert ranker.n_iter_ < first
    np.testing.assert_allclose(ranker.coef_, coef, rtol=1e-4)


@BOTH
@pytest.mark.parametrize("cost", [0.0, -1.0, np.nan, np.inf, "equal"])
def test_a_cost_out_of_range_is_refused(ranker, cost):
    with pytest.raises(InputError, match="positive_cost is"):
        ranker(positive_cost=cost).fit(*bipartite())


@BOTH
def test_one_class_with_weight_is_refused(ranker):
    with pytest.raises(InputError, match="1 class only"):
        ranker().fit(np.eye(4), [0, 0, 1, 1], sample_weight=[1, 1, 0, 0])


@BOTH
def test_too_few_iterations_are_announced_once_and_in_our_words(ranker):
    X, y = bipartite(n=200, d=20)
    with pytest.warns(ConvergenceWarning) as heard:
        ranker(1e-4, max_iter=1).fit(X, y)
    assert len(heard) == 1 and "Raise max_iter" in str(heard[0].message)
