"""Advice on measures, equal rows, first stages, fusion, latent models, pictures and certificates."""

import os

import numpy as np
import pandas as pd
import scipy.sparse
from sklearn.linear_model import LogisticRegression

from rerank import evaluate_runs, fusion, plots, scorers
from rerank.certificate import Certificate, certify, leaf_boxes
from rerank.io import read_csv, read_svmlight
from rerank.latent import LatentRoBiRank, split_log
from rerank.latent import evaluate as evaluate_latent
from rerank.perturb import merge_duplicates, perturb_rows, perturb_weights, theorem_applies
from rerank.problem import problem_of, values_at
from rerank.ranks import evaluate
from rerank.ranks.runs import differences, run_values
from rerank.scorers import RankSVM, RoBiRank, TableLogistic, TopPush
from rerank.search import solve
from rerank.statistics import parse
from tests.cases.advice import QID, Row, X, Y, est, fit, promised, write

PURE = np.repeat([0, 1], 20)
RUN = {"q1": {"d1": 0.9, "d2": 0.5}, "q2": {"d3": 0.7, "d4": 0.2}}
OTHER = {"q1": {"d2": 0.9, "d1": 0.5}, "q2": {"d3": 0.7, "d5": 0.2}}
GRADES = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 1, "d4": 0}}
FILE = "q1 Q0 d1 1 0.9 t\nq2 Q0 d3 1 0.5 t\n"


def fuse(runs=None, grades=None, **options):
    runs = {"a": RUN, "b": OTHER} if runs is None else runs
    return fusion.ScoreFusion(**{"cv": None, **options}).fit(runs, GRADES if grades is None else grades)


def by_kind(kinds, **options):
    return fusion.ScoreFusion(**options).fit({"a": RUN, "b": OTHER}, GRADES, kinds)


def model(**fields):
    """A model of two runs, of weights 2 and 1."""
    given = {"names": ("a", "b"), "weights": np.array([2.0, 1.0]), "normaliser": "minmax", "missing": "zero"}
    return fusion.FusionModel(**{**given, **fields})


