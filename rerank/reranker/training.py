"""From training data to the problem in weight space: shortlist, scaling, and whether there is anything to reorder."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rerank.certificate.standing import average_of
from rerank.errors import InputError, nearest
from rerank.problem import Problem, Quota, RankedList
from rerank.problem.build import stated_lists
from rerank.problem.lists import Floats, Indices, rows_of
from rerank.problem.quotas import groups_of
from rerank.problem.reduced import depth_of, reduced_problem
from rerank.problem.scaling import deviations, ends_of, snapped_scores
from rerank.ranks.lists import flat_lists, parted
from rerank.ranks.perturb import duplicates, theorem_applies
from rerank.ranks.positions import ordered
from rerank.reranker.constraints import constrained
from rerank.reranker.cross_fit import Staged
from rerank.reranker.data import Data
from rerank.reranker.first_stage import FirstStage, top_of
from rerank.reranker.solution import ShortlistInfo
from rerank.reranker.solve.program import SMALLEST_DEFAULT, normalised, smallest_by_sum
from rerank.reranker.task import Task
from rerank.statistics import RankStatistic
from rerank.statistics.base import by_size

NONE = np.empty(0)
MOST_SCORE = 2.0**1000  # of the first stage; head scores are above, and have to be finite


@dataclass(frozen=True, eq=False)
class Shortlist:
    """Head and tail of every list: the ``n_candidates`` best rows by the first stage, which are reordered, and the
    others, which keep its order below them [RudinWang2018, sec. 2.1]. All rows that share the score at the cut are in
    the head, so that no row's place depends on the order of the file.
    """

    heads: tuple[Indices, ...]  # rows of each list, best place first
    tails: tuple[Indices, ...]  # of equal scores the smaller gain first
    threshold: float  # least first-stage score of the head, for single rows; -inf if every row is in the head
    n_tied: int  # rows in the heads beyond the K asked for because they share the score at the cut

    @property
    def rows(self) -> Indices:
        """Rows of all heads, in the order of the data."""
        return np.sort(np.concatenate(self.heads))


def cut(scores: Floats, n_candidates: int | None) -> float:
    """Least score of the ``n_candidates`` best rows; ``-inf`` if all rows are candidates."""
    if n_candidates is None or n_candidates >= scores.size:
        return -math.inf
    return float(np.partition(scores, scores.size - n_candidates)[scores.size - n_candidates])


def shortlist(
    scores: Floats | None, gains: Floats, qid: Indices | None = None, n_candidates: int | None = None
) -> Shortlist:
    """Head and tail of every list by scores (n,); the threshold of several is reached by as many rows as heads have."""
    _, rows, sizes = flat_lists(qid, gains.size)
    number = np.repeat(np.arange(sizes.size), sizes)
    own = np.zeros(rows.size) if scores is None else scores[rows]
    if scores is None or n_candidates is None:
        order = np.lexsort((-own, number)) if sizes.size > 1 else ordered(-own)[0]
        heads = parted(rows[order], sizes)
        return Shortlist(tuple(heads), tuple(head[:0] for head in heads), -math.inf, 0)
    order = np.lexsort((gains[rows], -own, number))
    inside = own[order] >= np.repeat(_cuts(own[order], sizes, n_candidates), sizes)
    best_first, in_head = rows[order], np.bincount(number, inside, sizes.size).astype(np.intp)
    parts = parted(best_first[inside], in_head), parted(best_first[~inside], sizes - in_head)
    tied = int(np.maximum(in_head - n_candidates, 0).sum())
    return Shortlist(tuple(parts[0]), tuple(parts[1]), cut(scores, int(in_head.sum())), tied)


def _cuts(descending: Floats, sizes: Indices, n_candidates: int | None) -> Floats:
    """Least score of the ``n_candidates`` best rows of each list; the scores stand list by list, the largest first."""
    found = np.full(sizes.size, -math.inf)
    if n_candidates is not None:
        longer = sizes > n_candidates
        found[longer] = descending[(np.cumsum(sizes) - sizes)[longer] + n_candidates - 1]
    return found


def stack(first: Floats, head: Floats, is_head: NDArray[np.bool_], threshold: float, size: int) -> Floats:
    """One score for each row: tail rows keep that of the first stage, head rows get scores above all of these.

    ``g`` is increasing and positive, usually the score plus a constant. The reranking score ``h`` becomes ``g(h)``, or
    ``(1 + g(h)) * 2^k`` with ``2^k >= threshold`` if the threshold is positive. So the least head score is above the
    largest tail score for all data. ``size`` is the number of weights: rows inside the training range have reranking
    scores of at most this size.
    """
    if threshold == -math.inf:
        return head.copy()  # no row can be in the tail
    if threshold > MOST_SCORE:
        raise InputError(
            f"The first stage's scores reach {threshold:.3g}, and scores above them would overflow; divide them by a "
            "constant."
        )
    # Sums of a snapped score and a small power of two are exact, so no two different head scores become equal.
    shifted = head + 2.0 ** math.ceil(math.log2(size + 1))
    positive = np.where(shifted >= 1.0, shifted, 1.0 / (2.0 - np.minimum(shifted, 1.0)))
    if threshold > 0:
        lift = 2.0 ** math.ceil(math.log2(threshold))
        lift *= 2.0 if lift < threshold else 1.0  # log2 may round down at the last bit
        lift = max(lift, 2.0**-900)  # products with a smaller number are subnormal, and lose the order of the head
        positive = (1.0 + positive) * lift
    return np.where(is_head, positive, first)


def list_heads(
    first: Floats, qid: NDArray[np.generic] | None, n_candidates: int | None
) -> tuple[NDArray[np.bool_], float]:
    """Which rows are among the K best of their list, and the largest cut over the lists."""
    _, rows, sizes = flat_lists(qid, first.size)
    own = first[rows]
    cuts = _cuts(own[np.lexsort((-own, np.repeat(np.arange(sizes.size), sizes)))], sizes, n_candidates)
    is_head = np.zeros(first.size, dtype=bool)
    is_head[rows] = own >= np.repeat(cuts, sizes)
    return is_head, float(cuts.max(initial=-math.inf))


def joined(first: Floats, head: Floats, is_head: NDArray[np.bool_], size: int) -> Floats:
    """One score for each row: all head rows above all tail rows."""
    tail = first[~is_head]
    return stack(first, head, is_head, float(tail.max()) if tail.size else -math.inf, size)


LARGEST = 1e150  # largest number whose square is one


@dataclass(frozen=True, eq=False)
class Training:
    """The shortlist and the problem of ordering it."""

    problem: Problem | None  # None if there is nothing to reorder; ``nothing`` then says why
    shortlist: Shortlist
    features: Indices  # (p,), columns that vary on the shortlist, ascending
    rows: list[Any]  # what the user's table calls each row of the problem
    n_lists: int
    n_empty_lists: int
    info: ShortlistInfo
    nothing: str  # "", or the status of a fit that can change nothing: nothing_to_find, nothing_to_reorder
    counted: tuple[Indices, ...]  # rows of the data in each list that counts
    tied_tails: float  # what the value lacks of the statistic because it counts ties of the tails as lost

    def average(self, weights: Floats) -> float:
        """The statistic of weights with tied rows in the mean of their orders, where it counts ties so."""
        assert self.problem is not None
        return float(average_of(self.problem, weights)) + self.tied_tails


@dataclass(frozen=True, eq=False)
class _Heads:
    """The rows that are reordered, list by list, and what counts of them: what a problem is stated of."""

    data: Data
    task: Task
    scores: Floats | None  # of the first stage
    n_candidates: int | None
    short: Shortlist
    rows: Indices  # of the data
    sizes: Indices  # of the head of each list
    table: Floats  # (rows.size, d)
    lists: list[Sequence[RankedList]]  # what counts of each list, by places in ``rows``; nothing of some

    @classmethod
    def of(cls, data: Data, task: Task, scores: Floats | None, n_candidates: int | None) -> Self:
        """Cut the shortlist; an error if no list counts."""
        short = shortlist(scores, data.gains, data.qid, n_candidates)
        sizes, rows = np.array([head.size for head in short.heads]), np.concatenate(short.heads)
        first_rows = rows[np.cumsum(sizes) - sizes]
        lists = stated_lists(
            task.statistic,
            parted(np.arange(rows.size), sizes),
            parted(data.gains[rows], sizes),
            [data.gains[tail] if tail.size else NONE for tail in short.tails],
            data.missed or [NONE] * sizes.size,
            [1.0] * sizes.size if data.list_weight is None else data.list_weight[first_rows].tolist(),
        )
        if not any(lists):
            raise InputError(
                f"No list holds anything to order for {task.statistic.name}: each has relevant rows only or none; "
                "give lists that mix both."
            )
        return cls(data, task, scores, n_candidates, short, rows, sizes, data.X[rows], lists)

    @cached_property
    def weighed(self) -> list[RankedList]:
        """The lists that have a weight. A column may vary only in others: it changes no value, and has no range."""
        return [item for own in self.lists for item in own if item.weight > 0]

    @cached_property
    def range(self) -> tuple[Floats, Floats]:
        """Least and largest value of every column in the lists that have a weight."""
        return ends_of(self.table, rows_of(self.weighed, len(self.table)))

    @property
    def options(self) -> dict[str, Any]:
        """What every problem of these rows is asked."""
        return {
            "epsilon": self.task.margin or SMALLEST_DEFAULT,
            "C": self.task.C,
            "max_features": self.task.max_features,
            "quotas": _on_heads(groups_of(self.task.quota, self.data.kinds), self.short, self.rows),
        }

    @property
    def counted(self) -> tuple[Indices, ...]:
        """Rows of the data in each list that has a weight."""
        parts = zip(self.lists, self.short.heads, self.short.tails, strict=True)
        return tuple(
            np.concatenate([head, tail]) if tail.size else head
            for own, head, tail in parts
            if any(item.weight > 0 for item in own)
        )


@dataclass(frozen=True, eq=False)
class _Posed:
    """A problem, its columns, and the rows of the data in it, where it leaves some of the heads out."""

    problem: Problem | None
    features: Indices
    rows: Indices | None = None


def stated(data: Data, task: Task, first: Staged | None) -> tuple[Task, Training]:
    """Cut the shortlist, drop columns that are constant on it, and state the problem: with a radius that of correcting
    the first stage's scores, unless these are all equal. The task gets the number of rows reranked.
    """
    n_candidates = None if first is None or task.first_stage is None else task.candidates(data.longest_list)
    task = replace(task, n_candidates=n_candidates)
    heads = _Heads.of(data, task, None if first is None else first.scores, n_candidates)
    low, high = heads.range
    varying = np.flatnonzero(high > low).astype(np.intp)
    # Weights of the score that is corrected, where it is affine in the columns; it may be one of few columns.
    coef = None if task.radius is None or first is None else first.stage.weights_of(data.rows.columns)
    unused = varying[:0]
    if coef is not None and first is not None and top_of(first.stage.name) is not None:
        unused = varying[coef[varying] == 0]
    posed = _posed(heads, np.setdiff1d(varying, unused), coef)
    nothing = _nothing_in(heads, posed)
    return task, Training(
        problem=posed.problem,
        shortlist=heads.short,
        features=posed.features,
        rows=data.rows.labels(heads.rows if posed.rows is None else posed.rows),
        n_lists=len(heads.lists),
        n_empty_lists=sum(not own for own in heads.lists),
        info=_info(heads, posed, unused, nothing),
        nothing=nothing,
        counted=heads.counted,
        tied_tails=_tied_tails(data, task.statistic, heads.scores, heads.short),
    )


def _posed(heads: _Heads, features: Indices, coef: Floats | None) -> _Posed:
    """The problem of ``features``: of corrections, where a score that is not constant is corrected, or of weights."""
    data, task, scores = heads.data, heads.task, heads.scores
    options = heads.options
    if not features.size:
        return _Posed(None, features)
    if task.radius is not None and scores is not None and scores.min() < scores.max():
        posed = _corrections(heads, scores, features, coef, options)
    else:
        posed = _Posed(_of_weights(heads, features, options), features)
    if posed.problem is None or not task.constraints:
        return posed
    names, left_out = data.feature_names, data.rows.columns.left_out
    problem = constrained(posed.problem, posed.features, task.constraints, names, coef, left_out)
    return replace(posed, problem=problem)


def _of_weights(heads: _Heads, features: Indices, options: dict[str, Any]) -> Problem:
    """The problem of the weights of columns, and the margin in its units."""
    task = heads.task
    by_sum = task.normalise == "sum"
    if by_sum and task.margin is None:
        low, high = heads.range
        options["epsilon"] = smallest_by_sum(high[features] / 2 - low[features] / 2)
    table, signs = heads.table[:, features], task.signs[features]
    problem = Problem.build(table, heads.weighed, signs=signs, by_sum=by_sum, **options)
    if not task.by_score:
        return problem
    width = Fraction(float(problem.high[0])) - Fraction(float(problem.low[0]))
    return problem.with_epsilon(problem.epsilon.exact / width)


def _corrections(
    heads: _Heads, scores: Floats, features: Indices, coef: Floats | None, options: dict[str, Any]
) -> _Posed:
    """The problem of correcting scores; of one list in which the first places count, it has only the rows that
    corrections bring near them (:mod:`rerank.problem.reduced`). Deviations are of all training rows. ``coef`` are
    weights of an affine score.
    """
    data, task = heads.data, heads.task
    table = np.column_stack([scores, data.X[:, features]])
    spread = np.concatenate([deviations(scores[:, None]), data.spread[features]])
    used = heads.rows[np.concatenate([item.rows for item in heads.weighed])]
    low = table[used].min(axis=0)
    high = low + spread
    moving = np.flatnonzero(high[1:] > low[1:])
    columns = np.concatenate([[0], moving + 1])
    features, spread, low, high = features[moving], spread[columns], low[columns], high[columns]
    if not features.size:
        return _Posed(None, features)
    own = np.zeros(features.size) if coef is None else coef[features] * spread[1:] / spread[0]
    limits, table = _limits(float(task.radius or 0.0), own, task.signs[features]), table[:, columns]
    whole = data.qid is None and not data.missed and heads.rows.size == data.y.size
    if whole and np.abs(table).max() <= LARGEST and depth_of(task.statistic, data.y.size) is not None:
        options |= {"quotas": [quota.of(heads.rows[quota.rows]) for quota in options["quotas"]]}
        problem, rows = reduced_problem(table, data.gains, task.statistic, low, high, limits, **options)
        return _Posed(problem, features, rows)
    problem = Problem.build(table[heads.rows], heads.weighed, low=low, high=high, limits=limits, **options)
    return _Posed(problem, features)


def _info(heads: _Heads, posed: _Posed, unused: Indices, nothing: str) -> ShortlistInfo:
    """The counts of the shortlist; columns in ``unused`` vary, and the problem has no weights of them."""
    data, task = heads.data, heads.task
    n_duplicates, n_conflicts = (0, 0) if task.judged else _repeats(heads, posed)
    varying = {*unused.tolist(), *posed.features.tolist()}
    least = _least_candidates(data, task.statistic, heads.scores, int(heads.sizes.max())) if nothing else None
    return ShortlistInfo(
        n_candidates=heads.n_candidates,
        n_rows=data.y.size,
        n_head=int(heads.rows.size),
        n_positive=int(np.sum(data.gains > 0)),
        n_positive_head=int(np.sum(data.gains[heads.rows] > 0)),
        n_tied=heads.short.n_tied,
        n_duplicates=n_duplicates,
        n_conflicts=n_conflicts,
        n_features=int(posed.features.size),
        constant_features=tuple(name for j, name in enumerate(data.feature_names) if j not in varying),
        least_candidates=least,
    )


def _limits(radius: float, own: Floats, signs: NDArray[np.int8]) -> tuple[Floats, Floats]:
    """Smallest and largest weight of the score and of each correction, in its deviations. A sign is one of the total
    weight where the score is affine and has ``own`` weights, else of the correction. No correction is always allowed.
    """
    lower, upper = np.full(own.size, -radius), np.full(own.size, radius)
    lower = np.where(signs > 0, np.minimum(np.maximum(lower, -own), 0.0), lower)
    upper = np.where(signs < 0, np.maximum(np.minimum(upper, -own), 0.0), upper)
    return np.concatenate([[1.0], lower]), np.concatenate([[1.0], upper])


def _tied_tails(data: Data, statistic: RankStatistic, scores: Floats | None, short: Shortlist) -> float:
    """See :class:`Training`; 0 where the statistic counts ties so, too."""
    if scores is None or statistic.ties == "pessimistic" or not any(tail.size for tail in short.tails):
        return 0.0
    apart = np.unique(scores, return_inverse=True)[1].astype(np.float64)
    apart[short.rows] = apart.size + np.arange(short.rows.size)  # no ties in the heads
    return data.evaluate(statistic, apart) - data.evaluate(statistic, apart, "pessimistic")


def _on_heads(quotas: tuple[Quota, ...], short: Shortlist, head_rows: Indices) -> tuple[Quota, ...]:
    """The quotas on the rows of all heads, numbered through; none may look at places below a head with a tail."""
    shortest = min((head.size for head, tail in zip(short.heads, short.tails) if tail.size), default=None)
    for quota in quotas:
        if shortest is not None and quota.first > shortest:
            raise InputError(
                f"The quota '{quota}' looks at {quota.first} places, and {shortest} rows of a list are reranked; raise "
                f"n_candidates to {quota.first} or more, or ask for the first {shortest} or fewer."
            )
    return tuple(quota.of(np.flatnonzero(np.isin(head_rows, quota.rows))) for quota in quotas)


def _nothing_in(heads: _Heads, posed: _Posed) -> str:
    """Whether there is anything to reorder. Where rows are left out the order of the others matters, or the first
    stage's is as good as any.
    """
    if posed.problem is None or posed.rows is None:
        return _nothing(heads.weighed, posed.features.size, heads.task.statistic.by_order)
    (item,) = posed.problem.lists
    return _nothing([item], posed.problem.n_features - 1) if item.rows.size == heads.data.y.size else ""


def _nothing(lists: list[RankedList], n_features: int, by_order: bool = False) -> str:
    """The status if all orders of the heads have the same value, or ``""``."""
    if not by_order and not any(item.gains.max() > 0 for item in lists):
        return "nothing_to_find"
    gains, begins = np.concatenate([item.gains for item in lists]), np.cumsum([0, *(q.gains.size for q in lists)])[:-1]
    differ = np.flatnonzero(np.minimum.reduceat(gains, begins) < np.maximum.reduceat(gains, begins)).tolist()
    orders = any(lists[q].coefficients[0] < lists[q].coefficients[-1] for q in differ)
    return "" if orders and n_features else "nothing_to_reorder"


def _least_candidates(data: Data, statistic: RankStatistic, scores: Floats | None, n_candidates: int) -> int | None:
    """The smallest K above ``n_candidates`` with which two orders of the heads differ in value, if there is one."""
    if scores is None:
        return None
    _, rows, sizes = flat_lists(data.qid, data.y.size)
    number, begins = np.repeat(np.arange(sizes.size), sizes), np.cumsum(sizes) - sizes
    order = rows[np.lexsort((-scores[rows], number))]
    gains, earned = data.gains[order], by_size(lambda n: statistic.coefficients(n)[::-1], sizes)
    last, never = np.zeros(sizes.size, np.intp), rows.size
    for side in (gains, earned):  # the first place from which rows, and what places earn, differ from the first
        differs = np.where(side != side[begins][number], np.arange(rows.size), never)
        last = np.maximum(last, np.minimum.reduceat(differs, begins))
    weighs = np.ones(sizes.size, dtype=bool) if data.list_weight is None else data.list_weight[order[begins]] > 0
    some = (last < never) & weighs
    # Rows that share the score at the cut are in the head together.
    falls = np.r_[True, (np.diff(scores[order]) != 0) | (np.diff(number) != 0)]
    block = np.maximum.accumulate(np.where(falls, np.arange(rows.size), 0))
    least = int((block[last[some]] - begins[some]).min(initial=never)) + 1
    return least if n_candidates < least <= rows.size else None


def _repeats(heads: _Heads, posed: _Posed) -> tuple[int, int]:
    """Rows equal to an earlier one of their list, whatever the weights, and those of them whose gain is another."""
    table = heads.table[:, posed.features] if posed.problem is None else posed.problem.X
    gains, lists = heads.data.gains[heads.rows], np.repeat(np.arange(heads.sizes.size), heads.sizes)
    if posed.problem is not None and posed.rows is not None:
        (item,) = posed.problem.lists
        gains, lists = item.gains, np.zeros(item.rows.size, dtype=np.intp)
    groups = duplicates(table, qid=lists) if table.shape[1] else []
    conflicts = sum(int(np.sum(gains[group] != gains[group[0]])) for group in groups)
    return sum(len(group) - 1 for group in groups), conflicts


def fitted_scores(data: Data, training: Training, scores: Floats | None, w: Floats) -> Floats:
    """Score of every training row: head above tail in each list."""
    problem = training.problem
    assert problem is not None
    table = data.X[:, training.features]
    if problem.anchored:
        table = np.column_stack([scores, table])  # type: ignore[list-item]
    head = snapped_scores(table, problem.low, problem.high, w)
    if scores is None:
        return head
    is_head = np.zeros(scores.size, dtype=bool)
    is_head[training.shortlist.rows] = True
    return joined(scores, head, is_head, w.size)


def theorem_of(problem: Problem | None) -> str:
    """Whether Subrank and ResolvedRank provably share their optimum here, told; "" where neither states it."""
    if problem is None or problem.rows or not problem.directions_count:
        return ""
    if np.bincount(np.concatenate([item.rows for item in problem.lists])).max() > 1:  # pairs of more than two labels
        return ""
    lists = np.zeros(problem.X.shape[0], dtype=np.intp)
    for number, item in enumerate(problem.lists):
        lists[item.rows] = number + 1
    return str(theorem_applies(problem.X, problem.C, problem.max_features, qid=lists))


def _given_weights(given: Any, names: Sequence[str]) -> Floats:
    """Weights of the columns, by name or one for each."""
    if isinstance(given, Mapping):
        if unknown := [name for name in given if name not in names]:
            raise InputError(
                f"start names the column {unknown[0]!r}; did you mean {nearest(str(unknown[0]), names)!r}? A column "
                "without a weight has 0."
            )
        given = [given.get(name, 0.0) for name in names]
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.empty(0)
    if weights.shape != (len(names),) or not np.isfinite(weights).all():
        raise InputError(
            f"start is {str(given)[:60]}; it must be a mapping from columns to weights, or a finite weight for each of "
            f"the {len(names)} columns."
        )
    return weights


def start_weights(
    problem: Problem, data: Data, training: Training, stage: FirstStage | None, given: Any = None
) -> Floats | None:
    """Weights to start from, scaled and within signs, limits and support; None if there are none. Those of an affine
    first stage, in anchored problems no correction, or ``given`` in the table's units as ``coef_`` has them.
    """
    columns = data.rows.columns
    chosen = columns.chosen[training.features]
    own = None if stage is None else stage.coef_in(columns)
    coef = own if given is None else _given_weights(given, columns.names)
    if problem.limits is not None:
        if given is None or coef is None:
            return problem.unchanged
        change = (coef if own is None else coef - own)[chosen]
        spread = problem.high - problem.low
        w = np.clip(np.r_[1.0, change * (spread[1:] / spread[0])], *problem.limits)
        if problem.max_features is not None:
            w[1 + np.argsort(-np.abs(w[1:]), kind="stable")[problem.max_features :]] = 0.0
        return w
    if coef is None:
        return None
    half = problem.high / 2 - problem.low / 2  # only the ratios count, and twice that may be infinite
    w = coef[chosen] * half
    w = np.where(problem.signs > 0, np.maximum(w, 0), np.where(problem.signs < 0, np.minimum(w, 0), w))
    if problem.max_features is not None:
        w[np.argsort(-np.abs(w), kind="stable")[problem.max_features :]] = 0.0
    return normalised(w)
