"""Advice on a fit: options, labels and weights, first stages, the choice by folds, and a fitted model."""

# ruff: noqa: E501 - messages stand here as they are written

from unittest.mock import patch

import numpy as np
import pandas as pd
import scipy.sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, KFold
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import rerank
from rerank import Reranker, RerankerCV, load
from rerank.problem import build
from rerank.ranks import evaluate
from rerank.reranker.selection.comparison import Boosted
from rerank.scorers import Squares, TopPush
from tests.cases.advice import FRAME, QID, Row, X, Y, data, est, fit, proved, same

GAPS = FRAME.assign(b=np.where(np.arange(len(X)) == 1, np.nan, X[:, 1]))
WORDS = pd.DataFrame({"a": X[:, 0], "word": np.where(X[:, 1] > 0, "up", "down")})


def choose(table=X, y=Y, reranker=None, fit_options=None, **more):
    """A choice by folds of two radii."""
    reranker = Reranker("precision@5", solver="search") if reranker is None else reranker
    return RerankerCV(reranker, **{"grid": {"radius": [0.5]}, "cv": 2, **more}).fit(table, y, **(fit_options or {}))


def evidence(other) -> bool:
    return other.best_params_ is not None


FOREST = RandomForestClassifier(3, random_state=0).fit(X, Y)
UP = FunctionTransformer(lambda table: (table[["word"]] == "up").to_numpy(float))
BY_COLUMN = Reranker("precision@5", solver="search", first_stage="a")
FEW = np.array([[0, 0], [1, 5], [5, 3], [6, 6.0]]), np.array([0, 1, 1, 0])


def tried(other) -> bool:
    return any(np.isfinite(other.cv_results_["lead"]))


def wide(**options):
    """A fit of many columns, which takes long to prove."""
    X, y = data(120, 5)
    return est(**{"stat": "auc", "first_stage": X[:, 1], **options}).fit(X, y[::-1])


def of_few_pairs(y):
    """A fit of pairs where few of them may be stated."""
    with patch.object(build, "MOST_STATED", 200):
        return fit(y=y, stat="pairs")


def unused(**options):
    """A fit over a poor score that is no sum of the columns."""
    return est(**{"first_stage": lambda table: -(table[:, 0] ** 3), **options}).fit(X, Y)


def grid(epsilon, rows=None, y=None):
    """A fit of rows on a grid, where pairs differ by just the margin."""
    if rows is None:
        rng = np.random.default_rng(93)
        rng.integers(12, 50), rng.integers(1, 4)
        rows = np.round(rng.normal(size=(48, 3)), int(rng.integers(0, 2)))
        y = np.clip(np.round(rows[:, 0] + rng.normal(size=48)), 0, 3).astype(int)
        return est(stat="mrr", epsilon=epsilon, time_limit=0.2).fit(rows, y, qid=np.arange(48) % 2)
    return est(stat="mrr", epsilon=epsilon).fit(rows, y)


GRADES = np.where(Y > 0, 1 + (np.arange(40) % 2), 0)

