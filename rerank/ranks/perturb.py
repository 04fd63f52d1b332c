r"""Equal rows found, merged or moved apart; small changes of weights that break ties; when Subrank is enough.

Rows that agree on every feature with a weight have equal scores whatever those weights are.  Lemma 2 of
[RudinWang2018] moves weights so that all other ties break and no strict order changes; its hypothesis must be read
as "no two rows equal *on the support of the weights*".

>>> from rerank.ranks.perturb import duplicates, perturb_weights
>>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 5.0]]
>>> [group.tolist() for group in duplicates(X, support=[0])]
[[2, 3]]
>>> w = perturb_weights([1.0, 1.0], X, random_state=0)     # rows 0 and 1 were tied, below row 2, below row 3
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.random import Generator, RandomState
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InputError
from rerank.io.arrays import check_matrix, check_qid
from rerank.io.options import real, source
from rerank.ranks.lists import number_lists
from rerank.ranks.positions import BINARY_PLACES, Indices, affine, lost_counts, snap, value_of_lost
from rerank.ranks.row_gains import Floats

__all__ = ["Merged", "Verdict", "duplicates", "merge_duplicates", "perturb_rows", "perturb_weights", "theorem_applies"]

Seed = int | Generator | RandomState | None

# Random draws before giving up: one is enough unless a moved row meets another, or rounding to doubles undoes it.
DRAWS = 50
LEMMA_DRAWS = 10  # how many of the random directions keep to the lemma's own step

_SENTENCE = "an optimum of the Subrank program is one of the ResolvedRank program, for a margin small enough"


def duplicates(X: ArrayLike, support: ArrayLike | None = None, qid: ArrayLike | None = None) -> list[Indices]:
    """Groups of rows that are equal, exactly, on the support: whatever the weights, their scores are tied.

    Other rows are tied or not as their scores are, which are rounded (:func:`rerank.ranks.positions.snap`).

    Parameters
    ----------
    X : array (n, d)
    support : array of feature indices, or bool array (d,), optional
        Features to compare; all of them if omitted.
    qid : array (n,), optional
        List of each row; rows of different lists are never compared.

    Returns
    -------
    list of int arrays
        Row indices of each group of two or more, ascending; groups in order of their first row.
    """
    chosen = check_matrix(X)
    if support is not None:
        own = np.asarray(support)
        chosen = chosen[:, own if own.dtype == bool else own.astype(np.intp)]
    n = chosen.shape[0]
    lists = np.zeros(n, np.intp) if qid is None else number_lists(check_qid(qid, n))[1]
    rows = np.arange(n)
    if chosen.shape[1]:  # of rows that differ in the first column no two are equal
        ascending = np.sort(chosen[:, 0])
        twice = ascending[1:][ascending[1:] == ascending[:-1]]
        rows = np.flatnonzero(np.isin(chosen[:, 0], twice)) if twice.size else rows[:0]
    order = rows[np.lexsort((*chosen[rows].T, lists[rows]))]
    differs = (lists[order[1:]] != lists[order[:-1]]) | np.any(chosen[order[1:]] != chosen[order[:-1]], axis=1)
    starts = np.concatenate([[0], np.flatnonzero(differs) + 1, [order.size]])
    several = np.flatnonzero(np.diff(starts) > 1)
    groups = [np.sort(order[starts[i] : starts[i + 1]]) for i in several]
    return sorted(groups, key=lambda group: int(group[0]))


@dataclass(frozen=True, eq=False)
class Merged:
    """One row for each group of interchangeable rows.

    Attributes
    ----------
    rows : int array
        The rows kept, ascending: the first of each group and every row that equals no other.
    counts : int array
        How many rows each kept row stands for.
    groups : list of int arrays
        The groups that were merged.
    conflicts : list of int arrays
        Groups of equal rows with different labels.  They are all kept: no weights can tell them apart, and the data
        do not say which label is right.
    """

    rows: Indices
    counts: Indices
    groups: list[Indices]
    conflicts: list[Indices]

    def __str__(self) -> str:
        merged = sum(group.size - 1 for group in self.groups)
        text = f"{merged} rows merged into {len(self.groups)} others"
        if self.conflicts:
            first = ", ".join(map(str, self.conflicts[0][:5]))
            text += f"; {len(self.conflicts)} groups of equal rows have different labels (rows {first} are one)"
        return text


def merge_duplicates(X: ArrayLike, y: ArrayLike, qid: ArrayLike | None = None) -> Merged:
    """Merge rows of a list that agree on every feature and on the label; report those that differ in the label.

    Parameters
    ----------
    X : array (n, d)
    y : array (n,)
    qid : array (n,), optional

    Returns
    -------
    Merged
        ``X[merged.rows]``, ``y[merged.rows]`` are the merged data, ``merged.counts`` their multiplicity.
    """
    data, labels = check_matrix(X), np.asarray(y)
    if labels.shape != (data.shape[0],):
        raise InputError(f"There are {data.shape[0]} rows and labels of shape {labels.shape}; give one per row.")
    equal = duplicates(data, qid=qid)
    conflicts = [group for group in equal if np.unique(labels[group]).size > 1]
    groups = [group for group in equal if np.unique(labels[group]).size == 1]
    counts = np.ones(data.shape[0], np.intp)
    for group in groups:
        counts[group[0]], counts[group[1:]] = group.size, 0
    rows = np.flatnonzero(counts)
    return Merged(rows, counts[rows], groups, conflicts)


def perturb_rows(
    X: ArrayLike,
    size: float | None = None,
    epsilon: float = 1e-4,
    *,
    qid: ArrayLike | None = None,
    random_state: Seed = None,
) -> Floats:
    """A copy of the data in which equal rows are moved apart, far enough for their scores to differ by epsilon.

    Each column of a group of m equal rows is spread evenly over ``2 * size`` of the column's range, in an order of
    its own and without leaving the range.  So the rows differ by at least epsilon in *every* column that is not
    constant, and can be told apart under any support.  A smaller move would make things worse: a difference below
    epsilon is counted lost by Subrank and is infeasible for ResolvedRank.

    Parameters
    ----------
    X : array (n, d)
    size : float, optional
        Half of the spread, as a share of the column's range; the least allowed, ``epsilon (m - 1) / 2`` for the
        largest group, if omitted.
    epsilon : float
        Margin, in units of the scaled score.
    qid : array (n,), optional
        Equal rows of different lists are left alone.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    float64 array (n, d)
        Rows that equal no other row are unchanged.

    Raises
    ------
    InputError
        When ``size`` is too small or above 1/2, when all columns are constant, or when a column's values are too
        large for its range to be divided so finely in double precision.
    """
    data = check_matrix(X).copy()
    groups = duplicates(data, qid=qid)
    if not groups:
        return data
    spread = _spread(max(group.size for group in groups), size, epsilon)
    low, high = data.min(axis=0), data.max(axis=0)
    moving = np.flatnonzero(high > low)
    if moving.size == 0:
        raise InputError("All rows are equal: there is no column whose range could say how far to move them.")
    rng = source(random_state)
    for _ in range(DRAWS):
        moved = data.copy()
        for group in groups:
            for j in moving:
                width = spread * (high[j] - low[j])
                centre = min(max(float(data[group[0], j]), low[j] + width), high[j] - width)
                places = centre + width * rng.permutation(np.linspace(-1, 1, group.size))
                moved[group, j] = np.clip(places, low[j], high[j])
        if not duplicates(moved, qid=qid) and _apart(moved, groups, moving, epsilon):
            return moved
    raise InputError(
        "The moved rows meet other rows, or are not a margin apart in double precision; choose a larger size, or "
        "subtract a constant from columns whose values are large against their range."
    )


def _spread(largest: int, size: float | None, epsilon: float) -> float:
    least = real("The margin epsilon", epsilon, 0.0, positive=True) * (largest - 1) / 2
    if epsilon < 2.0 ** (1 - BINARY_PLACES):  # twice the step of rounding: no shift of both scores makes them equal
        raise InputError(
            f"The margin epsilon is {epsilon:g}, and scores are rounded to 2^-{BINARY_PLACES} before they are "
            "compared, so the moved rows could still be tied; give 2e-12 or more."
        )
    size = least if size is None else size
    if not least <= size <= 0.5:
        raise InputError(
            f"A size of {size:g} of the range was asked for; {largest} equal rows need at least {least:.6g} for their "
            f"scores to differ by {epsilon:g}, and at most 0.5 stays in the range; merge them if that is too much."
        )
    # Slightly above the least spacing, so that rounding to doubles does not take it below epsilon.
    return min(size * (1 + 1e-9) + 2.0**-50 * (largest - 1), 0.5)


def _apart(moved: Floats, groups: list[Indices], moving: Indices, epsilon: float) -> bool:
    """Rows of a group at least epsilon apart in every moving column, in units of its new range: exactly."""
    for j in moving:
        least = Fraction(epsilon) * (Fraction(moved[:, j].max()) - Fraction(moved[:, j].min()))
        for group in groups:
            places = [Fraction(value) for value in np.sort(moved[group, j])]
            if any(above - below < least for below, above in itertools.pairwise(places)):
                return False
    return True


def perturb_weights(w: ArrayLike, X: ArrayLike, random_state: Seed = None) -> Floats:
    r"""Weights near ``w`` that keep every strict order of scores and break every tie [RudinWang2018, Lemma 2].

    A tie is what it is wherever rows are ranked: scores are rounded to 2^-40 before they are compared
    (:func:`rerank.ranks.positions.snap`), so that the rounding of a sum orders nothing.  With K the support of ``w``,
    u a random unit vector on K, and

    * margin = the smallest positive difference of two rounded scores (left out when all are tied),
    * nu = the smallest ``|w_j|`` on K, X_max = the largest ``|x_ij|``, d the number of features,
    * eta = min(margin / (2 X_max sqrt(d)), nu),

    the result is ``w + delta u`` for some ``0 < delta < eta``, divided by its largest entry if that leaves the box
    ``|w_j| <= 1`` or if ``max|w_j|`` was exactly 1.  It is returned only after a check that its rounded scores keep
    what they should and are all different.  Where so short a step is lost in rounding, longer ones are tried and
    checked in the same way.

    Parameters
    ----------
    w : array (d,)
        Weights in [-1, 1], not all 0.
    X : array (n, d)
        Rows to be scored, in the space of ``w``: as the weights of a fit ask for features scaled to [0, 1].
    random_state : int, Generator, RandomState or None

    Returns
    -------
    float64 array (d,)
        ``w`` itself when it has no tie.

    Raises
    ------
    InputError
        When ``w`` is 0 or outside the box, when two rows coincide on its support (naming them), or when rows are so
        close that no weights near ``w`` give them different scores.
    """
    data, weights = check_matrix(X), np.array(w, dtype=np.float64)
    if weights.shape != (data.shape[1],) or not np.isfinite(weights).all():
        raise InputError(f"Weights of shape {weights.shape} were given; {data.shape[1]} finite numbers are needed.")
    if np.abs(weights).max(initial=0.0) > 1:
        raise InputError("A weight is larger than 1 in size; divide the weights by the largest.")
    support = np.flatnonzero(weights)
    if not support.size:
        raise InputError("All weights are 0, so all rows are tied and the lemma does not apply; give one a value.")
    for i, k, *_ in duplicates(data, support):
        raise InputError(
            f"Rows {i} and {k} are equal on the {support.size} features with a weight, so no change of these weights "
            "breaks their tie; merge them, or give weight to a feature in which they differ."
        )
    scores = snap(affine(data, weights))
    order = np.argsort(scores, kind="stable")
    gaps = np.diff(scores[order])
    if gaps.all():
        return weights
    smallest = float(np.abs(weights[support]).min())
    size = 2 * float(np.abs(data).max()) * math.sqrt(data.shape[1])
    eta = min(float(gaps[gaps > 0].min(initial=math.inf)) / size if size else math.inf, smallest)
    rng = source(random_state)
    for draw in range(DRAWS):
        # eta is safe for rows anywhere in the box. Where it is lost in rounding, a longer step may still keep the order
        # of the given rows; the check decides.
        longest = min(eta * 4.0 ** max(0, draw - LEMMA_DRAWS), smallest)
        direction = rng.standard_normal(support.size)
        moved = weights.copy()
        moved[support] += longest * rng.uniform(0.25, 0.75) * direction / np.linalg.norm(direction)
        largest = float(np.abs(moved).max())
        if largest > 1 or np.abs(weights).max() == 1:
            moved = moved / largest
        if np.array_equal(np.sign(weights), np.sign(moved)):
            new = snap(affine(data, moved))
            by_new = np.argsort(new, kind="stable")
            if np.all(np.diff(new[by_new]) > 0) and np.all(np.diff(scores[by_new]) >= 0):
                return moved
    i, k = order[np.flatnonzero(gaps == 0)[0] :][:2]
    raise InputError(
        f"Rows {i} and {k} are among the ties, and no weights were found near these that break all ties and keep every "
        "order of scores rounded to 2^-40; scale the features to [0, 1], or merge rows that differ by rounding only."
    )


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
    """Whether the data alone show that Subrank finds a ResolvedRank optimum: Theorem 4.2 of [RudinWang2018] corrected.

    With ``O_RR(w) = sum of a at the ResolvedRanks - C |w|_0`` and ``O_Sub`` likewise, ``O_Sub <= O_RR`` always
    (Lemma 1) and, where some maximiser of ``O_RR`` has ``O_Sub = O_RR``, every maximiser of ``O_Sub`` maximises
    ``O_RR`` (Theorem 4.1).  Such a maximiser can be had by breaking ties (Lemma 2) only if the ties can be broken
    without paying for, or being refused, another feature:

    * C = 0 and no support limit: no two rows of a list may be equal.
    * C = 0 with a support limit: no two rows of a list may share a value in any column, for the limit may leave one
      column.  (w = 0 needs no care: any tie-free order does at least as well.)
    * C > 0: the same, *and* w = 0 must not be the only maximiser, because its tie is broken by no perturbation.

    "No duplicate rows", the published hypothesis, is enough in the first case alone.

    Parameters
    ----------
    X : array (n, d)
    C : float
        Penalty for a feature.
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
        raise InputError(f"The penalty C of a feature is {C}; it must be 0 or a positive number.")
    if max_features is not None and max_features >= data.shape[1]:
        max_features = None
    for i, k, *_ in duplicates(data, qid=qid):
        reason = f"Rows {i} and {k} are equal, so no weights break their tie: merge or report them."
        return Verdict(False, reason, (int(i), int(k)))
    if C == 0 and max_features is None:
        return Verdict(True, f"No two rows are equal, C is 0 and any feature may be used: {_SENTENCE}.")
    cost = f"C = {C:g}" if C > 0 else f"at most {max_features} features"
    for j in range(data.shape[1]):
        for i, k, *_ in duplicates(data, [j], qid=qid):
            reason = f"Rows {i} and {k} agree in column {j} and, with {cost}, no other column need be used"
            return Verdict(False, f"{reason}: after a fit compare the rows on its support.", (int(i), int(k)))
    if C == 0:
        return Verdict(True, f"No two rows share a value in any column: {_SENTENCE}, whatever the support.")
    if coefficients is None or y is None:
        reason = f"With {cost} the optimum may be w = 0, whose tie nothing breaks: the theorem holds if it is not."
        return Verdict(False, reason)
    return _priced(data, C, np.asarray(coefficients, dtype=np.float64), np.asarray(y, dtype=bool))


def _priced(data: Floats, C: float, a: Floats, positive: NDArray[np.bool_]) -> Verdict:
    """The case C > 0 of :func:`theorem_applies` with all columns distinct, where only w = 0 can be in the way."""
    if a.shape != positive.shape or a.size != data.shape[0]:
        raise InputError(
            f"{data.shape[0]} rows need as many coefficients and labels; got {a.size} and {positive.size}."
        )
    p = int(positive.sum())
    nothing = math.fsum(a[:p])
    if p and a[p - 1] == a[0]:
        return Verdict(True, f"No two rows share a value in any column, and a tie of all earns nothing: {_SENTENCE}.")
    for j in range(data.shape[1]):
        for column in (data[:, j], -data[:, j]):
            # The slack keeps a rounded sum from deciding a tie in favour of the theorem.
            if value_of_lost(lost_counts(column, positive), a) - C > nothing + 1e-12 * abs(nothing):
                reason = f"No two rows share a value in any column, and feature {j} beats w = 0: {_SENTENCE}."
                return Verdict(True, reason)
    return Verdict(False, f"With C = {C:g} no single feature beats w = 0, whose tie nothing breaks.")
