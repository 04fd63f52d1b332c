"""The search by rows: boxes and lines against enumeration, the search by pairs, all crossings, rationals and loops."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.problem import Problem, problem_of
from rerank.problem.values import values_at
from rerank.search import sizes, solve, workspace
from rerank.search.boxes.antiparallel import NO_GROUPS
from rerank.search.boxes.nodes import Support
from rerank.search.boxes.vertices import RowExact
from rerank.search.domain import Domain
from rerank.search.lines.forward import forward
from rerank.search.lines.search import LineSearch
from rerank.search.rows import choice
from rerank.search.rows.choice import rows_alone
from rerank.search.rows.lines import sorted_value
from rerank.search.rows.sweep import value_of
from rerank.statistics import parse
from tests.cases.examples import SEEDS, examples
from tests.cases.instances import draw, with_hits
from tests.cases.search import by_rows, drawn_lists, noisy_problem, row_lines, rows_of, surface, tables
from tests.oracles.anchored import anchored
from tests.oracles.comparisons import check_search
from tests.oracles.oracle import objective_at, optimum

Floats = NDArray[np.float64]
HITS = ("ap", "rr", "success@2", "success@5", "ap@3", "rr@3", "pos@top")
MANY = ("precision@300", "dcg@300", "window2@250")
PLAIN = ("precision@10", "dcg@10", "mrr", "auc")


@pytest.fixture
def always() -> Iterator[None]:
    """Search every problem by rows."""
    with by_rows():
        yield


def unlimited(seed: int, **options: Any) -> Problem:
    """A drawn problem without a limit or a price on features."""
    while (problem := draw(seed, **options).problem).C > 0 or problem.max_features is not None:
        seed += 1
    return problem


def weighed(seed: int) -> Problem:
    """A drawn problem with weights of hits, one in four a given score with corrections."""
    return with_hits(anchored(seed, n_max=8) if seed % 4 == 0 else draw(seed, n_max=11).problem, seed)


ENUMERATED = {
    "without a price": lambda seed: unlimited(40 * seed, n_max=11),
    "a given score": lambda seed: replace(anchored(1000 + seed, n_max=8), C=0.0, max_features=None),
    "weights of hits": weighed,
    **{stat: lambda seed, stat=stat: draw(37 * seed, n_max=11, statistic=stat).problem for stat in HITS},
}


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(("kind", "seed"), [(k, seed) for k in ENUMERATED for seed in range(6 if k in HITS else 40)])
def test_value_and_bound_meet_the_enumerated_optimum(kind: str, seed: int) -> None:
    assert check_search(ENUMERATED[kind](seed)).failures == ()


@pytest.mark.usefixtures("always")
@examples(40, SEEDS, st.sampled_from([None, 0]))
def test_the_bound_of_an_open_search_holds_also_where_no_pairs_are_formed(seed: int, refined: int | None) -> None:
    problem = unlimited(seed, n_max=14, d_max=4)
    if refined == 0:
        problem = with_hits(replace(draw(seed, n_max=30, d_max=4).problem, C=0.0, max_features=None), seed)
    with pytest.MonkeyPatch.context() as patch:
        if refined == 0:
            patch.setattr(workspace, "MOST_REFINED", 0)
        found = solve(problem, time_limit=5.0, n_jobs=1, node_limit=20 if refined is None else 200)
    for w in surface(np.random.default_rng(seed), problem, 14):
        assert objective_at(problem, w) <= found.bound


@examples(100, SEEDS)
def test_rows_that_leave_a_box_change_the_value_nowhere_in_it(seed: int) -> None:
    """Of each point of a box, the value of the rows that are left and of all rows."""
    from rerank.search.rows.kernel import assess

    rng = np.random.default_rng(seed)
    lists, n, d = int(rng.integers(1, 3)), int(rng.integers(10, 60)), int(rng.integers(2, 4))
    X, gains = rng.normal(size=(lists * n, d)), (rng.random(lists * n) < rng.choice([0.1, 0.5])).astype(float)
    gains[0] = 1.0
    stat = str(rng.choice(["ap", "precision@5", "dcg@3", "dcg"]))
    problem = problem_of(X, gains, parse(stat), np.repeat(np.arange(lists), n), epsilon=0.01)
    problem = with_hits(problem, seed) if rng.random() < 0.7 else problem
    t = rows_of(problem)
    space, given_ = workspace.row_space(t, d), workspace.given(t, Support(np.arange(d), None, NO_GROUPS))
    centre, half = rng.uniform(-1, 1, d), rng.choice([0.02, 0.1, 0.3]) * rng.random(d)
    points = centre + half * rng.uniform(-1, 1, size=(8, d))

    def assessed(c: Floats, h: Floats, level: int) -> tuple[float, float]:
        space.axes[0], space.axes[1] = c, h
        return assess(given_, space, level, np.inf if seed % 2 else -np.inf)[:2]

    before = [assessed(x, 0 * x, 0)[1] for x in points]
    bound, _ = assessed(centre, half, 0)
    after = [assessed(x, 0 * x, 1)[1] for x in points]
    assert after == pytest.approx(before, abs=1e-9)
    assert max(before) <= bound + 1e-9


BOTH = {
    **{f"{s}, one list": lambda s=s: noisy_problem(120, 3, s, 0.2, 1) for s in PLAIN},
    **{f"{s}, lists": lambda s=s: drawn_lists(0, 12, 12, 3, s) for s in PLAIN},
    **{f"{s}, one list": lambda s=s: noisy_problem(150, 3, s, 0.1, 2) for s in ("ap", "rr", "success@3")},
    **{f"{s}, lists": lambda s=s: drawn_lists(3, 12, 30, 3, s) for s in ("ap", "rr", "success@3")},
    # So many rows stay near the top that boxes form only the pairs that their rows' intervals do not separate.
    **{s: lambda s=s: noisy_problem(900, 2, s, 0.4, 0) for s in MANY},
}


@pytest.mark.parametrize("name", BOTH)
def test_rows_and_pairs_close_at_the_same_value(name: str) -> None:
    problem = BOTH[name]()
    with by_rows():
        mine = solve(problem, n_jobs=1)
    with by_rows(False):
        theirs = solve(problem, n_jobs=1)
    assert mine.closed and theirs.closed and mine.weights.any()
    assert mine.value == pytest.approx(theirs.value, abs=1e-12)
    assert max(mine.bound, theirs.bound) == pytest.approx(mine.value, abs=1e-10)
    assert name not in MANY or mine.boxes <= 2 * theirs.boxes


@pytest.mark.usefixtures("always")
def test_any_number_of_workers_gives_the_same_bits() -> None:
    problem = noisy_problem(1500, 4, "dcg@20", 0.1, 0)
    one, two = (solve(problem, n_jobs=jobs) for jobs in (1, 2))
    assert (one.value, one.bound, one.boxes) == (two.value, two.bound, two.boxes)
    assert np.array_equal(one.weights, two.weights)


@pytest.mark.parametrize("seed", range(3))
def test_hardly_a_sampled_point_of_a_line_of_many_lists_beats_the_point_found(seed: int) -> None:
    """A grid finds the point; with few lists it is the best one, as the tests of all crossings say."""
    rng = np.random.default_rng(seed)
    search = row_lines(drawn_lists(seed, 300, 15, 4, "dcg@3"))
    w, u = rng.normal(size=(2, 4))
    w /= np.abs(w).max()
    value, point = search.line(w, u)
    assert value == search.value(point) and np.abs(point).max() == 1.0
    for tau in np.tan(rng.uniform(-np.pi / 2, np.pi / 2, 300)):
        x = w + tau * u
        assert search.value(x / np.abs(x).max()) <= 1.02 * value + 1e-12


@pytest.mark.usefixtures("always")
def test_points_keep_to_the_signs() -> None:
    problem = noisy_problem(300, 4, "dcg@10", 0.1, 0, signs=[1, -1, 0, 1])
    assert np.all(solve(problem, n_jobs=1).weights * problem.signs >= 0)
    for seed in range(40):
        problem, rng = on_a_grid(seed), np.random.default_rng(seed)
        problem = replace(problem, signs=np.ones(problem.n_features, np.int8))
        for search in (row_lines(problem), LineSearch(tables(problem), Domain.of(problem))):
            w, u = np.abs(rng.normal(size=problem.n_features)), rng.normal(size=problem.n_features)
            value, point = search.line(w / w.max(), u)
            assert np.all(point >= 0) and value == pytest.approx(search.value(point), abs=1e-12)


def test_rows_are_taken_where_there_are_many_pairs_and_few_places() -> None:
    assert not choice.by_rows(noisy_problem(200, 3, "dcg@10", 0.3, 0))
    assert choice.by_rows(noisy_problem(2000, 3, "dcg@10", 0.3, 0))
    assert not choice.by_rows(noisy_problem(2000, 3, "auc", 0.3, 0))
    short = drawn_lists(0, 5000, 20, 3, "dcg@3")
    assert choice.lines_by_rows(short) and not choice.by_rows(short)


@pytest.mark.usefixtures("always")
def test_lines_by_rows_beside_boxes_by_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = drawn_lists(0, 12, 12, 3, "dcg@3")
    mine = solve(problem, n_jobs=1)
    monkeypatch.setattr(choice, "by_rows", lambda problem, supports=False: False)
    for proof in (False, True):
        beside = solve(problem, n_jobs=1, proof=proof)
        assert beside.closed and beside.value == pytest.approx(mine.value, abs=1e-12)
        assert (beside.proof is not None) == proof


@pytest.mark.usefixtures("always")
def test_rows_that_do_not_fit_into_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "memory", lambda: 1e5)
    with pytest.raises(InputError, match=r"2,000 rows of 3 features, 0.\d+ GB; lower n_candidates"):
        solve(noisy_problem(2000, 3, "dcg@10", 0.3, 0))


@pytest.mark.usefixtures("always")
def test_equal_rows_of_both_kinds_are_lost_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "MOST_REFINED", 3)  # no room to form pairs
    problem = unlimited(7, n_max=9, d_max=2)
    assert check_search(problem).failures == ()


@examples(60, SEEDS, st.booleans())
def test_a_point_is_worth_by_rows_what_it_is_in_rationals(seed: int, weighs: bool) -> None:
    problem = unlimited(seed, n_max=14, d_max=3)
    problem = with_hits(problem, seed) if weighs else problem
    domain = Domain.of(problem)
    exact = RowExact(problem, row_lines(problem), domain)
    for w in surface(np.random.default_rng(seed), problem, 6):
        here = float(objective_at(problem, w))
        near = exact._near(w / domain.scale, np.zeros(w.size))  # the rows that can matter at the point
        assert near is not None and near.tables.to_value(near.value(w / domain.scale)) == pytest.approx(here, abs=1e-9)
        assert exact.lines.tables.to_value(exact.value(w / domain.scale)) == pytest.approx(here, rel=1e-12, abs=1e-12)


@pytest.mark.usefixtures("always")
def test_boxes_that_are_too_small_to_split_are_decided_in_rationals(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = draw(150, n_max=11).problem  # rows that differ by some 1e-12
    best = solve(problem, n_jobs=1)
    assert best.closed and best.value == pytest.approx(float(optimum(problem).value))
    monkeypatch.setattr(RowExact, "largest", lambda *box: None)
    assert not solve(problem, n_jobs=1, time_limit=1.0).closed


@pytest.mark.parametrize("stat", HITS)
def test_the_ideal_is_that_of_the_problem(stat: str) -> None:
    for problem in (noisy_problem(60, 3, stat, 0.2, 0), drawn_lists(0, 5, 12, 3, stat)):
        t = rows_of(problem)
        assert t.to_value(t.ideal) == pytest.approx(problem.ideal, rel=1e-12)


def test_the_first_hit_of_long_lists_is_searched_by_rows_and_closes() -> None:
    problem = drawn_lists(0, 6, 3000, 2, "success@10")
    assert rows_alone(problem) and rows_alone(replace(problem, max_features=1))
    found = solve(problem, n_jobs=1)
    assert found.closed
    item = problem.lists[0]
    one = problem_of(problem.X[item.rows], item.gains, parse("rr"))
    assert rows_alone(one) == (choice.number_of_pairs(one) > choice.FROM_PAIRS)


def on_a_grid(seed: int) -> Problem:
    """A free problem whose scaled rows are multiples of 1/8, and the margin is none: no pair stays on it."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 11)), int(rng.integers(2, 4))
    X = rng.integers(0, 9, size=(n, d)).astype(float)
    X[0], X[1] = 0.0, 8.0
    gains = rng.integers(0, 3, size=n).astype(float)
    gains[:2] = 0.0, 1.0
    qid = rng.integers(0, 2, size=n)
    qid[:2], gains[2] = 0, 2.0
    statistic = str(rng.choice(["dcg@3", "ndcg@2", "precision@2", "auc", "mrr", "dcg"]))
    return problem_of(X, gains, parse(statistic), qid, epsilon=3 / 64)


