"""Checks of options: what is accepted as which Python value, and the sentence for what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest

from rerank.errors import nearest, similar, unknown
from rerank.io.options import drawn_seed, generator, one_of, real, seed, source, whole
from tests.cases.refuses import refuses

NO_NUMBERS = ["3", None, True, np.bool_(True), math.nan]
SENTENCES = {
    "a whole number": (
        whole,
        {},
        {3: [3, np.int8(3), np.uint64(3)]},
        [0, -1, 2.0, *NO_NUMBERS],
        "k is .*; it must be a whole number, at least 1",
    ),
    "a whole number and its ends": (
        whole,
        {"least": 0, "most": 5, "of": " (there are 5)"},
        {0: [0], 5: [5]},
        [6],
        r"k is 6; it must be a whole number, from 0 to 5 \(there are 5\)",
    ),
    "a number": (
        real,
        {"least": 0.0, "end": 1.0},
        {0.5: [0.5, np.float32(0.5), Fraction(1, 2)]},
        [-1, 1, "0.5", *NO_NUMBERS, np.bool_(False), math.inf, 1j],
        "it must be a number, at least 0 and below 1",
    ),
    "a number above zero": (
        real,
        {"least": 0.0, "positive": True},
        {1e-300: [1e-300]},
        [0.0, math.inf],
        "it must be a number, above 0",
    ),
    "one of some words": (
        one_of,
        {"known": ["a", "b", "c"]},
        {"b": ["b"]},
        ["d", 3, None, ["a"]],
        "k is .*; it must be 'a', 'b' or 'c'",
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_what_is_taken_as_which_python_value_and_what_is_refused(name):
    check, ends, taken, refused, sentence = SENTENCES[name]
    for wanted, given in taken.items():
        for value in given:
            found = check("k", value, **ends)
            assert found == wanted and type(found) is type(wanted)
    for value in refused:
        refuses(sentence, check, "k", value, **ends)


def test_seeds():
    assert seed(None) == 0 and seed(np.int32(7)) == 7
    assert seed(np.random.RandomState(1)) == drawn_seed(np.random.RandomState(1)) == drawn_seed(1)
    for value in (-1, 2**31, True, "x"):
        refuses("random_state is", seed, value)
    for value in (-1, "x", 0.5):
        refuses("random_state is .*; give a whole number", drawn_seed, value)
        refuses("random_state is .*; give a whole number", generator, value)


def test_what_draws_is_kept():
    old, new = np.random.RandomState(1), np.random.default_rng(1)
    assert source(old) is old and source(new) is new is generator(new)
    assert source(1).random() == np.random.default_rng(1).random()


def test_names_that_look_alike():
    assert nearest("hihgs", ["highs", "scip"]) == "highs" and nearest("", ["a"]) == "a"
    assert similar("ag", ["age", "aged", "zzz"]) == ["age", "aged"] and similar("q", ["age"]) == []
    sentence = str(unknown("solver", "hihgs", ["highs", "scip"]))
    assert sentence == "Unknown solver 'hihgs'; did you mean 'highs'? Known: highs, scip."
