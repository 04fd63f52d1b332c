"""What every first stage promises, whatever it learns; and scikit-learn's own checks on all, without exceptions."""

import _thread
import importlib.util
import inspect
import threading
import time
import warnings

import numpy as np
import pytest
from scipy.sparse import csc_array, csc_matrix, csr_array, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import rerank.scorers
from rerank.errors.stops import current
from rerank.metrics import ndcg
from rerank.scorers import MonotoneTransform, RankSVM, RoBiRank, TableLogistic, TopPush
from rerank.scorers.base import LinearRanker
from tests.cases.refuses import refuses
from tests.cases.scorers import bipartite, sparse, utilities

# A name whose module is not there yet is not tested; one whose module is there has to work.
CLASSES = [
    getattr(rerank.scorers, name)
    for name in rerank.scorers.__all__
    if importlib.util.find_spec(rerank.scorers._HOMES[name]) is not None
]
RANKERS = [c for c in CLASSES if issubclass(c, LinearRanker)]
EVERY = pytest.mark.parametrize("ranker", RANKERS, ids=lambda c: c.__name__)


@parametrize_with_checks([c() for c in CLASSES])
def test_scikit_learn(estimator, check):
    check(estimator)


def tight(ranker, **options):
    """An instance whose answer is sharp enough to be compared."""
    return ranker(tol=1e-9, max_iter=100_000, **options)


def data(seed=0, n=90, d=4, lists=3):
    """Grades 0 to 2 in lists of mixed order."""
    X, y, qid = utilities(n=n, d=d, lists=lists, levels=3, seed=seed)
    return X, y, qid


def scores_agree(one, other, rtol=1e-4):
    np.testing.assert_allclose(one, other, atol=rtol * np.abs(other).max())


def test_every_name_of_the_package_is_importable_or_has_no_module():
    others = {"MonotoneTransform", "Squares", "TableLogistic", "TableTrees"}  # transformers, and learners of any table
    assert len(CLASSES) >= 5 and {c.__name__ for c in set(CLASSES) - set(RANKERS)} == others


@EVERY
def test_no_order_of_rows_or_name_of_a_list_matters(ranker):
    X, y, qid = data()
    mixed = np.random.default_rng(0).permutation(y.size)
    names = np.array([f"list {q}" for q in qid])[mixed]
    one = tight(ranker).fit(X, y, qid)
    scores_agree(tight(ranker).fit(X[mixed], y[mixed], names).coef_, one.coef_)


@EVERY
def test_sparse_is_dense(ranker):
    _, y, qid = data()
    X = sparse(90, 12, 4).toarray()
    X[:, 0] += 2.0 * (y > y.min())
    X = csr_matrix(X)
    dense = tight(ranker).fit(X.toarray(), y, qid)
    assert dense.coef_.any()
    for form in (csr_matrix, csr_array):
        fitted = tight(ranker).fit(form(X), y, qid)
        scores_agree(fitted.coef_, dense.coef_)
        scores_agree(fitted.decision_function(form(X)), dense.decision_function(X.toarray()))


@EVERY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_is_never_made_dense(ranker, dtype, monkeypatch):
    X = csr_matrix(sparse(400, 12, 4)).astype(dtype)
    _, y, qid = data(n=400)
    spread = csr_matrix.toarray

    def refuse(self, *args, **kwargs):
        # Some rows, such as those that are active in a dual, may be.
        assert self.shape[0] * self.shape[1] <= X.shape[0] * X.shape[1] / 2, "made dense"
        return spread(self, *args, **kwargs)

    for form in (csr_matrix, csr_array, csc_matrix, csc_array):
        monkeypatch.setattr(form, "toarray", refuse)
        monkeypatch.setattr(form, "todense", refuse)
    ranker().fit(X, y, qid).decision_function(X)


@EVERY
@pytest.mark.filterwarnings("error:overflow")
def test_float32_is_read_as_its_own_values(ranker):
    X, y, qid = data()
    narrow = X.astype(np.float32)
    wide = tight(ranker).fit(narrow.astype(np.float64), y, qid)
    fitted = tight(ranker).fit(narrow, y, qid)
    scores_agree(fitted.coef_, wide.coef_, 1e-3)
    assert fitted.coef_.dtype == np.float64 and fitted.decision_function(narrow).dtype == np.float64


@EVERY
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("weight, size", [(1e20, 1e30), (1e45, 1e-30)])
def test_float32_may_have_scores_and_weights_beyond_float32(ranker, weight, size):
    X, y, qid = data()
    fitted = ranker().fit(X, y, qid)
    fitted.coef_ = fitted.coef_ * (weight / np.abs(fitted.coef_).max())
    narrow = (X * size).astype(np.float32)
    for rows in (narrow, csr_matrix(narrow)):
        np.testing.assert_allclose(fitted.decision_function(rows), narrow.astype(float) @ fitted.coef_)


