"""Proofs: what the search writes holds, what is altered does not, and no tree shows a bound that is too low."""

import doctest
import re
import time
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

from rerank.certificate import leaf_boxes, load_proof, save_proof, verify_proof
from rerank.certificate.check.exact import ExactProblem
from rerank.certificate.check.pairs import Filter, SlotPairs, rounded_up
from rerank.certificate.check.vertices import RationalBox, largest_value
from rerank.errors import CertificateError, InputError
from rerank.problem import Problem, Proof, RankedList, problem_of
from rerank.problem.json import digest
from rerank.problem.problem import coordinates
from rerank.problem.proof import COORDINATE, LEAF, LINE, LISTED, PRICED
from rerank.search import solve
from rerank.statistics import parse
from tests.cases.adversarial import adversarial
from tests.cases.examples import SEEDS, examples
from tests.cases.instances import draw, with_hits
from tests.cases.proofs import Slow, below, bisected, listed, proof_with, random_tree, supports, up
from tests.oracles.anchored import anchored, best
from tests.oracles.oracle import objective_at, statistic_at


def searched(problem: Problem, seconds: float = 5.0) -> Proof:
    proof = solve(problem, time_limit=seconds, proof=True).proof
    assert isinstance(proof, Proof)
    return proof


def drawn(seed: int, **options: int) -> Problem:
    """An ordinary problem or, one in three, a given score with corrections; one in four weighs hits."""
    problem = anchored(seed, **options) if seed % 3 == 0 else draw(seed, **options).problem
    return with_hits(problem, seed) if seed % 4 == 0 else problem


def splits(proof: Proof) -> NDArray[np.bool_]:
    """Which codes are those of boxes that are split."""
    return (proof.codes >= COORDINATE) & (proof.codes != PRICED)


def holds(problem: Problem, proof: Proof) -> bool:
    """The verdict, the same whether leaves are taken together or the checker goes down to each by itself."""
    together = verify_proof(problem, proof)
    with patch.multiple("rerank.certificate.check.leaves", BATCH=1, FEW=0):
        apart = verify_proof(problem, proof)
    # Going down also notices when a side of a line holds no weights of the box.
    assert together.ok == apart.ok or (apart.ok and (splits(proof) & (proof.codes > LINE)).any())
    assert not apart.ok or apart.leaves == np.count_nonzero(~splits(proof))
    return apart.ok


def gaussian(n: int, d: int, stat: str, share: float = 0.35, **options) -> Problem:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d))
    signal = X @ rng.normal(size=d)
    order = np.argsort(-(signal + signal.std() * rng.normal(size=n)))
    y = np.zeros(n)
    y[order[: round(share * n)]] = 1
    return problem_of(X, y, parse(stat), **options)


@pytest.fixture(scope="module")
def case() -> tuple[Problem, Proof]:
    """A problem of ordinary size and the search's proof, with a few hundred splits."""
    problem = gaussian(40, 4, "auc", epsilon=0.05)
    proof = searched(problem)
    assert proof.codes.size > 200
    return problem, proof


@examples(60, SEEDS)
def test_the_searchs_proofs_hold(seed):
    problem = drawn(seed)
    proof = searched(problem)
    verdict = verify_proof(problem, proof)
    assert verdict.ok, verdict.message
    assert verdict.value == objective_at(problem, proof.weights) <= Fraction(verdict.bound_checked)
    assert verdict.leaves == np.count_nonzero(~splits(proof))
    assert holds(problem, proof)
    low = verify_proof(problem, replace(proof, bound=below(verdict.value)))
    assert not low.ok and "own weights" not in low.message


@pytest.mark.parametrize("name", adversarial())
def test_where_rounding_decides(name):
    """Differences of 1e-12, columns of 1e300 and 1e-300, exact ties, optima on corners of the cube."""
    problem = adversarial()[name]
    most = best(problem).value
    verdict = verify_proof(problem, searched(problem, 2.0))
    assert verdict.ok, verdict.message
    assert verdict.bound_checked >= most
    assert verify_proof(problem, listed(problem, up(most))).ok
    assert not verify_proof(problem, listed(problem, below(most))).ok


