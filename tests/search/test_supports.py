"""Supports: listed, screened by boxes and by groups of equal rows, and their optimum against solving every support."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.problem import Problem, problem_of
from rerank.search import solve
from rerank.search.boxes.listing import grid_of, vertices
from rerank.search.boxes.vertices import Exact, _vertices
from rerank.search.jobs import screen_supports
from rerank.search.rows.lines import RowLines
from rerank.search.run import SearchRun
from rerank.search.sizes import OutOfTimeError
from rerank.search.supports import screening
from rerank.search.supports import subsets as module
from rerank.search.supports.groups import bound_by_groups, groups_of
from rerank.search.supports.screening import Screens, layout
from rerank.search.supports.screening_kernel import (
    FACE,
    LEVELS,
    SIGNED_FACE,
    SIGNED_SPLIT,
    SPLIT,
    begin,
    halve,
    open_face,
    reductions,
)
from rerank.search.supports.subsets import moving, supports
from rerank.statistics import parse
from tests.cases.examples import SEEDS, examples
from tests.cases.instances import draw, with_hits
from tests.cases.search import drawn_lists, noisy_problem, surface, tables
from tests.oracles.comparisons import check_search
from tests.oracles.oracle import objective_at, optimum


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("limit", [None, 1, 2, 7])
def test_supports_are_the_subsets_that_matter(d: int, limit: int | None) -> None:
    largest = min(limit or d, d)
    free, left = supports(d, limit, priced=False)
    assert sorted(tuple(s) for s in free) == sorted(combinations(range(d), largest)) and left is None
    paid, left = supports(d, limit, priced=True)
    assert [tuple(s) for s in paid] == [s for k in range(1, largest + 1) for s in combinations(range(d), k)]
    assert left is None


def test_any_stretch_of_the_supports_is_computed_from_its_place() -> None:
    some, _ = supports(7, 4, priced=True)
    every = list(some)
    assert [tuple(some[i]) for i in range(len(some))] == [tuple(x) for x in every]
    assert tuple(some[-1]) == (3, 4, 5, 6)
    assert some.sizes.tolist() == [x.size for x in every]
    for first in range(0, len(some), 5):
        rows = some.rows(first, first + 12)
        assert [tuple(x) for x in rows] == [tuple(x) for x in every[first : first + len(rows)]]
        assert len(rows) == 12 or first + len(rows) in (7, 28, 63, 98)
    with pytest.raises(IndexError):
        some[len(some)]


@pytest.mark.parametrize("limit", [1, 3, 4])
def test_supports_among_some_features_are_those_of_their_places(limit: int) -> None:
    among = np.array([1, 2, 5, 8])
    for anchored in (False, True):
        plain, _ = supports(4, limit, True, anchored)
        some, _ = supports(4, limit, True, anchored, among)
        first = [0] * anchored
        expected = [(*first, *among[s[anchored:] - anchored]) for s in plain]
        assert [tuple(s) for s in some] == expected == [tuple(some[i]) for i in range(len(some))]


@pytest.mark.parametrize("seed", range(25))
def test_features_that_move_no_pair_are_left_out_and_the_optimum_stays(seed: int) -> None:
    """A feature that is equal within every list: all weights of it are enumerated, the search has none."""
    drawn = draw(seed, n_max=9, d_max=2).problem
    home, at = np.zeros(len(drawn.X)), seed % (drawn.n_features + 1)
    for q, item in enumerate(drawn.lists):
        home[item.rows] = q
    problem = replace(
        drawn,
        X=np.insert(drawn.X, at, home, axis=1),
        signs=np.insert(drawn.signs, at, seed % 3 - 1),
        low=np.insert(drawn.low, at, 0.0),
        high=np.insert(drawn.high, at, 1.0 + home.max()),
    )
    assert (moving(problem) == np.delete(np.arange(problem.n_features), at)).all()
    assert all(at not in support for support in SearchRun(problem, 0).boxes.columns)
    assert check_search(problem, time_limit=30.0).failures == ()
    assert check_search(problem, proof=True, time_limit=30.0).failures == ()


def test_features_stay_where_none_moves_a_pair() -> None:
    X = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 5.0], [3.0, 5.0]])
    problem = problem_of(X, [1.0, 0.0, 1.0, 0.0], parse("auc"), [0, 0, 1, 1])
    assert moving(problem).tolist() == [0, 1] and solve(problem, n_jobs=1).closed


def on(problem: Problem, features: tuple[int, ...]) -> Problem:
    """The same problem with these features alone, no price and no limit."""
    j = list(features)
    parts: dict[str, Any] = {"X": np.ascontiguousarray(problem.X[:, j]), "signs": problem.signs[j]}
    return replace(problem, C=0.0, max_features=None, low=problem.low[j], high=problem.high[j], **parts)


def enumerated(problem: Problem) -> tuple[float, tuple[int, ...]]:
    """Best value over all supports, each solved on its own, and the support."""
    d = problem.n_features
    nothing = solve(replace(problem, C=1e9 * (1 + abs(problem.ideal))), n_jobs=1).value
    best: tuple[float, tuple[int, ...]] = (nothing, ())
    for size in range(1, (problem.max_features or d) + 1):
        for chosen in combinations(range(d), size):
            found = solve(on(problem, chosen), n_jobs=1)
            assert found.closed
            best = max(best, (found.value - problem.C * size, chosen), key=lambda item: item[0])
    return best


def test_supports_share_what_one_of_them_found() -> None:
    problem = noisy_problem(60, 6, "mrr", 0.3, 3, max_features=2)
    alone = sum(solve(on(problem, pair), n_jobs=1).boxes for pair in combinations(range(6), 2))
    assert solve(problem, n_jobs=1).boxes < alone


def test_a_support_left_out_keeps_the_bound_up(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = noisy_problem(30, 4, "auc", 0.35, 2, C=0.01)
    whole = solve(problem, n_jobs=1)
    monkeypatch.setattr(module, "MOST", 5)
    part = solve(problem, n_jobs=1)
    assert not part.closed and part.bound >= whole.value and part.value <= whole.value


def lattice(seed: int, statistic: str, **options: Any) -> Problem:
    """Few values a feature, most of them zero: equal rows, antiparallel pairs, sides of boxes that end at 0."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((40, 5)) < 0.5, 0.0, rng.integers(-2, 3, size=(40, 5)))
    y = X @ rng.normal(size=5) + rng.normal(size=40) > 0.7
    return problem_of(X, y.astype(float), parse(statistic), **options)


