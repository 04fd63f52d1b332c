"""Which problems are searched by rows: those with too many pairs, of which most decide no place that counts."""

import numpy as np
from numpy.typing import NDArray

from rerank.problem import Problem

FROM_PAIRS = 200_000  # pairs from which a search may be one by rows
LINES_FROM_PAIRS = 5_000  # pairs from which lines of at least :data:`SMOOTH` features are searched by rows

SMOOTH, SMOOTH_LISTS, SOME_LISTS = 6, 4, 10
"""Features from which a climb by rows begins with a smooth one: of up to so many lists, which boxes close, of more."""

FEW_LISTS = 200  # up to which lists count as few

LONG = 40
"""Pairs for each row from which lists count as long: on short lists the boxes of pairs are tighter and no slower."""

MOST_PAIRS = 5_000_000
"""Pairs from which boxes of short lists are searched by rows, too, and lists of which very many places count."""

MOST_STEPS, MOST_DIFFERENCES = 4_000_000, 50_000
"""Pairs of a list of which an eighth, and a half, of the places count, up to which each step of a line is looked at."""


def lines_by_rows(problem: Problem) -> bool:
    """Whether lines are searched by rows: many pairs, and most places earn nothing or features are not few."""
    smooth = problem.n_features >= smooth_from(len(problem.lists))
    return not problem.by_sum and (_long(problem) or (smooth and number_of_pairs(problem) > LINES_FROM_PAIRS))


def rough(problem: Problem) -> bool:
    """Whether lines have too many steps to look at each: a long list of which very many places count."""
    for unit in problem.units:
        rows, places = unit.coefficients.size, int(np.count_nonzero(unit.coefficients))
        steps = last_hit(unit.hits) * unit.negative.size
        if 8 * places > rows and steps > (MOST_DIFFERENCES if 2 * places > rows else MOST_STEPS):
            return True
    return False


def by_rows(problem: Problem, supports: bool = False) -> bool:
    """Whether boxes are searched by rows, too: long lists, too many pairs for a table, or for each of many supports.
    Where the first hit alone counts, nearly all rows leave a box soon, and rows are better on short lists, too.
    """
    many = number_of_pairs(problem) > min(LONG * _rows(problem), MOST_PAIRS)
    return _long(problem) and (supports or many or problem.weighs_hits)


def rows_alone(problem: Problem, points: bool = False, proof: bool = False) -> bool:
    """Whether a search holds no pairs at all; ``points`` are good weights without a bound. A proof is one by pairs."""
    if proof or problem.by_sum:  # whose margin differs from point to point
        return False
    if by_rows(problem, problem.max_features is not None or problem.C > 0):
        return True
    # Where no bound is asked for, good weights are found by rows: lines by rows cost less.
    return points and number_of_pairs(problem) > LINES_FROM_PAIRS and (_few_places(problem) or rough(problem))


def too_many(problem: Problem, pairs: int) -> bool:
    """Whether rows are better than so many different pairs of a list of which very many places count: bounds by rows
    are there in the seconds that a table of the pairs takes.
    """
    return pairs > MOST_PAIRS and rough(problem)


def smooth_from(lists: int) -> int:
    """Features from which a climb by rows begins with a smooth one."""
    return SMOOTH if lists <= SOME_LISTS else SMOOTH_LISTS


def _long(problem: Problem) -> bool:
    return number_of_pairs(problem) > FROM_PAIRS and _few_places(problem)


def _few_places(problem: Problem) -> bool:
    places = 0
    for unit in problem.units:
        hits = problem.lists[unit.list_index].hits
        earning = int(np.count_nonzero(unit.coefficients))
        places += earning if hits is None else min(earning, last_hit(hits))
    return 2 * places <= _rows(problem)


def number_of_pairs(problem: Problem) -> int:
    """Pairs of all lists."""
    return sum(unit.positive.size * unit.negative.size for unit in problem.units)


def last_hit(hits: NDArray[np.int64]) -> int:
    """How many of the best relevant rows can earn something, by the weights of hits."""
    return int(np.flatnonzero(hits).max(initial=-1)) + 1


def _rows(problem: Problem) -> int:
    return sum(unit.positive.size + unit.negative.size for unit in problem.units)
