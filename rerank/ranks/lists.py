"""Rows into lists: the gain of each row, the list it belongs to, and the mean over lists.

One row is one item; ``qid`` says which list it belongs to, in any order and by any name.  A list without a
single gain has no value, so every mean takes an option for such lists (``empty``).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.io.arrays import check_size
from rerank.io.table import numbered
from rerank.ranks.positions import Indices
from rerank.ranks.row_gains import Floats, Gain, IdealGains, missed_gains, weighted_gains

Empty = Literal["skip", 0, 1, "error"]

ONE_LIST = 0  # as ``qid``: all rows are one list


class OneList(NamedTuple):
    """The rows of one list, the gain of each, and gains of missed relevant items: no rows, but in the ideal."""

    name: Any
    rows: Indices
    gains: Floats
    weight: float
    missed: Floats


number_lists = numbered  # ids of lists in order of first appearance, and the place of each row's list among them


def lists_given(qid: Any, n: int) -> Any:
    """``qid``; where that is one whole number, the number of the only list, an id for each of the ``n`` rows."""
    return np.full(n, qid) if isinstance(qid, Integral) and not isinstance(qid, bool) else qid


def lists_missing(n_lists: int, score: bool = True) -> str:
    """What is wrong without ``qid`` after a fit on several lists: a score is refused, a ranking is not."""
    tools = " (scikit-learn's tools hand it on after set_config(enable_metadata_routing=True) and "
    tools += "set_score_request(qid=True))"
    return (
        f"The fit had {n_lists:,} lists and there is no qid here, so that all rows {'would ' * score}count as one "
        f"list; give qid, the list of each row{tools * score}, or qid=0 if they are one list."
    )


def flat_lists(qid: ArrayLike | None, n: int) -> tuple[list[Any], Indices, Indices]:
    """Names of the lists in ascending order, the rows list by list, and how many each has; one list without ``qid``."""
    if qid is None:
        return [0], np.arange(n), np.array([n])
    names = np.asarray(qid)
    if names.shape != (n,):
        raise InputError(f"There are {n} rows and qid has shape {names.shape}; give one list name per row.")
    known, codes = number_lists(names)
    by_name = sorted(range(len(known)), key=known.__getitem__)
    place = np.empty(len(known), dtype=np.intp)
    place[by_name] = np.arange(len(known))
    codes = place[codes]
    return [known[k] for k in by_name], np.argsort(codes, kind="stable"), np.bincount(codes)


def parted(values: NDArray[np.generic], sizes: NDArray[np.generic]) -> list[NDArray[Any]]:
    """Arrays of these sizes, one after the other: views, of which :func:`numpy.split` takes ten times as long."""
    ends = np.cumsum(sizes).tolist()
    return [values[begin:end] for begin, end in zip([0, *ends], ends)]


def rows_by_list(qid: ArrayLike | None, n: int) -> Iterator[tuple[Any, Indices]]:
    """Name and rows of each list, in order of name; a single list called 0 without ``qid``."""
    names, rows, sizes = flat_lists(qid, n)
    yield from zip(names, parted(rows, sizes))


def places_by_list(scores: Floats, qid: ArrayLike | None = None) -> Indices:
    """Place of each row in its list, 1 on top, larger scores first; equal scores keep the order of the rows."""
    _, rows, sizes = flat_lists(qid, scores.size)
    number = np.repeat(np.arange(sizes.size), sizes)
    places, ends = np.empty(scores.size, dtype=np.intp), np.cumsum(sizes)
    places[rows[np.lexsort((-scores[rows], number))]] = np.arange(rows.size) - (ends - sizes)[number] + 1
    return places


def split(
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    gain: Gain = "exponential",
    sample_weight: ArrayLike | None = None,
    query_weight: Mapping[Any, float] | ArrayLike | None = None,
    ideal_gains: IdealGains = None,
) -> list[OneList]:
    """The lists behind rows of labels; see :func:`weighted_gains`, :func:`weights_of_lists`, :func:`missed_gains`."""
    weighted = weighted_gains(y, gain, sample_weight)
    if weighted.size == 0:
        raise InputError("There are no rows; give at least one item.")
    names, rows, sizes = flat_lists(qid, weighted.size)
    codes = np.empty(weighted.size, dtype=np.intp)
    codes[rows] = np.repeat(np.arange(sizes.size), sizes)
    weights = np.ones(sizes.size) if query_weight is None else weights_of_lists(query_weight, names, codes)
    parts = names, parted(rows, sizes), parted(weighted[rows], sizes), weights.tolist()
    return [OneList(*own) for own in zip(*parts, missed_gains(ideal_gains, names, gain), strict=True)]


def mean_over_lists(lists: Sequence[OneList], values: Iterable[float | None], empty: Empty = "skip") -> float:
    """Weighted mean of the values of lists; ``empty`` says what becomes of those on which it is not defined (None)."""
    if empty not in ("skip", 0, 1, "error"):
        raise InputError(f"empty is {empty!r}; it must be 'skip', 0, 1 or 'error'.")
    total, weight = [], []
    for item, result in zip(lists, values, strict=True):
        if result is None:
            if empty == "error":
                raise InputError(
                    f"List {item.name!r} holds nothing to order (no relevant item, or no pair for AUC); "
                    "drop it or set empty='skip'."
                )
            if empty == "skip":
                continue
            result = float(empty)
        total.append(item.weight * result)
        weight.append(item.weight)
    if not math.fsum(weight) > 0:
        raise InputError(
            "No list with a weight holds anything to order (a relevant item, and a pair for AUC): the mean is "
            "not defined; add such a list or set empty=0."
        )
    return math.fsum(total) / math.fsum(weight)


def weights_of_lists(query_weight: Any, names: Sequence[Any], codes: Indices) -> Floats:
    """Weight of each list, float64 (lists,).

    A list that a mapping does not name has weight 1; an array repeats the weight on every row of the list. ``codes``
    holds the place of each row's list among the names.
    """
    if isinstance(query_weight, Mapping):
        every = np.array([query_weight.get(name, 1.0) for name in names], dtype=np.float64)[codes]
    else:
        every = np.asarray(query_weight, dtype=np.float64)
    if every.shape != codes.shape:
        raise InputError(
            f"query_weight has shape {every.shape} for {codes.size} rows; give one weight a row or a mapping."
        )
    weights = np.empty(len(names))
    weights[codes] = every
    bad = ~np.isfinite(every) | (every < 0) | (every != weights[codes])
    if bad.any():
        number = codes[np.argmax(bad)]
        raise InputError(
            f"The weight of list {names[number]!r} must be one finite number >= 0; found "
            f"{np.unique(every[codes == number])[:3].tolist()}."
        )
    if not np.any(weights > 0):
        raise InputError("query_weight is 0 for every list, so nothing counts; give some list a positive weight.")
    check_size(weights, "query_weight")
    return weights
