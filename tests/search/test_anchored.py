"""Given scores with corrections, and measures that weigh hits: against enumeration, proofs and special cases."""

from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from rerank.certificate import certify, verify_proof
from rerank.errors import InputError
from rerank.problem import Problem, digest, problem_of, ranked_list
from rerank.problem.json import problem_from_json, problem_to_json
from rerank.problem.proof import Circuits
from rerank.problem.values import values_at
from rerank.ranks import evaluate
from rerank.search import line_search, run, solve, statistic_bound
from rerank.search.rows import choice
from rerank.statistics import parse
from tests.cases.examples import SEEDS, examples
from tests.cases.instances import draw, with_hits
from tests.cases.search import by_rows, noisy_problem, surface
from tests.oracles.anchored import anchored, best
from tests.oracles.comparisons import check_search
from tests.oracles.oracle import objective_at, statistic_at
from tests.oracles.sweep import sweep


@examples(40, SEEDS)
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


@examples(30, SEEDS)
def test_lines_stay_inside_the_limits_and_never_lose(seed: int) -> None:
    problem = anchored(seed, n_max=14, d_max=5)
    w, value = line_search(problem, time_limit=0.02, random_state=seed)
    assert (w >= problem.limits[0]).all() and (w <= problem.limits[1]).all()
    assert float(objective_at(problem, w)) == pytest.approx(value, abs=1e-9)


def test_columns_are_measured_in_deviations() -> None:
    problem = noisy_problem(50, 3, "auc", 0.3, 0)
    one = Problem.build(problem.X, problem.lists, limits=([1, -0.5, -0.5], [1, 0.5, 0.5]))
    assert one.scaled.std(axis=0) == pytest.approx(np.ones(3))


@pytest.mark.parametrize("rows", [False, True])
@examples(25, st.floats(0.05, 0.9), st.floats(0.05, 0.95), st.booleans())
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
        last, ahead = ahead, wanted * spread[0] / spread[1]
        if ahead == last:
            break
    with by_rows() if rows else nullcontext():
        for nodes in (0, 50):
            found = solve(problem, time_limit=None, n_jobs=1, node_limit=nodes)
            value = float(certify(problem, found.weights).value)
            assert found.value == value == float(objective_at(problem, found.weights)) <= found.bound


def test_a_problem_survives_json_and_its_digest_knows_the_limits() -> None:
    problem = anchored(3)
    again = problem_from_json(problem_to_json(problem), "here")
    assert digest(again) == digest(problem)
    low, high = problem.limits
    assert digest(replace(problem, limits=None)) != digest(problem)
    assert digest(replace(problem, limits=(low, high + np.eye(low.size)[1]))) != digest(problem)


@pytest.mark.parametrize(
    "limits", [([1, 0.1], [1, 0.5]), ([0, -1], [1, 1]), ([1], [1]), ([1, -np.inf], [1, 1]), ([1, -1, -1], [1, 1, 1])]
)
def test_limits_that_make_no_sense_are_refused(limits) -> None:
    problem = noisy_problem(20, 2, "auc", 0.3, 0)
    with pytest.raises(InputError, match="limits must be"):
        Problem.build(problem.X, problem.lists, limits=limits)


@pytest.mark.parametrize("kind", ["anchored", "free"])
@examples(30, SEEDS)
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


MEASURES = ("ap", "rr", "success@2", "recall@3", "rbp@0.7", "ap@3", "rr@2", "pos@top")


KINDS = {
    "anchored": lambda seed: anchored(seed, n_max=8),
    "measures of hits": lambda seed: draw(seed, statistic=MEASURES[seed % len(MEASURES)]).problem,
    "weights of hits": lambda seed: with_hits(anchored(seed, n_max=8) if seed % 2 else draw(seed).problem, seed),
}


@pytest.mark.parametrize("kind", KINDS)
@examples(60, SEEDS)
def test_value_and_bound_meet_the_enumerated_optimum(kind: str, seed: int) -> None:
    assert check_search(KINDS[kind](seed)).failures == ()


@pytest.mark.parametrize("stat", MEASURES)
def test_a_longer_list_meets_the_swept_optimum(stat: str) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 2))
    gains = (X @ [1.0, -0.4] + 1.5 * rng.normal(size=120) > 1.7).astype(float)
    problem = problem_of(X, gains, parse(stat), np.arange(120) % 12, epsilon=1e-3)
    found, most = solve(problem, n_jobs=1), sweep(problem).value
    assert found.closed and found.nodes > 0
    assert Fraction(found.bound) >= most and found.value == pytest.approx(float(most), rel=1e-12)


@examples(40, SEEDS, st.sampled_from(MEASURES))
def test_a_proof_is_verified_and_a_mutated_one_refused(seed: int, stat: str) -> None:
    problem = draw(seed, n_max=8, statistic=stat).problem
    found = solve(problem, time_limit=5.0, n_jobs=1, proof=True)
    assert found.proof is not None
    verdict = verify_proof(problem, found.proof)
    assert verdict.ok, verdict.message
    low = float(best(problem).value) - 1e-6
    assert not verify_proof(problem, replace(found.proof, bound=low)).ok
    if problem.weighs_hits and not any(item.alone for item in problem.lists):
        twice = tuple(replace(item, hits=2 * item.hits) for item in problem.lists)
        other = replace(problem, lists=twice)
        assert not verify_proof(other, found.proof).ok  # it is the proof of another problem
        raised = objective_at(other, found.weights) > Fraction(found.bound)
        assert verify_proof(other, replace(found.proof, fingerprint=digest(other))).ok <= (not raised)


