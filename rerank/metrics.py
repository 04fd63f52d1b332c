"""The public name of ``rerank.reranker.metrics``."""

import sys
from typing import TYPE_CHECKING

from rerank.reranker import metrics

if TYPE_CHECKING:
    from rerank.reranker.metrics import *  # noqa: F403

sys.modules[__name__] = metrics