def slow_best(problem: Problem, w: NDArray[np.int64], u: NDArray[np.int64]) -> float:
    """Best value of ``w + tau u`` between all places where a pair meets the margin, as fractions."""
    epsilon = Fraction(problem.epsilon)
    bends = [(int(s) * int(a), int(s) * int(b)) for a, b in zip(w, u, strict=True) for s in (1, -1)]
    marks = {Fraction(b - a, m - n) for a, m in bends for b, n in bends if m != n}
    for item in problem.lists:
        rows = [[Fraction(float(x)) for x in problem.scaled[r]] for r in item.rows]
        for x in rows:
            for y in rows:
                at, along = (sum(int(v) * (a - b) for v, a, b in zip(z, x, y, strict=True)) for z in (w, u))
                for a, m in bends:
                    if along != epsilon * m:
                        marks.add(-(at - epsilon * a) / (along - epsilon * m))
    ends = [min(marks) - 10, *sorted(marks), max(marks) + 10]
    best = -np.inf
    for left, right in pairwise(ends):
        x = np.array([float(a + (left + right) / 2 * b) for a, b in zip(w.tolist(), u.tolist(), strict=True)])
        if x.any():
            best = max(best, float(objective_at(problem, x / np.abs(x).max())))
    return best


@examples(60, SEEDS)
def test_the_best_point_of_a_line_is_that_of_all_crossings(seed: int) -> None:
    problem, rng = on_a_grid(seed), np.random.default_rng(seed)
    w, u = rng.integers(-4, 5, size=(2, problem.n_features))
    w[0] = w[0] or 1
    u[1] = u[1] or 1
    if np.linalg.matrix_rank(np.stack([w, u])) < 2:
        return
    best = slow_best(problem, w, u)
    for search in (row_lines(problem), LineSearch(tables(problem), Domain.of(problem))):
        value, point = search.line(w / np.abs(w).max(), u.astype(float))
        found = search.tables.to_value(value)
        assert found == pytest.approx(best, abs=1e-12)
        assert found == pytest.approx(float(objective_at(problem, point)), abs=1e-12)


