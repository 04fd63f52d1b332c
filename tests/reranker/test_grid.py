"""The choice: what leads decide under each rule and safeguard, by hand and by random numbers."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rerank.reranker.selection.grid import (
    CORRECTIONS,
    RADII,
    WIDE,
    candidates_of,
    check_rule,
    check_safeguard,
    choose,
    first_stage_kept,
)
from rerank.reranker.selection.told import evidence

from rerank import Reranker
from rerank.errors import InputError
from rerank.reranker.evidence import RULES
from rerank.reranker.selection.judge import Judged, by_option
from rerank.statistics import DCG, parse

SAFEGUARDS = [-math.inf, -1.0, 0.0, 1.0, 50.0, math.inf]
shares = st.floats(0, 1).map(lambda x: round(x, 3))


def judged(leads, errors=None, alone=0.5):
    """Held-out leads (options,) of one round."""
    leads = np.asarray(leads, dtype=float)
    errors = np.zeros(leads.size) if errors is None else np.asarray(errors, dtype=float)
    return Judged(alone + leads[:, None], np.array([alone]), leads[:, None], errors, alone + leads)


@given(arrays(float, 3, elements=shares), arrays(float, 3, elements=shares), st.floats(-4, 4))
@settings(max_examples=100, deadline=None)
def test_the_strict_rule_is_a_bar_for_the_lead_in_standard_errors(leads, errors, safeguard):
    """One radius: the option whose lead stands highest above its bar, if it does."""
    choice = choose(judged(leads - 0.5, errors), [math.inf] * 3, "strict", safeguard)
    above = leads - 0.5 - (safeguard * errors if safeguard else 0.0)
    assert choice.first_stage_kept == (above.max() <= 0)
    if not choice.first_stage_kept:
        assert above[choice.best] == above.max() and choice.score == pytest.approx(leads[choice.best])


@pytest.mark.parametrize(
    "leads, chosen",
    [
        ([0.1, 0.2, 0.3], 2),
        ([0.1, 0.2, 0.2], 1),  # not more than the smaller radius
        ([0.2, 0.1, 0.9], 0),  # the walk ends where a radius does not lead the one before it
        ([0.0, 0.5, 0.9], None),  # the first step leads nowhere
        ([-0.1, 0.5, 0.9], None),
    ],
)
def test_smaller_radii_come_first(leads, chosen):
    choice = choose(judged(leads), [0.01, 0.1, math.inf], "mean", 1.0)
    assert choice.first_stage_kept == (chosen is None)
    assert chosen is None or choice.best == chosen
    # The order of the options in the grid is of no importance.
    turned = choose(judged(leads[::-1]), [math.inf, 0.1, 0.01], "mean", 1.0)
    assert turned.first_stage_kept == choice.first_stage_kept and (chosen is None or turned.best == 2 - chosen)


@given(arrays(float, 4, elements=shares), st.permutations([0.01, 0.1, 0.3, math.inf]))
@settings(max_examples=100, deadline=None)
def test_by_the_best_rule_the_largest_lead_decides_whatever_the_radii_between_lead(leads, radii):
    choice = choose(judged(leads - 0.5), radii, "best", 1.0)
    assert choice.first_stage_kept == (leads.max() <= 0.5)
    if not choice.first_stage_kept:
        equal = [radius for radius, lead in zip(radii, leads) if lead == leads.max()]
        assert radii[choice.best] == min(equal)


def test_pairs_of_one_list_are_told_well_and_few_places_and_many_lists_are_not():
    rules = {(stat, lists): check_rule(None, 1, parse(stat), lists)[0] for stat in ("auc", "dcg@5") for lists in (0, 1)}
    assert rules == {("auc", 0): "best", ("auc", 1): "mean", ("dcg@5", 0): "mean", ("dcg@5", 1): "mean"}
    assert check_rule("strict", 2, parse("auc"), False) == ("strict", 2.0)
    with pytest.raises(InputError, match="rule is 'worst'"):
        check_rule("worst", 1, parse("auc"), False)


def test_infinite_safeguards_decide_for_all_leads_by_either_rule():
    for rule in RULES:
        for leads in ([0.3], [-0.3]):
            for error in (0.1, 0.0):  # infinity times an error of 0 is no number, and numpy would warn
                with np.errstate(all="raise"):
                    assert choose(judged(leads, [error]), [0.1], rule, math.inf).first_stage_kept
            assert not choose(judged(leads, [0.1]), [0.1], rule, -math.inf).first_stage_kept


def test_without_a_first_stage_there_is_nothing_to_keep():
    for rule in RULES:
        found = judged([0.1, 0.3])
        nothing = replace(found, alone=np.array([math.nan]), leads=np.full((2, 1), math.nan))
        choice = choose(nothing, [math.inf] * 2, rule, 1.0)
        assert not choice.first_stage_kept and choice.best == 1


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
        ([{"epsilon": [0.1]}, {"margins": [1]}], "grid varies 'margins'"),
        ({"stat": ["auc"]}, "fix it"),
        ({"gain": ["linear"]}, "fix it"),
        ({"first_stage": [None]}, "fix it"),
    ],
)
def test_what_is_no_grid_is_refused(grid, message):
    with pytest.raises(InputError, match=message):
        candidates_of(grid, Reranker(), 5)


def test_the_default_grid_is_radii_and_leaves_alone_what_was_chosen():
    every = candidates_of(None, Reranker(DCG(10)), 5)
    assert [options["radius"] for options in every] == list(RADII)
    assert all(options["margin"] == 0.1 and options["window"] == 2.0 for options in every)
    assert all(options["max_features"] == CORRECTIONS for options in every)
    assert all(set(options) == {"radius", "margin"} for options in candidates_of(None, Reranker("auc"), 3))
    assert [options["radius"] for options in candidates_of(None, Reranker("auc"), 5, lists=True)] == list(RADII)
    few, *wide = candidates_of(None, Reranker("auc"), 5)
    assert few == {"radius": RADII[-1], "margin": 0.1, "max_features": CORRECTIONS}
    assert wide == [{"radius": radius, "margin": 0.1} for radius in WIDE]  # of all columns
    chosen = Reranker(DCG(10), radius=0.1, margin=0.02, window=1.5, max_features=2)
    assert candidates_of(None, chosen, 5) == [{"radius": radius} for radius in RADII]
    assert candidates_of({}, Reranker(), 5) == [{}]
    steady = candidates_of(None, Reranker(formulation="resolved_rank"), 5)
    assert steady == [{"thinning": None}, {"thinning": 0.8}]
    assert candidates_of(None, Reranker("auc", formulation="resolved_rank"), 5) == [{}]


def test_a_first_stage_that_is_kept_already_keeps_its_status_and_message():
    X = np.arange(40.0)[:, None]
    y = (X[:, 0] > 29).astype(float)
    est = Reranker("dcg@5", n_candidates=15, solver="search").fit(X, y)
    assert est.result_.status == "already_ideal" and first_stage_kept(est.state_) is est.state_


def test_a_report_names_what_varies_and_what_was_chosen():
    found = {
        "params": [{"radius": 0.01, "margin": 0.1}, {"radius": 0.1, "margin": 0.1}],
        "first_stage": np.array([3.0, 5.0]), "mean_lead": np.array([0.5, -0.25]),
        "lead_error": np.array([0.2, math.inf]), "mean_score": np.array([4.5, 3.75]), "folds_tried": np.array([2, 2]),
    }  # fmt: skip
    chosen = evidence(found, "window2@9", "precision@9", 0).report().splitlines()
    first = "Lead over the first stage by window2@9 on held-out rows"
    assert chosen[0] == f"{first}; the first stage has a mean precision@9 of 4 in a fold."
    assert chosen[1].split() == ["option", "lead", "error"]
    assert chosen[2].split() == ["radius", "0.01", "+0.5", "0.2", "*"] and chosen[3].split()[-1] == "inf"
    assert chosen[-1].startswith("Chosen (*): radius 0.01, with a lead of +0.5 (error 0.2). The mean lead decides")
    kept = evidence(found, "a", "b", None).report()
    assert "\nThe first stage is kept. The mean lead decides" in kept and "*" not in kept
    after = evidence(found, "a", "b", 0, fit_keeps=True).report()
    assert "\nThe first stage is kept. Held-out rows spoke for radius 0.01, with a lead of +0.5" in after
    assert "*" not in after and "Chosen" not in after


def test_an_option_without_time_counts_for_nobody_and_is_told():
    none = math.nan
    folds = np.array([[0.5] * 4, [0.9, none, none, none], [none] * 4, [0.6, 0.6, 0.6, none]])
    leads = np.array([[0.0, 0.0], [0.4, math.nan], [math.nan, math.nan], [0.1, 0.1]])
    errors = np.array([0.0, math.inf, math.nan, 0.01])
    judged = Judged(folds, np.full(4, 0.5), leads, errors, np.array([0.5, 0.9, math.nan, 0.6]))
    assert judged.tried.tolist() == [4, 1, 0, 3] and judged.usable.tolist() == [True, False, False, True]
    for rule in RULES:  # the option with the largest lead was tried on one of four folds, and is not taken
        choice = choose(judged, [0.1] * 4, rule, 1.0)
        assert (choice.best, choice.first_stage_kept, round(choice.score, 9)) == (3, False, 0.6)
    assert choose(judged, [0.1] * 4, "best", -math.inf).best == 3
    found = by_option(judged, [{"radius": one} for one in (0.1, 0.2, 0.3, 0.4)], "first_stage")
    assert math.isnan(found["mean_lead"][2]) and found["mean_lead"][3] == pytest.approx(0.1)
    told = evidence(found, "auc", "auc", 3).report()
    assert "tried on 1 of 4 folds" in told and "tried on 3 of 4 folds" in told and "not tried: no time" in told
    nothing = replace(judged, scores=folds[2:3], leads=leads[2:3], errors=errors[2:3], means=judged.means[2:3])
    assert choose(nothing, [0.1], "best", -math.inf).first_stage_kept
    told = evidence(by_option(nothing, [{}], "first_stage"), "auc", "auc", None)
    assert not told.guarded
    assert told.ending.endswith("No option had the time for a fit on held-out rows; raise time_limit.")
