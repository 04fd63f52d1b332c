"""Models of a fit that a modeller reads and changes: names of the table, units of weights and objective, copies."""

import doctest
import json
import pickle
import re
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import rerank
from formulations import mps
from formulations.compile import compile_model
from rerank import Reranker
from rerank.solvers import gateway, highs
from tests.cli.commands import OPEN, answer, run
from tests.reranker.test_reranker import table

FREE = {"first_stage": None, "solver": "search", "time_limit": 10}


def frame(seed, n=14, d=3):
    """A data frame with labels that are no numbers, a constant column in the middle, and ranges that differ."""
    X, y = table(seed, n=n, d=d)
    columns = {"age": 40 + 9 * X[:, 0], "flat": np.full(n, 3.0), "income": 1e4 * X[:, 1], "blood sugar": X[:, 2]}
    return pd.DataFrame(columns, index=[f"person {k}" for k in range(n)]), y


def test_rows_and_columns_have_the_names_of_the_table_or_their_numbers_there():
    X, y = frame(0)
    weight = np.where(np.arange(len(y)) == 2, 0.0, 1.0)
    for given, columns, rows in (
        (X, ("age", "income", "blood sugar"), X.index),
        (X.to_numpy(), ("x0", "x2", "x3"), range(len(y))),
    ):
        info = Reranker("dcg@3", **FREE).fit(given, y, sample_weight=weight).build_model().rerank_info
        assert info.columns == dict(enumerate(columns))
        assert info.rows == dict(enumerate(row for k, row in enumerate(rows) if k != 2))


def test_places_of_a_shortlist_are_rows_of_the_table():
    """The scaled column of each place, taken from the rows of the pair inequalities, is that of the table's row."""
    X, y = frame(1, n=30)
    est = Reranker("auc", first_stage="logistic", n_candidates=12, formulation="mixed", solver="search").fit(X, y)
    model = est.build_model()
    info, head = model.rerank_info, X.loc[list(model.rerank_info.rows.values())]
    assert len(head) == est.result_.shortlist.n_head < 30
    assert set(head.index) == set(X.index[est.first_stage_scores(X) >= est.threshold_])
    for w, value in zip(model.w.values(), (1.0, 0.0, 0.0)):
        w.set_value(value)
    spread = np.ptp(head["age"])
    for (i, k), row in model.above_by_margin.items():
        model.z[i, k].set_value(0.0)
        step = (X.age[info.rows[i]] - X.age[info.rows[k]]) / spread
        # The row reads z - w.(x_i - x_k) / M <= (M - epsilon) / M.
        assert pyo.value(row.body) == pytest.approx(-step * (1 - row.upper) / est.result_.epsilon, abs=1e-9)


def test_weights_stand_in_the_units_of_the_table():
    X, y = frame(2)
    est = Reranker("auc", **FREE).fit(X, y)
    model = est.build_model()
    for w, value in zip(model.w.values(), est.result_.weights):
        w.set_value(value)
    names = list(est.feature_names_in_)
    assert {name: pyo.value(model.weight[name]) for name in model.weight} == pytest.approx(
        {name: est.coef_[names.index(name)] for name in ("age", "income", "blood sugar")}
    )
    assert "range" in model.weight.doc


def test_weights_of_corrections_stand_in_units_of_the_score():
    X, y = frame(3, n=40)
    est = Reranker("auc", first_stage=LogisticRegression(), radius=0.3, solver="search", time_limit=5).fit(X, y)
    model = est.build_model()
    assert model.rerank_info.columns[0] == "first stage"
    for w, value in zip(model.w.values(), est.result_.weights):
        w.set_value(value)
    names = list(est.feature_names_in_)
    total = est.first_stage_.coef_.ravel() + [pyo.value(model.weight[n]) if n in model.weight else 0 for n in names]
    assert pyo.value(model.weight["first stage"]) == 1 and "score" in model.weight.doc
    assert total == pytest.approx(est.coef_)


PROGRAMS = [
    ("auc", "auc"),
    ("auc", "pairwise"),
    ("auc", "mixed"),
    ("dcg@3", "subrank"),
    ("mrr", "resolved_rank"),
    ("dcg", "mixed"),
    ("pos@top", "pos_top"),
]


@pytest.mark.filterwarnings("ignore:ResolvedRank forbids")
@pytest.mark.parametrize(("stat", "formulation"), PROGRAMS)
@pytest.mark.parametrize("qid", [None, "two lists"])
def test_the_objective_is_the_statistic(stat, formulation, qid):
    """Weights fixed by hand: what the model says they are worth is the exact value of the order, less the penalty."""
    est = tailed(stat, formulation, C=0.01, lists=None if qid is None else np.arange(24) % 2)
    w = est.result_.weights
    for model in (est.build_model(), est.build_model(cuts=False, linking="paper")):
        for j, value in enumerate(w):
            model.w[j].fix(value)
        outcome = highs.solve(compile_model(model))
        filled(model, outcome.x)
        assert outcome.objective == pytest.approx(est.result_.value, abs=1e-7)
        assert pyo.value(model.statistic) == pytest.approx(est.result_.value, abs=1e-7)
    statistic = est.result_.value + 0.01 * np.count_nonzero(w)
    assert statistic == pytest.approx(float(est.result_.certificate.statistic), abs=1e-9)