SCREENED = {
    "auc": lambda: noisy_problem(30, 5, "auc", 0.35, 0, max_features=3),
    "mrr, signs": lambda: noisy_problem(30, 5, "mrr", 0.35, 1, max_features=3, signs=[1, -1, 0, 0, 1]),
    "auc, a wide margin": lambda: noisy_problem(30, 5, "auc", 0.35, 2, max_features=2, epsilon=0.3),
    "auc, no margin can be met": lambda: noisy_problem(30, 4, "auc", 0.35, 2, max_features=2, epsilon=9.0),
    "auc, each feature costs": lambda: noisy_problem(30, 4, "auc", 0.35, 3, C=0.01),
    "auc on a lattice": lambda: lattice(4, "auc", max_features=2),
    "dcg@5 on a lattice, costs": lambda: lattice(5, "dcg@5", C=0.05, max_features=3),
    "auc on lists": lambda: drawn_lists(6, 6, 8, 4, "auc", max_features=2),
    "ndcg@5 on lists, grades": lambda: drawn_lists(7, 6, 8, 4, "ndcg@5", max_features=2),
}


@pytest.mark.parametrize("name", SCREENED)
def test_a_support_is_fathomed_only_if_it_holds_nothing_better(name: str) -> None:
    problem = SCREENED[name]()
    run = SearchRun(problem, None)
    t, d = run.tables, problem.n_features
    held = boxed = 0
    for size in range(1, (problem.max_features or d) + 1):
        rows = np.array(list(combinations(range(d), size)), dtype=np.int32)
        found = [solve(on(problem, tuple(r)), n_jobs=1) for r in rows]
        best = (np.array([x.value for x in found]) - t.constant) / (t.grain if t.integral else 1.0)
        best = np.floor(best + 1e-6) if t.integral else best - 1e-13 * (1.0 + np.abs(best))
        step = 0.5 if t.integral else 1e-9
        made = Screens(None, layout(t, d), 1.0, 0.0, False)
        bounds, batches, _ = screen_supports(made, rows, best - step, run.domain.signed)
        assert (bounds >= best - t.slack).all()
        for features, x, value, batch in zip(rows, found, best, batches, strict=True):
            w = x.weights / run.domain.scale[features]
            if batch is not None and w.any():
                inside = (np.abs(w / np.abs(w).max() - batch.centres) <= batch.halves + 1e-12).all(axis=1)
                assert batch.bounds[inside].max() >= value - t.slack
                boxed += 1
        bounds, _, _ = screen_supports(made, rows, best + 0.1 * (t.ideal - best) + step, run.domain.signed)
        held += int((bounds == -np.inf).sum())
        # A face of a single feature is a point and has no side to halve: it is left to the box search.
        bounds, _, _ = screen_supports(made, rows, np.full(len(rows), t.ideal + t.slack), run.domain.signed)
        assert size == 1 or (bounds == -np.inf).all()
    assert held > 0 and (boxed > 0 or name == "auc, no margin can be met")