MEASURES = {
    "There are {} rows and qid has shape {}; give one list name per row": Row(
        lambda: evaluate("ap", Y, X[:, 0], [0]), lambda: evaluate("ap", Y, X[:, 0], QID) > 0
    ),
    "There are no rows; give at least one item": Row(
        lambda: evaluate("ap", [], []), lambda: evaluate("ap", [1], [0.0]) == 1
    ),
    **promised(
        lambda: evaluate("ap", Y, X[:, 0]) > 0,
        {
            "There are {} labels and {} scores; give one score per row": lambda: evaluate("ap", Y, X[:3, 0]),
            "Scores have shape {}; give one number per row": lambda: evaluate("ap", Y, X),
            "The {} column has shape {}; give one number per row": lambda: evaluate("ap", Y[:, None], X[:, 0]),
        },
    ),
    "the mean is not defined; add such a list or set empty=0": Row(
        lambda: evaluate("auc", PURE, X[:, 0], PURE),
        lambda: evaluate("auc", PURE, X[:, 0], PURE, empty=0) == 0 and evaluate("auc", Y, X[:, 0], PURE) > 0,
    ),
    "holds nothing to order (no relevant item, or no pair for AUC); drop it or set empty='skip'": Row(
        lambda: evaluate("ap", PURE, X[:, 0], PURE, empty="error"),
        lambda: (
            evaluate("ap", PURE, X[:, 0], PURE, empty="skip")
            == evaluate("ap", PURE[20:], X[20:, 0], PURE[20:], empty="error")
        ),
    ),
    "has {} entries for {} rows of X; pass one {} a row": Row(
        lambda: evaluate("ap", Y, X[:, 0], sample_weight=[1]),
        lambda: evaluate("ap", Y, X[:, 0], sample_weight=np.ones(40)) > 0,
    ),
    "measures is empty; name at least one, such as 'ndcg@10'": Row(
        lambda: run_values(RUN, GRADES, []), lambda: run_values(RUN, GRADES, ["ndcg@10"]).means[0] == 1
    ),
    **promised(
        lambda: run_values(RUN, GRADES, ["ap"]).means[0] == 1,
        {
            "and the judgements have {}; give the judgements of these queries": lambda: run_values(
                RUN, {"q9": {"d": 1}}, ["ap"]
            ),
            "give runs and judgements of the same documents, with the same ids": lambda: run_values(
                RUN, {"q1": {"x": 1}}, ["ap"]
            ),
            "a data frame, or triples of query, document and score": lambda: run_values(3, GRADES, ["ap"]),
            "is not read; write rel=2 or dcg='exp-log2', or leave it out": lambda: run_values(
                RUN, GRADES, ["AP(judged_only=True)"]
            ),
            "runs is empty; give at least one run, such as {'bm25': 'a.run'}": lambda: evaluate_runs({}, GRADES),
        },
    ),
    "takes no such number; write 'rprec', 'bpref' or 'judged@10'": Row(
        lambda: run_values(RUN, GRADES, ["bpref@10"]),
        lambda: run_values(RUN, GRADES, ["rprec", "bpref", "judged@10"]).means.tolist() == [1, 1, 1],
    ),
    "has no mean over orders of equal scores; leave it out, or give another ties": Row(
        lambda: run_values(RUN, GRADES, ["ap", "bpref"], ties="average"),
        lambda: (
            run_values(RUN, GRADES, ["ap"], ties="average").means[0]
            == run_values(RUN, GRADES, ["bpref"], ties="pessimistic").means[0]
            == 1
        ),
    ),
    "holds something that is no triple; give (query, document, score) for each row": Row(
        lambda: run_values([("q1", "d1", 1.0), 3], GRADES, ["ap"]),
        lambda: run_values([("q1", "d1", 1.0), ("q2", "d3", 1.0)], GRADES, ["ap"]).means[0] == 1,
    ),
    "Two runs are called {}; give a mapping with a name of its own for each": Row(
        lambda: evaluate_runs([write("a.run", FILE), write("a.res", FILE)], GRADES),
        lambda: list(evaluate_runs({"a": "a.run", "b": "a.res"}, GRADES).runs) == ["a", "b"],
    ),
    "check that it is the same system and scale": Row(
        lambda: model(about={"ranges": {"a": [10.0, 20.0], "b": [0.0, 1.0]}}).fuse({"a": RUN, "b": OTHER}),
        lambda: model(about={"ranges": {"a": [0.0, 1.0], "b": 3}}).fuse({"a": RUN, "b": OTHER}),
    ),
    "share no {}; check that they are of the same collection": Row(
        lambda: evaluate_runs({"a": {"q1": {"d1": 1.0}}, "b": {"q2": {"d3": 1.0}}}, GRADES),
        lambda: evaluate_runs({"a": RUN, "b": OTHER}, GRADES).notes == (),
    ),
    "is not a whole number up to {}; correct it, or exchange runs and judgements": Row(
        lambda: evaluate_runs(GRADES, RUN), lambda: evaluate_runs(RUN, GRADES).means["run"]["ap"] == 1
    ),
    "The runs were judged by other measures or queries; judge both in the same way": Row(
        lambda: differences(run_values(RUN, GRADES, ["ap"]), run_values(OTHER, GRADES, ["rr"])),
        lambda: differences(run_values(RUN, GRADES, ["ap"]), run_values(OTHER, GRADES, ["ap"]))[0].mean > 0,
    ),
    **promised(
        lambda: run_values(RUN, GRADES, ["ap"]),
        {
            "for query {}; give {query: {document: score}}": lambda: run_values({"q1": 3}, GRADES, ["ap"]),
            "is empty; give at least one document": lambda: run_values({}, GRADES, ["ap"]),
        },
    ),
    "has no finite number for document {} of query {}; give one": Row(
        lambda: run_values({"q1": {"d1": np.nan}}, GRADES, ["ap"]),
        lambda: run_values({"q1": {"d1": 1.0}}, GRADES, ["ap"]),
    ),
    "has no column of {}; name one of its columns {}": Row(
        lambda: run_values(pd.DataFrame({"x": [1]}), GRADES, ["ap"]),
        lambda: run_values(pd.DataFrame({"qid": ["q1"], "docid": ["d1"], "score": [1.0]}), GRADES, ["ap"]),
    ),
    "The grade {} of document {} is not a whole number up to {}; correct it": Row(
        lambda: run_values(RUN, {"q1": {"d1": 0.5}}, ["ap"]), lambda: run_values(RUN, {"q1": {"d1": 1}}, ["ap"])
    ),
}

