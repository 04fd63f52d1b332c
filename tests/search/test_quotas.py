"""Quotas on the order: searches under them have the enumeration's optimum, with proofs, lines, jobs and checkpoints."""

import os
import signal
import time
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rerank.certificate import certify, verify_proof
from rerank.errors import CertificateError
from rerank.errors.stops import current
from rerank.problem import Problem, Proof, Quota, digest, problem_of
from rerank.problem.proof import LISTED
from rerank.search import line_search, solve, statistic_bound
from rerank.search.boxes import signs
from rerank.statistics import parse
from tests.cases.examples import SEEDS, examples
from tests.cases.quotas import with_quotas
from tests.cases.search import by_rows
from tests.oracles.comparisons import check_search
from tests.oracles.quotas import best, meets

WAYS = ("pairs", "rows", "proof")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("part", range(2))
def test_searches_under_quotas_agree_with_an_enumeration(part: int, way: str) -> None:
    first = 1000 * part + 100 * WAYS.index(way)
    asked = [with_quotas(first, n_max=5, d_max=3), *(with_quotas(first + k, n_max=7) for k in range(1, 14))]
    with by_rows() if way == "rows" else nullcontext():
        found = [check_search(problem, time_limit=10.0, proof=way == "proof") for problem in asked]
    assert not [verdict.failures for verdict in found if verdict.failures]
    seen = [verdict.seen[0] for verdict in found]
    assert all(one.startswith("closed") for one in seen)
    assert seen.count("closed") > len(found) / 2


def opposed(margin: str, statistic: str = "precision@2") -> Problem:
    """A quota that wants a pair the other way round than the value: its sign and its margin are not free of each
    other.
    """
    X = [[0.593, 0.337, -0.661], [0.744, 2.437, 1.401], [1.076, 0.342, -2.485], [-0.237, -1.471, -0.021]]
    problem = problem_of([*X, [-0.773, 2.272, 0.551]], [1, 0, 1, 0, 0], parse(statistic), epsilon=margin)
    return replace(problem, quotas=(Quota("A", 2, None, 0).of(np.array([0, 3])),))


@pytest.mark.parametrize("proof", [False, True])
@pytest.mark.parametrize("margin", ["0.1", "1e-4", "1e-7"])
def test_the_margin_costs_no_time_where_a_quota_wants_a_pair_the_other_way(margin: str, proof: bool) -> None:
    problem = opposed(margin)
    found = solve(problem, time_limit=60.0, n_jobs=1, proof=proof)
    assert found.closed and found.boxes < 20_000
    assert found.value == best(problem).value
    assert found.proof is None or verify_proof(problem, found.proof).ok


