"""Advice on a fit: options, labels and weights, first stages, the choice by folds, and a fitted model."""

# ruff: noqa: E501 - messages stand here as they are written

import numpy as np
from sklearn.model_selection import KFold

import rerank
from rerank import Reranker, RerankerCV
from rerank.scorers import Squares
from tests.cases.advice import Row, X, Y, data, est, fit, proved, same


def choose(table=X, y=Y, reranker=None, fit_options=None, **more):
    """A choice by folds of two radii."""
    reranker = Reranker("precision@5", solver="search") if reranker is None else reranker
    return RerankerCV(reranker, **{"grid": {"radius": [0.5]}, "cv": 2, **more}).fit(table, y, **(fit_options or {}))


def evidence(other) -> bool:
    return other.best_params_ is not None


def wide(**options):
    """A fit of many columns, which takes long to prove."""
    X, y = data(120, 5)
    return est(**{"stat": "auc", "first_stage": X[:, 1], **options}).fit(X, y[::-1])


STATISTICS = {
    "this measure is not offered; leave it out, or take it from trec_eval": Row(
        lambda: fit(stat="infap"), lambda: proved(fit(stat="ap"))
    ),
    "this measure is for rerank evaluate and is not fitted; fit ap or ndcg@10 instead": Row(
        lambda: fit(stat="bpref"), lambda: [proved(fit(stat=each)) for each in ("ap", "ndcg@10")]
    ),
    "and the coefficients of stat are for lists of {} rows; give a statistic by name, such as 'dcg@10'": Row(
        lambda: fit(stat=np.arange(40.0), list_length=80), lambda: proved(fit(stat="dcg@10", list_length=80))
    ),
}

OPTIONS = {
    "set first_stage=None and a radius, or leave prior out": Row(
        lambda: fit(prior=[1, 0]), lambda: proved(fit(prior=[1, 0], radius=1.0)) and same(fit())
    ),
    "looks at several of them at once; use formulation='auto'": Row(
        lambda: fit(formulation="mixed", stat="ap"), lambda: proved(fit(formulation="auto", stat="ap"))
    ),
    "any more: read the rows and columns that count into one table, and call {}": Row(
        lambda: est().fit_parts, lambda: same(fit())
    ),
}


FOLDS = {
    "ask for fewer, give more data, or fit without folds: a Reranker, or rerank fit --free": Row(
        lambda: choose(y=(np.arange(40) < 2) * 1, cv=9), lambda: evidence(choose(y=(np.arange(40) < 2) * 1, cv=2))
    ),
    "but cv is no number; leave n_repeats at 1 and give a splitter that repeats itself": Row(
        lambda: choose(cv=KFold(2), n_repeats=3), lambda: evidence(choose(cv=KFold(2), n_repeats=1))
    ),
}

OUTCOMES = {
    "Raise time_limit, lower n_candidates, or set max_features to 3 or 4, which is usually proved": Row(
        lambda: wide(time_limit=0.05), lambda: proved(wide(max_features=1)) and proved(wide(n_candidates=20))
    ),
    "The search ended at node_limit={}, before its time was over; raise node_limit, or leave it out": Row(
        lambda: wide(max_features=2, node_limit=3), lambda: proved(wide(max_features=2))
    ),
    "which solves nothing; use solver='search' for the best weights": Row(
        lambda: fit(solver="none"), lambda: proved(fit(solver="search"))
    ),
    "The stored squares of columns cannot be used (they are not as to_dict writes them); fit and save the model again": Row(
        lambda: Squares.from_dict({}),
        lambda: Squares.from_dict(Squares().fit(X).to_dict()).to_dict() == Squares().fit(X).to_dict(),
    ),
}


def compared(table=X, methods=("logistic",), **more):
    """Methods compared, quickly."""
    return rerank.compare(table, Y, "precision@5", methods=methods, folds=2, **more)


def followed(found) -> bool:
    """What a comparison says to take can be fitted."""
    return found.estimator.fit(X, Y).score(X, Y) > 0


COMPARISONS = {
    "Take {}: nothing else was tried.": Row(lambda: compared().sentence, lambda: followed(compared())),
    "No method could be compared in the time; raise time_limit.": Row(
        lambda: compared(time_limit=0), lambda: compared(time_limit=20).take == "logistic"
    ),
}

ROWS = STATISTICS | OPTIONS | FOLDS | OUTCOMES | COMPARISONS
