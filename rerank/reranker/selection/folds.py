"""Folds: lists are assigned whole, rows of a single list one by one; those with something relevant are first."""

import numbers
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.io.options import legacy, whole
from rerank.problem.lists import Floats, Indices
from rerank.ranks.lists import number_lists
from rerank.ranks.present import Present


@dataclass(frozen=True, eq=False)
class Split:
    """Training rows and test rows; which repeat they belong to, -1 for those of a splitter."""

    train: Indices
    test: Indices
    repeat: int = -1


def fold_names(splits: Sequence[Split]) -> list[str]:
    """Each split in words: its number among those of its repeat."""
    repeats = [split.repeat for split in splits]
    turns = len(set(repeats))
    return [
        f"fold {repeats[: k + 1].count(repeat)} of {repeats.count(repeat)}"
        + (f" in repeat {repeat + 1} of {turns}" if turns > 1 else "")
        for k, repeat in enumerate(repeats)
    ]


def splits_of(
    X: Floats,
    relevant: ArrayLike,
    units: NDArray[np.generic] | None,
    cv: Any,
    n_repeats: int | None,
    random_state: Any,
    unit: str = "list",
    there: Present | None = None,
) -> list[Split]:
    """Folds of whole lists or groups (``units``, called ``unit``), or of rows. A splitter gets as ``y`` whether a row
    is ``relevant``, and the units as ``groups``; pairs of rows number the user's table, as ``there`` knows it.
    """
    dealt = cv is None or isinstance(cv, numbers.Integral)
    n_repeats = whole("n_repeats", (2 if dealt else 1) if n_repeats is None else n_repeats)
    marked = np.asarray(relevant, dtype=bool)
    unit = "row" if units is None else unit
    groups = np.arange(marked.size) if units is None else number_lists(units)[1]
    if dealt:
        return _dealt(groups, marked, unit, 5 if cv is None else int(cv), n_repeats, random_state)
    if n_repeats != 1:
        raise InputError(
            f"n_repeats is {n_repeats}, which deals a number of folds anew, but cv is no number; leave n_repeats at 1 "
            "and give a splitter that repeats itself."
        )
    try:
        with warnings.catch_warnings():
            # Whether lists are whole is checked below, for splitters that do not look at groups as well.
            warnings.filterwarnings("ignore", message="The groups parameter is ignored")
            from sklearn.model_selection import check_cv

            pairs = list(check_cv(cv).split(X, marked, units))
        mask = None if there is None or hasattr(cv, "split") else there.mask
        kept = np.ones(marked.size, dtype=bool) if mask is None else mask
        splits = [Split(_rows(train, kept), _rows(test, kept)) for train, test in map(tuple, pairs)]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"cv is a {type(cv).__name__} that gives no folds ({error}); give a number, a splitter of scikit-learn, or "
            "pairs of training and test rows."
        ) from error
    return _judged(splits, groups, marked, unit)


def _dealt(
    groups: Indices, relevant: NDArray[np.bool_], unit: str, folds: int, n_repeats: int, random_state: Any
) -> list[Split]:
    """Groups in random order, those with a relevant row before the others, one to each fold in turn."""
    if folds < 2:
        raise InputError(f"cv is {folds}; it must be at least 2 folds, or a splitter of scikit-learn.")
    telling = np.zeros(int(groups.max()) + 1, dtype=bool)
    telling[groups[relevant]] = True
    there = int(telling.sum())
    if there < folds:
        many = "relevant rows" if unit == "row" else f"{unit}s with a relevant row"
        single = "relevant row" if unit == "row" else f"{unit} with a relevant row"
        what = f"is 1 {single} that counts" if there == 1 else f"are {there} {many} that count"
        advice = "ask for fewer, give more data, or fit without folds: a Reranker, or rerank fit --free"
        if there < 2:
            advice = "give more data, or fit without folds: a Reranker, or rerank fit --free"
        raise InputError(f"cv is {folds}, but there {what}; {advice}.")
    rng = legacy(0 if random_state is None else random_state)
    made: list[Split] = []
    for repeat in range(n_repeats):
        order = np.lexsort((rng.permutation(telling.size), ~telling))
        fold = np.empty(telling.size, dtype=np.intp)
        fold[order] = np.arange(telling.size) % folds
        held = fold[groups]
        made += [Split(np.flatnonzero(held != k), np.flatnonzero(held == k), repeat) for k in range(folds)]
    return made


def fold_of_each(splits: Sequence[Split], n: int) -> Indices | None:
    """The one fold in which each of ``n`` rows is held out, if all others are then learned from; None if not so."""
    fold = np.full(n, -1, dtype=np.intp)
    for k, split in enumerate(splits):
        if (fold[split.test] >= 0).any() or split.test.size + split.train.size != n:
            return None
        fold[split.test] = k
    return fold if len(splits) > 1 and (fold >= 0).all() else None


def _rows(part: Any, kept: NDArray[np.bool_]) -> Indices:
    """Numbers among the rows that are kept, of one side of a split, which may be a mask."""
    rows, n = np.asarray(part), kept.size
    if rows.dtype == bool and rows.shape == (n,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or rows.size == 0 or rows.dtype.kind not in "iu":
        raise ValueError("each side of a split must hold row numbers")
    if rows.min() < 0 or rows.max() >= n:
        raise ValueError(f"row numbers go from 0 to {n - 1}, found {rows.min()} to {rows.max()}")
    return (np.cumsum(kept) - 1)[rows[kept[rows]]].astype(np.intp)


def _judged(splits: list[Split], groups: Indices, relevant: NDArray[np.bool_], unit: str) -> list[Split]:
    """The splits of a splitter whose held-out rows have a value."""
    for number, split in enumerate(splits, start=1):
        if not split.train.size:
            raise InputError(f"Fold {number} of cv has no training row with a weight above 0; give others, or weights.")
        shared = np.isin(groups[split.test], groups[split.train])
        if shared.any():
            raise InputError(
                f"Fold {number} of cv has the {unit} of row {split.test[shared][0]} on both sides, and would be judged "
                f"by what it learned from; give a number of folds, or a splitter that keeps every {unit} whole."
            )
    kept = [split for split in splits if relevant[split.test].any()]
    if not kept:
        raise InputError(
            f"cv gives {len(splits)} folds, and none holds out a relevant row that counts: there is nothing to judge "
            "by; give a number of folds."
        )
    if len(kept) < len(splits):
        warnings.warn(
            f"{len(splits) - len(kept)} of the {len(splits)} folds of cv hold out no relevant row that counts, and "
            "are left out.",
            stacklevel=2,
        )
    return kept