@EVERY
def test_whole_weights_are_repeated_rows_and_0_removes(ranker):
    X, y, qid = data()
    times = np.random.default_rng(1).integers(0, 4, y.size)
    again = np.repeat(np.arange(y.size), times)
    weighted = tight(ranker).fit(X, y, qid, sample_weight=times)
    repeated = tight(ranker).fit(X[again], y[again], qid[again])
    scores_agree(weighted.coef_, repeated.coef_)


@EVERY
def test_rows_of_weight_0_do_not_even_set_the_smallest_label(ranker):
    X, y, qid = data()
    weight = (y > 0).astype(float)
    weighted = tight(ranker).fit(X, y, qid, sample_weight=weight)
    scores_agree(weighted.coef_, tight(ranker).fit(X[y > 0], y[y > 0], qid[y > 0]).coef_)


@EVERY
def test_a_path_is_the_fits_one_by_one(ranker):
    X, y, qid = data()
    alphas = [0.1, 10.0, 1.0]
    one = tight(ranker)
    path = one.path(X, y, alphas, qid)
    assert path.coefs.shape == (3, X.shape[1]) and path.alphas.tolist() == alphas
    for alpha, coef, objective in zip(alphas, path.coefs, path.objectives):
        alone = tight(ranker, alpha=alpha).fit(X, y, qid)
        scores_agree(coef, alone.coef_)
        assert objective == pytest.approx(alone.objective_, rel=1e-6)
    np.testing.assert_array_equal(one.coef_, path.coefs[0])  # the smallest alpha comes last


@EVERY
def test_a_warm_start_ends_where_a_cold_one_does(ranker):
    X, y, qid = data()
    warm = tight(ranker, warm_start=True, alpha=10.0).fit(X, y, qid)
    warm.set_params(alpha=0.5).fit(X, y, qid)
    scores_agree(warm.coef_, tight(ranker, alpha=0.5).fit(X, y, qid).coef_)
    # Data of another width cannot be started from the old weights.
    assert warm.fit(X[:, :2], y, qid).coef_.shape == (2,)


@EVERY
def test_more_penalty_means_smaller_weights(ranker):
    X, y, qid = data()
    loose, strict = (tight(ranker, alpha=alpha).fit(X, y, qid).coef_ for alpha in (0.1, 100.0))
    assert np.linalg.norm(strict) <= np.linalg.norm(loose) * (1 + 1e-6)
    assert np.linalg.norm(loose) > 0


@EVERY
def test_the_same_input_gives_the_same_bits(ranker):
    X, y, qid = data()
    assert (ranker().fit(X, y, qid).coef_ == ranker().fit(X, y, qid).coef_).all()


@EVERY
def test_scores_are_linear_and_say_something(ranker):
    X, y, qid = data(n=300)
    fitted = ranker().fit(X, y, qid)
    np.testing.assert_allclose(fitted.decision_function(X), X @ fitted.coef_, rtol=1e-12)
    assert (fitted.predict(X) == fitted.decision_function(X)).all()
    assert ndcg(y, fitted.decision_function(X), 10, qid) > ndcg(y, -fitted.decision_function(X), 10, qid)


@EVERY
def test_input_is_left_alone_and_parameters_too(ranker):
    X, y, qid = data()
    kept = X.copy(), y.copy(), qid.copy()
    one = ranker()
    before = one.get_params()
    one.fit(X, y, qid, np.ones(y.size))
    assert all((a == b).all() for a, b in zip(kept, (X, y, qid)))
    assert one.get_params() == before == clone(one).get_params()
    assert {"alpha", "tol", "max_iter", "warm_start"} <= set(before)


@EVERY
def test_a_solution_says_what_it_cost(ranker):
    X, y, qid = data()
    fitted = tight(ranker).fit(X, y, qid)
    assert fitted.n_iter_ >= 1 and np.isfinite(fitted.objective_)
    if fitted.__class__.__name__ in ("TopPush", "RankSVM"):
        assert 0 <= fitted.gap_ <= fitted.tol
    else:
        assert np.isnan(fitted.gap_) or fitted.gap_ >= 0


@pytest.mark.parametrize(
    ("ranker", "advice"),
    [(RankSVM(1e-5), ", tol or alpha"), (RoBiRank(1e-3), " or alpha"), (TopPush(1e-4, "exponential"), " or tol")],
)
def test_too_few_iterations_are_announced_with_advice(ranker, advice):
    X, y, qid = data(n=300, d=20)
    with pytest.warns(ConvergenceWarning, match=f"Raise max_iter{advice}") as heard:
        hurried = clone(ranker).set_params(max_iter=1).fit(X, y, qid)
    assert type(ranker).__name__ in str(heard[0].message) and hurried.n_iter_ == 1
    assert np.isnan(hurried.gap_) or hurried.gap_ > hurried.tol
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(ranker).set_params(alpha=1e-2, max_iter=100_000).fit(X, y, qid)


