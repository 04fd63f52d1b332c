"""Advice on quotas: texts, counts that clash, kinds of rows, programs, files."""

# ruff: noqa: E501 - messages stand here as they are written

from dataclasses import replace

import numpy as np
import pandas as pd

from formulations import mixed, resolved_rank
from formulations.data import Unit
from rerank import Reranker, verify
from rerank.certificate import certify
from rerank.io import read_table
from rerank.problem import Quota, problem_of
from rerank.reranker.files import model_file
from rerank.statistics import parse
from tests.cases.advice import Row, command, succeeds

RNG = np.random.default_rng(5)
X = RNG.normal(size=(30, 2))
Y = (X[:, 0] + RNG.normal(size=30) > 0.5).astype(int)
KIND = np.where(X[:, 1] > 0, "A", "B")  # 14 of A


def kept(quota="at least 4 of A among the first 10", people=KIND, **options):
    """A fit under quotas."""
    given = {"stat": "precision@5", "first_stage": None, "solver": "search", "time_limit": 10.0} | options
    return Reranker(quota=quota, **given).fit(X, Y, people=people)


def counts(quota="at least 4 of A among the first 10", **options) -> bool:
    found = kept(quota, **options)
    return any(note.startswith("Quota '") for note in found.result_.notes)


def certified(weights):
    problem = problem_of([[0.0], [1.0], [2.0]], np.array([0.0, 0.0, 1.0]), parse("auc"), epsilon=0.1)
    return certify(replace(problem, quotas=(Quota("A", 1, 1).of([2]),)), weights)


def program(module):
    unit = Unit(np.array([1, 3]), np.array([0, 2]), np.array([0.0, 0.0, 1.0, 2.0]))
    return module.build(X[:4], units=[unit], epsilon=1e-3, quotas=(Quota("A", 2, 1).of([0, 1]),))


def table(path="quotas.csv"):
    pd.DataFrame(X, columns=["x0", "x1"]).assign(kind=KIND, label=Y).to_csv(path, index=False)
    return path


def checked(**named):
    kept().save("quotas.json")
    doc = model_file.read("quotas.json")
    return verify(doc, read_table(table(), label="label", features=["x0", "x1"], **named)).holds


def fitted(*more, run=command):
    return run("fit", table(), "--free", "--model", "quotas.json", "--label", "label", "--stat", "precision@5", *more)


QUOTA = "at least 4 of A among the first 10"
ROWS = {
    "cannot be read; write one such as 'at least 20 of A among the first 200' or 'at most 5 of B among the first "
    "100'.": Row(lambda: kept("4 of A"), lambda: counts("at least 4 of A among the first 20")),
    "quota is {}; give texts such as 'at least 20 of A among the first 200'.": Row(
        lambda: kept(7), lambda: counts(["at least 4 of A among the first 20"])
    ),
    "is stated as several lists of two classes; use stat='auc' with a quota.": Row(
        lambda: kept(stat="pairs"), lambda: kept(stat="auc").result_.value > 0
    ),
    "them among {} places at most; ask for {} or fewer.": Row(
        lambda: kept("at least 20 of A among the first 25"),
        lambda: counts(f"at least {(KIND == 'A').sum()} of A among the first 29"),
    ),
    "and the longest list that is ordered has {}; ask for the first {} or fewer.": Row(
        lambda: kept("at least 4 of A among the first 40"), lambda: counts("at least 4 of A among the first 30")
    ),
    "rows of a list are reranked; raise n_candidates to {} or more, or ask for the first {} or fewer.": Row(
        lambda: kept(first_stage="logistic", n_candidates=6), lambda: counts(first_stage="logistic", n_candidates=10)
    ),
    "clash; lower the first, or raise the second.": Row(
        lambda: kept(["at least 5 of A among the first 10", "at most 3 of A among the first 12"]),
        lambda: counts(["at least 5 of A among the first 10", "at most 8 of A among the first 12"]),
    ),
    "ask for more than {} rows; lower one of them.": Row(
        lambda: kept(["at least 7 of A among the first 10", "at least 7 of B among the first 10"]),
        lambda: counts(["at least 4 of A among the first 10", "at least 4 of B among the first 10"]),
    ),
    " rows for {} places; raise one of them.": Row(
        lambda: kept(["at most 3 of A among the first 12", "at most 3 of B among the first 12"]),
        lambda: counts(["at most 8 of A among the first 12", "at most 8 of B among the first 12"]),
    ),
    "and no kinds are given; pass people= (--people).": Row(lambda: kept(people=None), counts),
    "which is proved, with tied rows counted against a quota; ask for less, or give more columns or a larger radius.": Row(
        lambda: kept("at least 10 of A among the first 10", first_stage="logistic", radius=0.001, cross_fit=False),
        lambda: counts("at least 10 of A among the first 10", first_stage="logistic", radius=50.0, cross_fit=False),
    ),
    "which does not prove that there are none; raise time_limit, use solver='search', or ask for less.": Row(
        lambda: kept(time_limit=0), counts
    ),
    "use formulation='resolved_rank', or leave formulation and presolve out.": Row(
        lambda: kept(solver="highs", formulation="mixed"), lambda: counts(solver="highs")
    ),
    "tied rows counted against the quota, and '{}' is not met; take other weights, or another quota.": Row(
        lambda: certified([-1.0]), lambda: certified([1.0]).value == 1
    ),
    "and quotas count those, too; use the resolved_rank program, or a search without a program.": Row(
        lambda: program(mixed), lambda: len(list(program(resolved_rank).p)) > 0
    ),
    "keeps quotas on kinds of rows; name the column that holds these with --people.": Row(
        checked, lambda: checked(people="kind")
    ),
    "it says what a --quota counts; add one, or leave it out": Row(
        lambda: fitted("--people", "kind"), lambda: fitted("--people", "kind", "--quota", QUOTA, run=succeeds)
    ),
}
