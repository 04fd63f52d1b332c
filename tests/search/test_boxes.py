"""Boxes: what is given up cannot beat what was found; tables, groups, vertices and the relaxation against loops."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, example
from hypothesis import strategies as st
from scipy.optimize import linprog

from rerank.problem import Problem, problem_of
from rerank.search import jobs, loop, solve, warm
from rerank.search import tables as search_tables
from rerank.search.boxes import pairs, relaxation
from rerank.search.boxes.antiparallel import NO_GROUPS, antiparallel_pairs
from rerank.search.boxes.nodes import NodeBatch, Support
from rerank.search.boxes.pairs import reach
from rerank.search.boxes.vertices import Exact
from rerank.search.domain import Domain
from rerank.search.jobs import explore_batches
from rerank.search.tables import Tables, tables
from rerank.statistics import parse
from tests.cases.adversarial import adversarial
from tests.cases.examples import SEEDS, examples
from tests.cases.instances import draw, with_hits
from tests.cases.search import Floats, exact_objective, noisy_problem, surface
from tests.oracles.oracle import objective_at, optimum
from tests.oracles.vertices import scaled


def free(seed: int, **options: Any) -> Problem:
    """A drawn problem in which every weight may take any sign."""
    while True:
        problem = draw(seed, **options).problem
        if not problem.signs.any() and problem.units and tables(problem).pairs.shape[1]:
            return with_hits(problem, seed) if seed % 3 == 0 else problem
        seed += 1


def roots(d: int, bounds: Any = 1e300) -> NodeBatch:
    centres, halves = Domain.free(d).roots()
    return NodeBatch.of(0, centres, halves, np.zeros(2 * d) + bounds, np.arange(2 * d))


def explored(t: Tables, work: float, smallest: float = 2.0**-30, S: Any = None) -> Any:
    """The support, and what exploring the faces of its cube brought."""
    every = Support(np.arange(t.n_features), S, antiparallel_pairs(t, np.arange(t.n_features)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "SMALLEST", smallest)
        patch.setattr(jobs, "ROOM", 2)  # so that memory ends again and again
        given_ = [0.0], [-np.inf], t.slack, work, work, False, 1000
        (found,) = explore_batches(t, [every], [roots(t.n_features)], *given_)
    return every, found


def covering(u: Any, boxes: Any, guides: Any, slack: float) -> float:
    """Largest bound of the boxes that hold ``u``, on the chosen sides of their groups; -inf if none does."""
    best = -np.inf
    for c, h, bound, chosen in zip(boxes.centres, boxes.halves, boxes.bounds, boxes.sides, strict=True):
        inside = (np.abs(u - c) <= h + slack).all()
        sides = all(np.sign(f) * (u @ guides[:, abs(f) - 1]) >= -slack for f in chosen if f)
        best = max(best, bound) if inside and sides else best
    return best


@examples(60, SEEDS, st.sampled_from([0.0, 400.0, 3000.0, 1e5]), st.sampled_from([2.0**-30, 0.3]), st.booleans())
def test_no_point_outside_the_open_boxes_beats_what_was_found(
    seed: int, work: float, smallest: float, whitened: bool
) -> None:
    problem = free(seed, n_max=12, d_max=4)
    rng = np.random.default_rng(seed)
    d = problem.n_features
    t = tables(problem)
    exact = Exact(problem, t, Domain.of(problem))
    S = None
    if whitened:
        S = rng.normal(size=(d, d))
        S /= np.abs(S).sum(axis=1).max()
    every, found = explored(t, work, smallest, S=S)
    assert found.work >= min(work, 1) or found.boxes == 0
    if found.value > 0:
        assert np.abs(found.weights).max() == pytest.approx(1) and exact.value(found.weights) >= found.value - t.slack
    guides = t.pairs[:, every.antiparallel.guide] if S is None else S.T @ t.pairs[:, every.antiparallel.guide]
    for w in surface(rng, problem, 30):
        value = exact.value(w)
        if value > found.value + 2 * t.slack:
            u = w if S is None else np.linalg.solve(S, w)
            slack = 0.0 if S is None else 1e-9  # coordinates in another basis are rounded
            left = [boxes for boxes in (found.open, found.unresolved) if boxes]
            bound = max(covering(u / np.abs(u).max(), boxes, guides, slack) for boxes in left)
            assert bound >= value - t.slack


def test_the_bound_falls_and_the_value_rises_until_they_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "FIRST_WORK", 0.0)
    monkeypatch.setattr(loop, "MOST_WORK", 0.0)  # short rounds, of which there are many
    seen: list[tuple[float, float]] = []
    problem = noisy_problem(80, 5, "auc", 0.35, 1)
    found = solve(problem, time_limit=None, n_jobs=1, progress=lambda now: seen.append((now.value, now.bound)))
    values, bounds = np.array(seen).T
    assert (np.diff(values) >= 0).all() and (np.diff(bounds) <= 1e-9).all()
    assert found.closed and bounds[0] > found.value and len(seen) > 5


@pytest.mark.parametrize("stop", range(0, 30, 6))
def test_an_interrupted_round_is_explored_anew(stop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "FIRST_WORK", 0.0)
    monkeypatch.setattr(loop, "MOST_WORK", 0.0)
    problem, work, calls = noisy_problem(60, 4, "auc", 0.35, 1), loop.explore_batches, []
    whole = solve(problem, n_jobs=1)

    def task(*given: Any) -> Any:
        calls.append(1)
        if len(calls) > stop:
            raise KeyboardInterrupt
        return work(*given)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "explore_batches", task)
        found = solve(problem, n_jobs=1, checkpoint=tmp_path / "c")
    assert found.interrupted and found.bound >= whole.value >= found.value
    again = solve(problem, n_jobs=1, checkpoint=tmp_path / "c")
    assert again.closed and again.value == pytest.approx(whole.value, rel=1e-12)


def test_exploring_leaves_the_batch_it_was_given_alone() -> None:
    t = tables(noisy_problem(60, 4, "auc", 0.35, 1))
    # The last boxes are fathomed at once, so that the children of another are written over them.
    bounds = np.where(np.arange(8) < 4, t.ideal, -1.0)
    batch = roots(4, bounds)
    arrays = batch.numbers, batch.labels
    before = [x.copy() for x in arrays]
    given = (t, [Support(np.arange(4), None, NO_GROUPS)], [batch], [0.0], [-np.inf], t.slack, 1e4, 1e4, False, 10**9)
    explore_batches(*given)
    assert all(np.array_equal(x, y) for x, y in zip(arrays, before, strict=True))
    for x in arrays:  # processes are given read-only maps
        x.flags.writeable = False
    explore_batches(*given)


def valued_by_definition(problem: Problem, seed: int, count: int) -> None:
    objective = exact_objective(problem)
    for w in surface(np.random.default_rng(seed), problem, count):
        assert objective(w) == pytest.approx(float(objective_at(problem, w)), rel=1e-12, abs=1e-12)


@examples(60, SEEDS)
@example(399)  # a weight that must not be positive, and differences of exactly the margin
def test_the_value_of_a_point_is_the_definition_s(seed: int) -> None:
    problem = draw(seed, n_max=12, d_max=4).problem
    valued_by_definition(with_hits(problem, seed) if seed % 3 == 0 else problem, seed, 6)


@pytest.mark.parametrize("name", adversarial())
def test_the_value_of_a_point_is_exact_where_rounding_decides(name: str) -> None:
    valued_by_definition(adversarial()[name], 0, 40)


def test_equal_rows_are_merged_and_counted() -> None:
    X = np.array([[0.0, 1.0], [1.0, 0.3], [0.2, 0.2], [0.5, 0.9]])
    gains = np.array([1.0, 0.0, 0.0, 1.0])
    once, thrice = (tables(problem_of(np.tile(X, (k, 1)), np.tile(gains, k), parse("dcg"))) for k in (1, 3))
    assert not thrice.single and once.single
    assert set(thrice.multiplicity.tolist()) == {3}
    assert thrice.pairs.shape[1] == 3 * once.pairs.shape[1]  # three upper items, each meets merged lower ones


@examples(150, SEEDS, st.integers(1, 12), st.sampled_from(["huge offset", "tiny differences", "scales", "plain"]))
def test_the_tolerance_covers_every_rounding_on_the_way_to_a_margin(seed: int, d: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, d))
    if kind == "huge offset":  # differences of a few units in the last place
        X = 1e15 + rng.integers(0, 50, size=(6, d)) * 0.125
    elif kind == "tiny differences":
        X = rng.integers(0, 3, size=(6, d)) + 1e-12 * rng.integers(-3, 4, size=(6, d))
    elif kind == "scales":
        X = X * 10.0 ** rng.integers(-300, 300, size=d)
    if (X.max(axis=0) == X.min(axis=0)).any():
        return
    problem = problem_of(X, [1, 0, 1, 0, 0, 0], parse("dcg"), epsilon=float(rng.choice([1e-4, 0.1, 1e-12])))
    t = tables(problem)
    w = surface(rng, problem, 1)
    if not w.size:
        return
    M, R = np.empty(t.pairs.shape[1]), np.empty(t.pairs.shape[1])
    reach(t.pairs, 0, w[0], np.zeros(d), t.epsilon, t.tolerance, M, R)
    points, weights = scaled(problem), [Fraction(float(v)) for v in w[0]]
    for p in range(t.pairs.shape[1]):
        upper, lower = points[t.upper[p]], points[t.lower[p]]
        exact = sum((a * (b - c) for a, b, c in zip(weights, upper, lower, strict=True)), -Fraction(t.epsilon))
        assert abs(Fraction(float(M[p])) - exact) <= Fraction(t.tolerance)


def test_places_that_earn_nothing_are_left_out() -> None:
    t = tables(problem_of(np.arange(8.0)[:, None], [1, 0] * 4, parse("precision@3")))
    assert np.diff(t.slots.coef_start).tolist() == [3]
    nothing = tables(problem_of(np.arange(4.0)[:, None], [1, 0, 1, 0], parse([0.0, 0.0, 0.0, 0.0])))
    assert nothing.ideal == 0.0 and nothing.slots.coef.tolist() == [0.0]


def counted(seed: int) -> tuple[np.random.Generator, Tables]:
    """Tables of a problem that counts places, not only pairs."""
    rng = np.random.default_rng(seed)
    while True:
        name = str(rng.choice(["dcg", "mrr", "precision@2", "dcg@3"]))
        problem = draw(seed, n_max=12, statistic=name).problem
        t = tables(with_hits(problem, seed) if seed % 3 == 0 else problem)
        if not t.linear and t.pairs.shape[1]:
            return rng, t
        seed += 1


def test_moved_sums_sizes_and_signed_sizes() -> None:
    assert pairs.moved(np.array([0.5, -0.25, 0.0]), np.array([2.0, 4.0, 9.0])) == (2.0, 0.0)


@examples(40, SEEDS)
def test_only_pairs_of_items_that_can_still_earn_are_kept(seed: int) -> None:
    rng, t = counted(seed)
    lost = rng.integers(0, 6, size=t.slots.unit_of.size).astype(np.int32)
    P = t.pairs.shape[1]
    keep = np.append(np.flatnonzero(rng.random(P) < 0.7), 0).astype(np.int32)
    n = keep.size - 1
    units = np.arange(t.slots.unit_start.size - 1, dtype=np.int32)
    places = np.diff(t.slots.coef_start)[t.slots.unit_of]
    slow = [p for p in keep[:n] if any(lost[s] < places[s] for s in range(t.slot[p], t.slot[p] + t.span[p]))]
    kept = pairs.matters(keep, n, t.slot, t.span, lost, units, t.slots)
    assert keep[:kept].tolist() == slow


@examples(40, SEEDS)
def test_importance_is_the_price_of_the_next_place(seed: int) -> None:
    rng, t = counted(seed)
    lost = rng.integers(0, 6, size=t.slots.unit_of.size).astype(np.int32)
    units = np.arange(t.slots.unit_start.size - 1, dtype=np.int32)
    out, slope = np.empty(t.pairs.shape[1]), np.zeros(t.slots.unit_of.size)
    pairs.importance(t.slot, t.span, t.weight, lost, units, t.slots, slope, out)
    coef = [np.append(t.slots.coef[a:b], [0.0] * 20) for a, b in pairwise(t.slots.coef_start)]
    price = np.array([coef[t.slots.unit_of[s]][x] - coef[t.slots.unit_of[s]][x + 1] for s, x in enumerate(lost)])
    base = np.array([price[a : a + b].sum() for a, b in zip(t.slot, t.span, strict=True)])
    extra = 0.1 * base.mean() if base.mean() > 0 else 1.0
    assert out == pytest.approx((base + extra) * t.multiplicity, rel=1e-12)


@examples(30, SEEDS)
def test_the_heaviest_group_has_most_on_its_lighter_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    G = rng.integers(-4, 5, size=30).astype(np.int32)
    weight = rng.integers(1, 9, size=30).astype(float)
    lighter = {g: min(weight[g == G].sum(), weight[-g == G].sum()) for g in range(1, 5)}
    group = pairs.heaviest(G, weight, np.full(5, 7.0), np.full(5, 7.0))
    most = max(lighter.values())
    assert lighter[group] == most if most > pairs.SHARE * weight.sum() else group == 0


@examples(30, SEEDS)
def test_the_largest_values_of_the_faces_hold_the_optimum(seed: int) -> None:
    while (problem := draw(seed, n_max=5, d_max=2).problem).signs.any() or problem.max_features or problem.C:
        seed += 1
    d = problem.n_features
    t = tables(problem)
    exact = Exact(problem, t, Domain.free(problem.n_features))
    best = exact.value(np.zeros(d))
    for j in range(d):
        for side in (1.0, -1.0):
            centre, half = np.zeros(d), np.ones(d)
            centre[j], half[j] = side, 0.0
            largest = exact.largest(np.arange(d), centre, half)
            assert largest is not None
            best = max(best, largest[0])
            for w in largest[1]:  # offered as starts; their doubles may lie beside the vertex
                assert exact.value(np.clip(w, -1, 1)) <= largest[0] + t.slack
    true = optimum(problem)
    assert true is not None and t.to_value(best) == pytest.approx(float(true.value), rel=1e-12, abs=1e-12)


def test_boxes_with_too_many_vertices_are_declined() -> None:
    rng = np.random.default_rng(0)
    problem = problem_of(rng.normal(size=(40, 4)), np.arange(40) < 15, parse("auc"))
    exact = Exact(problem, tables(problem), Domain.free(problem.n_features))
    assert exact.largest(np.arange(4), np.array([1.0, 0, 0, 0]), np.array([0.0, 1, 1, 1])) is None


def lattice(seed: int, d: int, steps: int) -> Problem:
    rng = np.random.default_rng(seed)
    while True:
        X = rng.integers(0, steps, size=(10, d)).astype(float)
        if (X.max(axis=0) > X.min(axis=0)).all():
            return problem_of(X, rng.permutation([1, 1, 1, 0, 0, 0, 0, 0, 0, 0]), parse("dcg"), epsilon=0.01)


@examples(40, SEEDS, st.integers(1, 3), st.sampled_from([2, 3, 5]))
def test_groups_are_those_of_a_double_loop(seed: int, d: int, steps: int) -> None:
    t = tables(lattice(seed, d, steps))
    groups = antiparallel_pairs(t, np.arange(d))
    group = groups.group if groups.count else np.zeros(t.pairs.shape[1], np.int32)
    D = t.pairs.T
    for p in range(len(D)):
        others = []
        for q in range(len(D)):
            along = float(D[p] @ D[q])
            parallel = abs(along**2 - (D[p] @ D[p]) * (D[q] @ D[q])) < 1e-9 and along != 0
            if parallel:
                others.append(q)
                assert group[q] == np.sign(along) * group[p]
            elif group[p]:
                assert abs(group[q]) != abs(group[p])
        signs = {float(np.sign(D[p] @ D[q])) for q in others}
        assert (group[p] != 0) == (signs == {1.0, -1.0})


@examples(60, SEEDS, st.integers(1, 4), st.sampled_from(["lattice", "blurred"]))
def test_weights_on_the_other_side_of_a_guide_lose_the_pair(seed: int, d: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    problem = lattice(seed, d, 3)
    if kind == "blurred":  # pairs that are antiparallel up to a part of the margin
        X = problem.X + rng.uniform(-1, 1, size=problem.X.shape) * rng.choice([1e-13, 1e-4, 5e-3])
        problem = problem_of(X, problem.lists[0].gains, parse("dcg"), epsilon=0.01)
    t = tables(problem)
    groups = antiparallel_pairs(t, np.arange(d))
    if not groups.count:
        return
    for w in surface(rng, problem, 40):
        margin = w @ t.pairs
        for g in range(1, groups.count + 1):
            side = margin[groups.guide[g - 1]]
            if side <= 0:
                assert (margin[groups.group == g] < t.epsilon).all()
            if side >= 0:
                assert (margin[groups.group == -g] < t.epsilon).all()


@pytest.mark.filterwarnings("error")
def test_equal_rows_have_no_direction_even_with_a_margin_below_the_tolerance():
    problem = replace(noisy_problem(30, 3, "auc", 0.3, 0), epsilon=1e-300)
    rows = problem.X.copy()
    rows[problem.lists[0].rows[0]] = rows[problem.lists[0].rows[1]] = rows[0]
    t = tables(replace(problem, X=np.vstack([rows[:1]] * 4 + [rows[4:]])))
    assert (np.abs(t.pairs).sum(axis=0) == 0).any() and t.tolerance > t.epsilon
    assert antiparallel_pairs(t, np.arange(3)).count == 0


BEFORE = 3  # pairs of other levels before those that are evaluated
TOLERANCE = 1e-14


class Box(NamedTuple):
    D: Floats
    c: Floats
    h: Floats
    W: Floats
    M: Floats
    R: Floats

    def must_lose(self, need: float = 1e-9) -> float:
        return self.shown(need)[0]

    def shown(self, need: float = 1e-9) -> tuple[float, float, Floats]:
        """What is lost at least, and both terms of the sum that shows it."""
        n = self.M.size
        margins, axes = np.empty((5, n + 2)), np.empty((5, self.h.size))
        margins[0, :n], margins[1, :n], axes[1] = self.M, self.R, self.h
        D = np.hstack([np.full((self.h.size + 1, BEFORE), np.nan), np.vstack([self.D, self.W])])
        return *relaxation.must_lose(D, BEFORE, n, TOLERANCE, need, False, margins, axes)[:2], axes[3]

    @property
    def undecided(self) -> Any:
        return np.flatnonzero((self.M + self.R >= 0) & (self.M - self.R <= 0))


def box(seed: int, k: int, n: int, size: float) -> Box:
    """Pairs that mostly lose at the centre, some parallel to an axis and some nearly won or nearly lost."""
    rng = np.random.default_rng(seed)
    D = rng.uniform(-1, 1, size=(k, n))
    D[:, ::5] *= rng.random(size=(k, D[:, ::5].shape[1])) < 0.4
    c = rng.uniform(-1, 1, size=k)
    D -= np.outer(c, (c @ D + 0.3 * size) / (c @ c)) * rng.choice([0.0, 1.0], size=n)
    h = size * rng.choice([0.0, 0.5, 1.0], size=k)
    M, R = np.empty(n), np.empty(n)
    reach(D, 0, c, h, 1e-3, TOLERANCE, M, R)
    return Box(D, c, h, rng.integers(1, 4, size=n).astype(float), M, R)


def exact_loss(b: Box, move: Floats) -> Fraction:
    """Relaxed loss ``sum_p W_p max(0, -y_p) / (R_p - M_p)`` at ``c + move``, without rounding."""
    total = Fraction(0)
    for p in b.undecided:
        y = sum(
            ((Fraction(x) + Fraction(m)) * Fraction(z) for x, m, z in zip(b.c, move, b.D[:, p], strict=True)),
            start=-Fraction(1e-3),
        )
        width = Fraction(b.R[p]) - Fraction(b.M[p])
        if y < 0:
            total += Fraction(b.W[p]) * -y / width
    return total


def lightest_move(b: Box) -> Floats:
    """Where in the box the relaxed loss is least, up to the tolerance of the solver."""
    u, k = b.undecided, b.h.size
    width = (b.R - b.M)[u]
    A = np.hstack([-b.D[:, u].T, -np.diag(width)])
    ends = [(-x, x) for x in b.h] + [(0, None)] * u.size
    found = linprog(np.concatenate([np.zeros(k), b.W[u]]), A, b.M[u], bounds=ends)
    return np.clip(found.x[:k], -b.h, b.h)


@examples(60, SEEDS, st.integers(1, 7), st.integers(1, 60), st.sampled_from([1.0, 0.1, 1e-6]))
def test_the_bound_is_no_more_than_the_relaxed_loss(seed: int, k: int, n: int, size: float) -> None:
    b = box(seed, k, n, size)
    least = b.must_lose(need=1e9), b.must_lose(need=1e-9)
    assert least[0] == 0.0
    if b.undecided.size:
        assert Fraction(least[1]) <= exact_loss(b, lightest_move(b))
        for move in b.h * np.random.default_rng(seed).uniform(-1, 1, size=(5, k)):
            assert Fraction(least[1]) <= exact_loss(b, move)


@examples(60, SEEDS, st.integers(2, 7), st.integers(5, 60), st.floats(0.05, 0.95))
def test_a_cut_keeps_all_weights_that_lose_less_than_is_needed(seed: int, k: int, n: int, share: float) -> None:
    b, rng = box(seed, k, n, 0.5), np.random.default_rng(seed)
    bound, gain, total = b.shown()
    assume(gain > bound)
    need, c, h = bound + share * (gain - bound), b.c.copy(), b.h.copy()
    kept = relaxation.shrink(c, h, gain - need, total, 2.0**-30)
    assert kept == pytest.approx(np.prod(h[h > 0] / b.h[h > 0]), rel=1e-9)
    corner = b.h * np.sign(total)  # what loses least by the sum lies around it
    for move in corner * (1 - rng.random((40, 1)) ** 2 * rng.uniform(0, 2, (40, k))):
        if exact_loss(b, move) < Fraction(need):
            assert (np.abs(b.c + move - c) <= h).all()


def test_pairs_as_good_as_won_do_not_blow_the_bound_up() -> None:
    b = box(0, 3, 40, 0.1)
    M, R = b.M.copy(), b.R.copy()
    M[::3] = R[::3] * (1 - 1e-15)
    assert 0.0 <= b._replace(M=M).must_lose() <= b.W.sum()


@pytest.mark.parametrize("share", [0.1, 0.35])
def test_fewer_boxes(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = noisy_problem(60, 5, "auc", share, 0)
    found = solve(problem, time_limit=None, n_jobs=1)
    for module in (search_tables, warm):  # the bound of other statistics, which holds for every one
        monkeypatch.setattr(module, "is_linear", lambda problem: False)
    plain = solve(problem, time_limit=None, n_jobs=1)
    assert 1.5 * found.boxes < plain.boxes and found.value == pytest.approx(plain.value, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_a_search_that_was_stopped_hold(seed: int) -> None:
    problem = noisy_problem(60, 5, "auc", 0.3, seed)
    best = solve(problem, time_limit=None, proof=True, n_jobs=1).value
    for limit in (0.001, 0.02, 0.08):
        assert solve(problem, time_limit=limit, n_jobs=1).bound >= best - 1e-12
