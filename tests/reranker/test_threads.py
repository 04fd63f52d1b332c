"""How many threads the linear algebra has inside of fits."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from threadpoolctl import threadpool_info, threadpool_limits

from rerank import Reranker, RerankerCV
from rerank.errors.threads import SMALL, one_thread


def threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_small_tables_have_one_thread_large_ones_and_what_follows_those_that_were_set():
    with threadpool_limits(2, "blas"):
        with one_thread(SMALL + 1):
            assert threads() == {2}
        with one_thread(SMALL):
            with one_thread():
                assert threads() == {1}
            assert threads() == {1}
        assert threads() == {2}


class Watches(ClassifierMixin, BaseEstimator):
    """A score that notes the threads it was asked with."""

    seen: list = []

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        self.seen.append(threads())
        return np.asarray(X)[:, 0]


def test_a_choice_on_a_small_table_keeps_to_one_thread():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.normal(size=60) > 1).astype(int)
    base = Reranker("precision@5", first_stage=Watches(), solver="search", node_limit=0)
    with threadpool_limits(2, "blas"):
        RerankerCV(base, grid={"radius": [0.1]}, cv=2, n_repeats=1).fit(X, y)
        assert Watches.seen and set.union(*Watches.seen) == {1} and threads() == {2}
