"""Rank statistics as values: names, presentation, refusals, shares of a list, lists of another length."""

import copy
import doctest
import math
import pickle
import re
from itertools import combinations, pairwise, permutations
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.base import clone

from rerank import Reranker, load
from rerank.errors import InputError
from rerank.ranks import evaluate
from rerank.statistics import (
    AUC,
    DCG,
    MRR,
    NDCG,
    RBP,
    AveragePrecision,
    Custom,
    InLists,
    Pairs,
    PartialAUC,
    PNorm,
    PosAtTop,
    Precision,
    RankStatistic,
    Recall,
    ReciprocalRank,
    Share,
    Success,
    Window,
    WinnerTakesAll,
    fitted_statistic,
    ideal,
    parse,
    presentation,
)
from rerank.statistics.catalogue import NAMED as STATISTICS
from rerank.statistics.parse import known
from tests.cases.examples import examples
from tests.cases.refuses import refuses
from tests.oracles.tie_orders import by_definition, pairs_won

# Each statistic with its name and a_l as a function of the rank l (1 at the bottom) and the length n.
TABLE = [
    (AUC(), "auc", lambda l, n: l),
    (Pairs(), "pairs", lambda l, n: l),
    (PartialAUC(at=3), "pauc@3", lambda l, n: l if l >= n - 3 + 1 else 0),
    (WinnerTakesAll(), "wta", lambda l, n: float(l == n)),
    (Precision(at=3), "precision@3", lambda l, n: float(n - l + 1 <= 3)),
    (Window(at=4), "window2@4", lambda l, n: min(max((8 - (n - l + 1)) / 6, 0), 1)),
    (Window(at=3, c=1), "window1@3", lambda l, n: float(n - l + 1 <= 3)),
    (Window(at=10, c=2.5), "window2.5@10", lambda l, n: min(max((25 - (n - l + 1)) / 21, 0), 1)),
    (MRR(), "mrr", lambda l, n: 1 / (n - l + 1)),
    (DCG(), "dcg", lambda l, n: 1 / math.log2(n - l + 2)),
    (DCG(at=3), "dcg@3", lambda l, n: 1 / math.log2(n - l + 2) if n - l + 1 <= 3 else 0),
    (NDCG(), "ndcg", lambda l, n: 1 / math.log2(n - l + 2)),
    (NDCG(at=3), "ndcg@3", lambda l, n: 1 / math.log2(n - l + 2) if n - l + 1 <= 3 else 0),
    (PNorm(p=2), "pnorm@2", lambda l, n: (l / n) ** 2),
    (PNorm(p=0.5), "pnorm@0.5", lambda l, n: (l / n) ** 0.5),
    (Recall(at=3), "recall@3", lambda l, n: float(n - l + 1 <= 3)),
    (RBP(p=0.8), "rbp@0.8", lambda l, n: (1 - 0.8) * 0.8 ** (n - l)),
    (AveragePrecision(), "ap", lambda l, n: 1 / (n - l + 1)),
    (ReciprocalRank(), "rr", lambda l, n: 1 / (n - l + 1)),
    (AveragePrecision(at=2), "ap@2", lambda l, n: 1 / (n - l + 1) if n - l + 1 <= 2 else 0),
    (ReciprocalRank(at=3), "rr@3", lambda l, n: 1 / (n - l + 1) if n - l + 1 <= 3 else 0),
    (Success(at=3), "success@3", lambda l, n: float(n - l + 1 <= 3)),
    (PosAtTop(), "pos@top", lambda l, n: float(l == n)),
    (Custom(lambda l, n: l > n / 2), None, lambda l, n: float(l > n / 2)),
]


NAMED = [row[:2] for row in TABLE if row[1]]


@pytest.mark.parametrize(("statistic", "name", "a"), TABLE, ids=[str(row[1]) for row in TABLE])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 50])
def test_coefficients_follow_the_formula(statistic, name, a, n):
    found = statistic.coefficients(n)
    assert found.dtype == np.float64 and found.shape == (n,)
    np.testing.assert_allclose(found, [a(l, n) for l in range(1, n + 1)], rtol=1e-15)
    assert n < 50 or np.all(np.diff(statistic.coefficients(30_000), prepend=0) >= 0)


@pytest.mark.parametrize(("statistic", "name"), NAMED)
def test_a_statistic_prints_as_typed_and_reads_back(statistic, name):
    assert str(statistic) == statistic.name == name and parse(name) == statistic
    assert eval(repr(statistic)) == statistic and hash(parse(name)) == hash(statistic)
    assert parse(statistic) is statistic


