"""The best cards by their number of questions: each is the best of all cards that are enumerated."""

import numpy as np
import pytest

from rerank import datasets
from rerank.scorecard import Scorecard
from tests.scorecard import oracle


@pytest.mark.parametrize(("seed", "stat"), [(0, "auc"), (1, "dcg@6"), (2, "precision@5")])
def test_each_size_has_the_best_card_of_all(seed, stat):
    rows = oracle.drawn(seed)
    est = Scorecard(stat, points=2, validation=None)
    questions = est.fit(rows.X, rows.y).questions_
    found = est.frontier(3, rows.X, rows.y)
    for step in found.steps:
        cards = oracle.enumerated(questions, rows, stat, step.size, 2)
        best = float(max(one.value for one in cards))
        assert step.value == pytest.approx(best, abs=1e-12) and step.proved
        assert step.bound == pytest.approx(best, abs=1e-9) and len(step.names) <= step.size
        assert step.held_out is None
    assert [row["questions"] for row in found.table] == [1, 2, 3] and found.proved


@pytest.mark.parametrize(("validation", "most"), [(5, 3), ("bootstrap", 2)])
def test_it_is_that_of_single_fits_and_of_the_rows_of_the_fit(validation, most):
    table = datasets.load("haberman")
    est = Scorecard("auc", most, validation=validation).fit(table.X, table.y)
    steps = est.frontier(most).steps
    for step in steps:
        own = Scorecard("auc", step.size, validation=validation).fit(table.X, table.y).result_
        assert (step.value, step.bound, step.held_out) == (own.value, own.bound, own.corrected)
        assert step.error == own.held_out.error and (step.error is None) == (validation == "bootstrap")
    assert est.n_questions == most and f"{most} questions" not in est.frontier(1).remark
    values = [step.value for step in steps]
    assert values == sorted(values)


def test_a_size_that_keeps_no_rule_says_so():
    rows = oracle.drawn(1)
    found = Scorecard("auc", points=2, validation=None, must=["a", "b"]).frontier(3, rows.X, rows.y)
    first, *others = found.steps
    assert first.value is None and "keeps the rules" in first.why and not first.proved
    assert all(step.value is not None and step.proved for step in others)
    assert found.table[0]["bound"] is None and "keeps the rules" in str(found)


def test_without_time_nothing_is_tried():
    rows = oracle.drawn(1)
    found = Scorecard("auc", validation=None).frontier(2, rows.X, rows.y, time_limit=0.0)
    assert [step.value for step in found.steps] == [None, None] and "not tried" in str(found)
    assert not np.isfinite(found.steps[0].bound)