@pytest.mark.parametrize(
    ("stat", "options"), [("mrr", {"C": 0.02}), ("dcg@5", {"max_features": 2}), ("auc", {"signs": [1, -1, 0, 1]})]
)
def test_proofs_of_ordinary_size(stat, options):
    problem = gaussian(40, 4, stat, **options)
    proof = searched(problem)
    verdict = verify_proof(problem, proof)
    assert verdict.ok, verdict.message
    assert verdict.bound_checked - float(verdict.value) < 1e-9


def test_a_search_that_stopped_short_proves_its_open_bound():
    problem = gaussian(60, 8, "auc")
    proof = searched(problem, 0.3)
    assert proof.bound > proof.value + 1e-3
    assert verify_proof(problem, proof).ok
    assert not verify_proof(problem, replace(proof, bound=proof.value)).ok


def test_grids_are_split_by_lines():
    """Grids have many opposite differences, so that some boxes are cut by lines."""
    rng = np.random.default_rng(8)
    X, y = rng.integers(0, 3, size=(30, 3)).astype(float), (rng.random(30) < 0.3).astype(float)
    problem = problem_of(X, y, parse("auc"))
    proof = searched(problem)
    assert (splits(proof) & (proof.codes > LINE)).any()
    verdict = verify_proof(problem, proof)
    assert verdict.ok, verdict.message
    # A line of other rows loses other pairs.
    moved = tuple(np.roll(lines, 1, axis=0)[:, ::-1] for lines in proof.lines)
    assert not verify_proof(problem, replace(proof, lines=moved)).ok
    assert not verify_proof(problem, replace(proof, lines=tuple(m[:0] for m in proof.lines))).ok


@examples(30, SEEDS)
def test_bounds_of_leaves_are_exact(seed):
    """The largest bound of any leaf, computed pair by pair in rationals, is accepted; the next double below is not.

    With lines the checker may know more: what both sides lose together.
    """
    problem = drawn(seed, n_max=6)
    for lines in (0, 2):
        proof = random_tree(problem, 0.0, np.random.default_rng(seed), lines=lines)
        most = Slow(problem).largest(proof)
        assert verify_proof(problem, replace(proof, bound=up(most))).ok
        assert holds(problem, replace(proof, bound=up(most)))
        assert lines or not holds(problem, replace(proof, bound=below(most)))


@examples(50, SEEDS)
def test_no_tree_shows_a_bound_below_the_optimum(seed):
    """Whatever the splits, lines and kinds of leaves: the checker is sound."""
    problem = drawn(seed, n_max=7)
    low = below(best(problem).value)
    rng = np.random.default_rng(seed)
    for lines in (0, 1, 3):
        assert not holds(problem, random_tree(problem, low, rng, lines, (LEAF, LISTED)))
        tree = random_tree(problem, low, rng, lines, (LEAF,))
        codes = np.where(splits(tree), tree.codes, PRICED).astype(np.uint16)
        words = rng.integers(0, 1 << 63, size=np.count_nonzero(codes == PRICED))
        assert not holds(problem, replace(tree, codes=codes, multipliers=words))
        # Leaves that are all listed pass unless the best weights are in them: none may be dropped on the way.
        assert not holds(problem, random_tree(problem, low, rng, lines, (LISTED,)))


def test_a_side_chosen_twice_is_not_empty():
    """A pair lost on a side stays lost on it; that it could be won on the other side does not make this one empty."""
    X = np.array([[1, 0], [0, 0], [0, 0], [1, 0], [0, 0.5], [1, 0]])
    heavy = [
        RankedList(np.array([i, i + 1]), np.array([1.0, 0.0]), np.array([0.0, 1.0]), weight)
        for i, weight in ((0, 2.0), (2, 1.0), (4, 1.0))
    ]
    problem = Problem.build(X, heavy, epsilon=0.01, low=[0, 0], high=[1, 1])
    # Pairs (1, 0), (-1, 0) and (-1, 1/2): the first and the last are won together, inside the face w_2 = 1.
    assert best(problem).value == Fraction(3, 4)
    twice = [LINE + 1, LINE + 1, LISTED, LISTED, LISTED]
    proof = proof_with(problem, 0.75, twice * 4, [np.array([[0, 1]])])
    assert holds(problem, proof)
    assert not holds(problem, replace(proof, bound=0.6))


