"""Pools of near-optimal weights: what they are worth, and signs that are called certain."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest

from rerank import Reranker, load
from rerank.certificate import certify
from rerank.errors import InputError
from rerank.ranks import evaluate
from tests.cases.drawn import drawn
from tests.cases.refuses import refuses
from tests.oracles.oracle import optimum

DELTAS = {"auc": 0.02, "dcg@3": 0.3, "precision@3": 1.0}


def fitted(seed, stat="auc", d=3, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, d))
    y = (X @ [1.5, -1.0, 0.1][:d] + rng.normal(size=12) > 0.2).astype(int)
    y[:2] = 0, 1
    table = pd.DataFrame(X, columns=["a", "b", "c"][:d])
    return Reranker(stat, first_stage=None, margin=1e-3, solver="search", **options).fit(table, y)


@pytest.mark.parametrize(("stat", "seed"), [(stat, 2 * k + j) for k, stat in enumerate(DELTAS) for j in (0, 1, 3)])
def test_signs_agree_with_the_optimum_of_each_half(stat, seed):
    """The oracle enumerates the weights with the other sign."""
    est = fitted(seed, stat, d=2 + seed % 2)
    assert est.reranks_
    problem = est.state_.known_problem()
    pool = est.pool(DELTAS[stat], k=4, time_limit=4.0)
    least = Fraction(est.result_.value) - Fraction(DELTAS[stat])
    for j, (sign, sure) in enumerate(zip(pool.signs.tolist(), pool.certain.tolist())):
        if sign:
            signs = problem.signs.copy()
            signs[j] = -sign
            other = optimum(replace(problem, signs=signs)).value
            assert not sure or other < least
            # Small problems are decided by the search at once.
            assert sure or other >= least - Fraction(1, 10**9)


def test_weights_are_worth_what_is_said_in_the_units_of_the_table():
    X, y = drawn(60, 3)
    est = Reranker("auc", first_stage=None, constraints=("x0 >= x1",), solver="search").fit(X, y)
    pool = est.pool(0.02, k=5)
    problem = est.state_.known_problem()
    assert pool.weights[0] == pytest.approx(est.coef_, abs=1e-12) and len(pool.weights) == 5
    assert len(np.unique(pool.weights, axis=0)) == 5 and (pool.weights[:, 0] >= pool.weights[:, 1]).all()
    for coef, value in zip(pool.weights, pool.values):
        w = coef * (problem.high - problem.low)
        assert certify(problem, w / np.abs(w).max()).value == pytest.approx(value, abs=1e-9)
        assert value >= est.result_.value - 0.02 - 1e-12
        assert evaluate("auc", y, X @ coef) >= value - 1e-9
    low, high = pool.ranges.T
    assert (low <= pool.weights).all() and (pool.weights <= high).all()
    assert "a sample" in str(pool) and str(est.pool(0.02, k=5)).splitlines()[1] == str(pool).splitlines()[1]


@pytest.mark.parametrize(
    "options",
    [{"radius": 0.3, "first_stage": "logistic"}, {"normalise": "sum"}, {"max_features": 2}, {"positive": True}],
)
def test_limits_are_kept(options):
    X, y = drawn(60, 3)
    est = Reranker("auc", **{"first_stage": None, "solver": "search", **options}).fit(X, y)
    pool = est.pool(0.01, k=3, time_limit=0.5)
    assert pool.weights[0] == pytest.approx(est.coef_, abs=1e-9) and pool.corrected == ("radius" in options)
    if "normalise" in options:
        assert pool.weights.sum(axis=1) == pytest.approx(np.ones(len(pool.weights))) and (pool.weights >= 0).all()
    if "max_features" in options:
        assert (np.count_nonzero(pool.weights, axis=1) <= 2).all()
    if "positive" in options:
        assert (pool.weights >= 0).all()


def test_a_first_stage_that_is_kept_is_no_measure_of_free_weights():
    fits = (
        Reranker("precision@5", n_candidates=20, margin=0.2, solver="search").fit(*drawn(60, 3, s)) for s in range(60)
    )
    est = next(one for one in fits if one.result_.status == "first_stage_kept")
    pool = est.pool(0.5, k=3, time_limit=1.0)
    problem = est.state_.known_problem()
    assert pool.values[0] == pytest.approx(float(certify(problem, est.state_.weights).value)) and pool.weights[0].any()
    assert (pool.values >= pool.values[0] - 0.5 - 1e-12).all()


@pytest.mark.parametrize("wrong", [{"delta": -1}, {"delta": 0.1, "k": 0}, {"delta": np.nan}])
def test_what_is_no_number_of_its_kind_is_refused(wrong):
    with pytest.raises(InputError):
        fitted(0).pool(**wrong)


def test_fits_without_their_problem_have_no_pool(tmp_path):
    est = fitted(0)
    est.save(tmp_path / "model.json")
    refuses("read from a file", load(tmp_path / "model.json").pool, 0.1)
    model = est.build_model()
    model.mine = pyo.Constraint(expr=model.weight["a"] >= 2 * model.weight["b"])
    refuses("a program that was changed", est.fit_model(model).pool, 0.1)
