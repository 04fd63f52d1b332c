"""Advice of searches, first stages, labels, fusion and pictures, in cases that take more to come about."""

# ruff: noqa: E501 - messages stand here as they are written

import os
import sys
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pandas as pd

from formulations import mps
from rerank import plots
from rerank.certificate import certify, check_claim, leaf_boxes
from rerank.perturb import perturb_weights
from rerank.scorecard import Card
from rerank.scorers import TableLogistic
from rerank.search import run as search_run
from rerank.search import sizes
from rerank.solvers import gateway, highs
from rerank.statistics import parse
from tests.cases.advice import Row, X, Y, command, data, est, fit, proved, shown
from tests.cases.advice.commands import typed
from tests.cases.advice.programs import program
from tests.cases.advice.rooms import latent, model

WORD = np.where(X[:, 1] > 0, "up", "down")
WORDS = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "word": WORD})


FIRST_STAGES = {
    "X holds inf in row {}, column {} ({}); give a finite number, or leave it empty": Row(
        lambda: TableLogistic().fit(WORDS.assign(a=np.where(X[:, 0] > 1, np.inf, X[:, 0])), Y),
        lambda: (
            TableLogistic().fit(WORDS, Y)
            and TableLogistic().fit(WORDS.assign(a=np.where(X[:, 0] > 1, np.nan, X[:, 0])), Y)
        ),
    ),
    "The time was over; raise time_limit": Row(
        lambda: fit(first_stage="ranksvm", time_limit=1e-9),
        lambda: fit(first_stage="ranksvm", time_limit=20.0).result_.value > 0,
    ),
    "is the same in lists of every length; write {}.": Row(
        lambda: parse("auc in lists of 10"), lambda: parse("auc").name == "auc"
    ),
}

LABELS = {
    "there is nothing to find; mark relevant rows in y": Row(lambda: fit(y=Y * 1e-20), lambda: proved(fit(y=Y))),
    "scale the features to [0, 1], or merge rows that differ by rounding only": Row(
        lambda: perturb_weights([1.0, 0.5], np.array([[1e-14, 0], [2e-14, 0], [3e-14, 0]])),
        lambda: (
            perturb_weights([1.0, 0.5], np.array([[0.0, 0], [0.5, 0], [1.0, 0]])).size == 2
            and perturb_weights([1.0, 0.5], np.array([[1e-14, 0], [1.0, 0]])).size == 2
        ),
    ),
}


@contextmanager
def memory(size):
    """A machine with so many bytes of memory."""
    with patch.object(sizes, "memory", lambda: float(size)):
        yield


def by_rows(limit, table=X, **options):
    with limit:
        return fit(table, stat="auc", first_stage=X[:, 1], **options)


def many(**options):
    """A fit of more sets of features than a search goes through, on few rows."""
    return fit(*data(60, 60), **{"stat": "auc", "max_features": 7, "time_limit": 1.0, **options})


def boxes(proof):
    return leaf_boxes(proof.state_.problem, proof.result_.proof).bounds.size


SEARCHES = {
    "The search would hold {} rows of {} features, {} GB; lower n_candidates, or give fewer features": Row(
        lambda: by_rows(memory(1.2e4)),
        lambda: proved(by_rows(memory(1.2e4), n_candidates=10)) and proved(by_rows(memory(1.2e4), X[:, 1:])),
    ),
    "There are too many sets of {} features or more to search, and more time does not change that; set max_features to {}": Row(
        lambda: many(),
        lambda: "max_features to 4" in many().result_.notes[-1] and many(max_features=4).result_.nodes > 0,
    ),
    "it shows its bound by circuits, or without any; draw another proof": Row(
        lambda: boxes(many(proof=True)), lambda: boxes(many(proof=True, max_features=1)) > 0
    ),
    "A number in {} is not finite; build it from finite data": Row(
        lambda: highs.solve(program(cost=np.full(program().cost.size, np.nan))),
        lambda: highs.solve(program()).objective > 0,
    ),
}


FUSIONS = {
    "The scores are too large to be added up; divide them, or fit with another normaliser": Row(
        lambda: model(normaliser="none").fuse_arrays([[1e308, 1e308], [1, 1]]),
        lambda: (
            model(normaliser="none").fuse_arrays(np.array([[1e308, 1e308], [1, 1]]) / 10).argmax() == 0
            and model(normaliser="rank").fuse_arrays([[1e308, 1e308], [1, 1]]).argmax() == 0
        ),
    )
}

SQUARE = np.array([[[1, -1], [-1, -1], [-1, 1], [-1, -1]], [[1, 1], [-1, 1], [1, 1], [1, -1]]], float)


def picture(best, bounds=(1.0,) * 4, **options):
    return plots.weight_space(*SQUARE, bounds, best, **options)


PICTURES = {
    "the largest of them has to be 1 or -1; divide them by their largest size, or draw every face": Row(
        lambda: picture([0.5, 0.25]), lambda: picture(np.array([0.5, 0.25]) / 0.5) and picture([0.5, 0.25], every=True)
    )
}


