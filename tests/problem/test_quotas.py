"""Quotas as data: texts, files, digests, what counting refuses, and their share in a part of a list."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import strategies as st

from rerank.errors import InputError
from rerank.problem import Quota, RankedList, digest, problem_of
from rerank.problem.json import problem_from_json, problem_to_json
from rerank.problem.quotas import check_quotas, groups_of, quotas_of, scaled_quotas
from rerank.statistics import parse
from tests.cases.examples import SEEDS, examples


@pytest.mark.parametrize(
    ("text", "name", "first", "least", "most"),
    [
        ("at least 20 of A among the first 200", "A", 200, 20, None),
        ("at most 5 of B among the first 100", "B", 100, None, 5),
        ("20 of A among the first 200", "A", 200, 20, None),
        ("  at  most 0 of 2 of 3 among the first 4 ", "2 of 3", 4, None, 0),
    ],
)
def test_texts(text, name, first, least, most):
    quota = Quota.read(text)
    assert (quota.name, quota.first, quota.least, quota.most) == (name, first, least, most)
    again = Quota.read(str(quota))
    assert str(again) == str(quota) and (again.least, again.most) == (least, most)


@pytest.mark.parametrize(
    "text",
    ["", "20 of A", "at least of A among the first 3", "at least 1 of A among the first 0", "1 of A in the first 3"],
)
def test_other_texts_are_refused(text):
    with pytest.raises(InputError, match="cannot be read; write one such as 'at least 20 of A among the first"):
        Quota.read(text)


def test_an_option_is_a_text_of_lines_or_a_sequence():
    lines = "at least 1 of A among the first 3\nat most 2 of B among the first 9"
    assert [str(one) for one in quotas_of(lines)] == lines.splitlines()
    assert [str(one) for one in quotas_of(lines.splitlines())] == lines.splitlines()
    assert quotas_of(None) == ()


def test_a_problem_without_quotas_keeps_its_digest_and_one_with_them_goes_through_json():
    problem = problem_of([[0.0], [1.0], [2.0]], np.array([0.0, 0.0, 1.0]), parse("auc"), epsilon=0.1)
    assert "quotas" not in problem_to_json(problem)
    seen = {digest(problem)}
    for quota in (Quota("A", 2, 1), Quota("A", 1, 1), Quota("A", 2, None, 1), Quota("A", 2, 1, 1)):
        for rows in ([0, 2], [0, 1]):
            other = replace(problem, quotas=(quota.of(rows),))
            again = problem_from_json(problem_to_json(other), "it")
            assert digest(again) == digest(other) and str(again.quotas[0]) == str(quota)
            seen.add(digest(other))
    assert len(seen) == 9
    body = problem_to_json(replace(problem, quotas=(Quota("A", 2, 1).of([0, 2]),)))
    for broken in ({"rows": [0, 3]}, {"first": 0}, {"least": -1}, {"most": "many"}):
        with pytest.raises(InputError, match="holds no problem that can be used"):
            problem_from_json(body | {"quotas": [body["quotas"][0] | broken]}, "it")


def some_order(quotas, n):
    """Whether some order of the rows meets all quotas."""
    for order in permutations(range(n)):
        counts = [sum(row in quota.rows for row in order[: quota.first]) for quota in quotas]
        if all((q.least or 0) <= k <= (n if q.most is None else q.most) for q, k in zip(quotas, counts)):
            return True
    return False


@examples(150, SEEDS)
def test_counting_refuses_no_quotas_that_some_order_meets(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    kinds = rng.choice(["A", "B", "C"], n)
    names = sorted(set(kinds.tolist()))
    asked = []
    for _ in range(rng.integers(1, 4)):
        count, least = int(rng.integers(0, n + 1)), bool(rng.random() < 0.6)
        first = int(rng.integers(1, n + 1))
        asked.append(Quota(str(rng.choice(names)), first, count if least else None, None if least else count))
    quotas = groups_of(asked, kinds)
    whole = RankedList(np.arange(n), np.zeros(n), np.zeros(n))
    try:
        check_quotas(quotas, [whole])
    except InputError as error:
        assert not some_order(quotas, n)
        assert any(f"'{quota}'" in str(error) for quota in quotas)
    else:  # of one quota counting says it all
        assert len(quotas) > 1 or some_order(quotas, n)


@pytest.mark.parametrize(
    ("texts", "message"), [(["at most 0 of B among the first 4"], "has 2 others for 4 places; allow 2 or more")]
)
def test_what_clashes_is_named(texts, message):
    kinds = np.array(["A", "A", "B", "B", "B"])
    lists = [RankedList(np.arange(5), np.zeros(5), np.zeros(5))]
    with pytest.raises(InputError, match=message):
        check_quotas(groups_of(quotas_of(texts), kinds), lists)


def test_names_that_no_row_has_are_refused():
    with pytest.raises(InputError, match=r"names the kind 'Z', and the kinds of rows are A, B; did you mean"):
        groups_of(quotas_of("1 of Z among the first 2"), ["A", "B"])


@examples(60, st.integers(1, 40), st.integers(1, 60), SEEDS)
def test_a_part_of_a_list_is_asked_for_its_share_and_never_for_more_than_it_has(count, first, seed):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(["A", "B"], 50)
    for quota in (Quota("A", first, count), Quota("A", first, None, count)):
        (part,) = scaled_quotas([quota], kinds, 0.8)
        assert part.first == max(round(0.8 * first), 1)
        share = part.first / first
        if quota.least is not None:
            assert part.least <= min(max(share * count, 1) + 1e-9, (kinds == "A").sum(), part.first)
        else:
            others = (kinds == "B").sum()
            assert part.most >= max(share * count - 1e-9, min(part.first, 50) - others)
        if part.first <= 50:
            check_quotas(groups_of([part], kinds), [RankedList(np.arange(50), np.zeros(50), np.zeros(50))])