TWICE = np.vstack([X, X[:1]])
EQUAL = {
    "labels of shape {}; give one per row": Row(
        lambda: merge_duplicates(X, Y[:3]), lambda: len(merge_duplicates(X, Y).rows) == 40
    ),
    "so the moved rows could still be tied; give 2e-12 or more": Row(
        lambda: perturb_rows(TWICE, epsilon=1e-13),
        lambda: len(np.unique(perturb_rows(TWICE, epsilon=2e-12), axis=0)) == 41,
    ),
    "and at most 0.5 stays in the range; merge them if that is too much": Row(
        lambda: perturb_rows(np.repeat([[0.0], [1.0]], 60, axis=0), size=0.001),
        lambda: len(merge_duplicates(np.repeat([[0.0], [1.0]], 60, axis=0), np.repeat([0, 1], 60)).rows) == 2,
    ),
    "A weight is larger than 1 in size; divide the weights by the largest": Row(
        lambda: perturb_weights([2.0, 1.0], X), lambda: perturb_weights([1.0, 0.5], X).size == 2
    ),
    "so all rows are tied and the lemma does not apply; give one a value": Row(
        lambda: perturb_weights([0.0, 0.0], X), lambda: perturb_weights([1.0, 0.0], X).size == 2
    ),
    "merge them, or give weight to a feature in which they differ": Row(
        lambda: perturb_weights([1.0, 0.0], np.array([[1.0, 0], [1.0, 1], [0, 0]])),
        lambda: (
            perturb_weights([1.0, 0.1], np.array([[1.0, 0], [1.0, 1], [0, 0]])).size == 2
            and perturb_weights([1.0, 0.0], np.array([[1.0, 0], [0, 0]])).size == 2
        ),
    ),
    "so no weights break their tie: merge or report them": Row(
        lambda: theorem_applies(TWICE).reason,
        lambda: theorem_applies(TWICE[merge_duplicates(TWICE, np.append(Y, Y[0])).rows]).applies,
    ),
}


def problem(table=X, gains=Y, **options):
    return problem_of(table, np.asarray(gains, float), parse("auc"), epsilon=0.01, **options)


PROBLEMS = {
    "there is nothing to rank; give at least one relevant item": Row(
        lambda: problem(gains=np.zeros(40)), lambda: problem().n_features == 2
    ),
    "is constant on the shortlist; drop it before building the problem": Row(
        lambda: problem(np.column_stack([X, np.ones(40)])), lambda: problem(X).n_features == 2
    ),
    "The weights have shape {}; give finite numbers, {} for each value": Row(
        lambda: values_at(problem(), [1.0]), lambda: values_at(problem(), [[1.0, 0.0]]).size == 1
    ),
    "divide the weights by it, so that it is 1 (or all are 0)": Row(
        lambda: certify(problem(), [0.5, 0.25]), lambda: certify(problem(), [1.0, 0.5]).value > 0
    ),
    "write one with to_dict()": Row(
        lambda: Certificate.from_dict({"value": "1"}),
        lambda: (
            Certificate.from_dict(certify(problem(), [1.0, 0.5]).to_dict()).value
            == certify(problem(), [1.0, 0.5]).value
        ),
    ),
    "name one of its sets of features": Row(
        lambda: leaf_boxes(problem(), solve(problem(), 20.0, proof=True).proof, [0, 0]),
        lambda: leaf_boxes(problem(), solve(problem(), 20.0, proof=True).proof, [0, 1]).bounds.size,
    ),
    "is the checkpoint of a search with {}; give that again to go on with it, or choose another path": Row(
        lambda: (fit(checkpoint="c", node_limit=1, stat="auc"), est(checkpoint="c", stat="dcg@5").fit(X, Y))[1],
        lambda: (
            (
                fit(checkpoint="c", node_limit=1, stat="auc"),
                fit(checkpoint="c", stat="auc"),
                fit(checkpoint="d", stat="dcg@5"),
            )[1].result_.proved
        ),
    ),
}


TEXTS = np.where(Y, "a", "b")


def column_scores(known, later):
    """Scores of rows to come by a first stage that learned from one column."""
    return TableLogistic().fit(pd.DataFrame({"w": known}), Y).decision_function(pd.DataFrame({"w": later}))


