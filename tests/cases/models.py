"""Fitted models of every kind with their tables, and what a verification makes of their mutants.

``python -m tests.cases.models`` tries every mutant of every model.
"""

import math
import warnings
from collections import Counter
from functools import cache

import numpy as np

from rerank import Reranker, RerankerCV, verify
from rerank.errors import InputError
from rerank.io import Table
from rerank.reranker.files import model_file
from rerank.reranker.files.document import document, state_of
from rerank.reranker.files.verify import RECORDS
from rerank.scorers import Squares
from tests.cases.mutants import mutants
from tests.reranker.test_reranker import lists, table

# Equal sums of the same doubles may differ by a bit on another machine, so a bit is no contradiction here.
ROUNDED = {"result.statistic", "result.first_stage_statistic", "result.bound", "settings.cuts", "settings.squares"}


def noisy(seed=0, n=26, d=3):
    X, y = table(seed, n=n, d=d)
    y[::4] = 1 - y[::4]
    return X, y


WORD = {"formulation": "mixed", "stat": "mrr", "n_candidates": 10, "margin": 0.01}
OPTIONS = {
    "shortlist": {"n_candidates": 12, "proof": True},
    "kept": {"C": 9.0, "proof": True},
    "all rows": {"first_stage": None},
    "other lists": {"list_length": 50, "n_candidates": 14},
    "signs": {"first_stage": None, "positive": [1, 0, -1], "max_features": 2, "margin": 0.02, "proof": True},
    "price": {"C": 0.05, "n_candidates": 15, "max_features": 3},
    "custom": {"stat": np.arange(26.0) ** 2, "first_stage": None},
    "unsolved": {"solver": "none", "n_candidates": 12},
    "highs": {"solver": "highs", "formulation": "mixed", "n_candidates": 14, "C": 0.05},
    "solver's word": {"solver": "highs", "presolve": False, **WORD},
    "open": {"solver": "none", "first_stage": None, "stat": "auc"},
    "ideal": {"n_candidates": 10},
    "nothing": {"stat": "precision@10", "n_candidates": 5},
    "nothing found": {"n_candidates": 2},
    "labels": {"n_candidates": 12},
    "positive": {"positive": True, "n_candidates": 12},
    "lists": {"stat": "ndcg@4", "first_stage": None},
    "lists and a head": {"stat": "ndcg@3", "n_candidates": 5, "proof": True},
    "graded": {"n_candidates": 12},
    "words": {"n_candidates": 12, "pos_label": "dead"},
    "folds": {"n_candidates": 12},
    "guarded": {"n_candidates": 12},
    "squares and a head": {"first_stage": "logistic+squares+head40", "n_candidates": 12},
    "squares of columns": {"features": Squares(), "n_candidates": 12},
    "texts and gaps": {"features": [0, 1, 2], "n_candidates": 12},
}
CASES = list(OPTIONS)


@cache
def fitted(case):
    """A fitted reranker with the table it was fitted on."""
    X, y = noisy()
    qid = None
    if case == "ideal":
        y = (X[:, 0] > 0.3).astype(float)
    elif case == "nothing found":
        y = np.zeros(y.size)
        y[np.argsort(X[:, 0])[3]] = 1.0
    elif case.startswith("lists"):
        X, y, qid = lists(3)
    elif case == "labels":
        y = 2 * y - 1
    elif case == "texts and gaps":
        words = np.where(np.arange(y.size) % 2 == 0, "one", "other")
        X = np.column_stack([X.astype(object), words, np.where(y > X[:, 0], np.nan, X[:, 1])])
    elif case == "graded":
        y = y * (1 + (X[:, 1] > 0))
    elif case == "words":
        y = np.where(y > 0, "dead", "alive")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*the first stage is kept")
        est = Reranker(**{"stat": "dcg@5", "solver": "search", "time_limit": 20, **OPTIONS[case]})
        if case in ("folds", "guarded"):
            safeguard = math.inf if case == "guarded" else -math.inf
            grid = {"radius": [0.1, 1.0]}
            est = RerankerCV(est, grid=grid, cv=2, n_repeats=1, safeguard=safeguard).fit(X, y).best_estimator_
        else:
            est.fit(X, y, qid)
    labels = est.state_.labels if case == "words" else None
    grades = labels.applied(y) if labels is not None else y
    return est, Table(X, grades, qid, None, est.state_.columns.inputs, labels=labels)


PROVED = ["shortlist", "kept", "signs", "lists and a head"]


def outcome(body, given, proof=None):
    """What becomes of a file: refused, contradicted, or accepted with what was not looked at."""
    try:
        report = verify(model_file.from_dict(body), given, proof, where="m.json")
    except InputError as error:
        assert str(error).endswith(".") or "(" in str(error)
        return "refused", ()
    listed = {one.name for one in report.not_looked_at}
    assert report.complete == (report.holds and not any(one.open for one in report.not_looked_at))
    return ("accepted" if report.holds else "contradicted"), listed


def surviving(case, proved, step=1):
    """Mutants that pass without their field being listed, and how all of them ended."""
    est, given = fitted(case)
    doc, proof = document(est.state_), est.result_.proof if proved else None
    assert (proof is not None) == proved and outcome(model_file.to_dict(doc), given, proof)[0] == "accepted"
    count, found = Counter(), []
    for mutant in mutants(doc, CASES.index(case) % step, step):
        how, listed = outcome(mutant.body, given, proof)
        count[how] += 1
        if how == "accepted" and mutant.field not in listed:
            # A record that is the last of its kind may go, and an entry that says what is usual.
            gone = mutant.field in RECORDS and "removed" in mutant.change
            if not gone and not same_meaning(doc, mutant) and not (mutant.field in ROUNDED and one_bit(doc, mutant)):
                found.append((mutant.field, mutant.change))
    return found, count


def same_meaning(doc, mutant):
    """Whether a mutant that lacks an entry is saved again as the file it was made from."""
    again = document(state_of(model_file.from_dict(mutant.body)))
    return "removed" in mutant.change and model_file.to_dict(again) == model_file.to_dict(doc)


def one_bit(doc, mutant):
    """Whether all numbers of the changed entry are what they were, to rounding."""
    part, _, name = mutant.field.partition(".")
    old, new = (
        {key: value for key, value in one[part].items() if key.partition(".")[0] == name}
        for one in (model_file.to_dict(doc), mutant.body)
    )
    same = {key for key in old if new.get(key) == old[key]}
    if old.keys() != new.keys() or any(not isinstance(new[key], dict) for key in new.keys() - same):
        return False
    pairs = [(float.fromhex(old[key]["hex"]), float.fromhex(new[key]["hex"])) for key in old.keys() - same]
    return all(abs(left - right) <= 1e-12 * max(1.0, abs(left)) for left, right in pairs)


if __name__ == "__main__":
    for name, with_proof in [*((case, False) for case in CASES), *((case, True) for case in PROVED)]:
        left, counted = surviving(name, with_proof)
        print(
            f"{name}{', proof given' * with_proof}: {sum(counted.values())} mutants, {dict(counted)}, unlisted {left}"
        )
