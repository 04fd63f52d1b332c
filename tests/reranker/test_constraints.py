"""Constraints on the weights, written by column name: kept exactly in the table's units by fits, files and folds."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest

from rerank import Reranker, RerankerCV, describe, verify
from rerank.certificate import certify, verify_proof
from rerank.errors import InfeasibleError, InputError
from rerank.io.page import as_text
from rerank.problem.rows import WrittenRow
from rerank.reranker.files import model_file
from rerank.solvers import Options, gateway
from tests.cases.drawn import as_table, read_back
from tests.cases.refuses import refuses
from tests.oracles.oracle import best

NAMES = ["age", "income", "blood sugar", "d"]


def table(n: int = 60, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 4)) * [1, 30, 0.1, 2], columns=NAMES)
    y = (X["age"] - X["income"] / 30 + X["d"] / 4 + rng.normal(size=n) > 1).astype(int)
    return X, y.to_numpy()


def in_table_units(est: Reranker) -> dict[str, Fraction]:
    """Weights of a free fit in the table's units, exactly, up to a positive factor."""
    state = est.state_
    return {
        state.columns.names[j]: Fraction(float(w)) / (Fraction(float(b)) - Fraction(float(a)))
        for j, w, a, b in zip(state.features, state.weights, state.low, state.high, strict=True)
    }


@pytest.mark.parametrize("solver", ["search", "highs"])
def test_a_free_fit_keeps_its_constraints_exactly_and_has_the_optimum_of_the_enumeration(solver: str) -> None:
    X, y = table(14)
    texts = ("age >= 40 * income", "d <= 0.25*age")
    est = Reranker("dcg@5", first_stage=None, constraints=texts, solver=solver, time_limit=20, features=["age", "d"])
    refuses("'income', which is not among", est.fit, X, y)
    est = Reranker("dcg@5", first_stage=None, constraints=texts, solver=solver, time_limit=20)
    est.fit(X[["age", "income", "d"]], y)
    w = in_table_units(est)
    assert w["age"] >= 40 * w["income"] and 4 * w["d"] <= w["age"]
    most = best(est.state_.known_problem()).value
    assert est.result_.status == "optimal" and float(most) == pytest.approx(est.result_.value, abs=1e-9)
    free = Reranker("dcg@5", first_stage=None, solver="search", time_limit=20).fit(X[["age", "income", "d"]], y)
    assert free.result_.value >= est.result_.value
    told = as_text(describe(est).parts(details=True))
    assert "among weights that keep your constraints: age >= 40 * income; d <= 0.25*age" in told


def test_with_a_radius_a_row_is_about_total_weights_in_units_of_the_first_stage() -> None:
    X, y = table()
    texts = ("d >= 0.05", "income + age <= 0.5", "-1 <= `blood sugar` <= 1")
    est = Reranker("dcg@10", radius=0.5, constraints=texts, solver="search", time_limit=10).fit(X, y)
    assert est.prior_weight_ == 0
    weights = dict(zip(NAMES, est.coef_, strict=True))
    assert weights["d"] >= 0.05 - 1e-12 and weights["income"] + weights["age"] <= 0.5 + 1e-12
    assert abs(weights["blood sugar"]) <= 1 + 1e-12
    assert est.state_.first_stage is not None and est.state_.first_stage.coef is not None
    prior, problem = est.state_.first_stage.coef, est.state_.known_problem()
    unit = Fraction(float(problem.high[0])) - Fraction(float(problem.low[0]))
    total = dict(zip(NAMES, map(Fraction, map(float, prior)), strict=True))
    for j, w, a, b in zip(est.state_.features, est.state_.weights[1:], problem.low[1:], problem.high[1:], strict=True):
        total[NAMES[j]] += Fraction(float(w)) * unit / (Fraction(float(b)) - Fraction(float(a)))
    assert total["d"] >= Fraction(1, 20) and total["income"] + total["age"] <= Fraction(1, 2)


