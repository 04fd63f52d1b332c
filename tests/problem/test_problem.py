"""Problems: what is refused, the binary lists of a problem, its constant and its digest."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import pytest

from rerank import certificate
from rerank.errors import InputError
from rerank.problem import Problem, digest, problem_of, ranked_list
from rerank.ranks import evaluate
from rerank.statistics import parse

X, GAINS = np.array([[0.0, 3.0], [1.0, 1.0], [2.0, 0.0], [4.0, 2.0]]), np.array([0.0, 1.0, 3.0, 0.0])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"epsilon": 0.0}, "epsilon is 0.0; it must be a number, above 0"),
        ({"epsilon": np.nan}, "epsilon is nan"),
        ({"epsilon": np.inf}, "epsilon is inf"),
        ({"C": -0.1}, "C is -0.1; it must be a number, at least 0"),
        ({"C": np.inf}, "C is inf"),
        ({"max_features": 0}, "max_features is 0; it must be a whole number, at least 1"),
        ({"signs": [1]}, "signs must hold one of -1, 0, 1 for each of the 2 features"),
        ({"signs": [1, 2]}, "signs must hold"),
        ({"low": [0, 3], "high": [1, 3]}, "Column 1 is constant"),
    ],
)
def test_parts_that_cannot_be_used_are_refused(options, sentence):
    with pytest.raises(InputError, match=sentence):
        problem_of(X, GAINS, parse("dcg"), **options)


def test_lists_without_a_gain_are_left_out_and_none_is_refused():
    p = problem_of(X, GAINS, parse("dcg"), qid=["a", "b", "b", "a"], query_weight={"b": 2.0})
    assert len(p.lists) == 1 and p.lists[0].rows.tolist() == [1, 2] and p.total_weight == 2.0
    with pytest.raises(InputError, match="No list holds a gain"):
        problem_of(X, np.zeros(4), parse("dcg"))


@pytest.mark.parametrize("stat", ["auc", "dcg@2", "ndcg", "mrr", "pnorm@2"])
def test_units_and_constant_add_up_to_the_value(stat):
    """Of the order of the first column, whose two best rows in a list of three are a head above a tail of one."""
    gains = np.array([1.0, 0.0, 1.0]) if stat in ("auc", "mrr") else np.array([1.0, 0.0, 3.0])
    item = ranked_list(parse(stat), [1, 2], gains[1:], tail_gains=gains[:1])
    p = Problem.build(X[:3], [item], epsilon=1e-9)
    scores = p.scaled[:, 0]
    total = p.constant
    for unit in p.units:
        lost = np.array([np.sum(scores[unit.negative] >= scores[i]) for i in unit.positive])
        places = np.arange(1, lost.size + 1) + np.sort(lost)
        total += unit.factor * unit.coefficients[-places].sum()
    expected = evaluate(stat, gains, X[:3, 0], gain="linear")
    assert total == pytest.approx(expected, rel=1e-12) and p.ideal >= total


@pytest.mark.parametrize("limits", [None, ([1, -0.3, 0], [1, 0.2, 0.5])])
def test_nothing_that_is_kept_depends_on_the_margin(limits):
    """``with_epsilon`` keeps every cached property, which a new one could make wrong."""
    rng = np.random.default_rng(0)
    grades = np.tile([2.0, 1.0, 0.0, 0.0, 1.0, 0.0], 2)
    plain = problem_of(rng.normal(size=(12, 3)), grades, parse("ndcg@3"), qid=np.repeat([0, 1], 6))
    problem = plain if limits is None else Problem.build(plain.X, plain.lists, limits=limits)
    kept = [name for name, own in vars(Problem).items() if isinstance(own, cached_property)]
    if limits is None:
        kept.remove("largest_score")  # of limited weights alone
    told = {name: repr(getattr(problem, name)) for name in kept}
    for other in (problem.with_epsilon(0.25), replace(problem, epsilon=0.25)):
        assert other.epsilon == 0.25 and {name: repr(getattr(other, name)) for name in kept} == told


def test_digests_are_those_of_files_written_earlier():
    rows, labels, grades = [[0, 0.5], [0.2, 1], [1, 0], [0.7, 0.1]], [1, 0, 1, 0], [3, 0, 1, 0]
    # The margin of these files is a double; 1e-4 is the decimal now.
    epsilon = Fraction(1e-4)
    one = problem_of(rows, labels, parse("auc"), C=0.01, epsilon=epsilon)
    lists = problem_of(
        rows, grades, parse("ndcg@2"), [0, 0, 1, 1], max_features=1, signs=[1, -1], C=0.01, epsilon=epsilon
    )  # fmt: skip
    assert digest(one) == "c61ecc3cc297b36b3e98b5863837c8ffb9b101297b5d690204ece422548ae80d"
    assert digest(lists) == "527e5cd13f515b73524ca28b72a4b580c70ef518a9aea66058f7391602414507"


def test_the_certificate_has_no_digest_of_its_own():
    assert certificate.digest is digest
