"""Problems: parts and margins, scaling, the rows that are kept, values of many weights, digests."""

import copy
import itertools
import math
import pickle
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank import Reranker
from rerank.certificate import Certificate, certify, recheck
from rerank.errors import InputError
from rerank.problem import Margin, Problem, digest, problem_of, ranked_list, values
from rerank.problem.json import problem_from_json, problem_to_json
from rerank.problem.reduced import depth_of, reduced_problem
from rerank.problem.scaling import deviations, ends_of, scale_columns, snapped_scores
from rerank.problem.values import values_at
from rerank.ranks import evaluate
from rerank.ranks.positions import snap
from rerank.reranker.first_stage import affine
from rerank.search import solve
from rerank.statistics import Window, ideal, parse
from tests.cases.examples import SEEDS, examples
from tests.cases.refuses import refuses
from tests.cases.search import drawn_lists
from tests.oracles.anchored import anchored
from tests.oracles.oracle import objective_at

X, GAINS = np.array([[0.0, 3.0], [1.0, 1.0], [2.0, 0.0], [4.0, 2.0]]), np.array([0.0, 1.0, 3.0, 0.0])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"epsilon": 0.0}, "epsilon is 0.0; it must be a number, above 0"),
        ({"epsilon": np.nan}, "epsilon is nan"),
        ({"epsilon": np.inf}, "epsilon is inf"),
        ({"C": -0.1}, "C is -0.1; it must be a number, at least 0"),
        ({"C": np.inf}, "C is inf"),
        ({"max_features": 0}, "max_features is 0; it must be a whole number, at least 1"),
        ({"signs": [1]}, "signs must hold one of -1, 0, 1 for each of the 2 features"),
        ({"signs": [1, 2]}, "signs must hold"),
        ({"low": [0, 3], "high": [1, 3]}, "Column 1 is constant"),
    ],
)
def test_parts_that_cannot_be_used_are_refused(options, sentence):
    refuses(sentence, problem_of, X, GAINS, parse("dcg"), **options)


def test_lists_without_a_gain_are_left_out_and_none_is_refused():
    p = problem_of(X, GAINS, parse("dcg"), qid=["a", "b", "b", "a"], query_weight={"b": 2.0})
    assert len(p.lists) == 1 and p.lists[0].rows.tolist() == [1, 2] and p.total_weight == 2.0
    refuses("No list holds a gain", problem_of, X, np.zeros(4), parse("dcg"))


@pytest.mark.parametrize("stat", ["auc", "dcg@2", "ndcg", "mrr", "pnorm@2"])
def test_units_and_constant_add_up_to_the_value(stat):
    """Of the order of the first column, whose two best rows in a list of three are a head above a tail of one."""
    gains = np.array([1.0, 0.0, 1.0]) if stat in ("auc", "mrr") else np.array([1.0, 0.0, 3.0])
    item = ranked_list(parse(stat), [1, 2], gains[1:], tail_gains=gains[:1])
    p = Problem.build(X[:3], [item], epsilon=1e-9)
    scores = p.scaled[:, 0]
    total = p.constant
    for unit in p.units:
        lost = np.array([np.sum(scores[unit.negative] >= scores[i]) for i in unit.positive])
        places = np.arange(1, lost.size + 1) + np.sort(lost)
        total += unit.factor * unit.coefficients[-places].sum()
    expected = evaluate(stat, gains, X[:3, 0], gain="linear")
    assert total == pytest.approx(expected, rel=1e-12) and p.ideal >= total


@pytest.mark.parametrize("limits", [None, ([1, -0.3, 0], [1, 0.2, 0.5])])
def test_nothing_that_is_kept_depends_on_the_margin(limits):
    """``with_epsilon`` keeps every cached property, which a new one could make wrong."""
    rng = np.random.default_rng(0)
    grades = np.tile([2.0, 1.0, 0.0, 0.0, 1.0, 0.0], 2)
    plain = problem_of(rng.normal(size=(12, 3)), grades, parse("ndcg@3"), qid=np.repeat([0, 1], 6))
    problem = plain if limits is None else Problem.build(plain.X, plain.lists, limits=limits)
    kept = [name for name, own in vars(Problem).items() if isinstance(own, cached_property)]
    if limits is None:
        kept.remove("largest_score")  # of limited weights alone
    told = {name: repr(getattr(problem, name)) for name in kept}
    for other in (problem.with_epsilon(0.25), replace(problem, epsilon=0.25)):
        assert other.epsilon == 0.25 and {name: repr(getattr(other, name)) for name in kept} == told


