"""Constraints as a person writes them, and the rows on scaled weights that say the same, exactly; counts of quotas.

In a free problem a row is one on the weights of the columns. In an anchored one it is a row on the total weights where
the prior is affine in the columns, else on the corrections, both in units of the first stage's score. Quotas are
counted over all rows of a training list, tied rows against the quota.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from rerank.errors import InfeasibleError, InputError
from rerank.problem import Problem, Quota, WeightRow
from rerank.problem.lists import Floats, Indices
from rerank.problem.rows import WrittenRow
from rerank.search.domain import check_room


def texts_of(constraints: Any) -> tuple[str, ...]:
    """The constraints as texts; one alone may be given by itself."""
    given = [constraints] if isinstance(constraints, str) else constraints
    if not isinstance(given, Sequence) or not all(isinstance(text, str) for text in given):
        raise InputError(
            f"constraints is {constraints!r}; it must be a list of texts such as 'age >= 2 * income', by column names."
        )
    return tuple(given)


def constrained(
    problem: Problem,
    features: Indices,
    texts: Sequence[str],
    names: Sequence[str],
    coef: Floats | None,
    left_out: Sequence[str] = (),
) -> Problem:
    """The problem with its constraints, refused where they leave no room or compare free weights with a number. The
    columns ``features`` (p,) of ``names`` are those of the problem; others weigh 0, or as in an affine prior's
    ``coef``.
    """
    written = [WrittenRow.read(text, names, left_out) for text in texts]
    rows = [part for row in written for part in _rows(problem, features, row, names, coef)]
    found = replace(problem, rows=tuple(rows))
    try:
        check_room(found)
    except InfeasibleError as error:
        raise InfeasibleError(" ".join([str(error), *idle(texts, features, names, problem.anchored)])) from error
    return found


def idle(texts: Sequence[str], features: Indices, names: Sequence[str], anchored: bool) -> list[str]:
    """A sentence on columns of constraints that are not among the ``features`` (p,) and so have no weight, if any."""
    used = dict.fromkeys(j for text in texts for j in WrittenRow.read(text, names).coefficients)
    still = [repr(names[j]) for j in used if j not in features]
    if not still:
        return []
    be, get = ("is", "gets") if len(still) == 1 else ("are", "get")
    why = f"{get} no correction" if anchored else f"{be} constant on the rows that count and {get} no weight"
    told = "corrections" if anchored else "weights"
    return [f"In the constraints {', '.join(still)} {why}: what is said of all {told} is said of such {told}."]


def _rows(
    problem: Problem, features: Indices, row: WrittenRow, names: Sequence[str], coef: Floats | None
) -> list[WeightRow]:
    """The rows on scaled weights, none if all of them satisfy it; by sum a side counts as often as the sum is 1."""
    if problem.by_sum:
        none, sides = Fraction(0), [side for side in (row.lower, row.upper) if side is not None]
        moved = [tuple(row.coefficients.get(int(j), none) - side for j in features) for side in sides]
        ends = [(none, None)] * (row.lower is not None) + [(None, none)] * (row.upper is not None)
        return [WeightRow(parts, low, high, row.text) for parts, (low, high) in zip(moved, ends)]
    if not problem.anchored and {row.lower, row.upper} - {None, 0}:
        raise InfeasibleError(
            f"The constraint {row.text!r} compares free weights with a number other than 0, and they have no scale: "
            "only their ratios count; write 0 on one side, set normalise='sum' for weights of sum 1, or give a radius, "
            "with which weights are in units of the first stage's score."
        )
    spans = [Fraction(float(b)) - Fraction(float(a)) for a, b in zip(problem.low, problem.high, strict=True)]
    scales = spans[1:] if problem.anchored else spans
    unit = spans[0] if problem.anchored else Fraction(1)
    own = [row.coefficients.get(int(j), Fraction(0)) * unit / scale for j, scale in zip(features, scales, strict=True)]
    if not problem.anchored:
        return [WeightRow(tuple(own), row.lower, row.upper, row.text)] if any(own) else []
    fixed = Fraction(0)
    if coef is not None:
        fixed = sum((a * Fraction(float(coef[j])) for j, a in row.coefficients.items()), fixed)
    found = WeightRow((fixed, *own), row.lower, row.upper, row.text)
    if any(own):
        return [found]
    if not found.keeps(problem.unchanged):
        columns = ", ".join(repr(names[j]) for j in row.coefficients)
        raise InfeasibleError(
            f"The constraint {row.text!r} asks for other weights than the first stage has, and its columns ({columns}) "
            "do not vary on the shortlist, so that nothing corrects them; leave it out."
        )
    return []


def first_stage_keeps(problem: Problem, texts: Sequence[str], names: Sequence[str], coef: Floats | None) -> str | None:
    """The first constraint that a first stage, by its ``coef`` where it is affine, does not satisfy; None if all."""
    if problem.anchored:
        return next((row.text for row in problem.rows if not row.keeps(problem.unchanged)), None)
    if problem.by_sum:  # what is normalised are the weights that are fitted
        return "weights from 0 on with sum 1"
    for text in texts:
        row = WrittenRow.read(text, names)
        if coef is None:
            return text
        dense = tuple(row.coefficients.get(j, Fraction(0)) for j in range(len(names)))
        if not WeightRow(dense, row.lower, row.upper).keeps(coef.tolist()):
            return text
    return None


def worst_count(quota: Quota, lists: Sequence[Indices], scores: Floats) -> int:
    """Rows of the group among the first of a list, tied ones against the quota, in the list that is worst for it."""
    found = []
    for rows in lists:
        member = np.isin(rows, quota.rows)
        last = member if quota.least is not None else ~member  # of equal scores
        found.append(int(member[np.lexsort((last, -scores[rows]))[: quota.first]].sum()))
    return min(found) if quota.least is not None else max(found)


def broken_quota(quotas: Sequence[Quota], lists: Sequence[Indices], scores: Floats) -> Quota | None:
    """The first quota that an order does not meet; None if it meets all."""
    for quota in quotas:
        count = worst_count(quota, lists, scores)
        if count < (quota.least or 0) or (quota.most is not None and count > quota.most):
            return quota
    return None


def floors_of(constraints: Any, names: Sequence[str]) -> Floats:
    """The least share of each run of a fusion, by texts such as ``"bm25 >= 0.3"``."""
    found = np.zeros(len(names))
    for text in texts_of(constraints):
        row = WrittenRow.read(text, names)
        single = len(row.coefficients) == 1 and row.upper is None and row.lower is not None
        ((run, factor),) = row.coefficients.items() if single else [(0, 0)]
        if not factor > 0:
            raise InputError(
                f"The constraint {text!r} is no floor of one run's share; write one such as 'bm25 >= 0.3'."
            )
        found[run] = max(found[run], float(row.lower or 0) / float(factor))
    if found.sum() > 1:
        raise InputError(f"The floors add up to {found.sum():.4g}, and shares to 1; lower some.")
    return found


def rows_of_floors(floors: Floats, names: Sequence[str]) -> tuple[str, ...]:
    """The floors as rows on weights, whose shares count: ``w_j >= floor * (w_1 + ... + w_m)``."""
    total = " + ".join(f"`{name}`" for name in names)
    return tuple(f"`{name}` >= {floor!r} * ({total})" for name, floor in zip(names, floors.tolist()) if floor > 0)
