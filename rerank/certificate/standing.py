"""Who stands where by exact scores: doubles of a known error decide all but the close cases, integers these."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rerank.certificate.lists import counted_pairs, exact_scores, refuse_gaps
from rerank.problem import Problem
from rerank.problem.lists import Floats, Indices, rows_of
from rerank.ranks.positions import dense_codes, ordered

UNIT = 2.0**-53  # relative rounding error of one operation
SAFE = 2.0**900  # sizes between its inverse and this neither overflow nor vanish


@dataclass(frozen=True, eq=False)
class ExactOrder:
    """The order of all rows by weights, and which pairs reach the margin, exactly.

    Attributes
    ----------
    codes : intp array (n,)
        Place of each row's score among the distinct ones, from 0 up; 0 for rows in no list.
    reached : intp array (n,)
        The first code that the row does not beat by the margin: ``s_i - s_k`` is below it from there on.
    """

    problem: Problem
    weights: Floats
    codes: Indices
    reached: Indices
    row: Indices  # a row for each code,
    near: Floats  # and its score, up to `error`
    error: float

    def smallest(self, upper: Indices, lower: Indices) -> Fraction | None:
        """The smallest difference of scaled scores between codes, pair by pair; None without a pair."""
        if not upper.size:
            return None
        apart = self.near[upper] - self.near[lower]
        some = ~(apart > apart.min() + 4 * self.error)
        pairs = np.unique(np.column_stack([upper[some], lower[some]]), axis=0)
        scores, unit = exact_scores(self.problem, self.weights, self.row[pairs.ravel()])
        return Fraction(min((scores[::2] - scores[1::2]).tolist()), unit)


def standing(problem: Problem, weights: Floats, margin: Fraction) -> ExactOrder:
    """The order by weights in scaled space; pairs count from a difference of ``margin`` on.

    InputError for a missing or infinite value where it counts.
    """
    used, codes = rows_of(problem.lists, len(problem.X)), np.zeros(len(problem.X), dtype=np.intp)
    refuse_gaps(problem, weights, used)
    scores, error = _rounded(problem, weights, used)
    order, ascending, new = ordered(scores)
    # Rows closer than twice the error to a neighbour are told apart exactly.
    apart = np.diff(ascending) > 2.1 * error
    chain, close = np.cumsum(np.append(0, apart)), ~np.append(True, apart) | ~np.append(apart, True)
    if (asked := np.flatnonzero(close)).size:
        exactly, chain = _exact_codes(problem, weights, used[order[asked]]), chain[asked]
        by_score = np.lexsort((exactly, chain))
        again = asked[by_score]
        order[asked], ascending[asked], exactly = order[again], ascending[again], exactly[by_score]
        new[asked] = np.append(True, (chain[1:] != chain[:-1]) | (exactly[1:] != exactly[:-1]))
    codes[used[order]] = np.cumsum(new) - 1
    row, near, reached = used[order[new]], ascending[new], np.zeros(len(problem.X), dtype=np.intp)
    reached[used] = _reached(problem, weights, row, near, error, margin)[codes[used]]
    return ExactOrder(problem, weights, codes, reached, row, near, error)


def average_of(problem: Problem, weights: Floats) -> Fraction:
    """Exact statistic with tied rows in the mean of their orders, where every pair counts for itself (AUC)."""
    codes = standing(problem, weights, problem.epsilon.exact * problem.norm(weights)).codes
    found = counted_pairs(problem, codes, codes + 1)
    return (found.value + found.statistic) / 2


def _rounded(problem: Problem, weights: Floats, rows: Indices) -> tuple[Floats, float]:
    """Scaled scores of rows up to a constant, and a bound on their error; infinite where none is known."""
    support, total, size = np.flatnonzero(weights), np.zeros(rows.size), np.zeros(rows.size)
    if not support.size:
        return total, 0.0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        factors = weights[support] / (problem.high - problem.low)[support]
    if not ((np.abs(factors) > 1 / SAFE) & (np.abs(factors) < SAFE)).all():
        return total, np.inf
    for j, factor in zip(support.tolist(), factors.tolist()):
        with np.errstate(over="ignore", invalid="ignore"):
            term = problem.X[rows, j] * factor
            total += term
            size += np.abs(term, out=term)
    largest = float(size.max())
    if not 1 / SAFE < largest < SAFE:
        return np.zeros(rows.size), np.inf
    # Each factor is off by two units of what is added up, a product and a sum by one; doubled for the sizes' rounding.
    return total, 2 * (support.size + 4) * UNIT * largest


def _exact_codes(problem: Problem, weights: Floats, rows: Indices) -> Indices:
    """Places of exact scores among each other; equal rows are looked at once."""
    if not rows.size:
        return np.empty(0, np.intp)
    table = problem.X[np.ix_(rows, np.flatnonzero(weights))] + 0.0
    order = np.lexsort(table.T) if table.shape[1] else np.arange(rows.size)
    first = np.ones(rows.size, dtype=bool)
    first[1:] = (table[order[1:]] != table[order[:-1]]).any(axis=1)
    codes = np.empty(rows.size, dtype=np.intp)
    codes[order] = dense_codes(exact_scores(problem, weights, rows[order[first]])[0])[1][np.cumsum(first) - 1]
    return codes


def _reached(problem: Problem, weights: Floats, row: Indices, near: Floats, error: float, margin: Fraction) -> Indices:
    """For each code the first one that it does not beat by the margin."""
    count = row.size
    if margin == 0:  # equal scores are not beaten
        return np.arange(count)
    surely, perhaps = np.zeros(count, np.intp), np.full(count, count)
    if np.isfinite(error):
        ends = np.maximum.accumulate(near + error), np.minimum.accumulate((near - error)[::-1])[::-1]
        beaten = near - float(margin)
        # The margin, the difference and the ends of the line are rounded, too.
        slack = error + 4 * UNIT * (float(np.abs(near).max()) + float(margin) + error)
        surely = np.searchsorted(ends[0], beaten - slack, side="right")
        # That is most often the same place.
        some = np.flatnonzero((surely < count) & (ends[1][np.minimum(surely, count - 1)] <= beaten + slack))
        perhaps = surely.copy()
        perhaps[some] = np.searchsorted(ends[1], beaten[some] + slack, side="right")
    open_ = np.flatnonzero(surely < perhaps)
    if open_.size:
        marks = np.bincount(surely[open_], minlength=count + 1) - np.bincount(perhaps[open_], minlength=count + 1)
        asked = np.flatnonzero(np.cumsum(marks)[:-1])  # codes that lie between
        scores, unit = exact_scores(problem, weights, row[np.append(asked, open_)])
        whole = -((-margin.numerator * unit) // margin.denominator)  # rounded up
        below = np.searchsorted(scores[: asked.size], scores[asked.size :] - whole, side="right")
        surely[open_] += below - np.searchsorted(asked, surely[open_])
    return surely
