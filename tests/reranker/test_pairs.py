"""Pairs: 0/1, grades and real utilities; evaluation, fits and their optima, proofs, files, and what is refused."""

import warnings
from fractions import Fraction
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score

from formulations import pairwise as program
from formulations.compile import compile_model
from rerank import Reranker, RerankerCV, describe, verify
from rerank.certificate import load_proof, save_proof, verify_proof
from rerank.errors import InputError
from rerank.io import Table, read_csv
from rerank.io.page import as_text
from rerank.metrics import make_ranking_scorer
from rerank.problem import build, problem_of
from rerank.problem.values import values_at
from rerank.ranks import evaluate, list_values
from rerank.ranks.evaluator import Evaluator
from rerank.ranks.lists import split
from rerank.search import solve
from rerank.statistics import Pairs
from tests.cases.examples import SEEDS, examples
from tests.cases.refuses import refuses
from tests.oracles import programs as oracle

HALF = {"pessimistic": Fraction(0), "average": Fraction(1, 2), "optimistic": Fraction(1)}


def share(y, scores, tied=HALF["pessimistic"]):
    """The share of pairs, pair by pair."""
    won = [
        Fraction(int(scores[i] > scores[k])) + tied * int(scores[i] == scores[k])
        for i in range(len(y))
        for k in range(len(y))
        if y[i] > y[k]
    ]
    return sum(won, Fraction(0)) / len(won) if won else None


def best_share(X, y):
    """The largest share of pairs of rows of whole numbers in two columns: one direction from every sector."""
    pairs = [X[i] - X[k] for i in range(len(y)) for k in range(len(y)) if y[i] > y[k]]
    # Between two neighbours of these normals no scalar product changes its sign; opposite directions are both there.
    normals = {(int(a * s), int(b * s)) for b, a in pairs for s in (1, -1)} - {(0, 0)}
    normals = [(-a, b) for a, b in normals] + [(a, -b) for a, b in normals] + [(1, 0), (0, 1), (-1, 0), (0, -1)]
    by_angle = sorted(normals, key=lambda v: np.arctan2(v[1], v[0]))
    unit = [np.array(v) / np.hypot(*v) for v in by_angle]
    inside = [a + b for a, b in pairwise([*unit, unit[0]]) if np.abs(a + b).max() > 1e-6]
    return max(share(y, np.round(X @ w, 9)) for w in inside)


