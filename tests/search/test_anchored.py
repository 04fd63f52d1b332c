"""Anchored problems, whose first column is a given score, against enumeration, proofs and special cases."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.certificate import certify, load_proof, save_proof, verify_proof
from rerank.errors import CertificateError, InputError
from rerank.problem import Problem, digest, ranked_list
from rerank.problem.json import problem_from_json, problem_to_json
from rerank.search import line_search, solve, statistic_bound
from rerank.search.domain import Domain
from rerank.statistics import parse
from tests.cases.instances import draw
from tests.cases.search import by_rows, noisy_problem, surface
from tests.oracles.anchored import anchored, best
from tests.oracles.comparisons import check_search
from tests.oracles.oracle import objective_at, statistic_at

SEEDS = st.integers(0, 10**6)


@pytest.mark.parametrize("seed", range(60))
def test_value_and_bound_meet_the_enumerated_optimum(seed: int) -> None:
    assert check_search(anchored(seed, n_max=8)).failures == ()


@pytest.mark.parametrize("seed", range(60))
def test_by_rows_too(seed: int) -> None:
    problem = replace(anchored(1000 + seed, n_max=8), C=0.0, max_features=None)
    with by_rows():
        assert check_search(problem).failures == ()


@pytest.mark.parametrize("seed", range(40))
def test_a_proof_of_every_search_is_verified(seed: int) -> None:
    problem = anchored(2000 + seed, n_max=8)
    found = solve(problem, time_limit=5.0, n_jobs=1, proof=True)
    verdict = verify_proof(problem, found.proof)
    assert verdict.ok, verdict.message
    lower = replace(found.proof, bound=float(best(problem).value) - 1e-6)
    assert not verify_proof(problem, lower).ok


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_the_bound_holds_for_all_that_is_allowed_and_the_given_score_is_never_beaten(seed: int) -> None:
    problem = anchored(seed, n_max=14, d_max=5)
    found = solve(problem, time_limit=5.0, n_jobs=1, node_limit=20)
    assert found.value >= float(objective_at(problem, problem.unchanged)) - 1e-12
    rng = np.random.default_rng(seed)
    low, high = problem.limits
    for _ in range(8):
        w = low + rng.random(low.size) * (high - low)
        w[1:][rng.random(low.size - 1) < 0.4] = 0.0
        if problem.max_features is None or problem.used(w) <= problem.max_features:
            assert objective_at(problem, np.clip(w, low, high)) <= found.bound


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_lines_stay_inside_the_limits_and_never_lose(seed: int) -> None:
    problem = anchored(seed, n_max=14, d_max=5)
    w, value = line_search(problem, time_limit=0.02, random_state=seed)
    assert (w >= problem.limits[0]).all() and (w <= problem.limits[1]).all()
    assert float(objective_at(problem, w)) == pytest.approx(value, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_wider_limits_never_lower_the_optimum(seed: int) -> None:
    problem = replace(anchored(seed, n_max=7), C=0.0, max_features=None)
    wide = replace(problem, limits=tuple(np.concatenate([side[:1], 2 * side[1:]]) for side in problem.limits))
    assert best(problem).value <= solve(wide, n_jobs=1).bound


def test_limits_of_zero_leave_the_given_score() -> None:
    problem = noisy_problem(30, 3, "dcg@5", 0.3, 0)
    fixed = Problem.build(problem.X, problem.lists, limits=([1, 0, 0], [1, 0, 0]))
    found = solve(fixed)
    assert found.closed and found.weights.tolist() == [1.0, 0.0, 0.0]
    assert found.value == pytest.approx(float(certify(fixed, [1.0, 0.0, 0.0]).value))


def test_columns_are_measured_in_deviations() -> None:
    problem = noisy_problem(50, 3, "auc", 0.3, 0)
    one = Problem.build(problem.X, problem.lists, limits=([1, -0.5, -0.5], [1, 0.5, 0.5]))
    assert one.scaled.std(axis=0) == pytest.approx(np.ones(3))


@pytest.mark.parametrize("rows", [False, True])
@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 0.9), st.floats(0.05, 0.95), st.booleans())
def test_a_point_just_beyond_a_limit_is_none(rows: bool, limit: float, share: float, below: bool) -> None:
    """Ends of coordinates are rounded outward by up to 1e-6: a pair that only such a point wins is lost."""
    side = -1.0 if below else 1.0
    wanted = limit + share * (np.ceil(limit * 2**20) / 2**20 - limit)  # the weight from which on the pair is won
    limits = ([1.0, -limit if below else -1.0], [1.0, 1.0 if below else limit])
    item = ranked_list(parse("auc"), np.arange(4), np.array([1.0, 0.0, 1.0, 0.0]))
    ahead = wanted
    for _ in range(60):  # the deviations that weights are measured in depend on the rows
        X = np.array([[0.0, side], [ahead, 0.0], [-5.0, 0.3], [-6.0, -0.4]])
        problem = Problem.build(X, [item], epsilon=1e-9, limits=limits)
        spread = problem.high - problem.low
        ahead = wanted * spread[0] / spread[1]
    with by_rows() if rows else nullcontext():
        for nodes in (0, 50):
            found = solve(problem, time_limit=None, n_jobs=1, node_limit=nodes)
            value = float(certify(problem, found.weights).value)
            assert found.value == value == float(objective_at(problem, found.weights)) <= found.bound


@pytest.mark.parametrize("kind", ["price", "support"])
def test_price_and_limit_count_corrections_only(kind: str) -> None:
    problem = noisy_problem(40, 4, "dcg@5", 0.3, 1)
    given_ = {"C": 1e-6} if kind == "price" else {"max_features": 1}
    one = Problem.build(problem.X, problem.lists, limits=([1, -1, -1, -1], [1, 1, 1, 1]), **given_)
    found = solve(one)
    assert found.closed and found.weights[0] == 1
    used = int(np.count_nonzero(found.weights[1:]))
    assert used <= (1 if kind == "support" else 3)
    assert found.value == pytest.approx(float(certify(one, found.weights).value))
    assert certify(one, found.weights).value == objective_at(one, found.weights)


def test_a_problem_survives_json_and_its_digest_knows_the_limits() -> None:
    problem = anchored(3)
    again = problem_from_json(problem_to_json(problem), "here")
    assert digest(again) == digest(problem)
    low, high = problem.limits
    assert digest(replace(problem, limits=None)) != digest(problem)
    assert digest(replace(problem, limits=(low, high + np.eye(low.size)[1]))) != digest(problem)


@pytest.mark.parametrize("w", [[0.5, 0.0, 0.0], [1.0, 0.6, 0.0], [1.0, 0.0, -0.6], [0.0, 0.0, 0.0]])
def test_weights_outside_the_limits_get_no_certificate(w: list[float]) -> None:
    problem = noisy_problem(20, 3, "auc", 0.3, 0)
    one = Problem.build(problem.X, problem.lists, limits=([1, -0.5, -0.5], [1, 0.5, 0.5]))
    with pytest.raises(CertificateError, match="is allowed"):
        certify(one, w)


@pytest.mark.parametrize(
    "limits",
    [([1, 0.1], [1, 0.5]), ([0, -1], [1, 1]), ([1], [1]), ([1, -np.inf], [1, 1]), ([1, -1, -1], [1, 1, 1])],
)
def test_limits_that_make_no_sense_are_refused(limits) -> None:
    problem = noisy_problem(20, 2, "auc", 0.3, 0)
    with pytest.raises(InputError, match="limits must be"):
        Problem.build(problem.X, problem.lists, limits=limits)


@settings(deadline=None)
@given(SEEDS)
def test_every_point_of_a_line_inside_its_interval_is_allowed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    domain = Domain.of(anchored(seed))
    v, u = domain.random_point(rng), rng.normal(size=domain.n_features)
    u[0] = 0.0
    low, high = domain.interval(v, u)
    assert low <= 1e-12 and high >= -1e-12
    for tau in np.clip(rng.uniform(low, high, 3), -1e6, 1e6):
        assert np.all(v + tau * u >= domain.lower - 1e-9) and np.all(v + tau * u <= domain.upper + 1e-9)


@pytest.mark.parametrize("kind", ["anchored", "free"])
@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_the_bound_of_the_statistic_holds_without_margin_and_price(kind: str, seed: int) -> None:
    problem = anchored(seed, n_max=9) if kind == "anchored" else draw(seed, n_max=9).problem
    bound = statistic_bound(problem, n_jobs=1)
    found = solve(problem, n_jobs=1)
    rng = np.random.default_rng(seed)
    allowed = surface(rng, problem, 8)
    if problem.limits is not None:
        low, high = problem.limits
        allowed = np.clip(low + rng.random((8, low.size)) * (high - low), low, high)
        allowed[:, 1:] *= np.arange(1, low.size) <= (problem.max_features or low.size)
    for w in [found.weights, *allowed]:
        assert statistic_at(replace(problem, epsilon=1e-11), w) <= bound


def test_the_bound_of_the_statistic_exceeds_that_of_a_wide_margin() -> None:
    problem = noisy_problem(40, 3, "dcg@5", 0.3, 1, epsilon=0.3)
    found = solve(problem, n_jobs=1)
    plain = solve(replace(problem, epsilon=1e-12), n_jobs=1)
    assert found.closed and plain.closed
    assert statistic_bound(problem, n_jobs=1) == pytest.approx(plain.value) and plain.value > found.bound


def test_a_proof_of_an_anchored_search_goes_through_a_file(tmp_path) -> None:
    problem = anchored(12, n_max=8)
    save_proof(solve(problem, n_jobs=1, proof=True).proof, tmp_path / "proof.npz")
    assert verify_proof(problem, load_proof(tmp_path / "proof.npz")).ok
