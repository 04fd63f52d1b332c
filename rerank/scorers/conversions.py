r"""Between ``alpha`` of :class:`rerank.scorers.RankSVM` and the ``C`` of other packages.

``RankSVM(average="pairs")`` minimises ``(1/N) sum loss + alpha |w|^2``, N the weight of all pairs.  Programs that
minimise ``|w|^2 / 2 + C sum loss`` over the same pairs have the same minimum at ``C = 1 / (2 alpha N)``, where their
objective is ``1 / (2 alpha)`` times as large.  That is the form of LIBLINEAR-rankSVM (squared hinge) [Lee, Lin 2014].
Where the loss is a mean over the pairs it is ``C = 1 / (2 alpha)``, ``n_pairs=1`` below: so for the hinge in dlib and,
for one list, in SVM-rank with the share of swapped pairs as its loss (``-l 2``).  FastSurvivalSVM of scikit-survival
(``rank_ratio=1``, every event observed) takes twice C.
"""

from typing import Any

import numpy as np

from rerank.io.options import real
from rerank.ranks.present import present
from rerank.scorers.base import RankingData, groups_of, weights_of
from rerank.scorers.ranksvm.pairs import by_utility, list_weights


def count_pairs(y: Any, qid: Any = None, sample_weight: Any = None) -> float:
    """Weight of all pairs, ``N = sum_q sum_{y_i < y_j} weight_i weight_j``; their number without weights.

    Parameters
    ----------
    y : array (n,)
    qid, sample_weight : array (n,), optional
    """
    y = np.asarray(y, dtype=np.float64)
    there = present(y.size, sample_weight)
    y, qid, sample_weight = (there.of(values, "qid") for values in (y, qid, sample_weight))
    data = RankingData(None, y, groups_of(qid, y.size), weights_of(sample_weight, y.size))
    return float(list_weights(data, by_utility(data)).sum())


def c_of_alpha(alpha: float, n_pairs: float = 1.0) -> float:
    """``C = 1 / (2 alpha N)``; both numbers have to be > 0."""
    return 1 / (2 * real("alpha", alpha, 0, positive=True) * real("n_pairs", n_pairs, 0, positive=True))


def alpha_of_c(C: float, n_pairs: float = 1.0) -> float:
    """``alpha = 1 / (2 C N)``; both numbers have to be > 0."""
    return c_of_alpha(real("C", C, 0, positive=True), n_pairs)
