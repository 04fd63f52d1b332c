"""Verification of a card: true results pass under every statistic and rule, forged ones are refused."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

from rerank.errors import CertificateError, InputError
from rerank.scorecard import Question, Scorecard
from tests.cases.cards import CardCase, draw
from tests.cases.imports import imports, within
from tests.scorecard import oracle

STATISTICS = ("auc", "precision@4", "dcg@5", "ndcg@5", "pauc_fpr@0.3", "recall@3", "dcg")
LIMITS = (
    {"constraints": "sensitivity >= 0.5", "cut": "top 40%"},
    {"constraints": ["sensitivity >= 60%", "flagged <= 0.55"]},
    {"constraints": ["flagged gap <= 0.35", "sensitivity gap <= 0.6"], "cut": 0.5},
    {"constraints": "auc inside >= 0.55"},
    {"constraints": ["2 of 0 among the first 8", "1 of 1 among the first 8"]},
    {"constraints": "sensitivity gap <= 0.5", "cut": "free"},
    {"constraints": ["specificity >= 0.6", "precision >= 0.5"], "max_total": 3},
    {"one_per_column": "monotone"},
)


def fitted(case, **asked):
    """The best card of a case, skipped where the rules leave none."""
    try:
        return case.fit(**asked)
    except InputError as error:
        assert "No card" in str(error) or "names the" in str(error) or "of the sign" in str(error), error
        pytest.skip(str(error))


@pytest.mark.parametrize("stat", STATISTICS)
@pytest.mark.parametrize("seed", range(4))
def test_what_the_search_proves_is_verified(stat, seed):
    case = draw(seed, ruled=seed % 2 == 1, rows=40, most=8)
    card = fitted(case, stat=stat)
    told = card.verify()
    assert float(told.value) == card.result_.value and told.bound == card.result_.bound
    assert told.sets == card.result_.sets >= told.allowed >= told.above
    assert isinstance(told.value, Fraction) == (stat not in ("dcg@5", "ndcg@5", "dcg", "recall@3"))


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_limits_are_kept_as_the_search_keeps_them(limits, seed):
    case = draw(seed, rows=30, most=6)
    case.given["people"] = np.random.default_rng(seed).integers(0, 2, len(case.y))
    card = fitted(case, **limits)
    told = card.verify()
    assert float(told.value) == card.result_.value
    # Without the limits the card may be better, and then it is above this bound.
    free = case.fit()
    if free.result_.value > card.result_.value:
        rejects("no card has more than", card, _stated=free._stated)


def test_weights_that_are_no_whole_numbers():
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 2, (40, 5)).astype(float), rng.integers(0, 2, 40)
    for weight in (rng.integers(1, 9, 40) / 4, rng.random(40) + 0.1):
        for stat in ("auc", "precision@5", "dcg@5"):
            card = Scorecard(stat, 2, 3, validation=None).fit(X, y, sample_weight=weight)
            assert float(card.verify().value) == card.result_.value


def forged(card, **changes):
    """The estimator with another result or card."""
    other = clone(card)
    other.__dict__.update(card.__dict__)
    for name, own in changes.items():
        setattr(other, name, own)
    return other


def rejects(words, card, **changes):
    with pytest.raises(CertificateError, match=words):
        forged(card, **changes).verify()


@pytest.fixture(scope="module")
def card():
    return draw(21, rows=60, most=6).fit(n_questions=2, points=3)


def test_a_changed_point_is_refused(card):
    for place in range(len(card.card_.points)):
        for point in (-3, -2, -1, 1, 2, 3):
            points = tuple(point if at == place else own for at, own in enumerate(card.card_.points))
            other = forged(card, card_=replace(card.card_, points=points))
            totals = np.array(points) @ other.card_.answers(card._rows.X)
            old = np.array(card.card_.points) @ card.card_.answers(card._rows.X)
            if (totals == old).all():
                other.verify()
            else:
                with pytest.raises(CertificateError):
                    other.verify()


def test_a_changed_value_is_refused(card):
    value = card.result_.value
    for told in (np.nextafter(value, 1), np.nextafter(value, 0), value + 0.01):
        for changes in ({"value": told}, {"value": told, "bound": told}):
            rejects(r"the value of the card is", card, result_=replace(card.result_, **changes))
    rejects("pessimistic value", card, result_=replace(card.result_, pessimistic=card.result_.pessimistic + 0.1))


def test_a_lowered_bound_is_refused(card):
    rejects("below the card's value", card, result_=replace(card.result_, bound=np.nextafter(card.result_.value, 0)))
    rejects("above its value", card, result_=replace(card.result_, bound=card.result_.bound + 1e-6))


@pytest.mark.parametrize("seed", range(6))
def test_a_worse_card_is_not_called_best(seed):
    """Of each card of a small table: verified if and only if no card is better."""
    case = draw(seed, ruled=seed % 2 == 1, rows=16, most=4)
    case.asked.pop("constraints", None)
    best = fitted(case, points=2)
    value = best.verify().value
    rows, seen = oracle.of_case(case), set()
    cards = oracle.cards_of(replace(case, asked=case.asked | {"points": 2}), best.questions_)
    for (members, points), totals in list(cards.items())[::3]:
        found = oracle.value("auc", totals, rows)
        questions = tuple(best.questions_[j] for j in members)
        plain = replace(best.card_, questions=questions, points=points, totals=())
        worst = float(best._claim(best._rows).value(totals, "pessimistic"))
        result = replace(best.result_, value=float(found), bound=float(found), pessimistic=worst)
        other = forged(best, card_=plain, result_=result)
        if found == value:
            assert other.verify().value == value
        else:
            rejects("no card has more than", other)
        seen.add(found == value)
    assert False in seen or len(seen) == 1


@pytest.mark.parametrize("stat", STATISTICS)
def test_a_bound_that_a_card_exceeds_is_refused(stat):
    """Of a result that calls itself feasible the bound is refused as soon as it is below the best card."""
    rng = np.random.default_rng(3)
    case = CardCase(rng.integers(0, 2, (50, 6)).astype(float), rng.integers(0, 2, 50), {"stat": stat})
    best = case.fit(n_questions=2, points=2)
    value = best.result_.value
    (question,) = best.card_.questions[:1]
    plain = replace(best.card_, questions=(question,), points=best.card_.points[:1], totals=())
    totals = best._claim(best._rows), plain.total(best._rows.X)
    own = [float(totals[0].value(totals[1], ties)) for ties in ("average", "pessimistic")]
    assert own[0] < value
    for bound, refused in ((value + 1e-6, False), (value - 1e-6, True), ((value + own[0]) / 2, True)):
        result = replace(best.result_, value=own[0], pessimistic=own[1], bound=bound, status="feasible")
        other = forged(best, card_=plain, result_=result)
        if refused:
            rejects("no card has more than", other)
        else:
            assert other.verify().bound == bound


def test_a_card_that_is_not_allowed_is_refused():
    case = draw(21, rows=60, most=6)
    best = case.fit(n_questions=2, points=3)
    first = str(best.card_.questions[0])
    for asked, sentence in (
        ({"never": [first]}, "not allowed"),
        ({"signs": {first: -int(np.sign(best.card_.points[0]))}}, "not allowed"),
        ({"n_questions": 1}, "break a rule"),
        ({"not_both": [str(question) for question in best.card_.questions]}, "break a rule"),
    ):
        other = case.fit(**({"n_questions": 2, "points": 3} | asked))
        rejects(sentence, other, card_=best.card_, result_=best.result_)
    with pytest.raises(CertificateError, match="not allowed"):
        strange = (Question("x0", ">=", 0.25), *best.card_.questions[1:])
        same = replace(best.card_, questions=strange)
        rows, claim = best._rows, best._claim(best._rows)
        values = [float(claim.value(same.total(rows.X), ties)) for ties in ("average", "pessimistic")]
        forged(best, card_=same, result_=replace(best.result_, value=values[0], pessimistic=values[1])).verify()


def test_the_rows_of_the_totals_and_the_number_of_sets_are_counted_again(card):
    totals = list(card.card_.totals)
    totals[0] = totals[0]._replace(relevant=totals[0].relevant + 1)
    rejects("at the total", card, card_=replace(card.card_, totals=tuple(totals)))
    rejects("sets of questions", card, result_=replace(card.result_, sets=card.result_.sets + 1))


def test_other_rows_are_refused_and_the_same_rows_accepted(card):
    case = draw(21, rows=60, most=6)
    loaded = forged(card)
    del loaded._rows
    with pytest.raises(InputError, match="pass X and y"):
        loaded.verify()
    assert loaded.verify(case.X, case.y, **case.given).value == card.verify().value
    with pytest.raises(CertificateError):
        loaded.verify(case.X, 1 - case.y, **case.given)


def test_the_report_reads_as_sentences(card):
    text = str(card.verify())
    assert text.startswith("Verified: the card has ") and "by code that shares nothing with the search" in text
    assert card.verify()._repr_html_().startswith("<p>")


def test_it_imports_nothing_of_the_search():
    """By its own imports and theirs; the package's ``__init__`` loads the estimator all the same."""
    seen, todo = set(), ["rerank.scorecard.verify"]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += imports().get(name, ())
    assert "rerank.scorecard.value" in seen
    own = {name for name in seen if within(name, "rerank.scorecard")}
    assert own == {f"rerank.scorecard.{name}" for name in ("verify", "value", "likelihood")}
    assert not seen & {"numba", "sklearn", "scipy"}
