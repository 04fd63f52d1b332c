"""Values, ties, leads and missed items against definitions, all tie orders, and other people's tools."""

import math
from fractions import Fraction

import ir_measures
import numpy as np
import pytest
from hypothesis import strategies as st
from sklearn.metrics import dcg_score, ndcg_score, roc_auc_score

from rerank import Reranker, RerankerCV
from rerank.errors import InputError
from rerank.metrics import average_precision, ndcg, pos_at_top, precision_at, reciprocal_rank
from rerank.ranks import count_empty, evaluate, gains, list_values, lost_counts, subranks, value_of_lost
from rerank.ranks.evaluator import Evaluator
from rerank.ranks.lists import split
from rerank.statistics import parse, presentation
from tests.cases.examples import examples
from tests.cases.refuses import refuses
from tests.oracles.oracle import optimum
from tests.oracles.tie_orders import BY_HITS, STATISTICS, by_definition, labelled_scores, over_all_orders

FUNCTIONS = {
    "pos@top": pos_at_top,
    "ap": average_precision,
    "rr": reciprocal_rank,
    "precision@2": lambda y, scores, ties: 2 * precision_at(np.sign(y), scores, 2, ties=ties),
    "ndcg@2": lambda y, scores, ties: ndcg(y, scores, 2, ties=ties),
}


@pytest.mark.parametrize("names", [STATISTICS, BY_HITS], ids=["by gains", "by hits"])
@examples(150, labelled_scores(), st.data())
def test_tie_rules_are_worst_best_and_mean_over_all_orders(names, data, drawn):
    (y, scores), name = data, drawn.draw(st.sampled_from(names))
    y = np.sign(y).tolist() if name == "precision@2" else y
    truth = over_all_orders(scores, lambda order: by_definition(name, y, order))
    for ties, expected in truth.items():
        assert evaluate(name, y, scores, ties=ties) == pytest.approx(expected, rel=1e-12, abs=1e-12)
        if name in FUNCTIONS:
            assert FUNCTIONS[name](y, scores, ties=ties) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    low, high = evaluate(name, y, scores, ties="interval")
    assert [low, high] == [evaluate(name, y, scores, ties=ties) for ties in ("pessimistic", "optimistic")]


@examples(100, labelled_scores(most=12), st.sampled_from(STATISTICS))
def test_the_value_is_the_sum_over_thresholds_of_lost_counts(data, name):
    y, scores = data
    statistic, worth = parse(name), gains(y)
    a = statistic.coefficients(len(y))
    levels = np.unique(worth[worth > 0])
    raw = sum(
        step * value_of_lost(lost_counts(scores, worth >= level), a)
        for level, step in zip(levels, np.diff(levels, prepend=0.0))
    )
    offset, scale = presentation(statistic, len(y), worth)
    value = evaluate(name, y, scores, ties="pessimistic")
    assert value == pytest.approx((raw - offset) / scale, rel=1e-12, abs=1e-12)


@examples(100, labelled_scores(most=12), st.sampled_from(STATISTICS), st.randoms(use_true_random=False))
def test_order_of_rows_and_increasing_maps_change_nothing(data, name, random):
    y, scores = data
    order = list(range(len(y)))
    random.shuffle(order)
    stretched = [math.exp(score) - 50 for score in scores]
    for ties in ("pessimistic", "optimistic", "average"):
        value = evaluate(name, y, scores, ties=ties)
        assert evaluate(name, [y[i] for i in order], [scores[i] for i in order], ties=ties) == value
        assert evaluate(name, y, stretched, ties=ties) == value
        assert evaluate(name, y, [Fraction(score) / 7 for score in scores], ties=ties) == value


@examples(100, labelled_scores(largest_grade=1, most=15), st.sampled_from([1, 3, None]))
def test_scikit_learn_has_our_values_with_average_ties_and_linear_gain(data, k):
    y, scores = data
    assert evaluate("auc", y, scores) == pytest.approx(roc_auc_score(y, scores), abs=1e-12)
    for name, theirs in (("dcg", dcg_score), ("ndcg", ndcg_score)):
        ours = evaluate(name + (f"@{k}" if k else ""), y, scores, ties="average", gain="linear")
        assert ours == pytest.approx(theirs([y], [scores], k=k), abs=1e-12)