STATISTICS = {
    "mrr is the sum over all relevant items and takes no number; write {} for the reciprocal rank": Row(
        lambda: fit(stat="mrr@10"),
        lambda: (
            fit(stat="rr@10").result_.statistic == 1 / (1 + int(np.argmax(Y[np.argsort(fit(stat="rr@10").rank(X))])))
        ),
    ),
    "there is no thinning any more; write {}": Row(
        lambda: fit(stat="dcg@10 thinned to 0.5"), lambda: proved(fit(stat="dcg@10"))
    ),
    "fit ndcg@10, rbp@0.8 or rr instead": Row(
        lambda: fit(stat="err@10"), lambda: [fit(stat=each) for each in ("ndcg@10", "rbp@0.8", "rr")]
    ),
    "this measure is not offered; leave it out, or take it from trec_eval": Row(
        lambda: fit(stat="infap"), lambda: proved(fit(stat="ap"))
    ),
    "this measure is for rerank evaluate and is not fitted; fit ap or ndcg@10 instead": Row(
        lambda: fit(stat="bpref"), lambda: [proved(fit(stat=each)) for each in ("ap", "ndcg@10")]
    ),
    "is no share of a list; write 'precision@2%'": Row(
        lambda: fit(stat="precision@x%"), lambda: fit(stat="precision@2%").result_.statistic_name == "precision@2%"
    ),
    "has no places that a share could count; use precision@2%": Row(
        lambda: fit(stat="pnorm@2%"), lambda: proved(fit(stat="precision@2%"))
    ),
    "is no window; write a width and a depth, such as 'window2@100'": Row(
        lambda: fit(stat="window@x"), lambda: fit(stat="window2@100").result_.value > 0
    ),
    "write one, such as in {}": Row(lambda: fit(stat="precision@five"), lambda: same(fit(stat="precision@5"))),
    "which has no average by places; leave it out, or use a statistic such as 'dcg@10'": Row(
        lambda: fit(stat="ap", list_length=80),
        lambda: proved(fit(stat="ap")) and proved(fit(stat="dcg@10", list_length=80)),
    ),
    "and the coefficients of stat are for lists of {} rows; give a statistic by name, such as 'dcg@10'": Row(
        lambda: fit(stat=np.arange(40.0), list_length=80), lambda: proved(fit(stat="dcg@10", list_length=80))
    ),
    "has no depth to put it around; leave it out, or use a statistic such as 'precision@100'": Row(
        lambda: fit(stat="auc", window=2.0, n_candidates=12),
        lambda: (
            proved(fit(stat="auc", n_candidates=None, max_features=1))
            and fit(stat="precision@10", window=2.0).result_.value > 0
        ),
    ),
    "give as many as there are items, or a function of (l, n)": Row(
        lambda: fit(stat=[1.0, 2.0]),
        lambda: fit(stat=np.arange(40.0)).result_.value == fit(stat=lambda l, n: float(l - 1)).result_.value,
    ),
    "Coefficient a_{} (index {}) is {}, {}; give numbers >= 0": Row(
        lambda: fit(stat=np.arange(40.0) - 1), lambda: fit(stat=np.arange(40.0)).result_.value > 0
    ),
    "one made of a function cannot be read back from its name, give the function itself": Row(
        lambda: fit(stat="custom[f]"), lambda: fit(stat=lambda l, n: float(l)).result_.value > 0
    ),
    "numbers of at most 1000; use gain='linear' for larger ones": Row(
        lambda: fit(y=Y * 2000, stat="dcg@5"), lambda: fit(y=Y * 2000, stat="dcg@5", gain="linear").result_.value > 2000
    ),
    "numbers >= 0 (write 0 for an irrelevant item, not -1)": Row(
        lambda: evaluate("auc", GRADES - 1, X[:, 0]), lambda: 0 < evaluate("auc", GRADES, X[:, 0]) < 1
    ),
}

