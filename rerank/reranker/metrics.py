"""``rerank.metrics``: the measures of a ranking, and scorers for scikit-learn that are made of statistics."""

from typing import Any, Self

from numpy.typing import ArrayLike

from rerank.errors import InputError
from rerank.ranks.evaluate import evaluate
from rerank.ranks.evaluator import Ties
from rerank.ranks.lists import Empty, lists_missing
from rerank.ranks.measures import average_precision, ndcg, pos_at_top, precision_at, reciprocal_rank
from rerank.ranks.row_gains import Gain
from rerank.statistics import parse

__all__ = ["average_precision", "make_ranking_scorer", "ndcg", "pos_at_top", "precision_at", "reciprocal_rank"]


def make_ranking_scorer(
    stat: object, *, pos_label: Any = None, gain: Gain = "exponential", ties: Ties | None = None, empty: Empty = "skip"
) -> Any:
    """A scorer for ``scoring=`` of scikit-learn: the statistic of an estimator's scores, larger is better.

    The scores are those of ``decision_function``, else the probability of the label to find, else what ``predict``
    gives. The scorer takes ``qid`` and ``sample_weight``; scikit-learn hands them over after
    ``sklearn.set_config(enable_metadata_routing=True)`` and ``scorer.set_score_request(qid=True)``. A
    :class:`rerank.Reranker` of several lists wants to be scored by its own ``score``, which knows its lists; without
    ``qid`` the scorer refuses it, also as the last step of a pipeline.

    Parameters
    ----------
    stat : str, RankStatistic, array or callable
        See :func:`rerank.statistics.parse`.
    pos_label : object, optional
        The label to find, if labels are not 0 and 1 or grades.
    gain, ties, empty
        As in :func:`rerank.ranks.evaluate`.

    Raises
    ------
    InputError
        For an unknown statistic, at once; for labels or scores that cannot be used, when it is called.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from rerank import datasets
    >>> from rerank.metrics import make_ranking_scorer
    >>> table = datasets.load("haberman")
    >>> scorer = make_ranking_scorer("precision@10")
    >>> cross_val_score(LogisticRegression(), table.X, table.y, scoring=scorer, cv=3).shape
    (3,)
    """
    from sklearn.metrics import make_scorer

    given: dict[str, Any] = {"stat": parse(stat), "gain": gain, "ties": ties, "empty": empty}
    given |= {} if pos_label is None else {"pos_label": pos_label}
    return _Scorer(make_scorer(_value, response_method=("decision_function", "predict_proba", "predict"), **given))


class _Scorer:
    """A scorer of scikit-learn that knows an estimator of several lists, whose rows are not one list."""

    def __init__(self, scorer: Any) -> None:
        self._scorer = scorer

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None, **given: Any) -> float:
        n_lists = getattr(_last(estimator), "n_lists_", 1)
        if given.get("qid") is None and n_lists > 1:
            raise InputError(lists_missing(n_lists))
        return float(self._scorer(estimator, X, y, sample_weight=sample_weight, **given))

    def __repr__(self) -> str:
        return repr(self._scorer)

    def set_score_request(self, **requests: Any) -> Self:
        """Which metadata the scorer asks for, as that of any scorer of scikit-learn."""
        self._scorer.set_score_request(**requests)
        return self

    def get_metadata_routing(self) -> Any:
        """What it asks for, for scikit-learn's tools."""
        return self._scorer.get_metadata_routing()


def _last(estimator: Any) -> Any:
    """What ranks in the end: the last step of a pipeline, the best estimator of a search."""
    if steps := getattr(estimator, "steps", None):
        return _last(steps[-1][1])
    best = getattr(estimator, "best_estimator_", None)
    return estimator if best is None else _last(best)


def _value(
    y: Any,
    scores: ArrayLike,
    *,
    stat: Any,
    pos_label: Any = None,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    **options: Any,
) -> float:
    found = y if pos_label is None else [int(label == pos_label) for label in y]
    return float(evaluate(stat, found, scores, qid, sample_weight=sample_weight, **options))
