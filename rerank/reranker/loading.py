"""Fitted rerankers from model files."""

from __future__ import annotations

import os
from typing import Any

from rerank.reranker.estimator import Reranker, restored


def load(path: str | os.PathLike[str], first_stage: Any = None) -> Reranker:
    """A fitted :class:`Reranker` from a file written by :meth:`Reranker.save`; it can rank, score and save, no more.

    Parameters
    ----------
    path : path
    first_stage : fitted estimator, optional
        Needed if the model's first stage was not affine in the features.
    """
    from rerank.reranker.files.document import load as read

    return restored(read(path, first_stage))
