"""Folds: lists are assigned whole, rows of a single list one by one; those with something relevant are first."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from rerank.errors import InputError
from rerank.ranks.lists import number_lists

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Split:
    """Training rows and test rows; which repeat they belong to, -1 for those of a splitter."""

    train: Indices
    test: Indices
    repeat: int = -1


def fold_names(splits: Sequence[Split]) -> list[str]:
    """Each split in words: its number among those of its repeat."""
    seen: dict[int, int] = {}
    names = []
    for split in splits:
        seen[split.repeat] = seen.get(split.repeat, 0) + 1
        names.append((seen[split.repeat], split.repeat))
    repeats = len(seen)
    return [
        f"fold {number} of {seen[repeat]}" + (f" in repeat {repeat + 1} of {repeats}" if repeats > 1 else "")
        for number, repeat in names
    ]


def splits_of(
    X: Floats, relevant: ArrayLike, qid: NDArray[Any] | None, cv: Any, n_repeats: int | None, random_state: Any
) -> list[Split]:
    """Folds of whole lists, or of rows where there are no lists.

    Parameters
    ----------
    X : float64 array (n, d)
        Shown to a splitter.
    relevant : bool array (n,)
        Rows that are relevant; a list without one has no value. A splitter gets them as its ``y``.
    qid : array (n,) or None
        List of each row; a splitter gets it as its ``groups``.
    cv : int, splitter, iterable or None
        None is 5.
    n_repeats : int or None
        Number of times that the folds are drawn; None is 2 for a number of folds, and 1 for a splitter.
    random_state : int, RandomState or None
        For a number of folds; None is 0.

    Raises
    ------
    InputError
        If ``cv``, ``n_repeats`` or ``random_state`` cannot be used, if there are fewer relevant rows or lists than
        folds, if a split divides a list, or if no fold holds out a relevant row.
    """
    dealt = cv is None or isinstance(cv, numbers.Integral)
    if n_repeats is None:
        n_repeats = 2 if dealt else 1
    if not isinstance(n_repeats, numbers.Integral) or n_repeats < 1:
        raise InputError(f"n_repeats is {n_repeats!r}; it must be a whole number, at least 1.")
    marked = np.asarray(relevant, dtype=bool)
    unit = "row" if qid is None else "list"
    groups = np.arange(marked.size) if qid is None else number_lists(qid)[1]
    if dealt:
        folds = 5 if cv is None else int(cv)
        return _dealt(groups, marked, unit, folds, int(n_repeats), random_state)
    if n_repeats != 1:
        raise InputError(
            f"n_repeats is {n_repeats}, which deals a number of folds anew, but cv is no number; leave n_repeats at 1 "
            "and give a splitter that repeats itself."
        )
    try:
        with warnings.catch_warnings():
            # Whether lists are whole is checked below, for splitters that do not look at groups as well.
            warnings.filterwarnings("ignore", message="The groups parameter is ignored")
            pairs = list(check_cv(cv).split(X, marked, qid))
        splits = [Split(_rows(train, marked.size), _rows(test, marked.size)) for train, test in pairs]
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
        one, many = {
            "row": ("relevant row", "relevant rows"),
            "list": ("list with a relevant row", "lists with a relevant row"),
        }[unit]
        what = f"is 1 {one} that counts" if there == 1 else f"are {there} {many} that count"
        raise InputError(f"cv is {folds}, but there {what}; lower cv or give more data.")
    try:
        rng = check_random_state(0 if random_state is None else random_state)
    except ValueError as error:
        raise InputError(
            f"random_state is {random_state!r} ({error}); give None, a number of at least 0 or a RandomState."
        ) from None
    made: list[Split] = []
    for repeat in range(n_repeats):
        order = np.lexsort((rng.permutation(telling.size), ~telling))
        fold = np.empty(telling.size, dtype=np.intp)
        fold[order] = np.arange(telling.size) % folds
        held = fold[groups]
        made += [Split(np.flatnonzero(held != k), np.flatnonzero(held == k), repeat) for k in range(folds)]
    return made


def _rows(part: Any, n: int) -> Indices:
    """Row numbers of one side of a split, which may be a mask."""
    rows = np.asarray(part)
    if rows.dtype == bool and rows.shape == (n,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or rows.size == 0 or rows.dtype.kind not in "iu":
        raise ValueError("each side of a split must hold row numbers")
    if rows.min() < 0 or rows.max() >= n:
        raise ValueError(f"row numbers go from 0 to {n - 1}, found {rows.min()} to {rows.max()}")
    return rows.astype(np.intp)


def _judged(splits: list[Split], groups: Indices, relevant: NDArray[np.bool_], unit: str) -> list[Split]:
    """The splits of a splitter whose held-out rows have a value."""
    for number, split in enumerate(splits, start=1):
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