@contextmanager
def without(*packages, path=None):
    """A machine that lacks packages, and programs on its path."""
    hidden = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in packages}
    sys.modules.update(dict.fromkeys([*packages, *hidden]))
    engine = sys.modules.pop("rerank.latent.engines.ray_engine", None)  # an earlier test may have loaded it with ray
    try:
        with patch.dict(os.environ, {} if path is None else {"PATH": path}):
            yield
    finally:
        for name in packages:
            del sys.modules[name]
        sys.modules.update(hidden)
        if engine is not None:
            sys.modules[engine.__name__] = engine


def on(machine, call):
    """What a call returns on another machine."""
    with machine:
        return call()


def solve_file(solver):
    """A program file solved by a solver of this machine."""
    mps.write(program(), "p.mps")
    return gateway.solve_file("p.mps", solver, solution="p.sol", time_limit=20)


def agrees(solver) -> bool:
    return abs(solve_file(solver).objective - solve_file("highs").objective) < 1e-6


def drawn():
    return plots.cumulative_gain(Y, {"a": X[:, 0]})


def by_command():
    return typed("fit t.csv --label hit --solver search --plot p.png --model m.json")


def doctor():
    return shown(command("doctor"))


MISSING = {
    "--plot needs matplotlib, which is not installed; pip install 'exact-rerank[plots]'": Row(
        lambda: on(without("matplotlib"), by_command), lambda: by_command().exit_code in (0, 3)
    ),
    "pip install 'exact-rerank[plots]'": Row(lambda: on(without("matplotlib"), drawn), lambda: drawn() is not None),
    "pip install 'exact-rerank[excel]'": Row(
        lambda: on(without("openpyxl"), lambda: Card.of({"a >= 0": 2}).to_excel("c.xlsx")),
        lambda: Card.of({"a >= 0": 2}).to_excel("c.xlsx") is None,
    ),
    "lambdarank is of LightGBM, which is not installed; install it, or take 'trees'.": Row(
        lambda: on(without("lightgbm"), lambda: fit(first_stage="lambdarank")),
        lambda: fit(first_stage="trees") is not None,
    ),
    "HiGHS is not installed; run: pip install highspy": Row(
        lambda: on(without("highspy"), lambda: solve_file("highs")), lambda: solve_file("highs").objective > 0
    ),
    **{
        says: Row(
            lambda name=name: on(without("pulp", "pyscipopt", path=""), lambda: solve_file(name)),
            lambda name=name: agrees(name),
        )
        for name, says in (
            ("cbc", "apt-get install coinor-cbc (Debian, Ubuntu), or brew install cbc, or see github.com/coin-or/Cbc"),
            ("glpk", "apt-get install glpk-utils (Debian, Ubuntu), or brew install glpk"),
            ("scip", "pip install pyscipopt"),
        )
    },
    **{
        f"pip install {name}": Row(
            lambda name=name: on(without(name), doctor), lambda found=found: f"{found} was not found" not in doctor()
        )
        for name, found in (("highspy", "highs"), ("pulp", "pulp"))
    },
    "which needs the package ray; install exact-rerank[ray] or use engine='local'": Row(
        lambda: on(without("ray"), lambda: latent(engine="ray")), lambda: latent(engine="local").n_epochs_ > 0
    ),
}


@contextmanager
def small_machine(most=30):
    """A machine whose memory ends at a search of more rows than these."""

    def checked(problem, entries, workers=1):
        if problem.X.shape[0] > most:
            raise MemoryError("1 TiB")

    with patch.object(search_run, "check_rows", checked), patch.object(search_run, "rows_alone", lambda *_: True):
        yield


def on_small_machine(table=X, y=Y, **options):
    with small_machine():
        return fit(table, y, stat="auc", **{"first_stage": table[:, 1], **options})


def by_solver(share=1.0):
    """What a search found, and a claim of more or as much."""
    found = fit(stat="auc")
    certificate = certify(found.state_.problem, found.result_.weights)
    return check_claim(certificate, value=found.result_.value * share, tolerance=1e-9)


def within_tolerance(solver):
    """A fit of rows whose differences miss the margin by less than a solver's tolerance."""
    rng = np.random.default_rng(11)
    rows, y = rng.integers(0, 6, (14, 2)).astype(float), rng.integers(0, 2, 14)
    return est(stat="dcg@5", C=0.01, positive=True, margin=0.05 + 1e-9, solver=solver).fit(rows, y)


def claimed():
    """The weights of a solver that claims more than they are worth."""
    other = within_tolerance("none")
    other.export_mps("p.mps")
    gateway.solve_file("p.mps", "highs", solution="p.sol", time_limit=20)
    return other.load_solution("p.sol")


LIMITS = {
    "There is not enough memory for this fit ({}); lower n_candidates or n_jobs, or give fewer rows or features": Row(
        lambda: on_small_machine(),
        lambda: proved(on_small_machine(n_candidates=20)) and proved(on_small_machine(X[:30], Y[:30])),
    ),
    "do not use this result, and take solver='search' if a solver reported it": Row(
        lambda: by_solver(1.01), lambda: by_solver() is None
    ),
    "and polishing does not restore the claim; fit with solver='search', which has no tolerance": Row(
        lambda: claimed(), lambda: proved(within_tolerance("search"))
    ),
}

ROWS = FIRST_STAGES | LABELS | SEARCHES | FUSIONS | PICTURES | MISSING | LIMITS