OPTIONS = {
    "which forbids scores closer than the margin, and with a radius the first stage's scores are given; use 'auto', 'mixed' or 'subrank'": Row(
        lambda: fit(formulation="resolved_rank", radius=1.0),
        lambda: [fit(formulation=each, radius=1.0) for each in ("auto", "mixed", "subrank")],
    ),
    "leave presolve at True, or use solver='search'": Row(
        lambda: fit(stat="ap", solver="highs", presolve=False),
        lambda: proved(fit(stat="ap", solver="highs")) and proved(fit(stat="ap")),
    ),
    "and without a radius there is no prior; give a radius, or use epsilon": Row(
        lambda: fit(margin=0.1), lambda: proved(fit(margin=0.1, radius=1.0)) and proved(fit(epsilon=0.1))
    ),
    "set first_stage=None and a radius, or leave prior out": Row(
        lambda: fit(prior=[1, 0]), lambda: proved(fit(prior=[1, 0], radius=1.0)) and same(fit())
    ),
    "there is none; leave one of them out": Row(
        lambda: fit(solver="none", checkpoint="c"),
        lambda: fit(checkpoint="c").result_.value == fit().result_.value and fit(solver="none").result_.status,
    ),
    "and with qid every list has its own length; leave it out": Row(
        lambda: fit(qid=QID, list_length=9), lambda: proved(fit(qid=QID))
    ),
    "counts pairs, which is stat='auc', not {}; use stat='auc', or formulation='auto'": Row(
        lambda: fit(formulation="auc"),
        lambda: fit(formulation="auc", stat="auc", max_features=1).result_.value > 0 and same(fit(formulation="auto")),
    ),
    "compares each pair of labels; use formulation='pairwise' or 'auto'.": Row(
        lambda: fit(formulation="mixed", stat="pairs", y=X[:, 1]),
        lambda: [proved(fit(formulation=each, stat="pairs", y=X[:, 1])) for each in ("pairwise", "auto")],
    ),
    "and y holds {} labels for {}; use 'ranksvm', a regression of scikit-learn, or None.": Row(
        lambda: fit(first_stage="logistic+head20", stat="pairs", y=X[:, 1]),
        lambda: [
            proved(fit(first_stage=each, stat="pairs", y=X[:, 1])) for each in ("ranksvm", LinearRegression(), None)
        ],
    ),
    "of two classes with {} rows, and the most is {}; lower n_candidates to {} or less, or round the labels.": Row(
        lambda: of_few_pairs(X[:, 1]), lambda: proved(of_few_pairs(X[:, 1].round().clip(-1, 1)))
    ),
    "relevant items of a list are no rows; leave ideal_gains out, or use another statistic.": Row(
        lambda: evaluate("pairs", GRADES, X[:, 0], ideal_gains={0: [1.0]}),
        lambda: (
            0 < evaluate("pairs", GRADES, X[:, 0]) < 1
            and 0 < evaluate("auc", GRADES, X[:, 0], ideal_gains={0: [1.0]}) < 1
        ),
    ),
    "counts relevant rows above all others, which is stat='pos@top', not {}; use stat='pos@top', or formulation='auto'": Row(
        lambda: fit(formulation="pos_top"),
        lambda: proved(fit(formulation="pos_top", stat="pos@top")) and same(fit(formulation="auto")),
    ),
    "looks at several of them at once; use formulation='auto'": Row(
        lambda: fit(formulation="mixed", stat="ap"), lambda: proved(fit(formulation="auto", stat="ap"))
    ),
    "n_candidates is {}; it must be 'auto', None for all rows (on the command line: --candidates 0), or a whole number": Row(
        lambda: fit(n_candidates=0), lambda: same(fit(n_candidates=None))
    ),
    "random_state is {}; give a whole number, 0 to {}, a RandomState or a Generator of numpy.random or None.": Row(
        lambda: fit(random_state="x"),
        lambda: [fit(random_state=each) for each in (0, None, np.random.RandomState(0), np.random.default_rng(0))],
    ),
    "leave it out; a window or list_length also makes lower places count": Row(
        lambda: Reranker(thinning=2), lambda: [fit(window=2.0), fit(list_length=80)]
    ),
    "any more: read the rows and columns that count into one table, and call {}": Row(
        lambda: est().fit_parts, lambda: same(fit())
    ),
    "and X has no names of columns; give a data frame, or an array of ids": Row(
        lambda: fit(qid="a"), lambda: fit(FRAME.assign(q=QID), qid="q").result_.value == fit(qid=QID).result_.value
    ),
    "and columns that are reranked have to be dense; name these with features=[...]": Row(
        lambda: fit(scipy.sparse.csr_array(X)), lambda: same(fit(scipy.sparse.csr_array(X), features=[0, 1]))
    ),
    "features is {}; give names or numbers of columns of X, a mask, a callable, or a transformer": Row(
        lambda: fit(FRAME, features=3.5),
        lambda: (
            all(
                same(fit(FRAME, features=each)) for each in (["a", "b"], [0, 1], [True, True], lambda table: ["a", "b"])
            )
            and fit(FRAME, features=StandardScaler()).result_.value > 0
        ),
    ),
    "features holds {}; give names or numbers of the {} columns of X": Row(
        lambda: fit(features=[5]), lambda: same(fit(features=[0, 1]))
    ),
    "name each column to rerank once": Row(
        lambda: fit(FRAME, features=["a", "a"]), lambda: same(fit(FRAME, features=["a", "b"]))
    ),
    "Every row has a weight of 0, or is in a list of weight 0, and such rows are not there; give some row and its list weights above 0": Row(
        lambda: fit(qid=QID, sample_weight=QID * 1.0, query_weight={1: 0}),
        lambda: proved(fit(qid=QID, sample_weight=QID * 1.0, query_weight={1: 1})),
    ),
    "query_weight is 0 for every list, so nothing counts; give some list a positive weight": Row(
        lambda: fit(qid=QID, query_weight={0: 0, 1: 0}), lambda: proved(fit(qid=QID, query_weight={0: 0, 1: 1}))
    ),
    "and there is no qid; give qid, or use sample_weight for rows": Row(
        lambda: fit(query_weight=np.full(40, 2.0)),
        lambda: proved(fit(query_weight=np.full(40, 2.0), qid=QID)) and proved(fit(sample_weight=np.full(40, 2.0))),
    ),
    "which is not in qid; remove it or correct its id": Row(
        lambda: fit(qid=QID, query_weight={7: 2.0}), lambda: proved(fit(qid=QID, query_weight={1: 2.0}))
    ),
    "has {} entries for {} rows of X; give one for each row": Row(
        lambda: fit(y=Y[:39], sample_weight=1.0 * QID), lambda: proved(fit(y=Y, sample_weight=1.0 * QID))
    ),
    "give one weight a row or a mapping": Row(
        lambda: fit(qid=QID, query_weight=np.array([0, 1.0])),
        lambda: proved(fit(qid=QID, query_weight=1.0 * QID)) and proved(fit(qid=QID, query_weight={1: 2.0})),
    ),
    "counts whole rows; give 0 and 1 alone, or weigh lists with query_weight": Row(
        lambda: fit(stat="ap", sample_weight=np.full(40, 0.5)),
        lambda: (
            proved(fit(stat="ap", sample_weight=(np.arange(40) > 3) * 1.0))
            and proved(fit(stat="ap", qid=QID, query_weight={0: 0.5}))
        ),
    ),
    "ideal_gains names lists such as {}, and none of them is in qid, which has {}; give the same ids": Row(
        lambda: fit(stat="ndcg@5", qid=QID, ideal_gains={7: [1]}),
        lambda: (
            fit(stat="ndcg@5", qid=QID, ideal_gains={1: [3]}).result_.value < fit(stat="ndcg@5", qid=QID).result_.value
        ),
    ),
    "each has relevant rows only or none; give lists that mix both": Row(
        lambda: fit(stat="auc", y=QID, qid=QID), lambda: fit(stat="auc", qid=QID, max_features=1).result_.value > 0
    ),
    "Leave it out of X (--features names the columns to use)": Row(
        lambda: fit(np.column_stack([X, Y])), lambda: same(fit(np.column_stack([X, Y])[:, :2]))
    ),
    "and count as lost; a smaller epsilon may win them": Row(
        lambda: fit(epsilon=0.4, stat="auc", max_features=1),
        lambda: (
            fit(epsilon=0.01, stat="auc", max_features=1).result_.value
            > fit(epsilon=0.4, stat="auc", max_features=1).result_.value
        ),
    ),
}

