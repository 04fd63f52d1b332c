"""``rerank.metrics``: the measures of a ranking, and scorers for scikit-learn that are made of statistics."""

from typing import Any

from numpy.typing import ArrayLike

from rerank.ranks.evaluate import evaluate
from rerank.ranks.evaluator import Ties
from rerank.ranks.lists import Empty
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
    :class:`rerank.Reranker` of several lists wants to be scored by its own ``score``, which knows its lists.

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
    return make_scorer(_value, response_method=("decision_function", "predict_proba", "predict"), **given)


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