PRICED = SCREENED | {"auc, each feature costs too much": lambda: noisy_problem(30, 4, "auc", 0.35, 2, C=0.6)}


@pytest.mark.parametrize("name", PRICED)
def test_prices_and_limits_are_what_solving_every_support_gives(name: str) -> None:
    problem = PRICED[name]()
    found = solve(problem, n_jobs=1)
    value, chosen = enumerated(problem)
    assert found.closed
    assert found.value == pytest.approx(value, rel=1e-12, abs=1e-12) and found.bound >= value
    used = np.flatnonzero(found.weights)
    assert used.size <= (problem.max_features or problem.n_features)
    if problem.C:
        assert used.size == len(chosen)


@pytest.mark.parametrize("name", SCREENED)
def test_value_and_proof_are_those_of_the_search_without_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = SCREENED[name]()
    monkeypatch.setattr(screening, "FIRST", 1)  # many rounds
    found = solve(problem, n_jobs=1)
    workers = solve(problem, n_jobs=2)
    assert np.array_equal(found.weights, workers.weights) and found.boxes == workers.boxes
    plain = solve(problem, n_jobs=1, proof=True)  # a proof covers every support
    assert found.closed and plain.closed
    assert found.value == pytest.approx(plain.value, rel=1e-12, abs=1e-12)


@examples(60, st.integers(0, 10**6), st.booleans())
def test_sums_are_never_below_what_a_box_can_reach(seed: int, lattice: bool) -> None:
    rng = np.random.default_rng(seed)
    s = int(rng.integers(1, 5))
    D = rng.integers(-3, 4, size=(s, 50)) / 3 if lattice else rng.uniform(-1, 1, size=(s, 50))
    scaled = D / 2.0**-12
    up = (np.sign(scaled) * np.ceil(np.abs(scaled))).astype(np.int16)
    down = np.trunc(scaled).astype(np.int16)
    rows = np.empty((s, LEVELS, 50), np.int16)
    for j in range(s):
        reductions(up[j], down[j], rows[j])
    one_way = rng.random(s) < 0.3
    low, high = np.where(one_way, 0.0, -1.0), np.ones(s)
    sums, left, right = np.empty((3, 50), np.int16)
    begin(rows, np.zeros(50, np.int16), one_way, sums)
    face = int(rng.integers(s))
    negative = bool(rng.random() < 0.5 and not one_way[face])
    open_face(sums, rows[face, SIGNED_FACE if one_way[face] else FACE], negative, left)
    sums = left.copy()
    low[face] = high[face] = -1.0 if negative else 1.0
    level = np.where(one_way, SIGNED_SPLIT, SPLIT)
    for _ in range(12):
        most = np.maximum(low[:, None] * D, high[:, None] * D).sum(axis=0) / 2.0**-12
        assert (sums >= most - 1e-9).all() and (sums <= most + 8 * s).all()
        j = int(rng.integers(s))
        if j == face or level[j] >= LEVELS:
            continue
        n_left, n_right = halve(sums, rows[j, level[j]], np.int16(1), left, right)
        assert (n_left, n_right) == ((left < 1).sum(), (right < 1).sum())
        level[j] = SIGNED_SPLIT if level[j] == SPLIT else level[j] + 1
        middle = (low[j] + high[j]) / 2
        if rng.random() < 0.5:
            high[j], sums = middle, left.copy()
        else:
            low[j], sums = middle, right.copy()