def test_digests_are_those_of_files_written_earlier():
    rows, labels, grades = [[0, 0.5], [0.2, 1], [1, 0], [0.7, 0.1]], [1, 0, 1, 0], [3, 0, 1, 0]
    # The margin of these files is a double; 1e-4 is the decimal now.
    epsilon = Fraction(1e-4)
    one = problem_of(rows, labels, parse("auc"), C=0.01, epsilon=epsilon)
    lists = problem_of(
        rows, grades, parse("ndcg@2"), [0, 0, 1, 1], max_features=1, signs=[1, -1], C=0.01, epsilon=epsilon
    )
    assert digest(one) == "c61ecc3cc297b36b3e98b5863837c8ffb9b101297b5d690204ece422548ae80d"
    assert digest(lists) == "527e5cd13f515b73524ca28b72a4b580c70ef518a9aea66058f7391602414507"


GRID, GRID_LABELS = [[0.0, 0, 0], [1, 0, 0], [5, 5, 5]], [0, 1, 0]


def grid(epsilon: float | str | Fraction = 0.2) -> Problem:
    return problem_of(GRID, GRID_LABELS, parse("auc"), epsilon=epsilon)


@given(st.floats(min_value=5e-324, max_value=1e300))
def test_a_double_stands_for_its_shortest_decimal_and_for_itself_as_a_float(m: float) -> None:
    made = Margin(m)
    assert made.exact == Fraction(repr(m)) and made == m and Margin(np.float64(m)).exact == made.exact
    for kept in (Margin.from_text(made.text), copy.deepcopy(made), pickle.loads(pickle.dumps(made)), Margin(made)):
        assert (kept, kept.exact) == (made, made.exact)
    assert Margin.from_text(m.hex()).exact == Fraction(m)  # a file that was written when margins were doubles


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=100, max_denominator=10**12))
def test_a_rational_is_taken_as_it_is(m: Fraction) -> None:
    assert Margin(m).exact == Margin(f"{m.numerator}/{m.denominator}").exact == m
    assert Margin.from_text(Margin(m).text).exact == m


@pytest.mark.parametrize("written", ["1/20", "0.05", ".05", "5e-2", " 0.050 ", 0.05, Fraction(1, 20)])
def test_the_same_margin_in_several_spellings(written: float | str | Fraction) -> None:
    assert grid(written).epsilon.exact == Fraction(1, 20)


REFUSED = (0, -1, "0", "1/0", "", ".", "x", "nan", "inf", np.nan, True, None, "1e9999", "1_0")


@pytest.mark.parametrize("written", REFUSED)
def test_what_is_no_margin_is_refused(written: object) -> None:
    with pytest.raises(InputError, match="it must be a number, above 0"):
        grid(written)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "0.05", "2/40", "1/0", "1/8", "0xz", "1" * 800 + "/1", "-1/20", "nan"])
def test_a_file_spells_a_margin_in_one_way(text: str) -> None:
    with pytest.raises(ValueError):
        Margin.from_text(text)


def test_a_pair_on_the_grid_reaches_the_decimal_and_misses_its_double() -> None:
    assert certify(grid(), [1.0, -1.0, 0.0]).value == 1
    assert certify(grid(Fraction(0.2)), [1.0, -1.0, 0.0]).value == 0
    assert certify(replace(grid(0.1), epsilon=0.2), [1.0, -1.0, 0.0]).value == 1


def test_a_margin_that_is_a_double_has_the_digest_and_the_text_of_old_files() -> None:
    written, stored = grid(), grid(Fraction(0.2))
    assert digest(written) != digest(stored) != digest(grid(0.25))
    assert problem_to_json(stored)["epsilon"] == (0.2).hex() and problem_to_json(written)["epsilon"] == "1/5"
    assert problem_to_json(grid(0.25))["epsilon"] == (0.25).hex()
    for problem in (written, stored, grid("1/6")):
        again = problem_from_json(problem_to_json(problem), "file")
        assert (digest(again), again.epsilon.exact) == (digest(problem), problem.epsilon.exact)
        certificate = certify(problem, [1.0, -1.0, 0.0])
        assert recheck(again, Certificate.from_dict(certificate.to_dict())) == certificate


LIMITS = ([1, -0.1, -0.05, 0], [1, 0.1, 0.05, 0.2])


