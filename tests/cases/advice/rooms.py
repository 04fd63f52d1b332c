"""Advice on measures, equal rows, first stages, fusion, latent models, pictures and certificates."""

import numpy as np
import scipy.sparse

from rerank import fusion, plots
from rerank.certificate import certify
from rerank.latent import LatentRoBiRank
from rerank.problem import problem_of
from rerank.ranks import evaluate
from rerank.ranks.runs import run_values
from rerank.scorers import RankSVM, TableLogistic
from rerank.statistics import parse
from tests.cases.advice import Row, X, Y, promised

PURE = np.repeat([0, 1], 20)
RUN = {"q1": {"d1": 0.9, "d2": 0.5}, "q2": {"d3": 0.7, "d4": 0.2}}
OTHER = {"q1": {"d2": 0.9, "d1": 0.5}, "q2": {"d3": 0.7, "d5": 0.2}}
GRADES = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 1, "d4": 0}}


def fuse(runs=None, grades=None, **options):
    runs = {"a": RUN, "b": OTHER} if runs is None else runs
    return fusion.ScoreFusion(**{"cv": None, **options}).fit(runs, GRADES if grades is None else grades)


def model(**fields):
    """A model of two runs, of weights 2 and 1."""
    given = {"names": ("a", "b"), "weights": np.array([2.0, 1.0]), "normaliser": "minmax", "missing": "zero"}
    return fusion.FusionModel(**{**given, **fields})


MEASURES = {
    "the mean is not defined; add such a list or set empty=0": Row(
        lambda: evaluate("auc", PURE, X[:, 0], PURE),
        lambda: evaluate("auc", PURE, X[:, 0], PURE, empty=0) == 0 and evaluate("auc", Y, X[:, 0], PURE) > 0,
    ),
    "measures is empty; name at least one, such as 'ndcg@10'": Row(
        lambda: run_values(RUN, GRADES, []), lambda: run_values(RUN, GRADES, ["ndcg@10"]).means[0] == 1
    ),
    **promised(
        lambda: run_values(RUN, GRADES, ["ap"]).means[0] == 1,
        {
            "is not read; write rel=2 or dcg='exp-log2', or leave it out": lambda: run_values(
                RUN, GRADES, ["AP(judged_only=True)"]
            )
        },
    ),
}


def problem(table=X, gains=Y, **options):
    return problem_of(table, np.asarray(gains, float), parse("auc"), epsilon=0.01, **options)


PROBLEMS = {
    "there is nothing to rank; give at least one relevant item": Row(
        lambda: problem(gains=np.zeros(40)), lambda: problem().n_features == 2
    ),
    "or 0 for all, is allowed; divide the weights by it": Row(
        lambda: certify(problem(), [0.5, 0.25]), lambda: certify(problem(), [1.0, 0.5]).value > 0
    ),
}


STAGES = {
    "and sums of squares would overflow; divide its column by a constant": Row(
        lambda: RankSVM().fit(X * 1e200, Y), lambda: RankSVM().fit(X * 1e200 / 1e200, Y).coef_.any()
    ),
    "multiclass; mark the rows to find by 1 and the others by 0": Row(
        lambda: TableLogistic().fit(X, [k % 3 for k in range(40)]),
        lambda: TableLogistic().fit(X, [k % 3 == 0 for k in range(40)]),
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
    "scores has shape {}; give a row for each document and a column for each of the {} runs: {}": Row(
        lambda: fuse().fuse_arrays([[1.0]]), lambda: fuse().fuse_arrays([[1.0, 2.0], [2.0, 1.0]]).size == 2
    ),
}

LOG = scipy.sparse.csr_array((np.random.default_rng(0).random((12, 9)) < 0.4).astype(float))


def latent(log=LOG, **options):
    fit = {name: options.pop(name) for name in ("validation",) if name in options}
    return LatentRoBiRank(2, n_epochs=2, random_state=0, **options).fit(log, **fit)


PICTURES = {
    "name these too, or leave the weights out": Row(
        lambda: plots.cells(problem(), [1.0, 0.5], features=[0]),
        lambda: plots.cells(problem(), [1.0, 0.5], features=[0, 1], points=20),
    )
}

ROWS = MEASURES | PROBLEMS | STAGES | FUSIONS | PICTURES