def tailed(stat, formulation, C=0.0, lists=None, margin=1e-4):
    """A fit on the heads of lists whose tails earn something, too, and whose labels no weights separate."""
    rng = np.random.default_rng(4)
    X, y = rng.random((24, 2)), rng.permutation(np.arange(24) % 3 == 0)
    options = {"formulation": formulation, "C": C, "margin": margin, "solver": "search"}
    est = Reranker(stat, first_stage=FirstColumn(), n_candidates=6, **options).fit(X, y, qid=lists)
    assert est.result_.status == "optimal" and est.result_.value > 0
    return est


class FirstColumn(BaseEstimator):
    """A first stage that is bad on purpose."""

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def decision_function(self, X):
        return -np.asarray(X)[:, 0]


def filled(model, x):
    """The columns of a point as values of the variables."""
    columns = [data for block in model.component_objects(pyo.Var) for data in block.values()]
    for data, value in zip(columns, x, strict=True):
        data.set_value(value, skip_validation=True)


@pytest.mark.parametrize(
    ("interface", "stat", "formulation"),
    [(one, *PROGRAMS[-(k % 2)]) for k, one in enumerate(("appsi_highs", "highs", "cbc", "glpk", "scip_direct"))],
)
def test_every_interface_of_pyomo_leaves_the_statistic_in_the_model(interface, stat, formulation):
    solver = pyo.SolverFactory(interface)
    if not solver.available(exception_flag=False):
        pytest.skip(f"{interface} is not installed")
    est = tailed(stat, formulation, margin=0.01)
    model = est.build_model()
    assert compile_model(model).constant != 0 or stat == "pos@top"
    solver.solve(model)
    assert pyo.value(model.statistic) == pytest.approx(est.result_.value, abs=1e-6)


@pytest.mark.parametrize("stat", ["auc", "dcg@3"])
def test_a_file_and_its_solution_are_in_the_unit_of_the_statistic(stat, tmp_path):
    est = Reranker(stat, margin=0.01, **FREE).fit(*table(7, n=10, d=2))
    program, sidecar = est.export_mps(tmp_path / "one.mps")
    outcome = gateway.solve_file(program, "highs")
    assert [outcome.objective, outcome.bound] == pytest.approx([est.result_.value] * 2, abs=1e-7)
    alone = mps.read(program, sidecar=False)
    offset = json.loads(Path(sidecar).read_text())["offset"]
    assert alone.constant == 0 and offset + alone.objective(outcome.x) == pytest.approx(est.result_.value, abs=1e-7)


def test_an_export_of_version_0_2_is_read(tmp_path):
    """There a part of the constant stood beside the program; the figures are those of a new export."""
    est = Reranker("auc", margin=0.01, **FREE).fit(*table(7, n=10, d=2))
    program, sidecar = map(Path, est.export_mps(tmp_path / "one.mps"))
    card = json.loads(sidecar.read_text())
    part = -0.25
    card["offset"], card["data"]["constant"] = card["offset"] - part, part.hex()
    sidecar.write_text(json.dumps(card))
    outcome = gateway.solve_file(program, "highs", solution=tmp_path / "one.sol")
    assert outcome.objective == pytest.approx(est.result_.value - part)
    run("import", program, tmp_path / "one.sol", "--model", tmp_path / "m.json", code=OPEN)
    assert rerank.load(tmp_path / "m.json").result_.program_value == pytest.approx(est.result_.value, abs=1e-7)
    assert answer(run("solve", program, "--json"))["objective"] == pytest.approx(est.result_.value, abs=1e-7)


@pytest.mark.filterwarnings("ignore:ResolvedRank forbids")
@pytest.mark.parametrize(("stat", "formulation"), PROGRAMS[::2])
def test_a_model_survives_pickle_joblib_and_clone(stat, formulation, tmp_path):
    model = tailed(stat, formulation, C=0.01).build_model(linking="paper", extra_cuts=True)
    model.mine = pyo.Constraint(expr=model.weight["x0"] >= 0.1)
    joblib.dump(model, tmp_path / "model.joblib")
    before = compile_model(model)
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib"), model.clone()):
        after = compile_model(copy)
        assert (after.columns, after.rows, after.constant) == (before.columns, before.rows, before.constant)
        assert (after.matrix != before.matrix).nnz == 0
        for name in ("cost", "lower", "upper", "row_lower", "row_upper"):
            assert np.array_equal(getattr(after, name), getattr(before, name))
        assert copy.rerank_info.rows == model.rerank_info.rows