def drawn(seed, kind="utilities", n=12, d=2, width=30):
    """Rows of whole numbers, and labels of a kind."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, width, (n, d)).astype(float)
    y = X @ rng.normal(size=d) + rng.normal(size=n) * width / 3
    if kind == "utilities":
        return X, y
    grades = 2 if kind == "labels" else 4
    return X, np.digitize(y, np.quantile(y, np.arange(1, grades) / grades)).astype(float)


def fitted(X, y, qid=None, **options):
    given = {"stat": "pairs", "first_stage": None, "solver": "search", "time_limit": 20, "n_jobs": 1}
    return Reranker(**{**given, **options}).fit(X, y, qid=qid)


# -- the value ---------------------------------------------------------------------------------------------------------


@examples(200, seed=SEEDS, n=st.integers(2, 25), ties=st.sampled_from(list(HALF)))
def test_the_value_is_the_share_of_pairs(seed, n, ties):
    rng = np.random.default_rng(seed)
    y, scores = rng.integers(-3, 4, n) * 1.5, rng.integers(0, 6, n)
    expected = share(y, scores, HALF[ties])
    if expected is None:
        refuses("holds anything to order", evaluate, "pairs", y, scores, ties=ties)
    else:
        assert evaluate("pairs", y, scores, ties=ties) == pytest.approx(float(expected), abs=1e-14)


@examples(50, seed=SEEDS)
def test_of_two_labels_it_is_the_area_and_of_distinct_ones_kendalls_tau(seed):
    rng = np.random.default_rng(seed)
    scores, y = rng.integers(0, 20, 60), rng.normal(size=60)
    binary = (y > rng.normal()).astype(int)
    binary[:2] = 0, 1
    for ties in HALF:
        assert evaluate("pairs", binary, scores, ties=ties) == pytest.approx(
            evaluate("auc", binary, scores, ties=ties), abs=1e-14
        )
    assert evaluate("pairs", binary, scores, ties="average") == pytest.approx(roc_auc_score(binary, scores), abs=1e-12)
    distinct = rng.permutation(60)
    assert evaluate("pairs", y, distinct) == pytest.approx((1 + kendalltau(y, distinct).statistic) / 2, abs=1e-12)


def test_grades_count_each_pair_once_and_only_their_order_counts():
    y, scores = [3, 2, 0, 1], [1, 2, 3, 4]
    assert evaluate("pairs", y, scores) == 1 / 6 != evaluate("auc", y, scores, gain="linear")
    for same in ([-1, -2.5, -1e9, -3], [1e300, 5, 0, 1e-300]):
        assert evaluate("pairs", same, scores) == 1 / 6


def test_lists_are_averaged_as_auc_does():
    rng = np.random.default_rng(3)
    y, scores, qid = rng.normal(size=40), rng.normal(size=40), np.repeat([7, 2, 5], [20, 15, 5])
    values = [float(share(y[qid == q], scores[qid == q])) for q in (2, 5, 7)]
    np.testing.assert_allclose(list_values("pairs", y, scores, qid), values, rtol=1e-14)
    weights = {7: 3.0, 2: 1.0, 5: 0.0}
    expected = (values[0] + 3 * values[2]) / 4
    assert evaluate("pairs", y, scores, qid, query_weight=weights) == pytest.approx(expected, rel=1e-14)


def test_a_lead_has_the_error_of_the_areas_and_shrinks_with_the_rows():
    rng = np.random.default_rng(4)
    y, one, other = rng.normal(size=400), rng.normal(size=400), rng.normal(size=400)
    binary = (y > 0).astype(float)
    areas, pairs = (Evaluator(s, split(binary, gain="linear")).lead(one, other) for s in (Pairs(), Pairs.__mro__[1]()))
    assert pairs == pytest.approx(areas, rel=1e-12)
    leads = [
        Evaluator(Pairs(), split(y[i : i + 100], gain="order")).lead(one[i : i + 100], other[i : i + 100])
        for i in range(0, 400, 100)
    ]
    whole = Evaluator(Pairs(), split(y, gain="order")).lead(one, other)[1]
    assert np.mean([error for _, error in leads]) == pytest.approx(2 * whole, rel=0.2)


# -- the optimum -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["labels", "grades", "utilities"])
@pytest.mark.parametrize("seed", range(6))
def test_a_fit_of_two_columns_is_the_best_of_all_directions(kind, seed):
    X, y = drawn(seed, kind)
    est = fitted(X, y, margin=1e-6)
    assert est.result_.status == "optimal"
    assert est.result_.value == pytest.approx(float(best_share(X, y)), abs=1e-12)
    least, most = evaluate("pairs", y, est.decision_function(X), ties="interval")
    assert least == pytest.approx(float(share(y, np.round(X @ est.coef_, 9))), abs=1e-12)
    assert least == pytest.approx(est.result_.value, abs=1e-12) and least <= est.score(X, y) <= most


@pytest.mark.parametrize("seed", range(4))
def test_a_fit_is_the_optimum_of_the_program_of_preferences(seed):
    X, y = drawn(seed, "utilities" if seed % 2 else "grades", n=9, d=3, width=8)
    C, features = (0.02, None) if seed < 2 else (0.0, 2)
    est = fitted(X, y, C=C, max_features=features, margin=0.001)
    scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    pairs, weights = program.preferences_from_gains(y)
    stated = program.build(scaled, (pairs, weights / weights.sum()), epsilon=0.001, C=C, max_features=features)
    assert est.result_.value == pytest.approx(oracle.solve(compile_model(stated))[0], abs=1e-6)


def test_the_solver_gets_the_program_of_preferences_and_agrees():
    X, y = drawn(5, n=9, d=2)
    alone = fitted(X, y, solver="highs", presolve=False)
    assert alone.result_.formulation == "pairwise" and alone.result_.status == "optimal_by_solver"
    assert alone.result_.value == pytest.approx(fitted(X, y).result_.value, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_of_two_labels_the_fit_is_that_of_auc(seed):
    X, y = drawn(seed, "labels", n=30, d=3)
    one, other = fitted(X, y), fitted(X, y, stat="auc")
    assert one.result_.value == other.result_.value and one.coef_.tolist() == other.coef_.tolist()


@examples(8, seed=SEEDS)
def test_no_weights_are_better(seed):
    X, y = drawn(seed, "grades" if seed % 2 else "utilities", n=14, d=3)
    qid = np.random.default_rng(seed).integers(0, 2, 14)
    if len({*qid[y > np.median(y)]}) < 2:
        return
    problem = problem_of(X, y, Pairs(), qid, epsilon=1e-5)
    found = solve(problem, time_limit=20)
    others = np.random.default_rng(seed).normal(size=(200, 3))
    tried = [evaluate("pairs", y, np.round(X / np.ptp(X, axis=0) @ w, 9), qid, ties="pessimistic") for w in others]
    assert max(tried) <= found.bound + 1e-9


# -- shortlists, lists, corrections, files ---------------------------------------------------------------------------


@examples(25, seed=SEEDS, kind=st.sampled_from(["labels", "grades", "utilities"]), k=st.integers(2, 9))
def test_a_shortlist_keeps_its_tail_in_place(seed, kind, k):
    X, y = drawn(seed, kind, n=16, d=2)
    qid = np.random.default_rng(seed).integers(0, 2, 16)
    weights, scores = {0: 1.0, 1: 3.0}, X[:, 0] + np.arange(16) / 100
    table = np.column_stack([X, scores])
    est = Reranker("pairs", first_stage="x2", features=["x0", "x1"], n_candidates=k, solver="search", time_limit=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where a shortlist holds no pair
        result = est.fit(table, y, qid=qid, query_weight=weights).result_
    before, after = (
        evaluate("pairs", y, s, qid, query_weight=weights, ties="pessimistic")
        for s in (scores, est.decision_function(table, qid=qid))
    )
    assert result.first_stage_statistic == pytest.approx(before, abs=1e-12) and result.n_lists == 2
    assert result.value == pytest.approx(after, abs=1e-9) and before <= after + 1e-9 <= result.bound + 2e-9
    if result.status == "optimal":
        problem = est.state_.training.problem
        assert problem is not None and max(values_at(problem, ANGLES)) <= result.bound + 1e-9


ANGLES = np.column_stack([np.cos(turn := np.linspace(0, 2 * np.pi, 200)), np.sin(turn)])
ANGLES /= np.abs(ANGLES).max(axis=1)[:, None]


def test_a_proof_a_file_and_a_program_hold(tmp_path):
    X, y = drawn(1, n=25, d=3)
    y -= y.min()
    est = fitted(X, y, proof=True)
    save_proof(est.result_.proof, tmp_path / "p.npz")
    proof = load_proof(tmp_path / "p.npz")
    assert verify_proof(est.state_.problem, proof).ok
    est.save(tmp_path / "m.json")
    table = Table(X, y, None, None, ("x0", "x1", "x2"), None)
    assert verify(tmp_path / "m.json", table, proof=proof).holds
    moved = Table(X, y[::-1].copy(), None, None, table.feature_names, None)
    assert not verify(tmp_path / "m.json", moved, proof=proof).holds


def test_utilities_have_ranksvm_first_and_corrections_of_it():
    X, y = drawn(2, n=60, d=4)
    est = Reranker("pairs", solver="search", time_limit=20, radius=0.3).fit(X, y - 100)
    assert any("RankSVM" in note for note in est.result_.notes) and est.result_.folds == 5
    assert est.result_.value > est.result_.first_stage_statistic
    again = Reranker("pairs", solver="search", time_limit=20, first_stage=LinearRegression()).fit(X, y - 100)
    assert again.result_.status == "optimal"
    chosen = RerankerCV(Reranker("pairs", solver="search", time_limit=20), cv=3).fit(X, y - 100)
    assert chosen.best_params_ is None or "logistic" not in str(chosen.best_params_.get("first_stage", ""))


def test_distinct_utilities_accuse_no_column(recwarn):
    X, y = drawn(3, n=60, d=2, width=1000)
    X[:, 0] = np.random.default_rng(0).permutation(60)
    fitted(X, y)
    assert not [warning for warning in recwarn if "label again" in str(warning.message)]


def test_equal_pairs_are_whole_numbers_in_one_list():
    X, y = drawn(6, n=40, d=3)
    est = fitted(X, y)
    certificate = est.result_.certificate
    assert Fraction(certificate.value) == share(y, np.round(X @ est.coef_, 9))


def test_rows_of_weight_0_are_not_there_and_scikit_learn_scores_utilities():
    X, y = drawn(7, n=30, d=3)
    weight = (np.arange(30) % 3 > 0).astype(float)
    there = weight > 0
    est = Reranker("pairs", first_stage=None, solver="search").fit(X, y, sample_weight=weight)
    assert est.coef_.tolist() == fitted(X[there], y[there]).coef_.tolist()
    assert est.score(X, y, sample_weight=weight) == est.score(X[there], y[there])
    halves = [(range(15), range(15, 30))]
    (score,) = cross_val_score(LinearRegression(), X, y, scoring=make_ranking_scorer("pairs"), cv=halves)
    line = LinearRegression().fit(X[:15], y[:15])
    assert score == pytest.approx(float(share(y[15:], line.predict(X[15:]))), abs=1e-14)


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_too_many_pairs_are_refused_before_they_are_formed(monkeypatch):
    monkeypatch.setattr(build, "MOST_STATED", 300)
    X, y = drawn(0, n=60)
    with pytest.raises(InputError, match=r"lower n_candidates to (\d+) or less, or round the labels") as refusal:
        fitted(X, y)
    fits = int(str(refusal.value).split("n_candidates to ")[1].split()[0])
    assert fitted(X, y, first_stage=X[:, 0], n_candidates=fits).result_.bound <= 1
    assert fitted(X, np.digitize(y, np.quantile(y, [0.3, 0.6])).astype(float)).result_.bound <= 1


# -- what is said ------------------------------------------------------------------------------------------------------


def test_what_is_said_speaks_of_pairs_and_not_of_relevant_rows():
    X, y = drawn(3)
    for qid in (None, np.arange(12) // 6):
        told = describe(fitted(X, y, qid))
        said = as_text(told.parts(details=True))
        assert "relevant" not in said and "a pairs" not in said and "larger pairs" not in said
        assert "no weights of these 2 columns have a larger share of pairs in order" in said
    share = f"{100 * fitted(X, y).result_.statistic:.4g} %"
    assert f"{share} of the pairs of rows with different labels" in describe(fitted(X, y)).answer


# -- the published ranking of the page ---------------------------------------------------------------------------------

# Points are int(a |b - result|^c), in seconds, and in centimetres for jumps, in metres for throws [World Athletics].
POINTS = [
    (25.4347, 18, 1.81),
    (0.14354, 220, 1.4),
    (51.39, 1.5, 1.05),
    (0.8465, 75, 1.42),
    (1.53775, 82, 1.81),
    (5.74352, 28.5, 1.92),
    (12.91, 4, 1.1),
    (0.2797, 100, 1.35),
    (10.14, 7, 1.08),
    (0.03768, 480, 1.85),
]


def test_the_published_points_follow_from_the_results():
    table = read_csv(Path("examples/decathlon.csv"), label="points", id="athlete")
    centimetres = np.isin(table.feature_names, ["long jump", "high jump", "pole vault"])
    for results, points in zip(table.X * np.where(centimetres, 100, 1), table.y, strict=True):
        found = [int(a * abs(b - round(result, 2)) ** c) for result, (a, b, c) in zip(results, POINTS, strict=True)]
        assert sum(found) == points
    assert len(table.y) == 28 and np.all(np.diff(table.y) < 0)


def test_no_regression_on_three_events_explains_the_ranking_as_well():
    table = read_csv(Path("examples/decathlon.csv"), label="points", id="athlete")
    by_regression = [
        evaluate("pairs", table.y, LinearRegression().fit(table.X[:, c], table.y).predict(table.X[:, c]))
        for c in map(list, combinations(range(10), 3))
    ]
    signs = [-1, 1, 1, 1, -1, -1, 1, 1, 1, -1]
    shares = {
        k: round(100 * fitted(table.X, table.y, max_features=k, positive=signs).result_.bound, 1) for k in (1, 2, 3, 5)
    }
    assert shares == {1: 75.9, 2: 84.4, 3: 90.2, 5: 95.8} and round(100 * max(by_regression), 1) == 89.2
    assert fitted(table.X, table.y, positive=signs).result_.value == 1
