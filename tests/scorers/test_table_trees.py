"""Trees and forests of tables: as scikit-learn has them, and the same bits from a file."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from rerank.scorers import TableTrees
from tests.cases.refuses import refuses


def table(n=400, seed=0):
    """Numbers with gaps, texts with gaps, and what is sought where two columns agree or at some texts."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({f"x{j}": rng.normal(size=n) for j in range(3)})
    X["word"] = rng.choice(list("abcdef"), n)
    y = X.x0 * X.x1 + X.word.isin(["b", "e"]) + 0.3 * rng.normal(size=n)
    X.loc[::7, "x2"], X.loc[3::9, "word"] = np.nan, None
    return X, y.to_numpy()


@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("forest", [False, True])
def test_scores_are_those_of_scikit_learn_and_of_what_was_stored(forest, graded):
    X, worth = table()
    y = np.digitize(worth, [0.5, 1.0] if graded else [0.8])
    found = TableTrees(forest=forest).fit(X, y)
    kept = TableTrees.from_dict(json.loads(json.dumps(found.to_dict())))
    kept.feature_names_in_ = found.feature_names_in_
    rows = pd.concat([X, table(seed=1)[0].assign(word="never seen"), X.assign(x0=np.nan, x1=1e300)])
    np.testing.assert_array_equal(kept.decision_function(rows), found.decision_function(rows))
    np.testing.assert_array_equal(found.decision_function(rows)[:5], found.decision_function(rows[:5]))

    # What scikit-learn makes of the same table, encoded by pandas.
    words = X.word.astype("category")
    if forest:
        kind, coded = (ExtraTreesRegressor if graded else ExtraTreesClassifier), pd.get_dummies(words)
        filled = X[["x0", "x1", "x2"]].fillna(X.x2.median()).assign(gap=X.x2.isna())
        peer = kind(100, min_samples_leaf=5, max_leaf_nodes=127, random_state=0)
        A = pd.concat([filled, coded, words.isna()], axis=1).to_numpy(dtype=float)
    else:
        kind = HistGradientBoostingRegressor if graded else HistGradientBoostingClassifier
        peer = kind(max_leaf_nodes=8, learning_rate=0.05, early_stopping=False, categorical_features=[0])
        A = np.column_stack([words.cat.codes.replace(-1, 6), X[["x0", "x1", "x2"]]])
    peer.fit(A, y)
    own = found.decision_function(X)
    theirs = peer.predict(A) if graded else peer.predict_proba(A)[:, 1]
    if forest and not graded:  # its leaves count one row more, of which the share of all rows is relevant
        leaves = peer.apply(A)
        theirs = np.mean(
            [
                (tree.tree_.value[at, 0, 1] * (n := tree.tree_.n_node_samples[at]) + y.mean()) / (n + 1)
                for tree, at in zip(peer.estimators_, leaves.T)
            ],
            axis=0,
        )
    np.testing.assert_allclose(own if graded else 1 / (1 + np.exp(-own)), theirs, rtol=1e-9)


@pytest.mark.parametrize("forest", [False, True])
def test_a_state_that_was_changed_is_refused(forest):
    X, worth = table(120)
    body = TableTrees(forest=forest).fit(X, worth > 0.8).to_dict()
    tree = next(text for text in body["trees"] if ":" in text)
    node, _, rest = tree.partition(" ")
    for changed in (rest, f"{tree} 0x1.0p+0", f"{node} {tree}", tree.replace(node[:2], "n99", 1), "nan"):
        refuses("stored first stage", TableTrees.from_dict, {**body, "trees": [changed]})
    refuses("stored first stage", TableTrees.from_dict, {**body, "units": [0.0] * len(body["units"])})
    refuses("stored first stage", TableTrees.from_dict, {**body, "more": 1})


def test_lambdarank_is_that_of_lightgbm_and_learns_the_order_of_lists(monkeypatch):
    lightgbm = pytest.importorskip("lightgbm")
    X, worth = table(600)
    qid, y = np.random.default_rng(1).integers(0, 30, 600), np.digitize(worth, [0.5, 1.0]) ** 2.0  # gains 0, 1 and 4
    found = TableTrees(lambdarank=True).fit(X, y, qid=qid)
    order, sizes = np.argsort(qid, kind="stable"), np.unique(qid, return_counts=True)[1]
    filled = X[["x0", "x1", "x2"]].fillna(X.x2.median()).assign(gap=X.x2.isna())
    A = pd.concat([filled, pd.get_dummies(X.word), X.word.isna()], axis=1).to_numpy(dtype=float)
    peer = lightgbm.LGBMRanker(learning_rate=0.05, num_leaves=15, label_gain=[0, 1, 4], n_jobs=1, verbose=-1)
    peer.fit(A[order], np.sqrt(y[order]).astype(int), group=sizes)
    own = found.decision_function(X)
    assert np.corrcoef(own, peer.predict(A))[0, 1] > 0.999  # columns are divided by powers of two
    kept = TableTrees.from_dict(json.loads(json.dumps(found.to_dict())))
    kept.feature_names_in_ = found.feature_names_in_
    np.testing.assert_array_equal(kept.decision_function(X), own)
    monkeypatch.setattr("rerank.scorers.table_trees.find_spec", lambda name: None)
    refuses("not installed; install it, or take 'trees'", TableTrees(lambdarank=True).fit, X, y)