FIRST_STAGES = {
    "and its weight would be no finite number; multiply that column by a constant": Row(
        lambda: fit(X * [1, 1e-320], first_stage="ranksvm"),
        lambda: fit(X * [1, 1e-320] * [1, 1e300], first_stage="ranksvm").result_.value > 0,
    ),
    "first_stage is {}; give None, one of {}, 'logistic+squares' and the like, the name of a column": Row(
        lambda: fit(first_stage=3),
        lambda: [
            fit(FRAME, first_stage=each)
            for each in (
                None,
                "logistic",
                "logistic+squares",
                "a",
                LogisticRegression(),
                lambda table: table["a"],
                X[:, 0],
            )
        ],
    ),
    "learns from columns of numbers that miss none, and X has no such column; give 'logistic', which encodes the columns": Row(
        lambda: fit(WORDS[["word"]], first_stage="ranksvm", features=UP),
        lambda: fit(WORDS[["word"]], first_stage="logistic", features=UP).result_.value >= 0,
    ),
    "use 'logistic', other columns, or TopPush with threshold='quantile' and a larger k": Row(
        lambda: fit(first_stage=TopPush(alpha=1.0), table=-np.abs(X)),
        lambda: fit(first_stage="logistic", table=-np.abs(X)).result_.value > 0,
    ),
    "for columns of X, and features makes others; give it a first stage": Row(
        lambda: fit(FRAME, features=StandardScaler(), radius=1.0),
        lambda: proved(fit(FRAME, features=StandardScaler(), radius=1.0, first_stage="logistic")),
    ),
    "give the scores as a column of X and its name as first_stage": Row(
        lambda: fit(first_stage=X[:, 0]).rank(X), lambda: len(fit(FRAME, first_stage="a").rank(FRAME)) == 40
    ),
    "is for tables of numbers that miss none, without squares and head; leave it out, or use columns of numbers alone": Row(
        lambda: fit(first_stage="logistic+squares+top2"),
        lambda: [proved(fit(first_stage=each)) for each in ("logistic+squares", "logistic+top2")],
    ),
    "has a label twice, so that labels name no rows; call X.reset_index(drop=True) first": Row(
        lambda: fit(FRAME).top(FRAME.set_axis(["a"] * len(FRAME)), 3),
        lambda: fit(FRAME).top(FRAME.set_axis(["a"] * len(FRAME)).reset_index(drop=True), 3).size == 3,
    ),
    (
        "decides nothing here, because the list is reordered whole by the columns alone; give radius, such as 0.3",
        "n_candidates below {} to keep its order below the first rows",
    ): Row(
        lambda: unused(),
        lambda: unused(radius=0.3).prior_weight_ == 1 and unused(n_candidates=20).result_.shortlist.n_head < 40,
    ),
    "give qid, the list of each row: of sizes that is np.repeat(np.arange(len(group)), group)": Row(
        lambda: est().fit(X, Y, group=[20, 20]),
        lambda: est().fit(X, Y, np.repeat(np.arange(2), [20, 20])).result_.n_lists == 2,
    ),
    "is the second part of its kind; leave one out": Row(
        lambda: fit(first_stage="logistic+head10+head20"), lambda: proved(fit(first_stage="logistic+head10"))
    ),
    "is frozen and not fitted; fit it first, or do not freeze it": Row(
        lambda: fit(first_stage=FrozenEstimator(LogisticRegression())),
        lambda: (
            proved(fit(first_stage=FrozenEstimator(LogisticRegression().fit(X, Y))))
            and proved(fit(first_stage=LogisticRegression()))
        ),
    ),
    "first_stage is an array of shape {}; give one finite score for each of the {} rows": Row(
        lambda: fit(first_stage=np.full(40, np.nan)), lambda: proved(fit(first_stage=X[:, 0]))
    ),
    "prior has shape {}; give 'auto', 'equal', or one finite weight for each of the {} columns": Row(
        lambda: fit(radius=1.0, prior=[1, 2, 3]),
        lambda: [fit(radius=1.0, prior=each) for each in ("auto", "equal", [1, 2])],
    ),
    "give None, without quotes, for no first stage (on the command line --first-stage none)": Row(
        lambda: fit(first_stage="None"), lambda: same(fit(first_stage=None))
    ),
    "one score a row is needed, so use a binary classifier, a regressor or a ranker": Row(
        lambda: fit(first_stage=LogisticRegression().fit(X, GRADES)),
        lambda: [fit(first_stage=each) for each in (LogisticRegression().fit(X, Y), LinearRegression().fit(X, GRADES))],
    ),
    "which holds no numbers or misses some; fill the scores in, or drop the rows without one": Row(
        lambda: fit(GAPS, first_stage="b"), lambda: proved(fit(GAPS.fillna(0.0), first_stage="b"))
    ),
    "so it is kept as it is, and its numbers here are of rows that it has seen; raise time_limit": Row(
        lambda: fit(first_stage=LogisticRegression(), time_limit=0.0, radius=1.0),
        lambda: fit(first_stage=LogisticRegression(), radius=1.0).result_.value >= 0,
    ),
}

