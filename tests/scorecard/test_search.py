"""The fitted card is the best one of all sets of questions and all vectors of points."""

import math
import tracemalloc
from dataclasses import replace
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sklearn.metrics import auc, roc_auc_score, roc_curve

from rerank.scorecard import Card, Scorecard
from tests.scorecard import oracle

QUICK = dict(deadline=None, phases=[Phase.explicit, Phase.generate])  # a table is not made smaller
SEEDS = st.integers(0, 2**32 - 1)
TABLES = st.builds(oracle.drawn, SEEDS, st.sampled_from(["", "whole", "parts"]), st.sampled_from([0, 3]))


def fitted(rows: oracle.Rows, stat: str = "auc", **options: object) -> Scorecard:
    return Scorecard(stat, validation=None, **options).fit(rows.X, rows.y, people=rows.people, **rows.given)


def is_best(card: Scorecard, cards: list[oracle.Card], rows: oracle.Rows) -> None:
    """The card is among those enumerated, none of them is better, and its bound is proved."""
    best = max(one.value for one in cards)
    result = card.result_
    mine = oracle.value(card.stat, card.total(rows.X).tolist(), rows)
    assert mine == best or (card.stat != "auc" and abs(mine - best) < 1e-12)
    assert result.value == pytest.approx(float(best), abs=1e-12) and result.value <= result.bound
    assert result.status == "optimal" and result.bound - best < 1e-9
    members = tuple(card.questions_.index(one) for one in card.card_.questions)
    assert (members, card.card_.points) in {(one.members, one.points) for one in cards}


@pytest.mark.parametrize("stat", oracle.STATS)
@settings(max_examples=3, **QUICK)
@given(rows=TABLES, shape=st.sampled_from([(3, 2), (2, 3), (3, (1, 3)), (3, [-4, 1, 2]), (4, [1])]))
def test_the_card_is_the_best_of_all(stat, rows, shape):
    card = fitted(rows, stat, n_questions=shape[0], points=shape[1])
    is_best(card, oracle.enumerated(card.questions_, rows, stat, *shape), rows)


def test_rounding_of_the_bounds_inside_a_set_drops_no_card():
    rows = oracle.drawn(242)
    card = fitted(rows, "pauc_fpr@0.3", n_questions=3, points=(1, 3))
    is_best(card, oracle.enumerated(card.questions_, rows, "pauc_fpr@0.3", 3, (1, 3)), rows)


@settings(max_examples=4, **QUICK)
@given(rows=st.builds(oracle.drawn, SEEDS, st.sampled_from(["", "parts"])))
def test_of_equal_cards_it_is_the_one_with_fewest_questions_and_smallest_points(rows):
    card = fitted(rows, n_questions=3, points=2)
    cards = oracle.enumerated(card.questions_, rows, "auc", 3, 2)
    best = max(one.value for one in cards)
    size = min((len(one.members), sum(map(abs, one.points))) for one in cards if one.value == best)
    assert size == (len(card.card_.questions), sum(map(abs, card.card_.points)))


@pytest.mark.parametrize("stat", [one for one in oracle.STATS if not one.startswith("pauc")])
def test_tied_rows_count_in_expectation_over_their_orders(stat):
    y, totals = [1, 0, 1, 0, 0, 1], [2, 2, 1, 1, 1, 1]
    rows = oracle.Rows(None, np.array(y))
    orders = [
        [top[i] for i in range(2)] + [bottom[i] for i in range(4)]
        for top, bottom in product(permutations(y[:2]), permutations(y[2:]))
    ]
    each = [oracle.value(stat, range(6, 0, -1), oracle.Rows(None, np.array(order))) for order in orders]
    assert oracle.value(stat, totals, rows) == sum(each) / len(each)


@settings(max_examples=20, **QUICK)
@given(rows=st.builds(oracle.drawn, SEEDS, st.sampled_from(["", "parts"])), seed=SEEDS)
def test_areas_are_those_of_scikit_learn(rows, seed):
    card = fitted(rows, "pauc_fpr@0.3", n_questions=2, points=2)
    for stat, totals in (("auc", rows.X.to_numpy() @ np.arange(5)), ("pauc_fpr@0.3", card.total(rows.X))):
        found = float(oracle.value(stat, totals.tolist(), rows))
        if stat == "auc":
            assert found == pytest.approx(roc_auc_score(rows.y, totals, sample_weight=rows.weight))
            continue
        fpr, tpr, _ = roc_curve(rows.y, totals, sample_weight=rows.weight, drop_intermediate=False)
        inside = fpr < 0.3
        ends = np.append(fpr[inside], 0.3), np.append(tpr[inside], np.interp(0.3, fpr, tpr))
        assert found == pytest.approx(auc(*ends)) == pytest.approx(card.result_.value)


