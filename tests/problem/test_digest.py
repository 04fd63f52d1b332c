"""The digest of a problem: the numbers that stand in files written earlier stay the same."""

from __future__ import annotations

from fractions import Fraction

from rerank import certificate
from rerank.problem import digest, problem_of
from rerank.statistics import parse

ROWS, GAINS = [[0, 0.5], [0.2, 1], [1, 0], [0.7, 0.1]], ([1, 0, 1, 0], [3, 0, 1, 0])


def test_digests_are_those_of_files_written_earlier():
    # The margin of these files is a double; 1e-4 is the decimal now.
    epsilon = Fraction(1e-4)
    one = problem_of(ROWS, GAINS[0], parse("auc"), C=0.01, epsilon=epsilon)
    lists = problem_of(
        ROWS, GAINS[1], parse("ndcg@2"), [0, 0, 1, 1], max_features=1, signs=[1, -1], C=0.01, epsilon=epsilon
    )  # fmt: skip
    assert digest(one) == "c61ecc3cc297b36b3e98b5863837c8ffb9b101297b5d690204ece422548ae80d"
    assert digest(lists) == "527e5cd13f515b73524ca28b72a4b580c70ef518a9aea66058f7391602414507"


def test_the_certificate_has_no_digest_of_its_own():
    assert certificate.digest is digest
