"""The proof of a card again, with code that shares nothing with the search: plain NumPy, integers and fractions.

What is checked: that the card has the value that the result says, exactly (:mod:`rerank.scorecard.value`); that its
points, rules and limits are those that were asked for; and the bound.  For every set of questions that the rules allow
the groups of its rows are counted, and the order of the groups by share of relevant rows is valued, which no card of
the set exceeds (:mod:`rerank.scorecard.kernels` has the proof of that).  Where it is above the bound, every vector of
points is valued, and those above the bound must break a limit.  For log loss logistic regression on the questions takes
the place of that order (:mod:`rerank.scorecard.likelihood`).

AUC of one list is counted in integers.  Other statistics are computed in float64, with an allowance for rounding on the
safe side: sets are let go only below it, and cards contradict only above it.

What is not checked is how questions, points and rules were read from what the user asked, and the corrected value.

It takes longer than the search, about as many rows that differ times sets of questions as there are;
:attr:`Verified.seconds` says how long.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, combinations, islice, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.errors import CertificateError
from rerank.io.page import Part, Readable, Words
from rerank.scorecard.likelihood import LogLoss, of_points, of_sets
from rerank.scorecard.value import value_of
from rerank.statistics import AUC, RankStatistic, presentation

Ints = NDArray[np.int64]

CELLS = 2**22  # entries of an array that are worked on at a time,
COUNTED = 2**18  # and of those in which rows are counted, which stay in the cache of a core

# Between value and bound of a result that calls itself optimal, for statistics that are summed in float64.
SLACK = 1e-10
MOST_COUNTED = 2**20  # sets that are counted again although no score on these answers has more than the card
TOP, FREE = 1, 2  # kinds of cuts, as rerank.scorecard.kernels numbers them


@dataclass(frozen=True, eq=False)
class Claim:
    """A result, and the problem that it is of."""

    result: Any
    card: Any
    questions: tuple[Any, ...]  # the candidates
    statistic: RankStatistic | LogLoss  # with the rate as for :func:`rerank.scorecard.value.value_of`
    rate: float | None
    answers: NDArray[np.bool_]  # (questions, n)
    of_card: NDArray[np.bool_]  # (questions of the card, n)
    rows: Any
    counts: Ints  # (n,): the weights in parts of ``unit`` to a row
    unit: int
    problem: Any  # of which the points of each candidate, the most questions, the rules and the limits are read

    @cached_property
    def merged(self) -> tuple[NDArray[np.bool_], Ints, Ints]:
        """The rows, equal ones as one: answers (questions, m); the place of the class in the list, and in the kind of
        people, (2, m); and counts (m,).
        """
        cells = 2 * np.stack([self.rows.lists, self.rows.people]) + ~self.rows.relevant
        key = np.vstack([np.packbits(self.answers, axis=0).astype(np.int64), cells])
        _, first, which = np.unique(key, axis=1, return_index=True, return_inverse=True)
        # Float64 holds these whole numbers: all rows together are fewer than 2^53 parts.
        counts = np.bincount(which.ravel(), self.counts).astype(np.int64)
        return self.answers[:, first], cells[:, first], counts

    def value(self, totals: Any, ties: str = "average") -> Fraction | float:
        """The exact value of totals of the rows."""
        return value_of(self.statistic, self.rate, totals, self.rows, (self.counts, self.unit), ties)


@dataclass(frozen=True)
class Verified(Readable):
    """What was checked, and found right.

    Attributes
    ----------
    value : Fraction or float
        Of the card: a fraction where the statistic is one.
    bound : float
        No allowed card has a larger value; infinite if the result has no bound.
    exact : bool
        Whether the bound was checked in integers.
    sets, allowed, above : int
        Sets of questions; those that the rules allow; those of them that the order by share did not settle.
    vectors : int
        Vectors of points of these, all valued.
    seconds : float
    """

    value: Fraction | float
    bound: float
    exact: bool
    sets: int
    allowed: int
    above: int
    vectors: int
    seconds: float

    def parts(self) -> list[Part]:
        """What a person reads."""
        value = f"{float(self.value):.6g}"
        if isinstance(self.value, Fraction) and self.value.denominator > 1:
            value = f"{self.value} = {value}"
        if math.isinf(self.bound):
            return [Words(f"Verified: the card has {value}; the result has no bound of the others.", strong=True)]
        how = "in integers" if self.exact else "in float64, rounding on the safe side"
        if not self.sets:
            first = f"Verified: the card has {value}, and no score on the answers has more than {self.bound:.6g}."
            return [Words(first, strong=True)]
        left = (
            f" but {self.above:,}, and all {self.vectors:,} vectors of points of these were valued"
            if self.above
            else ""
        )
        return [
            Words(f"Verified: the card has {value}, and no allowed card has more than {self.bound:.6g}.", strong=True),
            Words(
                f"Of {self.sets:,} sets of questions {self.allowed:,} are allowed; bounds settle all{left}, "
                f"{how}, in {self.seconds:.2g} s, by code that shares nothing with the search."
            ),
        ]


class ListMeasure(NamedTuple):
    """How a list is valued: ``scale`` times what its groups earn."""

    scale: float
    relevant: int
    others: int
    limit: float | None  # rows that are not relevant and count, of a partial area
    earned: NDArray[np.float64] | None  # what the first x places earn; None for areas
    unit: int
    loss: bool = False  # whether it is log loss, which has no places


def verify(claim: Claim) -> Verified:
    """Check a claim; a CertificateError says in one sentence what was claimed, and what was found."""
    began = time.monotonic()
    value = _check_card(claim)
    measures, constant = _measures(claim)
    part = measures[0]
    pairs = 2 * part.relevant * part.others
    exact = len(measures) == 1 and not part.loss and part.earned is None and part.limit is None and pairs < 2**62
    proved = claim.result.status == "optimal" and float(value) == claim.result.bound
    if math.isinf(claim.result.bound):
        return Verified(value, math.inf, exact, 0, 0, 0, 0, time.monotonic() - began)
    # A bound that is no value of a card was rounded to a double.
    limit = Fraction(value) if proved else Fraction(claim.result.bound) * (1 + Fraction(1, 2**50))
    many = claim.result.bounded < claim.result.sets or claim.result.sets > MOST_COUNTED
    if many and _best_of_all(claim) <= limit + (0 if exact else Fraction(SLACK)):
        return Verified(value, claim.result.bound, exact, 0, 0, 0, 0, time.monotonic() - began)
    top: float
    rounding = 0.0
    if exact:
        # In half pairs: more than the limit is at least one more than its floor.
        measures, top = [part._replace(scale=1)], math.floor(limit * pairs)
    else:
        top, rounding = float(limit), 1e-11 if part.loss else _rounding(measures, constant, claim)
    sets = allowed = above = vectors = 0
    for members in _sets(len(claim.problem.domains), claim.problem.size, claim.merged[2].size):
        sets += len(members)
        members = members[_allowed(claim.problem.rules, members)]
        allowed += len(members)
        groups = _groups(claim.merged, 2 * len(measures), members)
        bounds = constant * (not exact) + _best(measures, groups)
        for own, counted in zip(members[bounds > top - rounding], groups[bounds > top - rounding]):
            above += 1
            vectors += _check_points(claim, own, counted, measures, 0 if exact else constant, top + rounding)
    if sets != claim.result.sets:
        raise CertificateError(f"The result counts {claim.result.sets:,} sets of questions, and there are {sets:,}.")
    seconds = time.monotonic() - began
    return Verified(value, claim.result.bound, exact, sets, allowed, above, vectors, seconds)


def _best_of_all(claim: Claim) -> Fraction | float:
    """The value of the rows in order of their share of relevant ones, of those of a list that answer all alike."""
    key = np.vstack([np.packbits(claim.answers, axis=0).astype(np.int64), claim.rows.lists])
    group = np.unique(key, axis=1, return_inverse=True)[1].ravel()
    if isinstance(claim.statistic, LogLoss):
        sides = [np.bincount(group, claim.counts * of) for of in (claim.rows.relevant, ~claim.rows.relevant)]
        return sum(float(own @ np.log(np.maximum(own, 1) / sum(sides))) for own in sides) / float(claim.counts.sum())
    p, every = np.zeros(group.max() + 1, np.int64), np.zeros(group.max() + 1, np.int64)
    np.add.at(p, group, claim.counts * claim.rows.relevant)
    np.add.at(every, group, claim.counts)
    shares = [Fraction(own, max(1, all_)) for own, all_ in zip(p.tolist(), every.tolist())]
    place = {share: i for i, share in enumerate(sorted(set(shares)))}
    return claim.value(np.array([place[share] for share in shares])[group])


def _check_card(claim: Claim) -> Fraction | float:
    """The exact value of the card, which is the one of the result, and allowed."""
    card, result = claim.card, claim.result
    if (np.abs(claim.rows.weight * claim.unit - claim.counts) > 0.5).any():
        raise CertificateError("The rows are not counted as their weights say; fit again.")
    totals = np.asarray(card.points, np.int64) @ claim.of_card
    for ties, told in (("average", result.value), ("pessimistic", result.pessimistic)):
        if float(found := claim.value(totals, ties)) != told:
            kind = "value" if ties == "average" else "pessimistic value"
            raise CertificateError(
                f"The result says that the {kind} of the card is {told!r}, and it is {float(found)!r}."
            )
    value = claim.value(totals)
    for question, points in zip(card.questions, card.points):
        if question not in claim.questions or points not in claim.problem.domains[claim.questions.index(question)]:
            raise CertificateError(f"The card gives {points:+d} points for '{question}', which is not allowed.")
    asked = np.array([claim.questions.index(question) for question in card.questions])
    order = np.argsort(asked)
    members = asked[order]
    several = members.size > claim.problem.size or np.unique(members).size < members.size
    if several or not _allowed(claim.problem.rules, members[None])[0]:
        raise CertificateError("The questions of the card break a rule; fit again.")
    if not _kept(claim, members, np.array(card.points)[order][None])[0]:
        raise CertificateError("The card breaks a limit or a constraint; fit again.")
    for total in card.totals:
        there = totals == total.total
        own = [float(claim.rows.weight[there & side].sum()) for side in (claim.rows.relevant, ~claim.rows.relevant)]
        if not np.allclose(own, [total.relevant, total.other], rtol=1e-9, atol=1e-9):
            raise CertificateError(
                f"The card counts {total.relevant:g} relevant rows and {total.other:g} others at the total "
                f"{total.total}, and there are {own[0]:g} and {own[1]:g}."
            )
    if not result.bound >= float(value):
        raise CertificateError(f"The bound of the result is {result.bound!r}, below the card's value {float(value)!r}.")
    if result.status == "optimal" and result.bound > float(value) + SLACK * max(1.0, abs(float(value))):
        raise CertificateError(
            f"The result is called optimal, and its bound {result.bound!r} is above its value {float(value)!r}."
        )
    return value


def _measures(claim: Claim) -> tuple[list[ListMeasure], float]:
    """How each list is valued, and the constant of the sum."""
    found, weights, offsets = [], [], []
    for of, weight in enumerate(claim.rows.list_weight.tolist()):
        own = claim.rows.lists == of
        P, Q = (int(claim.counts[own & side].sum()) for side in (claim.rows.relevant, ~claim.rows.relevant))
        offset, scale, earned, limit = 0.0, 2.0 * P * Q, None, None
        if isinstance(claim.statistic, LogLoss):
            return [ListMeasure(1.0 / (P + Q), P, Q, None, None, claim.unit, True)], 0.0
        if claim.rate is not None:
            scale, limit = float(P * Q), float(Fraction(repr(float(claim.rate))) * Q)
        elif not isinstance(claim.statistic, AUC):
            n, hits = math.ceil(Fraction(P + Q, claim.unit)), math.ceil(Fraction(P, claim.unit))
            gains = np.concatenate([np.zeros(n - hits), np.ones(hits)])
            offset, scale = presentation(claim.statistic, n, gains) if P else (0.0, 0.0)
            paid = map(Fraction, claim.statistic.coefficients(n)[::-1].tolist())
            earned = np.array([0.0, *map(float, accumulate(paid))])
        weights.append(weight if scale > 0 else 0.0)
        found.append(ListMeasure(1 / scale if scale > 0 else 0.0, P, Q, limit, earned, claim.unit))
        offsets.append(offset * found[-1].scale)
    total = math.fsum(weights)
    share = [weight / total for weight in weights]
    return [measure._replace(scale=measure.scale * part) for measure, part in zip(found, share)], -math.fsum(
        part * offset for part, offset in zip(share, offsets)
    )


def _rounding(measures: Sequence[ListMeasure], constant: float, claim: Claim) -> float:
    """By how much a sum may be off: each of its terms and additions by half a unit in the last place."""
    most = abs(constant) + sum(
        own.scale * (2.0 * own.relevant * own.others if own.earned is None else own.relevant * float(own.earned.max()))
        for own in measures
    )
    return (2.0 ** min(claim.problem.size, 30) + len(measures) + 16) * 2.0**-52 * max(1.0, most)


def _sets(n: int, size: int, rows: int) -> Iterator[Ints]:
    """All sets of at most ``size`` of ``n`` questions, some at a time, (sets, questions)."""
    for k in range(1, min(size, n) + 1):
        some = max(1, COUNTED // max(rows, 4**k))
        every = combinations(range(n), k)
        while part := list(islice(every, some)):
            yield np.array(part, np.int64)


def _allowed(rules: Any, members: Ints) -> NDArray[np.bool_]:
    """Which sets the rules allow."""
    good = np.ones(len(members), bool)
    for i in range(members.shape[1]):
        for j in range(i):
            good &= ~rules.clash[members[:, i], members[:, j]]
    columns = np.sort(rules.places[members], axis=1)
    good &= (np.diff(columns, axis=1) != 0).sum(axis=1) + 1 <= rules.places[-1]
    for asked, needed in zip(rules.asked, rules.needed):
        good &= ~asked[members].any(axis=1) | needed[members].any(axis=1)
    return good


def _groups(rows: tuple[NDArray[np.bool_], Ints, Ints], width: int, members: Ints, which: int = 0) -> Ints:
    """Rows of each group of each set, (sets, groups, width): bit i of a group is its answer to question i."""
    answers, cells, counts = rows
    sets, k = members.shape
    code = np.zeros((sets, cells.shape[1]), np.int64)
    for i in range(k):
        code += answers[members[:, i]].astype(np.int64) << i
    code += (np.arange(sets) << k)[:, None]
    code *= width
    code += cells[which]
    found = np.bincount(code.ravel(), np.broadcast_to(counts, code.shape).ravel(), (sets << k) * width)
    return found.astype(np.int64).reshape(sets, 1 << k, width)


def _best(measures: Sequence[ListMeasure], groups: Ints) -> Any:
    """What the order by share is worth for each set: groups of one share are tied, which loses nothing."""
    if measures[0].loss:
        return measures[0].scale * of_sets(*np.moveaxis(groups.astype(np.float64), 2, 0))
    total: Any = 0
    for of, measure in enumerate(measures):
        p, q = groups[..., 2 * of], groups[..., 2 * of + 1]
        if measure.relevant * measure.others < 2**62:
            better = p[:, None, :] * q[:, :, None]
            more, same = better > better.swapaxes(1, 2), better == better.swapaxes(1, 2)
        else:
            share = (p / np.maximum(p + q, 1))[:, None, :]
            more, same = share > share.swapaxes(1, 2), share == share.swapaxes(1, 2)
        # An empty group is tied with all.
        total = total + measure.scale * _earned(measure, p, q, more, same & ((p + q) > 0)[:, :, None])
    return total


def _earned(measure: ListMeasure, p: Ints, q: Ints, more: Any, same: Any) -> Any:
    """What groups earn that stand in some order, (sets,); ``more[..., g, h]`` says that h is above g."""
    counts = np.stack(np.broadcast_arrays(p, q), axis=-1)
    above, tied = (table.astype(np.int64) @ counts for table in (more, same))
    if measure.earned is None and measure.limit is None:
        return (p * (2 * (measure.others - above[..., 1]) - tied[..., 1])).sum(axis=-1)
    rows = np.maximum(tied.sum(axis=-1), 1)
    if measure.earned is not None:
        start = above.sum(axis=-1)
        places = np.arange(measure.earned.size)
        ends = [np.interp(x / measure.unit, places, measure.earned) for x in (start + tied.sum(axis=-1), start)]
        return (p * (ends[0] - ends[1]) / rows).sum(axis=-1)
    counted = np.clip(measure.limit - above[..., 1], 0, tied[..., 1])
    area = counted * (above[..., 0] + tied[..., 0] * counted / np.maximum(2 * tied[..., 1], 1))
    return (area * (p + q) / rows).sum(axis=-1)


@lru_cache(maxsize=4)
def _orders(domains: tuple[tuple[int, ...], ...], begin: int, end: int) -> tuple[Ints, Any, Any]:
    """Some vectors of points, and which groups each puts above which and ties with which."""
    points = np.array(list(islice(product(*domains), begin, end)), np.int64)
    return points, *_order(points)


def _order(points: Ints) -> tuple[Any, Any]:
    """Which groups vectors of points (v, k) put above which, and tie with which, (v, 2^k, 2^k)."""
    k = points.shape[1]
    total = points @ ((np.arange(1 << k)[:, None] >> np.arange(k)) & 1).T
    return total[:, None, :] > total[:, :, None], total[:, None, :] == total[:, :, None]


def _check_points(claim: Claim, members: Ints, groups: Ints, measures: Any, constant: float, top: float) -> int:
    """Value every vector of points of a set; one above the limit that is allowed is a contradiction."""
    domains = tuple(claim.problem.domains[j] for j in members)
    many, some = math.prod(map(len, domains)), max(1, CELLS // 4 ** len(domains))
    for begin in range(0, many, some):
        points, more, same = _orders(domains, begin, min(begin + some, many))
        value: Any = measures[0].scale * of_points(points, *groups.T * 1.0) if measures[0].loss else constant
        for of, measure in enumerate([] if measures[0].loss else measures):
            value = value + measure.scale * _earned(measure, groups[:, 2 * of], groups[:, 2 * of + 1], more, same)
        over = np.flatnonzero(value > top)
        over = over[_kept(claim, members, points[over])] if over.size else over
        if over.size:
            best = points[over[np.argmax(value[over])]]
            found = float(claim.value(best @ claim.answers[members]))
            card = ", ".join(f"'{claim.questions[j]}': {own:+d}" for j, own in zip(members, best.tolist()))
            raise CertificateError(
                f"The result says that no card has more than {claim.result.bound!r}, and {{{card}}} has {found!r}."
            )
    return many


def _kept(claim: Claim, members: Ints, points: Ints) -> NDArray[np.bool_]:
    """Which vectors of points keep the limits, (vectors,)."""
    limits, k = claim.problem.limits, members.size
    good = np.maximum(points, 0).sum(axis=1) <= limits.total
    if limits.one_sign:
        column = claim.problem.rules.places[members]
        for i, j in combinations(range(k), 2):
            if column[i] == column[j]:
                good &= (points[:, i] > 0) == (points[:, j] > 0)
    if not (limits.area > 0 or limits.first > 0 or limits.cut):
        return good
    kinds = int(claim.rows.people.max()) + 1
    (people,) = _groups(claim.merged, 2 * kinds, members[None], 1)
    for begin in range(0, len(points), some := max(1, CELLS // 4**k)):
        part = slice(begin, begin + some)
        good[part] &= _limits_kept(limits, people, *_order(points[part]))
    return good


def _limits_kept(limits: Any, people: Ints, more: Any, same: Any) -> NDArray[np.bool_]:
    """Which orders keep the limits; ``people`` are rows of the groups, relevant and other ones of each kind."""
    good = np.ones(len(more), bool)
    p, q, rows = people[:, ::2], people[:, 1::2], people.sum(axis=1)
    if limits.area > 0:
        above, tied = more.astype(np.int64) @ q, same.astype(np.int64) @ q
        won = (p * (2 * (q.sum(axis=0) - above) - tied)).sum(axis=1)
        good &= (won >= limits.area * 2 * p.sum(axis=0) * q.sum(axis=0)).all(axis=1)
    start, size = more.astype(np.int64) @ rows, same.astype(np.int64) @ rows
    if limits.first > 0:
        # One group of each block: the first of those that are tied.
        first = ~np.tril(same, -1).any(axis=2)
        taken = np.clip(limits.first - start, 0, size)[:, :, None]
        others = size[:, :, None] - same.astype(np.int64) @ (p + q)
        surely = (np.maximum(taken - others, 0) * first[:, :, None]).sum(axis=1)
        good &= (surely >= limits.quota).all(axis=1)
    if limits.cut == TOP:
        within = start + size <= limits.rows
        good &= _flags_fit(limits, people, within.astype(np.int64) @ people)
    elif limits.cut == FREE:
        good &= _flags_fit(limits, people, (more | same).astype(np.int64) @ people).any(axis=1)
    return good


def _flags_fit(limits: Any, people: Ints, flagged: Ints) -> NDArray[np.bool_]:
    """Whether what a cut flags, (..., 2 kinds), keeps the limits at the cut; it flags a row at least."""
    every = people.sum(axis=0)
    hits, rows = flagged[..., ::2].sum(axis=-1), flagged.sum(axis=-1)
    good = (rows > 0) & (hits >= limits.sensitivity * every[::2].sum()) & (rows <= limits.flagged * every.sum())
    good &= (rows - hits <= (1 - limits.specificity) * every[1::2].sum()) & (hits >= limits.precision * rows)
    by_kind = flagged[..., ::2] + flagged[..., 1::2], every[::2] + every[1::2]
    for (some, of), most in ((by_kind, limits.gap_flagged), ((flagged[..., ::2], every[::2]), limits.gap_sensitivity)):
        share = some[..., of > 0] / of[of > 0]
        good &= np.ptp(share, axis=-1) <= most
    return good