STAGES = {
    "use scikit-learn's LogisticRegression with class_weight": Row(
        lambda: scorers.CostSensitiveLogistic, lambda: LogisticRegression(class_weight="balanced").fit(X, Y).coef_.any()
    ),
    "alphas is {}; give at least one number > 0": Row(
        lambda: RankSVM().path(X, Y, alphas=[]), lambda: RankSVM().path(X, Y, alphas=[1.0])
    ),
    "and sums of squares would overflow; divide its column by a constant": Row(
        lambda: RankSVM().fit(X * 1e200, Y), lambda: RankSVM().fit(X * 1e200 / 1e200, Y).coef_.any()
    ),
    "there is no pair to learn from, so check qid, y and sample_weight": Row(
        lambda: TopPush().fit(X, Y, qid=Y), lambda: TopPush().fit(X, Y, qid=QID).coef_.any()
    ),
    "a pair to learn from is needed, check qid": Row(
        lambda: RankSVM().fit(X, Y, qid=Y), lambda: RankSVM().fit(X, Y, qid=QID).coef_.any()
    ),
    "need grades >= 0, so give y - y.min() or 0/1 labels": Row(
        lambda: RoBiRank().fit(X, Y - 3), lambda: RoBiRank().fit(X, Y - 3 - (Y - 3).min()).coef_.any()
    ),
    "No list holds rows of different grades with a weight > 0; there is no pair to learn from": Row(
        lambda: RoBiRank().fit(X, Y, qid=Y), lambda: RoBiRank().fit(X, Y, qid=QID).coef_.any()
    ),
    "multiclass; mark the rows to find by 1 and the others by 0": Row(
        lambda: TableLogistic().fit(X, [k % 3 for k in range(40)]),
        lambda: TableLogistic().fit(X, [k % 3 == 0 for k in range(40)]),
    ),
    "because squares of centred columns are dense; leave it out": Row(
        lambda: TableLogistic(squares=True).fit(scipy.sparse.csr_array(X), Y),
        lambda: TableLogistic().fit(scipy.sparse.csr_array(X), Y),
    ),
    "X has no column to learn from ({}); give one that varies": Row(
        lambda: TableLogistic().fit(np.ones((40, 1)), Y), lambda: TableLogistic().fit(X, Y)
    ),
    "X is sparse and holds NaN or inf; fill it in, or give dense rows": Row(
        lambda: TableLogistic().fit(scipy.sparse.csr_array(np.where(X > 2, np.nan, X)), Y),
        lambda: (
            TableLogistic().fit(scipy.sparse.csr_array(X), Y) and TableLogistic().fit(np.where(X > 2, np.nan, X), Y)
        ),
    ),
    "held texts at the fit and holds numbers now; give texts": Row(
        lambda: column_scores(TEXTS, X[:, 0]), lambda: column_scores(TEXTS, ["a", "c"]).size == 2
    ),
    "held numbers at the fit and does not now; give numbers": Row(
        lambda: column_scores(X[:, 0], ["a", "b"]), lambda: column_scores(X[:, 0], [1.0, 2.0]).size == 2
    ),
    "choose that solver or stop='gap'": Row(
        lambda: TopPush(stop="authors").fit(X, Y),
        lambda: TopPush(stop="authors", solver="accelerated").fit(X, Y) and TopPush(stop="gap").fit(X, Y),
    ),
    "not {} and {}; choose solver='newton'": Row(
        lambda: TopPush(solver="accelerated", threshold="topk", k=2).fit(X, Y),
        lambda: TopPush(solver="newton", threshold="topk", k=2).fit(X, Y),
    ),
    "leave k out or choose topk or quantile": Row(
        lambda: TopPush(k=3).fit(X, Y),
        lambda: (
            TopPush().fit(X, Y)
            and TopPush(k=3, threshold="topk").fit(X, Y)
            and TopPush(k=0.2, threshold="quantile").fit(X, Y)
        ),
    ),
}

