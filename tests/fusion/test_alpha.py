"""The curve of two runs by alpha against all orders by enumeration, and what it says of held-out queries."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.fusion import ScoreFusion
from tests.fusion import naive
from tests.fusion.test_fit import QUICK


def fused(runs, alpha, normaliser):
    return naive.fused(runs, {"r0": 1 - alpha, "r1": alpha}, normaliser)


def mean_ap(run, qrels):
    """Mean average precision, equal scores against the relevant documents."""
    total = []
    for query, grades in qrels.items():
        order = sorted(run.get(query, {}), key=lambda doc: (-run[query][doc], grades.get(doc, 0) > 0))
        hits = [place for place, doc in enumerate(order, 1) if grades.get(doc, 0) > 0]
        relevant = sum(grade > 0 for grade in grades.values())
        total.append(math.fsum(number / place for number, place in enumerate(hits, 1)) / relevant if relevant else 0.0)
    return math.fsum(total) / len(total)


def queries_of_folds(est):
    """Numbers of the queries that each fold learns from, and of those that it holds out."""
    posed, choice = est._two
    return [tuple(np.unique(posed.data.qid[side]) for side in (one.train, one.test)) for one in choice.splits]


MEANS = {"ndcg@3": lambda run, qrels: naive.mean_ndcg(run, qrels, 3), "ndcg@10": naive.mean_ndcg, "ap": mean_ap}


def crossings(runs, normaliser):
    """Alphas in (0, 1) at which two documents of a query have equal scores, in exact fractions."""
    found, parts = {Fraction(0), Fraction(1)}, [fused(runs, alpha, normaliser) for alpha in (0.0, 1.0)]
    for query in parts[0]:
        for one, other in itertools.combinations(parts[0][query], 2):
            x, y = (Fraction(part[query][one]) - Fraction(part[query][other]) for part in parts)
            if x * y < 0:
                found.add(x / (x - y))
    return sorted(found)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(("minmax", "rank", "z")),
    st.sampled_from(tuple(MEANS)),
    st.sampled_from((1.0, 1e-3)),
)
def test_no_alpha_of_an_enumeration_has_more_and_each_step_is_worth_what_is_said(seed, normaliser, stat, scale):
    runs, qrels = naive.made(3, (0.8, 0.6), seed=seed, length=9, kept=6, scale=scale)
    if seed % 2:  # many equal scores
        runs = {
            name: {q: {doc: round(s / scale) * 1.0 for doc, s in own.items()} for q, own in run.items()}
            for name, run in runs.items()
        }
    est = ScoreFusion(stat, normalise=normaliser, radius=0.0, cv=None, **QUICK).fit(runs, qrels)
    curve, mean = est.alpha_curve(), MEANS[stat]
    assert curve.normaliser == normaliser and curve.queries == 3
    ends = crossings(runs, normaliser)
    middles = [float(a + b) / 2 for a, b in itertools.pairwise(ends) if b - a > 1e-9]
    values = [mean(fused(runs, alpha, normaliser), qrels) for alpha in middles]
    np.testing.assert_allclose(curve.steps[np.searchsorted(curve.ends, middles) - 1], values, rtol=0, atol=1e-12)
    assert curve.value == pytest.approx(max(values), abs=1e-12)
    low, high = curve.best
    inside = [value for alpha, value in zip(middles, values) if low < alpha < high]
    assert inside and min(inside) == pytest.approx(curve.value, abs=1e-12)
    # The interval ends where two documents change places.
    assert all(min(abs(float(end) - one) for end in ends) < 1e-12 for one in curve.best)
    # Nothing exceeds it where scores are equal, either: equal are those that a fused run rounds to one (2^-40).
    level = [fused(runs, float(end), normaliser) for end in ends]
    level = [{q: {doc: round(s * 2**40) for doc, s in own.items()} for q, own in run.items()} for run in level]
    assert max(mean(run, qrels) for run in level) <= curve.value + 1e-12
    assert curve.means.max() <= curve.value + 1e-12
    for row in curve.table[::20]:
        if min(abs(float(end) - row["alpha"]) for end in ends) > 1e-9:
            assert row[stat] == pytest.approx(mean(fused(runs, row["alpha"], normaliser), qrels), abs=1e-12)


@pytest.fixture(scope="module")
def case():
    return naive.made(24, (1.4, 0.4), seed=2)


@pytest.fixture(scope="module")
def fit(case):
    return ScoreFusion(normalise="minmax", prior="equal", radius=0.0, cv=4, **QUICK).fit(*case)


def test_held_out_queries_are_ranked_by_the_alpha_that_is_best_on_the_others(case, fit):
    runs, qrels = case
    curve = fit.alpha_curve()
    assert curve.fitted == pytest.approx(fit.weights_["r1"]) and curve.fitted_mean == pytest.approx(fit.score(*case))
    assert curve.chosen.value == pytest.approx(naive.mean_ndcg(fit.fuse(runs), qrels))  # equal weights learn nothing
    # Each query alone: by the alpha of the fold that holds it out, it is worth what is said.
    folds, total, half = queries_of_folds(fit), np.zeros(24), np.zeros(24)
    names, deals = list(qrels), len(folds) // 4
    for train, test in folds:
        assert not set(train) & set(test) and set(train) | set(test) == set(range(24))
        some = {names[number] for number in train}
        part = {name: {q: own for q, own in run.items() if q in some} for name, run in runs.items()}
        judged = {q: own for q, own in qrels.items() if q in some}
        best = ScoreFusion(normalise="minmax", radius=0.0, cv=None, **QUICK).fit(part, judged).alpha_curve().best
        for number in test:
            query = {names[number]: qrels[names[number]]}
            one = {name: {q: own for q, own in run.items() if q in query} for name, run in runs.items()}
            total[number] += naive.mean_ndcg(fused(one, sum(best) / 2, "minmax"), query) / deals
            half[number] = naive.mean_ndcg(fused(one, 0.5, "minmax"), query)
    ahead = total - half
    assert tuple(curve.tuned) == pytest.approx(
        (total.mean(), half.mean(), ahead.mean(), ahead.std(ddof=1) / math.sqrt(24)), abs=1e-12
    )
    assert curve.tuned.lead != 0


def test_it_prints_the_optimum_rounded_up_and_the_fitted_alpha(fit):
    curve = fit.alpha_curve()
    text = str(curve)
    said = float(text.split("No alpha has more than ")[1].split()[0])
    assert curve.value - 1e-12 <= said < curve.value + 1e-6
    assert f"{curve.fitted:.4f}, fitted" in text and text.count("Held-out queries") == 2
    assert "<table" in curve._repr_html_()
    assert [row["alpha"] for row in curve.table] == pytest.approx([k / 100 for k in range(101)])


def test_the_picture_has_the_steps_the_best_interval_and_the_fitted_alpha(fit):
    pytest.importorskip("matplotlib").use("Agg")
    curve = fit.alpha_curve()
    ax = curve.plot()
    ax.figure.canvas.draw()
    (drawn,) = [patch.get_data() for patch in ax.patches if hasattr(patch, "get_data")]
    np.testing.assert_array_equal(drawn.values, curve.steps)
    np.testing.assert_array_equal(drawn.edges, curve.ends)
    dashed = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "--"]
    assert dashed == [curve.fitted] and ax.get_xlabel() == "alpha: weight of r1, beside r0"
    assert any(tuple(line.get_xdata()) == curve.best for line in ax.lines)
    (ring,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert ring.get_xdata()[0] == sum(curve.best) / 2 and ring.get_ydata()[0] == curve.value


def test_without_folds_nothing_is_held_out(case):
    runs, qrels = case
    curve = ScoreFusion(normalise="minmax", radius=0.0, cv=None, **QUICK).fit(runs, qrels).alpha_curve()
    assert curve.chosen is None and curve.tuned is None and "Held-out" not in str(curve)