def test_the_correction_is_meant_where_the_first_stage_is_no_sum_of_columns() -> None:
    X, y = table()
    scores = X["age"] - np.abs(X["income"]) / 20
    options = {"radius": 0.5, "solver": "search", "time_limit": 10, "first_stage": scores.to_numpy(), "margin": 0.05}
    est = Reranker("dcg@10", constraints=["d >= 0.125"], **options).fit(X, y)
    assert est.prior_weight_ == 1 and est.coef_[3] >= 0.125 - 1e-12
    assert est.reranks_ and any("is not kept" in note for note in est.result_.notes) == (
        est.result_.statistic <= est.result_.first_stage_statistic
    )


def test_a_first_stage_that_breaks_a_constraint_is_not_kept() -> None:
    X, y = table()
    alone = Reranker("dcg@10", time_limit=10, solver="search").fit(X, y)
    signs = ["age <= 0", "income >= 0"]
    est = Reranker("dcg@10", constraints=signs, time_limit=10, solver="search").fit(X, y)
    assert est.reranks_ and est.result_.statistic < alone.result_.first_stage_statistic
    assert est.coef_[0] <= 0 <= est.coef_[1]
    assert any("is not kept, because it does not satisfy the constraint 'age <= 0'" in x for x in est.result_.notes)
    kept = Reranker("dcg@10", constraints=["age >= 0"], radius=0, solver="search").fit(X, y)
    assert not kept.reranks_


def test_files_hold_constraints_and_are_verified_with_them(tmp_path) -> None:
    X, y = table()
    texts = ("age >= 40 * income", "`blood sugar` <= 0")
    est = Reranker("dcg@10", constraints=texts, time_limit=10, solver="search", proof=True).fit(X, y)
    again, given = read_back(est, tmp_path, X.to_numpy(), y, proof=est.result_.proof), as_table(est, X.to_numpy(), y)
    assert tuple(again.constraints) == texts and np.array_equal(again.predict(X), est.predict(X))
    assert est.result_.proof is not None and verify_proof(est.state_.known_problem(), est.result_.proof).ok
    document = model_file.read(tmp_path / "m.json")
    for change in ({"constraint.0": "age >= 41 * income"}, {"constraint.2": "d >= age"}, {"constraint.1": None}):
        settings = {key: value for key, value in (dict(document.settings) | change).items() if value is not None}
        forged = {**vars(document), "settings": settings}
        assert not verify(model_file.ModelDocument(**forged), given).holds
    plain = Reranker("dcg@10", time_limit=10, solver="search").fit(X, y)
    plain.save(tmp_path / "plain.json")
    assert "constraint" not in (tmp_path / "plain.json").read_text()


def test_a_choice_by_folds_keeps_constraints_at_every_radius_and_skips_options_that_cannot() -> None:
    X, y = table(90)
    base = Reranker("precision@10", constraints=["d >= 0.4"], time_limit=3, solver="search")
    chosen = RerankerCV(base, grid={"radius": [0.0, 0.001, 1.0, None]}, cv=3, n_repeats=1).fit(X, y)
    tried = np.isfinite(chosen.cv_results_["value"])
    assert tried.tolist() == [False, False, True, False] and chosen.best_params_ == {"radius": 1.0}
    assert chosen.coef_[3] >= 0.4 - 1e-12


def test_rows_that_clash_are_named_and_no_others() -> None:
    X, y = table()
    texts = ["age >= 2 * d", "income >= 0", "d >= age", "d >= 0"]
    with pytest.raises(InfeasibleError, match=r"'age >= 2 \* d' and 'd >= age' and 'd >= 0' leave"):
        Reranker("dcg@10", constraints=texts).fit(X, y)


