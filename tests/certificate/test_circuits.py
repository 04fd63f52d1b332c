"""Circuits of a proof: what the search writes holds, what is altered does not, and nothing too low is shown."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from rerank.certificate import load_proof, save_proof, verify_proof
from rerank.certificate.check.circuits import CircuitCheck
from rerank.certificate.check.exact import ExactProblem
from rerank.certificate.check.tree import UnprovenError
from rerank.certificate.proof_file import FORM
from rerank.errors import InputError
from rerank.io.archive import read_archive, write_archive
from rerank.problem import Problem, Proof
from rerank.problem.proof import LEAF, Circuits
from rerank.search import solve
from rerank.search.domain import Domain
from rerank.search.top import levels
from rerank.search.top.demands import Demands
from tests.cases.examples import SEEDS, examples
from tests.cases.instances import draw
from tests.cases.search import noisy_problem
from tests.oracles.anchored import anchored, best
from tests.oracles.oracle import objective_at

Case = tuple[Problem, Proof, Circuits]


@pytest.fixture(scope="module")
def least() -> Case:
    """A value that levels prove."""
    return case(noisy_problem(100, 10, "dcg@10", 0.1, 4))


@pytest.fixture(scope="module")
def linear() -> Case:
    """The same for a statistic of which every lost pair costs the same."""
    return case(noisy_problem(40, 9, "auc", 0.3, 1), node_limit=1)


def case(problem: Problem, **options: Any) -> Case:
    found = solve(problem, time_limit=None, n_jobs=1, proof=True, **options)
    assert isinstance(found.proof, Proof) and found.proof.circuits is not None
    assert found.bound < problem.ideal - 1e-3 and found.bound == found.proof.bound
    verdict = verify_proof(problem, found.proof)
    assert verdict.ok and verdict.leaves == 0, verdict.message
    return problem, found.proof, found.proof.circuits


def refused(problem: Problem, proof: Proof, message: str, **changes: Any) -> None:
    assert proof.circuits is not None
    verdict = verify_proof(problem, replace(proof, circuits=replace(proof.circuits, **changes)))
    assert not verdict.ok and message in verdict.message, verdict.message


def changed(array: np.ndarray, at: Any, value: Any) -> np.ndarray:
    out = array.copy()
    out[at] = value
    return out


@pytest.mark.parametrize("kind", ["least", "linear"])
def test_altered_circuits_are_refused(kind: str, request: pytest.FixtureRequest) -> None:
    problem, proof, c = request.getfixturevalue(kind)
    for at in range(c.sizes.size):
        first = int(c.sizes[:at].sum())
        more = changed(c.multipliers, first, 2 * c.multipliers[first])
        refused(problem, proof, "Some weights may win all pairs of the circuit", multipliers=more)
    turned = changed(c.pairs, 0, c.pairs[0, ::-1])
    refused(problem, proof, "are no pair of the list", pairs=turned)
    other = changed(c.pairs, (0, 0), next(i for i in problem.units[0].positive if i not in c.pairs[: c.sizes[0], 0]))
    refused(problem, proof, "Some weights may win", pairs=other)
    refused(problem, proof, "stands in no list", pairs=changed(c.pairs, (0, 1), len(problem.X)))
    refused(problem, proof, "stands in no list", pairs=changed(c.pairs, (0, 1), -1))
    for zero in (0, -5):
        refused(problem, proof, "not positive", multipliers=changed(c.multipliers, 1, zero))
    refused(problem, proof, "do not fit", sizes=c.sizes[:-1])
    refused(problem, proof, "do not fit", sizes=changed(c.sizes, 0, 0))
    refused(problem, proof, "do not fit", pairs=c.pairs[:-1])
    refused(problem, proof, "do not fit", pairs=c.pairs.ravel())


def test_a_bound_that_the_circuits_do_not_show_is_refused(least: Case, linear: Case) -> None:
    for problem, proof, _ in (least, linear):
        nothing = np.zeros(problem.n_features)
        worse = replace(proof, weights=nothing, value=float(objective_at(problem, nothing)))
        assert verify_proof(problem, worse).ok
        verdict = verify_proof(problem, replace(worse, bound=proof.bound - 1e-9))
        assert not verdict.ok and "The circuits leave" in verdict.message


def test_losses_that_are_too_large_are_refused(least: Case, linear: Case) -> None:
    for problem, proof, c in (least, linear):
        for j in range(c.least.size):
            more = changed(c.least, slice(j, None), np.maximum(c.least[j:], c.least[j] + 1))
            refused(problem, proof, "do not show that the positive at place", least=more)
        less = changed(c.least, -1, c.least[-1] - 1)
        refused(problem, proof, "above the bound", least=np.minimum(less, less[-1]))
        n = problem.units[0].positive.size
        refused(problem, proof, f"speak of {n + 1} positives", least=np.append(c.least, 9))
        refused(problem, proof, "below 0", least=changed(c.least, 0, -1))


@pytest.mark.parametrize("features", [10, 13])
def test_the_bound_of_a_proof_is_that_of_the_search(features: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {10: (100, 10, "dcg@10", 0.1, 1), 13: (60, 13, "auc", 0.35, 0)}[features]
    monkeypatch.setattr(levels, "LOOKS", ())  # orders are not in a proof
    problem = noisy_problem(*given)
    one, other = (solve(problem, time_limit=None, n_jobs=1, node_limit=1, proof=proof) for proof in (False, True))
    assert one.bound == other.bound < problem.ideal - 1e-3
    assert verify_proof(problem, other.proof).ok


def test_a_proof_has_circuits_or_trees(least: Case) -> None:
    problem, proof, _ = least
    for change in (
        {"codes": np.array([LEAF], np.uint16)},
        {"supports": (np.arange(10),)},
        {"lines": (np.empty((0, 2), np.int64),)},
    ):
        assert "both circuits and trees" in verify_proof(problem, replace(proof, **change)).message
    assert not verify_proof(problem, replace(proof, circuits=None)).ok


def test_circuits_of_another_kind_of_problem_are_refused(least: Case) -> None:
    problem, _, c = least
    graded = draw(3, statistic="dcg").problem
    two = replace(problem, lists=problem.lists * 2)
    for other in (two, graded):
        if len(other.units) != 1:
            with pytest.raises(UnprovenError, match="a single list of two classes"):
                CircuitCheck(ExactProblem(other), c)
    assert len(two.units) == 2


def test_a_proof_of_the_ideal_value_survives_a_file(tmp_path: Any) -> None:
    """Levels that have nothing to show are no proof: the boxes are."""
    problem = noisy_problem(100, 10, "dcg@10", 0.35, 0)
    found = solve(problem, n_jobs=1, proof=True)
    assert found.closed and found.bound == problem.ideal and isinstance(found.proof, Proof)
    save_proof(found.proof, tmp_path / "a")
    verdict = verify_proof(problem, load_proof(tmp_path / "a"))
    assert verdict.ok and verdict.leaves, verdict.message


def test_a_file_with_shares_of_pairs_is_refused_with_what_to_do(least: Case, tmp_path: Any) -> None:
    problem, proof, c = least
    save_proof(proof, tmp_path / "a")
    header, arrays = read_archive(tmp_path / "a", FORM)
    del header["lengths"]
    for shares in (np.zeros(c.sizes.size), np.full(c.sizes.size, 2**39)):  # zeros in files of levels
        write_archive(tmp_path / "b", FORM, header, arrays | {"circuit_shares": shares})
        if shares.any():
            with pytest.raises(InputError, match=r"b: Its bound adds up shares.*fit again with proof=True\.$"):
                load_proof(tmp_path / "b")
        else:
            assert verify_proof(problem, load_proof(tmp_path / "b")).ok


def tiny(seed: int, statistic: str, corrected: bool) -> Problem | None:
    """One list of a few rows with two classes, if the seed has one; lattices, ties, equal rows, signs, corrections."""
    options: dict[str, Any] = {"n_max": 8, "one_list": True, "statistic": statistic}
    problem = anchored(seed, **options) if corrected else draw(seed, **options).problem
    return problem if len(problem.units) == 1 and problem.units[0].negative.size else None


def pool(problem: Problem) -> tuple[Demands, Circuits]:
    """The circuits met on the way to all answers."""
    demands = Demands(problem, problem.units[0], Domain.of(problem), 1e-13)
    for j in range(1, demands.positives + 1):
        for lost in range(demands.negatives):
            demands.decided([(j, lost)], np.inf)
    return demands, demands.recorded(np.zeros(0, np.int64))


def accepted(seed: int, problem: Problem | None) -> int:
    """Claims drawn at random that are accepted and say something; each must hold."""
    if problem is None:
        return 0
    rng, seen = np.random.default_rng(seed), 0
    exact, optimum = ExactProblem(problem), best(problem).value
    demands, c = pool(problem)
    for _ in range(12):
        least = np.sort(rng.integers(0, demands.negatives + 2, rng.integers(demands.positives + 1)))
        multipliers = c.multipliers.copy()
        if multipliers.size and rng.random() < 0.3:
            at = rng.integers(multipliers.size)
            multipliers[at] = max(multipliers[at] // rng.integers(1, 4), 1)
        claim = replace(c, least=least, multipliers=multipliers)
        try:
            bound = CircuitCheck(exact, claim).bound()
        except UnprovenError:
            continue
        assert bound >= optimum
        seen += bound < exact.ideal()
    return seen


@examples(60, SEEDS, st.sampled_from(["dcg@3", "auc", "mrr", "precision@2"]), st.booleans())
def test_whatever_is_accepted_is_true(seed: int, statistic: str, corrected: bool) -> None:
    problem = tiny(seed, statistic, corrected)
    assume(problem is not None)
    accepted(seed, problem)


def test_some_claims_of_the_test_above_are_accepted() -> None:
    assert sum(accepted(seed, tiny(seed, "auc", False)) for seed in range(24)) >= 10


@pytest.mark.parametrize("seed", range(25))
def test_a_loss_is_accepted_where_every_choice_of_rows_leaves_a_circuit(seed: int) -> None:
    problem = draw(3 * seed, n_max=8, one_list=True, statistic="auc").problem
    if len(problem.units) != 1 or not problem.units[0].negative.size:
        return
    exact, unit, X = ExactProblem(problem), problem.units[0], problem.X
    _, c = pool(problem)
    sets = np.split(c.pairs, np.cumsum(c.sizes)[:-1]) if c.sizes.size else []

    def whole(gone: tuple[int, ...]) -> bool:
        """Whether a circuit is left when rows leave; a row of it may be replaced by an equal one of its class."""
        left = [[r for r in side.tolist() if r not in gone] for side in (unit.positive, unit.negative)]
        return any(
            all(any((X[r] == X[row]).all() for r in side) for pair in s for row, side in zip(pair, left, strict=True))
            for s in sets
        )

    n, m = unit.positive.size, unit.negative.size
    for j in range(1, n + 1):
        for lost in range(1, min(m, 3) + 1):
            every = all(
                whole((*a, *b))
                for a in combinations(unit.positive.tolist(), n - j)
                for b in combinations(unit.negative.tolist(), lost - 1)
            )
            claim = replace(c, least=np.array([0] * (j - 1) + [lost]))
            try:
                CircuitCheck(exact, claim).bound()
            except UnprovenError:
                assert not every
            else:
                assert every