@examples(60, SEEDS)
def test_listing_vertices_gives_the_optimum(seed):
    """Leaves whose vertices are listed settle whole faces, exactly to the last double."""
    problem = drawn(seed, n_max=8)
    most = best(problem).value
    verdict = verify_proof(problem, listed(problem, up(most)))
    assert verdict.ok, verdict.message
    assert not verify_proof(problem, listed(problem, below(most))).ok
    assert holds(problem, bisected(problem, up(most), 3))


@examples(25, SEEDS)
def test_the_largest_value_of_a_box_is_that_of_its_best_vertex(seed):
    """Against every crossing of two planes or edges inside the box, each valued by the definition."""
    while (problem := draw(seed, n_max=6).problem).n_features != 3:
        seed += 1
    problem = replace(problem, signs=np.zeros(3, np.int8))
    exact, rng = ExactProblem(problem), np.random.default_rng(seed)
    pairs = SlotPairs(exact)
    centre, half = rng.integers(-4, 5, size=3) / 8, rng.integers(1, 5, size=3) / 8
    centre[0], half[0] = 1.0, 0.0
    box = RationalBox(exact, pairs, np.arange(3), centre, half)
    found = largest_value(box, np.zeros(pairs.unit_of.size, np.int64), np.arange(pairs.slot.size))

    ends = [(Fraction(c) - Fraction(h), Fraction(c) + Fraction(h)) for c, h in zip(centre, half)]
    lines = [(1, 0, end) for end in ends[1]] + [(0, 1, end) for end in ends[2]]
    for p in range(pairs.slot.size):
        first, a, b = box.row(p)
        lines.append((a, b, exact.epsilon - first))
    values = []
    for (a, b, r), (c, d, s) in combinations(dict.fromkeys(lines), 2):
        if a * d == b * c:
            continue
        w = (Fraction(1), (r * d - b * s) / Fraction(a * d - b * c), (a * s - r * c) / Fraction(a * d - b * c))
        if all(low <= v <= high for v, (low, high) in zip(w, ends)):
            values.append(statistic_at(problem, w))
    assert found + exact.constant == max(values)


@pytest.mark.parametrize("side", [(1, 0), (-1, 0), (0, 1), (0, -1)])
@pytest.mark.parametrize("reach_", [0.5, 0.75])
def test_a_wedge_of_two_planes_at_any_side_of_a_box_is_found(side, reach_):
    """Both pairs are won only in a triangle without a corner of the box; all its vertices lie on their planes."""
    u, v = np.array(side), np.array([side[1], -side[0]])
    X = np.array([[0.0, 0, 0], -np.array([-reach_, *(v - u)]), -np.array([-reach_, *(-v - u)])])
    lists = problem_of(np.eye(3), [1.0, 0.0, 0.0], parse("auc")).lists
    problem = Problem.build(X, lists, epsilon=2.0**-10, low=np.zeros(3), high=np.ones(3))
    exact = ExactProblem(problem)
    box = RationalBox(exact, SlotPairs(exact), np.arange(3), np.array([1.0, 0, 0]), np.array([0.0, 1, 1]))
    assert largest_value(box, np.zeros(1, np.int64), np.arange(2)) + exact.constant == 1
    inside = np.array([1.0, *(-0.9 * u)])
    assert statistic_at(problem, inside) == 1
    for corner in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        assert statistic_at(problem, np.array([1.0, *corner])) < 1


@examples(30, SEEDS)
def test_worths_are_rounded_up_by_less_than_a_unit(seed):
    problem = drawn(seed)
    units = ExactProblem(problem).units
    up_, first, shift = rounded_up(units)
    for unit, start in zip(units, first):
        for place, coefficient in enumerate(unit.coefficients):
            exact = unit.factor * Fraction(coefficient, unit.denominator) * Fraction(2) ** shift
            assert exact <= int(up_[start + place]) < exact + 1
    ideal = sum(h * int(up_[a + unit.step * j]) for unit, a in zip(units, first) for j, h in enumerate(unit.hits))
    assert ideal < 2**63 - 1
    assert ideal == 0 or ideal >= 2**60  # nor are digits given away


