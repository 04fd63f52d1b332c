"""From training data to the problem in weight space: gains, shortlist, scaling, and what there is to reorder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.io.arrays import check_labels, check_qid, check_weights
from rerank.problem import Problem, ranked_list
from rerank.ranks import evaluate
from rerank.ranks.equal_rows import duplicates
from rerank.ranks.lists import Gain, number_lists, rows_by_list, weighted_gains
from rerank.reranker.result import ShortlistInfo
from rerank.reranker.shortlist import Shortlist, shortlist
from rerank.statistics import RankStatistic

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Weights = Mapping[Any, float] | ArrayLike | None


@dataclass(frozen=True, eq=False)
class Data:
    """Checked training data: features, what each row is worth, its list and the list's weight.

    Attributes
    ----------
    X : float64 array (n, d)
    y : float64 array (n,)
        Labels as given.
    gains : float64 array (n,)
        Worth of each row: gain of its label times its weight.
    qid : intp array (n,) or None
        Number of each row's list.
    list_weight : float64 array (n,) or None
        Weight of each row's list, the same on all its rows.
    feature_names : tuple of str, length d
    """

    X: Floats
    y: Floats
    gains: Floats
    qid: Indices | None
    list_weight: Floats | None
    feature_names: tuple[str, ...]

    def evaluate(self, statistic: RankStatistic, scores: Floats) -> float:
        """Mean of the statistic over the lists, equal scores against the gain."""
        return evaluate(statistic, self.gains, scores, self.qid, gain="linear", query_weight=self.list_weight)


@dataclass(frozen=True, eq=False)
class Training:
    """The shortlist and the problem of ordering it.

    Attributes
    ----------
    problem : Problem or None
        None where there is nothing to reorder; ``nothing`` then says why.
    shortlist : Shortlist
    features : intp array (p,)
        Columns used, ascending: those that vary on the shortlist.
    n_lists, n_empty_lists : int
    info : ShortlistInfo
    nothing : str
        ``""``, ``"already_ideal"`` or ``"nothing_to_find"``.
    """

    problem: Problem | None
    shortlist: Shortlist
    features: Indices
    n_lists: int
    n_empty_lists: int
    info: ShortlistInfo
    nothing: str


def checked(
    table: Floats, y: ArrayLike, qid: ArrayLike | None, sample_weight: ArrayLike | None, query_weight: Weights,
    gain: Gain, feature_names: tuple[str, ...] = (),
) -> tuple[Data, Floats | None]:  # fmt: skip
    """Training data whose rows, lists and weights fit together, and the weights of the rows.

    Raises
    ------
    InputError
        Naming what does not fit.
    """
    n = table.shape[0]
    labels = check_labels(y, n)
    names: tuple[Any, ...] = ()
    lists = None
    if qid is not None:
        names, lists = number_lists(check_qid(qid, n))
    weights = None if sample_weight is None else check_weights(sample_weight, n)
    gains, by_list = worth(labels, gain, weights, query_weight, names, lists)
    return Data(table, labels, gains, lists, by_list, feature_names), weights


def worth(
    y: Floats, gain: Gain, sample_weight: Floats | None, query_weight: Weights,
    names: tuple[Any, ...], qid: Indices | None,
) -> tuple[Floats, Floats | None]:  # fmt: skip
    """Worth of each row and weight of its list.

    ``query_weight`` is a mapping from list id to weight (1 where it has none), or one number a row, the same on
    all rows of a list.
    """
    gains = weighted_gains(y, gain, sample_weight)
    if not np.any(gains > 0):
        raise InputError(
            "No row has both a positive gain and a positive weight: there is nothing to find; mark relevant rows in y."
        )
    if query_weight is None:
        return gains, None
    if qid is None:
        raise InputError(
            "query_weight weighs lists, and there is no qid; give qid, or use sample_weight for rows."
        )
    if isinstance(query_weight, Mapping):
        unknown = [name for name in query_weight if name not in set(names)]
        if unknown:
            raise InputError(
                f"query_weight names the list {unknown[0]!r}, which is not in qid; remove it or correct its id."
            )
        by_list = np.array([float(query_weight.get(name, 1.0)) for name in names])
        weights = by_list[qid]
    else:
        weights = np.asarray(query_weight, dtype=np.float64)
    if weights.shape != y.shape:
        raise InputError(
            f"query_weight has shape {weights.shape} for {y.size} rows; give one weight a row or a mapping."
        )
    for number, rows in rows_by_list(qid, y.size):
        own = weights[rows]
        if not np.isfinite(own).all() or own[0] < 0 or np.any(own != own[0]):
            raise InputError(
                f"The weight of list {names[number]!r} must be one finite number >= 0; found "
                f"{np.unique(own)[:3].tolist()}."
            )
    if not np.any(weights > 0):
        raise InputError(
            "query_weight is 0 for every list, so nothing counts; give some list a positive weight."
        )
    return gains, weights


def prepare(
    data: Data, statistic: RankStatistic, scores: Floats | None, n_candidates: int | None, **options: Any
) -> Training:
    """Cut the shortlist, drop what is constant on it, and state the problem.

    Parameters
    ----------
    data : Data
    statistic : RankStatistic
    scores : float64 array (n,) or None
        First-stage scores; None makes every row a candidate.
    n_candidates : int or None
    **options
        ``epsilon``, ``C``, ``max_features`` and ``signs`` (one a column of ``data.X``) of :meth:`Problem.build`.

    Raises
    ------
    InputError
        Where no list holds anything to rank at all.
    """
    short = shortlist(scores, data.gains, data.qid, n_candidates)
    start = np.cumsum([0, *(head.size for head in short.heads)])
    lists = []
    for head, tail, first in zip(short.heads, short.tails, start, strict=False):
        weight = 1.0 if data.list_weight is None else float(data.list_weight[head[0]])
        rows = np.arange(first, first + head.size, dtype=np.intp)
        lists.append(ranked_list(statistic, rows, data.gains[head], data.gains[tail], weight))
    counted = [item for item in lists if item is not None]
    if not counted:
        raise InputError(
            f"No list holds anything to order for {statistic.name}: each has relevant rows only or none; "
            "give lists that mix both."
        )
    head_rows = np.concatenate(short.heads)
    table = data.X[head_rows]
    features = np.flatnonzero(table.max(axis=0) > table.min(axis=0)).astype(np.intp)
    problem = None
    weighed = [item for item in counted if item.weight > 0]
    nothing = _nothing(weighed)
    if not features.size and not nothing:
        nothing = "nothing_to_find"
    if features.size:
        signs = options.pop("signs")
        problem = Problem.build(table[:, features], weighed, signs=signs[features], **options)
    duplicates, conflicts = _repeats(
        table[:, features], data.gains[head_rows], np.repeat(np.arange(len(lists)), np.diff(start))
    )
    info = ShortlistInfo(
        n_candidates=n_candidates,
        n_rows=data.y.size,
        n_head=int(head_rows.size),
        n_positive=int(np.sum(data.gains > 0)),
        n_positive_head=int(np.sum(data.gains[head_rows] > 0)),
        n_tied=short.n_tied,
        n_duplicates=duplicates,
        n_conflicts=conflicts,
        n_features=int(features.size),
        constant_features=tuple(
            name for j, name in enumerate(data.feature_names) if j not in set(features.tolist())
        ),
    )
    return Training(problem, short, features, len(lists), len(lists) - len(counted), info, nothing)


def _nothing(lists: list[Any]) -> str:
    """Why no order of the heads differs from another in value, or ``""``."""
    if any(
        item.gains.min() < item.gains.max() and item.coefficients[0] < item.coefficients[-1] for item in lists
    ):
        return ""
    return "already_ideal" if any(item.gains.max() > 0 for item in lists) else "nothing_to_find"


def _repeats(table: Floats, gains: Floats, lists: Indices) -> tuple[int, int]:
    """Rows equal to an earlier row of their list, and those among them whose gain differs from its first row's.

    No weights can order such rows; with different gains they cost value that no ranking can earn.
    """
    groups = duplicates(table, qid=lists) if table.shape[1] else []
    conflicts = sum(int(np.sum(gains[group] != gains[group[0]])) for group in groups)
    return sum(len(group) - 1 for group in groups), conflicts
