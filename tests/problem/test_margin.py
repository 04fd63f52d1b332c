"""The margin is the number that was written: in Python, in files, and in what a problem's digest says."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank.certificate import Certificate, certify, recheck
from rerank.errors import InputError
from rerank.problem import Margin, Problem, digest, problem_of
from rerank.problem.json import problem_from_json, problem_to_json
from rerank.statistics import parse

GRID, LABELS = [[0.0, 0, 0], [1, 0, 0], [5, 5, 5]], [0, 1, 0]


def grid(epsilon: float | str | Fraction = 0.2) -> Problem:
    return problem_of(GRID, LABELS, parse("auc"), epsilon=epsilon)


@given(st.floats(min_value=5e-324, max_value=1e300))
def test_a_double_stands_for_its_shortest_decimal_and_for_itself_as_a_float(m: float) -> None:
    made = Margin(m)
    assert made.exact == Fraction(repr(m)) and made == m and Margin(np.float64(m)).exact == made.exact
    for kept in (
        Margin.from_text(made.text), copy.deepcopy(made), pickle.loads(pickle.dumps(made)), Margin(made)
    ):
        assert (kept, kept.exact) == (made, made.exact)
    assert Margin.from_text(m.hex()).exact == Fraction(m)  # a file that was written when margins were doubles


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=100, max_denominator=10**12))
def test_a_rational_is_taken_as_it_is(m: Fraction) -> None:
    assert Margin(m).exact == Margin(f"{m.numerator}/{m.denominator}").exact == m
    assert Margin.from_text(Margin(m).text).exact == m


@pytest.mark.parametrize("written", ["1/20", "0.05", ".05", "5e-2", " 0.050 ", 0.05, Fraction(1, 20)])
def test_the_same_margin_in_several_spellings(written: float | str | Fraction) -> None:
    assert grid(written).epsilon.exact == Fraction(1, 20)


REFUSED = (0, -1, "0", "1/0", "", ".", "x", "nan", "inf", np.nan, True, None, "1e9999", "1_0")


@pytest.mark.parametrize("written", REFUSED)
def test_what_is_no_margin_is_refused(written: object) -> None:
    with pytest.raises(InputError, match="it must be a number, above 0"):
        grid(written)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "0.05", "2/40", "1/0", "1/8", "0xz", "1" * 800 + "/1", "-1/20", "nan"])
def test_a_file_spells_a_margin_in_one_way(text: str) -> None:
    with pytest.raises(ValueError):
        Margin.from_text(text)


def test_a_pair_on_the_grid_reaches_the_decimal_and_misses_its_double() -> None:
    assert certify(grid(), [1.0, -1.0, 0.0]).value == 1
    assert certify(grid(Fraction(0.2)), [1.0, -1.0, 0.0]).value == 0
    assert certify(replace(grid(0.1), epsilon=0.2), [1.0, -1.0, 0.0]).value == 1


def test_a_margin_that_is_a_double_has_the_digest_and_the_text_of_old_files() -> None:
    written, stored = grid(), grid(Fraction(0.2))
    assert digest(written) != digest(stored) != digest(grid(0.25))
    assert problem_to_json(stored)["epsilon"] == (0.2).hex() and problem_to_json(written)["epsilon"] == "1/5"
    assert problem_to_json(grid(0.25))["epsilon"] == (0.25).hex()
    for problem in (written, stored, grid("1/6")):
        again = problem_from_json(problem_to_json(problem), "file")
        assert (digest(again), again.epsilon.exact) == (digest(problem), problem.epsilon.exact)
        certificate = certify(problem, [1.0, -1.0, 0.0])
        assert recheck(again, Certificate.from_dict(certificate.to_dict())) == certificate
