"""Options that are legal and were refused, or ended in an error of another package."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from rerank import Reranker, RerankerCV
from rerank.errors import InputError
from rerank.fusion import ScoreFusion
from rerank.latent import LatentRoBiRank, split_log
from rerank.scorers import RoBiRank
from tests.cases.drawn import drawn, read_back

HUGE = 10**5000
QUICK = {"solver": "search", "time_limit": 20, "node_limit": 50}


@pytest.mark.filterwarnings("ignore:No order of the shortlist")
@pytest.mark.parametrize("solver", ["search", "highs", "none"])
@pytest.mark.parametrize("radius", [None, 0.1])
def test_columns_that_are_all_constant_leave_nothing_to_reorder(solver, radius, tmp_path):
    X, y = np.ones((20, 2)), np.arange(20) % 3 // 2
    est = Reranker("auc", first_stage=None, solver=solver, radius=radius).fit(X, y)
    assert est.result_.status == "nothing_to_reorder" and not est.coef_.any()
    assert est.score(X, y) == 0.5 and est.rank(X).tolist() == list(range(1, 21))
    assert np.unique(est.decision_function(X)).size == 1
    read_back(est, tmp_path, X, y)


@pytest.mark.parametrize("zero", [0, 0.0, np.float64(0), Fraction(0), Decimal(0)])
def test_no_margin_is_the_smallest_one(zero, tmp_path):
    X, y = drawn()
    for options, usual in (({"margin": zero}, {}), ({"margin": zero, "radius": 0.1}, {"radius": 0.1})):
        est = Reranker("dcg@5", **QUICK | options).fit(X, y)
        plain = Reranker("dcg@5", **QUICK | usual).fit(X, y)
        assert est.result_.epsilon == plain.result_.epsilon <= 1e-4
        np.testing.assert_array_equal(est.coef_, plain.coef_)
        read_back(est, tmp_path, X, y)


def sources():
    return np.random.default_rng(3), np.random.RandomState(3)


@pytest.mark.parametrize("made", [0, 1], ids=["Generator", "RandomState"])
def test_sources_of_random_numbers(made, tmp_path):
    X, y = drawn()
    est = Reranker("auc", first_stage="robirank", random_state=sources()[made], **QUICK)
    once, again = clone(est).fit(X, y), clone(est).fit(X, y)
    assert type(once.get_params()["random_state"]) is type(sources()[made])
    np.testing.assert_array_equal(once.coef_, again.coef_)
    kept = read_back(once, tmp_path, X, y).random_state
    assert type(kept) is int
    np.testing.assert_array_equal(clone(est).set_params(random_state=kept).fit(X, y).coef_, once.coef_)
    base = Reranker("auc", random_state=sources()[made], **QUICK)
    search = RerankerCV(base, grid={"radius": [0.1]}, cv=2, n_repeats=1, random_state=sources()[made])
    first, second = clone(search).fit(X, y), clone(search).fit(X, y)
    assert first.cv_results_ == second.cv_results_
    robirank = RoBiRank(n_init=2, max_iter=5, tol=0.5, random_state=sources()[made])
    np.testing.assert_array_equal(clone(robirank).fit(X, y).coef_, clone(robirank).fit(X, y).coef_)
    log = (np.random.default_rng(0).random((30, 20)) < 0.3).astype(int)
    parts = [split_log(csr_array(log), (0.5, 0.5), random_state=sources()[made]) for _ in range(2)]
    assert (parts[0][0] != parts[1][0]).nnz == 0
    assert clone(LatentRoBiRank(random_state=sources()[made])).get_params()["random_state"] is not None
    assert clone(ScoreFusion(random_state=sources()[made])).get_params()["random_state"] is not None


NUMBERS = {
    "time_limit": [Fraction(5), Decimal(5), np.int64(5), np.inf, None],
    "radius": [Decimal("0.1"), Fraction(1, 10), np.float64(0.1)],
    "margin": [Decimal("0.25"), Fraction(1, 4)],
    "C": [Decimal("0.01"), Fraction(1, 100)],
    "window": [Decimal(2), Fraction(2)],
    "n_jobs": [np.int64(1)],
    "max_features": [np.int64(2)],
    "n_candidates": [np.int64(20)],
    "list_length": [np.int64(99)],
    "features": [np.array([0, 2]), (0, 2), range(2)],
    "positive": [np.array([1, 0, 1])],
}


@pytest.mark.parametrize(("name", "value"), [(name, one) for name in NUMBERS for one in NUMBERS[name]], ids=repr)
def test_numbers_of_every_type_are_fitted_and_saved(name, value, tmp_path):
    X, y = drawn()
    options = QUICK | ({"radius": 0.1} if name == "margin" else {})
    est = Reranker("dcg@5", **options | {name: value}).fit(X, y)
    plain = float(value) if isinstance(value, Fraction | Decimal) else value
    np.testing.assert_array_equal(est.coef_, Reranker("dcg@5", **options | {name: plain}).fit(X, y).coef_)
    read_back(est, tmp_path, X, y)


def test_signs_and_columns_as_pandas_has_them():
    pd = pytest.importorskip("pandas")
    X, y = drawn()
    est = Reranker("auc", positive=pd.Series([1, 0, 1]), **QUICK).fit(X, y)
    np.testing.assert_array_equal(est.coef_, Reranker("auc", positive=[1, 0, 1], **QUICK).fit(X, y).coef_)
    frame = pd.DataFrame(X, columns=list("abc"))
    for features in (frame.columns[:2], np.array(["a", "b"]), pd.Series(["a", "b"])):
        est = Reranker("auc", first_stage=None, features=features, **QUICK).fit(frame, y)
        assert set(est.features_) <= {"a", "b"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time_limit": "x"}, "time_limit is 'x'; it must be None or a number of seconds"),
        ({"time_limit": np.nan}, "time_limit is nan"),
        ({"features": slice(0, 2)}, "features is slice.*give names or numbers"),
        ({"margin": -0.1, "radius": 0.1}, "margin is -0.1; it must be 'auto' or a number, at least 0"),
        ({"radius": -1}, "radius is -1"),
        ({"radius": HUGE}, "^radius is a number of thousands of digits; it must be a number"),
        ({"radius": 1e308}, "below 1e.100"),
        ({"window": 0.5}, "window"),
        ({"window": 1e308}, "width c of a window is 1e.308.*below 9"),
        ({"cross_fit": 1}, "cross_fit is 1"),
        ({"cross_fit": "yes"}, "cross_fit is 'yes'"),
        ({"list_length": 0}, "list_length"),
        ({"list_length": 10**9}, "from 1 to 100000000"),
        ({"list_length": HUGE}, "thousands of digits"),
        ({"prior": "even", "first_stage": None, "radius": 0.1}, "prior is 'even'"),
        ({"n_candidates": 2**63}, "n_candidates is 9223372036854775808; it must be a whole number, from 1 to"),
        ({"max_features": HUGE}, "max_features is a number of thousands of digits"),
        ({"node_limit": -1}, "node_limit is -1"),
        ({"node_limit": 1.5}, "node_limit is 1.5"),
        ({"node_limit": 10**400}, r"node_limit is 1000*\.\.\.; it must be"),
        ({"C": HUGE}, "C is a number of thousands"),
        ({"C": -1}, "C is -1"),
        ({"max_features": 0}, "max_features is 0"),
        ({"gain": "cubic"}, "gain is 'cubic'"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"stat": "dcg@0"}, "cut-off"),
    ],
)
def test_what_is_not_legal_is_refused_in_a_sentence(options, message):
    X, y = drawn()
    with pytest.raises(InputError, match=message) as refused:
        Reranker(**{"stat": "dcg@5"} | QUICK | options).fit(X, y)
    assert len(str(refused.value)) < 400 and str(refused.value).endswith(".")