@examples(60, SEEDS)
def test_the_filter_is_never_wrong(seed):
    """Margins a few units of rounding around the exact end of a box: doubles decide only what they can."""
    rng = np.random.default_rng(seed)
    plain = drawn(seed)
    support = supports(plain)[-1]
    k = len(support)
    centre = rng.integers(-3, 4, size=k) / 8
    half = rng.integers(0, 5, size=k) / 8
    exact = ExactProblem(plain)
    pairs = SlotPairs(exact)
    if not pairs.slot.size:
        return
    features = np.array(support)
    rows = [exact.difference(int(i), int(j), features) for i, j in zip(pairs.upper, pairs.lower)]
    ends = [sum(Fraction(c) * v + Fraction(h) * abs(v) for c, h, v in zip(centre, half, row)) for row in rows]
    chosen = float(ends[rng.integers(len(ends))])
    for step in range(-3, 4):
        epsilon = abs(chosen + step * np.spacing(chosen)) or 0.1
        exact.epsilon = Fraction(epsilon)
        test = Filter.on(pairs, features)
        reach = test.reach(centre[None], half[None])[:, 0]
        least, most = test.ends(centre, half, np.arange(len(rows)))
        assert np.abs(most - reach).max() <= test.slack.max()
        for end, value, low, high in zip(ends, reach, test.low, test.high):
            assert not value < low or end < Fraction(epsilon)
            assert not value >= high or end >= Fraction(epsilon)


def test_the_filter_knows_that_the_smallest_doubles_have_few_digits():
    """Eight differences of the smallest double, .375 of each: exactly the margin, and 0 in doubles."""
    smallest = 5e-324
    X = np.vstack([np.full(8, smallest), np.zeros(8)])
    lists = problem_of(np.eye(2), [1.0, 0.0], parse("auc")).lists
    exact = ExactProblem(Problem.build(X, lists, epsilon=3 * smallest, low=np.zeros(8), high=np.ones(8)))
    test = Filter.on(SlotPairs(exact), np.arange(8))
    assert test.reach(np.full((1, 8), 0.375), np.zeros((1, 8)))[0, 0] >= test.low[0]
    # Nor is the pair lost where its own difference is at least 0.
    assert not test.opposed(X[0], 3 * smallest).any()


def test_the_untouched_proof_holds(case):
    assert holds(*case)


def test_a_missing_subtree(case):
    problem, proof = case
    # The subtree of the first split cut down to one leaf: still a full tree, but its leaf is too wide.
    split = int(np.flatnonzero(splits(proof))[0])
    depth = np.cumsum(np.where(splits(proof)[split:], 1, -1))
    stop = split + int(np.argmax(depth == -1))
    pruned = np.concatenate([proof.codes[:split], [LEAF], proof.codes[stop + 1 :]])
    inside = np.cumsum(proof.codes == PRICED)[[split, stop]]
    words = np.delete(proof.multipliers, np.arange(*inside))
    verdict = verify_proof(problem, replace(proof, codes=pruned, multipliers=words))
    assert not verdict.ok and f"The box of code {split}," in verdict.message


def with_codes(*extra: int):
    return lambda proof: {"codes": np.concatenate([proof.codes, np.array(extra, np.uint16)])}


