"""Who stands where: ranks and lost counts, the only place where equal scores are compared.

Comparisons are all that is asked of scores, so integers and Fractions are ranked exactly.  Whatever makes scores of
weights rounds them first (:func:`snap`): that is the one definition of a tie.

>>> from rerank.ranks.positions import subranks
>>> subranks([6.2, 6.2, 5.8, 1.7]).tolist()
[2, 2, 1, 0]
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError

Indices = NDArray[np.intp]

# Binary places of the scaled score to which scores are rounded before they are compared, so that two rows whose exact
# scores are equal are not told apart by the rounding of a sum (docs/decisions/0007).
BINARY_PLACES = 40


def affine(X: NDArray[np.float64], coef: NDArray[np.float64], intercept: float = 0.0) -> NDArray[np.float64]:
    """``X @ coef + intercept``, summed column by column, so that every machine gives the same bits (BLAS does not).

    A sum beyond the largest double is inf or NaN, without a warning of NumPy.
    """
    total = np.full(X.shape[0], float(intercept))
    with np.errstate(over="ignore", invalid="ignore"):
        for j in np.flatnonzero(coef):
            total += X[:, j] * coef[j]
    return total


def snap(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores rounded to ``BINARY_PLACES`` binary places, so that rounding errors do not break ties."""
    step = 2.0**BINARY_PLACES
    # Beyond 2^12 a double has no 40 binary places to round away (and the product may overflow): leave those alone.
    with np.errstate(over="ignore"):
        rounded = np.rint(scores * step) / step
    return np.where(np.abs(scores) < 4096.0, rounded, scores)


def comparable(scores: ArrayLike) -> NDArray[Any]:
    """Scores as a row of numbers with an order: no conversion, so integers and Fractions stay exact."""
    values = np.asarray(scores)
    if values.ndim != 1:
        raise InputError(f"Scores have shape {values.shape}; give one number per row.")
    if values.dtype.kind not in "biufO":
        raise InputError(f"Scores are of type {values.dtype}; they must be real numbers.")
    missing = values != values
    if np.any(missing):
        row = int(np.argmax(missing))
        raise InputError(f"The score of row {row} is {values[row]}; every row needs a number.")
    return values


def ordered(values: NDArray[Any], near: Indices | None = None) -> tuple[Indices, NDArray[Any], NDArray[np.bool_]]:
    """Items from the least value up, equal ones in their own order; their values, and which differ from the last.

    To sort equal values again is faster than a stable sort of all; an order that is ``near`` the one to be found, as
    that of the same scores with other roundings, is mended by such a sort in a pass or two.
    """
    order = values.argsort() if near is None else near[values[near].argsort(kind="stable")]
    ascending = values[order]
    new = np.ones(order.size, dtype=bool)
    new[1:] = ascending[1:] != ascending[:-1]
    if not new.all():
        tied = np.flatnonzero(~new | np.append(~new[1:], False))
        order[tied] = order[tied][np.lexsort((order[tied], np.cumsum(new)[tied]))]
    return order, ascending, new


def dense_codes(scores: ArrayLike) -> tuple[NDArray[Any], Indices]:
    """Distinct scores in ascending order, and for each item the place of its score among them."""
    values = comparable(scores)
    # numpy.unique does the same and takes twice as long on lists of some tens.
    order = values.argsort()
    ordered = values[order]
    first = np.ones(values.size, dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    codes = np.empty(values.size, dtype=np.intp)
    codes[order] = first.cumsum() - 1
    return ordered[first], codes


def subranks(scores: ArrayLike) -> Indices:
    """Number of items scored strictly below each item, 0..n-1 [RudinWang2018, sec. 2.6]."""
    distinct, codes = dense_codes(scores)
    below = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=distinct.size))])
    return below[codes]


def resolved_ranks(scores: ArrayLike, y: ArrayLike) -> Indices:
    """Ranks 0..n-1, each once: equal scores resolved against the relevant item.

    Where scores are equal, the item with the smaller label ranks higher; between equal labels the later row
    does [RudinWang2018, sec. 2.6 and constraints (16)-(19)].

    Parameters
    ----------
    scores, y : arrays (n,)

    Returns
    -------
    int array (n,)
        A permutation, nowhere below :func:`subranks`.
    """
    _, codes = dense_codes(scores)
    labels = np.asarray(y)
    if labels.shape != codes.shape:
        raise InputError(f"There are {codes.size} scores and labels of shape {labels.shape}; give one per row.")
    order = np.lexsort((-labels.astype(np.float64), codes))
    ranks = np.empty(codes.size, np.intp)
    ranks[order] = np.arange(codes.size)
    return ranks


def reach(distinct: NDArray[Any], margin: Any) -> Indices:
    """For each distinct score the first code that it does not beat by the margin (see :func:`dense_codes`).

    Item i loses to every lesser item k with ``codes[k] >= reach(distinct, margin)[codes[i]]``, that is with
    ``s_i - s_k < margin``; at margin 0 a tie is lost, so the condition is ``s_k >= s_i``.
    """
    if margin == 0:
        return np.arange(distinct.size)
    return np.searchsorted(distinct, distinct - margin, side="right").astype(np.intp)


def lost_counts(scores: ArrayLike, positive: ArrayLike, margin: Any = 0) -> Indices:
    """For each positive item, how many of the others it fails to beat by the margin; n log n.

    Parameters
    ----------
    scores : array (n,)
        Floats, integers or Fractions.  The count is exact for the last two; for floats ``s_i - margin`` is
        rounded.
    positive : bool array (n,)
    margin : number
        Item k is lost when ``s_i - s_k < margin``; at margin 0 when ``s_k >= s_i``.

    Returns
    -------
    int array (number of positives,), in row order
    """
    distinct, codes = dense_codes(scores)
    return count_lost(codes, reach(distinct, margin)[codes], np.asarray(positive, dtype=bool))


def count_lost(codes: Indices, reached: Indices, positive: NDArray[np.bool_]) -> Indices:
    """:func:`lost_counts` from codes and their reach, which serve several calls for the same scores."""
    others = np.sort(codes[~positive])
    return others.size - np.searchsorted(others, reached[positive], side="left")


def value_of_lost(
    lost: ArrayLike, coefficients: NDArray[Any], hits: NDArray[Any] | None = None, alone: bool = False
) -> Any:
    """Sum of the coefficients at the places of positive items with these lost counts.

    With the counts sorted, the j-th best positive item stands at position ``j + lost_(j)`` from the top.

    Parameters
    ----------
    lost : int array (p,)
        Lost counts of the positive items of one list, in any order.
    coefficients : array (m,)
        ``a_1..a_m`` of a list of m items; floats, or exact numbers in an object array.
    hits : int array (m,), optional
        What the coefficient of the j-th best positive item is multiplied by.
    alone : bool
        Whether positive items take no places from each other: each stands at position ``1 + lost``.

    Returns
    -------
    number
        Exact for exact coefficients; correctly rounded for floats.
    """
    sorted_lost = np.sort(np.asarray(lost, dtype=np.intp))
    positions = sorted_lost + (1 if alone else np.arange(1, sorted_lost.size + 1))
    earned = coefficients[coefficients.shape[0] - positions]
    if hits is not None:
        earned = earned * hits[: earned.size]
    return math.fsum(earned) if earned.dtype.kind == "f" else sum(earned.tolist())