@EVERY
def test_one_iteration_is_announced_with_advice_or_was_enough(ranker):
    X, y, qid = data(n=300, d=20)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        hurried = ranker(alpha=1e-3, tol=1e-12, max_iter=1).fit(X, y, qid)
    told = [w for w in heard if issubclass(w.category, ConvergenceWarning)]
    if told:
        assert "max_iter" in str(told[0].message) and ranker.__name__ in str(told[0].message)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            scores_agree(hurried.coef_, tight(ranker, alpha=1e-3).fit(X, y, qid).coef_)


@EVERY
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sample_weight": [1.0]}, "sample_weight has 1 entries"),
        ({"sample_weight": np.full(90, -1.0)}, "sample_weight holds"),
        ({"sample_weight": np.zeros(90)}, "sample_weight is 0 in every row"),
        ({"y": np.ones(90)}, "1 class"),
    ],
)
def test_what_cannot_be_used_is_refused(ranker, change, message):
    X, y, _ = data()
    refuses(message, ranker().fit, **{"X": X, "y": y, **change})


OUT_OF_RANGE = [
    (RankSVM, {"loss": "hinge"}, "loss"),
    (RankSVM, {"average": "rows"}, "average"),
    (RoBiRank, {"gains": "quadratic"}, "gains is 'quadratic'"),
    (RoBiRank, {"n_init": 0}, "n_init is 0"),
    (TopPush, {"loss": "hinge"}, "loss is 'hinge'"),
    (TopPush, {"solver": "lbfgs"}, "solver is 'lbfgs'"),
    (TopPush, {"stop": "never", "solver": "accelerated"}, "stop is 'never'"),
    (TopPush, {"stop": "authors"}, "stop='authors' is a rule"),
    (TopPush, {"solver": "accelerated", "loss": "logistic"}, "solver='accelerated' takes"),
    (TopPush, {"solver": "accelerated", "threshold": "topk"}, "solver='accelerated' takes"),
    (TopPush, {"threshold": "median"}, "threshold is 'median'"),
    (TopPush, {"k": 3}, "threshold='max' has none"),
    (TopPush, {"threshold": "topk", "k": 0.5}, "k is 0.5"),
    (TopPush, {"threshold": "quantile", "k": 3}, "k is 3"),
    (TableLogistic, {"head": 0}, "head is 0"),
    (TableLogistic, {"head": 1.0}, "head is 1.0"),
    (TableLogistic, {"C": 0}, "C is 0"),
    (TableLogistic, {"balanced": "balanced"}, "balanced is 'balanced'"),
    (TableLogistic, {"squares": 2}, "squares is 2"),
    (MonotoneTransform, {"kind": "square"}, "kind"),
    (MonotoneTransform, {"offset": 0.0}, "offset"),
    (MonotoneTransform, {"n_bins": 1}, "n_bins"),
]


@pytest.mark.parametrize(("kind", "options", "words"), OUT_OF_RANGE)
def test_parameters_out_of_range_are_refused(kind, options, words):
    X, y = bipartite(20)
    refuses(words, kind(**options).fit, X, y)


@EVERY
@pytest.mark.parametrize(("name", "wrong"), [("alpha", [0.0, np.nan, np.inf]), ("tol", [0, np.nan]), ("max_iter", [0])])
def test_what_all_have_is_positive(ranker, name, wrong):
    for value in wrong:
        refuses(f"{name} is", ranker(**{name: value}).fit, *data())


@pytest.mark.parametrize("kind", CLASSES, ids=lambda c: c.__name__)
def test_it_says_what_its_parameters_are(kind):
    text = inspect.getdoc(kind)
    assert all(name in text for name in kind().get_params())


def test_warnings_name_the_line_of_the_caller(recwarn):
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 1, 0]  # mean of the positives within the negatives
    TopPush().fit(X, y)
    RankSVM(max_iter=1, tol=1e-12).fit(np.random.default_rng(0).normal(size=(30, 4)), np.arange(30))
    assert len(recwarn) == 2 and all(found.filename == __file__ for found in recwarn)


def test_ctrl_c_in_a_solver_is_raised_when_it_has_ended(monkeypatch):
    def slow(self, data, alpha, start):
        assert threading.current_thread() is not threading.main_thread()
        _thread.interrupt_main()
        while not current().now:
            time.sleep(0.01)

    monkeypatch.setattr(RankSVM, "_solve", slow)
    with pytest.raises(KeyboardInterrupt):
        RankSVM().fit(np.arange(8.0)[:, None], np.arange(8))
