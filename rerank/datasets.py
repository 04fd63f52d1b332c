"""The public name of ``rerank.io.datasets``."""

import sys
from typing import TYPE_CHECKING

from rerank.io import datasets

if TYPE_CHECKING:
    from rerank.io.datasets import *  # noqa: F403

sys.modules[__name__] = datasets