STATISTICS = ("auc", "pauc@3", "precision@3", "mrr", "dcg@4", "ndcg", "wta")


def few_values(seed: int, n: int = 10, d: int = 3, values: int = 2, **options: object) -> Problem:
    """Rows on a small grid, perhaps in two lists or with grades."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, size=(n, d)).astype(float)
    X[:2] = [np.zeros(d), np.ones(d)]
    gains = rng.choice([0.0, 0.0, 1.0, 3.0] if seed % 3 == 0 else [0.0, 0.0, 1.0], size=n)
    gains[[0, -1]] = 1.0, 0.0
    qid = np.repeat([0, 1], [n - n // 3, n // 3]) if seed % 2 else None
    if qid is not None:
        gains[[n - 1, n - 2]] = 0.0, 1.0
    return problem_of(X, gains, parse(STATISTICS[seed % len(STATISTICS)]), qid, **options)


def value_at(problem: Problem, scores: np.ndarray, margin: float) -> float:
    """Value of scores by the definition, without the constant."""
    total = 0.0
    for item, unit in ((problem.lists[unit.list_index], unit) for unit in problem.units):
        lost = sorted(sum(scores[i] - scores[k] < margin for k in unit.negative) for i in unit.positive)
        for j, x in enumerate(lost):
            place = x if item.alone else j + x
            total += unit.factor * (1 if item.hits is None else item.hits[j]) * unit.coefficients[::-1][place]
    return float(total)


def best_order(problem: Problem, features: tuple[int, ...]) -> float:
    """Largest value of any scorer that sees these features alone, by trying every order of the different rows."""
    _, of = np.unique(problem.X[:, features], axis=0, return_inverse=True)
    orders = permutations(range(of.max() + 1))
    return max(value_at(problem, np.array(order)[of.ravel()], 0.5) for order in orders)


@examples(60, SEEDS)
def test_screens_of_supports_bound_every_order(seed: int) -> None:
    """Groups against all orders of the different rows, coarse boxes against points."""
    plain = few_values(seed)
    problem = with_hits(plain, seed) if seed % 3 else plain
    rows = np.array(list(combinations(range(3), 2)), dtype=np.int32)
    t, no_limit, free = tables(problem), np.full(3, -1.0), np.zeros(3, bool)
    by_groups, *_ = screen_supports(Screens(groups_of(problem), None, 1.0, 0.0, False), rows, no_limit, free)
    by_boxes, *_ = screen_supports(Screens(None, layout(t, 2), 1.0, 0.0, False), rows, no_limit, free)
    for features, groups, boxes in zip(rows, by_groups, by_boxes, strict=True):
        best = best_order(problem, tuple(features))
        assert groups >= best - 1e-12
        if problem is plain and STATISTICS[seed % len(STATISTICS)] == "auc" and len(problem.units) == 1:
            assert groups == pytest.approx(best)  # the order by shares is the best one
        for w in surface(np.random.default_rng(seed), problem, 6):
            on_two = np.zeros(3)
            on_two[features] = w[features]
            if on_two.any():
                scores = problem.scaled @ (on_two / np.abs(on_two).max())
                assert boxes >= value_at(problem, scores, problem.epsilon) - 1e-12


@examples(40, SEEDS)
def test_what_a_limit_fathoms_is_not_above_it(seed: int) -> None:
    problem = few_values(seed, values=3, n=9)
    groups = groups_of(problem)
    assert groups is not None
    rows = np.array([[0, 1], [0, 2], [1, 2]], dtype=np.int32)
    whole = np.full(3, np.inf)
    bound_by_groups(groups, rows, np.full(3, -1.0), whole)
    limits = np.random.default_rng(seed).uniform(0.5, 1.1, size=3) * whole
    some = np.full(3, np.inf)
    bound_by_groups(groups, rows, limits, some)
    assert np.array_equal(some == -np.inf, whole <= limits) and (some[whole > limits] == whole[whole > limits]).all()


@examples(25, SEEDS, st.integers(1, 2))
def test_the_optimum_on_few_features_is_found(seed: int, most: int) -> None:
    problem = few_values(seed, values=2 + seed % 2, max_features=most, epsilon=0.05)
    found, best = solve(problem, n_jobs=1), optimum(problem)
    assert best is not None and found.closed
    assert found.value == pytest.approx(float(best.value)) and found.bound >= float(best.value)
    assert float(objective_at(problem, found.weights)) == pytest.approx(found.value)


def test_groups_that_fill_all_places_earn_nothing() -> None:
    X = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 8, axis=0)
    y = np.tile([1.0, 1, 1, 0, 0, 0, 0, 0], 4)
    y[8:13] = 1.0  # one group has three irrelevant rows, the others five
    problem = problem_of(X, y, parse("precision@4"))
    groups = groups_of(problem)
    bounds = np.full(1, np.inf)
    bound_by_groups(groups, np.array([[0, 1]], dtype=np.int32), np.full(1, -1.0), bounds)
    assert bounds[0] == 1.0 == best_order(problem, (0, 1))


def test_features_with_many_values_are_left_to_boxes() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, size=(60, 3)), rng.normal(size=(60, 2))])
    y = (X @ [1.0, 0.5, 0.0, 1.0, 0.0] + rng.normal(size=60) > 1).astype(float)
    problem = problem_of(X, y, parse("auc"), max_features=2)
    groups = groups_of(problem)
    assert groups is not None and groups.values.tolist() == [2, 2, 2, 0, 0]
    bounds = np.full(2, np.inf)
    bound_by_groups(groups, np.array([[0, 1], [0, 3]], dtype=np.int32), np.full(2, -1.0), bounds)
    assert np.isfinite(bounds[0]) and bounds[1] == np.inf
    found, plain = solve(problem, n_jobs=1), solve(problem, n_jobs=1, proof=True)  # a proof screens nothing
    assert found.closed and found.value == pytest.approx(plain.value)
    assert groups_of(problem_of(X[:, 2:], y, parse("auc"), max_features=2)) is None


def test_booleans_take_fewer_boxes_than_without_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    X = (rng.random((120, 12)) < 0.4).astype(float)
    y = (X[:, 0] + X[:, 1] + 0.7 * X[:, 2] + rng.normal(size=120) > 2).astype(float)
    problem = problem_of(X, y, parse("precision@20"), max_features=3, epsilon=1e-2)
    found = solve(problem, n_jobs=1)
    monkeypatch.setattr("rerank.search.supports.groups.MOST_VALUES", 1)
    monkeypatch.setattr(screening, "MOST_PLACES", 10)
    alone = solve(problem, n_jobs=1)
    assert found.closed and alone.closed and found.value == pytest.approx(alone.value)
    assert 3 * found.boxes < alone.boxes


def test_long_lists_with_a_limit_have_no_table_of_pairs() -> None:
    from rerank.search.run import SearchRun
    from rerank.search.tables import RowTables

    rng = np.random.default_rng(2)
    X = rng.normal(size=(9000, 6))
    y = (X[:, 0] + X[:, 3] + rng.normal(size=9000) > 2.7).astype(float)
    problem = problem_of(X, y, parse("precision@50"), max_features=2)
    run = SearchRun(problem)
    assert isinstance(run.tables, RowTables)
    found = solve(problem, n_jobs=1, time_limit=60.0)
    assert found.closed and np.count_nonzero(found.weights) <= 2
    small = problem_of(X[:300], y[:300], parse("precision@50"), max_features=2)
    assert isinstance(tables(small).pairs, np.ndarray) and not isinstance(SearchRun(small).tables, RowTables)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_features_are_added_one_at_a_time_on_long_lists(most: int) -> None:
    from rerank.search.lines.forward import forward
    from rerank.search.run import SearchRun

    rng = np.random.default_rng(3)
    X = rng.normal(size=(4000, 8))
    y = (X[:, 0] + X[:, 3] + 0.5 * X[:, 6] + rng.normal(size=4000) > 3).astype(float)
    problem = problem_of(X, y, parse("precision@50"), max_features=most)
    run = SearchRun(problem)
    assert isinstance(run.lines, RowLines) and run.tables.smooth
    found = forward(run.lines, most, lambda n: 0.0)
    assert [np.count_nonzero(w) for _, w in found] == list(range(1, most + 1))
    assert all(run.lines.value(w) == pytest.approx(value) and value > 0 for value, w in found)


@pytest.mark.parametrize("reason", [None, InputError("too large"), OutOfTimeError("late"), KeyboardInterrupt()])
def test_a_search_goes_on_without_a_table_for_the_screening(
    reason: BaseException | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object) -> None:
        raise reason

    rng = np.random.default_rng(4)
    X = rng.normal(size=(4000, 4))
    y = (X[:, 0] + X[:, 3] + rng.normal(size=4000) > 3).astype(float)
    problem = problem_of(X, y, parse("precision@20"), max_features=2)
    expected = solve(problem, n_jobs=1)
    if reason is None:
        monkeypatch.setattr(screening, "MOST_PLACES", 10)
        assert layout(tables(problem), 4) is None
    else:
        monkeypatch.setattr(screening, "affordable_pairs", refuse)
    found = solve(problem, n_jobs=1)
    assert found.closed and found.value == pytest.approx(expected.value)


def of_levels(seed: int, margin: float) -> Problem:
    """Rows of few levels, many of them equal, with AUC and at most three of five features."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, [2, 2, 3, 2, 5], size=(36, 5)) / [1, 1, 2, 1, 4]
    y = (X @ rng.normal(size=5) + rng.normal(size=36) > 0.5) * 1.0
    y[:2], X[:2] = (0, 1), ((0,) * 5, (1,) * 5)
    signs = rng.choice([-1, 0, 0, 1], size=5)
    return problem_of(X, y, parse("auc"), max_features=3, epsilon=margin, signs=signs)