FOLDS = {
    "ask for fewer, give more data, or fit without folds: a Reranker, or rerank fit --free": Row(
        lambda: choose(y=(np.arange(40) < 2) * 1, cv=9), lambda: evidence(choose(y=(np.arange(40) < 2) * 1, cv=2))
    ),
    "give more data, or fit without folds: a Reranker, or rerank fit --free": Row(
        lambda: choose(y=(np.arange(40) < 1) * 1), lambda: proved(fit(y=(np.arange(40) < 1) * 1)) and evidence(choose())
    ),
    "but cv is no number; leave n_repeats at 1 and give a splitter that repeats itself": Row(
        lambda: choose(cv=KFold(2), n_repeats=3), lambda: evidence(choose(cv=KFold(2), n_repeats=1))
    ),
    "and none holds out a relevant row that counts: there is nothing to judge by; give a number of folds": Row(
        lambda: choose(cv=[(np.arange(40)[3:], np.arange(3))], y=np.where(np.arange(40) < 3, 0, Y)),
        lambda: evidence(choose(cv=2)),
    ),
    "that gives no folds ({}); give a number, a splitter of scikit-learn, or pairs of training and test rows": Row(
        lambda: choose(cv="x"), lambda: [choose(cv=each) for each in (2, KFold(2), list(KFold(2).split(X)))]
    ),
    "of cv has no training row with a weight above 0; give others, or weights": Row(
        lambda: choose(cv=[(np.arange(20), np.arange(20, 40))], fit_options={"sample_weight": 1.0 * QID}),
        lambda: (
            evidence(choose(cv=2, fit_options={"sample_weight": 1.0 * QID}))
            and evidence(choose(cv=[(np.arange(20), np.arange(20, 40))]))
        ),
    ),
    "on both sides, and would be judged by what it learned from; give a number of folds, or a splitter that keeps every {} whole": Row(
        lambda: choose(cv=KFold(2), fit_options={"groups": np.arange(40) % 7}),
        lambda: [choose(cv=each, fit_options={"groups": np.arange(40) % 7}) for each in (2, GroupKFold(2))],
    ),
    "give a function of (rank, length) or a statistic by name": Row(
        lambda: choose(reranker=est(stat=np.arange(40.0), first_stage="logistic")),
        lambda: (
            evidence(choose(reranker=est(stat=lambda l, n: float(l), first_stage="logistic"))) and evidence(choose())
        ),
    ),
    "grid is empty; give a mapping from names to lists, {} for the reranker as it is": Row(
        lambda: choose(grid=[]), lambda: evidence(choose(grid={})) and evidence(choose(grid={"radius": [0.1]}))
    ),
    "grid cannot be read ({}); give a mapping from names to lists": Row(
        lambda: choose(grid=3), lambda: evidence(choose(grid={"radius": [0.1]}))
    ),
    "leads are measured by the statistic itself; leave it out": Row(
        lambda: RerankerCV(est(), judge="auc"), lambda: evidence(choose())
    ),
    "The first stage is kept: no option had the time to be tried on held-out rows; raise time_limit": Row(
        lambda: choose(FRAME, reranker=BY_COLUMN, time_limit=1e-9),
        lambda: tried(choose(FRAME, reranker=BY_COLUMN, time_limit=20.0)),
    ),
    "No option had the time to be tried on held-out rows; raise time_limit": Row(
        lambda: choose(time_limit=0.0), lambda: tried(choose(time_limit=20.0))
    ),
}