TEXTS = {
    "age >= 2 * income": ({0: 1, 1: -2}, 0, None),
    "`blood sugar` <= 0": ({2: 1}, None, 0),
    '"blood sugar" =< 0': ({2: 1}, None, 0),
    "age + income <= d": ({0: 1, 1: 1, 3: -1}, None, 0),
    "0.5*age - 3*d>=0": ({0: Fraction(1, 2), 3: -3}, 0, None),
    "0.1 <= age <= 1.5e-1": ({0: 1}, Fraction(1, 10), Fraction(3, 20)),
    "3 ≥ -(age - income) / 4": ({0: Fraction(1, 4), 1: Fraction(-1, 4)}, -3, None),
    "1/3 <= 2 * (age + 1) - age": ({0: 1}, Fraction(1, 3) - 2, None),
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_row_says_what_was_written(text: str) -> None:
    row, (coefficients, lower, upper) = WrittenRow.read(text, NAMES), TEXTS[text]
    sides = [
        ({j: s * a for j, a in row.coefficients.items()}, *ends)
        for s, ends in (
            (1, (row.lower, row.upper)),
            (-1, (None if row.upper is None else -row.upper, None if row.lower is None else -row.lower)),
        )
    ]
    assert (coefficients, lower, upper) in sides


WRONG = [
    "age >=",
    "age * d >= 0",
    "age >= 0 >= -1 >= d",
    "(age >= 0",
    "1 >= 0",
    "age <= 1 >= d",
    "age / d >= 0",
    "age $ 2",
    "2 age >= 0",
    "1e999999 * age >= 0",
    "(" * 60 + "age" + ")" * 60 + ">= 0",
]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_row_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(InputError):
        WrittenRow.read(text, NAMES)


@pytest.mark.parametrize("solver", ["search", "highs"])
def test_weights_of_sum_1_in_the_table_s_units_with_a_margin_of_their_score(solver: str) -> None:
    X, y = table(16)
    X = X[["age", "blood sugar", "d"]] + [3, 0, -40]
    texts, margin = ("d >= 0.125", "age + `blood sugar` <= 0.75", "age <= 2 * d"), Fraction(1, 20)
    options = {"first_stage": None, "normalise": "sum", "solver": solver, "time_limit": 20, "margin": 0.05}
    est = Reranker("dcg@5", constraints=texts, **options).fit(X, y)
    age, sugar, d = est.coef_
    assert sum(est.coef_) == pytest.approx(1, abs=1e-15) and min(est.coef_) >= 0
    assert d >= 0.125 and age + sugar <= 0.75 + 1e-15 and age <= 2 * d + 1e-15
    problem = est.state_.known_problem()
    assert est.result_.status == "optimal"
    assert float(best(problem).value) == pytest.approx(est.result_.value, abs=1e-9)
    exact = [Fraction(float(w)) for w in est.state_.weights]
    scores = [
        sum((w / sum(exact) * Fraction(float(x)) for w, x in zip(exact, row, strict=True)), Fraction(0))
        for row in X.to_numpy()
    ]
    won = sum(scores[i] - scores[k] >= margin for i in np.flatnonzero(y) for k in np.flatnonzero(y == 0))
    assert est.result_.certificate is not None and est.result_.certificate.pairs_won == won


@pytest.mark.parametrize("solver", ["search", "highs"])
@pytest.mark.parametrize("seed", range(6))
def test_the_smallest_margin_of_weights_of_sum_1_loses_nothing_to_a_wide_column(solver: str, seed: int) -> None:
    """Thousands beside units; against the order at each crossing of two rows and between them."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([1000 * rng.integers(0, 6, 14), rng.integers(0, 4, 14)]).astype(float)
    y = rng.integers(0, 2, 14)
    y[:2] = 0, 1
    apart = (X[:, None] - X[None])[y[:, None] > y[None]]
    with np.errstate(all="ignore"):
        cuts = apart[:, 1] / (apart[:, 1] - apart[:, 0])
    ends = np.unique([0.0, 1.0, *cuts[(cuts > 0) & (cuts < 1)]])
    points = [*ends, *((ends[1:] + ends[:-1]) / 2)]
    most = max(np.mean(apart @ [t, 1 - t] > 1e-9) for t in points)
    est = Reranker("auc", first_stage=None, normalise="sum", solver=solver, time_limit=20).fit(X, y)
    assert est.result_.proved and est.result_.value == pytest.approx(most, abs=1e-9)
    assert est.coef_.sum() == pytest.approx(1.0) and (est.coef_ >= 0).all()


def test_a_column_of_a_constraint_that_is_constant_has_no_weight_and_that_is_said() -> None:
    frame, y = pd.DataFrame({"a": [4.0, 0, 1, 0], "b": [2.0] * 4, "c": [1.0, 2, 0, 1]}), [0, 1, 0, 1]
    est = Reranker("auc", constraints=["a >= b"], first_stage=None, solver="search").fit(frame, y)
    assert est.coef_[1] == 0 <= est.coef_[0]
    said = "In the constraints 'b' is constant on the rows that count and gets no weight"
    assert any(note.startswith(said) for note in est.result_.notes)
    asked = {"normalise": "sum", "first_stage": None, "solver": "search"}
    with pytest.raises(InfeasibleError, match=said):
        Reranker("auc", constraints=["b >= 0.5"], **asked).fit(frame, y)
    plain = Reranker("auc", constraints=["a >= c"], first_stage=None, solver="search").fit(frame, y)
    assert not any("In the constraints" in note for note in plain.result_.notes)


def test_normalised_weights_are_saved_verified_and_chosen_by_folds(tmp_path) -> None:
    X, y = table()
    options = {"constraints": ["age >= 0.5"], "normalise": "sum", "time_limit": 5, "solver": "search"}
    est = Reranker("dcg@10", proof=True, **options).fit(X, y)
    again, given = read_back(est, tmp_path, X.to_numpy(), y, proof=est.result_.proof), as_table(est, X.to_numpy(), y)
    assert again.normalise == "sum" and est.coef_[0] >= 0.5
    document = model_file.read(tmp_path / "m.json")
    settings = {key: value for key, value in document.settings.items() if key != "normalise"}
    refuses("write 0 on one side", verify, model_file.ModelDocument(**{**vars(document), "settings": settings}), given)
    chosen = RerankerCV(Reranker("dcg@10", **options), cv=3, n_repeats=1).fit(X, y)
    assert not chosen.first_stage_kept_ and chosen.coef_.sum() == pytest.approx(1) and chosen.coef_[0] >= 0.5


@pytest.mark.parametrize(
    "options",
    [
        {"normalise": "sum", "constraints": ["d >= 0.4"], "first_stage": None},
        {"constraints": ["d >= 2 * age"], "first_stage": None},
        {"constraints": ["d >= 0.4"], "radius": 1.0},
    ],
)
def test_a_solution_of_an_exported_program_keeps_the_constraints(tmp_path, options) -> None:
    X, y = table(24)
    X = X[["age", "income", "d"]]
    est = Reranker("dcg@5", solver="none", margin=0.01, **options).fit(X, y)
    program, _ = est.export_mps(tmp_path / "program.mps")
    assert gateway.solve_file(program, options=Options(time_limit=20), solution=tmp_path / "x.sol").x is not None
    est.load_solution(tmp_path / "x.sol")
    searched = Reranker("dcg@5", solver="search", margin=0.01, **options).fit(X, y)
    assert est.result_.value == pytest.approx(searched.result_.value, abs=1e-9)
    assert est.result_.certificate is not None
    assert certify(est.state_.known_problem(), est.state_.weights).value == est.result_.certificate.value


def test_a_model_of_weights_of_sum_1_has_them_in_the_table_s_units() -> None:
    X, y = table(24)
    est = Reranker("dcg@5", solver="search", first_stage=None, normalise="sum", time_limit=10).fit(X, y)
    model = est.build_model()
    for variable, weight in zip(model.w.values(), est.state_.weights / est.state_.weights.sum(), strict=True):
        variable.value = float(weight)
    assert [pyo.value(model.weight[name]) for name in NAMES] == pytest.approx(est.coef_.tolist(), abs=1e-15)