@pytest.mark.parametrize(("statistic", "name"), NAMED)
def test_copies_are_equal_and_nothing_can_be_changed(statistic, name):
    for twin in (clone(statistic), copy.deepcopy(statistic), pickle.loads(pickle.dumps(statistic))):
        assert twin == statistic
    with pytest.raises(AttributeError):
        statistic.at = 5


def test_different_statistics_differ():
    everything = [row[0] for row in NAMED] + [DCG(at=4), NDCG(at=4), PNorm(3), Custom([0, 1]), Custom([0, 2])]
    assert len(set(everything)) == len(everything)
    assert repr(DCG(at=10)) == "DCG(at=10)" and repr(DCG()) == "DCG()"


SPELLINGS = {
    "dcg": ["DCG"],
    "ndcg@10": [" nDCG@10 ", "NDCG@10"],
    "precision@10": ["p@10", "Prec@10"],
    "auc": ["WRS", "roc_auc"],
    "pauc@7": ["partial-AUC@7"],
    "wta": ["winner takes all"],
    "pnorm@10": ["pnorm@1e1"],
    "ap": ["MAP", "average precision"],
    "rr": ["Reciprocal-Rank"],
    "success@5": ["hit_rate@5"],
    "recall@5": ["R@5"],
    "custom[0,0.5,2]": ["custom[0, 0.5, 2.0]"],
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_other_spellings(name):
    assert {parse(text) for text in SPELLINGS[name]} == {parse(name)}


def test_an_array_and_a_function_are_statistics():
    assert parse([0, 1, 1]) == parse(np.array([0.0, 1.0, 1.0])) == Custom((0.0, 1.0, 1.0))
    assert parse(lambda l, n: l / n).coefficients(4).tolist() == [0.25, 0.5, 0.75, 1.0]
    assert isinstance(parse(str(Custom([0, 1 / 3]))), RankStatistic)
    assert parse(str(Custom([0, 1 / 3]))) == Custom([0, 1 / 3])


ORDER = [0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1]
"""Relevant or not, from the top."""


OTHERS = "mrr@3=rr@3 mrr3=rr@3 MRR_3=rr@3 rr3=rr@3 rr@1=rr@1 map@4=ap@4 map_cut_4=ap@4 map4=ap@4 hit@2=success@2 "
OTHERS += "hits@1=success@1 HR@3=success@3 hit_rate@2=success@2 P_5=precision@5 prec5=precision@5 recall_5=recall@5 "
OTHERS += "ndcg_cut_5=ndcg@5 ndcg5=ndcg@5 recip_rank=rr@99 map=ap@99"


@pytest.mark.parametrize(("asked", "name"), [pair.split("=") for pair in OTHERS.split()])
def test_a_measure_of_another_tool_or_the_advice_that_it_gets_is_that_measure(asked, name):
    try:
        found = parse(asked)
    except InputError as error:
        found = parse(re.search(r"(?:did you mean|write) '([^']+)'", str(error))[1])
    n = len(ORDER)
    assert evaluate(found, ORDER, -np.arange(n)) == pytest.approx(by_definition(name, ORDER, range(n)))


@pytest.mark.parametrize("name", ["rprec", "bpref", "judged@10", "f1", "auc@10", "wta@3"])
def test_no_other_measure_is_advised_for_one_that_is_not_offered(name):
    with pytest.raises(InputError) as told:
        parse(name)
    assert "did you mean" not in str(told.value) and "write" not in str(told.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("dcg10", "did you mean 'dcg@10'"),
        ("ndgc@5", "did you mean 'ndcg@5'"),
        ("precision", "needs a number after '@', for example 'precision@10'"),
        ("pnorm", "needs a number after '@'"),
        ("auc@5", "takes no number"),
        ("dcg@", "is not a whole number"),
        ("dcg@2.5", "is not a whole number"),
        ("dcg@0", "cut-off of dcg is 0"),
        ("pnorm@x", "is not a power"),
        ("pnorm@0", "power of pnorm is 0.0; it must be a number, above 0"),
        ("pnorm@inf", "power of pnorm is inf; it must be a number, above 0"),
        ("ap@x", "'x' is not a whole number; write one, such as in 'ap@10'"),
        ("success", "needs a number after '@', for example 'success@10'"),
        ("rbp@1", "persistence of rbp is 1.0; it must be a number, above 0 and below 1"),
        ("rbp@0", "persistence of rbp is 0.0"),
        ("rbp", "needs a number after '@', for example 'rbp@0.8'"),
        ("err@5", "expected reciprocal rank"),
        ("custom(f)", "give the function itself"),
        ("custom[0,x]", "give the function itself"),
        ("custom[1,0]", r"a_2 \(index 1\) is 0.0, below a_1 = 1.0"),
    ],
)
def test_what_cannot_be_read_gets_a_sentence_whose_example_can(text, sentence):
    with pytest.raises(InputError, match=sentence) as told:
        parse(text)
    if "write" in str(told.value) or "example" in str(told.value):
        assert parse(re.findall(r"'([^']*)'", str(told.value))[-1]).name