def table(seed: int, n: int = 400, graded: bool = False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1, 3, 100, 0.01] + [0, 5, 2000, 0]
    y = (X[:, 0] + rng.normal(size=n) > 1.5).astype(float)
    return X, y * rng.choice([1.0, 3.0], n) if graded else y


def reduced(X, y, statistic: str, **options):
    low = X.min(axis=0)
    return reduced_problem(X, y, parse(statistic), low, low + deviations(X), LIMITS, **options)


def whole(X, y, statistic: str, kept: Problem) -> Problem:
    """The problem of all rows, in the same scaling."""
    listed = ranked_list(parse(statistic), np.arange(len(X)), y)
    return Problem.build(X, [listed], epsilon=kept.epsilon, low=kept.low, high=kept.high, limits=kept.limits)


@examples(
    30, SEEDS, st.sampled_from(["precision@20", "dcg@10", "window2@8", "ndcg@10", "pauc@7", "recall@20"]), st.booleans()
)
def test_any_allowed_weights_are_worth_the_same_on_what_is_kept(seed: int, statistic: str, graded: bool) -> None:
    X, y = table(seed, graded=graded and statistic != "recall@20")
    kept, rows = reduced(X, y, statistic, epsilon=0.01)
    every = whole(X, y, statistic, kept)
    rng = np.random.default_rng(seed)
    low, high = every.limits
    for w in (low, high, every.unchanged, *(low + rng.random((4, 4)) * (high - low))):
        w = np.clip(w, low, high)
        assert certify(kept, w).value == certify(every, w).value
    assert rows.size < len(X) and np.array_equal(kept.X, X[rows]) and np.all(np.diff(rows) > 0)


@examples(20, SEEDS)
def test_no_row_that_is_left_out_is_among_the_first_at_any_end_of_the_limits(seed: int) -> None:
    X, y = table(seed)
    kept, rows = reduced(X, y, "precision@20", epsilon=0.01)
    out = np.setdiff1d(np.arange(len(X)), rows)
    scaled = (X - kept.low) / (kept.high - kept.low)
    for w in itertools.product(*zip(*LIMITS)):
        scores = scaled @ w
        twentieth = np.sort(scores[y == 0])[-20]
        assert np.all(scores[out] < twentieth - 0.01 + 1e-9)


def test_the_best_weights_are_those_of_the_whole_list() -> None:
    X, y = table(0, 3000)
    kept, rows = reduced(X, y, "precision@50", epsilon=1e-9)
    found, all_ = solve(kept), solve(whole(X, y, "precision@50", kept))
    assert found.closed and all_.closed and found.value == pytest.approx(all_.value)
    assert rows.size < 600


def test_a_list_with_fewer_irrelevant_rows_than_places_is_kept_whole() -> None:
    X, y = table(1, 60)
    assert reduced(X, y, "precision@60")[1].size == 60


@pytest.mark.parametrize("statistic", ["auc", "ap", "dcg", "precision@20 in lists of 900"])
def test_a_statistic_of_all_places_leaves_no_row_out(statistic: str) -> None:
    assert depth_of(parse(statistic), 99) is None and depth_of(parse("dcg@9"), 99) == 9


def test_places_beyond_the_list_take_no_memory() -> None:
    """A window of a million times 1,000 places took 15 gigabytes for 60 rows."""
    assert depth_of(Window(1000, 2.0**40), 60) > 60


TINY = 5e-324  # the smallest positive double
COLUMNS = {
    "one step of the smallest double": [0.0, TINY, TINY, 0.0, TINY],
    "seven steps of the smallest double": [0.0, TINY, 3 * TINY, 5 * TINY, 7 * TINY],
    "subnormal on both sides of 0": [-3 * TINY, -TINY, 0.0, TINY, 2 * TINY],
    "a subnormal range above a normal number": [2.0**-1022 + k * TINY for k in (0, 1, 3, 6, 7)],
    "a range beyond the largest double": [-1.7e308, 1.7e308, 3e307, -4e307, 1e292],
    "up to the largest double": [0.0, 1.7e308, 3e307, 1e300, 1.0],
    "plain numbers": [0.1, 0.7, -2.3, 1e-5, 5.0],
    "a narrow range far from 0": [1e9, 1e9 + 1e-5, 1e9 + 3e-5, 1e9 - 1e-6, 1e9],
    "whole numbers": [0.0, 1.0, 2.0, 5.0, 3.0],
}


def exact(x: float, low: float, high: float) -> Fraction:
    return (Fraction(x) - Fraction(low)) / (Fraction(high) - Fraction(low))


