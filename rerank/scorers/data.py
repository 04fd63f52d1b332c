"""What every first stage learns from: rows sorted by list, checked once at the edge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.ranks.lists import number_lists

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankingData:
    """Rows of one or many lists.

    Attributes
    ----------
    X : float array or CSR matrix (n, d)
        As given: never made dense, float32 stays float32.
    y : float64 (n,)
    group : int64 (n,)
        List of each row, 0 to ``n_groups - 1`` in order of first appearance.
    weight : float64 (n,)
        Weight of each row, 1 where none was given.
    """

    X: Any
    y: Floats
    group: NDArray[np.int64]
    weight: Floats

    @property
    def n_groups(self) -> int:
        """Number of lists."""
        return int(self.group.max()) + 1 if self.group.size else 0

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Rows sorted by list, in the given order within each."""
        return np.argsort(self.group, kind="stable").astype(np.int64)

    @cached_property
    def start(self) -> NDArray[np.int64]:
        """Where each list begins in ``order``; one entry more than there are lists."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.group, minlength=self.n_groups))]).astype(
            np.int64
        )

    @cached_property
    def relevant(self) -> NDArray[np.bool_]:
        """Rows above the smallest label of a row that has weight."""
        return self.y > self.y[self.weight > 0].min()


def groups_of(qid: Any, n: int) -> NDArray[np.int64]:
    """Number the lists in order of first appearance; one list without ``qid``.

    Raises
    ------
    InputError
        If ``qid`` has another length than the rows.
    """
    if qid is None:
        return np.zeros(n, np.int64)
    given = np.asarray(qid)
    if given.shape != (n,):
        raise InputError(f"qid has shape {given.shape}; it must name the list of each of the {n} rows.")
    return number_lists(given)[1].astype(np.int64, copy=False)


def weights_of(sample_weight: Any, n: int) -> Floats:
    """Weights of the rows.

    Raises
    ------
    InputError
        If they are not ``n`` finite numbers >= 0 of which one is positive.
    """
    if sample_weight is None:
        return np.ones(n)
    given = np.asarray(sample_weight, dtype=np.float64)
    if given.shape != (n,):
        raise InputError(
            f"sample_weight has shape {given.shape}; it must hold one number for each of the {n} rows."
        )
    if not np.isfinite(given).all() or (given < 0).any() or not (given > 0).any():
        raise InputError(
            "sample_weight holds a negative, NaN or infinite number or only zeros; give weights >= 0."
        )
    return given