@settings(max_examples=15, **QUICK)
@given(rows=TABLES, other=TABLES, stat=st.sampled_from(oracle.STATS))
def test_score_is_the_statistic_on_other_rows(rows, other, stat):
    card = fitted(rows, stat, n_questions=3, points=2)
    totals = card.total(other.X).tolist()
    # Rows of no list are one list, which has to be said after a fit on several.
    given = other.given | ({"qid": 0} if other.qid is None else {})
    assert card.score(other.X, other.y, **given) == pytest.approx(float(oracle.value(stat, totals, other)))


@settings(max_examples=10, **QUICK)
@given(rows=st.builds(oracle.drawn, SEEDS, st.just("whole")), stat=st.sampled_from(oracle.STATS))
def test_a_weight_is_a_number_of_equal_rows(rows, stat):
    which = np.repeat(np.arange(len(rows.y)), rows.weight.astype(int))
    weighted = fitted(rows, stat, n_questions=2)
    repeated = fitted(oracle.Rows(rows.X.iloc[which], rows.y[which]), stat, n_questions=2)
    assert weighted.card_.points == repeated.card_.points
    assert weighted.result_.value == pytest.approx(repeated.result_.value, abs=1e-12)


@settings(max_examples=10, **QUICK)
@given(rows=st.builds(oracle.drawn, SEEDS, st.just("whole")), stat=st.sampled_from(["auc", "pauc_fpr@0.3"]))
def test_areas_are_the_same_by_weights_in_every_unit(rows, stat):
    whole = fitted(rows, stat, n_questions=3, points=2)
    for parts_of, error in ((10, 1e-12), (3, 1e-5)):  # tenths are exact, thirds are rounded to parts of a row
        parts = fitted(replace(rows, weight=rows.weight / parts_of), stat, n_questions=3, points=2)
        assert parts.result_.status == "optimal"
        assert parts.result_.value == pytest.approx(whole.result_.value, abs=error)


def test_rows_and_lists_of_weight_zero_are_not_there():
    rows = oracle.drawn(3, lists=2)
    weight = np.where(np.arange(len(rows.y)) < 5, 0.0, 1.0)
    weight[:2] = 1
    without = fitted(oracle.Rows(rows.X[weight > 0], rows.y[weight > 0], None, rows.qid[weight > 0]), n_questions=3)
    card = fitted(oracle.Rows(rows.X, rows.y, weight, rows.qid), n_questions=3)
    assert str(card.card_) == str(without.card_)
    own = rows.qid == 0
    one = fitted(oracle.Rows(rows.X[own], rows.y[own]), n_questions=3)
    two = Scorecard(n_questions=3, validation=None).fit(rows.X, rows.y, rows.qid, query_weight={0: 2.0, 1: 0.0})
    assert one.result_.value == two.result_.value and str(one.card_) == str(two.card_)


@pytest.mark.parametrize("stat", ["auc", "dcg@6"])
@settings(max_examples=1, **QUICK)
@given(rows=TABLES)
def test_threads_and_runs_change_nothing(rows, stat):
    cards = [fitted(rows, stat, points=2, n_jobs=n_jobs) for n_jobs in (1, 2)]
    one, two = (
        (str(card.card_), card.result_.value, card.result_.bound, list(map(str, card.pool(0.02)))) for card in cards
    )
    assert one == two


def wide(n: int = 300, d: int = 40) -> oracle.Rows:
    r = np.random.default_rng(0)
    X = oracle.pd.DataFrame(r.integers(0, 2, (n, d)), columns=[f"q{j}" for j in range(d)])
    return oracle.Rows(X, (X.to_numpy() @ r.normal(0, 1, d) + r.normal(0, 2, n) > 0).astype(int))


def test_a_search_that_time_ends_has_a_card_and_a_bound_that_holds():
    rows = oracle.drawn(5)
    best = max(one.value for one in oracle.enumerated(fitted(rows).questions_, rows, "auc", 4, 2))
    for limit, table, least in ((0.0, rows, best), (0.02, rows, best), (0.0, wide(), 0), (0.02, wide(), 0)):
        card = fitted(table, n_questions=4, points=2, time_limit=limit)
        result, pool = card.result_, card.pool(0.01)
        assert result.bound >= max(least, result.value) and result.status in ("optimal", "feasible")
        assert result.value == float(oracle.value("auc", card.total(table.X).tolist(), table))
        assert result.status == "feasible" or result.value == result.bound
        assert pool.complete or pool.why


