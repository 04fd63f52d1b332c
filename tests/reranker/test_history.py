"""The history of a fit: value and bound over time, monotone, ending in those of the result; in no file."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import strategies as st

from rerank import Reranker, load
from rerank.errors import NotSupportedError
from rerank.reranker.solution import MOST_MOMENTS, Moment, history_of
from tests.cases.examples import examples
from tests.cases.hand_programs import need


def fitted(n=60, d=5, **options):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d))
    y = (X @ np.linspace(1, -1, d) + 2 * rng.normal(size=n) > 0.5).astype(int)
    return Reranker("auc", **{"first_stage": None, "time_limit": 3, "margin": 1e-3, **options}).fit(X, y)


def sound(result):
    seconds, values, bounds = zip(*result.history)
    assert (values[-1], bounds[-1]) == (result.value, result.bound) and len(result.history) <= MOST_MOMENTS
    assert all(np.diff(seconds) >= 0) and seconds[0] >= 0 and seconds[-1] <= result.seconds["total"] + 1e-6
    assert all(now <= later for now, later in pairwise(values))
    assert all(now >= later for now, later in pairwise(bounds))
    assert all(value <= bound + 1e-9 for value, bound in zip(values, bounds))
    return len(seconds)


@pytest.mark.parametrize("solver", ["search", "highs", "cbc"])
def test_a_history_ends_in_the_result(solver):
    need(solver)
    assert sound(fitted(solver=solver).result_) >= 3


def test_a_solver_alone_has_one_too():
    result = fitted(20, 3, presolve=False, time_limit=10).result_
    assert sound(result) >= 2 and result.history[0].value <= result.value
    need("glpk")
    assert sound(fitted(12, 2, solver="glpk", presolve=False).result_) >= 1


def test_a_picture_shows_it_and_a_file_does_not_hold_it(tmp_path):
    est = fitted()
    axes = est.result_.plot_history()
    found = next(line for line in axes.lines if line.get_linestyle() == "-")
    assert found.get_ydata()[-1] == est.result_.value and est.result_.fitted_name in axes.get_ylabel()
    assert "history" not in est.result_.to_dict()
    est.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json").result_
    assert again.history == ()
    with pytest.raises(NotSupportedError, match="read from a file"):
        again.plot_history()
    assert fitted(solver="none").result_.history == ()


moments = st.lists(st.tuples(*[st.floats(-10, 10)] * 2), max_size=450)


@examples(100, moments, st.floats(-5, 5), st.floats(0, 5))
def test_any_reports_become_a_sound_history(reports, value, gap):
    told = [Moment(float(k), *pair) for k, pair in enumerate([*reports, (value, value + gap)])]
    kept = history_of(told, value, value + gap)
    assert len(kept) <= MOST_MOMENTS and kept[-1][1:] == (value, value + gap)
    assert kept[0].seconds == 0 and all(a.value <= b.value and a.bound >= b.bound for a, b in pairwise(kept))
    if len(reports) < 90:  # none is left out: each moment is the best so far, and no better than the end
        for now in told:
            last = [one for one in kept if one.seconds <= now.seconds][-1]
            best = max((one.value for one in told[: int(now.seconds) + 1]), default=-math.inf)
            assert last.value == min(best, value)
