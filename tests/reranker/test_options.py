"""The options of a choice and the rule: what leads decide, by hand and by random numbers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from rerank import Reranker, RerankerCV
from rerank.reranker.data import Arguments, data_of
from rerank.reranker.evidence import Evidence, option_names
from rerank.reranker.selection.options import (
    FEW,
    MARGIN,
    NOT_TRIED,
    RADII,
    SIMPLE,
    WINDOW,
    Lead,
    Option,
    beside,
    best_of,
    check_safeguard,
    cv_results,
    options_of,
)
from rerank.reranker.selection.reranker_cv import first_stage_kept
from rerank.statistics import DCG
from tests.cases.drawn import drawn
from tests.cases.refuses import refuses

numbers = st.floats(-1, 1).map(lambda x: round(x, 2))
several = st.lists(st.tuples(numbers, numbers.map(abs)), min_size=4, max_size=4)


def options(radii):
    return [Option({"radius": radius}) for radius in radii]


def leads(pairs, alone=0.5):
    return [Lead(alone + lead, alone, lead, error) for lead, error in pairs]


def tried_by(base, d=5, grid=None):
    X, y = drawn(40, d)
    return options_of(grid, base, data_of(Arguments(X, y), base, base))


# -- the rule ---------------------------------------------------------------------------------------------------------


@given(several, st.floats(0, 4).map(lambda x: round(x, 1)))
@settings(max_examples=100, deadline=None)
def test_the_largest_lead_less_its_errors_is_taken_if_it_is_above_nothing(pairs, safeguard):
    best = best_of(options([0.1, 0.3, 1.0, None]), leads(pairs), safeguard)
    clear = [lead - safeguard * error for lead, error in pairs]
    assert (best is None) == (max(clear) <= 0)
    assert best is None or clear[best] == max(clear)


@pytest.mark.parametrize(
    "pairs, chosen",
    [
        ([(0.1, 0.04), (0.2, 0.02), (0.3, 0.2)], 1),  # the largest is not clear
        ([(0.1, 0.0), (0.2, 0.0), (0.3, 0.0)], 2),  # all sizes at once: no walk that ends early
        ([(-0.1, 0.0), (-0.2, 0.0), (0.3, 0.1)], 2),
        ([(0.2, 0.05), (0.2, 0.05), (0.2, 0.05)], 0),  # of equal ones the smaller correction
        ([(0.2, 0.1), (0.1, 0.05), (0.0, 0.0)], None),  # exactly two errors are not more than two
        ([(0.2, math.nan), (0.1, 0.01), (0.0, 0.0)], 1),  # an error that is not known is no reason to move
    ],
)
def test_by_hand(pairs, chosen):
    assert best_of(options([0.1, 0.3, None]), leads(pairs), 2.0) == chosen
    turned = best_of(options([None, 0.3, 0.1]), leads(pairs[::-1]), 2.0)  # the order of the options does not matter
    assert turned == (None if chosen is None else 2 - chosen)


@given(several)
@settings(max_examples=50, deadline=None)
def test_rivals_and_options_without_time_count_for_nobody(pairs):
    every = [*options([0.1, 0.3, 1.0, None]), Option({"first_stage": "logistic+squares", "radius": 0.0}, rival=True)]
    found = leads([*pairs, (9.0, 0.1)])
    for safeguard in (-math.inf, 0.0, 2.0):
        assert best_of(every, found, safeguard) == best_of(every[:4], found[:4], safeguard) != 4
    found[1] = NOT_TRIED
    assert best_of(every, found, -math.inf) != 1 and best_of(every, found, 0.0) != 1
    assert best_of(every, [NOT_TRIED] * 4 + found[4:], -math.inf) is None


def test_infinite_safeguards_decide_for_all_leads():
    for lead in (0.3, -0.3):
        for error in (0.1, 0.0):
            found = leads([(lead, error), (lead - 0.1, error)])
            assert best_of(options([0.1, 0.3]), found, math.inf) is None
            assert best_of(options([0.1, 0.3]), found, -math.inf) == 0


def test_without_a_first_stage_there_is_nothing_to_keep():
    nothing = [Lead(value, math.nan, math.nan, math.nan) for value in (0.1, 0.3)]
    for safeguard in (-math.inf, 0.0, 2.0, math.inf):
        assert best_of(options([None, None]), nothing, safeguard) == 1


@pytest.mark.parametrize("safeguard", [None, "1", float("nan"), np.float64("nan"), True, 1j])
def test_a_safeguard_is_a_number(safeguard):
    refuses("safeguard is .*number of standard errors", check_safeguard, safeguard)


def test_parameters_of_earlier_versions_are_refused_with_what_to_use():
    for name in ("rule", "judge"):
        refuses(f"^RerankerCV has no '{name}' any more: .*", RerankerCV, **{name: "mean"})
    refuses("^Reranker has no 'thinning' any more: ", Reranker, thinning=0.8)
    for est in (Reranker, RerankerCV):
        with pytest.raises(TypeError, match="unexpected keyword argument 'rules'"):
            est(rules="mean")


def test_the_margin_by_its_last_name_is_the_margin_with_a_warning():
    with pytest.warns(FutureWarning, match="'epsilon' is called 'margin' now") as told:
        est = Reranker("auc", epsilon=0.2)
        assert clone(est).set_params(epsilon="1/4").get_params()["margin"] == "1/4" and est.epsilon == 0.2
        assert [one.params["margin"] for one in options_of({"epsilon": [0.1, 0.3]}, est, None)] == [0.1, 0.3]
    assert {one.filename for one in told[:2]} == {__file__}
    assert est.get_params() == Reranker("auc", margin=0.2).get_params()


# -- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "grid, message",
    [
        ({"margin": []}, "grid cannot be read"),
        ({"margin": 0.1}, "grid cannot be read"),
        ([{"margin": [0.1]}, {"margins": [1]}], "grid varies 'margins'"),
        ({"stat": ["auc"]}, "fix it"),
        ({"gain": ["linear"]}, "fix it"),
    ],
)
def test_what_is_no_grid_is_refused(grid, message):
    refuses(message, options_of, grid, Reranker(), None)


def test_default_options_go_from_simple_first_stages_to_free_weights():
    every = tried_by(Reranker(DCG(10), first_stage="logistic"))
    simple, corrected = every[: len(SIMPLE)], every[len(SIMPLE) :]
    assert [one.params for one in simple] == [{"first_stage": name, "radius": 0.0} for name in SIMPLE]
    assert not any(one.rival for one in every)
    assert [one.params["radius"] for one in corrected] == [*RADII, 0.1]
    assert corrected[-1].params["max_features"] == FEW
    assert all(one.params["window"] == WINDOW for one in corrected)
    assert all(("margin" in one.params) == (one.params["radius"] is not None) for one in corrected)
    assert all("window" not in one.params for one in tried_by(Reranker("auc", first_stage="logistic")))
    assert all(one.params.get("max_features") is None for one in tried_by(Reranker("auc"), d=FEW))


def test_default_options_leave_alone_what_was_chosen():
    chosen = Reranker(DCG(10), radius=0.1, margin=0.02, window=1.5, max_features=2, first_stage=None)
    free = {"margin": "auto", "radius": None}  # the margin that was chosen is one of corrections
    assert [one.params for one in tried_by(chosen)] == [{"radius": radius} for radius in RADII[:-1]] + [free]
    beside_a_score = tried_by(Reranker("auc", first_stage=np.arange(40.0)))
    assert [one.rival for one in beside_a_score] == [True] * len(SIMPLE) + [False] * (len(RADII) + 1)
    assert [one.params for one in tried_by(Reranker(formulation="resolved_rank"))] == [{"radius": None}]
    assert [one.params for one in tried_by(Reranker(radius=0.3), grid={})] == [{"radius": 0.3}]
    varied = tried_by(Reranker(), grid={"first_stage": ["logistic", "toppush"], "radius": [0.1]})
    assert [one.params["first_stage"] for one in varied] == ["logistic", "toppush"]
    assert tried_by(Reranker("auc", first_stage=None))[0].params["margin"] == MARGIN


def test_a_first_stage_that_is_kept_already_keeps_its_status_and_message():
    X = np.arange(40.0)[:, None]
    y = (X[:, 0] > 29).astype(float)
    est = Reranker("dcg@5", n_candidates=15, solver="search").fit(X, y)
    assert est.result_.status == "already_ideal" and first_stage_kept(est.state_) is est.state_


# -- what is told -----------------------------------------------------------------------------------------------------


def evidence(pairs, chosen, rivals=None, **more):
    every = [{"radius": 0.01, "margin": 0.1}, {"radius": 0.1, "margin": 0.1}, {"radius": None}][: len(pairs)]
    found = [NOT_TRIED if pair is None else Lead(4.0 + pair[0], 4.0, *pair) for pair in pairs]
    results = cv_results(every, found, rivals or [False] * len(pairs))
    return Evidence.of(results, option_names(every), statistic="precision@9", chosen=chosen, folds=5, rounds=2, **more)


def test_a_report_has_one_number_a_row_and_names_what_was_chosen():
    told = evidence([(0.5, 0.2), (-0.25, math.nan), None], 0, list_length=1200).report().splitlines()
    assert told[0] == "Held-out rows of 5 folds; options that lead were tried on 2 deals of the folds."
    assert told[1].startswith("Counted for lists to come of 1,200 rows; list_length says")
    assert told[2].split() == ["option", "precision@9", "lead", "95", "%", "interval"]
    assert told[3].split() == ["first", "stage", "4"]
    assert told[4].split() == ["radius", "0.01", "*", "4.5", "+0.5", "+0.108", "to", "+0.892"]
    assert told[5].split() == ["radius", "0.1", "3.75", "-0.25"]
    assert " ".join(told[6].split()) == "free weights not tried: the time was over, or the fit interrupted"
    assert told[7].startswith("Chosen (*): radius 0.01; precision@9 4 -> 4.5 on held-out rows. An option has to lead")
    kept = evidence([(0.5, 0.3), (-0.25, 0.1)], None).report()
    assert kept.endswith("The first stage is kept. No option leads the first stage by more than 2 standard errors.")
    assert "*" not in kept and "Counted for" not in kept
    after = evidence([(0.5, 0.2), (0.1, 0.1)], 0, fit_keeps=True).report()
    assert "\nHeld-out rows spoke for radius 0.01; precision@9 4 -> 4.5" in after
    assert after.endswith("than the first stage that it corrects, which is kept.")
    assert "*" not in after and "Chosen" not in after and "The first stage is kept" not in after
    part = evidence([(0.5, 0.3), None], None).report()
    assert part.endswith("No option that was tried leads the first stage by more than 2 standard errors.")


def test_the_advice_of_a_report_for_each_safeguard():
    for safeguard, words in (
        (0.0, "by more than 0;"),
        (1.0, "by more than 1 standard error;"),
        (-math.inf, "takes the option with the"),
    ):
        assert words in evidence([(0.5, 0.2)], 0, safeguard=safeguard).report()
    assert "safeguard=inf keeps the first stage" in evidence([(0.5, 0.2)], None, safeguard=math.inf).report()
    nothing = evidence([None, None], None)
    assert not nothing.guarded and "No option had the time to be tried" in nothing.ending
    assert "raise time_limit" in nothing.ending


def test_a_rival_that_is_clearly_ahead_is_named():
    text = evidence([(0.5, 0.2), (1.5, 0.5), (0.2, 0.1)], 0, [False, True, False]).report()
    assert "compared only" in text and text.count("compared only") == 1
    assert "radius 0.1 alone has 1 more than what was taken: compare it" in text
    close = evidence([(0.5, 0.2), (0.9, 0.5), (0.2, 0.1)], 0, [False, True, False]).report()
    assert "alone has" not in close  # no more than its error


def test_values_stand_beside_one_value_of_the_first_stage():
    found = beside([Lead(16.0, 24.0, -8.0, 3.0), Lead(40.0, 22.0, 18.0, 5.0), NOT_TRIED], 23.0)
    assert [one.value for one in found[:2]] == [15.0, 41.0] and found[0].alone == found[1].alone == 23.0
    assert math.isnan(found[2].value)