@pytest.mark.parametrize("size, points", [(3, 200), (7, 1), (12, [1]), (15, [1])])
def test_what_is_not_proved_is_not_called_optimal(size, points):
    rows = wide(200, 15)
    rows = oracle.Rows(rows.X.iloc[:, : max(7, size)], rows.y)
    card = fitted(rows, n_questions=size, points=points, time_limit=1.0)
    result = card.result_
    assert result.value == float(oracle.value("auc", card.total(rows.X).tolist(), rows)) <= result.bound
    assert (result.status == "optimal") == (result.value == result.bound)
    # Points of one size on the columns that lead alone are a card, too.
    order = np.argsort([-abs(roc_auc_score(rows.y, rows.X[one]) - 0.5) for one in rows.X])[:3]
    signs = [1 if roc_auc_score(rows.y, rows.X.iloc[:, j]) > 0.5 else -1 for j in order]
    if points != [1]:
        assert result.bound >= roc_auc_score(rows.y, rows.X.iloc[:, order].to_numpy() @ signs)


def test_sets_that_memory_leaves_out_are_left_in_the_bound(monkeypatch):
    rows = oracle.drawn(11)
    best = fitted(rows, n_questions=3, points=2)
    monkeypatch.setattr("rerank.scorecard.search.Search.exchange", lambda search, rounds: None)
    monkeypatch.setattr("rerank.scorecard.search.MOST_KEPT", 1)
    card = fitted(rows, n_questions=3, points=2)
    assert card.result_.bound >= best.result_.value
    assert card.result_.status == "feasible" or card.result_.value == best.result_.value
    monkeypatch.setattr("rerank.scorecard.search.MOST_MEMORY", 0)
    with pytest.raises(ValueError, match="time_limit"):
        fitted(rows, n_questions=3, points=2)


def test_memory_of_a_proof_is_that_of_a_path_of_sets():
    rows = wide(200, 60)
    tracemalloc.start()
    card = fitted(rows, n_questions=6, time_limit=0.5)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert card.result_.sets == sum(math.comb(60, k) for k in range(1, 7)) and most < 5e7


def test_a_bound_is_that_of_the_sets_that_are_left(monkeypatch):
    rows = oracle.drawn(11)
    monkeypatch.setattr("rerank.scorecard.search.best_of_sets", lambda *asked: ([], 0, False))
    card = fitted(rows, n_questions=3, points=2)
    bounds = []
    for members in combinations(card.questions_, 3):
        answers = [tuple(row) for row in np.transpose([one.answers(rows.X) for one in members]).tolist()]
        share = {one: np.mean([y for y, own in zip(rows.y, answers) if own == one]) for one in set(answers)}
        bounds.append(roc_auc_score(rows.y, [share[one] for one in answers]))
    assert card.result_.bound == pytest.approx(max(bounds)) and card.result_.status == "feasible"
    assert float(card.verify().value) == card.result_.value


def test_where_nothing_is_known_there_is_no_bound_and_a_perfect_card_is_proved(tmp_path):
    rows = wide()
    card = fitted(rows, n_questions=8, time_limit=0.0)
    assert card.result_.bound == math.inf and "Not proved: no bound is known" in str(card)
    assert "no bound" in str(card.verify())
    card.card_.save(tmp_path / "card.json", card.result_)
    assert '"bound": null' in (tmp_path / "card.json").read_text()
    assert Card.of(tmp_path / "card.json").points == card.card_.points
    regret = Scorecard(validation=2, time_limit=0.0).regret({f"q{j} = 1": 1 for j in range(8)}, rows.X, rows.y)
    assert not regret.proved and math.isinf(regret.bound) and "no bound is known" in str(regret)
    perfect = oracle.Rows(rows.X, (rows.X.to_numpy()[:, :5].sum(axis=1) > 2).astype(int))
    card = fitted(perfect, n_questions=6, time_limit=10.0)
    assert card.result_.value == card.result_.bound == 1 and card.result_.status == "optimal"
    assert card.verify().value == 1


def test_a_false_positive_rate_is_a_share():
    rows = oracle.drawn(0)
    assert math.isclose(fitted(rows, "pauc_fpr@30%").result_.value, fitted(rows, "pauc_fpr@0.3").result_.value)
    for stat in ("pauc_fpr@0", "pauc_fpr@x", "pauc_fpr@120%"):
        with pytest.raises(ValueError, match="false positive rate above 0 and below 1"):
            fitted(rows, stat)
