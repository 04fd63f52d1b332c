"""Advice of searches, first stages, labels, fusion and pictures, in cases that take more to come about."""

# ruff: noqa: E501 - messages stand here as they are written

import datetime
import itertools
import os
import sys
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import highspy
import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import scipy.sparse
from sklearn.model_selection import KFold, ShuffleSplit

from formulations import mps
from rerank import RerankerCV, plots
from rerank.certificate import certify, check_claim, leaf_boxes
from rerank.cli import ranking
from rerank.cli.inputs import read_for
from rerank.perturb import perturb_rows, perturb_weights
from rerank.ranks import evaluate, weighted_gains
from rerank.ranks.runs import run_values
from rerank.scorers import RankSVM, RoBiRank, TableLogistic, TopPush
from rerank.search import run as search_run
from rerank.search import sizes
from rerank.solvers import Options, gateway, highs
from rerank.statistics import parse, presentation
from tests.cases.advice import (
    Row,
    X,
    Y,
    command,
    data,
    est,
    fit,
    model_file,
    promised,
    proved,
    shown,
    table_file,
    write,
)
from tests.cases.advice.commands import typed
from tests.cases.advice.fits import wide
from tests.cases.advice.programs import program, small
from tests.cases.advice.rooms import OTHER, RUN, fuse, latent, model

FIRST = (X[:, 0] > 1).astype(int)
WORD = np.where(X[:, 1] > 0, "up", "down")
WORDS = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "word": WORD})
STAGE = TableLogistic().fit(WORDS[["word"]], Y)


def fits_quietly(ranker, table=X, y=Y) -> bool:
    """Whether a first stage is fitted; the test of the row sees whether it reached its tolerance."""
    return bool(np.isfinite(ranker.fit(table, y).coef_).all()) and ranker.n_iter_ >= 1


def chosen(cv):
    return RerankerCV(est(first_stage="logistic"), grid={"radius": [0.5]}, cv=cv).fit(X, Y)


