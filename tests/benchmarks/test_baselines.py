"""Baselines of the papers: their losses summed slowly, their gradients, and the names that lead to them."""

import math

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

import rerank.scorers
from benchmarks.baselines import CostSensitive, PNormPush, push_loss
from rerank.scorers.base import RankingData
from tests.cases.scorers import bipartite


def twin(y, scores, qid, weight, p):
    """``1/p log R`` with R summed pair by pair."""
    total, lists = 0.0, 0
    for q in set(qid):
        up, down = [[i for i in range(len(y)) if qid[i] == q and y[i] == kind] for kind in (1, 0)]
        above, below = sum(weight[i] for i in up), sum(weight[k] for k in down)
        if above and below:
            lists += 1
            for k in down:
                inner = sum(weight[i] / above * math.exp(scores[k] - scores[i]) for i in up)
                total += weight[k] / below * inner**p
    return math.log(total / lists) / p


@pytest.mark.parametrize("p", [1.0, 2.5, 8.0])
def test_the_push_is_the_sum_over_pairs_and_its_gradient_is_right(p):
    rng = np.random.default_rng(0)
    y, qid = (rng.random(25) < 0.4).astype(float), rng.integers(0, 3, 25)
    weight, scores = rng.uniform(0, 2, 25) * (rng.random(25) < 0.8), rng.standard_normal(25)
    loss = push_loss(RankingData(None, y, qid, weight), p)
    assert loss(scores)[0] == pytest.approx(twin(y, scores, qid, weight, p), rel=1e-10)
    assert check_grad(lambda s: loss(s)[0], lambda s: loss(s)[1], scores) < 1e-6
    assert np.isfinite(loss(scores * 1e6)[1]).all()
    X, labels = bipartite()
    fitted = PNormPush(p, alpha=0.1, tol=1e-9).fit(X, labels)
    one_list = push_loss(RankingData(None, labels, np.zeros(labels.size, int), np.ones(labels.size)), p)
    np.testing.assert_allclose(X.T @ one_list(X @ fitted.coef_)[1] + 0.1 * fitted.coef_, 0, atol=1e-8)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_the_cost_sensitive_objective_is_at_its_minimum(loss):
    X, y = bipartite(n=80, d=3)
    weight = np.random.default_rng(0).uniform(0.1, 2, 80)
    fitted = CostSensitive(0.5, loss=loss, positive_cost=5.0, tol=1e-9).fit(X, y, sample_weight=weight)

    def objective(v):
        margins = np.where(y > 0, 1, -1) * (X @ v[:3] + v[3])
        losses = np.log1p(np.exp(-margins)) if loss == "logistic" else np.maximum(0, 1 - margins) ** 2
        return 0.25 * (v[:3] @ v[:3] + (loss != "logistic") * v[3] ** 2) + (weight * np.where(y > 0, 5, 1)) @ losses

    found = minimize(objective, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    assert fitted.objective_ == pytest.approx(found.fun, rel=1e-9)
    np.testing.assert_allclose(fitted.coef_, found.x[:3], atol=1e-4)


@pytest.mark.parametrize("name", sorted(rerank.scorers._GONE))
def test_a_scorer_that_is_gone_says_what_to_use(name):
    with pytest.raises(AttributeError, match=f"rerank.scorers has no '{name}' any more: .*\\.$"):
        getattr(rerank.scorers, name)