def test_integers_too_large_for_doubles_are_compared_exactly():
    big = 2**60
    assert subranks([big, big + 1]).tolist() == [0, 1]
    assert evaluate("auc", [1, 0], [10**30 + 1, 10**30]) == 1.0


def test_lists_are_averaged_by_weight_in_any_order_of_rows():
    y = [1, 0, 0, 1, 0, 1]
    scores = [2, 1, 5, 4, 3, 3]
    qid = ["b", "b", "a", "a", "a", "b"]  # "a": position 2 of 3; "b": both above the other
    a, b = evaluate("mrr", [0, 1, 0], [5, 4, 3]), evaluate("mrr", [1, 0, 1], [2, 1, 3])
    assert (a, b) == (0.5, 1.5)
    assert evaluate("mrr", y, scores, qid) == (a + b) / 2
    assert evaluate("mrr", y, scores, qid, query_weight={"b": 3}) == (a + 3 * b) / 4
    assert evaluate("mrr", y, scores, qid, query_weight=[3, 3, 1, 1, 1, 3]) == (a + 3 * b) / 4
    assert evaluate("mrr", y, scores, qid, query_weight={"a": 0, "b": 2}) == b


def test_a_row_weight_multiplies_its_gain():
    y, scores = [2, 0, 1, 0], [1, 2, 3, 4]
    weighted = evaluate("ndcg", y, scores, sample_weight=[0.5, 9, 2, 9])
    assert weighted == evaluate("ndcg", [1.5, 0, 2, 0], scores, gain="linear")
    assert evaluate("dcg", y, scores, sample_weight=[0, 1, 1, 1]) == evaluate("dcg", [0, 0, 1, 0], scores)


def test_lists_without_a_value_follow_the_policy_and_are_counted():
    y, scores, qid = [1, 0, 0, 0, 1, 1], [2, 1, 2, 1, 1, 2], [1, 1, 2, 2, 3, 3]
    # List 2 has no gain; list 3 no pair, which matters to AUC alone.
    assert count_empty("dcg", y, qid) == 1 and count_empty("auc", y, qid) == 2
    assert evaluate("auc", y, scores, qid) == 1
    assert evaluate("auc", y, scores, qid, empty=0) == pytest.approx(1 / 3)
    assert evaluate("auc", y, scores, qid, empty=1) == 1
    assert evaluate("ndcg", y, scores, qid, empty=0) == pytest.approx(2 / 3)
    refuses("No list with a weight", evaluate, "dcg", [0, 0], [1, 2])
    assert evaluate("dcg", [0, 0], [1, 2], empty=0) == 0


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (([1, 0], [1, math.nan]), {}, "score of row 1 is nan"),
        (([1, 0], ["a", "b"]), {}, "must be real numbers"),
        (([1, math.nan], [1, 2]), {}, "label of row 1 is nan"),
        ((["x", "y"], [1, 2]), {}, "label must be a number"),
        (([1, 1000.5], [1, 2]), {}, "label of row 1 is 1000.5"),
        (([1, 0], [1, 2]), {"gain": "square"}, "'exponential' or 'linear'"),
        (([1, 0], [1, 2]), {"ties": "random"}, "ties is 'random'"),
        (([1, 0], [1, 2]), {"empty": "drop"}, "empty is 'drop'"),
        (([1, 0], [1, 2]), {"sample_weight": [1, -2]}, "sample_weight holds -2 in row 1"),
        (([1, 0], [1, 2], [4, 4]), {"query_weight": {4: -1}}, "weight of list 4"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, options, sentence):
    refuses(sentence, evaluate, "dcg", *arguments, **options)


def test_the_largest_grade_still_has_a_gain():
    assert gains([1000, 1000.0, 0]).tolist() == [2.0**1000 - 1, 2.0**1000 - 1, 0]


BY_LIST = ("dcg@3", "ndcg@4", "auc", "ap", "rr", "precision@2", "pauc@3", "window2@2")