@pytest.mark.parametrize("at", [0, -3, 2.5, "3", None, True])
def test_a_cut_off_is_a_whole_number(at):
    refuses("cut-off of precision is .*whole number, at least 1", Precision, at=at)
    assert Precision(at=np.int64(3)) == Precision(at=3)


@pytest.mark.parametrize("n", [-1, 2.0, "4", None])
def test_a_length_is_a_whole_number(n):
    refuses("list length", DCG().coefficients, n)


@pytest.mark.parametrize(
    ("a", "sentence"),
    [
        ([0, 2, 1, 0], r"a_3 \(index 2\) is 1.0, below a_2 = 2.0"),
        ([0, 1, 1 - 2**-53], r"a_3 \(index 2\)"),
        ([0, -1, 2], r"a_2 \(index 1\) is -1.0, negative"),
        ([0, 1, math.nan], r"a_3 \(index 2\) is nan, not finite"),
        ([0, math.inf], r"a_2 \(index 1\) is inf, not finite"),
        ([[0, 1]], r"shape \(1, 2\)"),
        ([], "one row"),
        (5, "one row"),
        (["a"], "numbers a_1"),
        (object(), "numbers a_1"),
    ],
)
def test_a_custom_sequence_is_refused_at_its_first_fault(a, sentence):
    refuses(sentence, Custom, a)


def test_a_custom_function_is_checked_for_each_length():
    hump = Custom(lambda l, n: l * (4 - l))
    assert hump.coefficients(2).tolist() == [3.0, 4.0]
    refuses(r"a_3 \(index 2\) is 3.0", hump.coefficients, 3)


def test_a_custom_array_serves_lists_of_its_own_length():
    refuses("holds 3 coefficients and the list has 4 items", Custom([0, 1, 2]).coefficients, 4)


@examples(100, st.lists(st.floats(-2, 5), min_size=1, max_size=8))
def test_a_custom_sequence_is_taken_or_refused_as_defined(values):
    good = min(values) >= 0 and all(a <= b for a, b in pairwise(values))
    if good:
        assert Custom(values).coefficients(len(values)).tolist() == values
        return
    with pytest.raises(InputError) as refused:
        Custom(values)
    negative = [k for k, value in enumerate(values) if value < 0]
    falls = [k for k in range(1, len(values)) if values[k] < values[k - 1]]
    assert f"(index {(negative or falls)[0]})" in str(refused.value)


gain_lists = st.lists(st.sampled_from([0.0, 0.0, 1.0, 3.0, 7.5]), min_size=1, max_size=6)


def worth(statistic, order):
    """Raw value of gains from the bottom to the top, place by place from the top."""
    if statistic.stem == "pos@top":
        return float(np.cumprod(np.array(order[::-1]) > 0).sum())
    a, total, hits = statistic.coefficients(len(order))[::-1], 0.0, 0
    for earned, gain in zip(a, order[::-1]):
        hits += gain > 0
        total += gain * earned * {"ap": hits, "rr": hits == 1, "success": hits == 1}.get(statistic.stem, 1)
    return total


@examples(25, gain_lists)
def test_the_ideal_is_the_best_of_all_orders(gains):
    for statistic, _ in NAMED:
        if statistic.weighs_hits:
            gains = [float(g > 0) for g in gains]
        best = max(worth(statistic, order) for order in permutations(gains))
        assert ideal(statistic, len(gains), gains) == pytest.approx(best, rel=1e-14)


@examples(60, gain_lists, st.randoms(use_true_random=False))
def test_the_presentation_of_auc_is_the_share_of_pairs(gains, random):
    n = len(gains)
    order = list(range(n))
    random.shuffle(order)
    offset, scale = presentation(AUC(), n, gains)
    raw = sum((n - place) * gains[i] for place, i in enumerate(order))
    pairs = sum(abs(a - b) for a in gains for b in gains) / 2
    assert scale == pytest.approx(pairs)
    if pairs:
        assert (raw - offset) / scale == pytest.approx(pairs_won(gains, tuple(order)))