ALTERED = {
    "a code is missing": (lambda proof: {"codes": proof.codes[:-1]}, "missing or left over"),
    "no codes": (lambda proof: {"codes": proof.codes[:0]}, ""),
    "a leaf too many": (with_codes(LEAF), "left over"),
    "a split too many": (with_codes(COORDINATE, LEAF, LEAF), "left over"),
    "a listed leaf too many": (with_codes(LISTED), "left over"),
    "no bound": (lambda _: {"bound": np.nan}, "finite"),
    "a bound above all": (lambda _: {"bound": np.inf}, "finite"),
    "a bound below all": (lambda _: {"bound": -np.inf}, "finite"),
    "a negative bound": (lambda _: {"bound": -1e300}, ""),
    "a bound below the value": (lambda proof: {"bound": proof.value - 1e-6}, ""),
    "a value too large": (lambda proof: {"value": proof.value + 1e-9}, ""),
    "a value too small": (lambda proof: {"value": proof.value - 1e-9}, ""),
    "no value": (lambda proof: {"value": np.nan}, ""),
    "other signs": (lambda proof: {"flip": -proof.flip}, ""),
    "another version": (lambda proof: {"version": 2}, ""),
    "no supports": (lambda proof: {"supports": ()}, "1 supports must be treated"),
    "no lines": (lambda proof: {"lines": ()}, "1 supports must be treated"),
    "lines twice": (lambda proof: {"lines": proof.lines * 2}, "1 supports must be treated"),
}


@pytest.mark.parametrize("name", ALTERED)
def test_an_altered_proof_is_refused(case, name):
    problem, proof = case
    changes, words = ALTERED[name]
    verdict = verify_proof(problem, replace(proof, **changes(proof)))
    assert not verdict.ok and words in verdict.message