def of_column(column: list[float]) -> Problem:
    X = np.column_stack([column, [0.3, 0.1, 0.8, 0.2, 0.5]])
    return problem_of(X, np.array([1.0, 0, 1, 0, 0]), parse("auc"))


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_the_estimator_ranks_by_the_scores_of_the_problem(column):
    p = of_column(column)
    for w in ([1.0, 0.0], [-1.0, 0.25], [0.3, -1.0], [1.0, 1.0]):
        weights = np.array(w)
        expected = snap(affine(p.scaled, weights))
        assert np.isfinite(expected).all()
        assert snapped_scores(p.X, p.low, p.high, weights).tobytes() == expected.tobytes()


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_scaled_columns_are_near_the_exact_quotient(column):
    p = of_column(column)
    for x, found in zip(column, p.scaled[:, 0].tolist()):
        true = exact(x, min(column), max(column))
        assert abs(Fraction(found) - true) <= 4 * true * Fraction(2) ** -53 and 0 <= found <= 1
    assert p.scaled[:, 0].min() == 0 and p.scaled[:, 0].max() == 1


@pytest.mark.parametrize("shape", [(1, 1), (1, 70), (20, 5), (64, 1), (200, 3), (130, 33), (9, 70)])
def test_the_ends_of_columns_are_those_of_each_alone(shape):
    table = np.random.default_rng(0).normal(size=shape)
    for rows in (np.arange(shape[0]), np.arange(0, shape[0], 2)):
        found = list(zip(*(side.tolist() for side in ends_of(table, rows))))
        assert found == [(min(column), max(column)) for column in table[rows].T.tolist()]


@examples(200, st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=8))
def test_rows_outside_the_range_are_finite_and_in_order(values):
    """Any doubles, scaled by the range of the first two: no overflow, no division by zero, no order turned."""
    low, high = np.array([min(values[:2])]), np.array([max(values[:2])])
    if not high > low:
        return
    x = np.sort(values)
    with np.errstate(all="raise", under="ignore"):
        scaled = scale_columns(x[:, None], low, high)[:, 0]
    assert np.isfinite(scaled).all() and (np.diff(scaled) >= 0).all()
    for value, found in zip(x.tolist(), scaled.tolist()):
        true = exact(value, low[0], high[0])
        if abs(true) < Fraction(2) ** 900:
            assert abs(Fraction(found) - true) <= 4 * abs(true) * Fraction(2) ** -53 + Fraction(TINY)


def test_scores_far_outside_a_subnormal_range_are_finite():
    """Two columns far outside their range in opposite directions would be the difference of two infinities."""
    low, high = np.zeros(2), np.full(2, 3 * TINY)
    rows = np.array([[1e308, 1e308], [1.0, 0.0], [0.0, 1.0], [-1e308, 1e308], [TINY, 0.0]])
    scores = snapped_scores(rows, low, high, np.array([1.0, -1.0]))
    assert np.isfinite(scores).all() and scores[1] > scores[4] > 0 > scores[2] >= scores[3]


@pytest.mark.parametrize(
    "column",
    [np.arange(12) * TINY, np.linspace(-1.7, 1.7, 12) * 1e308, np.arange(12.0)],
    ids=["subnormal", "overflowing", "plain"],
)
def test_a_fit_ranks_as_its_result_says(column):
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.permutation(column), rng.permutation(np.arange(12.0))])
    y = (np.argsort(np.argsort(X[:, 0])) >= 8).astype(float)
    y[rng.integers(12)] = 1.0
    est = Reranker("auc", first_stage=None, solver="search", margin=0.01).fit(X, y)
    result = est.result_
    p = est.state_.problem
    assert result.status == "optimal" and result.value == pytest.approx(result.statistic, abs=1e-12)
    scores = est.decision_function(X)
    assert scores.tobytes() == snap(affine(p.scaled, result.weights)).tobytes()
    assert evaluate("auc", y, scores) == pytest.approx(result.statistic, abs=1e-12)
    # New rows, far outside the range of training: finite, and those of larger entries are never below.
    up = np.sign(result.weights) * np.array([1.0, 1.0])
    far = est.decision_function(np.outer([-1e308, -1.0, 0.0, 1.0, 1e308], up))
    assert np.isfinite(far).all() and (np.diff(far) >= 0).all()


