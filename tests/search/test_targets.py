"""Targets: passes down to a bound above the best value end at the same optimum, and bound it on the way."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from benchmarks.exact.data import correlated
from rerank.certificate import verify_proof
from rerank.problem import Problem
from rerank.search import loop, solve, targets
from rerank.search.boxes.open import OpenBoxes
from rerank.search.run import SearchRun
from rerank.search.supports import screening
from tests.cases.examples import SEEDS, examples
from tests.cases.instances import draw
from tests.cases.search import drawn_lists, noisy_problem, surface
from tests.oracles.anchored import anchored
from tests.oracles.comparisons import check_search
from tests.oracles.oracle import objective_at


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Targets from the first round on, and short rounds, so that small problems take several passes."""
    monkeypatch.setattr(loop.BranchAndBound, "_blind", lambda self: True)
    monkeypatch.setattr(loop, "FIRST_WORK", 0.0)
    monkeypatch.setattr(loop, "MOST_WORK", 0.0)
    monkeypatch.setattr(targets, "CLOSE", 1.0)


class Seen:
    """The targets of a search, in order; -inf for none."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.targets: list[float] = []
        restart = OpenBoxes.restart

        def noted(boxes: OpenBoxes, whitened: bool) -> None:
            self.targets.append(boxes.target)
            restart(boxes, whitened)

        patch.setattr(OpenBoxes, "restart", noted)


@pytest.mark.parametrize("seed", range(60))
def test_passes_end_at_the_enumerated_optimum(seed: int) -> None:
    problem = draw(seed, n_max=10).problem
    assert check_search(problem).failures == ()
    assert check_search(anchored(seed, n_max=7)).failures == ()


@pytest.mark.parametrize("engine", ["pairs", "rows", "whitened"])
def test_targets_fall_from_pass_to_pass_and_the_optimum_stays(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = {
        "pairs": lambda: noisy_problem(60, 5, "auc", 0.35, 0),
        "rows": lambda: noisy_problem(1500, 4, "dcg@20", 0.1, 0),
        "whitened": lambda: correlated(5, 0.97, "auc"),
    }[engine]()
    monkeypatch.setattr(loop, "OWN_AXES", 1e5)
    with monkeypatch.context() as patch:
        patch.setattr(loop.BranchAndBound, "_blind", lambda self: False)
        plain = solve(problem, time_limit=None, n_jobs=1)
    seen = Seen(monkeypatch)
    bounds: list[float] = []
    found = solve(problem, time_limit=None, n_jobs=1, progress=lambda now: bounds.append(now.bound))
    used = [t for t in seen.targets if t > -np.inf]
    assert len(used) >= 2 and used == sorted(used, reverse=True)
    assert found.closed and found.value == pytest.approx(plain.value, rel=1e-12)
    assert (np.diff(bounds) <= 1e-12).all() and bounds[0] > found.value
    assert found.boxes > plain.boxes  # the passes begin anew


@examples(40, SEEDS, st.sampled_from(["auc", "mrr", "dcg@3"]), st.integers(1, 400))
def test_a_search_that_stops_in_a_pass_has_a_bound_and_a_proof_of_it(seed: int, statistic: str, nodes: int) -> None:
    problem = draw(seed, n_max=14, d_max=4, statistic=statistic).problem
    assume(problem.C == 0 and problem.max_features is None)
    found = solve(problem, n_jobs=1, node_limit=nodes, proof=True, random_state=seed)
    for w in surface(np.random.default_rng(seed), problem, 12):
        assert objective_at(problem, w) <= found.bound
    verdict = verify_proof(problem, found.proof)
    assert verdict.ok, verdict.message


def test_a_proof_of_an_ended_pass_is_kept_while_the_next_is_under_way() -> None:
    problem = noisy_problem(40, 5, "auc", 0.35, 0)
    kept = 0
    for nodes in range(4000, 40_000, 6000):
        found = solve(problem, time_limit=None, n_jobs=1, node_limit=nodes, proof=True)
        verdict = verify_proof(problem, found.proof)
        assert verdict.ok, verdict.message
        kept += found.value < found.bound < problem.ideal - 1e-6
    assert kept >= 3


def passes(monkeypatch: pytest.MonkeyPatch, problem: Problem, **options: Any) -> tuple[Any, list[float]]:
    seen = Seen(monkeypatch)
    return solve(problem, time_limit=None, n_jobs=1, **options), seen.targets


def test_a_pass_that_takes_too_long_gets_a_higher_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "FIRST_WORK", 1e5)
    problem = noisy_problem(40, 6, "auc", 0.35, 0)
    found, used = passes(monkeypatch, problem)
    rises = np.flatnonzero(np.diff([t for t in used if t > -np.inf]) > 0)
    assert rises.size and found.closed
    with monkeypatch.context() as patch:
        patch.setattr(targets, "FIRST_WORK", 1.0)  # no pass ends: the search goes on without targets
        patch.setattr(targets, "TOO_MUCH", 1e-3)
        again, used = passes(patch, problem)
    assert [t > -np.inf for t in used] == [False, True, True, True, False]
    assert again.closed and again.value == found.value


def test_a_search_with_targets_goes_on_from_a_checkpoint_with_the_same_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = noisy_problem(40, 5, "auc", 0.35, 0)
    whole, used = passes(monkeypatch, problem, proof=True)
    assert len([t for t in used if t > -np.inf]) >= 2
    for part in range(1, 60):
        limit = part * (whole.boxes // 9)
        found = solve(problem, time_limit=None, n_jobs=1, proof=True, node_limit=limit, checkpoint=tmp_path / "c")
        if found.closed:
            break
        assert verify_proof(problem, found.proof).ok
    assert part > 4 and (found.value, found.bound, found.boxes) == (whole.value, whole.bound, whole.boxes)
    assert found.weights.tolist() == whole.weights.tolist()
    assert np.array_equal(found.proof.codes, whole.proof.codes)


def test_boxes_that_were_set_aside_may_hold_better_points() -> None:
    problem = noisy_problem(60, 5, "auc", 0.35, 0)
    found = solve(problem, time_limit=None, n_jobs=1, node_limit=3000)
    low, high = found.box
    assert not found.closed and (low == -1).all() and (high == 1).all()


def test_what_an_ended_pass_showed_is_the_proof_where_a_point_reaches_its_bound_later() -> None:
    """Lines may find that point after the next pass has begun, whose own boxes are then set aside unexplored."""
    boxes = SearchRun(noisy_problem(30, 3, "auc", 0.35, 0), 0, True, 1).boxes
    kept: tuple[list[Any], set[int]] = ([np.array([[0, 0, 1]])], set())
    boxes.shown_before = boxes.cap = boxes.tables.ideal - 2.0
    boxes.kept = kept
    boxes.offer(boxes.shown_before, np.ones(3))
    assert not boxes.drop_fathomed() and boxes.open_bound() == boxes.value
    assert boxes.recorded() is kept


def many_supports() -> Problem:
    """Short lists, 56 supports."""
    return drawn_lists(3, 8, 10, 8, "ndcg@5", max_features=3)


def short_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes over many supports, as if the time would not do for all of them."""
    monkeypatch.setattr(screening, "FIRST", 1)
    monkeypatch.setattr(loop.BranchAndBound, "_work_done", lambda self: (1e9, 100.0))