NUMBERED = {
    "subrank": {
        "statistic": "(22)",
        "reach_level": "(23)",
        "above_by_margin": "(24)",
        "switch_up": "(25)",
        "switch_down": "(26)",
        "one_above": "half of (27)",
        "level_order": "(28)",
        "z": "(30)",
    },
    "resolved_rank": {
        "statistic": "(11)",
        "above_by_margin": "(12)",
        "win_when_above": "(13)",
        "switch_up": "(14)",
        "switch_down": "(15)",
        "winner_higher": "(16)",
        "tie_to_lower_gain": "(17)",
        "tie_to_later": "(18)",
        "reach_level": "(20)",
        "w": "(21)",
    },
    "auc": {"statistic": "A.1", "above_by_margin": "A.1"},
    "pairwise": {"statistic": "A.2", "above_by_margin": "A.2"},
    "mixed": {"statistic": "ours", "few_lost": "ours"},
    "pos_top": {"statistic": "ours", "threshold": "ours", "above_threshold": "ours"},
}


@pytest.mark.filterwarnings("ignore:ResolvedRank forbids")
@pytest.mark.parametrize(
    ("stat", "formulation", "linking"), [(*one, ("ordered", "paper")[k % 2]) for k, one in enumerate(PROGRAMS)]
)
def test_every_component_says_its_equation(stat, formulation, linking):
    model = tailed(stat, formulation, C=0.01).build_model(linking=linking, extra_cuts=True)
    docs = {one.name: one.doc for one in model.component_objects((pyo.Var, pyo.Constraint, pyo.Objective))}
    assert all(re.match(r"[^:]*(\(\d\d\)|A\.[12]|ours)[^:]*: \S", doc) for doc in docs.values()), docs
    for name, number in NUMBERED[formulation].items():
        assert name not in docs or docs[name].startswith(number), (name, docs[name])
    paper = {"winner_higher", "tie_to_lower_gain", "tie_to_later"}
    assert set(NUMBERED[formulation]) - set(docs) <= (set() if linking == "paper" else paper)


@pytest.mark.filterwarnings("ignore:ResolvedRank forbids")
@pytest.mark.parametrize("big_m", ["pair", "unit"])
def test_a_row_times_its_divisor_is_the_row_of_the_paper(big_m):
    model = tailed("mrr", "resolved_rank").build_model(big_m=big_m)
    X, divisors = model.rerank_info.layout.instance.X, model.rerank_info.divisors
    assert set(divisors) == {"above_by_margin", "win_when_above"}
    rng = np.random.default_rng(0)
    w = rng.uniform(-1, 1, 2)
    for j, value in enumerate(w):
        model.w[j].set_value(value)
    for z in model.z.values():
        z.set_value(rng.integers(2))
    for (i, k), M in divisors["above_by_margin"].items():
        row, apart = model.above_by_margin[i, k], w @ (X[i] - X[k])
        slack = (pyo.value(row.upper) - pyo.value(row.body)) * M
        assert slack == pytest.approx(apart + M - 1e-4 - M * model.z[i, k].value)
        assert big_m == "pair" or M == 1
    for (i, k), U in divisors["win_when_above"].items():
        z = model.z[i, k].value if (i, k) in model.z else 0
        row, apart = model.win_when_above[i, k], w @ (X[i] - X[k])
        assert -pyo.value(row.body) * U == pytest.approx(U * z - apart) and (big_m == "pair" or U == 1)


def test_the_changes_of_the_page_keep_what_they_ask_for():
    page = (Path(__file__).parents[2] / "docs" / "modelling.md").read_text()
    said: dict[str, Any] = {}
    sections = {}
    for section in re.split(r"(?m)^## ", page):
        for example in doctest.DocTestParser().get_examples(section):
            exec(compile(example.source, "docs/modelling.md", "single"), said)
        if "est" in said:
            names = {"est", "by_option", "corrected", "asked", "stated"} & said.keys()
            held = {name: said[name].result_ for name in names}
            sections[section[:2]] = held | {"coef": said["est"].coef_}
    X, y, free = said["X"].to_numpy(), said["y"], sections["# "]["est"].value
    ordered = sections["1."]["est"]
    assert ordered.value == pytest.approx(sections["1."]["by_option"].value, abs=1e-9) and ordered.value < free
    assert sections["1."]["by_option"].status == "optimal" and "your rows" in ordered.message
    for coef in (sections["1."]["coef"], said["by_option"].coef_):
        assert coef[0] >= 2 * coef[2] - 1e-12
    assert np.abs(sections["2."]["coef"]).sum() <= 0.04 and sections["2."]["est"].value < free
    assert np.abs(sections["2."]["corrected"].weights).max() <= 1
    order = said["two"].to_numpy() @ said["stated"].coef_
    assert (said["kinds"][np.argsort(-order)[:4]] == "A").sum() >= 3
    assert sections["3."]["stated"].value <= sections["3."]["asked"].value + 1e-9
    points = sections["4."]["coef"] * 50
    assert points == pytest.approx(np.round(points), abs=1e-9) and np.abs(points).max() <= 3 + 1e-9
    assert sections["4."]["est"].value < free
    assert roc_auc_score(y, X @ sections["7."]["coef"]) >= 29 / 36 - 1e-9
    assert max(held["est"].value for held in sections.values()) <= free + 1e-9
