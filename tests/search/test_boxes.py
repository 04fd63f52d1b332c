"""Exploring boxes: whatever is given up cannot beat what was found, at any moment and on any support."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.problem import Problem
from rerank.search import jobs
from rerank.search.boxes.antiparallel import NO_GROUPS, antiparallel_pairs
from rerank.search.boxes.nodes import NodeBatch, Support
from rerank.search.boxes.open import OpenBoxes
from rerank.search.boxes.vertices import Exact
from rerank.search.domain import Domain
from rerank.search.jobs import explore_batches
from rerank.search.lines.search import Share
from rerank.search.loop import BranchAndBound
from rerank.search.supports.subsets import supports
from rerank.search.tables import Tables, tables
from rerank.search.workers import Workers
from tests.cases.instances import draw, with_hits
from tests.cases.search import noisy_problem, surface

SEEDS = st.integers(0, 10**6)


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


def explored(t: Tables, work: float, smallest: float = 2.0**-30, record: bool = False, S: Any = None) -> Any:
    """The support, and what exploring the faces of its cube brought."""
    every = Support(np.arange(t.n_features), S, antiparallel_pairs(t, np.arange(t.n_features)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "SMALLEST", smallest)
        patch.setattr(jobs, "ROOM", 2)  # so that memory ends again and again
        given_ = [0.0], [-np.inf], t.slack, work, work, record, 1000
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


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.sampled_from([0.0, 400.0, 3000.0, 1e5]), st.sampled_from([2.0**-30, 0.3]), st.booleans())
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


@pytest.mark.parametrize("kind", ["grid", "binary"])
def test_groups_are_among_the_splits_on_lattices(kind: str) -> None:
    seen = 0
    for seed in range(400):
        drawn = draw(seed, n_max=12, d_max=4)
        if drawn.kind == kind and not drawn.problem.signs.any() and drawn.problem.units:
            t = tables(drawn.problem)
            if t.pairs.shape[1]:
                _, found = explored(t, 1e5, record=True)
                seen += int((found.splits[:, 1] >= t.pairs.shape[0]).any())
    assert seen >= 3  # the test above would say nothing about groups otherwise


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_the_splits_recorded_form_a_tree_over_the_roots(seed: int) -> None:
    problem = free(seed, n_max=12, d_max=4)
    t = tables(problem)
    d = t.pairs.shape[0]
    _, found = explored(t, 2000.0, record=True)
    parents, which, children = found.splits.T
    born = np.concatenate([np.arange(2 * d), children, children + 1])
    assert np.unique(born).size == born.size and np.isin(parents, born).all()
    assert np.unique(parents).size == parents.size and (which >= 0).all()
    leaves = np.setdiff1d(born, parents)
    assert all(np.isin(batch.names, leaves).all() for batch in (found.open, found.unresolved) if batch)


def search(problem: Problem, **options: Any) -> OpenBoxes:
    t = tables(problem)
    columns, _ = supports(problem.n_features, problem.max_features, problem.C > 0)
    return OpenBoxes(
        t, columns, problem.C * np.array([float(c.size) for c in columns]), Domain.of(problem), 0.0, **options
    )


def looped(boxes: OpenBoxes, problem: Problem) -> BranchAndBound:
    """The loop over boxes alone, without lines, on one worker."""
    exact = Exact(problem, boxes.tables, Domain.of(problem))
    own = {"boxes": boxes, "exact": exact, "offer": lambda w: None, "lines": None, "states": [], "share": Share(1 / 15)}
    run: Any = SimpleNamespace(**own)
    return BranchAndBound(run, Workers(1))


@pytest.fixture
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds so short that a small problem takes many."""
    from rerank.search import loop

    monkeypatch.setattr(loop, "FIRST_WORK", 0.0)
    monkeypatch.setattr(loop, "MOST_WORK", 0.0)


@pytest.mark.usefixtures("short_rounds")
def test_the_bound_falls_and_the_value_rises_until_they_meet() -> None:
    problem = noisy_problem(80, 5, "auc", 0.35, 1)
    s = search(problem)
    seen: list[tuple[float, float]] = []
    assert looped(s, problem).explore(lambda now: seen.append((now.value, now.open_bound())))
    values, bounds = np.array(seen).T
    assert (np.diff(values) >= 0).all() and (np.diff(bounds) <= 1e-9).all()
    assert s.value == s.open_bound() == values[-1] and seen[0][1] > s.value and len(seen) > 5


@pytest.mark.usefixtures("short_rounds")
def test_a_round_that_is_interrupted_goes_on_counting_its_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    from rerank.search import loop

    problem = noisy_problem(60, 4, "auc", 0.35, 1)
    whole = search(problem)
    assert looped(whole, problem).explore()
    work, calls = loop.explore_batches, []
    for stop in range(0, 40, 5):
        calls.clear()

        def task(*given: Any, stop: int = stop) -> Any:
            calls.append(1)
            if len(calls) > stop:
                raise KeyboardInterrupt
            return work(*given)

        monkeypatch.setattr(loop, "explore_batches", task)
        s = search(problem)
        try:
            looped(s, problem).explore()
        except KeyboardInterrupt:
            assert s.open_bound() >= whole.value
            # Whoever carries on from here must not miss anything.
            monkeypatch.setattr(loop, "explore_batches", work)
            assert looped(s, problem).explore() and s.value == pytest.approx(whole.value, rel=1e-12)
        else:
            assert s.value == pytest.approx(whole.value, rel=1e-12) and stop >= 5


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


def test_supports_share_what_one_of_them_found() -> None:
    problem = noisy_problem(60, 6, "mrr", 0.3, 3, max_features=2)
    together = search(problem)
    assert looped(together, problem).explore()
    alone = 0
    for pair in combinations(range(6), 2):
        one = OpenBoxes(together.tables, [np.array(pair)], np.zeros(1), together.domain, 0.0)
        assert looped(one, problem).explore() and one.value <= together.value + 1e-12
        alone += one.boxes
    assert together.boxes < alone
