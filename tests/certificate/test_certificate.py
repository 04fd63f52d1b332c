"""The certificate against its definition: every pair, in rationals, with no shared code."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from rerank.certificate import Certificate, certify, check_claim, recheck
from rerank.certificate.lists import ideal_value
from rerank.errors import CertificateError, InputError
from rerank.problem import Problem, problem_of, ranked_list
from rerank.problem.json import digest
from rerank.ranks import evaluate
from rerank.ranks.rationals import value_down
from rerank.statistics import AUC, DCG, NDCG, parse
from tests.cases.instances import STATISTICS, stream
from tests.oracles.anchored import anchored
from tests.oracles.oracle import objective_at, statistic_at


def allowed_weights(rng: np.random.Generator, problem: Problem) -> np.ndarray:
    """Weights the problem allows, often with zeros, ties and corners."""
    w = np.zeros(problem.n_features)
    if problem.limits is not None:
        low, high = problem.limits
        corrections = 1 + rng.permutation(problem.n_features - 1)[: problem.max_features]
        w[corrections] = (low + rng.choice([0.0, 1.0, rng.random()], w.size) * (high - low))[corrections]
        return w + problem.unchanged
    chosen = rng.permutation(problem.n_features)[: problem.max_features]
    w[chosen] = rng.choice([0.0, -1.0, -0.5, 0.25, 0.5, 1.0, rng.random()], chosen.size)
    w = np.where(w * problem.signs < 0, -w, w)
    largest = np.abs(w).max()
    return w / largest if largest else w


def double_loop(problem: Problem, w: np.ndarray) -> dict[str, object]:
    """Pairs and margin by looking at every pair of every list; the statistic is the value at a margin of almost 0."""
    width = [Fraction(h) - Fraction(l) for l, h in zip(problem.low, problem.high)]
    scores = [sum(Fraction(v) * Fraction(x) / s for v, x, s in zip(w, row, width)) for row in problem.X]
    won = []
    near = pairs = 0
    for item in problem.lists:
        gain = {int(i): Fraction(g) for i, g in zip(item.rows, item.gains)}
        for i in gain:
            for k in gain:
                if gain[i] > gain[k]:
                    difference = scores[i] - scores[k]
                    pairs += 1
                    near += 0 < difference < Fraction(problem.epsilon)
                    won += [difference] if difference >= Fraction(problem.epsilon) else []
    return {
        "statistic": statistic_at(problem, w, Fraction(1, 10**2000)),
        "margin": min(won, default=None),
        "pairs_won": len(won),
        "pairs": pairs,
        "near_misses": near,
    }


def check(problem: Problem, rng: np.random.Generator, described: str) -> None:
    w = allowed_weights(rng, problem)
    found = certify(problem, w)
    assert found.value == objective_at(problem, w), described
    for name, expected in double_loop(problem, w).items():
        assert getattr(found, name) == expected, (name, described)
    assert found.value <= ideal_value(problem) and found.weights == tuple(w)


@pytest.mark.parametrize("first", [0, 100, 200, 300])
def test_every_entry_against_a_double_loop(first):
    rng = np.random.default_rng(first)
    seen = set()
    for instance in stream(first, 100):
        check(instance.problem, rng, str(instance))
        seen.add((instance.statistic, instance.graded))
    assert len(seen) > len(STATISTICS)


def test_every_entry_of_anchored_problems():
    rng = np.random.default_rng(1)
    for seed in range(60):
        check(anchored(seed), rng, f"anchored {seed}")


def test_the_statistic_is_what_evaluate_says_of_the_ranking():
    rng = np.random.default_rng(3)
    for name in ("auc", "dcg@3", "ndcg", "mrr", "pnorm@2"):
        X, y, qid = rng.integers(0, 4, (60, 3)).astype(float), rng.integers(0, 3, 60), rng.integers(0, 4, 60)
        w = np.array([1.0, -0.5, 0.25])
        problem = problem_of(X, 2.0**y - 1, parse(name), qid, {1: 2.5}, epsilon=1e-9)
        exact_scores = (X / np.ptp(X, axis=0) * 12).round() @ (w * 4)  # integers in the same order
        found = certify(problem, w)
        expected = evaluate(name, y, exact_scores, qid, ties="pessimistic", query_weight={1: 2.5})
        assert float(found.statistic) == pytest.approx(expected, rel=1e-13)
        assert found.value == found.statistic  # no difference of these scores lies in (0, epsilon)


def test_a_problem_of_the_head_counts_the_tail():
    X, y = np.array([[3.0], [2.0], [1.0], [0.0]]), np.array([0, 1, 1, 1])
    head = ranked_list(DCG(), [0, 1], [0.0, 1.0], tail_gains=[1.0, 1.0])
    found = certify(Problem.build(X, [head]), [1.0])
    assert float(found.value) == pytest.approx(evaluate("dcg", y, X[:, 0]), rel=1e-15)


def test_a_difference_of_exactly_epsilon_is_won_and_one_below_is_not():
    X = np.array([[0.0], [1.0], [0.5], [0.375]])
    y = np.array([0.0, 0.0, 1.0, 0.0])
    exact = problem_of(X, y, AUC(), epsilon=0.125)
    beyond = replace(exact, epsilon=float(np.nextafter(0.125, 1)))
    assert certify(exact, [1.0]).pairs_won == 2 and certify(exact, [1.0]).margin == Fraction(1, 8)
    assert certify(beyond, [1.0]).pairs_won == 1 and certify(beyond, [1.0]).near_misses == 1


def test_differences_that_doubles_cannot_see_are_judged():
    # Row 1 scores 1/3 exactly, row 0 the double below it; in doubles they tie.
    X = np.array([[0.0, 1 / 3], [1.0, 0.0], [3.0, 1.0]])
    problem = problem_of(X, np.array([0.0, 1.0, 0.0]), AUC(), epsilon=1e-18)
    scores = problem.scaled @ [1.0, 1.0]
    assert scores[0] == scores[1]
    found = certify(problem, [1.0, 1.0])
    assert found.pairs_won == 1 and found.margin == Fraction(1, 3) - Fraction(1 / 3) > 0
    assert certify(replace(problem, epsilon=1e-16), [1.0, 1.0]).near_misses == 1


def test_scales_from_the_smallest_to_the_largest_doubles():
    X = np.array([[5e-324, -1.7e308], [0.0, 1.7e308], [1e-323, 0.0]])
    problem = problem_of(X, np.array([0.0, 1.0, 0.0]), AUC(), epsilon=0.25)
    found = certify(problem, [-1.0, 0.5])
    assert found.pairs_won == 2 and found.margin == Fraction(1, 2) + Fraction(1, 2)


def test_zero_weights_tie_everything():
    problem = problem_of(np.arange(4.0)[:, None], np.array([1.0, 0, 0, 1.0]), AUC())
    found = certify(problem, [0.0])
    assert (found.value, found.statistic, found.margin, found.pairs_won, found.pairs) == (0, 0, None, 0, 4)
    assert found.n_features == 0 and found.value_down == 0.0


def small(limits=None, **options) -> Problem:
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.7], [0.2, 0.1]])
    problem = problem_of(X, np.array([0.0, 1.0, 1.0, 0.0]), AUC(), **options)
    return problem if limits is None else Problem.build(X, problem.lists, limits=limits)


LIMITED = {"limits": ([1, -0.5], [1, 0.25])}


@pytest.mark.parametrize(
    ("options", "w", "kind", "sentence"),
    [
        ({}, [0.5, 0.5], CertificateError, "largest weight is 0.5"),
        ({}, [2.0**21, 0.5], CertificateError, "largest weight is 2097152.0"),
        ({"signs": [0, 1]}, [1.0, -1e-300], CertificateError, "is -1e-300, but only positive ones"),
        ({"signs": [-1, 0]}, [1.0, 0.0], CertificateError, "only negative ones"),
        ({"max_features": 1}, [1.0, 1e-300], CertificateError, "2 features have a weight, but at most 1"),
        ({}, [1.0], InputError, "needs 2 finite numbers"),
        ({}, [1.0, math.nan], InputError, "needs 2 finite numbers"),
        (LIMITED, [1.0, 0.5], CertificateError, "is 0.5, but only -0.5 to 0.25 is"),
        (LIMITED, [1.0, -0.75], CertificateError, "is -0.75, but only -0.5 to 0.25 is"),
        (LIMITED, [0.0, 0.0], CertificateError, "is 0.0, but only 1.0 to 1.0 is"),
    ],
)
def test_weights_that_are_not_allowed_are_refused(options, w, kind, sentence):
    with pytest.raises(kind, match=sentence):
        certify(small(**options), w)


def test_missing_values_are_refused_where_they_are_used():
    X = small().X.copy()
    X[2, 1] = math.nan
    problem = replace(small(), X=X)
    assert certify(problem, [1.0, 0.0]).pairs == 4
    with pytest.raises(InputError, match="missing or infinite"):
        certify(problem, [1.0, 0.5])


def test_the_price_is_paid_per_feature():
    w = [1.0, 0.25]
    free, dear = certify(small(), w), certify(small(C=0.1), w)
    assert dear.value == free.value - 2 * Fraction(0.1) and dear.statistic == free.statistic


def test_claims():
    found = certify(small(C=0.1), [1.0, -0.25])
    assert found.value.denominator > 2**50  # no double, so that rounding has a side
    check_claim(found, value=found.value_down, bound=-value_down(-found.value), statistic=float(found.statistic))
    check_claim(found, value=found.value, bound=found.value)
    check_claim(found, value=-math.inf, bound=math.inf)
    above, below = -value_down(-found.value), found.value_down
    check_claim(found, value=above, bound=below, tolerance=1e-12)
    for wrong in ({"value": above}, {"bound": below}, {"value": math.nan}, {"bound": math.nan}):
        with pytest.raises(CertificateError, match="was claimed"):
            check_claim(found, **wrong)
    with pytest.raises(CertificateError, match="A statistic of"):
        check_claim(found, statistic=float(found.statistic) + 1e-9)


def test_a_certificate_survives_json_and_is_rechecked():
    problem = problem_of(small().X, np.array([0.0, 1.0, 3.0, 0.0]), NDCG(at=2), C=0.01)
    found = certify(problem, [1.0, 0.3])
    again = Certificate.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again == found and recheck(problem, again) == found


ALTERED = [{"value": Fraction(1, 2)}, {"statistic": Fraction(0)}, {"margin": Fraction(1, 10**9)}, {"margin": None}]
ALTERED += [{"pairs_won": 3}, {"weights": (1.0, 0.25)}, {"epsilon": 1e-3}]


@pytest.mark.parametrize("change", ALTERED)
def test_an_altered_certificate_is_found_out(change):
    found = certify(small(), [1.0, 0.3])
    assert replace(found, **change) != found
    with pytest.raises(CertificateError, match="it was altered"):
        recheck(small(), replace(found, **change))


def test_other_data_are_found_out():
    found = certify(small(), [1.0, 0.3])
    X = small().X.copy()
    X[3, 0] = np.nextafter(X[3, 0], 1)
    other = replace(small(), X=X)
    with pytest.raises(CertificateError, match="not the data"):
        recheck(other, found)
    with pytest.raises(CertificateError, match="not the data"):
        recheck(small(C=1e-9), found)


@pytest.mark.parametrize(
    "body", [{}, {"value": 1}, [], {"value": "0x1/0x0"}, None], ids=["empty", "number", "list", "zero", "none"]
)
def test_what_is_not_a_certificate_is_refused(body):
    plain = certify(small(), [1.0, 0.3]).to_dict()
    broken = plain | body if body else body
    with pytest.raises(InputError, match="not a certificate"):
        Certificate.from_dict(broken)


def test_the_digest_sees_every_part_and_no_difference_between_zeros():
    problem = small(max_features=1)
    item = problem.lists[0]
    changed = [
        replace(problem, epsilon=0.5),
        replace(problem, C=0.5),
        replace(problem, max_features=None),
        replace(problem, signs=np.array([1, 0], np.int8)),
        replace(problem, low=problem.low - 1),
        replace(problem, high=problem.high + 1),
        replace(problem, X=problem.X + 1),
        replace(problem, lists=(item, item)),
        *(
            replace(problem, lists=(replace(item, **{name: getattr(item, name) + 1}),))
            for name in ("gains", "coefficients", "weight", "constant", "scale")
        ),
        replace(problem, lists=(replace(item, rows=item.rows[::-1]),)),
    ]
    assert len({digest(one) for one in [problem, *changed]}) == len(changed) + 1
    negative_zero = problem.X.copy()
    negative_zero[0, 0] = -0.0
    assert digest(replace(problem, X=negative_zero)) == digest(problem)
    assert digest(replace(problem, X=np.asfortranarray(problem.X))) == digest(problem)


def test_the_ideal_is_reached_where_the_order_is():
    X = np.array([[3.0], [2.0], [1.0], [1.0]])
    problem = problem_of(X, np.array([7.0, 1.0, 0.0, 0.0]), NDCG())
    assert ideal_value(problem) == certify(problem, [1.0]).value
    assert float(ideal_value(problem)) == pytest.approx(1, abs=1e-15) and problem.ideal >= ideal_value(problem)


def test_many_lists_with_scales_of_their_own_stay_fast_and_exact():
    rng = np.random.default_rng(5)
    n = 6000
    X, y, qid = rng.standard_normal((n, 2)), rng.integers(0, 4, n), rng.integers(0, 400, n)
    problem = problem_of(X, 2.0**y - 1, NDCG(10), qid, epsilon=1e-9)
    found = certify(problem, [1.0, -0.5])
    expected = evaluate("ndcg@10", y, problem.scaled @ [1.0, -0.5], qid)
    assert float(found.statistic) == pytest.approx(expected, rel=1e-12)
    assert recheck(problem, Certificate.from_dict(found.to_dict())) == found