FUSIONS = {
    "prior holds a weight below 0, and positive is True; set positive=False, or correct it": Row(
        lambda: fuse(prior={"a": -1, "b": 1}, normalise="minmax"),
        lambda: (
            fuse(prior={"a": -1, "b": 1}, normalise="minmax", positive=False)
            and fuse(prior={"a": 1, "b": 1}, normalise="minmax")
        ),
    ),
    "normalise is empty; give 'auto' or some of {}": Row(
        lambda: fuse(normalise=[]), lambda: fuse(normalise="auto") and fuse(normalise=["minmax"])
    ),
    "use normalise='rank', or prior='equal'": Row(
        lambda: fuse(prior="rrf", normalise="z"),
        lambda: fuse(prior="rrf", normalise="rank") and fuse(prior="equal", normalise="z"),
    ),
    **promised(
        lambda: fuse(),
        {
            "give runs and judgements of the same queries, with the same ids": lambda: fuse(
                grades={"q9": {"d1": 1, "d2": 0}}
            ),
            "check that the document ids of runs and judgements are the same (the runs have {})": lambda: fuse(
                grades={"q1": {"x": 1}, "q2": {"y": 1}}
            ),
            "so there is nothing to tell apart; give runs with other documents, too, or a larger depth": lambda: fuse(
                {"a": {"q1": {"d1": 1.0}}, "b": {"q1": {"d1": 0.5}}}
            ),
        },
    ),
    "A run is called {}; give every run a name that is text": Row(
        lambda: fuse({1: RUN, "b": OTHER}), lambda: fuse({"1": RUN, "b": OTHER})
    ),
    "is {}; give a finite number for each of the runs {} that are not all 0": Row(
        lambda: fusion.FusionModel(("a", "b"), [0, 0], "minmax"),
        lambda: fusion.FusionModel(("a", "b"), [0, 1], "minmax").names == ("a", "b"),
    ),
    "scores has shape {}; give a row for each document and a column for each of the {} runs: {}": Row(
        lambda: fuse().fuse_arrays([[1.0]]), lambda: fuse().fuse_arrays([[1.0, 2.0], [2.0, 1.0]]).size == 2
    ),
    "scores holds inf; give finite numbers, and NaN where a run does not have the document": Row(
        lambda: fuse().fuse_arrays([[np.inf, 1.0]]), lambda: fuse().fuse_arrays([[np.nan, 1.0], [1.0, 0.0]]).size == 2
    ),
    **promised(
        lambda: fuse(prior={"a": 1, "b": 1}, normalise="minmax"),
        {
            "prior holds a weight that is no number; give one number for each run": lambda: fuse(
                prior={"a": "x", "b": 1}, normalise="minmax"
            ),
            "prior holds no weight other than 0, or one that is not finite; give numbers": lambda: fuse(
                prior={"a": 0, "b": 0}, normalise="minmax"
            ),
        },
    ),
    "kinds is a {}; give a mapping from queries to their kinds, or a file": Row(
        lambda: fuse().fuse({"a": RUN, "b": OTHER}, ["code"]),
        lambda: (
            fuse().fuse({"a": RUN, "b": OTHER}, {"q1": "code"})
            == fuse().fuse({"a": RUN, "b": OTHER}, write("kinds.txt", "q1 code\n"))
        ),
    ),
    "write it as: QUERY KIND": Row(
        lambda: fuse().fuse({"a": RUN, "b": OTHER}, write("kinds.txt", "q1\n")),
        lambda: fuse().fuse({"a": RUN, "b": OTHER}, write("kinds.txt", "q1 code\n")).keys() == RUN.keys(),
    ),
    "leave one of them out": Row(
        lambda: fuse().fuse({"a": RUN, "b": OTHER}, write("kinds.txt", "q1 code\nq1 word\n")),
        lambda: fuse().fuse({"a": RUN, "b": OTHER}, write("kinds.txt", "q1 code\n")).keys() == RUN.keys(),
    ),
    "kinds have weights of their own where held-out queries agree, and cv is None; give cv": Row(
        lambda: by_kind({"q1": "code"}, cv=None), lambda: len(by_kind({"q1": "code"}, cv=2).kinds_) == 1
    ),
    "give kinds of the same queries, with the same ids": Row(
        lambda: by_kind({"x": "code"}, cv=2), lambda: len(by_kind({"q1": "code"}, cv=2).kinds_) == 1
    ),
    "A curve by alpha is of two runs, and this fit has {}; fit two of them": Row(
        lambda: fuse({"a": RUN, "b": OTHER, "c": RUN}).alpha_curve(), lambda: fuse().alpha_curve().value > 0
    ),
    "The fit recorded no proof; fit again with proof=True": Row(
        lambda: fuse().save_audit("audit"), lambda: fuse(proof=True).save_audit("audit") is None
    ),
    "pass a file written by save or by rerank fuse --model": Row(
        lambda: fusion.load(write("f.json", "{}")),
        lambda: (fuse().save("f.json"), fusion.load("f.json"))[1].names == ("a", "b"),
    ),
    "fit with positive=True": Row(
        lambda: (
            model(weights=np.array([1.0, -1.0]))
            and fusion.export(model(weights=np.array([1.0, -1.0])), "elasticsearch")
        ),
        lambda: fusion.export(model(), "elasticsearch"),
    ),
    "name runs with letters, digits and underscores": Row(
        lambda: fusion.export(model(names=("a b", "b")), "vespa"),
        lambda: fusion.export(model(names=("a_b", "b")), "vespa"),
    ),
    "fit with a whole k of at least 1": Row(
        lambda: fusion.export(model(normaliser="rank", k=0.5), "elasticsearch"),
        lambda: fusion.export(model(normaliser="rank", k=60.0), "elasticsearch"),
    ),
}

