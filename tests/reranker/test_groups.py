"""Groups: rows of one person or machine are never in two folds, wherever folds are made."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GroupKFold, RepeatedKFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier

from rerank import Reranker, RerankerCV, verify
from rerank.errors import InputError
from rerank.reranker.data import units_of
from tests.cases.drawn import as_table, read_back

SEEN = []


class Notes(BaseEstimator):
    """A scorer that notes the rows it learns from by their first column."""

    def fit(self, X, y):
        SEEN.append(np.asarray(X)[:, 0].astype(int))
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.asarray(X)[:, 1]


def numbered(n=60, each=4, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.arange(n) // each
    y = (rng.random(n // each) < 0.5).astype(int)[groups]
    return np.column_stack([np.arange(n), rng.normal(size=(n, 2))]), y, groups


def people(p=60, each=4, seed=0):
    """Several rows of each person, nearly equal, and labels that are pure chance."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(p), each)
    X = rng.normal(size=(p, 3))[groups] + 1e-3 * rng.normal(size=(each * p, 3))
    return X, (rng.random(p) < 0.3).astype(int)[groups], groups


def whole(rows, groups):
    """Whether these rows hold every group whole or not at all."""
    inside = np.isin(np.arange(groups.size), rows)
    return all(np.unique(inside[groups == one]).size == 1 for one in np.unique(groups))


QUICK = {"solver": "search", "time_limit": 20, "node_limit": 20, "features": [1, 2]}


@pytest.mark.parametrize("options", [{}, {"radius": 0.1}, {"radius": 0.1, "cross_fit": 3}])
def test_folds_of_the_first_stage_keep_groups_whole(options):
    X, y, groups = numbered()
    SEEN.clear()
    est = Reranker("precision@5", first_stage=Notes(), **QUICK | options).fit(X, y, groups=groups)
    assert est.result_.folds == options.get("cross_fit", 5) and est.result_.grouped
    assert len(SEEN) == 1 + est.result_.folds and all(whole(rows, groups) for rows in SEEN)
    SEEN.clear()
    Reranker("precision@5", first_stage=Notes(), **QUICK | options).fit(X, y)
    assert not all(whole(rows, groups) for rows in SEEN)


@pytest.mark.parametrize("cv", [3, GroupKFold(3), "pairs", "repeated pairs"])
def test_every_model_of_a_choice_keeps_groups_whole(cv):
    X, y, groups = numbered()
    if isinstance(cv, str):
        repeats = [GroupKFold(3).split(X, y, g) for g in (groups, (groups * 7) % 15)[: 1 + (cv != "pairs")]]
        cv = [pair for pairs in repeats for pair in pairs]
    SEEN.clear()
    base = Reranker("precision@5", first_stage=Notes(), **QUICK)
    est = RerankerCV(base, cv=cv, grid={"radius": [0.1]}, safeguard=-np.inf).fit(X, y, groups=groups)
    assert len(SEEN) > 9 and all(whole(rows, groups) for rows in SEEN)
    result = est.result_
    assert result.folds == 5 and result.grouped and not any("give groups" in note for note in result.notes)


def test_splits_alone_are_the_folds_of_the_last_fit_where_they_divide_the_rows():
    X, y, groups = numbered()
    splits = list(GroupKFold(3).split(X, y, groups))
    base = Reranker("precision@5", first_stage=Notes(), **QUICK)
    SEEN.clear()
    est = RerankerCV(base, cv=splits, grid={"radius": [0.1]}).fit(X, y)
    assert len(SEEN) == 3 + 3 + 4 and all(whole(rows, groups) for rows in SEEN)
    assert est.result_.folds == 3 and not est.result_.grouped
    repeated = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    twice = RerankerCV(base, cv=repeated, grid={"radius": [0.1]})
    for groups in (None, np.arange(60)):
        said = [note for note in twice.fit(X, y, groups=groups).result_.notes if "do not hold out every row" in note]
        assert ["give groups" in note for note in said] == [True] * (groups is None)


def test_a_learner_that_memorises_people_finds_chance_and_no_more():
    X, y, groups = people()
    options = {"first_stage": KNeighborsClassifier(3), "solver": "search", "time_limit": 10, "node_limit": 20}
    split, kept = (
        Reranker("auc", radius=0.05, **options).fit(X, y, groups=own).result_.first_stage_statistic
        for own in (None, groups)
    )
    assert split > 0.9 and kept < 0.6
    est = RerankerCV(Reranker("auc", **options), grid={"radius": [0.05]}, cv=3, n_repeats=1)
    est.fit(X, y, groups=groups)
    assert max(est.cv_results_["first_stage"]) < 0.7 and est.result_.first_stage_statistic < 0.6


