"""Weight 0 means that a row, or a list, is not there: the rows that are, found once where a table comes in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InputError
from rerank.io.arrays import check_qid, check_weights
from rerank.io.frames import is_frame, is_sparse, some_rows
from rerank.ranks.lists import number_lists, weights_of_lists


@dataclass(frozen=True, eq=False)
class Present:
    """Which rows of a table have a weight: a mask (n,), or None if all of them have."""

    mask: NDArray[np.bool_] | None = None

    def of(self, values: Any, name: str = "") -> Any:
        """The entries of these rows, of a table or of an array with one entry for each row."""
        if self.mask is None or values is None or isinstance(values, str | Mapping):
            return values
        table = values if is_frame(values) or is_sparse(values) else np.asarray(values)
        if table.shape[0] != self.mask.size:
            raise InputError(
                f"{name} has {table.shape[0]} entries for {self.mask.size} rows of X; give one for each row."
            )
        return some_rows(table, np.flatnonzero(self.mask))


def present(n: int, sample_weight: Any = None, query_weight: Any = None, qid: Any = None) -> Present:
    """The rows with a positive weight, in lists with a positive weight (only with ``qid``)."""
    there = np.ones(n, dtype=bool)
    if sample_weight is not None:
        there &= check_weights(sample_weight, n) > 0
    if query_weight is not None and qid is not None:
        names, codes = number_lists(check_qid(qid, n))
        there &= weights_of_lists(query_weight, names, codes)[codes] > 0
    if there.all():
        return Present()
    if not there.any():
        raise InputError(
            "Every row has a weight of 0, or is in a list of weight 0, and such rows are not there; give some row and "
            "its list weights above 0."
        )
    return Present(there)