@examples(200, st.data(), st.sampled_from(BY_LIST), st.sampled_from(("pessimistic", "optimistic", "average")))
def test_values_of_lists_are_those_of_each_alone(data, name, ties):
    n = data.draw(st.integers(1, 20))
    y, qid, scores = (np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))) for _ in range(3))
    y = np.minimum(y, 1) if parse(name).binary else y
    kind = data.draw(st.sampled_from((np.float64, np.int64, object)))
    scores = scores.astype(kind) if kind is not object else np.array([Fraction(int(s), 7) for s in scores])
    missed = {int(q): [1] for q in np.unique(qid) if data.draw(st.booleans())}
    values = list_values(name, y, scores, qid, ties=ties, ideal_gains=missed)
    for own, value in zip(np.unique(qid).tolist(), values.tolist(), strict=True):
        alone, gone = qid == own, {0: missed[own]} if own in missed else None
        if math.isnan(value):
            refuses("mean is not defined", evaluate, name, y[alone], scores[alone], ties=ties, ideal_gains=gone)
        else:
            assert value == evaluate(name, y[alone], scores[alone], ties=ties, ideal_gains=gone)
    if not np.isnan(values).all():
        mean = evaluate(name, y, scores, qid, ties=ties, ideal_gains=missed)
        assert np.nanmean(values) == pytest.approx(mean, rel=1e-12, abs=1e-12)


def test_a_list_without_a_value_may_have_a_length_that_the_statistic_does_not_serve() -> None:
    y, scores, qid = [1, 0, 0, 0, 0], [2.0, 1.0, 3.0, 2.0, 1.0], [0, 0, 1, 1, 1]
    assert evaluate([0.0, 1.0], y, scores, qid) == 1.0
    with pytest.raises(InputError):
        evaluate([0.0, 1.0], [1, 0, 1, 0, 0], scores, qid)


def test_a_list_shorter_than_the_depth_has_empty_places_and_one_without_others_nothing_to_pass():
    assert precision_at([1, 1, 0, 1], [4, 3, 2, 1], 10) == 0.3 and pos_at_top([1, 1], [0, 0]) == 1


def test_measures_refuse_an_unknown_rule_for_ties_and_follow_the_policy_for_lists():
    y, scores, qid = [0, 1, 0, 0], [2, 1, 2, 1], [1, 1, 2, 2]
    for measure, value in ((reciprocal_rank, 0.5), (average_precision, 0.5), (pos_at_top, 0.0)):
        assert [measure(y, scores, qid, empty=empty) for empty in ("skip", 0, 1)] == [value, value / 2, (value + 1) / 2]
        refuses("ties is 'interval'", measure, [1, 0], [1, 2], ties="interval")
    assert precision_at(y, scores, 2, qid, empty=1) == (0.5 + 1) / 2


GRADES = st.lists(st.integers(0, 3), min_size=1, max_size=7)
THEIRS = {"ndcg@3": ir_measures.nDCG @ 3, "ap": ir_measures.AP, "rr": ir_measures.RR, "recall@2": ir_measures.R @ 2}


def drawn(seed, n_lists=5, m=6, d=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_lists * m, d))
    y = rng.integers(0, 3, n_lists * m).astype(float)
    qid = np.repeat([f"q{k}" for k in range(n_lists)], m)
    y[qid == "q0"] = 0
    return X, y, qid, {"q0": [2.0, 1.0], "q1": [1.0], "q3": [2.0], "elsewhere": [1.0]}


@examples(
    100, st.lists(st.tuples(GRADES, st.lists(st.integers(1, 3), max_size=3)), min_size=1, max_size=4), st.randoms()
)
def test_values_agree_with_trec_eval(lists, random):
    """trec_eval takes the ideal from all judged documents, retrieved or not."""
    y, scores, qid, missed, run, qrels = [], [], [], {}, [], []
    for q, (grades, gone) in enumerate(lists):
        order = random.sample(range(100), len(grades))
        for k, (grade, score) in enumerate(zip(grades, order)):
            y.append(grade)
            scores.append(float(score))
            qid.append(str(q))
            run.append(ir_measures.ScoredDoc(str(q), f"d{k}", float(score)))
            qrels.append(ir_measures.Qrel(str(q), f"d{k}", grade))
        qrels += [ir_measures.Qrel(str(q), f"gone{k}", grade) for k, grade in enumerate(gone)]
        missed[str(q)] = gone
    if not any(y) and not any(map(len, missed.values())):
        return
    for name, measure in THEIRS.items():
        ours = evaluate(name, y, scores, qid, gain="linear", ideal_gains=missed, empty=0)
        assert ours == pytest.approx(ir_measures.calc_aggregate([measure], qrels, run)[measure]), name


