"""The public name of ``rerank.reranker.fusion``."""

import sys
from typing import TYPE_CHECKING

from rerank.reranker import fusion

if TYPE_CHECKING:
    from rerank.reranker.fusion import *  # noqa: F403

sys.modules[__name__] = fusion