@pytest.mark.parametrize("seed", range(6))
def test_supports_of_few_levels_have_the_optimum_of_enumeration(seed: int) -> None:
    problem = of_levels(seed, [1e-9, 0.25, 0.05, 0.5, 1e-4, 0.1][seed % 6])
    found = solve(problem, time_limit=60)
    best = max(
        optimum(
            problem_of(
                problem.X[:, s],
                problem.lists[0].gains,
                parse("auc"),
                epsilon=problem.epsilon,
                signs=problem.signs[list(s)],
            )
        ).value
        for s in combinations(range(5), 3)
    )
    assert found.bound == pytest.approx(float(best), abs=1e-9) and found.value <= found.bound
    # Where the margin is no binary fraction the best weights may be such that no doubles hold them.
    assert seed == 5 or found.value == pytest.approx(float(best), abs=1e-12)


@examples(60, SEEDS)
def test_vertices_of_a_grid_are_those_of_elimination_in_rationals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, size = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    rows = [[Fraction(int(x), size) for x in row] for row in rng.integers(-3, 4, size=(int(rng.integers(1, 7)), k))]
    margin = Fraction(*[(1, 10**9), (1, 4), (1, 3), (1, 20)][seed % 4])
    face = np.zeros(k)
    face[rng.integers(k)] = rng.choice([-1.0, 1.0])
    half = np.where(face != 0, 0.0, 1.0)
    made = grid_of(rows, k - 1)
    if k == 1:
        assert made is None
        return
    grid, unit = made
    found = {
        (tuple(np.round(x, 12)), tuple(w))
        for points, won in vertices(grid, face, half, margin * unit)
        for x, w in zip(points, won)
    }
    slow = {
        (tuple(np.round([float(v) for v in x], 12)), tuple(Exact._score(x, row) >= margin for row in rows))
        for x in _vertices([(tuple(row), margin) for row in rows], face, half, np.flatnonzero(half))
    }
    assert found == slow