FIRST_STAGES = {
    "Column {} held texts at the fit and holds values of the type {} now; give texts": Row(
        lambda: STAGE.decision_function(pd.DataFrame({"word": [datetime.date(2020, 1, 1)] * 2})),
        lambda: np.unique(STAGE.decision_function(pd.DataFrame({"word": ["up", "down", "up"]}))).size == 2,
    ),
    "X holds NaN or inf, and the first stage was fitted on sparse rows; fill it in": Row(
        lambda: (
            TableLogistic()
            .fit(scipy.sparse.csr_array(X), Y)
            .decision_function(scipy.sparse.csr_array(np.where(X > 2, np.nan, X)))
        ),
        lambda: (
            TableLogistic().fit(scipy.sparse.csr_array(X), Y).decision_function(scipy.sparse.csr_array(X)).size == 40
        ),
    ),
    "X holds inf in row {}, column {} ({}); give a finite number, or leave it empty": Row(
        lambda: TableLogistic().fit(WORDS.assign(a=np.where(X[:, 0] > 1, np.inf, X[:, 0])), Y),
        lambda: (
            TableLogistic().fit(WORDS, Y)
            and TableLogistic().fit(WORDS.assign(a=np.where(X[:, 0] > 1, np.nan, X[:, 0])), Y)
        ),
    ),
    "Raise max_iter or alpha, or standardise the features": Row(
        lambda: RoBiRank(max_iter=3).fit(X * [1, 100], Y),
        lambda: (
            fits_quietly(RoBiRank(), X * [1, 100])
            and fits_quietly(RoBiRank(max_iter=3, alpha=1e6), X * [1, 100])
            and fits_quietly(RoBiRank(max_iter=7), X)
        ),
    ),
    "Raise max_iter, tol or alpha; float32 features may also be too coarse for this tol": Row(
        lambda: RankSVM(max_iter=3).fit(X, Y),
        lambda: (
            fits_quietly(RankSVM())
            and fits_quietly(RankSVM(max_iter=3, tol=0.1))
            and fits_quietly(RankSVM(max_iter=3, alpha=100.0))
        ),
    ),
    "Raise max_iter or tol, raise alpha, or standardise the features": Row(
        lambda: TopPush(max_iter=4).fit(X, FIRST),
        lambda: (
            fits_quietly(TopPush(), X, FIRST)
            and fits_quietly(TopPush(max_iter=4, tol=0.5), X, FIRST)
            and fits_quietly(TopPush(max_iter=4, alpha=1e6), X, FIRST)
        ),
    ),
    "The time was over; raise time_limit": Row(
        lambda: fit(first_stage="ranksvm", time_limit=1e-9),
        lambda: fit(first_stage="ranksvm", time_limit=20.0).result_.value > 0,
    ),
    "holds {} numbers; {}, or leave it out with features=[...]": Row(
        lambda: fit(WORDS, features=["a", "b", "word"]),
        lambda: (
            fit(WORDS, features=["a", "b"]).result_.value == fit(X).result_.value
            and fit(WORDS.assign(word=WORD == "up"), features=["a", "b", "word"]).result_.value >= fit(X).result_.value
        ),
    ),
    "is the same in lists of every length; write {}.": Row(
        lambda: parse("auc in lists of 10"), lambda: parse("auc").name == "auc"
    ),
    "first stage's scores of the last fit are by {} folds of its own; give groups, if rows belong together": Row(
        lambda: chosen(ShuffleSplit(2, random_state=0)),
        lambda: (
            chosen(KFold(2)).result_.folds == 2
            and RerankerCV(est(first_stage="logistic"), grid={"radius": [0.5]}, cv=2)
            .fit(X, Y, groups=np.arange(40) // 4)
            .result_.grouped
        ),
    ),
}

LABELS = {
    "there is nothing to find; mark relevant rows in y": Row(lambda: fit(y=Y * 1e-20), lambda: proved(fit(y=Y))),
    "The {} of row {} is {}; give {}": Row(
        lambda: evaluate("ap", [1, np.nan], [1, 2]), lambda: evaluate("ap", [1, 0], [1, 2]) == 0.5
    ),
    "There are {} labels and {} sample weights; give one per row": Row(
        lambda: weighted_gains(Y, sample_weight=[1.0]),
        lambda: weighted_gains(Y, sample_weight=np.full(40, 2.0)).sum() == 2 * Y.sum(),
    ),
    "The list has {} items and gains of shape {}; give one gain per item": Row(
        lambda: presentation(parse("auc"), 3, [1.0]), lambda: presentation(parse("auc"), 3, [1.0, 0.0, 0.0])[1] > 0
    ),
    "scale the features to [0, 1], or merge rows that differ by rounding only": Row(
        lambda: perturb_weights([1.0, 0.5], np.array([[1e-14, 0], [2e-14, 0], [3e-14, 0]])),
        lambda: (
            perturb_weights([1.0, 0.5], np.array([[0.0, 0], [0.5, 0], [1.0, 0]])).size == 2
            and perturb_weights([1.0, 0.5], np.array([[1e-14, 0], [1.0, 0]])).size == 2
        ),
    ),
    "choose a larger size, or subtract a constant from columns whose values are large against their range": Row(
        lambda: perturb_rows(np.array([[0.0], [0.0], [16.0]]) + 1e15),
        lambda: (
            np.unique(perturb_rows(np.array([[0.0], [0.0], [16.0]]) + 1e15, size=0.3)).size == 3
            and np.unique(perturb_rows(np.array([[0.0], [0.0], [16.0]]))).size == 3
        ),
    ),
}


@contextmanager
def memory(size):
    """A machine with so many bytes of memory."""
    with patch.object(sizes, "memory", lambda: float(size)):
        yield


@contextmanager
def slow():
    """A machine that makes a hundred thousand differences in a second."""
    with patch.object(sizes, "NUMBERS_A_SECOND", 1e5):
        yield


def within(limit, **options):
    """A fit with a proof, which holds all pairs, within limits of memory or speed."""
    with limit:
        return fit(*data(120, 3), stat="auc", first_stage=data(120, 3)[0][:, 1], proof=True, **options)


def by_rows(limit, table=X, **options):
    with limit:
        return fit(table, stat="auc", first_stage=X[:, 1], **options)


class Presolving(highspy.Highs):
    """HiGHS with a presolve that fails."""

    @property
    def broken(self):
        return self.getOptionValue("presolve")[1] != "off"

    def run(self):
        return None if self.broken else super().run()

    def getModelStatus(self):
        return highspy.HighsModelStatus.kSolveError if self.broken else super().getModelStatus()


def optimum(presolve):
    with patch.object(highspy, "Highs", Presolving), patch.object(highs, "UNSAFE_PRESOLVE", ()):
        return highs.solve(program(), Options(time_limit=20.0, presolve=presolve)).objective


def levels(epsilon):
    """A fit of rows on a grid of five steps."""
    rng = np.random.default_rng(43)
    rng.integers(6, 30), rng.integers(2, 5), rng.choice([3, 4, 5, 6, 10])
    rows = rng.integers(0, 6, (18, 3)).astype(float)
    rows[0], rows[1] = 0, 5
    return est(stat="mrr", epsilon=epsilon, time_limit=10.0).fit(rows, (rng.random(18) < 0.4).astype(int))


def many(**options):
    """A fit of more sets of features than a search goes through, on few rows."""
    return fit(*data(60, 60), **{"stat": "auc", "max_features": 7, "time_limit": 1.0, **options})


def read_back(unit="file", **support):
    """A fit of few rows that takes over the solution of its program, and without support the bound of its solver."""
    other = small(solver="none", n_candidates=12)
    other.export_mps("p.mps")
    outcome = gateway.solve_file("p.mps", "highs", solution="p.sol", time_limit=20)
    bound = mps.read("p.mps").constant - outcome.bound if unit == "file" else outcome.bound
    return other.load_solution("p.sol", **(support or {"bound": bound, "by": "HiGHS"}))


def exported():
    """The file of a program."""
    return small(solver="none").export_mps("p.mps")[0]


def started_from(text):
    """The program of a fit, solved from weights alone."""
    small(solver="none", n_candidates=12).export_mps("p.mps")
    Path("w.txt").write_text(text)
    return gateway.solve_file("p.mps", "highs", start="w.txt", time_limit=20)


def in_box(low, high, **support):
    """The weights of a program whose weights keep a box."""
    other = small()
    other.export_mps("p.mps", box=(low, high))
    gateway.solve_file("p.mps", "highs", solution="p.sol", time_limit=20)
    return other.load_solution("p.sol", box=(low, high), **support).result_


def boxes(proof):
    return leaf_boxes(proof.state_.problem, proof.result_.proof).bounds.size


SEARCHES = {
    "GB; lower n_candidates to {} or less, or give fewer features": Row(
        lambda: within(memory(1e5)),
        lambda: proved(within(memory(1e5), n_candidates=20)) and proved(within(memory(1e7))),
    ),
    "The search would hold {} rows of {} features, {} GB; lower n_candidates, or give fewer features": Row(
        lambda: by_rows(memory(1.2e4)),
        lambda: proved(by_rows(memory(1.2e4), n_candidates=10)) and proved(by_rows(memory(1.2e4), X[:, 1:])),
    ),
    "s were left; raise time_limit or lower n_candidates": Row(
        lambda: within(slow(), time_limit=0.05),
        lambda: (
            within(slow(), time_limit=20.0).result_.nodes > 0
            and proved(within(slow(), time_limit=1.0, n_candidates=20))
        ),
    ),
    "pairs differ by just the margin in boxes too small to split; change the margin slightly": Row(
        lambda: levels("1/5"), lambda: proved(levels(0.1998)) and proved(levels(0.2002))
    ),
    "There are too many sets of {} features or more to search, and more time does not change that; set max_features to {}": Row(
        lambda: many(),
        lambda: "max_features to 4" in many().result_.notes[-1] and many(max_features=4).result_.nodes > 0,
    ),
    "it shows its bound by circuits, or without any; draw another proof": Row(
        lambda: boxes(many(proof=True)), lambda: boxes(many(proof=True, max_features=1)) > 0
    ),
    **promised(
        lambda: proved(read_back(prove=20)),
        {
            "lets the search try to prove more, from these weights; more seconds help it": lambda: read_back(prove=0),
            "the bound is not; load_solution(..., prove=60), or rerank import --prove 60, lets the search try to": lambda: (
                read_back()
            ),
        },
    ),
    "these weights are worth {}; give the bound as {} prints it for the program's file, in which they are worth {}": Row(
        lambda: read_back("value"), lambda: read_back().result_.bound_solver == "HiGHS"
    ),
    "needs both the number and the solver; give bound and by, or neither (--bound and --by)": Row(
        lambda: read_back(by="HiGHS"), lambda: read_back().result_.bound_solver == "HiGHS"
    ),
    "no solver gets it; use n_jobs, node_limit and random_state for the search, or choose a solver": Row(
        lambda: small(solver="search", solver_options={"threads": 2}),
        lambda: (
            proved(small(solver="search", n_jobs=2)) and proved(small(solver="highs", solver_options={"threads": 2}))
        ),
    ),
    "start names the column {}; did you mean {}? A column without a weight has 0": Row(
        lambda: small(solver="search", solver_options={"start": {"x7": 1}}),
        lambda: proved(small(solver="search", solver_options={"start": {"x1": 1}})),
    ),
    "it must be a mapping from columns to weights, or a finite weight for each of the {} columns": Row(
        lambda: small(solver="search", solver_options={"start": [1]}),
        lambda: proved(small(solver="search", solver_options={"start": [1, 1]})),
    ),
    "is {}; write NAME=VALUE, such as threads=2": Row(
        lambda: command(
            "fit", table_file(), "--free", "--label", "hit", "--model", "m.json", "--solver-option", "threads"
        ),
        lambda: (
            command(
                "fit", table_file(), "--free", "--label", "hit", "--model", "m.json", "--solver-option", "threads=2"
            ).exit_code
            in (0, 3)
        ),
    ),
    "is an option of this command; write --{}": Row(
        lambda: command("solve", exported(), "--option", "threads=2"),
        lambda: command("solve", exported(), "--threads", "2").exit_code == 0,
    ),
    "No point of {} has {}; give weights within its bounds and rows": Row(
        lambda: started_from("w0 3\nw1 0.5\n"), lambda: started_from("w0 1\nw1 0.5\n").start_accepted is not False
    ),
    "has rows, a box or two sides of its own; leave prove out, and give the solver's bound on its word": Row(
        lambda: in_box([1.0, -0.5], [1.0, 0.5], prove=5),
        lambda: in_box([1.0, -0.5], [1.0, 0.5]).weights[0] == 1.0 and proved(read_back(prove=20)),
    ),
    "and holds no point; try presolve=False or another seed": Row(
        lambda: optimum(True),
        lambda: abs(optimum(False) - highs.solve(program(), Options(time_limit=20.0)).objective) < 1e-6,
    ),
    "A number in {} is not finite; build it from finite data": Row(
        lambda: highs.solve(program(cost=np.full(program().cost.size, np.nan))),
        lambda: highs.solve(program()).objective > 0,
    ),
}
FAR = {"Q1": {"d1": 0.9, "d2": 0.5}, "Q2": {"d3": 0.7, "d4": 0.2}}
SPELLED = {query.lower(): scores for query, scores in FAR.items()}
FAR_RUNS = {f"q{k}": {"a": 1.0, "b": 2.0, "c": 3.0} for k in range(5)}
NEAR_RUNS = {query: {name: -score for name, score in scores.items()} for query, scores in FAR_RUNS.items()}
NEAR = {query: {"a": 1, "b": 0, "c": 0} for query in FAR_RUNS}


def notes(runs, **options):
    return fuse(runs, **options).notes_


FUSIONS = {
    "No {} of the run {} is judged: it has {}, and the judgements have {}; check that their ids are spelled alike": Row(
        lambda: notes({"a": RUN, "b": FAR}), lambda: notes({"a": RUN, "b": SPELLED}) == ()
    ),
    "share no {}: {} beside {}; check that their ids are spelled alike": Row(
        lambda: notes({"a": RUN, "b": FAR}), lambda: notes({"a": RUN, "b": SPELLED}) == ()
    ),
    "the {} of the time_limit of {} s that folds have were over; give more time_limit": Row(
        lambda: notes({"a": RUN, "b": OTHER}, cv=2, time_limit=0), lambda: notes({"a": RUN, "b": OTHER}, cv=2)
    ),
    "The scores are too large to be added up; divide them, or fit with another normaliser": Row(
        lambda: model(normaliser="none").fuse_arrays([[1e308, 1e308], [1, 1]]),
        lambda: (
            model(normaliser="none").fuse_arrays(np.array([[1e308, 1e308], [1, 1]]) / 10).argmax() == 0
            and model(normaliser="rank").fuse_arrays([[1e308, 1e308], [1, 1]]).argmax() == 0
        ),
    ),
    "if its scores are distances (small is near), give -score in place of each score": Row(
        lambda: run_values(FAR_RUNS, NEAR, ["ap"]), lambda: run_values(NEAR_RUNS, NEAR, ["ap"]).means[0] == 1
    ),
}

SQUARE = np.array([[[1, -1], [-1, -1], [-1, 1], [-1, -1]], [[1, 1], [-1, 1], [1, 1], [1, -1]]], float)


def picture(best, bounds=(1.0,) * 4, **options):
    return plots.weight_space(*SQUARE, bounds, best, **options)


PICTURES = {
    "The best weights have shape {}; give {}, one for each column": Row(
        lambda: picture([1, 1, 1]), lambda: picture([1, 1])
    ),
    "the largest of them has to be 1 or -1; divide them by their largest size, or draw every face": Row(
        lambda: picture([0.5, 0.25]), lambda: picture(np.array([0.5, 0.25]) / 0.5) and picture([0.5, 0.25], every=True)
    ),
    "The ends of the boxes have shape {}, the bounds {}; give as many bounds as boxes, and at least one": Row(
        lambda: picture([1, 1], [1.0]), lambda: picture([1, 1], [1.0] * 4)
    ),
    "There are {} names for {} weights; give one of each": Row(
        lambda: picture([1, 1], names=["a"]), lambda: picture([1, 1], names=["a", "b"])
    ),
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
    "log has {} items for n_shards={}; give at least two items for each shard": Row(
        lambda: latent(n_shards=5), lambda: latent(n_shards=4).n_epochs_ > 0
    ),
}


class Large:
    """A data set of pyarrow, as far as that is looked at, whose rows are too many for this machine."""

    __module__ = "pyarrow.dataset"

    def __init__(self, most=20):
        self.most = most

    def to_table(self, most=None):
        if most is None and self.most < 40:
            raise MemoryError
        return pa.table({"a": X[:most, 0], "b": X[:most, 1]})


def data_set(text=None):
    """A data set of a CSV file, which is read when it is used."""
    pa.csv.write_csv(pa.table({"a": X[:, 0], "b": X[:, 1]}), "a.csv")
    found = pa.dataset.dataset("a.csv", format="csv")
    if text is not None:
        write("a.csv", text)
    return found


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


def ranked_on_small_machine(n):
    """The rows of a table, ranked by the command line where memory ends at thirty rows."""

    def checked(model, data, **options):
        if len(Path(data).read_text().splitlines()) > 31:
            raise MemoryError
        return read_for(model, data, **options)

    model_file()
    with patch.object(ranking, "read_for", checked):
        return command("rank", "m.json", table_file("n.csv", n))


def with_workers(n_jobs, losses):
    """A fit by joblib's own workers, which are lost so many times."""
    lost = itertools.count()

    def breaking(self, jobs):
        if next(lost) < losses:
            raise BrokenExecutor
        return [call(*given, **named) for call, given, named in jobs]

    with joblib.parallel_config("loky", n_jobs=2), patch.object(joblib.Parallel, "__call__", breaking):
        return wide(n_jobs=n_jobs, time_limit=0.5)


def by_solver(share=1.0):
    """What a search found, and a claim of more or as much."""
    found = fit(stat="auc")
    certificate = certify(found.state_.problem, found.result_.weights)
    return check_claim(certificate, value=found.result_.value * share, tolerance=1e-9)


def within_tolerance(solver):
    """A fit of rows whose differences miss the margin by less than a solver's tolerance."""
    rng = np.random.default_rng(11)
    rows, y = rng.integers(0, 6, (14, 2)).astype(float), rng.integers(0, 2, 14)
    return est(stat="dcg@5", C=0.01, positive=True, epsilon=0.05 + 1e-9, solver=solver).fit(rows, y)


def claimed():
    """The weights of a solver that claims more than they are worth."""
    other = within_tolerance("none")
    other.export_mps("p.mps")
    gateway.solve_file("p.mps", "highs", solution="p.sol", time_limit=20)
    return other.load_solution("p.sol")


LIMITS = {
    "cannot be read ({}); mend it, or pass the table in memory": Row(
        lambda: fit(data_set("a,b\n1,x,3\n")), lambda: proved(fit(data_set())) and proved(fit(data_set().to_table()))
    ),
    "needs more memory than there is; read the rows and columns that count, with a filter, or a sample": Row(
        lambda: fit(Large()), lambda: proved(fit(Large().to_table(30), Y[:30]))
    ),
    "There is not enough memory for this fit ({}); lower n_candidates or n_jobs, or give fewer rows or features": Row(
        lambda: on_small_machine(),
        lambda: proved(on_small_machine(n_candidates=20)) and proved(on_small_machine(X[:30], Y[:30])),
    ),
    "rerank: There is not enough memory for this; pass a smaller table or fewer candidates": Row(
        lambda: ranked_on_small_machine(40), lambda: ranked_on_small_machine(30).exit_code == 0
    ),
    "their jobs are done again by new ones, with the same result. Ask for fewer workers if memory ended": Row(
        lambda: with_workers(2, 1), lambda: with_workers(1, 1).result_.nodes > 0
    ),
    "killed or out of memory; ask for fewer workers, or for none (n_jobs=1)": Row(
        lambda: with_workers(2, 2), lambda: with_workers(1, 2).result_.nodes > 0
    ),
    "do not use this result, and take solver='search' if a solver reported it": Row(
        lambda: by_solver(1.01), lambda: by_solver() is None
    ),
    "and polishing does not restore the claim; fit with solver='search', which has no tolerance": Row(
        lambda: claimed(), lambda: proved(within_tolerance("search"))
    ),
}

ROWS = FIRST_STAGES | LABELS | SEARCHES | FUSIONS | PICTURES | MISSING | LIMITS