@pytest.mark.parametrize("of", [ideal, presentation])
@pytest.mark.parametrize("gains", [[1, 0], [[1, 0, 1]], [1, 0, "x"], [1, 0, math.nan], [1, -1, 0], [1, 0, math.inf]])
def test_gains_that_cannot_be_used_are_one_sentence(of, gains):
    refuses(r"^The (list has 3 items and )?gains .*\.$", of, NDCG(2), 3, gains)
    assert ideal(DCG(), 0, []) == 0.0


def test_presentations():
    gains = np.array([3.0, 0.0, 1.0])
    assert presentation(DCG(), 3, gains) == (0.0, 1.0) == presentation(Precision(2), 3, gains)
    assert presentation(NDCG(2), 3, gains) == (0.0, 3.0 + 1 / math.log2(3))
    assert presentation(AUC(), 2, np.ones(2)) == (3.0, 0.0) and presentation(AUC(), 2, np.zeros(2)) == (0.0, 0.0)


def test_every_statistic_is_registered_tested_and_on_the_page():
    todo, found = [RankStatistic], set()
    while todo:
        todo += todo.pop().__subclasses__()
        found |= {kind for kind in todo if kind.__module__.startswith("rerank.") and kind.stem}
    assert found - {Custom, InLists, Share} == set(STATISTICS) == {type(statistic) for statistic, _ in NAMED}
    names = [name for kind in STATISTICS for name in (kind.stem, *kind.aliases)]
    assert len(set(names)) == len(names)
    page = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")
    assert [name for name in known() if f"`{name}`" not in page] == []


def test_coefficients_serve_their_own_length_and_all_others_any():
    assert Custom([0, 1, 2]).length == 3
    assert {statistic.length for statistic, _, _ in TABLE} == {None}
    assert {name for statistic, name in NAMED if statistic.normalised} == {"auc", "pairs", "ndcg", "ndcg@3"}


def test_the_page_runs():
    page = Path(__file__).parents[2] / "docs" / "statistics.md"
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 20 and result.failed == 0


def test_weights_of_rows_multiply_gains_where_rows_add_up_and_are_refused_elsewhere():
    y, scores, weights = [2, 0, 1, 0], [4.0, 3.0, 2.0, 1.0], [0.5, 1.0, 1.5, 1.0]
    assert evaluate("recall@2", y, scores, sample_weight=weights) == 0.25
    assert evaluate("rbp@0.5", y, scores, sample_weight=weights) == 0.5 * 0.5 + 1.5 * 0.125
    for stat in ("ap", "rr", "success@2"):
        with pytest.raises(InputError, match=f"sample_weight of row 0 is 0.5, and {stat} counts whole rows"):
            evaluate(stat, y, scores, sample_weight=weights)
        dropped = evaluate(stat, y, scores, sample_weight=[0, 1, 1, 0])
        assert dropped == evaluate(stat, [0, 1], scores[1:3])  # a row of weight 0 is not there


BY_PLACE = [DCG(2), DCG(), Precision(2), Window(2)]


@pytest.mark.parametrize("statistic", BY_PLACE, ids=str)
@pytest.mark.parametrize("n, m", [(6, 3), (8, 5)])
def test_a_shorter_list_is_each_row_kept_with_its_share(statistic, n, m):
    """The number of the p - 1 rows above that are kept is binomial; counted here over all subsets of them."""
    rho, places = m / n, statistic.coefficients(m)[::-1]
    for p in range(1, n + 1):
        expected = 0.0
        for j in range(p):
            kept = sum(1 for _ in combinations(range(p - 1), j))
            assert kept == comb(p - 1, j)
            expected += kept * rho**j * (1 - rho) ** (p - 1 - j) * places[min(j, m - 1)]
        assert InLists(statistic, m).coefficients(n)[::-1][p - 1] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("statistic", [*BY_PLACE, DCG(10)], ids=str)