LINES = {
    "3000": lambda: noisy_problem(3000, 4, "dcg@10", 0.1, 0),
    "margin": lambda: noisy_problem(2000, 3, "precision@50", 0.3, 1, epsilon=0.01),
    "auc": lambda: noisy_problem(450, 4, "auc", 0.2, 2),
    "lists": lambda: drawn_lists(0, 120, 40, 5, "ndcg@5"),
    "grades": lambda: drawn_lists(1, 5, 300, 4, "dcg@20"),
    **{f"{s}, one list": lambda s=s: noisy_problem(600, 4, s, 0.1, 0) for s in ("ap", "rr", "success@20")},
    **{f"{s}, lists": lambda s=s: drawn_lists(1, 20, 40, 4, s) for s in ("ap", "rr", "success@20")},
}


@pytest.mark.parametrize("name", LINES)
def test_lines_by_rows_find_what_lines_by_pairs_find(name: str) -> None:
    problem, rng = LINES[name](), np.random.default_rng(0)
    mine, theirs = row_lines(problem), LineSearch(tables(problem), Domain.of(problem))
    for turn in range(6):
        w = mine.domain.normal(rng.normal(size=problem.n_features))
        u = np.eye(w.size)[0] if turn % 2 else rng.normal(size=w.size)
        value, point = mine.line(w, u)
        assert mine.tables.to_value(value) == pytest.approx(theirs.tables.to_value(theirs.line(w, u)[0]), abs=1e-12)
        assert value == mine.value(point)


