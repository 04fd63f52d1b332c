"""The public name of ``rerank.ranks.perturb``."""

import sys
from typing import TYPE_CHECKING

from rerank.ranks import perturb

if TYPE_CHECKING:
    from rerank.ranks.perturb import *  # noqa: F403

sys.modules[__name__] = perturb
