"""Models of a fit that a modeller reads and changes: names of the table, units of weights and objective, copies."""

import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest
from sklearn.linear_model import LogisticRegression

from rerank import Reranker
from tests.reranker.test_reranker import table

FREE = {"first_stage": None, "solver": "search", "time_limit": 10}


def frame(seed, n=14, d=3):
    """A data frame with labels that are no numbers, a constant column in the middle, and ranges that differ."""
    X, y = table(seed, n=n, d=d)
    columns = {"age": 40 + 9 * X[:, 0], "flat": np.full(n, 3.0), "income": 1e4 * X[:, 1], "blood sugar": X[:, 2]}
    return pd.DataFrame(columns, index=[f"person {k}" for k in range(n)]), y


def test_rows_and_columns_have_the_names_of_the_table():
    X, y = frame(0)
    weight = np.where(np.arange(len(y)) == 2, 0.0, 1.0)
    info = Reranker("dcg@3", **FREE).fit(X, y, sample_weight=weight).build_model().rerank_info
    assert info.columns == {0: "age", 1: "income", 2: "blood sugar"}
    assert info.rows == dict(enumerate(name for k, name in enumerate(X.index) if k != 2))


def test_rows_without_labels_have_their_numbers_in_the_whole_table():
    X, y = frame(0)
    weight = np.where(np.arange(len(y)) == 2, 0.0, 1.0)
    info = Reranker("dcg@3", **FREE).fit(X.to_numpy(), y, sample_weight=weight).build_model().rerank_info
    assert info.rows == dict(enumerate(k for k in range(len(y)) if k != 2))
    assert info.columns == {0: "x0", 1: "x2", 2: "x3"}


def test_places_of_a_shortlist_are_rows_of_the_table():
    """The scaled column of each place, taken from the rows of the pair inequalities, is that of the table's row."""
    X, y = frame(1, n=30)
    est = Reranker("auc", first_stage="logistic", n_candidates=12, formulation="mixed", solver="search").fit(X, y)
    model = est.build_model()
    info, head = model.rerank_info, X.loc[list(model.rerank_info.rows.values())]
    assert len(head) == est.result_.shortlist.n_head < 30
    assert set(head.index) == set(X.index[est.first_stage_scores(X) >= est.threshold_])
    for w, value in zip(model.w.values(), (1.0, 0.0, 0.0)):
        w.set_value(value)
    spread = np.ptp(head["age"])
    for (i, k), row in model.above_by_margin.items():
        model.z[i, k].set_value(0.0)
        step = (X.age[info.rows[i]] - X.age[info.rows[k]]) / spread
        # The row reads z - w.(x_i - x_k) / M <= (M - epsilon) / M.
        assert pyo.value(row.body) == pytest.approx(-step * (1 - row.upper) / est.result_.epsilon, abs=1e-9)


def test_weights_stand_in_the_units_of_the_table():
    X, y = frame(2)
    est = Reranker("auc", **FREE).fit(X, y)
    model = est.build_model()
    for w, value in zip(model.w.values(), est.result_.weights):
        w.set_value(value)
    names = list(est.feature_names_in_)
    assert {name: pyo.value(model.weight[name]) for name in model.weight} == pytest.approx(
        {name: est.coef_[names.index(name)] for name in ("age", "income", "blood sugar")}
    )
    assert "range" in model.weight.doc


def test_weights_of_corrections_stand_in_units_of_the_score():
    X, y = frame(3, n=40)
    est = Reranker("auc", first_stage=LogisticRegression(), radius=0.3, solver="search", time_limit=5).fit(X, y)
    model = est.build_model()
    assert model.rerank_info.columns[0] == "first stage"
    for w, value in zip(model.w.values(), est.result_.weights):
        w.set_value(value)
    names = list(est.feature_names_in_)
    total = est.first_stage_.coef_.ravel() + [pyo.value(model.weight[n]) if n in model.weight else 0 for n in names]
    assert pyo.value(model.weight["first stage"]) == 1 and "score" in model.weight.doc
    assert total == pytest.approx(est.coef_)