@pytest.mark.parametrize("stat", ["auc", "ndcg@3", "dcg@3", "precision@2", "mrr"])
def test_a_missed_item_changes_the_scale_and_nothing_else(stat):
    _, y, qid, missed = drawn(1)
    scores = np.random.default_rng(0).normal(size=y.size)
    whole = evaluate(stat, y, scores, qid, ideal_gains=missed)
    total = 0.0
    for q in np.unique(qid):
        own = qid == q
        gains = 2.0 ** y[own] - 1
        gone = 2.0 ** np.array(missed.get(q, [])) - 1
        if gains.any():
            every = np.concatenate([gains, gone])
            scales = [presentation(parse(stat), g.size, g)[1] for g in (gains, every)]
            total += evaluate(stat, y[own], scores[own]) * scales[0] / scales[1]
    # The list whose items were all missed counts 0; it is one of the lists.
    assert whole == pytest.approx(total / 5)


@pytest.mark.parametrize(("stat", "seed"), [("auc", 0), ("ndcg@3", 1), ("dcg@3", 2)])
def test_a_fit_knows_the_ideal_and_its_numbers_are_those_of_the_ranking(stat, seed):
    X, y, qid, missed = drawn(seed)
    est = Reranker(stat, first_stage=None, solver="search", time_limit=10).fit(X, y, qid, ideal_gains=missed)
    result = est.result_
    assert result.status == "optimal" and result.n_empty_lists == 0
    assert result.value == pytest.approx(float(optimum(est.state_.problem).value), abs=1e-12)
    scores = est.list_scores(X, qid)
    assert result.statistic == pytest.approx(evaluate(stat, y, scores, qid, ideal_gains=missed))
    assert est.score(X, y, qid, ideal_gains=missed) == pytest.approx(result.statistic)
    assert result.statistic < est.score(X, y, qid)
    assert result.shortlist.n_rows == y.size


def test_cross_validation_judges_with_the_same_ideal():
    X, y, qid, missed = drawn(3, n_lists=9, m=8)
    cv = RerankerCV(Reranker("ndcg@3", solver="search", time_limit=2), grid={"epsilon": [1e-3]}, cv=3)
    with_missed = cv.fit(X, y, qid, ideal_gains=missed).cv_results_
    without = cv.fit(X, y, qid).cv_results_
    assert with_missed["first_stage"][0] < without["first_stage"][0]
    assert with_missed["value"][0] < without["value"][0]


grades = st.lists(st.integers(0, 1), min_size=12, max_size=12).filter(lambda y: 0 < sum(y) < 12)
scores = st.lists(st.integers(0, 5), min_size=12, max_size=12)


def lead_of(stat, y, own, other, qid=None, weight=None):
    lists = split(np.asarray(y, dtype=float), qid, sample_weight=weight)
    return Evaluator(parse(stat), lists).lead(np.asarray(own, dtype=float), np.asarray(other, dtype=float))


def test_hits_have_the_error_of_mcnemar():
    y = [1, 1, 0, 1, 0, 1, 0, 0]
    own, other = [8, 7, 6, 5, 4, 3, 2, 1], [1, 8, 2, 3, 7, 6, 5, 4]
    # The first four: own has rows 0, 1, 3; the other has 1, 5. Only one of the two has rows 0, 3 and 5.
    assert lead_of("precision@4", y, own, other) == (1.0, pytest.approx(math.sqrt(3)))


@examples(60, grades, scores, scores)
def test_the_error_of_auc_is_that_of_delong(y, own, other):
    """By the components of all pairs, with ties counted half, and sums of squares (DeLong, DeLong and Clarke-Pearson).

    Components are taken about the lead of the pairs with ties as halves.
    """
    y, own, other = (np.asarray(one, dtype=float) for one in (y, own, other))

    def kernel(side):
        up, down = side[y > 0][:, None], side[y == 0][None]
        return (up > down) + 0.5 * (up == down)

    apart = kernel(own) - kernel(other)
    m, n = apart.shape
    rows, columns = apart.mean(axis=1), apart.mean(axis=0)
    expected = math.sqrt((rows**2).sum() / m**2 + (columns**2).sum() / n**2)
    lead, error = lead_of("auc", y, own, other)
    assert error == pytest.approx(expected, abs=1e-12)
    assert lead == pytest.approx(evaluate("auc", y, own) - evaluate("auc", y, other), abs=1e-12)