def test_a_reach_keeps_the_point_near() -> None:
    problem = noisy_problem(500, 4, "dcg@10", 0.1, 0)
    search, rng = row_lines(problem), np.random.default_rng(0)
    for _ in range(10):
        w, u = search.domain.normal(rng.normal(size=4)), rng.normal(size=4)
        value, point = search.line(w, u, reach=1e-3)
        assert value >= search.value(w) and np.abs(point - w).max() < 0.02


@examples(60, SEEDS)
def test_a_value_by_sorting_is_the_value_by_pairs(seed: int) -> None:
    problem, rng = on_a_grid(seed), np.random.default_rng(seed)
    search = row_lines(problem)
    for _ in range(5):
        w = search.domain.normal(rng.integers(-3, 4, size=problem.n_features) + np.eye(problem.n_features)[0] * 0.5)
        scores, margin = search.tables.rows @ w, problem.epsilon * search.domain.norm(w)
        near = np.abs(np.abs(scores[:, None] - scores) - margin)
        if (near > 1e-12).all():  # no pair stands on the margin, where rounding decides
            by_pairs = float(value_of(scores, margin, *search._memory))
            assert sorted_value(search.tables, scores, margin) == pytest.approx(by_pairs, abs=1e-12)


def test_a_glance_finds_a_part_of_what_the_line_finds() -> None:
    problem = noisy_problem(3000, 6, "precision@50", 0.2, 0, epsilon=0.01)
    search, rng = row_lines(problem), np.random.default_rng(0)
    for _ in range(5):
        w, u = search.domain.normal(rng.normal(size=6)), rng.normal(size=6)
        assert 0 < search.glance(w, u) <= search.line(w, u)[0] + 1e-9
    still = np.zeros(6)
    assert search.glance(w, still) == search.value(w) == search.line(w, still)[0]