def test_altered_splits(case):
    """Another coordinate, one that has no width, one that is not there, a line that is not there."""
    problem, proof = case
    where = np.flatnonzero(splits(proof))
    for at in (where[0], where[len(where) // 2], where[-1]):
        outcomes = []
        for code in [*range(COORDINATE, COORDINATE + 4), COORDINATE + 4, 999, LINE, LINE + 1, 65535]:
            codes = proof.codes.copy()
            codes[at] = code
            outcomes.append(code == proof.codes[at] or not verify_proof(problem, replace(proof, codes=codes)).ok)
        # Splitting a deep box by another coordinate may do no harm; what is not there always does.
        assert all(outcomes[4:]) and sum(outcomes[:4]) >= 2
    codes = proof.codes.copy()
    codes[where[0]] = COORDINATE + (int(codes[where[0]]) - COORDINATE + 1) % 4
    assert not verify_proof(problem, replace(proof, codes=codes)).ok


def test_a_bound_that_is_too_low(case):
    problem, proof = case
    value = verify_proof(problem, proof).value
    assert not verify_proof(problem, replace(proof, bound=below(value))).ok
    # With worse weights the bound is compared with the leaves, and fails there.
    nothing = replace(proof, weights=np.zeros(4), value=float(ExactProblem(problem).value(np.zeros(4))))
    assert verify_proof(problem, nothing).ok
    verdict = verify_proof(problem, replace(nothing, bound=below(value)))
    assert not verdict.ok and "The box of code" in verdict.message


def test_no_weights_at_all_may_be_best():
    """At a price that nothing pays 0 is best, and a bound between it and everything else fails at 0."""
    problem = adversarial()["a penalty nothing pays"]
    proof = searched(problem)
    assert not proof.weights.any() and verify_proof(problem, proof).ok
    one = np.array([1.0, 0.0])
    worse = replace(proof, weights=one, value=float(ExactProblem(problem).value(one)))
    assert verify_proof(problem, worse).ok
    assert "All weights 0" in verify_proof(problem, replace(worse, bound=proof.value - 0.1)).message


@pytest.mark.parametrize(
    "weights",
    [[0.5, 0.25, 0, 0], [2.0, 1, 1, 1], [np.nan, 1, 0, 0], [1.0, 0, 0], [1.0, -0.5, 0, 0], [1.0, 0.5, 0.5, 0]],
)
def test_weights_that_are_not_admissible(weights):
    problem = gaussian(12, 4, "auc", signs=[0, 1, 0, 0], max_features=2)
    proof = searched(problem)
    assert verify_proof(problem, proof).ok
    verdict = verify_proof(problem, replace(proof, weights=np.array(weights)))
    assert not verdict.ok and verdict.value is None


def test_other_data_and_options(case):
    problem, proof = case
    changes = {"epsilon": 0.051, "C": 0.001, "max_features": 3, "high": problem.high + 1e-9}
    others = [replace(problem, **{name: value}) for name, value in changes.items()]
    others.append(gaussian(40, 4, "mrr", epsilon=0.05))
    for other in others:
        assert "other data or options" in verify_proof(other, proof).message
    # Even a proof that carries the other problem's fingerprint is judged on that problem.
    claimed = replace(proof, fingerprint=digest(others[4]))
    assert not verify_proof(others[4], claimed).ok


def test_supports_left_out():
    problem = gaussian(40, 5, "auc", max_features=2)
    proof = searched(problem)
    assert verify_proof(problem, proof).ok
    none, codes = {"supports": (), "lines": (), "left_out": 2}, np.array([COORDINATE, LEAF], np.uint16)
    cases = {
        "fewer": {"supports": proof.supports[:-1], "lines": proof.lines[:-1]},
        "one twice": {"supports": (*proof.supports[:-1], proof.supports[0])},
        "all said to be left out": {**none, "codes": codes[:0]},
        "codes although all are left out": {**none, "codes": codes, "bound": 1.0},
        "sizes below 1 said to be left out": {"left_out": 0},
    }
    for name, changes in cases.items():
        assert not verify_proof(problem, replace(proof, **changes)).ok, name


def test_all_supports_may_be_left_out_if_their_price_says_so():
    """One feature costs more than any order is worth, so that no box is needed."""
    problem = gaussian(12, 3, "auc", C=2.0)
    nothing = float(ExactProblem(problem).value(np.zeros(3)))
    proof = replace(proof_with(problem, nothing, []), supports=(), lines=(), codes=np.zeros(0, np.uint16), left_out=1)
    assert verify_proof(problem, proof).ok
    assert "left out" in verify_proof(problem, replace(proof, left_out=0)).message
    assert "not complete" in verify_proof(problem, replace(proof, codes=np.array([LEAF], np.uint16))).message
    split = replace(proof, codes=np.array([COORDINATE, LEAF, LEAF], np.uint16))
    assert not verify_proof(problem, split).ok
    cheap = gaussian(12, 3, "auc", C=0.5)
    at = float(ExactProblem(cheap).ideal()) - 0.5
    claim = replace(proof, fingerprint=digest(cheap), bound=at)
    assert verify_proof(cheap, claim).ok
    assert not verify_proof(cheap, replace(claim, bound=below(Fraction(at)))).ok


def test_a_problem_in_which_nothing_is_worth_anything():
    problem = gaussian(6, 2, "auc")
    item = problem.lists[0]
    problem = replace(problem, lists=(replace(item, coefficients=np.zeros(6), constant=0.0),))
    proof = proof_with(problem, 0.0, [LEAF] * 4)
    assert proof.value == 0 and verify_proof(problem, proof).ok
    assert not verify_proof(problem, replace(proof, value=5e-324)).ok


def test_vertices_are_listed_up_to_a_number_of_systems(monkeypatch):
    problem = gaussian(12, 3, "auc")
    proof = listed(problem, float(best(problem).value) + 1e-6)
    verdict = verify_proof(problem, proof)
    assert verdict.ok and verdict.leaves == 6 >= verdict.exact_leaves > 0
    monkeypatch.setattr("rerank.certificate.check.vertices.MOST_SYSTEMS", 4)  # the corners of a square face
    verdict = verify_proof(problem, proof)
    assert "too many to list" in verdict.message and not verdict.ok


def test_leaves_on_a_side_without_weights_are_counted():
    """On the face w_1 = 1 the only pair is won, and so nothing lies on the other side of its line."""
    problem = problem_of([[1.0, 0.0], [0.0, 0.0], [0.5, 1.0]], [1.0, 0.0, 0.0], parse("auc"), epsilon=0.01)
    problem = replace(
        problem,
        lists=(
            replace(
                problem.lists[0], rows=np.array([0, 1]), gains=np.array([1.0, 0.0]), coefficients=np.array([0.0, 1.0])
            ),
        ),
    )
    codes = [LINE + 1, LEAF, COORDINATE + 1, LEAF, LEAF] + [LEAF] * 3
    proof = proof_with(problem, 1.0, codes, [np.array([[0, 1]])])
    assert holds(problem, proof)


def test_sizes_left_out_are_bounded_by_their_price():
    """With a price of .3, three features cost more than any order is worth above .1."""
    problem = gaussian(20, 4, "auc", C=0.3)
    d = problem.n_features
    small = [s for s in supports(problem) if len(s) < 3]
    faces = sum(2 * len(s) for s in small)
    proof = replace(
        proof_with(problem, 0.75, [LEAF] * faces),
        supports=tuple(np.array(s) for s in small),
        lines=(np.empty((0, 2), np.int64),) * len(small),
        left_out=3,
    )
    assert verify_proof(problem, proof).ok
    assert not verify_proof(problem, replace(proof, left_out=None)).ok
    assert len(supports(problem)) == 2**d - 1
    assert "were left out" in verify_proof(problem, replace(proof, bound=0.05)).message


def test_problems_without_a_value_are_refused():
    problem = gaussian(8, 2, "auc")
    item = problem.lists[0]
    falling = RankedList(item.rows, item.gains, item.coefficients[::-1].copy())
    missing = problem.X.copy()
    missing[0, 0] = np.nan
    for broken in ({"lists": (falling,)}, {"X": missing}, {"lists": ()}):
        with pytest.raises(InputError):
            verify_proof(replace(problem, **broken), proof_with(problem, 1.0, [LEAF] * 4))


def test_a_hundred_thousand_leaves_take_seconds():
    """2,275 pairs, 8 faces halved 14 times: no pruning, every leaf is looked at."""
    problem = gaussian(100, 4, "auc")

    def tree(face: int, level: int = 0) -> np.ndarray:
        if level == 14:
            return np.array([LEAF])
        free = [j for j in range(4) if j != face // 2]
        below = tree(face, level + 1)
        return np.concatenate([[COORDINATE + free[level % 3]], below, below])

    codes = np.concatenate([tree(face) for face in range(8)])
    proof = replace(proof_with(problem, 1.0, []), codes=codes.astype(np.uint16))
    began = time.perf_counter()
    verdict = verify_proof(problem, proof)
    assert verdict.ok and verdict.leaves == 8 * 2**14
    assert time.perf_counter() - began < 30


@pytest.mark.parametrize("seed", range(6))
def test_no_weights_of_a_box_are_worth_more_than_its_bound(seed):
    problem = anchored(seed)
    proof = searched(problem)
    rng = np.random.default_rng(seed)
    count = 0
    for features in proof.supports:
        boxes = leaf_boxes(problem, proof, features)
        assert boxes.bounds.max() <= proof.bound
        count += len(boxes.bounds)
        limits = [ends[features] for ends in problem.limits]
        assert (boxes.lower.min(axis=0) <= limits[0]).all() and (limits[1] <= boxes.upper.max(axis=0)).all()
        for lower, upper, bound in zip(boxes.lower, boxes.upper, boxes.bounds):
            w = problem.unchanged.copy()
            w[features] = np.clip(rng.uniform(lower, upper), *limits)
            assert objective_at(problem, w) <= bound + 1e-9 * max(1.0, abs(bound))
    assert count == verify_proof(problem, proof).leaves


def test_boxes_cover_each_face_once():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 3)), (rng.random(40) < 0.3).astype(float)
    problem = problem_of(X, y, parse("dcg@5"), epsilon=0.01)
    proof = searched(problem)
    assert not (splits(proof) & (proof.codes > LINE)).any()
    boxes = leaf_boxes(problem, proof)
    assert len(boxes.bounds) == verify_proof(problem, proof).leaves > 20
    sides = boxes.upper - boxes.lower
    flat = sides == 0
    assert (flat.sum(axis=1) == 1).all()
    areas = np.where(flat, 1.0, sides).prod(axis=1)
    face = [(j, float(boxes.lower[i, j])) for i, j in enumerate(flat.argmax(axis=1))]
    found = {one: sum(a for a, own in zip(areas, face) if own == one) for one in face}
    assert found == {(j, side): 4.0 for j in range(3) for side in (-1.0, 1.0)}
    points = rng.uniform(-1, 1, (200, 3))
    points /= np.abs(points).max(axis=1, keepdims=True)
    inside = ((boxes.lower <= points[:, None]) & (points[:, None] <= boxes.upper)).all(axis=2)
    assert inside.any(axis=1).all()
    for w, bound in zip(points, np.where(inside, boxes.bounds, np.inf).min(axis=1)):
        assert objective_at(problem, w) <= bound + 1e-9


def test_the_sign_of_a_weight_that_must_not_be_positive_is_kept():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(20, 2)), (rng.random(20) < 0.4).astype(float)
    problem = problem_of(X, y, parse("auc"), epsilon=0.01, signs=[-1, 1])
    boxes = leaf_boxes(problem, searched(problem))
    assert coordinates(problem)[0].tolist() == [-1, 1]
    assert (boxes.lower <= boxes.upper).all() and boxes.upper[:, 0].max() == 0 and boxes.lower[:, 1].min() == 0