@pytest.mark.parametrize("reason", ["time", "ctrl-c"])
def test_a_stop_while_programs_over_signs_run_ends_them_and_the_bound_holds(
    reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = opposed("1e-7")
    whole, begun, possible = solve(problem, n_jobs=1), 0, signs._Signs._possible

    def stopped(*given: Any) -> Any:
        nonlocal begun
        begun += 1
        if begun == 3:  # inside of a box's programs
            if reason == "ctrl-c":
                os.kill(os.getpid(), signal.SIGINT)
            while not current().now:
                time.sleep(0.01)
        return possible(*given)

    monkeypatch.setattr(signs._Signs, "_possible", stopped)
    found = solve(problem, time_limit=3.0 if reason == "time" else 60.0, n_jobs=1)
    assert begun == 3  # which is refused, and nothing is asked for after it
    assert not found.closed and found.interrupted == (reason == "ctrl-c")
    assert whole.closed and found.value <= whole.value <= found.bound


def all_listed(problem: Problem, w: np.ndarray) -> Proof:
    """A proof that says of every face of the cube that it is a box whose cells the checker lists, and of weights that
    nothing is worth more.
    """
    found, value = solve(problem, time_limit=60.0, n_jobs=1, proof=True).proof, float(certify(problem, w).value)
    codes, lines = np.full(2 * problem.n_features, LISTED, np.uint16), [np.empty((0, 2), np.int64)]
    return replace(found, codes=codes, lines=lines, weights=w, value=value, bound=np.nextafter(value, np.inf))


@pytest.mark.parametrize("margin", ["0.1", "1e-4"])
def test_the_checker_lists_what_quotas_leave_by_itself(margin: str) -> None:
    problem = opposed(margin)
    optimum = best(problem)
    rng = np.random.default_rng(0)
    drawn = [w / np.abs(w).max() for w in rng.standard_normal((200, 3))]
    worse = next(w for w in drawn if meets(problem, tuple(w.tolist())) and certify(problem, w).value < optimum.value)
    good = solve(problem, n_jobs=1).weights
    assert verify_proof(problem, all_listed(problem, good)).ok
    assert not verify_proof(problem, all_listed(problem, worse)).ok


def test_the_checker_sees_orders_without_a_margin_that_is_multiplied_by_the_sum() -> None:
    X = np.array([[0.0, 1.0], [1.0, 0.7], [0.0, 0.6], [0.5, 0.5]])  # the third leads the last by less than the margin
    problem = problem_of(X, [1, 0, 0, 0], parse("auc"), epsilon="0.2", by_sum=True, signs=[1, 1])
    problem = replace(problem, quotas=(Quota("A", 3, 1).of(np.array([2])),))
    found = solve(problem, n_jobs=1, proof=True)
    assert found.closed and verify_proof(problem, found.proof).ok
    w = np.array([0.125, 1.0])
    value = float(certify(problem, w).value)
    assert value < found.value
    forged = replace(found.proof, codes=np.zeros(2, np.uint16), weights=w, value=value, bound=0.7)
    assert "may hold weights" in verify_proof(problem, forged).message


def long(seed: int, n: int = 400, d: int = 3, **options: object) -> tuple[Problem, np.ndarray]:
    """One list in which the rows of a kind stand low by what the labels ask for, and the kind of each row."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    kinds = X[:, -1] + 0.3 * rng.normal(size=n) > 0.5
    gains = (X[:, 0] - 0.5 * X[:, -1] + rng.normal(size=n) > 1).astype(float)
    return problem_of(X, gains, parse("precision@30"), **options), kinds


def counted(problem: Problem, w: np.ndarray, member: np.ndarray, first: int) -> int:
    """Members among the first places, which ties do not touch on such data."""
    return int(member[np.argsort(-(problem.scaled @ w))[:first]].sum())


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_quota_on_a_long_list_costs_value_and_is_kept(seed: int, rows: bool) -> None:
    problem, kinds = long(seed)
    least = replace(problem, quotas=(Quota("A", 40, 18).of(np.flatnonzero(kinds)),))
    most = replace(problem, quotas=(Quota("B", 40, None, 22).of(np.flatnonzero(~kinds)),))
    with by_rows(rows):
        free, *found = (solve(one, time_limit=20.0, n_jobs=1) for one in (problem, least, most))
    assert counted(problem, free.weights, kinds, 40) < 18
    for one in found:
        assert one.closed and counted(problem, one.weights, kinds, 40) >= 18
        assert one.value < free.value
    assert found[0].value == found[1].value  # two kinds: the one quota is the other


def test_jobs_and_checkpoints_change_nothing(tmp_path) -> None:
    problem, kinds = long(5, d=4)
    problem = replace(problem, quotas=(Quota("A", 40, 18).of(np.flatnonzero(kinds)),))
    whole = solve(problem, time_limit=None, n_jobs=1)
    assert whole.closed
    shared = solve(problem, time_limit=None, n_jobs=3)
    assert (shared.value, shared.bound, shared.weights.tolist()) == (whole.value, whole.bound, whole.weights.tolist())
    path = tmp_path / "state"
    solve(problem, time_limit=None, n_jobs=1, node_limit=whole.boxes // 2, checkpoint=path)
    resumed = solve(problem, time_limit=None, n_jobs=1, checkpoint=path)
    assert (resumed.value, resumed.weights.tolist()) == (whole.value, whole.weights.tolist())


def test_many_columns_find_weights_that_meet_a_quota_without_a_box() -> None:
    problem, kinds = long(7, n=300, d=12)
    problem = replace(problem, quotas=(Quota("A", 40, 25).of(np.flatnonzero(kinds)),))
    found = solve(problem, time_limit=20.0, n_jobs=1, node_limit=0)
    assert counted(problem, found.weights, kinds, 40) >= 25 and not found.closed
    limited = solve(replace(problem, max_features=3), time_limit=3.0, n_jobs=1)
    assert np.count_nonzero(limited.weights) <= 3 and counted(problem, limited.weights, kinds, 40) >= 25
    w, value = line_search(problem, time_limit=0.5)
    assert counted(problem, w, kinds, 40) >= 25 and value <= found.bound


def test_what_cannot_be_met_is_said_only_when_proved() -> None:
    problem, kinds = long(3, d=2)
    group = np.flatnonzero(kinds & (problem.X[:, 0] < 0))  # stands high only where the others of its kind do, too
    problem = replace(problem, quotas=(Quota("A", 40, 39).of(group),))
    closed, open_ = (solve(problem, time_limit=20.0, n_jobs=1, node_limit=limit) for limit in (None, 0))
    assert closed.closed and closed.value == closed.bound == -np.inf and closed.proof is None
    assert not open_.closed and open_.value == -np.inf < open_.bound
    assert line_search(problem, time_limit=0.2)[1] == -np.inf
    assert solve(problem, time_limit=0.0, n_jobs=1).value == -np.inf


@examples(25, SEEDS)
def test_a_bound_on_the_statistic_holds_for_the_orders_that_meet_the_quotas(seed: int) -> None:
    problem = replace(with_quotas(seed, n_max=6, d_max=2), C=0.0)
    most = best(problem)
    assert most is None or float(most.value) <= statistic_bound(problem, time_limit=5.0, n_jobs=1) + 1e-9


def test_a_proof_belongs_to_its_quotas() -> None:
    problem, kinds = long(1, n=60)
    asked = replace(problem, quotas=(Quota("A", 20, 9).of(np.flatnonzero(kinds)),))
    found = solve(asked, time_limit=20.0, n_jobs=1, proof=True)
    assert found.closed and verify_proof(asked, found.proof).ok
    harder = replace(asked, quotas=(Quota("A", 20, 10).of(np.flatnonzero(kinds)),))
    for other in (problem, harder):  # the same tree, said to be about another problem
        forged = replace(found.proof, fingerprint=digest(other))
        assert not verify_proof(other, forged).ok
    free = solve(problem, n_jobs=1).weights
    with pytest.raises(CertificateError, match=r"put \d of A among the first 20"):
        certify(asked, free)
    assert not verify_proof(asked, replace(found.proof, weights=free)).ok


@examples(60, SEEDS)
def test_the_certificate_refuses_just_the_weights_that_miss_a_quota(seed: int) -> None:
    problem = with_quotas(seed, n_max=9)
    rng = np.random.default_rng(seed)
    w = rng.integers(-2, 3, size=problem.n_features) / 2.0
    w = np.where(w * problem.signs < 0, 0.0, w)
    if problem.limits is not None:
        w = np.clip(w, *problem.limits)
    elif w.any():
        w /= np.abs(w).max()
    if problem.max_features is not None and problem.used(w) > problem.max_features:
        return
    try:
        certify(problem, w)
        kept = True
    except CertificateError as error:
        assert "among the first" in str(error)
        kept = False
    assert kept == meets(problem, tuple(w.tolist()))
