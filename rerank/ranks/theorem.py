r"""When the Subrank optimum is a ResolvedRank optimum: Theorem 4.2 of [RudinWang2018] with the hypotheses it needs.

With ``O_RR(w) = sum of a at the ResolvedRanks - C |w|_0`` and ``O_Sub`` likewise, ``O_Sub <= O_RR`` always (Lemma 1)
and, where some maximiser of ``O_RR`` has ``O_Sub = O_RR``, every maximiser of ``O_Sub`` maximises ``O_RR``
(Theorem 4.1).  Such a maximiser can be had by breaking ties (Lemma 2) only if the ties can be broken without paying
for, or being refused, another feature:

* C = 0 and no support limit: no two rows of a list may be equal.
* C = 0 with a support limit: no two rows of a list may share a value in any column, for the limit may leave one
  column.  (w = 0 needs no care: any tie-free order does at least as well.)
* C > 0: the same, *and* w = 0 must not be the only maximiser, because its tie is broken by no perturbation.

"No duplicate rows", the published hypothesis, is enough in the first case alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.io.arrays import check_matrix
from rerank.ranks.equal_rows import duplicates
from rerank.ranks.positions import lost_counts, value_of_lost
from rerank.ranks.row_gains import Floats

_SENTENCE = "an optimum of the Subrank program is one of the ResolvedRank program, for a margin small enough"


@dataclass(frozen=True)
class Verdict:
    """Whether the corrected theorem applies, and why; true and false like a bool, a sentence as text.

    Attributes
    ----------
    applies : bool
        False means "not shown from the data alone": the two optima may still be equal.
    reason : str
    rows : tuple of int
        Two rows that stand in the way, if any.
    """

    applies: bool
    reason: str
    rows: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return self.applies

    def __str__(self) -> str:
        return self.reason


def theorem_applies(
    X: ArrayLike,
    C: float = 0.0,
    max_features: int | None = None,
    *,
    qid: ArrayLike | None = None,
    coefficients: ArrayLike | None = None,
    y: ArrayLike | None = None,
) -> Verdict:
    """Whether the data alone show that Subrank finds a ResolvedRank optimum; see the module's text.

    Parameters
    ----------
    X : array (n, d)
    C : float
        Price of a feature.
    max_features : int, optional
        Support limit.
    qid : array (n,), optional
        Rows of different lists never meet.
    coefficients, y : arrays (n,), optional
        ``a_1..a_n`` and 0/1 labels of a single list.  With C > 0 they are needed to rule out that w = 0 is best.

    Returns
    -------
    Verdict
    """
    data = check_matrix(X)
    if not C >= 0:
        raise InputError(f"The price C of a feature is {C}; it must be 0 or a positive number.")
    if max_features is not None and max_features >= data.shape[1]:
        max_features = None
    equal = duplicates(data, qid=qid)
    if equal:
        i, k = (int(row) for row in equal[0][:2])
        return Verdict(
            False, f"Rows {i} and {k} are equal, so no weights break their tie: merge or report them.", (i, k)
        )
    if C == 0 and max_features is None:
        return Verdict(True, f"No two rows are equal, C is 0 and any feature may be used: {_SENTENCE}.")
    cost = f"C = {C:g}" if C > 0 else f"at most {max_features} features"
    for j in range(data.shape[1]):
        shared = duplicates(data, [j], qid=qid)
        if shared:
            i, k = (int(row) for row in shared[0][:2])
            reason = f"Rows {i} and {k} agree in column {j} and, with {cost}, no other column need be used"
            return Verdict(False, f"{reason}: after a fit compare the rows on its support.", (i, k))
    if C == 0:
        return Verdict(True, f"No two rows share a value in any column: {_SENTENCE}, whatever the support.")
    if coefficients is None or y is None:
        return Verdict(
            False,
            f"With {cost} the optimum may be w = 0, whose tie nothing breaks: the theorem holds if it is not.",
        )
    return _priced(data, C, np.asarray(coefficients, dtype=np.float64), np.asarray(y, dtype=bool))


def _priced(data: Floats, C: float, a: Floats, positive: NDArray[np.bool_]) -> Verdict:
    """The case C > 0 with all columns distinct, where only w = 0 can be in the way."""
    if a.shape != positive.shape or a.size != data.shape[0]:
        raise InputError(
            f"{data.shape[0]} rows need as many coefficients and labels; got {a.size} and {positive.size}."
        )
    p = int(positive.sum())
    nothing = math.fsum(a[:p])
    if p and a[p - 1] == a[0]:
        return Verdict(
            True, f"No two rows share a value in any column, and a tie of all earns nothing: {_SENTENCE}."
        )
    for j in range(data.shape[1]):
        for column in (data[:, j], -data[:, j]):
            # The slack keeps a rounded sum from deciding a tie in favour of the theorem.
            if value_of_lost(lost_counts(column, positive), a) - C > nothing + 1e-12 * abs(nothing):
                return Verdict(
                    True,
                    f"No two rows share a value in any column, and feature {j} beats w = 0: {_SENTENCE}.",
                )
    return Verdict(False, f"With C = {C:g} no single feature beats w = 0, whose tie nothing breaks.")