def test_what_cannot_be_shown_is_refused():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(20, 3)), (rng.random(20) < 0.4).astype(float)
    problem = problem_of(X, y, parse("auc"), epsilon=0.01, max_features=2)
    proof = searched(problem)
    assert len(leaf_boxes(problem, proof, [0, 2]).bounds) < verify_proof(problem, proof).leaves
    with pytest.raises(InputError, match=r"no boxes on features \[1\]"):
        leaf_boxes(problem, proof, [1])
    with pytest.raises(InputError, match="circuits"):
        leaf_boxes(problem, replace(proof, supports=()))
    with pytest.raises(CertificateError, match="not complete|missing"):
        leaf_boxes(problem, replace(proof, codes=np.full(1, LEAF, np.uint16)))


PAGE = Path(__file__).parents[2] / "docs" / "proofs.md"


@pytest.fixture
def names() -> dict:
    """What the page's Python block defines."""
    defined: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, "docs/proofs.md", "exec"), defined)
    return defined


def test_snippets_run(names, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = doctest.DocTestParser().get_doctest(PAGE.read_text(), names, "docs/proofs.md", None, 0)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session).failed == 0
    assert len(session.examples) > 10


@pytest.mark.parametrize(("kind", "stat"), [("normal", "auc"), ("normal", "mrr"), ("grid", "auc")])
def test_the_plain_checker_agrees(names, tmp_path, kind, stat):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(24, 3)) if kind == "normal" else rng.integers(0, 3, size=(24, 3)).astype(float)
    y = (rng.random(24) < 0.35).astype(float)
    problem: Problem = problem_of(X, y, parse(stat), epsilon=0.01)
    proof = solve(problem, proof=True).proof
    assert isinstance(proof, Proof) and ((splits(proof) & (proof.codes > LINE)).any() == (kind == "grid"))
    item = problem.lists[0]

    def plain(candidate: Proof) -> bool:
        save_proof(candidate, tmp_path / "proof")
        fixed = {"offset": -item.constant, "scale": item.scale}
        return names["holds"](tmp_path / "proof", X, y, item.coefficients, Fraction(0.01), **fixed)

    assert plain(proof) and verify_proof(problem, proof).ok
    low = replace(proof, bound=proof.value - 1e-6)
    assert not plain(low) and not verify_proof(problem, low).ok


FORGED = {
    "none": (lambda words: 0 * words, "may hold weights"),
    "others'": (lambda words: words[::-1], "may hold weights"),
    "too few": (lambda words: words[1:], "leaves with them"),
    "too large": (lambda words: -1 - words, "out of range"),
}


def test_multipliers_show_bounds_with_fewer_boxes_and_forged_ones_show_none(tmp_path: Path) -> None:
    problem = gaussian(40, 4, "auc")
    save_proof(searched(problem), tmp_path / "proof")
    proof = load_proof(tmp_path / "proof")
    assert holds(problem, proof) and proof.multipliers.size > 100
    # Without them each of these boxes has to be split.
    bare = replace(proof, codes=np.where(proof.codes == PRICED, LEAF, proof.codes), multipliers=proof.multipliers[:0])
    assert "may hold weights" in verify_proof(problem, bare).message
    for forged, words in FORGED.values():
        verdict = verify_proof(problem, replace(proof, multipliers=forged(proof.multipliers)))
        assert not verdict.ok and words in verdict.message