@given(st.integers(0, 1000), st.integers(1, 12), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_units_are_the_smallest_sets_of_whole_lists_and_groups(seed, n_lists, n_groups):
    rng = np.random.default_rng(seed)
    qid, groups = rng.integers(0, n_lists, 20), rng.integers(0, n_groups, 20)
    units = units_of(qid, groups)
    # The slow twin: rows that share a list or a group are joined until nothing changes.
    slow = np.arange(20)
    for _ in range(20):
        for of in (qid, groups):
            for one in np.unique(of):
                slow[np.isin(slow, slow[of == one])] = slow[of == one].min()
    assert all(np.array_equal(units == units[i], slow == slow[i]) for i in range(20))


def test_with_lists_both_are_whole():
    X, y, _ = numbered()
    qid, groups = np.arange(60) // 5, (np.arange(60) // 5) % 7
    groups[::11] = 0
    SEEN.clear()
    assert Reranker("dcg@3", first_stage=Notes(), **QUICK).fit(X, y, qid, groups=groups).result_.folds > 1
    assert all(whole(rows, qid) and whole(rows, groups) for rows in SEEN)


def test_fewer_groups_than_folds():
    X, y, _ = numbered()
    two = (np.arange(60) < 30).astype(str)
    est = Reranker("precision@5", first_stage=Notes(), **QUICK).fit(X, y, groups=two)
    assert est.result_.folds == 2
    y[:30] = 0
    est = Reranker("precision@5", first_stage=Notes(), **QUICK).fit(X, y, groups=two)
    assert est.result_.folds == 0
    assert any("All relevant rows are in one group, so that" in note for note in est.result_.notes)
    for missing in (None, np.datetime64("NaT"), pd.NA):
        with pytest.raises(InputError, match="groups is missing .* in row 7;"):
            est.fit(X, y, groups=np.array([*[np.datetime64("2020-01-01")] * 7, missing, *[two[0]] * 52], dtype=object))
    with pytest.raises(InputError, match="groups is missing .* in row 7;"):
        est.fit(X, y, groups=pd.to_datetime(pd.Series(np.arange(60)).where(np.arange(60) != 7), unit="D"))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_groups_as_a_column(library):
    module = pytest.importorskip(library)
    X, y, groups = numbered()
    plain = {f"c{j}": X[:, j] for j in range(3)}
    names = [f"p{g}" for g in groups]
    frame = module.DataFrame(plain | {"person": names})
    options = QUICK | {"features": ["c1", "c2"], "radius": 0.1, "first_stage": KNeighborsClassifier(3)}
    est = Reranker("precision@5", **options).fit(frame, y, groups="person")
    other = Reranker("precision@5", **options).fit(module.DataFrame(plain), y, groups=groups)
    np.testing.assert_array_equal(est.coef_, other.coef_)
    np.testing.assert_array_equal(est.rank(frame), other.rank(module.DataFrame(plain)))
    np.testing.assert_array_equal(est.rank(module.DataFrame(plain)), est.rank(frame))
    assert list(est.feature_names_in_) == ["c0", "c1", "c2"]
    choice = RerankerCV(Reranker("precision@5", **options), cv=2, n_repeats=1)
    assert choice.fit(frame, y, groups="person").result_.grouped


def test_rows_of_weight_0_leave_groups_to_the_others():
    X, y, groups = numbered()
    weight = np.where(np.arange(60) % 7 == 0, 0.0, 1.0)
    there = weight > 0
    options = QUICK | {"radius": 0.1, "first_stage": KNeighborsClassifier(3)}
    est = Reranker("precision@5", **options).fit(X, y, sample_weight=weight, groups=groups)
    only = Reranker("precision@5", **options).fit(X[there], y[there], groups=groups[there])
    np.testing.assert_array_equal(est.coef_, only.coef_)


def test_the_model_file_says_so_and_verifies(tmp_path):
    X, y, _ = numbered()
    groups = (np.arange(60) >= 20).astype(int) + (np.arange(60) >= 40)
    y[::20] = 1
    est = Reranker("precision@5", radius=0.3, solver="search", time_limit=20).fit(X, y, groups=groups)
    assert est.result_.folds == 3
    assert read_back(est, tmp_path, X, y).result_.grouped
    report = verify(est, as_table(est, X, y))
    assert any("group" in why and "result.grouped" in fields for why, fields in report.reasons().items())


def test_tools_of_scikit_learn_hand_groups_to_fit():
    X, y, groups = numbered()
    y[0] = 1 - y[0]
    est = Reranker("auc", first_stage=Notes(), radius=0.1, **QUICK)
    with config_context(enable_metadata_routing=True):
        for asked in (est, clone(est).set_fit_request(groups=True)):
            SEEN.clear()
            cross_validate(asked, X, y, cv=GroupKFold(3), params={"groups": groups}, error_score="raise")
            assert len(SEEN) > 9 and all(whole(rows, groups) for rows in SEEN)
        SEEN.clear()
        no = clone(est).set_fit_request(groups=False)
        cross_validate(no, X, y, cv=GroupKFold(3), params={"groups": groups}, error_score="raise")
        assert not all(whole(rows, groups) for rows in SEEN)