def drawn_problem(seed: int, stat: str) -> Problem:
    graded = drawn_lists(seed, 3, 8, 3, "dcg", C=0.01 * (seed % 2))
    if stat not in ("ap", "rr"):
        return drawn_lists(seed, 3, 8, 3, stat, C=graded.C)
    gains = np.zeros(len(graded.X))
    for item in graded.lists:
        gains[item.rows] = item.gains > 0
    return problem_of(graded.X, gains, parse(stat), np.repeat(np.arange(3), 8), C=graded.C)


@pytest.mark.parametrize("stat", ["auc", "dcg@3", "mrr", "ndcg@5", "ap", "rr"])
@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_of_the_definition(monkeypatch, seed, stat):
    problem = drawn_problem(seed, stat)
    weights = np.random.default_rng(seed).integers(-4, 5, (40, 3)) / 4
    monkeypatch.setattr(values, "BATCH", 60)  # several batches
    found = values_at(problem, weights)
    exact = np.array([float(objective_at(problem, w)) for w in weights])
    assert (found <= exact).all() and found == pytest.approx(exact, abs=1e-9)


def test_corrections_are_valued_with_their_score():
    problem = anchored(3)
    low, high = problem.limits
    weights = np.random.default_rng(3).uniform(low, high, (30, low.size))
    exact = [float(objective_at(problem, w)) for w in weights]
    assert values_at(problem, weights) == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("weights", [np.zeros(3), np.zeros((2, 4)), np.full((1, 3), np.nan)])
def test_weights_of_another_shape_are_refused(weights):
    refuses("3 for each value", values_at, drawn_lists(0, 3, 8, 3, "auc"), weights)


@pytest.mark.parametrize("statistic", ["dcg", "pairs"])
@pytest.mark.parametrize(
    ("X", "gains", "words"),
    [
        ([["a"], ["b"]], [0, 1], "every entry must be a number"),
        ([[1.0], [math.nan]], [0, 1], "NaN"),
        ([[1.0], [2.0]], ["u", "v"], "give a number for each row"),
        ([[1.0], [2.0]], [0, math.nan], "gains holds nan in row 1"),
        ([[1.0], [2.0]], [0, 1e308], "sums of them overflow; divide them all"),
        ([[1.0], [2.0]], [0, 1, 1], "give a row for each"),
        ([1.0, 2.0], [0, 1], "give a row for each"),
        ([], [], "give a number for each row"),
    ],
)
def test_a_problem_of_no_numbers_is_refused(X: Any, gains: Any, words: str, statistic: str) -> None:
    refuses(words, problem_of, X, gains, parse(statistic))


def test_what_has_no_column_is_not_searched_and_no_sum_of_gains_overflows() -> None:
    refuses("no column whose weight could change", solve, problem_of(np.empty((3, 0)), [0, 1, 1], parse("dcg")))
    refuses("their sum is no double; divide", ideal, parse("dcg"), 3, [1.5e308] * 3)


@pytest.mark.parametrize("name", ["auc", "dcg@3", "ndcg", "ap", "pos@top"])
def test_many_lists_are_stated_with_the_bits_of_each_list_alone(name):
    rng, statistic = np.random.default_rng(3), parse(name)
    qid, gains = rng.integers(0, 40, 120), rng.integers(0, 2 if statistic.binary else 4, 120) * 0.7
    gains = (gains > 0).astype(float) if statistic.binary else gains
    problem = problem_of(rng.normal(size=(120, 2)), gains, statistic, qid)
    rows = (np.flatnonzero(qid == q) for q in np.unique(qid))
    alone = [item for own in rows if (item := ranked_list(statistic, own, gains[own])) is not None]
    parts = [
        [(list(getattr(item, n)) for n in ("rows", "gains", "coefficients")) for item in lists]
        for lists in (problem.lists, alone)
    ]
    assert [list(map(list, item)) for item in parts[0]] == [list(map(list, item)) for item in parts[1]]
    numbers = [[(q.weight, q.constant, q.scale, q.alone) for q in lists] for lists in (problem.lists, alone)]
    assert numbers[0] == numbers[1]
    assert digest(problem) == digest(replace(problem, lists=tuple(alone)))
    for item, own in zip(problem.lists, [[u for u in problem.units if u.list_index == q] for q in range(len(alone))]):
        for unit, level in zip(own, sorted({g for g in item.gains.tolist() if g > 0}), strict=True):
            assert unit.positive.tolist() == [r for r, g in zip(item.rows, item.gains) if g >= level]
            assert unit.negative.tolist() == [r for r, g in zip(item.rows, item.gains) if g < level]