OUTCOMES = {
    "give qid, the list of each row{}, or qid=0 if they are one list": Row(
        lambda: fit(qid=QID).score(X, Y),
        lambda: fit(qid=QID).score(X, Y, 0) >= 0 and fit(qid=QID).rank(X, QID).max() < len(X),
    ),
    "A picture is of one list, and X holds {}; give the rows of one": Row(
        lambda: fit(qid=QID).plot(X, Y, qid=QID),
        lambda: fit(qid=QID).plot(X[QID[0] == QID], Y[QID[0] == QID], qid=0) is not None,
    ),
    "Raise time_limit, lower n_candidates, or set max_features to 3 or 4, which is usually proved": Row(
        lambda: wide(time_limit=0.05), lambda: proved(wide(max_features=1)) and proved(wide(n_candidates=20))
    ),
    "Raise time_limit, or lower n_candidates.": Row(
        lambda: wide(max_features=2, time_limit=0.0),
        lambda: proved(wide(max_features=2)) and proved(wide(max_features=2, n_candidates=20)),
    ),
    "The search ended at node_limit={}, before its time was over; raise node_limit, or leave it out": Row(
        lambda: wide(max_features=2, node_limit=3), lambda: proved(wide(max_features=2))
    ),
    "which solves nothing; use solver='search' for the best weights": Row(
        lambda: fit(solver="none"), lambda: proved(fit(solver="search"))
    ),
    "which can keep a gap open for any time: try a slightly smaller margin, such as epsilon={}": Row(
        lambda: grid(0.2), lambda: proved(grid(0.1998))
    ),
    "More time would not change that; a note says why": Row(
        lambda: grid(1 / 6, *FEW), lambda: proved(grid(0.1666, *FEW))
    ),
    "where pairs differ by just the margin; a slightly smaller margin lets doubles reach it": Row(
        lambda: grid("1/6", *FEW), lambda: proved(grid(0.1666, *FEW))
    ),
    "presolve=True with more time_limit lets the search prove it": Row(
        lambda: fit(stat="dcg@5", solver="highs", presolve=False, n_candidates=12, first_stage=X[:, 1]),
        lambda: fit(stat="dcg@5", solver="highs", n_candidates=12, first_stage=X[:, 1]).result_.status == "optimal",
    ),
    "n_candidates must be at least {} for an order to matter": Row(
        lambda: fit(stat="precision@10", n_candidates=5, first_stage="logistic"),
        lambda: fit(stat="precision@10", n_candidates=11, first_stage="logistic").result_.shortlist.n_positive > 0,
    ),
    "the model was read from a file, or no feature varies on the shortlist; fit it on data that leave something to order": Row(
        lambda: (fit().save("m.json"), load("m.json").build_model())[1],
        lambda: fit(n_candidates=6, first_stage="logistic").build_model() is not None,
    ),
    "so no score makes a row relevant; use rank, or decision_function with qid": Row(
        lambda: fit(qid=QID).predict(X),
        lambda: len(fit(qid=QID).rank(X, QID)) == len(fit(qid=QID).decision_function(X, QID)) == 40,
    ),
    "because labels were no whole numbers or weights were read from a file; use rank or decision_function": Row(
        lambda: fit(y=Y * 0.5).predict(X),
        lambda: len(fit(y=Y * 0.5).rank(X)) == len(fit(y=Y * 0.5).decision_function(X)) == 40,
    ),
    "There are no weights to draw: the model was read from a file, which holds no rows, or no column varies on the shortlist; fit it": Row(
        lambda: (fit().save("m.json"), load("m.json").plot_weights())[1], lambda: fit().plot_weights() is not None
    ),
    "A model whose columns are made by a transformer, other than rerank.scorers.Squares, cannot be written to a file; transform the table first, and fit on what comes out": Row(
        lambda: fit(FRAME, features=StandardScaler()).save("m.json"),
        lambda: (
            fit(StandardScaler().fit_transform(X)).save("m.json") is None
            and load("m.json").result_.value == fit(FRAME, features=StandardScaler()).result_.value
            and fit(FRAME, features=Squares()).save("m.json") is None
        ),
    ),
    "X is sparse, and squares are of dense columns; name them: Squares(features=[...])": Row(
        lambda: fit(scipy.sparse.csr_array(X), features=Squares()),
        lambda: fit(scipy.sparse.csr_array(X), features=Squares([0, 1])).result_.value > 0,
    ),
    "The stored squares of columns cannot be used (they are not as to_dict writes them); fit and save the model again": Row(
        lambda: Squares.from_dict({}),
        lambda: Squares.from_dict(Squares().fit(X).to_dict()).to_dict() == Squares().fit(X).to_dict(),
    ),
    "A statistic made of a function cannot be written to a file; give its coefficients a_1..a_n instead": Row(
        lambda: fit(stat=lambda l, n: float(l)).save("m.json"),
        lambda: (
            fit(stat=np.arange(1.0, 41)).save("m.json") is None
            and load("m.json").result_.value == fit(stat=lambda l, n: float(l)).result_.value
        ),
    ),
    "which is no file of numbers; pass the fitted estimator as rerank.load(path, first_stage=...)": Row(
        lambda: (fit(first_stage=FOREST, n_candidates=12).save("m.json"), load("m.json").rank(X))[1],
        lambda: (
            (
                fit(first_stage=FOREST, n_candidates=12).save("m.json"),
                load("m.json", first_stage=FOREST).rank(X).tolist(),
            )[1]
            == fit(first_stage=FOREST, n_candidates=12).rank(X).tolist()
        ),
    ),
}

