r"""What a place in a list is worth: rank statistics, their names and their coefficients.

A conditional linear rank statistic [RudinWang2018, eq. 1] pays every relevant item by its rank alone::

    CLRS = sum over relevant items i of a_{rank(i)},      0 <= a_1 <= a_2 <= ... <= a_n,

where rank 1 is the bottom and rank n the top of a list of n items.  A statistic here is that sequence and a name; some
multiply the term of the j-th best relevant item by a weight ``h_j``.  Who holds which rank, and what happens to equal
scores, is defined in :mod:`rerank.ranks`.

>>> from rerank.statistics import DCG, parse
>>> parse("dcg@10") == DCG(at=10)
True
>>> DCG(at=2).coefficients(4).tolist()
[0.0, 0.0, 0.6309297535714575, 1.0]

Normalised forms (AUC in [0, 1], nDCG) show the same sum after an offset and a scale: see :func:`presentation`.

To add a statistic, write its class in ``catalogue.py`` and add its name to ``__all__`` there.
"""

from rerank.statistics import catalogue
from rerank.statistics.base import RankStatistic, ideal, presentation
from rerank.statistics.catalogue import *  # noqa: F403 (so that a statistic is added in that file alone)
from rerank.statistics.custom import Custom
from rerank.statistics.derived import InLists, Share, fitted_statistic
from rerank.statistics.parse import parse

__all__ = ["Custom", "InLists", "RankStatistic", "Share", "fitted_statistic", "ideal", "parse", "presentation"]
__all__ += catalogue.__all__