LOG = scipy.sparse.csr_array((np.random.default_rng(0).random((12, 9)) < 0.4).astype(float))
ONES = np.ones((12, 9))
VALID = scipy.sparse.csr_array((LOG.toarray() == 0) * np.eye(12, 9))
HELD = scipy.sparse.csr_array(np.eye(12, 9))


def latent(log=LOG, **options):
    fit = {name: options.pop(name) for name in ("validation",) if name in options}
    return LatentRoBiRank(2, n_epochs=2, random_state=0, **options).fit(log, **fit)


def scored(scores=ONES, held=HELD, **more):
    """Mean precision of the first three by a table of scores."""
    return evaluate_latent(lambda users: np.array(scores)[users], held, k=3, **more).precision.mean()


LATENT = {
    **promised(
        lambda: scored(seen=HELD * 0) >= 0,
        {
            "seen has shape {} but held_out {}; give two logs of the same users and items": lambda: scored(
                seen=LOG[:5]
            ),
            "and what was seen is not recommended; set them to 0 in one of the two": lambda: scored(seen=HELD),
        },
    ),
    "so there is nothing to measure; give at least one": Row(lambda: scored(held=HELD * 0), lambda: scored() >= 0),
    "is NaN; give a number, or -inf to leave it out": Row(
        lambda: scored(np.where(ONES > 0, np.nan, 0)), lambda: scored(np.where(np.eye(12, 9) > 0, 1.0, -np.inf)) > 0
    ),
    "give a function of users, such as score_items": Row(
        lambda: evaluate_latent(ONES, HELD), lambda: evaluate_latent(latent().score_items, HELD, k=3)
    ),
    "are no table of real numbers; give one": Row(
        lambda: scored(ONES.astype(str)), lambda: scored(ONES.astype(str).astype(float)) >= 0
    ),
    "give a sparse matrix users x items of counts": Row(lambda: latent([1, 2]), lambda: latent()),
    "fractions is {}; give shares >= 0 that sum to 1 at most": Row(
        lambda: split_log(LOG, (0.9, 0.9)), lambda: split_log(LOG, (0.5, 0.5))
    ),
    "give whole numbers, one axis": Row(lambda: latent().recommend([[0]], 2), lambda: latent().recommend([0], 2)),
    "but the model knows 0 to {}; train it with a log that has them": Row(
        lambda: latent().recommend([99], 2), lambda: latent().recommend([11], 2)
    ),
    "validation has shape {}, the log {}; give the same users and items": Row(
        lambda: latent(validation=LOG[:5]), lambda: latent(validation=VALID)
    ),
    **promised(
        lambda: (latent().save("folder"), LatentRoBiRank.load("folder"))[1],
        {
            "give a folder that {}": lambda: LatentRoBiRank.load("nowhere"),
            "holds files but no {}; choose a folder of its own": lambda: (
                os.mkdir("own"),
                write("own/x", "x"),
                latent().save("own"),
            )[2],
        },
    ),
    "checkpoint is {}; give the path of a folder, or None": Row(
        lambda: latent(checkpoint=3), lambda: latent(checkpoint="c") and latent(checkpoint=None)
    ),
}