def test_a_much_shorter_list_is_the_binomial_mean(statistic):
    n, m = 900, 60
    kept = binom.pmf(np.arange(n)[None], np.arange(n)[:, None], m / n)  # by place, of the rows above it
    places = np.pad(statistic.coefficients(m)[::-1], (0, n - m), mode="edge")
    np.testing.assert_allclose(InLists(statistic, m).coefficients(n)[::-1], kept @ places, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("statistic", BY_PLACE, ids=str)
@pytest.mark.parametrize("n, m", [(2, 8), (5, 5), (4, 6)])
def test_a_longer_list_gives_each_place_the_mean_of_those_it_stands_for(statistic, n, m):
    found = InLists(statistic, m).coefficients(n)[::-1]
    fine = np.repeat(statistic.coefficients(m)[::-1], n)  # n m cells: a place of the short list is m of them
    np.testing.assert_allclose(found, fine.reshape(n, m).mean(axis=1), atol=1e-12)


@given(st.sampled_from(BY_PLACE), st.integers(1, 40), st.integers(1, 40))
def test_coefficients_never_fall_with_the_rank(statistic, n, m):
    a = InLists(statistic, m).coefficients(n)
    assert a.shape == (n,) and np.all(np.diff(a) >= 0) and np.all(a >= 0)


@pytest.mark.parametrize("statistic", [InLists(DCG(10), 500), InLists(Precision(5), 7)])
def test_names_with_a_length_are_read_back(statistic):
    assert parse(statistic.name) == statistic and parse(str(statistic)).coefficients(9).size == 9


@pytest.mark.parametrize("name", ["recall@5", "ndcg@5", "recall@20%", "ndcg@20%"])
@pytest.mark.parametrize("rows", [10, 20, 40])
def test_shares_stay_shares(name, rows):
    statistic = parse(f"{name} in lists of {rows}")
    assert 0.5 < evaluate(statistic, [1, 1, 1] + 17 * [0], np.arange(20)[::-1]) <= 1.0


def test_what_is_fitted():
    assert fitted_statistic(DCG(10), None, None) == DCG(10)
    assert fitted_statistic(DCG(10), 2.0, None) == Window(10)
    assert fitted_statistic(Precision(9), 1.5, 300) == InLists(Window(9, 1.5), 300)
    assert fitted_statistic(AUC(), None, 300) == AUC()


NAMES = ["precision@2%", "dcg@5%", "ndcg@10%", "recall@12.5%", "pauc@7%"]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_read_back(name):
    found = parse(name)
    assert isinstance(found, Share) and found.name == name and parse(found.name) == found
    assert found.by_share and found.depth is None and found.counts_places


@given(st.sampled_from(NAMES[:4]), st.integers(5, 300), st.integers(0, 2**32 - 1))
def test_it_is_the_statistic_of_so_many_places(name, n, seed):
    rng = np.random.default_rng(seed)
    y, scores = rng.integers(0, 2, n), rng.integers(0, 20, n)
    y[0] = 1
    share = parse(name)
    places = max(1, round(n * share.percent / 100))
    plain = f"{name.partition('@')[0]}@{places}"
    assert share.of(n).name == plain
    assert evaluate(name, y, scores) == pytest.approx(evaluate(plain, y, scores), abs=1e-12)


@pytest.mark.parametrize("name", ["precision@0%", "precision@100%", "dcg@-3%"])
def test_what_is_no_share_is_refused(name):
    refuses("above 0 % and below 100 %, such as 2 %", parse, name)


@pytest.mark.parametrize(("name", "told"), [("precison@2%", "'precision@2%'"), ("auc@2%", "'auc@2%'")])
def test_a_refusal_names_the_share_that_was_written(name, told):
    refuses(told, parse, name)


def test_lists_of_any_length_are_fitted_and_scored_and_the_model_file_says_so(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + rng.normal(size=200) > 1).astype(int)
    est = Reranker("precision@5%", radius=0.3, solver="search", node_limit=0).fit(X, y)
    plain = Reranker("precision@10", radius=0.3, solver="search", node_limit=0).fit(X, y)
    assert est.result_.first_stage_statistic == plain.result_.first_stage_statistic
    assert est.result_.bound == plain.result_.bound
    later = rng.normal(size=(80, 3))
    labels = (later[:, 0] + rng.normal(size=80) > 1).astype(int)
    expected = evaluate("precision@4", labels, est.decision_function(later))
    assert est.score(later, labels) == expected
    est.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert parse(again.stat) == parse("precision@5%") and again.score(later, labels) == expected


def test_help_and_page_name_every_statistic():
    """``--stat`` and docs/statistics.md list what can be fitted."""
    from rerank.reranker.options import STATISTICS as HELP

    page = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")
    listed = {name.partition("@")[0].strip(" .") for name in HELP.split(",")}
    assert {kind.stem.partition("@")[0] for kind in STATISTICS} <= listed
    assert [kind.stem for kind in STATISTICS if f"`{kind.stem}" not in page] == []