DATES = pd.DataFrame({"a": pd.date_range("2020-01-01", periods=40)})


def compared(table=X, methods=("logistic",), **more):
    """Methods compared, quickly."""
    return rerank.compare(table, Y, "precision@5", methods=methods, folds=2, **more)


def followed(found) -> bool:
    """What a comparison says to take can be fitted."""
    return found.estimator.fit(X, Y).score(X, Y) > 0


COMPARISONS = {
    "Take {}: it has {} {} on held-out rows, and": Row(
        lambda: compared(methods=["logistic", "squares"]).sentence,
        lambda: followed(compared(methods=["logistic", "squares"])),
    ),
    "Take {}: nothing else was tried.": Row(lambda: compared().sentence, lambda: followed(compared())),
    "X is sparse, and a card and corrections need dense columns; pass X.toarray().": Row(
        lambda: compared(scipy.sparse.csr_array(X)),
        lambda: compared(scipy.sparse.csr_array(X).toarray()).take == "logistic",
    ),
    "methods name no score; add one to compare, such as 'logistic'": Row(
        lambda: compared(methods=["guard"]), lambda: len(compared(methods=["guard", "logistic"]).methods) == 2
    ),
    "No method could be compared in the time; raise time_limit.": Row(
        lambda: compared(time_limit=0), lambda: compared(time_limit=20).take == "logistic"
    ),
    "LightGBM has no column that it can learn from; give columns of numbers, or of few texts.": Row(
        lambda: Boosted().fit(DATES, Y), lambda: Boosted().fit(DATES.assign(b=X[:, 0]), Y).rules_[0].at == 1
    ),
    "A Reranker that was loaded holds no rows; pass X and y, the rows of the fit.": Row(
        lambda: (fit().save("m.json"), load("m.json").frontier())[1],
        lambda: load("m.json").frontier(1, X, Y, folds=None).proved,
    ),
}

ROWS = STATISTICS | OPTIONS | FIRST_STAGES | FOLDS | OUTCOMES | COMPARISONS
