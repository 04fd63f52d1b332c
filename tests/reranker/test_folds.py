"""Folds: every row once, no list cut, something to judge by in each, and splitters held to the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, PredefinedSplit, StratifiedKFold

from rerank.reranker.selection.folds import fold_names, splits_of
from tests.cases.refuses import refuses


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.random(n) < 0.4


def held(splits):
    return [split.test.tolist() for split in splits]


@given(st.integers(2, 5), st.integers(0, 50), st.booleans(), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_folds_hold_out_every_row_once_and_no_list_is_cut(folds, seed, with_lists, n_repeats):
    X, relevant = rows(seed=seed)
    lists = np.random.default_rng(seed).integers(0, 15, 60) if with_lists else None
    groups = np.arange(60) if lists is None else lists
    telling = set(groups[relevant])
    splits = splits_of(X, relevant, lists, folds, n_repeats, seed)
    assert len(splits) == folds * n_repeats
    for k in range(n_repeats):
        once = splits[k * folds : (k + 1) * folds]
        assert sorted(np.concatenate([s.test for s in once])) == list(range(60))
        in_fold = [set(groups[s.test]) for s in once]
        for sizes in ([len(own) for own in in_fold], [len(own & telling) for own in in_fold]):
            assert max(sizes) - min(sizes) <= 1
    for s in splits:
        assert sorted([*s.train, *s.test]) == list(range(60))
        assert not set(groups[s.train]) & set(groups[s.test])


def test_another_seed_and_another_turn_deal_other_folds_and_none_is_five():
    X, relevant = rows()
    once, again = splits_of(X, relevant, None, 3, 2, 0), splits_of(X, relevant, None, 3, 2, 0)
    assert held(once) == held(again)
    assert held(once[:3]) != held(once[3:])
    assert held(once) != held(splits_of(X, relevant, None, 3, 2, 1))
    assert held(splits_of(X, relevant, None, None, 1, None)) == held(splits_of(X, relevant, None, 5, 1, 0))


def test_lists_are_told_apart_by_their_ids_as_given():
    X, relevant = rows(12)
    ids = np.array([1, "1", 2] * 4, dtype=object)
    relevant[:3] = True
    for s in splits_of(X, relevant, ids, 3, 1, 0):
        assert len({(type(q), q) for q in ids[s.test]}) == 1


def test_a_splitter_is_taken_at_its_word_and_pairs_may_be_masks():
    X, relevant = rows()
    ids = np.repeat(["q", "b", "z", "a"], 15)
    for splitter, lists in ((GroupKFold(3), ids), (StratifiedKFold(4), None)):
        expected = [test.tolist() for _, test in splitter.split(X, relevant, lists)]
        assert held(splits_of(X, relevant, lists, splitter, 1, None)) == expected
    first = np.arange(60) < 30
    (split,) = splits_of(X, relevant, None, [(first, ~first)], 1, None)
    assert split.train.tolist() == list(range(30)) and split.test.tolist() == list(range(30, 60))


@pytest.mark.filterwarnings("error")
def test_a_splitter_that_does_not_look_at_lists_is_welcome_where_it_keeps_them_whole():
    X, relevant = rows()
    by_tens = np.arange(60) // 10
    assert len(splits_of(X, relevant, by_tens // 2, PredefinedSplit(by_tens // 2), 1, None)) == 3


def test_folds_with_nothing_to_judge_by_are_left_out_aloud_and_refused_when_there_are_no_others():
    X, _ = rows()
    relevant = np.arange(60) < 5
    by_tens = PredefinedSplit(np.arange(60) // 10)
    with pytest.warns(UserWarning, match="5 of the 6 folds"):
        assert held(splits_of(X, relevant, None, by_tens, 1, None)) == [list(range(10))]
    late = [(np.arange(30), np.arange(30, 60))]
    for cv in (late, []):
        refuses(f"gives {len(cv)} folds, and none holds out", splits_of, X, relevant, None, cv, 1, None)


def test_one_relevant_row_is_one_in_words_and_folds_are_numbered_in_their_repeat():
    X, one = np.zeros((6, 1)), np.arange(6) == 2
    for lists, what in ((None, "relevant row"), (np.arange(6) // 2, "list with a relevant row")):
        refuses(f"cv is 5, but there is 1 {what} that counts", splits_of, X, one, lists, 5, 1, None)
    names = fold_names(splits_of(X, np.arange(6) < 4, None, 2, 2, None))
    assert names == [f"fold {k} of 2 in repeat {r} of 2" for r in (1, 2) for k in (1, 2)]
    assert fold_names(splits_of(X, np.arange(6) < 4, None, 3, 1, None))[2] == "fold 3 of 3"


@pytest.mark.parametrize(
    "change, message",
    [
        ({"cv": 1}, "at least 2 folds"),
        ({"cv": True}, "at least 2 folds"),
        ({"cv": 50}, "relevant rows that count"),
        ({"cv": 9, "units": np.arange(60) // 10}, "6 lists with a relevant row"),
        ({"cv": 2.5}, "cv is a float that gives no folds"),
        ({"cv": GroupKFold(3)}, "cv is a GroupKFold that gives no folds"),
        ({"cv": [(np.arange(9), np.arange(55, 61))]}, "from 0 to 59, found 55 to 60"),
        ({"cv": [(np.arange(9), [-1])]}, "from 0 to 59"),
        ({"cv": [(np.arange(9), [])]}, "must hold row numbers"),
        ({"cv": [np.arange(9)]}, "gives no folds"),
        ({"n_repeats": 0}, "n_repeats is 0"),
        ({"n_repeats": "2"}, "n_repeats is '2'"),
        ({"random_state": -1}, "random_state is -1"),
    ],
)
def test_what_gives_no_folds_is_refused(change, message):
    X, relevant = rows()
    options = {"units": None, "cv": 3, "n_repeats": 1, "random_state": None, **change}
    refuses(message, splits_of, X, relevant, **options)