@examples(60, grades, scores, scores, st.sampled_from(["precision@4", "dcg@5", "mrr", "recall@3"]))
def test_the_same_order_has_no_lead_and_no_error(y, own, other, stat):
    lead, error = lead_of(stat, y, own, own)
    assert lead == 0 and error == 0
    lead, error = lead_of(stat, y, own, other)
    back, same = lead_of(stat, y, other, own)
    assert lead == pytest.approx(-back) and error == pytest.approx(same)
    assert lead == pytest.approx(evaluate(stat, y, own) - evaluate(stat, y, other), abs=1e-12)
    assert error > 0 or lead == pytest.approx(0)


def test_dcg_without_ties_by_hand():
    rng = np.random.default_rng(0)
    for _ in range(20):
        y, own, other = rng.integers(0, 2, 12), rng.permutation(12), rng.permutation(12)
        places = [np.argsort(np.argsort(-side)) for side in (own, other)]
        a, b = (np.where(place < 5, y / np.log2(place + 2.0), 0.0) for place in places)
        lead, error = lead_of("dcg@5", y, own, other)
        assert lead == pytest.approx((a - b).sum()) and error == pytest.approx(math.sqrt(((a - b) ** 2).sum()))


@pytest.mark.parametrize("stat", ["auc", "ndcg@3", "precision@2"])
def test_several_lists_have_the_error_of_paired_means(stat):
    rng = np.random.default_rng(1)
    qid = np.repeat(np.arange(9), 7)
    y = np.tile([1, 1, 0, 0, 0, 0, 1], 9)
    own, other = y + rng.normal(size=63), rng.integers(0, 4, 63)  # with ties
    leads = np.array(
        [evaluate(stat, y[qid == q], own[qid == q]) - evaluate(stat, y[qid == q], other[qid == q]) for q in range(9)]
    )
    lead, error = lead_of(stat, y, own, other, qid)
    assert lead == pytest.approx(leads.mean())
    assert error == pytest.approx(leads.std(ddof=1) / 3)


def test_weights_of_rows_count_as_gains_do_and_weight_0_takes_no_place():
    y, weight = np.array([1, 1, 0, 1, 0, 1]), np.array([2.0, 1.0, 1.0, 3.0, 1.0, 0.0])
    own, other = np.array([6, 5, 4, 1, 2, 7]), np.array([1, 5, 4, 6, 2, 7])
    # The first two: own rows 0 and 1, the other rows 3 and 1. Rows 0 and 3 differ, and earn their weights.
    lead, error = lead_of("precision@2", y, own, other, weight=weight)
    assert (lead, error) == (pytest.approx(-1.0), pytest.approx(math.sqrt(2**2 + 3**2)))


def test_one_of_several_lists_has_no_error_of_means():
    qid = np.array([0, 0, 0, 1, 1, 1])
    lead, error = lead_of("auc", [1, 0, 0, 0, 0, 0], [3, 2, 1, 3, 2, 1], [1, 2, 3, 1, 2, 3], qid)
    assert lead == 1.0 and math.isnan(error)


@pytest.mark.parametrize("name", ["auc", "pairs", "dcg@3", "ndcg", "ap@4", "rr", "success@2", "pos@top", "rbp@.8"])
@pytest.mark.parametrize("ties", ["pessimistic", "optimistic", "average"])
def test_values_of_many_lists_have_the_bits_of_each_list_alone(name, ties):
    rng, statistic = np.random.default_rng(7), parse(name)
    qid, y = rng.integers(0, 60, 200), rng.integers(0, 2 if statistic.binary else 4, 200).astype(float)
    scores = rng.integers(0, 5, 200) / 3
    together = Evaluator(statistic, split(y, qid, gain="linear"))
    alone = [
        Evaluator(statistic, split(y[qid == q], gain="linear")).values(scores[qid == q], ties)[0]
        for q in np.unique(qid)
    ]
    assert together.values(scores, ties) == alone and None in alone
    scores[0] += 1  # scores that are changed in place are another order
    assert together.values(scores, ties) == Evaluator(statistic, together.lists).values(scores, ties)
