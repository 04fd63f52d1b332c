"""Curves of a list on a page: counts against slow ones, and a picture that is whole."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank.plots.curves import Curve, curves_svg, found_by_place, shared_by_place

ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.sampled_from("ab")), min_size=1, max_size=7)


def slow(rows, ends, average):
    """By the order with relevant rows last, or as the mean over many shuffles made stable by their scores."""
    counts = np.zeros(ends + 1)
    for name in {name for *_, name in rows}:
        own = [(score, hit) for hit, score, one in rows if one == name]
        for k in range(ends + 1):
            if average:
                above = [sum(other > score for other, _ in own) for score, _ in own]
                level = [sum(other == score for other, _ in own) for score, _ in own]
                counts[k] += sum(hit * min(max((k - up) / tied, 0), 1) for (_, hit), up, tied in zip(own, above, level))
            else:
                counts[k] += sum(hit for _, hit in sorted(own, key=lambda one: (-one[0], one[1]))[:k])
    return counts / len({name for *_, name in rows})


@given(ROWS, st.integers(0, 9), st.booleans())
def test_rows_found_by_place(rows, ends, average):
    hits, scores, names = (np.array(one) for one in zip(*rows))
    assert found_by_place(hits, scores, names, ends, average) == pytest.approx(slow(rows, ends, average))
    assert found_by_place(hits, hits, None, ends)[-1] == min(ends, hits.sum())


@given(st.permutations(range(1, 7)), st.permutations(range(1, 7)), st.integers(0, 9))
def test_rows_that_two_orders_share(before, after, ends):
    told = shared_by_place(before, after, None, ends)
    assert told.tolist() == [sum(one <= k and other <= k for one, other in zip(before, after)) for k in range(ends + 1)]


@pytest.mark.parametrize("ends", [1, 7, 300, 100_000])
@pytest.mark.parametrize("at", [None, 1])
def test_a_picture_is_whole_small_and_within_its_frame(ends, at):
    values = np.linspace(0, 3 * ends, ends + 1)
    drawn = curves_svg([Curve("<a&b>", "list", values), Curve("none", "random", 0 * values)], at=at, x="x", y="y")
    root = ElementTree.fromstring(drawn)
    *_, width, height = map(float, root.get("viewBox").split())
    paths = [one.get("d") for one in root.iter("{http://www.w3.org/2000/svg}path")]
    assert len(drawn) < 20_000 and "&lt;a&amp;b&gt;" in drawn and ("by place" in drawn) == (at is not None)
    for left, high in (map(float, pair) for path in paths for pair in re.findall(r"([\d.-]+) ([\d.-]+)", path)):
        assert 0 <= left <= width and 0 <= high <= height
