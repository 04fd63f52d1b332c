"""Checks of options: what is accepted as which Python value, and the sentence for what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest

from rerank.errors import InputError, nearest, similar, unknown
from rerank.io.options import drawn_seed, generator, one_of, real, seed, source, whole


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_a_whole_number_is_an_int(value):
    assert whole("k", value) == 3 and type(whole("k", value)) is int


@pytest.mark.parametrize("value", [0, -1, 2.0, "3", None, True, np.bool_(True), math.nan])
def test_what_is_not_a_whole_number_is_refused(value):
    with pytest.raises(InputError, match="k is .*; it must be a whole number, at least 1"):
        whole("k", value)


def test_a_whole_number_has_its_ends():
    assert whole("k", 0, 0, 5) == 0 and whole("k", 5, 0, 5) == 5
    with pytest.raises(InputError, match=r"k is 6; it must be a whole number, from 0 to 5 \(there are 5\)"):
        whole("k", 6, 0, 5, " (there are 5)")


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), Fraction(1, 2)])
def test_a_real_number_is_a_float(value):
    assert real("x", value, 0.0) == 0.5 and type(real("x", value, 0.0)) is float


@pytest.mark.parametrize("value", [-1, 1, "0.5", None, True, np.bool_(False), math.nan, math.inf, 1j])
def test_what_is_not_a_real_number_in_range_is_refused(value):
    with pytest.raises(InputError, match="it must be a number, at least 0 and below 1"):
        real("x", value, 0.0, 1.0)


def test_a_number_above_zero():
    assert real("x", 1e-300, 0.0, positive=True) == 1e-300
    for value in (0.0, math.inf):
        with pytest.raises(InputError, match="it must be a number, above 0"):
            real("x", value, 0.0, positive=True)


def test_one_of_some_words():
    assert one_of("ties", "b", ["a", "b"]) == "b"
    for value in ("d", 3, None, ["a"]):
        with pytest.raises(InputError, match="ties is .*; it must be 'a', 'b' or 'c'"):
            one_of("ties", value, ["a", "b", "c"])


def test_seeds():
    assert seed(None) == 0 and seed(np.int32(7)) == 7
    assert seed(np.random.RandomState(1)) == drawn_seed(np.random.RandomState(1)) == drawn_seed(1)
    for value in (-1, 2**31, True, "x"):
        with pytest.raises(InputError, match="random_state is"):
            seed(value)
    for value in (-1, "x", 0.5):
        with pytest.raises(InputError, match="random_state is .*; give a whole number"):
            drawn_seed(value)
        with pytest.raises(InputError, match="random_state is .*; give a whole number"):
            generator(value)


def test_what_draws_is_kept():
    old, new = np.random.RandomState(1), np.random.default_rng(1)
    assert source(old) is old and source(new) is new is generator(new)
    assert source(1).random() == np.random.default_rng(1).random()


def test_names_that_look_alike():
    assert nearest("hihgs", ["highs", "scip"]) == "highs" and nearest("", ["a"]) == "a"
    assert similar("ag", ["age", "aged", "zzz"]) == ["age", "aged"] and similar("q", ["age"]) == []
    sentence = str(unknown("solver", "hihgs", ["highs", "scip"]))
    assert sentence == "Unknown solver 'hihgs'; did you mean 'highs'? Known: highs, scip."