@pytest.mark.parametrize("stat", ["dcg@50", "auc"])
def test_glances_leave_the_columns_that_lines_would_add(stat: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = noisy_problem(2500, 12, stat, 0.1, 3)
    quick = [value for value, _ in forward(row_lines(problem), 3, lambda size: 0.0)]
    monkeypatch.setattr("rerank.search.lines.forward.TRIED", 12)
    slow = [value for value, _ in forward(row_lines(problem), 3, lambda size: 0.0)]
    assert len(quick) == len(slow) == 3 and (np.diff(quick) > 0).all()
    assert np.array(quick) == pytest.approx(np.array(slow), rel=0.02)
    last = forward(row_lines(problem), 3, lambda size: 0.0, each=False)[-1][0]
    assert last == pytest.approx(slow[-1], rel=0.02)


def test_a_line_over_places_that_all_count_is_nearly_the_best() -> None:
    problem = noisy_problem(8000, 4, "auc", 0.3, 0)
    search, rng = row_lines(problem), np.random.default_rng(0)
    assert search.tables.rough
    for _ in range(3):
        w, u = search.domain.normal(rng.normal(size=4)), rng.normal(size=4)
        value, point = search.line(w, u)
        assert value == search.value(point) >= search.value(w)
        assert search.tables.to_value(value) == pytest.approx(values_at(problem, [point])[0], abs=1e-9)
        angles = np.linspace(-np.pi / 2, np.pi / 2, 60)
        size = np.linalg.norm(problem.scaled @ w) / np.linalg.norm(problem.scaled @ u)
        grid = [search.value(search.domain.normal(np.cos(a) * w + np.sin(a) * size * u)) for a in angles]
        assert value >= max(grid) - 0.005 * (max(grid) - min(grid))
