"""The choice: what leads decide under each safeguard, against a t statistic and numbers done by hand."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import ttest_1samp

from rerank import Reranker
from rerank.errors import InputError
from rerank.reranker.selection.grid import GRID, candidates_of, check_safeguard, choose, first_stage_kept
from rerank.statistics import DCG

SAFEGUARDS = [-math.inf, -1.0, 0.0, 1.0, 50.0, math.inf]
shares = st.floats(0, 1).map(lambda x: round(x, 3))


def folds(*pairs):
    """Scores of one option and of the first stage, a pair a fold."""
    return np.array([[own] for own, _ in pairs]), np.array([first for _, first in pairs])


@given(arrays(float, (4, 3), elements=shares), arrays(float, 4, elements=shares), st.floats(-4, 4))
@settings(max_examples=100, deadline=None)
def test_the_safeguard_is_a_bar_for_the_t_statistic_of_the_leads(scores, alone, safeguard):
    choice = choose(scores, alone, safeguard)
    assert choice.means[choice.best] == max(choice.means)
    leads = scores[:, choice.best] - alone
    assume(leads.std() > 1e-6)
    t = ttest_1samp(leads, 0.0).statistic
    assume(abs(t - safeguard) > 1e-6)
    assert choice.first_stage_kept == (t < safeguard)
    kept = alone if choice.first_stage_kept else scores[:, choice.best]
    assert choice.score == pytest.approx(kept.mean())


@pytest.mark.parametrize(
    "pairs, kept",
    [
        # The mean lead is .2 and its standard error .1: a t of 2.
        ([(0.5, 0.4), (0.6, 0.3)], [False, False, False, False, True, True]),
        # Every fold leads by the same: any finite bar is 0 standard errors high.
        ([(0.75, 0.5), (0.5, 0.25)], [False, False, False, False, False, True]),
        # No lead at all is not more than nothing, whatever the bar.
        ([(0.5, 0.5), (0.25, 0.25)], [False, True, True, True, True, True]),
        # One fold has no standard error: no lead is clear, and no deficit either.
        ([(0.75, 0.25)], [False, False, False, True, True, True]),
        ([(0.25, 0.75)], [False, False, True, True, True, True]),
        # Without a first stage there is nothing to keep.
        ([(0.75, math.nan), (0.5, math.nan)], [False] * 6),
        ([(0.75, math.nan)], [False] * 6),
    ],
)
def test_hand_made_leads(pairs, kept):
    assert [choose(*folds(*pairs), safeguard).first_stage_kept for safeguard in SAFEGUARDS] == kept


@pytest.mark.parametrize("safeguard", [None, "1", float("nan"), np.float64("nan"), True, 1j])
def test_a_safeguard_is_a_number(safeguard):
    with pytest.raises(InputError, match="safeguard is .*number of standard errors"):
        check_safeguard(safeguard)


@pytest.mark.parametrize(
    "grid, message",
    [
        ([], "grid is empty"),
        ({"epsilon": []}, "grid cannot be read"),
        (3, "grid cannot be read"),
        ({"epsilon": 0.1}, "grid cannot be read"),
        ([{"epsilon": [0.1]}, {"margin": [1]}], "grid varies 'margin'"),
        ({"stat": ["auc"]}, "fix it"),
        ({"gain": ["linear"]}, "fix it"),
        ({"first_stage": [None]}, "fix it"),
    ],
)
def test_what_is_no_grid_is_refused(grid, message):
    with pytest.raises(InputError, match=message):
        candidates_of(grid, Reranker())


def test_the_default_grid_varies_what_changes_the_statistic():
    every = candidates_of(None, Reranker(DCG(10)))
    assert len(every) == len(GRID["epsilon"]) * len(GRID["thinning"])
    assert all(set(options) == {"epsilon", "thinning"} for options in every)
    assert candidates_of(None, Reranker("auc")) == [{"epsilon": value} for value in GRID["epsilon"]]
    assert candidates_of({}, Reranker()) == [{}]
    steady = candidates_of(None, Reranker(formulation="resolved_rank"))
    assert steady == [{"thinning": value} for value in GRID["thinning"]]
    assert candidates_of(None, Reranker("auc", formulation="resolved_rank")) == [{}]
    assert len(candidates_of(None, Reranker(formulation="resolved_rank", solver="search"))) == len(every)


def test_a_first_stage_that_is_kept_already_keeps_its_status_and_message():
    X = np.arange(40.0)[:, None]
    y = (X[:, 0] > 29).astype(float)
    est = Reranker("dcg@5", n_candidates=15, solver="search").fit(X, y)
    assert est.result_.status == "already_ideal" and first_stage_kept(est.state_) is est.state_