def test_targets_bound_many_supports_and_the_optimum_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, used = passes(monkeypatch, many_supports())
    assert plain.closed and not np.isfinite(used).any()
    bounds: list[float] = []
    short_of_time(monkeypatch)
    found, used = passes(monkeypatch, many_supports(), progress=lambda now: bounds.append(now.bound))
    assert found.closed and found.value == pytest.approx(plain.value, rel=1e-12)
    assert len([t for t in used if t > -np.inf]) >= 2 and (np.diff(bounds) <= 1e-12).all()
    assert len({b for b in bounds if plain.value + 1e-9 < b < bounds[0] - 1e-9}) >= 2


@pytest.mark.parametrize("part", [1, 3, 5, 7])
def test_a_pass_over_supports_that_stops_has_a_bound_and_goes_on(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short_of_time(monkeypatch)
    whole, _ = passes(monkeypatch, many_supports())
    limit = part * whole.boxes // 8
    stopped, _ = passes(monkeypatch, many_supports(), node_limit=limit, checkpoint=tmp_path / "c")
    assert stopped.bound >= whole.value
    found, _ = passes(monkeypatch, many_supports(), checkpoint=tmp_path / "c")
    assert (found.value, found.bound, found.boxes) == (whole.value, whole.bound, whole.boxes)