def test_a_proof_of_equal_weights_is_none_of_larger_ones() -> None:
    """The boxes of RR would close at its bound; for AP, with more to earn, they are too coarse."""
    problem = noisy_problem(40, 3, "rr", 0.3, 1)
    found = solve(problem, n_jobs=1, proof=True)
    assert found.proof is not None and verify_proof(problem, found.proof).ok
    lists = tuple(replace(item, hits=np.arange(1, item.rows.size + 1)) for item in problem.lists)
    other = replace(problem, lists=lists)
    assert not verify_proof(other, replace(found.proof, fingerprint=digest(other))).ok


def test_circuits_are_no_proof_of_weighed_hits() -> None:
    problem = noisy_problem(20, 3, "ap", 0.3, 0)
    found = solve(problem, n_jobs=1, proof=True)
    assert found.proof is not None
    proof = replace(
        found.proof, circuits=Circuits.none(), supports=(), lines=(), codes=np.empty(0, np.uint16), bound=problem.ideal
    )
    verdict = verify_proof(problem, proof)
    assert not verdict.ok and "earn the same for every relevant row" in verdict.message
    plain = noisy_problem(20, 3, "mrr", 0.3, 0)
    value = certify(plain, proof.weights).value_down
    assert verify_proof(plain, replace(proof, fingerprint=digest(plain), bound=plain.ideal, value=value)).ok


@pytest.mark.parametrize("hits", [[0, 1, 1], [1, -1, 1], [1, 1], [2**32, 1, 1], [1.0, 1.0, 1.0]])
def test_weights_that_the_bound_does_not_hold_for_are_refused(hits: list) -> None:
    problem = problem_of([[0.0], [1.0], [2.0]], [1.0, 0.0, 1.0], parse("ap"))
    proof = solve(problem, n_jobs=1, proof=True).proof
    broken = replace(problem, lists=(replace(problem.lists[0], hits=np.array(hits)),))
    assert proof is not None
    with pytest.raises(InputError, match="weights of hits must be whole numbers"):
        verify_proof(broken, replace(proof, fingerprint=digest(broken)))
    body = problem_to_json(problem)
    body["lists"][0]["hits"] = [h if isinstance(h, int) else str(h) for h in hits]
    with pytest.raises(InputError, match="holds no problem that can be used"):
        problem_from_json(body, "the file")


@examples(30, SEEDS)
def test_a_problem_survives_json_and_its_digest_knows_the_weights(seed: int) -> None:
    plain = draw(seed).problem
    problem = with_hits(plain, seed)
    again = problem_from_json(problem_to_json(problem), "here")
    assert digest(again) == digest(problem) != digest(plain)
    w = surface(np.random.default_rng(seed), problem, 40)[0]
    assert certify(again, w).value == certify(problem, w).value


@examples(30, SEEDS, st.sampled_from(MEASURES))
def test_the_certificate_s_statistic_is_that_of_evaluate(seed: int, stat: str) -> None:
    rng = np.random.default_rng(seed)
    X, y, qid = rng.integers(0, 4, size=(14, 2)) / 4, rng.choice([0, 0, 1, 3], size=14), np.arange(14) % 2
    y[:2] = 1
    problem = problem_of(X, (y > 0).astype(float), parse(stat), qid)
    w = np.round(8 * surface(rng, problem, 40)[0]) / 8  # ties are frequent
    scores = np.round(X @ (w / (problem.high - problem.low)), 9)
    assert float(certify(problem, w).statistic) == pytest.approx(evaluate(stat, y, scores, qid), abs=1e-12)
    assert values_at(problem, [w])[0] <= float(certify(problem, w).value) <= problem.ideal


def test_a_limit_on_features_gives_the_same_value_with_and_without_screens(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.integers(0, 2, size=(60, 4)), rng.normal(size=(60, 4))])
    gains = (X @ rng.normal(size=8) + rng.normal(size=60) > 0.5).astype(float)
    problem = problem_of(X, gains, parse("ap"), max_features=2)
    screened = solve(problem, n_jobs=1)
    monkeypatch.setattr(run, "screens_of", lambda *_: None)
    plain = solve(problem, n_jobs=1)
    assert screened.closed and plain.closed
    assert screened.value == pytest.approx(plain.value, rel=1e-12)


def test_the_first_hit_of_long_lists_is_taken_by_rows_and_many_features_without_levels() -> None:
    """Parts of the search that add up what every relevant row earns alike are left out."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 9))
    gains = (X[:, 0] + 0.3 * rng.normal(size=20_000) > 1.8).astype(float)
    for stat, boxes, lines in (
        ("recall@20", True, True),
        ("mrr", False, True),
        ("success@20", True, True),
        ("rr", True, True),
        ("ap", False, True),
    ):
        problem = problem_of(X, gains, parse(stat))
        assert (choice.by_rows(problem), choice.lines_by_rows(problem)) == (boxes, lines)
    few = problem_of(X[:60], gains[:60] + (np.arange(60) % 5 == 0), parse("ap"))
    begun = run.SearchRun(few)
    begun.begin(None)
    assert begun.boxes.cap == np.inf
    found = solve(few, n_jobs=1, node_limit=2000)
    assert found.value <= found.bound <= few.ideal