PICTURES = {
    "There are {} scores; give one to {}": Row(
        lambda: plots.cumulative_gain(Y, {}), lambda: plots.cumulative_gain(Y, {"a": X[:, 0]})
    ),
    "There are {} names, {} leads and {} errors; give one of each": Row(
        lambda: plots.leads(["a"], [1.0, 2.0], [0.1]), lambda: plots.leads(["a"], [1.0], [0.1])
    ),
    "give two orders of the same ones, each row once": Row(
        lambda: plots.two_lists([1, 2], [3, 4], [1], top=2), lambda: plots.two_lists([1, 2], [2, 1], [1], top=2)
    ),
    "give as many of each": Row(
        lambda: plots.before_after([1.0], [1.0, 2.0], ["a"]), lambda: plots.before_after([1.0], [2.0], ["a"])
    ),
    "There are errors and no held-out values, to which they belong; give both": Row(
        lambda: plots.by_option([1], [1.0], errors=[0.1]), lambda: plots.by_option([1], [1.0], [1.0], errors=[0.1])
    ),
    "There are {} values of {} and {} {}; give one of each": Row(
        lambda: plots.by_option([1], [1.0, 2.0]), lambda: plots.by_option([1], [1.0])
    ),
    "There are {} ends and {} values; give one end more than values": Row(
        lambda: plots.by_alpha([0, 1], [1.0, 2.0], (0, 1), runs=("a", "b")),
        lambda: plots.by_alpha([0, 1], [1.0], (0, 1), runs=("a", "b")),
    ),
    "There are {} names and {} values; give one of each for every column": Row(
        lambda: plots.corrections(["a"], [1.0, 2.0]), lambda: plots.corrections(["a"], [1.0])
    ),
    "give one value for each row and name": Row(
        lambda: plots.contributions(["r"], ["a"], [1.0]), lambda: plots.contributions(["r"], ["a"], [[1.0]])
    ),
    "give one of each for every box, not all shares 0": Row(
        lambda: plots.box_bounds([1.0], [1.0, 2.0], 1.0, 2.0),
        lambda: plots.box_bounds([0.5, 0.5], [1.0, 2.0], 1.0, 2.0),
    ),
    "name these too, or leave the weights out": Row(
        lambda: plots.cells(problem(), [1.0, 0.5], features=[0]),
        lambda: plots.cells(problem(), [1.0, 0.5], features=[0, 1], points=20),
    ),
}
MERGED = {
    "RankSVM has no loss='hinge' any more; use 'squared_hinge'": Row(
        lambda: RankSVM(loss="hinge").fit(X, Y),
        lambda: bool(np.isfinite(RankSVM(loss="squared_hinge").fit(X, Y).decision_function(X)).all()),
    ),
    "xi is {}, which is gone; use 'auto'": Row(
        lambda: latent(xi="chebyshev"), lambda: [latent(xi=xi) for xi in ("auto", "exact")]
    ),
    "is 0 or more; correct it": Row(
        lambda: read_csv(write("w.csv", "hit,a,w\n0,1,5\n1,0,-3\n"), label="hit", weight="w"),
        lambda: read_csv(write("w.csv", "hit,a,w\n0,1,5\n1,0,3\n"), label="hit", weight="w").sample_weight.min() == 3,
    ),
    "; where only their order counts (pairs), add a constant to all labels": Row(
        lambda: read_csv(write("u.csv", "hit,a\n-1.5,1\n2,0\n"), label="hit"),
        lambda: read_csv(write("u.csv", "hit,a\n0.5,1\n4,0\n"), label="hit").y.tolist() == [0.5, 4],
    ),
    ("labels are 0/1, -1/1 or grades from 0 upwards", "order counts (pairs), add a constant to all labels"): Row(
        lambda: read_svmlight(write("u.svm", "-1.5 1:1\n2 1:0\n")),
        lambda: read_svmlight(write("u.svm", "0.5 1:1\n4 1:0\n")).y.tolist() == [0.5, 4],
    ),
}

ROWS = MEASURES | EQUAL | PROBLEMS | STAGES | FUSIONS | LATENT | PICTURES | MERGED
