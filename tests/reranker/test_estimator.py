"""scikit-learn's own checks, and what they do not look at."""

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from rerank import Reranker, RerankerCV

REPEATED = (
    "repeating a row adds a duplicate, which ties with its twin and counts against it in every rank statistic; a "
    "weight multiplies the gain of one row"
)
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": REPEATED,
    "check_sample_weight_equivalence_on_sparse_data": REPEATED,
    **dict.fromkeys(
        [
            "check_sample_weights_not_an_array",
            "check_sample_weights_pandas_series",  # skipped without pandas
            "check_sample_weights_shape",
            "check_sample_weights_not_overwritten",
            "check_estimators_dtypes",
            "check_fit2d_1feature",
            "check_classifier_data_not_an_array",
        ],
        "its labels do not begin at 0, which is what an irrelevant row is labelled; that is refused in a sentence",
    ),
    **dict.fromkeys(
        ["check_classifiers_train", "check_classifiers_classes"],
        "it takes 0 for the cut between two classes; scores keep the unit of the first stage, and the cut is that of "
        "the training rows",
    ),
    "check_classifiers_regression_target": "utilities above 0 are legal labels; the check's are refused as negative",
    "check_estimators_nan_inf": "a column that misses values is left to the first stage, with a note",
    "check_dtype_object": "an entry that is no number is an InputError, which is a ValueError; the check asks "
    "for a TypeError",
}


# Limits in nodes: a check fits twice and compares, and seconds differ from fit to fit.
CHEAP = Reranker(solver="search", node_limit=1, time_limit=None)
CHOICE = RerankerCV(clone(CHEAP).set_params(stat="auc"), grid={"margin": [0.1]}, cv=2, n_repeats=1)


@parametrize_with_checks([CHEAP, CHOICE], expected_failed_checks=lambda estimator: EXPECTED)
def test_scikit_learn(estimator, check):
    check(estimator)


def test_clone_keeps_every_parameter_untouched():
    given = Reranker([0.0, 0.5, 1.0], first_stage=None, margin=0.01, positive=[1, 0], list_length=5)
    twin = clone(given)
    assert twin.get_params()["positive"] == [1, 0]
    assert repr(twin) == repr(given)


def test_nothing_is_checked_before_fit():
    Reranker(stat="no such statistic", solver=3, n_candidates=-1)
    with pytest.raises(ValueError, match="no such statistic"):
        Reranker(stat="no such statistic").fit([[0.0], [1.0]], [0, 1])
